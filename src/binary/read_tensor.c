// SPDX-License-Identifier: MIT
//
// Tensor records. Everything that tensor creation would have refused is refused here as well, so
// that what follows may trust types, shapes, sizes and encodings.
#include "base/mem.h"
#include "binary/read.h"

#include <math.h>

#define LARGEST_TENSOR ((size_t)1 << 40) // as for tensors that are created

qrn_dtype qrn_bin_get_dtype(qrn_in *in) {
    uint32_t code = qrn_in_u32(in);
    qrn_dtype t = qrn_dtype_from_code(code);
    if (t == QRN_DTYPE_COUNT) {
        qrn_in_fail(in, "unknown data type 0x%04x", code);
        return QRN_DTYPE_F32;
    }
    return t;
}

void qrn_bin_get_shape(qrn_in *in, qrn_dtype t, qrn_shape *shape, size_t *size_bytes) {
    uint32_t rank = qrn_in_u32(in);
    size_t count;
    *shape = (qrn_shape){0};
    *size_bytes = 0;
    if (rank > QRN_MAX_RANK) {
        qrn_in_fail(in, "rank %u, at most %u", rank, QRN_MAX_RANK);
        return;
    }
    shape->rank = rank;
    for (uint32_t i = 0; i < rank; i++)
        if ((shape->dims[i] = qrn_in_u32(in)) == 0)
            qrn_in_fail(in, "dimension %u is 0", i);
    if (!qrn_shape_count(shape, &count) || !qrn_dtype_bytes(t, count, size_bytes) ||
        *size_bytes > LARGEST_TENSOR)
        qrn_in_fail(in, "a shape of too many bytes");
}

static void get_role(qrn_in *in, qrn_tensor *t) {
    uint32_t role = qrn_in_u32(in), flags = qrn_in_u32(in);
    if (role > QRN_ROLE_STATIC || flags > (QRN_BIN_TENSOR_UPDATEABLE | QRN_BIN_TENSOR_OPTIONAL))
        qrn_in_fail(in, "a tensor of role %u with flags %u", role, flags);
    t->role = (uint8_t)role;
    t->updateable = flags & QRN_BIN_TENSOR_UPDATEABLE;
    t->optional_io = flags & QRN_BIN_TENSOR_OPTIONAL;
    if (t->optional_io && role > QRN_ROLE_INOUT)
        qrn_in_fail(in, "an optional tensor that is not an application tensor");
}

static void get_dynamic(qrn_in *in, qrn_tensor *t) {
    uint32_t mask = qrn_in_u32(in);
    if (mask >> t->shape.rank || (mask && t->role == QRN_ROLE_STATIC))
        qrn_in_fail(in, "dynamic dimensions 0x%x of rank %u", mask, t->shape.rank);
    for (uint32_t i = 0; i < t->shape.rank; i++)
        t->dynamic[i] = mask >> i & 1;
    t->has_dynamic = mask != 0;
}

void qrn_bin_get_sparse(qrn_in *in, qrn_tensor *t, uint32_t n, uint32_t dims) {
    size_t values = n, indices = 0, value_bytes = 0;
    bool fits = n && dims && dims <= t->shape.rank;
    for (uint32_t i = dims; fits && i < t->shape.rank; i++)
        fits = qrn_mul_size(values, t->shape.dims[i], &values);
    fits = fits && qrn_dtype_bytes(t->dtype, values, &value_bytes) &&
           qrn_mul_size((size_t)n * dims, sizeof(int32_t), &indices) &&
           qrn_add_size(indices, value_bytes, &t->size_bytes) && t->size_bytes <= LARGEST_TENSOR;
    if (!fits)
        qrn_in_fail(in, "a sparse tensor of %u elements and %u sparse dimensions", n, dims);
    t->n_sparse_elements = n;
    t->n_sparse_dims = dims;
}

static bool scale_fits(const qrn_tensor *t, float scale) {
    bool zero_fits = t->role == QRN_ROLE_STATIC || qrn_dtypes[t->dtype].bits == 32;
    return isfinite(scale) && (scale > 0.0f || (scale == 0.0f && zero_fits));
}

// Groups of an encoding per axis or block; `n`: as many as the shape wants.
static void get_groups(qrn_in *in, qrn_tensor *t, uint64_t n) {
    qrn_quant *q = &t->quant;
    uint32_t count = qrn_in_u32(in), has = qrn_in_u32(in);
    if (count != n ||
        has > (q->kind == QRN_QUANT_BLOCK ? QRN_BIN_GROUPS_PACKED : QRN_BIN_GROUPS_OFFSETS))
        qrn_in_fail(in, "an encoding of %u groups, expected %llu", count, (unsigned long long)n);
    if (in->status != QRN_OK)
        return;
    q->n_groups = count;
    if (has == QRN_BIN_GROUPS_PACKED)
        return; // found with the packed forms
    q->scales = (const float *)(const void *)qrn_in_words(in, count);
    if (has & QRN_BIN_GROUPS_OFFSETS)
        q->offsets = (const int32_t *)(const void *)qrn_in_words(in, count);
    if (has & QRN_BIN_GROUPS_REAL_OFFSETS)
        q->real_offsets = (const float *)(const void *)qrn_in_words(in, count);
    for (uint32_t i = 0; in->status == QRN_OK && i < count; i++)
        if (!scale_fits(t, q->scales[i]) || (q->real_offsets && !isfinite(q->real_offsets[i])))
            qrn_in_fail(in, "scale or offset %u of an encoding", i);
}

static bool shift_fits(const qrn_tensor *t) {
    float shift = t->quant.shift;
    bool is_signed = qrn_dtypes[t->dtype].cls == QRN_CLASS_SFIXED;
    return shift == 0.0f || shift == 1.0f ||
           shift == (is_signed ? 0.5f : 0.5f - ldexpf(1.0f, t->quant.bits - 1));
}

static void get_blocks(qrn_in *in, qrn_tensor *t) {
    uint64_t n = 1; // at most the number of elements
    for (uint32_t i = 0; i < t->shape.rank; i++) {
        uint32_t block = qrn_in_u32(in);
        if (!block)
            qrn_in_fail(in, "an encoding with a block of size 0");
        t->quant.block[i] = block;
        n *= block ? (t->shape.dims[i] - 1) / block + 1 : 1;
    }
    get_groups(in, t, n);
}

bool qrn_bin_lacks_scales(const qrn_tensor *t) {
    return t->quant.kind == QRN_QUANT_BLOCK && !t->quant.scales && !t->quant.packed;
}

void qrn_bin_get_quant(qrn_in *in, qrn_tensor *t) {
    qrn_quant *q = &t->quant;
    t->encoding = qrn_in_u32(in);
    uint32_t kind = qrn_in_u32(in), container = qrn_dtypes[t->dtype].bits;
    *q = (qrn_quant){.bits = (uint8_t)container};
    if (kind > QRN_QUANT_BLOCK || (kind && !qrn_dtype_is_fixed(t->dtype))) {
        qrn_in_fail(in, "encoding of kind %u on data type %s", kind, qrn_dtypes[t->dtype].token);
        return;
    }
    if (kind == QRN_QUANT_NONE)
        return;
    uint32_t bits = qrn_in_u32(in);
    q->kind = (uint8_t)kind;
    q->bits = (uint8_t)bits;
    q->shift = qrn_in_f32(in);
    if (bits == 0 || bits > container || !shift_fits(t)) {
        qrn_in_fail(in, "an encoding of %u bits and shift %g", bits, (double)q->shift);
        return;
    }
    if (kind == QRN_QUANT_BLOCK) {
        get_blocks(in, t);
    } else if (kind == QRN_QUANT_AXIS) {
        uint32_t axis = qrn_in_u32(in);
        if (axis >= t->shape.rank) {
            qrn_in_fail(in, "an encoding of axis %u", axis);
            return;
        }
        q->axis = (uint8_t)axis;
        get_groups(in, t, t->shape.dims[axis]);
    } else {
        q->scale = qrn_in_f32(in);
        q->offset = (int32_t)qrn_in_u32(in);
        if (!scale_fits(t, q->scale))
            qrn_in_fail(in, "an encoding of scale %g", (double)q->scale);
    }
}

static void get_data(qrn_in *in, qrn_bin_reading *r, qrn_tensor *t) {
    uint32_t constant = qrn_in_u32(in);
    if (in->status != QRN_OK || constant == QRN_BIN_NONE)
        return;
    const qrn_bin_constant *k = qrn_bin_use_constant(in, r, constant);
    if (k && (t->role != QRN_ROLE_STATIC || k->size_bytes != t->size_bytes))
        qrn_in_fail(in, "tensor '%s' of %zu bytes with data of %llu", t->name, t->size_bytes,
                    (unsigned long long)k->size_bytes);
    t->data = k ? k->data : NULL;
}

// Every id is used once.
static void take_id(qrn_in *in, qrn_bin_reading *r, qrn_tensor *t) {
    t->id = qrn_in_u32(in);
    if (t->id == 0 || t->id > r->n_ids || r->by_id[t->id])
        qrn_in_fail(in, "tensor id %u, expected a new one of 1 to %u", t->id, r->n_ids);
}

qrn_tensor *qrn_bin_get_tensor(qrn_in *in, qrn_bin_reading *r) {
    qrn_tensor *t = qrn_in_array(in, 1, sizeof *t);
    if (!t)
        return NULL;
    take_id(in, r, t);
    t->name = qrn_in_text(in);
    if (t->name && !*t->name)
        qrn_in_fail(in, "a tensor without a name");
    get_role(in, t);
    t->dtype = qrn_bin_get_dtype(in);
    if (t->dtype == QRN_DTYPE_STR)
        qrn_in_fail(in, "a tensor of strings");
    t->format = qrn_in_u32(in);
    bool native = t->format == QRN_FORMAT_NATIVE_KV &&
                  (t->role == QRN_ROLE_INPUT || t->role == QRN_ROLE_OUTPUT);
    if (t->format > QRN_FORMAT_SPARSE && !native)
        qrn_in_fail(in, "tensor format %u", t->format);
    qrn_bin_get_shape(in, t->dtype, &t->shape, &t->size_bytes);
    if (in->status != QRN_OK)
        return NULL;
    get_dynamic(in, t);
    if (t->format == QRN_FORMAT_SPARSE) {
        uint32_t n = qrn_in_u32(in);
        qrn_bin_get_sparse(in, t, n, qrn_in_u32(in));
    }
    qrn_bin_get_quant(in, t);
    get_data(in, r, t);
    if (in->status == QRN_OK && qrn_bin_lacks_scales(t) && t->data)
        qrn_in_fail(in, "tensor '%s' with data and without scales", t->name);
    if (in->status != QRN_OK)
        return NULL;
    r->by_id[t->id] = t;
    return t;
}
