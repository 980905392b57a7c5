// SPDX-License-Identifier: MIT
//
// Reading the description of a Llama from GGUF's keys and tensors.
#include "frontend/llm/llama.h"

#include "frontend/llm/gguf_decode.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LAYERS_MAX 1024
#define SIZE_MOST (1u << 24) // of a dimension
// Llama 3's scaled positions: those trained first, and how often a pair must turn in them to be
// scaled wholly, or not at all.
#define ROPE_ORIGINAL 8192
#define ROPE_LOW 1
#define ROPE_HIGH 4

static const struct {
    const char *name, *class_name;
    bool interleaved; // pairs of q and k
} archs[] = {
    {"llama", "LlamaForCausalLM", true},
    {"qwen2", "Qwen2ForCausalLM", false},
};
enum { N_ARCHS = sizeof archs / sizeof archs[0] };

// What is known while the file is read.
typedef struct reader {
    const ql_gguf *g;
    ql_llama *m;
    qrn_arena *arena;
    uint32_t all_layers;
    bool interleaved;
    const char **used; // names of tensors that have a place, by index
    char name[96];     // of the key or tensor that was made last
} reader;

static const char *key_of(reader *r, const char *suffix) {
    snprintf(r->name, sizeof r->name, "%s.%s", r->m->arch, suffix);
    return r->name;
}

static qrn_status find_arch(reader *r) {
    ql_text t;
    QRN_TRY(ql_gguf_text(r->g, "general.architecture", &t));
    char list[64] = "";
    size_t at = 0;
    for (unsigned i = 0; i < N_ARCHS; i++) {
        if (strlen(archs[i].name) == t.n && memcmp(archs[i].name, t.data, t.n) == 0) {
            r->m->arch = archs[i].name;
            r->m->class_name = archs[i].class_name;
            r->interleaved = archs[i].interleaved;
            return QRN_OK;
        }
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i ? ", " : "", archs[i].name);
    }
    return QRN_FAIL(QRN_E_UNSUPPORTED,
                    "%.500s: architecture '%.*s' is not supported; supported: %s", r->g->path,
                    (int)(t.n < 60 ? t.n : 60), t.data, list);
}

static qrn_status read_size(reader *r, const char *suffix, uint32_t *out) {
    uint64_t v = 0;
    QRN_TRY(ql_gguf_uint(r->g, key_of(r, suffix), SIZE_MOST, &v));
    if (!v)
        return QRN_FAIL(QRN_E_BINARY, "%.500s: key '%s' is 0", r->g->path, r->name);
    *out = (uint32_t)v;
    return QRN_OK;
}

// Where the key is missing, *out stays.
static qrn_status read_optional(reader *r, const char *suffix, uint32_t *out) {
    return ql_gguf_find(r->g, key_of(r, suffix)) ? read_size(r, suffix, out) : QRN_OK;
}

static qrn_status read_sizes(reader *r) {
    ql_llama *m = r->m;
    QRN_TRY(read_size(r, "block_count", &r->all_layers));
    QRN_TRY(read_size(r, "embedding_length", &m->hidden));
    QRN_TRY(read_size(r, "feed_forward_length", &m->ff));
    QRN_TRY(read_size(r, "attention.head_count", &m->heads));
    m->kv_heads = m->heads;
    QRN_TRY(read_optional(r, "attention.head_count_kv", &m->kv_heads));
    QRN_TRY(read_size(r, "context_length", &m->context));
    if (r->all_layers > LAYERS_MAX || m->heads > m->hidden || m->kv_heads > m->heads ||
        m->heads % m->kv_heads)
        return QRN_FAIL(QRN_E_BINARY,
                        "%.500s: %u layers, %u heads and %u key-value heads of %u numbers are not "
                        "a model",
                        r->g->path, r->all_layers, m->heads, m->kv_heads, m->hidden);
    uint32_t value, rotated;
    m->head_dim = m->hidden / m->heads;
    QRN_TRY(read_optional(r, "attention.key_length", &m->head_dim));
    value = rotated = m->head_dim;
    QRN_TRY(read_optional(r, "attention.value_length", &value));
    QRN_TRY(read_optional(r, "rope.dimension_count", &rotated));
    if (value != m->head_dim || rotated != m->head_dim || m->head_dim % 2)
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "%.500s: heads of %u numbers, values of %u, %u of them rotated; they must "
                        "be one even number",
                        r->g->path, m->head_dim, value, rotated);
    m->rope_theta = 10000;
    if (ql_gguf_find(r->g, key_of(r, "rope.freq_base")))
        QRN_TRY(ql_gguf_float(r->g, r->name, &m->rope_theta));
    QRN_TRY(ql_gguf_float(r->g, key_of(r, "attention.layer_norm_rms_epsilon"), &m->eps));
    if (!(m->eps >= 0) || !(m->rope_theta > 0))
        return QRN_FAIL(QRN_E_BINARY, "%.500s: epsilon %g and rope base %g are not a model",
                        r->g->path, m->eps, m->rope_theta);
    return QRN_OK;
}

// Settings that the graphs have no place for.
static qrn_status check_settings(reader *r) {
    static const struct {
        const char *suffix;
        double harmless;
    } numbers[] = {
        {"expert_count", 0},      {"attention.sliding_window", 0}, {"rope.scaling.factor", 1},
        {"rope.scale_linear", 1}, {"attention.clamp_kqv", 0},      {"attention.max_alibi_bias", 0},
        {"logit_scale", 1},       {"attention.scale", 0},          {"residual_scale", 1},
        {"embedding_scale", 1},   {"use_parallel_residual", 0},    {"attention.causal", 1}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        const ql_gguf_value *v = ql_gguf_find(r->g, key_of(r, numbers[i].suffix));
        if (v && (v->kind == QL_GGUF_STRING || v->kind == QL_GGUF_ARRAY ||
                  ql_gguf_number(v) != numbers[i].harmless))
            return QRN_FAIL(QRN_E_UNSUPPORTED, "%.500s: key '%s' is set, which is not supported",
                            r->g->path, r->name);
    }
    const ql_gguf_value *v = ql_gguf_find(r->g, key_of(r, "rope.scaling.type"));
    if (v && !(v->kind == QL_GGUF_STRING && v->n == 4 && memcmp(v->at, "none", 4) == 0))
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "%.500s: key '%s' is set: scaled rotary positions are not supported",
                        r->g->path, r->name);
    return QRN_OK;
}

static qrn_status wrong_shape(const reader *r, const ql_gguf_tensor *t, uint32_t rows,
                              uint32_t cols) {
    return QRN_FAIL(QRN_E_SHAPE,
                    "%.500s: tensor '%s' has %llu x %llu numbers; its keys say %u x %u", r->g->path,
                    t->name, (unsigned long long)t->dims[1], (unsigned long long)t->dims[0], rows,
                    cols);
}

// The tensor r->name of that shape; NULL where it is missing and may be.
static qrn_status take_tensor(reader *r, bool optional, uint32_t rows, uint32_t cols,
                              const ql_gguf_tensor **out) {
    const ql_gguf_tensor *t = ql_gguf_tensor_of(r->g, r->name);
    if (!t && !optional)
        return QRN_FAIL(QRN_E_NOT_FOUND, "%.500s: no tensor '%s'", r->g->path, r->name);
    *out = t;
    if (!t)
        return QRN_OK;
    r->used[t - r->g->tensors] = t->name;
    if (t->dims[0] != cols || t->dims[1] != rows || t->dims[2] != 1 || t->dims[3] != 1)
        return wrong_shape(r, t, rows, cols);
    return ql_gguf_decodable(r->g, t);
}

static const char *layer_name(reader *r, uint32_t i, const char *part, const char *kind) {
    snprintf(r->name, sizeof r->name, "blk.%u.%s.%s", i, part, kind);
    return r->name;
}

static qrn_status take_linear(reader *r, uint32_t i, const char *part, uint32_t rows, uint32_t cols,
                              uint32_t heads, ql_linear *out) {
    *out = (ql_linear){.rows = rows, .cols = cols, .heads = r->interleaved ? heads : 0};
    layer_name(r, i, part, "weight");
    QRN_TRY(take_tensor(r, false, rows, cols, &out->weight));
    layer_name(r, i, part, "bias");
    return take_tensor(r, true, 1, rows, &out->bias);
}

static qrn_status read_layer(reader *r, uint32_t i, ql_llama_layer *l) {
    const ql_llama *m = r->m;
    uint32_t q = m->heads * m->head_dim, kv = m->kv_heads * m->head_dim;
    layer_name(r, i, "attn_norm", "weight");
    QRN_TRY(take_tensor(r, false, 1, m->hidden, &l->attn_norm));
    layer_name(r, i, "ffn_norm", "weight");
    QRN_TRY(take_tensor(r, false, 1, m->hidden, &l->ffn_norm));
    QRN_TRY(take_linear(r, i, "attn_q", q, m->hidden, m->heads, &l->q));
    QRN_TRY(take_linear(r, i, "attn_k", kv, m->hidden, m->kv_heads, &l->k));
    QRN_TRY(take_linear(r, i, "attn_v", kv, m->hidden, 0, &l->v));
    QRN_TRY(take_linear(r, i, "attn_output", m->hidden, q, 0, &l->o));
    QRN_TRY(take_linear(r, i, "ffn_gate", m->ff, m->hidden, 0, &l->gate));
    QRN_TRY(take_linear(r, i, "ffn_up", m->ff, m->hidden, 0, &l->up));
    return take_linear(r, i, "ffn_down", m->hidden, m->ff, 0, &l->down);
}

static qrn_status read_ends(reader *r) {
    ql_llama *m = r->m;
    const ql_gguf_tensor *t = ql_gguf_tensor_of(r->g, "token_embd.weight");
    if (t && (t->dims[1] > SIZE_MOST || t->dims[1] < 2))
        return QRN_FAIL(QRN_E_BINARY, "%.500s: a vocabulary of %llu", r->g->path,
                        (unsigned long long)t->dims[1]);
    m->vocab = t ? (uint32_t)t->dims[1] : 0;
    snprintf(r->name, sizeof r->name, "token_embd.weight");
    m->embedding = (ql_linear){.rows = m->vocab, .cols = m->hidden};
    QRN_TRY(take_tensor(r, false, m->vocab, m->hidden, &m->embedding.weight));
    snprintf(r->name, sizeof r->name, "output_norm.weight");
    QRN_TRY(take_tensor(r, false, 1, m->hidden, &m->output_norm));
    m->head = m->embedding;
    snprintf(r->name, sizeof r->name, "output.weight");
    QRN_TRY(take_tensor(r, true, m->vocab, m->hidden, &t));
    if (t)
        m->head.weight = t;
    return QRN_OK;
}

// Llama 3 scales the slow frequencies: the file has what each is divided by, config.json a factor
// that this follows from. Other divisors have no place there.
static qrn_status read_rope(reader *r) {
    ql_llama *m = r->m;
    const ql_gguf_tensor *t = NULL;
    snprintf(r->name, sizeof r->name, "rope_freqs.weight");
    QRN_TRY(take_tensor(r, true, 1, m->head_dim / 2, &t));
    float *divisors = t ? qrn_arena_alloc(r->arena, m->head_dim / 2 * sizeof *divisors) : NULL;
    if (!t)
        return QRN_OK;
    if (!divisors)
        return QRN_FAIL(QRN_E_MEM, "%.500s: no memory", r->g->path);
    ql_gguf_row(t, 0, divisors);
    double factor = 1;
    for (uint32_t i = 0; i < m->head_dim / 2; i++)
        factor = fmax(factor, (double)divisors[i]);
    for (uint32_t i = 0; i < m->head_dim / 2; i++) {
        double turns = ROPE_ORIGINAL * pow(m->rope_theta, -2.0 * i / m->head_dim) / (2 * M_PI);
        double smooth = fmax(0, fmin(1, (turns - ROPE_LOW) / (ROPE_HIGH - ROPE_LOW)));
        double expected = 1 / ((1 - smooth) / factor + smooth);
        if (!(fabs((double)divisors[i] - expected) <= 1e-3 * expected))
            return QRN_FAIL(QRN_E_UNSUPPORTED,
                            "%.500s: tensor 'rope_freqs.weight' scales positions in another way "
                            "than Llama 3, which is not supported",
                            r->g->path);
    }
    m->rope_factor = factor;
    return QRN_OK;
}

// Tensors that nobody asked for would be left out in silence.
static qrn_status check_used(const reader *r) {
    for (uint32_t i = 0; i < r->g->n_tensors; i++) {
        unsigned layer = 0;
        const char *name = r->g->tensors[i].name;
        bool cut =
            sscanf(name, "blk.%u.", &layer) == 1 && layer >= r->m->layers && layer < r->all_layers;
        if (!r->used[i] && !cut)
            return QRN_FAIL(QRN_E_UNSUPPORTED,
                            "%.500s: tensor '%s' has no place in a model of architecture '%s'; "
                            "such models are not supported",
                            r->g->path, name, r->m->arch);
    }
    return QRN_OK;
}

qrn_status ql_llama_read(const ql_gguf *g, uint32_t layers, qrn_arena *arena, ql_llama *out) {
    reader r = {.g = g, .m = out, .arena = arena};
    *out = (ql_llama){.file = g};
    r.used = qrn_arena_alloc(arena, g->n_tensors * sizeof *r.used);
    if (!r.used)
        return QRN_FAIL(QRN_E_MEM, "%.500s: no memory", g->path);
    QRN_TRY(find_arch(&r));
    QRN_TRY(read_sizes(&r));
    QRN_TRY(check_settings(&r));
    if (layers > r.all_layers)
        return QRN_FAIL(QRN_E_ARGUMENT, "%.500s: %u layers asked for, the model has %u", g->path,
                        layers, r.all_layers);
    out->layers = layers ? layers : r.all_layers;
    out->layer = qrn_arena_alloc(arena, out->layers * sizeof *out->layer);
    if (!out->layer)
        return QRN_FAIL(QRN_E_MEM, "%.500s: no memory", g->path);
    QRN_TRY(read_ends(&r));
    QRN_TRY(read_rope(&r));
    for (uint32_t i = 0; i < out->layers; i++)
        QRN_TRY(read_layer(&r, i, &out->layer[i]));
    return check_used(&r);
}

uint32_t ql_linear_row(const ql_linear *l, uint32_t r) {
    if (!l->heads)
        return r;
    uint32_t dim = l->rows / l->heads, half = dim / 2, in_head = r % dim;
    return r - in_head + in_head % half * 2 + in_head / half;
}
