// SPDX-License-Identifier: MIT
//
// Every op of the table, many plausible configurations each: validated, added, finalized, executed
// with tame and hostile data. Fails when
//   - an op is never accepted or never executed;
//   - validateOpConfig and addNode disagree, or an accepted op cannot be finalized;
//   - a call returns an error that it is not documented to return;
//   - executing twice gives different bytes, an input is written to, memory is kept.
// Sanitizers see the rest: every buffer is a heap block of exactly its size.
//
//   fuzz_ops [--runs N] [--seed S] [--op NAME] [--case SEED] <errors.tsv>
//
// --case repeats one configuration that an earlier run complained about.
#include "documented.h"
#include "op_client.h"
#include "watch.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static qnn_table qnn;
static Qnn_BackendHandle_t backend;
static char last_log[1024];
static unsigned n_failures;

typedef struct tally {
    unsigned drawn, created, accepted, finalized, executed, failed;
} tally;

// One configuration on its way.
typedef struct trial {
    const qrn_op_def *def;
    uint64_t seed;
    drawn_op op;
    client_op client;
    scrap mem;
    source s;
    tally *t;
    Qnn_ContextHandle_t context;
    Qnn_GraphHandle_t graph;
} trial;

static void on_log(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args) {
    (void)level;
    (void)timestamp;
    vsnprintf(last_log, sizeof last_log, fmt, args);
}

static void complain(trial *k, const char *fmt, ...) {
    char text[2048];
    va_list args;
    n_failures++;
    if (k->t->failed++ >= 3)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    printf("FAILED %s --case %" PRIu64 ": %s; log: %s\n", k->def->name, k->seed, text, last_log);
    printf("    %s\n", op_draw_text(&k->op, text, sizeof text));
}

static bool check_code(trial *k, const char *function, Qnn_ErrorHandle_t rc) {
    if (!documented(function, rc))
        complain(k, "%s gives %" PRIu64 ", which is not documented", function, (uint64_t)rc);
    return rc == QNN_SUCCESS;
}

// Both must agree; true when the node is in the graph.
static bool add(trial *k) {
    Qnn_ErrorHandle_t valid = qnn.backendValidateOpConfig(backend, k->client.config);
    char why[sizeof last_log];
    snprintf(why, sizeof why, "%s", valid == QNN_SUCCESS ? "" : last_log);
    Qnn_ErrorHandle_t added = qnn.graphAddNode(k->graph, k->client.config);
    check_code(k, "QnnBackend_validateOpConfig", valid);
    check_code(k, "QnnGraph_addNode", added);
    if ((valid == QNN_SUCCESS) != (added == QNN_SUCCESS))
        complain(k, "validateOpConfig gives %" PRIu64 " (%s), addNode %" PRIu64, (uint64_t)valid,
                 why, (uint64_t)added);
    return added == QNN_SUCCESS;
}

// The branches of an If: each result is the capture at its place in another shape.
static void add_branches(trial *k) {
    static const char *const names[] = {"then_graph", "else_graph"};
    for (int b = 0; k->def->flags & QRN_OP_CONTROL && b < 2; b++) {
        Qnn_GraphHandle_t branch = NULL;
        if (qnn.graphCreateSubgraph(k->graph, names[b], &branch) != QNN_SUCCESS)
            complain(k, "no subgraph");
        for (uint32_t i = 0; i < k->op.n_out && i + 1 < k->op.n_in; i++) {
            Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
            op.v1.name = k->client.out[i].v2.name;
            op.v1.packageName = QNN_OP_PACKAGE_NAME_QTI_AISW;
            op.v1.typeName = "Reshape";
            op.v1.numOfInputs = op.v1.numOfOutputs = 1;
            op.v1.inputTensors = &k->client.in[i + 1];
            op.v1.outputTensors = &k->client.out[i];
            check_code(k, "QnnGraph_addNode", qnn.graphAddNode(branch, op));
        }
    }
}

// Buffers of one execution.
typedef struct round {
    Qnn_Tensor_t in[DRAW_OPERANDS], out[DRAW_OPERANDS];
    uint32_t n_in, n_out;
} round;

static size_t bytes_now(const Qnn_Tensor_t *t) {
    qrn_shape now = {.rank = t->v2.rank};
    size_t count, bytes = 0;
    for (uint32_t i = 0; i < now.rank; i++)
        now.dims[i] = t->v2.dimensions[i];
    if (qrn_shape_count(&now, &count))
        qrn_dtype_bytes(qrn_dtype_from_code((uint32_t)t->v2.dataType), count, &bytes);
    return bytes;
}

static uint32_t *own_dims(trial *k, const qrn_tensor *x) {
    uint32_t *dims = scrap_new(&k->mem, x->shape.rank * sizeof *dims, 0);
    memcpy(dims, x->shape.dims, x->shape.rank * sizeof *dims);
    return x->shape.rank ? dims : NULL;
}

// Mostly aligned for every type, sometimes for none; it ends where its block ends.
static Qnn_ClientBuffer_t new_buffer(trial *k, size_t bytes, int fill) {
    size_t skip = draw_chance(&k->s, 10) ? 1 + draw_below(&k->s, 7) : 0;
    return (Qnn_ClientBuffer_t){(char *)scrap_new(&k->mem, bytes + skip, fill) + skip,
                                (uint32_t)bytes};
}

static void make_inputs(trial *k, round *r) {
    for (uint32_t i = 0; i < k->op.n_in; i++) {
        const qrn_tensor *x = &k->op.in[i];
        if (x->role != QRN_ROLE_INPUT)
            continue;
        Qnn_Tensor_t *t = &r->in[r->n_in++];
        *t = k->client.in[i];
        t->v2.dimensions = own_dims(k, x);
        for (uint32_t d = 0; d < x->shape.rank; d++)
            if (x->dynamic[d] && draw_chance(&k->s, 50))
                t->v2.dimensions[d] = 1 + draw_below(&k->s, x->shape.dims[d]);
        size_t bytes = x->has_dynamic ? bytes_now(t) : x->size_bytes;
        t->v2.clientBuf = new_buffer(k, bytes, 0);
        input_draw(&k->s, &k->op, i, t->v2.clientBuf.data, bytes);
    }
}

static void make_outputs(trial *k, round *r, int fill) {
    r->n_out = 0;
    for (uint32_t i = 0; i < k->op.n_out; i++) {
        const qrn_tensor *x = &k->op.out[i];
        if (x->role != QRN_ROLE_OUTPUT)
            continue;
        Qnn_Tensor_t *t = &r->out[r->n_out++];
        *t = k->client.out[i];
        t->v2.dimensions = own_dims(k, x);
        t->v2.clientBuf = new_buffer(k, x->size_bytes, fill);
    }
}

// Bytes of an output that hold results.
static size_t produced(trial *k, const Qnn_Tensor_t *t) {
    bool sparse = t->v2.dataFormat == QRN_FORMAT_SPARSE;
    size_t n = sparse ? t->v2.clientBuf.dataSize : bytes_now(t);
    if (n > t->v2.clientBuf.dataSize)
        complain(k, "an output says it has %zu bytes in a buffer of %u", n,
                 (unsigned)t->v2.clientBuf.dataSize);
    return n < t->v2.clientBuf.dataSize ? n : t->v2.clientBuf.dataSize;
}

static void compare(trial *k, const round *a, const round *b) {
    for (uint32_t i = 0; i < a->n_out; i++) {
        size_t n = produced(k, &a->out[i]), m = produced(k, &b->out[i]);
        const uint8_t *x = a->out[i].v2.clientBuf.data, *y = b->out[i].v2.clientBuf.data;
        if (n != m) {
            complain(k, "output %u has %zu, then %zu bytes", i, n, m);
            return;
        }
        for (size_t at = 0; at < n; at++)
            if (x[at] != y[at]) {
                complain(k, "output %u differs at byte %zu of %zu when executed again", i, at, n);
                return;
            }
    }
}

static bool execute_once(trial *k, round *r) {
    scrap copies = {0};
    uint8_t *copy[DRAW_OPERANDS];
    for (uint32_t i = 0; i < r->n_in; i++) {
        Qnn_ClientBuffer_t b = r->in[i].v2.clientBuf;
        copy[i] = memcpy(scrap_new(&copies, b.dataSize, 0), b.data, b.dataSize);
    }
    last_log[0] = '\0';
    Qnn_ErrorHandle_t rc = qnn.graphExecute(k->graph, r->in, r->n_in, r->out, r->n_out, NULL, NULL);
    for (uint32_t i = 0; i < r->n_in; i++) {
        Qnn_ClientBuffer_t b = r->in[i].v2.clientBuf;
        if (memcmp(copy[i], b.data, b.dataSize) != 0)
            complain(k, "input %u has been written to", i);
    }
    scrap_free(&copies);
    if (rc != QNN_SUCCESS && !last_log[0])
        complain(k, "graphExecute gives %" PRIu64 " and logs nothing", (uint64_t)rc);
    return check_code(k, "QnnGraph_execute", rc);
}

static void execute(trial *k) {
    // What only a branch not taken writes is not defined.
    bool repeats = !(k->def->flags & (QRN_OP_RANDOM | QRN_OP_STATEFUL | QRN_OP_CONTROL));
    for (int i = 0; i < 2; i++) {
        round first = {0}, again;
        make_inputs(k, &first);
        again = first;
        make_outputs(k, &first, 0xA5);
        make_outputs(k, &again, 0x5A);
        bool ok = execute_once(k, &first), ok_again = execute_once(k, &again);
        k->t->executed += ok;
        if (repeats && ok != ok_again)
            complain(k, "executing succeeds once and fails once");
        if (repeats && ok && ok_again)
            compare(k, &first, &again);
    }
}

static void build_and_run(trial *k) {
    const client_style style = {.static_percent = 30, .dynamic_percent = 20, .bad_percent = 0};
    last_log[0] = '\0';
    client_op_make(&k->s, &k->mem, &k->op, "t", &style, &k->client);
    if (!check_code(k, "QnnTensor_createGraphTensor", client_op_create(&qnn, k->graph, &k->client)))
        return;
    k->t->created++;
    add_branches(k);
    if (!add(k))
        return;
    k->t->accepted++;
    Qnn_ErrorHandle_t rc = qnn.graphFinalize(k->graph, NULL, NULL);
    if (!check_code(k, "QnnGraph_finalize", rc)) {
        // Constants may hold data that cannot be computed on.
        if (rc != QNN_GRAPH_ERROR_INVALID_ARGUMENT)
            complain(k, "accepted, but finalize gives %" PRIu64, (uint64_t)rc);
        return;
    }
    k->t->finalized++;
    execute(k);
}

static void try_once(const qrn_op_def *def, uint64_t seed, tally *t) {
    trial k = {.def = def, .seed = seed, .s = source_from_seed(seed), .t = t};
    watch_case(def->name, seed);
    if (!op_draw(&k.s, def, 300, &k.op))
        return;
    t->drawn++;
    size_t live = qrn_alloc_live();
    if (qnn.contextCreate(backend, NULL, NULL, &k.context) != QNN_SUCCESS ||
        qnn.graphCreate(k.context, "g", NULL, &k.graph) != QNN_SUCCESS)
        complain(&k, "no context or graph");
    else
        build_and_run(&k);
    if (qnn.contextFree(k.context, NULL) != QNN_SUCCESS)
        complain(&k, "contextFree fails");
    if (qrn_alloc_live() != live)
        complain(&k, "%zu allocations are kept", qrn_alloc_live() - live);
    scrap_free(&k.mem);
}

static bool open_backend(void) {
    const QnnInterface_t **list;
    uint32_t n;
    Qnn_LogHandle_t log;
    if (QnnInterface_getProviders(&list, &n) != QNN_SUCCESS)
        return false;
    qnn = list[0]->QNN_INTERFACE_VER_NAME;
    return qnn.logCreate(on_log, QNN_LOG_LEVEL_ERROR, &log) == QNN_SUCCESS &&
           qnn.backendCreate(log, NULL, &backend) == QNN_SUCCESS;
}

// The backend's pool starts with the first finalize and stays: not a leak of that op.
static void warm_up(void) {
    Qnn_ContextHandle_t c = NULL;
    Qnn_GraphHandle_t g = NULL;
    qnn.contextCreate(backend, NULL, NULL, &c);
    qnn.graphCreate(c, "g", NULL, &g);
    qnn.graphFinalize(g, NULL, NULL);
    tally quiet = {.failed = UINT32_MAX / 2};
    for (uint64_t i = 0; i < 16; i++)
        try_once(qrn_op_find("Relu"), i, &quiet);
    qnn.contextFree(c, NULL);
    n_failures = 0;
}

static void run_op(const qrn_op_def *def, size_t index, uint64_t seed, unsigned runs) {
    tally t = {0};
    for (unsigned i = 0; i < runs; i++)
        try_once(def, seed + index * 1000003u + i * 7919u, &t);
    printf("%-28s drawn %4u  created %4u  accepted %4u  finalized %4u  executed %4u\n", def->name,
           t.drawn, t.created, t.accepted, t.finalized, t.executed);
    if (t.executed == 0) {
        n_failures++;
        printf("FAILED %s was never executed\n", def->name);
    }
}

int main(int argc, char **argv) {
    unsigned runs = 60;
    uint64_t seed = 1, one = 0;
    const char *only = NULL;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--runs") == 0)
            runs = (unsigned)strtoul(argv[i + 1], NULL, 0);
        else if (strcmp(argv[i], "--seed") == 0)
            seed = strtoull(argv[i + 1], NULL, 0);
        else if (strcmp(argv[i], "--op") == 0)
            only = argv[i + 1];
        else if (strcmp(argv[i], "--case") == 0)
            one = strtoull(argv[i + 1], NULL, 0);
    }
    if (argc % 2 != 0 || !documented_read(argv[argc - 1]) || !open_backend()) {
        fprintf(stderr, "usage: fuzz_ops [--runs N] [--seed S] [--op NAME] [--case SEED] TABLE\n");
        return 2;
    }
    watch_start(60);
    warm_up();
    for (size_t i = 0; qrn_op_at(i); i++) {
        const qrn_op_def *def = qrn_op_at(i);
        if (only && strcmp(only, def->name) != 0)
            continue;
        if (one)
            try_once(def, one, &(tally){0});
        else
            run_op(def, i, seed, runs);
    }
    printf("seed %" PRIu64 ", %u runs per op, %u failures\n", seed, runs, n_failures);
    return n_failures ? 1 : 0;
}
