// SPDX-License-Identifier: MIT
//
// Ops of the folder that make constants or change nothing but the shape. The latter share the
// input's data.
#include "frontend/onnx/fold/fold_array.h"

#include <math.h>
#include <string.h>

// --- sources

// A list of numbers of an attribute, copied: rank 1, or 0 for a single value.
static qrn_status put_numbers(ox_call *c, int type, const void *data, uint32_t n, uint32_t rank) {
    ox_array y;
    QRN_TRY(ox_call_new(c, type, rank, &n, &y));
    if (y.count)
        memcpy(y.own, data, y.count * y.elem);
    return ox_call_put(c, 0, &y);
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

// Dimensions of an output from a list of integers.
static qrn_status read_dims(const ox_call *c, const int64_t *list, uint32_t n, uint32_t *dims) {
    for (uint32_t d = 0; d < n; d++) {
        if (list[d] < 0 || list[d] > UINT32_MAX)
            return OX_CALL_FAIL(c, QRN_E_SHAPE, "dimension %u of the output would be %lld", d,
                                (long long)list[d]);
        dims[d] = (uint32_t)list[d];
    }
    return QRN_OK;
}

qrn_status ox_fold_constant_of_shape(ox_call *c) {
    int64_t list[OX_MAX_RANK];
    uint32_t n, dims[OX_MAX_RANK];
    ox_array y;
    QRN_TRY(ox_call_ints(c, 0, list, OX_MAX_RANK, &n));
    QRN_TRY(read_dims(c, list, n, dims));
    const ox_attr *a = ox_attr_find(c->node, "value");
    const ox_tensor *t = a ? a->t : NULL;
    QRN_TRY(ox_call_new(c, t ? t->type : OX_F32, n, dims, &y));
    if (t && t->bytes != y.elem)
        return OX_CALL_FAIL(c, QRN_E_PARAM, "attribute 'value' must have one element");
    for (size_t i = 0; t && i < y.count; i++)
        memcpy(y.own + i * y.elem, t->data, y.elem);
    return ox_call_put(c, 0, &y);
}

// Shape and Size need no data.
static qrn_status known_shape(const ox_call *c, const ox_val **v) {
    if (!ox_call_has(c, 0))
        return OX_CALL_FAIL(c, QRN_E_OP_CONFIG, "input 0 is missing");
    *v = c->in[0];
    return (*v)->known ? QRN_OK : OX_CALL_PASS(c, "the shape of the input is not known");
}

qrn_status ox_fold_shape(ox_call *c) {
    const ox_val *v;
    QRN_TRY(known_shape(c, &v));
    int64_t rank = v->rank, start = ox_attr_int(c->node, "start", 0);
    int64_t end = ox_attr_int(c->node, "end", rank);
    start = ox_clamp(start < 0 ? start + rank : start, 0, rank);
    end = ox_clamp(end < 0 ? end + rank : end, start, rank);
    int64_t list[OX_MAX_RANK];
    for (int64_t d = start; d < end; d++)
        list[d - start] = v->dims[d];
    return put_numbers(c, OX_I64, list, (uint32_t)(end - start), 1);
}

qrn_status ox_fold_size(ox_call *c) {
    const ox_val *v;
    size_t count = 0;
    QRN_TRY(known_shape(c, &v));
    if (!ox_dims_count(v->rank, v->dims, &count))
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "the input's size overflows");
    int64_t size = (int64_t)count;
    return put_numbers(c, OX_I64, &size, 1, 0);
}

static bool has_sign(const ox_array *a) { return a->kind == OX_SIGNED; }

// Length of start, start + delta, ... before limit; SIZE_MAX when it cannot be held.
static size_t range_length(const ox_array *x, ox_num start, ox_num limit, ox_num delta) {
    if (x->kind == OX_FLOAT) {
        double n = ceil((limit.f - start.f) / delta.f);
        return !(n > 0) ? 0 : n >= (double)UINT32_MAX ? SIZE_MAX : (size_t)n;
    }
    bool down = has_sign(x) && delta.i < 0;
    bool empty = down ? start.i <= limit.i : has_sign(x) ? start.i >= limit.i : start.u >= limit.u;
    if (empty)
        return 0;
    uint64_t span = down ? start.u - limit.u : limit.u - start.u;
    uint64_t step = down ? 0 - delta.u : delta.u;
    return span / step + (span % step != 0);
}

qrn_status ox_fold_range(ox_call *c) {
    ox_array x[3], y;
    for (uint32_t k = 0; k < 3; k++) {
        QRN_TRY(ox_call_numbers(c, k, &x[k]));
        QRN_TRY(ox_call_same_type(c, &x[0], &x[k]));
        if (x[k].count != 1)
            return OX_CALL_FAIL(c, QRN_E_SHAPE, "input %u must have one element", k);
    }
    ox_num start = ox_array_get(&x[0], 0), limit = ox_array_get(&x[1], 0);
    ox_num delta = ox_array_get(&x[2], 0);
    if (ox_num_double(delta, x[0].kind) == 0)
        return OX_CALL_FAIL(c, QRN_E_PARAM, "the step is 0");
    size_t n = range_length(&x[0], start, limit, delta);
    if (n > UINT32_MAX)
        return OX_CALL_PASS(c, "an output is too large");
    QRN_TRY(ox_call_new(c, x[0].type, 1, &(uint32_t){(uint32_t)n}, &y));
    for (size_t i = 0; i < n; i++) {
        ox_num v = {.u = start.u + i * delta.u};
        if (x[0].kind == OX_FLOAT)
            v.f = start.f + (double)i * delta.f;
        ox_array_set(&y, i, v);
    }
    return ox_call_put(c, 0, &y);
}

qrn_status ox_fold_eye_like(ox_call *c) {
    const ox_val *v;
    ox_array y;
    QRN_TRY(known_shape(c, &v));
    if (v->rank != 2)
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "input of rank %u, expected is 2", v->rank);
    int64_t k = ox_attr_int(c->node, "k", 0);
    int type = (int)ox_attr_int(c->node, "dtype", v->type);
    if (ox_type_kind(type) == OX_OPAQUE)
        return OX_CALL_PASS(c, "an output of a type that is not computed");
    QRN_TRY(ox_call_new(c, type, 2, v->dims, &y));
    ox_num one = ox_num_cast((ox_num){.u = 1}, OX_UNSIGNED, type);
    for (int64_t row = 0; y.count && row < v->dims[0]; row++)
        if (k >= -row && k < (int64_t)v->dims[1] - row)
            ox_array_set(&y, (size_t)(row * v->dims[1] + row + k), one);
    return ox_call_put(c, 0, &y);
}

// --- shape only

qrn_status ox_fold_identity(ox_call *c) {
    const ox_val *v;
    QRN_TRY(ox_call_value(c, 0, &v));
    return ox_call_share(c, 0, v->rank, v->dims);
}

qrn_status ox_fold_reshape(ox_call *c) {
    const ox_val *v;
    int64_t list[OX_MAX_RANK];
    uint32_t n, dims[OX_MAX_RANK];
    bool given;
    QRN_TRY(ox_call_value(c, 0, &v));
    QRN_TRY(ox_call_list(c, 1, "shape", list, OX_MAX_RANK, &n, &given));
    if (!given)
        return OX_CALL_FAIL(c, QRN_E_OP_CONFIG, "the shape is missing");
    bool allow_zero = ox_attr_int(c->node, "allowzero", 0) != 0;
    uint32_t free_dim = n; // which one is -1
    size_t have = 0, rest = 1;
    ox_dims_count(v->rank, v->dims, &have);
    for (uint32_t d = 0; d < n; d++) {
        if (list[d] == -1 && free_dim == n) {
            free_dim = d;
            list[d] = 1;
        }
        if (list[d] == 0 && !allow_zero && d < v->rank)
            list[d] = v->dims[d];
    }
    QRN_TRY(read_dims(c, list, n, dims));
    if (!ox_dims_count(n, dims, &rest))
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "the size of the new shape overflows");
    if (free_dim < n) {
        if (rest == 0 || have % rest || have / rest > UINT32_MAX)
            return OX_CALL_FAIL(c, QRN_E_SHAPE, "%zu elements do not fit the new shape", have);
        dims[free_dim] = (uint32_t)(have / rest);
    }
    return ox_call_share(c, 0, n, dims);
}

qrn_status ox_fold_flatten(ox_call *c) {
    const ox_val *v;
    QRN_TRY(ox_call_value(c, 0, &v));
    int64_t axis = ox_attr_int(c->node, "axis", 1);
    axis = axis < 0 ? axis + v->rank : axis;
    if (axis < 0 || axis > v->rank)
        return OX_CALL_FAIL(c, QRN_E_PARAM, "axis %lld is outside of rank %u", (long long)axis,
                            v->rank);
    size_t rows = 0, columns = 0;
    ox_dims_count((uint32_t)axis, v->dims, &rows);
    ox_dims_count(v->rank - (uint32_t)axis, v->dims + axis, &columns);
    if (rows > UINT32_MAX || columns > UINT32_MAX)
        return OX_CALL_PASS(c, "an output is too large");
    return ox_call_share(c, 0, 2, (uint32_t[]){(uint32_t)rows, (uint32_t)columns});
}

qrn_status ox_fold_squeeze(ox_call *c) {
    const ox_val *v;
    int64_t list[OX_MAX_RANK];
    uint32_t n, mask = 0, rank = 0, dims[OX_MAX_RANK];
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
    return ox_call_share(c, 0, rank, dims);
}

qrn_status ox_fold_unsqueeze(ox_call *c) {
    const ox_val *v;
    int64_t list[OX_MAX_RANK];
    uint32_t n, mask = 0, dims[OX_MAX_RANK];
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
    return ox_call_share(c, 0, v->rank + n, dims);
}
