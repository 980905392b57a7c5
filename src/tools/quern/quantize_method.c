// SPDX-License-Identifier: MIT
//
// --method auto: the model is written with the ranges of each method and run on the modelled HTP.
// The method whose results are nearest to the float model's is used.
#include "tools/quern/output.h"
#include "tools/quern/quantize_job.h"
#include "tools/quern/report.h"

#include <math.h>

#define MOST_SAMPLES 8
// Methods within a decibel of minmax had scores up to 0.02 above and below its own (Silero VAD,
// Basic Pitch): such a gain is no reason to clip values.
#define LEAST_GAIN_DB 1.0

// minmax comes first. Not entropy: it looks at distributions and not at errors, and its worst
// models (-0.5 and 2.7 dB of ten) are never chosen.
static const struct {
    const char *name;
    qz_method method;
} methods[] = {{"minmax", QZ_MINMAX},
               {"percentile", QZ_PERCENTILE},
               {"mse", QZ_LEAST_ERROR},
               {"sqnr", QZ_SQNR}};
_Static_assert(sizeof methods / sizeof methods[0] == QT_METHODS, "room for all methods");

static int try_method(qt_quantize_job *j, const qt_mixed *x, qz_method method, double *db) {
    qt_quantize_model *m = &j->models[0];
    ox_writer bytes = {0};
    ox_model *made = NULL;
    qz_written written;
    double noise = INFINITY;
    int code = QT_EXIT_OK;
    j->scheme.method = method;
    if (qz_plan_encodings(m->graph, &j->scheme) != QRN_OK ||
        qz_write(m->graph, &j->scheme, NULL, &bytes, NULL, &written) != QRN_OK ||
        ox_model_parse(bytes.data, bytes.n, m->path, &made) != QRN_OK)
        code = qt_failed(m->path, QT_EXIT_FAILURE);
    if (code == QT_EXIT_OK)
        code = qt_mixed_noise(x, made, &noise);
    *db = -10 * log10(noise);
    ox_model_close(made);
    ox_writer_free(&bytes);
    return code;
}

// Samples behind those of the calibration, if there are any; else some of these, evenly.
static void choose_samples(const qt_samples *s, qt_methods *found, qt_mixed *x) {
    size_t left = s->in.n_sets - s->first - s->n, of = left ? left : s->n;
    x->n_samples = (uint32_t)(of < MOST_SAMPLES ? of : MOST_SAMPLES);
    x->first = left ? s->first + s->n : s->first;
    x->stride = left ? 1 : of / x->n_samples;
    found->n_samples = x->n_samples;
    found->held_out = left > 0;
}

static int try_all(qt_quantize_job *j, qt_mixed *x, qt_methods *found) {
    int code = qt_mixed_prepare(x);
    for (uint32_t i = 0; i < QT_METHODS && code == QT_EXIT_OK; i++) {
        qt_progress("ranges", i, QT_METHODS);
        found->tried[i].name = methods[i].name;
        code = try_method(j, x, methods[i].method, &found->tried[i].db);
        found->n = i + 1;
        if (found->tried[i].db > found->tried[found->best].db)
            found->best = i;
    }
    qt_progress(NULL, 0, 0);
    if (!(found->tried[found->best].db >= found->tried[0].db + LEAST_GAIN_DB))
        found->best = 0;
    return code;
}

int qt_quantize_method(qt_quantize_job *j) {
    qt_quantize_model *m = &j->models[0];
    qt_methods *found = &j->methods;
    const qt_mixed_task task = {.path = m->path,
                                .model = m->model,
                                .graph = m->graph,
                                .scheme = &j->scheme,
                                .samples = &j->samples,
                                .soc = qt_quantize_soc(j),
                                .threads = j->opt->threads};
    qt_mixed x = {.task = &task};
    if (m->n_refused) {
        qt_inform("--method auto: the HTP rejects nodes, so nothing was compared; ranges are those "
                  "of minmax");
        return QT_EXIT_OK;
    }
    choose_samples(&j->samples, found, &x);
    int code = try_all(j, &x, found);
    qt_mixed_release(&x);
    m->graph->keeps_rounded = false; // the result is what the chosen method alone would give
    j->scheme.method = methods[found->best].method;
    if (code == QT_EXIT_OK && qz_plan_encodings(m->graph, &j->scheme) != QRN_OK)
        code = qt_failed(m->path, QT_EXIT_FAILURE);
    return code == QT_EXIT_OK && found->best ? qt_quantize_write(j) : code;
}

void qt_report_method(const qt_methods *found) {
    if (!found->n)
        return;
    qt_print("  ranges: %s, chosen by %u %s samples:", found->tried[found->best].name,
             found->n_samples, found->held_out ? "other" : "calibration");
    for (uint32_t i = 0; i < found->n; i++)
        qt_print("%s %s %.1f dB", i ? "," : "", found->tried[i].name, found->tried[i].db);
    qt_print("\n");
}
