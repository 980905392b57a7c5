// SPDX-License-Identifier: MIT
//
// Executing on the HTP: multiples of the batch, signals and the queue.
#include "chain_runner.h"

#include "QnnProperty.h"

#include <sched.h>
#include <stdatomic.h>

// --- batch

typedef struct batch_graph {
    Qnn_GraphHandle_t graph;
    Qnn_Tensor_t x, y;
    uint32_t x_dims[4], y_dims[4];
} batch_graph;

// y = mean of x over the batch: the one thing that tells n runs from a longer one.
static void mean_graph(const htp_world *w, Qnn_DataType_t dtype, batch_graph *b) {
    *b = (batch_graph){.x_dims = {2, 8, 8, 3}, .y_dims = {1, 8, 8, 3}};
    HTP_OK(w->qnn.graphCreate(w->context, "mean", NULL, &b->graph));
    b->x = htp_tensor("x", QNN_TENSOR_TYPE_APP_WRITE, dtype, 4, b->x_dims);
    b->y = htp_tensor("y", QNN_TENSOR_TYPE_APP_READ, dtype, 4, b->y_dims);
    if (dtype == QNN_DATATYPE_UFIXED_POINT_8) {
        htp_encode(&b->x, 0.5f, 0);
        htp_encode(&b->y, 0.5f, 0);
    }
    HTP_OK(w->qnn.tensorCreateGraphTensor(b->graph, &b->x));
    HTP_OK(w->qnn.tensorCreateGraphTensor(b->graph, &b->y));
    uint32_t axis = 0, one = 1;
    Qnn_Param_t params[2] = {
        {.paramType = QNN_PARAMTYPE_TENSOR, .name = "axes"},
        {.paramType = QNN_PARAMTYPE_SCALAR,
         .name = "keep_dims",
         .scalarParam = {.dataType = QNN_DATATYPE_BOOL_8, .bool8Value = 1}},
    };
    params[0].tensorParam =
        htp_tensor("axes", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_UINT_32, 1, &one);
    htp_buffer(&params[0].tensorParam, &axis, sizeof axis);
    HTP_OK(w->qnn.tensorCreateGraphTensor(b->graph, &params[0].tensorParam));
    Qnn_OpConfig_t op = htp_op("mean", "ReduceMean", &b->x, 1, &b->y, 1);
    op.v1.numOfParams = 2;
    op.v1.params = params;
    HTP_OK(w->qnn.graphAddNode(b->graph, op));
    HTP_OK(w->qnn.graphFinalize(b->graph, NULL, NULL));
}

#define IMAGE (8u * 8 * 3)

static Qnn_ErrorHandle_t run_batch(const htp_world *w, batch_graph *b, uint32_t n_x, uint32_t n_y,
                                   uint8_t *x, uint8_t *y) {
    uint32_t x_dims[] = {n_x, 8, 8, 3}, y_dims[] = {n_y, 8, 8, 3};
    Qnn_Tensor_t tx = b->x, ty = b->y;
    tx.v1.dimensions = x_dims;
    ty.v1.dimensions = y_dims;
    htp_buffer(&tx, x, n_x * IMAGE);
    htp_buffer(&ty, y, n_y * IMAGE);
    return w->qnn.graphExecute(b->graph, &tx, 1, &ty, 1, NULL, NULL);
}

static void htp_bat_01_multiples_of_the_prepared_batch_run(void **state) {
    (void)state;
    htp_world w = htp_begin(43);
    batch_graph b;
    mean_graph(&w, QNN_DATATYPE_UFIXED_POINT_8, &b);
    uint8_t x[8 * IMAGE] = {0}, y[4 * IMAGE];
    HTP_OK(run_batch(&w, &b, 2, 1, x, y));
    HTP_OK(run_batch(&w, &b, 6, 3, x, y));
    HTP_FAILS(run_batch(&w, &b, 3, 1, x, y), QNN_GRAPH_ERROR_INVALID_TENSOR);
    HTP_FAILS(run_batch(&w, &b, 4, 3, x, y), QNN_GRAPH_ERROR_INVALID_TENSOR);
    HTP_FAILS(run_batch(&w, &b, 4, 1, x, y), QNN_GRAPH_ERROR_INVALID_TENSOR);
    HTP_FAILS(run_batch(&w, &b, 0, 1, x, y), QNN_GRAPH_ERROR_INVALID_TENSOR);
    // A buffer for one set only, and an inner dimension that differs.
    uint32_t dims[] = {4, 8, 8, 3}, y_dims[] = {2, 8, 8, 3};
    Qnn_Tensor_t tx = b.x, ty = b.y;
    tx.v1.dimensions = dims;
    ty.v1.dimensions = y_dims;
    htp_buffer(&tx, x, 4 * IMAGE - 1);
    htp_buffer(&ty, y, 2 * IMAGE);
    HTP_FAILS(w.qnn.graphExecute(b.graph, &tx, 1, &ty, 1, NULL, NULL),
              QNN_GRAPH_ERROR_INVALID_TENSOR);
    htp_buffer(&tx, x, 4 * IMAGE);
    HTP_OK(w.qnn.graphExecute(b.graph, &tx, 1, &ty, 1, NULL, NULL));
    dims[1] = 16;
    HTP_FAILS(w.qnn.graphExecute(b.graph, &tx, 1, &ty, 1, NULL, NULL),
              QNN_GRAPH_ERROR_INVALID_TENSOR);
    htp_end(&w);
}

static void htp_bat_02_a_multiple_equals_runs_one_after_the_other(void **state) {
    (void)state;
    htp_world w = htp_begin(43);
    batch_graph b;
    mean_graph(&w, QNN_DATATYPE_UFIXED_POINT_8, &b);
    uint8_t x[6 * IMAGE], y[3 * IMAGE], single[3 * IMAGE];
    for (uint32_t i = 0; i < sizeof x; i++)
        x[i] = (uint8_t)(i * 31 % 251);
    HTP_OK(run_batch(&w, &b, 6, 3, x, y));
    for (uint32_t k = 0; k < 3; k++)
        HTP_OK(run_batch(&w, &b, 2, 1, x + k * 2 * IMAGE, single + k * IMAGE));
    assert_memory_equal(y, single, sizeof y);
    for (uint32_t k = 0; k < 3; k++) // and both are the mean, rounded half up
        for (uint32_t i = 0; i < IMAGE; i++)
            assert_int_equal(y[k * IMAGE + i],
                             (x[2 * k * IMAGE + i] + x[(2 * k + 1) * IMAGE + i] + 1) / 2);
    htp_end(&w);
}

static void a_batch_in_buffers_that_are_not_aligned(void **state) {
    (void)state;
    htp_world w = htp_begin(0); // single precision
    batch_graph b;
    mean_graph(&w, QNN_DATATYPE_FLOAT_32, &b);
    static char in[1 + 6 * IMAGE * 4], out[1 + 3 * IMAGE * 4];
    for (uint32_t i = 0; i < 6 * IMAGE; i++)
        memcpy(in + 1 + 4 * i, &(float){(float)(i % 64)}, 4);
    for (uint32_t n = 3; n > 0; n--) { // larger first, then with buffers that exist
        uint32_t x_dims[] = {2 * n, 8, 8, 3}, y_dims[] = {n, 8, 8, 3};
        b.x.v1.dimensions = x_dims;
        b.y.v1.dimensions = y_dims;
        memset(out, 0, sizeof out);
        htp_buffer(&b.x, in + 1, 2 * n * IMAGE * 4);
        htp_buffer(&b.y, out + 1, n * IMAGE * 4);
        HTP_OK(w.qnn.graphExecute(b.graph, &b.x, 1, &b.y, 1, NULL, NULL));
        for (uint32_t i = 0; i < n * IMAGE; i++) {
            float y;
            memcpy(&y, out + 1 + 4 * i, 4);
            uint32_t at = i / IMAGE * 2 * IMAGE + i % IMAGE;
            assert_true(y == (float)(at % 64 + (at + IMAGE) % 64) / 2);
        }
    }
    htp_end(&w);
}

// --- signals

static void htp_can_04_finalize_takes_no_signal(void **state) {
    (void)state;
    htp_world w = htp_begin(43);
    chain c;
    chain_build(&w.qnn, w.context, "c", NULL, 1, 64, 1, &c);
    Qnn_SignalHandle_t s =
        signal_of(&w, (QnnSignal_Config_t){.option = QNN_SIGNAL_CONFIG_OPTION_ABORT});
    HTP_FAILS(w.qnn.graphFinalize(c.graph, NULL, s), QNN_GRAPH_ERROR_UNSUPPORTED_FEATURE);
    assert_int_equal(w.qnn.propertyHasCapability(QNN_PROPERTY_GRAPH_SUPPORT_FINALIZE_SIGNAL),
                     QNN_PROPERTY_NOT_SUPPORTED);
    HTP_OK(w.qnn.graphFinalize(c.graph, NULL, NULL)); // the refusal left it as it was
    HTP_OK(w.qnn.signalFree(s));
    htp_end(&w);
}

// --- the queue

static void htp_asy_01_depth_of_the_queue(void **state) {
    (void)state;
    htp_world w = htp_begin(43);
    Qnn_ErrorHandle_t code;
    static const uint32_t good[] = {1, 299, 300}, bad[] = {0, 301, 65536};
    for (int i = 0; i < 3; i++) {
        Qnn_ContextHandle_t c = context_of_depth(&w, good[i], &code);
        HTP_OK(code);
        HTP_OK(w.qnn.contextFree(c, NULL));
        context_of_depth(&w, bad[i], &code);
        HTP_FAILS(code, QNN_CONTEXT_ERROR_INVALID_CONFIG);
    }
    htp_end(&w);
}

// Runs that take longer than submitting them, until one is refused.
static void htp_asy_02_a_full_queue_refuses(void **state) {
    (void)state;
    static uint8_t x[64 * 1024], y[8][64 * 1024];
    htp_world w = htp_begin(43);
    Qnn_ErrorHandle_t code;
    Qnn_ContextHandle_t context = context_of_depth(&w, 2, &code);
    HTP_OK(code);
    chain c;
    chain_build(&w.qnn, context, "c", NULL, 64, 1024, 60, &c);
    HTP_OK(w.qnn.graphFinalize(c.graph, NULL, NULL));
    chain_fill(x, sizeof x, 3);
    htp_buffer(&c.x, x, sizeof x);
    bool refused = false;
    for (int round = 0; round < 1000 && !refused; round++) {
        inbox box = {0};
        letter letters[8];
        Qnn_Tensor_t outputs[8]; // of the client until the notification
        int n = 0;
        for (; n < 8 && !refused; n += !refused) {
            letters[n] = (letter){&box, n};
            outputs[n] = c.y;
            htp_buffer(&outputs[n], y[n], sizeof y[n]);
            code = w.qnn.graphExecuteAsync(c.graph, &c.x, 1, &outputs[n], 1, NULL, NULL, notified,
                                           &letters[n]);
            refused = code != QNN_SUCCESS;
        }
        if (refused)
            HTP_FAILS(code, QNN_GRAPH_ERROR_EXECUTION_ASYNC_FIFO_FULL);
        while (atomic_load(&box.n) < n)
            sched_yield();
        for (int i = 0; i < n; i++) {
            assert_int_equal(box.order[i], i);
            HTP_OK(box.error[i]);
            chain_check(&c, x, y[i], sizeof x);
        }
    }
    assert_true(refused);
    HTP_OK(w.qnn.contextFree(context, NULL));
    htp_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(htp_bat_01_multiples_of_the_prepared_batch_run),
        cmocka_unit_test(htp_bat_02_a_multiple_equals_runs_one_after_the_other),
        cmocka_unit_test(a_batch_in_buffers_that_are_not_aligned),
        cmocka_unit_test(htp_can_04_finalize_takes_no_signal),
        cmocka_unit_test(htp_asy_01_depth_of_the_queue),
        cmocka_unit_test(htp_asy_02_a_full_queue_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
