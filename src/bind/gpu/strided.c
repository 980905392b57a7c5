// SPDX-License-Identifier: MIT
//
// Going back from a value to the memory that its elements come from.
#include "bind/gpu/strided.h"

#include "kernels/eltwise/binary.h"
#include "kernels/move/join.h"
#include "kernels/move/layout.h"

#define MAX_WAY 16 // steps to go back

static qrn_gpu_strided itself(const qrn_gpu_binder *b, qrn_val v) {
    const qrn_shape *s = &qrn_gpu_value(b, v)->shape;
    qrn_gpu_strided out = {.base = v, .scale = 1.0, .rank = s->rank, .n = s->rank};
    int64_t stride = 1;
    for (uint32_t d = s->rank; d-- > 0; stride *= s->dims[d])
        out.atoms[d] = (qrn_gpu_atom){.dim = (uint8_t)d, .size = s->dims[d], .stride = stride};
    return out;
}

static bool is_number(const qrn_gpu_binder *b, qrn_val v) {
    const qrn_cvalue *val = qrn_gpu_value(b, v);
    return val->kind == QRN_CV_CONST && val->dtype == QRN_DTYPE_F32 && qrn_gpu_count(b, v) == 1 &&
           qrn_compiled_data(b->cg, v);
}

bool qrn_gpu_scales(const qrn_gpu_binder *b, const qrn_cstep *s, uint32_t *which, double *factor) {
    if (s->op != &qrn_cop_binary || s->domain != QRN_DOMAIN_F32)
        return false;
    uint32_t op = ((const qrn_binary_args *)s->args)->op;
    bool right = is_number(b, s->in[1]);
    bool left = op == QRN_BINARY_MUL && !right && is_number(b, s->in[0]);
    if ((op != QRN_BINARY_MUL && op != QRN_BINARY_DIV) || (!right && !left))
        return false;
    double c = *(const float *)qrn_compiled_data(b->cg, s->in[right ? 1 : 0]);
    *factor = op == QRN_BINARY_DIV ? 1.0 / c : c;
    *which = right ? 0 : 1;
    return qrn_gpu_count(b, s->in[*which]) == qrn_gpu_count(b, s->out[0]);
}

// Strides of a contiguous value.
static void strides_of(const qrn_shape *s, int64_t *strides) {
    int64_t stride = 1;
    for (uint32_t d = s->rank; d-- > 0; stride *= s->dims[d])
        strides[d] = stride;
}

typedef struct transposed {
    const qrn_shape *out;
    int64_t out_strides[QRN_MAX_RANK], in_strides[QRN_MAX_RANK];
    const uint32_t *perm;
    int64_t at[QRN_MAX_RANK]; // the offset as an index of out
} transposed;

// The dimension of out along which a stride goes; rank: none does.
static uint32_t along(const transposed *t, int64_t stride) {
    for (uint32_t d = 0; d < t->out->rank; d++)
        if (t->out->dims[d] > 1 && stride >= t->out_strides[d] && stride % t->out_strides[d] == 0)
            return d;
    return t->out->rank;
}

// One atom over the output becomes one or more over the input, slowest first.
static bool map_atom(const transposed *t, qrn_gpu_atom a, qrn_gpu_strided *to) {
    qrn_gpu_atom parts[QRN_MAX_RANK];
    uint32_t n = 0;
    while (a.size > 1) {
        uint32_t d = along(t, a.stride);
        if (d == t->out->rank || n == QRN_MAX_RANK)
            return false;
        int64_t step = a.stride / t->out_strides[d],
                room = (t->out->dims[d] - t->at[d] - 1) / step + 1;
        uint32_t size = a.size;
        if ((int64_t)size > room) { // it goes on in the next dimension
            size = (uint32_t)(t->out->dims[d] / step);
            if (t->at[d] != 0 || t->out->dims[d] % step != 0 || a.size % size != 0 || size <= 1)
                return false;
        }
        parts[n++] = (qrn_gpu_atom){a.dim, size, step * t->in_strides[t->perm[d]]};
        a.stride *= size;
        a.size /= size;
    }
    if (n == 0)
        parts[n++] = (qrn_gpu_atom){a.dim, 1, 0};
    if (to->n + n > QRN_GPU_MAX_ATOMS)
        return false;
    while (n > 0)
        to->atoms[to->n++] = parts[--n];
    return true;
}

static bool through_transpose(const qrn_gpu_binder *b, const qrn_cstep *s, qrn_gpu_strided *v) {
    const qrn_transpose_args *args = s->args;
    transposed t = {.out = &qrn_gpu_value(b, s->out[0])->shape, .perm = args->perm};
    strides_of(t.out, t.out_strides);
    strides_of(&qrn_gpu_value(b, s->in[0])->shape, t.in_strides);
    qrn_gpu_strided to = {.base = s->in[0], .scale = v->scale, .rank = v->rank};
    for (uint32_t d = 0; d < t.out->rank; d++) {
        t.at[d] = v->offset / t.out_strides[d] % t.out->dims[d];
        to.offset += t.at[d] * t.in_strides[t.perm[d]];
    }
    for (uint32_t i = 0; i < v->n; i++)
        if (!map_atom(&t, v->atoms[i], &to))
            return false;
    *v = to;
    return true;
}

// A part of a split is its whole, seen from where it begins.
static bool through_split(const qrn_gpu_binder *b, const qrn_cstep *s, qrn_val owner,
                          qrn_gpu_strided *v) {
    static const uint32_t in_order[QRN_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    uint32_t axis = ((const qrn_join_args *)s->args)->axis, begin = 0, k = 0;
    const qrn_shape *whole = &qrn_gpu_value(b, s->in[0])->shape;
    for (; k < s->n_out && qrn_compiled_owner(b->cg, s->out[k]) != owner; k++)
        begin += qrn_gpu_value(b, s->out[k])->shape.dims[axis];
    if (k == s->n_out || qrn_gpu_value(b, s->out[k])->shape.rank != whole->rank ||
        b->cg->values[s->out[k]].size_bytes != b->cg->values[owner].size_bytes)
        return false;
    transposed t = {.out = &qrn_gpu_value(b, s->out[k])->shape, .perm = in_order};
    strides_of(t.out, t.out_strides);
    strides_of(whole, t.in_strides);
    qrn_gpu_strided to = {
        .base = s->in[0], .offset = begin * t.in_strides[axis], .scale = v->scale, .rank = v->rank};
    for (uint32_t d = 0; d < t.out->rank; d++) {
        t.at[d] = v->offset / t.out_strides[d] % t.out->dims[d];
        to.offset += t.at[d] * t.in_strides[d];
    }
    for (uint32_t i = 0; i < v->n; i++)
        if (!map_atom(&t, v->atoms[i], &to))
            return false;
    *v = to;
    return true;
}

// Atoms of one dimension that follow each other become one.
static void merge(qrn_gpu_strided *v) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < v->n; i++) {
        qrn_gpu_atom *last = n ? &v->atoms[n - 1] : NULL;
        const qrn_gpu_atom *a = &v->atoms[i];
        if (last && last->dim == a->dim && last->size == 1)
            *last = *a;
        else if (last && last->dim == a->dim && a->size == 1)
            continue;
        else if (last && last->dim == a->dim && last->stride == (int64_t)a->size * a->stride)
            *last = (qrn_gpu_atom){a->dim, last->size * a->size, a->stride};
        else
            v->atoms[n++] = *a;
    }
    v->n = n;
}

static bool go_back(const qrn_gpu_binder *b, qrn_gpu_strided *v) {
    const qrn_compiled *cg = b->cg;
    qrn_val owner = qrn_compiled_owner(cg, v->base);
    size_t elem = qrn_cvalue_elem(&cg->values[v->base]);
    if (cg->values[owner].dtype != cg->values[v->base].dtype)
        return false;
    if (owner != v->base) {
        v->offset += (int64_t)(cg->values[v->base].base_offset / elem);
        v->base = owner;
    }
    if (cg->values[owner].kind != QRN_CV_TEMP || b->writer[owner] == 0)
        return false;
    const qrn_cstep *s = &cg->steps[b->writer[owner] - 1];
    uint32_t which;
    double factor;
    if (s->kind == QRN_CSTEP_OP && s->op == &qrn_cop_split)
        return through_split(b, s, owner, v);
    if (s->kind != QRN_CSTEP_OP || s->n_out != 1 || qrn_compiled_owner(cg, s->out[0]) != owner ||
        cg->values[s->out[0]].size_bytes != cg->values[owner].size_bytes)
        return false;
    if (s->op == &qrn_cop_transpose)
        return through_transpose(b, s, v);
    if ((s->op == &qrn_cop_reshape || s->op == &qrn_cop_copy) &&
        qrn_gpu_count(b, s->in[0]) == qrn_gpu_count(b, s->out[0])) {
        v->base = s->in[0];
        return true;
    }
    if (qrn_gpu_scales(b, s, &which, &factor)) {
        v->base = s->in[which];
        v->scale *= factor;
        return true;
    }
    return false;
}

qrn_gpu_strided qrn_gpu_strided_of(const qrn_gpu_binder *b, qrn_val v) {
    qrn_gpu_strided best = itself(b, v);
    for (int i = 0; i < MAX_WAY; i++) {
        qrn_gpu_strided next = best;
        bool ok = go_back(b, &next);
        if (!ok && next.base == best.base)
            break;
        if (!ok) { // it came to the owner of the memory, no further
            best = next;
            break;
        }
        merge(&next);
        best = next;
    }
    return best;
}

bool qrn_gpu_stride_of(const qrn_gpu_strided *s, uint32_t dim, int64_t *stride) {
    uint32_t found = 0;
    *stride = 0;
    for (uint32_t i = 0; i < s->n; i++)
        if (s->atoms[i].dim == dim && s->atoms[i].size > 1) {
            *stride = s->atoms[i].stride;
            found++;
        }
    return found <= 1;
}
