// SPDX-License-Identifier: MIT
//
// What a method does: its operators, delegates, and the chains of instructions that use them.
#include "frontend/executorch/internal.h"

static qrn_status read_operators(et_reader *r, const qc_table *plan) {
    qc_vector v;
    et_operator *list;
    QRN_TRY(et_vector_items(r, plan, 6, 4, &v, sizeof *list, &list));
    for (uint32_t i = 0; i < v.n; i++) {
        qc_table t;
        if (!qc_vector_table(&v, i, &t))
            return et_flat_status(r);
        list[i] = (et_operator){qc_flat_text(&t, 0, ""), qc_flat_text(&t, 1, "")};
    }
    r->method->operators = list;
    r->method->n_operators = v.n;
    return et_flat_status(r);
}

static qrn_status read_specs(et_reader *r, const qc_table *t, et_delegate_def *d) {
    qc_vector v, bytes;
    et_spec *list;
    QRN_TRY(et_vector_items(r, t, 2, 4, &v, sizeof *list, &list));
    for (uint32_t i = 0; i < v.n; i++) {
        qc_table spec;
        if (!qc_vector_table(&v, i, &spec))
            return et_flat_status(r);
        list[i].key = qc_flat_text(&spec, 0, "");
        qc_flat_vector(&spec, 1, 1, &bytes);
        list[i].data = r->flat.data + bytes.at;
        list[i].bytes = bytes.n;
    }
    d->specs = list;
    d->n_specs = v.n;
    return et_flat_status(r);
}

// The data of a delegate is a segment or lies in the FlatBuffer.
static qrn_status read_delegate(et_reader *r, const qc_table *t, uint32_t index,
                                et_delegate_def *d) {
    qc_table where;
    d->id = qc_flat_text(t, 0, "");
    if (!qc_flat_table(t, 1, &where))
        return r->flat.error ? et_flat_status(r)
                             : et_broken(r, "delegate %u says nothing about its data", index);
    uint32_t location = qc_flat_u8(&where, 0, 0), at = qc_flat_u32(&where, 1, 0);
    if (location == 1) {
        if (at >= r->p->n_segments)
            return et_broken(r, "delegate %u: segment %u, there are %u", index, at,
                             r->p->n_segments);
        d->data = r->segments[at].data;
        d->bytes = r->segments[at].bytes;
        return read_specs(r, t, d);
    }
    qc_vector v, bytes;
    qc_table inline_data;
    qc_flat_vector(&r->root, 3, 4, &v);
    QRN_TRY(et_flat_status(r));
    if (location != 0 || at >= v.n)
        return et_broken(r, "delegate %u: data %u at location %u is not there", index, at,
                         location);
    if (!qc_vector_table(&v, at, &inline_data))
        return et_flat_status(r);
    qc_flat_vector(&inline_data, 0, 1, &bytes);
    d->data = r->flat.data + bytes.at;
    d->bytes = bytes.n;
    return read_specs(r, t, d);
}

static qrn_status read_delegates(et_reader *r, const qc_table *plan) {
    qc_vector v;
    et_delegate_def *list;
    QRN_TRY(et_vector_items(r, plan, 7, 4, &v, sizeof *list, &list));
    for (uint32_t i = 0; i < v.n; i++) {
        qc_table t;
        if (!qc_vector_table(&v, i, &t))
            return et_flat_status(r);
        QRN_TRY(read_delegate(r, &t, i, &list[i]));
    }
    r->method->delegates = list;
    r->method->n_delegates = v.n;
    return QRN_OK;
}

static qrn_status read_call(et_reader *r, const qc_table *t, et_instruction *in, const char *what,
                            uint32_t limit) {
    int32_t index = qc_flat_i32(t, 0, 0);
    QRN_TRY(et_flat_status(r));
    if (index < 0 || (uint32_t)index >= limit)
        return et_broken(r, "an instruction calls %s %d, there are %u", what, index, limit);
    in->a = (uint32_t)index;
    return et_read_indices(r, t, 1, r->method->n_values, "arguments of an instruction", &in->args,
                           &in->n_args);
}

// An operand of the small instructions: a value below `limit`.
static qrn_status read_operand(et_reader *r, const qc_table *t, unsigned field, uint32_t limit,
                               uint32_t *out) {
    int32_t v = qc_flat_i32(t, field, 0);
    QRN_TRY(et_flat_status(r));
    if (v < 0 || (uint32_t)v >= limit)
        return et_broken(r, "an instruction refers to %d, there are %u", v, limit);
    *out = (uint32_t)v;
    return QRN_OK;
}

static qrn_status read_instruction(et_reader *r, const qc_table *t, uint32_t n_instructions,
                                   et_instruction *in) {
    const et_method_def *m = r->method;
    qc_table args;
    in->code = qc_flat_u8(t, 0, 0);
    if (!qc_flat_table(t, 1, &args))
        return r->flat.error ? et_flat_status(r) : et_broken(r, "an instruction without arguments");
    switch (in->code) {
    case ET_KERNEL:
        return read_call(r, &args, in, "operator", m->n_operators);
    case ET_DELEGATE:
        return read_call(r, &args, in, "delegate", m->n_delegates);
    case ET_MOVE:
        QRN_TRY(read_operand(r, &args, 0, m->n_values, &in->a));
        return read_operand(r, &args, 1, m->n_values, &in->b);
    case ET_JUMP_FALSE:
        QRN_TRY(read_operand(r, &args, 0, m->n_values, &in->a));
        return read_operand(r, &args, 1, n_instructions + 1, &in->b); // the end is a destination
    case ET_FREE:
        return read_operand(r, &args, 0, m->n_values, &in->a);
    default:
        return et_broken(r, "an instruction of kind %u, which is not known", in->code);
    }
}

static qrn_status read_chain(et_reader *r, const qc_table *t, et_chain *c) {
    qc_vector v;
    et_instruction *list;
    QRN_TRY(et_vector_items(r, t, 2, 4, &v, sizeof *list, &list));
    for (uint32_t i = 0; i < v.n; i++) {
        qc_table in;
        if (!qc_vector_table(&v, i, &in))
            return et_flat_status(r);
        QRN_TRY(read_instruction(r, &in, v.n, &list[i]));
    }
    *c = (et_chain){list, v.n};
    return QRN_OK;
}

qrn_status et_read_code(et_reader *r, const qc_table *plan) {
    QRN_TRY(read_operators(r, plan));
    QRN_TRY(read_delegates(r, plan));
    qc_vector v;
    et_chain *list;
    QRN_TRY(et_vector_items(r, plan, 5, 4, &v, sizeof *list, &list));
    for (uint32_t i = 0; i < v.n; i++) {
        qc_table t;
        if (!qc_vector_table(&v, i, &t))
            return et_flat_status(r);
        QRN_TRY(read_chain(r, &t, &list[i]));
    }
    r->method->chains = list;
    r->method->n_chains = v.n;
    return QRN_OK;
}
