// SPDX-License-Identifier: MIT
//
// Models and graphs of DLC files and context binaries behind one face.
#include "tools/quern/subject.h"

#include "tools/quern/context_node.h"
#include "tools/quern/report.h"

#include <string.h>

// Fixed-point tensors accept and return real values, unless the stored ones are plain numbers or
// wanted.
static int type_of(const Qnn_Tensor_t *t, bool native) {
    float scale;
    int32_t offset;
    if (!native && qt_border_encoding(t, &scale, &offset) && !(scale == 1.0f && offset == 0))
        return OX_F32;
    return qt_type_of_qnn(t->v1.dataType);
}

static bool describe(qrn_arena *a, const Qnn_Tensor_t *list, uint32_t n, bool native,
                     ox_info **out) {
    ox_info *infos = qrn_arena_alloc(a, n * sizeof *infos);
    for (uint32_t i = 0; infos && i < n; i++) {
        const Qnn_TensorV1_t *v = &list[i].v1;
        infos[i] = (ox_info){.name = v->name,
                             .type = type_of(&list[i], native),
                             .has_shape = true,
                             .rank = v->rank < OX_MAX_RANK ? v->rank : OX_MAX_RANK};
        for (uint32_t d = 0; d < infos[i].rank; d++)
            infos[i].dims[d] = v->dimensions[d];
    }
    *out = infos;
    return infos;
}

// The names that a .tflite file around the binary has for the same tensors.
static void rename_ports(ox_info *infos, uint32_t n, const char *const *names, uint32_t n_names) {
    for (uint32_t i = 0; i < n && n == n_names; i++)
        infos[i].name = names[i];
}

// The model that a graph poses as; names are those of the description.
static ox_model *pose(const QnnSystemContext_GraphInfoV3_t *g, const qt_binary *b, bool native) {
    qrn_arena *a = qrn_arena_create();
    ox_model *m = a ? qrn_arena_alloc(a, sizeof *m) : NULL;
    ox_graph *graph = m ? qrn_arena_alloc(a, sizeof *graph) : NULL;
    ox_info *inputs, *outputs;
    if (!graph || !describe(a, g->graphInputs, g->numGraphInputs, native, &inputs) ||
        !describe(a, g->graphOutputs, g->numGraphOutputs, native, &outputs)) {
        qrn_arena_destroy(a);
        return NULL;
    }
    rename_ports(inputs, g->numGraphInputs, b->compiled.inputs, b->compiled.n_inputs);
    rename_ports(outputs, g->numGraphOutputs, b->compiled.outputs, b->compiled.n_outputs);
    graph->inputs = inputs;
    graph->outputs = outputs;
    graph->name = g->graphName;
    graph->n_inputs = g->numGraphInputs;
    graph->n_outputs = g->numGraphOutputs;
    m->arena = a;
    m->graph = graph;
    return m;
}

static int pose_as_model(qt_subject *s, bool native) {
    s->native = native;
    s->model = pose(s->graph, &s->binary, native);
    if (s->model)
        return QT_EXIT_OK;
    qt_error("out of memory");
    return QT_EXIT_FAILURE;
}

static int open_binary(const qt_input_options *opt, qt_subject *s) {
    int code = qt_binary_open(s->path, &s->binary);
    if (code == QT_EXIT_OK)
        code = qt_binary_graph(&s->binary, s->path,
                               opt->graph ? opt->graph : s->binary.compiled.graph, &s->graph);
    if (code != QT_EXIT_OK)
        return code;
    s->load_ms = s->binary.describe_ms;
    return pose_as_model(s, opt->native);
}

static int open_dlc(const qt_input_options *opt, qt_subject *s) {
    double t0 = qt_now_ms();
    int code = qt_dlc_open(s->path, &s->dlc);
    if (code == QT_EXIT_OK)
        code = qt_dlc_graph(&s->dlc, opt->graph, &s->dlc_graph);
    s->graph = &s->dlc_graph;
    s->load_ms = qt_now_ms() - t0;
    return code == QT_EXIT_OK ? pose_as_model(s, opt->native) : code;
}

// A model around a context binary: values are those of the model's own types, as they are stored.
static int open_context(const qt_input_options *opt, qt_subject *s) {
    s->wrapper = s->model;
    s->model = NULL;
    int code =
        qt_context_open(s->path, s->wrapper, opt->graph, s->wrapper->arena, &s->binary, &s->graph);
    return code == QT_EXIT_OK ? pose_as_model(s, true) : code;
}

static int open_model(const qt_input_options *opt, qt_subject *s) {
    double t0 = qt_now_ms();
    int code = qt_open_model(s->path, &s->model);
    s->load_ms = qt_now_ms() - t0;
    if (code == QT_EXIT_OK && qt_has_context(s->model))
        return open_context(opt, s);
    if (code == QT_EXIT_OK && (opt->graph || opt->native)) {
        qt_error("%s: --%s is for context binaries", s->path, opt->graph ? "graph" : "native");
        return QT_EXIT_USAGE;
    }
    return code;
}

int qt_subject_open(const char *path, const qt_input_options *opt, qt_subject *out) {
    qt_subject s = {.path = path};
    int code = qt_is_dlc(path)      ? open_dlc(opt, &s)
               : qt_is_binary(path) ? open_binary(opt, &s)
                                    : open_model(opt, &s);
    if (code == QT_EXIT_OK)
        code = qt_set_shapes(opt, s.model);
    if (code == QT_EXIT_OK) {
        *out = s;
        if (s.graph == &s.dlc_graph)
            out->graph = &out->dlc_graph;
    } else {
        qt_subject_close(&s);
    }
    return code;
}

void qt_subject_close(qt_subject *s) {
    ox_model_close(s->model);
    ox_model_close(s->wrapper);
    qt_binary_close(&s->binary);
    qt_dlc_close(&s->dlc);
    *s = (qt_subject){0};
}

int qt_subject_session(const qt_subject *sub, const qt_backend_options *backend,
                       const ox_options *import, qt_session *s) {
    if (!sub->graph)
        return qt_session_open(sub->path, sub->model, backend, import, s);
    if (sub->dlc.handle) {
        const qt_loaded composed = {.graph = sub->graph, .native = sub->native};
        return qt_session_compose(sub->path, &composed, backend, s);
    }
    const QnnSystemContext_BinaryInfoV3_t *v = sub->binary.info;
    qt_backend_options b = *backend;
    int code = qt_backend_of_binary(sub->path, v->backendId, &b);
    if (code != QT_EXIT_OK)
        return code;
    const qt_loaded loaded = {.bytes = sub->binary.bytes,
                              .n_bytes = sub->binary.n_bytes,
                              .soc = v->socModel,
                              .graph = sub->graph,
                              .names = sub->binary.around ? sub->model->graph : NULL,
                              .native = sub->native};
    return qt_session_load(sub->path, &loaded, &b, s);
}
