// SPDX-License-Identifier: MIT
//
// quern show --html: models for the page that draws graphs (page/graph_page.html.in). Of a model
// each node has its partition on a backend, or why it has none, and its estimated time.
#include "tools/quern/show_page.h"

#include "tools/quern/binary.h"
#include "tools/quern/dlc.h"
#include "tools/quern/estimate.h"
#include "tools/quern/page_data.h"
#include "tools/quern/report.h"
#include "tools/quern/run_pte.h"
#include "tools/quern/show_compiled.h"
#include "tools/quern/show_pte.h"
#include "tools/quern/soc.h"

#include "page_texts.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_TEXT 400 // of attributes

// A graph that is being written.
typedef struct drawing {
    const ox_graph *graph;
    json_t *values, *index; // index: name to number
} drawing;

static json_t *shape_text(const ox_info *info) {
    char text[256];
    size_t at = (size_t)snprintf(text, sizeof text, "[");
    for (uint32_t d = 0; d < info->rank && at < sizeof text - 48; d++)
        if (info->dims[d] >= 0)
            at += (size_t)snprintf(text + at, sizeof text - at, "%s%lld", d ? "," : "",
                                   (long long)info->dims[d]);
        else
            at += (size_t)snprintf(text + at, sizeof text - at, "%s%.32s", d ? "," : "",
                                   info->symbols[d] ? info->symbols[d] : "?");
    snprintf(text + at, sizeof text - at, "]");
    return qt_json_text(text);
}

// The value of that name; it is made if there is none.
static json_t *value_of(drawing *d, const char *name, json_int_t *number) {
    json_t *key = qt_json_text(name);
    if (!key)
        return NULL;
    const json_t *at = json_object_get(d->index, json_string_value(key));
    *number = at ? json_integer_value(at) : (json_int_t)json_array_size(d->values);
    if (!at) {
        json_object_set_new(d->index, json_string_value(key), json_integer(*number));
        json_array_append_new(d->values, json_pack("{s:O}", "name", key));
    }
    json_decref(key);
    return json_array_get(d->values, (size_t)*number);
}

static void note_info(drawing *d, const ox_info *info, const char *kind) {
    json_int_t number;
    json_t *v = info->name ? value_of(d, info->name, &number) : NULL;
    if (!v)
        return;
    if (info->type)
        json_object_set_new(v, "type", json_string(ox_type_name(info->type)));
    if (info->has_shape)
        json_object_set_new(v, "shape", shape_text(info));
    if (info->enc && info->enc->n == 1) {
        char text[96];
        snprintf(text, sizeof text, "scale %g, zero point %d", (double)info->enc->scales[0],
                 info->enc->zeros ? info->enc->zeros[0] : 0);
        json_object_set_new(v, "enc", json_string(text));
    }
    if (kind)
        json_object_set_new(v, "kind", json_string(kind));
}

static void note_constant(drawing *d, const ox_tensor *t) {
    ox_info info = {.name = t->name, .type = t->type, .has_shape = true, .rank = t->rank};
    for (uint32_t i = 0; i < t->rank; i++)
        info.dims[i] = (int64_t)t->dims[i];
    note_info(d, &info, "const");
}

static void note_values(drawing *d, const ox_plan *plan) {
    const ox_graph *g = d->graph;
    for (uint32_t i = 0; i < g->n_infos; i++)
        note_info(d, &g->infos[i], NULL);
    for (uint32_t i = 0; i < plan->n_shapes; i++)
        note_info(d, &plan->shapes[i], NULL);
    for (uint32_t i = 0; i < g->n_inputs; i++)
        note_info(d, &g->inputs[i], "input");
    for (uint32_t i = 0; i < g->n_outputs; i++)
        note_info(d, &g->outputs[i], "output");
    for (uint32_t i = 0; i < g->n_constants; i++)
        note_constant(d, &g->constants[i]);
}

static json_t *numbers_of(drawing *d, const char *const *names, uint32_t n) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < n; i++) {
        json_int_t number;
        if (names[i][0] && value_of(d, names[i], &number))
            json_array_append_new(list, json_integer(number));
    }
    return list;
}

// The scale and zero point of QuantizeLinear and DequantizeLinear, in words.
static json_t *encoding_of(const ox_graph *g, const ox_node *n) {
    const ox_tensor *scale = n->n_in > 1 ? qt_find_constant(g, n->in[1]) : NULL;
    const ox_tensor *zero = n->n_in > 2 ? qt_find_constant(g, n->in[2]) : NULL;
    char text[128];
    float s;
    if (!scale || scale->type != OX_F32 || scale->bytes < sizeof s ||
        !strstr(n->op, "uantizeLinear"))
        return NULL;
    const char *type = zero ? ox_type_name(zero->type) : "uint8";
    uint64_t count = scale->bytes / sizeof s;
    memcpy(&s, scale->data, sizeof s);
    if (count > 1) {
        snprintf(text, sizeof text, "%s, %llu scales along axis %lld", type,
                 (unsigned long long)count, (long long)ox_attr_int(n, "axis", 1));
    } else {
        int32_t z = 0;
        if (zero && zero->bytes && (zero->type == OX_U8 || zero->type == OX_I8))
            z = zero->type == OX_U8 ? *(const uint8_t *)zero->data : *(const int8_t *)zero->data;
        else if (zero && zero->bytes > 1 && (zero->type == OX_U16 || zero->type == OX_I16))
            z = zero->type == OX_U16 ? *(const uint16_t *)zero->data : *(const int16_t *)zero->data;
        snprintf(text, sizeof text, "%s, scale %g, zero point %d", type, (double)s, z);
    }
    return qt_json_text(text);
}

static json_t *attributes_of(const ox_node *n) {
    char text[MAX_TEXT + 64];
    size_t at = 0;
    for (uint32_t i = 0; i < n->n_attrs && at < MAX_TEXT; i++) {
        const ox_attr *a = &n->attrs[i];
        char value[160] = "...";
        size_t k = 0;
        if (a->type == OX_ATTR_INT)
            snprintf(value, sizeof value, "%lld", (long long)a->i);
        else if (a->type == OX_ATTR_FLOAT)
            snprintf(value, sizeof value, "%g", (double)a->f);
        else if (a->type == OX_ATTR_STRING)
            snprintf(value, sizeof value, "%.60s", a->s);
        else if (a->type == OX_ATTR_INTS) {
            k = (size_t)snprintf(value, sizeof value, "[");
            for (uint32_t j = 0; j < a->n && k < sizeof value - 32; j++)
                k += (size_t)snprintf(value + k, sizeof value - k, "%s%lld", j ? "," : "",
                                      (long long)a->ints[j]);
            snprintf(value + k, sizeof value - k, "]");
        }
        int used =
            snprintf(text + at, sizeof text - at, "%s%.60s=%s", at ? ", " : "", a->name, value);
        at += used > 0 ? (size_t)used : 0;
        at = at < sizeof text ? at : sizeof text - 1;
    }
    text[at] = '\0';
    return at ? qt_json_text(text) : NULL;
}

static json_t *json_node(drawing *d, const ox_plan *plan, uint32_t i) {
    const ox_node *n = &d->graph->nodes[i];
    const char *why = ox_plan_reason(d->graph, plan, i);
    json_t *o = json_pack("{s:o,s:o,s:o,s:o,s:i}", "name", qt_json_text(n->name), "op",
                          qt_json_text(n->op), "in", numbers_of(d, n->in, n->n_in), "out",
                          numbers_of(d, n->out, n->n_out), "part", why ? -1 : plan->group[i]);
    json_t *enc = encoding_of(d->graph, n), *attributes = attributes_of(n);
    if (o && why)
        json_object_set_new(o, "why", qt_json_text(why));
    if (o && enc)
        json_object_set_new(o, "enc", enc);
    if (o && attributes)
        json_object_set_new(o, "attributes", attributes);
    return o;
}

// Times by the ops that name the steps; nodes that are fused into a step name it.
static void add_estimate(json_t *graph, const qt_network *net, const qt_estimate *e) {
    json_t *names = qt_page_names(graph);
    for (uint32_t i = 0; i < net->graph.n_ops; i++) {
        const qd_op *op = &net->graph.ops[i];
        uint32_t step = net->steps.step_of[i];
        json_t *node = qt_page_node(names, op->name);
        if (!node || step >= net->steps.n)
            continue;
        const qd_op *first = net->steps.list[step].op;
        double us = json_number_value(json_object_get(node, "us"));
        if (first == op)
            json_object_set_new(node, "us", json_real(us + qd_core(&e->e.steps[step])));
        else if (qt_page_node(names, first->name) != node)
            json_object_set_new(node, "step", qt_json_text(first->name));
    }
    json_decref(names);
}

static bool is_htp(const qt_backend_options *b) {
    return strcmp(qt_backend_name(b), "htp") == 0 && !(b->soc && strcasecmp(b->soc, "none") == 0);
}

static json_t *json_partitions(const qt_backend_options *b, const ox_plan *plan) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < plan->n_groups; i++) {
        char text[160];
        snprintf(text, sizeof text, "%.64s%s%.32s, partition %u", qt_backend_name(b),
                 b->soc ? " " : "", b->soc ? b->soc : "", i + 1);
        json_array_append_new(list, qt_json_text(text));
    }
    return list;
}

// A model without a backend is divided for the HTP of the default SoC.
static qt_backend_options backend_of(const qt_graph_page *p) {
    qt_backend_options b = p->backend;
    if (!b.backend && !b.soc)
        b.backend = "htp";
    if (!b.soc && strcmp(b.backend ? b.backend : "htp", "htp") == 0)
        b.soc = QT_DEFAULT_SOC;
    return b;
}

static json_t *json_model(const qt_backend_options *b, const char *path, const ox_model *m,
                          qc_client *c, const ox_options *import) {
    ox_plan plan;
    qt_target at = {0};
    qt_network net;
    qt_estimate e = {0};
    if (qt_plan_make(m, c, import, &plan) != QRN_OK) {
        qt_error("%s: %s", path, qrn_message());
        return NULL;
    }
    drawing d = {m->graph, json_array(), json_object()};
    json_t *nodes = json_array();
    note_values(&d, &plan);
    for (uint32_t i = 0; i < m->graph->n_nodes; i++)
        json_array_append_new(nodes, json_node(&d, &plan, i));
    json_decref(d.index);
    json_t *g = json_pack("{s:o,s:o,s:o}", "name", qt_json_text(m->graph->name), "nodes", nodes,
                          "values", d.values);
    json_t *page = json_pack("{s:o,s:s,s:o,s:[O]}", "model", qt_json_text(path), "time",
                             "estimated", "partitions", json_partitions(b, &plan), "graphs", g);
    if (g && is_htp(b) && plan.n_groups && qt_find_target(b->soc, 0, &at) == QT_EXIT_OK &&
        qt_network_read(m, c, import, &plan, &net) == QRN_OK) {
        qd_precision precision = qd_precision_of(&net.graph, &net.steps);
        if (qt_estimate_of(&net, &at, precision, &e) == QT_EXIT_OK && e.known)
            add_estimate(g, &net, &e);
        qt_network_close(&net);
    }
    json_decref(g);
    return page;
}

static int draw_model(const qt_graph_page *p, const char *path, const qt_input_options *opt,
                      json_t **out) {
    const qt_list none = {0};
    const qt_backend_options b = backend_of(p);
    qt_inputs in = {0};
    qc_client *client = NULL;
    ox_model *m = NULL;
    int code = qt_open_shaped(path, opt, &m);
    if (code == QT_EXIT_OK)
        code = qt_inputs_open(m, opt, &none, 0, &in);
    if (code == QT_EXIT_OK)
        code = qt_open_backend(&b, NULL, &client);
    if (code == QT_EXIT_OK) {
        ox_options import = {0};
        qt_import_flags(&b, &import);
        *out = json_model(&b, path, m, client, &import);
        code = *out ? QT_EXIT_OK : QT_EXIT_REFUSED;
    }
    qc_close(client);
    qt_inputs_close(&in);
    ox_model_close(m);
    return code;
}

// --- other files

static int draw_dlc(const char *path, json_t **out) {
    qt_dlc d;
    int code = qt_dlc_open(path, &d);
    if (code != QT_EXIT_OK)
        return code;
    json_t *graphs = json_object_get(d.topology, "graphs");
    if (json_array_size(graphs))
        *out = json_pack("{s:o,s:O,s:O*}", "model", qt_json_text(path), "graphs", graphs, "tensors",
                         json_object_get(d.topology, "tensors"));
    else
        qt_error("%s: the DLC file has no graph to draw", path);
    qt_dlc_close(&d);
    return *out ? QT_EXIT_OK : QT_EXIT_REFUSED;
}

// A line that begins a graph ends the one before.
static int draw_binary(const qt_graph_page *p, const char *path, json_t **out) {
    static const char mark[] = "graph \"";
    json_t *lines = NULL, *graphs = json_array(), *last = NULL;
    int code = qt_compiled_lines(path, NULL, &p->backend, &lines);
    for (size_t i = 0; code == QT_EXIT_OK && i < json_array_size(lines); i++) {
        const char *line = json_string_value(json_array_get(lines, i));
        if (strncmp(line, mark, sizeof mark - 1) == 0) {
            size_t n = strcspn(line + sizeof mark - 1, "\"");
            last = json_array();
            json_array_append_new(graphs, json_pack("{s:o,s:o}", "name",
                                                    json_stringn(line + sizeof mark - 1, n),
                                                    "lines", last));
        } else if (last) {
            json_array_append(last, json_array_get(lines, i));
        }
    }
    json_decref(lines);
    if (code == QT_EXIT_OK)
        *out = json_pack("{s:o,s:O}", "model", qt_json_text(path), "graphs", graphs);
    json_decref(graphs);
    return code;
}

static int draw_file(const qt_graph_page *p, const char *path, const qt_input_options *in,
                     json_t **out) {
    if (qt_is_dlc(path))
        return draw_dlc(path, out);
    if (qt_is_binary(path))
        return draw_binary(p, path, out);
    if (qt_is_pte(path))
        return qt_draw_pte(path, out);
    return draw_model(p, path, in, out);
}

int qt_show_page(const qt_graph_page *p, const char *path, const qt_input_options *in) {
    json_t *page = NULL;
    int code = draw_file(p, path, in, &page);
    if (code == QT_EXIT_OK && p->profile)
        code = qt_page_add_profile(p->profile, page);
    if (code == QT_EXIT_OK && p->compare)
        code = qt_page_add_compare(p->compare, page);
    if (code != QT_EXIT_OK) {
        json_decref(page);
        return code;
    }
    return qt_page_write(qt_page_graph_page, "Graph", path, page, p->html) ? QT_EXIT_OK
                                                                           : QT_EXIT_FAILURE;
}
