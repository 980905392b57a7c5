// SPDX-License-Identifier: MIT
//
// Ops of a compiled graph, group move: attributes, and what makes a step safe to run. Indices and
// shapes that are data are read with care by the rows themselves; here the shapes of operands are
// held against each other. Most shapes are compared by their numbers of elements, because a single
// value may be declared with or without a dimension.
#include "compiler/ops/check.h"

#include "kernels/move/gather.h"
#include "kernels/move/generate.h"
#include "kernels/move/join.h"
#include "kernels/move/layout.h"

static const char not_whole_bytes[] = "the elements of an operand are not whole bytes";
static const char other_type[] = "in[0] and out[0] differ in type or encoding";
static const char other_count[] = "out[0] has not as many elements as the step writes";
static const char bad_axis[] = "axis is not below the rank of in[0]";

// All operands are dense and have elements of whole bytes.
static const char *movable(const qrn_kcall *k) {
    QRN_NEED(qrn_chk_all_dense(k), "an operand is sparse");
    for (uint32_t i = 0; i < k->n_in + k->n_out; i++)
        QRN_NEED(qrn_chk_bytes(i < k->n_in ? k->in[i] : k->out[i - k->n_in]), not_whole_bytes);
    return NULL;
}

// And in[0] is moved to out[0] as it is.
static const char *moves(const qrn_kcall *k) {
    QRN_NEED_ALSO(movable(k));
    QRN_NEED(qrn_chk_same_format(k->in[0], k->out[0]), other_type);
    return NULL;
}

// Has v as many elements as a * b?
static bool holds(const qrn_view *v, size_t a, size_t b) {
    return qrn_chk_product(a, b, qrn_view_count(v));
}

// --- gather and scatter

static const char *check_gather(const qrn_kcall *k, qrn_domain domain) {
    const qrn_axis_args *a = k->args;
    const qrn_view *table = k->in[0];
    (void)domain;
    QRN_NEED_ALSO(moves(k));
    QRN_NEED(a->axis < table->rank, bad_axis);
    size_t others = qrn_view_count(table) / table->dims[a->axis];
    QRN_NEED(holds(k->out[0], others, qrn_view_count(k->in[1])), other_count);
    return NULL;
}

// Indices have the rank of x and, but for the axis, no dimension larger than it has.
static const char *indexes_elements(const qrn_view *x, const qrn_view *indices, uint32_t axis) {
    QRN_NEED(axis < x->rank, bad_axis);
    QRN_NEED(indices->rank == x->rank, "in[0] and in[1] differ in rank");
    for (uint32_t d = 0; d < x->rank; d++)
        QRN_NEED(d == axis || indices->dims[d] <= x->dims[d],
                 "a dimension of in[1] is larger than that of in[0]");
    return NULL;
}

static const char *check_gather_elements(const qrn_kcall *k, qrn_domain domain) {
    const qrn_axis_args *a = k->args;
    (void)domain;
    QRN_NEED_ALSO(moves(k));
    QRN_NEED_ALSO(indexes_elements(k->in[0], k->in[1], a->axis));
    QRN_NEED(qrn_chk_same_count(k->in[1], k->out[0]), other_count);
    return NULL;
}

// The last dimension of `indices` is a tuple that names a slice of `table` behind its first
// `batch_dims` dimensions, which both share. *count: elements of all slices.
static const char *indexes_slices(const qrn_view *table, const qrn_view *indices,
                                  uint32_t batch_dims, size_t *count) {
    QRN_NEED(batch_dims < indices->rank, "batch_dims is not below the rank of in[1]");
    uint32_t q = indices->dims[indices->rank - 1];
    QRN_NEED(batch_dims <= table->rank && q <= table->rank - batch_dims,
             "in[0] has fewer dimensions than in[1] has indices");
    for (uint32_t d = 0; d < batch_dims; d++)
        QRN_NEED(table->dims[d] == indices->dims[d], "in[0] and in[1] differ in a batch dimension");
    QRN_NEED(qrn_mul_size(qrn_view_span(indices, 0, indices->rank - 1),
                          qrn_view_span(table, batch_dims + q, table->rank), count),
             "the slices have more elements than can be counted");
    return NULL;
}

static const char *check_gather_nd(const qrn_kcall *k, qrn_domain domain) {
    const qrn_gather_nd_args *a = k->args;
    size_t count;
    (void)domain;
    QRN_NEED_ALSO(moves(k));
    QRN_NEED_ALSO(indexes_slices(k->in[0], k->in[1], a->batch_dims, &count));
    QRN_NEED(count == qrn_view_count(k->out[0]), other_count);
    return NULL;
}

static const char *check_batch_permutation(const qrn_kcall *k, qrn_domain domain) {
    const qrn_view *x = k->in[0];
    (void)domain;
    QRN_NEED_ALSO(moves(k));
    QRN_NEED(x->rank > 0, "in[0] has no dimension");
    QRN_NEED(holds(k->out[0], qrn_view_count(k->in[1]), qrn_view_span(x, 1, x->rank)), other_count);
    return NULL;
}

// x, updates and y have one type: that of the domain, or any for updates that replace.
static const char *scatters(const qrn_kcall *k, qrn_domain domain) {
    const qrn_scatter_args *a = k->args;
    QRN_NEED_ALSO(moves(k));
    QRN_NEED(qrn_chk_same_format(k->in[0], k->in[2]), "in[0] and in[2] differ in type or encoding");
    if (domain == QRN_DOMAIN_RAW)
        QRN_NEED(a->reduction == QRN_REDUCE_NONE, "a reduction in domain RAW");
    else
        QRN_NEED(qrn_chk_real(k->in[0], domain), "in[0] has not the type of the domain");
    QRN_NEED(a->reduction <= QRN_REDUCE_MAX, "reduction is unknown");
    QRN_NEED(qrn_chk_same_count(k->in[0], k->out[0]), other_count);
    return NULL;
}

static const char wrong_updates[] = "in[2] has not as many elements as in[1] names";

static const char *check_scatter_elements(const qrn_kcall *k, qrn_domain domain) {
    const qrn_scatter_args *a = k->args;
    QRN_NEED_ALSO(scatters(k, domain));
    QRN_NEED_ALSO(indexes_elements(k->in[0], k->in[1], a->axis));
    QRN_NEED(qrn_chk_same_count(k->in[1], k->in[2]), wrong_updates);
    return NULL;
}

static const char *check_scatter_nd(const qrn_kcall *k, qrn_domain domain) {
    size_t count;
    QRN_NEED_ALSO(scatters(k, domain));
    QRN_NEED_ALSO(indexes_slices(k->in[0], k->in[1], 0, &count));
    QRN_NEED(count == qrn_view_count(k->in[2]), wrong_updates);
    return NULL;
}

// --- join and cut

// A part has the rows of the whole (the dimensions before the axis); *left: elements of a row of
// the whole that no part has claimed yet.
static const char *claims(const qrn_view *part, const qrn_view *whole, uint32_t axis,
                          size_t *left) {
    QRN_NEED(qrn_chk_same_format(part, whole), "a part differs from the whole in type or encoding");
    QRN_NEED(axis <= part->rank, "axis is above the rank of a part");
    QRN_NEED(qrn_view_span(part, 0, axis) == qrn_view_span(whole, 0, axis),
             "a part has other dimensions before the axis than the whole");
    size_t row = qrn_view_span(part, axis, part->rank);
    QRN_NEED(row <= *left, "the parts are longer than the whole");
    *left -= row;
    return NULL;
}

static const char *joins(const qrn_kcall *k, const qrn_view *whole, qrn_view *const *parts,
                         uint32_t n) {
    const qrn_join_args *a = k->args;
    QRN_NEED_ALSO(movable(k));
    QRN_NEED(a->axis < whole->rank, "axis is not below the rank of the whole");
    size_t left = qrn_view_span(whole, a->axis, whole->rank);
    for (uint32_t i = 0; i < n; i++)
        QRN_NEED_ALSO(claims(parts[i], whole, a->axis, &left));
    QRN_NEED(left == 0, "the parts are shorter than the whole");
    return NULL;
}

static const char *check_concat(const qrn_kcall *k, qrn_domain domain) {
    (void)domain;
    return joins(k, k->out[0], k->in, k->n_in);
}

static const char *check_split(const qrn_kcall *k, qrn_domain domain) {
    (void)domain;
    return joins(k, k->in[0], k->out, k->n_out);
}

// How much may be mirrored on one side of a dimension.
static uint32_t mirror_limit(uint32_t scheme, uint32_t dim) {
    return scheme == QRN_PAD_SYMMETRIC ? dim : scheme == QRN_PAD_REFLECT ? dim - 1 : UINT32_MAX;
}

static const char *check_pad(const qrn_kcall *k, qrn_domain domain) {
    const qrn_pad_args *a = k->args;
    const qrn_view *x = k->in[0], *y = k->out[0];
    (void)domain;
    QRN_NEED_ALSO(moves(k));
    QRN_NEED(x->rank > 0 && x->rank == y->rank, "in[0] and out[0] differ in rank");
    QRN_NEED(a->scheme <= QRN_PAD_EDGE, "scheme is unknown");
    for (uint32_t d = 0; d < x->rank; d++) {
        QRN_NEED(x->dims[d] <= y->dims[d] && a->before[d] <= y->dims[d] - x->dims[d],
                 "out[0] has no room for in[0] behind its padding");
        uint32_t limit = mirror_limit(a->scheme, x->dims[d]);
        QRN_NEED(a->before[d] <= limit && y->dims[d] - x->dims[d] - a->before[d] <= limit,
                 "more is mirrored than in[0] has");
    }
    return NULL;
}

static const char *check_copy(const qrn_kcall *k, qrn_domain domain) {
    (void)domain;
    QRN_NEED_ALSO(moves(k));
    QRN_NEED(qrn_chk_same_count(k->in[0], k->out[0]), other_count);
    return NULL;
}

// A shape that is read may make out[0] smaller than it is declared.
static const char *check_reshape(const qrn_kcall *k, qrn_domain domain) {
    const qrn_reshape_args *a = k->args;
    if (!a->read_shape)
        return check_copy(k, domain);
    QRN_NEED_ALSO(moves(k));
    QRN_NEED(qrn_chk_in(k, 1), "no in[1] whose shape could be read");
    return NULL;
}

// --- generate

static const char *check_nonzero(const qrn_kcall *k, qrn_domain domain) {
    const qrn_view *x = k->in[0], *y = k->out[0];
    (void)domain;
    QRN_NEED_ALSO(movable(k));
    QRN_NEED(qrn_chk_type(y, QRN_T(I32) | QRN_T(U32)), "out[0] has no elements of 32 bits");
    QRN_NEED(y->rank == 2 && y->dims[1] == x->rank, "out[0] is not a list of coordinates of in[0]");
    return NULL;
}

static const char *check_one_hot(const qrn_kcall *k, qrn_domain domain) {
    const qrn_one_hot_args *a = k->args;
    const qrn_view *indices = k->in[0], *y = k->out[0];
    (void)domain;
    QRN_NEED_ALSO(movable(k));
    QRN_NEED(a->axis < y->rank && a->axis <= indices->rank, "axis is not below the rank of out[0]");
    QRN_NEED(holds(y, qrn_view_count(indices), y->dims[a->axis]), other_count);
    return NULL;
}

static const char *check_fill(const qrn_kcall *k, qrn_domain domain) {
    (void)domain;
    return movable(k); // the row compares in[0] with the dimensions of out[0]
}

// --- rearrange

static const char *check_transpose(const qrn_kcall *k, qrn_domain domain) {
    const qrn_transpose_args *a = k->args;
    QRN_NEED_ALSO(check_copy(k, domain));
    QRN_NEED(qrn_chk_permutation(a->perm, k->in[0]->rank), "perm is not a permutation");
    return NULL;
}

static const char *check_depth_space(const qrn_kcall *k, qrn_domain domain) {
    const qrn_depth_space_args *a = k->args;
    const qrn_view *depth = a->to_depth ? k->out[0] : k->in[0];
    const qrn_view *space = a->to_depth ? k->in[0] : k->out[0];
    (void)domain;
    QRN_NEED_ALSO(moves(k));
    QRN_NEED(depth->rank == 4 && space->rank == 4, "an operand has not 4 dimensions");
    QRN_NEED(depth->dims[0] == space->dims[0] &&
                 qrn_chk_product(depth->dims[1], a->block[0], space->dims[1]) &&
                 qrn_chk_product(depth->dims[2], a->block[1], space->dims[2]) &&
                 qrn_chk_same_count(depth, space),
             "the blocks do not lead from one shape to the other");
    return NULL;
}

static const char *check_batch_space(const qrn_kcall *k, qrn_domain domain) {
    const qrn_batch_space_args *a = k->args;
    const qrn_view *batch = a->to_batch ? k->out[0] : k->in[0];
    const qrn_view *space = a->to_batch ? k->in[0] : k->out[0];
    (void)domain;
    QRN_NEED_ALSO(moves(k));
    QRN_NEED(batch->rank == 4 && space->rank == 4, "an operand has not 4 dimensions");
    QRN_NEED(batch->dims[3] == space->dims[3], "the operands differ in their channels");
    QRN_NEED(qrn_chk_product((size_t)a->block[0] * a->block[1], space->dims[0], batch->dims[0]),
             "the blocks do not lead from one batch to the other");
    for (uint32_t i = 0; i < 2; i++)
        QRN_NEED(qrn_chk_product(batch->dims[1 + i], a->block[i],
                                 (size_t)space->dims[1 + i] + a->pad[i][0] + a->pad[i][1]),
                 "blocks and pad do not lead from one shape to the other");
    return NULL;
}

static const char *check_shuffle(const qrn_kcall *k, qrn_domain domain) {
    const qrn_shuffle_args *a = k->args;
    QRN_NEED_ALSO(check_copy(k, domain));
    QRN_NEED(a->axis < k->in[0]->rank, bad_axis);
    QRN_NEED(a->groups && k->in[0]->dims[a->axis] % a->groups == 0,
             "groups does not divide the dimension of the axis");
    return NULL;
}

// Where the ranges lie in their dimensions is left to the row.
static const char *check_slice(const qrn_kcall *k, qrn_domain domain) {
    const qrn_slice_args *a = k->args;
    const qrn_view *x = k->in[0], *y = k->out[0];
    uint32_t taken = 0, dy = 0;
    size_t count = 1;
    (void)domain;
    QRN_NEED_ALSO(moves(k));
    QRN_NEED(a->n_rows <= QRN_MAX_RANK, "more ranges than a tensor can have dimensions");
    for (uint32_t i = 0; i < a->n_rows; i++) {
        uint8_t kind = a->rows[i].kind;
        QRN_NEED(kind <= QRN_SLICE_NEW, "the kind of a range is unknown");
        taken += kind != QRN_SLICE_NEW;
        if (kind == QRN_SLICE_KEEP && dy < y->rank)
            count *= y->dims[dy]; // divides the number of elements of y
        dy += kind != QRN_SLICE_SHRINK;
    }
    QRN_NEED(taken == x->rank, "not one range for each dimension of in[0]");
    QRN_NEED(count == qrn_view_count(y), other_count);
    return NULL;
}

static const char *check_tile(const qrn_kcall *k, qrn_domain domain) {
    const qrn_view *x = k->in[0], *y = k->out[0];
    (void)domain;
    QRN_NEED_ALSO(moves(k));
    QRN_NEED(x->rank == y->rank, "in[0] and out[0] differ in rank");
    for (uint32_t d = 0; d < x->rank; d++)
        QRN_NEED(y->dims[d] % x->dims[d] == 0,
                 "a dimension of out[0] is not a multiple of in[0]'s");
    return NULL;
}

// --- the ops

static const qrn_attr axis_attrs[] = {QRN_ATTR(qrn_axis_args, axis)};
static const qrn_attr gather_nd_attrs[] = {QRN_ATTR(qrn_gather_nd_args, batch_dims)};
static const qrn_attr scatter_attrs[] = {QRN_ATTR(qrn_scatter_args, axis),
                                         QRN_ATTR(qrn_scatter_args, reduction)};
static const qrn_attr join_attrs[] = {QRN_ATTR(qrn_join_args, axis)};
static const qrn_attr pad_attrs[] = {QRN_ATTR(qrn_pad_args, scheme),
                                     QRN_ATTR_ARRAY(qrn_pad_args, before),
                                     QRN_ATTR_ARRAY(qrn_pad_args, fill)};
static const qrn_attr reshape_attrs[] = {QRN_ATTR(qrn_reshape_args, read_shape)};
static const qrn_attr nonzero_attrs[] = {QRN_ATTR(qrn_nonzero_args, write_dims)};
static const qrn_attr one_hot_attrs[] = {QRN_ATTR(qrn_one_hot_args, axis),
                                         QRN_ATTR_ARRAY(qrn_one_hot_args, on),
                                         QRN_ATTR_ARRAY(qrn_one_hot_args, off)};
static const qrn_attr fill_attrs[] = {QRN_ATTR_ARRAY(qrn_fill_args, value)};
static const qrn_attr transpose_attrs[] = {QRN_ATTR_ARRAY(qrn_transpose_args, perm)};
static const qrn_attr depth_space_attrs[] = {QRN_ATTR_ARRAY(qrn_depth_space_args, block),
                                             QRN_ATTR(qrn_depth_space_args, crd),
                                             QRN_ATTR(qrn_depth_space_args, to_depth)};
static const qrn_attr batch_space_attrs[] = {
    QRN_ATTR_ARRAY(qrn_batch_space_args, block), QRN_ATTR_ARRAY(qrn_batch_space_args, pad[0]),
    QRN_ATTR_ARRAY(qrn_batch_space_args, pad[1]), QRN_ATTR_ARRAY(qrn_batch_space_args, fill),
    QRN_ATTR(qrn_batch_space_args, to_batch)};
static const qrn_attr shuffle_attrs[] = {QRN_ATTR(qrn_shuffle_args, axis),
                                         QRN_ATTR(qrn_shuffle_args, groups)};
static const qrn_attr slice_attrs[] = {
    QRN_ATTR(qrn_slice_args, n_rows), QRN_ATTR_OF_EACH(qrn_slice_args, rows, kind),
    QRN_ATTR_OF_EACH(qrn_slice_args, rows, open), QRN_ATTR_OF_EACH(qrn_slice_args, rows, begin),
    QRN_ATTR_OF_EACH(qrn_slice_args, rows, step)};

// Ops with fixed numbers of inputs and one output.
#define MOVE(op, n_in, needed)                                                                     \
    QRN_COP_HEAD(op), QRN_COP_IN(n_in, n_in, needed), QRN_COP_OUT(1, 1, 1), .check = check_##op

const qrn_cop qrn_cop_gather = {MOVE(gather, 2, 3), QRN_COP_ATTRS(axis_attrs)};
const qrn_cop qrn_cop_gather_elements = {MOVE(gather_elements, 2, 3), QRN_COP_ATTRS(axis_attrs)};
const qrn_cop qrn_cop_gather_nd = {MOVE(gather_nd, 2, 3), QRN_COP_ATTRS(gather_nd_attrs)};
const qrn_cop qrn_cop_batch_permutation = {MOVE(batch_permutation, 2, 3)};
const qrn_cop qrn_cop_concat = {QRN_COP_HEAD(concat), QRN_COP_ATTRS(join_attrs),
                                QRN_COP_IN(1, QRN_COP_MANY, UINT32_MAX), QRN_COP_OUT(1, 1, 1),
                                .check = check_concat};
const qrn_cop qrn_cop_split = {QRN_COP_HEAD(split), QRN_COP_ATTRS(join_attrs), QRN_COP_IN(1, 1, 1),
                               QRN_COP_OUT(1, QRN_COP_MANY, UINT32_MAX), .check = check_split};
const qrn_cop qrn_cop_pad = {MOVE(pad, 1, 1), QRN_COP_ATTRS(pad_attrs)};
const qrn_cop qrn_cop_copy = {MOVE(copy, 1, 1)};
const qrn_cop qrn_cop_reshape = {QRN_COP_HEAD(reshape), QRN_COP_ATTRS(reshape_attrs),
                                 QRN_COP_IN(1, 2, 1), QRN_COP_OUT(1, 1, 1), .check = check_reshape};
const qrn_cop qrn_cop_nonzero = {MOVE(nonzero, 1, 1), QRN_COP_ATTRS(nonzero_attrs)};
const qrn_cop qrn_cop_one_hot = {MOVE(one_hot, 1, 1), QRN_COP_ATTRS(one_hot_attrs)};
const qrn_cop qrn_cop_fill = {MOVE(fill, 1, 1), QRN_COP_ATTRS(fill_attrs)};
const qrn_cop qrn_cop_transpose = {MOVE(transpose, 1, 1), QRN_COP_ATTRS(transpose_attrs)};
const qrn_cop qrn_cop_depth_space = {MOVE(depth_space, 1, 1), QRN_COP_ATTRS(depth_space_attrs)};
const qrn_cop qrn_cop_batch_space = {MOVE(batch_space, 1, 1), QRN_COP_ATTRS(batch_space_attrs)};
const qrn_cop qrn_cop_shuffle = {MOVE(shuffle, 1, 1), QRN_COP_ATTRS(shuffle_attrs)};
const qrn_cop qrn_cop_slice = {MOVE(slice, 1, 1), QRN_COP_ATTRS(slice_attrs)};
const qrn_cop qrn_cop_tile = {MOVE(tile, 1, 1)};
const qrn_cop qrn_cop_scatter_elements = {MOVE(scatter_elements, 3, 7),
                                          QRN_COP_ATTRS(scatter_attrs)};
const qrn_cop qrn_cop_scatter_nd = {MOVE(scatter_nd, 3, 7), QRN_COP_ATTRS(scatter_attrs)};
