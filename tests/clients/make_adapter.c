// SPDX-License-Identifier: MIT
//
// Writes the files of a LoRA test: a context binary whose weights may be updated, and the section
// with other weights for it.
//
//     make_adapter LIBRARY BASE.raw OTHER.raw MODEL.bin ADAPTER.bin
//
// The graph "lora" is y = x . w, codes of 8 bits: x [1, 16] of scale 1/64 and offset -128, w [4,
// 16] of scale 1/64 and offset -128 from BASE.raw or OTHER.raw, y [1, 4] of scale 1/8 and offset
// -128. Prints what fails.
#include "HTP/QnnHtpDevice.h"
#include "QnnInterface.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define N_IN 16u
#define N_OUT 4u
#define SM8650 57u
#define CHECK(call)                                                                                \
    do {                                                                                           \
        Qnn_ErrorHandle_t error_ = (call);                                                         \
        if (error_ != QNN_SUCCESS) {                                                               \
            fprintf(stderr, "%s: error %u\n", #call, (unsigned)QNN_GET_ERROR_CODE(error_));        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

typedef QNN_INTERFACE_VER_TYPE table;

static table open_library(const char *path) {
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    Qnn_ErrorHandle_t (*get)(const QnnInterface_t ***, uint32_t *) = (Qnn_ErrorHandle_t(*)(
        const QnnInterface_t ***, uint32_t *))dlsym(lib, "QnnInterface_getProviders");
    const QnnInterface_t **list;
    uint32_t n;
    CHECK(get(&list, &n));
    return list[0]->QNN_INTERFACE_VER_NAME;
}

static void read_file(const char *path, void *data, size_t size) {
    FILE *f = fopen(path, "rb");
    if (!f || fread(data, 1, size, f) != size) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(1);
    }
    fclose(f);
}

static void write_file(const char *path, const void *data, size_t size) {
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, size, f) != size || fclose(f) != 0) {
        fprintf(stderr, "%s: cannot be written\n", path);
        exit(1);
    }
}

static Qnn_Tensor_t tensor(const table *qnn, Qnn_GraphHandle_t g, const char *name,
                           Qnn_TensorType_t type, uint32_t dims[2], float scale, uint8_t *data) {
    Qnn_Tensor_t t = QNN_TENSOR_INIT;
    t.v1.name = name;
    t.v1.type = type;
    t.v1.dataType = QNN_DATATYPE_UFIXED_POINT_8;
    t.v1.quantizeParams.encodingDefinition = QNN_DEFINITION_DEFINED;
    t.v1.quantizeParams.quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
    t.v1.quantizeParams.scaleOffsetEncoding = (Qnn_ScaleOffset_t){scale, -128};
    t.v1.rank = 2;
    t.v1.dimensions = dims;
    t.v1.memType = QNN_TENSORMEMTYPE_RAW;
    if (data)
        t.v1.clientBuf = (Qnn_ClientBuffer_t){data, dims[0] * dims[1]};
    CHECK(qnn->tensorCreateGraphTensor(g, &t));
    return t;
}

static Qnn_ContextHandle_t build(const table *qnn, Qnn_BackendHandle_t backend,
                                 Qnn_DeviceHandle_t device, uint8_t *weights,
                                 Qnn_GraphHandle_t *graph) {
    uint32_t x_dims[] = {1, N_IN}, w_dims[] = {N_OUT, N_IN}, y_dims[] = {1, N_OUT};
    Qnn_ContextHandle_t context;
    CHECK(qnn->contextCreate(backend, device, NULL, &context));
    CHECK(qnn->graphCreate(context, "lora", NULL, graph));
    Qnn_Tensor_t in[2], y;
    in[0] = tensor(qnn, *graph, "x", QNN_TENSOR_TYPE_APP_WRITE, x_dims, 1.0f / 64, NULL);
    in[1] = tensor(qnn, *graph, "w", QNN_TENSOR_TYPE_UPDATEABLE_STATIC, w_dims, 1.0f / 64, weights);
    y = tensor(qnn, *graph, "y", QNN_TENSOR_TYPE_APP_READ, y_dims, 1.0f / 8, NULL);
    Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
    op.v1.name = "product";
    op.v1.packageName = "qti.aisw";
    op.v1.typeName = "FullyConnected";
    op.v1.numOfInputs = 2;
    op.v1.inputTensors = in;
    op.v1.numOfOutputs = 1;
    op.v1.outputTensors = &y;
    CHECK(qnn->graphAddNode(*graph, op));
    CHECK(qnn->graphFinalize(*graph, NULL, NULL));
    return context;
}

static void write_binary(const table *qnn, Qnn_ContextHandle_t context, const char *path) {
    Qnn_ContextBinarySize_t size, written;
    CHECK(qnn->contextGetBinarySize(context, &size));
    void *data = malloc(size);
    CHECK(qnn->contextGetBinary(context, data, size, &written));
    write_file(path, data, written);
    free(data);
}

static void write_section(const table *qnn, Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph,
                          const char *path) {
    Qnn_ContextBinarySize_t size, written;
    CHECK(qnn->contextGetBinarySectionSize(context, graph, QNN_CONTEXT_SECTION_UPDATABLE, &size));
    void *data = malloc(size);
    QnnContext_Buffer_t buffer = {
        .version = QNN_CONTEXT_BUFFER_VERSION_1,
        .v1 = {.memType = QNN_CONTEXTMEMTYPE_RAW, .binaryBuf = {data, size}}};
    CHECK(qnn->contextGetBinarySection(context, graph, QNN_CONTEXT_SECTION_UPDATABLE, &buffer,
                                       &written, NULL, NULL));
    write_file(path, data, written);
    free(data);
}

int main(int argc, char **argv) {
    if (argc != 6)
        return 2;
    table qnn = open_library(argv[1]);
    QnnHtpDevice_CustomConfig_t custom = {.option = QNN_HTP_DEVICE_CONFIG_OPTION_SOC,
                                          .socModel = SM8650};
    QnnDevice_Config_t config = {.option = QNN_DEVICE_CONFIG_OPTION_CUSTOM,
                                 .customConfig = &custom};
    const QnnDevice_Config_t *configs[] = {&config, NULL};
    Qnn_BackendHandle_t backend;
    Qnn_DeviceHandle_t device;
    CHECK(qnn.backendCreate(NULL, NULL, &backend));
    CHECK(qnn.deviceCreate(NULL, configs, &device));
    uint8_t weights[N_OUT * N_IN];
    Qnn_GraphHandle_t graph;
    read_file(argv[2], weights, sizeof weights);
    Qnn_ContextHandle_t context = build(&qnn, backend, device, weights, &graph);
    write_binary(&qnn, context, argv[4]);
    CHECK(qnn.contextFree(context, NULL));
    read_file(argv[3], weights, sizeof weights);
    context = build(&qnn, backend, device, weights, &graph);
    write_section(&qnn, context, graph, argv[5]);
    CHECK(qnn.contextFree(context, NULL));
    CHECK(qnn.deviceFree(device));
    CHECK(qnn.backendFree(backend));
    return 0;
}
