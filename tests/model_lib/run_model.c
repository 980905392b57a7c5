// SPDX-License-Identifier: MIT
//
// run_model BACKEND MODEL PREFIX DEBUG IN.raw...: composes the graphs of a model library, runs the
// first one on native inputs and writes NAME.raw for each output, as a net-run does. Prints names,
// data types and dimensions of inputs and outputs; exit code 1 with the stage that failed.
#include "Quern/model.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef ModelError_t (*compose_fn)(Qnn_BackendHandle_t, QNN_INTERFACE_VER_TYPE, Qnn_ContextHandle_t,
                                   const GraphConfigInfo_t **, uint32_t, GraphInfo_t ***,
                                   uint32_t *, bool, QnnLog_Callback_t, QnnLog_Level_t);
typedef ModelError_t (*free_fn)(GraphInfo_t ***, uint32_t);

static void say(const char *fmt, QnnLog_Level_t level, uint64_t time, va_list args) {
    (void)level, (void)time;
    vprintf(fmt, args);
    printf("\n");
}

static void must(unsigned long long code, const char *what) {
    if (!code)
        return;
    printf("%s failed: %llu\n", what, code);
    exit(1);
}

static void *find(void *lib, const char *prefix, const char *name) {
    char symbol[256];
    snprintf(symbol, sizeof symbol, "%s_%s", prefix, name);
    void *f = dlsym(lib, symbol);
    must(!f, symbol);
    return f;
}

static QNN_INTERFACE_VER_TYPE open_backend(const char *path) {
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    must(!lib, path);
    Qnn_ErrorHandle_t (*get)(const QnnInterface_t ***, uint32_t *) = (Qnn_ErrorHandle_t(*)(
        const QnnInterface_t ***, uint32_t *))dlsym(lib, "QnnInterface_getProviders");
    const QnnInterface_t **list;
    uint32_t n;
    must(get(&list, &n), "getProviders");
    return list[0]->QNN_INTERFACE_VER_NAME;
}

static void make_buffer(Qnn_Tensor_t *t, const char *kind) {
    static const struct {
        Qnn_DataType_t type;
        uint32_t bytes;
    } sizes[] = {{QNN_DATATYPE_FLOAT_32, 4},       {QNN_DATATYPE_FLOAT_16, 2},
                 {QNN_DATATYPE_INT_32, 4},         {QNN_DATATYPE_UFIXED_POINT_8, 1},
                 {QNN_DATATYPE_SFIXED_POINT_8, 1}, {QNN_DATATYPE_UFIXED_POINT_16, 2}};
    uint32_t bytes = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        bytes = sizes[i].type == t->v1.dataType ? sizes[i].bytes : bytes;
    must(!bytes, "the size of a type");
    printf("%s %s %x", kind, t->v1.name, (unsigned)t->v1.dataType);
    for (uint32_t i = 0; i < t->v1.rank; i++) {
        bytes *= t->v1.dimensions[i];
        printf(" %u", t->v1.dimensions[i]);
    }
    printf("\n");
    t->v1.memType = QNN_TENSORMEMTYPE_RAW;
    t->v1.clientBuf = (Qnn_ClientBuffer_t){calloc(1, bytes), bytes};
    must(!t->v1.clientBuf.data, "memory");
}

static void move(Qnn_Tensor_t *t, const char *path, bool in) {
    FILE *f = fopen(path, in ? "rb" : "wb");
    must(!f, path);
    size_t n = in ? fread(t->v1.clientBuf.data, 1, t->v1.clientBuf.dataSize, f)
                  : fwrite(t->v1.clientBuf.data, 1, t->v1.clientBuf.dataSize, f);
    must(n != t->v1.clientBuf.dataSize || fclose(f), path);
}

int main(int argc, char **argv) {
    if (argc < 5)
        return 2;
    QNN_INTERFACE_VER_TYPE qnn = open_backend(argv[1]);
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t context;
    must(qnn.backendCreate(NULL, NULL, &backend), "backendCreate");
    must(qnn.contextCreate(backend, NULL, NULL, &context), "contextCreate");
    void *model = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    if (!model)
        printf("%s\n", dlerror());
    must(!model, argv[2]);
    compose_fn compose = (compose_fn)find(model, argv[3], "composeGraphs");
    free_fn release = (free_fn)find(model, argv[3], "freeGraphsInfo");
    GraphInfo_t **graphs = NULL;
    uint32_t n = 0;
    must((unsigned)compose(backend, qnn, context, NULL, 0, &graphs, &n, strcmp(argv[4], "1") == 0,
                           say, QNN_LOG_LEVEL_ERROR),
         "composeGraphs");
    GraphInfo_t *g = graphs[0];
    printf("graph %s\n", g->graphName);
    must(qnn.graphFinalize(g->graph, NULL, NULL), "graphFinalize");
    must(g->numInputTensors != (uint32_t)argc - 5, "the number of inputs");
    for (uint32_t i = 0; i < g->numInputTensors; i++) {
        make_buffer(&g->inputTensors[i], "input");
        move(&g->inputTensors[i], argv[5 + i], true);
    }
    for (uint32_t i = 0; i < g->numOutputTensors; i++)
        make_buffer(&g->outputTensors[i], "output");
    must(qnn.graphExecute(g->graph, g->inputTensors, g->numInputTensors, g->outputTensors,
                          g->numOutputTensors, NULL, NULL),
         "graphExecute");
    for (uint32_t i = 0; i < g->numInputTensors; i++)
        free(g->inputTensors[i].v1.clientBuf.data);
    for (uint32_t i = 0; i < g->numOutputTensors; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s.raw", g->outputTensors[i].v1.name);
        move(&g->outputTensors[i], path, false);
        free(g->outputTensors[i].v1.clientBuf.data);
    }
    must((unsigned)release(&graphs, n), "freeGraphsInfo");
    must(qnn.contextFree(context, NULL), "contextFree");
    must(qnn.backendFree(backend), "backendFree");
    dlclose(model);
    return 0;
}
