// SPDX-License-Identifier: MIT
//
// Executing models. The backend stays open for all of them; each has a context of its own. Buffers
// of inputs and outputs are heap blocks of exactly their size, filled with other bytes for each
// execution, so that a result that is not written, or not computed from the inputs alone, differs.
#include "onnx_exec.h"

#include "onnx_count.h"
#include "scrap.h"

#include "base/mem.h"
#include "base/sanitized.h"
#include "frontend/tflite/tflite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 22, CLIENTS = 2, SETTLED = 4096, MOST_GROWTH = 1 << 21 };

static qc_client *clients[CLIENTS];
static unsigned n_clients, counts[EXEC_RESULTS], n_cases;
static char folder[] = "/tmp/quern-fuzz-XXXXXX";
static exec_listener listener;
static void *listener_ctx;

static void broken(const char *what) {
    fprintf(stderr, "%s: %s\n", what, qrn_message());
    abort();
}

// --- the backend

static void open_client(const char *path, uint32_t soc) {
    const qc_options options = {.n_threads = 1, .no_context = true, .soc = soc};
    if (qc_open(path, &options, &clients[n_clients]) != QRN_OK)
        broken("the backend does not open");
    n_clients++;
}

void onnx_exec_open(const char *backend) {
    const char *libs = getenv("QUERN_LIB_DIR");
    char path[4096];
    bool htp = strcmp(backend, "htp") == 0;
    snprintf(path, sizeof path, "%s/libQnn%s.so", libs ? libs : ".", htp ? "Htp" : "Cpu");
    open_client(path, 0);
    if (htp)
        open_client(path, 57); // floats as fp16
    // External data: what the models name is there, and no more than that.
    char file[64];
    if (!mkdtemp(folder))
        broken("no folder");
    snprintf(file, sizeof file, "%s/data.bin", folder);
    FILE *f = fopen(file, "wb");
    for (int i = 0; f && i < 4096; i++)
        fputc(i * 7 & 63, f);
    if (!f || fclose(f))
        broken("no external data");
}

void onnx_exec_close(void) {
    char command[64];
    while (n_clients)
        qc_close(clients[--n_clients]);
    snprintf(command, sizeof command, "%s/data.bin", folder);
    unlink(command);
    snprintf(command, sizeof command, "%s/m.onnx", folder);
    unlink(command);
    rmdir(folder);
}

void onnx_exec_listen(exec_listener f, void *ctx) {
    listener = f;
    listener_ctx = ctx;
}

// --- data

static void fill_floats(source *s, float *p, size_t n, bool hostile) {
    static const float worst[] = {0.0f,     -0.0f, 1e30f, -1e30f, 3e38f, -3e38f, 1e-40f, 65504.0f,
                                  70000.0f, -1.0f, 0.5f,  1e9f,   -1e9f, 2.5f,   1e-6f};
    for (size_t i = 0; i < n; i++) {
        uint32_t which = hostile ? draw_below(s, 24) : 24;
        p[i] = which == 0   ? __builtin_nanf("")
               : which == 1 ? __builtin_inff()
               : which == 2 ? -__builtin_inff()
               : which < 14 ? DRAW_FROM(s, worst)
                            : ((float)draw_below(s, 256) - 128.0f) / 64.0f;
    }
}

static void fill(source *s, const qc_tensor *t, uint8_t *p, bool hostile) {
    size_t bytes = qc_tensor_bytes(t);
    unsigned bits = qc_dtype_bits(t->t.v1.dataType);
    if (t->t.v1.dataType == QNN_DATATYPE_FLOAT_32) {
        fill_floats(s, (float *)(void *)p, bytes / 4, hostile);
        return;
    }
    bool any = hostile || t->t.v1.dataType == QNN_DATATYPE_FLOAT_16 || bits < 32;
    bool truth = t->t.v1.dataType == QNN_DATATYPE_BOOL_8;
    bool plain = t->t.v1.dataType == QNN_DATATYPE_FLOAT_16 && !hostile;
    if (!any || truth) { // small numbers: indices, lengths
        memset(p, 0, bytes);
        for (size_t i = 0; i < bytes; i += truth ? 1 : bits / 8)
            p[i] = (uint8_t)draw_below(s, truth || draw_chance(s, 70) ? 2 : 4);
        return;
    }
    for (size_t i = 0; i < bytes; i++)
        p[i] = plain && i % 2 ? (uint8_t)(0x38 + draw_below(s, 8)) : draw_u8(s);
}

// --- one model

typedef struct job {
    scrap mem;
    source s;
    qc_client *client;
    ox_model *model;
    ox_result result;
    uint32_t rows[2][64];
} job;

static bool varies(const ox_model *m) {
    static const char *const ops[] = {"RandomUniform",    "RandomUniformLike", "RandomNormal",
                                      "RandomNormalLike", "Bernoulli",         "Buffer"};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (onnx_count_has(m, ops[i]))
            return true;
    return false;
}

// Bytes of output i that an execution has filled: some ops find fewer rows than there is room for.
static size_t filled(const qc_tensor *t, uint32_t rows) {
    size_t bytes = qc_tensor_bytes(t);
    return t->rank && t->dims[0] && rows < t->dims[0] ? bytes / t->dims[0] * rows : bytes;
}

static void compare(const job *j, void *const *a, void *const *b) {
    const qc_graph *g = j->result.graph;
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        size_t n = filled(g->outputs[i], j->rows[0][i % 64]);
        if (j->rows[0][i % 64] != j->rows[1][i % 64] || memcmp(a[i], b[i], n) != 0) {
            fprintf(stderr, "output '%s' of %zu bytes\n", g->outputs[i]->t.v1.name, n);
            broken("two executions differ");
        }
    }
}

static void **buffers(job *j, qc_tensor *const *list, uint32_t n, int byte) {
    void **b = scrap_new(&j->mem, (n + 1) * sizeof *b, 0);
    for (uint32_t i = 0; i < n; i++)
        b[i] = scrap_new(&j->mem, qc_tensor_bytes(list[i]), byte);
    return b;
}

static bool execute_once(job *j, void *const *in, void *const *out, unsigned turn) {
    qc_graph *g = j->result.graph;
    uint32_t *rows = scrap_new(&j->mem, (g->n_outputs + 1) * sizeof *rows, 0);
    qrn_message_clear();
    qrn_status s = qc_graph_execute_rows(g, (const void *const *)in, out, rows);
    for (uint32_t i = 0; i < g->n_outputs && i < 64; i++)
        j->rows[turn][i] = rows[i];
    if (s != QRN_OK && !strstr(qrn_message(), "graphExecute: error"))
        broken("an execution fails without saying why");
    return s == QRN_OK;
}

static exec_result execute(job *j, bool hostile) {
    qc_graph *g = j->result.graph;
    void **in = buffers(j, g->inputs, g->n_inputs, 0),
         **copy = buffers(j, g->inputs, g->n_inputs, 0);
    void **out = buffers(j, g->outputs, g->n_outputs, 0xa5),
         **again = buffers(j, g->outputs, g->n_outputs, 0x5a);
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        fill(&j->s, g->inputs[i], in[i], hostile);
        memcpy(copy[i], in[i], qc_tensor_bytes(g->inputs[i]));
    }
    bool ok = execute_once(j, in, out, 0);
    if (execute_once(j, in, again, 1) != ok && !varies(j->model))
        broken("two executions differ in success");
    for (uint32_t i = 0; i < g->n_inputs; i++)
        if (memcmp(in[i], copy[i], qc_tensor_bytes(g->inputs[i])) != 0)
            broken("an input is written to");
    if (ok && !varies(j->model))
        compare(j, out, again);
    if (ok && listener && !hostile)
        listener(listener_ctx, j->model, &j->result, in, out, j->rows[0]);
    return ok ? EXEC_DONE : EXEC_FAILED;
}

static void ignore(void *ctx, const ox_node *n, qrn_status s, const char *why) {
    (void)ctx;
    if (s != QRN_OK && (!why[0] || !n->name))
        broken("a node is rejected without a reason");
}

static ox_options draw_options(source *s) {
    ox_options o = {.graph_name = "g"};
    o.keep_all = draw_chance(s, 10);
    o.as_float = draw_chance(s, 10);
    o.allow_fp16 = draw_chance(s, 90);
    o.wide_borders = draw_chance(s, 20);
    o.report = draw_chance(s, 10) ? ignore : NULL;
    return o;
}

static exec_result run_graph(job *j) {
    const qc_graph *g = j->result.graph;
    if (g->n_nodes == 0)
        return EXEC_CONSTANT;
    if (qc_graph_finalize(j->result.graph) != QRN_OK) {
        if (!strstr(qrn_message(), "graphFinalize: error"))
            broken("a graph is not finalized without saying why");
        return EXEC_REJECTED;
    }
    size_t bytes = 0;
    for (uint32_t i = 0; i < g->n_inputs; i++)
        bytes += qc_tensor_bytes(g->inputs[i]);
    for (uint32_t i = 0; i < g->n_outputs; i++)
        bytes += qc_tensor_bytes(g->outputs[i]);
    if (bytes > MOST_BYTES)
        return EXEC_TOO_LARGE;
    exec_result r = execute(j, false);
    execute(j, true);
    return r;
}

static exec_result import(job *j) {
    const ox_options options = listener ? (ox_options){.graph_name = "g"} : draw_options(&j->s);
    qrn_message_clear();
    if (ox_import_model(j->model, j->client, &options, &j->result) != QRN_OK) {
        if (strlen(qrn_message()) < 8)
            broken("a model is rejected without a reason");
        return EXEC_REJECTED;
    }
    exec_result r = run_graph(j);
    qc_graph_destroy(j->result.graph);
    return r;
}

// From a file now and then: external data is only taken there.
static qrn_status read_model(job *j, const uint8_t *data, size_t size) {
    char path[64];
    bool external = memmem(data, size, "location", 8) != NULL;
    if (tl_is_model(data, size))
        return tl_model_parse(data, size, "input", &j->model);
    if (!external && !draw_chance(&j->s, 2))
        return ox_model_parse(data, size, "input", &j->model);
    snprintf(path, sizeof path, "%s/m.onnx", folder);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, size, f) != size || fclose(f))
        broken("the model cannot be written");
    return ox_model_open(path, &j->model);
}

static exec_result run_job(job *j, const uint8_t *data, size_t size) {
    qrn_message_clear();
    if (read_model(j, data, size) != QRN_OK) {
        if (j->model || !strstr(qrn_message(), ": "))
            broken("a file is rejected without its name");
        return EXEC_UNREAD;
    }
    qc_client *c = j->client = clients[draw_below(&j->s, n_clients)];
    if (c->qnn.contextCreate(c->backend, c->device, NULL, &c->context) != QNN_SUCCESS)
        broken("no context");
    exec_result r = import(j);
    if (r == EXEC_DONE)
        onnx_count(j->model);
    c->qnn.contextFree(c->context, NULL);
    c->context = NULL;
    ox_model_close(j->model);
    return r;
}

#ifdef QRN_ASAN
size_t __sanitizer_get_current_allocated_bytes(void); // gcc 12 brings no header for it
static void check_growth(void) {
    static size_t settled;
    if (n_cases == SETTLED)
        settled = __sanitizer_get_current_allocated_bytes();
    if (settled && n_cases % SETTLED == 0 &&
        __sanitizer_get_current_allocated_bytes() > settled + MOST_GROWTH)
        broken("memory grows");
}
#else
static void check_growth(void) {}
#endif

exec_result onnx_exec_run(const uint8_t *data, size_t size, uint64_t choice) {
    size_t live = qrn_alloc_live();
    job j = {.s = source_from_seed(choice)};
    exec_result r = run_job(&j, data, size);
    scrap_free(&j.mem);
    if (qrn_alloc_live() != live)
        broken("memory is leaked");
    if (getenv("QUERN_FUZZ_WHY") && r != EXEC_DONE)
        printf("%d: %s\n", r, qrn_message());
    counts[r]++;
    n_cases++;
    check_growth();
    return r;
}

unsigned onnx_exec_count(exec_result r) { return counts[r]; }

bool onnx_exec_report(bool (*is_drawn)(const char *op, const char *domain)) {
    static const char *const words[] = {"not read",  "rejected", "constant",
                                        "too large", "failed",   "executed"};
    printf("%u models:", n_cases);
    for (int i = 0; i < EXEC_RESULTS; i++)
        printf(" %u %s%s", counts[i], words[i], i + 1 < EXEC_RESULTS ? "," : "\n");
    return onnx_count_print(is_drawn) == 0;
}
