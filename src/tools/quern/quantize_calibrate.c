// SPDX-License-Identifier: MIT
#include "tools/quern/quantize_calibrate.h"

#include "tools/quern/output.h"
#include "tools/quern/session.h"
#include "tools/quern/report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The state is saved each second, or less often where that takes long: a fiftieth of the time.
#define SAVE_MS 1000
#define SAVE_SHARE 50

static int save(const qt_calibration *c, const qz_state *s) {
    return qz_state_save(c->graph, s, c->state) == QRN_OK ? QT_EXIT_OK
                                                          : qt_failed(NULL, QT_EXIT_FAILURE);
}

// --- samples

int qt_calibration_range(const qt_calibration_options *o, qt_samples *samples) {
    size_t all = samples->in.n_sets;
    if (o->skip >= all) {
        qt_error("--skip %llu: there are %zu samples", (unsigned long long)o->skip, all);
        return QT_EXIT_INPUT;
    }
    samples->first = (size_t)o->skip;
    samples->n = all - samples->first;
    if (o->n > samples->n)
        qt_warn("--samples %llu: there are %zu%s; all of them are used", (unsigned long long)o->n,
                samples->n, o->skip ? " behind those that are skipped" : "");
    else if (o->n)
        samples->n = (size_t)o->n;
    return QT_EXIT_OK;
}

// A sample that cannot be loaded ends the run; what was done before it is kept.
static int run_sample(const qt_calibration *c, const qz_state *s, qt_array *arrays) {
    size_t k = (size_t)(s->first + s->n_done);
    if (qt_inputs_load(&c->samples->in, k, arrays) != QRN_OK) {
        int code = qt_failed(NULL, QT_EXIT_INPUT);
        if (c->state && s->n_done)
            save(c, s);
        return code;
    }
    for (uint32_t i = 0; i < qz_run_inputs(c->run); i++) {
        const ox_port *p = qz_run_input(c->run, i);
        void *buffer = qz_run_buffer(c->run, i);
        if (buffer && qt_to_qnn(p->name, &arrays[i], p->tensor->t.v1.dataType, buffer) != QRN_OK)
            return qt_failed(NULL, QT_EXIT_INPUT);
    }
    if (qz_run_sample(c->run) == QRN_OK)
        return QT_EXIT_OK;
    qt_error("sample %zu: %s", k, qrn_message());
    return QT_EXIT_INPUT;
}

// --- states

// The state of an earlier run, if there is one.
static int resume(const qt_calibration *c, qz_state *s) {
    qz_state found;
    if (!c->opt->resume || access(c->state, F_OK) != 0)
        return QT_EXIT_OK;
    if (qz_state_add(c->graph, c->state, &found) != QRN_OK)
        return qt_failed(NULL, QT_EXIT_INPUT);
    if (found.first != s->first || found.n != s->n) {
        qt_error("%s: this calibration was of %llu samples from %llu on, not of %llu from %llu on",
                 c->state, (unsigned long long)found.n, (unsigned long long)found.first,
                 (unsigned long long)s->n, (unsigned long long)s->first);
        return QT_EXIT_INPUT;
    }
    qt_inform("%llu of %llu samples were done before", (unsigned long long)found.n_done,
              (unsigned long long)found.n);
    s->n_done = found.n_done;
    return QT_EXIT_OK;
}

static int merge(const qt_calibration *c, qz_state *s) {
    for (size_t i = 0; i < c->opt->merged.n; i++) {
        qz_state found;
        if (qz_state_add(c->graph, c->opt->merged.items[i], &found) != QRN_OK)
            return qt_failed(NULL, QT_EXIT_INPUT);
        if (found.n_done < found.n) {
            qt_error("%s: %llu of %llu samples are done; finish it with --resume",
                     c->opt->merged.items[i], (unsigned long long)found.n_done,
                     (unsigned long long)found.n);
            return QT_EXIT_INPUT;
        }
        s->n += found.n;
        s->n_done += found.n_done;
    }
    return QT_EXIT_OK;
}

static int run_samples(const qt_calibration *c, qz_state *s, qt_array *arrays) {
    double last = qt_now_ms(), took = 0;
    int code = QT_EXIT_OK;
    while (s->n_done < s->n && code == QT_EXIT_OK) {
        qt_progress("calibrating", (size_t)s->n_done, (size_t)s->n);
        code = run_sample(c, s, arrays);
        for (uint32_t i = 0; i < c->samples->in.n_ports; i++)
            qt_array_free(&arrays[i]);
        double now = qt_now_ms();
        s->n_done += code == QT_EXIT_OK;
        if (code != QT_EXIT_OK || !c->state || s->n_done == s->n ||
            now - last < SAVE_MS + SAVE_SHARE * took)
            continue;
        code = save(c, s);
        last = qt_now_ms();
        took = last - now;
    }
    qt_progress(NULL, 0, 0);
    return code;
}

// Inputs that never change were probably not meant so.
static void warn_of_constants(const qt_calibration *c) {
    for (uint32_t i = 0; i < qz_run_inputs(c->run); i++) {
        const qz_value *v = qz_find(c->graph, qz_run_input(c->run, i)->name);
        if (v && qz_is_activation(v) && v->stats.n > 1 && v->stats.min == v->stats.max)
            qt_warn("input '%s' is %g in all samples: ranges that follow from it do not fit other "
                    "data",
                    v->name, v->stats.min);
    }
}

int qt_calibrate(const qt_calibration *c) {
    qz_state s = {.first = c->samples->first,
                  .n = c->samples->n,
                  .histograms = c->histograms,
                  .grams = c->grams};
    qt_array *arrays = calloc(c->samples->in.n_ports + 1, sizeof *arrays);
    int code = QT_EXIT_OK;
    if (!arrays) {
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    if (c->state)
        code = resume(c, &s);
    if (code == QT_EXIT_OK && s.n)
        code = run_samples(c, &s, arrays);
    free(arrays);
    if (code == QT_EXIT_OK)
        code = merge(c, &s);
    if (code != QT_EXIT_OK)
        return code;
    if (!c->quiet)
        warn_of_constants(c);
    if (c->opt->only)
        return save(c, &s);
    if (c->state)
        unlink(c->state);
    return QT_EXIT_OK;
}
