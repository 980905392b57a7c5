// SPDX-License-Identifier: MIT
//
// Ops of a package that store tensors in every form. Parameters "type" and "layout" are numbers of
// the API's enums. x has rank 4 (N H W C) or less or, for layouts with D, 5.
//   Form    y = 2 x + 1, claimed in that form ("half" 1: in fp16)
//   Unform  y = x + 0.5, plain; x is read in the form that storageTypes names
//   Tiled   y = 2 x + 1 of [1, 4, 6, C], claimed as four images of at most 2 x 4 pixels
//   Alias   y = 3 x + 1 through memory that has two names
//   InPlace y = 5 x, computed in the memory of x
//   Dynamic y = x + number + work items; form_dynamic is its kernel
//   Binary  y = x + 1 by a kernel in form_binary; form_text is its text
//   Args    y = the sum of ten numbers of ten types
//   Fails   an output that no kernel writes
// Relu and ElementWiseNeg behind it are one super node, which stores the result in layout CHW.
#include "GPU/QnnGpuOpPackage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT extern QnnGpu_Kernel_t *form_dynamic;
EXPORT extern const void *form_binary;
EXPORT extern size_t form_binary_bytes;
EXPORT extern const char form_text[];
EXPORT extern QnnGpuOpPackage_PackageInfo_t form_package_info;

QnnGpu_Kernel_t *form_dynamic;
const void *form_binary;
size_t form_binary_bytes;
const char form_text[] = "__kernel void plus_one(__global const float *x, __global float *y) {\n"
                         "    y[get_global_id(0)] = x[get_global_id(0)] + 1;\n"
                         "}\n";
QnnGpuOpPackage_PackageInfo_t form_package_info = {.kernelRepoHash = "first"};

#define MOST 6

typedef struct impl {
    QnnGpu_Operation_t operation; // first: the backend's pointer is a pointer to the impl
    QnnGpu_OutputClaim_t claim, *claims[2];
    QnnGpu_MemoryObject_t output, internal[2], *internals[3];
    QnnGpu_Kernel_t kernel[MOST], *kernels[MOST + 1];
    QnnGpu_KernelArg_t arg[MOST][20], *args[MOST][21];
    uint32_t n_args[MOST];
    uint32_t offsets[5];
    char text[3000];
} impl;

static QnnGpu_KernelArg_t *add(impl *m, unsigned k, QnnGpu_KernelArgType_t type) {
    QnnGpu_KernelArg_t *a = &m->arg[k][m->n_args[k]];
    m->args[k][m->n_args[k]++] = a;
    a->type = type;
    return a;
}

static void add_tensor(impl *m, unsigned k, QnnGpu_KernelArgType_t type, uint32_t index,
                       uint32_t element) {
    add(m, k, type)->tensor = (QnnGpu_TensorKernelArg_t){.tensorIndex = index, .element = element};
}

static void add_int(impl *m, unsigned k, uint32_t v) {
    QnnGpu_KernelArg_t *a = add(m, k, QNN_GPU_KERNEL_ARG_TYPE_DATA);
    a->data.type = QNN_GPU_KERNEL_ARG_CL_TYPE_INT;
    a->data.qnnInt = (int32_t)v;
}

static void set_kernel(impl *m, unsigned k, const char *name, const char *text, size_t work) {
    m->kernel[k] = (QnnGpu_Kernel_t){.kernelSource = text,
                                     .sourceLength = strlen(text),
                                     .buildOptions = "-cl-std=CL1.2",
                                     .globalWorkDim = 1,
                                     .globalWorkSizes = {work},
                                     .args = m->args[k],
                                     .name = name};
    m->kernels[k] = &m->kernel[k];
}

static uint32_t number(const Qnn_OpConfigV1_t *op, const char *name, uint32_t fallback) {
    for (uint32_t i = 0; i < op->numOfParams; i++)
        if (strcmp(op->params[i].name, name) == 0)
            return op->params[i].scalarParam.uint32Value;
    return fallback;
}

static size_t count_of(const Qnn_Tensor_t *t) {
    size_t n = 1;
    for (uint32_t i = 0; i < t->v1.rank; i++)
        n *= t->v1.dimensions[i];
    return n;
}

static QnnGpu_MemoryObject_t object(const Qnn_Tensor_t *t, const char *name) {
    return (QnnGpu_MemoryObject_t){.type = QNN_GPU_MEM_OBJ_TYPE_BUFFER,
                                   .dataType = QNN_DATATYPE_FLOAT_32,
                                   .dimensions = t->v1.dimensions,
                                   .numDimensions = t->v1.rank,
                                   .layout = QNN_GPU_MEM_LAYOUT_HWC,
                                   .name = name};
}

// --- where an element of a form is: n, d, h, w, channel c, slice s of four channels; b is n and d
// in one

static const char *const at_buffer[] = {
    "((b * H + h) * W + w) * C + c", "((b * H + h) * C + c) * W + w",
    "((b * C + c) * H + h) * W + w", "(((b * S + s) * H + h) * W + w) * 4 + k",
    "((b * H + h) * W + w) * C + c", "(((n * C + c) * D + d) * H + h) * W + w"};
static const char *const at_2d[] = {
    "(int2)(w * S + s, b * H + h)",   "(int2)(s * W + w, b * H + h)",
    "(int2)(w, (b * S + s) * H + h)", "(int2)(w, (b * S + s) * H + h)",
    "(int2)(w * S + s, b * H + h)",   "(int2)(w, ((n * S + s) * D + d) * H + h)"};
static const char *const at_array[] = {
    "(int4)(w * S + s, h, b, 0)", "(int4)(s * W + w, h, b, 0)",
    "(int4)(w, h, b * S + s, 0)", "(int4)(w, h, b * S + s, 0)",
    "(int4)(w * S + s, h, b, 0)", "(int4)(w, h, (n * S + s) * D + d, 0)"};
static const char *const at_1d[] = {
    "((b * H + h) * W + w) * S + s", "((b * H + h) * S + s) * W + w",
    "((b * S + s) * H + h) * W + w", "((b * S + s) * H + h) * W + w",
    "((b * H + h) * W + w) * S + s", "(((n * S + s) * D + d) * H + h) * W + w"};

static const char *at(uint32_t type, uint32_t layout) {
    return type == QNN_GPU_MEM_OBJ_TYPE_IMAGE2D          ? at_2d[layout]
           : type == QNN_GPU_MEM_OBJ_TYPE_IMAGE2D_ARRAY  ? at_array[layout]
           : type == QNN_GPU_MEM_OBJ_TYPE_IMAGE1D_BUFFER ? at_1d[layout]
                                                         : at_buffer[layout];
}

static const char *cl_type(uint32_t type, bool half, const char *access, const char *name) {
    static char text[64];
    bool image = type != QNN_GPU_MEM_OBJ_TYPE_BUFFER && type != QNN_GPU_MEM_OBJ_TYPE_HOST;
    snprintf(text, sizeof text, "%s %s%s", image ? access : "__global",
             type == QNN_GPU_MEM_OBJ_TYPE_IMAGE2D          ? "image2d_t "
             : type == QNN_GPU_MEM_OBJ_TYPE_IMAGE2D_ARRAY  ? "image2d_array_t "
             : type == QNN_GPU_MEM_OBJ_TYPE_IMAGE1D_BUFFER ? "image1d_buffer_t "
             : half                                        ? "half *"
                                                           : "float *",
             name);
    return text;
}

static bool is_image(uint32_t type) {
    return type >= QNN_GPU_MEM_OBJ_TYPE_IMAGE2D && type <= QNN_GPU_MEM_OBJ_TYPE_IMAGE1D_BUFFER;
}

// A text from its three parts: how the form is declared, what is done to four channels from 4 * s
// on, and with which element of the form.
static void write_text(impl *m, const char *head, const char *declared, const char *body,
                       const char *where) {
    static const char open[] =
        ", const int N, const int D, const int H, const int W, const int C) {\n"
        "    int S = (C + 3) / 4, i = get_global_id(0), s = i % S;\n"
        "    i /= S;\n"
        "    int w = i % W, h = i / W % H, d = i / W / H % D, n = i / W / H / D;\n"
        "    int b = n * D + d;\n"
        "    int plain = (((n * D + d) * H + h) * W + w) * C;\n"
        "    float v[4];\n"
        "    for (int k = 0, c = 4 * s; k < 4; k++, c++)\n";
    snprintf(m->text, sizeof m->text, "#define AT %s\n%s, %s%s%s}\n", where, head, declared, open,
             body);
}

// Of a tensor of rank 5 or less: N D H W C.
static void add_shape(impl *m, unsigned k, const Qnn_Tensor_t *t, size_t *work) {
    uint32_t all[5] = {1, 1, 1, 1, 1}, rank = t->v1.rank;
    for (uint32_t d = 0; d < rank; d++)
        all[rank == 4 && d == 0 ? 0 : 5 - rank + d] = t->v1.dimensions[d];
    *work = (size_t)all[0] * all[1] * all[2] * all[3] * ((all[4] + 3) / 4);
    for (int i = 0; i < 5; i++)
        add_int(m, k, all[i]);
}

static void make_form(impl *m, const Qnn_OpConfigV1_t *op) {
    uint32_t type = number(op, "type", QNN_GPU_MEM_OBJ_TYPE_BUFFER);
    uint32_t layout = number(op, "layout", QNN_GPU_MEM_LAYOUT_HWC), half = number(op, "half", 0);
    size_t work;
    m->output.type = (QnnGpu_MemoryObjectType_t)type;
    m->output.layout = (QnnGpu_MemoryLayout_t)layout;
    if (half)
        m->output.dataType = QNN_DATATYPE_FLOAT_16;
    write_text(m, "__kernel void form(__global const float *x",
               cl_type(type, half, "__write_only", "y"),
               is_image(type) ? "        v[k] = c < C ? 2 * x[plain + c] + 1 : 77;\n"
                                "    write_imagef(y, AT, (float4)(v[0], v[1], v[2], v[3]));\n"
               : half         ? "        if (c < C)\n"
                                "            vstore_half(2 * x[plain + c] + 1, AT, y);\n"
                              : "        if (c < C)\n"
                                "            y[AT] = 2 * x[plain + c] + 1;\n",
               at(type, layout));
    add_tensor(m, 0, QNN_GPU_KERNEL_ARG_TYPE_OP_INPUT_READ, 0, 0);
    add_tensor(m, 0, QNN_GPU_KERNEL_ARG_TYPE_OP_OUTPUT_WRITE, 0, 0);
    add_shape(m, 0, &op->inputTensors[0], &work);
    set_kernel(m, 0, "form", m->text, work);
}

static void make_unform(impl *m, const Qnn_OpConfigV1_t *op, const QnnGpu_MemoryObject_t *x) {
    bool half = x->dataType == QNN_DATATYPE_FLOAT_16;
    size_t work;
    write_text(m, "__kernel void unform(__global float *y",
               cl_type(x->type, half, "__read_only", "x"),
               is_image(x->type) ? "        if (c < C) {\n"
                                   "            vstore4(read_imagef(x, AT), 0, v);\n"
                                   "            y[plain + c] = v[k] + 0.5f;\n"
                                   "        }\n"
               : half            ? "        if (c < C)\n"
                                   "            y[plain + c] = vload_half(AT, x) + 0.5f;\n"
                                 : "        if (c < C)\n"
                                   "            y[plain + c] = x[AT] + 0.5f;\n",
               at(x->type, x->layout));
    add_tensor(m, 0, QNN_GPU_KERNEL_ARG_TYPE_OP_OUTPUT_WRITE, 0, 0);
    add_tensor(m, 0, QNN_GPU_KERNEL_ARG_TYPE_OP_INPUT_READ, 0, 0);
    add_shape(m, 0, &op->inputTensors[0], &work);
    set_kernel(m, 0, "unform", m->text, work);
}

// --- the others

static const char tile_text[] =
    "__kernel void tile(__global const float *x, __write_only image2d_t y, const int h0,\n"
    "                   const int w0, const int H, const int W, const int C, const int full) {\n"
    "    int S = (C + 3) / 4, i = get_global_id(0), s = i % S, w = i / S % W, h = i / S / W;\n"
    "    float v[4];\n"
    "    for (int k = 0; k < 4; k++)\n"
    "        v[k] = 4 * s + k < C ? 2 * x[((h0 + h) * full + w0 + w) * C + 4 * s + k] + 1 : 0;\n"
    "    write_imagef(y, (int2)(w * S + s, h), (float4)(v[0], v[1], v[2], v[3]));\n"
    "}\n";

static void make_tiled(impl *m, const Qnn_OpConfigV1_t *op) {
    const uint32_t *d = op->inputTensors[0].v1.dimensions;
    memcpy(m->offsets, (uint32_t[]){0, 2, 4, 0}, 4 * sizeof *m->offsets);
    m->output.type = QNN_GPU_MEM_OBJ_TYPE_AGGREGATED_IMAGE2D;
    m->output.offsets = m->offsets;
    for (uint32_t e = 0; e < 4; e++) {
        uint32_t h = e / 2 * 2, w = e % 2 * 4, wide = d[2] - w < 4 ? d[2] - w : 4;
        add_tensor(m, e, QNN_GPU_KERNEL_ARG_TYPE_OP_INPUT_READ, 0, 0);
        add_tensor(m, e, QNN_GPU_KERNEL_ARG_TYPE_OP_OUTPUT_WRITE, 0, e);
        add_int(m, e, h);
        add_int(m, e, w);
        add_int(m, e, 2);
        add_int(m, e, wide);
        add_int(m, e, d[3]);
        add_int(m, e, d[2]);
        set_kernel(m, e, "tile", tile_text, 2u * wide * ((d[3] + 3) / 4));
    }
}

static const char times_text[] =
    "__kernel void times(__global const float *x, __global float *y, const int a, const int b) {\n"
    "    y[get_global_id(0)] = x[get_global_id(0)] * a + b;\n"
    "}\n";

static void make_alias(impl *m, const Qnn_OpConfigV1_t *op) {
    const Qnn_Tensor_t *x = &op->inputTensors[0];
    m->internal[0] = object(x, "scratch");
    m->internal[1] = (QnnGpu_MemoryObject_t){
        .type = QNN_GPU_MEM_OBJ_TYPE_ALIAS, .name = "again", .aliasSourceName = "scratch"};
    m->internals[0] = &m->internal[0];
    m->internals[1] = &m->internal[1];
    m->operation.memoryObjects = m->internals;
    add_tensor(m, 0, QNN_GPU_KERNEL_ARG_TYPE_OP_INPUT_READ, 0, 0);
    add_tensor(m, 0, QNN_GPU_KERNEL_ARG_TYPE_INTERNAL_WRITE, 0, 0);
    add_int(m, 0, 3);
    add_int(m, 0, 0);
    set_kernel(m, 0, "times", times_text, count_of(x));
    add_tensor(m, 1, QNN_GPU_KERNEL_ARG_TYPE_INTERNAL_READ, 1, 0);
    add_tensor(m, 1, QNN_GPU_KERNEL_ARG_TYPE_OP_OUTPUT_WRITE, 0, 0);
    add_int(m, 1, 1);
    add_int(m, 1, 1);
    set_kernel(m, 1, "times", times_text, count_of(x));
}

static const char in_place_text[] =
    "__kernel void in_place(__global float *x) { x[get_global_id(0)] *= 5; }\n";

static void make_in_place(impl *m, const Qnn_OpConfigV1_t *op) {
    m->output = (QnnGpu_MemoryObject_t){.type = QNN_GPU_MEM_OBJ_TYPE_ALIAS,
                                        .aliasSourceName = op->inputTensors[0].v1.name};
    add_tensor(m, 0, QNN_GPU_KERNEL_ARG_TYPE_OP_INPUT_READWRITE, 0, 0);
    set_kernel(m, 0, "in_place", in_place_text, count_of(&op->inputTensors[0]));
}

static const char dynamic_text[] =
    "__kernel void changing(__global const float *x, __global float *y, const int v,\n"
    "                       const int n) {\n"
    "    for (int i = get_global_id(0); i < n; i += get_global_size(0))\n"
    "        y[i] = x[i] + v + get_global_size(0);\n"
    "}\n";

static void make_dynamic(impl *m, const Qnn_OpConfigV1_t *op) {
    add_tensor(m, 0, QNN_GPU_KERNEL_ARG_TYPE_OP_INPUT_READ, 0, 0);
    add_tensor(m, 0, QNN_GPU_KERNEL_ARG_TYPE_OP_OUTPUT_WRITE, 0, 0);
    add_int(m, 0, 100);
    add_int(m, 0, (uint32_t)count_of(&op->inputTensors[0]));
    set_kernel(m, 0, "changing", dynamic_text, count_of(&op->inputTensors[0]));
    m->kernel[0].isDynamic = 1;
    form_dynamic = &m->kernel[0];
}

static void make_binary(impl *m, const Qnn_OpConfigV1_t *op) {
    add_tensor(m, 0, QNN_GPU_KERNEL_ARG_TYPE_OP_INPUT_READ, 0, 0);
    add_tensor(m, 0, QNN_GPU_KERNEL_ARG_TYPE_OP_OUTPUT_WRITE, 0, 0);
    set_kernel(m, 0, "plus_one", form_text, count_of(&op->inputTensors[0]));
    if (form_binary) {
        m->kernel[0].kernelSource = form_binary;
        m->kernel[0].sourceLength = form_binary_bytes;
        m->kernel[0].sourceType = QNN_GPU_KERNEL_SOURCE_TYPE_BINARY;
    }
}

// 2.5 as a double has the bits 0x4004000000000000.
static const char args_text[] =
    "__kernel void numbers(__global float *y, const char a, const uchar b, const short c,\n"
    "                      const ushort d, const int e, const uint f, const long g,\n"
    "                      const ulong h, const float i, const ulong j, __local float *l,\n"
    "                      __global const float *none) {\n"
    "    l[get_local_id(0)] = a + b + c + d + e + f + g + h + i;\n"
    "    l[get_local_id(0)] += (j >> 48 == 0x4004 ? 2.5f : 1000.0f) + (none ? 1000.0f : 0.0f);\n"
    "    y[get_global_id(0)] = l[get_local_id(0)];\n"
    "}\n";

static void make_args(impl *m, const Qnn_OpConfigV1_t *op) {
    static const QnnGpu_DataKernelArg_t data[] = {
        {.type = QNN_GPU_KERNEL_ARG_CL_TYPE_CHAR, .qnnChar = -1},
        {.type = QNN_GPU_KERNEL_ARG_CL_TYPE_UCHAR, .qnnUChar = 200},
        {.type = QNN_GPU_KERNEL_ARG_CL_TYPE_SHORT, .qnnShort = -300},
        {.type = QNN_GPU_KERNEL_ARG_CL_TYPE_USHORT, .qnnUShort = 40000},
        {.type = QNN_GPU_KERNEL_ARG_CL_TYPE_INT, .qnnInt = -70000},
        {.type = QNN_GPU_KERNEL_ARG_CL_TYPE_UINT, .qnnUInt = 100000},
        {.type = QNN_GPU_KERNEL_ARG_CL_TYPE_LONG, .qnnLong = -7},
        {.type = QNN_GPU_KERNEL_ARG_CL_TYPE_ULONG, .qnnULong = 9},
        {.type = QNN_GPU_KERNEL_ARG_CL_TYPE_FLOAT, .qnnFloat = 0.25f},
        {.type = QNN_GPU_KERNEL_ARG_CL_TYPE_DOUBLE, .qnnDouble = 2.5}};
    add_tensor(m, 0, QNN_GPU_KERNEL_ARG_TYPE_OP_OUTPUT_READWRITE, 0, 0);
    for (size_t i = 0; i < sizeof data / sizeof data[0]; i++)
        add(m, 0, QNN_GPU_KERNEL_ARG_TYPE_DATA)->data = data[i];
    add(m, 0, QNN_GPU_KERNEL_ARG_TYPE_LOCAL)->local.size = 64 * sizeof(float);
    add(m, 0, QNN_GPU_KERNEL_ARG_TYPE_NULL_PTR);
    size_t n = count_of(&op->outputTensors[0]);
    set_kernel(m, 0, "numbers", args_text, n);
    m->kernel[0].localWorkDim = 1;
    m->kernel[0].localWorkSizes[0] = n;
}

static void make_fails(impl *m, const Qnn_OpConfigV1_t *op) {
    add_tensor(m, 0, QNN_GPU_KERNEL_ARG_TYPE_OP_INPUT_READWRITE, 0, 0);
    set_kernel(m, 0, "in_place", in_place_text, count_of(&op->inputTensors[0]));
}

static const char relu_neg_text[] =
    "__kernel void relu_neg(__global const float *x, __global float *t, __global float *y,\n"
    "                       const int rows, const int c) {\n"
    "    int i = get_global_id(0);\n"
    "    t[i] = max(x[i], 0.0f);\n"
    "    y[i % c * rows + i / c] = -t[i];\n"
    "}\n";

static void make_relu_neg(impl *m, const Qnn_OpConfigV1_t *relu) {
    const Qnn_Tensor_t *x = &relu->inputTensors[0];
    uint32_t c = x->v1.dimensions[x->v1.rank - 1];
    m->claim.opConfigIndex = 1;
    m->output.layout = QNN_GPU_MEM_LAYOUT_CHW;
    add_tensor(m, 0, QNN_GPU_KERNEL_ARG_TYPE_OP_INPUT_READ, 0, 0);
    add_tensor(m, 0, QNN_GPU_KERNEL_ARG_TYPE_OP_OUTPUT_WRITE, 0, 0); // between the two nodes
    add_tensor(m, 0, QNN_GPU_KERNEL_ARG_TYPE_OP_OUTPUT_WRITE, 0, 0);
    m->arg[0][2].tensor.opConfigIndex = 1;
    add_int(m, 0, (uint32_t)count_of(x) / c);
    add_int(m, 0, c);
    set_kernel(m, 0, "relu_neg", relu_neg_text, count_of(x));
}

// --- the package

static const char *pair[] = {"Relu", "ElementWiseNeg", NULL};
static QnnGpuOpPackage_SuperNodeConnectionConstraint_t edge = {.consumer = 1};
static QnnGpuOpPackage_SuperNodeConnectionConstraint_t *edges[] = {&edge, NULL};
static QnnGpuOpPackage_TensorConstraint_t
    rank = {.source = QNN_GPU_OPTIMIZATION_SUPER_NODE_TENSOR_SOURCE_INPUT,
            .type = QNN_GPU_OPTIMIZATION_SUPER_NODE_TENSOR_CONSTRAINT_RANK,
            .rank = 2},
    size = {.operationIndex = 1,
            .source = QNN_GPU_OPTIMIZATION_SUPER_NODE_TENSOR_SOURCE_OUTPUT,
            .type = QNN_GPU_OPTIMIZATION_SUPER_NODE_TENSOR_CONSTRAINT_DIMENSION,
            .dimension = {.index = 1, .size = 3}},
    role = {.operationIndex = 1,
            .source = QNN_GPU_OPTIMIZATION_SUPER_NODE_TENSOR_SOURCE_OUTPUT,
            .type = QNN_GPU_OPTIMIZATION_SUPER_NODE_TENSOR_CONSTRAINT_TENSOR_TYPE,
            .tensorType = QNN_TENSOR_TYPE_APP_READ};
static QnnGpuOpPackage_TensorConstraint_t *tensors[] = {&rank, &size, &role, NULL};
static const QnnGpuOpPackage_SuperNodeOptimization_t pattern = {
    .operations = pair, .connectionConstraints = edges, .tensorConstraints = tensors};
static QnnGpuOpPackage_Optimization_t relu_neg = {
    .type = QNN_GPU_OPTIMIZATION_TYPE_SUPER_NODE, .name = "relu_neg", .superNode = &pattern};
static const QnnOpPackage_Optimization_t optimizations[] = {&relu_neg};

static const char *names[] = {"Form",    "Unform", "Tiled", "Alias", "InPlace",
                              "Dynamic", "Binary", "Args",  "Fails"};
static const Qnn_ApiVersion_t version = QNN_GPU_API_VERSION_INIT;
static const QnnOpPackage_Info_t info = {.packageName = "forms",
                                         .operationNames = names,
                                         .numOperations = sizeof names / sizeof names[0],
                                         .optimizations = optimizations,
                                         .numOptimizations = 1,
                                         .sdkApiVersion = &version,
                                         .packageInfo = &form_package_info};

static Qnn_ErrorHandle_t get_info(const QnnOpPackage_Info_t **out) {
    *out = &info;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t create_op(QnnOpPackage_GraphInfrastructure_t infra,
                                   QnnOpPackage_Node_t node, QnnOpPackage_OpImpl_t *out) {
    static void (*const make[])(impl *, const Qnn_OpConfigV1_t *) = {
        make_form,    NULL,        make_tiled, make_alias, make_in_place,
        make_dynamic, make_binary, make_args,  make_fails};
    const Qnn_OpConfigV1_t *op = &node->configs[0]->v1;
    impl *m = calloc(1, sizeof *m);
    (void)infra;
    if (!m)
        return QNN_OP_PACKAGE_ERROR_GENERAL;
    m->output = object(&op->outputTensors[0], op->outputTensors[0].v1.name);
    m->claim = (QnnGpu_OutputClaim_t){.memoryObject = &m->output};
    m->claims[0] = &m->claim;
    m->operation.outputClaims = m->claims;
    m->operation.kernels = m->kernels;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], op->typeName) == 0 && make[i])
            make[i](m, op);
    if (node->configs[1])
        make_relu_neg(m, op);
    if (strcmp(op->typeName, "Unform") == 0)
        make_unform(m, op, node->storageTypes[0]->memoryObject);
    *out = &m->operation;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t free_op(QnnOpPackage_OpImpl_t op) {
    free(op);
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t init(QnnOpPackage_GlobalInfrastructure_t infra) {
    (void)infra;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t terminate(void) { return QNN_SUCCESS; }

EXPORT Qnn_ErrorHandle_t form_provider(QnnOpPackage_Interface_t *out);

Qnn_ErrorHandle_t form_provider(QnnOpPackage_Interface_t *out) {
    *out = (QnnOpPackage_Interface_t){.interfaceVersion = QNN_OP_PACKAGE_API_VERSION_1_4_0,
                                      .v1_4 = {.init = init,
                                               .terminate = terminate,
                                               .getInfo = get_info,
                                               .createOpImpl = create_op,
                                               .freeOpImpl = free_op}};
    return QNN_SUCCESS;
}
