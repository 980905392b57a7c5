// SPDX-License-Identifier: MIT
//
// Recognizes the pattern by the nodes that make the operands. Intermediate tensors may be read by
// others: the nodes stay, and the pass `dead` removes what nobody reads.
#include "compiler/lower/kept.h"

#include "ir/element_wise.h"
#include "ir/op.h"
#include "kernels/kernel.h"

#include <string.h>

#define LARGEST_B (-20.0 * (1 - 1e-3)) // -20 as a quantized value may be rounded

// The node that makes a tensor, if it is of that kind: a type of its own, or an operation of
// ElementWiseBinary.
static const qrn_node *maker(const qrn_tensor *t, const char *type, uint32_t operation) {
    const qrn_node *n = t ? t->producer : NULL;
    if (!n || !n->op)
        return NULL;
    if (strcmp(n->type, type) == 0)
        return n;
    bool is = strcmp(n->type, "ElementWiseBinary") == 0 &&
              qrn_node_u32(n, "operation", UINT32_MAX) == operation;
    return is ? n : NULL;
}

static bool number_of(const qrn_tensor *t, double *out) {
    if (!t || !qrn_tensor_is_static(t) || !t->data || t->updateable)
        return false;
    qrn_view v = {.data = (void *)(uintptr_t)t->data, .quant = &t->quant, .dtype = t->dtype};
    v.rank = t->shape.rank;
    memcpy(v.dims, t->shape.dims, sizeof v.dims);
    *out = qrn_view_real(&v, 0);
    return qrn_view_count(&v) == 1;
}

static bool is_unsigned(const qrn_tensor *t) {
    return t->dtype == QRN_DTYPE_UQ8 || t->dtype == QRN_DTYPE_UQ16;
}

// ReduceMin of x over the last dimension.
static bool is_least(const qrn_tensor *t, const qrn_tensor *x) {
    const qrn_node *n = maker(t, "ReduceMin", UINT32_MAX);
    uint32_t axes[QRN_MAX_RANK];
    if (!n || n->in[0] != x || qrn_node_u32s(n, "axes", axes, QRN_MAX_RANK) != 1)
        return false;
    return axes[0] == x->shape.rank - 1 || axes[0] == UINT32_MAX;
}

// x's least entry plus B.
static bool is_below(const qrn_tensor *t, const qrn_tensor *x) {
    const qrn_node *n = maker(t, "ElementWiseAdd", QRN_EW_BINARY_ADD);
    double b = 0;
    for (uint32_t i = 0; n && i < 2; i++)
        if (number_of(n->in[i], &b) && is_least(n->in[1 - i], x))
            return b <= LARGEST_B;
    return false;
}

// ONNX has no NotEqual: the negation of a comparison does as well.
static const qrn_tensor *without_not(const qrn_tensor *keep) {
    const qrn_node *n = maker(keep, "ElementWiseNot", UINT32_MAX);
    n = n ? n : maker(keep, "ElementWiseUnary", UINT32_MAX); // truth values have no other one
    return n ? n->in[0] : keep;
}

static bool says_what_is_kept(const qrn_tensor *keep) {
    keep = without_not(keep);
    const qrn_node *n = maker(keep, "ElementWiseEqual", QRN_EW_BINARY_EQUAL);
    double zero = 1;
    n = n ? n : maker(keep, "ElementWiseNotEqual", QRN_EW_BINARY_NOT_EQUAL);
    for (uint32_t i = 0; n && i < 2; i++)
        if (number_of(n->in[i], &zero))
            return zero == 0;
    n = maker(keep, "Cast", UINT32_MAX);
    return !(n ? n->in[0] : keep)->producer;
}

const qrn_tensor *qrn_lo_kept(const qrn_node *softmax) {
    const qrn_tensor *in = softmax->in[0];
    const qrn_node *select = maker(in, "ElementWiseSelect", UINT32_MAX);
    if (!select || select->n_in != 3 || !is_unsigned(in) || !is_unsigned(softmax->out[0]) ||
        qrn_node_u32(softmax, "axis", in->shape.rank - 1) != in->shape.rank - 1)
        return NULL;
    const qrn_tensor *keep = select->in[0], *x = select->in[1];
    if (!keep || !x || !is_unsigned(x) || !is_below(select->in[2], x) || !says_what_is_kept(keep))
        return NULL;
    return keep;
}
