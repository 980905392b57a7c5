// SPDX-License-Identifier: MIT
//
// Driving an import: inputs and constants first, then the nodes in order, then the outputs. Rank 0
// is kept as rank 0 for values; QNN tensors have [1] instead.
#include "base/mem.h"
#include "frontend/onnx/fold/fold.h"
#include "frontend/onnx/driver/nested.h"
#include "frontend/onnx/import/lookup.h"

#include <string.h>

static qrn_status add_constant(ox_import *im, const ox_tensor *t) {
    ox_val *v;
    QRN_TRY(ox_scope_add(im, im->scope, t->name, &v));
    v->type = t->type;
    v->rank = t->rank;
    for (uint32_t d = 0; d < t->rank; d++) {
        if (t->dims[d] > UINT32_MAX)
            return QRN_FAIL(QRN_E_SHAPE, "constant '%s': dimension %u is too large", t->name, d);
        v->dims[d] = (uint32_t)t->dims[d];
    }
    v->known = true;
    if (!ox_is_updatable(im, t->name)) { // else nobody may look at it
        v->data = t->data;
        v->bytes = t->bytes;
    }
    v->enc = t->enc;
    return QRN_OK;
}

// --- uses

// Two QuantizeLinear that do the same to a value: quantizers like to write one for each reader.
static bool quantize_alike(const ox_node *a, const ox_node *b) {
    if (!a || !b || strcmp(a->op, "QuantizeLinear") != 0 || strcmp(b->op, a->op) != 0 ||
        a->n_in != b->n_in)
        return false;
    for (uint32_t i = 0; i < a->n_in; i++)
        if (strcmp(a->in[i], b->in[i]) != 0)
            return false;
    return true;
}

static void use(ox_import *im, const char *name, const ox_node *n) {
    ox_val *v = name[0] ? ox_scope_find(im->scope, name) : NULL;
    if (!v)
        return;
    if (quantize_alike(v->consumer, n) && strcmp(n->in[0], name) == 0)
        return; // counts as one
    v->consumer = v->n_uses++ == 0 ? n : NULL;
}

// Names that a nested graph reads from outside count as uses by nobody in particular.
static void use_nested(ox_import *im, const ox_graph *g) {
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        for (uint32_t j = 0; j < g->nodes[i].n_in; j++) {
            use(im, g->nodes[i].in[j], NULL);
            use(im, g->nodes[i].in[j], NULL);
        }
        for (uint32_t j = 0; j < g->nodes[i].n_attrs; j++)
            if (g->nodes[i].attrs[j].g)
                use_nested(im, g->nodes[i].attrs[j].g);
    }
    for (uint32_t i = 0; i < g->n_outputs; i++)
        use(im, g->outputs[i].name, NULL);
}

static qrn_status enter_values(ox_import *im, const ox_node *nodes, uint32_t n) {
    ox_val *v;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < nodes[i].n_out; j++)
            if (nodes[i].out[j][0]) {
                QRN_TRY(ox_scope_add(im, im->scope, nodes[i].out[j], &v));
                v->made = true;
                v->maker = &nodes[i];
            }
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < nodes[i].n_in; j++)
            use(im, nodes[i].in[j], &nodes[i]);
        for (uint32_t j = 0; j < nodes[i].n_attrs; j++)
            if (nodes[i].attrs[j].g)
                use_nested(im, nodes[i].attrs[j].g);
    }
    return QRN_OK;
}

// Constant nodes are entered before the others, so that encodings find their scales.
static qrn_status fold_constants(ox_import *im, const ox_node *nodes, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        ox_folded f;
        ox_val *v;
        if (strcmp(nodes[i].op, "Constant") != 0 || nodes[i].domain[0] || nodes[i].n_out != 1)
            continue;
        qrn_status s =
            ox_fold(&nodes[i], ox_version(im, &nodes[i]), NULL, OX_FOLD_BYTES, im->arena, &f);
        if (s != QRN_OK)
            continue; // the driver meets the node again and says why
        QRN_TRY(ox_scope_add(im, im->scope, nodes[i].out[0], &v));
        *v = (ox_val){.name = v->name,
                      .type = f.type,
                      .rank = f.rank,
                      .known = true,
                      .made = true,
                      .data = f.data,
                      .bytes = f.bytes,
                      .n_uses = v->n_uses,
                      .consumer = v->consumer,
                      .is_output = v->is_output};
        memcpy(v->dims, f.dims, sizeof v->dims);
    }
    return QRN_OK;
}

qrn_status ox_enter_constants(ox_import *im, const ox_graph *g) {
    for (uint32_t i = 0; i < g->n_constants; i++)
        QRN_TRY(add_constant(im, &g->constants[i]));
    return QRN_OK;
}

qrn_status ox_enter_nodes(ox_import *im, const ox_node *nodes, uint32_t n) {
    QRN_TRY(enter_values(im, nodes, n));
    QRN_TRY(fold_constants(im, nodes, n));
    return ox_find_encodings(im, nodes, n);
}

// The main graph: its inputs have their names before encodings are looked for.
static qrn_status enter_graph(ox_import *im, const ox_graph *g) {
    QRN_TRY(ox_enter_constants(im, g));
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        ox_val *v;
        QRN_TRY(ox_scope_add(im, im->scope, g->inputs[i].name, &v));
    }
    return ox_enter_nodes(im, g->nodes, g->n_nodes);
}

// --- nodes

static bool is_std(const ox_node *n, const char *op) {
    return strcmp(n->op, op) == 0 &&
           (n->domain[0] == '\0' || strcmp(n->domain, "com.microsoft") == 0);
}

// Is its first input an empty constant? Quantizers give those an encoding too (Resize's roi), which
// no tensor can have.
static bool reads_nothing(const ox_import *im, const ox_node *n) {
    const ox_val *x = n->n_in && n->in[0][0] ? ox_scope_find(im->scope, n->in[0]) : NULL;
    return x && x->known && x->data && ox_count(x) == 0;
}

// Tries to compute the node now; *done says whether it was.
static qrn_status try_fold(ox_import *im, const ox_node *n, bool *done) {
    const ox_val *in[64];
    ox_folded out[32];
    bool shape_only = is_std(n, "Shape") || is_std(n, "Size") || is_std(n, "EyeLike");
    *done = false;
    if (n->n_in > 64 || n->n_out > 32 || (is_std(n, "DequantizeLinear") && !reads_nothing(im, n)))
        return QRN_OK;
    bool same_count = is_std(n, "Cast") || is_std(n, "Transpose"); // no larger than their input
    size_t most = ox_fold_bytes(im, same_count ? SIZE_MAX : OX_FOLD_BYTES);
    QRN_TRY(ox_fold_quantized(im, n, most, done));
    if (*done)
        return QRN_OK;
    for (uint32_t i = 0; i < n->n_in; i++) {
        in[i] = n->in[i][0] ? ox_in_float64(im, ox_scope_find(im->scope, n->in[i])) : NULL;
        if (in[i] && !shape_only && (in[i]->quantized || !in[i]->data))
            return QRN_OK;
    }
    if (!ox_spend_work(im, n, shape_only ? NULL : in))
        return QRN_OK;
    for (uint32_t i = 0; !shape_only && i < n->n_in; i++)
        if (n->in[i][0])
            QRN_TRY(ox_align(im, ox_scope_find(im->scope, n->in[i])));
    memset(out, 0, sizeof out);
    qrn_arena *own = ox_large_begin(im, n, in, most);
    qrn_status s = ox_fold(n, ox_version(im, n), in, most, own ? own : im->arena, out);
    if (own)
        ox_large_end(im, s == QRN_OK ? ox_scope_find(im->scope, n->out[0]) : NULL);
    if (s == QRN_E_UNSUPPORTED) {
        im->n_unfolded += most < OX_FOLD_BYTES;
        qrn_message_clear();
        return QRN_OK;
    }
    QRN_TRY(s);
    for (uint32_t i = 0; i < n->n_out; i++) {
        ox_val *v;
        if (!n->out[i][0] || !out[i].data)
            continue;
        QRN_TRY(ox_scope_add(im, im->scope, n->out[i], &v));
        v->type = out[i].type;
        v->rank = out[i].rank;
        memcpy(v->dims, out[i].dims, sizeof v->dims);
        v->known = true;
        v->data = out[i].data;
        v->bytes = out[i].bytes;
        im->budget.spent[QRN_COST_WORK] += ox_count(v);
    }
    im->n_folded++;
    *done = true;
    return QRN_OK;
}

static qrn_status check_inputs(ox_import *im, const ox_node *n) {
    for (uint32_t i = 0; i < n->n_in; i++) {
        if (!n->in[i][0])
            continue;
        const ox_val *v = ox_scope_find(im->scope, n->in[i]);
        if (v && !v->known && v->why)
            return ox_fail(im, n, QRN_E_SHAPE, "%s", v->why);
        if (v && !v->known && !v->made)
            return ox_fail(im, n, QRN_E_DYNAMIC_SHAPE,
                           "the shape of input '%s' is not known before execution", n->in[i]);
        if (v && !v->known && im->opt->report)
            return ox_fail(
                im, n, QRN_E_UNCONNECTED, "input '%s' comes from a rejected node and %s", n->in[i],
                v->type == OX_NONE ? "its shape is not declared" : "QNN has no such tensors");
        if (!v || !v->known)
            return ox_fail(im, n, QRN_E_UNCONNECTED,
                           "input '%s' is not computed by any node before it", n->in[i]);
    }
    return QRN_OK;
}

static qrn_status check_sequences(ox_import *im, const ox_node *n) {
    for (uint32_t i = 0; i < n->n_in && !ox_takes_sequences(n); i++) {
        const ox_val *v = n->in[i][0] ? ox_scope_find(im->scope, n->in[i]) : NULL;
        if (v && v->kind != OX_TENSOR)
            return ox_fail(im, n, QRN_E_UNSUPPORTED, "input '%s' is not a tensor", n->in[i]);
    }
    return QRN_OK;
}

qrn_status ox_import_one(ox_import *im, const ox_node *n) {
    bool done;
    QRN_TRY(ox_check_assumed(im, n));
    QRN_TRY(ox_settle(im, n));
    n = ox_instead_of(im, n);
    if (!n)
        return QRN_OK;
    im->node = n;
    QRN_TRY(qrn_budget_spend(&im->budget, QRN_COST_NODES, 1));
    QRN_TRY(check_inputs(im, n));
    QRN_TRY(check_sequences(im, n));
    if (im->model->import_foreign && n->domain == im->model->foreign_domain)
        return im->model->import_foreign(im, n);
    const ox_package *package = ox_package_of(im, n);
    if (package)
        return ox_import_packaged(im, n, package);
    QRN_TRY(try_fold(im, n, &done));
    if (done)
        return QRN_OK;
    QRN_TRY(ox_narrow_inputs(im, n));
    if (is_std(n, "DequantizeLinear"))
        return ox_import_dequantize(im, n);
    if (is_std(n, "QuantizeLinear"))
        return ox_import_quantize(im, n);
    const ox_function *f = ox_model_function(im->model, n->domain, n->op, n->overload);
    if (f)
        return ox_call_function(im, f, n);
    const ox_importer *row = ox_find_importer(n->op, n->domain);
    if (!row)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "the op %s%s%s is not supported", n->domain,
                       n->domain[0] ? "." : "", n->op);
    for (uint32_t i = 0; i < ox_least_inputs(n->op); i++)
        if (!ox_input(im, n, i))
            return ox_fail(im, n, QRN_E_UNCONNECTED, "input %u is missing", i);
    if (n->n_out == 0)
        return ox_fail(im, n, QRN_E_UNCONNECTED, "it has no output");
    bool unit = im->quantized = ox_unit_of(im, n);
    im->fixed16 = unit && ox_wants_fixed16(im, n);
    if (!im->fixed16)
        QRN_TRY(ox_check_fp16(im, n));
    uint32_t before = im->n_dequantized;
    qrn_status s = im->fixed16 && ox_has_lookup(n) ? ox_import_lookup(im, n) : row->fn(im, n);
    im->quantized = im->fixed16 = false;
    if (s == QRN_OK && im->n_dequantized != before)
        s = ox_check_unit(im, n, unit);
    return s;
}

static void report_values(const ox_import *im, const ox_node *n) {
    for (uint32_t i = 0; im->opt->value && im->depth == 0 && i < n->n_out; i++) {
        const ox_val *v = n->out[i][0] ? ox_scope_find(im->scope, n->out[i]) : NULL;
        if (v && v->known)
            im->opt->value(im->opt->value_ctx, v);
    }
}

qrn_status ox_import_nodes(ox_import *im, const ox_node *nodes, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (im->opt->begin && im->depth == 0)
            im->opt->begin(im->opt->begin_ctx, &nodes[i]);
        qrn_status s = ox_import_one(im, &nodes[i]);
        report_values(im, &nodes[i]);
        if (im->opt->report && im->depth == 0) { // nested nodes fail the node around them
            im->opt->report(im->opt->report_ctx, &nodes[i], s, s == QRN_OK ? "" : qrn_message());
            if (s != QRN_OK && s != QRN_E_MEM)
                s = ox_take_from_outside(im, &nodes[i]);
        }
        QRN_TRY(s);
        QRN_TRY(ox_large_leave(im, &nodes[i]));
    }
    return QRN_OK;
}

static qrn_status mark_outputs(ox_import *im, const ox_graph *g) {
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        ox_val *v = ox_scope_find(im->scope, g->outputs[i].name);
        if (v)
            v->is_output = true;
    }
    // The float values inside quantized units stay inside: showing them would take the units apart.
    for (uint32_t i = 0; im->opt->keep_all && i < g->n_nodes; i++)
        for (uint32_t j = 0; j < g->nodes[i].n_out; j++) {
            ox_val *v = ox_scope_find(im->scope, g->nodes[i].out[j]);
            if (v && (im->opt->as_float ||
                      (!is_std(&g->nodes[i], "DequantizeLinear") && !ox_before_quantizer(im, v))))
                v->is_output = true;
        }
    return QRN_OK;
}

qrn_status ox_import_model(const ox_model *m, qc_client *c, const ox_options *opt, ox_result *out) {
    const ox_graph *g = m->graph;
    qc_graph *graph;
    const char *name = opt->graph_name ? opt->graph_name : g->name[0] ? g->name : "graph";
    QRN_TRY(ox_model_check(m));
    QRN_TRY(qc_graph_create(c, name, opt->graph_configs, &graph));
    ox_import im = {.model = m, .opt = opt, .graph = graph, .arena = graph->arena};
    ox_result r = {.graph = graph};
    qrn_spares_keep(); // weights are permuted one after the other
    qrn_status s = ox_begin_budget(&im);
    if (s == QRN_OK)
        s = ox_scope_new(&im, NULL, &im.scope);
    if (s == QRN_OK)
        s = ox_note_declared(&im);
    if (s == QRN_OK)
        s = enter_graph(&im, g);
    if (s == QRN_OK)
        s = mark_outputs(&im, g);
    if (s == QRN_OK && (!opt->value || opt->fused)) // who asks for every value gets every node
        s = ox_find_patterns(&im);
    if (s == QRN_OK)
        s = ox_create_inputs(&im, g, &r);
    if (s == QRN_OK)
        s = ox_create_updatable(&im, g, &r);
    for (uint32_t i = 0; s == QRN_OK && i < g->n_outputs; i++)
        s = qc_keep_name(graph, g->outputs[i].name);
    if (s == QRN_OK)
        s = ox_import_nodes(&im, g->nodes, g->n_nodes);
    if (s == QRN_OK)
        s = ox_finish_outputs(&im, g, &r);
    if (s == QRN_OK)
        s = ox_model_check(m);
    s = ox_end_budget(&im, s);
    ox_large_clear(&im);
    qrn_spares_drop();
    qrn_strmap_clear(&im.declared);
    qrn_strmap_clear(&im.ranks);
    if (s != QRN_OK) {
        qc_graph_destroy(graph);
        return s;
    }
    r.n_transposes = im.n_transposes;
    r.n_folded = im.n_folded;
    *out = r;
    return QRN_OK;
}
