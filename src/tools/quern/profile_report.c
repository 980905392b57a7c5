// SPDX-License-Identifier: MIT
//
// Profiles in words, in the layout that is published for them, and as JSON.
#include "tools/quern/flags.h"
#include "tools/quern/output.h"
#include "tools/quern/profile_sums.h"
#include "tools/quern/report.h"

#include <stdlib.h>
#include <string.h>

static const char *const titles[QT_CALL_KINDS] = {
    "Init",    "Compose Graphs", "Finalize", "De-Init", "ApplyBinarySection",
    "Execute", "Rate",           "Other"};

// --- text

static void title_line(const char *title) {
    qt_print("%s\n", title);
    for (size_t i = 0; title[i]; i++)
        qt_print("-");
    qt_print("\n");
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

const char *qt_profile_units(uint64_t set, char *buf, size_t size) {
    snprintf(buf, size, "%s%s%s%s%s", set & 1 ? "HVX" : "", set & 1 && set & 6 ? ", " : "",
             set & 2 ? "HMX" : "", set & 2 && set & 4 ? ", " : "", set & 4 ? "DMA" : "");
    return buf;
}

// Headings have no value.
static bool is_heading(const qt_event *e) {
    return strcmp(e->name, "Performance Estimates") == 0 || strcmp(e->name, "Bandwidth Stats") == 0;
}

static void print_value(const qt_sum *x, measure m) {
    if (is_heading(x->e))
        qt_print("%s\n", ":");
    else if (strcmp(x->e->unit, "none") == 0)
        qt_print(": %llu\n", (unsigned long long)value_of(x, m));
    else
        qt_print(": %llu  %s\n", (unsigned long long)value_of(x, m), x->e->unit);
}

// Indentation by depth is the published one: a backend's line, a node, its numbers, what ran
// meanwhile.
static void print_sums(const qt_sum *s, measure m, unsigned depth, const layout *l) {
    static const int indent[] = {0, 3, 9, 12};
    for (uint32_t i = 0; i < s->n_sub; i++) {
        const qt_sum *x = &s->sub[i];
        if (strcmp(x->e->unit, "object") == 0 || (!l->all && is_node(x->e)))
            continue;
        qt_print("%*s", l->indent + indent[depth < 3 ? depth : 3], "");
        if (qt_is_netrun(x->e)) {
            qt_print("NetRun:  %llu %s\n", (unsigned long long)value_of(x, m), x->e->unit);
            continue;
        }
        qt_print(depth ? "%s" : "Backend (%s)", x->e->name);
        if (strcmp(x->e->name, "Resources") == 0) {
            char units[32];
            qt_print(": %s\n", qt_profile_units(x->max, units, sizeof units));
        } else if (depth < 3) {
            print_value(x, m);
        } else {
            qt_print("\n");
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
            qt_print("Graph %u (%s):\n", x->index, x->graph);
        if (kind == QT_CALL_EXECUTE && !all)
            qt_print("%*sCalls: %u\n", l.indent, "", x->runs);
        print_sums(&x->all, m, 0, &l);
    }
    if (!first)
        qt_print("\n");
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
        qt_print("  %12s  %6s", "-", "");
    else
        qt_print("  %12.0f  %5.1f%%", v, sum > 0 ? 100 * v / sum : 0);
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
    qt_print("%s\n",
             "   measured us          measured cycles        modelled cycles          node");
    for (uint32_t i = 0; i < n && i < top; i++) {
        print_cell(rows[i].us, us);
        print_cell(rows[i].cycles, cycles);
        print_cell(rows[i].modelled, modelled);
        qt_print("  %s\n", rows[i].name);
    }
    qt_print(
        "Measured on this host's kernels; modelled for the graph's target SoC. They say different "
        "things.\n");
    return true;
}

// Inferences a second of the whole program.
static void print_rate(const qt_profile *p) {
    double n = 0, us = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        const qt_call *c = &p->calls[i];
        if (c->kind != QT_CALL_RATE || c->n == 0 || c->stop_us <= c->start_us)
            continue;
        n += (double)c->events[0].value;
        us += (double)(c->stop_us - c->start_us);
    }
    if (us == 0)
        return;
    title_line("Execute Stats (Overall):");
    qt_print("    NetRun IPS (includes IO and misc. time): %.4f inf/sec\n\n", 1e6 * n / us);
}

int qt_profile_print(const qt_profile *p, const qt_groups *g, bool all, uint64_t top) {
    title_line("Qnn Init/Prepare/Finalize/De-Init/Execute/Lib-Load Statistics:");
    for (int k = 0; k < QT_CALL_KINDS; k++) {
        char title[64];
        if (k == QT_CALL_RATE)
            continue;
        snprintf(title, sizeof title, "%s Stats%s:", titles[k],
                 k == QT_CALL_EXECUTE || k == QT_CALL_APPLY ? " (Average)" : "");
        print_section(g, (qt_call_kind)k, title, AVERAGE, all);
    }
    if (all) {
        print_section(g, QT_CALL_EXECUTE, "Execute Stats (Min):", LEAST, true);
        print_section(g, QT_CALL_EXECUTE, "Execute Stats (Max):", MOST, true);
    }
    print_rate(p);
    for (uint32_t i = 0; top && i < g->n; i++)
        if (g->list[i].kind == QT_CALL_EXECUTE && !print_nodes(p, &g->list[i], top)) {
            qt_error("out of memory");
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

json_t *qt_profile_json(const qt_profile *p, const qt_groups *g) {
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
    return json_pack("{s:o,s:o}", "app", p->app ? qt_json_text(p->app) : json_null(), "groups",
                     list);
}
