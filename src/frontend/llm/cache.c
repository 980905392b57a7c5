// SPDX-License-Identifier: MIT
//
// Executions of a language model's graphs. Slot i of a cache holds position i; the mask hides the
// slots that hold nothing yet, and of a chunk with fewer tokens than the graph has room for, the
// rows behind them are hidden from the others by the causal mask and not kept.
#include "frontend/llm/cache.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

#define HIDDEN -INFINITY // what the mask adds to hide a position, which then need not be read

// Keys and values of `rows` positions for each layer: [kv heads, rows, numbers of a head].
typedef struct cache {
    uint32_t rows;
    void **k, **v; // by layer
    const ql_graph *owner;
    const ql_signature *at; // of the owner: types and encodings
} cache;

// A graph with the buffers of its inputs and outputs.
typedef struct runner {
    const ql_graph *g;
    ql_signature at;
    cache *past;      // NULL: none
    void **in, **out; // those of out are set while it is executed, unless it has one token
    bool *in_cache;   // outputs that are the cache itself
} runner;

struct ql_model {
    qrn_arena *arena;
    ql_memory memory;
    runner *runners;
    uint32_t n_runners;
    cache *caches;
    uint32_t n_caches;
    size_t cache_bytes;
    uint32_t positions, position;
    float *frequencies;   // of one head, half of them
    float amplitude;      // of cos and sin
    float *row;           // room for a row of a mask, of angles (twice), of the cache
    float *logits;        // of one token
    void **owned, **lent; // buffers from qrn_alloc, and from memory
    uint32_t n_owned, n_lent;
};

static qrn_status no_memory(void) { return QRN_FAIL(QRN_E_MEM, "no memory for a language model"); }

// --- making it

static void *own(ql_model *m, size_t bytes) {
    void *p = qrn_calloc(bytes ? bytes : 1);
    if (p)
        m->owned[m->n_owned++] = p;
    return p;
}

static void *own_cache(ql_model *m, size_t bytes) {
    m->cache_bytes += bytes;
    if (!m->memory.alloc)
        return own(m, bytes);
    void *p = m->memory.alloc(m->memory.ctx, bytes);
    if (p)
        m->lent[m->n_lent++] = p;
    return p;
}

// The cache of a graph: another one's where the past is as long.
static qrn_status find_cache(ql_model *m, runner *r) {
    const ql_signature *at = &r->at;
    for (uint32_t i = 0; i < m->n_caches; i++) {
        cache *c = &m->caches[i];
        bool same = c->rows == at->past;
        for (uint32_t l = 0; l < at->layers && same; l++)
            same = ql_tensor_same_numbers(&c->owner->inputs[c->at->past_k[l]],
                                          &r->g->inputs[at->past_k[l]]) &&
                   ql_tensor_same_numbers(&c->owner->inputs[c->at->past_v[l]],
                                          &r->g->inputs[at->past_v[l]]);
        if (same) {
            r->past = c;
            return QRN_OK;
        }
    }
    cache *c = &m->caches[m->n_caches++];
    *c = (cache){.rows = at->past, .owner = r->g, .at = at};
    c->k = qrn_arena_alloc(m->arena, at->layers * sizeof *c->k);
    c->v = qrn_arena_alloc(m->arena, at->layers * sizeof *c->v);
    for (uint32_t l = 0; c->k && c->v && l < at->layers; l++) {
        c->k[l] = own_cache(m, ql_tensor_bytes(&r->g->inputs[at->past_k[l]]));
        c->v[l] = own_cache(m, ql_tensor_bytes(&r->g->inputs[at->past_v[l]]));
        if (!c->k[l] || !c->v[l])
            return no_memory();
    }
    r->past = c;
    return c->k && c->v ? QRN_OK : no_memory();
}

static qrn_status make_runner(ql_model *m, runner *r) {
    const ql_graph *g = r->g;
    r->in = qrn_arena_alloc(m->arena, g->n_inputs * sizeof *r->in);
    r->out = qrn_arena_alloc(m->arena, g->n_outputs * sizeof *r->out);
    r->in_cache = qrn_arena_alloc(m->arena, g->n_outputs * sizeof *r->in_cache);
    if (!r->in || !r->out || !r->in_cache)
        return no_memory();
    if (r->at.past)
        QRN_TRY(find_cache(m, r));
    for (uint32_t l = 0; r->past && l < r->at.layers; l++) {
        r->in[r->at.past_k[l]] = r->past->k[l];
        r->in[r->at.past_v[l]] = r->past->v[l];
    }
    for (uint32_t l = 0; r->at.in_place && l < r->at.layers; l++) {
        r->out[r->at.new_k[l]] = r->past->k[l];
        r->out[r->at.new_v[l]] = r->past->v[l];
        r->in_cache[r->at.new_k[l]] = r->in_cache[r->at.new_v[l]] = true;
    }
    for (uint32_t i = 0; i < g->n_inputs; i++)
        if (!r->in[i] && !(r->in[i] = own(m, ql_tensor_bytes(&g->inputs[i]))))
            return no_memory();
    for (uint32_t i = 0; i < g->n_outputs && r->at.tokens == 1; i++)
        if (!r->out[i] && !(r->out[i] = own(m, ql_tensor_bytes(&g->outputs[i]))))
            return no_memory();
    return QRN_OK;
}

// How far the graphs lead: the longest past that one of them continues by a token.
static qrn_status count_positions(ql_model *m) {
    for (uint32_t i = 0; i < m->n_runners; i++) {
        const ql_signature *at = &m->runners[i].at;
        uint32_t most = at->past && !at->in_place ? at->past + 1 : at->past;
        m->positions = most > m->positions ? most : m->positions;
    }
    if (m->positions)
        return QRN_OK;
    const ql_graph *g = m->runners[0].g;
    return QRN_FAIL(QRN_E_ARGUMENT,
                    "no graph continues a text: graph '%s' of %s has no inputs past_k_0, ...; give "
                    "the decode graph of the model, too",
                    g->name, g->file);
}

static size_t count_buffers(const ql_graph *graphs, uint32_t n) {
    size_t count = 8;
    for (uint32_t i = 0; i < n; i++)
        count += graphs[i].n_inputs + graphs[i].n_outputs;
    return count;
}

static qrn_status fill_model(ql_model *m, const ql_graph *graphs, uint32_t n, const ql_rope *rope) {
    size_t buffers = count_buffers(graphs, n), widest = 0;
    m->runners = qrn_arena_alloc(m->arena, n * sizeof *m->runners);
    m->caches = qrn_arena_alloc(m->arena, n * sizeof *m->caches);
    m->owned = qrn_arena_alloc(m->arena, buffers * sizeof *m->owned);
    m->lent = qrn_arena_alloc(m->arena, buffers * sizeof *m->lent);
    if (!m->runners || !m->caches || !m->owned || !m->lent)
        return no_memory();
    for (uint32_t i = 0; i < n; i++) {
        runner *r = &m->runners[m->n_runners++];
        r->g = &graphs[i];
        QRN_TRY(ql_signature_find(r->g, m->arena, &r->at));
        QRN_TRY(ql_signature_match(m->runners[0].g, &m->runners[0].at, r->g, &r->at));
        size_t wide = (size_t)r->at.past + r->at.tokens + 2 * (size_t)r->at.head_dim;
        widest = wide > widest ? wide : widest;
    }
    QRN_TRY(count_positions(m));
    for (uint32_t i = 0; i < n; i++)
        QRN_TRY(make_runner(m, &m->runners[i]));
    const ql_signature *at = &m->runners[0].at;
    m->frequencies = own(m, at->head_dim * sizeof *m->frequencies);
    m->row = own(m, widest * sizeof *m->row);
    m->logits = own(m, at->vocab * sizeof *m->logits);
    if (!m->frequencies || !m->row || !m->logits)
        return no_memory();
    if (at->head_dim % 2)
        return QRN_FAIL(QRN_E_SHAPE, "%s: graph '%s': heads of %u numbers: expected an even number",
                        m->runners[0].g->file, m->runners[0].g->name, at->head_dim);
    for (uint32_t i = 0; i < n; i++) // a program may compute the rotation itself, or not
        if (m->runners[i].at.cos != QL_ABSENT && rope->theta <= 0)
            return QRN_FAIL(QRN_E_ARGUMENT,
                            "%s: graph '%s' has the inputs cos and sin, but rope_theta is not "
                            "known; give it with --rope-theta N, or config.json with --config FILE",
                            graphs[i].file, graphs[i].name);
    ql_rope_frequencies(rope, at->head_dim / 2, m->frequencies);
    m->amplitude = ql_rope_amplitude(rope);
    return QRN_OK;
}

qrn_status ql_model_make(const ql_graph *graphs, uint32_t n, const ql_rope *rope,
                         const ql_memory *memory, ql_model **out) {
    qrn_arena *arena = qrn_arena_create();
    ql_model *m = arena ? qrn_arena_alloc(arena, sizeof *m) : NULL;
    if (!m) {
        qrn_arena_destroy(arena);
        return no_memory();
    }
    m->arena = arena;
    if (memory)
        m->memory = *memory;
    qrn_status s = fill_model(m, graphs, n, rope);
    if (s == QRN_OK)
        *out = m;
    else
        ql_model_close(m);
    return s;
}

void ql_model_close(ql_model *m) {
    if (!m)
        return;
    for (uint32_t i = 0; i < m->n_owned; i++)
        qrn_free(m->owned[i]);
    for (uint32_t i = 0; i < m->n_lent; i++)
        m->memory.free(m->memory.ctx, m->lent[i]);
    qrn_arena_destroy(m->arena);
}

ql_model_info ql_model_describe(const ql_model *m) {
    const ql_signature *at = &m->runners[0].at;
    ql_model_info info = {.vocab = at->vocab,
                          .layers = at->layers,
                          .kv_heads = at->kv_heads,
                          .head_dim = at->head_dim,
                          .positions = m->positions,
                          .cache_bytes = m->cache_bytes,
                          .shared = m->n_lent > 0};
    for (uint32_t i = 0; i < m->n_runners; i++)
        if (m->runners[i].at.tokens > info.largest_chunk)
            info.largest_chunk = m->runners[i].at.tokens;
    return info;
}

// --- executions

// Can it give the logits of any of its tokens? Else it needs as many as it has room for.
static bool gives_any(const runner *r) {
    return r->at.logit_rows == r->at.tokens || r->at.last != QL_ABSENT;
}

// Can it compute the next of `left` tokens behind this many?
static bool is_usable(const runner *r, uint32_t position, uint32_t left) {
    uint32_t most = r->at.past; // positions before the new tokens
    if (r->at.in_place)
        most -= r->at.tokens < most ? r->at.tokens : most;
    return position <= most && (!r->at.in_place || r->at.tokens <= r->at.past) &&
           (gives_any(r) || left >= r->at.tokens);
}

// What an execution costs, in decoded tokens: weights are read once however many tokens there are,
// and sixteen tokens take about as long to compute as the weights to read.
static double cost_of(const runner *r) { return 1 + r->at.tokens / 16.0; }

// What is left behind a position, computed with the one graph that is best for it.
static double cost_left(const ql_model *m, uint32_t position, uint32_t left) {
    double least = left ? 1e30 : 0;
    for (uint32_t i = 0; i < m->n_runners && left; i++) {
        const runner *r = &m->runners[i];
        uint32_t t = r->at.tokens;
        double cost =
            gives_any(r) ? cost_of(r) * ((left + t - 1) / t) : cost_of(r) * (left / t) + left % t;
        if (is_usable(r, position, left) && cost < least)
            least = cost;
    }
    return least;
}

// The graph for the next tokens: NULL: none continues from here.
static const runner *choose(const ql_model *m, uint32_t left) {
    const runner *best = NULL;
    double least = 0;
    for (uint32_t i = 0; i < m->n_runners; i++) {
        const runner *r = &m->runners[i];
        if (!is_usable(r, m->position, left))
            continue;
        uint32_t count = left < r->at.tokens ? left : r->at.tokens;
        double cost = cost_of(r) + cost_left(m, m->position + count, left - count);
        if (!best || cost < least) {
            best = r;
            least = cost;
        }
    }
    return best;
}

static void fill_ids(const runner *r, const uint32_t *tokens, uint32_t n) {
    const ql_tensor *t = &r->g->inputs[r->at.ids];
    for (uint32_t i = 0; i < r->at.tokens; i++)
        ql_integer_store(t->type, i < n ? tokens[i] : 0, r->in[r->at.ids], i);
}

// Those of rows that are not kept must be in the graph's range, too.
static void fill_positions(const ql_model *m, const runner *r) {
    const ql_tensor *t = &r->g->inputs[r->at.positions];
    for (uint32_t i = 0; i < r->at.tokens; i++) {
        uint32_t at = m->position + i < m->positions ? m->position + i : m->positions - 1;
        ql_integer_store(t->type, at, r->in[r->at.positions], i);
    }
}

static void fill_angles(ql_model *m, const runner *r) {
    if (r->at.cos == QL_ABSENT || r->at.sin == QL_ABSENT)
        return;
    const ql_tensor *c = &r->g->inputs[r->at.cos], *s = &r->g->inputs[r->at.sin];
    uint32_t n = c->dims[c->rank - 1], n_sin = s->dims[s->rank - 1];
    for (uint32_t i = 0; i < r->at.tokens; i++) {
        float *cosines = m->row, *sines = m->row + r->at.head_dim;
        ql_rope_row(m->frequencies, r->at.head_dim / 2, m->amplitude, m->position + i,
                    r->at.head_dim, cosines, sines);
        ql_tensor_store(c, cosines, n, r->in[r->at.cos], (size_t)i * n);
        ql_tensor_store(s, sines, n_sin, r->in[r->at.sin], (size_t)i * n_sin);
    }
}

// Of all tokens of the graph, also those that are not kept: it places its rows by these numbers.
static void fill_lengths(const ql_model *m, const runner *r) {
    uint32_t all = m->position + r->at.tokens;
    if (r->at.lengths != QL_ABSENT)
        ql_integer_store(r->g->inputs[r->at.lengths].type, all - 1, r->in[r->at.lengths], 0);
    if (r->at.total != QL_ABSENT)
        ql_integer_store(r->g->inputs[r->at.total].type, all, r->in[r->at.total], 0);
}

// Does token `last` of the graph see column k of the mask? A graph that updates its cache in place
// may place rows by the columns, so one row of a mask counts all of its tokens.
static bool is_seen(const ql_model *m, const runner *r, uint32_t last, uint32_t k) {
    uint32_t past = r->at.past;
    if (r->at.in_place)
        return k <= m->position + (r->at.mask_rows == r->at.tokens ? last : r->at.tokens - 1);
    return k < m->position || (k >= past && k <= past + last);
}

// For the first `count` tokens of the graph.
static void fill_mask(ql_model *m, const runner *r, uint32_t count) {
    if (r->at.mask == QL_ABSENT)
        return;
    const ql_tensor *t = &r->g->inputs[r->at.mask];
    uint32_t n = r->at.past + (r->at.in_place ? 0 : r->at.tokens);
    bool integers = ql_is_integer(t->type);
    for (uint32_t i = 0; i < r->at.mask_rows; i++) {
        uint32_t last = r->at.mask_rows == r->at.tokens ? i : count - 1;
        for (uint32_t k = 0; k < n; k++) {
            bool seen = is_seen(m, r, last, k);
            m->row[k] = seen ? 0 : HIDDEN;
            if (integers)
                ql_integer_store(t->type, seen, r->in[r->at.mask], (size_t)i * n + k);
        }
        if (!integers)
            ql_tensor_store(t, m->row, n, r->in[r->at.mask], (size_t)i * n);
    }
}

// The first n new rows of a tensor into slots of a cache; as they are where the types agree. With
// `columns` each number of a head has its own run of positions.
static void keep_rows(ql_model *m, const runner *r, const ql_tensor *from, const void *src,
                      const cache *c, const ql_tensor *to, void *dst, uint32_t n, bool columns) {
    uint32_t wide = columns ? 1 : r->at.head_dim;
    uint32_t runs = columns ? r->at.kv_heads * r->at.head_dim : r->at.kv_heads;
    size_t bytes = ql_element_bytes(from->type);
    bool same = ql_tensor_same_numbers(from, to);
    if (m->position + n > c->rows)
        n = c->rows > m->position ? c->rows - m->position : 0;
    for (uint32_t h = 0; h < runs; h++) {
        size_t first = r->at.in_place ? m->position : r->at.new_rows - r->at.tokens;
        size_t at = ((size_t)h * r->at.new_rows + first) * wide;
        size_t slot = ((size_t)h * c->rows + m->position) * wide;
        if (same) {
            memcpy((char *)dst + slot * bytes, (const char *)src + at * bytes, n * wide * bytes);
            continue;
        }
        for (uint32_t i = 0; i < n; i++) {
            ql_tensor_load(from, src, at + (size_t)i * wide, wide, m->row);
            ql_tensor_store(to, m->row, wide, dst, slot + (size_t)i * wide);
        }
    }
}

static void keep(ql_model *m, const runner *r, uint32_t n) {
    for (uint32_t i = 0; i < m->n_caches; i++) {
        const cache *c = &m->caches[i];
        for (uint32_t l = 0; l < r->at.layers && !(r->at.in_place && c == r->past); l++) {
            keep_rows(m, r, &r->g->outputs[r->at.new_k[l]], r->out[r->at.new_k[l]], c,
                      &c->owner->inputs[c->at->past_k[l]], c->k[l], n, r->at.key_columns);
            keep_rows(m, r, &r->g->outputs[r->at.new_v[l]], r->out[r->at.new_v[l]], c,
                      &c->owner->inputs[c->at->past_v[l]], c->v[l], n, false);
        }
    }
    if (m->memory.written)
        m->memory.written(m->memory.ctx, n);
}

static qrn_status check_feed(const ql_model *m, const uint32_t *tokens, uint32_t n) {
    uint32_t vocab = m->runners[0].at.vocab;
    for (uint32_t i = 0; i < n; i++)
        if (tokens[i] >= vocab)
            return QRN_FAIL(QRN_E_ARGUMENT,
                            "token %u (number %u of %u) is outside of the model's vocabulary of %u",
                            tokens[i], i + 1, n, vocab);
    if (n > m->positions - m->position)
        return QRN_FAIL(QRN_E_ARGUMENT,
                        "%u tokens behind %u positions are more than the context of %u", n,
                        m->position, m->positions);
    return QRN_OK;
}

static bool can_add(size_t *all, size_t bytes) {
    return qrn_add_size(*all, bytes, all) && qrn_add_size(*all, QRN_ALIGN, all);
}

// Results of a chunk of tokens are large, and a row of logits and what goes to the caches is all
// that is wanted of them: they have memory while the graph is executed. NULL: there is none.
static void *lend_outputs(const runner *r) {
    size_t all = 0;
    for (uint32_t i = 0; i < r->g->n_outputs; i++)
        if (!r->in_cache[i] && !can_add(&all, ql_tensor_bytes(&r->g->outputs[i])))
            return NULL;
    char *room = qrn_alloc(all), *to = room;
    for (uint32_t i = 0; room && i < r->g->n_outputs; i++) {
        if (r->in_cache[i])
            continue;
        r->out[i] = to;
        to += (ql_tensor_bytes(&r->g->outputs[i]) + QRN_ALIGN - 1) / QRN_ALIGN * QRN_ALIGN;
    }
    return room;
}

static qrn_status execute(ql_model *m, const runner *r, uint32_t count) {
    const ql_tensor *t = &r->g->outputs[r->at.logits];
    void *lent = r->at.tokens > 1 ? lend_outputs(r) : NULL;
    if (r->at.tokens > 1 && !lent)
        return no_memory();
    qrn_status s = r->g->execute(r->g->ctx, (const void *const *)r->in, r->out);
    if (s == QRN_OK) {
        ql_tensor_load(t, r->out[r->at.logits],
                       r->at.logit_rows == 1 ? 0 : (size_t)(count - 1) * r->at.vocab, r->at.vocab,
                       m->logits);
        keep(m, r, count);
    }
    qrn_free(lent);
    return s;
}

qrn_status ql_model_feed(ql_model *m, const uint32_t *tokens, uint32_t n, bool (*is_over)(void *),
                         void *ctx, ql_fed *out) {
    *out = (ql_fed){.logits = m->logits};
    QRN_TRY(check_feed(m, tokens, n));
    while (out->done < n && !(is_over && out->executions && is_over(ctx))) {
        uint32_t left = n - out->done;
        const runner *r = choose(m, left);
        if (!r)
            return QRN_FAIL(QRN_E_ARGUMENT, "no graph computes %u tokens behind %u positions", left,
                            m->position);
        uint32_t count = left < r->at.tokens ? left : r->at.tokens;
        fill_ids(r, tokens + out->done, count);
        if (r->at.last != QL_ABSENT)
            ql_integer_store(r->g->inputs[r->at.last].type, count - 1, r->in[r->at.last], 0);
        if (r->at.positions != QL_ABSENT)
            fill_positions(m, r);
        fill_angles(m, r);
        fill_lengths(m, r);
        fill_mask(m, r, count);
        QRN_TRY(execute(m, r, count));
        m->position += count;
        out->done += count;
        out->executions++;
    }
    return QRN_OK;
}

uint32_t ql_model_position(const ql_model *m) { return m->position; }

void ql_model_rewind(ql_model *m, uint32_t position) {
    if (position < m->position)
        m->position = position;
}
