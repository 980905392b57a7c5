// SPDX-License-Identifier: MIT
//
// quern estimate: how long a model would take on a phone's NPU, where the time goes, and what to
// change.
#include "tools/quern/estimate.h"
#include "tools/quern/binary.h"
#include "tools/quern/commands.h"
#include "tools/quern/context_node.h"
#include "tools/quern/output.h"
#include "tools/quern/report.h"
#include "tools/quern/soc.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct estimate_options {
    qt_input_options in; // dims
    const char *soc, *precision, *trace, *page, *power;
    uint64_t arch, top, vtcm, hvx_threads;
    bool json, steps, allow_fp16;
} estimate_options;

#define AT(field) offsetof(estimate_options, field)

// Those of device/power.def, which the tests compare.
#define QT_POWERS                                                                                  \
    "burst|sustained_high_performance|high_performance|balanced|low_balanced|high_power_saver|"    \
    "power_saver|low_power_saver|extreme_power_saver"

static const qt_flag flags[] = {
    {"soc", 's', QT_TEXT, "SOC", AT(soc), NULL,
     "target SoC or device, e.g. SM8650 or 57, or all (default " QT_DEFAULT_SOC ")"},
    {"arch", 0, QT_COUNT, "N", AT(arch), NULL,
     "instead of --soc: a SoC of this architecture, e.g. 75"},
    {"precision", 'p', QT_CHOICE, "P", AT(precision), "fp16|a8w8|a16w8",
     "precision (default: all three, or that of a quantized model)"},
    {"power", 0, QT_CHOICE, "P", AT(power), QT_POWERS, "power profile (default burst)"},
    {"vtcm", 0, QT_COUNT1, "MB", AT(vtcm), NULL, "VTCM in MB (default: all of the SoC's)"},
    {"hvx-threads", 0, QT_COUNT1, "N", AT(hvx_threads), NULL, "vector threads (default 4)"},
    {"steps", 0, QT_BOOL, NULL, AT(steps), NULL, "list the slowest steps, with advice"},
    {"top", 0, QT_COUNT1, "N", AT(top), NULL, "number of steps to list (default 20)"},
    {"trace", 0, QT_FILE, "FILE", AT(trace), NULL,
     "write a timeline that Perfetto and chrome://tracing open"},
    {"html", 0, QT_FILE, "FILE", AT(page), NULL,
     "write an HTML report: timeline, roofline, advice"},
    {"json", 0, QT_BOOL, NULL, AT(json), NULL, "print the report as JSON"},
    {"allow-fp16", 0, QT_BOOL, NULL, AT(allow_fp16), NULL,
     "estimate ops that have no 16-bit integer form in fp16, with a warning"},
    QT_DIM_FLAG(estimate_options, in),
    {0},
};

#define MAX_NETS 64
#define MAX_ROWS (MAX_NETS * QD_PRECISIONS)

// The schedule itself is needed for one row only.
static qrn_status find_peak(const qt_network *net, qt_estimate *out) {
    qd_schedule plan;
    qrn_arena *arena = qrn_arena_create();
    qrn_status s = arena ? qd_schedule_of(&net->graph, &net->steps, out->at.chip, out->precision,
                                          &out->at.run, arena, &plan)
                         : QRN_FAIL(QRN_E_MEM, "estimate: out of memory");
    if (s == QRN_OK)
        out->peak_vtcm = plan.peak_bytes;
    qrn_arena_destroy(arena);
    return s;
}

// Each partition is a graph of its own with a start of its own.
static bool add_parts(const qt_network *net, qt_estimate *out) {
    if (net->n_parts == 1)
        return true;
    const double *us = qt_part_us(net, out);
    out->e.us = 0;
    for (uint32_t i = 0; us && i < net->n_parts; i++)
        out->e.us += us[i];
    out->e.start *= net->n_parts;
    return us;
}

int qt_estimate_of(const qt_network *net, const qt_target *at, qd_precision p, qt_estimate *out) {
    *out = (qt_estimate){.net = net, .at = *at, .precision = p, .known = qd_has_data(at->chip, p)};
    if (!out->known)
        return QT_EXIT_OK;
    if (qd_estimate_of(&net->steps, at->chip, p, &at->run, net->graph.arena, &out->e) == QRN_OK &&
        find_peak(net, out) == QRN_OK && add_parts(net, out)) {
        bool several = (net->products & (net->products - 1)) != 0;
        const qd_case c = {.graph = &net->graph,
                           .steps = &net->steps,
                           .chip = at->chip,
                           .lent_to = at->lent_to,
                           .precision = p,
                           .e = &out->e,
                           .options = &at->run,
                           .n_elsewhere = net->n_refused,
                           .mixed = several && p == qd_precision_of(&net->graph, &net->steps)};
        out->n_doubts = qd_doubts_of(&c, out->doubts);
        return QT_EXIT_OK;
    }
    qt_error("%s", qrn_message());
    return QT_EXIT_FAILURE;
}

static qd_precision precision_of(const char *text) {
    for (int i = 0; i < QD_PRECISIONS; i++)
        if (strcmp(qd_precision_names[i], text) == 0)
            return (qd_precision)i;
    return QD_FP16;
}

// Precisions to report: the one that is asked for or that a quantized model has, else all.
static uint32_t choose_precisions(const estimate_options *o, const qt_network *net,
                                  qd_precision *out) {
    static const qd_precision all[] = {QD_W8A8, QD_W8A16, QD_FP16};
    qd_precision own = qd_precision_of(&net->graph, &net->steps);
    if (o->precision || own != QD_FP16) {
        out[0] = o->precision ? precision_of(o->precision) : own;
        return 1;
    }
    memcpy(out, all, sizeof all);
    return QD_PRECISIONS;
}

// Everything that is estimated: a network for each target, and its rows.
typedef struct work {
    const char *path;
    ox_model *model;
    qt_inputs in;
    qt_network *nets;
    qt_estimate *rows;
    uint32_t n_nets, n_rows;
} work;

static int add_target(const estimate_options *o, const qt_target *at, work *w) {
    qt_network *net = &w->nets[w->n_nets];
    if (qt_network_of(w->model, at, o->allow_fp16, net) != QRN_OK) {
        qt_error("%s on %s: %s", w->path, at->chip->name, qrn_message());
        return QT_EXIT_REFUSED;
    }
    w->n_nets++;
    qd_precision precisions[QD_PRECISIONS];
    uint32_t n = choose_precisions(o, net, precisions);
    int code = QT_EXIT_OK;
    for (uint32_t k = 0; code == QT_EXIT_OK && k < n; k++)
        code = qt_estimate_of(net, at, precisions[k], &w->rows[w->n_rows++]);
    return code;
}

// How the graph runs, by the flags.
static int set_run(const estimate_options *o, qt_target *at) {
    if (o->vtcm > at->chip->vtcm_mb) {
        qt_error("--vtcm %llu: %s has %u MB of VTCM; give 1 to %u", (unsigned long long)o->vtcm,
                 at->chip->name, at->chip->vtcm_mb, at->chip->vtcm_mb);
        return QT_EXIT_USAGE;
    }
    if (o->hvx_threads > QD_HVX_THREADS) {
        qt_error("--hvx-threads %llu: the constants stand for %u; give 1 to %u",
                 (unsigned long long)o->hvx_threads, QD_HVX_THREADS, QD_HVX_THREADS);
        return QT_EXIT_USAGE;
    }
    at->run = (qd_options){.vtcm_bytes = o->vtcm << 20,
                           .hvx_threads = (uint32_t)o->hvx_threads,
                           .clock = o->power ? qd_power_clock(o->power) : 1,
                           .lent = at->lent_to != NULL};
    return QT_EXIT_OK;
}

static int make_rows(const estimate_options *o, bool every, work *w) {
    for (uint32_t i = 0; every ? i < MAX_NETS && qd_chip_at(i) : i == 0; i++) {
        const qd_chip *chip = qd_chip_at(i);
        qt_target at = {.chip = chip, .soc = chip->soc, .arch = chip->arch};
        int code = every ? QT_EXIT_OK : qt_find_target(o->soc, o->arch, &at);
        if (code == QT_EXIT_OK)
            code = set_run(o, &at);
        if (code == QT_EXIT_OK)
            code = add_target(o, &at, w);
        if (code != QT_EXIT_OK)
            return code;
    }
    if (every || w->n_rows > 1 || w->rows[0].known)
        return QT_EXIT_OK;
    qt_error("%s on %s: nobody published measurements of this precision on this SoC, and those of "
             "other SoCs do not carry over",
             qd_precision_names[w->rows[0].precision], w->rows[0].at.chip->name);
    return QT_EXIT_REFUSED;
}

// Advice and a schedule for the first row.
static qrn_status look_closer(qt_estimates *r) {
    const qt_estimate *first = &r->rows[0];
    const qt_network *net = r->net;
    if (!first->known)
        return QRN_OK;
    QRN_TRY(qd_advise(&net->graph, &net->steps, &first->e, first->at.chip, first->precision,
                      &first->at.run, net->graph.arena, &r->advice));
    if (!qt_find_hints(&r->advice, net->steps.n, net->graph.arena, &r->hints))
        return QRN_FAIL(QRN_E_MEM, "estimate: out of memory");
    return qd_schedule_of(&net->graph, &net->steps, first->at.chip, first->precision,
                          &first->at.run, net->graph.arena, &r->plan);
}

static int report(const estimate_options *o, qt_estimates *r) {
    if (look_closer(r) != QRN_OK) {
        qt_error("%s", qrn_message());
        return QT_EXIT_FAILURE;
    }
    if (o->trace && !r->rows[0].known) {
        qt_error("%s: no estimate to draw", o->trace);
        return QT_EXIT_FAILURE;
    }
    if (o->trace && !qt_schedule_trace(&r->plan, r->net->graph.ops, o->trace))
        return QT_EXIT_FAILURE;
    if (o->page && !qt_estimate_page(r, o->page))
        return QT_EXIT_FAILURE;
    return o->json ? qt_estimate_json(r) : qt_estimate_text(r);
}

// A binary was compiled for one chip in one precision: nothing can be chosen any more.
static int of_binary(const estimate_options *o, const char *path) {
    const char *flag = o->soc           ? "--soc"
                       : o->arch        ? "--arch"
                       : o->precision   ? "--precision"
                       : o->page        ? "--html"
                       : o->vtcm        ? "--vtcm"
                       : o->hvx_threads ? "--hvx-threads"
                                        : NULL;
    if (!flag)
        return qt_estimate_binary(path, o->json, o->steps, o->top ? o->top : 20, o->trace,
                                  o->power ? qd_power_clock(o->power) : 1);
    qt_error("%s does not apply to a context binary, whose schedule is stored: estimate the model",
             flag);
    return QT_EXIT_USAGE;
}

static int open_work(const estimate_options *o, const qt_list *args, work *w) {
    qt_input_options in = o->in;
    in.random = true; // no input is needed
    w->nets = calloc(MAX_NETS, sizeof *w->nets);
    w->rows = calloc(MAX_ROWS, sizeof *w->rows);
    if (!w->nets || !w->rows) {
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    int code = qt_open_nodes(w->path, &in, &w->model);
    return code == QT_EXIT_OK ? qt_inputs_open(w->model, &in, args, 1, &w->in) : code;
}

static void close_work(work *w) {
    for (uint32_t i = 0; i < w->n_nets; i++)
        qt_network_close(&w->nets[i]);
    free(w->nets);
    free(w->rows);
    qt_inputs_close(&w->in);
    ox_model_close(w->model);
}

static int run(const void *options, const qt_list *args) {
    const estimate_options *o = options;
    const char *path = args->items[0];
    if (qt_is_binary(path))
        return of_binary(o, path);
    bool every = o->soc && strcasecmp(o->soc, "all") == 0;
    if (o->soc && o->arch) {
        qt_error("--soc and --arch both name a target; give one of them");
        return QT_EXIT_USAGE;
    }
    work w = {.path = path};
    int code = open_work(o, args, &w);
    if (code == QT_EXIT_OK)
        code = make_rows(o, every, &w);
    if (code == QT_EXIT_OK) {
        qt_estimates r = {.path = path,
                          .net = &w.nets[0],
                          .rows = w.rows,
                          .n = w.n_rows,
                          .every = every,
                          .steps = o->steps,
                          .top = o->top ? o->top : 20};
        code = report(o, &r);
    }
    close_work(&w);
    return code;
}

const qt_command qt_estimate_command = {
    .name = "estimate",
    .summary = "estimate the latency of a model on a phone's NPU",
    .args = "MODEL",
    .min_args = 1,
    .max_args = 1,
    .about = "Estimates the latency of a model on an NPU, step by step, with constants fitted to "
             "published latencies (docs/estimate.md).\nNine in ten networks are in the interval, "
             "unless it is marked uncalibrated.\nDetails are shown for the first SoC and "
             "precision.\nFor a context binary the stored schedule is reported.",
    .groups = {{"options", flags}},
    .examples = {{"quern estimate model.onnx --soc SM8650", "On one SoC, in three precisions."},
                 {"quern estimate model.onnx --steps",
                  "Where does the time go, and what can be improved?"},
                 {"quern estimate model.onnx --html report.html", "An HTML report."}},
    .options_size = sizeof(estimate_options),
    .run = run,
};
