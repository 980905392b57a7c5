// SPDX-License-Identifier: MIT
//
// Matmul of 16-bit values by such of 16 or 8 bits, with both factors packed on the way. A unit of
// work is (batch entry, group of panels, part of the rows); rows are only cut where there are fewer
// units than tasks.
#include "kernels/gemm/matmul/matmul_q16.h"

#include "kernels/gemm/tiles/gemm_q16.h"
#include "kernels/gemm/matmul/matmul.h"
#include "kernels/gemm/epilogue/requant.h"
#include "kernels/gemm/epilogue/requant16_avx512.h"

#define GROUP_BYTES (384 * 1024) // of packed panels: they stay in the second cache
#define BLOCK_ROWS 96            // of a that are done together: whole tiles
#define DEPTH_MAX 65535          // sums of words fit 32 bits

static bool plain_q(const qrn_view *v) {
    uint32_t bits = qrn_dtypes[v->dtype].bits;
    return v->quant->bits == 0 || v->quant->bits >= bits;
}

bool qrn_matmul_q16_works(const qrn_kcall *k) {
    const qrn_view *a = k->in[0], *b = k->in[1], *c = k->out[0];
    size_t depth = qrn_matmul_geometry_of(k).depth;
    return qrn_dtypes[a->dtype].bits == 16 && qrn_dtypes[b->dtype].bits >= 8 && plain_q(a) &&
           plain_q(b) && plain_q(c) && qrn_view_elem(c) <= 2 && !(k->n_in > 2 && k->in[2]) &&
           b->quant->kind == QRN_QUANT_TENSOR && depth > 0 && depth <= DEPTH_MAX;
}

// A call brought to the terms of gemm_q16.h, with this task's part of the scratch. Arrays of parts
// are [parts], a part being QRN_Q16_DEPTH of the depth.
typedef struct job {
    const qrn_kcall *k;
    qrn_matmul_geometry geo;
    size_t steps, parts, group; // of the depth; panels packed at a time
    uint16_t a_flip, b_flip;    // make the operands signed
    int64_t a_offset, b_offset; // of operands so made
    qrn_requant out;
    bool bytes;    // b has 8 bits, which are widened to signed words
    bool wild;     // results may not fit 32 bits before they are clamped
    bool low_rows; // terms of rows are low parts alone and stay in the rest
    // scratch
    qrn_q16_terms columns, rows; // [group][parts][32], [parts][BLOCK_ROWS]
    int8_t *panels;              // [group][steps]
    uint8_t *packed;             // rows: per part [BLOCK_ROWS][steps of the part]
} job;

static bool is_signed(const qrn_view *v) { return qrn_dtypes[v->dtype].cls == QRN_CLASS_SFIXED; }

// No result is larger in magnitude, clamped or not. NaN where scales are infinite.
static double largest(const job *j) {
    double a = 32768 + fabs((double)j->a_offset), b = 32768 + fabs((double)j->b_offset);
    return fabs(j->out.zero_half) + (double)j->geo.depth * a * b * fabs(j->out.m);
}

static job job_of(const qrn_kcall *k) {
    const qrn_view *a = k->in[0], *b = k->in[1];
    job j = {.k = k, .geo = qrn_matmul_geometry_of(k)};
    j.steps = qrn_q16_steps(j.geo.depth);
    j.parts = (j.geo.depth + QRN_Q16_DEPTH - 1) / QRN_Q16_DEPTH;
    j.group = GROUP_BYTES / (j.steps * QRN_Q16_PANEL_STEP);
    if (j.group > qrn_panels(j.geo.cols))
        j.group = qrn_panels(j.geo.cols);
    j.group = j.group ? j.group : 1;
    j.a_flip = is_signed(a) ? 0 : 0x8000;
    j.bytes = qrn_dtypes[b->dtype].bits == 8;
    j.b_flip = is_signed(b) || j.bytes ? 0 : 0x8000;
    j.a_offset = (int64_t)a->quant->offset + j.a_flip;
    j.b_offset = (int64_t)b->quant->offset + j.b_flip;
    j.out = qrn_requant_of(a, b, 0, k->out[0]);
    j.wild = !(largest(&j) < 0x1p30);
    j.low_rows = j.b_offset == 0 && j.geo.depth <= QRN_Q16_DEPTH_LOW;
    return j;
}

// Where the parts of a task's scratch begin, in bytes.
typedef struct layout {
    size_t columns_high, rows, rows_high, panels, packed, end;
} layout;

static layout layout_of(const job *j) {
    size_t columns = j->group * j->parts * QRN_PANEL * sizeof(int32_t);
    size_t rows = j->parts * BLOCK_ROWS * sizeof(int32_t);
    layout l = {.columns_high = columns, .rows = 2 * columns};
    l.rows_high = l.rows + rows;
    l.panels = l.rows_high + rows;
    l.packed = l.panels + j->group * j->steps * QRN_Q16_PANEL_STEP;
    l.end = (l.packed + BLOCK_ROWS * j->steps * QRN_Q16_ROW_STEP + 63) / 64 * 64;
    return l;
}

size_t qrn_matmul_q16_scratch(const qrn_kcall *k) {
    job j = job_of(k);
    return k->n_tasks * layout_of(&j).end;
}

static void take_scratch(job *j) {
    layout l = layout_of(j);
    char *at = (char *)j->k->scratch + j->k->task * l.end;
    j->columns = (qrn_q16_terms){(int32_t *)(void *)at, (int32_t *)(void *)(at + l.columns_high)};
    j->rows =
        (qrn_q16_terms){(int32_t *)(void *)(at + l.rows), (int32_t *)(void *)(at + l.rows_high)};
    j->panels = (int8_t *)(at + l.panels);
    j->packed = (uint8_t *)(at + l.packed);
}

static size_t depth_of(const job *j, size_t part) {
    size_t left = j->geo.depth - part * QRN_Q16_DEPTH;
    return left < QRN_Q16_DEPTH ? left : QRN_Q16_DEPTH;
}

// 8-bit values as words, with neighbours in depth or in the row beside each other as they were.
static void widen(const qrn_view *b, size_t from, qrn_q16_columns *c, uint16_t *words) {
    bool deep = c->b_depth == 1, sign = is_signed(b);
    size_t lines = deep ? c->n : c->depth, n = deep ? c->depth : c->n;
    size_t stride = deep ? c->b_col : c->b_depth;
    for (size_t i = 0; i < lines; i++) {
        const uint8_t *src = (const uint8_t *)b->data + from + i * stride;
        for (size_t k = 0; k < n; k++)
            words[i * n + k] = sign ? (uint16_t)(int16_t)(int8_t)src[k] : src[k];
    }
    c->data = words;
    *(deep ? &c->b_col : &c->b_depth) = n;
}

// Columns [col, col + 32) of the matrix at element b as panel number `panel` of the group, with
// their terms.
static void pack_panel(const job *j, size_t b, size_t col, size_t panel) {
    const qrn_matmul_geometry *g = &j->geo;
    size_t left = g->cols - col;
    int8_t *dst = j->panels + panel * j->steps * QRN_Q16_PANEL_STEP;
    for (size_t part = 0; part < j->parts; part++) {
        size_t depth = depth_of(j, part), at = (panel * j->parts + part) * QRN_PANEL;
        int32_t sums[QRN_PANEL], high[QRN_PANEL];
        uint16_t words[QRN_Q16_DEPTH * QRN_PANEL];
        size_t from = b + col * g->b_col + part * QRN_Q16_DEPTH * g->b_depth;
        qrn_q16_columns c = {.data = (const uint16_t *)j->k->in[1]->data + (j->bytes ? 0 : from),
                             .b_depth = g->b_depth,
                             .b_col = g->b_col,
                             .depth = depth,
                             .n = (uint32_t)(left < QRN_PANEL ? left : QRN_PANEL),
                             .flip = j->b_flip};
        if (j->bytes)
            widen(j->k->in[1], from, &c, words);
        qrn_q16_pack_columns_avx512vnni(&c, dst, sums, high);
        dst += qrn_q16_steps(depth) * QRN_Q16_PANEL_STEP;
        for (uint32_t i = 0; i < QRN_PANEL; i++) {
            int64_t low = 16384 * (int64_t)depth - 255 * 32768 * (int64_t)high[i];
            int64_t more = j->a_offset * (sums[i] + (int64_t)depth * j->b_offset);
            j->columns.words[at + i] = (int32_t)((uint32_t)more ^ (uint32_t)QRN_REQUANT16_FLIP);
            j->columns.high[at + i] =
                (int32_t)((uint32_t)((low + more) >> 16) ^ (uint32_t)QRN_REQUANT16_FLIP);
        }
    }
}

// Rows [row, row + n) of the matrix at element a with their terms.
static void pack_rows(const job *j, size_t a, size_t row, size_t n) {
    const qrn_matmul_geometry *g = &j->geo;
    bool offset = j->b_offset != 0;
    for (size_t part = 0; part < j->parts; part++) {
        size_t depth = depth_of(j, part), at = part * BLOCK_ROWS;
        int32_t sums[BLOCK_ROWS], high[BLOCK_ROWS];
        qrn_q16_rows r = {.data = (const uint16_t *)j->k->in[0]->data + a + row * g->a_row +
                                  part * QRN_Q16_DEPTH * g->a_depth,
                          .a_row = g->a_row,
                          .a_depth = g->a_depth,
                          .n = n,
                          .depth = depth,
                          .flip = j->a_flip};
        qrn_q16_pack_rows_avx512vnni(
            &r, j->packed + part * BLOCK_ROWS * (QRN_Q16_DEPTH / QRN_Q16_STEP) * QRN_Q16_ROW_STEP,
            offset ? sums : NULL, high);
        for (size_t i = 0; i < n; i++) {
            int64_t low = (high[i] - 128 * (int32_t)depth) * INT64_C(32768);
            int64_t more = offset ? j->b_offset * sums[i] : 0;
            j->rows.words[at + i] = (int32_t)(uint32_t)more;
            j->rows.high[at + i] = (int32_t)((low + more) >> 16);
        }
    }
}

// n packed rows times one packed panel of `cols` columns; y is their first result.
static void run_panel(const job *j, size_t n, size_t panel, size_t cols, size_t y) {
    const qrn_view *c = j->k->out[0];
    double sum[QRN_Q16_TILE * QRN_PANEL];
    size_t step = j->parts > 1 ? QRN_Q16_TILE : n;
    for (size_t r = 0; r < n; r += step) {
        qrn_q16_tile t = {.sum = sum,
                          .m = j->out.m,
                          .zero_half = j->out.zero_half,
                          .lo = j->out.lo,
                          .hi = j->out.hi,
                          .wild = j->wild,
                          .y_row = j->geo.cols,
                          .elem = qrn_view_elem(c),
                          .rows = (uint32_t)(n - r < step ? n - r : step),
                          .cols = (uint32_t)cols};
        t.y = (char *)c->data + (y + r * t.y_row) * t.elem;
        for (size_t part = 0; part < j->parts; part++) {
            size_t before = part * (QRN_Q16_DEPTH / QRN_Q16_STEP);
            size_t at = (panel * j->parts + part) * QRN_PANEL;
            t.steps = qrn_q16_steps(depth_of(j, part));
            t.a = j->packed + (BLOCK_ROWS * before + r * t.steps) * QRN_Q16_ROW_STEP;
            t.b = j->panels + (panel * j->steps + before) * QRN_Q16_PANEL_STEP;
            t.column = (qrn_q16_terms){j->columns.words + at, j->columns.high + at};
            at = part * BLOCK_ROWS + r;
            if (!j->low_rows)
                t.row = (qrn_q16_terms){j->rows.words + at, j->rows.high + at};
            t.first = part == 0;
            t.last = part + 1 == j->parts;
            qrn_q16_tile_avx512vnni(&t);
        }
    }
}

static void run_unit(const job *j, const qrn_matmul_unit *u) {
    const qrn_matmul_geometry *g = &j->geo;
    size_t left = g->cols - u->col, most = j->group * QRN_PANEL, a, b;
    size_t cols = left < most ? left : most;
    qrn_matmul_batch(g, u->batch, &a, &b);
    for (size_t col = 0; col < cols; col += QRN_PANEL)
        pack_panel(j, b, u->col + col, col / QRN_PANEL);
    for (size_t row = u->row; row < u->end; row += BLOCK_ROWS) {
        size_t n = u->end - row < BLOCK_ROWS ? u->end - row : BLOCK_ROWS;
        size_t y = (u->batch * g->rows + row) * g->cols + u->col;
        pack_rows(j, a, row, n);
        for (size_t col = 0; col < cols; col += QRN_PANEL)
            run_panel(j, n, col / QRN_PANEL, cols - col < QRN_PANEL ? cols - col : QRN_PANEL,
                      y + col);
    }
}

qrn_status qrn_matmul_q16_avx512vnni(const qrn_kcall *k) {
    job j = job_of(k);
    take_scratch(&j);
    qrn_matmul_share s = qrn_matmul_share_of(&j.geo, j.group * QRN_PANEL, k);
    for (size_t i = s.begin; i < s.end; i++) {
        qrn_matmul_unit u = qrn_matmul_unit_at(&j.geo, &s, i);
        run_unit(&j, &u);
    }
    return QRN_OK;
}
