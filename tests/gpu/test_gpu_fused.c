// SPDX-License-Identifier: MIT
//
// GPU-SPD-02: what fused launches compute. The expected values are the formulas themselves.
#include "gpu_client.h"

#define ROWS 5u
#define N 3u // channels of x

typedef struct fused {
    gpu_world w;
    Qnn_GraphHandle_t g;
    uint32_t dims[2], twice[2];
    Qnn_Tensor_t x, y;
    float in[ROWS * N], out[ROWS * N * 2];
} fused;

static void begin(fused *f, bool joined) {
    *f = (fused){.w = gpu_begin(), .dims = {ROWS, N}, .twice = {ROWS, joined ? 2 * N : N}};
    GPU_OK(f->w.qnn.graphCreate(f->w.context, "g", NULL, &f->g));
    f->x = tensor(&f->w.qnn, f->g, "x", QNN_TENSOR_TYPE_APP_WRITE, 2, f->dims);
    f->y = tensor(&f->w.qnn, f->g, "y", QNN_TENSOR_TYPE_APP_READ, 2, f->twice);
    for (uint32_t i = 0; i < ROWS * N; i++)
        f->in[i] = (float)i - 7.0f;
}

static Qnn_Tensor_t inner(fused *f, const char *name, uint32_t *dims) {
    return tensor(&f->w.qnn, f->g, name, QNN_TENSOR_TYPE_NATIVE, 2, dims);
}

static void two(fused *f, const char *name, const char *op, Qnn_Tensor_t a, Qnn_Tensor_t b,
                Qnn_Tensor_t *y, Qnn_Param_t *param) {
    Qnn_Tensor_t in[] = {a, b};
    Qnn_OpConfig_t c = op_config(name, QNN_OP_PACKAGE_NAME_QTI_AISW, op, in, 2, y, 1);
    c.v1.params = param;
    c.v1.numOfParams = param ? 1 : 0;
    GPU_OK(f->w.qnn.graphAddNode(f->g, c));
}

static void run(fused *f) {
    GPU_OK(f->w.qnn.graphFinalize(f->g, NULL, NULL));
    set_buffer(&f->x, f->in, sizeof f->in);
    set_buffer(&f->y, f->out, ROWS * f->twice[1] * sizeof *f->out);
    GPU_OK(f->w.qnn.graphExecute(f->g, &f->x, 1, &f->y, 1, NULL, NULL));
}

static void parts_of_a_concat_are_written_side_by_side(void **state) {
    (void)state;
    fused f;
    begin(&f, true);
    Qnn_Tensor_t a = inner(&f, "a", f.dims), b = inner(&f, "b", f.dims);
    Qnn_Param_t axis = QNN_PARAM_INIT;
    axis.paramType = QNN_PARAMTYPE_SCALAR;
    axis.name = "axis";
    axis.scalarParam.dataType = QNN_DATATYPE_UINT_32;
    axis.scalarParam.uint32Value = 1;
    node(&f.w.qnn, f.g, "relu", "Relu", &f.x, &a);
    node(&f.w.qnn, f.g, "neg", "ElementWiseNeg", &f.x, &b);
    two(&f, "concat", "Concat", a, b, &f.y, &axis);
    run(&f);
    for (uint32_t i = 0; i < ROWS * N; i++) {
        uint32_t at = i / N * 2 * N + i % N;
        assert_float_equal(f.out[at], f.in[i] > 0 ? f.in[i] : 0, 0);
        assert_float_equal(f.out[at + N], -f.in[i], 0);
    }
    gpu_end(&f.w);
}

static void a_slice_of_a_result_is_broadcast_onto_it(void **state) {
    (void)state;
    fused f;
    begin(&f, false);
    uint32_t row[] = {1, N}, shape[] = {2, 3};
    int32_t ranges[] = {1, 2, 1, 0, N, 1}; // the second row
    Qnn_Tensor_t t = inner(&f, "t", f.dims), s = inner(&f, "s", row);
    Qnn_Param_t p = QNN_PARAM_INIT;
    p.paramType = QNN_PARAMTYPE_TENSOR;
    p.name = "ranges";
    p.tensorParam = describe("ranges", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_INT_32, 2, shape);
    set_buffer(&p.tensorParam, ranges, sizeof ranges);
    GPU_OK(f.w.qnn.tensorCreateGraphTensor(f.g, &p.tensorParam));
    node(&f.w.qnn, f.g, "neg", "ElementWiseNeg", &f.x, &t);
    Qnn_OpConfig_t c =
        op_config("slice", QNN_OP_PACKAGE_NAME_QTI_AISW, "StridedSlice", &t, 1, &s, 1);
    c.v1.params = &p;
    c.v1.numOfParams = 1;
    GPU_OK(f.w.qnn.graphAddNode(f.g, c));
    two(&f, "add", "ElementWiseAdd", t, s, &f.y, NULL);
    run(&f);
    for (uint32_t i = 0; i < ROWS * N; i++)
        assert_float_equal(f.out[i], -f.in[i] - f.in[N + i % N], 0);
    gpu_end(&f.w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_a_concat_are_written_side_by_side),
        cmocka_unit_test(a_slice_of_a_result_is_broadcast_onto_it),
    };
    return gpu_run_tests("test_gpu_fused", tests, sizeof tests / sizeof tests[0]);
}
