// SPDX-License-Identifier: MIT
//
// Executing on the HTP: multiples of the batch, the queue, signals, and the engine that graphs take
// by priority. Tests hold the engine themselves to make others wait.
#include "backend/htp/engine.h"
#include "chain.h"

#include "QnnProperty.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void nap(void) { nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL); }

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

// --- the engine by itself

typedef struct walker {
    qrn_htp_turn turn;
    int *order;
    atomic_int *n;
    int name;
    pthread_t thread;
} walker;

static void *walk(void *arg) {
    walker *k = arg;
    assert_int_equal(qrn_htp_engine_take(&k->turn), QRN_OK);
    k->order[atomic_fetch_add(k->n, 1)] = k->name; // nobody else can: we hold the engine
    qrn_htp_engine_give(&k->turn);
    return NULL;
}

static void wait_for_line(uint32_t n) {
    for (int i = 0; i < 50000 && qrn_htp_engine_waiting() != n; i++)
        nap();
    assert_int_equal(qrn_htp_engine_waiting(), n);
}

static void the_engine_serves_by_priority_then_by_arrival(void **state) {
    (void)state;
    static const int priority[] = {100, 0, 200, 100, 200, 0};
    static const int expected[] = {2, 4, 0, 3, 1, 5};
    int order[6] = {0};
    atomic_int n = 0;
    walker k[6];
    qrn_htp_turn mine = {.priority = 500};
    assert_int_equal(qrn_htp_engine_take(&mine), QRN_OK);
    for (int i = 0; i < 6; i++) {
        k[i] = (walker){.turn = {.priority = priority[i]}, .order = order, .n = &n, .name = i};
        assert_int_equal(pthread_create(&k[i].thread, NULL, walk, &k[i]), 0);
        wait_for_line((uint32_t)i + 1);
    }
    assert_int_equal(n, 0);
    qrn_htp_engine_give(&mine);
    for (int i = 0; i < 6; i++)
        pthread_join(k[i].thread, NULL);
    for (int i = 0; i < 6; i++)
        assert_int_equal(order[i], expected[i]);
    assert_int_equal(qrn_htp_engine_waiting(), 0);
}

static void a_holder_is_wanted_by_higher_priorities_only(void **state) {
    (void)state;
    int order[2];
    atomic_int n = 0;
    qrn_htp_turn mine = {.priority = 100};
    assert_int_equal(qrn_htp_engine_take(&mine), QRN_OK);
    assert_false(qrn_htp_engine_wanted(&mine));
    walker equal = {.turn = {.priority = 100}, .order = order, .n = &n};
    walker high = {.turn = {.priority = 150}, .order = order, .n = &n, .name = 1};
    pthread_create(&equal.thread, NULL, walk, &equal);
    wait_for_line(1);
    assert_false(qrn_htp_engine_wanted(&mine));
    pthread_create(&high.thread, NULL, walk, &high);
    wait_for_line(2);
    assert_true(qrn_htp_engine_wanted(&mine));
    qrn_htp_engine_give(&mine);
    pthread_join(equal.thread, NULL);
    pthread_join(high.thread, NULL);
    assert_int_equal(order[0], 1);
}

// ThreadSanitizer does not follow a process with threads over a fork.
#ifndef __SANITIZE_THREAD__
static void a_forked_child_has_the_engine_for_itself(void **state) {
    (void)state;
    int order[1];
    atomic_int n = 0;
    qrn_htp_turn mine = {.priority = 100};
    assert_int_equal(qrn_htp_engine_take(&mine), QRN_OK);
    walker other = {.turn = {.priority = 500}, .order = order, .n = &n};
    pthread_create(&other.thread, NULL, walk, &other);
    wait_for_line(1);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(20); // it would wait for ever otherwise
        qrn_htp_turn its = {.priority = 0};
        bool ok = qrn_htp_engine_waiting() == 0 && qrn_htp_engine_take(&its) == QRN_OK &&
                  !qrn_htp_engine_wanted(&its);
        qrn_htp_engine_give(&its);
        _exit(ok ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(qrn_htp_engine_waiting(), 1); // nothing changed here
    qrn_htp_engine_give(&mine);
    pthread_join(other.thread, NULL);
}
#endif

// HTP-PGE-03: an 8 MB chip, A has [0, 3), B has [3, 7) of 7 addressable MB.
static void htp_pge_03_two_graphs_that_part_the_vtcm_run_together(void **state) {
    (void)state;
    const uint64_t mb = 1024 * 1024;
    qrn_htp_turn a = {.priority = 100, .shares = true, .vtcm_end = 3 * mb};
    qrn_htp_turn b = {.priority = 100, .shares = true, .vtcm_from = 3 * mb, .vtcm_end = 7 * mb};
    assert_int_equal(qrn_htp_engine_take(&a), QRN_OK);
    assert_int_equal(qrn_htp_engine_take(&b), QRN_OK); // would hang otherwise
    assert_true(a.holds && b.holds);
    int order[3];
    atomic_int n = 0;
    // A third, one that overlaps, one of another priority: they wait.
    qrn_htp_engine_give(&b);
    walker overlaps = {
        .turn = {.priority = 100, .shares = true, .vtcm_from = 2 * mb, .vtcm_end = 4 * mb},
        .order = order,
        .n = &n};
    walker higher = {
        .turn = {.priority = 150, .shares = true, .vtcm_from = 3 * mb, .vtcm_end = 7 * mb},
        .order = order,
        .n = &n,
        .name = 1};
    pthread_create(&overlaps.thread, NULL, walk, &overlaps);
    wait_for_line(1);
    pthread_create(&higher.thread, NULL, walk, &higher);
    wait_for_line(2);
    assert_int_equal(n, 0);
    qrn_htp_engine_give(&a);
    pthread_join(overlaps.thread, NULL);
    pthread_join(higher.thread, NULL);
    assert_int_equal(order[0], 1);
}

// --- graphs on the engine

typedef struct runner {
    htp_world *w;
    chain *c;
    uint8_t *x, *y;
    Qnn_SignalHandle_t signal;
    Qnn_ProfileHandle_t profile;
    Qnn_ErrorHandle_t result;
    pthread_t thread;
} runner;

static void *run_once(void *arg) {
    runner *r = arg;
    Qnn_Tensor_t x = r->c->x, y = r->c->y;
    htp_buffer(&x, r->x, chain_bytes(r->c));
    htp_buffer(&y, r->y, chain_bytes(r->c));
    r->result = r->w->qnn.graphExecute(r->c->graph, &x, 1, &y, 1, r->profile, r->signal);
    return NULL;
}

static Qnn_SignalHandle_t signal_of(const htp_world *w, QnnSignal_Config_t config) {
    const QnnSignal_Config_t *configs[] = {&config, NULL};
    Qnn_SignalHandle_t s = NULL;
    HTP_OK(w->qnn.signalCreate(w->backend, configs, &s));
    return s;
}

static void htp_can_02_can_03_signals_end_a_graph_that_waits(void **state) {
    (void)state;
    htp_world w = htp_begin(43);
    chain c;
    chain_build(&w.qnn, w.context, "c", NULL, 1, 64, 3, &c);
    HTP_OK(w.qnn.graphFinalize(c.graph, NULL, NULL));
    uint8_t x[64], y[64] = {0};
    chain_fill(x, 64, 1);
    runner r = {&w, &c, x, y, NULL, NULL, 0, 0};
    qrn_htp_turn mine = {.priority = 500};
    assert_int_equal(qrn_htp_engine_take(&mine), QRN_OK);

    r.signal = signal_of(&w, (QnnSignal_Config_t){.option = QNN_SIGNAL_CONFIG_OPTION_TIMEOUT,
                                                  .timeoutDurationUs = 3000});
    run_once(&r); // the engine is ours: it can only time out
    HTP_FAILS(r.result, QNN_GRAPH_ERROR_TIMED_OUT);
    HTP_OK(w.qnn.signalFree(r.signal));

    QnnSignal_Config_t abort = {.option = QNN_SIGNAL_CONFIG_OPTION_ABORT};
    r.signal = signal_of(&w, abort);
    HTP_FAILS(w.qnn.signalTrigger(r.signal), QNN_SIGNAL_ERROR_SIGNAL_IDLE);
    assert_int_equal(pthread_create(&r.thread, NULL, run_once, &r), 0);
    wait_for_line(1);
    runner second = r;
    run_once(&second);
    HTP_FAILS(second.result, QNN_GRAPH_ERROR_SIGNAL_IN_USE);
    const QnnSignal_Config_t *configs[] = {&abort, NULL};
    HTP_FAILS(w.qnn.signalSetConfig(r.signal, configs), QNN_SIGNAL_ERROR_SIGNAL_IN_USE);
    HTP_FAILS(w.qnn.signalFree(r.signal), QNN_SIGNAL_ERROR_SIGNAL_IN_USE);
    HTP_OK(w.qnn.signalTrigger(r.signal));
    pthread_join(r.thread, NULL);
    HTP_FAILS(r.result, QNN_GRAPH_ERROR_ABORTED);
    assert_int_equal(qrn_htp_engine_waiting(), 0);
    HTP_OK(w.qnn.signalFree(r.signal));

    qrn_htp_engine_give(&mine);
    r.signal = NULL;
    run_once(&r); // the graph is as good as before
    HTP_OK(r.result);
    chain_check(&c, x, y, 64);
    htp_end(&w);
}

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

typedef struct inbox {
    atomic_int n;
    int order[8];
    Qnn_ErrorHandle_t error[8];
} inbox;

typedef struct letter {
    inbox *box;
    int name;
} letter;

static void notified(void *param, Qnn_NotifyStatus_t status) {
    letter *l = param;
    int i = atomic_load(&l->box->n);
    l->box->order[i] = l->name;
    l->box->error[i] = status.error;
    atomic_store(&l->box->n, i + 1); // one thread delivers
}

static Qnn_ContextHandle_t context_of_depth(const htp_world *w, uint32_t depth,
                                            Qnn_ErrorHandle_t *code) {
    QnnContext_Config_t config = {
        .option = QNN_CONTEXT_CONFIG_ASYNC_EXECUTION_QUEUE_DEPTH,
        .asyncExeQueueDepth = {QNN_CONTEXT_ASYNC_EXECUTION_QUEUE_DEPTH_TYPE_NUMERIC, {depth}}};
    const QnnContext_Config_t *configs[] = {&config, NULL};
    Qnn_ContextHandle_t c = NULL;
    *code = w->qnn.contextCreate(w->backend, w->device, configs, &c);
    if (*code == QNN_SUCCESS) {
        HTP_FAILS(w->qnn.contextSetConfig(c, configs), QNN_CONTEXT_ERROR_INVALID_ARGUMENT);
    }
    return c;
}

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

static void htp_asy_02_a_full_queue_refuses(void **state) {
    (void)state;
    htp_world w = htp_begin(43);
    Qnn_ErrorHandle_t code;
    Qnn_ContextHandle_t context = context_of_depth(&w, 2, &code);
    HTP_OK(code);
    chain c;
    chain_build(&w.qnn, context, "c", NULL, 1, 64, 2, &c);
    HTP_OK(w.qnn.graphFinalize(c.graph, NULL, NULL));
    uint8_t x[64], y[4][64] = {{0}};
    chain_fill(x, 64, 3);
    inbox box = {0};
    letter letters[4];
    Qnn_Tensor_t outputs[4]; // of the client until the notification
    qrn_htp_turn mine = {.priority = 500};
    assert_int_equal(qrn_htp_engine_take(&mine), QRN_OK);
    htp_buffer(&c.x, x, 64);
    for (int i = 0; i < 4; i++) {
        letters[i] = (letter){&box, i};
        outputs[i] = c.y;
        htp_buffer(&outputs[i], y[i], 64);
        code = w.qnn.graphExecuteAsync(c.graph, &c.x, 1, &outputs[i], 1, NULL, NULL, notified,
                                       &letters[i]);
        if (i < 3)
            HTP_OK(code);
        else
            HTP_FAILS(code, QNN_GRAPH_ERROR_EXECUTION_ASYNC_FIFO_FULL);
        if (i == 0)
            wait_for_line(1); // it is off the queue and waits for the engine
    }
    Qnn_SignalHandle_t s =
        signal_of(&w, (QnnSignal_Config_t){.option = QNN_SIGNAL_CONFIG_OPTION_ABORT});
    HTP_FAILS(
        w.qnn.graphExecuteAsync(c.graph, &c.x, 1, &outputs[3], 1, NULL, s, notified, &letters[3]),
        QNN_GRAPH_ERROR_UNSUPPORTED_FEATURE);
    HTP_OK(w.qnn.signalFree(s));
    assert_int_equal(box.n, 0);
    qrn_htp_engine_give(&mine);
    for (int i = 0; i < 50000 && atomic_load(&box.n) < 3; i++)
        nap();
    assert_int_equal(box.n, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(box.order[i], i);
        HTP_OK(box.error[i]);
        chain_check(&c, x, y[i], 64);
    }
    assert_int_equal(y[3][1], 0); // the refused one did not run
    HTP_OK(w.qnn.contextFree(context, NULL));
    htp_end(&w);
}

// --- yielding

static uint64_t event_value(const htp_world *w, const QnnProfile_EventId_t *ids, uint32_t n,
                            uint32_t type, uint64_t *sum_below, uint32_t *n_below) {
    for (uint32_t i = 0; i < n; i++) {
        QnnProfile_EventData_t e;
        HTP_OK(w->qnn.profileGetEventData(ids[i], &e));
        if (e.type != type)
            continue;
        const QnnProfile_EventId_t *sub = NULL;
        HTP_OK(w->qnn.profileGetSubEvents(ids[i], &sub, n_below));
        for (uint32_t k = 0; k < *n_below; k++) {
            QnnProfile_EventData_t below;
            HTP_OK(w->qnn.profileGetEventData(sub[k], &below));
            assert_int_equal(below.type, 3006 + k % 3);
            assert_int_equal(below.unit, QNN_PROFILE_EVENTUNIT_MICROSEC);
            *sum_below += below.value;
        }
        return e.value;
    }
    fail_msg("no event %u", type);
    return 0;
}

typedef struct background {
    runner run;
    atomic_bool stop;
} background;

// Runs the long graph until it has yielded, or somebody is tired of it; its profile stays that of
// the run that yielded.
static void *run_until_it_yields(void *arg) {
    background *b = arg;
    while (!atomic_load(&b->stop)) {
        run_once(&b->run);
        if (b->run.result != QNN_SUCCESS)
            break;
        const QnnProfile_EventId_t *ids = NULL;
        uint32_t n = 0, n_below = 0;
        uint64_t sum = 0;
        HTP_OK(b->run.w->qnn.profileGetEvents(b->run.profile, &ids, &n));
        if (event_value(b->run.w, ids, n, 3009, &sum, &n_below) > 0)
            break;
    }
    atomic_store(&b->stop, true);
    return NULL;
}

static void htp_yld_09_a_low_graph_yields_to_a_high_one(void **state) {
    (void)state;
    htp_world w = htp_begin(43);
    QnnGraph_Config_t low = chain_priority(QNN_PRIORITY_LOW),
                      high = chain_priority(QNN_PRIORITY_HIGH);
    const QnnGraph_Config_t *lows[] = {&low, NULL}, *highs[] = {&high, NULL};
    chain slow, fast;
    chain_build(&w.qnn, w.context, "slow", lows, 64, 1024, 60, &slow);
    chain_build(&w.qnn, w.context, "fast", highs, 1, 64, 2, &fast);
    HTP_OK(w.qnn.graphFinalize(slow.graph, NULL, NULL));
    HTP_OK(w.qnn.graphFinalize(fast.graph, NULL, NULL));
    uint32_t n = chain_bytes(&slow);
    uint8_t *x = malloc(n), *y = calloc(1, n), fx[64], fy[64] = {0};
    chain_fill(x, n, 5);
    chain_fill(fx, 64, 6);
    background b = {.run = {&w, &slow, x, y, NULL, NULL, 0, 0}};
    HTP_OK(w.qnn.profileCreate(w.backend, QNN_PROFILE_LEVEL_BASIC, &b.run.profile));
    assert_int_equal(pthread_create(&b.run.thread, NULL, run_until_it_yields, &b), 0);
    runner r = {&w, &fast, fx, fy, NULL, NULL, 0, 0};
    for (int i = 0; i < 100000 && !atomic_load(&b.stop); i++) {
        run_once(&r);
        HTP_OK(r.result);
    }
    atomic_store(&b.stop, true);
    pthread_join(b.run.thread, NULL);
    HTP_OK(b.run.result);
    chain_check(&slow, x, y, n);
    chain_check(&fast, fx, fy, 64);

    const QnnProfile_EventId_t *ids = NULL;
    uint32_t n_events = 0, n_below = 0, none = 0;
    uint64_t parts = 0, unused = 0;
    HTP_OK(w.qnn.profileGetEvents(b.run.profile, &ids, &n_events));
    uint64_t yields = event_value(&w, ids, n_events, 3009, &parts, &n_below);
    assert_true(yields > 0);
    assert_int_equal(n_below, 3 * (yields < 64 ? yields : 64));
    uint64_t all = event_value(&w, ids, n_events, 3004, &unused, &none);
    uint64_t working = event_value(&w, ids, n_events, 3012, &unused, &none);
    assert_true(parts + working <= all + 1); // each is cut to whole microseconds
    HTP_OK(w.qnn.profileFree(b.run.profile));
    free(x);
    free(y);
    htp_end(&w);
}

// Four threads, two graphs each of other priority: results stay right and nothing hangs.
typedef struct crowd {
    runner run;
    int n;
} crowd;

static void *run_often(void *arg) {
    crowd *k = arg;
    for (int i = 0; i < k->n && k->run.result == QNN_SUCCESS; i++) {
        memset(k->run.y, 0, chain_bytes(k->run.c));
        run_once(&k->run);
        if (k->run.result == QNN_SUCCESS)
            chain_check(k->run.c, k->run.x, k->run.y, chain_bytes(k->run.c));
    }
    return NULL;
}

static void graphs_of_all_priorities_share_the_engine(void **state) {
    (void)state;
    htp_world w = htp_begin(43);
    static const Qnn_Priority_t priorities[] = {QNN_PRIORITY_LOW, QNN_PRIORITY_NORMAL,
                                                QNN_PRIORITY_NORMAL, QNN_PRIORITY_HIGH};
    static uint8_t x[4][4096], y[4][4096];
    chain c[4];
    crowd k[4];
    for (int i = 0; i < 4; i++) {
        char name[8];
        snprintf(name, sizeof name, "g%d", i);
        QnnGraph_Config_t config = chain_priority(priorities[i]);
        const QnnGraph_Config_t *configs[] = {&config, NULL};
        chain_build(&w.qnn, w.context, name, configs, 4, 1024, 10, &c[i]);
        HTP_OK(w.qnn.graphFinalize(c[i].graph, NULL, NULL));
        chain_fill(x[i], 4096, (uint32_t)i);
        k[i] = (crowd){.run = {&w, &c[i], x[i], y[i], NULL, NULL, 0, 0}, .n = 40};
    }
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&k[i].run.thread, NULL, run_often, &k[i]), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(k[i].run.thread, NULL);
        HTP_OK(k[i].run.result);
    }
    assert_int_equal(qrn_htp_engine_waiting(), 0);
    htp_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(htp_bat_01_multiples_of_the_prepared_batch_run),
        cmocka_unit_test(htp_bat_02_a_multiple_equals_runs_one_after_the_other),
        cmocka_unit_test(a_batch_in_buffers_that_are_not_aligned),
        cmocka_unit_test(the_engine_serves_by_priority_then_by_arrival),
        cmocka_unit_test(a_holder_is_wanted_by_higher_priorities_only),
#ifndef __SANITIZE_THREAD__
        cmocka_unit_test(a_forked_child_has_the_engine_for_itself),
#endif
        cmocka_unit_test(htp_pge_03_two_graphs_that_part_the_vtcm_run_together),
        cmocka_unit_test(htp_can_02_can_03_signals_end_a_graph_that_waits),
        cmocka_unit_test(htp_can_04_finalize_takes_no_signal),
        cmocka_unit_test(htp_asy_01_depth_of_the_queue),
        cmocka_unit_test(htp_asy_02_a_full_queue_refuses),
        cmocka_unit_test(htp_yld_09_a_low_graph_yields_to_a_high_one),
        cmocka_unit_test(graphs_of_all_priorities_share_the_engine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
