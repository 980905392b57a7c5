// SPDX-License-Identifier: MIT
//
// The little that every client test needs: the function table, tensors, nodes. cmocka asserts.
#ifndef QRN_TESTS_QNN_CLIENT_H
#define QRN_TESTS_QNN_CLIENT_H

#include "QnnInterface.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef QNN_INTERFACE_VER_TYPE qnn_table;

// Path of a library in $QUERN_LIB_DIR; static buffer.
static inline const char *lib_path(const char *name) {
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", getenv("QUERN_LIB_DIR"), name);
    return path;
}

static inline void *open_named(const char *name, qnn_table *qnn) {
    void *lib = dlopen(lib_path(name), RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        fail_msg("%s", dlerror());
    Qnn_ErrorHandle_t (*get)(const QnnInterface_t ***, uint32_t *) = (Qnn_ErrorHandle_t(*)(
        const QnnInterface_t ***, uint32_t *))dlsym(lib, "QnnInterface_getProviders");
    const QnnInterface_t **list;
    uint32_t n;
    assert_int_equal(get(&list, &n), QNN_SUCCESS);
    assert_int_equal(n, 1);
    *qnn = list[0]->QNN_INTERFACE_VER_NAME;
    return lib;
}

static inline void *open_library(qnn_table *qnn) { return open_named("libQnnCpu.so", qnn); }

static inline Qnn_Tensor_t describe(const char *name, Qnn_TensorType_t type, Qnn_DataType_t dtype,
                                    uint32_t rank, uint32_t *dims) {
    Qnn_Tensor_t t = QNN_TENSOR_INIT;
    t.v1.name = name;
    t.v1.type = type;
    t.v1.dataType = dtype;
    t.v1.rank = rank;
    t.v1.dimensions = dims;
    t.v1.memType = QNN_TENSORMEMTYPE_RAW;
    return t;
}

// A tensor of unsigned 8-bit values.
static inline Qnn_Tensor_t describe_u8(const char *name, Qnn_TensorType_t type, uint32_t rank,
                                       uint32_t *dims, float scale, int32_t offset) {
    Qnn_Tensor_t t = describe(name, type, QNN_DATATYPE_UFIXED_POINT_8, rank, dims);
    t.v1.quantizeParams.encodingDefinition = QNN_DEFINITION_DEFINED;
    t.v1.quantizeParams.quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
    t.v1.quantizeParams.scaleOffsetEncoding = (Qnn_ScaleOffset_t){scale, offset};
    return t;
}

// A float tensor registered with the graph.
static inline Qnn_Tensor_t tensor(const qnn_table *qnn, Qnn_GraphHandle_t g, const char *name,
                                  Qnn_TensorType_t type, uint32_t rank, uint32_t *dims) {
    Qnn_Tensor_t t = describe(name, type, QNN_DATATYPE_FLOAT_32, rank, dims);
    assert_int_equal(qnn->tensorCreateGraphTensor(g, &t), QNN_SUCCESS);
    return t;
}

static inline Qnn_OpConfig_t op_config(const char *name, const char *package, const char *type,
                                       Qnn_Tensor_t *in, uint32_t n_in, Qnn_Tensor_t *out,
                                       uint32_t n_out) {
    Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
    op.v1.name = name;
    op.v1.packageName = package;
    op.v1.typeName = type;
    op.v1.numOfInputs = n_in;
    op.v1.inputTensors = in;
    op.v1.numOfOutputs = n_out;
    op.v1.outputTensors = out;
    return op;
}

static inline void node(const qnn_table *qnn, Qnn_GraphHandle_t g, const char *name,
                        const char *type, Qnn_Tensor_t *in, Qnn_Tensor_t *out) {
    assert_int_equal(
        qnn->graphAddNode(g, op_config(name, QNN_OP_PACKAGE_NAME_QTI_AISW, type, in, 1, out, 1)),
        QNN_SUCCESS);
}

static inline void set_buffer(Qnn_Tensor_t *t, void *data, size_t bytes) {
    t->v1.clientBuf = (Qnn_ClientBuffer_t){data, (uint32_t)bytes};
}

#endif
