// SPDX-License-Identifier: MIT
//
// The reader of the host's graphs. Every list comes in two calls, its length and its elements.
#include "frontend/ort/read.h"

#include "base/mem.h"

#include <string.h>

#define MAX_DEPTH 16 // of graphs inside nodes

typedef struct reader {
    qrn_arena *arena;
    ox_model *model;
    ox_tensor *defaults; // of the main graph
    uint32_t n_defaults;
    uint32_t depth;
} reader;

static qrn_status no_memory(void) { return QRN_FAIL(QRN_E_MEM, "reading the graph: no memory"); }

static qrn_status alloc(reader *r, size_t n, size_t size, void *out) {
    void *p = qrn_arena_alloc(r->arena, (n ? n : 1) * size);
    memcpy(out, &p, sizeof p);
    return p ? QRN_OK : no_memory();
}

static qrn_status text(reader *r, const char *s, const char **out) {
    *out = qrn_arena_strdup(r->arena, s ? s : "");
    return *out ? QRN_OK : no_memory();
}

// --- values

static qrn_status read_shape(reader *r, const OrtTensorTypeAndShapeInfo *shape, ox_info *info) {
    size_t rank = 0;
    int64_t dims[OX_MAX_RANK];
    const char *symbols[OX_MAX_RANK];
    if (!ORT(TensorTypeAndShape_HasShape)(shape))
        return QRN_OK;
    QE_TRY(GetDimensionsCount, shape, &rank);
    if (rank > OX_MAX_RANK)
        return QRN_OK; // as good as unknown: QNN has no such tensors
    QE_TRY(GetDimensions, shape, dims, rank);
    QE_TRY(GetSymbolicDimensions, shape, symbols, rank);
    info->has_shape = true;
    info->rank = (uint32_t)rank;
    for (size_t i = 0; i < rank; i++) {
        info->dims[i] = dims[i] < 0 ? -1 : dims[i];
        if (symbols[i] && symbols[i][0])
            QRN_TRY(text(r, symbols[i], &info->symbols[i]));
    }
    return QRN_OK;
}

static qrn_status read_info(reader *r, const OrtValueInfo *v, ox_info *info) {
    const char *name;
    const OrtTypeInfo *type;
    const OrtTensorTypeAndShapeInfo *shape = NULL;
    QE_TRY(GetValueInfoName, v, &name);
    QRN_TRY(text(r, name, &info->name));
    QE_TRY(GetValueInfoTypeInfo, v, &type);
    if (!type)
        return QRN_OK;
    QE_TRY(CastTypeInfoToTensorInfo, type, &shape);
    if (!shape)
        return QRN_OK; // a sequence or the like
    QE_TRY(GetTensorElementType, shape, &info->type);
    return read_shape(r, shape, info);
}

static qrn_status read_infos(reader *r, const OrtValueInfo **list, size_t n, const ox_info **out,
                             uint32_t *count) {
    ox_info *infos;
    QRN_TRY(alloc(r, n, sizeof *infos, &infos));
    for (size_t i = 0; i < n; i++)
        QRN_TRY(read_info(r, list[i], &infos[i]));
    *out = infos;
    *count = (uint32_t)n;
    return QRN_OK;
}

qrn_status qe_read_tensor(const OrtValue *v, ox_tensor *t) {
    OrtTensorTypeAndShapeInfo *shape = NULL;
    size_t rank = 0;
    int64_t dims[OX_MAX_RANK];
    QE_TRY(GetTensorTypeAndShape, v, &shape);
    qrn_status s = qe_heard(ORT(GetTensorElementType)(shape, &t->type), "GetTensorElementType");
    if (s == QRN_OK)
        s = qe_heard(ORT(GetDimensionsCount)(shape, &rank), "GetDimensionsCount");
    if (s == QRN_OK && rank > OX_MAX_RANK)
        s = QRN_FAIL(QRN_E_UNSUPPORTED, "constant '%s': rank %zu, at most %d", t->name, rank,
                     OX_MAX_RANK);
    if (s == QRN_OK)
        s = qe_heard(ORT(GetDimensions)(shape, dims, rank), "GetDimensions");
    ORT(ReleaseTensorTypeAndShapeInfo)(shape);
    QRN_TRY(s);
    t->rank = (uint32_t)rank;
    uint64_t count = 1;
    for (size_t i = 0; i < rank; i++)
        count *= t->dims[i] = (uint64_t)dims[i];
    t->bytes = (size_t)((count * ox_type_bits(t->type) + 7) / 8);
    if (t->type == OX_STRING)
        return QRN_OK; // nothing reads its elements
    QE_TRY(GetTensorData, v, &t->data);
    return QRN_OK;
}

// A default is left out where it cannot be described: the input then has none.
static qrn_status read_default(reader *r, const OrtValue *value, const char *name, ox_tensor *list,
                               uint32_t *n) {
    if (!value)
        return QRN_OK;
    ox_tensor *t = &list[*n];
    QRN_TRY(text(r, name, &t->name));
    if (qe_read_tensor(value, t) == QRN_OK && t->data)
        (*n)++;
    else
        qrn_message_clear();
    return QRN_OK;
}

// Initializers that are inputs as well are no constants: each run may replace them.
static qrn_status read_constants(reader *r, const OrtGraph *g, ox_graph *out) {
    size_t n = 0;
    const OrtValueInfo **list;
    ox_tensor *constants, *defaults;
    uint32_t n_defaults = 0;
    QE_TRY(Graph_GetNumInitializers, g, &n);
    QRN_TRY(alloc(r, n, sizeof *list, &list));
    QRN_TRY(alloc(r, n, sizeof *constants, &constants));
    QRN_TRY(alloc(r, n, sizeof *defaults, &defaults));
    QE_TRY(Graph_GetInitializers, g, list, n);
    for (size_t i = 0; i < n; i++) {
        bool constant = false;
        const OrtValue *value = NULL;
        const char *name;
        QE_TRY(ValueInfo_IsConstantInitializer, list[i], &constant);
        QE_TRY(ValueInfo_GetInitializerValue, list[i], &value);
        QE_TRY(GetValueInfoName, list[i], &name);
        if (!constant) {
            QRN_TRY(read_default(r, value, name, defaults, &n_defaults));
            continue;
        }
        ox_tensor *t = &constants[out->n_constants++];
        QRN_TRY(text(r, name, &t->name));
        QRN_TRY(qe_read_tensor(value, t));
    }
    out->constants = constants;
    if (r->depth == 0) {
        r->defaults = defaults;
        r->n_defaults = n_defaults;
    }
    return QRN_OK;
}

// --- attributes

// The elements of an attribute; *n counts them.
static qrn_status read_elements(reader *r, const OrtOpAttr *a, OrtOpAttrType type, size_t size,
                                const void *out, uint32_t *n) {
    size_t bytes = 0;
    void *data;
    // Asked with no room the host fails, and says how much it needs.
    OrtStatus *s = ORT(ReadOpAttr)(a, type, NULL, 0, &bytes);
    if (s)
        ORT(ReleaseStatus)(s);
    QRN_TRY(alloc(r, bytes + 1, 1, &data));
    if (bytes)
        QE_TRY(ReadOpAttr, a, type, data, bytes, &bytes);
    memcpy((void *)(uintptr_t)out, &data, sizeof data);
    *n = (uint32_t)(bytes / size);
    return QRN_OK;
}

// Strings come one after the other, each with its NUL.
static qrn_status read_strings(reader *r, const OrtOpAttr *a, ox_attr *out) {
    const char *all = NULL;
    const char **list;
    uint32_t bytes = 0, n = 0;
    QRN_TRY(read_elements(r, a, ORT_ATTR_STRINGS, 1, &all, &bytes));
    for (uint32_t i = 0; i < bytes; i++)
        n += all[i] == '\0';
    QRN_TRY(alloc(r, n, sizeof *list, &list));
    for (uint32_t i = 0, at = 0; i < n; i++, at += (uint32_t)strlen(all + at) + 1)
        list[i] = all + at;
    out->strings = list;
    out->n = n;
    return QRN_OK;
}

// The host makes a value for the attribute: copied, so that it need not be kept.
static qrn_status read_tensor_attr(reader *r, const OrtOpAttr *a, ox_attr *out) {
    OrtValue *value = NULL;
    ox_tensor *t;
    QRN_TRY(alloc(r, 1, sizeof *t, &t));
    t->name = out->name;
    QE_TRY(OpAttr_GetTensorAttributeAsOrtValue, a, &value);
    qrn_status s = qe_read_tensor(value, t);
    if (s == QRN_OK && t->data)
        t->data = qrn_arena_copy(r->arena, t->data, t->bytes);
    if (s == QRN_OK && !t->data && t->type != OX_STRING)
        s = no_memory();
    ORT(ReleaseValue)(value);
    out->t = t;
    return s;
}

static qrn_status read_attr(reader *r, const OrtOpAttr *a, ox_attr *out) {
    const char *name;
    OrtOpAttrType type;
    size_t bytes;
    uint32_t n;
    QE_TRY(OpAttr_GetName, a, &name);
    QRN_TRY(text(r, name, &out->name));
    QE_TRY(OpAttr_GetType, a, &type);
    switch (type) {
    case ORT_ATTR_INT:
        out->type = OX_ATTR_INT;
        QE_TRY(ReadOpAttr, a, type, &out->i, sizeof out->i, &bytes);
        return QRN_OK;
    case ORT_ATTR_FLOAT:
        out->type = OX_ATTR_FLOAT;
        QE_TRY(ReadOpAttr, a, type, &out->f, sizeof out->f, &bytes);
        return QRN_OK;
    case ORT_ATTR_INTS:
        out->type = OX_ATTR_INTS;
        return read_elements(r, a, type, sizeof *out->ints, &out->ints, &out->n);
    case ORT_ATTR_FLOATS:
        out->type = OX_ATTR_FLOATS;
        return read_elements(r, a, type, sizeof *out->floats, &out->floats, &out->n);
    case ORT_ATTR_STRING:
        out->type = OX_ATTR_STRING;
        QRN_TRY(read_elements(r, a, type, 1, &out->s, &n));
        out->s_len = n;
        return QRN_OK;
    case ORT_ATTR_STRINGS:
        out->type = OX_ATTR_STRINGS;
        return read_strings(r, a, out);
    case ORT_ATTR_TENSOR:
        out->type = OX_ATTR_TENSOR;
        return read_tensor_attr(r, a, out);
    default:
        return QRN_OK; // graphs follow; of all others only the name is kept
    }
}

static qrn_status read_graph(reader *r, const OrtGraph *g, const OrtNode ***nodes, ox_graph **out);

// Graphs inside a node, behind its other attributes.
static qrn_status read_bodies(reader *r, const OrtNode *node, size_t n, ox_attr *attrs) {
    const OrtGraph **bodies;
    const char **names;
    QRN_TRY(alloc(r, n, sizeof *bodies, &bodies));
    QRN_TRY(alloc(r, n, sizeof *names, &names));
    QE_TRY(Node_GetSubgraphs, node, bodies, n, names);
    for (size_t i = 0; i < n; i++) {
        attrs[i].type = OX_ATTR_GRAPH;
        QRN_TRY(text(r, names[i], &attrs[i].name));
        QRN_TRY(read_graph(r, bodies[i], NULL, &attrs[i].g));
    }
    return QRN_OK;
}

static qrn_status read_attrs(reader *r, const OrtNode *node, ox_node *out) {
    size_t n = 0, n_bodies = 0;
    const OrtOpAttr **list;
    ox_attr *attrs;
    QE_TRY(Node_GetNumAttributes, node, &n);
    QE_TRY(Node_GetNumSubgraphs, node, &n_bodies);
    QRN_TRY(alloc(r, n, sizeof *list, &list));
    QRN_TRY(alloc(r, n + n_bodies, sizeof *attrs, &attrs));
    QE_TRY(Node_GetAttributes, node, list, n);
    uint32_t made = 0;
    for (size_t i = 0; i < n; i++) {
        attrs[made] = (ox_attr){0};
        QRN_TRY(read_attr(r, list[i], &attrs[made]));
        made += attrs[made].type != OX_ATTR_NONE;
    }
    if (n_bodies)
        QRN_TRY(read_bodies(r, node, n_bodies, attrs + made));
    out->attrs = attrs;
    out->n_attrs = made + (uint32_t)n_bodies;
    return QRN_OK;
}

// --- nodes

// Names of values; an absent one has no info or an empty name.
static qrn_status read_names(reader *r, const OrtValueInfo **list, size_t n, const char ***out) {
    QRN_TRY(alloc(r, n, sizeof **out, out));
    for (size_t i = 0; i < n; i++) {
        const char *name = "";
        if (list[i])
            QE_TRY(GetValueInfoName, list[i], &name);
        QRN_TRY(text(r, name, &(*out)[i]));
    }
    return QRN_OK;
}

static qrn_status read_node(reader *r, const OrtNode *node, ox_node *out) {
    const char *name, *op, *domain;
    size_t n_in = 0, n_out = 0;
    const OrtValueInfo **list;
    QE_TRY(Node_GetName, node, &name);
    QE_TRY(Node_GetOperatorType, node, &op);
    QE_TRY(Node_GetDomain, node, &domain);
    QRN_TRY(text(r, op, &out->op));
    QRN_TRY(text(r, domain && strcmp(domain, "ai.onnx") == 0 ? "" : domain, &out->domain));
    QE_TRY(Node_GetNumInputs, node, &n_in);
    QE_TRY(Node_GetNumOutputs, node, &n_out);
    QRN_TRY(alloc(r, n_in + n_out, sizeof *list, &list));
    QE_TRY(Node_GetInputs, node, list, n_in);
    QRN_TRY(read_names(r, list, n_in, &out->in));
    QE_TRY(Node_GetOutputs, node, list, n_out);
    QRN_TRY(read_names(r, list, n_out, &out->out));
    out->n_in = (uint32_t)n_in;
    out->n_out = (uint32_t)n_out;
    // Nodes without a name go by their first result.
    QRN_TRY(text(r, name && name[0] ? name : n_out ? out->out[0] : op, &out->name));
    return read_attrs(r, node, out);
}

// The shapes that the host found for what the nodes make.
static qrn_status read_results(reader *r, const OrtNode **nodes, size_t n, ox_graph *out) {
    size_t total = 0, most = 0, count = 0;
    const OrtValueInfo **list;
    ox_info *infos;
    for (size_t i = 0; i < n; i++) {
        QE_TRY(Node_GetNumOutputs, nodes[i], &count);
        total += count;
        most = count > most ? count : most;
    }
    QRN_TRY(alloc(r, most, sizeof *list, &list));
    QRN_TRY(alloc(r, total, sizeof *infos, &infos));
    for (size_t i = 0; i < n; i++) {
        QE_TRY(Node_GetNumOutputs, nodes[i], &count);
        QE_TRY(Node_GetOutputs, nodes[i], list, count);
        for (size_t j = 0; j < count; j++)
            if (list[j])
                QRN_TRY(read_info(r, list[j], &infos[out->n_infos++]));
    }
    out->infos = infos;
    return QRN_OK;
}

static qrn_status read_nodes(reader *r, const OrtGraph *g, const OrtNode ***out_nodes,
                             ox_graph *out) {
    size_t n = 0;
    const OrtNode **list;
    ox_node *nodes;
    QE_TRY(Graph_GetNumNodes, g, &n);
    QRN_TRY(alloc(r, n, sizeof *list, &list));
    QRN_TRY(alloc(r, n, sizeof *nodes, &nodes));
    QE_TRY(Graph_GetNodes, g, list, n);
    for (size_t i = 0; i < n; i++)
        QRN_TRY(read_node(r, list[i], &nodes[i]));
    out->nodes = nodes;
    out->n_nodes = (uint32_t)n;
    QRN_TRY(read_results(r, list, n, out));
    if (out_nodes)
        *out_nodes = list;
    return QRN_OK;
}

static qrn_status read_borders(reader *r, const OrtGraph *g, ox_graph *out) {
    size_t n_in = 0, n_out = 0;
    const OrtValueInfo **list;
    QE_TRY(Graph_GetNumInputs, g, &n_in);
    QE_TRY(Graph_GetNumOutputs, g, &n_out);
    QRN_TRY(alloc(r, n_in + n_out, sizeof *list, &list));
    QE_TRY(Graph_GetInputs, g, list, n_in);
    QRN_TRY(read_infos(r, list, n_in, &out->inputs, &out->n_inputs));
    QE_TRY(Graph_GetOutputs, g, list, n_out);
    return read_infos(r, list, n_out, &out->outputs, &out->n_outputs);
}

static qrn_status read_graph(reader *r, const OrtGraph *g, const OrtNode ***nodes, ox_graph **out) {
    ox_graph *made;
    const char *name;
    if (r->depth >= MAX_DEPTH)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "graphs are nested more than %d deep", MAX_DEPTH);
    QRN_TRY(alloc(r, 1, sizeof *made, &made));
    QE_TRY(Graph_GetName, g, &name);
    QRN_TRY(text(r, name, &made->name));
    QRN_TRY(read_borders(r, g, made));
    QRN_TRY(read_constants(r, g, made));
    r->depth++;
    qrn_status s = read_nodes(r, g, nodes, made);
    r->depth--;
    *out = made;
    return s;
}

static qrn_status read_model(reader *r, const OrtGraph *g, qe_graph *out) {
    size_t n = 0;
    ox_opset *opsets;
    const char **domains;
    int64_t *versions;
    const char *path = NULL;
    ox_model *m = r->model;
    QE_TRY(Graph_GetParentNode, g, &out->parent);
    QE_TRY(Graph_GetOnnxIRVersion, g, &m->ir_version);
    QE_TRY(Graph_GetModelPath, g, &path);
    QRN_TRY(text(r, path, &m->path));
    QE_TRY(Graph_GetNumOperatorSets, g, &n);
    QRN_TRY(alloc(r, n, sizeof *opsets, &opsets));
    QRN_TRY(alloc(r, n, sizeof *domains, &domains));
    QRN_TRY(alloc(r, n, sizeof *versions, &versions));
    QE_TRY(Graph_GetOperatorSets, g, domains, versions, n);
    for (size_t i = 0; i < n; i++) {
        QRN_TRY(text(r, strcmp(domains[i], "ai.onnx") == 0 ? "" : domains[i], &opsets[i].domain));
        opsets[i].version = versions[i];
    }
    m->opsets = opsets;
    m->n_opsets = (uint32_t)n;
    m->producer = "onnxruntime";
    return read_graph(r, g, &out->nodes, &m->graph);
}

qrn_status qe_read(const OrtGraph *g, qe_graph *out) {
    *out = (qe_graph){0};
    reader r = {.arena = qrn_arena_create()};
    if (!r.arena)
        return no_memory();
    qrn_status s = alloc(&r, 1, sizeof *r.model, &r.model);
    if (s == QRN_OK) {
        r.model->arena = r.arena;
        s = read_model(&r, g, out);
    }
    if (s != QRN_OK) {
        qrn_arena_destroy(r.arena);
        return s;
    }
    out->model = r.model;
    out->defaults = r.defaults;
    out->n_defaults = r.n_defaults;
    return QRN_OK;
}

qrn_status qe_read_node(const OrtNode *node, qrn_arena *arena, ox_node *out) {
    reader r = {.arena = arena};
    *out = (ox_node){0};
    return read_node(&r, node, out);
}

void qe_read_free(qe_graph *g) {
    if (g->model)
        qrn_arena_destroy(g->model->arena);
    *g = (qe_graph){0};
}
