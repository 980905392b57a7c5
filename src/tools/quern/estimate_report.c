// SPDX-License-Identifier: MIT
//
// What quern estimate prints as text.
#include "tools/quern/estimate.h"
#include "tools/quern/output.h"

#include <stdlib.h>
#include <string.h>

static void print_head(bool name_chip) {
    qt_print("%s%-6s %9s  %-14s  matrix vector  steps  start memory    TOPS  DDR MB VTCM MB\n",
             name_chip ? "SoC        " : "", "", "ms", "nine in ten");
}

static void print_row(const qt_estimate *r, bool name_chip) {
    const qd_estimate *e = &r->e;
    if (name_chip)
        qt_print("%-10s ", r->at.chip->name);
    if (!r->known) {
        qt_print("%-6s no published latencies of this precision for this SoC\n",
                 qd_precision_names[r->precision]);
        return;
    }
    char range[32];
    snprintf(range, sizeof range, "%.2f to %.2f", e->us / 1e3 * QT_LOW(r->n_doubts),
             e->us / 1e3 * QT_HIGH(r->n_doubts));
    qt_print("%-6s %9.3f  %-14s  %5.0f%% %5.0f%% %5.0f%% %5.0f%% %5.0f%%  %6.2f  %6.1f  %6.2f",
             qd_precision_names[r->precision], e->us / 1e3, range, qt_share(e->sum.matrix, e),
             qt_share(e->sum.vector, e), qt_share(e->sum.overhead, e), qt_share(e->start, e),
             qt_share(e->memory, e), qt_tops(&r->net->steps, e),
             (e->sum.weight_bytes + e->sum.spill_bytes + e->sum.cache_bytes) / 1e6,
             r->peak_vtcm / 1e6);
    if (qd_is_decoding(&r->net->steps))
        qt_print("  %.1f tokens/s", 1e6 / e->us);
    for (uint32_t i = 0; i < r->n_doubts; i++)
        qt_print("%s%s", i ? ", " : "  uncalibrated: ", r->doubts[i].word);
    qt_print("\n");
}

// Each word once, with what it means where it first appears.
static void print_doubts(const qt_estimates *all) {
    const char *said[QD_MAX_DOUBTS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < all->n; i++)
        for (uint32_t k = 0; k < all->rows[i].n_doubts; k++) {
            const qd_doubt *d = &all->rows[i].doubts[k];
            uint32_t at = 0;
            while (at < n && strcmp(said[at], d->word) != 0)
                at++;
            if (at < n || n == QD_MAX_DOUBTS)
                continue;
            said[n++] = d->word;
            qt_print("uncalibrated, %s: %s\n", d->word, d->text);
        }
}

// --- steps

static void print_steps(const qt_estimates *all) {
    const qt_estimate *r = &all->rows[0];
    const qd_steps *steps = &all->net->steps;
    const uint32_t *order = qt_rank_steps(all);
    char hints[256];
    qt_print(
        "\n%s on %s, by time:\n      us  share  class      bound     padded  MB in+out  step (op + "
        "fused ones)  advice\n",
        qd_precision_names[r->precision], r->at.chip->name);
    for (uint32_t i = 0; order && i < steps->n && i < all->top; i++) {
        const qd_step *s = &steps->list[order[i]];
        const qd_time *t = &r->e.steps[order[i]];
        double a = r->precision == QD_W8A8 ? 1 : 2;
        qt_print("%8.1f  %4.1f%%  %-9s  %-8s  ", qd_core(t), qt_share(qd_core(t), &r->e),
                 qd_class_names[s->kind], qd_bound_names[qd_bound(t)]);
        if (s->kind == QD_MATRIX)
            qt_print("%5.2fx", s->macs > 0 ? s->padded / s->macs : 0);
        else
            qt_print("%6s", "");
        char fused[16] = "";
        if (s->n_ops > 1)
            snprintf(fused, sizeof fused, " + %u", s->n_ops - 1);
        qt_hints_text(&all->hints, order[i], hints, sizeof hints);
        qt_print("  %9.2f  %s (%s%s)%s%s\n", (s->in + s->out) * a / 1e6, s->op->name, s->op->type,
                 fused, *hints ? "  " : "", hints);
    }
}

// --- advice

#define SHOWN 3 // steps of each advice

static void print_advice(const qt_estimates *all) {
    const qt_estimate *r = &all->rows[0];
    qt_print("\n%s on %s, what to change:%s\n", qd_precision_names[r->precision], r->at.chip->name,
             all->advice.n ? "" : " nothing that would bring 0.1 %");
    for (uint32_t i = 0; i < all->advice.n; i++) {
        const qd_advice *a = &all->advice.list[i];
        if (a->unknown)
            qt_print("    unknown");
        else
            qt_print("%s%5.1f%%", a->at_most ? "up to" : "     ", 100 * a->gain / r->e.us);
        qt_print("  %s  (%s; %u step%s)\n", a->change, a->rule, a->n, a->n == 1 ? "" : "s");
        for (uint32_t k = 0; k < a->n && k < SHOWN; k++) {
            qt_print("             ");
            if (!a->unknown)
                qt_print("%6.1f us  ", a->hits[k].gain);
            qt_print("%s: %s\n", all->net->steps.list[a->hits[k].step].op->name, a->hits[k].detail);
        }
    }
    if (all->net->n_refused)
        qt_print("       %u node%s off the NPU: each way back to it costs another start of "
                 "%.3f ms\n",
                 all->net->n_refused, all->net->n_refused == 1 ? " falls" : "s fall",
                 qd_start_us(r->at.chip, r->precision, &r->at.run) / 1e3);
}

// --- the report

static void print_chip(const qt_target *at) {
    char title[64];
    qt_print("estimated for %s (%s, v%u)", at->chip->name,
             qt_chip_title(at->chip, title, sizeof title), at->chip->arch);
    if (at->lent_to)
        qt_print(", the nearest to %s that was measured", at->lent_to);
}

// Time and steps of each class, of the row that is shown in detail.
static void print_classes(const qt_estimates *r) {
    const qt_estimate *row = &r->rows[0];
    qt_totals t = qt_add_up(&r->net->steps, row->precision);
    double us[QD_CLASSES];
    qt_class_us(&r->net->steps, &row->e, us);
    qt_print("\n%s on %s, by class:\n      us  share  steps  class\n",
             qd_precision_names[row->precision], row->at.chip->name);
    for (int k = 0; k < QD_CLASSES; k++)
        if (t.steps[k])
            qt_print("%8.1f  %4.1f%%  %5u  %s\n", us[k], qt_share(us[k], &row->e), t.steps[k],
                     qd_class_names[k]);
    qt_print("%8.1f  %4.1f%%         start\n%8.1f  %4.1f%%         memory, beside the rest\n",
             row->e.start, qt_share(row->e.start, &row->e), row->e.memory,
             qt_share(row->e.memory, &row->e));
}

static void print_left_out(const qt_network *net) {
    if (net->n_parts > 1)
        qt_print("%u partitions, each with its own start\n", net->n_parts);
    for (uint32_t i = 0; i < net->n_refused; i++)
        qt_print("left out: node '%s' (%s): %s\n", net->refused[i].node, net->refused[i].op,
                 net->refused[i].why);
    for (uint32_t i = 0; i < net->steps.n_unknown; i++)
        qt_print("guessed: node '%s' (%s) counts as a light op\n", net->steps.unknown[i]->name,
                 net->steps.unknown[i]->type);
}

int qt_estimate_text(const qt_estimates *r) {
    qt_totals t = qt_add_up(&r->net->steps, r->rows[0].precision);
    qt_print("%s: %u matrix and %u vector steps, %.3f GMAC (%.3f padded), %.1f MB of weights\n",
             r->path, t.matrix, t.vector, t.macs / 1e9, t.padded / 1e9, t.weights / 1e6);
    if (r->every)
        qt_print("estimated for all SoCs with published latencies");
    else
        print_chip(&r->rows[0].at);
    qt_print("; constants%s: %s\n", r->every || r->rows[0].at.lent_to ? "" : " fitted to this SoC",
             qd_constants);
    print_head(r->every);
    for (uint32_t i = 0; i < r->n; i++)
        print_row(&r->rows[i], r->every);
    print_doubts(r);
    print_left_out(r->net);
    if (r->steps && r->rows[0].known) {
        print_classes(r);
        qt_print("\n");
        qt_print_schedule(&r->plan,
                          r->net->n_parts > 1 ? "schedule, as if it were one graph" : "schedule");
        print_steps(r);
        print_advice(r);
    }
    return qt_close_stdout();
}
