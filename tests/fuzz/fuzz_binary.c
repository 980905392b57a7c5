// SPDX-License-Identifier: MIT
//
// Context binaries of every op that the HTP backend takes: built, saved, loaded, and the results
// compared; then changed in their records, with the checksums made right again, and loaded once
// more. What loads is executed. Fails when results differ after loading, when a call returns an
// error that it is not documented to return, or when memory is kept.
//
// An input seeds the op and its graph, and says with its further bytes what is changed.
// The entry point is libFuzzer's; fuzz_main.c runs it without libFuzzer.
#include "../binary/refile.h"
#include "documented.h"
#include "op_client.h"

#include "base/mem.h"
#include "core/own.h"

#include "HTP/QnnHtpDevice.h"

#include <inttypes.h>
#include <stdio.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TRIES = 40, MOST_BYTES = 1 << 20, EDITS = 6 };

static qnn_table qnn;
static Qnn_BackendHandle_t backend;
static Qnn_DeviceHandle_t devices[3]; // none, and chips whose floats are halves of both kinds

typedef struct trial {
    source draw; // of the op and its data
    Qnn_DeviceHandle_t device;
    drawn_op op;
    client_op client;
    scrap mem;
} trial;

static void broken(const trial *k, const char *what, uint64_t code) {
    char text[2048];
    fprintf(stderr, "%s (%" PRIu64 "): %s\n", what, code,
            k ? op_draw_text(&k->op, text, sizeof text) : "");
    abort();
}

static bool checked(const trial *k, const char *function, Qnn_ErrorHandle_t code) {
    if (!documented(function, code))
        broken(k, function, code);
    return code == QNN_SUCCESS;
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    const QnnInterface_t **list;
    uint32_t n;
    if (!documented_read(QUERN_ERROR_TABLE) || QnnInterface_getProviders(&list, &n) != QNN_SUCCESS)
        return 1;
    qnn = list[0]->QNN_INTERFACE_VER_NAME;
    static const uint32_t chips[] = {0, 57, 69}; // SM8650 (v75), SM8750 (v79)
    for (int i = 1; i < 3; i++) {
        QnnHtpDevice_CustomConfig_t custom = {.option = QNN_HTP_DEVICE_CONFIG_OPTION_SOC,
                                              .socModel = chips[i]};
        QnnDevice_Config_t config = {.option = QNN_DEVICE_CONFIG_OPTION_CUSTOM,
                                     .customConfig = &custom};
        const QnnDevice_Config_t *configs[] = {&config, NULL};
        if (qnn.deviceCreate(NULL, configs, &devices[i]) != QNN_SUCCESS)
            return 1;
    }
    return qnn.backendCreate(NULL, NULL, &backend) != QNN_SUCCESS;
}

// Draws ops until the backend takes one; its graph is then finalized.
static bool build(trial *k, Qnn_ContextHandle_t *c, Qnn_GraphHandle_t *g) {
    size_t n_ops = 0;
    while (qrn_op_at(n_ops))
        n_ops++;
    const client_style style = {.static_percent = 50, .dynamic_percent = 0, .bad_percent = 0};
    for (int i = 0; i < TRIES; i++) {
        const qrn_op_def *def = qrn_op_at(draw_u32(&k->draw) % n_ops);
        if ((def->flags & QRN_OP_CONTROL) || !op_draw(&k->draw, def, 20, &k->op))
            continue;
        if (qnn.contextCreate(backend, k->device, NULL, c) != QNN_SUCCESS ||
            qnn.graphCreate(*c, "g", NULL, g) != QNN_SUCCESS)
            broken(k, "no graph", 0);
        client_op_make(&k->draw, &k->mem, &k->op, "t", &style, &k->client);
        if (client_op_create(&qnn, *g, &k->client) == QNN_SUCCESS &&
            qnn.graphAddNode(*g, k->client.config) == QNN_SUCCESS &&
            qnn.graphFinalize(*g, NULL, NULL) == QNN_SUCCESS)
            return true;
        qnn.contextFree(*c, NULL);
        scrap_free(&k->mem);
    }
    return false;
}

// Application tensors of one execution, with buffers of their own sizes.
typedef struct buffers {
    Qnn_Tensor_t in[DRAW_OPERANDS], out[DRAW_OPERANDS];
    uint32_t n_in, n_out;
} buffers;

// From the graph's own list, so that it fits a graph that was changed, too. Inputs of equal sizes
// are filled with equal bytes.
static bool make_buffers(trial *k, Qnn_GraphHandle_t graph, uint64_t seed, buffers *b) {
    const qrn_api_graph *g = qrn_handle_get(QRN_KIND_GRAPH, graph);
    size_t total = g->runner ? qrn_runner_plan(g->runner)->arena_bytes : 0;
    for (uint32_t i = 0; i < g->n_io; i++)
        total += g->io[i].tensor->size_bytes;
    if (g->n_io > DRAW_OPERANDS || total > MOST_BYTES)
        return false;
    source s = source_from_seed(seed);
    *b = (buffers){.n_in = 0};
    for (uint32_t i = 0; i < g->n_io; i++) {
        const qrn_tensor *x = g->io[i].tensor;
        Qnn_Tensor_t t = QNN_TENSOR_INIT;
        t.v1.id = x->id;
        t.v1.name = x->name;
        t.v1.type = g->io[i].is_output ? QNN_TENSOR_TYPE_APP_READ : QNN_TENSOR_TYPE_APP_WRITE;
        t.v1.dataType = (Qnn_DataType_t)qrn_dtypes[x->dtype].code;
        t.v1.rank = x->shape.rank;
        t.v1.dimensions = scrap_new(&k->mem, sizeof x->shape.dims, 0); // outputs get theirs written
        memcpy(t.v1.dimensions, x->shape.dims, sizeof x->shape.dims);
        t.v1.memType = QNN_TENSORMEMTYPE_RAW;
        t.v1.clientBuf.data = scrap_new(&k->mem, x->size_bytes, 0xA5);
        t.v1.clientBuf.dataSize = (uint32_t)x->size_bytes;
        if (g->io[i].is_output) {
            b->out[b->n_out++] = t;
        } else {
            data_draw(&s, x->dtype, t.v1.clientBuf.data, x->size_bytes);
            b->in[b->n_in++] = t;
        }
    }
    return true;
}

static bool run(trial *k, Qnn_GraphHandle_t g, buffers *b) {
    return checked(k, "QnnGraph_execute",
                   qnn.graphExecute(g, b->in, b->n_in, b->out, b->n_out, NULL, NULL));
}

static void compare(const trial *k, const buffers *a, const buffers *b) {
    if (a->n_out != b->n_out)
        broken(k, "another number of outputs", b->n_out);
    for (uint32_t i = 0; i < a->n_out; i++) {
        Qnn_ClientBuffer_t x = a->out[i].v1.clientBuf, y = b->out[i].v1.clientBuf;
        if (x.dataSize != y.dataSize || memcmp(x.data, y.data, x.dataSize) != 0)
            broken(k, "other results after loading", i);
    }
}

static uint8_t *save(trial *k, Qnn_ContextHandle_t c, size_t *size) {
    Qnn_ContextBinarySize_t bytes = 0, written = 0;
    if (!checked(k, "QnnContext_getBinarySize", qnn.contextGetBinarySize(c, &bytes)))
        broken(k, "no size of a binary", 0);
    uint8_t *file = malloc(bytes);
    if (!file ||
        !checked(k, "QnnContext_getBinary", qnn.contextGetBinary(c, file, bytes, &written)))
        broken(k, "no binary", 0);
    *size = written;
    return file;
}

// Loads and executes; `same` is what must come out, NULL when it may be anything.
static void load(trial *k, const uint8_t *file, size_t size, uint64_t seed, const buffers *same) {
    Qnn_ContextHandle_t c = NULL;
    Qnn_GraphHandle_t g = NULL;
    size_t live = qrn_alloc_live();
    Qnn_ErrorHandle_t code =
        qnn.contextCreateFromBinary(backend, k->device, NULL, file, size, &c, NULL);
    if (checked(k, "QnnContext_createFromBinary", code)) {
        buffers b;
        if (qnn.graphRetrieve(c, "g", &g) == QNN_SUCCESS && make_buffers(k, g, seed, &b) &&
            run(k, g, &b) && same)
            compare(k, same, &b);
        qnn.contextFree(c, NULL);
    } else if (same) {
        broken(k, "a good binary is refused", code);
    }
    if (qrn_alloc_live() != live)
        broken(k, "memory is kept", qrn_alloc_live() - live);
}

static void edit(source *s, refile *r) {
    static const uint32_t values[] = {
        0,          1,          2,          3,          4,          8,      255,    65536,
        0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x3F800000, 0x7F800000, 0x0308, 0x0408, 0x0232};
    refile_section *p = &r->sections[draw_below(s, r->n)];
    if (p->size < 8)
        return;
    size_t at = draw_u32(s) % (p->size / 4) * 4, from = draw_u32(s) % (p->size / 4) * 4;
    switch (draw_below(s, 8)) {
    case 0:
    case 1:
        refile_put(p->data + at, DRAW_FROM(s, values));
        break;
    case 2:
        p->data[at + draw_below(s, 4)] ^= (uint8_t)(1u << draw_below(s, 8));
        break;
    case 3:
        refile_put(p->data + at, refile_get(p->data + at) + draw_below(s, 9) - 4);
        break;
    case 4:
        refile_put(p->data + at, refile_get(p->data + from));
        break;
    case 5:
        refile_put(p->data + at, draw_u32(s));
        break;
    case 6:
        refile_splice(p, at, 4, 0);
        break;
    default:
        refile_splice(p, at, 0, 4);
        break;
    }
}

static void change_and_load(trial *k, source *s, const uint8_t *file, size_t size, uint64_t seed) {
    refile r;
    if (!refile_split(file, size, &r))
        broken(k, "a file that cannot be taken apart", size);
    for (int i = 0; i < EDITS && (i == 0 || !source_is_empty(s)); i++) {
        size_t changed_size;
        edit(s, &r);
        uint8_t *changed = refile_join(&r, &changed_size);
        load(k, changed, changed_size, seed, NULL);
        free(changed);
    }
    refile_free(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    source s = source_from_bytes(data, size);
    uint64_t seed = draw_u32(&s);
    trial k = {.draw = source_from_seed(seed), .device = devices[seed % 3]};
    Qnn_ContextHandle_t c = NULL;
    Qnn_GraphHandle_t g = NULL;
    if (!build(&k, &c, &g))
        return 0;
    buffers made;
    bool ran = make_buffers(&k, g, seed, &made) && run(&k, g, &made);
    bool repeats = !(k.op.def->flags & (QRN_OP_RANDOM | QRN_OP_STATEFUL));
    size_t bytes = 0;
    uint8_t *file = save(&k, c, &bytes);
    qnn.contextFree(c, NULL);
    if (ran && repeats)
        load(&k, file, bytes, seed, &made);
    change_and_load(&k, &s, file, bytes, seed);
    free(file);
    scrap_free(&k.mem);
    return 0;
}
