// SPDX-License-Identifier: MIT
//
// run_package BACKEND PACKAGE PROVIDER NAME OP: registers a package and runs one of the ops of
// ops.xml on x[i] = i - 2.5 of [2, 6]; prints the outputs, one line each. ScaleShift has scale 3
// and its default shift, Halves its default mode. Exit code 1 with the number of a failure.
#include "QnnInterface.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static QNN_INTERFACE_VER_TYPE qnn;

static void must(Qnn_ErrorHandle_t e, const char *what) {
    if (e == QNN_SUCCESS)
        return;
    printf("%s failed: %llu\n", what, (unsigned long long)QNN_GET_ERROR_CODE(e));
    exit(1);
}

static Qnn_Tensor_t tensor(Qnn_GraphHandle_t g, const char *name, Qnn_TensorType_t type,
                           uint32_t *dims) {
    Qnn_Tensor_t t = QNN_TENSOR_INIT;
    t.v1.name = name;
    t.v1.type = type;
    t.v1.dataType = QNN_DATATYPE_FLOAT_32;
    t.v1.rank = 2;
    t.v1.dimensions = dims;
    t.v1.memType = QNN_TENSORMEMTYPE_RAW;
    must(qnn.tensorCreateGraphTensor(g, &t), "tensorCreateGraphTensor");
    return t;
}

static void open_backend(const char *path) {
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        printf("%s\n", dlerror());
        exit(1);
    }
    Qnn_ErrorHandle_t (*get)(const QnnInterface_t ***, uint32_t *) = (Qnn_ErrorHandle_t(*)(
        const QnnInterface_t ***, uint32_t *))dlsym(lib, "QnnInterface_getProviders");
    const QnnInterface_t **list;
    uint32_t n;
    must(get(&list, &n), "getProviders");
    qnn = list[0]->QNN_INTERFACE_VER_NAME;
}

int main(int argc, char **argv) {
    if (argc != 6)
        return 2;
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t context;
    Qnn_GraphHandle_t g;
    int halves = strcmp(argv[5], "Halves") == 0;
    uint32_t dims[] = {2, 6}, half[] = {2, 3};
    float in[12], out[2][12];
    open_backend(argv[1]);
    must(qnn.backendCreate(NULL, NULL, &backend), "backendCreate");
    must(qnn.backendRegisterOpPackage(backend, argv[2], argv[3], NULL), "registerOpPackage");
    must(qnn.contextCreate(backend, NULL, NULL, &context), "contextCreate");
    must(qnn.graphCreate(context, "g", NULL, &g), "graphCreate");
    Qnn_Tensor_t x = tensor(g, "x", QNN_TENSOR_TYPE_APP_WRITE, dims);
    Qnn_Tensor_t y[2] = {tensor(g, "y", QNN_TENSOR_TYPE_APP_READ, halves ? half : dims)};
    if (halves)
        y[1] = tensor(g, "z", QNN_TENSOR_TYPE_APP_READ, half);
    Qnn_Param_t scale = {.paramType = QNN_PARAMTYPE_SCALAR,
                         .name = "scale",
                         .scalarParam = {.dataType = QNN_DATATYPE_FLOAT_32, .floatValue = 3}};
    Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
    op.v1.name = "node";
    op.v1.packageName = argv[4];
    op.v1.typeName = argv[5];
    op.v1.numOfInputs = 1;
    op.v1.inputTensors = &x;
    op.v1.numOfOutputs = halves ? 2 : 1;
    op.v1.outputTensors = y;
    if (!halves) { // without its mandatory parameter it is not valid
        if (QNN_GET_ERROR_CODE(qnn.backendValidateOpConfig(backend, op)) == QNN_SUCCESS)
            must(1, "the check of parameters");
        op.v1.numOfParams = 1;
        op.v1.params = &scale;
    }
    must(qnn.graphAddNode(g, op), "graphAddNode");
    must(qnn.graphFinalize(g, NULL, NULL), "graphFinalize");
    for (int i = 0; i < 12; i++)
        in[i] = (float)i - 2.5f;
    x.v1.clientBuf = (Qnn_ClientBuffer_t){in, sizeof in};
    uint32_t bytes = halves ? sizeof in / 2 : sizeof in;
    for (uint32_t i = 0; i < op.v1.numOfOutputs; i++)
        y[i].v1.clientBuf = (Qnn_ClientBuffer_t){out[i], bytes};
    must(qnn.graphExecute(g, &x, 1, y, op.v1.numOfOutputs, NULL, NULL), "graphExecute");
    for (uint32_t i = 0; i < op.v1.numOfOutputs; i++) {
        for (uint32_t k = 0; k < bytes / sizeof(float); k++)
            printf("%.9g ", (double)out[i][k]);
        printf("\n");
    }
    must(qnn.contextFree(context, NULL), "contextFree");
    must(qnn.backendFree(backend), "backendFree");
    return 0;
}
