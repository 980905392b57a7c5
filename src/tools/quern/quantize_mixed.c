// SPDX-License-Identifier: MIT
//
// The search: each scheme for the whole model, then each layer in another precision than the finest
// one, then the choices that are best for a price of time. Everything on the front was
// measured as a whole.
#include "tools/quern/quantize_mixed.h"

#include "tools/quern/commands.h"
#include "tools/quern/output.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PRICES 32
#define DEFAULT_SAMPLES 4
#define DEFAULT_SQNR 30.0

static const qt_mixed_option known[] = {
    {"a8w8", 8, 8}, {"a16w8", 16, 8}, {"a8w4", 8, 4}, {"a16w4", 16, 4}, {"fp16", 0, 0},
};

static volatile sig_atomic_t interrupted;
static void on_interrupt(int number) {
    (void)number;
    interrupted = 1;
}

// --- options

static const qt_mixed_option *option_of(const char *name, size_t n) {
    char word[16];
    if (n >= sizeof word)
        return NULL;
    snprintf(word, sizeof word, "%.*s", (int)n, name);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].name, qt_precision_name(word)) == 0)
            return &known[i];
    return NULL;
}

static int read_schemes(const char *text, qt_mixed *x) {
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, ",");
        const qt_mixed_option *o = option_of(p, n);
        if (!o || x->n_options == QZ_MIXED_OPTIONS) {
            qt_error("--schemes %s: '%.*s' is not one of a8w8, a16w8, a8w4, a16w4, fp16", text,
                     (int)n, p);
            return QT_EXIT_USAGE;
        }
        for (uint32_t i = 0; i < x->n_options; i++)
            if (strcmp(x->options[i].name, o->name) == 0) {
                qt_error("--schemes %s: %s is there twice", text, o->name);
                return QT_EXIT_USAGE;
            }
        x->options[x->n_options++] = *o;
        p += n + (p[n] == ',');
    }
    if (x->n_options >= 2)
        return QT_EXIT_OK;
    qt_error("--schemes %s: expected at least two, such as a8w8,a16w8", text);
    return QT_EXIT_USAGE;
}

int qt_mixed_check(const qt_mixed_options *o, size_t n_models, bool samples) {
    const char *need = o->schemes          ? "--schemes"
                       : o->front          ? "--front"
                       : o->command        ? "--score-command"
                       : o->budget_ms != 0 ? "--budget-ms"
                       : o->min_sqnr != 0  ? "--min-sqnr"
                       : o->min_score != 0 ? "--min-score"
                       : o->samples        ? "--search-samples"
                                           : NULL;
    const char *wrong = NULL;
    if (!o->on && need)
        wrong = "goes with --mixed";
    else if (!o->on)
        return QT_EXIT_OK;
    else if (n_models > 1)
        need = "--mixed", wrong = "goes with one model";
    else if (!samples)
        need = "--mixed", wrong = "needs samples: --calibration DATA";
    else if (o->min_score != 0 && !o->command)
        need = "--min-score", wrong = "needs --score-command";
    else if (o->min_score != 0 && o->min_sqnr != 0)
        need = "--min-score", wrong = "and --min-sqnr exclude each other";
    else if (o->budget_ms < 0)
        need = "--budget-ms", wrong = "must be above 0";
    if (!wrong)
        return QT_EXIT_OK;
    qt_error("%s %s", need, wrong);
    return QT_EXIT_USAGE;
}

// --- points

static bool is_there(const qt_mixed *x, const uint8_t *choice) {
    for (uint32_t i = 0; i < x->n_points; i++)
        if (memcmp(x->points[i].choice, choice, x->n_groups) == 0)
            return true;
    return false;
}

bool qt_mixed_stopped(void) { return interrupted; }

int qt_mixed_add(qt_mixed *x, const uint8_t *choice) {
    double ms, noise;
    if (x->n_points == QT_MIXED_POINTS || is_there(x, choice))
        return QT_EXIT_OK;
    int code = qt_mixed_try(x, choice, &ms, &noise);
    if (code != QT_EXIT_OK || isinf(ms))
        return code;
    qt_mixed_point *p = &x->points[x->n_points];
    *p = (qt_mixed_point){.choice = qrn_arena_copy(x->arena, choice, x->n_groups + 1u),
                          .ms = ms,
                          .sqnr = -10 * log10(noise),
                          .score = NAN};
    if (!p->choice) {
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    x->n_points++;
    return QT_EXIT_OK;
}

// The whole model in each scheme.
static int try_schemes(qt_mixed *x, uint8_t *choice) {
    for (uint32_t i = 0; i < x->n_options; i++) {
        uint32_t before = x->n_points;
        qt_progress("schemes", i, x->n_options);
        memset(choice, (int)i, x->n_groups);
        int code = qt_mixed_add(x, choice);
        if (code != QT_EXIT_OK)
            return code;
        if (x->n_points == before)
            qt_warn("%s as a whole does not run on the HTP of %s in one partition",
                    x->options[i].name, x->task->soc);
    }
    if (x->n_points)
        return QT_EXIT_OK;
    qt_error("%s: no scheme of the list runs on the HTP of %s in one partition; quern check says "
             "why",
             x->task->path, x->task->soc);
    return QT_EXIT_REFUSED;
}

// What each layer takes in a precision: layers join it one after the other, so that each finds the
// one before it there already. Alone, it would pay for conversions on both sides.
static int time_layers(qt_mixed *x, uint32_t option, uint8_t *choice) {
    double last = x->finest_ms;
    memset(choice, (int)x->finest, x->n_groups);
    for (uint32_t g = 0; g < x->n_groups && !interrupted; g++) {
        size_t at = (size_t)g * x->n_options + option;
        double ms = INFINITY;
        qt_progress("times", at, (size_t)x->n_groups * x->n_options);
        choice[g] = (uint8_t)option;
        int code = qt_mixed_try(x, choice, &ms, NULL);
        if (code != QT_EXIT_OK)
            return code;
        x->ms[at] = ms - last;
        if (isinf(ms))
            choice[g] = (uint8_t)x->finest;
        else
            last = ms;
    }
    return QT_EXIT_OK;
}

// What the results lose by each layer alone in a precision, and what its conversions take.
static int try_layers(qt_mixed *x, uint32_t option, uint8_t *choice) {
    memset(choice, (int)x->finest, x->n_groups);
    for (uint32_t g = 0; g < x->n_groups; g++) {
        size_t at = (size_t)g * x->n_options + option;
        double ms = 0, noise = INFINITY;
        qt_progress("layers", at, (size_t)x->n_groups * x->n_options);
        choice[g] = (uint8_t)option;
        int code =
            interrupted || isinf(x->ms[at]) ? QT_EXIT_OK : qt_mixed_try(x, choice, &ms, &noise);
        if (code != QT_EXIT_OK)
            return code;
        x->noise[at] = noise - x->finest_noise;
        x->turn[at] = isinf(noise) ? 0 : fmax(0, (ms - x->finest_ms - x->ms[at]) / 2);
        choice[g] = (uint8_t)x->finest;
    }
    return QT_EXIT_OK;
}

// Prices at which a layer alone would change, and higher ones, at which runs of layers pay for
// their conversions.
static uint32_t find_prices(const qz_mixed *table, double *prices) {
    uint32_t n = qz_mixed_weights(table, prices, MOST_PRICES / 2);
    for (uint32_t i = n; n && i < MOST_PRICES; i++)
        prices[i] = 1.5 * prices[i - 1];
    return n ? MOST_PRICES : 0;
}

static int try_prices(qt_mixed *x, uint8_t *choice) {
    const qz_mixed table = {x->n_groups, x->n_options, x->noise, x->ms, x->turn};
    double prices[MOST_PRICES];
    uint32_t n = find_prices(&table, prices);
    int code = QT_EXIT_OK;
    for (uint32_t i = 0; i < n && code == QT_EXIT_OK && !interrupted; i++) {
        qt_progress("front", i, n);
        if (qz_mixed_choose(&table, prices[i], choice) != QRN_OK) {
            qt_error("%s", qrn_message());
            return QT_EXIT_FAILURE;
        }
        code = qt_mixed_add(x, choice);
    }
    return code;
}

// --- the choice

static double quality(const qt_mixed *x, const qt_mixed_point *p) {
    return x->task->opt->command ? p->score : p->sqnr;
}

static int find_front(qt_mixed *x) {
    qz_point points[QT_MIXED_POINTS];
    for (int by_score = 0; by_score < 2; by_score++) {
        for (uint32_t i = 0; i < x->n_points; i++)
            points[i] =
                (qz_point){.ms = x->points[i].ms,
                           .quality = by_score ? quality(x, &x->points[i]) : x->points[i].sqnr};
        qz_mixed_front(points, x->n_points);
        for (uint32_t i = 0; i < x->n_points; i++)
            x->points[i].on_front = points[i].on_front;
        for (uint32_t i = 0; !by_score && x->task->opt->command && i < x->n_points; i++) {
            qt_mixed_point *p = &x->points[i];
            int code =
                p->on_front || p->is_tail ? qt_mixed_score(x, p->choice, &p->score) : QT_EXIT_OK;
            if (code != QT_EXIT_OK)
                return code;
        }
    }
    return QT_EXIT_OK;
}

static bool is_enough(const qt_mixed *x, const qt_mixed_point *p) {
    const qt_mixed_options *o = x->task->opt;
    double least = o->command ? o->min_score : o->min_sqnr;
    if (least == 0 && o->budget_ms == 0 && !o->command)
        least = DEFAULT_SQNR;
    return (o->budget_ms == 0 || p->ms <= o->budget_ms) && (least == 0 || quality(x, p) >= least);
}

// Within a budget the best, else the fastest that is good enough.
static int choose(qt_mixed *x) {
    const qt_mixed_options *o = x->task->opt;
    bool best_first = o->budget_ms != 0 && o->min_sqnr == 0 && o->min_score == 0;
    uint32_t found = UINT32_MAX, fastest = UINT32_MAX, best = UINT32_MAX;
    for (uint32_t i = 0; i < x->n_points; i++) {
        const qt_mixed_point *p = &x->points[i];
        if (!p->on_front)
            continue;
        if (fastest == UINT32_MAX || p->ms < x->points[fastest].ms)
            fastest = i;
        if (best == UINT32_MAX || quality(x, p) > quality(x, &x->points[best]))
            best = i;
        if (is_enough(x, p) &&
            (found == UINT32_MAX || (best_first ? quality(x, p) > quality(x, &x->points[found])
                                                : p->ms < x->points[found].ms)))
            found = i;
    }
    const char *unit = o->command ? "" : " dB";
    bool asked = o->budget_ms != 0 || o->min_sqnr != 0 || o->min_score != 0;
    if (found == UINT32_MAX && asked) {
        qt_error("no model found is that good: the fastest takes %.3f ms (%.4g%s), the best has "
                 "%.4g%s (%.3f ms)",
                 x->points[fastest].ms, quality(x, &x->points[fastest]), unit,
                 quality(x, &x->points[best]), unit, x->points[best].ms);
        return QT_EXIT_REFUSED;
    }
    if (found == UINT32_MAX && !o->command)
        qt_warn("no model found has an SQNR of %g dB: the best one is written", DEFAULT_SQNR);
    x->chosen = found == UINT32_MAX ? best : found;
    return QT_EXIT_OK;
}

// The scheme that layers leave next: of those on the front of whole models the next slower one than
// the last. False: there is none.
static bool next_base(qt_mixed *x, uint32_t n_whole) {
    qz_point points[QZ_MIXED_OPTIONS];
    const qt_mixed_point *next = NULL;
    double fastest = INFINITY;
    for (uint32_t i = 0; i < n_whole; i++) {
        points[i] = (qz_point){.ms = x->points[i].ms, .quality = x->points[i].sqnr};
        fastest = fmin(fastest, points[i].ms);
    }
    qz_mixed_front(points, n_whole);
    for (uint32_t i = 0; i < n_whole; i++) {
        const qt_mixed_point *p = &x->points[i];
        if (points[i].on_front && p->ms > fmax(x->finest_ms, fastest) &&
            (!next || p->ms < next->ms))
            next = p;
    }
    if (!next)
        return false;
    x->finest = next->choice[0];
    x->finest_ms = next->ms;
    x->finest_noise = pow(10, -next->sqnr / 10);
    return true;
}

static bool is_faster(const qt_mixed *x, uint32_t option, uint32_t n_whole) {
    for (uint32_t i = 0; i < n_whole; i++)
        if (x->points[i].choice[0] == option)
            return x->points[i].ms < x->finest_ms;
    return option != x->finest; // it does not run as a whole
}

// Layers leave one scheme for faster ones.
static int search_from(qt_mixed *x, uint32_t n_whole, uint8_t *choice) {
    int code = QT_EXIT_OK;
    for (size_t i = 0; i < (size_t)x->n_groups * x->n_options; i++) {
        x->noise[i] = i % x->n_options == x->finest ? 0 : INFINITY;
        x->ms[i] = x->turn[i] = 0;
    }
    for (uint32_t i = 0; i < x->n_options && code == QT_EXIT_OK; i++)
        if (is_faster(x, i, n_whole))
            code = time_layers(x, i, choice);
    for (uint32_t i = 0; i < x->n_options && code == QT_EXIT_OK; i++)
        if (is_faster(x, i, n_whole))
            code = try_layers(x, i, choice);
    if (code == QT_EXIT_OK)
        code = try_prices(x, choice);
    return code == QT_EXIT_OK ? qt_mixed_refine(x, choice) : code;
}

static int search(qt_mixed *x) {
    size_t cells = (size_t)x->n_groups * x->n_options + 1;
    uint8_t *choice = qrn_arena_alloc(x->arena, x->n_groups + 1u);
    x->noise = qrn_arena_alloc(x->arena, cells * sizeof *x->noise);
    x->ms = qrn_arena_alloc(x->arena, cells * sizeof *x->ms);
    x->turn = qrn_arena_alloc(x->arena, cells * sizeof *x->turn);
    if (!choice || !x->noise || !x->ms || !x->turn) {
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    int code = qt_mixed_prepare(x);
    if (code == QT_EXIT_OK)
        code = try_schemes(x, choice);
    uint32_t n_whole = x->n_points;
    if (code == QT_EXIT_OK && !interrupted)
        code = qt_mixed_tails(x, choice);
    while (code == QT_EXIT_OK && !interrupted && next_base(x, n_whole))
        code = search_from(x, n_whole, choice);
    qt_progress(NULL, 0, 0);
    x->stopped = interrupted;
    if (code == QT_EXIT_OK)
        code = find_front(x);
    if (code == QT_EXIT_OK)
        code = choose(x);
    if (code == QT_EXIT_OK && !x->task->quiet)
        qt_mixed_print(x);
    if (code == QT_EXIT_OK && x->task->opt->front)
        code = qt_mixed_save(x);
    if (code == QT_EXIT_OK)
        qt_mixed_apply(x, x->points[x->chosen].choice);
    return code;
}

void qt_mixed_release(qt_mixed *x) {
    size_t n_in = x->task->samples->in.n_ports;
    for (size_t i = 0; x->inputs && i < x->n_samples * n_in; i++)
        qt_array_free(&x->inputs[i]);
    for (size_t i = 0; x->wanted && i < (size_t)x->n_samples * x->n_outputs; i++)
        qt_array_free(&x->wanted[i]);
    free(x->inputs);
    free(x->wanted);
    if (x->arena)
        qrn_arena_destroy(x->arena);
}

int qt_mixed_search(const qt_mixed_task *task) {
    qt_mixed x = {.task = task, .arena = qrn_arena_create()};
    uint64_t most = task->opt->samples ? task->opt->samples : DEFAULT_SAMPLES;
    x.n_samples = (uint32_t)(task->samples->in.n_sets < most ? task->samples->in.n_sets : most);
    int code = x.arena
                   ? read_schemes(task->opt->schemes ? task->opt->schemes : "a8w8,a16w8,fp16", &x)
                   : QT_EXIT_FAILURE;
    if (code == QT_EXIT_OK)
        code = qt_find_target(task->soc, 0, &x.at);
    if (code == QT_EXIT_OK &&
        (qz_plan_encodings(task->graph, task->scheme) != QRN_OK || qt_mixed_groups(&x) != QRN_OK)) {
        qt_error("%s: %s", task->path, qrn_message());
        code = QT_EXIT_FAILURE;
    }
    task->graph->keeps_rounded = true;
    struct sigaction mine = {.sa_handler = on_interrupt}, before;
    interrupted = 0;
    sigaction(SIGINT, &mine, &before);
    if (code == QT_EXIT_OK)
        code = search(&x);
    sigaction(SIGINT, &before, NULL);
    qt_mixed_release(&x);
    return code;
}
