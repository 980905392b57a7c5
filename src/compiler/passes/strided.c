// SPDX-License-Identifier: MIT
//
// Going back from a value to the memory that its elements come from.
#include "compiler/passes/strided.h"

#include "kernels/convert.h"
#include "kernels/eltwise/binary.h"
#include "kernels/fp16/round_fp16.h"
#include "kernels/move/join.h"
#include "kernels/move/layout.h"

#define MAX_WAY 16 // steps to go back

static size_t count_of(const qrn_compiled *p, qrn_val v) {
    size_t n = 0;
    qrn_shape_count(&p->values[v].shape, &n); // was counted when it was made
    return n;
}

qrn_strided_value qrn_strided_itself(const qrn_compiled *p, qrn_val v) {
    const qrn_shape *s = &p->values[v].shape;
    qrn_strided_value out = {.scale = 1.0, .rank = s->rank, .n_parts = 1};
    uint32_t stride = 1;
    out.parts[0].base = v;
    out.parts[0].n = s->rank;
    for (uint32_t d = s->rank; d-- > 0; stride *= s->dims[d]) {
        out.parts[0].atoms[d] = (qrn_atom){.size = s->dims[d], .stride = stride};
        out.end[d] = d + 1;
    }
    return out;
}

uint32_t qrn_pass_maker(const qrn_lowering *lo, const qrn_use *uses, qrn_val v) {
    const qrn_use *u = &uses[v];
    const qrn_cstep *steps = lo->cg->steps;
    if (u->n_writes == 1)
        return u->last_write - 1;
    if (u->n_writes != 2 || u->last_write < 2)
        return UINT32_MAX;
    const qrn_cstep *last = &steps[u->last_write - 1], *first = last - 1;
    bool rounds = last->op == &qrn_cop_round_fp16 && last->in[0] == v && last->out[0] == v;
    return rounds && first->n_out == 1 && first->out[0] == v ? u->last_write - 2 : UINT32_MAX;
}

bool qrn_pass_scales(const qrn_lowering *lo, const qrn_cstep *s, uint32_t *floats, double *factor) {
    qrn_compiled *p = lo->cg;
    if (s->op != &qrn_cop_binary || s->domain != QRN_DOMAIN_F32)
        return false;
    uint32_t op = ((const qrn_binary_args *)s->args)->op;
    for (uint32_t i = 2; i-- > 0;) { // the number is on the right, or either side of a product
        const qrn_cvalue *c = &p->values[s->in[i]];
        if (c->kind != QRN_CV_CONST || c->dtype != QRN_DTYPE_F32 || count_of(p, s->in[i]) != 1 ||
            (op != QRN_BINARY_MUL && (op != QRN_BINARY_DIV || i == 0)) ||
            count_of(p, s->in[1 - i]) != count_of(p, s->out[0]))
            continue;
        const float *number = qrn_compiled_data(p, s->in[i]);
        if (!number || !(*number > 0))
            return false;
        *factor = op == QRN_BINARY_DIV ? 1.0 / (double)*number : (double)*number;
        *floats = 1 - i;
        return true;
    }
    return false;
}

// --- moves, seen from what they read to what they make

// Cuts the atoms anew into the dimensions of a reshaped value.
static bool regroup_part(const qrn_shape *to, qrn_part *part, uint32_t *end) {
    qrn_part out = {.base = part->base, .first = part->first};
    uint32_t next = 0;
    qrn_atom rest = {.size = 1};
    for (uint32_t d = 0; d < to->rank; d++) {
        uint32_t left = to->dims[d];
        while (left > 1) {
            while (rest.size == 1 && next < part->n)
                rest = part->atoms[next++];
            if (rest.size == 1 || out.n == QRN_MAX_ATOMS)
                return false;
            qrn_atom a = rest;
            if (a.size <= left) {
                rest.size = 1;
            } else { // its slower part is this dimension's
                if (a.joined || a.size % left)
                    return false;
                a.size = left;
                a.stride *= rest.size / left;
                rest.size /= left;
            }
            if (left % a.size)
                return false;
            left /= a.size;
            out.atoms[out.n++] = a;
        }
        end[d] = out.n;
    }
    *part = out;
    return true;
}

static bool through_reshape(const qrn_shape *to, qrn_strided_value *v) {
    uint32_t end[2][QRN_MAX_RANK];
    for (uint32_t i = 0; i < v->n_parts; i++)
        if (!regroup_part(to, &v->parts[i], end[i]))
            return false;
    v->rank = to->rank;
    for (uint32_t d = 0; d < to->rank; d++) {
        if (v->n_parts == 2 && end[0][d] != end[1][d])
            return false;
        v->end[d] = end[0][d];
    }
    return true;
}

static uint32_t begin_of(const qrn_strided_value *v, uint32_t d) { return d ? v->end[d - 1] : 0; }

static bool through_transpose(const uint32_t *perm, qrn_strided_value *v) {
    qrn_strided_value out = *v;
    for (uint32_t i = 0; i < v->n_parts; i++) {
        uint32_t n = 0;
        for (uint32_t d = 0; d < v->rank; d++) {
            for (uint32_t a = begin_of(v, perm[d]); a < v->end[perm[d]]; a++)
                out.parts[i].atoms[n++] = v->parts[i].atoms[a];
            out.end[d] = n;
        }
    }
    *v = out;
    return true;
}

// A stretch of one dimension, from element `begin` on.
static bool through_cut(uint32_t d, uint32_t begin, uint32_t size, qrn_strided_value *v) {
    uint32_t at = begin_of(v, d), n = v->end[d] - at;
    qrn_atom *a = &v->parts[0].atoms[at];
    if (v->n_parts != 1 || n > 1)
        return false;
    if (n == 0)
        return begin == 0 && size == 1;
    v->parts[0].first += begin * a->stride;
    a->size = size;
    return true;
}

static bool through_slice(const qrn_compiled *p, const qrn_cstep *s, qrn_strided_value *v) {
    const qrn_slice_args *a = s->args;
    const qrn_shape *x = &p->values[s->in[0]].shape, *y = &p->values[s->out[0]].shape;
    if (a->n_rows != x->rank || y->rank != x->rank)
        return false;
    for (uint32_t d = 0; d < x->rank; d++) {
        if (a->rows[d].kind != QRN_SLICE_KEEP || a->rows[d].open || a->rows[d].step != 1 ||
            a->rows[d].begin < 0)
            return false;
        if (y->dims[d] != x->dims[d] && !through_cut(d, (uint32_t)a->rows[d].begin, y->dims[d], v))
            return false;
    }
    return true;
}

static bool through_split(const qrn_compiled *p, const qrn_cstep *s, qrn_val part,
                          qrn_strided_value *v) {
    uint32_t axis = ((const qrn_join_args *)s->args)->axis, begin = 0, k = 0;
    for (; k < s->n_out && s->out[k] != part; k++)
        begin += p->values[s->out[k]].shape.dims[axis];
    const qrn_shape *y = &p->values[part].shape;
    return k < s->n_out && y->rank == v->rank && through_cut(axis, begin, y->dims[axis], v);
}

// Repeats dimensions.
static bool through_tile(const qrn_shape *x, const qrn_shape *y, qrn_strided_value *v) {
    qrn_strided_value out = *v;
    for (uint32_t i = 0; i < v->n_parts; i++) {
        uint32_t n = 0;
        for (uint32_t d = 0; d < v->rank; d++) {
            if (n + 1 + v->end[d] - begin_of(v, d) > QRN_MAX_ATOMS)
                return false;
            if (y->dims[d] != x->dims[d])
                out.parts[i].atoms[n++] = (qrn_atom){.size = y->dims[d] / x->dims[d]};
            for (uint32_t a = begin_of(v, d); a < v->end[d]; a++)
                out.parts[i].atoms[n++] = v->parts[i].atoms[a];
            out.end[d] = n;
        }
        out.parts[i].n = n;
    }
    *v = out;
    return true;
}

// --- the way back

static qrn_strided_value look(const qrn_strider *w, qrn_val v, uint32_t way);

// Two values one behind the other, each in one part, with atoms alike but for the joined dimension.
static bool through_concat(const qrn_strider *w, const qrn_cstep *s, uint32_t way,
                           qrn_strided_value *v) {
    const qrn_compiled *p = w->lo->cg;
    uint32_t axis = ((const qrn_join_args *)s->args)->axis;
    if (!w->through_joins || s->n_in != 2 ||
        p->values[s->in[0]].shape.rank != p->values[s->out[0]].shape.rank)
        return false;
    qrn_strided_value a = look(w, s->in[0], way), b = look(w, s->in[1], way);
    const qrn_shape *whole = &p->values[s->out[0]].shape;
    if (a.n_parts != 1 || b.n_parts != 1 || a.scale != 1.0 || b.scale != 1.0)
        return false;
    *v = (qrn_strided_value){.scale = 1.0, .rank = whole->rank, .n_parts = 2};
    for (uint32_t i = 0; i < 2; i++) {
        qrn_strided_value *from = i ? &b : &a;
        uint32_t n = 0, at = begin_of(from, axis);
        qrn_part *to = &v->parts[i];
        *to = from->parts[0];
        if (from->end[axis] - at > 1)
            return false;
        v->joined[i] = p->values[s->in[i]].shape.dims[axis];
        for (uint32_t d = 0; d < whole->rank;
             d++) { // one atom for the axis, even if it has one element
            if (n + 1 > QRN_MAX_ATOMS)
                return false;
            bool has = from->end[d] > begin_of(from, d);
            if (d == axis)
                to->atoms[n++] = (qrn_atom){.size = whole->dims[d],
                                            .stride = has ? from->parts[0].atoms[at].stride : 0,
                                            .joined = true};
            for (uint32_t k = begin_of(from, d); d != axis && k < from->end[d]; k++)
                if (from->parts[0].atoms[k].size > 1)
                    to->atoms[n++] = from->parts[0].atoms[k];
            if (i && v->end[d] != n)
                return false;
            v->end[d] = n;
        }
        to->n = n;
    }
    return true;
}

// Quantized values of 8 bits with one scale, which attention reads as they are.
static bool is_byte(const qrn_cvalue *v) {
    return (v->dtype == QRN_DTYPE_UQ8 || v->dtype == QRN_DTYPE_SQ8) &&
           v->quant.kind == QRN_QUANT_TENSOR && v->quant.shift == 0.0f &&
           (v->quant.bits == 0 || v->quant.bits == 8);
}

// Does the step round floats as those are rounded who read them, or make floats of fp16 or bytes?
static bool is_rounding(const qrn_strider *w, const qrn_cstep *s) {
    const qrn_compiled *p = w->lo->cg;
    const qrn_cvalue *x = &p->values[s->in[0]], *y = &p->values[s->out[0]];
    bool from_fp16 = w->through_types && x->dtype == QRN_DTYPE_F16;
    bool from_bytes = w->through_types && s->op != &qrn_cop_cast && is_byte(x);
    if (y->dtype != QRN_DTYPE_F32 || (x->dtype != QRN_DTYPE_F32 && !from_fp16 && !from_bytes))
        return false;
    if (s->op == &qrn_cop_convert || s->op == &qrn_cop_cast)
        return w->through_types;
    return s->op == &qrn_cop_round_fp16 && s->in[0] != s->out[0] &&
           ((const qrn_round_fp16_args *)s->args)->rule == p->half;
}

// The value that a step of one input and one output makes of another, if it only moves or scales
// it.
static bool through_step(const qrn_strider *w, const qrn_cstep *s, uint32_t way,
                         qrn_strided_value *v) {
    const qrn_compiled *p = w->lo->cg;
    const qrn_shape *y = &p->values[s->out[0]].shape;
    uint32_t floats = 0;
    double factor = 1.0;
    bool scales = qrn_pass_scales(w->lo, s, &floats, &factor);
    bool rounds = is_rounding(w, s);
    bool reshapes = s->op == &qrn_cop_copy ||
                    (s->op == &qrn_cop_reshape && !((const qrn_reshape_args *)s->args)->read_shape);
    if (!scales && !rounds && !reshapes && s->op != &qrn_cop_transpose && s->op != &qrn_cop_slice &&
        s->op != &qrn_cop_tile)
        return false;
    qrn_val x = s->in[floats];
    *v = look(w, x, way);
    v->scale *= factor;
    if (reshapes || scales) // a product may add dimensions of size 1
        return through_reshape(y, v);
    if (rounds)
        return true;
    if (s->op == &qrn_cop_slice)
        return through_slice(p, s, v);
    return s->op == &qrn_cop_tile
               ? through_tile(&p->values[x].shape, y, v)
               : through_transpose(((const qrn_transpose_args *)s->args)->perm, v);
}

static qrn_strided_value look(const qrn_strider *w, qrn_val v, uint32_t way) {
    const qrn_compiled *p = w->lo->cg;
    qrn_strided_value itself = qrn_strided_itself(p, v), out;
    uint32_t at = qrn_pass_maker(w->lo, w->uses, v);
    if (way == 0 || at == UINT32_MAX || count_of(p, v) > UINT32_MAX)
        return itself;
    const qrn_cstep *s = &p->steps[at];
    if (!qrn_pass_plain(p, s))
        return itself;
    for (uint32_t i = 0; i < s->n_in; i++)
        if (s->in[i] == QRN_VAL_NONE || w->uses[s->in[i]].last_write > at)
            return itself;
    bool ok = false;
    if (s->op == &qrn_cop_split) {
        out = look(w, s->in[0], way - 1);
        ok = through_split(p, s, v, &out);
    } else if (s->op == &qrn_cop_concat) {
        ok = through_concat(w, s, way - 1, &out);
    } else if (s->n_out == 1) {
        ok = through_step(w, s, way - 1, &out);
    }
    return ok && out.parts[0].n <= QRN_MAX_ATOMS ? out : itself;
}

qrn_strided_value qrn_strided_of(const qrn_strider *w, qrn_val v) { return look(w, v, MAX_WAY); }
