// SPDX-License-Identifier: MIT
//
// The values of a method: numbers, texts, lists and tensors with the place of their data.
#include "frontend/executorch/internal.h"

#include "base/mem.h"

// --- Tensors

// Shape and order in memory; bytes of the dense tensor.
static qrn_status read_shape(et_reader *r, const qc_table *t, uint32_t value, et_tensor_def *d) {
    qc_vector sizes, order;
    qc_flat_vector(t, 2, 4, &sizes);
    qc_flat_vector(t, 3, 1, &order);
    QRN_TRY(et_flat_status(r));
    size_t bytes = et_type_bytes(d->type);
    if (bytes == 0)
        return et_broken(r, "value %u: a tensor of scalar type %u, which is not known", value,
                         d->type);
    if (sizes.n > ET_MAX_RANK)
        return et_broken(r, "value %u: a tensor of rank %u, at most %d", value, sizes.n,
                         ET_MAX_RANK);
    d->rank = (uint8_t)sizes.n;
    if (order.n && order.n != sizes.n)
        return et_broken(r, "value %u: a tensor of rank %u with an order of %u dimensions", value,
                         sizes.n, order.n);
    uint32_t seen = 0;
    for (uint32_t i = 0; i < sizes.n; i++) {
        d->sizes[i] = qc_vector_i32(&sizes, i);
        d->order[i] = order.n ? qc_vector_u8(&order, i) : (uint8_t)i;
        if (d->sizes[i] < 0 || !qrn_mul_size(bytes, (size_t)d->sizes[i], &bytes) ||
            bytes > INT64_MAX)
            return et_broken(r, "value %u: a tensor with an impossible dimension %d", value,
                             d->sizes[i]);
        if (d->order[i] >= sizes.n || (seen >> d->order[i] & 1))
            return et_broken(r, "value %u: the order of dimensions is not a permutation", value);
        seen |= 1u << d->order[i];
    }
    d->bytes = bytes;
    return QRN_OK;
}

static qrn_status check_data(const et_reader *r, uint32_t value, const et_tensor_def *d,
                             const char *what, et_range data) {
    if (d->bytes <= data.bytes)
        return QRN_OK;
    return et_broken(r, "value %u: a tensor of %zu bytes whose %s has %zu", value, d->bytes, what,
                     data.bytes);
}

// What a planned tensor begins with.
static qrn_status read_initial(et_reader *r, uint32_t value, uint32_t set, uint32_t index,
                               et_tensor_def *d) {
    qc_vector sets, offsets;
    qc_table t;
    qc_flat_vector(&r->root, 6, 4, &sets);
    if (set >= sets.n || !qc_vector_table(&sets, set, &t))
        return r->flat.error ? et_flat_status(r)
                             : et_broken(r, "value %u: initial data of set %u, there are %u", value,
                                         set, sets.n);
    uint32_t segment = qc_flat_u32(&t, 0, 0);
    qc_flat_vector(&t, 1, 8, &offsets);
    QRN_TRY(et_flat_status(r));
    if (segment >= r->p->n_segments || index >= offsets.n)
        return et_broken(r, "value %u: initial data %u of segment %u is not there", value, index,
                         segment);
    et_range s = r->segments[segment];
    uint64_t at = qc_vector_u64(&offsets, index);
    if (at > s.bytes)
        return et_broken(r, "value %u: initial data outside its segment", value);
    QRN_TRY(check_data(r, value, d, "initial data", (et_range){s.data + at, s.bytes - (size_t)at}));
    d->data = s.data + at;
    return QRN_OK;
}

static qrn_status read_allocation(et_reader *r, const qc_table *a, uint32_t value,
                                  et_tensor_def *d) {
    const et_method_def *m = r->method;
    uint32_t id = qc_flat_u32(a, 0, 0);
    d->place = ET_PLANNED;
    d->offset = (uint64_t)qc_flat_u32(a, 2, 0) << 32 | qc_flat_u32(a, 1, 0);
    if (id == 0 || id > m->n_buffers)
        return et_broken(r, "value %u: a tensor in buffer %u, there are %u", value, id,
                         m->n_buffers);
    d->buffer = id - 1;
    uint64_t room = m->buffers[d->buffer];
    if (d->offset > room || d->bytes > room - d->offset)
        return et_broken(r, "value %u: %zu bytes at %llu in a buffer of %llu", value, d->bytes,
                         (unsigned long long)d->offset, (unsigned long long)room);
    return QRN_OK;
}

static qrn_status read_tensor(et_reader *r, const qc_table *t, uint32_t value, et_value *v) {
    et_tensor_def *d;
    qc_table allocation, extra;
    QRN_TRY(et_room(r, 1, sizeof *d, &d));
    d->type = qc_flat_u8(t, 0, 0);
    d->may_shrink = qc_flat_u8(t, 8, 0) != 0;
    d->name = "";
    QRN_TRY(read_shape(r, t, value, d));
    if (qc_flat_i32(t, 1, 0) != 0)
        return et_broken(r, "value %u: a tensor with a storage offset, which no writer makes",
                         value);
    uint32_t index = qc_flat_u32(t, 5, 0);
    bool has_extra = qc_flat_table(t, 9, &extra);
    if (has_extra)
        d->name = qc_flat_text(&extra, 1, "");
    bool planned = qc_flat_table(t, 6, &allocation);
    v->tensor = d;
    if (planned)
        QRN_TRY(read_allocation(r, &allocation, value, d));
    if (has_extra && qc_flat_u8(&extra, 2, 0) == 1) {
        d->place = ET_EXTERNAL;
    } else if (planned && index) {
        QRN_TRY(read_initial(r, value, has_extra ? qc_flat_u32(&extra, 0, 0) : 0, index, d));
    } else if (index) {
        if (index >= r->n_constants)
            return et_broken(r, "value %u: constant %u, there are %u", value, index,
                             r->n_constants);
        QRN_TRY(check_data(r, value, d, "constant", r->constants[index]));
        d->place = ET_CONSTANT;
        d->data = r->constants[index].data;
    }
    return et_flat_status(r);
}

// --- Lists

// Elements of 8 bytes (indices of integers), 4 (indices of tensors) or 1 (bools).
static qrn_status read_list(et_reader *r, const qc_table *t, size_t bytes, uint32_t value,
                            et_value *v) {
    qc_vector items;
    int64_t *list;
    QRN_TRY(et_vector_items(r, t, 0, bytes, &items, sizeof *list, &list));
    int64_t least = v->kind == ET_KIND_OPTIONAL_TENSORS ? -1 : 0;
    for (uint32_t i = 0; i < items.n; i++) {
        list[i] = bytes == 8   ? (int64_t)qc_vector_u64(&items, i)
                  : bytes == 4 ? qc_vector_i32(&items, i)
                               : qc_vector_u8(&items, i);
        if (list[i] < least || (bytes > 1 && list[i] >= (int64_t)r->method->n_values))
            return et_broken(r, "value %u: a list refers to value %lld, there are %u", value,
                             (long long)list[i], r->method->n_values);
    }
    v->list = (et_list){.items = list, .n = items.n};
    return QRN_OK;
}

static qrn_status read_doubles(et_reader *r, const qc_table *t, et_value *v) {
    qc_vector items;
    double *list;
    QRN_TRY(et_vector_items(r, t, 0, 8, &items, sizeof *list, &list));
    for (uint32_t i = 0; i < items.n; i++)
        list[i] = qc_vector_f64(&items, i);
    v->list = (et_list){.doubles = list, .n = items.n};
    return QRN_OK;
}

static qrn_status read_value(et_reader *r, const qc_table *t, uint32_t index, et_value *v) {
    qc_table val;
    v->kind = qc_flat_u8(t, 0, 0);
    bool there = qc_flat_table(t, 1, &val);
    QRN_TRY(et_flat_status(r));
    if (v->kind == 0 || v->kind == ET_KIND_NULL || !there) {
        v->kind = ET_KIND_NULL;
        return QRN_OK;
    }
    switch (v->kind) {
    case ET_KIND_INT:
        v->i = qc_flat_i64(&val, 0, 0);
        break;
    case ET_KIND_BOOL:
        v->i = qc_flat_u8(&val, 0, 0) != 0;
        break;
    case ET_KIND_DOUBLE:
        v->d = qc_flat_f64(&val, 0, 0);
        break;
    case ET_KIND_STRING:
        v->text = qc_flat_text(&val, 0, "");
        break;
    case ET_KIND_TENSOR:
        return read_tensor(r, &val, index, v);
    case ET_KIND_INTS:
        return read_list(r, &val, 8, index, v);
    case ET_KIND_DOUBLES:
        return read_doubles(r, &val, v);
    case ET_KIND_BOOLS:
        return read_list(r, &val, 1, index, v);
    case ET_KIND_TENSORS:
    case ET_KIND_OPTIONAL_TENSORS:
        return read_list(r, &val, 4, index, v);
    default:
        return et_broken(r, "value %u is of kind %u, which is not known", index, v->kind);
    }
    return et_flat_status(r);
}

// Lists say which values they hold; those must be of the right kind.
static qrn_status check_lists(const et_reader *r, const et_value *values) {
    for (uint32_t i = 0; i < r->method->n_values; i++) {
        const et_value *v = &values[i];
        unsigned want = v->kind == ET_KIND_INTS ? ET_KIND_INT
                        : v->kind == ET_KIND_TENSORS || v->kind == ET_KIND_OPTIONAL_TENSORS
                            ? ET_KIND_TENSOR
                            : 0;
        for (uint32_t k = 0; want && k < v->list.n; k++) {
            int64_t item = v->list.items[k];
            if (item < 0)
                continue;
            unsigned kind = values[item].kind;
            bool none = v->kind == ET_KIND_OPTIONAL_TENSORS && kind == ET_KIND_NULL;
            if (kind != want && !none)
                return et_broken(r, "value %u: a list holds value %lld of kind %u, expected %u", i,
                                 (long long)item, kind, want);
        }
    }
    return QRN_OK;
}

qrn_status et_read_values(et_reader *r, const qc_table *plan) {
    qc_vector v;
    et_value *values;
    QRN_TRY(et_vector_items(r, plan, 2, 4, &v, sizeof *values, &values));
    r->method->n_values = v.n;
    r->method->values = values;
    for (uint32_t i = 0; i < v.n; i++) {
        qc_table t;
        if (!qc_vector_table(&v, i, &t))
            return et_flat_status(r);
        QRN_TRY(read_value(r, &t, i, &values[i]));
    }
    return check_lists(r, values);
}
