// SPDX-License-Identifier: MIT
//
// quern check: which nodes of a model a backend takes, and why not the others.
#include "tools/quern/commands.h"
#include "tools/quern/estimate.h"
#include "tools/quern/inputs.h"
#include "tools/quern/report.h"
#include "tools/quern/session.h"

#include <stdlib.h>
#include <string.h>

typedef struct check_options {
    qt_backend_options backend;
    qt_input_options in; // dims, and files for shapes
    bool json, refused_only;
} check_options;

#define AT(field) offsetof(check_options, field)

static const qt_flag flags[] = {
    {"refused", 0, QT_BOOL, NULL, AT(refused_only), NULL, "list the refused nodes only"},
    {"json", 0, QT_BOOL, NULL, AT(json), NULL, "print the report as JSON"},
    QT_DIM_FLAG(check_options, in),
    {0},
};

typedef enum answer { REFUSED, ACCEPTED, BEHIND } answer; // BEHIND: not tried

// What was heard of one node.
typedef struct verdict {
    answer answer;
    char *why;
} verdict;

typedef struct verdicts {
    const ox_graph *graph;
    verdict *rows;      // one for each node of the graph
    char *current;      // text of a refusal inside a function or nested graph
    qrn_strmap missing; // results of nodes that were not accepted
    uint32_t n[3];      // by answer
    qt_estimate part;   // of the accepted nodes on a phone; without a chip: none
    double *parts_us;   // each partition by itself
    uint32_t n_parts;
} verdicts;

static const char *const words[] = {"no", "ok", "--"};

// Is an input the result of a node that was not accepted?
static bool is_behind(const verdicts *v, const ox_node *n) {
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i][0] && qrn_strmap_get(&v->missing, n->in[i]))
            return true;
    return false;
}

// The reason without the node's own name and type, which stand before it anyway.
static const char *bare_reason(const char *why) {
    const char *end = strncmp(why, "node '", 6) == 0 ? strstr(why, "): ") : NULL;
    return end ? end + 3 : why;
}

// Nodes of nested graphs and functions are told too; only those of the main graph have rows.
static void hear(void *ctx, const ox_node *n, qrn_status s, const char *why) {
    verdicts *v = ctx;
    if (n < v->graph->nodes || n >= v->graph->nodes + v->graph->n_nodes) {
        if (s != QRN_OK && !v->current)
            v->current = strdup(why);
        return;
    }
    verdict *row = &v->rows[n - v->graph->nodes];
    free(row->why);
    *row = (verdict){s == QRN_OK && !v->current ? ACCEPTED : REFUSED, NULL};
    if (s == QRN_E_UNCONNECTED && is_behind(v, n))
        row->answer = BEHIND;
    if (row->answer == REFUSED)
        row->why = v->current ? v->current : strdup(bare_reason(why));
    else
        free(v->current);
    v->current = NULL;
    for (uint32_t i = 0; row->answer != ACCEPTED && i < n->n_out; i++)
        qrn_strmap_put(&v->missing, n->out[i], row);
}

// Runs of accepted nodes in the model's order: each would be one graph of the backend.
static uint32_t count_partitions(const verdicts *v) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < v->graph->n_nodes; i++)
        n += v->rows[i].answer == ACCEPTED && (i == 0 || v->rows[i - 1].answer != ACCEPTED);
    return n;
}

static double *copy_parts(const qt_network *net, const qt_estimate *row, uint32_t *n) {
    const double *us = qt_part_us(net, row);
    double *copy = us ? calloc(net->n_parts, sizeof *copy) : NULL;
    if (copy)
        memcpy(copy, us, net->n_parts * sizeof *copy);
    *n = copy ? net->n_parts : 0;
    return copy;
}

static double sum_parts(const verdicts *v) {
    double us = 0;
    for (uint32_t i = 0; i < v->n_parts; i++)
        us += v->parts_us[i];
    return us;
}

// What the accepted part would take, where constants of the chip exist.
static void estimate(const check_options *o, const ox_model *m, const qt_inputs *in, verdicts *v) {
    const qt_target at = {.chip = qd_chip_find(o->backend.soc ? o->backend.soc : "SM8650")};
    qt_network net;
    if (strcmp(qt_backend_name(&o->backend), "htp") != 0 || !at.chip ||
        qt_network_read(m, in, &net) != QRN_OK)
        return;
    bool half = !net.quantized && qd_has_data(at.chip, QD_FP16);
    qd_precision p = half ? QD_FP16 : qt_network_precision(&net);
    if (qt_estimate_of(&net, &at, p, &v->part) != QT_EXIT_OK)
        v->part = (qt_estimate){0};
    else if (v->part.known)
        v->parts_us = copy_parts(&net, &v->part, &v->n_parts);
    v->part.e.steps = NULL; // they go with the network
    qt_network_close(&net);
}

static int report_json(const char *path, const char *backend, const verdicts *v) {
    json_t *nodes = json_array();
    for (uint32_t i = 0; i < v->graph->n_nodes; i++) {
        const ox_node *n = &v->graph->nodes[i];
        json_t *o = json_pack("{s:o,s:o,s:b}", "name", qt_json_text(n->name), "op",
                              qt_json_text(n->op), "accepted", v->rows[i].answer == ACCEPTED);
        if (o && v->rows[i].why)
            json_object_set_new(o, "reason", qt_json_text(v->rows[i].why));
        json_array_append_new(nodes, o);
    }
    json_t *part = json_null();
    if (v->n_parts) {
        json_t *list = json_array();
        for (uint32_t i = 0; i < v->n_parts; i++)
            json_array_append_new(list, qt_json_number(v->parts_us[i] / 1e3));
        part = json_pack("{s:s,s:s,s:f,s:o}", "chip", v->part.at.chip->name, "precision",
                         qd_precision_names[v->part.precision], "ms", sum_parts(v) / 1e3,
                         "partitions_ms", list);
    }
    return qt_print_json(
        json_pack("{s:o,s:o,s:I,s:I,s:I,s:I,s:o,s:o}", "model", qt_json_text(path), "backend",
                  qt_json_text(backend), "accepted", (json_int_t)v->n[ACCEPTED], "refused",
                  (json_int_t)v->n[REFUSED], "not_tried", (json_int_t)v->n[BEHIND], "partitions",
                  (json_int_t)count_partitions(v), "nodes", nodes, "estimate", part));
}

static int report_text(const verdicts *v, const char *backend, bool refused_only) {
    static const qt_style styles[] = {QT_RED, QT_GREEN, QT_DIM};
    for (uint32_t i = 0; i < v->graph->n_nodes; i++) {
        const ox_node *n = &v->graph->nodes[i];
        const verdict *row = &v->rows[i];
        if (row->answer != REFUSED && refused_only)
            continue;
        qt_print("%s%-3s%s ", qt_style_on(styles[row->answer]), words[row->answer], qt_style_off());
        qt_print("%-20s %s%s%s\n", n->op, n->name, row->why ? "  " : "", row->why ? row->why : "");
    }
    qt_print("%u of %u nodes run on %s, in %u partition%s", v->n[ACCEPTED], v->graph->n_nodes,
             backend, count_partitions(v), count_partitions(v) == 1 ? "" : "s");
    if (v->n[REFUSED])
        qt_print("; %u refused", v->n[REFUSED]);
    if (v->n[BEHIND])
        qt_print("; %u behind them (--) could not be tried", v->n[BEHIND]);
    qt_print("\n");
    if (v->n_parts)
        qt_print("estimated %.3f ms for %s on %s (%s)\n", sum_parts(v) / 1e3,
                 v->n[ACCEPTED] < v->graph->n_nodes ? "this part" : "it", v->part.at.chip->name,
                 qd_precision_names[v->part.precision]);
    for (uint32_t i = 0; i < v->n_parts && v->n_parts > 1; i++)
        qt_print("  partition %u: %.3f ms\n", i + 1, v->parts_us[i] / 1e3);
    return qt_close_stdout();
}

static int check(const check_options *o, const char *path, const ox_model *m, const qt_inputs *in) {
    verdicts v = {.graph = m->graph};
    v.rows = calloc(m->graph->n_nodes + 1, sizeof *v.rows);
    qc_client *client = NULL;
    int code = v.rows ? qt_open_backend(&o->backend, NULL, &client) : QT_EXIT_FAILURE;
    if (code == QT_EXIT_OK) {
        ox_options import = {.dim_names = (const char *const *)in->dim_names,
                             .dim_values = in->dim_values,
                             .n_dims = in->n_dims,
                             .report = hear,
                             .report_ctx = &v};
        qt_import_flags(&o->backend, &import);
        ox_result r = {0};
        if (ox_import_model(m, client, &import, &r) != QRN_OK) {
            qt_error("%s: %s", path, qrn_message());
            code = QT_EXIT_REFUSED;
        } else {
            qc_graph_destroy(r.graph);
        }
    }
    if (code == QT_EXIT_OK) {
        for (uint32_t i = 0; i < m->graph->n_nodes; i++)
            v.n[v.rows[i].answer]++;
        estimate(o, m, in, &v);
        const char *name = qt_backend_name(&o->backend);
        code = o->json ? report_json(path, name, &v) : report_text(&v, name, o->refused_only);
        if (code == QT_EXIT_OK && v.n[ACCEPTED] < m->graph->n_nodes)
            code = QT_EXIT_REFUSED;
    }
    for (uint32_t i = 0; v.rows && i < m->graph->n_nodes; i++)
        free(v.rows[i].why);
    qrn_strmap_clear(&v.missing);
    free(v.current);
    free(v.parts_us);
    free(v.rows);
    qc_close(client);
    return code;
}

static int run(const void *options, const qt_list *args) {
    check_options o = *(const check_options *)options;
    o.in.random = true; // no input is needed
    ox_model *m = NULL;
    int code = qt_open_model(args->items[0], &m);
    if (code != QT_EXIT_OK)
        return code;
    qt_inputs in = {0};
    code = qt_inputs_open(m, &o.in, args, 1, &in);
    if (code == QT_EXIT_OK)
        code = check(&o, args->items[0], m, &in);
    qt_inputs_close(&in);
    ox_model_close(m);
    return code;
}

const qt_command qt_check = {
    .name = "check",
    .summary = "say which nodes of a model a backend takes, and why not the others",
    .args = "MODEL",
    .min_args = 1,
    .max_args = 1,
    .about = "Offers a model to a backend node by node and prints one line a node: accepted, or "
             "why not. Exit code 3 when a node is refused.\n"
             "Nodes that need the result of a refused one, when its shape is not known, cannot be "
             "tried and are marked --.\n"
             "A partition is a run of accepted nodes between refused ones, in the model's order.\n"
             "For the HTP the accepted part is estimated as well (quern estimate).",
    .groups = {{"options", flags}, {"backend", qt_backend_flags}},
    .examples = {{"quern check model.onnx --refused", "What stands in the way?"},
                 {"quern check model.onnx --backend htp --soc SM8650 --json", "For a script."}},
    .options_size = sizeof(check_options),
    .run = run,
};
