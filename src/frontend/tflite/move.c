// SPDX-License-Identifier: MIT
//
// Importers: shapes and moves. Values are not computed, so quantized ones pass as they are.
#include "frontend/onnx/driver/internal.h"
#include "frontend/tflite/import.h"

#include <string.h>

// x, the node's input 0 or a value in between, in another shape.
static qrn_status reshape_to(tl *t, const char *x, uint32_t rank, const uint32_t *dims) {
    int64_t shape[OX_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++)
        shape[i] = dims[i];
    const tl_node n = {.op = "Reshape", .in = {x, tl_const_ints(t, shape, rank)}, .n_in = 2};
    return tl_onnx(t, &n);
}

static qrn_status find_shape(tl *t, int64_t *shape, uint32_t *n) {
    const ox_val *v = tl_val(t, 1);
    if (v && v->data)
        return tl_ints(t, 1, shape, OX_MAX_RANK, n);
    const ox_attr *a = ox_attr_find(t->e.n, "new_shape");
    if (a && a->n && a->n <= OX_MAX_RANK) {
        *n = ox_attr_ints(t->e.n, "new_shape", shape, OX_MAX_RANK);
        return QRN_OK;
    }
    // A shape that is computed: what the file says about the output must do.
    const ox_info *info = ox_declared(t->e.im, t->e.n->out[0]);
    *n = info ? info->rank : 0;
    for (uint32_t i = 0; info && i < info->rank; i++) {
        shape[i] = info->dims[i];
        if (shape[i] < 0)
            return tl_fail(t, QRN_E_DYNAMIC_SHAPE, "its shape is not known before execution");
    }
    return QRN_OK;
}

// SQUEEZE drops the dimensions of size 1 that it names, or all.
static qrn_status squeeze_dims(tl *t, const ox_val *x, int64_t *shape, uint32_t *n) {
    int64_t dims[OX_MAX_RANK];
    bool drop[OX_MAX_RANK] = {0};
    uint32_t count = ox_attr_ints(t->e.n, "squeeze_dims", dims, OX_MAX_RANK), axis;
    for (uint32_t i = 0; i < count; i++) {
        QRN_TRY(tl_axis(t, dims[i], x->rank, &axis));
        drop[axis] = true;
    }
    *n = 0;
    for (uint32_t d = 0; d < x->rank; d++) {
        if (count ? drop[d] && x->dims[d] != 1 : false)
            return tl_fail(t, QRN_E_SHAPE, "dimension %u has size %u, not 1", d, x->dims[d]);
        if (!(count ? drop[d] : x->dims[d] == 1))
            shape[(*n)++] = x->dims[d];
    }
    return QRN_OK;
}

static qrn_status expand_dims(tl *t, const ox_val *x, int64_t *shape, uint32_t *n) {
    int64_t at;
    uint32_t axis;
    QRN_TRY(tl_number(t, 1, &at));
    if (x->rank == OX_MAX_RANK)
        return tl_fail(t, QRN_E_UNSUPPORTED, "rank %u", x->rank + 1);
    QRN_TRY(tl_axis(t, at, x->rank + 1, &axis));
    for (uint32_t d = 0; d < x->rank; d++)
        shape[d + (d >= axis)] = x->dims[d];
    shape[axis] = 1;
    *n = x->rank + 1;
    return QRN_OK;
}

// RESHAPE, SQUEEZE, EXPAND_DIMS.
qrn_status tl_reshape(tl *t) {
    const ox_val *x = tl_val(t, 0);
    int64_t shape[OX_MAX_RANK];
    uint32_t n, dims[OX_MAX_RANK];
    if (strcmp(t->op->name, "SQUEEZE") == 0)
        QRN_TRY(squeeze_dims(t, x, shape, &n));
    else if (strcmp(t->op->name, "EXPAND_DIMS") == 0)
        QRN_TRY(expand_dims(t, x, shape, &n));
    else
        QRN_TRY(find_shape(t, shape, &n));
    size_t known = 1, count = ox_count(x);
    int open = -1;
    for (uint32_t i = 0; i < n; i++) {
        if (shape[i] < -1 || shape[i] == 0 || shape[i] > INT32_MAX || (shape[i] == -1 && open >= 0))
            return tl_fail(t, QRN_E_SHAPE, "dimension %u of its shape is %lld", i,
                           (long long)shape[i]);
        if (shape[i] < 0)
            open = (int)i;
        else if (known <= SIZE_MAX / (size_t)shape[i])
            known *= (size_t)shape[i];
        dims[i] = (uint32_t)shape[i];
    }
    if (open >= 0 && count % known == 0 && count / known <= INT32_MAX)
        dims[open] = (uint32_t)(count / known);
    else if (open >= 0 || known != count)
        return tl_fail(t, QRN_E_SHAPE, "%zu values do not fit its shape", count);
    return reshape_to(t, t->e.n->in[0], n, dims);
}

qrn_status tl_transpose(tl *t) {
    int64_t perm[OX_MAX_RANK];
    uint32_t n;
    QRN_TRY(tl_ints(t, 1, perm, OX_MAX_RANK, &n));
    tl_node node = {.op = "Transpose", .in = {t->e.n->in[0]}, .n_in = 1};
    int64_t *kept = ox_alloc(t->e.im, (n + 1) * sizeof *kept); // transposes are emitted later
    if (!kept)
        return ox_no_memory(t->e.im);
    memcpy(kept, perm, n * sizeof *kept);
    tl_attr_ints(&node, "perm", kept, n);
    return tl_onnx(t, &node);
}

// --- joining

// An operand in the encoding of the output.
static qc_tensor *converted(tl *t, uint32_t i, const qc_tensor *y) {
    const ox_val *v = tl_val(t, i);
    const ox_val *out = ox_scope_find(t->e.im->scope, t->e.n->out[0]);
    qc_tensor *x = tl_in(t, i), *same = NULL;
    if (!x || !ox_is_fixed(x) || ox_same_encoding(v->enc, out->enc))
        return x;
    t->e.s = ox_temp(t->e.im, y, x->rank, x->dims, &same);
    qc_op o;
    ox_op(t->e.im, &o, t->e.n, QNN_OP_CONVERT);
    qc_in(&o, x);
    qc_out(&o, same);
    tl_emit(t, &o);
    return ox_made(&t->e, same);
}

qrn_status tl_concat(tl *t) {
    const ox_node *n = t->e.n;
    const ox_val *first = tl_val(t, 0);
    uint32_t axis, dims[OX_MAX_RANK];
    QRN_TRY(tl_axis(t, tl_int(t, "axis"), first->rank, &axis));
    memcpy(dims, first->dims, sizeof dims);
    if (!t->fixed && !t->real && n->n_in <= 8) { // parts of a shape are constant
        tl_node join = tl_like(t, "Concat");
        tl_attr(&join, "axis", axis);
        return tl_onnx(t, &join);
    }
    if (n->n_in > QC_MAX_OPERANDS)
        return tl_fail(t, QRN_E_UNSUPPORTED, "%u inputs", n->n_in);
    for (uint32_t i = 1; i < n->n_in; i++) {
        const ox_val *v = tl_val(t, i);
        bool fits = v && v->rank == first->rank;
        for (uint32_t d = 0; fits && d < first->rank; d++)
            fits = d == axis || v->dims[d] == first->dims[d];
        if (!fits)
            return tl_fail(t, QRN_E_SHAPE, "input %u does not fit the first one", i);
        dims[axis] += v->dims[axis];
    }
    QRN_TRY(tl_set(t, 0, first->rank, dims));
    qc_tensor *x[QC_MAX_OPERANDS], *y = tl_out(t, 0);
    for (uint32_t i = 0; i < n->n_in; i++)
        x[i] = converted(t, i, y);
    if (t->e.s != QRN_OK)
        return t->e.s;
    qc_op o;
    ox_op(t->e.im, &o, n, QNN_OP_CONCAT);
    for (uint32_t i = 0; i < n->n_in; i++)
        qc_in(&o, x[i]);
    qc_out(&o, y);
    qc_u32(&o, QNN_OP_CONCAT_PARAM_AXIS, axis);
    tl_emit(t, &o);
    return tl_end(t, 0, y);
}

qrn_status tl_pack(tl *t) {
    const ox_node *n = t->e.n;
    const ox_val *first = tl_val(t, 0);
    uint32_t axis, dims[OX_MAX_RANK];
    if (first->rank >= OX_MAX_RANK || n->n_in > QC_MAX_OPERANDS)
        return tl_fail(t, QRN_E_UNSUPPORTED, "%u inputs of rank %u", n->n_in, first->rank);
    QRN_TRY(tl_axis(t, tl_int(t, "axis"), first->rank + 1, &axis));
    for (uint32_t d = 0; d < first->rank; d++)
        dims[d + (d >= axis)] = first->dims[d];
    dims[axis] = n->n_in;
    tl_node join = {.op = "Concat"};
    const char **names = ox_alloc(t->e.im, n->n_in * sizeof *names);
    if (!names)
        return ox_no_memory(t->e.im);
    if (n->n_in > 8) { // more than a node of ONNX's made here has room for
        QRN_TRY(tl_set(t, 0, first->rank + 1, dims));
        qc_tensor *x[QC_MAX_OPERANDS], *y = tl_out(t, 0);
        for (uint32_t i = 0; i < n->n_in; i++)
            x[i] = tl_in(t, i);
        if (t->e.s != QRN_OK)
            return t->e.s;
        qc_op o;
        ox_op(t->e.im, &o, n, QNN_OP_PACK);
        for (uint32_t i = 0; i < n->n_in; i++)
            qc_in(&o, x[i]);
        qc_out(&o, y);
        qc_u32(&o, QNN_OP_PACK_PARAM_AXIS, axis);
        tl_emit(t, &o);
        return tl_end(t, 0, y);
    }
    int64_t shape[OX_MAX_RANK];
    for (uint32_t d = 0; d <= first->rank; d++)
        shape[d] = d == axis ? 1 : dims[d];
    for (uint32_t i = 0; i < n->n_in; i++) {
        const ox_val *v = tl_val(t, i);
        if (!v || v->rank != first->rank ||
            memcmp(v->dims, first->dims, v->rank * sizeof *dims) != 0)
            return tl_fail(t, QRN_E_SHAPE, "input %u does not fit the first one", i);
        names[i] = tl_between(t);
        const tl_node one = {
            .op = "Reshape", .in = {n->in[i], tl_const_ints(t, shape, first->rank + 1)}, .n_in = 2};
        QRN_TRY(tl_onnx_to(t, &one, &names[i], 1));
        join.in[join.n_in++] = names[i];
    }
    tl_attr(&join, "axis", axis);
    return tl_onnx(t, &join);
}

// --- cutting

static qrn_status split_into(tl *t, const char *x, uint32_t axis, const int64_t *sizes, uint32_t n,
                             const char *const *out) {
    tl_node node = {.op = "Split", .in = {x, tl_const_ints(t, sizes, n)}, .n_in = 2};
    tl_attr(&node, "axis", axis);
    return out ? tl_onnx_to(t, &node, out, n) : tl_onnx(t, &node);
}

// SPLIT (axis, x) and SPLIT_V (x, sizes, axis).
qrn_status tl_split(tl *t) {
    bool sized = strcmp(t->op->name, "SPLIT_V") == 0;
    uint32_t x_at = sized ? 0 : 1, n = t->e.n->n_out, axis, count = n;
    const ox_val *x = tl_val(t, x_at);
    int64_t at, sizes[64], sum = 0;
    int open = -1;
    QRN_TRY(tl_number(t, sized ? 2 : 0, &at));
    QRN_TRY(tl_axis(t, at, x->rank, &axis));
    if (n > 32)
        return tl_fail(t, QRN_E_UNSUPPORTED, "%u outputs, at most 32 are possible", n);
    if (sized)
        QRN_TRY(tl_ints(t, 1, sizes, 64, &count));
    for (uint32_t i = 0; i < count; i++) {
        if (!sized)
            sizes[i] = x->dims[axis] / n;
        if (sizes[i] == -1)
            open = (int)i;
        else
            sum += sizes[i];
    }
    if (open >= 0)
        sizes[open] = (int64_t)x->dims[axis] - sum;
    if (count != n || (open < 0 && sum != x->dims[axis]) || (open >= 0 && sizes[open] < 0))
        return tl_fail(t, QRN_E_SHAPE, "%u values are not divided into %u parts", x->dims[axis], n);
    return split_into(t, t->e.n->in[x_at], axis, sizes, n, NULL);
}

qrn_status tl_unpack(tl *t) {
    const ox_val *x = tl_val(t, 0);
    uint32_t axis, n = t->e.n->n_out;
    int64_t sizes[64], shape[OX_MAX_RANK];
    const char *parts[32];
    QRN_TRY(tl_axis(t, tl_int(t, "axis"), x->rank, &axis));
    if (n > 32 || x->dims[axis] != n)
        return tl_fail(t, n > 32 ? QRN_E_UNSUPPORTED : QRN_E_SHAPE, "%u values into %u outputs",
                       x->dims[axis], n);
    for (uint32_t i = 0; i < n; i++) {
        sizes[i] = 1;
        parts[i] = tl_between(t);
    }
    QRN_TRY(split_into(t, t->e.n->in[0], axis, sizes, n, parts));
    for (uint32_t d = 0; d + 1 < x->rank; d++)
        shape[d] = x->dims[d + (d >= axis)];
    for (uint32_t i = 0; i < n; i++) {
        const tl_node one = {
            .op = "Reshape", .in = {parts[i], tl_const_ints(t, shape, x->rank - 1)}, .n_in = 2};
        QRN_TRY(tl_onnx_at(t, &one, i, 1));
    }
    return t->e.s;
}

qrn_status tl_slice(tl *t) {
    const ox_val *x = tl_val(t, 0);
    int64_t first[OX_MAX_RANK], size[OX_MAX_RANK], axes[OX_MAX_RANK];
    uint32_t n, n_sizes;
    QRN_TRY(tl_ints(t, 1, first, OX_MAX_RANK, &n));
    QRN_TRY(tl_ints(t, 2, size, OX_MAX_RANK, &n_sizes));
    for (uint32_t d = 0; d < x->rank; d++) {
        if (n != x->rank || n_sizes != n || first[d] < 0 || first[d] >= x->dims[d] ||
            (size[d] != -1 && (size[d] < 1 || size[d] > x->dims[d] - first[d])))
            return tl_fail(t, QRN_E_SHAPE, "dimension %u: %u values do not have such a part", d,
                           x->dims[d]);
        size[d] = size[d] == -1 ? x->dims[d] : first[d] + size[d]; // the end
        axes[d] = d;
    }
    const tl_node node = {.op = "Slice",
                          .in = {t->e.n->in[0], tl_const_ints(t, first, n),
                                 tl_const_ints(t, size, n), tl_const_ints(t, axes, n)},
                          .n_in = 4};
    return tl_onnx(t, &node);
}

// One dimension of a strided slice: what is taken of it.
typedef struct cut {
    int64_t first, end, step;
    uint32_t count;
} cut;

static int64_t clamp(int64_t v, int64_t lo, int64_t hi) { return v < lo ? lo : v > hi ? hi : v; }

static bool cut_of(int64_t first, int64_t end, int64_t step, bool from_start, bool to_end,
                   uint32_t size, cut *c) {
    int64_t n = size, lo = step > 0 ? 0 : -1, hi = step > 0 ? n : n - 1;
    if (step == 0)
        return false;
    first = from_start ? (step > 0 ? 0 : n - 1) : clamp(first < 0 ? first + n : first, lo, hi);
    end = to_end ? (step > 0 ? n : -1) : clamp(end < 0 ? end + n : end, lo, hi);
    int64_t span = step > 0 ? end - first : first - end, stride = step > 0 ? step : -step;
    *c = (cut){first, end, step, span > 0 ? (uint32_t)((span + stride - 1) / stride) : 0};
    if (step < 0 && end < 0)
        c->end = -n - 1; // in ONNX: before the first one
    return c->count > 0;
}

typedef struct spec {
    int64_t first[OX_MAX_RANK], end[OX_MAX_RANK], step[OX_MAX_RANK];
    uint32_t n;
} spec;

static bool bit(int64_t mask, uint32_t i) { return mask >> i & 1; }

// Walks over the entries of the spec and the input's dimensions; `dims` is the final shape.
static qrn_status walk_spec(tl *t, const spec *s, cut *cuts, uint32_t *dims, uint32_t *rank) {
    const ox_val *x = tl_val(t, 0);
    int64_t ellipsis = tl_int(t, "ellipsis_mask"), added = tl_int(t, "new_axis_mask");
    int64_t shrink = tl_int(t, "shrink_axis_mask"), begin = tl_int(t, "begin_mask");
    int64_t to_end = tl_int(t, "end_mask");
    uint32_t d = 0, own = 0; // entries that stand for a dimension of the input
    for (uint32_t i = 0; i < s->n; i++)
        own += !bit(added, i) && !bit(ellipsis, i);
    if (own > x->rank || tl_int(t, "offset") != 0)
        return tl_fail(t, QRN_E_UNSUPPORTED, "%u slices of rank %u, or ends as offsets", own,
                       x->rank);
    *rank = 0;
    for (uint32_t i = 0; i <= s->n && *rank < OX_MAX_RANK; i++) {
        bool rest = i == s->n, all = rest || bit(ellipsis, i);
        for (uint32_t k = 0; all && k < x->rank - own && d < x->rank && *rank < OX_MAX_RANK; k++) {
            cuts[d] = (cut){0, x->dims[d], 1, x->dims[d]};
            dims[(*rank)++] = x->dims[d++];
        }
        if (all) {
            own = x->rank; // there is one ellipsis
            continue;
        }
        if (bit(added, i)) {
            dims[(*rank)++] = 1;
            continue;
        }
        bool one = bit(shrink, i);
        int64_t at = s->first[i];
        if (!cut_of(at, one ? (at == -1 ? INT32_MAX : at + 1) : s->end[i], one ? 1 : s->step[i],
                    !one && bit(begin, i), !one && bit(to_end, i), x->dims[d], &cuts[d]))
            return tl_fail(t, QRN_E_UNSUPPORTED, "dimension %u: nothing is left", d);
        if (!one)
            dims[(*rank)++] = cuts[d].count;
        d++;
    }
    return d == x->rank ? QRN_OK : tl_fail(t, QRN_E_UNSUPPORTED, "its slices have rank %u", *rank);
}

qrn_status tl_strided_slice(tl *t) {
    const ox_val *x = tl_val(t, 0);
    int64_t first[OX_MAX_RANK], end[OX_MAX_RANK], step[OX_MAX_RANK], axes[OX_MAX_RANK];
    uint32_t n_end, n_step, rank = 0, dims[OX_MAX_RANK];
    cut cuts[OX_MAX_RANK];
    spec s;
    QRN_TRY(tl_ints(t, 1, s.first, OX_MAX_RANK, &s.n));
    QRN_TRY(tl_ints(t, 2, s.end, OX_MAX_RANK, &n_end));
    QRN_TRY(tl_ints(t, 3, s.step, OX_MAX_RANK, &n_step));
    if (n_end != s.n || n_step != s.n)
        return tl_fail(t, QRN_E_SHAPE, "%u begins, %u ends, %u strides", s.n, n_end, n_step);
    QRN_TRY(walk_spec(t, &s, cuts, dims, &rank));
    for (uint32_t d = 0; d < x->rank; d++) {
        first[d] = cuts[d].first;
        end[d] = cuts[d].end;
        step[d] = cuts[d].step;
        axes[d] = d;
    }
    const char *part = tl_between(t);
    const tl_node node = {.op = "Slice",
                          .in = {t->e.n->in[0], tl_const_ints(t, first, x->rank),
                                 tl_const_ints(t, end, x->rank), tl_const_ints(t, axes, x->rank),
                                 tl_const_ints(t, step, x->rank)},
                          .n_in = 5};
    QRN_TRY(tl_onnx_to(t, &node, &part, 1));
    return reshape_to(t, part, rank, dims);
}

qrn_status tl_reverse(tl *t) {
    const ox_val *x = tl_val(t, 0);
    int64_t list[OX_MAX_RANK], first[OX_MAX_RANK], end[OX_MAX_RANK], step[OX_MAX_RANK];
    uint32_t n, axis;
    QRN_TRY(tl_ints(t, 1, list, OX_MAX_RANK, &n));
    for (uint32_t i = 0; i < n; i++) {
        QRN_TRY(tl_axis(t, list[i], x->rank, &axis));
        first[i] = -1;
        end[i] = -(int64_t)x->dims[axis] - 1;
        step[i] = -1;
    }
    const tl_node node = {.op = "Slice",
                          .in = {t->e.n->in[0], tl_const_ints(t, first, n),
                                 tl_const_ints(t, end, n), tl_const_ints(t, list, n),
                                 tl_const_ints(t, step, n)},
                          .n_in = 5};
    return tl_onnx(t, &node);
}
