// SPDX-License-Identifier: MIT
//
// Transposed convolutions as a plain one for each phase. Lines of all phases are computed some at a
// time, in scratch that stays in a near cache, and put into the lines of the result.
//
// Phase p of a dimension with stride s has the outputs p + s*q and, with k0 = (p + before) % s, the
// taps k0, k0 + s ...: n of them. Tap k0 + s*m reads input q + (p + before) / s - m, so that the
// taps in reverse are a window of the input with n - 1 - (p + before) / s cells before it.
#include "kernels/gemm/dense/dense_phases.h"

#include "kernels/gemm/dense/dense8.h"
#include "kernels/gemm/dense/dense_planes.h"
#include "kernels/gemm/tiles/gemm_q8.h"

#include <string.h>

#define BLOCK_BYTES (64 * 1024) // of lines of a phase
#define STEP_BYTES (QRN_PANEL * QRN_Q8_DEPTH)
#define SUMMED 255 // bytes that 16 bits can sum
#define MOST_IN 7

// A phase of a dimension.
typedef struct side {
    uint32_t number, first, taps, before; // p, k0, n
    size_t cells;                         // of the output
} side;

// A phase, lines and columns. What its weights and their sums take of the scratch.
typedef struct phase {
    side line, column;
    size_t weight_bytes, sum_bytes;
} phase;

typedef struct job {
    const qrn_phase_family *f;
    const qrn_kcall *k;
    const qrn_dense_args *a;
    size_t cin, cout, panels, elem; // bytes of a result
    size_t batch, in_h, in_w, out_h, out_w;
    uint64_t n_phases;
    size_t lines, block;       // of a phase at most; that are done at a time
    size_t packed, sub, bytes; // of a task's scratch: weights; weights and results; all
} job;

static side side_of(const qrn_dense_args *a, int i, uint32_t p, size_t out) {
    uint64_t s = a->conv.stride[i], at = (uint64_t)p + a->conv.before[i];
    side r = {.number = p, .first = (uint32_t)(at % s)};
    r.taps = r.first < a->kernel[i] ? (uint32_t)((a->kernel[i] - r.first + s - 1) / s) : 0;
    r.before = at / s < r.taps ? r.taps - 1 - (uint32_t)(at / s) : UINT32_MAX;
    r.cells = out > p ? (out - p + s - 1) / s : 0;
    return r;
}

bool qrn_dense_phases_fit(const qrn_dense_args *a, const qrn_kcall *k) {
    if (a->rows || !a->conv.transposed || a->conv.n_spatial != 2 || a->group != 1 ||
        k->n_in > MOST_IN || k->in[0]->dims[3] % QRN_Q8_DEPTH ||
        (uint64_t)a->conv.stride[0] * a->conv.stride[1] < 2 || qrn_view_count(k->in[0]) == 0 ||
        qrn_view_count(k->out[0]) == 0)
        return false;
    for (int i = 0; i < 2; i++) {
        if (a->conv.dilation[i] != 1 || a->kernel[i] < a->conv.stride[i])
            return false;
        for (uint32_t p = 0; p < a->conv.stride[i]; p++) {
            side s = side_of(a, i, p, 1);
            if (s.taps == 0 || s.before == UINT32_MAX)
                return false;
        }
    }
    return true;
}

static size_t aligned(size_t n) { return (n + 63) / 64 * 64; }

// Phase i, which is less than n_phases.
static phase phase_of(const job *j, uint64_t i) {
    const uint32_t across = j->a->conv.stride[1];
    phase p = {.line = side_of(j->a, 0, (uint32_t)(i / across), j->out_h),
               .column = side_of(j->a, 1, (uint32_t)(i % across), j->out_w),
               .sum_bytes = aligned(j->cout * sizeof(int32_t))};
    p.weight_bytes =
        j->panels * qrn_q8_steps((size_t)p.line.taps * p.column.taps * j->cin) * STEP_BYTES;
    return p;
}

// The call of some lines of a phase.
typedef struct phase_call {
    union {
        qrn_dense_args dense;
        qrn_dense8_args bytes;
        qrn_dense_planes_args planes;
    } args;
    qrn_view x, w, sums, y, *in[MOST_IN], *out[1];
    qrn_kcall k;
} phase_call;

static void begin_call(const job *j, const phase *p, phase_call *c) {
    const qrn_kcall *k = j->k;
    memcpy(&c->args, k->args, j->f->args_bytes);
    qrn_dense_args *a = &c->args.dense;
    a->conv.transposed = false;
    a->depth = p->line.taps * p->column.taps * (uint32_t)j->cin;
    a->conv.stride[0] = a->conv.stride[1] = 1;
    a->conv.before[0] = p->line.before;
    a->conv.before[1] = p->column.before;
    a->kernel[0] = p->line.taps;
    a->kernel[1] = p->column.taps;
    c->x = *k->in[0];
    c->w = *k->in[1];
    c->sums = *k->in[2];
    c->y = *k->out[0];
    memcpy(c->in, k->in, k->n_in * sizeof *c->in);
    c->in[0] = &c->x;
    c->in[1] = &c->w;
    c->in[2] = &c->sums;
    c->out[0] = &c->y;
    c->x.dims[0] = c->y.dims[0] = 1;
    c->y.dims[2] = (uint32_t)p->column.cells;
    c->k = (qrn_kcall){
        .args = &c->args, .in = c->in, .out = c->out, .n_in = k->n_in, .n_out = 1, .n_tasks = 1};
}

// n lines of the phase from line `from` on.
static void set_lines(const job *j, const phase *p, size_t image, size_t from, size_t n,
                      phase_call *c) {
    const side *s = &p->line;
    uint32_t *before = c->args.dense.conv.before;
    // Lines of x from the first one on that the window of line `from` meets; where it is beyond the
    // last one, any line will do that lies below all windows.
    size_t first = from > s->before ? from - s->before : 0;
    size_t end = from + n + s->taps - 1 - s->before;
    bool beyond = first >= j->in_h;
    first = beyond ? 0 : first;
    end = beyond ? 1 : end < j->in_h ? end : j->in_h;
    before[0] = from < s->before ? s->before - (uint32_t)from : 0;
    if (beyond)
        before[0] = (uint32_t)n + s->taps;
    c->x.data = (char *)j->k->in[0]->data +
                (image * j->in_h + first) * j->in_w * j->cin * qrn_view_elem(&c->x);
    c->x.dims[1] = (uint32_t)(end - first);
    c->y.dims[1] = (uint32_t)n;
}

// What the family wants for a phase: as many cells as a block can have, gathered. Smaller images
// never need more, whatever the lines of their blocks.
static size_t family_scratch(const job *j, const phase *p) {
    phase_call c;
    begin_call(j, p, &c);
    size_t cells = BLOCK_BYTES / (j->cout * j->elem) + 1;
    cells = cells < p->column.cells ? p->column.cells : cells;
    cells += cells == j->in_w;
    c.y.dims[1] = c.x.dims[1] = 1;
    c.y.dims[2] = (uint32_t)cells;
    return j->f->scratch(&c.k) + j->f->more;
}

static job job_of(const qrn_phase_family *f, const qrn_kcall *k) {
    const qrn_view *x = k->in[0], *y = k->out[0];
    job j = {.f = f, .k = k, .a = k->args, .elem = qrn_view_elem(y)};
    const uint32_t *stride = j.a->conv.stride;
    j.cin = x->dims[3];
    j.cout = y->dims[3];
    j.panels = qrn_panels(j.a->cols);
    j.batch = y->dims[0];
    j.in_h = x->dims[1];
    j.in_w = x->dims[2];
    j.out_h = y->dims[1];
    j.out_w = y->dims[2];
    j.n_phases = (uint64_t)stride[0] * stride[1];
    j.lines = (j.out_h + stride[0] - 1) / stride[0];
    size_t line = (j.out_w + stride[1] - 1) / stride[1] * j.cout * j.elem, family = 0;
    j.block = line && line < BLOCK_BYTES ? BLOCK_BYTES / line : 1;
    for (uint64_t i = 0; i < j.n_phases; i++) {
        phase p = phase_of(&j, i);
        size_t bytes = family_scratch(&j, &p);
        family = bytes > family ? bytes : family;
        j.packed += p.weight_bytes + p.sum_bytes;
    }
    j.sub = j.packed + aligned(line > BLOCK_BYTES ? line : BLOCK_BYTES);
    j.bytes = aligned(j.sub + family);
    return j;
}

size_t qrn_dense_phases_scratch(const qrn_phase_family *f, const qrn_kcall *k) {
    return k->n_tasks * job_of(f, k).bytes;
}

// Sums of the bytes of each column of a panel.
static void sum_columns(const int8_t *b, size_t steps, int32_t sums[QRN_PANEL]) {
    memset(sums, 0, QRN_PANEL * sizeof *sums);
    for (size_t n; steps; steps -= n) {
        int16_t part[STEP_BYTES] = {0};
        n = steps < SUMMED ? steps : SUMMED;
        for (size_t i = 0; i < n; i++, b += STEP_BYTES)
            for (size_t e = 0; e < STEP_BYTES; e++)
                part[e] = (int16_t)(part[e] + b[e]);
        for (size_t e = 0; e < STEP_BYTES; e++)
            sums[e / QRN_Q8_DEPTH] += part[e];
    }
}

// The weights of a phase and, behind them, their sums.
static void pack_phase(const job *j, const phase *p, char *room) {
    const qrn_dense_args *a = j->a;
    const size_t tap = j->cin / QRN_Q8_DEPTH * STEP_BYTES, panel = p->weight_bytes / j->panels;
    const size_t from_panel = qrn_q8_steps(a->depth) * STEP_BYTES;
    int8_t *to = (int8_t *)room;
    int32_t *sums = (int32_t *)(void *)(room + p->weight_bytes);
    for (size_t u = 0; u < j->panels; u++, to += panel) {
        const int8_t *from = (const int8_t *)j->k->in[1]->data + u * from_panel;
        int8_t *at = to;
        for (uint32_t y = p->line.taps; y-- > 0;)
            for (uint32_t x = p->column.taps; x-- > 0; at += tap) {
                size_t ky = p->line.first + (size_t)y * a->conv.stride[0];
                size_t kx = p->column.first + (size_t)x * a->conv.stride[1];
                memcpy(at, from + (ky * a->kernel[1] + kx) * tap, tap);
            }
        memset(at, 0, (size_t)(to + panel - at));
        int32_t of[QRN_PANEL];
        sum_columns(to, panel / STEP_BYTES, of);
        size_t left = j->cout - u * QRN_PANEL;
        memcpy(sums + u * QRN_PANEL, of, (left < QRN_PANEL ? left : QRN_PANEL) * sizeof *of);
    }
}

// Cells of n lines of a phase, from line `line` on, to their places.
static void put_lines(const job *j, const phase *p, const char *from, size_t image, size_t line,
                      size_t n) {
    const size_t bytes = j->cout * j->elem, cells = p->column.cells;
    for (size_t i = 0; i < n; i++, from += cells * bytes) {
        size_t y = (line + i) * j->a->conv.stride[0] + p->line.number;
        size_t cell = (image * j->out_h + y) * j->out_w + p->column.number;
        qrn_dense_copy((char *)j->k->out[0]->data + cell * bytes, j->a->conv.stride[1] * bytes,
                       from, bytes, cells, bytes);
    }
}

// Lines [line, line + most) of all phases of an image, as far as they exist.
static qrn_status run_lines(const job *j, const void *kernel, char *scratch, size_t image,
                            size_t line, size_t most) {
    char *packed = scratch;
    phase_call c;
    for (uint64_t i = 0; i < j->n_phases; i++) {
        phase p = phase_of(j, i);
        size_t n = p.line.cells > line ? p.line.cells - line : 0;
        n = n < most ? n : most;
        if (n && p.column.cells) {
            begin_call(j, &p, &c);
            set_lines(j, &p, image, line, n, &c);
            c.w.data = packed;
            c.sums.data = packed + p.weight_bytes;
            c.y.data = scratch + j->packed;
            c.k.scratch = scratch + j->sub;
            QRN_TRY(j->f->run(&c.k, kernel));
            put_lines(j, &p, c.y.data, image, line, n);
        }
        packed += p.weight_bytes + p.sum_bytes;
    }
    return QRN_OK;
}

qrn_status qrn_dense_phases_run(const qrn_phase_family *f, const qrn_kcall *k, const void *kernel) {
    const job j = job_of(f, k);
    char *scratch = (char *)k->scratch + k->task * j.bytes, *packed = scratch;
    const size_t step = j.a->conv.stride[0], of_line = j.out_w * j.cout;
    size_t begin, end, n;
    qrn_split(j.batch * j.lines, 1, k->task, k->n_tasks, &begin, &end);
    for (uint64_t i = 0; i < j.n_phases && begin < end; i++) {
        phase p = phase_of(&j, i);
        pack_phase(&j, &p, packed);
        packed += p.weight_bytes + p.sum_bytes;
    }
    for (size_t at = begin; at < end; at += n) {
        size_t image = at / j.lines, line = at % j.lines, left = j.lines - line;
        n = left < j.block ? left : j.block;
        n = n < end - at ? n : end - at;
        QRN_TRY(run_lines(&j, kernel, scratch, image, line, n));
        size_t last = (line + n) * step < j.out_h ? (line + n) * step : j.out_h;
        qrn_report(k, (image * j.out_h + line * step) * of_line,
                   (image * j.out_h + last) * of_line);
    }
    return QRN_OK;
}
