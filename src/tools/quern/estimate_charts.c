// SPDX-License-Identifier: MIT
//
// Charts of an estimate's page, as SVG: a timeline with one track for each engine, bars, and a
// roofline.
#include "tools/quern/estimate_page.h"
#include "tools/quern/page_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 1000      // of the charts
#define MAX_SLICES 1200 // drawn on the timeline; shorter steps are drawn together
#define MAX_OPS 12      // types of ops with a bar
#define BAR_LEFT 190.0

// --- the timeline

enum { ROW_MATRIX, ROW_VECTOR, ROW_OVERHEAD, ROW_MEMORY, N_TRACKS };

static const struct {
    const char *label, *css;
} tracks[N_TRACKS] = {{"matrix (HMX)", "matrix"},
                      {"vector (HVX)", "vector"},
                      {"start, steps", "overhead"},
                      {"memory (DMA)", "memory"}};

#define LEFT 110.0
#define RIGHT 30
#define TRACK 34

// Slices of one track that are being drawn; short neighbours are put into one.
typedef struct pen {
    FILE *f;
    double scale, least; // pixels per us; the shortest slice to draw by itself
    int track;
    double from, to, busy; // of what is put together; from < 0: nothing
    uint32_t n;
} pen;

// `share` of the time between is busy: the paler the less.
static void rect(const pen *p, double from, double to, double share, const char *css) {
    fprintf(p->f, "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"22\" class=\"%s\"",
            LEFT + from * p->scale, p->track * TRACK + 6, fmax(0.3, (to - from) * p->scale), css);
    if (share < 0.99)
        fprintf(p->f, " opacity=\"%.2f\"", fmax(0.15, share));
    fputs("><title>", p->f);
}

static void flush(pen *p) {
    if (p->from >= 0) {
        double share = p->to > p->from ? p->busy / (p->to - p->from) : 1;
        rect(p, p->from, p->to, share, tracks[p->track].css);
        fprintf(p->f, "%u short steps, busy for %.0f %%</title></rect>", p->n, 100 * share);
    }
    p->from = -1;
    p->busy = 0;
    p->n = 0;
}

static void draw(pen *p, const char *name, double from, double us) {
    if (us <= 0)
        return;
    if (us >= p->least) {
        flush(p);
        rect(p, from, from + us, 1, tracks[p->track].css);
        qt_page_put(p->f, name);
        fprintf(p->f, ": %.1f us</title></rect>", us);
        return;
    }
    if (p->from >= 0 && from - p->to > p->least)
        flush(p);
    p->from = p->from < 0 ? from : p->from;
    p->to = from + us;
    p->busy += us;
    p->n++;
}

static void put_axis(FILE *f, double us, double scale) {
    double step = pow(10, floor(log10(us / 4)));
    while (us / step > 8)
        step *= us / step > 20 ? 5 : 2;
    for (int i = 0; i * step <= us; i++) {
        double x = LEFT + i * step * scale;
        fprintf(f,
                "<line class=\"axis tick\" x1=\"%.1f\" x2=\"%.1f\" y1=\"0\" y2=\"%d\"/><text "
                "class=\"d tick\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>",
                x, x, (N_TRACKS + 1) * TRACK, x, (N_TRACKS + 1) * TRACK + 16, i * step / 1e3);
    }
}

// The VTCM over time, as an area: the most of each pixel.
static void put_occupancy(FILE *f, const qt_estimates *r, double scale) {
    const uint32_t *taken = qd_occupancy(&r->plan, r->net->graph.arena);
    double top = N_TRACKS * TRACK + 4, high = TRACK - 8, most[WIDTH] = {0};
    for (uint32_t i = 0; taken && i < r->plan.n_slots; i++) {
        double from = LEFT + r->plan.slots[i].begin * scale,
               to = LEFT + r->plan.slots[i].end * scale;
        for (int x = (int)fmax(0, from); x <= (int)to && x < WIDTH; x++)
            most[x] = fmax(most[x], taken[i]);
    }
    fprintf(f, "<text x=\"0\" y=\"%.0f\">VTCM, %.0f MB</text><path class=\"vtcm\" d=\"M%.0f %.0f",
            top + 18, r->plan.vtcm_bytes / 1048576.0, LEFT, top + high);
    for (int x = 0, last = -1; x < WIDTH; x++) {
        int y = (int)lround(high * most[x] / fmax(1, r->plan.vtcm_bytes));
        if (y != last && x >= LEFT)
            fprintf(f, "H%dV%.0f", x, top + high - y);
        last = y;
    }
    fprintf(f, "H%dV%.0fZ\"/>", WIDTH - RIGHT, top + high);
}

void qt_page_timeline(FILE *f, const qt_estimates *r) {
    const qd_estimate *e = &r->rows[0].e;
    double scale = (WIDTH - LEFT - RIGHT) / e->us;
    fprintf(f,
            "<section><h2>Timeline</h2><div class=\"scroll\"><svg id=\"timeline\" "
            "viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"Timeline\" data-left=\"%.0f\" "
            "data-right=\"%d\">",
            WIDTH, (N_TRACKS + 1) * TRACK + 40, LEFT, WIDTH - RIGHT);
    put_axis(f, e->us, scale);
    fprintf(f, "<text class=\"d\" x=\"%.0f\" y=\"%d\" text-anchor=\"middle\">time, ms</text>",
            (LEFT + WIDTH - RIGHT) / 2, (N_TRACKS + 1) * TRACK + 34);
    for (int k = 0; k < N_TRACKS; k++) {
        pen p = {f, scale, e->us / MAX_SLICES, k, -1, 0, 0, 0};
        fprintf(f, "<text x=\"0\" y=\"%d\">%s</text>", k * TRACK + 22, tracks[k].label);
        if (k == ROW_OVERHEAD) {
            rect(&p, 0, e->start, 1, "start");
            fprintf(f, "start: %.1f us</title></rect>", e->start);
        }
        for (uint32_t i = 0; i < r->plan.n_slots; i++) {
            const qd_slot *x = &r->plan.slots[i];
            if (k == ROW_OVERHEAD)
                draw(&p, x->name, x->begin, x->control);
            else if (k == ROW_MEMORY) {
                draw(&p, x->name, x->fetch.begin, x->fetch.end - x->fetch.begin);
                draw(&p, x->name, x->swap.begin, x->swap.end - x->swap.begin);
            } else if ((k == ROW_MATRIX) == (x->kind == QD_MATRIX))
                draw(&p, x->name, x->run, x->end - x->run);
        }
        flush(&p);
    }
    put_occupancy(f, r, scale);
    fputs("</svg></div><p class=\"dim\">Steps follow each other; traffic to memory "
          "runs in parallel. VTCM: memory in use, modelled.</p></section>",
          f);
}

// --- bars

static void put_bar(FILE *f, int row, const char *label, double us, double most, const char *css) {
    double wide = WIDTH - BAR_LEFT - 100;
    fprintf(f,
            "<text x=\"0\" y=\"%d\">%s</text><rect x=\"%.0f\" y=\"%d\" width=\"%.1f\" "
            "height=\"16\" class=\"%s\"/><text x=\"%.1f\" y=\"%d\">%.1f us</text>",
            row * 24 + 16, label, BAR_LEFT, row * 24 + 4, us / most * wide, css,
            BAR_LEFT + us / most * wide + 8, row * 24 + 16, us);
}

static void begin_bars(FILE *f, const char *title, int n) {
    fprintf(f,
            "<section><h2>%s</h2><div class=\"scroll\"><svg viewBox=\"0 0 %d %d\" role=\"img\" "
            "aria-label=\"%s\">",
            title, WIDTH, n * 24, title);
}

static void put_classes(FILE *f, const qt_estimates *r) {
    const qd_estimate *e = &r->rows[0].e;
    double by_class[QD_CLASSES] = {0}, most = fmax(e->start, fmax(e->memory, e->sum.overhead));
    int n = 3, row = 0;
    for (uint32_t i = 0; i < r->net->steps.n; i++)
        by_class[r->net->steps.list[i].kind] += e->steps[i].matrix + e->steps[i].vector;
    for (int k = 0; k < QD_CLASSES; k++) {
        most = fmax(most, by_class[k]);
        n += by_class[k] > 0;
    }
    begin_bars(f, "Where the time goes", n);
    for (int k = 0; k < QD_CLASSES; k++)
        if (by_class[k] > 0)
            put_bar(f, row++, qd_class_names[k], by_class[k], most,
                    k == QD_MATRIX ? "matrix" : "vector");
    put_bar(f, row++, "overhead of steps", e->sum.overhead, most, "overhead");
    put_bar(f, row++, "start", e->start, most, "start");
    put_bar(f, row, "memory", e->memory, most, "memory");
    fputs(
        "</svg></div><p class=\"dim\">Memory traffic overlaps with the other parts.</p></section>",
        f);
}

// Ops of one type: steps that are named by them.
typedef struct op_sum {
    const char *type;
    double us;
    uint32_t n;
    bool matrix;
} op_sum;

static int longest(const void *a, const void *b) {
    const op_sum *x = a, *y = b;
    return x->us > y->us ? -1 : x->us < y->us ? 1 : strcmp(x->type, y->type);
}

// There are some 160 types of ops at most; further ones would not be among the longest.
static uint32_t sum_ops(const qt_estimates *r, op_sum *out, uint32_t cap) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->net->steps.n; i++) {
        const qd_step *s = &r->net->steps.list[i];
        uint32_t k = 0;
        while (k < n && strcmp(out[k].type, s->op->type) != 0)
            k++;
        if (k == cap)
            continue;
        if (k == n)
            out[n++] = (op_sum){s->op->type, 0, 0, s->kind == QD_MATRIX};
        out[k].us += qd_core(&r->rows[0].e.steps[i]);
        out[k].n++;
    }
    if (n)
        qsort(out, n, sizeof *out, longest);
    return n;
}

static void put_ops(FILE *f, const qt_estimates *r) {
    op_sum list[256];
    char label[64];
    uint32_t n = sum_ops(r, list, sizeof list / sizeof list[0]);
    n = n < MAX_OPS ? n : MAX_OPS;
    if (!n)
        return;
    begin_bars(f, "By op", (int)n);
    for (uint32_t i = 0; i < n; i++) {
        snprintf(label, sizeof label, "%u x %.24s", list[i].n, list[i].type);
        put_bar(f, (int)i, label, list[i].us, list[0].us, list[i].matrix ? "matrix" : "vector");
    }
    fputs("</svg></div><p class=\"dim\">Steps by op, including the ops fused into them and their "
          "overhead, without memory traffic.</p></section>",
          f);
}

void qt_page_bars(FILE *f, const qt_estimates *r) {
    put_classes(f, r);
    put_ops(f, r);
}

// --- the roofline

#define HIGH 320.0 // of the chart
#define FOOT 44.0

// A logarithmic scale over whole decades.
typedef struct decades {
    double from, to; // log10
} decades;

static double along(decades d, double v) {
    return fmin(1, fmax(0, (log10(v) - d.from) / (d.to - d.from)));
}

// MACs of a step for each byte that memory or the step before gives it, and MACs per second.
static bool place(const qt_estimates *r, uint32_t i, double *x, double *y) {
    const qd_step *s = &r->net->steps.list[i];
    const qd_time *t = &r->rows[0].e.steps[i];
    double bytes = t->weight_bytes + t->spill_bytes + t->cache_bytes,
           us = fmax(qd_core(t), t->memory);
    if (s->macs <= 0 || bytes <= 0 || us <= 0)
        return false;
    *x = s->macs / bytes;
    *y = s->macs / us / 1e3; // GMAC/s
    return true;
}

static void put_roof(FILE *f, const qt_estimates *r, decades dx, decades dy) {
    const qt_estimate *row = &r->rows[0];
    const qd_chip *c = row->at.chip;
    const qd_step full = {.kind = QD_MATRIX, .padded = 1e9};
    double peak = 1e6 / qd_time_of(&full, c, row->precision, &row->at.run).matrix; // GMAC/s
    double knee = peak / c->ddr, low = pow(10, dx.from);
    double wide = WIDTH - LEFT - RIGHT;
    fprintf(f,
            "<polyline fill=\"none\" stroke=\"currentColor\" points=\"%.1f,%.1f %.1f,%.1f "
            "%.1f,%.1f\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.1f TMAC/s</text>",
            LEFT, HIGH - HIGH * along(dy, low * c->ddr), LEFT + wide * along(dx, knee),
            HIGH - HIGH * along(dy, peak), LEFT + wide, HIGH - HIGH * along(dy, peak),
            WIDTH - RIGHT, HIGH - HIGH * along(dy, peak) - 6, peak / 1e3);
}

static void put_grid(FILE *f, decades dx, decades dy) {
    double wide = WIDTH - LEFT - RIGHT;
    for (int i = 0; i <= dx.to - dx.from; i++) {
        double x = LEFT + wide * i / (dx.to - dx.from);
        fprintf(f,
                "<line class=\"axis\" x1=\"%.1f\" x2=\"%.1f\" y1=\"0\" y2=\"%.1f\"/><text "
                "class=\"d\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%g</text>",
                x, x, HIGH, x, HIGH + 18, pow(10, dx.from + i));
    }
    for (int i = 0; i <= dy.to - dy.from; i++) {
        double y = HIGH - HIGH * i / (dy.to - dy.from);
        fprintf(f,
                "<line class=\"axis\" x1=\"%.1f\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/><text "
                "class=\"d\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%g</text>",
                LEFT, WIDTH - RIGHT, y, y, LEFT - 6, y + 4, pow(10, dy.from + i));
    }
}

void qt_page_roofline(FILE *f, const qt_estimates *r) {
    const qd_steps *steps = &r->net->steps;
    decades dx = {0, 3}, dy = {1, 5};
    double x, y, wide = WIDTH - LEFT - RIGHT;
    for (uint32_t i = 0; i < steps->n; i++)
        if (place(r, i, &x, &y)) {
            dx.from = fmin(dx.from, floor(log10(x)));
            dx.to = fmax(dx.to, ceil(log10(x)));
            dy.from = fmin(dy.from, floor(log10(y)));
        }
    dy.from = fmin(dy.from, floor(dx.from + log10(r->rows[0].at.chip->ddr)));
    fprintf(f,
            "<section><h2>Roofline</h2><div class=\"scroll\"><svg viewBox=\"0 -10 %d %.0f\" "
            "role=\"img\" "
            "aria-label=\"Roofline\">",
            WIDTH, HIGH + FOOT + 10);
    put_grid(f, dx, dy);
    fprintf(f,
            "<text class=\"d\" x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">MACs per byte of "
            "memory traffic</text><text class=\"d\" x=\"0\" y=\"14\">GMAC/s</text>",
            LEFT + wide / 2, HIGH + 36);
    put_roof(f, r, dx, dy);
    const uint32_t *order = qt_rank_steps(r);
    for (uint32_t k = 0; order && k < steps->n && k < MAX_SLICES; k++) {
        uint32_t i = order[k];
        const qd_step *s = &steps->list[i];
        if (!place(r, i, &x, &y))
            continue;
        fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" opacity=\".7\" class=\"%s\"><title>",
                LEFT + wide * along(dx, x), HIGH - HIGH * along(dy, y),
                s->kind == QD_MATRIX ? "matrix" : "vector");
        qt_page_put(f, s->op->name);
        fprintf(f, ": %.1f MAC/byte, %.0f GMAC/s</title></circle>", x, y);
    }
    fputs("</svg></div><div class=\"keys\"><span><span class=\"key\" "
          "style=\"background:var(--c0)\"></span>matrix step</span><span><span class=\"key\" "
          "style=\"background:var(--c1)\"></span>vector step</span></div><p class=\"dim\">Traffic "
          "counts weights and spilled activations; the line is the limit of the SoC. A step far "
          "below it wastes tiles or time between steps.</p></section>",
          f);
}

// --- SoCs

#define GROUP_TOP 8
#define BAR_HIGH 9
#define CHIP_LEFT 260.0

static uint32_t count_chips(const qt_estimates *r) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n; i++)
        n += i == 0 || r->rows[i].at.chip != r->rows[i - 1].at.chip;
    return n;
}

static double axis_step(double most) {
    double step = pow(10, floor(log10(most / 4)));
    while (most / step > 8)
        step *= most / step > 20 ? 5 : 2;
    return step;
}

static void put_chip_bar(FILE *f, const qt_estimate *row, double y, double scale) {
    double ms = row->e.us / 1e3, low = ms * QT_LOW(row->n_doubts),
           high = ms * QT_HIGH(row->n_doubts);
    fprintf(f,
            "<rect x=\"%.0f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" class=\"p%d\"><title>%s "
            "%s: %.3f ms, %.2f to %.2f</title></rect><path class=\"whisker\" "
            "d=\"M%.1f %.1fH%.1f\"/><text class=\"d\" x=\"%.1f\" y=\"%.1f\" "
            "style=\"font-size:10px\">%.2f</text>",
            CHIP_LEFT, y, fmax(1, ms * scale), BAR_HIGH, (int)row->precision, row->at.chip->name,
            qd_precision_names[row->precision], ms, low, high, CHIP_LEFT + low * scale,
            y + BAR_HIGH / 2.0, CHIP_LEFT + high * scale, CHIP_LEFT + high * scale + 6,
            y + BAR_HIGH - 1, ms);
}

static void put_chip_keys(FILE *f, const qt_estimates *r) {
    bool seen[QD_PRECISIONS] = {0};
    static const char *const colours[QD_PRECISIONS] = {"--c0", "--c2", "--c1"};
    fputs("<div class=\"keys\">", f);
    for (uint32_t i = 0; i < r->n; i++) {
        qd_precision p = r->rows[i].precision;
        if (!seen[p])
            fprintf(f, "<span><span class=\"key\" style=\"background:var(%s)\"></span>%s</span>",
                    colours[p], qd_precision_names[p]);
        seen[p] = true;
    }
    fputs(
        "</div><p class=\"dim\">Thin lines: the interval that contains nine in ten networks, wider "
        "if the estimate is uncalibrated.</p></section>",
        f);
}

void qt_page_chips(FILE *f, const qt_estimates *r) {
    uint32_t n = count_chips(r);
    double most = 0, y = 4, high = 2.0 * GROUP_TOP * n + BAR_HIGH * r->n + 44;
    for (uint32_t i = 0; i < r->n; i++)
        if (r->rows[i].known)
            most = fmax(most, r->rows[i].e.us / 1e3 * QT_HIGH(r->rows[i].n_doubts));
    if (n < 2 || most <= 0)
        return;
    double scale = (WIDTH - CHIP_LEFT - 60) / most, step = axis_step(most);
    fprintf(f,
            "<section class=\"long\"><h2>By SoC</h2><div class=\"scroll\"><svg viewBox=\"0 0 %d "
            "%.0f\" role=\"img\" aria-label=\"Time by SoC\">",
            WIDTH, high);
    for (int i = 0; i * step <= most; i++)
        fprintf(f,
                "<line class=\"axis\" x1=\"%.1f\" x2=\"%.1f\" y1=\"0\" y2=\"%.0f\"/><text "
                "class=\"d\" x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%g</text>",
                CHIP_LEFT + i * step * scale, CHIP_LEFT + i * step * scale, high - 36,
                CHIP_LEFT + i * step * scale, high - 22, i * step);
    fprintf(f,
            "<text class=\"d\" x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">estimated time, "
            "ms</text>",
            (CHIP_LEFT + WIDTH) / 2, high - 4);
    for (uint32_t i = 0; i < r->n; i++) {
        const qt_estimate *row = &r->rows[i];
        if (i == 0 || row->at.chip != r->rows[i - 1].at.chip) {
            char title[64];
            y += i ? GROUP_TOP * 2 : 0;
            fprintf(f, "<text x=\"0\" y=\"%.1f\">%s <tspan class=\"d\">%.30s</tspan></text>",
                    y + 12, row->at.chip->name, qt_chip_title(row->at.chip, title, sizeof title));
        }
        if (row->known)
            put_chip_bar(f, row, y, scale);
        y += BAR_HIGH;
    }
    fputs("</svg></div>", f);
    put_chip_keys(f, r);
}
