// SPDX-License-Identifier: MIT
//
// quern estimate: how long a model would take on a phone's NPU, and where the time goes.
#include "tools/quern/estimate.h"

#include "base/soc.h"
#include "base/suggest.h"
#include "tools/quern/commands.h"
#include "tools/quern/output.h"
#include "tools/quern/report.h"

#include <stdlib.h>
#include <string.h>

typedef struct estimate_options {
    qt_input_options in; // dims
    const char *soc, *precision;
    uint64_t arch;
    bool json, steps;
    uint64_t top;
} estimate_options;

#define AT(field) offsetof(estimate_options, field)

static const qt_flag flags[] = {
    {"soc", 's', QT_TEXT, "SOC", AT(soc), NULL, "chip or device by name or number, or all"},
    {"arch", 0, QT_COUNT, "N", AT(arch), NULL, "a chip of this architecture"},
    {"precision", 'p', QT_CHOICE, "P", AT(precision), "fp16|a8w8|a16w8",
     "default: all three, or the model's own"},
    {"steps", 0, QT_BOOL, NULL, AT(steps), NULL, "list the steps by their time"},
    {"top", 0, QT_COUNT, "N", AT(top), NULL, "at most so many steps (default 20)"},
    {"json", 0, QT_BOOL, NULL, AT(json), NULL, "print the report as JSON"},
    QT_DIM_FLAG(estimate_options, in),
    {0},
};

// Nine in ten networks that the model has not seen lie within this share.
#define SPREAD 0.5

// --- chips

typedef struct target {
    const qd_chip *chip;
    const char *lent_to; // a chip without constants of its own; NULL: fitted
} target;

static int unknown_soc(const char *text) {
    const char *names[512];
    size_t n = 0;
    const qd_chip *c;
    for (uint32_t i = 0; (c = qd_chip_at(i)) && n < 256; i++)
        names[n++] = c->name;
    const qrn_soc *s;
    for (uint32_t i = 0; n < 512 && (s = qrn_soc_at(i)); i++)
        names[n++] = s->name;
    const char *near = qrn_suggest(text, names, n);
    if (near)
        qt_error("--soc '%s': no such chip or device; did you mean '%s'?", text, near);
    else
        qt_error("--soc '%s': no such chip or device; try --soc all, or --arch 73", text);
    return QT_EXIT_USAGE;
}

static int find_target(const estimate_options *o, target *out) {
    const char *text = o->soc ? o->soc : "SM8650";
    *out = (target){0};
    if (o->arch) {
        out->chip = qd_chip_of_arch((uint32_t)o->arch);
        if (!out->chip) {
            qt_error("--arch %llu: no chip of this architecture was measured; expected 68, 69, "
                     "73, 75, 79 or 81",
                     (unsigned long long)o->arch);
            return QT_EXIT_USAGE;
        }
        out->lent_to = "architecture";
        return QT_EXIT_OK;
    }
    out->chip = qd_chip_find(text);
    if (out->chip)
        return QT_EXIT_OK;
    char *end = NULL;
    unsigned long id = strtoul(text, &end, 10);
    const qrn_soc *soc = *text && !*end ? qrn_soc_by_id((uint32_t)id) : qrn_soc_by_name(text);
    if (!soc)
        return unknown_soc(text);
    out->chip = qd_chip_of_soc(soc->id);
    if (!out->chip) {
        out->chip = qd_chip_of_arch(soc->arch);
        out->lent_to = soc->name;
    }
    if (out->chip)
        return QT_EXIT_OK;
    qt_error("--soc %s: nothing was measured on chips of its architecture (v%u)", soc->name,
             soc->arch);
    return QT_EXIT_REFUSED;
}

// --- one estimate

typedef struct row {
    target at;
    qd_precision precision;
    bool known; // there are measurements for it
    qd_estimate e;
} row;

static int make_row(const qt_network *net, const target *at, qd_precision p, row *out) {
    *out = (row){.at = *at, .precision = p, .known = qd_has_data(at->chip, p)};
    if (!out->known)
        return QT_EXIT_OK;
    if (qd_estimate_of(&net->steps, at->chip, p, 0, net->graph.arena, &out->e) == QRN_OK)
        return QT_EXIT_OK;
    qt_error("%s", qrn_message());
    return QT_EXIT_FAILURE;
}

static double share(double part, const qd_estimate *e) {
    double all = e->start + e->core + e->memory;
    return all > 0 ? 100 * part / all : 0;
}

static void print_row(const row *r, bool name_chip) {
    const qd_estimate *e = &r->e;
    if (name_chip)
        printf("%-10s ", r->at.chip->name);
    if (!r->known) {
        printf("%-6s no measurements of this precision exist for this chip\n",
               qd_precision_names[r->precision]);
        return;
    }
    printf("%-6s %8.3f ms  (%.2f to %.2f)  matrix %2.0f%%  vector %2.0f%%  steps %2.0f%%  start "
           "%2.0f%%  memory %2.0f%%  DDR %.1f MB\n",
           qd_precision_names[r->precision], e->us / 1e3, e->us / 1e3 * (1 - SPREAD),
           e->us / 1e3 * (1 + SPREAD), share(e->sum.matrix, e), share(e->sum.vector, e),
           share(e->sum.overhead, e), share(e->start, e), share(e->memory, e),
           (e->sum.weight_bytes + e->sum.spill_bytes) / 1e6);
}

static json_t *json_row(const row *r) {
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
    json_object_set_new(o, "low_ms", qt_json_number(e->us / 1e3 * (1 - SPREAD)));
    json_object_set_new(o, "high_ms", qt_json_number(e->us / 1e3 * (1 + SPREAD)));
    json_object_set_new(o, "parts_ms", parts);
    json_object_set_new(o, "weight_bytes", qt_json_number(e->sum.weight_bytes));
    json_object_set_new(o, "spill_bytes", qt_json_number(e->sum.spill_bytes));
    json_object_set_new(o, "peak_vtcm_bytes", qt_json_number(e->peak_vtcm));
    return o;
}

// --- the network

typedef struct totals {
    uint32_t matrix, vector;
    double macs, padded, weights, bytes[QD_CLASSES];
} totals;

// As a precision counts them: bytes, and steps that it splits.
static totals add_up(const qd_steps *steps, qd_precision p) {
    totals t = {0};
    double a = p == QD_W8A8 ? 1 : 2;
    for (uint32_t i = 0; i < steps->n; i++) {
        const qd_step *s = &steps->list[i];
        double times = s->split && p != QD_FP16 ? 2 : 1;
        t.weights += s->weights * (p == QD_FP16 ? 2 : 1);
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

static json_t *json_totals(const qd_steps *steps, qd_precision p) {
    totals t = add_up(steps, p);
    return json_pack("{s:s,s:i,s:i,s:f,s:f,s:f,s:f,s:f,s:f,s:f}", "precision",
                     qd_precision_names[p], "matrix_steps", (int)t.matrix, "vector_steps",
                     (int)t.vector, "macs", t.macs, "padded_macs", t.padded, "weight_bytes",
                     t.weights, "light_bytes", t.bytes[QD_LIGHT], "heavy_bytes", t.bytes[QD_HEAVY],
                     "move_bytes", t.bytes[QD_MOVE], "depthwise_bytes", t.bytes[QD_DEPTHWISE]);
}

// --- steps

typedef struct ranked {
    uint32_t index;
    double us;
} ranked;

static double step_us(const qd_time *t) { return t->matrix + t->vector + t->overhead; }

static int slowest_first(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    return x->us > y->us ? -1 : x->us < y->us ? 1 : x->index < y->index ? -1 : 1;
}

static ranked *rank_steps(const qt_network *net, const qd_estimate *e) {
    ranked *list = qrn_arena_alloc(net->graph.arena, (net->steps.n + 1) * sizeof *list);
    for (uint32_t i = 0; list && i < net->steps.n; i++)
        list[i] = (ranked){i, step_us(&e->steps[i])};
    if (list && net->steps.n)
        qsort(list, net->steps.n, sizeof *list, slowest_first);
    return list;
}

static void print_steps(const qt_network *net, const row *r, uint64_t top) {
    const ranked *list = rank_steps(net, &r->e);
    printf("\n%s on %s, by time:\n      us  share  class      bound     padded  MB in+out  step\n",
           qd_precision_names[r->precision], r->at.chip->name);
    for (uint32_t i = 0; list && i < net->steps.n && i < top; i++) {
        const qd_step *s = &net->steps.list[list[i].index];
        const qd_time *t = &r->e.steps[list[i].index];
        double a = r->precision == QD_W8A8 ? 1 : 2;
        printf("%8.1f  %4.1f%%  %-9s  %-8s  ", list[i].us, share(list[i].us, &r->e),
               qd_class_names[s->kind], qd_bound_names[qd_bound(t)]);
        if (s->kind == QD_MATRIX)
            printf("%5.2fx", s->macs > 0 ? s->padded / s->macs : 0);
        else
            printf("%6s", "");
        printf("  %9.2f  %s (%s%s)\n", (s->in + s->out) * a / 1e6, s->op->name, s->op->type,
               s->n_ops > 1 ? " +" : "");
    }
}

static json_t *json_steps(const qt_network *net, const row *r) {
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
                      s->split && r->precision != QD_FP16 ? 2 : 1, "bound",
                      qd_bound_names[qd_bound(t)], "us", step_us(t), "memory_us", t->memory, "macs",
                      s->macs, "padded_macs", s->padded, "in_bytes", s->in * a, "out_bytes",
                      s->out * a, "window_bytes", s->windows * a, "weight_bytes", t->weight_bytes));
    }
    return list;
}

// --- the report

#define MAX_ROWS 128

static qd_precision precision_of(const char *text) {
    for (int i = 0; i < QD_PRECISIONS; i++)
        if (strcmp(qd_precision_names[i], text) == 0)
            return (qd_precision)i;
    return QD_FP16;
}

// Precisions to tell of: the one that is asked for or that the model has, else all.
static uint32_t choose_precisions(const estimate_options *o, const qt_network *net,
                                  qd_precision *out) {
    static const qd_precision all[] = {QD_W8A8, QD_W8A16, QD_FP16};
    if (o->precision || net->quantized) {
        out[0] = o->precision ? precision_of(o->precision) : net->wide ? QD_W8A16 : QD_W8A8;
        return 1;
    }
    memcpy(out, all, sizeof all);
    return QD_PRECISIONS;
}

static int make_rows(const estimate_options *o, const qt_network *net, row *rows, uint32_t *n) {
    qd_precision precisions[QD_PRECISIONS];
    uint32_t n_precisions = choose_precisions(o, net, precisions);
    bool every = o->soc && strcmp(o->soc, "all") == 0;
    for (uint32_t i = 0; every ? qd_chip_at(i) != NULL : i == 0; i++) {
        target at = {.chip = qd_chip_at(i)};
        int code = every ? QT_EXIT_OK : find_target(o, &at);
        for (uint32_t k = 0; code == QT_EXIT_OK && k < n_precisions && *n < MAX_ROWS; k++)
            code = make_row(net, &at, precisions[k], &rows[(*n)++]);
        if (code != QT_EXIT_OK)
            return code;
    }
    return QT_EXIT_OK;
}

static int report_json(const char *path, const estimate_options *o, const qt_network *net,
                       const row *rows, uint32_t n) {
    json_t *list = json_array(), *refused = json_array();
    for (uint32_t i = 0; i < n; i++)
        json_array_append_new(list, json_row(&rows[i]));
    for (uint32_t i = 0; i < net->n_refused; i++)
        json_array_append_new(refused,
                              json_pack("{s:o,s:o,s:o}", "node", qt_json_text(net->refused[i].node),
                                        "op", qt_json_text(net->refused[i].op), "reason",
                                        qt_json_text(net->refused[i].why)));
    json_t *all = json_pack("{s:o,s:o,s:o,s:o}", "model", qt_json_text(path), "network",
                            json_totals(&net->steps, rows[0].precision), "estimates", list,
                            "refused", refused);
    json_object_set_new(all, "ms",
                        rows[0].known ? qt_json_number(rows[0].e.us / 1e3) : json_null());
    if (o->steps && rows[0].known)
        json_object_set_new(all, "steps", json_steps(net, &rows[0]));
    return qt_print_json(all);
}

static int report_text(const char *path, const estimate_options *o, const qt_network *net,
                       const row *rows, uint32_t n) {
    bool every = o->soc && strcmp(o->soc, "all") == 0;
    totals t = add_up(&net->steps, rows[0].precision);
    printf("%s: %u matrix and %u vector steps, %.3f GMAC (%.3f padded)\n", path, t.matrix, t.vector,
           t.macs / 1e9, t.padded / 1e9);
    if (!every)
        printf("estimated for %s (%s, v%u)%s%s\n", rows[0].at.chip->name, rows[0].at.chip->others,
               rows[0].at.chip->arch,
               rows[0].at.lent_to ? ", the nearest that was measured to " : "",
               rows[0].at.lent_to ? rows[0].at.lent_to : "");
    for (uint32_t i = 0; i < n; i++)
        print_row(&rows[i], every);
    for (uint32_t i = 0; i < net->n_refused; i++)
        printf("not in it: node '%s' (%s): %s\n", net->refused[i].node, net->refused[i].op,
               net->refused[i].why);
    for (uint32_t i = 0; i < net->steps.n_unknown; i++)
        printf("guessed: node '%s' (%s) counts as a light op\n", net->steps.unknown[i]->name,
               net->steps.unknown[i]->type);
    if (o->steps && rows[0].known)
        print_steps(net, &rows[0], o->top ? o->top : 20);
    return qt_close_stdout();
}

static int run(const void *options, const qt_list *args) {
    const estimate_options *o = options;
    const char *path = args->items[0];
    qt_network net;
    row *rows = calloc(MAX_ROWS, sizeof *rows);
    uint32_t n = 0;
    int code = qt_network_open(path, &o->in, &net);
    if (code == QT_EXIT_OK)
        code = rows ? make_rows(o, &net, rows, &n) : QT_EXIT_FAILURE;
    if (code == QT_EXIT_OK)
        code = o->json ? report_json(path, o, &net, rows, n) : report_text(path, o, &net, rows, n);
    qt_network_close(&net);
    free(rows);
    return code;
}

const qt_command qt_estimate = {
    .name = "estimate",
    .summary = "say how long a model would take on a phone's NPU",
    .args = "MODEL",
    .min_args = 1,
    .max_args = 1,
    .about = "Cuts a model into the fused steps that an NPU runs and estimates their time from "
             "constants fitted to published latencies (docs/estimate.md).\n"
             "The interval holds for nine in ten networks. Batch 1 and full power are assumed.",
    .groups = {{"options", flags}},
    .examples = {{"quern estimate model.onnx --soc SM8650", "On one chip, in three precisions."},
                 {"quern estimate model.onnx --soc all --precision a8w8", "Which phone will do?"},
                 {"quern estimate model.onnx --steps", "What to change?"}},
    .options_size = sizeof(estimate_options),
    .run = run,
};
