// SPDX-License-Identifier: MIT
//
// Attention on many rows. A task packs the keys and values of a matrix for the GEMM tiles, once for
// all blocks of rows that it does of it; the scores of a block fill a strip, not a matrix of all
// queries by all keys. Keys that a mask hides from all rows of a block are left out where their
// weights are 0 whatever they are.
#include "kernels/attention/attention_rows.h"

#include "kernels/gemm/tiles/gemm_f32.h"
#include "kernels/lanes.h"

#include <math.h>
#include <string.h>

#define STRIP_FLOATS (64 * 1024) // of scores, in the second cache
#define BLOCK_ROWS 56            // most rows of a block

typedef struct sizes {
    size_t panels[2], all_panels; // of keys of both segments, of both
    size_t value_panels;          // side by side
    size_t keys;                  // whole panels
    size_t block, blocks;         // rows of a block, blocks of a matrix
    size_t task;                  // floats of a task
} sizes;

static size_t panels_of(size_t n) { return (n + QRN_PANEL - 1) / QRN_PANEL; }

// Rows of a block do not depend on the number of tasks. `tile`: rows of a register
// tile.
static sizes sizes_of(const qrn_attention_args *a, size_t tile) {
    sizes n = {.panels = {panels_of(a->keys[0]), panels_of(a->keys[1])},
               .value_panels = panels_of(a->width)};
    n.all_panels = n.panels[0] + n.panels[1];
    n.keys = n.all_panels * QRN_PANEL;
    size_t rows = qrn_att_rows(a), tiles = STRIP_FLOATS / (n.keys * tile + 1);
    size_t most = BLOCK_ROWS / tile;
    tiles = tiles < 1 ? 1 : tiles > most ? most : tiles;
    n.block = tiles * tile;
    n.blocks = (rows + n.block - 1) / n.block;
    n.task = n.keys * a->depth + n.keys * n.value_panels * QRN_PANEL + // packed keys and values
             2 * qrn_att_padded(n.all_panels) +                        // longest, gap
             n.keys + n.block * (n.keys + a->depth + n.value_panels * QRN_PANEL);
    return n;
}

typedef struct many {
    const qrn_kcall *k;
    const qrn_attention_args *a;
    const qrn_gemm_f32_kernel *gemm;
    const qrn_att_vectors *vec;
    sizes n;
    size_t batch;
    float *keys, *values;  // [panels][depth][32], [value panels][keys][32]
    float *longest;        // [panels] length of the longest key
    float *gap;            // [panels] see find_gaps
    float reach;           // length of the longest key of all
    float *room;           // [keys]
    float *scores, *q, *y; // of a block: [block][keys], [block][depth], [block][value panels * 32]
} many;

// The place of a segment's first key in a strip.
static size_t place_of(const many *m, uint32_t which) { return which * m->n.panels[0] * QRN_PANEL; }

static float longest_of(const float *panel, size_t depth) {
    float sum[QRN_PANEL] = {0}, most = 0;
    for (size_t d = 0; d < depth; d++)
        for (size_t j = 0; j < QRN_PANEL; j++)
            sum[j] += panel[d * QRN_PANEL + j] * panel[d * QRN_PANEL + j];
    for (size_t j = 0; j < QRN_PANEL; j++)
        most = sum[j] > most || isnan(sum[j]) ? sum[j] : most;
    return sqrtf(most);
}

static void pack_segment(many *m, uint32_t which) {
    const qrn_attention_args *a = m->a;
    qrn_att_segment g = qrn_att_segment_of(m->k, which, m->batch);
    bool rounds = qrn_att_rounds(a);
    size_t first = which * m->n.panels[0];
    for (size_t p = 0; p < m->n.panels[which]; p++) {
        float *to = m->keys + (first + p) * a->depth * QRN_PANEL;
        qrn_gemm_f32_pack_panel(g.k.data, g.k.strides[QRN_ATT_KEY_COL], g.k.strides[QRN_ATT_KEY],
                                a->depth, g.keys, p * QRN_PANEL, to);
        if (rounds)
            m->vec->round(to, a->depth * QRN_PANEL, a->rule);
        m->longest[first + p] = longest_of(to, a->depth);
    }
    for (size_t p = 0; g.keys && p < m->n.value_panels; p++) {
        float *to = m->values + (p * m->n.keys + place_of(m, which)) * QRN_PANEL;
        size_t padded = m->n.panels[which] * QRN_PANEL;
        qrn_gemm_f32_pack_panel(g.v.data, g.v.strides[QRN_ATT_KEY], g.v.strides[QRN_ATT_KEY_COL],
                                g.keys, a->width, p * QRN_PANEL, to);
        if (rounds)
            m->vec->round(to, g.keys * QRN_PANEL, a->rule);
        memset(to + g.keys * QRN_PANEL, 0, (padded - g.keys) * QRN_PANEL * sizeof *to);
    }
}

// --- a block of rows

typedef struct block {
    size_t row, rows;
    float longest;      // length of the longest query
    size_t first, last; // panels of keys that count: [first, last)
} block;

// Sum of squares, in lanes that compilers make vectors of.
static float squares_of(const float *x, size_t n) {
    float lane[QRN_LANES] = {0}, sum = 0;
    size_t i = 0;
    for (; i + QRN_LANES <= n; i += QRN_LANES)
        for (size_t l = 0; l < QRN_LANES; l++)
            lane[l] += x[i + l] * x[i + l];
    for (; i < n; i++)
        sum += x[i] * x[i];
    for (size_t l = 0; l < QRN_LANES; l++)
        sum += lane[l];
    return sum;
}

static void take_queries(const many *m, block *b) {
    const qrn_attention_args *a = m->a;
    const float *src = m->k->in[QRN_ATT_Q]->data;
    float most = 0;
    for (size_t i = 0; i < b->rows; i++) {
        const float *row = src + qrn_att_row_at(a, a->q, m->batch, b->row + i);
        float *q = m->q + i * a->depth;
        if (a->q[QRN_ATT_COL] == 1)
            memcpy(q, row, a->depth * sizeof *q);
        for (size_t d = 0; a->q[QRN_ATT_COL] != 1 && d < a->depth; d++)
            q[d] = row[d * a->q[QRN_ATT_COL]];
        if (qrn_att_rounds(a))
            m->vec->round(q, a->depth, a->rule);
        float sum = squares_of(q, a->depth);
        most = sum > most || isnan(sum) ? sum : most;
    }
    b->longest = sqrtf(most);
}

// Keys of panel p: the number of the first one, and how many there are.
static size_t keys_of_panel(const many *m, size_t p, size_t *first) {
    bool more = p >= m->n.panels[0];
    size_t at = (more ? p - m->n.panels[0] : p) * QRN_PANEL, left = m->a->keys[more] - at;
    *first = at + (more ? m->a->keys[0] : 0);
    return left < QRN_PANEL ? left : QRN_PANEL;
}

static const float *mask_at(const many *m, size_t row, size_t key) {
    const qrn_view *mask = qrn_att_in(m->k, QRN_ATT_MASK);
    return mask ? (const float *)mask->data + qrn_att_row_at(m->a, m->a->mask, m->batch, row) +
                      key * m->a->mask[QRN_ATT_COL]
                : NULL;
}

// For each panel the least distance of its masks from the largest one of a row, over all rows of
// the block; 0 or less.
static void find_gaps(const many *m, const block *b) {
    const qrn_attention_args *a = m->a;
    const float *before = NULL;
    float *row = m->scores; // not in use yet
    for (size_t p = 0; p < m->n.all_panels; p++)
        m->gap[p] = -INFINITY;
    for (size_t i = 0; i < b->rows; i++) {
        const float *mask = mask_at(m, b->row + i, 0);
        float top = -INFINITY;
        if (mask == before)
            continue;
        before = mask;
        for (size_t p = 0; p < m->n.all_panels; p++) {
            size_t first, n = keys_of_panel(m, p, &first);
            row[p] = m->vec->top(mask + first, n);
            top = row[p] > top ? row[p] : top;
        }
        for (size_t p = 0; p < m->n.all_panels; p++) { // what rounding can change, generously
            float low = qrn_att_rounds(a) ? fmaxf(row[p], (float)-QRN_FP16_MAX) : row[p];
            float gap = low < 0 ? low * 0.99f - top : 0.0f;
            m->gap[p] = gap < m->gap[p] ? m->gap[p] : gap;
        }
    }
}

#define NOTHING_LEFT 120.0f // a weight of e^-this is 0
#define LARGEST_REACH 1e4f  // sums of which nothing is lost but digits

// Weights are 0 where a score is so far below the largest one. Cauchy and Schwarz say how large the
// sums behind scores can be; a bit is added for their rounding.
static void find_range(const many *m, block *b) {
    const qrn_attention_args *a = m->a;
    float reach = b->longest * m->reach * fabsf((float)a->scale) * 1.01f;
    bool looks =
        qrn_att_in(m->k, QRN_ATT_MASK) && a->mask[QRN_ATT_COL] == 1 && reach < LARGEST_REACH;
    size_t sees = qrn_att_visible(a, b->row + b->rows - 1), at;
    if (looks)
        find_gaps(m, b);
    b->first = m->n.all_panels;
    b->last = 0;
    for (size_t p = 0; p < m->n.all_panels; p++) {
        keys_of_panel(m, p, &at);
        if (at >= sees || (looks && m->gap[p] < -2 * reach - NOTHING_LEFT))
            continue;
        b->first = p < b->first ? p : b->first;
        b->last = p + 1;
    }
}

static void multiply(const many *m, const block *b) {
    const qrn_attention_args *a = m->a;
    size_t at = b->first * QRN_PANEL, n = (b->last - b->first) * QRN_PANEL;
    qrn_gemm_f32_run(m->gemm, &(qrn_gemm_f32_block){.a = m->q,
                                                    .a_row = a->depth,
                                                    .b = m->keys + at * a->depth,
                                                    .c = m->scores + at,
                                                    .c_row = m->n.keys,
                                                    .lines = 1,
                                                    .rows = b->rows,
                                                    .cols = n,
                                                    .segments = 1,
                                                    .length = a->depth});
}

// Scores of a row: sums of products of those keys of a segment that are in the range, -infinity for
// keys that are not there or not seen. `room`: for a mask that does not lie side by side.
static void score_segment(const many *m, const block *b, size_t i, uint32_t which, float *room) {
    const qrn_attention_args *a = m->a;
    size_t begin = which * m->n.panels[0], end = begin + m->n.panels[which];
    begin = begin > b->first ? begin : b->first;
    end = end < b->last ? end : b->last;
    if (begin >= end)
        return;
    float *s = m->scores + i * m->n.keys + begin * QRN_PANEL;
    size_t from = begin * QRN_PANEL - place_of(m, which), n = (end - begin) * QRN_PANEL;
    size_t first = from + (which ? a->keys[0] : 0), sees = qrn_att_visible(a, b->row + i);
    size_t there = a->keys[which] - from < n ? a->keys[which] - from : n;
    there = sees <= first ? 0 : sees - first < there ? sees - first : there;
    const float *mask = mask_at(m, b->row + i, first);
    if (mask && a->mask[QRN_ATT_COL] != 1) {
        for (size_t j = 0; j < there; j++)
            room[j] = mask[j * a->mask[QRN_ATT_COL]];
        mask = room;
    }
    m->vec->score(a, s, mask, there);
    for (size_t j = there; j < n; j++)
        s[j] = -INFINITY;
}

// Sums of products of a row become weights; 1 / their sum.
static float weigh(const many *m, const block *b, size_t i) {
    float *row = m->scores + i * m->n.keys + b->first * QRN_PANEL;
    size_t n = (b->last - b->first) * QRN_PANEL;
    score_segment(m, b, i, 0, m->room);
    score_segment(m, b, i, 1, m->room);
    float top = m->vec->top(row, n);
    if (!(top <= qrn_att_floor(m->a)))
        return (float)(1 / m->vec->weigh(row, n, top));
    memset(row, 0, n * sizeof *row);
    return 0.0f;
}

static void sum_values(const many *m, const block *b) {
    size_t at = b->first * QRN_PANEL, width = m->n.value_panels * QRN_PANEL;
    for (size_t p = 0; p < m->n.value_panels; p++)
        qrn_gemm_f32_run(m->gemm,
                         &(qrn_gemm_f32_block){.a = m->scores + at,
                                               .a_row = m->n.keys,
                                               .b = m->values + (p * m->n.keys + at) * QRN_PANEL,
                                               .c = m->y + p * QRN_PANEL,
                                               .c_row = width,
                                               .lines = 1,
                                               .rows = b->rows,
                                               .cols = QRN_PANEL,
                                               .segments = 1,
                                               .length = (b->last - b->first) * QRN_PANEL});
}

static void run_block(const many *m, size_t number) {
    const qrn_attention_args *a = m->a;
    size_t rows = qrn_att_rows(a), width = m->n.value_panels * QRN_PANEL;
    block b = {.row = number * m->n.block};
    float factor[BLOCK_ROWS] = {0};
    b.rows = rows - b.row < m->n.block ? rows - b.row : m->n.block;
    take_queries(m, &b);
    find_range(m, &b);
    memset(m->y, 0, b.rows * width * sizeof *m->y);
    if (b.first < b.last) {
        multiply(m, &b);
        for (size_t i = 0; i < b.rows; i++)
            factor[i] = weigh(m, &b, i);
        sum_values(m, &b);
    }
    for (size_t i = 0; i < b.rows; i++)
        m->vec->finish(a, m->y + i * width,
                       (float *)m->k->out[0]->data + qrn_att_row_at(a, a->y, m->batch, b.row + i),
                       a->width, factor[i]);
}

static void take_matrix(many *m, size_t batch) {
    m->batch = batch;
    pack_segment(m, 0);
    pack_segment(m, 1);
    m->reach = 0;
    for (size_t p = 0; p < m->n.all_panels; p++)
        m->reach = m->longest[p] > m->reach || isnan(m->longest[p]) ? m->longest[p] : m->reach;
}

static qrn_status run(const qrn_kcall *k, const qrn_gemm_f32_kernel *gemm,
                      const qrn_att_vectors *vec) {
    const qrn_attention_args *a = k->args;
    many m = {.k = k, .a = a, .gemm = gemm, .vec = vec, .batch = SIZE_MAX};
    size_t begin, end;
    m.n = sizes_of(a, gemm->rows);
    m.keys = (float *)k->scratch + k->task * m.n.task;
    m.values = m.keys + m.n.keys * a->depth;
    m.longest = m.values + m.n.keys * m.n.value_panels * QRN_PANEL;
    m.gap = m.longest + qrn_att_padded(m.n.all_panels);
    m.scores = m.gap + qrn_att_padded(m.n.all_panels);
    m.q = m.scores + m.n.block * m.n.keys;
    m.y = m.q + m.n.block * a->depth;
    m.room = m.y + m.n.block * m.n.value_panels * QRN_PANEL;
    qrn_split(qrn_att_batches(a) * m.n.blocks, 1, k->task, k->n_tasks, &begin, &end);
    for (size_t i = begin; i < end; i++) {
        if (i / m.n.blocks != m.batch)
            take_matrix(&m, i / m.n.blocks);
        run_block(&m, i % m.n.blocks);
    }
    return QRN_OK;
}

size_t qrn_attention_many_scratch(const qrn_kcall *k) {
    size_t x = sizes_of(k->args, 14).task, y = sizes_of(k->args, 6).task;
    return k->n_tasks * (x > y ? x : y) * sizeof(float);
}

uint32_t qrn_attention_many_tasks(const qrn_kcall *k, uint32_t n_threads) {
    const qrn_attention_args *a = k->args;
    size_t blocks = qrn_att_batches(a) * sizes_of(a, 14).blocks;
    return blocks < n_threads ? (uint32_t)blocks : n_threads;
}

#if defined(__x86_64__)
qrn_status qrn_attention_many_avx512(const qrn_kcall *k) {
    return run(k, &qrn_gemm_f32_14x32_avx512, &qrn_att_vectors_avx512);
}
qrn_status qrn_attention_many_avx2(const qrn_kcall *k) {
    return run(k, &qrn_gemm_f32_6x32_avx2, &qrn_att_vectors_avx2);
}
#elif defined(__aarch64__)
qrn_status qrn_attention_many_neon(const qrn_kcall *k) {
    return run(k, &qrn_gemm_f32_6x32_neon, &qrn_att_vectors_neon);
}
#endif
