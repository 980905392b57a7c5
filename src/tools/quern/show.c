// SPDX-License-Identifier: MIT
//
// quern show: what is in a model, as text, JSON or a drawing for Graphviz.
#include "frontend/llm/gguf.h"
#include "tools/quern/binary.h"
#include "tools/quern/commands.h"
#include "tools/quern/cost.h"
#include "tools/quern/dlc.h"
#include "tools/quern/estimate.h"
#include "tools/quern/inputs.h"
#include "tools/quern/report.h"
#include "tools/quern/run_pte.h"
#include "tools/quern/session.h"
#include "tools/quern/show_compiled.h"
#include "tools/quern/show_dot.h"
#include "tools/quern/show_gguf.h"
#include "tools/quern/show_page.h"
#include "tools/quern/show_pte.h"
#include "tools/quern/soc.h"

#include <stdlib.h>
#include <string.h>

typedef struct show_options {
    qt_backend_options backend; // of --compiled and --html
    qt_input_options in;        // only dims
    bool json, dot, verify, compiled, published;
    const char *html, *profile, *compare;
} show_options;

#define AT(field) offsetof(show_options, field)

static const qt_flag flags[] = {
    {"json", 0, QT_BOOL, NULL, AT(json), NULL, "print the report as JSON"},
    {"published", 0, QT_BOOL, NULL, AT(published), NULL,
     "print a context binary in the JSON of qnn-context-binary-utility"},
    {"dot", 0, QT_BOOL, NULL, AT(dot), NULL, "print the graph in Graphviz format"},
    {"compiled", 0, QT_BOOL, NULL, AT(compiled), NULL, "print the compiled steps, one per line"},
    {"html", 0, QT_FILE, "FILE", AT(html), NULL,
     "write a page that draws the graph, coloured by partition, time or SQNR"},
    {"profile", 0, QT_FILE, "LOG", AT(profile), NULL, "with --html: measured times of nodes"},
    {"compare", 0, QT_FILE, "FILE", AT(compare), NULL,
     "with --html: SQNR of nodes, from 'quern compare --json'"},
    QT_DIM_FLAG(show_options, in),
    {"verify", 0, QT_BOOL, NULL, AT(verify), NULL,
     "verify all checksums of a context binary, and load it"},
    {0},
};

// Ops by how often they occur.
typedef struct tally {
    const char *op, *domain;
    uint32_t n;
} tally;

static int more_first(const void *a, const void *b) {
    const tally *x = a, *y = b;
    return x->n > y->n ? -1 : x->n < y->n ? 1 : strcmp(x->op, y->op);
}

static size_t count_ops(const ox_graph *g, tally *rows) {
    size_t n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const ox_node *node = &g->nodes[i];
        size_t k = 0;
        while (k < n &&
               (strcmp(rows[k].op, node->op) != 0 || strcmp(rows[k].domain, node->domain) != 0))
            k++;
        if (k == n)
            rows[n++] = (tally){node->op, node->domain, 0};
        rows[k].n++;
    }
    if (n)
        qsort(rows, n, sizeof *rows, more_first);
    return n;
}

static json_t *json_info(const ox_info *p) {
    json_t *shape = p->has_shape ? json_array() : json_null();
    for (uint32_t i = 0; p->has_shape && i < p->rank; i++)
        json_array_append_new(shape, p->dims[i] >= 0 ? json_integer((json_int_t)p->dims[i])
                                     : p->symbols[i] ? qt_json_text(p->symbols[i])
                                                     : json_null());
    json_t *o = json_pack("{s:o,s:s,s:o}", "name", qt_json_text(p->name), "type",
                          p->type ? ox_type_name(p->type) : "not a tensor", "shape", shape);
    if (o && p->enc && p->enc->n == 1) {
        json_object_set_new(o, "scale", qt_json_number((double)p->enc->scales[0]));
        json_object_set_new(o, "zero_point", json_integer(p->enc->zeros ? p->enc->zeros[0] : 0));
    }
    return o;
}

static json_t *json_infos(const ox_info *const *list, uint32_t n) {
    json_t *out = json_array();
    for (uint32_t i = 0; i < n; i++)
        json_array_append_new(out, json_info(list[i]));
    return out;
}

static json_t *json_outputs(const ox_graph *g) {
    json_t *out = json_array();
    for (uint32_t i = 0; i < g->n_outputs; i++)
        json_array_append_new(out, json_info(&g->outputs[i]));
    return out;
}

// Keys that are not UTF-8 would be left out, and those of two domains meet.
static void add_count(json_t *counts, const char *name, json_int_t n) {
    json_t *key = qt_json_text(name);
    if (!key)
        return; // out of memory, which is reported in the end
    const json_t *old = json_object_get(counts, json_string_value(key));
    json_object_set_new(counts, json_string_value(key), json_integer(json_integer_value(old) + n));
    json_decref(key);
}

// What was counted.
typedef struct facts {
    qt_cost cost;
    double macs; // less than 0: not known
} facts;

// A model of another format that poses as one of ONNX has the opsets of both.
static bool is_shown(const ox_model *m, const ox_opset *s) {
    return !m->foreign_domain || s->domain == m->foreign_domain;
}

static int show_json(const char *path, const ox_model *m, const qt_inputs *in, const facts *f,
                     const tally *ops, size_t n_ops) {
    const ox_graph *g = m->graph;
    json_t *counts = json_object(), *opsets = json_object();
    for (size_t i = 0; i < n_ops; i++)
        add_count(counts, ops[i].op, ops[i].n);
    for (uint32_t i = 0; i < m->n_opsets; i++)
        if (is_shown(m, &m->opsets[i]))
            add_count(opsets, m->opsets[i].domain[0] ? m->opsets[i].domain : "ai.onnx",
                      (json_int_t)m->opsets[i].version);
    json_t *o = json_pack("{s:o,s:o,s:o,s:I,s:o,s:o,s:o,s:I,s:o,s:f,s:f}", "model",
                          qt_json_text(path), "graph", qt_json_text(g->name), "producer",
                          qt_json_text(m->producer ? m->producer : ""), "ir_version",
                          (json_int_t)m->ir_version, "opsets", opsets, "inputs",
                          json_infos(in->ports, in->n_ports), "outputs", json_outputs(g), "nodes",
                          (json_int_t)g->n_nodes, "ops", counts, "parameters", f->cost.parameters,
                          "weight_bytes", f->cost.weight_bytes);
    if (o) {
        json_object_set_new(o, "macs", f->macs < 0 ? json_null() : json_real(f->macs));
        json_object_set_new(o, "activation_bytes",
                            f->cost.complete ? json_real(f->cost.activation_bytes) : json_null());
    }
    return qt_print_json(o);
}

static void print_ports(const char *title, const ox_info *const *list, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        char shape[512];
        qt_print("%-11s %s  %s %s", i ? "" : title, list[i]->name,
                 list[i]->type ? ox_type_name(list[i]->type) : "not a tensor",
                 qt_info_shape(list[i], shape, sizeof shape));
        const ox_enc *e = list[i]->enc;
        if (e && e->n == 1)
            qt_print("  scale %g, zero point %d", (double)e->scales[0], e->zeros ? e->zeros[0] : 0);
        qt_print("\n");
    }
}

static void print_format(const char *path, const ox_model *m) {
    qt_print("%s%s%s  ", qt_style_on(QT_BOLD), path, qt_style_off());
    if (!m->foreign_domain)
        qt_print("ONNX IR %lld", (long long)m->ir_version);
    for (uint32_t i = 0; i < m->n_opsets; i++)
        if (is_shown(m, &m->opsets[i]))
            qt_print("%s%s %lld", m->foreign_domain ? "" : ", ",
                     m->opsets[i].domain[0] ? m->opsets[i].domain : "opset",
                     (long long)m->opsets[i].version);
    qt_print("%s%s\n", m->producer && *m->producer ? ", made by " : "",
             m->producer ? m->producer : "");
}

static bool has_open_dims(const qt_inputs *in) {
    for (uint32_t i = 0; i < in->n_ports; i++)
        for (uint32_t d = 0; d < in->ports[i]->rank; d++)
            if (in->ports[i]->dims[d] < 0)
                return true;
    return false;
}

static int show_text(const char *path, const ox_model *m, const qt_inputs *in, const facts *f,
                     const tally *ops, size_t n_ops) {
    const ox_graph *g = m->graph;
    char a[64], b[64];
    print_format(path, m);
    print_ports("inputs", in->ports, in->n_ports);
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        const ox_info *one = &g->outputs[i];
        print_ports(i ? "" : "outputs", &one, 1);
    }
    qt_print("parameters  %s (%s)\n", qt_count_text(f->cost.parameters, a, sizeof a),
             qt_bytes_text(f->cost.weight_bytes, b, sizeof b));
    if (f->macs == 0)
        qt_print("MACs        0 (no convolution or matmul)\n");
    else if (f->macs < 0)
        qt_print("MACs        not known: shapes are missing%s\n",
                 has_open_dims(in) ? " (--dim or --shape sets dynamic dimensions)" : "");
    else
        qt_print("MACs        %s\n", qt_count_text(f->macs, a, sizeof a));
    if (f->cost.complete)
        qt_print("memory      %s of values alive at once\n",
                 qt_bytes_text(f->cost.activation_bytes, a, sizeof a));
    qt_print("nodes       %u\n", g->n_nodes);
    for (size_t i = 0; i < n_ops; i++) {
        bool own = ops[i].domain[0] && ops[i].domain != m->foreign_domain;
        qt_print("  %6u  %s%s%s\n", ops[i].n, own ? ops[i].domain : "", own ? "." : "", ops[i].op);
    }
    return qt_close_stdout();
}

// Ops whose multiply-accumulates would be missing, if the node were.
static bool multiplies(const char *op) {
    static const char *const parts[] = {"Conv", "MatMul", "Gemm", "Einsum",
                                        "LSTM", "GRU",    "RNN",  "Attention"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strstr(op, parts[i]))
            return true;
    return false;
}

// As quern estimate counts them, but of the whole model: the CPU backend supports more nodes than
// any SoC. Less than 0: not known.
static double count_macs(const ox_model *m, qc_client *client, const ox_options *import) {
    ox_plan plan;
    qt_network net;
    double macs = 0;
    if (qt_plan_make(m, client, import, &plan) != QRN_OK)
        return -1;
    for (uint32_t i = 0; i < m->graph->n_nodes; i++)
        if (plan.why[i] && multiplies(m->graph->nodes[i].op))
            return -1;
    if (plan.n_groups == 0)
        return 0;
    if (qt_network_read(m, client, import, &plan, &net) != QRN_OK)
        return -1;
    for (uint32_t i = 0; i < net.steps.n; i++)
        macs += net.steps.list[i].macs;
    qt_network_close(&net);
    return macs;
}

static void ignore(void *ctx, const ox_node *n, qrn_status s, const char *why) {
    (void)ctx, (void)n, (void)s, (void)why;
}

// Shapes of intermediate values are found by importing; where that fails, what the model declares
// must do.
static bool find_facts(const ox_model *m, facts *f) {
    qc_client *client = NULL;
    ox_result r = {0};
    qt_values values = {0};
    const ox_options plain = {0};
    ox_options import = plain;
    import.report = ignore;
    import.value = qt_values_add;
    import.value_ctx = &values;
    bool opened = qc_open("cpu", NULL, &client) == QRN_OK;
    bool imported = opened && ox_import_model(m, client, &import, &r) == QRN_OK;
    if (!imported) // the values are gone
        values.n = 0;
    bool ok = !values.failed && qt_cost_of(m, &values, &f->cost);
    free(values.items);
    if (imported)
        qc_graph_destroy(r.graph);
    f->macs = imported ? count_macs(m, client, &plain) : -1;
    qc_close(client);
    return ok;
}

static int check_options(const show_options *o, const char *path, bool binary) {
    const qt_backend_options *b = &o->backend;
    if (binary ? o->dot || o->in.dims.n : o->verify || o->published) {
        qt_error("%s: --%s is for %s", path,
                 binary      ? o->dot ? "dot" : "dim"
                 : o->verify ? "verify"
                             : "published",
                 binary ? "models" : "context binaries");
        return QT_EXIT_USAGE;
    }
    if (o->compiled && (o->dot || o->verify || o->published)) {
        qt_error("--%s does not go with --compiled", o->dot      ? "dot"
                                                     : o->verify ? "verify"
                                                                 : "published");
        return QT_EXIT_USAGE;
    }
    if (!o->compiled && (b->backend || b->soc || b->threads || b->allow_fp16 || b->log)) {
        qt_error("flags of backends are for --compiled and --html: nothing else asks a backend");
        return QT_EXIT_USAGE;
    }
    return QT_EXIT_OK;
}

// Files that only --json is for.
static int show_plain(const show_options *o, const char *path, bool pte) {
    if (o->dot || o->compiled || o->verify || o->published || o->in.dims.n) {
        qt_error("%s: --%s is not for %s", path,
                 o->dot         ? "dot"
                 : o->compiled  ? "compiled"
                 : o->verify    ? "verify"
                 : o->published ? "published"
                                : "dim",
                 pte ? "ExecuTorch programs"
                     : "GGUF files, which have no graph: 'quern import' makes one");
        return QT_EXIT_USAGE;
    }
    return (pte ? qt_show_pte : qt_show_gguf)(path, o->json);
}

static int show_dlc(const show_options *o, const char *path) {
    qt_dlc d;
    if (o->dot || o->compiled || o->verify || o->in.dims.n) {
        qt_error("%s: --%s is not for DLC files", path,
                 o->dot        ? "dot"
                 : o->compiled ? "compiled"
                 : o->verify   ? "verify"
                               : "dim");
        return QT_EXIT_USAGE;
    }
    int code = qt_dlc_open(path, &d);
    if (code != QT_EXIT_OK)
        return code;
    code = qt_dlc_show(&d, o->json, false);
    qt_dlc_close(&d);
    return code;
}

// --html alone, or its flags without it.
static int check_page(const show_options *o, const char *path) {
    const char *flag = o->json        ? "json"
                       : o->dot       ? "dot"
                       : o->compiled  ? "compiled"
                       : o->verify    ? "verify"
                       : o->published ? "published"
                                      : NULL;
    if (o->html && flag) {
        qt_error("--html and --%s exclude each other; give one of them", flag);
        return QT_EXIT_USAGE;
    }
    if (o->dot && (o->json || o->compiled)) {
        qt_error("--%s and --dot exclude each other; give one of them",
                 o->json ? "json" : "compiled");
        return QT_EXIT_USAGE;
    }
    if (!o->html && (o->profile || o->compare)) {
        qt_error("--%s needs --html FILE: it colours the drawn graph",
                 o->profile ? "profile" : "compare");
        return QT_EXIT_USAGE;
    }
    if (o->html && !qt_is_binary(path) && !qt_is_dlc(path) && ql_gguf_is_file(path)) {
        qt_error("%s: GGUF files have no graph to draw; 'quern import' makes one", path);
        return QT_EXIT_USAGE;
    }
    return QT_EXIT_OK;
}

static int run(const void *options, const qt_list *args) {
    show_options o = *(const show_options *)options;
    o.in.random = true; // no input is needed
    int wrong = check_page(&o, args->items[0]);
    if (wrong != QT_EXIT_OK)
        return wrong;
    if (o.html) {
        const qt_graph_page page = {o.html, o.profile, o.compare, o.backend};
        return qt_show_page(&page, args->items[0], &o.in);
    }
    if (qt_is_dlc(args->items[0]))
        return show_dlc(&o, args->items[0]);
    bool binary = qt_is_binary(args->items[0]);
    bool pte = !binary && qt_is_pte(args->items[0]);
    if (pte || (!binary && ql_gguf_is_file(args->items[0])))
        return show_plain(&o, args->items[0], pte);
    int code = check_options(&o, args->items[0], binary);
    if (code != QT_EXIT_OK)
        return code;
    if (o.compiled)
        return qt_show_compiled(args->items[0], &o.in, &o.backend, o.json);
    if (binary)
        return qt_show_binary(args->items[0],
                              o.published ? QT_BINARY_PUBLISHED
                              : o.json    ? QT_BINARY_JSON
                                          : QT_BINARY_TEXT,
                              o.verify);
    ox_model *m = NULL;
    code = qt_open_shaped(args->items[0], &o.in, &m);
    if (code != QT_EXIT_OK)
        return code;
    qt_inputs in = {0};
    code = qt_inputs_open(m, &o.in, args, 1, &in);
    tally *ops = calloc(m->graph->n_nodes + 1, sizeof *ops);
    facts f;
    if (code == QT_EXIT_OK && o.dot) {
        code = qt_show_dot(m->graph);
    } else if (code == QT_EXIT_OK && ops && find_facts(m, &f)) {
        size_t n = count_ops(m->graph, ops);
        code = (o.json ? show_json : show_text)(args->items[0], m, &in, &f, ops, n);
    } else if (code == QT_EXIT_OK) {
        qt_error("out of memory");
        code = QT_EXIT_FAILURE;
    }
    free(ops);
    qt_inputs_close(&in);
    ox_model_close(m);
    return code;
}

const qt_command qt_show = {
    .name = "show",
    .summary = "show the contents of a model or context binary",
    .args = "MODEL",
    .min_args = 1,
    .max_args = 1,
    .about =
        "Shows inputs, outputs, ops, parameters, multiply-accumulates (MACs) and memory of a "
        "model. For a context binary: graphs, tensors, encodings, options, sizes and target SoC; "
        "for a DLC file: records and graphs; for a GGUF file: keys and tensors; for an ExecuTorch "
        "program: methods, inputs, outputs, operators and delegates.\nMACs count convolutions and "
        "matmuls. Memory is that of the values between nodes when nodes run in the model's order, "
        "without weights.\n--compiled compiles the model for a backend, or loads the context "
        "binary, and prints what will run: one line for the graph, then one per step with its "
        "outputs, op, inputs, non-zero attributes, epilogue (fused steps, marked +), the first and "
        "last step that use the memory of its outputs, and its node.\n--html draws the graph of a "
        "model, context binary, DLC file or ExecuTorch program. A model is partitioned for "
        "--backend and --soc (default: htp, " QT_DEFAULT_SOC "): each node shows its partition or "
        "why it has none, and its estimated time.",
    .groups = {{"options", flags}, {"backend, with --compiled and --html", qt_backend_flags}},
    .examples = {{"quern show model.onnx", "A summary."},
                 {"quern show model.bin --verify", "Check that a context binary is intact."},
                 {"quern show model.onnx --compiled --soc SM8650", "What the HTP would run."},
                 {"quern show model.onnx --html graph.html", "The graph, to look at."}},
    .options_size = sizeof(show_options),
    .run = run,
};
