// SPDX-License-Identifier: MIT
//
// Constants that are lost in fp16. The accelerator computes with what is left of them, and so does
// Quern; but the log gives the reason for unexpected results. Looks at small constants alone: a
// weight that is lost is one of many.
#include "backend/htp/htp.h"

#include "core/services.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define SMALL 64        // elements
#define BEYOND 65520.0f // the least number that IEEE fp16 rounds to infinity

static bool is_op(const qrn_node *n, const char *name) { return strcmp(n->op->name, name) == 0; }

// These convert numbers of the application or ask what they are; no fp16 lies between.
static bool reads_raw(const qrn_node *n) {
    return is_op(n, "Quantize") || is_op(n, "Convert") || is_op(n, "Cast") || is_op(n, "IsInf") ||
           is_op(n, "IsNan");
}

// An infinite limit or mask does what a large one does, but 0 times infinity is no number.
static bool multiplies(const qrn_node *n) {
    if (is_op(n, "ElementWiseMultiply"))
        return true;
    if (!is_op(n, "ElementWiseBinary"))
        return false;
    for (uint32_t i = 0; i < n->n_params; i++)
        if (strcmp(n->op->params[i].name, "operation") == 0)
            return n->params[i].present &&
                   n->params[i].value.u == QNN_OP_ELEMENT_WISE_BINARY_OPERATION_MULTIPLY;
    return false;
}

// The first number that is lost: one of only such as become 0, or a finite one that IEEE fp16
// lacks. 0: none.
static float lost(const qrn_tensor *t, qrn_fp16_rule rule, bool infinite) {
    const float *x = t->data;
    float first = 0;
    for (size_t i = 0; i < t->size_bytes / sizeof *x; i++) {
        double kept = qrn_fp16_round((double)x[i], infinite ? QRN_FP16_IEEE : rule);
        if (infinite && isfinite(x[i]) && isinf(kept))
            return x[i];
        if (!infinite && kept != 0)
            return 0;
        if (first == 0)
            first = x[i];
    }
    return infinite ? 0 : first;
}

static bool is_beyond(const qrn_tensor *t) {
    const float *x = t ? t->data : NULL;
    if (!x || t->role != QRN_ROLE_STATIC || t->dtype != QRN_DTYPE_F32)
        return false;
    size_t n = t->size_bytes / sizeof *x;
    unsigned found = 0; // without a branch: weights may be many
    for (size_t i = 0; i < n && !found;)
        for (size_t end = n - i > 4096 ? i + 4096 : n; i < end; i++)
            found |= (unsigned)(fabsf(x[i]) >= BEYOND) & (unsigned)(fabsf(x[i]) <= FLT_MAX);
    return found;
}

bool qrn_htp_has_beyond(const qrn_graph *g) {
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (uint32_t k = 0; g->nodes[i]->op && !reads_raw(g->nodes[i]) && k < g->nodes[i]->n_in;
             k++)
            if (is_beyond(g->nodes[i]->in[k]))
                return true;
    for (uint32_t i = 0; i < g->n_subgraphs; i++)
        if (qrn_htp_has_beyond(g->subgraphs[i]))
            return true;
    return false;
}

static bool is_small_constant(const qrn_tensor *t) {
    return t && t->role == QRN_ROLE_STATIC && t->dtype == QRN_DTYPE_F32 && t->data &&
           t->size_bytes <= SMALL * sizeof(float);
}

static bool was_read_before(const qrn_graph *g, uint32_t node, uint32_t input) {
    const qrn_tensor *t = g->nodes[node]->in[input];
    for (uint32_t i = 0; i <= node; i++)
        for (uint32_t k = 0; k < (i < node ? g->nodes[i]->n_in : input); k++)
            if (g->nodes[i]->in[k] == t)
                return true;
    return false;
}

static void look_at(const qrn_api_graph *g, const qrn_graph *ir, uint32_t node,
                    qrn_fp16_rule rule) {
    const qrn_node *n = ir->nodes[node];
    for (uint32_t k = 0; n->op && !reads_raw(n) && k < n->n_in; k++) {
        bool small = is_small_constant(n->in[k]);
        float zero = small ? lost(n->in[k], rule, false) : 0;
        bool beyond = rule == QRN_FP16_WIDE_RANGE;
        float large = small && beyond && multiplies(n) ? lost(n->in[k], rule, true) : 0;
        if ((zero != 0 || large != 0) && !was_read_before(ir, node, k))
            qrn_log(g->context->backend->log, QNN_LOG_LEVEL_WARN,
                    "graph '%s': constant '%s' (%g) is %s in float16, in which node '%s' (%s) is "
                    "computed: results may be far from those in float32",
                    g->ir->name, n->in[k]->name, (double)(zero != 0 ? zero : large),
                    zero != 0 ? "0" : "65536", n->name, n->op->name);
    }
}

static void look_into(const qrn_api_graph *g, const qrn_graph *ir, qrn_fp16_rule rule) {
    for (uint32_t i = 0; i < ir->n_nodes; i++)
        look_at(g, ir, i, rule);
    for (uint32_t i = 0; i < ir->n_subgraphs; i++)
        look_into(g, ir->subgraphs[i], rule);
}

void qrn_htp_log_lost(const qrn_api_graph *g, qrn_fp16_rule rule) {
    if (rule != QRN_FP16_OFF)
        look_into(g, g->ir, rule);
}
