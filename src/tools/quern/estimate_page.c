// SPDX-License-Identifier: MIT
//
// An estimate as one page of HTML: no script, no font and no picture from elsewhere; charts are SVG
// with text that can be selected. Follows the reader's light or dark scheme and prints in light.
#include "tools/quern/estimate.h"
#include "tools/quern/output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 1000      // of the charts
#define MAX_SLICES 1200 // drawn on the timeline; shorter steps are drawn together
#define MAX_LISTED 60   // steps in the table
#define MAX_HITS 4      // steps of an advice

static const char style[] =
    ":root{--bg:#fff;--fg:#1b1f24;--dim:#59636e;--line:#d1d9e0;--card:#f6f8fa;--matrix:#0b62c4;"
    "--vector:#b35900;--overhead:#6e7781;--memory:#1a7f37;--start:#8250df;color-scheme:light dark}"
    "@media(prefers-color-scheme:dark){:root{--bg:#0d1117;--fg:#e6edf3;--dim:#9198a1;--line:#"
    "3d444d;"
    "--card:#151b23;--matrix:#58a6ff;--vector:#f0a04b;--overhead:#9198a1;--memory:#56d364;"
    "--start:#bc8cff}}"
    "@media print{:root{--bg:#fff;--fg:#000;--dim:#444;--line:#bbb;--card:#fff;--matrix:#0b62c4;"
    "--vector:#b35900;--overhead:#6e7781;--memory:#1a7f37;--start:#8250df}"
    "section{break-inside:avoid}section.long{break-inside:auto}main{max-width:none}}"
    "*{box-sizing:border-box;-webkit-print-color-adjust:exact;print-color-adjust:exact}"
    "body{margin:0;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif}"
    "main{max-width:1080px;margin:0 auto;padding:24px}h1{font-size:22px;margin:0 0 4px;"
    "overflow-wrap:anywhere}h2{font-size:17px;margin:32px 0 8px}p{margin:6px 0}"
    ".dim{color:var(--dim)}.big{font-size:40px;font-weight:600;margin:12px 0 0}"
    "table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}"
    "th,td{text-align:right;padding:3px 8px;border-bottom:1px solid var(--line)}"
    "th{color:var(--dim);font-weight:600}.l{text-align:left;overflow-wrap:anywhere}"
    "svg{width:100%;height:auto;display:block}svg text{fill:var(--fg);font:12px system-ui,"
    "sans-serif}svg .d{fill:var(--dim)}.axis{stroke:var(--line)}"
    ".matrix{fill:var(--matrix)}.vector{fill:var(--vector)}.overhead{fill:var(--overhead)}"
    ".memory{fill:var(--memory)}.start{fill:var(--start)}"
    ".advice{background:var(--card);border:1px solid var(--line);border-radius:6px;padding:10px "
    "14px;margin:8px 0}.gain{font-weight:600}ul{margin:4px 0;padding-left:20px}"
    "li{overflow-wrap:anywhere}.scroll{overflow-x:auto}";

static void put(FILE *f, const char *text) {
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '&')
            fputs("&amp;", f);
        else if (c == '<')
            fputs("&lt;", f);
        else if (c == '>')
            fputs("&gt;", f);
        else if (c == '"')
            fputs("&quot;", f);
        else
            fputc(c < 0x20 || c >= 0x7f ? '?' : c, f);
    }
}

// --- the head

static void put_head(FILE *f, const qt_estimates *r) {
    const qt_estimate *row = &r->rows[0];
    const qd_estimate *e = &row->e;
    char title[64];
    qt_totals t = qt_add_up(&r->net->steps, row->precision);
    fputs(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
        "content=\"width=device-width,initial-scale=1\"><title>Estimate: ",
        f);
    put(f, r->path);
    fprintf(f, "</title><style>%s</style></head><body><main><h1>", style);
    put(f, r->path);
    fprintf(f, "</h1><p class=\"dim\">%s on %s (%s, v%u)", qd_precision_names[row->precision],
            row->at.chip->name, qt_chip_title(row->at.chip, title, sizeof title),
            row->at.chip->arch);
    if (row->at.lent_to) {
        fputs(", the nearest to ", f);
        put(f, row->at.lent_to);
        fputs(" that was measured", f);
    }
    fprintf(f,
            "</p><p class=\"big\">%.3f ms</p><p>an estimate; nine in ten networks lie between %.2f "
            "and %.2f ms</p><p class=\"dim\">%u matrix and %u vector steps &middot; %.3f GMAC, "
            "%.3f with padding &middot; %.1f MB of weights &middot; %.1f MB spilled &middot; at "
            "most %.2f MB of VTCM</p>",
            e->us / 1e3, e->us / 1e3 * QT_LOW, e->us / 1e3 * QT_HIGH, t.matrix, t.vector,
            t.macs / 1e9, t.padded / 1e9, t.weights / 1e6, e->sum.spill_bytes / 1e6,
            e->peak_vtcm / 1e6);
}

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
    double from, to; // of what is put together; from < 0: nothing
    uint32_t n;
} pen;

static void rect(const pen *p, double from, double to, const char *css) {
    fprintf(p->f, "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"22\" class=\"%s\"><title>",
            LEFT + from * p->scale, p->track * TRACK + 6, fmax(0.3, (to - from) * p->scale), css);
}

static void flush(pen *p) {
    if (p->from >= 0) {
        rect(p, p->from, p->to, tracks[p->track].css);
        fprintf(p->f, "%u short steps</title></rect>", p->n);
    }
    p->from = -1;
    p->n = 0;
}

static void draw(pen *p, const char *name, double from, double us) {
    if (us <= 0)
        return;
    if (us >= p->least) {
        flush(p);
        rect(p, from, from + us, tracks[p->track].css);
        put(p->f, name);
        fprintf(p->f, ": %.1f us</title></rect>", us);
        return;
    }
    if (p->from >= 0 && from - p->to > p->least)
        flush(p);
    p->from = p->from < 0 ? from : p->from;
    p->to = from + us;
    p->n++;
}

static void put_axis(FILE *f, double us, double scale) {
    double step = pow(10, floor(log10(us / 4)));
    while (us / step > 8)
        step *= us / step > 20 ? 5 : 2;
    for (int i = 0; i * step <= us; i++) {
        double x = LEFT + i * step * scale;
        fprintf(f,
                "<line class=\"axis\" x1=\"%.1f\" x2=\"%.1f\" y1=\"0\" y2=\"%d\"/><text "
                "class=\"d\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>",
                x, x, N_TRACKS * TRACK, x, N_TRACKS * TRACK + 16, i * step / 1e3);
    }
}

static void put_timeline(FILE *f, const qt_estimates *r) {
    const qd_estimate *e = &r->rows[0].e;
    double scale = (WIDTH - LEFT - RIGHT) / e->us;
    fprintf(f,
            "<section><h2>Timeline</h2><div class=\"scroll\"><svg viewBox=\"0 0 %d %d\" "
            "role=\"img\" aria-label=\"Timeline\">",
            WIDTH, N_TRACKS * TRACK + 24);
    put_axis(f, e->us, scale);
    for (int k = 0; k < N_TRACKS; k++) {
        pen p = {f, scale, e->us / MAX_SLICES, k, -1, 0, 0};
        fprintf(f, "<text x=\"0\" y=\"%d\">%s</text>", k * TRACK + 22, tracks[k].label);
        if (k == ROW_OVERHEAD) {
            rect(&p, 0, e->start, "start");
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
    fputs("</svg></div><p class=\"dim\">Milliseconds. Steps follow each other; traffic to memory "
          "runs beside them.</p></section>",
          f);
}

// --- bars

static void put_bar(FILE *f, int row, const char *label, double us, double most, const char *css) {
    fprintf(f,
            "<text x=\"0\" y=\"%d\">%s</text><rect x=\"%.0f\" y=\"%d\" width=\"%.1f\" "
            "height=\"16\" class=\"%s\"/><text x=\"%.1f\" y=\"%d\">%.1f us</text>",
            row * 24 + 16, label, LEFT, row * 24 + 4, us / most * (WIDTH - LEFT - 100), css,
            LEFT + us / most * (WIDTH - LEFT - 100) + 8, row * 24 + 16, us);
}

static void put_bars(FILE *f, const qt_estimates *r) {
    const qd_estimate *e = &r->rows[0].e;
    double by_class[QD_CLASSES] = {0}, most = fmax(e->start, fmax(e->memory, e->sum.overhead));
    for (uint32_t i = 0; i < r->net->steps.n; i++)
        by_class[r->net->steps.list[i].kind] += e->steps[i].matrix + e->steps[i].vector;
    for (int k = 0; k < QD_CLASSES; k++)
        most = fmax(most, by_class[k]);
    fprintf(f,
            "<section><h2>Where the time goes</h2><svg viewBox=\"0 0 %d %d\" role=\"img\" "
            "aria-label=\"Time by class\">",
            WIDTH, (QD_CLASSES + 3) * 24);
    for (int k = 0; k < QD_CLASSES; k++)
        put_bar(f, k, qd_class_names[k], by_class[k], most, k == QD_MATRIX ? "matrix" : "vector");
    put_bar(f, QD_CLASSES, "steps", e->sum.overhead, most, "overhead");
    put_bar(f, QD_CLASSES + 1, "start", e->start, most, "start");
    put_bar(f, QD_CLASSES + 2, "memory", e->memory, most, "memory");
    fputs("</svg><p class=\"dim\">Memory overlaps with the rest.</p></section>", f);
}

// --- the roofline

#define HIGH 320.0 // of the chart
#define FOOT 30.0

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
    double bytes = t->weight_bytes + t->spill_bytes, us = fmax(qt_step_us(t), t->memory);
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
    double peak = 1e6 / qd_time_of(&full, c, row->precision, 0).matrix; // GMAC/s
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

static void put_roofline(FILE *f, const qt_estimates *r) {
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
            "<section><h2>Roofline</h2><svg viewBox=\"0 -10 %d %.0f\" role=\"img\" "
            "aria-label=\"Roofline\">",
            WIDTH, HIGH + FOOT + 10);
    put_grid(f, dx, dy);
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
        put(f, s->op->name);
        fprintf(f, ": %.1f MAC/byte, %.0f GMAC/s</title></circle>", x, y);
    }
    fputs("</svg><p class=\"dim\">GMAC/s over MACs for each byte of weights and spilled "
          "activations; the line is what the chip can do. A step far below it wastes tiles or time "
          "between steps.</p></section>",
          f);
}

// --- advice and tables

static void put_advice(FILE *f, const qt_estimates *r) {
    fputs("<section class=\"long\"><h2>Advice</h2>", f);
    if (!r->advice.n)
        fputs("<p>Nothing that would bring 0.1 %.</p>", f);
    for (uint32_t i = 0; i < r->advice.n; i++) {
        const qd_advice *a = &r->advice.list[i];
        fprintf(f, "<div class=\"advice\"><span class=\"gain\">%s%.1f %% faster</span> &middot; ",
                a->at_most ? "up to " : "", 100 * a->gain / r->rows[0].e.us);
        put(f, a->change);
        fprintf(f, " <span class=\"dim\">(%u step%s)</span><ul>", a->n, a->n == 1 ? "" : "s");
        for (uint32_t k = 0; k < a->n && k < MAX_HITS; k++) {
            fputs("<li>", f);
            put(f, r->net->steps.list[a->hits[k].step].op->name);
            fputs(": ", f);
            put(f, a->hits[k].detail);
            fprintf(f, " <span class=\"dim\">%.1f us</span></li>", a->hits[k].gain);
        }
        fputs("</ul></div>", f);
    }
    for (uint32_t i = 0; i < r->net->n_refused && i < MAX_LISTED; i++) {
        fputs("<div class=\"advice\"><span class=\"gain\">not in the estimate</span> &middot; ", f);
        put(f, r->net->refused[i].node);
        fputs(" (", f);
        put(f, r->net->refused[i].op);
        fputs("): ", f);
        put(f, r->net->refused[i].why);
        fputs("</div>", f);
    }
    fputs("</section>", f);
}

static void put_chips(FILE *f, const qt_estimates *r) {
    char title[64];
    if (r->n < 2)
        return;
    fputs("<section class=\"long\"><h2>Chips and precisions</h2><div class=\"scroll\"><table><tr>"
          "<th class=\"l\">chip</th><th class=\"l\">precision</th><th>ms</th><th>from</th><th>to"
          "</th></tr>",
          f);
    for (uint32_t i = 0; i < r->n; i++) {
        const qt_estimate *row = &r->rows[i];
        double ms = row->e.us / 1e3;
        fprintf(f, "<tr><td class=\"l\">%s (%s)</td><td class=\"l\">%s</td>", row->at.chip->name,
                qt_chip_title(row->at.chip, title, sizeof title),
                qd_precision_names[row->precision]);
        if (row->known)
            fprintf(f, "<td>%.3f</td><td>%.2f</td><td>%.2f</td></tr>", ms, ms * QT_LOW,
                    ms * QT_HIGH);
        else
            fputs("<td colspan=\"3\">no measurements</td></tr>", f);
    }
    fputs("</table></div></section>", f);
}

static void put_steps(FILE *f, const qt_estimates *r) {
    const qt_estimate *row = &r->rows[0];
    const uint32_t *order = qt_rank_steps(r);
    fputs("<section class=\"long\"><h2>Slowest steps</h2><div class=\"scroll\"><table><tr><th "
          "class=\"l\">step</th><th class=\"l\">op</th><th class=\"l\">class</th><th class=\"l\">"
          "bound by</th><th>us</th><th>share</th><th>padding</th></tr>",
          f);
    for (uint32_t i = 0; order && i < r->net->steps.n && i < MAX_LISTED; i++) {
        const qd_step *s = &r->net->steps.list[order[i]];
        const qd_time *t = &row->e.steps[order[i]];
        fputs("<tr><td class=\"l\">", f);
        put(f, s->op->name);
        fprintf(f,
                "</td><td class=\"l\">%s</td><td class=\"l\">%s</td><td class=\"l\">%s</td><td>%.1f"
                "</td><td>%.1f %%</td>",
                s->op->type, qd_class_names[s->kind], qd_bound_names[qd_bound(t)], qt_step_us(t),
                qt_share(qt_step_us(t), &row->e));
        if (s->macs > 0 && s->kind == QD_MATRIX)
            fprintf(f, "<td>%.2f&times;</td></tr>", s->padded / s->macs);
        else
            fputs("<td></td></tr>", f);
    }
    fputs("</table></div></section>", f);
}

bool qt_estimate_page(const qt_estimates *r, const char *path) {
    char *text = NULL;
    size_t size = 0;
    if (!r->rows[0].known) {
        qt_error("%s: there is no estimate to draw", path);
        return false;
    }
    FILE *f = open_memstream(&text, &size);
    if (f) {
        put_head(f, r);
        put_timeline(f, r);
        put_bars(f, r);
        put_roofline(f, r);
        put_advice(f, r);
        put_chips(f, r);
        put_steps(f, r);
        fputs("<p class=\"dim\">Estimated by Quern from constants fitted to published latencies; "
              "nothing was measured on a device.</p></main></body></html>\n",
              f);
    }
    bool made = f && fclose(f) == 0;
    if (!made)
        qt_error("%s: no memory", path);
    const qt_part part = {text, size};
    made = made && qt_write_file(path, &part, 1);
    free(text);
    return made;
}
