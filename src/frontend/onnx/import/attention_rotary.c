// SPDX-License-Identifier: MIT
//
// Importers: RotaryEmbedding of ONNX and of Microsoft's domain.
#include "frontend/onnx/import/attention.h"
#include "frontend/onnx/import/table.h"

#include <string.h>

#define MUL QNN_OP_ELEMENT_WISE_MULTIPLY

qc_tensor *ox_rotate(ox_expr *e, qc_tensor *x, qc_tensor *cos, qc_tensor *sin, bool neighbours) {
    if (!x || !cos || !sin)
        return NULL;
    qc_tensor *to = e->to;
    e->to = NULL;
    uint32_t axis = x->rank - 1, half = cos->dims[cos->rank - 1], size = x->dims[axis];
    uint32_t second = neighbours ? 1 : half, pair[OX_MAX_RANK], flat[OX_MAX_RANK];
    int32_t step = neighbours ? 2 : 1;
    qc_tensor *a = ox_slice(e, x, axis, 0, half, step);
    qc_tensor *b = ox_slice(e, x, axis, second, half, step);
    qc_tensor *part[3] = {
        ox_binary(e, QNN_OP_ELEMENT_WISE_SUBTRACT, ox_binary(e, MUL, a, cos),
                  ox_binary(e, MUL, b, sin)),
        ox_binary(e, QNN_OP_ELEMENT_WISE_ADD, ox_binary(e, MUL, a, sin), ox_binary(e, MUL, b, cos)),
    };
    uint32_t n = 2;
    if (neighbours) {
        for (uint32_t i = 0; i < x->rank; i++)
            pair[i] = flat[i] = i < axis ? x->dims[i] : half;
        pair[axis + 1] = 1;
        flat[axis] = 2 * half;
        part[0] = ox_reshape(e, part[0], axis + 2, pair);
        part[1] = ox_reshape(e, part[1], axis + 2, pair);
        part[0] = ox_concat(e, part, 2, axis + 1);
        if (2 * half == size)
            e->to = to;
        part[0] = ox_reshape(e, part[0], axis + 1, flat);
        n = 1;
        if (2 * half == size)
            return part[0];
    }
    if (2 * half < size)
        part[n++] = ox_slice(e, x, axis, 2 * half, size - 2 * half, 1);
    e->to = to;
    return ox_concat(e, part, n, axis);
}

typedef struct rotary {
    uint32_t positions, cos, sin; // inputs
    bool ids;                     // positions are there
    uint32_t batch, length, heads, head_size, rotated;
} rotary;

static qrn_status read_rotary(const ox_import *im, const ox_node *n, rotary *r) {
    const ox_val *x = ox_input(im, n, 0), *cos = ox_input(im, n, r->cos),
                 *sin = ox_input(im, n, r->sin);
    int64_t dim = ox_attr_int(n, "rotary_embedding_dim", 0);
    int64_t heads = ox_attr_int(n, "num_heads", 0);
    if ((x->rank != 3 && x->rank != 4) || cos->rank < 2 || cos->rank > 3)
        return ox_fail(im, n, QRN_E_SHAPE, "the input must have rank 3 or 4, the caches 2 or 3");
    if (sin->rank != cos->rank || memcmp(sin->dims, cos->dims, cos->rank * sizeof *cos->dims) != 0)
        return ox_fail(im, n, QRN_E_SHAPE, "the caches differ in shape");
    uint32_t half = cos->dims[cos->rank - 1];
    if (x->rank == 3 && heads == 0 && dim == 0 && half > 0)
        heads = x->dims[2] / (2 * half);
    if (x->rank == 3 && (heads <= 0 || x->dims[2] % heads != 0))
        return ox_fail(im, n, QRN_E_OP_CONFIG, "num_heads is %lld for %u values", (long long)heads,
                       x->dims[2]);
    r->batch = x->dims[0];
    r->length = x->dims[x->rank - 2];
    r->heads = x->rank == 3 ? (uint32_t)heads : x->dims[1];
    r->head_size = x->rank == 3 ? x->dims[2] / r->heads : x->dims[3];
    r->rotated = dim ? (uint32_t)dim : r->head_size;
    if (half == 0 || half * 2 != r->rotated || r->rotated > r->head_size)
        return ox_fail(im, n, QRN_E_SHAPE, "caches of %u columns for a rotation of %u", half,
                       r->rotated);
    if (r->ids ? cos->rank != 2
               : cos->rank != 3 || cos->dims[0] != r->batch || cos->dims[1] != r->length)
        return ox_fail(im, n, QRN_E_SHAPE, "the caches have not the shape that the positions need");
    return QRN_OK;
}

// Positions as i32 [B, S]; [1]: the position of the first token.
static qc_tensor *positions_of(ox_expr *e, const rotary *r) {
    const ox_val *v = ox_input(e->im, e->n, r->positions);
    uint32_t row[] = {1, r->length};
    qc_tensor *x = ox_in_i32(e, r->positions);
    if (v->rank == 2 && v->dims[1] == r->length && (v->dims[0] == r->batch || v->dims[0] == 1))
        return x;
    if (v->rank > 1 || (v->rank == 1 && v->dims[0] != 1)) {
        e->s = ox_fail(e->im, e->n, QRN_E_SHAPE, "position_ids must be one number for each token");
        return NULL;
    }
    int32_t *count = ox_alloc(e->im, r->length * sizeof *count);
    if (!count) {
        e->s = ox_fail(e->im, e->n, QRN_E_MEM, "out of memory");
        return NULL;
    }
    for (uint32_t i = 0; i < r->length; i++)
        count[i] = (int32_t)i;
    return ox_binary(e, QNN_OP_ELEMENT_WISE_ADD, ox_ints(e, 2, row, count), x);
}

static qrn_status rotate_input(ox_import *im, const ox_node *n, rotary *r) {
    QRN_TRY(ox_need_real(im, n, 0));
    QRN_TRY(ox_need_real(im, n, r->cos));
    QRN_TRY(ox_need_real(im, n, r->sin));
    const ox_val *v = ox_input(im, n, 0);
    r->ids = ox_input(im, n, r->positions) != NULL;
    QRN_TRY(read_rotary(im, n, r));
    QRN_TRY(ox_set_output(im, n, 0, v->type, v->rank, v->dims));
    ox_expr e = ox_begin(im, n);
    bool neighbours = ox_attr_int(n, "interleaved", 0) != 0, flat = v->rank == 3;
    qc_tensor *x = ox_in_f32(&e, 0), *y = NULL;
    qc_tensor *cos = ox_in_f32(&e, r->cos), *sin = ox_in_f32(&e, r->sin);
    if (r->ids) {
        qc_tensor *at = positions_of(&e, r);
        cos = ox_gather(&e, cos, at, 0);
        sin = ox_gather(&e, sin, at, 0);
    }
    QRN_TRY(e.s);
    // One more dimension for the heads, after the sequence in rank 3, before it in rank 4.
    uint32_t b = cos->dims[0], half = r->rotated / 2;
    uint32_t angles[] = {b, flat ? r->length : 1, flat ? 1 : r->length, half};
    uint32_t apart[] = {r->batch, r->length, r->heads, r->head_size};
    cos = ox_reshape(&e, cos, 4, angles);
    sin = ox_reshape(&e, sin, 4, angles);
    if (flat)
        x = ox_reshape(&e, x, 4, apart);
    y = ox_out_f32(&e, 0);
    if (!flat)
        ox_into(&e, y);
    x = ox_rotate(&e, x, cos, sin, neighbours);
    if (flat) {
        ox_into(&e, y);
        ox_reshape(&e, x, 3, v->dims);
    }
    ox_end_f32(&e, 0, y);
    return ox_done(&e);
}

static qrn_status import_rotary(ox_import *im, const ox_node *n) {
    rotary r = {.cos = 1, .sin = 2, .positions = 3};
    return rotate_input(im, n, &r);
}

static qrn_status import_rotary_microsoft(ox_import *im, const ox_node *n) {
    rotary r = {.positions = 1, .cos = 2, .sin = 3};
    if (ox_attr_int(n, "is_packed_batching", 0))
        return ox_fail(im, n, QRN_E_UNSUPPORTED,
                       "is_packed_batching: sequences of different lengths in one tensor");
    return rotate_input(im, n, &r);
}

const ox_importer ox_import_attention_rotary[] = {
    {"RotaryEmbedding", "", import_rotary},
    {"RotaryEmbedding", "com.microsoft", import_rotary_microsoft},
    {0},
};
