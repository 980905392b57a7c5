// SPDX-License-Identifier: MIT
//
// What is prepared in the same way for strips of all types.
#include "kernels/conv/depthwise_strips.h"

#include "kernels/gemm/epilogue/requant.h"

#include <string.h>

// What grid.h wants to know, in quarters of the work on a row of a block: input rows are read for
// several output rows, a block is packed, and a row in pieces is many calls of who goes on with it.
#define OF_ROW 1
#define OF_BLOCK 4
#define OF_PIECE 4

qrn_grid_part qrn_strip_part_of(const qrn_kcall *k, const qrn_conv_geometry *g,
                                uint32_t most_units) {
    size_t blocks = qrn_strip_blocks(g->cin, most_units), done = 0;
    bool apart = true;
    QRN_STRIP_BLOCKS(b, i, g->cin, most_units) {
        apart &= b.first == done;
        done = b.first + b.channels;
    }
    const qrn_grid_work w = {.rows = g->batch * (size_t)g->out[1],
                             .cols = apart ? blocks : 1,
                             .of_row = OF_ROW,
                             .of_col = OF_BLOCK,
                             .of_part = k->follower ? OF_PIECE : 0};
    qrn_grid_part p = qrn_grid_part_of(&w, k->task, k->n_tasks);
    if (!apart && p.c1)
        p.c1 = blocks;
    return p;
}

const int8_t *qrn_strip_weights(const qrn_view *w, size_t channels, int8_t *room) {
    bool plain = w->dtype == QRN_DTYPE_SQ8 && (w->quant->bits == 0 || w->quant->bits >= 8);
    for (size_t c = 0; plain && c < channels; c++)
        plain = qrn_group_offset(w->quant, c) == 0;
    if (plain)
        return w->data;
    for (size_t i = 0; i < qrn_view_count(w); i += channels)
        for (size_t c = 0; c < channels; c++) {
            int32_t v = qrn_q_load(w, i + c) + qrn_group_offset(w->quant, c);
            if (v < INT8_MIN || v > INT8_MAX)
                return NULL;
            room[i + c] = (int8_t)v;
        }
    return room;
}

void qrn_strip_pack(const qrn_strip_kernel *kernel, const qrn_conv_geometry *g,
                    const qrn_strip_shape *s, const qrn_strip_block *b, const int8_t *w,
                    uint8_t *packed) {
    static const int8_t zeros[QRN_STRIP_VECTOR];
    for (int64_t r = 0; r < s->together; r++)
        for (int64_t n = 0; n < s->groups; n++)
            for (int64_t t = 0; t < g->kernel[2]; t++) {
                const int8_t *row[4];
                for (int64_t i = 0; i < s->rows; i++) {
                    int64_t at = n * s->rows + i - r * g->stride[1] % s->rows; // of the window
                    bool inside = at >= 0 && at < g->kernel[1];
                    row[i] =
                        inside ? w + (size_t)(at * g->kernel[2] + t) * g->cin + b->first : zeros;
                }
                kernel->pack(b, row, packed);
                packed += b->units * QRN_STRIP_VECTOR;
            }
}

static bool has_three(const qrn_strip_plan *p, const qrn_strip_block *b) {
    const qrn_conv_geometry *g = &p->g;
    return b->channels * p->elem == QRN_STRIP_VECTOR && g->kernel[1] == 3 && g->kernel[2] == 3 &&
           g->dilation[1] == 1 && g->dilation[2] == 1 && g->stride[1] == g->stride[2] &&
           g->stride[1] <= 2 && g->out[2] >= QRN_STRIP_CELLS && g->before[2] <= 1 &&
           (g->out[2] - 1) * g->stride[2] + 2 - g->before[2] <= g->in[2];
}

bool qrn_strip_three(const qrn_strip_plan *p, const qrn_strip_block *b, size_t row, size_t n_rows,
                     const qrn_strip_tile_fn *step, const void *of) {
    const qrn_conv_geometry *g = &p->g;
    if (!has_three(p, b))
        return false;
    const int64_t s = g->stride[1], columns = (QRN_STRIP_CELLS - 1) * s + 3;
    const int64_t image = (int64_t)row / g->out[1], at = (int64_t)row % g->out[1];
    const int64_t bytes = (int64_t)(g->cin * p->elem);
    const uint8_t *x = (const uint8_t *)p->k->in[0]->data + b->first * p->elem;
    uint8_t *y = (uint8_t *)p->k->out[0]->data + b->first * p->elem;
    qrn_strip_tile t = {.pad = p->outside};
    for (int64_t r = at; r < at + (int64_t)n_rows; r++)
        for (int64_t cell = 0; cell < g->out[2]; cell += QRN_STRIP_CELLS) {
            // The last tile may compute some cells again.
            const bool fits = cell + QRN_STRIP_CELLS <= g->out[2];
            const int64_t o = fits ? cell : g->out[2] - QRN_STRIP_CELLS;
            const int64_t from = o * s - g->before[2];
            t.left = from < 0;
            t.right = from + columns > g->in[2];
            for (int64_t i = 0; i < 3; i++) {
                int64_t line = r * s - g->before[1] + i;
                bool inside = line >= 0 && line < g->in[1];
                t.x[i] =
                    inside ? x + ((image * g->in[1] + line) * g->in[2] + from) * bytes : p->outside;
            }
            t.y = y + ((image * g->out[1] + r) * g->out[2] + o) * bytes;
            step[s - 1](&t, of);
        }
    return true;
}
