// SPDX-License-Identifier: MIT
//
// Pass "join": parts that lie one after the other in memory are not moved. What is joined along
// the outermost dimension is written straight into its place in the whole; what is cut there is
// read where it lies. Parts for which that is not possible are still copied by the step: its
// kernel skips the others.
#include "compiler/passes.h"

#include "kernels/move/join.h"
#include "kernels/move/layout.h"

// Is every dimension before the axis 1, so that the parts along it are whole runs?
static bool is_outermost(const qrn_shape *whole, uint32_t axis) {
    uint32_t d = 0;
    while (d < axis && d < whole->rank && whole->dims[d] == 1)
        d++;
    return d == axis && axis < whole->rank;
}

static bool join_parts(qrn_compiled *p, const qrn_cstep *s, const qrn_use *uses) {
    qrn_val whole = s->out[0];
    const qrn_join_args *a = s->args;
    if (!is_outermost(&p->values[whole].shape, a->axis) || uses[whole].n_writes != 1)
        return false;
    bool all = true;
    size_t at = 0;
    for (uint32_t i = 0; i < s->n_in; i++) {
        qrn_val owner;
        size_t bytes = p->values[s->in[i]].size_bytes;
        bool fits = qrn_pass_movable(p, s->in[i], &owner) &&
                    owner != qrn_pass_owner(p, whole, NULL) &&
                    uses[s->in[i]].last_write <= uses[whole].last_write;
        if (fits)
            qrn_pass_place(p, owner, whole, at);
        all &= fits;
        at += bytes;
    }
    return all;
}

// May y be read where it lies in x? Not when the application wants it in its own memory.
static bool place_part(qrn_compiled *p, const qrn_use *uses, uint32_t step, qrn_val y, size_t at) {
    qrn_val x = p->steps[step].in[0];
    qrn_val owner = qrn_pass_owner(p, x, NULL);
    if (p->values[y].kind != QRN_CV_TEMP || p->values[y].base != QRN_VAL_NONE ||
        uses[y].n_writes != 1 || uses[x].last_write > step || owner == y ||
        p->values[owner].kind == QRN_CV_CONST)
        return false;
    qrn_pass_place(p, y, x, at);
    return true;
}

static bool cut_parts(qrn_compiled *p, const qrn_use *uses, uint32_t step) {
    const qrn_cstep *s = &p->steps[step];
    const qrn_join_args *a = s->args;
    if (!is_outermost(&p->values[s->in[0]].shape, a->axis))
        return false;
    bool all = true;
    size_t at = 0;
    for (uint32_t i = 0; i < s->n_out; i++) {
        if (s->out[i] == QRN_VAL_NONE)
            return false; // its size is not known
        all &= place_part(p, uses, step, s->out[i], at);
        at += p->values[s->out[i]].size_bytes;
    }
    return all;
}

// Is the slice one run of x? Then *first is its first element. Once a dimension is taken by more
// than one element, those behind it must be whole.
static bool is_run(const qrn_slice_args *a, const qrn_view *x, const qrn_view *y, size_t *first) {
    bool many = false;
    *first = 0;
    for (uint32_t i = 0, dx = 0, dy = 0; i < a->n_rows; i++) {
        const struct qrn_slice_row *r = &a->rows[i];
        if (r->kind == QRN_SLICE_NEW) {
            dy++;
            continue;
        }
        int64_t n = r->kind == QRN_SLICE_KEEP && dy < y->rank ? y->dims[dy++] : 1;
        int64_t dim = x->dims[dx];
        int64_t begin = !r->open ? r->begin : r->step > 0 ? 0 : dim - 1;
        if (begin < 0 || n < 1 || begin + n > dim || (n > 1 && r->step != 1) || (many && n != dim))
            return false;
        many |= n > 1;
        *first += (size_t)begin * qrn_view_span(x, ++dx, x->rank);
    }
    return true;
}

static bool cut_slice(qrn_compiled *p, const qrn_use *uses, uint32_t step) {
    const qrn_cstep *s = &p->steps[step];
    qrn_view x = qrn_compiled_view(p, s->in[0]), y = qrn_compiled_view(p, s->out[0]);
    size_t first;
    return is_run(s->args, &x, &y, &first) &&
           place_part(p, uses, step, s->out[0], first * qrn_view_elem(&x));
}

qrn_status qrn_pass_join(qrn_lowering *lo, const qrn_use *uses) {
    qrn_compiled *p = lo->cg;
    for (uint32_t i = 0; i < p->n_steps; i++) {
        qrn_cstep *s = &p->steps[i];
        if (!qrn_pass_plain(lo->cg, s))
            continue;
        bool placed = s->op == &qrn_cop_concat  ? join_parts(p, s, uses)
                      : s->op == &qrn_cop_split ? cut_parts(p, uses, i)
                      : s->op == &qrn_cop_slice ? cut_slice(p, uses, i)
                                                : false;
        if (placed)
            qrn_pass_drop(s);
    }
    return QRN_OK;
}
