// SPDX-License-Identifier: MIT
//
// Running a partition. Values go to the backend where onnxruntime has them; only types that the
// backend holds in another width (64-bit integers) and results whose size is known after the run
// pass through a buffer. Runs share nothing but the graph.
#include "frontend/ort/defaults.h"
#include "frontend/ort/memory.h"
#include "frontend/ort/part.h"
#include "frontend/ort/timeline.h"
#include "frontend/ort/watch.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

// --- types that the backend holds in 32 bits

static qrn_status narrow(const qe_border *b, const void *from, void *to) {
    for (size_t i = 0; i < b->count && b->type == OX_F64; i++)
        ((float *)to)[i] = (float)((const double *)from)[i];
    for (size_t i = 0; i < b->count && b->type != OX_F64; i++) {
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

static void widen(const qe_border *b, size_t count, const void *from, void *to) {
    for (size_t i = 0; i < count; i++) {
        if (b->type == OX_F64)
            ((double *)to)[i] = (double)((const float *)from)[i];
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
    Qnn_MemHandle_t mem_room[SMALL];
    const void **in;
    void **out, **own;
    Qnn_MemHandle_t *mem; // of inputs, then outputs, in shared memory; NULL: of none
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
    r->mem = r->p->ep->opt.shared_memory ? r->mem_room : NULL;
    if (n <= SMALL)
        return QRN_OK;
    char *heap = r->heap = qrn_calloc(3 * n * sizeof(void *) + n_out * sizeof *r->rows);
    if (!heap)
        return QRN_FAIL(QRN_E_MEM, "running the graph: no memory");
    r->in = (const void **)heap;
    r->out = (void **)(r->in + n_in);
    r->own = r->out + n_out;
    if (r->mem)
        r->mem = (Qnn_MemHandle_t *)(r->own + n);
    r->rows = (uint32_t *)(r->own + 2 * n);
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

// Is the host's value what the graph reads or writes? Nothing that was declared says so: values
// come from other providers, too. On the way of every run, so the words are elsewhere.
static qrn_status check_value(const run *r, const qe_border *b, const OrtValue *v,
                              const int64_t *want, bool input) {
    int type = 0;
    const int64_t *dims = NULL;
    size_t rank = 0;
    QE_TRY(GetTensorElementTypeAndShapeDataReference, v, &type, &dims, &rank);
    bool same = type == b->type && rank == b->rank;
    for (size_t i = 0; i < rank && same; i++)
        same = dims[i] == want[i];
    const qe_place at = {r->p->model, r->p->name, input};
    if (same)
        return qe_check_place(&at, b, v);
    return qe_fail_value(&at, b, type, dims, rank);
}

static qrn_status bind_inputs(run *r) {
    for (uint32_t i = 0; i < r->p->n_in; i++) {
        const qe_border *b = &r->p->in[i];
        const OrtValue *v = NULL;
        const void *data = NULL;
        if (b->slot < 0)
            continue;
        QE_TRY(KernelContext_GetInput, r->context, i, &v);
        if (!v)
            return QRN_FAIL(QRN_E_UNCONNECTED, "input '%s' has no value", b->name);
        QRN_TRY(check_value(r, b, v, b->dims, true));
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
    const qe_border *b = &r->p->out[i];
    OrtValue *v = NULL;
    QE_TRY(KernelContext_GetOutput, r->context, i, dims, b->rank, &v);
    if (!v)
        return QRN_FAIL(QRN_E_UNCONNECTED, "output '%s' has no value", b->name);
    QRN_TRY(check_value(r, b, v, dims, false));
    QE_TRY(GetTensorMutableData, v, data);
    return QRN_OK;
}

// What the graph writes and nobody reads.
static qrn_status bind_spare(run *r) {
    const qc_graph *g = r->p->graph;
    for (uint32_t i = 0; i < g->n_outputs; i++)
        if (!r->out[i] && !(r->out[i] = own_buffer(r, qc_tensor_bytes(g->outputs[i]))))
            return QRN_E_MEM;
    return QRN_OK;
}

static qrn_status bind_outputs(run *r) {
    for (uint32_t i = 0; i < r->p->n_out; i++) {
        const qe_border *b = &r->p->out[i];
        void *data = NULL;
        if (b->slot < 0) { // constant
            QRN_TRY(host_output(r, i, b->dims, &data));
            if (b->bytes) // the host has no memory for nothing
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
    return bind_spare(r);
}

// Did the graph find as many rows as there is room for, or, where that is all it must, no more?
static qrn_status check_rows(const run *r, const qe_border *b) {
    int64_t rows = r->rows[b->slot], room = b->dims[0];
    if (!b->rank || (b->sized ? rows <= room : rows == room))
        return QRN_OK;
    return QRN_FAIL(QRN_E_SHAPE,
                    "model %s, partition '%s', output '%s': the graph found %lld rows, the model "
                    "declares %lld; leave the first dimension of '%s' open",
                    r->p->model, r->p->name, b->name, (long long)rows, (long long)room, b->name);
}

// Brings what passed through a buffer to the host.
static qrn_status hand_over(run *r) {
    for (uint32_t i = 0; i < r->p->n_out; i++) {
        const qe_border *b = &r->p->out[i];
        if (b->slot < 0)
            continue;
        QRN_TRY(check_rows(r, b));
        if (!b->convert && !b->sized)
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
        else if (bytes)
            memcpy(data, r->out[b->slot], bytes);
    }
    return QRN_OK;
}

// Buffers that lie in shared memory are bound by their handles.
static qrn_status find_memory(run *r) {
    const qc_graph *g = r->p->graph;
    uint32_t n = g->n_inputs + g->n_outputs;
    for (uint32_t i = 0; r->mem && i < n; i++) {
        bool in = i < g->n_inputs;
        const qc_tensor *t = in ? g->inputs[i] : g->outputs[i - g->n_inputs];
        const void *data = in ? r->in[i] : r->out[i - g->n_inputs];
        QRN_TRY(qe_memory_handle(g->client, r->p->context, t, data, &r->mem[i]));
    }
    return QRN_OK;
}

static qrn_status run_graph(run *r, uint64_t start_ns) {
    const qe_part *p = r->p;
    Qnn_SignalHandle_t signal = qe_watch_enter(p->ep);
    qrn_status s = qc_graph_execute_mem(p->graph, r->in, r->out, r->mem, signal, r->rows);
    qe_watch_leave(p->ep, signal);
    QRN_TRY(s);
    qe_timeline_run(p->ep, p->name, start_ns);
    return QRN_OK;
}

static qrn_status execute_profiled(run *r) {
    const qe_part *p = r->p;
    pthread_mutex_lock(&p->ep->profile.lock);
    uint64_t start = qe_now_ns();
    qrn_status s = run_graph(r, start);
    if (s == QRN_OK)
        s = qe_profile_take(p->ep, QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_EXECUTE, p->name,
                            start / 1000);
    pthread_mutex_unlock(&p->ep->profile.lock);
    return s;
}

static qrn_status execute(run *r) {
    if (r->p->defaults)
        QRN_TRY(qe_part_for_values(r->p, r->context, &r->p));
    QRN_TRY(make_room(r));
    QRN_TRY(bind_inputs(r));
    QRN_TRY(bind_outputs(r));
    QRN_TRY(find_memory(r));
    if (!r->p->graph->bound) // constants alone
        return hand_over(r);
    if (r->p->graph->profile)
        QRN_TRY(execute_profiled(r));
    else
        QRN_TRY(run_graph(r, qe_now_ns()));
    return hand_over(r);
}

// What an application can do about an accelerator that restarted.
static void report_restart(void) {
    char words[QRN_MESSAGE_MAX];
    snprintf(words, sizeof words, "%s", qrn_message());
    qrn_fail(QRN_E_COMM, "the NPU restarted, which ends the session; make it anew (%s)", words);
}

static OrtStatus *compute(OrtNodeComputeInfo *info, void *state, OrtKernelContext *context) {
    (void)state;
    run r = {.p = (const qe_part *)info, .context = context};
    qrn_status s = execute(&r);
    if (s == QRN_E_COMM)
        report_restart();
    if (s == QRN_E_ABORTED)
        qrn_fail(s, "the run was ended by the terminate flag of its options, inside of a graph");
    OrtStatus *status = s == QRN_E_ARGUMENT  ? qe_status(s)
                        : s == QRN_E_ABORTED ? qe_status_as(ORT_FAIL, s)
                        : s == QRN_E_COMM    ? qe_status_as(ORT_ENGINE_ERROR, s)
                                             : qe_status_as(ORT_EP_FAIL, s);
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

OrtNodeComputeInfo qe_part_callbacks(void) {
    return (OrtNodeComputeInfo){ORT_API_WANTED, create_state, compute, release_state};
}
