// SPDX-License-Identifier: MIT
#include "tools/sdk/model_values.h"

#include "tools/quern/dump.h"
#include "tools/quern/output.h"
#include "tools/quern/report.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct work {
    const qs_values *v;
    const char *dir;
    ox_model *model;
    qt_inputs in;
    qt_array *arrays;
    ox_info *shapes;
    qt_session s;
} work;

static int no_memory(void) {
    qt_error("out of memory");
    return QT_EXIT_FAILURE;
}

static int failed(int code) {
    qt_error("%s", qrn_message());
    return code;
}

static bool has(const qs_words *list, const char *word) {
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->items[i], word) == 0)
            return true;
    return false;
}

static bool is_wanted(const qs_filter *f, const ox_val *v) {
    const char *type = v->maker ? v->maker->op : "";
    if (f->outputs_only || has(&f->skip_names, v->name) || has(&f->skip_types, type))
        return false;
    bool chosen = f->add_names.n || f->add_types.n;
    return !chosen || has(&f->add_names, v->name) || has(&f->add_types, type);
}

// --- files

static int write_floats(const char *dir, const char *name, const qt_array *a) {
    char path[PATH_MAX], plain[NAME_MAX - 8], cut[1024];
    snprintf(cut, sizeof cut, "%.*s", (int)qt_plain_length(name), name);
    qt_file_name(cut, plain, sizeof plain);
    int n = snprintf(path, sizeof path, "%s/%s.raw", dir, plain);
    if (n < 0 || (size_t)n >= sizeof path) {
        qt_error("%.80s...: the path is too long", path);
        return QT_EXIT_FAILURE;
    }
    const qt_part part = {a->data, a->bytes};
    return qt_write_result(path, &part, 1) ? QT_EXIT_OK : QT_EXIT_FAILURE;
}

// [N, spatial.., C] to [N, C, spatial..].
static bool channels_first(const ox_val *v, qt_array *a) {
    size_t spatial = 1, channels = v->dims[1];
    for (uint32_t i = 2; i < v->rank; i++)
        spatial *= v->dims[i];
    const float *from = a->data;
    float *to = malloc(a->bytes + 1);
    if (!to)
        return false;
    for (size_t b = 0; b < v->dims[0]; b++)
        for (size_t s = 0; s < spatial; s++)
            for (size_t c = 0; c < channels; c++)
                to[(b * channels + c) * spatial + s] = from[(b * spatial + s) * channels + c];
    free(a->data);
    a->data = to;
    return true;
}

// A quantized value stands for what it is the quantized form of.
static const char *name_of(const ox_val *v) {
    bool quantizes = v->maker && strcmp(v->maker->op, "QuantizeLinear") == 0;
    return quantizes ? v->maker->in[0] : v->name;
}

static int write_value(const work *w, const char *dir, const ox_val *v, const qc_tensor *t) {
    qt_array a;
    if (qt_session_tensor(&w->s, t, &a) != QRN_OK)
        return failed(QT_EXIT_FAILURE);
    int code = QT_EXIT_OK;
    if (t == v->at[OX_LAST] && t != v->at[OX_ONNX] && v->rank > 2 && a.count == ox_count(v) &&
        !channels_first(v, &a))
        code = no_memory();
    if (code == QT_EXIT_OK)
        code = write_floats(dir, name_of(v), &a);
    qt_array_free(&a);
    return code;
}

// Of the model; in the graph every value is one.
static bool is_output(const work *w, const ox_val *v) {
    for (uint32_t i = 0; i < w->s.model.n_outputs; i++)
        if (strcmp(w->s.model.outputs[i].name, v->name) == 0)
            return true;
    return false;
}

static int write_set(const work *w, const char *dir) {
    const qt_values *values = &w->s.values;
    int code = QT_EXIT_OK;
    for (uint32_t i = 0; i < w->s.model.n_outputs && code == QT_EXIT_OK; i++) {
        qt_array a;
        if (qt_session_output_as(&w->s, i, OX_F32, &a) != QRN_OK)
            return failed(QT_EXIT_FAILURE);
        code = write_floats(dir, w->s.model.outputs[i].name, &a);
        qt_array_free(&a);
    }
    for (size_t i = 0; i < values->n && code == QT_EXIT_OK; i++) {
        const ox_val *v = values->items[i];
        const qc_tensor *t = is_output(w, v) ? NULL : qt_session_tensor_of(&w->s, v);
        if (t && is_wanted(w->v->filter, v))
            code = write_value(w, dir, v, t);
    }
    return code;
}

static int write_json(const char *dir, const char *name, json_t *value) {
    char path[PATH_MAX];
    char *text = value ? qt_json_dump(value, JSON_INDENT(2)) : NULL; // frees the value
    if (!text)
        return value ? QT_EXIT_FAILURE : no_memory();
    snprintf(path, sizeof path, "%s/%s", dir, name);
    const qt_part part = {text, strlen(text)};
    bool done = qt_write_file(path, &part, 1);
    free(text);
    return done ? QT_EXIT_OK : QT_EXIT_FAILURE;
}

static json_t *names_of(const char **list, uint32_t n) {
    json_t *a = json_array();
    for (uint32_t i = 0; i < n; i++)
        if (list[i][0])
            json_array_append_new(a, qt_json_text(list[i]));
    return a;
}

static int write_maps(const work *w) {
    const qt_values *values = &w->s.values;
    const ox_graph *g = w->model->graph;
    json_t *map = json_object(), *nodes = json_object();
    char name[NAME_MAX], stem[NAME_MAX - 24];
    for (size_t i = 0; i < values->n; i++) {
        const qc_tensor *t = qt_session_tensor_of(&w->s, values->items[i]);
        if (t)
            json_object_set_new(map, t->t.v1.name, qt_json_text(values->items[i]->name));
    }
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const ox_node *n = &g->nodes[i];
        json_object_set_new(nodes, n->name,
                            json_pack("{s:o,s:o,s:o}", "type", qt_json_text(n->op), "inputs",
                                      names_of(n->in, n->n_in), "outputs",
                                      names_of(n->out, n->n_out)));
    }
    const char *base = strrchr(w->v->model, '/');
    base = base ? base + 1 : w->v->model;
    const char *dot = strrchr(base, '.');
    snprintf(stem, sizeof stem, "%.*s", (int)(dot ? dot - base : (long)strlen(base)), base);
    snprintf(name, sizeof name, "%s_graph_struct.json", stem);
    int code = write_json(w->dir, "tensor_mapping.json", map);
    int other = write_json(w->dir, name, nodes);
    return code == QT_EXIT_OK ? other : code;
}

// --- running

static int open_session(work *w) {
    qt_inputs_shapes(&w->in, w->arrays, w->shapes);
    ox_options import = {.input_shapes = w->shapes,
                         .n_input_shapes = w->in.n_ports,
                         .keep_all = !w->v->filter->outputs_only,
                         .as_float = w->v->as_float};
    qt_import_flags(&w->v->backend, &import);
    return qt_session_open(w->v->model, w->model, &w->v->backend, &import, &w->s);
}

static int run_set(work *w, size_t set) {
    char dir[PATH_MAX];
    int n = w->v->tree ? snprintf(dir, sizeof dir, "%s/Result_%zu", w->dir, set)
                       : snprintf(dir, sizeof dir, "%s", w->dir);
    if (n < 0 || (size_t)n >= sizeof dir)
        return no_memory();
    if (w->v->tree && !qt_make_dir(dir))
        return QT_EXIT_FAILURE;
    for (uint32_t i = 0; i < w->in.n_ports; i++)
        qt_array_free(&w->arrays[i]);
    if (qt_inputs_load(&w->in, set, w->arrays) != QRN_OK)
        return failed(QT_EXIT_INPUT);
    int code = set == 0 ? open_session(w) : QT_EXIT_OK;
    if (code != QT_EXIT_OK)
        return code;
    if (qt_session_set_inputs(&w->s, w->arrays) != QRN_OK || qt_session_execute(&w->s) != QRN_OK)
        return failed(QT_EXIT_REFUSED);
    code = write_set(w, dir);
    return code == QT_EXIT_OK && set == 0 ? write_maps(w) : code;
}

static int run_all(work *w) {
    static const qt_list none;
    const qt_list *files = w->v->files ? w->v->files : &none;
    int code = qt_open_shaped(w->v->model, &w->v->in, &w->model);
    if (code == QT_EXIT_OK)
        code = qt_inputs_open(w->model, &w->v->in, files, 0, &w->in);
    if (code != QT_EXIT_OK)
        return code;
    w->arrays = calloc(w->in.n_ports + 1, sizeof *w->arrays);
    w->shapes = calloc(w->in.n_ports + 1, sizeof *w->shapes);
    if (!w->arrays || !w->shapes)
        return no_memory();
    for (size_t set = 0; set < w->in.n_sets && code == QT_EXIT_OK; set++)
        code = run_set(w, set);
    return code;
}

int qs_write_values(const qs_values *v, const char *dir) {
    work w = {.v = v, .dir = dir};
    int code = run_all(&w);
    for (uint32_t i = 0; w.arrays && i < w.in.n_ports; i++)
        qt_array_free(&w.arrays[i]);
    free(w.arrays);
    free(w.shapes);
    qt_session_close(&w.s);
    qt_inputs_close(&w.in);
    ox_model_close(w.model);
    return code;
}
