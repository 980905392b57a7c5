// SPDX-License-Identifier: MIT
//
// qairt-dlc-diff: where two DLC files differ. Graphs, nodes and tensors are matched by their names;
// numbers of tensors and places in records do not count, what lies there does. Exit status 1: they
// differ.
#include "tools/dlc_tools/program.h"

#include <string.h>

typedef struct diff_options {
    const char *one, *two;
    bool version;
} diff_options;

#define AT(field) offsetof(diff_options, field)

static const qt_flag flags[] = {
    {"input_dlc_one", 0, QT_FILE, "FILE", AT(one), NULL, "the first file"},
    {"input_dlc_two", 0, QT_FILE, "FILE", AT(two), NULL, "the second file"},
    {"version", 0, QT_BOOL, NULL, AT(version), NULL, "print the version"},
    {0},
};

// Two files, and what was found.
typedef struct pair {
    qt_dlc d[2];
    const char *graph;
    size_t n; // differences
} pair;

static void differ(pair *p, const char *kind, const char *name, const char *what) {
    qt_print("graph %s%s%s%s%s: %s\n", p->graph, *kind ? ", " : "", kind, *name ? " " : "", name,
             what);
    p->n++;
}

static const json_t *find(const json_t *list, const char *name) {
    const json_t *v;
    size_t i;
    json_array_foreach(list, i, v) if (strcmp(qp_text(v, "name"), name) == 0) return v;
    return NULL;
}

// Calls `compare` for each name of both lists; names that only one has are differences.
static void match(pair *p, const char *kind, const json_t *one, const json_t *two,
                  void (*compare)(pair *p, const json_t *a, const json_t *b)) {
    const json_t *v;
    size_t i;
    json_array_foreach(one, i, v) {
        const json_t *other = find(two, qp_text(v, "name"));
        if (other)
            compare(p, v, other);
        else
            differ(p, kind, qp_text(v, "name"), "only in the first file");
    }
    json_array_foreach(two, i, v) if (!find(one, qp_text(v, "name")))
        differ(p, kind, qp_text(v, "name"), "only in the second file");
}

// --- Tensors

// Bytes that both name under a key: of a record.
static bool same_bytes(const pair *p, const json_t *a, const json_t *b, const char *key,
                       const char *record) {
    uint64_t n[2] = {0, 0};
    const uint8_t *x = qp_bytes(&p->d[0], json_object_get(a, key), record, &n[0]);
    const uint8_t *y = qp_bytes(&p->d[1], json_object_get(b, key), record, &n[1]);
    return !x == !y && n[0] == n[1] && (!x || memcmp(x, y, n[0]) == 0);
}

// Members of both objects but those that are places or numbers of tensors.
static bool same_members(const json_t *a, const json_t *b, const char *const *skip) {
    for (int turn = 0; turn < 2; turn++) {
        const json_t *from = turn ? b : a, *to = turn ? a : b;
        const char *key;
        json_t *v;
        json_object_foreach((json_t *)from, key, v) {
            size_t i = 0;
            while (skip[i] && strcmp(skip[i], key) != 0)
                i++;
            if (!skip[i] && !json_equal(v, json_object_get(to, key)))
                return false;
        }
    }
    return true;
}

static bool same_encoding(const pair *p, const json_t *a, const json_t *b) {
    static const char *const lists[] = {"scales",    "offsets", "real_offsets",
                                        "expansion", "factors", NULL};
    if (!a || !b)
        return a == b;
    bool same = same_members(a, b, lists);
    for (size_t i = 0; i < 3; i++)
        same = same && same_bytes(p, a, b, lists[i], "model.encodings");
    const json_t *x = json_object_get(a, "expansion"), *y = json_object_get(b, "expansion");
    if (!x && !y)
        return same;
    return same && x && y && same_members(x, y, lists) &&
           same_bytes(p, x, y, "scales", "model.encodings") &&
           same_bytes(p, x, y, "offsets", "model.encodings") &&
           same_bytes(p, x, y, "factors", "model.encodings");
}

static void compare_tensors(pair *p, const json_t *a, const json_t *b) {
    static const char *const skip[] = {"id",   "data",      "dims",     "type",
                                       "name", "data_type", "encoding", NULL};
    const char *name = qp_text(a, "name");
    char line[400], shape[2][160];
    if (strcmp(qp_text(a, "type"), qp_text(b, "type")) != 0 ||
        strcmp(qp_text(a, "data_type"), qp_text(b, "data_type")) != 0 ||
        !json_equal(json_object_get(a, "dims"), json_object_get(b, "dims"))) {
        snprintf(line, sizeof line, "%s %s %s, in the second file %s %s %s", qp_text(a, "type"),
                 qp_text(a, "data_type"), qt_dlc_shape(a, shape[0], sizeof shape[0]),
                 qp_text(b, "type"), qp_text(b, "data_type"),
                 qt_dlc_shape(b, shape[1], sizeof shape[1]));
        differ(p, "tensor", name, line);
    } else if (!same_bytes(p, a, b, "data", "model.weights")) {
        differ(p, "tensor", name, "other data");
    }
    if (!same_encoding(p, json_object_get(a, "encoding"), json_object_get(b, "encoding")))
        differ(p, "tensor", name, "another encoding");
    if (!same_members(a, b, skip))
        differ(p, "tensor", name, "other options");
}

// --- Nodes

// The name of a tensor by its id, in the graph or the context; "" for none.
static const char *tensor_name(const qt_dlc *d, const char *graph, json_int_t id) {
    const json_t *lists[2] = {
        json_object_get(d->topology, "tensors"),
        json_object_get(find(json_object_get(d->topology, "graphs"), graph), "tensors")};
    for (int i = 0; i < 2; i++) {
        json_int_t first = json_integer_value(json_object_get(json_array_get(lists[i], 0), "id"));
        const json_t *t = id >= first ? json_array_get(lists[i], (size_t)(id - first)) : NULL;
        if (t)
            return qp_text(t, "name");
    }
    return "";
}

static bool same_operands(const pair *p, const json_t *a, const json_t *b) {
    bool same = json_array_size(a) == json_array_size(b);
    for (size_t i = 0; same && i < json_array_size(a); i++)
        same =
            strcmp(tensor_name(&p->d[0], p->graph, json_integer_value(json_array_get(a, i))),
                   tensor_name(&p->d[1], p->graph, json_integer_value(json_array_get(b, i)))) == 0;
    return same;
}

// Tensors of parameters are compared as tensors.
static void compare_params(pair *p, const json_t *a, const json_t *b) {
    static const char *const skip[] = {"tensor", "value", NULL};
    bool floats = json_object_get(a, "bits") != NULL;
    bool same =
        same_members(a, b, skip) && !json_object_get(a, "tensor") == !json_object_get(b, "tensor");
    if (same && !floats)
        same = json_equal(json_object_get(a, "value"), json_object_get(b, "value")) ||
               !json_object_get(a, "value");
    if (!same)
        differ(p, "parameter", qp_text(a, "name"), "another value");
}

static void compare_nodes(pair *p, const json_t *a, const json_t *b) {
    const char *name = qp_text(a, "name");
    if (strcmp(qp_text(a, "type"), qp_text(b, "type")) != 0 ||
        strcmp(qp_text(a, "package"), qp_text(b, "package")) != 0) {
        char line[300];
        snprintf(line, sizeof line, "%s, in the second file %s", qp_text(a, "type"),
                 qp_text(b, "type"));
        differ(p, "node", name, line);
        return;
    }
    if (!same_operands(p, json_object_get(a, "inputs"), json_object_get(b, "inputs")))
        differ(p, "node", name, "other inputs");
    if (!same_operands(p, json_object_get(a, "outputs"), json_object_get(b, "outputs")))
        differ(p, "node", name, "other outputs");
    match(p, "parameter", json_object_get(a, "params"), json_object_get(b, "params"),
          compare_params);
}

static void compare_graphs(pair *p, const json_t *a, const json_t *b) {
    p->graph = qp_text(a, "name");
    match(p, "tensor", json_object_get(a, "tensors"), json_object_get(b, "tensors"),
          compare_tensors);
    match(p, "node", json_object_get(a, "nodes"), json_object_get(b, "nodes"), compare_nodes);
    p->graph = "";
}

static int compare(pair *p) {
    const json_t *one = json_object_get(p->d[0].topology, "graphs");
    const json_t *two = json_object_get(p->d[1].topology, "graphs");
    p->graph = "";
    match(p, "", one, two, compare_graphs);
    if (p->n)
        qt_print("%zu differences\n", p->n);
    else
        qt_print("the graphs are equal\n");
    int code = qt_close_stdout();
    return code != QT_EXIT_OK ? code : p->n ? QT_EXIT_FAILURE : QT_EXIT_OK;
}

static int run(const void *options, const qt_list *args);

static const qt_command diff = {
    .name = "qairt-dlc-diff",
    .args = "FILE FILE",
    .max_args = 2,
    .alone = true,
    .about = "Prints where the graphs of two DLC files differ: graphs, nodes, parameters, tensors, "
             "encodings and data, matched by name. Exit status 1: they differ.\n",
    .groups = {{"options", flags}},
    .examples = {{"qairt-dlc-diff old.dlc new.dlc", NULL}},
    .options_size = sizeof(diff_options),
    .run = run,
};

static int run(const void *options, const qt_list *args) {
    const diff_options *o = options;
    size_t k = 0;
    const char *paths[2] = {o->one, o->two};
    pair p = {0};
    if (o->version)
        return qp_version(&diff);
    for (int i = 0; i < 2; i++)
        if (!paths[i] && k < args->n)
            paths[i] = args->items[k++];
    if (!paths[0] || !paths[1] || k < args->n) {
        qt_error("two files are needed");
        return QT_EXIT_USAGE;
    }
    int code = qt_dlc_open(paths[0], &p.d[0]);
    if (code == QT_EXIT_OK)
        code = qt_dlc_open(paths[1], &p.d[1]);
    if (code == QT_EXIT_OK)
        code = compare(&p);
    for (int i = 0; i < 2; i++)
        qt_dlc_close(&p.d[i]);
    return code;
}

const qt_command *const qt_commands[] = {&diff, NULL};

int main(int argc, char **argv) {
    diff_options options = {0};
    return qp_main(&diff, &options, argc, argv);
}
