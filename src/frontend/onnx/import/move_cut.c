// SPDX-License-Identifier: MIT
//
// Importers: Concat, Split, Slice, Expand, Tile. All run in the layout in which they find their
// input.
#include "frontend/onnx/import/move.h"

#include <string.h>

#define MAX_JOINED 64 // operands of one QNN op here; longer lists are joined in steps

static qrn_status emit_concat(ox_import *im, const ox_node *n, const qc_tensor *const *xs,
                              uint32_t count, uint32_t axis, const qc_tensor *y) {
    qc_op o;
    ox_op(im, &o, n, QNN_OP_CONCAT);
    for (uint32_t i = 0; i < count; i++)
        qc_in(&o, xs[i]);
    qc_out(&o, y);
    qc_u32(&o, QNN_OP_CONCAT_PARAM_AXIS, axis);
    return qc_op_end(&o);
}

// Joins xs[count] in place, MAX_JOINED at a time, until one op can take the rest.
static qrn_status shorten(ox_import *im, const ox_node *n, const qc_tensor **xs, uint32_t *count,
                          uint32_t axis, const qc_tensor *like) {
    while (*count > MAX_JOINED) {
        uint32_t made = 0;
        for (uint32_t at = 0; at < *count; at += MAX_JOINED) {
            uint32_t part = *count - at < MAX_JOINED ? *count - at : MAX_JOINED;
            uint32_t dims[OX_MAX_RANK], total = 0;
            qc_tensor *t;
            memcpy(dims, xs[at]->dims, sizeof dims);
            for (uint32_t i = 0; i < part; i++)
                total += xs[at + i]->dims[axis];
            dims[axis] = total;
            QRN_TRY(ox_temp(im, like, xs[at]->rank, dims, &t));
            QRN_TRY(emit_concat(im, n, xs + at, part, axis, t));
            xs[made++] = t;
        }
        *count = made;
    }
    return QRN_OK;
}

// Shape of the joined value; counts the inputs that have elements, the last of them in *only.
static qrn_status concat_shape(ox_import *im, const ox_node *n, uint32_t *axis, uint32_t *dims,
                               uint32_t *count, uint32_t *only) {
    const ox_val *x = ox_input(im, n, 0);
    uint64_t total = 0;
    QRN_TRY(ox_axis(im, n, ox_attr_int(n, "axis", 1), x->rank, axis));
    memcpy(dims, x->dims, sizeof x->dims);
    *count = 0;
    for (uint32_t i = 0; i < n->n_in; i++) {
        const ox_val *v = ox_input(im, n, i);
        if (!v || v->rank != x->rank || v->type != x->type)
            return ox_fail(im, n, QRN_E_SHAPE, "input %u differs from input 0 in rank or type", i);
        for (uint32_t d = 0; d < v->rank; d++)
            if (d != *axis && v->dims[d] != dims[d])
                return ox_fail(im, n, QRN_E_SHAPE, "input %u: dimension %u is %u, expected %u", i,
                               d, v->dims[d], dims[d]);
        total += v->dims[*axis];
        if (v->dims[*axis]) {
            *only = i;
            ++*count;
        }
    }
    if (total > UINT32_MAX)
        return ox_fail(im, n, QRN_E_SHAPE, "the result is too large");
    dims[*axis] = (uint32_t)total;
    return QRN_OK;
}

// Inputs of a quantized unit may each have an encoding of their own, and so may the result: Concat
// converts. Only types must agree.
static qrn_status joined_input(ox_import *im, const ox_node *n, uint32_t i, ox_layout layout,
                               const ox_carry *c, const qc_tensor **x) {
    qc_tensor *t;
    QRN_TRY(ox_in(im, n, i, layout, &t));
    const Qnn_QuantizeParams_t *q = &t->t.v1.quantizeParams;
    bool plain = q->encodingDefinition != QNN_DEFINITION_DEFINED ||
                 q->quantizationEncoding == QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
    *x = t;
    if (c->real && plain && t->t.v1.dataType == c->like.t.v1.dataType)
        return QRN_OK;
    return ox_carry_in(im, n, c, t, x);
}

qrn_status move_import_concat(ox_import *im, const ox_node *n) {
    uint32_t axis, dims[OX_MAX_RANK], count, only = 0, at = 0;
    ox_layout layout = ox_layout_of(im, n);
    ox_carry c;
    qc_tensor *y;
    const qc_tensor *w, **xs = ox_alloc(im, n->n_in * sizeof *xs);
    if (!xs)
        return ox_fail(im, n, QRN_E_MEM, "out of memory");
    QRN_TRY(concat_shape(im, n, &axis, dims, &count, &only));
    const ox_val *x = ox_input(im, n, only);
    if (count == 1)
        return ox_alias(im, n, 0, only);
    QRN_TRY(ox_set_moved(im, n, 0, only, x->rank, dims));
    QRN_TRY(ox_out(im, n, 0, layout, &y));
    QRN_TRY(ox_carry_of(im, n, x, y, MOVE_CONCAT, &c));
    for (uint32_t i = 0; i < n->n_in; i++)
        if (ox_input(im, n, i)->dims[axis])
            QRN_TRY(joined_input(im, n, i, layout, &c, &xs[at++]));
    uint32_t there = ox_axis_in(layout, axis, x->rank);
    QRN_TRY(shorten(im, n, xs, &count, there, &c.like));
    QRN_TRY(ox_carry_out(im, &c, y, &w));
    QRN_TRY(emit_concat(im, n, xs, count, there, w));
    return ox_carry_end(im, n, &c, w, y);
}

// Lengths of the parts: given (attribute, or input since opset 13), or equal but for the last.
static qrn_status split_lengths(ox_import *im, const ox_node *n, uint32_t dim, uint32_t *lengths) {
    uint32_t count = 0, total = 0;
    int64_t *given = ox_alloc(im, n->n_out * sizeof *given);
    if (!given)
        return ox_fail(im, n, QRN_E_MEM, "out of memory");
    const ox_attr *a = ox_attr_find(n, "split");
    const ox_val *v = ox_input(im, n, 1);
    if ((a && a->n > n->n_out) || (v && move_count(v->rank, v->dims) > n->n_out))
        return ox_fail(im, n, QRN_E_SHAPE, "more lengths than outputs");
    QRN_TRY(ox_ints_of(im, n, "split", v ? 1 : -1, given, n->n_out, &count));
    if (count && count != n->n_out)
        return ox_fail(im, n, QRN_E_SHAPE, "%u lengths for %u outputs", count, n->n_out);
    uint32_t each = (dim + n->n_out - 1) / n->n_out;
    for (uint32_t i = 0; i < n->n_out; i++) {
        if (!count)
            lengths[i] = dim - total < each ? dim - total : each;
        else if (given[i] < 0 || given[i] > dim)
            return ox_fail(im, n, QRN_E_SHAPE, "length %u is %lld", i, (long long)given[i]);
        else
            lengths[i] = (uint32_t)given[i];
        total += lengths[i];
    }
    if (total != dim)
        return ox_fail(im, n, QRN_E_SHAPE, "the lengths sum to %u, the dimension is %u", total,
                       dim);
    return QRN_OK;
}

static bool wanted(const ox_node *n, uint32_t i) { return n->out[i][0] != '\0'; }

// Declares the outputs; empty ones are constants without data.
static qrn_status split_outputs(ox_import *im, const ox_node *n, uint32_t axis,
                                const uint32_t *lengths) {
    const ox_val *x = ox_input(im, n, 0);
    uint32_t dims[OX_MAX_RANK];
    memcpy(dims, x->dims, sizeof dims);
    for (uint32_t i = 0; i < n->n_out; i++) {
        dims[axis] = lengths[i];
        if (!wanted(n, i))
            continue;
        if (lengths[i])
            QRN_TRY(ox_set_moved(im, n, i, 0, x->rank, dims));
        else
            QRN_TRY(ox_set_const(im, n, i, x->type, x->rank, dims, ""));
    }
    return QRN_OK;
}

typedef struct split_part {
    const qc_tensor *w;
    qc_tensor *y;
} split_part;

static qrn_status emit_split(ox_import *im, const ox_node *n, uint32_t axis, ox_layout layout,
                             const uint32_t *lengths) {
    ox_carry c;
    const qc_tensor *in;
    qc_tensor *unwanted;
    qc_op o;
    uint32_t there = ox_axis_in(layout, axis, ox_input(im, n, 0)->rank);
    uint32_t cuts[QC_MAX_OPERANDS], n_cuts = 0, at = 0, dims[OX_MAX_RANK];
    split_part parts[QC_MAX_OPERANDS] = {0};
    QRN_TRY(ox_carry_input(im, n, 0, layout, MOVE_SPLIT, &c, &in));
    memcpy(dims, in->dims, sizeof dims);
    for (uint32_t i = 0; i < n->n_out; i++) {
        if (!lengths[i])
            continue;
        if (at)
            cuts[n_cuts++] = at;
        at += lengths[i];
        dims[there] = lengths[i];
        if (!wanted(n, i)) {
            QRN_TRY(ox_temp(im, &c.like, in->rank, dims, &unwanted));
            parts[i].w = unwanted;
            continue;
        }
        QRN_TRY(ox_out(im, n, i, layout, &parts[i].y));
        QRN_TRY(ox_carry_out(im, &c, parts[i].y, &parts[i].w));
    }
    ox_op(im, &o, n, QNN_OP_SPLIT);
    qc_in(&o, in);
    for (uint32_t i = 0; i < n->n_out; i++)
        if (parts[i].w)
            qc_out(&o, parts[i].w);
    qc_u32(&o, QNN_OP_SPLIT_PARAM_AXIS, there);
    qc_u32s(&o, QNN_OP_SPLIT_PARAM_SPLIT_INDEX, cuts, n_cuts);
    QRN_TRY(qc_op_end(&o));
    for (uint32_t i = 0; i < n->n_out; i++)
        if (parts[i].y)
            QRN_TRY(ox_carry_end(im, n, &c, parts[i].w, parts[i].y));
    return QRN_OK;
}

qrn_status move_import_split(ox_import *im, const ox_node *n) {
    const ox_val *x = ox_input(im, n, 0);
    uint32_t axis, lengths[QC_MAX_OPERANDS] = {0};
    QRN_TRY(ox_axis(im, n, ox_attr_int(n, "axis", 0), x->rank, &axis));
    if (n->n_out > QC_MAX_OPERANDS)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "%u outputs, at most %d are possible; split twice",
                       n->n_out, QC_MAX_OPERANDS);
    QRN_TRY(split_lengths(im, n, x->dims[axis], lengths));
    QRN_TRY(split_outputs(im, n, axis, lengths));
    for (uint32_t i = 0; i < n->n_out; i++)
        if (lengths[i] == x->dims[axis])
            return wanted(n, i) ? ox_alias(im, n, i, 0) : QRN_OK;
    return emit_split(im, n, axis, ox_layout_of_input(im, n, 0), lengths);
}

qrn_status move_emit_slice(ox_import *im, const ox_node *n, const qc_tensor *x,
                           const move_range *ranges, const qc_tensor *y) {
    int32_t rows[3 * OX_MAX_RANK];
    qc_op o;
    for (uint32_t i = 0; i < x->rank; i++) {
        int64_t step = ranges[i].count > 1 ? ranges[i].step : 1;
        int64_t last = ranges[i].begin + (ranges[i].count - 1) * step;
        rows[3 * i] = (int32_t)ranges[i].begin;
        rows[3 * i + 1] = (int32_t)(step > 0 ? last + 1 : last - 1);
        rows[3 * i + 2] = (int32_t)step;
    }
    ox_op(im, &o, n, QNN_OP_STRIDED_SLICE);
    qc_in(&o, x);
    qc_out(&o, y);
    qc_i32s_2d(&o, QNN_OP_STRIDED_SLICE_PARAM_RANGES, rows, x->rank, 3);
    return qc_op_end(&o);
}

static int64_t limit(int64_t v, int64_t low, int64_t high) {
    return v < low ? low : v > high ? high : v;
}

// What start, end and step take of a dimension, with ONNX's clamping.
static move_range slice_range(int64_t start, int64_t end, int64_t step, int64_t dim) {
    bool forward = step > 0;
    if (start < 0)
        start = start < -dim ? -1 : start + dim;
    if (end < 0)
        end = end < -dim ? -1 : end + dim;
    start = limit(start, 0, forward ? dim : dim - 1);
    end = limit(end, forward ? 0 : -1, dim);
    int64_t length = forward ? end - start : start - end;
    uint64_t stride = forward ? (uint64_t)step : -(uint64_t)step;
    uint64_t count = length > 0 ? ((uint64_t)length + stride - 1) / stride : 0;
    return (move_range){start, step, (uint32_t)count};
}

// The four lists of Slice: attributes in opset 1, inputs since 10.
static qrn_status slice_ranges(ox_import *im, const ox_node *n, move_range *ranges) {
    const ox_val *x = ox_input(im, n, 0);
    int64_t start[OX_MAX_RANK], end[OX_MAX_RANK], axes[OX_MAX_RANK], steps[OX_MAX_RANK];
    uint32_t n_start, n_end, n_axes, n_steps, seen = 0;
    bool old = n->n_in == 1;
    QRN_TRY(ox_ints_of(im, n, "starts", old ? -1 : 1, start, OX_MAX_RANK, &n_start));
    QRN_TRY(ox_ints_of(im, n, "ends", old ? -1 : 2, end, OX_MAX_RANK, &n_end));
    QRN_TRY(ox_ints_of(im, n, "axes", old ? -1 : 3, axes, OX_MAX_RANK, &n_axes));
    QRN_TRY(ox_ints_of(im, n, "steps", old ? -1 : 4, steps, OX_MAX_RANK, &n_steps));
    if (n_end != n_start || (n_axes && n_axes != n_start) || (n_steps && n_steps != n_start))
        return ox_fail(im, n, QRN_E_SHAPE, "%u starts, %u ends, %u axes and %u steps", n_start,
                       n_end, n_axes, n_steps);
    for (uint32_t i = 0; i < x->rank; i++)
        ranges[i] = (move_range){0, 1, x->dims[i]};
    for (uint32_t i = 0; i < n_start; i++) {
        uint32_t axis;
        int64_t step = n_steps ? steps[i] : 1;
        QRN_TRY(ox_axis(im, n, n_axes ? axes[i] : i, x->rank, &axis));
        if (step == 0 || seen & 1u << axis)
            return ox_fail(im, n, QRN_E_SHAPE, "axis %u: %s", axis,
                           step ? "given twice" : "step 0");
        seen |= 1u << axis;
        ranges[axis] = slice_range(start[i], end[i], step, x->dims[axis]);
    }
    return QRN_OK;
}

qrn_status move_import_slice(ox_import *im, const ox_node *n) {
    const ox_val *x = ox_input(im, n, 0);
    move_range ranges[OX_MAX_RANK] = {0}, there[OX_MAX_RANK];
    uint32_t dims[OX_MAX_RANK];
    bool all = true;
    ox_layout layout = ox_layout_of_input(im, n, 0);
    ox_carry c;
    const qc_tensor *in, *w;
    qc_tensor *y;
    QRN_TRY(slice_ranges(im, n, ranges));
    for (uint32_t i = 0; i < x->rank; i++) {
        dims[i] = ranges[i].count;
        all &= dims[i] == x->dims[i] && (ranges[i].step > 0 || dims[i] == 1);
        there[ox_axis_in(layout, i, x->rank)] = ranges[i];
    }
    if (all)
        return ox_alias(im, n, 0, 0);
    if (move_count(x->rank, dims) == 0)
        return ox_set_const(im, n, 0, x->type, x->rank, dims, "");
    QRN_TRY(ox_set_moved(im, n, 0, 0, x->rank, dims));
    QRN_TRY(ox_carry_input(im, n, 0, layout, MOVE_SLICE, &c, &in));
    QRN_TRY(ox_out(im, n, 0, layout, &y));
    QRN_TRY(ox_carry_out(im, &c, y, &w));
    QRN_TRY(move_emit_slice(im, n, in, there, w));
    return ox_carry_end(im, n, &c, w, y);
}

// Dimensions that are repeated as one: a block and what is inside of it, or one element and what
// follows. Returns how many are left.
static uint32_t join_tiled(const qc_tensor *x, const uint32_t *multiples, uint32_t *dims,
                           uint32_t *times) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->rank; i++) {
        bool inside = n && multiples[i] == 1, behind = n && dims[n - 1] * times[n - 1] == 1;
        n += !inside && !behind;
        if (!inside && !behind)
            dims[n - 1] = times[n - 1] = 1;
        dims[n - 1] *= x->dims[i];
        times[n - 1] *= multiples[i];
    }
    return n;
}

qrn_status move_emit_tile(ox_import *im, const ox_node *n, const qc_tensor *x,
                          const uint32_t *multiples, const qc_tensor *y) {
    uint32_t dims[OX_MAX_RANK], times[OX_MAX_RANK], all[OX_MAX_RANK];
    qc_tensor *tiled;
    qc_op o;
    if (x->rank > 4) { // more than accelerators take
        uint32_t rank = join_tiled(x, multiples, dims, times);
        for (uint32_t i = 0; i < rank; i++)
            all[i] = dims[i] * times[i];
        if (rank < x->rank) {
            QRN_TRY(move_reshaped(im, n, x, rank, dims, &x));
            QRN_TRY(ox_temp(im, x, rank, all, &tiled));
            QRN_TRY(move_emit_tile(im, n, x, times, tiled));
            return ox_emit_reshape(im, n, tiled, y);
        }
    }
    ox_op(im, &o, n, QNN_OP_TILE);
    qc_in(&o, x);
    qc_out(&o, y);
    qc_u32s(&o, QNN_OP_TILE_PARAM_MULTIPLES, multiples, x->rank);
    return qc_op_end(&o);
}

// Output 0 is input 0, given `rank` dimensions by leading 1s, repeated along each.
static qrn_status repeat(ox_import *im, const ox_node *n, uint32_t rank, const uint32_t *times) {
    const ox_val *x = ox_input(im, n, 0);
    ox_layout layout = x->rank == rank ? ox_layout_of_input(im, n, 0) : OX_ONNX;
    uint32_t dims[OX_MAX_RANK], wide[OX_MAX_RANK], there[OX_MAX_RANK];
    ox_carry c;
    const qc_tensor *in, *w;
    qc_tensor *y;
    for (uint32_t i = 0; i < rank; i++) {
        wide[i] = i + x->rank < rank ? 1 : x->dims[i + x->rank - rank];
        dims[i] = wide[i] * times[i];
        if (times[i] && dims[i] / times[i] != wide[i])
            return ox_fail(im, n, QRN_E_SHAPE, "the result is too large");
    }
    if (move_count(rank, dims) == 0)
        return ox_set_const(im, n, 0, x->type, rank, dims, "");
    if (move_count(rank, times) == 1)
        return move_reshape_to(im, n, rank, dims);
    ox_dims_in(layout, rank, times, there);
    QRN_TRY(ox_set_moved(im, n, 0, 0, rank, dims));
    QRN_TRY(ox_carry_input(im, n, 0, layout, MOVE_TILE, &c, &in));
    if (x->rank < rank && rank > 1)
        QRN_TRY(move_reshaped(im, n, in, rank, wide, &in));
    QRN_TRY(ox_out(im, n, 0, layout, &y));
    QRN_TRY(ox_carry_out(im, &c, y, &w));
    QRN_TRY(move_emit_tile(im, n, in, there, w));
    return ox_carry_end(im, n, &c, w, y);
}

qrn_status move_import_expand(ox_import *im, const ox_node *n) {
    const ox_val *x = ox_input(im, n, 0);
    int64_t shape[OX_MAX_RANK];
    uint32_t count, times[OX_MAX_RANK];
    QRN_TRY(ox_ints_of(im, n, "shape", 1, shape, OX_MAX_RANK, &count));
    uint32_t rank = count > x->rank ? count : x->rank;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t have = i + x->rank < rank ? 1 : x->dims[i + x->rank - rank];
        int64_t want = i + count < rank ? 1 : shape[i + count - rank];
        if (want < 0 || want > UINT32_MAX || (have != want && have != 1 && want != 1))
            return ox_fail(im, n, QRN_E_SHAPE, "dimension %u: %lld cannot become %lld", i,
                           (long long)have, (long long)want);
        times[i] = have == 1 ? (uint32_t)want : 1;
    }
    return repeat(im, n, rank, times);
}

qrn_status move_import_tile(ox_import *im, const ox_node *n) {
    const ox_val *x = ox_input(im, n, 0);
    int64_t repeats[OX_MAX_RANK], axis[1];
    uint32_t count, one, times[OX_MAX_RANK];
    if (n->n_in == 3) { // opset 1: how often, and along which axis
        int64_t tiles[1];
        QRN_TRY(ox_ints_of(im, n, "tiles", 1, tiles, 1, &count));
        QRN_TRY(ox_ints_of(im, n, "axis", 2, axis, 1, &one));
        uint32_t at;
        QRN_TRY(ox_axis(im, n, axis[0], x->rank, &at));
        for (uint32_t i = 0; i < x->rank; i++)
            repeats[i] = i == at ? tiles[0] : 1;
        count = x->rank;
    } else {
        QRN_TRY(ox_ints_of(im, n, "repeats", 1, repeats, OX_MAX_RANK, &count));
    }
    if (count != x->rank)
        return ox_fail(im, n, QRN_E_SHAPE, "%u repeats for a value of rank %u", count, x->rank);
    for (uint32_t i = 0; i < count; i++) {
        if (repeats[i] < 0 || repeats[i] > UINT32_MAX)
            return ox_fail(im, n, QRN_E_SHAPE, "repeat %u is %lld", i, (long long)repeats[i]);
        times[i] = (uint32_t)repeats[i];
    }
    return repeat(im, n, count, times);
}
