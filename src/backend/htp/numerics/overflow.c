// SPDX-License-Identifier: MIT
//
// Numbers that are too large for fp16 while a graph runs. The accelerator goes on with infinities
// or clamped numbers, and so does Quern; but the log says once for each graph where that began. The
// first execution is watched, with QUERN_VERBOSE=overflow every one until then. Relies on values
// that are traced after each node; those that passes have merged into others are not seen.
#include "backend/htp/numerics/overflow.h"

#include "base/env.h"
#include "base/mem.h"
#include "core/services.h"

#include <math.h>
#include <string.h>

#define SMALL 4096 // elements
#define MASK 1e30  // beyond it a number stands for infinity and is meant to

static double largest(qrn_fp16_rule rule) {
    return rule == QRN_FP16_WIDE_RANGE ? QRN_FP16_WIDE_RANGE_MAX : QRN_FP16_MAX;
}

static bool holds_floats(const qrn_view *v) {
    return v->dtype == QRN_DTYPE_F32 && !v->quant && !v->n_sparse && v->data;
}

static size_t count(const qrn_view *v) {
    size_t n = 1;
    for (uint32_t i = 0; i < v->rank; i++)
        n *= v->dims[i];
    return n;
}

#define BLOCK 512

// Numbers of a block that are larger, or none at all.
static uint32_t count_beyond(const float *x, float most) {
    uint32_t n = 0;
    for (size_t i = 0; i < BLOCK; i++)
        n += !(fabsf(x[i]) <= most);
    return n;
}

// The first number of a result that was too large or none at all; SIZE_MAX: there is none. A number
// that is clamped cannot be distinguished from the largest one.
static size_t find_lost(const qrn_view *v, qrn_fp16_rule rule) {
    const float *x = v->data;
    float most = (float)largest(rule);
    if (rule != QRN_FP16_IEEE)
        most = nextafterf(most, 0);
    size_t n = holds_floats(v) ? count(v) : 0;
    for (size_t begin = 0, end; begin < n; begin = end) {
        end = n - begin < BLOCK ? n : begin + BLOCK;
        bool whole = end - begin == BLOCK;
        for (size_t i = whole && !count_beyond(x + begin, most) ? end : begin; i < end; i++)
            if (!(fabsf(x[i]) <= most))
                return i;
    }
    return SIZE_MAX;
}

// The first number of the application that no fp16 comes near to.
static size_t find_large(const qrn_view *v, qrn_fp16_rule rule) {
    const float *x = v->data;
    for (size_t i = 0, n = holds_floats(v) ? count(v) : 0; i < n; i++) {
        double size = fabs((double)x[i]);
        if (size > largest(rule) && size < MASK &&
            (rule == QRN_FP16_WIDE_RANGE || qrn_fp16_round(size, QRN_FP16_IEEE) > QRN_FP16_MAX))
            return i;
    }
    return SIZE_MAX;
}

#define FLOAT16 "float16, whose largest number is %g"
#define FAR "results may be far from those in float32"

// False: another execution, at the same time, was faster.
static bool may_report(qrn_htp_watch *w) {
    w->done = true;
    return !atomic_exchange(&qrn_htp_graph_of(w->graph)->overflow_reported, true);
}

static void report_input(qrn_htp_watch *w, const char *name, const qrn_view *v, size_t at) {
    if (!may_report(w))
        return;
    qrn_log(w->graph->context->backend->log, QNN_LOG_LEVEL_WARN,
            "graph '%s': input '%s' has %g at index %zu, beyond " FLOAT16 ": " FAR,
            w->graph->ir->name, name, (double)((const float *)v->data)[at], at, largest(w->rule));
}

static void report_node(qrn_htp_watch *w, const qrn_cnode *n, bool merged, const qrn_view *v,
                        size_t at) {
    if (!may_report(w))
        return;
    qrn_log(w->graph->context->backend->log, QNN_LOG_LEVEL_WARN,
            "graph '%s': node '%s' (%s)%s is the first to leave the range of " FLOAT16
            ": it gives %g at index "
            "%zu; " FAR,
            w->graph->ir->name, n->name, n->type, merged ? ", or one that was merged into it," : "",
            largest(w->rule), (double)((const float *)v->data)[at], at);
}

// These convert numbers of the application or ask what they are; no fp16 lies between.
static bool reads_raw(const qrn_cnode *n) {
    static const char *const ops[] = {"Quantize", "Convert", "Cast", "IsInf", "IsNan"};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (strcmp(n->type, ops[i]) == 0)
            return true;
    return false;
}

static bool is_given(const qrn_compiled *p, uint32_t value) {
    return p->values[value].kind == QRN_CV_IO || p->values[value].kind == QRN_CV_CONST;
}

// Marks inputs of the node that the application or the client gave and that are lost. True: one was
// finite and not meant to be infinite, and is reported.
static bool check_given(qrn_htp_watch *w, const qrn_compiled *p, const qrn_cnode *n,
                        const qrn_values *values) {
    qrn_view view;
    for (uint32_t i = 0; i < n->n_in; i++) {
        uint32_t v = n->in[i];
        if (v == UINT32_MAX || w->marks[v] || !is_given(p, v) ||
            !values->get(values->run, v, &view))
            continue;
        bool constant = p->values[v].kind == QRN_CV_CONST;
        size_t at = !constant && !reads_raw(n) ? find_large(&view, w->rule) : SIZE_MAX;
        if (at != SIZE_MAX) {
            report_input(w, p->values[v].name, &view, at);
            return true;
        }
        if (constant && count(&view) > SMALL)
            continue; // weights: finalize reports what matters
        w->marks[v] = find_lost(&view, w->rule) != SIZE_MAX ? QRN_HTP_LOST : QRN_HTP_SEEN;
    }
    return false;
}

static void watch(void *ctx, uint32_t node, const qrn_values *values) {
    qrn_htp_watch *w = ctx;
    const qrn_compiled *p = w->graph->compiled;
    qrn_view view;
    const qrn_cnode *n = &p->nodes[node];
    if (w->done || check_given(w, p, n, values))
        return;
    bool caused = false, merged = false; // by what the node reads; with nodes that were not seen
    for (uint32_t i = 0; i < n->n_in; i++) {
        uint32_t v = n->in[i];
        if (v == UINT32_MAX)
            continue;
        caused |= w->marks[v] == QRN_HTP_LOST;
        merged |= w->marks[v] == 0 && !is_given(p, v);
    }
    for (uint32_t i = 0; i < n->n_out && !w->done; i++) {
        uint32_t v = n->out[i];
        if (v == UINT32_MAX || !values->get(values->run, v, &view))
            continue;
        size_t at = find_lost(&view, w->rule);
        w->marks[v] = at == SIZE_MAX ? QRN_HTP_SEEN : QRN_HTP_LOST;
        if (at != SIZE_MAX && !caused)
            report_node(w, n, merged, &view, at);
    }
}

void qrn_htp_watch_begin(qrn_htp_watch *w, const qrn_api_graph *g, qrn_run_options *opt) {
    qrn_htp_graph *impl = qrn_htp_graph_of(g);
    *w = (qrn_htp_watch){.graph = g};
    if (atomic_load_explicit(&impl->overflow_watched, memory_order_relaxed) &&
        !qrn_env_verbose("overflow"))
        return;
    atomic_store_explicit(&impl->overflow_watched, true, memory_order_relaxed);
    if (opt->trace || atomic_load_explicit(&impl->overflow_reported, memory_order_relaxed))
        return;
    qrn_compile_options how = {0};
    qrn_htp_numerics(g, &how);
    w->rule = (qrn_fp16_rule)how.fp16;
    if (w->rule == QRN_FP16_OFF)
        return;
    w->marks = qrn_calloc(g->compiled->n_values + 1);
    if (!w->marks)
        return; // who runs out of memory gets the error elsewhere
    opt->trace = watch;
    opt->trace_ctx = w;
}

void qrn_htp_watch_end(qrn_htp_watch *w) { qrn_free(w->marks); }
