// SPDX-License-Identifier: MIT
//
// What quern estimate prints, as text and as JSON.
#include "tools/quern/estimate.h"
#include "tools/quern/output.h"
#include "tools/quern/report.h"

#include <stdlib.h>
#include <string.h>

double qt_share(double part, const qd_estimate *e) {
    double all = e->start + e->core + e->memory;
    return all > 0 ? 100 * part / all : 0;
}

static void print_head(bool name_chip) {
    printf("%s%-6s %9s  %-14s  matrix vector  steps  start memory    TOPS  DDR MB VTCM MB\n",
           name_chip ? "chip       " : "", "", "ms", "nine in ten");
}

static void print_row(const qd_steps *steps, const qt_estimate *r, bool name_chip) {
    const qd_estimate *e = &r->e;
    if (name_chip)
        printf("%-10s ", r->at.chip->name);
    if (!r->known) {
        printf("%-6s no measurements of this precision exist for this chip\n",
               qd_precision_names[r->precision]);
        return;
    }
    char range[32];
    snprintf(range, sizeof range, "%.2f to %.2f", e->us / 1e3 * QT_LOW, e->us / 1e3 * QT_HIGH);
    printf("%-6s %9.3f  %-14s  %5.0f%% %5.0f%% %5.0f%% %5.0f%% %5.0f%%  %6.2f  %6.1f  %6.2f",
           qd_precision_names[r->precision], e->us / 1e3, range, qt_share(e->sum.matrix, e),
           qt_share(e->sum.vector, e), qt_share(e->sum.overhead, e), qt_share(e->start, e),
           qt_share(e->memory, e), qt_tops(steps, e),
           (e->sum.weight_bytes + e->sum.spill_bytes) / 1e6, e->peak_vtcm / 1e6);
    for (uint32_t i = 0; i < r->n_doubts; i++)
        printf("%s%s", i ? ", " : "  uncalibrated: ", r->doubts[i].word);
    putchar('\n');
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
            printf("uncalibrated, %s: %s\n", d->word, d->text);
        }
}

static json_t *json_doubts(const qt_estimate *r) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < r->n_doubts; i++)
        json_array_append_new(list, json_pack("{s:s,s:o}", "word", r->doubts[i].word, "text",
                                              qt_json_text(r->doubts[i].text)));
    return list;
}

static json_t *json_classes(const qd_steps *steps, const qt_estimate *r) {
    qt_totals t = qt_add_up(steps, r->precision);
    double us[QD_CLASSES];
    json_t *all = json_object();
    qt_class_us(steps, &r->e, us);
    for (int k = 0; k < QD_CLASSES; k++)
        json_object_set_new(all, qd_class_names[k],
                            json_pack("{s:i,s:f}", "steps", (int)t.steps[k], "ms", us[k] / 1e3));
    return all;
}

static json_t *json_row(const qd_steps *steps, const qt_estimate *r) {
    const qd_estimate *e = &r->e;
    json_t *o = json_pack("{s:s,s:i,s:i,s:s,s:b}", "chip", r->at.chip->name, "soc",
                          (int)r->at.chip->soc, "arch", (int)r->at.chip->arch, "precision",
                          qd_precision_names[r->precision], "fitted", !r->at.lent_to);
    json_object_set_new(o, "ms", r->known ? qt_json_number(e->us / 1e3) : json_null());
    if (!r->known)
        return o;
    json_t *parts = json_pack("{s:f,s:f,s:f,s:f,s:f}", "start", e->start / 1e3, "matrix",
                              e->sum.matrix / 1e3, "vector", e->sum.vector / 1e3, "overhead",
                              e->sum.overhead / 1e3, "memory", e->memory / 1e3);
    json_object_set_new(o, "low_ms", qt_json_number(e->us / 1e3 * QT_LOW));
    json_object_set_new(o, "high_ms", qt_json_number(e->us / 1e3 * QT_HIGH));
    json_object_set_new(o, "parts_ms", parts);
    json_object_set_new(o, "core_ms", qt_json_number(e->core / 1e3));
    json_object_set_new(o, "classes", json_classes(steps, r));
    json_object_set_new(o, "bound", json_string(qd_bound_names[qd_bound(&e->sum)]));
    json_object_set_new(o, "effective_tops", qt_json_number(qt_tops(steps, e)));
    json_object_set_new(o, "uncalibrated", json_doubts(r));
    json_object_set_new(o, "weight_bytes", qt_json_number(e->sum.weight_bytes));
    json_object_set_new(o, "spill_bytes", qt_json_number(e->sum.spill_bytes));
    json_object_set_new(o, "peak_vtcm_bytes", qt_json_number(e->peak_vtcm));
    return o;
}

// --- the network

qt_totals qt_add_up(const qd_steps *steps, qd_precision p) {
    qt_totals t = {0};
    double a = p == QD_W8A8 ? 1 : 2;
    for (uint32_t i = 0; i < steps->n; i++) {
        const qd_step *s = &steps->list[i];
        double times = qd_passes(s, p);
        t.weights += s->weights * (p == QD_FP16 ? 2 : 1);
        t.steps[s->kind] += (uint32_t)times;
        t.macs += s->macs;
        if (s->kind == QD_MATRIX) {
            t.matrix++;
            t.padded += s->padded;
            continue;
        }
        t.vector += (uint32_t)times;
        t.bytes[s->kind == QD_POOL ? QD_LIGHT : s->kind] +=
            a * times * (s->kind == QD_DEPTHWISE ? s->macs : s->in + s->out + s->windows);
    }
    return t;
}

void qt_class_us(const qd_steps *steps, const qd_estimate *e, double out[QD_CLASSES]) {
    memset(out, 0, QD_CLASSES * sizeof *out);
    for (uint32_t i = 0; i < steps->n; i++)
        out[steps->list[i].kind] += qt_step_us(&e->steps[i]);
}

double qt_tops(const qd_steps *steps, const qd_estimate *e) {
    double macs = 0;
    for (uint32_t i = 0; i < steps->n; i++)
        macs += steps->list[i].macs;
    return e->us > 0 ? 2 * macs / e->us / 1e6 : 0;
}

static json_t *json_totals(const qd_steps *steps, qd_precision p) {
    qt_totals t = qt_add_up(steps, p);
    return json_pack("{s:s,s:i,s:i,s:f,s:f,s:f,s:f,s:f,s:f,s:f}", "precision",
                     qd_precision_names[p], "matrix_steps", (int)t.matrix, "vector_steps",
                     (int)t.vector, "macs", t.macs, "padded_macs", t.padded, "weight_bytes",
                     t.weights, "light_bytes", t.bytes[QD_LIGHT], "heavy_bytes", t.bytes[QD_HEAVY],
                     "move_bytes", t.bytes[QD_MOVE], "depthwise_bytes", t.bytes[QD_DEPTHWISE]);
}

// --- steps

double qt_step_us(const qd_time *t) { return t->matrix + t->vector + t->overhead; }

typedef struct ranked {
    double us;
    uint32_t index;
} ranked;

static int slowest_first(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    return x->us > y->us ? -1 : x->us < y->us ? 1 : x->index < y->index ? -1 : 1;
}

const uint32_t *qt_rank_steps(const qt_estimates *r) {
    uint32_t n = r->net->steps.n;
    ranked *list = qrn_arena_alloc(r->net->graph.arena, (n + 1) * sizeof *list);
    uint32_t *order = qrn_arena_alloc(r->net->graph.arena, (n + 1) * sizeof *order);
    if (!list || !order)
        return NULL;
    for (uint32_t i = 0; i < n; i++)
        list[i] = (ranked){qt_step_us(&r->rows[0].e.steps[i]), i};
    if (n)
        qsort(list, n, sizeof *list, slowest_first);
    for (uint32_t i = 0; i < n; i++)
        order[i] = list[i].index;
    return order;
}

static void print_steps(const qt_estimates *all) {
    const qt_estimate *r = &all->rows[0];
    const qd_steps *steps = &all->net->steps;
    const uint32_t *order = qt_rank_steps(all);
    printf("\n%s on %s, by time:\n      us  share  class      bound     padded  MB in+out  step\n",
           qd_precision_names[r->precision], r->at.chip->name);
    for (uint32_t i = 0; order && i < steps->n && i < all->top; i++) {
        const qd_step *s = &steps->list[order[i]];
        const qd_time *t = &r->e.steps[order[i]];
        double a = r->precision == QD_W8A8 ? 1 : 2;
        printf("%8.1f  %4.1f%%  %-9s  %-8s  ", qt_step_us(t), qt_share(qt_step_us(t), &r->e),
               qd_class_names[s->kind], qd_bound_names[qd_bound(t)]);
        if (s->kind == QD_MATRIX)
            printf("%5.2fx", s->macs > 0 ? s->padded / s->macs : 0);
        else
            printf("%6s", "");
        printf("  %9.2f  %s (%s%s)\n", (s->in + s->out) * a / 1e6, s->op->name, s->op->type,
               s->n_ops > 1 ? " +" : "");
    }
}

// --- advice

#define SHOWN 3 // steps of each advice

static void print_advice(const qt_estimates *all) {
    const qt_estimate *r = &all->rows[0];
    printf("\n%s on %s, what to change:%s\n", qd_precision_names[r->precision], r->at.chip->name,
           all->advice.n ? "" : " nothing that would bring 0.1 %");
    for (uint32_t i = 0; i < all->advice.n; i++) {
        const qd_advice *a = &all->advice.list[i];
        printf("%s%5.1f%%  %s  (%s; %u step%s)\n", a->at_most ? "up to " : "      ",
               100 * a->gain / r->e.us, a->change, a->rule, a->n, a->n == 1 ? "" : "s");
        for (uint32_t k = 0; k < a->n && k < SHOWN; k++)
            printf("              %5.1f us  %s: %s\n", a->hits[k].gain,
                   all->net->steps.list[a->hits[k].step].op->name, a->hits[k].detail);
    }
    if (all->net->n_refused)
        printf("       %u node%s off the NPU: each way back to it costs another start of "
               "%.3f ms\n",
               all->net->n_refused, all->net->n_refused == 1 ? " falls" : "s fall",
               r->e.start / 1e3);
}

static json_t *json_advice(const qt_estimates *all) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < all->advice.n; i++) {
        const qd_advice *a = &all->advice.list[i];
        json_t *hits = json_array();
        for (uint32_t k = 0; k < a->n; k++)
            json_array_append_new(
                hits,
                json_pack("{s:o,s:f,s:o}", "step",
                          qt_json_text(all->net->steps.list[a->hits[k].step].op->name), "gain_ms",
                          a->hits[k].gain / 1e3, "detail", qt_json_text(a->hits[k].detail)));
        json_array_append_new(list, json_pack("{s:s,s:s,s:f,s:b,s:o}", "rule", a->rule, "change",
                                              a->change, "gain_ms", a->gain / 1e3, "at_most",
                                              a->at_most, "steps", hits));
    }
    return list;
}

static json_t *json_steps(const qt_network *net, const qt_estimate *r) {
    json_t *list = json_array();
    double a = r->precision == QD_W8A8 ? 1 : 2;
    for (uint32_t i = 0; i < net->steps.n; i++) {
        const qd_step *s = &net->steps.list[i];
        const qd_time *t = &r->e.steps[i];
        json_array_append_new(
            list,
            json_pack("{s:o,s:s,s:s,s:i,s:i,s:s,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f}", "name",
                      qt_json_text(s->op->name), "op", s->op->type, "class",
                      qd_class_names[s->kind], "ops", (int)s->n_ops, "passes",
                      (int)qd_passes(s, r->precision), "bound", qd_bound_names[qd_bound(t)], "us",
                      qt_step_us(t), "memory_us", t->memory, "macs", s->macs, "padded_macs",
                      s->padded, "in_bytes", s->in * a, "out_bytes", s->out * a, "work_bytes",
                      s->kind == QD_MATRIX ? 0 : qd_work(s) * a, "weight_bytes", t->weight_bytes));
    }
    return list;
}

// --- the reports

int qt_estimate_json(const qt_estimates *r) {
    const qt_network *net = r->net;
    json_t *list = json_array(), *refused = json_array();
    for (uint32_t i = 0; i < r->n; i++)
        json_array_append_new(list, json_row(&net->steps, &r->rows[i]));
    for (uint32_t i = 0; i < net->n_refused; i++)
        json_array_append_new(refused,
                              json_pack("{s:o,s:o,s:o}", "node", qt_json_text(net->refused[i].node),
                                        "op", qt_json_text(net->refused[i].op), "reason",
                                        qt_json_text(net->refused[i].why)));
    json_t *all = json_pack("{s:o,s:o,s:o,s:o}", "model", qt_json_text(r->path), "network",
                            json_totals(&net->steps, r->rows[0].precision), "estimates", list,
                            "refused", refused);
    json_object_set_new(all, "constants", json_string(qd_constants));
    json_object_set_new(all, "interval", json_real(QD_INTERVAL));
    json_object_set_new(all, "ms",
                        r->rows[0].known ? qt_json_number(r->rows[0].e.us / 1e3) : json_null());
    if (r->rows[0].known)
        json_object_set_new(all, "schedule", qt_schedule_json(&r->plan, r->steps));
    if (r->steps && r->rows[0].known) {
        json_object_set_new(all, "steps", json_steps(net, &r->rows[0]));
        json_object_set_new(all, "advice", json_advice(r));
    }
    return qt_print_json(all);
}

static void print_chip(const qt_target *at) {
    char title[64];
    printf("estimated for %s (%s, v%u)", at->chip->name,
           qt_chip_title(at->chip, title, sizeof title), at->chip->arch);
    if (at->lent_to)
        printf(", the nearest to %s that was measured", at->lent_to);
}

// Time and steps of each class, of the row that is told in detail.
static void print_classes(const qt_estimates *r) {
    const qt_estimate *row = &r->rows[0];
    qt_totals t = qt_add_up(&r->net->steps, row->precision);
    double us[QD_CLASSES];
    qt_class_us(&r->net->steps, &row->e, us);
    printf("\n%s on %s, by class:\n      us  share  steps  class\n",
           qd_precision_names[row->precision], row->at.chip->name);
    for (int k = 0; k < QD_CLASSES; k++)
        if (t.steps[k])
            printf("%8.1f  %4.1f%%  %5u  %s\n", us[k], qt_share(us[k], &row->e), t.steps[k],
                   qd_class_names[k]);
    printf("%8.1f  %4.1f%%         start\n%8.1f  %4.1f%%         memory, beside the rest\n",
           row->e.start, qt_share(row->e.start, &row->e), row->e.memory,
           qt_share(row->e.memory, &row->e));
}

static void print_left_out(const qt_network *net) {
    for (uint32_t i = 0; i < net->n_refused; i++)
        printf("not in it: node '%s' (%s): %s\n", net->refused[i].node, net->refused[i].op,
               net->refused[i].why);
    for (uint32_t i = 0; i < net->steps.n_unknown; i++)
        printf("guessed: node '%s' (%s) counts as a light op\n", net->steps.unknown[i]->name,
               net->steps.unknown[i]->type);
}

int qt_estimate_text(const qt_estimates *r) {
    qt_totals t = qt_add_up(&r->net->steps, r->rows[0].precision);
    printf("%s: %u matrix and %u vector steps, %.3f GMAC (%.3f padded), %.1f MB of "
           "weights\n",
           r->path, t.matrix, t.vector, t.macs / 1e9, t.padded / 1e9, t.weights / 1e6);
    if (r->every)
        printf("estimated for all chips that were measured");
    else
        print_chip(&r->rows[0].at);
    printf("; constants: %s\n", qd_constants);
    print_head(r->every);
    for (uint32_t i = 0; i < r->n; i++)
        print_row(&r->net->steps, &r->rows[i], r->every);
    print_doubts(r);
    print_left_out(r->net);
    if (r->steps && r->rows[0].known) {
        print_classes(r);
        putchar('\n');
        qt_print_schedule(&r->plan, "schedule");
        print_steps(r);
        print_advice(r);
    }
    return qt_close_stdout();
}
