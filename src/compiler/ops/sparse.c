// SPDX-License-Identifier: MIT
//
// Ops of a compiled graph, group sparse: attributes, and what makes a step safe to run. A sparse
// operand has memory for n_sparse index rows of n_sparse_dims int32 and the values behind them,
// whatever the product of its dims is; rows find cells by 64-bit numbers, so that product is
// limited here.
#include "compiler/ops/check.h"

#include "kernels/sparse/sparse.h"

#define INDEX_TYPES (QRN_T(I32) | QRN_T(U32))

// Rows copy elements one by one with the encoding of the whole tensor, and find them at multiples
// of 4 bytes: numbers that need no conversion may be larger than that.
static bool is_copied(const qrn_view *v) {
    uint8_t most = qrn_dtype_is_fixed(v->dtype) ? QRN_QUANT_TENSOR : QRN_QUANT_NONE;
    return qrn_chk_bytes(v) && qrn_chk_quant(v) <= most;
}

static bool is_dense(const qrn_view *v) { return qrn_chk_dense(v) && is_copied(v); }

static bool is_sparse(const qrn_view *v) {
    size_t cells = 1;
    for (uint32_t d = 0; d < v->rank; d++)
        if (!qrn_mul_size(cells, v->dims[d], &cells) || cells > INT64_MAX / sizeof(uint64_t))
            return false;
    return v->n_sparse > 0 && v->n_sparse_dims > 0 && v->n_sparse_dims <= v->rank && is_copied(v);
}

// Indices of some elements of a sparse operand: [any, K].
static bool are_indices(const qrn_view *v, const qrn_view *sparse) {
    return qrn_chk_dense(v) && qrn_chk_type(v, INDEX_TYPES) && v->rank == 2 &&
           v->dims[1] == sparse->n_sparse_dims;
}

// Values of some elements of a sparse operand: [any, DK..Dn-1].
static bool are_values(const qrn_view *v, const qrn_view *sparse) {
    uint32_t first = sparse->n_sparse_dims;
    if (!is_dense(v) || v->dtype != sparse->dtype || v->rank != 1 + sparse->rank - first)
        return false;
    for (uint32_t d = first; d < sparse->rank; d++)
        if (v->dims[1 + d - first] != sparse->dims[d])
            return false;
    return true;
}

// The elements of b can be found in a: the same dimensions are indexed.
static bool same_cells(const qrn_view *a, const qrn_view *b) {
    if (a->n_sparse_dims != b->n_sparse_dims)
        return false;
    for (uint32_t d = 0; d < a->n_sparse_dims; d++)
        if (a->dims[d] != b->dims[d])
            return false;
    return true;
}

static const char *check_create(const qrn_kcall *k, qrn_domain domain) {
    const qrn_sparse_make_args *a = k->args;
    const qrn_view *indices = k->in[0], *values = k->in[1], *y = k->out[0];
    (void)domain;
    QRN_NEED(is_sparse(y), "out[0] is not sparse");
    QRN_NEED(a->limit == y->n_sparse, "limit is not the number of elements of out[0]");
    QRN_NEED(are_indices(indices, y), "in[0] does not hold indices of out[0]");
    QRN_NEED(are_values(values, y), "in[1] does not hold values of out[0]");
    QRN_NEED(indices->dims[0] == values->dims[0], "in[0] and in[1] differ in elements");
    return NULL;
}

static const char *check_indices(const qrn_kcall *k, qrn_domain domain) {
    (void)domain;
    QRN_NEED(is_sparse(k->in[0]), "in[0] is not sparse");
    QRN_NEED(are_indices(k->out[0], k->in[0]), "out[0] has no room for indices of in[0]");
    return NULL;
}

static const char *check_values(const qrn_kcall *k, qrn_domain domain) {
    (void)domain;
    QRN_NEED(is_sparse(k->in[0]), "in[0] is not sparse");
    QRN_NEED(are_values(k->out[0], k->in[0]), "out[0] has no room for values of in[0]");
    return NULL;
}

static const char *check_dense(const qrn_kcall *k, qrn_domain domain) {
    const qrn_view *x = k->in[0], *y = k->out[0];
    (void)domain;
    QRN_NEED(is_sparse(x), "in[0] is not sparse");
    QRN_NEED(is_dense(y), "out[0] is not dense");
    QRN_NEED(x->dtype == y->dtype && qrn_chk_same_shape(x, y), "in[0] and out[0] differ");
    return NULL;
}

static const char *check_pick(const qrn_kcall *k, qrn_domain domain) {
    const qrn_sparse_make_args *a = k->args;
    const qrn_view *dense = k->in[0], *other = qrn_chk_in(k, 2), *y = k->out[0];
    (void)domain;
    QRN_NEED(is_sparse(y), "out[0] is not sparse");
    QRN_NEED(a->limit == y->n_sparse, "limit is not the number of elements of out[0]");
    QRN_NEED(is_dense(dense), "in[0] is not dense");
    QRN_NEED(dense->dtype == y->dtype && qrn_chk_same_shape(dense, y), "in[0] and out[0] differ");
    QRN_NEED(is_sparse(k->in[1]) && same_cells(k->in[1], y), "in[1] has not the cells of out[0]");
    QRN_NEED(!other || (is_sparse(other) && same_cells(other, y)),
             "in[2] has not the cells of out[0]");
    return NULL;
}

// --- the ops

static const qrn_attr make_attrs[] = {QRN_ATTR(qrn_sparse_make_args, limit)};
static const qrn_attr read_attrs[] = {QRN_ATTR(qrn_sparse_read_args, write_dims)};

const qrn_cop qrn_cop_sparse_create = {QRN_COP_HEAD(sparse_create), QRN_COP_ATTRS(make_attrs),
                                       QRN_COP_IN(2, 2, 3), QRN_COP_OUT(1, 1, 1),
                                       .check = check_create};
const qrn_cop qrn_cop_sparse_indices = {QRN_COP_HEAD(sparse_indices), QRN_COP_ATTRS(read_attrs),
                                        QRN_COP_IN(1, 1, 1), QRN_COP_OUT(1, 1, 1),
                                        .check = check_indices};
const qrn_cop qrn_cop_sparse_values = {QRN_COP_HEAD(sparse_values), QRN_COP_ATTRS(read_attrs),
                                       QRN_COP_IN(1, 1, 1), QRN_COP_OUT(1, 1, 1),
                                       .check = check_values};
const qrn_cop qrn_cop_sparse_dense = {QRN_COP_HEAD(sparse_dense), QRN_COP_IN(1, 1, 1),
                                      QRN_COP_OUT(1, 1, 1), .check = check_dense};
const qrn_cop qrn_cop_sparse_pick = {QRN_COP_HEAD(sparse_pick), QRN_COP_ATTRS(make_attrs),
                                     QRN_COP_IN(2, 3, 3), QRN_COP_OUT(1, 1, 1),
                                     .check = check_pick};
