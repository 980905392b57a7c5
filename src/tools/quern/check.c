// SPDX-License-Identifier: MIT
//
// quern check: which nodes of a model a backend supports, and why not the others.
#include "tools/quern/check_fix.h"
#include "tools/quern/commands.h"
#include "tools/quern/context_node.h"
#include "tools/quern/dlc.h"
#include "tools/quern/estimate.h"
#include "tools/quern/inputs.h"
#include "tools/quern/page_data.h"
#include "tools/quern/report.h"
#include "tools/quern/session.h"
#include "tools/quern/soc.h"

#include "page_texts.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct check_options {
    qt_backend_options backend;
    qt_input_options in; // dims, and files for shapes
    const char *html;
    bool json, refused_only;
} check_options;

#define AT(field) offsetof(check_options, field)

static const qt_flag flags[] = {
    {"rejected", 0, QT_BOOL, NULL, AT(refused_only), NULL, "list rejected nodes only"},
    {"json", 0, QT_BOOL, NULL, AT(json), NULL, "print the report as JSON"},
    {"html", 0, QT_FILE, "FILE", AT(html), NULL,
     "write a page: coverage, rejected nodes, what to do"},
    QT_DIM_FLAG(check_options, in),
    {0},
};

typedef enum answer { REFUSED, ACCEPTED, BEHIND } answer; // BEHIND: not tried

// What became of one node.
typedef struct verdict {
    answer answer;
    const char *why; // REFUSED; in the model's arena
} verdict;

typedef struct verdicts {
    const ox_graph *graph;
    ox_plan plan;
    verdict *rows;    // one for each node of the graph
    uint32_t n[3];    // by answer
    qt_estimate part; // of the accepted nodes on a phone; without a target: none
    double *parts_us; // each partition by itself
    uint32_t n_parts;
} verdicts;

static const char *const words[] = {"no", "ok", "--"};

// Is an input the result of a node that was not accepted?
static bool is_behind(const qrn_strmap *missing, const ox_node *n) {
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i][0] && qrn_strmap_get(missing, n->in[i]))
            return true;
    return false;
}

static bool judge(verdicts *v) {
    qrn_strmap missing = {0}; // results of nodes that were not accepted
    bool ok = true;
    for (uint32_t i = 0; i < v->graph->n_nodes; i++) {
        const ox_node *n = &v->graph->nodes[i];
        verdict *row = &v->rows[i];
        const char *why = ox_plan_reason(v->graph, &v->plan, i);
        bool behind = v->plan.status[i] == QRN_E_UNCONNECTED && is_behind(&missing, n);
        *row = (verdict){!why ? ACCEPTED : behind ? BEHIND : REFUSED, behind ? NULL : why};
        v->n[row->answer]++;
        for (uint32_t k = 0; why && k < n->n_out; k++)
            ok &= qrn_strmap_put(&missing, n->out[k], row);
    }
    qrn_strmap_clear(&missing);
    return ok;
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

// What the accepted part would take, where constants of the target exist.
static void estimate(const check_options *o, const ox_model *m, qc_client *c,
                     const ox_options *import, verdicts *v) {
    qt_target at = {0};
    qt_network net;
    bool none = o->backend.soc && strcasecmp(o->backend.soc, "none") == 0;
    if (strcmp(qt_backend_name(&o->backend), "htp") != 0 || none ||
        qt_find_target(o->backend.soc, 0, &at) != QT_EXIT_OK ||
        qt_network_read(m, c, import, &v->plan, &net) != QRN_OK)
        return;
    qd_precision p = qd_precision_of(&net.graph, &net.steps);
    if (qt_estimate_of(&net, &at, p, &v->part) != QT_EXIT_OK)
        v->part = (qt_estimate){0};
    else if (v->part.known)
        v->parts_us = copy_parts(&net, &v->part, &v->n_parts);
    v->part.e.steps = NULL; // they go with the network
    v->part.net = NULL;
    qt_network_close(&net);
}

static json_t *report_json(const char *path, const char *backend, const verdicts *v) {
    json_t *nodes = json_array();
    for (uint32_t i = 0; i < v->graph->n_nodes; i++) {
        const ox_node *n = &v->graph->nodes[i];
        json_t *o = json_pack("{s:o,s:o,s:b}", "name", qt_json_text(n->name), "op",
                              qt_json_text(n->op), "accepted", v->rows[i].answer == ACCEPTED);
        const char *fix = v->rows[i].why ? qt_check_fix(v->rows[i].why) : NULL;
        if (o && v->rows[i].why)
            json_object_set_new(o, "reason", qt_json_text(v->rows[i].why));
        if (o && fix)
            json_object_set_new(o, "fix", json_string(fix));
        if (o && v->rows[i].answer == ACCEPTED && v->plan.group[i] >= 0)
            json_object_set_new(o, "partition", json_integer(v->plan.group[i] + 1));
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
    return json_pack("{s:o,s:o,s:I,s:I,s:I,s:I,s:o,s:o}", "model", qt_json_text(path), "backend",
                     qt_json_text(backend), "accepted", (json_int_t)v->n[ACCEPTED], "refused",
                     (json_int_t)v->n[REFUSED], "not_tried", (json_int_t)v->n[BEHIND], "partitions",
                     (json_int_t)v->plan.n_groups, "nodes", nodes, "estimate", part);
}

static bool write_page(const check_options *o, const char *path, const verdicts *v) {
    const char *backend = qt_backend_name(&o->backend), *soc = o->backend.soc;
    json_t *all = report_json(path, backend, v);
    if (!soc && strcmp(backend, "htp") == 0)
        soc = QT_DEFAULT_SOC;
    if (all)
        json_object_set_new(all, "version", json_string(QUERN_VERSION));
    if (all && soc)
        json_object_set_new(all, "soc", qt_json_text(soc));
    return qt_page_write(qt_page_check_page, "Support", path, all, o->html);
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
             backend, v->plan.n_groups, v->plan.n_groups == 1 ? "" : "s");
    if (v->n[REFUSED])
        qt_print("; %u rejected", v->n[REFUSED]);
    if (v->n[BEHIND])
        qt_print("; %u not evaluated (--): they depend on a rejected node", v->n[BEHIND]);
    qt_print("\n");
    if (v->n_parts)
        qt_print("estimated %.3f ms for %s on %s (%s)\n", sum_parts(v) / 1e3,
                 v->n[ACCEPTED] < v->graph->n_nodes ? "this part" : "it", v->part.at.chip->name,
                 qd_precision_names[v->part.precision]);
    for (uint32_t i = 0; i < v->n_parts && v->n_parts > 1; i++)
        qt_print("  partition %u: %.3f ms\n", i + 1, v->parts_us[i] / 1e3);
    return qt_close_stdout();
}

static int report(const check_options *o, const char *path, const verdicts *v) {
    const char *name = qt_backend_name(&o->backend);
    if (o->html && !write_page(o, path, v))
        return QT_EXIT_FAILURE;
    int code =
        o->json ? qt_print_json(report_json(path, name, v)) : report_text(v, name, o->refused_only);
    return code == QT_EXIT_OK && v->n[ACCEPTED] < v->graph->n_nodes ? QT_EXIT_REFUSED : code;
}

// What a dynamic model lacks comes before the nodes that are rejected for it.
static void warn_of_dynamic(const char *path, const ox_model *m) {
    if (ox_check_static(m, true) == QRN_OK)
        return;
    qt_warn("%s: %s; until then nodes that need the shapes are rejected", path, qrn_message());
    qrn_message_clear();
}

static int check(const check_options *o, const char *path, const ox_model *m) {
    verdicts v = {.graph = m->graph};
    ox_options import = {0};
    qc_client *client = NULL;
    qt_import_flags(&o->backend, &import);
    warn_of_dynamic(path, m);
    v.rows = calloc(m->graph->n_nodes + 1, sizeof *v.rows);
    int code = v.rows ? qt_open_backend(&o->backend, NULL, &client) : QT_EXIT_FAILURE;
    if (code == QT_EXIT_OK && qt_plan_make(m, client, &import, &v.plan) != QRN_OK) {
        qt_error("%s: %s", path, qrn_message());
        code = QT_EXIT_REFUSED;
    }
    if (code == QT_EXIT_OK && !judge(&v)) {
        qt_error("out of memory");
        code = QT_EXIT_FAILURE;
    }
    if (code == QT_EXIT_OK) {
        estimate(o, m, client, &import, &v);
        code = report(o, path, &v);
    }
    free(v.parts_us);
    free(v.rows);
    qc_close(client);
    return code;
}

// A DLC file is taken whole or not at all: its nodes are chosen already.
static int check_dlc(const check_options *o, const char *path) {
    const qc_dlc_source from = {.path = path};
    qc_client *client = NULL;
    qc_composed graphs = {0};
    int code = qt_open_backend(&o->backend, NULL, &client);
    if (code != QT_EXIT_OK)
        return code;
    qrn_status s = qc_compose(client, &from, &graphs);
    for (uint32_t i = 0; i < graphs.n && s == QRN_OK; i++) {
        qc_graph *g = NULL;
        s = qc_composed_graph(client, &graphs, graphs.graphs[i].graphInfoV3.graphName, &g);
        qc_graph_destroy(g);
    }
    if (s == QRN_OK) {
        uint32_t ops = graphs.n ? graphs.graphs[graphs.n - 1].graphInfoV3.endOpIndex + 1 : 0;
        qt_print("%s: %u graph%s, %u ops, all accepted by %s\n", path, graphs.n,
                 graphs.n == 1 ? "" : "s", ops, client->provider);
        code = qt_close_stdout();
    } else {
        qt_error("%s: %s", path, qrn_message());
        code = QT_EXIT_REFUSED;
    }
    qc_composed_free(&graphs);
    qc_close(client);
    return code;
}

static int run(const void *options, const qt_list *args) {
    check_options o = *(const check_options *)options;
    o.in.random = true; // no input is needed
    if (qt_is_dlc(args->items[0]) && o.html) {
        qt_error("%s: --html is not for DLC files, which are accepted whole or not at all; check "
                 "the model that it was made from",
                 args->items[0]);
        return QT_EXIT_USAGE;
    }
    if (qt_is_dlc(args->items[0]))
        return check_dlc(&o, args->items[0]);
    ox_model *m = NULL;
    int code = qt_open_nodes(args->items[0], &o.in, &m);
    if (code != QT_EXIT_OK)
        return code;
    qt_inputs in = {0};
    code = qt_inputs_open(m, &o.in, args, 1, &in);
    if (code == QT_EXIT_OK)
        code = check(&o, args->items[0], m);
    qt_inputs_close(&in);
    ox_model_close(m);
    return code;
}

const qt_command qt_check = {
    .name = "check",
    .summary = "report which nodes a backend supports, and why it rejects others",
    .args = "MODEL",
    .min_args = 1,
    .max_args = 1,
    .about =
        "Checks which nodes of a model a backend supports and prints one line per node: accepted, "
        "or the reason why not. The exit code is 3 if a node is rejected.\nNodes that depend on a "
        "rejected node whose output shape is unknown are not evaluated; they are marked --.\nA "
        "partition is a set of accepted nodes that runs as one graph, as in ONNX Runtime.\nA DLC "
        "file is compiled as a whole; the first rejected node is reported.\nFor the HTP, the "
        "latency of the accepted nodes is estimated as well (quern estimate).",
    .groups = {{"options", flags}, {"backend", qt_backend_flags}},
    .examples = {{"quern check model.onnx --rejected", "Which nodes are rejected, and why?"},
                 {"quern check model.onnx --soc SM8650 --html check.html", "A report as a page."},
                 {"quern check model.onnx --backend htp --soc SM8650 --json",
                  "JSON for a script."}},
    .options_size = sizeof(check_options),
    .run = run,
};
