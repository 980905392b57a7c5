// SPDX-License-Identifier: MIT
//
// What the options of quern quantize say together.
#include "tools/quern/commands.h"
#include "tools/quern/output.h"
#include "tools/quern/quantize_job.h"
#include "tools/quern/report.h"
#include "tools/quern/soc.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

int qt_quantize_scheme(const qt_quantize_options *o, qz_scheme *s) {
    if (o->scheme && (o->activations || o->weights)) {
        qt_error("--scheme excludes --activations and --weights");
        return QT_EXIT_USAGE;
    }
    const char *a = o->activations ? o->activations : o->scheme ? o->scheme : "a8w8";
    const char *w = o->weights ? o->weights : o->scheme ? strchr(o->scheme, 'w') : "w8";
    if (o->scheme && strcmp(o->scheme, "float") == 0) // repaired only
        w = "w32";
    *s = (qz_scheme){.act_bits = a[0] != 'a'   ? 0
                                 : a[1] == '1' ? 16
                                               : 8,
                     .weight_bits = (unsigned)strtoul(w + 1, NULL, 10),
                     .block = (uint32_t)o->block,
                     .symmetric = o->symmetric,
                     .per_tensor = o->per_tensor,
                     .float_below_db = o->all_integers      ? 0
                                       : o->float_below > 0 ? o->float_below
                                                            : 40,
                     .tail = (100 - (o->percentile > 0 ? o->percentile : 99.99)) / 100};
    if (o->calibration && o->text.text) {
        qt_error("--calibration and --text exclude each other");
        return QT_EXIT_USAGE;
    }
    if ((o->calibration || o->text.text) && o->in.random) {
        qt_error("--%s and --random exclude each other", o->calibration ? "calibration" : "text");
        return QT_EXIT_USAGE;
    }
    bool samples = o->calibration || o->text.text || o->in.random || o->run.merged.n;
    s->only_given = o->single.encodings && !samples;
    if (s->act_bits && !samples && !o->single.encodings) {
        qt_error("--calibration DATA is needed: ranges of activations follow from samples (or "
                 "--text for a language model, --encodings for those of a file, --random to try "
                 "things out)");
        return QT_EXIT_USAGE;
    }
    if (o->per_tensor && o->block) {
        qt_error("--per-tensor and --block exclude each other");
        return QT_EXIT_USAGE;
    }
    if (o->state_bits && o->state_bits != s->act_bits && (o->state_bits != 8 || !s->act_bits)) {
        qt_error("--state-bits %llu: expected 8, or 16 with 16-bit activations",
                 (unsigned long long)o->state_bits);
        return QT_EXIT_USAGE;
    }
    if (o->state_bits && o->float_states) {
        qt_error("--state-bits and --float-states exclude each other");
        return QT_EXIT_USAGE;
    }
    s->narrow_states = s->act_bits == 16 && o->state_bits != 16 && !o->float_states;
    if (s->weight_bits == 16 && s->act_bits == 8) {
        qt_error("16-bit weights need 16-bit activations: choose a16w16");
        return QT_EXIT_USAGE;
    }
    if (o->block && (o->block < 8 || o->block > 4096 || (o->block & (o->block - 1)))) {
        qt_error("--block %llu: expected a power of two from 8 to 4096",
                 (unsigned long long)o->block);
        return QT_EXIT_USAGE;
    }
    if (s->tail < 0 || s->tail > 0.1) {
        qt_error("--percentile %g: expected 90 to 100", o->percentile);
        return QT_EXIT_USAGE;
    }
    if (o->percentile > 0 && (!o->method || strcmp(o->method, "percentile") != 0) &&
        !qt_quantize_auto(o)) {
        qt_error("--percentile goes with --method percentile");
        return QT_EXIT_USAGE;
    }
    static const char *const methods[] = {[QZ_MINMAX] = "minmax",
                                          [QZ_PERCENTILE] = "percentile",
                                          [QZ_LEAST_ERROR] = "mse",
                                          [QZ_SQNR] = "sqnr",
                                          [QZ_ENTROPY] = "entropy"};
    for (size_t i = 0; o->method && i < sizeof methods / sizeof methods[0]; i++)
        if (strcmp(o->method, methods[i]) == 0)
            s->method = (qz_method)i;
    return QT_EXIT_OK;
}

bool qt_quantize_auto(const qt_quantize_options *o) {
    return o->method && strcmp(o->method, "auto") == 0;
}

// It runs the candidates of one model on samples.
static int check_auto(const qt_quantize_options *o, size_t n_models) {
    const char *wrong = n_models > 1  ? "goes with one model"
                        : o->no_check ? "runs models on the modelled HTP: leave out --no-check"
                        : o->mixed.on ? "and --mixed exclude each other"
                        : o->run.only ? "and --calibrate-only exclude each other: use another "
                                        "method that needs histograms, such as mse"
                        : o->calibration || o->text.text || o->in.random
                            ? NULL
                            : "needs samples: --calibration DATA";
    if (!qt_quantize_auto(o) || !wrong)
        return QT_EXIT_OK;
    qt_error("--method auto %s", wrong);
    return QT_EXIT_USAGE;
}

int qt_quantize_usage(const qt_quantize_options *o, size_t n_models) {
    if (o->single.exported && n_models > 1) {
        qt_error("--export-encodings goes with one model, found %zu", n_models);
        return QT_EXIT_USAGE;
    }
    if (!o->output == !o->run.only) {
        qt_error(o->output ? "--output and --calibrate-only exclude each other"
                           : "no output: use --output FILE");
        return QT_EXIT_USAGE;
    }
    uint32_t soc;
    if (o->soc && strcasecmp(o->soc, "none") != 0 && !qt_soc_find(o->soc, &soc))
        return qt_soc_unknown("--soc", o->soc); // with --no-check nobody would ask for it
    static const char *const others[] = {".bin", ".tflite", ".pte", ".npz", ".json", NULL};
    if (o->output && n_models == 1 &&
        qt_check_ending(o->output, others,
                        "an ONNX model (.onnx) or a DLC file (.dlc); 'quern compile' makes a "
                        "context binary of it") != QT_EXIT_OK)
        return QT_EXIT_USAGE;
    struct stat st;
    if (o->output && n_models > 1 && stat(o->output, &st) == 0 && !S_ISDIR(st.st_mode)) {
        qt_error("--output %s: a file; for %zu models the output is a folder", o->output, n_models);
        return QT_EXIT_USAGE;
    }
    if (o->output && qt_quantize_is_dlc(o->output) && n_models > 1) {
        qt_error("--output %s: a DLC file is made of one model, found %zu: quern compile joins "
                 "quantized models",
                 o->output, n_models);
        return QT_EXIT_USAGE;
    }
    if (o->run.only && n_models > 1) {
        qt_error("--calibrate-only goes with one model, found %zu", n_models);
        return QT_EXIT_USAGE;
    }
    if (o->single.version && !o->single.exported) {
        qt_error("--encodings-version needs --export-encodings: the file to write");
        return QT_EXIT_USAGE;
    }
    return check_auto(o, n_models);
}
