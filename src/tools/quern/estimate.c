// SPDX-License-Identifier: MIT
//
// quern estimate: how long a model would take on a phone's NPU, where the time goes, and what to
// change.
#include "tools/quern/estimate.h"
#include "tools/quern/binary.h"
#include "tools/quern/commands.h"
#include "tools/quern/output.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct estimate_options {
    qt_input_options in; // dims
    const char *soc, *precision, *trace, *page;
    uint64_t arch, top;
    bool json, steps;
} estimate_options;

#define AT(field) offsetof(estimate_options, field)

static const qt_flag flags[] = {
    {"soc", 's', QT_TEXT, "SOC", AT(soc), NULL,
     "chip or device by name or number, or all (default SM8650)"},
    {"arch", 0, QT_COUNT, "N", AT(arch), NULL, "a chip of this architecture"},
    {"precision", 'p', QT_CHOICE, "P", AT(precision), "fp16|a8w8|a16w8",
     "default: all three, or the model's own"},
    {"steps", 0, QT_BOOL, NULL, AT(steps), NULL, "list the steps by their time, and advice"},
    {"top", 0, QT_COUNT, "N", AT(top), NULL, "at most so many steps (default 20)"},
    {"trace", 0, QT_FILE, "FILE", AT(trace), NULL, "write a timeline for Perfetto"},
    {"html", 0, QT_FILE, "FILE", AT(page), NULL, "write a page: timeline, roofline, advice"},
    {"json", 0, QT_BOOL, NULL, AT(json), NULL, "print the report as JSON"},
    QT_DIM_FLAG(estimate_options, in),
    {0},
};

#define MAX_ROWS 128

// The schedule itself is needed for one row only.
static qrn_status find_peak(const qt_network *net, qt_estimate *out) {
    qd_schedule plan;
    qrn_arena *arena = qrn_arena_create();
    qrn_status s = arena ? qd_schedule_of(&net->graph, &net->steps, out->at.chip, out->precision,
                                          NULL, arena, &plan)
                         : QRN_FAIL(QRN_E_MEM, "estimate: no memory");
    if (s == QRN_OK)
        out->peak_vtcm = plan.peak_bytes;
    qrn_arena_destroy(arena);
    return s;
}

int qt_estimate_of(const qt_network *net, const qt_target *at, qd_precision p, qt_estimate *out) {
    *out = (qt_estimate){.at = *at, .precision = p, .known = qd_has_data(at->chip, p)};
    if (!out->known)
        return QT_EXIT_OK;
    if (qd_estimate_of(&net->steps, at->chip, p, 0, net->graph.arena, &out->e) == QRN_OK &&
        find_peak(net, out) == QRN_OK) {
        bool several = (net->products & (net->products - 1)) != 0;
        const qd_case c = {.graph = &net->graph,
                           .steps = &net->steps,
                           .chip = at->chip,
                           .lent_to = at->lent_to,
                           .precision = p,
                           .e = &out->e,
                           .n_elsewhere = net->n_refused,
                           .mixed = several && p == qt_network_precision(net)};
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

// Precisions to tell of: the one that is asked for or that the model has, else all.
static uint32_t choose_precisions(const estimate_options *o, const qt_network *net,
                                  qd_precision *out) {
    static const qd_precision all[] = {QD_W8A8, QD_W8A16, QD_FP16};
    if (o->precision || net->quantized) {
        out[0] = o->precision ? precision_of(o->precision) : qt_network_precision(net);
        return 1;
    }
    memcpy(out, all, sizeof all);
    return QD_PRECISIONS;
}

static int make_rows(const estimate_options *o, const qt_network *net, bool every,
                     qt_estimate *rows, uint32_t *n) {
    qd_precision precisions[QD_PRECISIONS];
    uint32_t n_precisions = choose_precisions(o, net, precisions);
    for (uint32_t i = 0; every ? qd_chip_at(i) != NULL : i == 0; i++) {
        qt_target at = {.chip = qd_chip_at(i)};
        int code = every ? QT_EXIT_OK : qt_find_target(o->soc, o->arch, &at);
        for (uint32_t k = 0; code == QT_EXIT_OK && k < n_precisions && *n < MAX_ROWS; k++)
            code = qt_estimate_of(net, &at, precisions[k], &rows[(*n)++]);
        if (code != QT_EXIT_OK)
            return code;
    }
    if (every || n_precisions > 1 || rows[0].known)
        return QT_EXIT_OK;
    qt_error("%s on %s: nobody published measurements of this precision on this chip, and those of "
             "other chips do not carry over",
             qd_precision_names[rows[0].precision], rows[0].at.chip->name);
    return QT_EXIT_REFUSED;
}

// Advice and a schedule for the first row.
static qrn_status look_closer(qt_estimates *r) {
    const qt_estimate *first = &r->rows[0];
    const qt_network *net = r->net;
    if (!first->known)
        return QRN_OK;
    QRN_TRY(qd_advise(&net->graph, &net->steps, &first->e, first->at.chip, first->precision, 0,
                      net->graph.arena, &r->advice));
    if (!qt_find_hints(&r->advice, net->steps.n, net->graph.arena, &r->hints))
        return QRN_FAIL(QRN_E_MEM, "estimate: no memory");
    return qd_schedule_of(&net->graph, &net->steps, first->at.chip, first->precision, NULL,
                          net->graph.arena, &r->plan);
}

static int report(const estimate_options *o, qt_estimates *r) {
    if (look_closer(r) != QRN_OK) {
        qt_error("%s", qrn_message());
        return QT_EXIT_FAILURE;
    }
    if (o->trace && !r->rows[0].known) {
        qt_error("%s: there is no estimate to draw", o->trace);
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
    const char *flag = o->soc         ? "--soc"
                       : o->arch      ? "--arch"
                       : o->precision ? "--precision"
                       : o->page      ? "--html"
                                      : NULL;
    if (!flag)
        return qt_estimate_binary(path, o->json, o->steps, o->top ? o->top : 20, o->trace);
    qt_error("%s does not apply to a context binary, whose schedule is stored: estimate the model",
             flag);
    return QT_EXIT_USAGE;
}

static int run(const void *options, const qt_list *args) {
    const estimate_options *o = options;
    const char *path = args->items[0];
    if (qt_is_binary(path))
        return of_binary(o, path);
    bool every = o->soc && strcasecmp(o->soc, "all") == 0;
    if (o->soc && o->arch) {
        qt_error("--soc and --arch both name a chip; give one of them");
        return QT_EXIT_USAGE;
    }
    qt_network net;
    qt_estimate *rows = calloc(MAX_ROWS, sizeof *rows);
    uint32_t n = 0;
    int code = qt_network_open(path, &o->in, &net);
    if (code == QT_EXIT_OK)
        code = rows ? make_rows(o, &net, every, rows, &n) : QT_EXIT_FAILURE;
    if (code == QT_EXIT_OK) {
        qt_estimates r = {.path = path,
                          .net = &net,
                          .rows = rows,
                          .n = n,
                          .every = every,
                          .steps = o->steps,
                          .top = o->top ? o->top : 20};
        code = report(o, &r);
    }
    qt_network_close(&net);
    free(rows);
    return code;
}

const qt_command qt_estimate_command = {
    .name = "estimate",
    .summary = "say how long a model would take on a phone's NPU",
    .args = "MODEL",
    .min_args = 1,
    .max_args = 1,
    .about = "Cuts a model into the fused steps that an NPU runs and estimates their time from "
             "constants fitted to published latencies (docs/estimate.md).\n"
             "The interval holds for nine in ten networks. Batch 1 and full power are assumed.\n"
             "Details are those of the first chip and precision.\n"
             "Of a context binary that was compiled for a chip the stored schedule is told.",
    .groups = {{"options", flags}},
    .examples = {{"quern estimate model.onnx --soc SM8650", "On one chip, in three precisions."},
                 {"quern estimate model.onnx --steps", "Where does the time go, what to change?"},
                 {"quern estimate model.onnx --html report.html", "The same to look at."}},
    .options_size = sizeof(estimate_options),
    .run = run,
};
