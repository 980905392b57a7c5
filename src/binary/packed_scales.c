// SPDX-License-Identifier: MIT
//
// Scales of blocks that a file has in a packed form alone: in the order in which kernels read them,
// not once more as a list. Writer and reader ask the same question.
#include "binary/packed_scales.h"

#define PANEL 32u

static uint32_t parts(uint32_t n, uint32_t size) { return size ? (n - 1) / size + 1 : 0; }

// The two last dimensions of the weights: which one counts columns? False: neither, or there are
// others.
static bool find_columns(const qrn_tensor *t, qrn_quant_packed *p) {
    const qrn_quant *q = &t->quant;
    uint32_t r = t->shape.rank;
    if (r < 2 || q->kind != QRN_QUANT_BLOCK || q->shift != 0.0f || q->real_offsets ||
        !qrn_dtype_is_fixed(t->dtype) || qrn_dtypes[t->dtype].bits > 8)
        return false;
    for (uint32_t i = 0; i + 2 < r; i++)
        if (t->shape.dims[i] != 1)
            return false;
    p->by_column = q->block[r - 2] == 1;
    uint32_t column = p->by_column ? r - 2 : r - 1, depth = p->by_column ? r - 1 : r - 2;
    p->columns = t->shape.dims[column];
    p->runs = parts(t->shape.dims[depth], q->block[depth]);
    return q->block[column] == 1 && (uint64_t)p->columns * p->runs == q->n_groups;
}

static bool is_form(const qrn_packed *f, const qrn_tensor *t, qrn_packing_id id,
                    const qrn_quant_packed *p) {
    return f->tensor_id == t->id && f->packing == id && f->shape.rank == 3 &&
           f->shape.dims[0] == parts(p->columns, PANEL) && f->shape.dims[1] == p->runs &&
           f->shape.dims[2] == PANEL;
}

bool qrn_bin_packed_scales(const qrn_tensor *t, const qrn_packed_list *l, qrn_quant_packed *p) {
    *p = (qrn_quant_packed){0};
    if (t->role != QRN_ROLE_STATIC || t->updateable || !find_columns(t, p))
        return false;
    bool is_signed = qrn_dtypes[t->dtype].cls == QRN_CLASS_SFIXED;
    p->shift = is_signed ? 0 : INT32_C(1) << (t->quant.bits - 1);
    for (uint32_t i = 0; i < l->n && !p->scales; i++) {
        const qrn_packed *f = &l->items[i];
        p->fp16 = f->dtype == QRN_DTYPE_F16;
        if (is_form(f, t, QRN_PACKING_SCALES, p) && (p->fp16 || f->dtype == QRN_DTYPE_F32))
            p->scales = f->data;
    }
    for (uint32_t i = 0; i < l->n && !p->offsets; i++) {
        const qrn_packed *f = &l->items[i];
        if (is_form(f, t, QRN_PACKING_OFFSETS, p) && f->dtype == QRN_DTYPE_I8)
            p->offsets = f->data;
    }
    return p->scales != NULL;
}
