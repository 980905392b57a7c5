// SPDX-License-Identifier: MIT
//
// An estimate as one page of HTML: charts are SVG with text that can be selected and need no
// script; the script sorts and filters tables and zooms into the timeline.
#include "tools/quern/estimate_page.h"
#include "tools/quern/output.h"
#include "tools/quern/page_data.h"

#include <stdlib.h>
#include <string.h>

#define MAX_LISTED 300 // steps in the table
#define MAX_HITS 4     // steps of an advice

// Beside the style that all pages share.
static const char style[] =
    "main{max-width:1080px}.matrix{fill:var(--c0)}.vector{fill:var(--c1)}.overhead{fill:var(--c7)}"
    ".memory{fill:var(--c2)}.start{fill:var(--c3)}.p0{fill:var(--c0)}.p1{fill:var(--c2)}"
    ".p2{fill:var(--c1)}.gain{font-weight:600}ul{margin:4px 0;padding-left:20px}"
    "li{overflow-wrap:anywhere}.doubt{border-left:3px solid var(--c1);padding-left:10px}"
    ".vtcm{fill:var(--c2);opacity:.35}.whisker{stroke:var(--dim);fill:none;stroke-width:1.5}"
    "@media print{section{break-inside:avoid}section.long{break-inside:auto}.steps{font-size:9px}"
    ".steps td,.steps th{padding:2px 4px}}";

// --- the head

static void put_head(FILE *f, const qt_estimates *r) {
    const qt_estimate *row = &r->rows[0];
    const qd_estimate *e = &row->e;
    char title[64];
    qt_totals t = qt_add_up(&r->net->steps, row->precision);
    qt_page_head(f, "Estimate", r->path);
    fprintf(f, "<style>%s</style><main><h1>", style);
    qt_page_put(f, strrchr(r->path, '/') ? strrchr(r->path, '/') + 1 : r->path);
    fprintf(f, "</h1><p class=\"dim\">%s on %s (%s, v%u)", qd_precision_names[row->precision],
            row->at.chip->name, qt_chip_title(row->at.chip, title, sizeof title),
            row->at.chip->arch);
    if (!row->at.lent_to)
        fputs("; constants fitted to this SoC", f);
    fprintf(f, "</p><p class=\"big\">%.3f ms</p><p>an estimate; %s between %.2f and %.2f ms</p>",
            e->us / 1e3, row->n_doubts ? "perhaps" : "nine in ten networks are",
            e->us / 1e3 * QT_LOW(row->n_doubts), e->us / 1e3 * QT_HIGH(row->n_doubts));
    for (uint32_t i = 0; i < row->n_doubts; i++) {
        fprintf(f, "<p class=\"doubt\"><b>uncalibrated</b> (%s): ", row->doubts[i].word);
        qt_page_put(f, row->doubts[i].text);
        fputs("</p>", f);
    }
    fprintf(f,
            "<p class=\"dim\">%u matrix and %u vector steps &middot; %.3f GMAC, %.3f with padding "
            "&middot; %.2f TOPS &middot; bound by %s &middot; %.1f MB of weights &middot; %.1f MB "
            "spilled &middot; at most %.2f MB of VTCM</p>",
            t.matrix, t.vector, t.macs / 1e9, t.padded / 1e9, qt_tops(&r->net->steps, e),
            qd_bound_names[qd_bound(&e->sum)], t.weights / 1e6, e->sum.spill_bytes / 1e6,
            r->plan.peak_bytes / 1e6);
}

// --- advice and tables

static void put_advice(FILE *f, const qt_estimates *r) {
    fputs("<section class=\"long\"><h2>Advice</h2>", f);
    if (!r->advice.n)
        fputs("<p>No change would gain 0.1 % or more.</p>", f);
    for (uint32_t i = 0; i < r->advice.n; i++) {
        const qd_advice *a = &r->advice.list[i];
        if (a->unknown)
            fputs("<div class=\"card\"><span class=\"gain\">gain unknown</span> &middot; ", f);
        else
            fprintf(f, "<div class=\"card\"><span class=\"gain\">%s%.1f %% faster</span> &middot; ",
                    a->at_most ? "up to " : "", 100 * a->gain / r->rows[0].e.us);
        qt_page_put(f, a->change);
        fprintf(f, " <span class=\"dim\">(%u step%s)</span><ul>", a->n, a->n == 1 ? "" : "s");
        for (uint32_t k = 0; k < a->n && k < MAX_HITS; k++) {
            fputs("<li>", f);
            qt_page_put(f, r->net->steps.list[a->hits[k].step].op->name);
            fputs(": ", f);
            qt_page_put(f, a->hits[k].detail);
            if (a->unknown)
                fputs("</li>", f);
            else
                fprintf(f, " <span class=\"dim\">%.1f us</span></li>", a->hits[k].gain);
        }
        if (a->n > MAX_HITS)
            fprintf(f, "<li class=\"dim\">and %u more</li>", a->n - MAX_HITS);
        fputs("</ul></div>", f);
    }
    for (uint32_t i = 0; i < r->net->n_refused && i < MAX_LISTED; i++) {
        fputs("<div class=\"card\"><span class=\"gain\">not in the estimate</span> &middot; ", f);
        qt_page_put(f, r->net->refused[i].node);
        fputs(" (", f);
        qt_page_put(f, r->net->refused[i].op);
        fputs("): ", f);
        qt_page_put(f, r->net->refused[i].why);
        fputs("</div>", f);
    }
    fputs("</section>", f);
}

static void put_chips(FILE *f, const qt_estimates *r) {
    char title[64];
    if (r->n < 2)
        return;
    fputs("<section class=\"long\"><h2>SoCs and precisions</h2><div "
          "class=\"scroll\"><table><thead><tr>"
          "<th class=\"l\">SoC</th><th class=\"l\">precision</th><th>ms</th><th>from</th><th>to"
          "</th><th>TOPS</th><th class=\"l\">uncalibrated</th></tr></thead><tbody>",
          f);
    for (uint32_t i = 0; i < r->n; i++) {
        const qt_estimate *row = &r->rows[i];
        double ms = row->e.us / 1e3;
        fprintf(f, "<tr><td class=\"l\">%s (%s)</td><td class=\"l\">%s</td>", row->at.chip->name,
                qt_chip_title(row->at.chip, title, sizeof title),
                qd_precision_names[row->precision]);
        if (row->known)
            fprintf(f, "<td>%.3f</td><td>%.2f</td><td>%.2f</td><td>%.2f</td><td class=\"l\">", ms,
                    ms * QT_LOW(row->n_doubts), ms * QT_HIGH(row->n_doubts),
                    qt_tops(&row->net->steps, &row->e));
        else
            fputs("<td colspan=\"4\">no measurements</td><td>", f);
        for (uint32_t k = 0; k < row->n_doubts; k++)
            fprintf(f, "%s%s", k ? ", " : "", row->doubts[k].word);
        fputs("</td></tr>", f);
    }
    fputs("</tbody></table></div></section>", f);
}

// The op that names a step, and those that are fused into it.
static void put_members(FILE *f, const qt_network *net, uint32_t step) {
    const qd_op *first = net->steps.list[step].op;
    fprintf(f, "<br><span class=\"dim\">%s", first->type);
    for (uint32_t i = 0; i < net->graph.n_ops; i++)
        if (net->steps.step_of[i] == step && &net->graph.ops[i] != first)
            fprintf(f, " + %s", net->graph.ops[i].type);
    fputs("</span>", f);
}

static void put_step(FILE *f, const qt_estimates *r, uint32_t i) {
    const qd_step *s = &r->net->steps.list[i];
    const qd_time *t = &r->rows[0].e.steps[i];
    double a = r->rows[0].precision == QD_W8A8 ? 1 : 2;
    char hints[256];
    fputs("<tr><td class=\"l\">", f);
    qt_page_put(f, s->op->name);
    put_members(f, r->net, i);
    fprintf(f,
            "</td><td class=\"l n\">%s</td><td class=\"l n\">%s</td><td>%.1f</td><td>%.1f&nbsp;%%"
            "</td><td>%.1f</td><td>%.1f</td><td>%.2f</td><td>%.2f</td><td>",
            qd_class_names[s->kind], qd_bound_names[qd_bound(t)], qd_core(t),
            qt_share(qd_core(t), &r->rows[0].e), t->matrix + t->vector, t->memory,
            (s->in + s->out) * a / 1e6, (t->weight_bytes + t->spill_bytes + t->cache_bytes) / 1e6);
    if (s->macs > 0 && s->kind == QD_MATRIX)
        fprintf(f, "%.2f&times;", s->padded / s->macs);
    fprintf(f, "</td><td class=\"l h\">%s</td></tr>",
            qt_hints_text(&r->hints, i, hints, sizeof hints));
}

static void put_steps(FILE *f, const qt_estimates *r) {
    const uint32_t *order = qt_rank_steps(r);
    fputs(
        "<section class=\"long\"><h2>Slowest steps</h2><div class=\"scroll\"><table "
        "class=\"steps\"><thead><tr><th class=\"l\">step</th><th class=\"l\">class</th><th "
        "class=\"l\">bound by</th><th>us</th><th>share</th><th>unit us</th><th>DDR us</th><th>MB "
        "in+out</th><th>MB DDR</th><th>padding</th><th class=\"l\">advice</th></tr></thead><tbody>",
        f);
    for (uint32_t i = 0; order && i < r->net->steps.n && i < MAX_LISTED; i++)
        put_step(f, r, order[i]);
    fputs("</tbody></table></div>", f);
    if (r->net->steps.n > MAX_LISTED)
        fprintf(f, "<p class=\"dim\">and %u more</p>", r->net->steps.n - MAX_LISTED);
    fputs("</section>", f);
}

bool qt_estimate_page(const qt_estimates *r, const char *path) {
    qrn_text text = {0};
    if (!r->rows[0].known) {
        qt_error("%s: no estimate to draw", path);
        return false;
    }
    FILE *f = qrn_text_open(&text);
    if (f) {
        put_head(f, r);
        qt_page_chips(f, r);
        qt_page_timeline(f, r);
        qt_page_bars(f, r);
        qt_page_roofline(f, r);
        put_advice(f, r);
        put_chips(f, r);
        put_steps(f, r);
        fprintf(f,
                "<p class=\"dim\">Estimated by Quern from constants fitted to published latencies "
                "(%s) at batch 1 and full power; nothing was measured on a device.</p></main>\n"
                "<script>\n\"use strict\";\n",
                qd_constants);
        qt_page_script(f);
        fputs("document.querySelectorAll(\"table\").forEach(sortable);\n"
              "zoomable(byId(\"timeline\"));\n</script></body></html>\n",
              f);
    }
    return qt_page_save(&text, f, path);
}
