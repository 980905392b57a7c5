// SPDX-License-Identifier: MIT
//
// Writing the ONNX graph of a Llama, op by op in the order of execution. Names of values say where
// they are made: "blk.3.attn_q" is the q of layer 3.
#include "frontend/llm/llama_graph.h"

#include "frontend/llm/block_quant.h"
#include "frontend/onnx/reader/model.h"
#include "frontend/onnx/reader/schema.h"
#include "frontend/onnx/writer/graph_write.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define IR_VERSION 10 // the first with 4-bit types
#define OPSET 21      // the first with blocks in DequantizeLinear

typedef struct builder {
    const ql_llama *m;
    const ql_weights *w;
    const ql_graph_form *f;
    ox_writer graph;
    qrn_arena *arena; // of names
    bool no_memory;
    const char *table;         // of tokens, as floats; NULL: none was made
    int past_type;             // of caches
    uint32_t rows;             // of tokens from here on: T, or 1 behind the choice of the last
    const char *summed, *sums; // a value and the sums of its blocks, which were made last
} builder;

static const char *name_of(builder *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static const char *name_of(builder *b, const char *fmt, ...) {
    char text[160];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    const char *name = qrn_arena_strdup(b->arena, text);
    b->no_memory |= !name;
    return name ? name : "";
}

// A node of one output, which it is named after. Inputs end with NULL.
static void begin_node(ox_writer *n, const char *op, const char *out, const char *const *in) {
    for (; *in; in++)
        ox_put_text(n, PB_NODE_INPUT, *in);
    ox_put_text(n, PB_NODE_OUTPUT, out);
    ox_put_text(n, PB_NODE_NAME, out);
    ox_put_text(n, PB_NODE_OP_TYPE, op);
}

static const char *node(builder *b, const char *op, const char *out, const char *x, const char *y) {
    ox_writer n = {0};
    begin_node(&n, op, out, (const char *[]){x, y, NULL});
    ox_put_message(&b->graph, PB_GRAPH_NODE, &n);
    return out;
}

static const char *node_int(builder *b, const char *op, const char *out, const char *x,
                            const char *y, const char *attr, int64_t v) {
    ox_writer n = {0};
    begin_node(&n, op, out, (const char *[]){x, y, NULL});
    ox_put_attr_int(&n, attr, v);
    ox_put_message(&b->graph, PB_GRAPH_NODE, &n);
    return out;
}

static const char *transpose(builder *b, const char *out, const char *x, const int64_t *perm,
                             uint32_t rank) {
    ox_writer n = {0};
    begin_node(&n, "Transpose", out, (const char *[]){x, NULL});
    ox_put_attr_ints(&n, "perm", perm, rank);
    ox_put_message(&b->graph, PB_GRAPH_NODE, &n);
    return out;
}

static const char *ints(builder *b, const char *name, const int64_t *v, uint32_t n) {
    ox_put_constant(&b->graph, &(ox_new_constant){.name = name,
                                                  .type = OX_I64,
                                                  .rank = 1,
                                                  .dims = &n,
                                                  .data = v,
                                                  .bytes = n * sizeof *v});
    return name;
}

static const char *real(builder *b, const char *name, double v) {
    float x = (float)v;
    ox_put_constant(
        &b->graph, &(ox_new_constant){.name = name, .type = OX_F32, .data = &x, .bytes = sizeof x});
    return name;
}

// --- weights

static const char *part(builder *b, const char *name, int type, uint32_t rank, const uint32_t *dims,
                        ql_span span) {
    ox_put_constant(&b->graph, &(ox_new_constant){.name = name,
                                                  .type = type,
                                                  .rank = rank,
                                                  .dims = dims,
                                                  .file = b->f->weights_file,
                                                  .offset = span.offset,
                                                  .bytes = span.bytes});
    return name;
}

// Shape of the scales of a quantized matrix.
static void scale_dims(const ql_weight *w, uint32_t dims[2]) {
    memcpy(dims, w->dims, sizeof w->dims);
    dims[w->axis] /= QL_BLOCK;
}

static void put_parts(builder *b, const ql_weight *w) {
    uint32_t dims[2];
    scale_dims(w, dims);
    part(b, w->name, w->type, w->rank, w->dims, w->values);
    if (w->scales.bytes)
        part(b, name_of(b, "%s.scale", w->name), OX_F32, 2, dims, w->scales);
    if (w->zeros.bytes)
        part(b, name_of(b, "%s.zero", w->name), w->type, 2, dims, w->zeros);
}

// The value of a weight whose parts are there, as float32: itself, a Cast or a DequantizeLinear.
static const char *restored(builder *b, const ql_weight *w) {
    if (w->type == OX_F32)
        return w->name;
    const char *out = name_of(b, "%s.float", w->name);
    if (w->type == OX_F16)
        return node_int(b, "Cast", out, w->name, NULL, "to", OX_F32);
    const char *in[] = {w->name, name_of(b, "%s.scale", w->name),
                        w->zeros.bytes ? name_of(b, "%s.zero", w->name) : NULL, NULL};
    ox_writer n = {0};
    begin_node(&n, "DequantizeLinear", out, in);
    ox_put_attr_int(&n, "axis", w->axis);
    ox_put_attr_int(&n, "block_size", QL_BLOCK);
    ox_put_message(&b->graph, PB_GRAPH_NODE, &n);
    return out;
}

static const ql_weight *stored(const builder *b, const ql_gguf_tensor *t) {
    return qrn_strmap_get(&b->w->by_name, t->name);
}

static const char *weight(builder *b, const ql_gguf_tensor *t) {
    put_parts(b, stored(b, t));
    return restored(b, stored(b, t));
}

// Rows of the table of tokens. Quantized ones are restored behind the Gather: a table of floats
// would be four times as large as the values, which the head has, too.
static const char *token_rows(builder *b, const char *out) {
    const ql_weight *w = stored(b, b->m->embedding.weight);
    int64_t t = b->f->tokens, n = b->m->hidden / QL_BLOCK;
    put_parts(b, w);
    if (w->type != OX_I8)
        return node(b, "Gather", out, b->table = restored(b, w), "ids");
    const char *rows = node(b, "Gather", "token_embd.rows", w->name, "ids");
    const char *scales =
        node(b, "Gather", "token_embd.scales", name_of(b, "%s.scale", w->name), "ids");
    ints(b, "shape.blocks", (int64_t[]){1, t, n, QL_BLOCK}, 4);
    ints(b, "shape.scales", (int64_t[]){1, t, n, 1}, 4);
    ints(b, "shape.hidden", (int64_t[]){1, t, b->m->hidden}, 3);
    rows = node_int(b, "Cast", "token_embd.numbers", rows, NULL, "to", OX_F32);
    rows = node(b, "Reshape", "token_embd.blocks", rows, "shape.blocks");
    scales = node(b, "Reshape", "token_embd.block_scales", scales, "shape.scales");
    return node(b, "Reshape", out, node(b, "Mul", "token_embd.scaled", rows, scales),
                "shape.hidden");
}

// [1,T,n] to [1,T,n/32]; matrices that share an input share it.
static const char *block_sums(builder *b, const char *x, uint32_t n) {
    if (b->summed != x) {
        const char *shape = name_of(b, "%s.blocks_shape", x);
        ints(b, shape, (int64_t[]){1, b->rows, n / QL_BLOCK, QL_BLOCK}, 4);
        const char *blocks = node(b, "Reshape", name_of(b, "%s.blocks", x), x, shape);
        b->summed = x;
        b->sums =
            node_int(b, "ReduceSum", name_of(b, "%s.sums", x), blocks, "last_axis", "keepdims", 0);
    }
    return b->sums;
}

static const char *linear(builder *b, const ql_linear *l, const char *x, const char *out) {
    const ql_weight *w = stored(b, l->weight);
    bool rest = w->rest.bytes > 0;
    const char *y = node(b, "MatMul", rest || l->bias ? name_of(b, "%s.product", out) : out, x,
                         weight(b, l->weight));
    if (rest) {
        const uint32_t dims[] = {l->cols / QL_BLOCK, l->rows};
        const char *c = part(b, name_of(b, "%s.rest", w->name), OX_F32, 2, dims, w->rest);
        const char *more =
            node(b, "MatMul", name_of(b, "%s.more", out), block_sums(b, x, l->cols), c);
        y = node(b, "Add", l->bias ? name_of(b, "%s.sum", out) : out, y, more);
    }
    return l->bias ? node(b, "Add", out, y, weight(b, l->bias)) : y;
}

// --- parts of a layer

// x / sqrt(mean(x^2) + eps) * weight
static const char *norm(builder *b, const char *at, const char *x, const ql_gguf_tensor *t) {
    const char *square = node(b, "Pow", name_of(b, "%s.square", at), x, "two");
    const char *mean =
        node_int(b, "ReduceMean", name_of(b, "%s.mean", at), square, "last_axis", "keepdims", 1);
    const char *sum = node(b, "Add", name_of(b, "%s.eps", at), mean, "eps");
    const char *root = node(b, "Sqrt", name_of(b, "%s.root", at), sum, NULL);
    const char *inverse = node(b, "Div", name_of(b, "%s.inverse", at), "one", root);
    const char *unit = node(b, "Mul", name_of(b, "%s.unit", at), x, inverse);
    return node(b, "Mul", at, unit, weight(b, t));
}

// [1,T,n*head_dim] to [1,n,T,head_dim]
static const char *heads(builder *b, const char *x, const char *shape, const char *out) {
    static const int64_t perm[] = {0, 2, 1, 3};
    const char *split = node(b, "Reshape", name_of(b, "%s.split", x), x, shape);
    return transpose(b, out, split, perm, 4);
}

static const char *slice(builder *b, const char *out, const char *x, const char *from,
                         const char *to) {
    ox_writer n = {0};
    begin_node(&n, "Slice", out, (const char *[]){x, from, to, "axis_3", NULL});
    ox_put_message(&b->graph, PB_GRAPH_NODE, &n);
    return out;
}

// x * cos + (-second half, first half) * sin
static const char *rotate(builder *b, const char *x, const char *out) {
    const char *straight = node(b, "Mul", name_of(b, "%s.cos", x), x, "cos");
    const char *second = slice(b, name_of(b, "%s.second", x), x, "half", "end");
    const char *negative = node(b, "Neg", name_of(b, "%s.negative", x), second, NULL);
    const char *first = slice(b, name_of(b, "%s.first", x), x, "start", "half");
    const char *turned =
        node_int(b, "Concat", name_of(b, "%s.halves", x), negative, first, "axis", -1);
    const char *across = node(b, "Mul", name_of(b, "%s.sin", x), turned, "sin");
    return node(b, "Add", out, straight, across);
}

static const char *node_of_3(builder *b, const char *op, const char *out, const char *x,
                             const char *y, const char *z) {
    ox_writer n = {0};
    begin_node(&n, op, out, (const char *[]){x, y, z, NULL});
    ox_put_message(&b->graph, PB_GRAPH_NODE, &n);
    return out;
}

static const char *restored_state(builder *b, uint32_t i, const char *c, const char *x) {
    return node_of_3(b, "DequantizeLinear", name_of(b, "%s.float", x), x,
                     name_of(b, "blk.%u.%s.scale", i, c), name_of(b, "blk.%u.%s.zero", i, c));
}

// What the caller appends to its cache. Quantized rows are read back, so that a token sees itself
// as later ones see it.
static const char *new_state(builder *b, uint32_t i, const char *c, const char *x) {
    const char *out = name_of(b, "new_%s_%u", c, i);
    if (!b->f->states)
        return x; // it has that name
    const ql_state *s = &b->f->states[2 * i + (*c == 'v')];
    const char *scale = real(b, name_of(b, "blk.%u.%s.scale", i, c), (double)s->scale);
    const char *zero = name_of(b, "blk.%u.%s.zero", i, c);
    ox_put_constant(&b->graph,
                    &(ox_new_constant){.name = zero, .type = OX_U8, .data = &s->zero, .bytes = 1});
    node_of_3(b, "QuantizeLinear", out, x, scale, zero);
    return restored_state(b, i, c, out);
}

static const char *with_past(builder *b, uint32_t i, const char *c, const char *fresh) {
    if (!b->f->past)
        return fresh;
    const char *past = name_of(b, "past_%s_%u", c, i);
    if (b->past_type == OX_U8)
        past = restored_state(b, i, c, past);
    if (b->past_type == OX_F16)
        past = node_int(b, "Cast", name_of(b, "%s.float", past), past, NULL, "to", OX_F32);
    return node_int(b, "Concat", name_of(b, "blk.%u.all_%s", i, c), past, fresh, "axis", 2);
}

// Softmax of scores with the mask: [1,kv,group*T,all] in and out.
static const char *probabilities(builder *b, uint32_t i, const char *scores) {
    const char *out = name_of(b, "blk.%u.probabilities", i);
    if (b->f->tokens == 1) {
        const char *sum = node(b, "Add", name_of(b, "blk.%u.masked", i), scores, "mask.row");
        return node_int(b, "Softmax", out, sum, NULL, "axis", -1);
    }
    const char *split =
        node(b, "Reshape", name_of(b, "blk.%u.scores.split", i), scores, "shape.scores");
    const char *sum = node(b, "Add", name_of(b, "blk.%u.masked", i), split, "mask");
    const char *soft =
        node_int(b, "Softmax", name_of(b, "blk.%u.softmax", i), sum, NULL, "axis", -1);
    return node(b, "Reshape", out, soft, "shape.rows");
}

static const char *attention(builder *b, uint32_t i, const char *x) {
    static const int64_t last_two[] = {0, 1, 3, 2}, back[] = {0, 2, 1, 3};
    const ql_llama_layer *l = &b->m->layer[i];
    const char *p = name_of(b, "blk.%u.", i);
    const char *q = linear(b, &l->q, x, name_of(b, "%sattn_q", p));
    const char *k = linear(b, &l->k, x, name_of(b, "%sattn_k", p));
    const char *v = linear(b, &l->v, x, name_of(b, "%sattn_v", p));
    q = rotate(b, heads(b, q, "shape.q", name_of(b, "%sq", p)), name_of(b, "%sq.rotated", p));
    bool rounds = b->f->states != NULL;
    k = rotate(b, heads(b, k, "shape.kv", name_of(b, "%sk", p)),
               rounds ? name_of(b, "%sk.rotated", p) : name_of(b, "new_k_%u", i));
    v = heads(b, v, "shape.kv", rounds ? name_of(b, "%sv", p) : name_of(b, "new_v_%u", i));
    k = with_past(b, i, "k", new_state(b, i, "k", k));
    v = with_past(b, i, "v", new_state(b, i, "v", v));
    q = node(b, "Reshape", name_of(b, "%sq.groups", p), q, "shape.groups");
    k = transpose(b, name_of(b, "%sk.transposed", p), k, last_two, 4);
    const char *scores = node(b, "MatMul", name_of(b, "%sqk", p), q, k);
    scores = node(b, "Div", name_of(b, "%sscores", p), scores, "root_of_dim");
    const char *a = node(b, "MatMul", name_of(b, "%sattn", p), probabilities(b, i, scores), v);
    a = node(b, "Reshape", name_of(b, "%sattn.heads", p), a, "shape.heads");
    a = transpose(b, name_of(b, "%sattn.tokens", p), a, back, 4);
    a = node(b, "Reshape", name_of(b, "%sattn.flat", p), a, "shape.flat");
    return linear(b, &l->o, a, name_of(b, "%sattn_output", p));
}

static const char *feed_forward(builder *b, uint32_t i, const char *x) {
    const ql_llama_layer *l = &b->m->layer[i];
    const char *p = name_of(b, "blk.%u.", i);
    const char *gate = linear(b, &l->gate, x, name_of(b, "%sffn_gate", p));
    const char *up = linear(b, &l->up, x, name_of(b, "%sffn_up", p));
    const char *sigmoid = node(b, "Sigmoid", name_of(b, "%sffn_sigmoid", p), gate, NULL);
    const char *silu = node(b, "Mul", name_of(b, "%sffn_silu", p), gate, sigmoid);
    const char *both = node(b, "Mul", name_of(b, "%sffn_gated", p), silu, up);
    return linear(b, &l->down, both, name_of(b, "%sffn_down", p));
}

static const char *layer(builder *b, uint32_t i, const char *x) {
    const ql_llama_layer *l = &b->m->layer[i];
    const char *h = norm(b, name_of(b, "blk.%u.attn_norm", i), x, l->attn_norm);
    x = node(b, "Add", name_of(b, "blk.%u.attn_sum", i), x, attention(b, i, h));
    if (b->f->last_logits && i + 1 == b->m->layers) { // no cache is behind this
        x = node_int(b, "Gather", name_of(b, "blk.%u.last", i), x, "last", "axis", 1);
        b->rows = 1;
    }
    h = norm(b, name_of(b, "blk.%u.ffn_norm", i), x, l->ffn_norm);
    return node(b, "Add", name_of(b, "blk.%u.ffn_sum", i), x, feed_forward(b, i, h));
}

// --- the whole

static void put_constants(builder *b) {
    const ql_llama *m = b->m;
    int64_t t = b->f->tokens, hd = m->head_dim, kv = m->kv_heads, group = m->heads / m->kv_heads;
    real(b, "two", 2);
    real(b, "one", 1);
    real(b, "eps", m->eps);
    real(b, "root_of_dim", sqrt((double)m->head_dim));
    ints(b, "last_axis", (int64_t[]){-1}, 1);
    ints(b, "axis_3", (int64_t[]){3}, 1);
    ints(b, "start", (int64_t[]){0}, 1);
    ints(b, "half", (int64_t[]){hd / 2}, 1);
    ints(b, "end", (int64_t[]){hd}, 1);
    ints(b, "shape.q", (int64_t[]){1, t, m->heads, hd}, 4);
    ints(b, "shape.kv", (int64_t[]){1, t, kv, hd}, 4);
    ints(b, "shape.groups", (int64_t[]){1, kv, group * t, hd}, 4);
    ints(b, "shape.heads", (int64_t[]){1, m->heads, t, hd}, 4);
    ints(b, "shape.flat", (int64_t[]){1, t, m->heads * hd}, 3);
    if (t == 1) {
        ints(b, "shape.row", (int64_t[]){1, 1, 1, (int64_t)b->f->past + 1}, 4);
        node(b, "Reshape", "mask.row", "mask", "shape.row");
        return;
    }
    ints(b, "shape.scores", (int64_t[]){1, kv, group, t, t + b->f->past}, 5);
    ints(b, "shape.rows", (int64_t[]){1, kv, group * t, t + b->f->past}, 4);
}

static void put_ports(builder *b) {
    const ql_llama *m = b->m;
    uint32_t t = b->f->tokens, p = b->f->past;
    const uint32_t ids[] = {1, t}, angles[] = {1, 1, t, m->head_dim}, mask[] = {1, 1, 1, t, p + t};
    const uint32_t past[] = {1, m->kv_heads, p, m->head_dim};
    const uint32_t fresh[] = {1, m->kv_heads, t, m->head_dim}, last[] = {1};
    const uint32_t logits[] = {1, b->f->last_logits ? 1 : t, m->vocab};
    ox_writer *g = &b->graph;
    ox_put_value(g, PB_GRAPH_INPUT, "ids", OX_I32, 2, ids);
    ox_put_value(g, PB_GRAPH_INPUT, "cos", OX_F32, 4, angles);
    ox_put_value(g, PB_GRAPH_INPUT, "sin", OX_F32, 4, angles);
    ox_put_value(g, PB_GRAPH_INPUT, "mask", OX_F32, 5, mask);
    if (b->f->last_logits)
        ox_put_value(g, PB_GRAPH_INPUT, "last", OX_I32, 1, last);
    ox_put_value(g, PB_GRAPH_OUTPUT, "logits", OX_F32, 3, logits);
    for (uint32_t i = 0; i < 2 * m->layers; i++) {
        const char *kv = i % 2 ? "v" : "k";
        if (p)
            ox_put_value(g, PB_GRAPH_INPUT, name_of(b, "past_%s_%u", kv, i / 2), b->past_type, 4,
                         past);
        ox_put_value(g, PB_GRAPH_OUTPUT, name_of(b, "new_%s_%u", kv, i / 2),
                     b->f->states ? OX_U8 : OX_F32, 4, fresh);
    }
}

static void put_nodes(builder *b) {
    static const int64_t swap[] = {1, 0};
    const ql_llama *m = b->m;
    const char *x = token_rows(b, "token_embd");
    for (uint32_t i = 0; i < m->layers; i++)
        x = layer(b, i, x);
    x = norm(b, "output_norm", x, m->output_norm);
    bool tied = m->head.weight == m->embedding.weight;
    const char *head = !tied      ? weight(b, m->head.weight)
                       : b->table ? b->table
                                  : restored(b, stored(b, m->head.weight));
    node(b, "MatMul", "logits", x, transpose(b, "output.transposed", head, swap, 2));
}

qrn_status ql_llama_graph(const ql_llama *m, const ql_weights *w, const ql_graph_form *f,
                          ox_writer *out) {
    builder b = {.m = m, .w = w, .f = f, .rows = f->tokens, .arena = qrn_arena_create()};
    if (!b.arena)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': no memory", f->name);
    b.past_type = f->states                                          ? OX_U8
                  : stored(&b, m->layer[0].q.weight)->type == OX_F32 ? OX_F32
                                                                     : OX_F16;
    put_ports(&b);
    put_constants(&b);
    put_nodes(&b);
    ox_put_text(&b.graph, PB_GRAPH_NAME, f->name);
    ox_put_head(out, IR_VERSION);
    ox_put_opset(out, "", OPSET);
    ox_put_message(out, PB_MODEL_GRAPH, &b.graph);
    qrn_arena_destroy(b.arena);
    return b.no_memory || out->no_memory ? QRN_FAIL(QRN_E_MEM, "graph '%s': no memory", f->name)
                                         : QRN_OK;
}
