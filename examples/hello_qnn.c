// SPDX-License-Identifier: MIT
//
// A first QNN client: opens a backend library, builds softmax(x * W + b), runs it and prints the
// result. It uses the public API only, so it works with any QNN library:
//   hello_qnn [libQnnCpu.so]
// docs/using-the-api.md walks through it.
#include "QnnInterface.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define N_IN 4
#define N_OUT 3

static void *lib;                  // the library
static QNN_INTERFACE_VER_TYPE qnn; // its function table

// Every call returns a code; the library explains it.
static void check(Qnn_ErrorHandle_t code, const char *what) {
    if (code == QNN_SUCCESS)
        return;
    const char *text = NULL;
    if (qnn.errorGetVerboseMessage(code, &text) == QNN_SUCCESS && text)
        fprintf(stderr, "%s: error %llu: %s\n", what, (unsigned long long)code, text);
    else
        fprintf(stderr, "%s: error %llu\n", what, (unsigned long long)code);
    exit(1);
}

// Opens the library and takes the function table of its one provider.
static void open_library(const char *path) {
    lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    Qnn_ErrorHandle_t (*get_providers)(const QnnInterface_t ***, uint32_t *) =
        (Qnn_ErrorHandle_t(*)(const QnnInterface_t ***, uint32_t *))dlsym(
            lib, "QnnInterface_getProviders");
    const QnnInterface_t **list = NULL;
    uint32_t n = 0;
    if (!get_providers || get_providers(&list, &n) != QNN_SUCCESS || n == 0) {
        fprintf(stderr, "%s is not a QNN backend\n", path);
        exit(1);
    }
    const Qnn_Version_t *v = &list[0]->apiVersion.coreApiVersion;
    if (v->major != QNN_API_VERSION_MAJOR || v->minor < QNN_API_VERSION_MINOR) {
        fprintf(stderr, "%s has QNN API %u.%u, this program needs %d.%d\n", path, v->major,
                v->minor, QNN_API_VERSION_MAJOR, QNN_API_VERSION_MINOR);
        exit(1);
    }
    qnn = list[0]->QNN_INTERFACE_VER_NAME;
    printf("provider %s, QNN API %u.%u.%u\n", list[0]->providerName, v->major, v->minor, v->patch);
}

// Describes a float tensor and registers it with the graph, which gives it its id.
static Qnn_Tensor_t make_tensor(Qnn_GraphHandle_t graph, const char *name, Qnn_TensorType_t type,
                                uint32_t rank, uint32_t *dims, const float *data) {
    Qnn_Tensor_t t = QNN_TENSOR_INIT;
    t.v1.name = name;
    t.v1.type = type;
    t.v1.dataType = QNN_DATATYPE_FLOAT_32;
    t.v1.rank = rank;
    t.v1.dimensions = dims;
    t.v1.memType = QNN_TENSORMEMTYPE_RAW;
    if (data) { // constants bring their data; the library copies it
        t.v1.clientBuf.data = (void *)data;
        t.v1.clientBuf.dataSize = (uint32_t)sizeof(float);
        for (uint32_t i = 0; i < rank; i++)
            t.v1.clientBuf.dataSize *= dims[i];
    }
    check(qnn.tensorCreateGraphTensor(graph, &t), name);
    return t;
}

static void add_node(Qnn_GraphHandle_t graph, const char *name, const char *type,
                     Qnn_Tensor_t *inputs, uint32_t n_inputs, Qnn_Tensor_t *output) {
    Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
    op.v1.name = name;
    op.v1.packageName = QNN_OP_PACKAGE_NAME_QTI_AISW;
    op.v1.typeName = type;
    op.v1.inputTensors = inputs;
    op.v1.numOfInputs = n_inputs;
    op.v1.outputTensors = output;
    op.v1.numOfOutputs = 1;
    check(qnn.graphAddNode(graph, op), name);
}

int main(int argc, char **argv) {
    open_library(argc > 1 ? argv[1] : "libQnnCpu.so");

    Qnn_BackendHandle_t backend = NULL;
    Qnn_ContextHandle_t context = NULL;
    Qnn_GraphHandle_t graph = NULL;
    check(qnn.backendCreate(NULL, NULL, &backend), "backendCreate");
    check(qnn.contextCreate(backend, NULL, NULL, &context), "contextCreate");
    check(qnn.graphCreate(context, "hello", NULL, &graph), "graphCreate");

    static const float weight[N_OUT * N_IN] = {1, 0, 0, 1, /**/ 0, 1, 1, 0, /**/ -1, 0, 1, 0};
    static const float bias[N_OUT] = {0.5f, 0, -0.5f};
    uint32_t in_dims[] = {1, N_IN}, w_dims[] = {N_OUT, N_IN}, b_dims[] = {N_OUT};
    uint32_t out_dims[] = {1, N_OUT};
    Qnn_Tensor_t dense_in[3] = {
        make_tensor(graph, "x", QNN_TENSOR_TYPE_APP_WRITE, 2, in_dims, NULL),
        make_tensor(graph, "W", QNN_TENSOR_TYPE_STATIC, 2, w_dims, weight),
        make_tensor(graph, "b", QNN_TENSOR_TYPE_STATIC, 1, b_dims, bias),
    };
    Qnn_Tensor_t scores = make_tensor(graph, "scores", QNN_TENSOR_TYPE_NATIVE, 2, out_dims, NULL);
    Qnn_Tensor_t y = make_tensor(graph, "y", QNN_TENSOR_TYPE_APP_READ, 2, out_dims, NULL);
    add_node(graph, "dense", QNN_OP_FULLY_CONNECTED, dense_in, 3, &scores);
    add_node(graph, "softmax", QNN_OP_SOFTMAX, &scores, 1, &y);
    check(qnn.graphFinalize(graph, NULL, NULL), "graphFinalize");

    float in[N_IN] = {1, 2, 3, 4}, out[N_OUT];
    Qnn_Tensor_t x = dense_in[0];
    x.v1.clientBuf.data = in;
    x.v1.clientBuf.dataSize = sizeof in;
    y.v1.clientBuf.data = out;
    y.v1.clientBuf.dataSize = sizeof out;
    check(qnn.graphExecute(graph, &x, 1, &y, 1, NULL, NULL), "graphExecute");
    printf("softmax(W x + b) =");
    for (int i = 0; i < N_OUT; i++)
        printf(" %.6f", out[i]);
    printf("\n");

    check(qnn.contextFree(context, NULL), "contextFree");
    check(qnn.backendFree(backend), "backendFree");
    dlclose(lib);
    return 0;
}
