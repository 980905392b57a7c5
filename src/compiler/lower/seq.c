// SPDX-License-Identifier: MIT
//
// Lowering rows of the seq group: recurrent, stateful, sparse, control, signal, attention, random.
#include "compiler/lower/groups.h"
#include "kernels/attention/attention.h"
#include "kernels/buffer/buffer.h"
#include "kernels/random/random.h"
#include "kernels/recurrent/recurrent.h"
#include "kernels/signal/stft.h"
#include "kernels/sparse/sparse.h"

#include <math.h>
#include <string.h>

static const qrn_tensor *input(const qrn_node *n, uint32_t i) {
    return i < n->n_in ? n->in[i] : NULL;
}

static qrn_status lstm_args(const qrn_node *n, void *args) {
    qrn_lstm_args *a = args;
    a->reverse = qrn_node_u32(n, "direction", 0) == 1;
    a->time_major = qrn_node_bool(n, "time_major", true);
    a->cell_clip = (double)qrn_node_f32(n, "cell_clip_threshold", 0.0f);
    a->out_clip = (double)qrn_node_f32(n, "output_clip_threshold", 0.0f);
    return QRN_OK;
}

static qrn_status gru_args(const qrn_node *n, void *args) {
    qrn_gru_args *a = args;
    a->reverse = qrn_node_u32(n, "direction", 0) == 1;
    a->time_major = qrn_node_bool(n, "time_major", true);
    a->linear_before_reset = qrn_node_u32(n, "linear_before_reset", 0) != 0;
    return QRN_OK;
}

// Without a reset operand, or with a single step, every execution starts from the initial values.
static size_t lstm_state(const qrn_node *n) {
    enum { C_LAST = 1, H_LAST = 2, RESET = 24 };
    if (!input(n, RESET) || n->in[0]->shape.rank == 2)
        return 0;
    const qrn_shape *h = &n->out[H_LAST]->shape, *c = &n->out[C_LAST]->shape;
    return qrn_recurrent_state(h->dims[0], h->dims[1], c->dims[1]);
}

static size_t gru_state(const qrn_node *n) {
    enum { Y_H = 1, RESET = 14 };
    const qrn_shape *h = &n->out[Y_H]->shape;
    return input(n, RESET) ? qrn_recurrent_state(h->dims[1], h->dims[2], 0) : 0;
}

static qrn_status buffer_args(const qrn_node *n, void *args) {
    qrn_buffer_args *a = args;
    a->dim = qrn_node_u32(n, "buffer_dim", 0);
    a->slots = qrn_node_u32(n, "buffer_size", 1);
    a->mode = qrn_node_u32(n, "mode", QRN_BUFFER_BLOCKING);
    a->stride = qrn_node_u32(n, "stride", n->in[0]->shape.dims[a->dim]);
    return QRN_OK;
}

static size_t buffer_state(const qrn_node *n) {
    return QRN_BUFFER_STATE_HEADER + n->out[0]->size_bytes;
}

static qrn_status make_args(const qrn_node *n, void *args) {
    ((qrn_sparse_make_args *)args)->limit = n->out[0]->n_sparse_elements;
    return QRN_OK;
}

static qrn_status read_args(const qrn_node *n, void *args) {
    ((qrn_sparse_read_args *)args)->write_dims = qrn_lo_reports_rows(n, 0);
    return QRN_OK;
}

static qrn_status gqa_args(const qrn_node *n, void *args) {
    qrn_gqa_args *a = args;
    a->q_heads = qrn_node_u32(n, "num_heads", 1);
    a->kv_heads = qrn_node_u32(n, "kv_num_heads", 1);
    a->causal = qrn_node_bool(n, "is_causal", true);
    uint32_t size = n->in[0]->shape.dims[2] / a->q_heads;
    const qrn_param *scale = qrn_node_param(n, "scale");
    a->scale = scale ? scale->value.f : 1.0 / sqrt((double)size);
    return QRN_OK;
}

static qrn_status rotary_args(const qrn_node *n, void *args) {
    ((qrn_rotary_args *)args)->interleaved = qrn_node_bool(n, "interleaved", false);
    return QRN_OK;
}

static qrn_status stft_args(const qrn_node *n, void *args) {
    qrn_stft_args *a = args;
    const qrn_tensor *window = input(n, 1);
    a->step = qrn_node_u32(n, "frame_step", 1);
    a->length = qrn_node_u32(n, "frame_length", window ? window->shape.dims[0] : 1);
    return QRN_OK;
}

static qrn_status random_args(const qrn_node *n, void *args) {
    qrn_random_args *a = args;
    a->normal = strcmp(n->type, "RandomNormalLike") == 0;
    a->a = (double)qrn_node_f32(n, a->normal ? "mean" : "low", 0.0f);
    a->b = (double)qrn_node_f32(n, a->normal ? "scale" : "high", 1.0f);
    a->stream = n->index;
    for (const qrn_graph *g = n->graph; g->parent; g = g->parent)
        a->stream += 1u << 16; // apart from the nodes around a branch
    return QRN_OK;
}

static size_t random_state(const qrn_node *n) { return input(n, 1) ? 0 : QRN_RANDOM_STATE_BYTES; }

#define REALS_12 "rrrrrrrrrrrr"

// clang-format off
const qrn_lower_row qrn_lower_seq[] = {
    {.op = "Buffer", .emits = &qrn_cop_buffer, .in = "mx", .out = "m", .args = buffer_args,
     .state = buffer_state},
    {.op = "CreateSparse", .emits = &qrn_cop_sparse_create, .in = "x", .out = "x",
     .args = make_args},
    {.op = "GetSparseIndices", .emits = &qrn_cop_sparse_indices, .in = "x", .out = "x",
     .args = read_args},
    {.op = "GetSparseValues", .emits = &qrn_cop_sparse_values, .in = "x", .out = "x",
     .args = read_args},
    {.op = "GroupedQueryAttention", .emits = &qrn_cop_gqa, .in = "rrrrrrx", .out = "r",
     .args = gqa_args},
    {.op = "Gru", .emits = &qrn_cop_gru, .in = REALS_12 "rrx", .out = "r", .args = gru_args,
     .state = gru_state},
    {.op = "If", .custom = qrn_lower_if},
    {.op = "Lstm", .emits = &qrn_cop_lstm, .in = REALS_12 REALS_12 "x", .out = "r",
     .args = lstm_args, .state = lstm_state},
    {.op = "RandomNormalLike", .emits = &qrn_cop_random, .in = "x", .out = "r",
     .args = random_args, .state = random_state},
    {.op = "RandomUniformLike", .emits = &qrn_cop_random, .in = "x", .out = "r",
     .args = random_args, .state = random_state},
    {.op = "RotaryEmbedding", .emits = &qrn_cop_rotary, .in = "rrrx", .out = "r",
     .args = rotary_args},
    {.op = "SparseToDense", .emits = &qrn_cop_sparse_dense, .in = "x", .out = "x"},
    {.op = "Stft", .emits = &qrn_cop_stft, .in = "r", .out = "r", .args = stft_args},
    {0},
};
// clang-format on
