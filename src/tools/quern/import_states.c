// SPDX-License-Identifier: MIT
//
// Ranges of keys and values, from a run over a text on the CPU backend.
#include "tools/quern/import_states.h"

#include "tools/quern/report.h"
#include "tools/quern/samples.h"
#include "tools/quern/session.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct range {
    float low, high; // 0 is inside
} range;

// The state that an output is: 2 * layer, and 1 more for values; n: none.
static uint32_t state_of(const char *name, uint32_t n) {
    char c, rest;
    unsigned layer;
    if (sscanf(name, "new_%c_%u%c", &c, &layer, &rest) != 2 || (c != 'k' && c != 'v') ||
        layer >= n / 2)
        return n;
    return 2 * layer + (c == 'v');
}

static qrn_status widen(const qt_session *s, uint32_t output, range *r) {
    qt_array x = {0};
    QRN_TRY(qt_session_output_as(s, output, OX_F32, &x));
    const float *v = x.data;
    bool finite = true;
    for (size_t i = 0; i < x.count; i++) {
        finite &= isfinite(v[i]) != 0;
        r->low = v[i] < r->low ? v[i] : r->low;
        r->high = v[i] > r->high ? v[i] : r->high;
    }
    qt_array_free(&x);
    return finite ? QRN_OK
                  : QRN_FAIL(QRN_E_ARGUMENT, "output '%s' is not finite: it has no range",
                             s->model.outputs[output].name);
}

static qrn_status run_window(qt_session *s, const qt_samples *samples, size_t window,
                             qt_array *arrays, uint32_t n, range *ranges) {
    QRN_TRY(qt_inputs_load(&samples->in, window, arrays));
    qrn_status status = qt_session_set_inputs(s, arrays);
    for (uint32_t i = 0; i < samples->in.n_ports; i++)
        qt_array_free(&arrays[i]);
    QRN_TRY(status);
    QRN_TRY(qt_session_execute(s));
    for (uint32_t i = 0; i < s->model.n_outputs; i++) {
        uint32_t state = state_of(s->model.outputs[i].name, n);
        if (state < n)
            QRN_TRY(widen(s, i, &ranges[state]));
    }
    return QRN_OK;
}

static int find_ranges(const char *path, const ox_model *m, const qt_samples *samples, uint32_t n,
                       range *ranges) {
    const qt_backend_options cpu = {.backend = "cpu"};
    const ox_options import = {0};
    qt_session s = {0};
    qt_array *arrays = calloc(samples->in.n_ports + 1, sizeof *arrays);
    int code = arrays ? qt_session_open(path, m, &cpu, &import, &s) : qt_no_memory();
    for (size_t i = 0; i < samples->in.n_sets && code == QT_EXIT_OK; i++) {
        qt_progress("ranges of caches", i, samples->in.n_sets);
        if (run_window(&s, samples, i, arrays, n, ranges) != QRN_OK)
            code = qt_failed(path, QT_EXIT_FAILURE);
    }
    qt_progress(NULL, 0, 0);
    qt_session_close(&s);
    free(arrays);
    return code;
}

static ql_state state_for(range r) {
    float width = r.high - r.low;
    float scale = width > 0 ? width / 255.0f : 1.0f;
    return (ql_state){.scale = scale, .zero = (uint8_t)lrintf(-r.low / scale)};
}

int qt_import_states(const char *prefill, const char *text, uint32_t layers, ql_state *out) {
    const qt_text_options from = {.text = text};
    const qt_input_options inputs = {0};
    uint32_t n = 2 * layers;
    qt_samples samples = {0};
    ox_model *m = NULL;
    range *ranges = calloc(n, sizeof *ranges);
    int code = ranges ? qt_open_model(prefill, &m) : qt_no_memory();
    if (code == QT_EXIT_OK)
        code = qt_samples_of_text(m, prefill, &inputs, &from, &samples);
    if (code == QT_EXIT_OK)
        code = find_ranges(prefill, m, &samples, n, ranges);
    for (uint32_t i = 0; i < n && code == QT_EXIT_OK; i++)
        out[i] = state_for(ranges[i]);
    qt_samples_close(&samples);
    ox_model_close(m);
    free(ranges);
    return code;
}
