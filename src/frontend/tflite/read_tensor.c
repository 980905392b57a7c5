// SPDX-License-Identifier: MIT
//
// Tensors of a file: types, shapes, encodings, and the data of constants, which stays where it
// lies unless it is not aligned.
#include "frontend/tflite/internal.h"
#include "frontend/tflite/schema.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// By the format's numbers; OX_NONE: strings, resources and others that no tensor can hold.
static const uint8_t types[] = {
    OX_F32,  OX_F16, OX_I32,  OX_U8,   OX_I64, OX_NONE, OX_BOOL, OX_I16,  OX_NONE, OX_I8, OX_F64,
    OX_NONE, OX_U64, OX_NONE, OX_NONE, OX_U32, OX_U16,  OX_I4,   OX_BF16, OX_NONE, OX_U4,
};

static qrn_status read_dims(tl_reader *r, const qc_table *t, tl_tensor *out) {
    qc_vector shape, signature;
    ox_info *info = &out->info;
    qc_flat_vector(t, TL_TENSOR_SHAPE, 4, &shape);
    qc_flat_vector(t, TL_TENSOR_SIGNATURE, 4, &signature);
    if (shape.n > OX_MAX_RANK) {
        info->type = OX_NONE; // refused where it is used
        return QRN_OK;
    }
    info->has_shape = true;
    info->rank = shape.n;
    for (uint32_t i = 0; i < shape.n; i++) {
        int32_t n = qc_vector_i32(&shape, i);
        if (n < 0 && n != -1)
            return tl_broken(r, "tensor '%s': dimension %u is %d", out->name, i, n);
        info->dims[i] = n;
        if (signature.n != shape.n || qc_vector_i32(&signature, i) >= 0)
            continue;
        char symbol[96];
        info->dims[i] = -1;
        snprintf(symbol, sizeof symbol, "%.80s_%u", out->name, i);
        if (!(info->symbols[i] = qrn_arena_strdup(r->m->arena, symbol)))
            return QRN_FAIL(QRN_E_MEM, "%.500s: out of memory", r->m->path);
    }
    return QRN_OK;
}

static qrn_status read_encoding(tl_reader *r, const qc_table *t, tl_tensor *out) {
    qc_table q;
    qc_vector scales, zeros;
    if (!qc_flat_table(t, TL_TENSOR_QUANTIZATION, &q))
        return tl_flat_status(r);
    qc_flat_vector(&q, TL_QUANT_SCALE, 4, &scales);
    qc_flat_vector(&q, TL_QUANT_ZERO, 8, &zeros);
    if (qc_flat_u8(&q, TL_QUANT_DETAILS_TYPE, 0) != 0)
        out->info.type = OX_NONE; // blocks: refused where it is used
    if (scales.n == 0)
        return tl_flat_status(r);
    uint32_t axis = qc_flat_u32(&q, TL_QUANT_AXIS, 0);
    bool fits = scales.n == 1 || (axis < out->info.rank && out->info.dims[axis] == scales.n);
    if (!fits || (zeros.n != 0 && zeros.n != scales.n && zeros.n != 1))
        return tl_broken(r,
                         "tensor '%s': %u scales and %u zero points do not fit its shape (axis "
                         "%d)",
                         out->name, scales.n, zeros.n, (int)axis);
    ox_enc *e;
    float *s;
    int32_t *z;
    QRN_TRY(tl_room(r, 1, sizeof *e, &e));
    QRN_TRY(tl_room(r, scales.n, sizeof *s, &s));
    QRN_TRY(tl_room(r, scales.n, sizeof *z, &z));
    for (uint32_t i = 0; i < scales.n; i++) {
        int64_t zero = zeros.n ? (int64_t)qc_vector_u64(&zeros, zeros.n == 1 ? 0 : i) : 0;
        s[i] = qc_vector_f32(&scales, i);
        if (!(s[i] > 0) || !isfinite(s[i]) || zero < -65536 || zero > 65536)
            return tl_broken(r, "tensor '%s': scale %g, zero point %lld", out->name, (double)s[i],
                             (long long)zero);
        z[i] = (int32_t)zero;
    }
    *e = (ox_enc){.n = scales.n, .axis = scales.n > 1 ? (int32_t)axis : 0, .scales = s, .zeros = z};
    out->info.enc = e;
    return tl_flat_status(r);
}

// Where the data of a buffer lies; NULL: it has none.
static const uint8_t *buffer_data(tl_reader *r, uint32_t index, size_t *bytes) {
    qc_table b;
    qc_vector v;
    if (index >= r->buffers.n || !qc_vector_table(&r->buffers, index, &b))
        return NULL;
    uint64_t offset = qc_flat_u64(&b, TL_BUFFER_OFFSET, 0),
             size = qc_flat_u64(&b, TL_BUFFER_SIZE, 0);
    if (offset > 1) { // behind the tables; 0 and 1 stand for none
        if (offset > r->size || size > r->size - offset) {
            r->flat.error = "a buffer lies outside the file";
            return NULL;
        }
        *bytes = (size_t)size;
        return size ? r->data + offset : NULL;
    }
    qc_flat_vector(&b, TL_BUFFER_DATA, 1, &v);
    *bytes = v.n;
    return v.n ? r->data + v.at : NULL;
}

static qrn_status read_data(tl_reader *r, const qc_table *t, tl_tensor *out) {
    uint32_t index = qc_flat_u32(t, TL_TENSOR_BUFFER, 0);
    if (index >= r->buffers.n && index != 0)
        return tl_broken(r, "tensor '%s': buffer %u of %u", out->name, index, r->buffers.n);
    const uint8_t *data = index ? buffer_data(r, index, &out->bytes) : NULL;
    QRN_TRY(tl_flat_status(r));
    unsigned bits = ox_type_bits(out->info.type);
    qc_table sparsity;
    double want = bits / 8.0;
    for (uint32_t i = 0; i < out->info.rank; i++)
        want *= (double)out->info.dims[i];
    out->empty = !data && index && want == 0 && bits; // the shape of a scalar is such a constant
    if (!data || bits == 0)
        return QRN_OK;
    if (qc_flat_table(t, TL_TENSOR_SPARSITY, &sparsity)) {
        uint8_t *dense;
        QRN_TRY(tl_expand_sparse(r, &sparsity, out, data, out->bytes, &dense, &out->bytes));
        data = dense;
    }
    if (ceil(want) != (double)out->bytes)
        return tl_broken(r, "tensor '%s': %zu bytes of data, its shape has %.0f", out->name,
                         out->bytes, ceil(want));
    if (bits > 8 && (uintptr_t)data % (bits / 8) != 0 &&
        !(data = qrn_arena_copy(r->m->arena, data, out->bytes)))
        return QRN_FAIL(QRN_E_MEM, "%.500s: out of memory", r->m->path);
    out->data = data;
    return QRN_OK;
}

qrn_status tl_read_tensors(tl_reader *r, const qc_table *graph) {
    qc_vector v;
    qc_flat_vector(graph, TL_GRAPH_TENSORS, 4, &v);
    for (uint32_t i = 0; i < v.n; i++) {
        qc_table t;
        tl_tensor *out = &r->tensors[i];
        if (!qc_vector_table(&v, i, &t))
            return tl_flat_status(r);
        uint8_t type = qc_flat_u8(&t, TL_TENSOR_TYPE, 0);
        out->info.name = out->name;
        out->info.type = type < sizeof types ? types[type] : OX_NONE;
        QRN_TRY(read_dims(r, &t, out));
        QRN_TRY(read_encoding(r, &t, out));
        if (out->info.type != OX_NONE)
            QRN_TRY(read_data(r, &t, out));
    }
    return tl_flat_status(r);
}
