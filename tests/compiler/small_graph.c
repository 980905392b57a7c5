// SPDX-License-Identifier: MIT
//
// Small graphs: building, compiling, running.
#include "small_graph.h"

#include "base/cpu.h"
#include "base/mem.h"
#include "bind/cpu/bind.h"
#include "compiler/compile.h"
#include "core/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK(call) assert_int_equal((call), QNN_SUCCESS)

void small_begin(small_graph *g) {
    const QnnInterface_t **list = NULL;
    uint32_t n = 0;
    memset(g, 0, sizeof *g);
    OK(QnnInterface_getProviders(&list, &n));
    g->qnn = list[0]->QNN_INTERFACE_VER_NAME;
    OK(g->qnn.backendCreate(NULL, NULL, &g->backend));
    OK(g->qnn.contextCreate(g->backend, NULL, NULL, &g->context));
    OK(g->qnn.graphCreate(g->context, "small", NULL, &g->handle));
}

void small_end(small_graph *g) {
    OK(g->qnn.contextFree(g->context, NULL));
    OK(g->qnn.backendFree(g->backend));
}

uint32_t small_encoded(small_graph *g, Qnn_TensorType_t type, Qnn_DataType_t dtype,
                       const uint32_t *shape, float scale, int32_t offset) {
    uint32_t i = g->n_tensors++;
    assert_true(i < MAX_TENSORS);
    Qnn_Tensor_t *t = &g->tensors[i];
    *t = (Qnn_Tensor_t)QNN_TENSOR_INIT;
    snprintf(g->names[i], sizeof g->names[i], "t%u", i);
    t->v1.name = g->names[i];
    t->v1.type = type;
    t->v1.dataType = dtype;
    t->v1.memType = QNN_TENSORMEMTYPE_RAW;
    while (t->v1.rank < 4 && shape[t->v1.rank])
        t->v1.rank++;
    memcpy(g->dims[i], shape, t->v1.rank * sizeof *shape);
    t->v1.dimensions = g->dims[i];
    if (scale != 0.0f) {
        t->v1.quantizeParams.encodingDefinition = QNN_DEFINITION_DEFINED;
        t->v1.quantizeParams.quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
        t->v1.quantizeParams.scaleOffsetEncoding = (Qnn_ScaleOffset_t){scale, offset};
    }
    if (type != QNN_TENSOR_TYPE_STATIC)
        OK(g->qnn.tensorCreateGraphTensor(g->handle, t));
    return i;
}

uint32_t small_constant(small_graph *g, Qnn_DataType_t dtype, const uint32_t *shape, float scale,
                        int32_t offset, const void *data, uint32_t size_bytes) {
    uint32_t i = small_encoded(g, QNN_TENSOR_TYPE_STATIC, dtype, shape, scale, offset);
    g->tensors[i].v1.clientBuf.data = (void *)(uintptr_t)data;
    g->tensors[i].v1.clientBuf.dataSize = size_bytes;
    OK(g->qnn.tensorCreateGraphTensor(g->handle, &g->tensors[i]));
    return i;
}

uint32_t small_tensor(small_graph *g, Qnn_TensorType_t type, Qnn_DataType_t dtype,
                      const uint32_t *shape) {
    return small_encoded(g, type, dtype, shape, 0.0f, 0);
}

void small_node(small_graph *g, const char *op, const uint32_t *in, uint32_t n_in,
                const uint32_t *out, uint32_t n_out, Qnn_Param_t *params, uint32_t n_params) {
    Qnn_Tensor_t ins[8], outs[8];
    char name[16];
    assert_true(n_in <= 8 && n_out <= 8);
    for (uint32_t i = 0; i < n_in; i++)
        ins[i] = g->tensors[in[i]];
    for (uint32_t i = 0; i < n_out; i++)
        outs[i] = g->tensors[out[i]];
    snprintf(name, sizeof name, "n%u", g->n_nodes++);
    Qnn_OpConfig_t c = QNN_OPCONFIG_INIT;
    c.v1.name = name;
    c.v1.packageName = QNN_OP_PACKAGE_NAME_QTI_AISW;
    c.v1.typeName = op;
    c.v1.numOfParams = n_params;
    c.v1.params = params;
    c.v1.numOfInputs = n_in;
    c.v1.inputTensors = ins;
    c.v1.numOfOutputs = n_out;
    c.v1.outputTensors = outs;
    OK(g->qnn.graphAddNode(g->handle, c));
}

void small_unary(small_graph *g, const char *op, uint32_t x, uint32_t y) {
    small_node(g, op, &x, 1, &y, 1, NULL, 0);
}

void small_binary(small_graph *g, const char *op, uint32_t a, uint32_t b, uint32_t y) {
    small_node(g, op, (uint32_t[]){a, b}, 2, &y, 1, NULL, 0);
}

// A tensor parameter of 32-bit numbers.
static Qnn_Param_t numbers(small_graph *g, const char *name, Qnn_DataType_t dtype, const void *data,
                           const uint32_t *shape) {
    uint32_t count = 1;
    for (uint32_t d = 0; shape[d]; d++)
        count *= shape[d];
    Qnn_Param_t p = QNN_PARAM_INIT;
    p.paramType = QNN_PARAMTYPE_TENSOR;
    p.name = name;
    p.tensorParam = g->tensors[small_constant(g, dtype, shape, 0.0f, 0, data, count * 4)];
    return p;
}

static Qnn_Param_t number(const char *name, uint32_t value) {
    Qnn_Param_t p = QNN_PARAM_INIT;
    p.paramType = QNN_PARAMTYPE_SCALAR;
    p.name = name;
    p.scalarParam.dataType = QNN_DATATYPE_UINT_32;
    p.scalarParam.uint32Value = value;
    return p;
}

void small_transpose(small_graph *g, uint32_t x, uint32_t y, const uint32_t *perm) {
    Qnn_Param_t p = numbers(g, QNN_OP_TRANSPOSE_PARAM_PERM, QNN_DATATYPE_UINT_32, perm,
                            SHAPE(g->tensors[x].v1.rank));
    small_node(g, QNN_OP_TRANSPOSE, &x, 1, &y, 1, &p, 1);
}

void small_reduce(small_graph *g, const char *op, uint32_t x, uint32_t y, uint32_t n_axes) {
    const uint32_t axes[] = {0, 1, 2, 3};
    Qnn_Param_t p =
        numbers(g, QNN_OP_REDUCE_MAX_PARAM_AXES, QNN_DATATYPE_UINT_32, axes, SHAPE(n_axes));
    small_node(g, op, &x, 1, &y, 1, &p, 1);
}

void small_concat(small_graph *g, const uint32_t *in, uint32_t n_in, uint32_t y, uint32_t axis) {
    Qnn_Param_t p = number(QNN_OP_CONCAT_PARAM_AXIS, axis);
    small_node(g, QNN_OP_CONCAT, in, n_in, &y, 1, &p, 1);
}

void small_split(small_graph *g, uint32_t x, const uint32_t *out, uint32_t n_out, uint32_t axis) {
    uint32_t index[8], at = 0;
    for (uint32_t i = 0; i + 1 < n_out; i++)
        index[i] = at += g->dims[out[i]][axis];
    Qnn_Param_t p[] = {
        number(QNN_OP_SPLIT_PARAM_AXIS, axis),
        numbers(g, QNN_OP_SPLIT_PARAM_SPLIT_INDEX, QNN_DATATYPE_UINT_32, index, SHAPE(n_out - 1))};
    small_node(g, QNN_OP_SPLIT, &x, 1, out, n_out, p, 2);
}

void small_pad(small_graph *g, uint32_t x, uint32_t y, const uint32_t *amount, float value) {
    uint32_t all[8] = {0, 0, amount[0], amount[1], amount[2], amount[3], 0, 0};
    Qnn_Param_t p[] = {
        number(QNN_OP_PAD_PARAM_SCHEME, QNN_OP_PAD_SCHEME_CONSTANT),
        numbers(g, QNN_OP_PAD_PARAM_PAD_AMOUNT, QNN_DATATYPE_UINT_32, all, SHAPE(4, 2)),
        number(QNN_OP_PAD_PARAM_PAD_CONSTANT_VALUE, 0)};
    p[2].scalarParam.dataType = QNN_DATATYPE_FLOAT_32;
    p[2].scalarParam.floatValue = value;
    small_node(g, QNN_OP_PAD, &x, 1, &y, 1, p, 3);
}

void small_conv(small_graph *g, const char *op, uint32_t x, uint32_t w, uint32_t y,
                const uint32_t *amount) {
    static const uint32_t one[2] = {1, 1};
    Qnn_Param_t p[] = {
        numbers(g, QNN_OP_CONV_2D_PARAM_STRIDE, QNN_DATATYPE_UINT_32, one, SHAPE(2)),
        numbers(g, QNN_OP_CONV_2D_PARAM_PAD_AMOUNT, QNN_DATATYPE_UINT_32, amount, SHAPE(2, 2))};
    small_node(g, op, (uint32_t[]){x, w}, 2, &y, 1, p, 2);
}

void small_slice(small_graph *g, uint32_t x, uint32_t y, const int32_t *ranges) {
    Qnn_Param_t p = numbers(g, QNN_OP_STRIDED_SLICE_PARAM_RANGES, QNN_DATATYPE_INT_32, ranges,
                            SHAPE(g->tensors[x].v1.rank, 3));
    small_node(g, QNN_OP_STRIDED_SLICE, &x, 1, &y, 1, &p, 1);
}

static void fill(void *data, const qrn_value *v, uint32_t *seed) {
    for (size_t i = 0; i < v->size_bytes; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        if (v->view.dtype != QRN_DTYPE_F32)
            ((uint8_t *)data)[i] = (uint8_t)(*seed >> 24);
        else if (i % 4 == 0)
            ((float *)data)[i / 4] = (float)(int32_t)(*seed >> 24) - 128.0f;
    }
}

static small_run go(const small_graph *g, const char *passes, uint32_t seed, uint32_t n_threads) {
    const qrn_api_graph *object = qrn_handle_get(QRN_KIND_GRAPH, g->handle);
    qrn_compile_options opt = {.passes = passes};
    qrn_cpu_options cpu = {.isa = qrn_cpu_isa(),
                           .n_threads = n_threads,
                           .winograd = qrn_pass_enabled(passes, "winograd")};
    qrn_compiled *cg = NULL;
    qrn_plan *p = NULL;
    qrn_runner *runner = NULL;
    if (qrn_compile(object->ir, &opt, &cg) != QRN_OK || qrn_bind_cpu(cg, &cpu, &p) != QRN_OK)
        fail_msg("%s", qrn_message());
    small_run r = {
        .n_steps = p->n_steps, .arena_bytes = p->arena_bytes, .bound_bytes = p->bound_bytes};
    for (uint32_t i = 0; i < p->n_steps; i++)
        r.n_chained += p->steps[i].n_chained;
    assert_int_equal(qrn_runner_create(p, &runner), QRN_OK);
    qrn_runner_finish(runner, NULL, NULL, NULL);
    qrn_binding io[MAX_TENSORS] = {0};
    for (uint32_t i = 0; i < p->n_io; i++) {
        const qrn_value *v = &p->values[p->io[i].value];
        io[i].memory.host =
            malloc(v->size_bytes); // its exact size: a sanitizer sees accesses behind it
        assert_non_null(io[i].memory.host);
        fill(io[i].memory.host, v, &seed);
        r.n_out += p->io[i].is_output ? v->size_bytes : 0;
    }
    qrn_run_options run = {.pool = n_threads > 1 ? qrn_pool_acquire(n_threads) : NULL};
    assert_int_equal(qrn_runner_run(runner, io, &run), QRN_OK);
    qrn_pool_release(run.pool);
    r.out = malloc(r.n_out + 1);
    assert_non_null(r.out);
    size_t at = 0;
    for (uint32_t i = 0; i < p->n_io; i++) {
        size_t bytes = p->values[p->io[i].value].size_bytes;
        if (p->io[i].is_output)
            memcpy(r.out + at, io[i].memory.host, bytes);
        at += p->io[i].is_output ? bytes : 0;
        free(io[i].memory.host);
    }
    qrn_runner_destroy(runner);
    return r;
}

small_run small_go(const small_graph *g, const char *passes, uint32_t seed) {
    return go(g, passes, seed, 1);
}

void small_free(small_run *r) { free(r->out); }

small_pair small_compare(const small_graph *g) {
    small_pair p = {small_go(g, "-all", 1), small_go(g, "", 1)};
    assert_int_equal(p.with.n_out, p.without.n_out);
    assert_memory_equal(p.with.out, p.without.out, p.with.n_out);
    small_run threads = go(g, "", 1, 3);
    assert_memory_equal(threads.out, p.without.out, threads.n_out);
    small_free(&threads);
    return p;
}

void small_expect(const small_graph *g, uint32_t without, uint32_t with) {
    small_pair p = small_compare(g);
    assert_int_equal(p.without.n_steps, without);
    assert_int_equal(p.with.n_steps, with);
    small_free(&p.without);
    small_free(&p.with);
}
