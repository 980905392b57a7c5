// SPDX-License-Identifier: MIT
//
// Recognizes the pattern by the nodes that make the indices; the pass `dead` removes those that
// nobody else reads.
#include "compiler/lower/lookup.h"

#include "compiler/lowering.h"
#include "ir/element_wise.h"
#include "ir/op.h"

#include <string.h>

#define N_VALUES 65536

static bool is_signed(const qrn_tensor *t) { return t->dtype == QRN_DTYPE_SQ16; }

static bool is_16_bit(const qrn_tensor *t) {
    return (t->dtype == QRN_DTYPE_UQ16 || t->dtype == QRN_DTYPE_SQ16) &&
           (!t->quant.bits || t->quant.bits == 16) && t->quant.kind == QRN_QUANT_TENSOR;
}

// A tensor whose every element is computed from those of others: no part of it may change later.
static bool is_plain(const qrn_tensor *t) {
    return t && t->format == QRN_FORMAT_DENSE && !t->has_dynamic && !t->updateable;
}

// The node of that type that makes a tensor, or NULL.
static const qrn_node *maker(const qrn_lowering *lo, const qrn_tensor *t, const char *type) {
    const qrn_node *n = lo->uses[t->id].writer;
    return n && n->op && strcmp(n->type, type) == 0 && is_plain(n->in[0]) ? n : NULL;
}

// An Add or the ElementWiseBinary that adds.
static const qrn_node *adder(const qrn_lowering *lo, const qrn_tensor *t) {
    const qrn_node *n = maker(lo, t, "ElementWiseBinary");
    if (n)
        return qrn_node_u32(n, "operation", UINT32_MAX) == QRN_EW_BINARY_ADD ? n : NULL;
    return maker(lo, t, "ElementWiseAdd");
}

static bool is_number(const qrn_tensor *t, int32_t *out) {
    size_t count;
    if (!is_plain(t) || !qrn_tensor_is_static(t) || !t->data || t->dtype != QRN_DTYPE_I32 ||
        !qrn_shape_count(&t->shape, &count) || count != 1)
        return false;
    memcpy(out, t->data, sizeof *out);
    return true;
}

// Leaves the Add behind `*t`, whose constant goes to *more.
static void leave_add(const qrn_lowering *lo, const qrn_tensor **t, int32_t *more) {
    const qrn_node *n = adder(lo, *t);
    for (uint32_t i = 0; n && i < 2; i++)
        if (is_number(n->in[i], more) && is_plain(n->in[1 - i])) {
            *t = n->in[1 - i];
            return;
        }
}

// Leaves a Convert that only changes the first bit of `*t`.
static void leave_convert(const qrn_lowering *lo, const qrn_tensor **t) {
    const qrn_node *n = maker(lo, *t, "Convert");
    const qrn_tensor *x = n ? n->in[0] : NULL;
    if (!x || !is_16_bit(x) || is_signed(x) == is_signed(*t))
        return;
    const qrn_quant *from = &x->quant, *to = &(*t)->quant;
    int64_t shift = is_signed(x) ? -32768 : 32768;
    if (from->scale == to->scale && from->shift == to->shift &&
        (int64_t)from->offset + shift == (int64_t)to->offset)
        *t = x;
}

// The 16-bit operand whose value plus *more is the index, or NULL.
static const qrn_tensor *root_of(const qrn_lowering *lo, const qrn_node *n, int64_t *more) {
    const qrn_tensor *t = n->in[1];
    int32_t added = 0;
    if (!is_plain(t) || t->dtype != QRN_DTYPE_I32)
        return NULL;
    leave_add(lo, &t, &added);
    const qrn_node *cast = maker(lo, t, "Cast");
    if (!cast || t->dtype != QRN_DTYPE_I32 || !is_16_bit(cast->in[0]))
        return NULL;
    t = cast->in[0];
    bool was_signed = is_signed(t);
    leave_convert(lo, &t);
    *more = (int64_t)added + (is_signed(t) == was_signed ? 0 : was_signed ? -32768 : 32768);
    return t;
}

// Indices from -N_VALUES on count from the end, so that all in this range have an entry.
static bool all_in_range(const qrn_tensor *x, int64_t more) {
    int64_t first = (is_signed(x) ? -32768 : 0) + more;
    return first >= -N_VALUES && first + N_VALUES - 1 < N_VALUES;
}

static bool is_table(const qrn_node *n) {
    const qrn_tensor *t = n->in[0], *y = n->out[0];
    return is_plain(t) && is_plain(y) && qrn_tensor_is_static(t) && t->data && t->shape.rank == 1 &&
           t->shape.dims[0] == N_VALUES && qrn_node_u32(n, "axis", 0) == 0 &&
           t->dtype == y->dtype && qrn_dtypes[t->dtype].bits >= 8 &&
           t->quant.kind <= QRN_QUANT_TENSOR && qrn_quant_equal(&t->quant, &y->quant);
}

// The table by the bits of x, which differ from the indices by `more` modulo N_VALUES.
static qrn_status put_table(qrn_lowering *lo, const qrn_tensor *t, uint32_t more, qrn_val *out) {
    void *data;
    size_t size = (size_t)qrn_dtypes[t->dtype].bits / 8;
    if (more == 0)
        return qrn_lo_tensor(lo, t, out);
    QRN_TRY(qrn_lo_const(lo, t->dtype, &t->shape, &t->quant, out, &data));
    memcpy(data, (const char *)t->data + more * size, (N_VALUES - more) * size);
    memcpy((char *)data + (N_VALUES - more) * size, t->data, more * size);
    return QRN_OK;
}

qrn_status qrn_lower_lookup(qrn_lowering *lo, const qrn_node *n) {
    int64_t more = 0;
    const qrn_tensor *x = lo->depth == 0 && is_table(n) ? root_of(lo, n, &more) : NULL;
    size_t count, of_y;
    if (!x || !all_in_range(x, more) || !qrn_shape_count(&x->shape, &count) ||
        !qrn_shape_count(&n->out[0]->shape, &of_y) || count != of_y)
        return QRN_E_UNSUPPORTED;
    qrn_val ins[2], y;
    QRN_TRY(qrn_lo_tensor(lo, x, &ins[0]));
    QRN_TRY(put_table(lo, n->in[0], (uint32_t)(more & (N_VALUES - 1)), &ins[1]));
    QRN_TRY(qrn_lo_tensor(lo, n->out[0], &y));
    return qrn_lo_step(lo, &qrn_cop_lut, QRN_DOMAIN_RAW, NULL, ins, 2, &y, 1, 0);
}
