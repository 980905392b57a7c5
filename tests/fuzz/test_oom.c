// SPDX-License-Identifier: MIT
//
// Memory runs short, once at every allocation: a graph of each op is built, finalized and executed,
// and every call is made with its 1st, 2nd, ... allocation failing until it succeeds. A call that
// fails must say so with a documented code and leave everything usable: the same call succeeds
// afterwards, the results are those of an undisturbed run, and nothing is kept in the end.
#include "documented.h"
#include "op_client.h"
#include "watch.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>

enum { MOST_ALLOCATIONS = 3000, TRIES = 40 };

static qnn_table qnn;
static Qnn_BackendHandle_t backend;
static unsigned n_failures, n_injected;

// One graph: what is drawn, and the buffers of its execution.
typedef struct subject {
    const qrn_op_def *def;
    drawn_op op;
    client_op client;
    scrap mem;
    Qnn_Tensor_t in[DRAW_OPERANDS], out[DRAW_OPERANDS];
    uint32_t n_in, n_out;
    bool forever; // memory stays short until the call ends
} subject;

static void complain(const subject *k, const char *what, const char *function, uint64_t n) {
    char text[2048];
    n_failures++;
    printf("FAILED %s: %s: %s (%" PRIu64 ")\n    %s\n", k->def->name, function, what, n,
           op_draw_text(&k->op, text, sizeof text));
}

// Judges one attempt; true when the call need not be made again.
static bool attempt(subject *k, const char *function, Qnn_ErrorHandle_t rc, unsigned n) {
    qrn_alloc_fail_at(0, false);
    if (rc == QNN_SUCCESS)
        return true;
    n_injected++;
    if (rc != QNN_COMMON_ERROR_MEM_ALLOC && !documented(function, rc))
        complain(k, "code that is not documented", function, (uint64_t)rc);
    if (n < MOST_ALLOCATIONS)
        return false;
    complain(k, "still fails", function, (uint64_t)rc);
    return true;
}

// Makes a call until it succeeds, with one allocation after the other failing.
#define SWEEP(k, function, call)                                                                   \
    for (unsigned n_ = 1;; n_++) {                                                                 \
        qrn_alloc_fail_at(n_, (k)->forever);                                                       \
        if (attempt(k, function, call, n_))                                                        \
            break;                                                                                 \
    }

static void make_buffers(subject *k, source *s) {
    k->n_in = k->n_out = 0;
    for (uint32_t i = 0; i < k->op.n_in + k->op.n_out; i++) {
        bool is_in = i < k->op.n_in;
        const qrn_tensor *x = is_in ? &k->op.in[i] : &k->op.out[i - k->op.n_in];
        if (x->role != QRN_ROLE_INPUT && x->role != QRN_ROLE_OUTPUT)
            continue;
        Qnn_Tensor_t *t = is_in ? &k->in[k->n_in++] : &k->out[k->n_out++];
        *t = is_in ? k->client.in[i] : k->client.out[i - k->op.n_in];
        t->v1.clientBuf =
            (Qnn_ClientBuffer_t){scrap_new(&k->mem, x->size_bytes, 0), (uint32_t)x->size_bytes};
        if (is_in)
            input_draw(s, &k->op, i, t->v1.clientBuf.data, x->size_bytes);
        if (x->shape.rank) // written to by an execution
            t->v1.dimensions = memcpy(scrap_new(&k->mem, sizeof x->shape.dims, 0), x->shape.dims,
                                      sizeof x->shape.dims);
    }
}

// Ids differ from graph to graph.
static void take_ids(subject *k) {
    uint32_t in = 0, out = 0;
    for (uint32_t i = 0; i < k->op.n_in; i++)
        if (k->op.in[i].role == QRN_ROLE_INPUT)
            k->in[in++].v1.id = k->client.in[i].v1.id;
    for (uint32_t i = 0; i < k->op.n_out; i++)
        if (k->op.out[i].role == QRN_ROLE_OUTPUT)
            k->out[out++].v1.id = k->client.out[i].v1.id;
}

static Qnn_ErrorHandle_t run_undisturbed(subject *k) {
    Qnn_ContextHandle_t c = NULL;
    Qnn_GraphHandle_t g = NULL;
    Qnn_ErrorHandle_t rc = qnn.contextCreate(backend, NULL, NULL, &c);
    if (rc == QNN_SUCCESS)
        rc = qnn.graphCreate(c, "g", NULL, &g);
    if (rc == QNN_SUCCESS)
        rc = client_op_create(&qnn, g, &k->client);
    if (rc == QNN_SUCCESS)
        rc = qnn.graphAddNode(g, k->client.config);
    if (rc == QNN_SUCCESS)
        rc = qnn.graphFinalize(g, NULL, NULL);
    if (rc == QNN_SUCCESS) {
        take_ids(k);
        rc = qnn.graphExecute(g, k->in, k->n_in, k->out, k->n_out, NULL, NULL);
    }
    qnn.contextFree(c, NULL);
    return rc;
}

// A configuration that runs; false when none was found.
static bool find_subject(const qrn_op_def *def, uint64_t seed, subject *k) {
    const client_style style = {.static_percent = 30, .dynamic_percent = 10};
    for (unsigned i = 0; i < TRIES; i++) {
        source s = source_from_seed(seed + i);
        *k = (subject){.def = def, .forever = seed % 2};
        if (op_draw(&s, def, 300, &k->op)) {
            client_op_make(&s, &k->mem, &k->op, "t", &style, &k->client);
            make_buffers(k, &s);
            if (run_undisturbed(k) == QNN_SUCCESS)
                return true;
        }
        scrap_free(&k->mem);
    }
    return false;
}

static void create_tensors(subject *k, Qnn_GraphHandle_t g) {
    Qnn_OpConfigV1_t *v = &k->client.config.v1;
    for (uint32_t i = 0; i < v->numOfInputs; i++)
        if (k->op.in[i].role != QRN_ROLE_NULL)
            SWEEP(k, "QnnTensor_createGraphTensor",
                  qnn.tensorCreateGraphTensor(g, &k->client.in[i]));
    for (uint32_t i = 0; i < v->numOfOutputs; i++)
        if (k->op.out[i].role != QRN_ROLE_NULL)
            SWEEP(k, "QnnTensor_createGraphTensor",
                  qnn.tensorCreateGraphTensor(g, &k->client.out[i]));
    for (uint32_t i = 0; i < v->numOfParams; i++)
        if (v->params[i].paramType == QNN_PARAMTYPE_TENSOR)
            SWEEP(k, "QnnTensor_createGraphTensor",
                  qnn.tensorCreateGraphTensor(g, &v->params[i].tensorParam));
}

static void run_short_of_memory(subject *k) {
    Qnn_ContextHandle_t c = NULL;
    Qnn_GraphHandle_t g = NULL;
    Qnn_ProfileHandle_t p = NULL;
    SWEEP(k, "QnnContext_create", qnn.contextCreate(backend, NULL, NULL, &c));
    SWEEP(k, "QnnProfile_create", qnn.profileCreate(backend, QNN_PROFILE_LEVEL_DETAILED, &p));
    SWEEP(k, "QnnGraph_create", qnn.graphCreate(c, "g", NULL, &g));
    create_tensors(k, g);
    SWEEP(k, "QnnBackend_validateOpConfig", qnn.backendValidateOpConfig(backend, k->client.config));
    SWEEP(k, "QnnGraph_addNode", qnn.graphAddNode(g, k->client.config));
    SWEEP(k, "QnnGraph_finalize", qnn.graphFinalize(g, p, NULL));
    take_ids(k);
    SWEEP(k, "QnnGraph_execute", qnn.graphExecute(g, k->in, k->n_in, k->out, k->n_out, p, NULL));
    if (qnn.contextFree(c, NULL) != QNN_SUCCESS || qnn.profileFree(p) != QNN_SUCCESS)
        complain(k, "cannot be freed", "QnnContext_free", 0);
}

static void compare(subject *k, Qnn_Tensor_t *want) {
    bool repeats = !(k->def->flags & (QRN_OP_RANDOM | QRN_OP_STATEFUL));
    for (uint32_t i = 0; repeats && i < k->n_out; i++) {
        const Qnn_TensorV1_t *a = &want[i].v1, *b = &k->out[i].v1;
        size_t count = 1, bytes = a->clientBuf.dataSize;
        for (uint32_t d = 0; d < a->rank; d++)
            count *= a->dimensions[d];
        if (a->dataFormat == QNN_TENSOR_DATA_FORMAT_DENSE)
            qrn_dtype_bytes(qrn_dtype_from_code((uint32_t)a->dataType), count, &bytes);
        if (memcmp(a->clientBuf.data, b->clientBuf.data, bytes) != 0 ||
            (a->rank && memcmp(a->dimensions, b->dimensions, a->rank * sizeof(uint32_t)) != 0))
            complain(k, "the result is another one", "QnnGraph_execute", i);
    }
}

static void try_op(const qrn_op_def *def, uint64_t seed) {
    subject k;
    watch_case(def->name, seed);
    if (!find_subject(def, seed, &k)) {
        n_failures++;
        printf("FAILED %s: no configuration that runs\n", def->name);
        return;
    }
    Qnn_Tensor_t want[DRAW_OPERANDS];
    memcpy(want, k.out, sizeof want);
    for (uint32_t i = 0; i < k.n_out; i++) {
        uint32_t size = want[i].v1.clientBuf.dataSize;
        k.out[i].v1.clientBuf.data = scrap_new(&k.mem, size, 0);
        if (want[i].v1.rank) {
            size_t n = want[i].v1.rank * sizeof(uint32_t);
            want[i].v1.dimensions = memcpy(scrap_new(&k.mem, n, 0), want[i].v1.dimensions, n);
        }
    }
    size_t live = qrn_alloc_live();
    run_short_of_memory(&k);
    if (qrn_alloc_live() != live)
        complain(&k, "allocations are kept", "QnnContext_free", qrn_alloc_live() - live);
    compare(&k, want);
    scrap_free(&k.mem);
}

int main(int argc, char **argv) {
    const QnnInterface_t **list;
    uint32_t n;
    if (argc != 2 || !documented_read(argv[1]) ||
        QnnInterface_getProviders(&list, &n) != QNN_SUCCESS) {
        fprintf(stderr, "usage: test_oom TABLE\n");
        return 2;
    }
    qnn = list[0]->QNN_INTERFACE_VER_NAME;
    if (qnn.backendCreate(NULL, NULL, &backend) != QNN_SUCCESS)
        return 2;
    watch_start(60);
    enum { ROUNDS = 4 };
    unsigned n_ops = 0;
    for (const qrn_op_def *def; (def = qrn_op_at(n_ops)) != NULL; n_ops++)
        for (unsigned r = 0; r < ROUNDS && !(def->flags & QRN_OP_CONTROL); r++)
            try_op(def, 1 + n_ops * 1000 + r * 101);
    qnn.backendFree(backend);
    printf("%u ops, %u failed allocations, %u failures\n", n_ops, n_injected, n_failures);
    return n_failures ? 1 : 0;
}
