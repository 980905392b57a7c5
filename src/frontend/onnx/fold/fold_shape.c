// SPDX-License-Identifier: MIT
//
// Ops of the folder that make constants or change nothing but the shape. The latter share the
// input's data.
#include "base/mem.h"
#include "frontend/onnx/fold/fold_array.h"

#include <math.h>
#include <string.h>

// --- sources

// A list of numbers of an attribute, copied: rank 1, or 0 for a single value.
static qrn_status put_numbers(ox_call *c, int type, const void *data, size_t n, uint32_t rank) {
    qrn_nd y;
    QRN_TRY(ox_call_new(c, 0, type, rank, &n, &y));
    if (y.count)
        memcpy(y.data, data, y.count * y.elem);
    return QRN_OK;
}

static qrn_status put_tensor(ox_call *c, const ox_tensor *t) {
    unsigned bits = ox_type_bits(t->type);
    if (bits == 0 || bits > 64)
        return OX_CALL_PASS(c, "a constant of a type that is not computed with");
    ox_folded *o = &c->out[0];
    *o = (ox_folded){.type = t->type, .rank = t->rank, .data = t->data, .bytes = t->bytes};
    for (uint32_t d = 0; d < t->rank; d++) {
        if (t->dims[d] > UINT32_MAX)
            return OX_CALL_FAIL(c, QRN_E_SHAPE, "dimension %u of the value is too large", d);
        o->dims[d] = (uint32_t)t->dims[d];
    }
    return QRN_OK;
}

qrn_status ox_fold_constant(ox_call *c) {
    for (uint32_t k = 0; k < c->node->n_attrs; k++) {
        const ox_attr *a = &c->node->attrs[k];
        if (strcmp(a->name, "value") == 0 && a->t)
            return put_tensor(c, a->t);
        if (strcmp(a->name, "value_float") == 0 && a->type == OX_ATTR_FLOAT)
            return put_numbers(c, OX_F32, &a->f, 1, 0);
        if (strcmp(a->name, "value_int") == 0 && a->type == OX_ATTR_INT)
            return put_numbers(c, OX_I64, &a->i, 1, 0);
        if (strcmp(a->name, "value_floats") == 0 && a->type == OX_ATTR_FLOATS)
            return put_numbers(c, OX_F32, a->floats, a->n, 1);
        if (strcmp(a->name, "value_ints") == 0 && a->type == OX_ATTR_INTS)
            return put_numbers(c, OX_I64, a->ints, a->n, 1);
        if (strncmp(a->name, "value_string", 12) == 0 || strcmp(a->name, "sparse_value") == 0)
            return OX_CALL_PASS(c, "strings and sparse tensors are not computed with");
    }
    return OX_CALL_FAIL(c, QRN_E_PARAM, "it has no value");
}

qrn_status ox_fold_constant_of_shape(ox_call *c) {
    int64_t list[OX_MAX_RANK];
    uint32_t n;
    size_t dims[OX_MAX_RANK];
    qrn_nd y;
    QRN_TRY(ox_call_ints(c, 0, list, OX_MAX_RANK, &n));
    QRN_TRY(ox_call_dims(c, list, n, dims));
    const ox_attr *a = ox_attr_find(c->node, "value");
    const ox_tensor *t = a ? a->t : NULL;
    QRN_TRY(ox_call_new(c, 0, t ? t->type : OX_F32, n, dims, &y));
    if (t && t->bytes != y.elem)
        return OX_CALL_FAIL(c, QRN_E_PARAM, "attribute 'value' must have one element");
    if (t)
        qrn_nd_fill(&y, t->data);
    return QRN_OK;
}

// Shape and Size need no data.
static qrn_status known_shape(const ox_call *c, const ox_val **v) {
    if (!ox_call_has(c, 0))
        return OX_CALL_FAIL(c, QRN_E_OP_CONFIG, "input 0 is missing");
    *v = c->in[0];
    return (*v)->known ? QRN_OK : OX_CALL_PASS(c, "the shape of the input is not known");
}

// Elements of dims[from, to); SIZE_MAX on overflow.
static size_t count_of(const ox_val *v, uint32_t from, uint32_t to) {
    size_t n = 1;
    for (uint32_t d = from; d < to; d++)
        if (!qrn_mul_size(n, v->dims[d], &n))
            return SIZE_MAX;
    return n;
}

qrn_status ox_fold_shape(ox_call *c) {
    const ox_val *v;
    QRN_TRY(known_shape(c, &v));
    int64_t step = 1, start = ox_attr_int(c->node, "start", 0), list[OX_MAX_RANK];
    size_t n = qrn_slice_of(v->rank, &start, ox_attr_int(c->node, "end", v->rank), &step);
    for (size_t d = 0; d < n; d++)
        list[d] = v->dims[(size_t)start + d];
    return put_numbers(c, OX_I64, list, n, 1);
}

qrn_status ox_fold_size(ox_call *c) {
    const ox_val *v;
    QRN_TRY(known_shape(c, &v));
    size_t size = count_of(v, 0, v->rank);
    if (size > INT64_MAX)
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "the input's size overflows");
    return put_numbers(c, OX_I64, &size, 1, 0);
}

// Length of start, start + delta, ... before limit; SIZE_MAX when it cannot be held.
static size_t range_length(qrn_kind kind, qrn_num start, qrn_num limit, qrn_num delta) {
    if (kind == QRN_KIND_FLOAT) {
        double n = ceil((limit.f - start.f) / delta.f);
        return !(n > 0) ? 0 : n >= (double)UINT32_MAX ? SIZE_MAX : (size_t)n;
    }
    bool down = kind == QRN_KIND_SIGNED && delta.i < 0;
    if (!(down ? qrn_num_less(limit, start, kind) : qrn_num_less(start, limit, kind)))
        return 0;
    uint64_t span = down ? start.u - limit.u : limit.u - start.u;
    uint64_t step = down ? 0 - delta.u : delta.u;
    return span / step + (span % step != 0);
}

qrn_status ox_fold_range(ox_call *c) {
    qrn_nd x, y;
    qrn_num v[3]; // start, limit, delta
    QRN_TRY(ox_call_numbers(c, 0, &x));
    for (uint32_t k = 0; k < 3; k++) {
        qrn_nd one;
        QRN_TRY(ox_call_one(c, k, &x, &one));
        v[k] = qrn_nd_get(&one, 0);
    }
    if (qrn_num_double(v[2], x.kind) == 0)
        return OX_CALL_FAIL(c, QRN_E_PARAM, "the step is 0");
    size_t n = range_length(x.kind, v[0], v[1], v[2]);
    QRN_TRY(ox_call_new(c, 0, x.type, 1, &n, &y));
    for (size_t i = 0; i < n; i++) {
        qrn_num at = {.u = v[0].u + i * v[2].u};
        if (x.kind == QRN_KIND_FLOAT)
            at.f = v[0].f + (double)i * v[2].f;
        qrn_nd_set(&y, i, at);
    }
    return QRN_OK;
}

qrn_status ox_fold_eye_like(ox_call *c) {
    const ox_val *v;
    qrn_nd y;
    QRN_TRY(known_shape(c, &v));
    if (v->rank != 2)
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "input of rank %u, expected is 2", v->rank);
    int64_t k = ox_attr_int(c->node, "k", 0);
    int type = (int)ox_attr_int(c->node, "dtype", v->type);
    qrn_dtype t = ox_type_dtype(type);
    if (t == QRN_DTYPE_COUNT)
        return OX_CALL_PASS(c, "an output of a type that is not computed");
    QRN_TRY(ox_call_new(c, 0, type, 2, (size_t[]){v->dims[0], v->dims[1]}, &y));
    qrn_num one = {.u = 1};
    qrn_nums_cast(&one, 1, QRN_KIND_UNSIGNED, t, QRN_CAST_SATURATE);
    for (int64_t row = 0; y.count && row < v->dims[0]; row++)
        if (k >= -row && k < (int64_t)v->dims[1] - row)
            qrn_nd_set(&y, (size_t)(row * v->dims[1] + row + k), one);
    return QRN_OK;
}

// --- shape only

qrn_status ox_fold_identity(ox_call *c) {
    const ox_val *v;
    QRN_TRY(ox_call_value(c, 0, &v));
    size_t dims[OX_MAX_RANK];
    for (uint32_t d = 0; d < v->rank; d++)
        dims[d] = v->dims[d];
    return ox_call_share(c, v->rank, dims);
}

qrn_status ox_fold_reshape(ox_call *c) {
    const ox_val *v;
    int64_t list[OX_MAX_RANK];
    uint32_t n;
    size_t dims[OX_MAX_RANK];
    bool given;
    QRN_TRY(ox_call_value(c, 0, &v));
    QRN_TRY(ox_call_list(c, 1, "shape", list, OX_MAX_RANK, &n, &given));
    if (!given)
        return OX_CALL_FAIL(c, QRN_E_OP_CONFIG, "the shape is missing");
    bool allow_zero = ox_attr_int(c->node, "allowzero", 0) != 0;
    uint32_t free_dim = n; // which one is -1
    size_t have = count_of(v, 0, v->rank), rest = 1;
    for (uint32_t d = 0; d < n; d++) {
        if (list[d] == -1 && free_dim == n) {
            free_dim = d;
            list[d] = 1;
        }
        if (list[d] == 0 && !allow_zero && d < v->rank)
            list[d] = v->dims[d];
    }
    QRN_TRY(ox_call_dims(c, list, n, dims));
    for (uint32_t d = 0; d < n; d++)
        if (!qrn_mul_size(rest, dims[d], &rest))
            return OX_CALL_FAIL(c, QRN_E_SHAPE, "the size of the new shape overflows");
    if (free_dim < n) {
        if (rest == 0 || have % rest || have / rest > UINT32_MAX)
            return OX_CALL_FAIL(c, QRN_E_SHAPE, "%zu elements do not fit the new shape", have);
        dims[free_dim] = have / rest;
    }
    return ox_call_share(c, n, dims);
}

qrn_status ox_fold_flatten(ox_call *c) {
    const ox_val *v;
    QRN_TRY(ox_call_value(c, 0, &v));
    int64_t axis = ox_attr_int(c->node, "axis", 1);
    axis = axis < 0 ? axis + v->rank : axis;
    if (axis < 0 || axis > v->rank)
        return OX_CALL_FAIL(c, QRN_E_PARAM, "axis %lld is outside of rank %u", (long long)axis,
                            v->rank);
    size_t rows = count_of(v, 0, (uint32_t)axis), columns = count_of(v, (uint32_t)axis, v->rank);
    if (rows > UINT32_MAX || columns > UINT32_MAX)
        return OX_CALL_PASS(c, "an output is too large");
    return ox_call_share(c, 2, (size_t[]){rows, columns});
}

qrn_status ox_fold_squeeze(ox_call *c) {
    const ox_val *v;
    int64_t list[OX_MAX_RANK];
    uint32_t n, mask = 0, rank = 0;
    size_t dims[OX_MAX_RANK];
    bool given;
    QRN_TRY(ox_call_value(c, 0, &v));
    QRN_TRY(ox_call_list(c, 1, "axes", list, OX_MAX_RANK, &n, &given));
    QRN_TRY(ox_call_axes(c, list, n, v->rank, &mask));
    for (uint32_t d = 0; d < v->rank; d++) {
        bool named = mask >> d & 1;
        if (named && v->dims[d] != 1)
            return OX_CALL_FAIL(c, QRN_E_SHAPE, "dimension %u is %u, not 1", d, v->dims[d]);
        if (given ? !named : v->dims[d] != 1)
            dims[rank++] = v->dims[d];
    }
    return ox_call_share(c, rank, dims);
}

qrn_status ox_fold_unsqueeze(ox_call *c) {
    const ox_val *v;
    int64_t list[OX_MAX_RANK];
    uint32_t n, mask = 0;
    size_t dims[OX_MAX_RANK];
    bool given;
    QRN_TRY(ox_call_value(c, 0, &v));
    QRN_TRY(ox_call_list(c, 1, "axes", list, OX_MAX_RANK, &n, &given));
    if (!given)
        return OX_CALL_FAIL(c, QRN_E_OP_CONFIG, "the axes are missing");
    if (v->rank + n > OX_MAX_RANK)
        return OX_CALL_PASS(c, "an output has too many dimensions");
    QRN_TRY(ox_call_axes(c, list, n, v->rank + n, &mask));
    for (uint32_t d = 0, from = 0; d < v->rank + n; d++)
        dims[d] = mask >> d & 1 ? 1 : v->dims[from++];
    return ox_call_share(c, v->rank + n, dims);
}
