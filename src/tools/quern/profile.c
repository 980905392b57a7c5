// SPDX-License-Identifier: MIT
//
// quern profile: what a profile says, calls of one kind added up, and nodes with what was measured
// on the host beside what is modelled for a chip.
#include "tools/quern/commands.h"
#include "tools/quern/output.h"
#include "tools/quern/profile_sums.h"
#include "tools/quern/report.h"

#include <stdlib.h>
#include <string.h>

typedef struct profile_options {
    const char *trace;
    uint64_t top;
    bool json, all;
} profile_options;

#define AT(field) offsetof(profile_options, field)

static const qt_flag flags[] = {
    {"all", 'a', QT_BOOL, NULL, AT(all), NULL, "print every event, and the least and the most"},
    {"top", 0, QT_COUNT, "N", AT(top), NULL, "at most so many nodes (default 20)"},
    {"trace", 0, QT_FILE, "FILE", AT(trace), NULL, "write a timeline for Perfetto"},
    {"json", 0, QT_BOOL, NULL, AT(json), NULL, "print the report as JSON"},
    {0},
};

static const char *const titles[QT_CALL_KINDS] = {
    "Init", "Finalize", "De-Init", "ApplyBinarySection", "Execute", "Other"};

// --- text

static void title_line(const char *title) {
    puts(title);
    for (size_t i = 0; title[i]; i++)
        putchar('-');
    putchar('\n');
}

typedef enum measure { AVERAGE, LEAST, MOST } measure;

static uint64_t value_of(const qt_sum *s, measure m) {
    return m == AVERAGE ? s->total / s->n : m == LEAST ? s->min : s->max;
}

typedef struct layout {
    bool all;   // nodes, too
    int indent; // of a backend's line
} layout;

static bool is_node(const qt_event *e) {
    char name[512];
    return qt_node_of(e, name, sizeof name) != QT_NO_NODE;
}

// Resources are a set of units.
static void print_units(uint64_t set) {
    static const char *const names[] = {"HVX", "HMX", "DMA"};
    const char *between = "";
    for (int i = 0; i < 3; i++)
        if (set >> i & 1) {
            printf("%s%s", between, names[i]);
            between = ", ";
        }
    putchar('\n');
}

// Headings have no value.
static bool is_heading(const qt_event *e) {
    return strcmp(e->name, "Performance Estimates") == 0 || strcmp(e->name, "Bandwidth Stats") == 0;
}

static void print_value(const qt_sum *x, measure m) {
    if (is_heading(x->e))
        puts(":");
    else if (strcmp(x->e->unit, "none") == 0)
        printf(": %llu\n", (unsigned long long)value_of(x, m));
    else
        printf(": %llu  %s\n", (unsigned long long)value_of(x, m), x->e->unit);
}

// Indentation by depth is the published one: a backend's line, a node, its numbers, what ran
// meanwhile.
static void print_sums(const qt_sum *s, measure m, unsigned depth, const layout *l) {
    static const int indent[] = {0, 3, 9, 12};
    for (uint32_t i = 0; i < s->n_sub; i++) {
        const qt_sum *x = &s->sub[i];
        if (strcmp(x->e->unit, "object") == 0 || (!l->all && is_node(x->e)))
            continue;
        printf("%*s", l->indent + indent[depth < 3 ? depth : 3], "");
        printf(depth ? "%s" : "Backend (%s)", x->e->name);
        if (strcmp(x->e->name, "Resources") == 0) {
            fputs(": ", stdout);
            print_units(x->max);
        } else if (depth < 3) {
            print_value(x, m);
        } else {
            putchar('\n');
        }
        print_sums(x, m, depth + 1, l);
    }
}

static void print_section(const qt_groups *g, qt_call_kind kind, const char *title, measure m,
                          bool all) {
    const layout l = {.all = all, .indent = kind == QT_CALL_EXECUTE ? 3 : 4};
    bool first = true;
    for (uint32_t i = 0; i < g->n; i++) {
        const qt_group *x = &g->list[i];
        if (x->kind != kind)
            continue;
        if (first)
            title_line(title);
        if (first && kind == QT_CALL_EXECUTE)
            title_line("Total Inference Time:");
        first = false;
        if (*x->graph)
            printf("Graph %u (%s):\n", x->index, x->graph);
        if (kind == QT_CALL_EXECUTE && m == AVERAGE)
            printf("%*sCalls: %u\n", l.indent, "", x->runs);
        print_sums(&x->all, m, 0, &l);
    }
    if (!first)
        putchar('\n');
}

static int slowest_first(const void *a, const void *b) {
    const qt_node_row *x = a, *y = b;
    double dx = x->us >= 0 ? x->us : x->cycles, dy = y->us >= 0 ? y->us : y->cycles;
    if (dx != dy)
        return dx > dy ? -1 : 1;
    return x->modelled != y->modelled ? (x->modelled > y->modelled ? -1 : 1)
                                      : strcmp(x->name, y->name);
}

static void print_cell(double v, double sum) {
    if (v < 0)
        printf("  %12s  %6s", "-", "");
    else
        printf("  %12.0f  %5.1f%%", v, sum > 0 ? 100 * v / sum : 0);
}

static bool print_nodes(const qt_profile *p, const qt_group *g, uint64_t top) {
    qt_node_row *rows;
    uint32_t n;
    double us = 0, cycles = 0, modelled = 0;
    if (!qt_profile_nodes(p, g, &rows, &n))
        return false;
    if (n == 0)
        return true;
    for (uint32_t i = 0; i < n; i++) {
        us += rows[i].us > 0 ? rows[i].us : 0;
        cycles += rows[i].cycles > 0 ? rows[i].cycles : 0;
        modelled += rows[i].modelled > 0 ? rows[i].modelled : 0;
    }
    qsort(rows, n, sizeof *rows, slowest_first);
    char title[256];
    snprintf(title, sizeof title, "Nodes of graph %u (%.128s), average of %u:", g->index, g->graph,
             g->runs);
    title_line(title);
    puts("   measured us          measured cycles        modelled cycles          node");
    for (uint32_t i = 0; i < n && i < top; i++) {
        print_cell(rows[i].us, us);
        print_cell(rows[i].cycles, cycles);
        print_cell(rows[i].modelled, modelled);
        printf("  %s\n", rows[i].name);
    }
    puts("Measured on this host's kernels; modelled for the chip of the graph. They say different "
         "things.\n");
    return true;
}

static int tell_text(const profile_options *o, const qt_profile *p, const qt_groups *g) {
    title_line("Qnn Init/Prepare/Finalize/De-Init/Execute/Lib-Load Statistics:");
    for (int k = 0; k < QT_CALL_KINDS; k++) {
        char title[64];
        snprintf(title, sizeof title, "%s Stats%s:", titles[k],
                 k == QT_CALL_EXECUTE || k == QT_CALL_APPLY ? " (Average)" : "");
        print_section(g, (qt_call_kind)k, title, AVERAGE, o->all);
    }
    if (o->all) {
        print_section(g, QT_CALL_EXECUTE, "Execute Stats (Min):", LEAST, true);
        print_section(g, QT_CALL_EXECUTE, "Execute Stats (Max):", MOST, true);
    }
    for (uint32_t i = 0; i < g->n; i++)
        if (g->list[i].kind == QT_CALL_EXECUTE &&
            !print_nodes(p, &g->list[i], o->top ? o->top : 20)) {
            qt_error("no memory");
            return QT_EXIT_FAILURE;
        }
    return qt_close_stdout();
}

// --- JSON

static json_t *json_sums(const qt_sum *s) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < s->n_sub; i++) {
        const qt_sum *x = &s->sub[i];
        if (strcmp(x->e->unit, "object") == 0)
            continue;
        json_t *o =
            json_pack("{s:o,s:s,s:i,s:b,s:f,s:I,s:I,s:i}", "identifier", qt_json_text(x->e->name),
                      "unit", x->e->unit, "type", (int)x->e->type, "modelled",
                      strstr(x->e->name, "modelled)") != NULL, "average", (double)x->total / x->n,
                      "min", (json_int_t)x->min, "max", (json_int_t)x->max, "count", (int)x->n);
        if (o && x->n_sub)
            json_object_set_new(o, "events", json_sums(x));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *or_null(double v) { return v < 0 ? json_null() : json_real(v); }

static json_t *json_nodes(const qt_profile *p, const qt_group *g) {
    json_t *list = json_array();
    qt_node_row *rows;
    uint32_t n = 0;
    if (!qt_profile_nodes(p, g, &rows, &n))
        n = 0;
    for (uint32_t i = 0; i < n; i++)
        json_array_append_new(
            list, json_pack("{s:o,s:o,s:o,s:o}", "node", qt_json_text(rows[i].name), "measured_us",
                            or_null(rows[i].us), "measured_cycles", or_null(rows[i].cycles),
                            "modelled_cycles", or_null(rows[i].modelled)));
    return list;
}

static int tell_json(const qt_profile *p, const qt_groups *g) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < g->n; i++) {
        const qt_group *x = &g->list[i];
        json_t *o = json_pack("{s:s,s:o,s:i,s:i,s:o}", "message", titles[x->kind], "graph",
                              qt_json_text(x->graph), "graph_index", (int)x->index, "calls",
                              (int)x->runs, "events", json_sums(&x->all));
        if (o && x->kind == QT_CALL_EXECUTE)
            json_object_set_new(o, "nodes", json_nodes(p, x));
        json_array_append_new(list, o);
    }
    return qt_print_json(
        json_pack("{s:o,s:o}", "app", p->app ? qt_json_text(p->app) : json_null(), "groups", list));
}

// --- the command

static int report(const profile_options *o, const qt_profile *p) {
    qt_groups groups;
    if (!qt_profile_sum(p, &groups)) {
        qt_error("no memory");
        return QT_EXIT_FAILURE;
    }
    if (o->trace && !qt_profile_trace(p, o->trace))
        return QT_EXIT_FAILURE;
    return o->json ? tell_json(p, &groups) : tell_text(o, p, &groups);
}

static int run(const void *options, const qt_list *args) {
    qt_profile p = {0};
    int code = QT_EXIT_OK;
    for (size_t i = 0; i < args->n && code == QT_EXIT_OK; i++)
        code = qt_profile_read(&p, args->items[i]);
    if (code == QT_EXIT_OK)
        code = report(options, &p);
    qrn_arena_destroy(p.arena);
    return code;
}

const qt_command qt_profile_command = {
    .name = "profile",
    .summary = "print a profile that a client wrote",
    .args = "LOG...",
    .min_args = 1,
    .max_args = 64,
    .about =
        "Reads profile logs that the System library wrote, and tables (CSV) of the ONNX Runtime "
        "providers. Calls of one kind of one graph are added up.\n"
        "Nodes are listed with their time on this host beside the cycles that are modelled for "
        "the chip (docs/profiling.md).",
    .groups = {{"options", flags}},
    .examples = {{"quern profile net_qnn.log", "Averages of all calls, and the slowest nodes."},
                 {"quern profile net.csv --trace net.json", "A timeline for Perfetto."}},
    .options_size = sizeof(profile_options),
    .run = run,
};
