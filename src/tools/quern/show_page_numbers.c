// SPDX-License-Identifier: MIT
//
// Numbers for the nodes of a drawn graph: times of a profile, SQNR of a comparison.
#include "tools/quern/show_page.h"

#include "tools/quern/output.h"
#include "tools/quern/profile_sums.h"

#include <stdlib.h>
#include <string.h>

json_t *qt_page_names(json_t *graph) {
    json_t *names = json_object(), *n;
    size_t i;
    json_array_foreach(json_object_get(graph, "nodes"), i, n) {
        const char *name = json_string_value(json_object_get(n, "name"));
        if (name && !json_object_get(names, name))
            json_object_set(names, name, n);
    }
    return names;
}

json_t *qt_page_node(json_t *names, const char *op) {
    char bare[512];
    json_t *n = json_object_get(names, op);
    size_t len = strlen(op), end = len;
    while (end > 0 && op[end - 1] >= '0' && op[end - 1] <= '9')
        end--;
    if (n || end == len || end < 2 || op[end - 1] != '_' || end > sizeof bare)
        return n;
    snprintf(bare, sizeof bare, "%.*s", (int)(end - 1), op);
    return json_object_get(names, bare);
}

static void add_time(json_t *node, double us) {
    double sum = json_number_value(json_object_get(node, "us")) + us;
    json_object_set_new(node, "us", json_real(sum));
}

// Times that were estimated give way to measured ones.
static void forget_times(json_t *page) {
    json_t *g, *n;
    size_t i, k;
    json_array_foreach(json_object_get(page, "graphs"), i, g)
        json_array_foreach(json_object_get(g, "nodes"), k, n) json_object_del(n, "us");
}

static size_t add_rows(json_t *page, const qt_node_row *rows, uint32_t n) {
    size_t i, found = 0;
    json_t *g;
    json_array_foreach(json_object_get(page, "graphs"), i, g) {
        json_t *names = qt_page_names(g);
        for (uint32_t k = 0; k < n; k++) {
            char name[512];
            snprintf(name, sizeof name, "%s", rows[k].name);
            char *id = strstr(name, ":OpId_");
            if (id)
                *id = '\0';
            json_t *node = rows[k].us >= 0 ? qt_page_node(names, name) : NULL;
            if (node)
                add_time(node, rows[k].us);
            found += node != NULL;
        }
        json_decref(names);
    }
    return found;
}

int qt_page_add_profile(const char *log, json_t *page) {
    qt_profile p = {0};
    qt_groups groups;
    size_t found = 0;
    int code = qt_profile_read(&p, log);
    if (code == QT_EXIT_OK && !qt_profile_sum(&p, &groups)) {
        qt_error("out of memory");
        code = QT_EXIT_FAILURE;
    }
    forget_times(page);
    for (uint32_t i = 0; code == QT_EXIT_OK && i < groups.n; i++) {
        qt_node_row *rows;
        uint32_t n = 0;
        if (groups.list[i].kind == QT_CALL_EXECUTE &&
            qt_profile_nodes(&p, &groups.list[i], &rows, &n))
            found += add_rows(page, rows, n);
    }
    if (code == QT_EXIT_OK && !found) {
        qt_error("--profile %s: it has times of no node of this graph; record it with the level "
                 "'detailed', from the same model",
                 log);
        code = QT_EXIT_INPUT;
    }
    qrn_arena_destroy(p.arena);
    json_object_set_new(page, "time", json_string("measured on this host"));
    return code;
}

static json_t *text_in(json_t *o, const char *key, json_t *names) {
    const char *text = json_string_value(json_object_get(o, key));
    return text ? qt_page_node(names, text) : NULL;
}

// Values to the nodes that make them.
static json_t *makers_of(json_t *graph) {
    json_t *makers = json_object(), *values = json_object_get(graph, "values"), *n, *v;
    size_t i, k;
    json_array_foreach(json_object_get(graph, "nodes"), i, n)
        json_array_foreach(json_object_get(n, "out"), k, v) {
        const json_t *value = json_array_get(values, (size_t)json_integer_value(v));
        const char *name = json_string_value(json_object_get(value, "name"));
        if (name)
            json_object_set(makers, name, n);
    }
    return makers;
}

static size_t add_layers(json_t *graph, json_t *layers) {
    json_t *names = qt_page_names(graph), *makers = makers_of(graph), *l;
    size_t i, found = 0;
    json_array_foreach(layers, i, l) {
        json_t *node = text_in(l, "name", makers), *db = json_object_get(l, "sqnr_db");
        node = node ? node : text_in(l, "node", names);
        if (node && json_is_number(db))
            json_object_set(node, "sqnr", db);
        else if (node)
            json_object_set_new(node, "sqnr_equal",
                                json_boolean(json_is_true(json_object_get(l, "equal"))));
        found += node != NULL;
    }
    json_decref(names);
    json_decref(makers);
    return found;
}

int qt_page_add_compare(const char *path, json_t *page) {
    json_error_t e;
    json_t *report = json_load_file(path, 0, &e), *m, *g;
    size_t i, k, found = 0;
    if (!report) {
        qt_error("--compare %s: %s (line %d); 'quern compare A B --json > FILE' writes one", path,
                 e.text, e.line);
        return QT_EXIT_INPUT;
    }
    json_array_foreach(json_object_get(report, "graphs"), i, m)
        json_array_foreach(json_object_get(page, "graphs"), k, g) found +=
        add_layers(g, json_object_get(m, "layers"));
    json_decref(report);
    if (found)
        return QT_EXIT_OK;
    qt_error("--compare %s: no layer in it is a tensor of this graph; compare dumps of the same "
             "model with --all --json",
             path);
    return QT_EXIT_INPUT;
}
