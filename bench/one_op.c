// SPDX-License-Identifier: MIT
//
// Graphs of one op. Buffers hold pseudo-random quantized values or small floats.
#include "one_op.h"

#include "core/graph.h"
#include "base/cpu.h"
#include "bind/cpu/bind.h"
#include "compiler/compile.h"
#include "core/own.h"
#include "runtime/exec.h"

#include "QnnInterface.h"
#include "QnnOpDef.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const qb_form_names[QB_N_FORMS] = {"fp32", "u8s8", "u16s8", "u8s4", "fp32s8", "fp32s4"};

#define MAX_IO 4

struct qb_graph {
    QNN_INTERFACE_VER_TYPE qnn;
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t context;
    Qnn_GraphHandle_t handle;
    qrn_runner *runner;
    qrn_binding io[MAX_IO];
    uint32_t n_io;
    uint32_t shapes[8][4]; // of tensors, which point at them
    uint32_t n_shapes;
    void *owned[8]; // data of constants
    uint32_t n_owned;
    char kernels[128];
};

static const Qnn_DataType_t x_types[QB_N_FORMS] = {
    QNN_DATATYPE_FLOAT_32,       QNN_DATATYPE_UFIXED_POINT_8, QNN_DATATYPE_UFIXED_POINT_16,
    QNN_DATATYPE_UFIXED_POINT_8, QNN_DATATYPE_FLOAT_32,       QNN_DATATYPE_FLOAT_32};
static const Qnn_DataType_t w_types[QB_N_FORMS] = {
    QNN_DATATYPE_FLOAT_32,       QNN_DATATYPE_SFIXED_POINT_8, QNN_DATATYPE_SFIXED_POINT_8,
    QNN_DATATYPE_SFIXED_POINT_4, QNN_DATATYPE_SFIXED_POINT_8, QNN_DATATYPE_SFIXED_POINT_4};
static const unsigned x_bits[QB_N_FORMS] = {32, 8, 16, 8, 32, 32};
static const unsigned w_bits[QB_N_FORMS] = {32, 8, 8, 4, 8, 4};

static char text[160];

uint32_t qb_out_size(const qb_shape *s) {
    return (s->size + 2 * (s->kernel / 2) - s->kernel) / s->stride + 1;
}

static bool is_picture(const qb_shape *s) { return s->op == QB_CONV || s->op == QB_DEPTHWISE; }

double qb_macs(const qb_shape *s) {
    double out = is_picture(s) ? (double)qb_out_size(s) * qb_out_size(s) : s->size;
    switch (s->op) {
    case QB_CONV:
        return out * s->cout * s->cin * s->kernel * s->kernel;
    case QB_DEPTHWISE:
        return out * s->cout * s->kernel * s->kernel;
    case QB_DENSE:
    case QB_MATMUL:
        return out * s->cin * s->cout;
    default:
        return 0;
    }
}

double qb_bytes(const qb_shape *s) {
    double x = x_bits[s->form] / 8.0, w = w_bits[s->form] / 8.0, cells = (double)s->size * s->size;
    double out = is_picture(s) ? (double)qb_out_size(s) * qb_out_size(s) : s->size;
    switch (s->op) {
    case QB_CONV:
        return cells * s->cin * x + out * s->cout * x +
               (double)s->kernel * s->kernel * s->cin * s->cout * w;
    case QB_DEPTHWISE:
        return (cells + out) * s->cin * x + (double)s->kernel * s->kernel * s->cin * w;
    case QB_DENSE:
        return out * (s->cin + (double)s->cout) * x + (double)s->cin * s->cout * w;
    case QB_MATMUL:
        return (out * (s->cin + (double)s->cout) + (double)s->cin * s->cout) * x;
    case QB_ADD:
        return 3 * cells * s->cin * x;
    default:
        return 2 * cells * s->cin * x;
    }
}

static void fill(void *data, size_t bytes, bool floats) {
    uint32_t seed = 12345;
    for (size_t i = 0; i < bytes / 4; i++) {
        seed = seed * 1664525u + 1013904223u;
        uint32_t bits = seed ^ seed >> 15;
        float real = (float)(seed >> 16) / 32768.0f - 1.0f;
        memcpy((char *)data + 4 * i, floats ? (const void *)&real : &bits, 4);
    }
}

// Scales without a common measure: results on the borders between quantized values are as rare as
// in real models. Codes of 16 bits span what 8 would, so that results stay within their range.
static void encode(Qnn_Tensor_t *t, qb_form form, float scale, bool weights) {
    if (t->v1.dataType == QNN_DATATYPE_FLOAT_32)
        return;
    bool is16 = !weights && form == QB_U16S8;
    t->v1.quantizeParams.encodingDefinition = QNN_DEFINITION_DEFINED;
    t->v1.quantizeParams.quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
    t->v1.quantizeParams.scaleOffsetEncoding =
        (Qnn_ScaleOffset_t){is16 ? scale / 256 : scale, weights ? 0
                                                        : is16  ? -32768
                                                                : -128};
}

static Qnn_Tensor_t tensor(qb_graph *g, const char *name, Qnn_TensorType_t type,
                           Qnn_DataType_t dtype, uint32_t rank, const uint32_t *dims) {
    Qnn_Tensor_t t = QNN_TENSOR_INIT;
    uint32_t *shape = memcpy(g->shapes[g->n_shapes++], dims, rank * sizeof *dims);
    t.v1.name = name;
    t.v1.type = type;
    t.v1.dataType = dtype;
    t.v1.rank = rank;
    t.v1.dimensions = shape;
    t.v1.memType = QNN_TENSORMEMTYPE_RAW;
    return t;
}

static bool add_tensor(qb_graph *g, Qnn_Tensor_t *t) {
    return g->qnn.tensorCreateGraphTensor(g->handle, t) == QNN_SUCCESS;
}

static bool add_constant(qb_graph *g, Qnn_Tensor_t *t, unsigned bits, const void *data) {
    size_t count = 1;
    for (uint32_t d = 0; d < t->v1.rank; d++)
        count *= t->v1.dimensions[d];
    size_t bytes = (count * bits + 7) / 8;
    void *copy = g->owned[g->n_owned++] = malloc(bytes + 4);
    if (!copy)
        return false;
    if (data)
        memcpy(copy, data, bytes);
    else
        fill(copy, bytes + 3, t->v1.dataType == QNN_DATATYPE_FLOAT_32);
    t->v1.clientBuf.data = copy;
    t->v1.clientBuf.dataSize = (uint32_t)bytes;
    return add_tensor(g, t);
}

static const char *const op_names[] = {
    [QB_CONV] = QNN_OP_CONV_2D,          [QB_DEPTHWISE] = QNN_OP_DEPTH_WISE_CONV_2D,
    [QB_DENSE] = QNN_OP_FULLY_CONNECTED, [QB_MATMUL] = QNN_OP_MAT_MUL,
    [QB_ADD] = QNN_OP_ELEMENT_WISE_ADD,  [QB_MULTIPLY] = QNN_OP_ELEMENT_WISE_MULTIPLY,
    [QB_SIGMOID] = QNN_OP_SIGMOID,
};

static bool add_parameter(qb_graph *g, Qnn_Param_t *p, const char *name, uint32_t rank,
                          const uint32_t *values) {
    static const uint32_t twos[2] = {2, 2};
    *p = (Qnn_Param_t)QNN_PARAM_INIT;
    p->paramType = QNN_PARAMTYPE_TENSOR;
    p->name = name;
    p->tensorParam = tensor(g, name, QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_UINT_32, rank, twos);
    return add_constant(g, &p->tensorParam, 32, values);
}

// The tensors of the node: inputs, then the output.
static bool add_operands(qb_graph *g, const qb_shape *s, Qnn_Tensor_t in[2], uint32_t *n_in,
                         Qnn_Tensor_t *out) {
    bool picture = s->op != QB_DENSE && s->op != QB_MATMUL;
    uint32_t side = is_picture(s) ? qb_out_size(s) : s->size;
    uint32_t channels = is_picture(s) || !picture ? s->cout : s->cin;
    uint32_t x[4] = {1, s->size, s->size, s->cin}, y[4] = {1, side, side, channels};
    uint32_t rows_x[2] = {s->size, s->cin}, rows_y[2] = {s->size, s->cout};
    uint32_t filter[4] = {s->kernel, s->kernel, s->op == QB_DEPTHWISE ? 1 : s->cin, s->cout};
    uint32_t matrix[2] = {s->op == QB_DENSE ? s->cout : s->cin,
                          s->op == QB_DENSE ? s->cin : s->cout};
    uint32_t pixel[4] = {1, s->op == QB_ADD ? s->size : 1, s->op == QB_ADD ? s->size : 1, s->cin};
    Qnn_DataType_t xt = x_types[s->form], wt = w_types[s->form];
    bool constant = is_picture(s) || s->op == QB_DENSE;
    in[0] = tensor(g, "x", QNN_TENSOR_TYPE_APP_WRITE, xt, picture ? 4 : 2, picture ? x : rows_x);
    in[1] = tensor(g, "w", constant ? QNN_TENSOR_TYPE_STATIC : QNN_TENSOR_TYPE_APP_WRITE,
                   constant ? wt : xt, picture ? 4 : 2,
                   is_picture(s) ? filter
                   : picture     ? pixel
                                 : matrix);
    *out = tensor(g, "y", QNN_TENSOR_TYPE_APP_READ, xt, picture ? 4 : 2, picture ? y : rows_y);
    encode(&in[0], s->form, 0.01873f, false);
    encode(&in[1], s->form, 0.02141f, constant);
    encode(out, s->form, constant ? 1.3127f : 0.02319f, false); // coarser for sums of many products
    *n_in = s->op == QB_SIGMOID ? 1 : 2;
    return add_tensor(g, &in[0]) &&
           (*n_in == 1 ||
            (constant ? add_constant(g, &in[1], w_bits[s->form], NULL) : add_tensor(g, &in[1]))) &&
           add_tensor(g, out);
}

static bool add_node(qb_graph *g, const qb_shape *s) {
    Qnn_Tensor_t in[2], out;
    Qnn_Param_t params[2];
    uint32_t n_in, pad = s->kernel / 2;
    bool picture = is_picture(s);
    if (!add_operands(g, s, in, &n_in, &out))
        return false;
    if (picture && (!add_parameter(g, &params[0], QNN_OP_CONV_2D_PARAM_STRIDE, 1,
                                   (uint32_t[]){s->stride, s->stride}) ||
                    !add_parameter(g, &params[1], QNN_OP_CONV_2D_PARAM_PAD_AMOUNT, 2,
                                   (uint32_t[]){pad, pad, pad, pad})))
        return false;
    Qnn_OpConfig_t c = QNN_OPCONFIG_INIT;
    c.v1.name = "op";
    c.v1.packageName = QNN_OP_PACKAGE_NAME_QTI_AISW;
    c.v1.typeName = op_names[s->op];
    c.v1.numOfParams = picture ? 2 : 0;
    c.v1.params = params;
    c.v1.numOfInputs = n_in;
    c.v1.inputTensors = in;
    c.v1.numOfOutputs = 1;
    c.v1.outputTensors = &out;
    return g->qnn.graphAddNode(g->handle, c) == QNN_SUCCESS;
}

static bool compile(qb_graph *g) {
    const qrn_api_graph *object = qrn_handle_get(QRN_KIND_GRAPH, g->handle);
    qrn_cpu_options cpu = {.isa = qrn_cpu_isa(), .n_threads = 1, .winograd = true};
    qrn_compiled *cg = NULL;
    qrn_plan *p = NULL;
    if (!object || qrn_compile(object->ir, &(qrn_compile_options){0}, &cg) != QRN_OK)
        return false;
    if (qrn_bind_cpu(cg, &cpu, &p) != QRN_OK || qrn_runner_create(p, &g->runner) != QRN_OK) {
        qrn_compiled_destroy(cg);
        return false;
    }
    qrn_runner_finish(g->runner, NULL, NULL, NULL);
    for (uint32_t i = 0, n = 0; i < p->n_steps && n < sizeof g->kernels; i++)
        n += (uint32_t)snprintf(g->kernels + n, sizeof g->kernels - n, "%s%s", n ? ", " : "",
                                p->steps[i].kernel->name);
    for (uint32_t i = 0; i < p->n_io && i < MAX_IO; i++) {
        const qrn_value *v = &p->values[p->io[i].value];
        size_t bytes = (v->size_bytes + 63) / 64 * 64;
        g->io[i].memory.host = aligned_alloc(64, bytes);
        g->n_io++;
        if (!g->io[i].memory.host)
            return false;
        fill(g->io[i].memory.host, bytes, v->view.dtype == QRN_DTYPE_F32);
    }
    return true;
}

qb_graph *qb_graph_make(const qb_shape *s, const char **why) {
    const QnnInterface_t **list = NULL;
    uint32_t n = 0;
    qb_graph *g = calloc(1, sizeof *g);
    *why = "out of memory";
    if (!g)
        return NULL;
    if (QnnInterface_getProviders(&list, &n) == QNN_SUCCESS && n) {
        g->qnn = list[0]->QNN_INTERFACE_VER_NAME;
        if (g->qnn.backendCreate(NULL, NULL, &g->backend) == QNN_SUCCESS &&
            g->qnn.contextCreate(g->backend, NULL, NULL, &g->context) == QNN_SUCCESS &&
            g->qnn.graphCreate(g->context, "one", NULL, &g->handle) == QNN_SUCCESS &&
            add_node(g, s) && compile(g))
            return g;
    }
    snprintf(text, sizeof text, "%s", qrn_message()[0] ? qrn_message() : "the library refused it");
    *why = text;
    qb_graph_free(g);
    return NULL;
}

void qb_graph_run(qb_graph *g) {
    static const qrn_run_options alone; // no pool: one thread
    qrn_runner_run(g->runner, g->io, &alone);
}

const char *qb_graph_kernels(const qb_graph *g) { return g->kernels; }

void qb_graph_free(qb_graph *g) {
    if (!g)
        return;
    qrn_runner_destroy(g->runner);
    if (g->context)
        g->qnn.contextFree(g->context, NULL);
    if (g->backend)
        g->qnn.backendFree(g->backend);
    for (uint32_t i = 0; i < g->n_io; i++)
        free(g->io[i].memory.host);
    for (uint32_t i = 0; i < g->n_owned; i++)
        free(g->owned[i]);
    free(g);
}
