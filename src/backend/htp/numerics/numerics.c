// SPDX-License-Identifier: MIT
//
// The rule of the HTP's numbers: which formats a graph computes in. docs/numerics.md explains it.
//   no SoC and no architecture asked for   floats stay single precision (HTP-NUM-07)
//   v68                                    the same: the original library computes them so
//   v69 to v75                             fp16 without infinities and NaNs  (HTP-NUM-08);
//                                          constants are 65536 at most, as observed
//   v79 and later                          IEEE fp16; clamped when the graph asks for it; a graph
//                                          with a constant beyond it has the numbers of v75, as
//                                          observed
// HPASS cores have no float arithmetic: who asks for them gets no float graph (HTP-PRC-05).
// Quantized numbers do not depend on the device.
#include "backend/htp/htp.h"

#include "core/services.h"

#include <string.h>

static bool is_float(const qrn_tensor *t) { return t && qrn_dtype_is_float(t->dtype); }

static const qrn_tensor *operand(const qrn_op_call *c, uint32_t i) {
    return i < c->n_in ? c->in[i] : c->out[i - c->n_in];
}

// Does the op do nothing but lead into floats or out of them? Every device can do that.
static bool converts(const qrn_op_call *c) {
    static const char *const ops[] = {"Quantize", "Dequantize", "Convert", "Cast"};
    bool known = false, other = false;
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        known |= strcmp(c->op->name, ops[i]) == 0;
    for (uint32_t i = 0; i < c->n_in + c->n_out; i++)
        other |= !is_float(operand(c, i));
    return known && other;
}

static qrn_status refuse(const qrn_htp_device *d, const qrn_op_call *c, uint32_t i,
                         qrn_status status) {
    const qrn_tensor *t = operand(c, i);
    const char *side = i < c->n_in ? "input" : "output";
    uint32_t at = i < c->n_in ? i : i - c->n_in;
    if (t->dtype == QRN_DTYPE_BF16)
        return qrn_op_fail(c, status,
                           "%s %u '%s' is bf16, which the HTP has on Windows alone: use f16 or f32",
                           side, at, t->name);
    return qrn_op_fail(c, status,
                       "%s %u '%s' is %s, but %s (v%u, HPASS cores) has no float arithmetic: "
                       "quantize the graph, or choose cores that have it",
                       side, at, t->name, qrn_dtypes[t->dtype].token, d->soc.name, d->soc.arch);
}

static qrn_status check_floats(const qrn_htp_device *d, const qrn_op_call *c, qrn_status status) {
    for (uint32_t i = 0; i < c->n_in + c->n_out; i++) {
        const qrn_tensor *t = operand(c, i);
        if (is_float(t) && (t->dtype == QRN_DTYPE_BF16 || (d->hpass && !converts(c))))
            return refuse(d, c, i, status);
    }
    return QRN_OK;
}

qrn_status qrn_htp_float_check(const qrn_htp_device *d, const qrn_op_call *call) {
    return check_floats(d, call, QRN_E_DTYPE);
}

qrn_status qrn_htp_float_check_graph(const qrn_api_graph *g) {
    const qrn_htp_device *d = qrn_htp_device_of(g->context);
    for (uint32_t i = 0; i < g->ir->n_nodes; i++) {
        const qrn_node *n = g->ir->nodes[i];
        qrn_op_call call = {.graph = g->ir->name,
                            .node = n->name,
                            .op = n->op,
                            .n_in = n->n_in,
                            .n_out = n->n_out,
                            .in = (const qrn_tensor *const *)n->in,
                            .out = (const qrn_tensor *const *)n->out};
        if (n->op)
            QRN_TRY(check_floats(d, &call, QRN_E_FINALIZE));
    }
    return QRN_OK;
}

static bool computes_floats(const qrn_graph *g) {
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const qrn_node *n = g->nodes[i];
        for (uint32_t k = 0; k < n->n_out; k++)
            if (is_float(n->out[k]))
                return true;
    }
    for (uint32_t i = 0; i < g->n_subgraphs; i++)
        if (computes_floats(g->subgraphs[i]))
            return true;
    return false;
}

void qrn_htp_log_floats(const qrn_api_graph *g, qrn_fp16_rule rule) {
    const qrn_htp_device *d = qrn_htp_device_of(g->context);
    if (!computes_floats(g->ir))
        return;
    if (rule == QRN_FP16_OFF && d->chosen)
        qrn_log(g->context->backend->log, QNN_LOG_LEVEL_WARN,
                "graph '%s': floats are computed in float32, because %s (v%u) has no float16; a "
                "device may reject or approximate them",
                g->ir->name, d->soc.name, d->soc.arch);
    else if (rule == QRN_FP16_OFF)
        qrn_log(g->context->backend->log, QNN_LOG_LEVEL_INFO,
                "graph '%s': floats are computed in float32, because no SoC and no architecture "
                "was chosen; device option SOC or ARCH chooses one",
                g->ir->name);
    else
        qrn_log(g->context->backend->log, QNN_LOG_LEVEL_INFO,
                "graph '%s': floats are computed in float16 (%s, v%u)", g->ir->name, d->soc.name,
                d->soc.arch);
}

void qrn_htp_numerics(const qrn_api_graph *g, qrn_compile_options *opt) {
    const qrn_htp_device *d = qrn_htp_device_of(g->context);
    const qrn_htp_graph_options *o = &qrn_htp_graph_of(g)->options;
    opt->fold_relu = !o->fold_relu_off;
    opt->round_half_away = true; // HTP-NUM-02
    opt->low_ties = true;        // HTP-NUM-10
    if (!d->chosen || !d->soc.fp16)
        opt->fp16 = QRN_FP16_OFF;
    else if (d->soc.arch < 79)
        opt->fp16 = QRN_FP16_WIDE_RANGE;
    else
        opt->fp16 = o->fp16_clamp ? QRN_FP16_CLAMP : QRN_FP16_IEEE;
    if (opt->fp16 == QRN_FP16_IEEE && qrn_htp_graph_of(g)->beyond)
        opt->fp16 = QRN_FP16_WIDE_RANGE;
}
