// SPDX-License-Identifier: MIT
//
// Importers: Reshape and its relatives, Transpose. A channel-last value stays channel last where
// batch and channel keep their place; a Transpose that only undoes a layout is another view of the
// same tensor (carry.c).
#include "frontend/onnx/import/move.h"

#include <string.h>

size_t move_count(uint32_t rank, const uint32_t *dims) {
    size_t n = 1;
    for (uint32_t i = 0; i < rank; i++)
        n *= dims[i];
    return n;
}

static bool same_shape(const ox_val *x, uint32_t rank, const uint32_t *dims) {
    return x->rank == rank && memcmp(x->dims, dims, rank * sizeof *dims) == 0;
}

qrn_status move_reshape_to(ox_import *im, const ox_node *n, uint32_t rank, const uint32_t *dims) {
    const ox_val *x = ox_input(im, n, 0);
    ox_layout from = ox_layout_of_input(im, n, 0), to = OX_ONNX;
    ox_carry c;
    const qc_tensor *in, *w;
    qc_tensor *y;
    if (same_shape(x, rank, dims))
        return ox_alias(im, n, 0, 0);
    if (move_count(rank, dims) != move_count(x->rank, x->dims))
        return ox_fail(im, n, QRN_E_SHAPE, "%zu elements cannot be reshaped to %zu",
                       move_count(x->rank, x->dims), move_count(rank, dims));
    bool done;
    QRN_TRY(ox_set_moved(im, n, 0, 0, rank, dims));
    if (from == OX_LAST && rank > 2 && dims[0] == x->dims[0] && dims[1] == x->dims[1]) {
        to = OX_LAST;
    } else if (!ox_same_in_layouts(x)) {
        QRN_TRY(ox_out_channels(im, n, &done));
        if (done)
            return QRN_OK;
        from = OX_ONNX;
    }
    QRN_TRY(ox_carry_input(im, n, 0, from, MOVE_RESHAPE, &c, &in));
    QRN_TRY(ox_out(im, n, 0, to, &y));
    QRN_TRY(ox_carry_out(im, &c, y, &w));
    QRN_TRY(ox_emit_reshape(im, n, in, w));
    return ox_carry_end(im, n, &c, w, y);
}

// The dimension of size -1, when there is one, takes what the others leave.
static qrn_status infer_dim(ox_import *im, const ox_node *n, const ox_val *x, uint32_t rank,
                            const int64_t *shape, uint32_t *dims) {
    uint64_t known = 1, total = move_count(x->rank, x->dims);
    int open = -1;
    for (uint32_t i = 0; i < rank; i++) {
        if (shape[i] >= 0) {
            known *= (uint64_t)shape[i];
            dims[i] = (uint32_t)shape[i];
        } else if (open >= 0 || shape[i] < -1) {
            return ox_fail(im, n, QRN_E_SHAPE, "dimension %u of the new shape is %lld", i,
                           (long long)shape[i]);
        } else {
            open = (int)i;
        }
        if (shape[i] > UINT32_MAX || known > UINT32_MAX)
            return ox_fail(im, n, QRN_E_SHAPE, "the new shape is too large");
    }
    if (open < 0)
        return QRN_OK;
    if (known == 0 || total % known)
        return ox_fail(im, n, QRN_E_SHAPE, "%llu elements cannot be divided by %llu",
                       (unsigned long long)total, (unsigned long long)known);
    dims[open] = (uint32_t)(total / known);
    return QRN_OK;
}

qrn_status move_import_reshape(ox_import *im, const ox_node *n) {
    const ox_val *x = ox_input(im, n, 0);
    int64_t shape[OX_MAX_RANK];
    uint32_t rank, dims[OX_MAX_RANK] = {0};
    const ox_val *given = ox_input(im, n, 1);
    if (given && given->data && move_count(given->rank, given->dims) > OX_MAX_RANK)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "the new shape has more than %d dimensions",
                       OX_MAX_RANK);
    QRN_TRY(ox_ints_of(im, n, "shape", n->n_in > 1 ? 1 : -1, shape, OX_MAX_RANK, &rank));
    bool copy_zeros = ox_attr_int(n, "allowzero", 0) == 0;
    for (uint32_t i = 0; i < rank && copy_zeros; i++) {
        if (shape[i] != 0)
            continue;
        if (i >= x->rank)
            return ox_fail(im, n, QRN_E_SHAPE,
                           "dimension %u of the new shape is 0, but the input has rank %u", i,
                           x->rank);
        shape[i] = x->dims[i];
    }
    QRN_TRY(infer_dim(im, n, x, rank, shape, dims));
    return move_reshape_to(im, n, rank, dims);
}

qrn_status move_import_flatten(ox_import *im, const ox_node *n) {
    const ox_val *x = ox_input(im, n, 0);
    int64_t axis = ox_attr_int(n, "axis", 1);
    if (axis < 0)
        axis += x->rank;
    if (axis < 0 || axis > x->rank)
        return ox_fail(im, n, QRN_E_SHAPE, "axis %lld of a value of rank %u", (long long)axis,
                       x->rank);
    uint32_t at = (uint32_t)axis;
    uint32_t dims[2] = {(uint32_t)move_count(at, x->dims),
                        (uint32_t)move_count(x->rank - at, x->dims + at)};
    return move_reshape_to(im, n, 2, dims);
}

// Axes (attribute, or input since opset 13) as a bit mask over `rank` dimensions.
static qrn_status axes_mask(ox_import *im, const ox_node *n, uint32_t rank, uint32_t *mask,
                            uint32_t *count) {
    int64_t axes[OX_MAX_RANK];
    *mask = 0;
    QRN_TRY(ox_ints_of(im, n, "axes", n->n_in > 1 ? 1 : -1, axes, OX_MAX_RANK, count));
    for (uint32_t i = 0; i < *count; i++) {
        uint32_t axis;
        QRN_TRY(ox_axis(im, n, axes[i], rank, &axis));
        if (*mask & 1u << axis)
            return ox_fail(im, n, QRN_E_SHAPE, "axis %u is given twice", axis);
        *mask |= 1u << axis;
    }
    return QRN_OK;
}

qrn_status move_import_squeeze(ox_import *im, const ox_node *n) {
    const ox_val *x = ox_input(im, n, 0);
    uint32_t mask, count, rank = 0, dims[OX_MAX_RANK];
    QRN_TRY(axes_mask(im, n, x->rank, &mask, &count));
    for (uint32_t i = 0; i < x->rank; i++) {
        bool drop = count ? (mask >> i & 1) != 0 : x->dims[i] == 1;
        if (drop && x->dims[i] != 1)
            return ox_fail(im, n, QRN_E_SHAPE, "dimension %u is %u, only 1 can be dropped", i,
                           x->dims[i]);
        if (!drop)
            dims[rank++] = x->dims[i];
    }
    return move_reshape_to(im, n, rank, dims);
}

qrn_status move_import_unsqueeze(ox_import *im, const ox_node *n) {
    const ox_val *x = ox_input(im, n, 0);
    uint32_t mask, count, at = 0, dims[OX_MAX_RANK];
    int64_t axes[OX_MAX_RANK];
    QRN_TRY(ox_ints_of(im, n, "axes", n->n_in > 1 ? 1 : -1, axes, OX_MAX_RANK, &count));
    uint32_t rank = x->rank + count;
    if (rank > OX_MAX_RANK)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "the result has rank %u, at most %d are possible",
                       rank, OX_MAX_RANK);
    QRN_TRY(axes_mask(im, n, rank, &mask, &count));
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = mask >> i & 1 ? 1 : x->dims[at++];
    return move_reshape_to(im, n, rank, dims);
}

static qrn_status read_perm(ox_import *im, const ox_node *n, uint32_t rank, uint32_t *perm) {
    int64_t given[OX_MAX_RANK];
    const ox_attr *a = ox_attr_find(n, "perm");
    uint32_t count = ox_attr_ints(n, "perm", given, OX_MAX_RANK), seen = 0;
    for (uint32_t i = 0; i < rank; i++)
        perm[i] = rank - 1 - i;
    if (!a || (count == 0 && a->n == 0))
        return QRN_OK;
    if (count != rank)
        return ox_fail(im, n, QRN_E_SHAPE, "perm has %u entries for a value of rank %u", a->n,
                       rank);
    for (uint32_t i = 0; i < rank; i++) {
        QRN_TRY(ox_axis(im, n, given[i], rank, &perm[i]));
        if (seen & 1u << perm[i])
            return ox_fail(im, n, QRN_E_SHAPE, "axis %u occurs twice in perm", perm[i]);
        seen |= 1u << perm[i];
    }
    return QRN_OK;
}

static bool is_identity(const uint32_t *perm, uint32_t rank) {
    for (uint32_t i = 0; i < rank; i++)
        if (perm[i] != i)
            return false;
    return true;
}

qrn_status move_import_transpose(ox_import *im, const ox_node *n) {
    const ox_val *x = ox_input(im, n, 0);
    uint32_t perm[OX_MAX_RANK], dims[OX_MAX_RANK];
    QRN_TRY(read_perm(im, n, x->rank, perm));
    if (is_identity(perm, x->rank))
        return ox_alias(im, n, 0, 0);
    for (uint32_t i = 0; i < x->rank; i++)
        dims[i] = x->dims[perm[i]];
    QRN_TRY(ox_set_moved(im, n, 0, 0, x->rank, dims));
    return ox_out_transposed(im, n, perm);
}
