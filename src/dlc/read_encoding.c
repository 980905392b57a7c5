// SPDX-License-Identifier: MIT
//
// Encodings of a DLC file. Lists of scales stay where they lie if the file is aligned, as a mapped
// one is; of a file at an odd address they are copied. How many there must be follows from the
// tensor's shape. What the numbers mean is for the backend to judge that gets the tensor.
#include "dlc/topology.h"

#include <string.h>

static float bits_float(uint64_t bits) {
    uint32_t word = (uint32_t)bits;
    float f;
    memcpy(&f, &word, sizeof f);
    return f;
}

// A list of 4-byte values.
static qrn_status read_list(const qrn_dlc_site *s, const qrn_json *object, const char *key,
                            uint64_t n, bool needed, qrn_arena *a, const void **out) {
    QRN_TRY(qrn_dlc_bytes(s, object, key, QRN_DLC_ENCODINGS, n * 4, 4, needed, out));
    if (*out && (uintptr_t)*out % 4) {
        *out = qrn_arena_copy(a, *out, n * 4);
        if (!*out)
            return QRN_FAIL(QRN_E_MEM, "%s: out of memory for scales", s->name);
    }
    return QRN_OK;
}

static qrn_status read_groups(const qrn_dlc_site *s, const qrn_json *e, uint64_t want, qrn_arena *a,
                              qrn_tensor *t) {
    qrn_quant *q = &t->quant;
    const void *scales, *offsets, *reals;
    QRN_TRY(qrn_dlc_u32(s, e, "count", UINT32_MAX, &q->n_groups));
    if (q->n_groups != want)
        return qrn_dlc_wrong(s, e, "the number of scales does not fit the shape");
    QRN_TRY(read_list(s, e, "scales", q->n_groups, true, a, &scales));
    QRN_TRY(read_list(s, e, "offsets", q->n_groups, false, a, &offsets));
    QRN_TRY(read_list(s, e, "real_offsets", q->n_groups, false, a, &reals));
    q->scales = scales;
    q->offsets = offsets;
    q->real_offsets = reals;
    return QRN_OK;
}

static qrn_status read_axis(const qrn_dlc_site *s, const qrn_json *e, qrn_arena *a, qrn_tensor *t) {
    uint32_t axis = 0;
    QRN_TRY(qrn_dlc_u32(s, e, "axis", UINT32_MAX, &axis));
    if (axis >= t->shape.rank)
        return qrn_dlc_wrong(s, e, "'axis' is not a dimension of the tensor");
    t->quant.kind = QRN_QUANT_AXIS;
    t->quant.axis = (uint8_t)axis;
    return read_groups(s, e, t->shape.dims[axis], a, t);
}

static qrn_status read_expansion(const qrn_dlc_site *s, const qrn_json *e, qrn_arena *a,
                                 qrn_tensor *t) {
    const qrn_json *object = NULL;
    QRN_TRY(qrn_dlc_member(s, e, "expansion", QRN_JSON_OBJECT, false, &object));
    if (!object)
        return QRN_OK;
    qrn_expansion *x = qrn_arena_alloc(a, sizeof *x);
    if (!x)
        return QRN_FAIL(QRN_E_MEM, "%s: out of memory for an encoding", s->name);
    const void *scales, *offsets;
    QRN_TRY(qrn_dlc_u32(s, object, "axis", UINT32_MAX, &x->axis));
    QRN_TRY(qrn_dlc_u32(s, object, "blocks", UINT32_MAX, &x->n_blocks));
    QRN_TRY(qrn_dlc_u32(s, object, "factor_bits", 16, &x->factor_bits));
    QRN_TRY(qrn_dlc_u32(s, object, "storage_bits", 16, &x->storage_bits));
    if (x->axis >= t->shape.rank || (x->storage_bits != 8 && x->storage_bits != 16))
        return qrn_dlc_wrong(s, object, "'axis' or 'storage_bits' of the expansion is wrong");
    uint64_t n = t->shape.dims[x->axis];
    if (n * x->n_blocks != t->quant.n_groups)
        return qrn_dlc_wrong(s, object, "'blocks' does not fit the number of scales");
    QRN_TRY(read_list(s, object, "scales", n, true, a, &scales));
    QRN_TRY(read_list(s, object, "offsets", n, true, a, &offsets));
    QRN_TRY(qrn_dlc_bytes(s, object, "factors", QRN_DLC_ENCODINGS,
                          n * x->n_blocks * (x->storage_bits / 8), 4, true, &x->factors));
    if ((uintptr_t)x->factors % 2)
        x->factors = qrn_arena_copy(a, x->factors, n * x->n_blocks * (x->storage_bits / 8));
    if (!x->factors)
        return QRN_FAIL(QRN_E_MEM, "%s: out of memory for an encoding", s->name);
    x->scales = scales;
    x->offsets = offsets;
    t->expansion = x;
    return QRN_OK;
}

static qrn_status read_block(const qrn_dlc_site *s, const qrn_json *e, qrn_arena *a,
                             qrn_tensor *t) {
    const qrn_json *list = NULL;
    QRN_TRY(qrn_dlc_member(s, e, "block", QRN_JSON_ARRAY, true, &list));
    if (list->n != t->shape.rank)
        return qrn_dlc_wrong(s, list, "'block' has not the tensor's rank");
    uint64_t n = 1; // at most the number of elements
    uint32_t i = 0;
    for (const qrn_json *v = list->first; v; v = v->next, i++) {
        uint64_t size = 0;
        QRN_TRY(qrn_dlc_value_u64(s, v, UINT32_MAX, &size));
        if (size == 0 || t->shape.dims[i] == 0)
            return qrn_dlc_wrong(s, v, "a block of size 0");
        t->quant.block[i] = (uint32_t)size;
        n *= (t->shape.dims[i] - 1) / size + 1;
    }
    t->quant.kind = QRN_QUANT_BLOCK;
    QRN_TRY(read_groups(s, e, n, a, t));
    return read_expansion(s, e, a, t);
}

static qrn_status read_scale(const qrn_dlc_site *s, const qrn_json *e, qrn_tensor *t) {
    const qrn_json *v = NULL;
    uint64_t bits = 0;
    int64_t offset = 0;
    QRN_TRY(qrn_dlc_bits(s, e, "scale_bits", 8, &bits));
    QRN_TRY(qrn_dlc_member(s, e, "offset", QRN_JSON_NUMBER, true, &v));
    QRN_TRY(qrn_dlc_value_i64(s, v, &offset));
    if (offset < INT32_MIN || offset > INT32_MAX)
        return qrn_dlc_wrong(s, v, "'offset' has more than 32 bits");
    t->quant.kind = QRN_QUANT_TENSOR;
    t->quant.scale = bits_float(bits);
    t->quant.offset = (int32_t)offset;
    return QRN_OK;
}

qrn_status qrn_dlc_read_encoding(const qrn_dlc_site *s, const qrn_json *object, qrn_arena *a,
                                 qrn_tensor *t) {
    const qrn_json *e = NULL, *v = NULL;
    const char *kind = NULL;
    uint32_t bits = 0;
    int64_t shift = 0;
    QRN_TRY(qrn_dlc_member(s, object, "encoding", QRN_JSON_OBJECT, false, &e));
    if (!e)
        return QRN_OK;
    QRN_TRY(qrn_dlc_text(s, e, "kind", &kind));
    QRN_TRY(qrn_dlc_u32(s, e, "form", UINT32_MAX, &t->encoding));
    QRN_TRY(qrn_dlc_u32(s, e, "bits", 64, &bits));
    QRN_TRY(qrn_dlc_member(s, e, "twice_shift", QRN_JSON_NUMBER, true, &v));
    QRN_TRY(qrn_dlc_value_i64(s, v, &shift));
    t->quant.bits = (uint8_t)bits;
    t->quant.shift = (float)shift * 0.5f;
    if (strcmp(kind, "TENSOR") == 0)
        return read_scale(s, e, t);
    if (strcmp(kind, "AXIS") == 0)
        return read_axis(s, e, a, t);
    if (strcmp(kind, "BLOCK") == 0)
        return read_block(s, e, a, t);
    return qrn_dlc_wrong(s, e, "'kind' of the encoding is unknown: TENSOR, AXIS or BLOCK");
}
