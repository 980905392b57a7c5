// SPDX-License-Identifier: MIT
//
// A compiled partition. Values go to the backend where onnxruntime has them; only types that the
// backend holds in another width (int64, float64) and results whose size is known after the run
// pass through a buffer.
#include "frontend/ort/ep.h"

#include "base/mem.h"

#include <string.h>

// An input or output of the fused node.
typedef struct border {
    char *name; // of the value
    int type;   // ox_type on the host's side
    uint32_t rank;
    int64_t dims[OX_MAX_RANK];
    size_t count, bytes; // elements; bytes on the backend's side
    int32_t slot;        // of the QNN graph's inputs or outputs; -1: none
    bool convert;        // types differ
    bool sized;          // output: its first dimension is known after the run
    void *data;          // output that is constant
} border;

struct qe_part {
    OrtNodeComputeInfo base; // first
    qe_ep *ep;
    qc_graph *graph;
    border *in, *out;
    uint32_t n_in, n_out;
};

// --- types that the backend holds in 32 bits

static bool is_wide(int type) { return type == OX_I64 || type == OX_U64 || type == OX_F64; }

static qrn_status narrow(const border *b, const void *from, void *to) {
    for (size_t i = 0; i < b->count; i++) {
        if (b->type == OX_F64) {
            ((float *)to)[i] = (float)((const double *)from)[i];
            continue;
        }
        int64_t v = ((const int64_t *)from)[i];
        bool fits =
            b->type == OX_I64 ? v >= INT32_MIN && v <= INT32_MAX : (uint64_t)v <= UINT32_MAX;
        if (!fits)
            return QRN_FAIL(QRN_E_ARGUMENT,
                            "input '%s': the value %lld at index %zu does not fit the 32 bits in "
                            "which the backend holds it",
                            b->name, (long long)v, i);
        ((uint32_t *)to)[i] = (uint32_t)v;
    }
    return QRN_OK;
}

static void widen(const border *b, size_t count, const void *from, void *to) {
    for (size_t i = 0; i < count; i++) {
        if (b->type == OX_F64)
            ((double *)to)[i] = ((const float *)from)[i];
        else if (b->type == OX_I64)
            ((int64_t *)to)[i] = ((const int32_t *)from)[i];
        else
            ((uint64_t *)to)[i] = ((const uint32_t *)from)[i];
    }
}

// --- running

#define SMALL 16

// Buffers of one run; those that are not the host's own are freed at its end.
typedef struct run {
    const qe_part *p;
    OrtKernelContext *context;
    const void *in_room[SMALL];
    void *out_room[SMALL], *own_room[SMALL];
    uint32_t rows_room[SMALL];
    const void **in;
    void **out, **own;
    uint32_t *rows, n_own;
    void *heap;
} run;

static qrn_status make_room(run *r) {
    const qc_graph *g = r->p->graph;
    size_t n_in = g->n_inputs, n_out = g->n_outputs, n = n_in + n_out;
    r->in = r->in_room;
    r->out = r->out_room;
    r->own = r->own_room;
    r->rows = r->rows_room;
    if (n <= SMALL)
        return QRN_OK;
    char *heap = r->heap =
        qrn_calloc((n_in + n_out + n) * sizeof(void *) + n_out * sizeof *r->rows);
    if (!heap)
        return QRN_FAIL(QRN_E_MEM, "running the graph: no memory");
    r->in = (const void **)heap;
    r->out = (void **)(r->in + n_in);
    r->own = r->out + n_out;
    r->rows = (uint32_t *)(r->own + n);
    return QRN_OK;
}

static void *own_buffer(run *r, size_t bytes) {
    void *p = qrn_alloc(bytes);
    if (p)
        r->own[r->n_own++] = p;
    else
        qrn_fail(QRN_E_MEM, "running the graph: no memory for %zu bytes", bytes);
    return p;
}

static qrn_status bind_inputs(run *r) {
    for (uint32_t i = 0; i < r->p->n_in; i++) {
        const border *b = &r->p->in[i];
        const OrtValue *v = NULL;
        const void *data = NULL;
        if (b->slot < 0)
            continue;
        QE_TRY(KernelContext_GetInput, r->context, i, &v);
        if (!v)
            return QRN_FAIL(QRN_E_UNCONNECTED, "input '%s' has no value", b->name);
        QE_TRY(GetTensorData, v, &data);
        if (b->convert) {
            void *narrowed = own_buffer(r, b->bytes);
            if (!narrowed)
                return QRN_E_MEM;
            QRN_TRY(narrow(b, data, narrowed));
            data = narrowed;
        }
        r->in[b->slot] = data;
    }
    return QRN_OK;
}

static qrn_status host_output(run *r, uint32_t i, const int64_t *dims, void **data) {
    const border *b = &r->p->out[i];
    OrtValue *v = NULL;
    QE_TRY(KernelContext_GetOutput, r->context, i, dims, b->rank, &v);
    QE_TRY(GetTensorMutableData, v, data);
    return QRN_OK;
}

static qrn_status bind_outputs(run *r) {
    for (uint32_t i = 0; i < r->p->n_out; i++) {
        const border *b = &r->p->out[i];
        void *data = NULL;
        if (b->slot < 0) { // constant
            QRN_TRY(host_output(r, i, b->dims, &data));
            memcpy(data, b->data, b->bytes);
            continue;
        }
        if (b->convert || b->sized)
            data = own_buffer(r, b->bytes);
        else
            QRN_TRY(host_output(r, i, b->dims, &data));
        if (!data)
            return QRN_E_MEM;
        r->out[b->slot] = data;
    }
    return QRN_OK;
}

// Brings what passed through a buffer to the host.
static qrn_status hand_over(run *r) {
    for (uint32_t i = 0; i < r->p->n_out; i++) {
        const border *b = &r->p->out[i];
        if (b->slot < 0 || !(b->convert || b->sized))
            continue;
        int64_t dims[OX_MAX_RANK];
        size_t count = b->count, bytes = b->bytes;
        memcpy(dims, b->dims, sizeof dims);
        if (b->sized && dims[0]) {
            count = count / (size_t)dims[0] * r->rows[b->slot];
            bytes = bytes / (size_t)dims[0] * r->rows[b->slot];
            dims[0] = r->rows[b->slot];
        }
        void *data = NULL;
        QRN_TRY(host_output(r, i, dims, &data));
        if (b->convert)
            widen(b, count, r->out[b->slot], data);
        else
            memcpy(data, r->out[b->slot], bytes);
    }
    return QRN_OK;
}

static qrn_status execute(run *r) {
    QRN_TRY(make_room(r));
    QRN_TRY(bind_inputs(r));
    QRN_TRY(bind_outputs(r));
    if (r->p->graph->n_nodes)
        QRN_TRY(qc_graph_execute_rows(r->p->graph, r->in, r->out, r->rows));
    return hand_over(r);
}

static OrtStatus *compute(OrtNodeComputeInfo *info, void *state, OrtKernelContext *context) {
    (void)state;
    run r = {.p = (const qe_part *)info, .context = context};
    qrn_status s = execute(&r);
    OrtStatus *status = s == QRN_E_ARGUMENT ? qe_status(s) : qe_status_as(ORT_EP_FAIL, s);
    for (uint32_t i = 0; i < r.n_own; i++)
        qrn_free(r.own[i]);
    qrn_free(r.heap);
    return status;
}

static OrtStatus *create_state(OrtNodeComputeInfo *info, OrtNodeComputeContext *c, void **state) {
    (void)c;
    *state = info; // runs share nothing but the graph
    return NULL;
}

static void release_state(OrtNodeComputeInfo *info, void *state) { (void)info, (void)state; }

// --- compiling

static int32_t slot_of(qc_tensor *const *list, uint32_t n, const qc_tensor *t) {
    for (uint32_t i = 0; t && i < n; i++)
        if (list[i] == t)
            return (int32_t)i;
    return -1;
}

static const ox_info *info_of(const ox_info *list, uint32_t n, const char *name) {
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    return NULL;
}

static bool has_static_shape(const ox_info *info) {
    if (!info || !info->has_shape)
        return false;
    for (uint32_t i = 0; i < info->rank; i++)
        if (info->dims[i] < 0)
            return false;
    return true;
}

static qrn_status set_border(border *b, const char *name, const ox_port *port) {
    *b = (border){.name = qrn_strdup(name), .slot = -1};
    if (!b->name)
        return QRN_FAIL(QRN_E_MEM, "value '%s': no memory", name);
    if (!port)
        return QRN_OK;
    b->type = port->type;
    b->rank = port->rank;
    b->count = 1;
    for (uint32_t d = 0; d < port->rank; d++)
        b->count *= (size_t)(b->dims[d] = port->dims[d]);
    b->bytes = port->tensor ? qc_tensor_bytes(port->tensor) : port->bytes;
    b->convert =
        port->tensor && is_wide(port->type) && qc_dtype_bits(port->tensor->t.v1.dataType) == 32;
    if (port->tensor || !port->data)
        return QRN_OK;
    b->data = qrn_alloc(port->bytes + 1);
    if (!b->data)
        return QRN_FAIL(QRN_E_MEM, "value '%s': no memory", name);
    memcpy(b->data, port->data, port->bytes);
    return QRN_OK;
}

static const ox_port *port_of(const ox_port *list, uint32_t n, const char *name) {
    for (uint32_t i = 0; i < n; i++)
        if (list[i].name && strcmp(list[i].name, name) == 0)
            return &list[i];
    return NULL;
}

static qrn_status map_inputs(qe_part *p, const OrtNode *fused, const ox_result *r) {
    size_t n = 0;
    QE_TRY(Node_GetNumInputs, fused, &n);
    const OrtValueInfo **list = qrn_alloc((n + 1) * sizeof *list);
    p->in = qrn_calloc((n + 1) * sizeof *p->in);
    qrn_status s = list && p->in ? qe_heard(ORT(Node_GetInputs)(fused, list, n), "Node_GetInputs")
                                 : QRN_FAIL(QRN_E_MEM, "inputs: no memory");
    for (size_t i = 0; i < n && s == QRN_OK; i++) {
        const char *name = "";
        s = qe_heard(ORT(GetValueInfoName)(list[i], &name), "GetValueInfoName");
        const ox_port *port = port_of(r->inputs, r->n_inputs, name);
        if (s == QRN_OK)
            s = set_border(&p->in[p->n_in++], name, port);
        if (s == QRN_OK && port)
            p->in[i].slot = slot_of(r->graph->inputs, r->graph->n_inputs, port->tensor);
    }
    qrn_free(list);
    return s;
}

static qrn_status map_outputs(qe_part *p, const OrtNode *fused, const ox_graph *g,
                              const ox_result *r) {
    size_t n = 0;
    QE_TRY(Node_GetNumOutputs, fused, &n);
    const OrtValueInfo **list = qrn_alloc((n + 1) * sizeof *list);
    p->out = qrn_calloc((n + 1) * sizeof *p->out);
    qrn_status s = list && p->out
                       ? qe_heard(ORT(Node_GetOutputs)(fused, list, n), "Node_GetOutputs")
                       : QRN_FAIL(QRN_E_MEM, "outputs: no memory");
    for (size_t i = 0; i < n && s == QRN_OK; i++) {
        const char *name = "";
        s = qe_heard(ORT(GetValueInfoName)(list[i], &name), "GetValueInfoName");
        const ox_port *port = port_of(r->outputs, r->n_outputs, name);
        if (s == QRN_OK && !port)
            s = QRN_FAIL(QRN_E_UNCONNECTED, "output '%s' is not computed", name);
        if (s == QRN_OK)
            s = set_border(&p->out[p->n_out++], name, port);
        if (s != QRN_OK)
            break;
        border *b = &p->out[i];
        b->slot = slot_of(r->graph->outputs, r->graph->n_outputs, port->tensor);
        b->sized =
            b->slot >= 0 && b->rank && !has_static_shape(info_of(g->outputs, g->n_outputs, name));
    }
    qrn_free(list);
    return s;
}

static qrn_status build(qe_part *p, const qe_graph *g, const OrtNode *fused) {
    const char *name = "";
    QE_TRY(Node_GetName, fused, &name);
    qe_graph_room room;
    const ox_options options = {.graph_name = name,
                                .graph_configs = qe_graph_configs(p->ep, &room)};
    ox_result r = {0};
    QRN_TRY(ox_import_model(g->model, p->ep->client, &options, &r));
    p->graph = r.graph;
    if (r.graph->n_nodes)
        QRN_TRY(qc_graph_finalize(r.graph));
    QRN_TRY(map_inputs(p, fused, &r));
    return map_outputs(p, fused, g->model->graph, &r);
}

qrn_status qe_part_compile(qe_ep *ep, const OrtGraph *graph, const OrtNode *fused, qe_part **out) {
    qe_graph g = {0};
    qe_part *p = qrn_calloc(sizeof *p);
    if (!p)
        return QRN_FAIL(QRN_E_MEM, "partition: no memory");
    p->base = (OrtNodeComputeInfo){ORT_API_WANTED, create_state, compute, release_state};
    p->ep = ep;
    qrn_status s = qe_read(graph, &g);
    if (s == QRN_OK)
        s = build(p, &g, fused);
    qe_read_free(&g);
    if (s != QRN_OK) {
        qe_part_free(&p->base);
        return s;
    }
    *out = p;
    return QRN_OK;
}

OrtNodeComputeInfo *qe_part_info(qe_part *p) { return &p->base; }

static void free_borders(border *list, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        qrn_free(list[i].name);
        qrn_free(list[i].data);
    }
    qrn_free(list);
}

void qe_part_free(OrtNodeComputeInfo *info) {
    qe_part *p = (qe_part *)info;
    if (!p)
        return;
    free_borders(p->in, p->n_in);
    free_borders(p->out, p->n_out);
    qc_graph_destroy(p->graph);
    qrn_free(p);
}
