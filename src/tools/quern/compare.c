// SPDX-License-Identifier: MIT
//
// quern compare: two folders that QUERN_DUMP wrote, layer by layer. The first folder is the
// reference. Executions are paired by graph and number; the errors of all of them add up.
#include "tools/quern/commands.h"
#include "tools/quern/compare.h"
#include "tools/quern/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_LIMIT_DB 20.0
#define DEFAULT_TOP 20

typedef struct compare_options {
    const char *sort, *html;
    uint64_t top;
    double limit_db;
    bool all, fail, names_only, json;
} compare_options;

#define AT(field) offsetof(compare_options, field)

static const qt_flag flags[] = {
    {"sort", 0, QT_CHOICE, "BY", AT(sort), "error|order",
     "by error (default) or in order of execution"},
    {"top", 'n', QT_COUNT1, "N", AT(top), NULL, "number of rows to print (default 20)"},
    {"all", 'a', QT_BOOL, NULL, AT(all), NULL, "print all rows"},
    {"limit", 0, QT_NUMBER, "DB", AT(limit_db), NULL,
     "report the first layer whose SQNR is below this (default 20)"},
    {"fail", 0, QT_BOOL, NULL, AT(fail), NULL, "exit with status 1 if a layer is below the limit"},
    {"names-only", 0, QT_BOOL, NULL, AT(names_only), NULL,
     "match tensors by name only, not by order and similarity"},
    {"html", 0, QT_FILE, "FILE", AT(html), NULL,
     "write an HTML report with histograms and pictures"},
    {"json", 0, QT_BOOL, NULL, AT(json), NULL, "print the report as JSON"},
    {0},
};

typedef struct job {
    const compare_options *o;
    qt_dumps a, b;
    qt_match *matches;
    size_t n;
    double limit_db;
} job;

// --- which graph is which

// Executions of the graph that begins at item i.
static size_t runs_of(const qt_dumps *d, size_t i) {
    size_t n = 1;
    while (i + n < d->n && strcmp(d->items[i + n].graph, d->items[i].graph) == 0)
        n++;
    return n;
}

static void add_match(job *j, size_t i, size_t k) {
    size_t n_a = runs_of(&j->a, i), n_b = runs_of(&j->b, k);
    j->matches[j->n++] = (qt_match){.a = &j->a.items[i],
                                    .b = &j->b.items[k],
                                    .n_runs = n_a < n_b ? n_a : n_b,
                                    .n_a = n_a,
                                    .n_b = n_b};
}

// The graph of that name; d->n: none.
static size_t find_graph(const qt_dumps *d, const char *name) {
    size_t i = 0;
    while (i < d->n && strcmp(d->items[i].graph, name) != 0)
        i++;
    return i;
}

// Graphs that only d has; *last is one of them.
static size_t count_alone(const qt_dumps *d, const qt_dumps *other, size_t *last) {
    size_t n = 0;
    for (size_t i = 0; i < d->n; i += runs_of(d, i))
        if (find_graph(other, d->items[i].graph) == other->n) {
            *last = i;
            n++;
        }
    return n;
}

static void warn_alone(const qt_dumps *d, const qt_dumps *other, const char *folder) {
    for (size_t i = 0; i < d->n; i += runs_of(d, i))
        if (find_graph(other, d->items[i].graph) == other->n)
            qt_warn("graph '%s' is only in %s", d->items[i].graph, folder);
}

// By name. One graph that is left on each side is taken for the same: clients build names from
// things that differ between two forms of a model.
static int match_graphs(job *j, const char *folder_a, const char *folder_b) {
    size_t x = 0, y = 0;
    j->n = 0;
    j->matches = calloc(j->a.n + 1, sizeof *j->matches);
    if (!j->matches) {
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    for (size_t i = 0; i < j->a.n; i += runs_of(&j->a, i)) {
        size_t k = find_graph(&j->b, j->a.items[i].graph);
        if (k < j->b.n)
            add_match(j, i, k);
    }
    size_t alone_a = count_alone(&j->a, &j->b, &x), alone_b = count_alone(&j->b, &j->a, &y);
    if (alone_a == 1 && alone_b == 1) {
        add_match(j, x, y);
    } else {
        warn_alone(&j->a, &j->b, folder_a);
        warn_alone(&j->b, &j->a, folder_b);
    }
    if (j->n)
        return QT_EXIT_OK;
    qt_error("no graph of %s has the name of one of %s", folder_a, folder_b);
    qt_hint("name the folders of two graphs: quern compare %s/GRAPH %s/GRAPH", folder_a, folder_b);
    return QT_EXIT_INPUT;
}

// --- numbers

static const qt_dumped *same_tensor(const qt_dump *d, const qt_dumped *t) {
    for (size_t i = 0; i < d->n; i++)
        if (strcmp(d->tensors[i].name, t->name) == 0)
            return &d->tensors[i];
    return NULL;
}

qrn_status qt_layer_load(const qt_match *m, size_t r, const qt_layer *l, qt_array *a, qt_array *b) {
    const qt_dumped *ta = same_tensor(&m->a[r], l->pair.a), *tb = same_tensor(&m->b[r], l->pair.b);
    *a = *b = (qt_array){0};
    if (!ta || !tb)
        return QRN_OK;
    QRN_TRY(qt_dump_load(&m->a[r], ta, a));
    qrn_status s = qt_dump_load(&m->b[r], tb, b);
    if (s != QRN_OK || a->count != b->count) {
        qt_array_free(a);
        qt_array_free(b);
    }
    return s;
}

static qrn_status add_run(const qt_match *m, size_t r, qt_layer *l) {
    qt_array a, b;
    QRN_TRY(qt_layer_load(m, r, l, &a, &b));
    if (a.data)
        qt_compare(&l->c, &b, &a);
    for (size_t i = 0; i < a.count; i++) {
        double x = qt_array_at(&a, i), y = qt_array_at(&b, i);
        l->n_differ += !(x == y || (isnan(x) && isnan(y)));
    }
    qt_array_free(&a);
    qt_array_free(&b);
    return QRN_OK;
}

static qrn_status compare_graph(const job *j, qt_match *m) {
    qt_pair *pairs = NULL;
    size_t n = 0;
    QRN_TRY(qt_dump_pair(m->a, m->b, j->o->names_only, &pairs, &n));
    m->layers = calloc(n + 1, sizeof *m->layers);
    qrn_status s = m->layers ? QRN_OK : QRN_FAIL(QRN_E_MEM, "out of memory");
    for (size_t i = 0; i < n && s == QRN_OK; i++) {
        m->layers[m->n++].pair = pairs[i];
        for (size_t r = 0; r < m->n_runs && s == QRN_OK; r++)
            s = add_run(m, r, &m->layers[i]);
        qt_progress("layers", i + 1, n);
    }
    qt_progress("layers", 0, 0);
    free(pairs);
    return s;
}

static bool is_below(const qt_layer *l, double limit_db) {
    return l->c.n_mismatch > 0 || qt_sqnr_db(&l->c) < limit_db;
}

static const qt_layer *first_below(const job *j, const qt_match *m) {
    for (size_t i = 0; i < m->n; i++)
        if (is_below(&m->layers[i], j->limit_db))
            return &m->layers[i];
    return NULL;
}

// The largest error in steps of the second folder's encoding; 0: they have no one step.
static double steps_of(const qt_layer *l) {
    double step = qt_dump_step(l->pair.b);
    return step > 0 ? l->c.max_error / step : 0;
}

static int worse_first(const void *pa, const void *pb) {
    const qt_layer *a = *(const qt_layer *const *)pa, *b = *(const qt_layer *const *)pb;
    if (a->c.n_mismatch != b->c.n_mismatch)
        return a->c.n_mismatch > b->c.n_mismatch ? -1 : 1;
    double x = qt_sqnr_db(&a->c), y = qt_sqnr_db(&b->c);
    return x < y ? -1 : x > y ? 1 : a < b ? -1 : a > b;
}

// The layers as they are to be printed; NULL when out of memory.
static const qt_layer **sorted(const job *j, const qt_match *m) {
    const qt_layer **rows = calloc(m->n + 1, sizeof *rows);
    for (size_t i = 0; rows && i < m->n; i++)
        rows[i] = &m->layers[i];
    if (rows && m->n && (!j->o->sort || strcmp(j->o->sort, "error") == 0))
        qsort(rows, m->n, sizeof *rows, worse_first);
    return rows;
}

static size_t rows_wanted(const job *j, size_t n) {
    size_t top = j->o->top ? (size_t)j->o->top : DEFAULT_TOP;
    return j->o->all || n < top ? n : top;
}

// --- text

static void print_layer(const qt_layer *l) {
    double sqnr = qt_sqnr_db(&l->c), steps = steps_of(l);
    char db[32] = "equal", in_steps[32] = "", cell[QT_CELL];
    if (l->c.error > 0)
        snprintf(db, sizeof db, "%.1f", sqnr);
    if (steps > 0)
        snprintf(in_steps, sizeof in_steps, "%.1f", steps);
    qt_print("%-40s %-22s %8s %9.6f %11.4g %8s %7.3g%%", qt_cell_name(l->pair.b->name, 40, cell),
             l->pair.b->op ? l->pair.b->op : "input", db, qt_cosine(&l->c), l->c.max_error,
             in_steps, l->c.count ? 100 * (double)l->n_differ / (double)l->c.count : 0);
    if (l->c.n_mismatch)
        qt_print("  %s%zu not finite%s", qt_style_on(QT_RED), l->c.n_mismatch, qt_style_off());
    if (l->pair.kind == QT_PAIR_ORDER)
        qt_print("  ~ %s", l->pair.a->name);
    qt_print("\n");
}

static bool is_paired(const qt_match *m, const qt_dumped *t, bool first) {
    for (size_t i = 0; i < m->n; i++)
        if ((first ? m->layers[i].pair.a : m->layers[i].pair.b) == t)
            return true;
    return false;
}

#define FEW 8 // names of a line, without --all

// "title: a, b, c and 5 more", a name at a time; the n-th of them comes with n counted from 0.
static void print_name(const job *j, size_t n, const char *title, const char *name) {
    if (j->o->all || n < FEW)
        qt_print("%s%s", n ? ", " : title, name);
}

static void end_names(const job *j, size_t n) {
    if (n > FEW && !j->o->all)
        qt_print(" and %zu more (--all)", n - FEW);
    if (n)
        qt_print("\n");
}

static void print_alone(const job *j, const qt_match *m, bool first) {
    const qt_dump *d = first ? m->a : m->b;
    const char *title = first ? "only in the first: " : "only in the second: ";
    size_t n = 0;
    for (size_t i = 0; i < d->n; i++)
        if (!is_paired(m, &d->tensors[i], first))
            print_name(j, n++, title, d->tensors[i].name);
    end_names(j, n);
    title = first ? "not in the first: " : "not in the second: ";
    for (size_t i = 0; i < d->n_missing; i++) {
        const qt_undumped *t = &d->missing[i];
        char text[512];
        snprintf(text, sizeof text, "%s (%s%s%s)", t->name, t->reason, t->into ? " into " : "",
                 t->into ? t->into : "");
        print_name(j, i, title, text);
    }
    end_names(j, d->n_missing);
}

static void print_first_below(const job *j, const qt_match *m) {
    const qt_layer *l = first_below(j, m);
    if (!l)
        qt_print("no layer is below %.4g dB\n", j->limit_db);
    else
        qt_print("%sfirst below %.4g dB in the order of execution: %s%s (node %s, %s): %.1f dB\n",
                 qt_style_on(QT_YELLOW), j->limit_db, l->pair.b->name, qt_style_off(),
                 l->pair.b->node ? l->pair.b->node : "-", l->pair.b->op ? l->pair.b->op : "input",
                 qt_sqnr_db(&l->c));
}

static void warn_incomplete(const qt_dump *d, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!json_is_true(json_object_get(d[i].index, "complete")))
            qt_warn("%s: incomplete dump: the execution failed, or a file could not be written",
                    d[i].folder);
}

// Layers cannot agree when what went in does not.
static void warn_inputs(const qt_match *m) {
    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->layers[i].pair.b->role, "input") == 0 &&
            is_below(&m->layers[i], DEFAULT_LIMIT_DB))
            qt_warn("input '%s' differs: were the two executions given the same data?",
                    m->layers[i].pair.b->name);
}

static bool print_match(const job *j, const qt_match *m) {
    const qt_layer **rows = sorted(j, m);
    if (!rows)
        return false;
    qt_print("%s%s%s", qt_style_on(QT_BOLD), m->b->graph, qt_style_off());
    if (strcmp(m->a->graph, m->b->graph) != 0)
        qt_print(" against %s", m->a->graph);
    qt_print(": %s against %s, %zu of %zu tensors, %zu execution%s\n", m->b->backend, m->a->backend,
             m->n, m->b->n, m->n_runs, m->n_runs == 1 ? "" : "s");
    if (m->n_a != m->n_b)
        qt_print("the first has %zu executions, the second %zu: only those of both are compared\n",
                 m->n_a, m->n_b);
    qt_print("%s%-40s %-22s %8s %9s %11s %8s %8s%s\n", qt_style_on(QT_BOLD), "tensor", "op",
             "SQNR dB", "cosine", "max error", "steps", "differ", qt_style_off());
    size_t shown = rows_wanted(j, m->n);
    for (size_t i = 0; i < shown; i++)
        print_layer(rows[i]);
    if (shown < m->n)
        qt_print("... and %zu more (--all)\n", m->n - shown);
    free(rows);
    print_first_below(j, m);
    print_alone(j, m, true);
    print_alone(j, m, false);
    return true;
}

// --- JSON

static json_t *text_or_null(const char *text) { return text ? qt_json_text(text) : json_null(); }

json_t *qt_layer_json(const qt_layer *l) {
    double steps = steps_of(l);
    return json_pack("{s:o,s:o,s:s,s:o,s:o,s:o,s:o,s:o,s:o,s:I,s:I,s:b,s:I}", "name",
                     qt_json_text(l->pair.b->name), "reference", qt_json_text(l->pair.a->name),
                     "paired", l->pair.kind == QT_PAIR_NAME ? "name" : "order", "node",
                     text_or_null(l->pair.b->node), "op", text_or_null(l->pair.b->op), "sqnr_db",
                     qt_json_number(qt_sqnr_db(&l->c)), "cosine", qt_json_number(qt_cosine(&l->c)),
                     "max_error", qt_json_number(l->c.max_error), "steps",
                     steps > 0 ? json_real(steps) : json_null(), "differing",
                     (json_int_t)l->n_differ, "count", (json_int_t)l->c.count, "equal",
                     l->n_differ == 0, "not_finite", (json_int_t)l->c.n_mismatch);
}

static json_t *json_alone(const qt_match *m, bool first) {
    const qt_dump *d = first ? m->a : m->b;
    json_t *list = json_array();
    for (size_t i = 0; i < d->n; i++)
        if (!is_paired(m, &d->tensors[i], first))
            json_array_append_new(list, qt_json_text(d->tensors[i].name));
    return list;
}

static json_t *json_missing(const qt_dump *d) {
    json_t *list = json_array();
    for (size_t i = 0; i < d->n_missing; i++)
        json_array_append_new(list,
                              json_pack("{s:o,s:o,s:o}", "name", qt_json_text(d->missing[i].name),
                                        "reason", qt_json_text(d->missing[i].reason), "into",
                                        text_or_null(d->missing[i].into)));
    return list;
}

static json_t *json_match(const job *j, const qt_match *m) {
    const qt_layer **rows = sorted(j, m), *below = first_below(j, m);
    if (!rows)
        return NULL;
    json_t *list = json_array();
    for (size_t i = 0; i < m->n; i++)
        json_array_append_new(list, qt_layer_json(rows[i]));
    free(rows);
    return json_pack("{s:o,s:o,s:I,s:o,s:o,s:o,s:o,s:o,s:o}", "graph", qt_json_text(m->b->graph),
                     "reference", qt_json_text(m->a->graph), "executions", (json_int_t)m->n_runs,
                     "layers", list, "first_below", below ? qt_layer_json(below) : json_null(),
                     "only_first", json_alone(m, true), "only_second", json_alone(m, false),
                     "missing_first", json_missing(m->a), "missing_second", json_missing(m->b));
}

static int print_json(const job *j) {
    json_t *graphs = json_array();
    for (size_t i = 0; i < j->n; i++)
        json_array_append_new(graphs, json_match(j, &j->matches[i]));
    return qt_print_json(json_pack("{s:f,s:o}", "limit_db", j->limit_db, "graphs", graphs));
}

static int print_text(const job *j) {
    for (size_t i = 0; i < j->n; i++) {
        if (i)
            qt_print("\n");
        if (!print_match(j, &j->matches[i])) {
            qt_error("out of memory");
            return QT_EXIT_FAILURE;
        }
    }
    return qt_close_stdout();
}

static int write_page(const job *j, const qt_list *args) {
    const qt_compare_page page = {args->items[0], args->items[1], j->limit_db, j->matches, j->n};
    return qt_compare_page_write(&page, j->o->html);
}

static int compare(job *j, const qt_list *args) {
    if (qt_dumps_read(args->items[0], &j->a) != QRN_OK ||
        qt_dumps_read(args->items[1], &j->b) != QRN_OK) {
        qt_error("%s", qrn_message());
        return QT_EXIT_INPUT;
    }
    int code = match_graphs(j, args->items[0], args->items[1]);
    bool below = false;
    for (size_t i = 0; i < j->n && code == QT_EXIT_OK; i++) {
        if (compare_graph(j, &j->matches[i]) != QRN_OK) {
            qt_error("%s", qrn_message());
            return QT_EXIT_INPUT;
        }
        warn_incomplete(j->matches[i].a, j->matches[i].n_runs);
        warn_incomplete(j->matches[i].b, j->matches[i].n_runs);
        warn_inputs(&j->matches[i]);
        below = below || first_below(j, &j->matches[i]);
    }
    size_t n_layers = 0;
    for (size_t i = 0; i < j->n; i++)
        n_layers += j->matches[i].n;
    if (code == QT_EXIT_OK && !n_layers) { // "no layer is below the limit" would be no answer
        qt_error("%s and %s have no tensor in common; compare executions of one model, or of a "
                 "model and its quantized version",
                 args->items[0], args->items[1]);
        return QT_EXIT_INPUT;
    }
    if (code == QT_EXIT_OK && j->o->html)
        code = write_page(j, args);
    if (code == QT_EXIT_OK)
        code = j->o->json ? print_json(j) : print_text(j);
    return code == QT_EXIT_OK && below && j->o->fail ? QT_EXIT_FAILURE : code;
}

static int run(const void *options, const qt_list *args) {
    const compare_options *o = options;
    job j = {.o = o, .limit_db = o->limit_db != 0 ? o->limit_db : DEFAULT_LIMIT_DB};
    int code = compare(&j, args);
    for (size_t i = 0; i < j.n; i++)
        free(j.matches[i].layers);
    free(j.matches);
    qt_dumps_free(&j.a);
    qt_dumps_free(&j.b);
    return code;
}

const qt_command qt_compare_dumps = {
    .name = "compare",
    .summary = "compare two executions layer by layer",
    .args = "DIR-A DIR-B",
    .min_args = 2,
    .max_args = 2,
    .about = "Compares the tensors that QUERN_DUMP wrote for two executions, e.g. of a float model "
             "and its quantized version; DIR-A is the reference. Prints SQNR, cosine similarity, "
             "largest error (also in quantization steps of DIR-B) and the share of elements that "
             "differ, worst layer first, and the first layer in execution order that is below a "
             "limit.\nA folder may be that of QUERN_DUMP, of a graph or of one execution. Graphs "
             "are matched by name, or because they are the only ones left; executions by number; "
             "tensors of the same shape by name (ignoring suffixes that quantizers append) or, "
             "marked with ~, by execution order and similarity of their values.",
    .groups = {{"options", flags}},
    .examples = {{"QUERN_DUMP=float python app.py",
                  "Writes every tensor that the program computes."},
                 {"quern compare float int8", "The layers, worst first."},
                 {"quern compare float int8 --html report.html", "The same as a page."},
                 {"quern compare float int8 --limit 30 --fail", "For a test."}},
    .options_size = sizeof(compare_options),
    .run = run,
};
