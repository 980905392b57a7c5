// SPDX-License-Identifier: MIT
//
// Restarts of the accelerator: the modelled one crashes where a client orders it to.
#include "chain.h"

#include "QnnMem.h"
#include "Quern/QuernBackend.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#define N 64u
#define LOST QNN_COMMON_ERROR_SYSTEM_COMMUNICATION
#define FATAL QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL

// The n-th call from now on that reaches the accelerator finds it crashed; 0: none does.
static void crash_at(const htp_world *w, uint32_t n, bool for_good) {
    QuernBackend_CustomConfig_t order = {
        QUERN_BACKEND_CONFIG_MAGIC,
        for_good ? QUERN_BACKEND_OPTION_CRASH : QUERN_BACKEND_OPTION_RESTART, n};
    QnnBackend_Config_t one = {.option = QNN_BACKEND_CONFIG_OPTION_CUSTOM, .customConfig = &order};
    const QnnBackend_Config_t *list[] = {&one, NULL};
    HTP_OK(w->qnn.backendSetConfig(w->backend, list));
}

typedef struct client {
    htp_world w;
    chain c;
    uint8_t x[N], y[N];
} client;

static void build(client *k, const char *name) {
    chain_build(&k->w.qnn, k->w.context, name, NULL, 1, N, 3, &k->c);
    HTP_OK(k->w.qnn.graphFinalize(k->c.graph, NULL, NULL));
    chain_fill(k->x, N, 1);
    htp_buffer(&k->c.x, k->x, N);
    htp_buffer(&k->c.y, k->y, N);
}

static Qnn_ErrorHandle_t execute(client *k) {
    return k->w.qnn.graphExecute(k->c.graph, &k->c.x, 1, &k->c.y, 1, NULL, NULL);
}

static void recover(client *k) {
    HTP_OK(k->w.qnn.contextFree(k->w.context, NULL));
    HTP_OK(k->w.qnn.contextCreate(k->w.backend, k->w.device, NULL, &k->w.context));
    build(k, "again");
    HTP_OK(execute(k));
    chain_check(&k->c, k->x, k->y, N);
}

static void htp_ssr_01_lost_contexts_answer_1007(void **state) {
    (void)state;
    client k = {.w = htp_begin(43)};
    build(&k, "g");
    HTP_OK(execute(&k));
    crash_at(&k.w, 2, false);
    HTP_OK(execute(&k)); // the first crossing
    HTP_FAILS(execute(&k), LOST);
    for (int i = 0; i < 2; i++)
        HTP_FAILS(execute(&k), LOST);
    const htp_table *q = &k.w.qnn;
    Qnn_GraphHandle_t g;
    Qnn_ContextBinarySize_t size;
    uint32_t dims[] = {1, N};
    Qnn_Tensor_t t = htp_tensor("t", QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_FLOAT_32, 2, dims);
    QnnGraph_Config_t priority = chain_priority(QNN_PRIORITY_LOW);
    const QnnGraph_Config_t *configs[] = {&priority, NULL};
    const QnnContext_Config_t *none[] = {NULL};
    HTP_FAILS(q->graphCreate(k.w.context, "new", NULL, &g), LOST);
    HTP_FAILS(q->graphRetrieve(k.w.context, "g", &g), LOST);
    HTP_FAILS(q->graphAddNode(k.c.graph, htp_op("n", "Relu", &t, 1, &t, 1)), LOST);
    HTP_FAILS(q->graphFinalize(k.c.graph, NULL, NULL), LOST);
    HTP_FAILS(q->graphSetConfig(k.c.graph, configs), LOST);
    HTP_FAILS(q->tensorCreateGraphTensor(k.c.graph, &t), LOST);
    HTP_FAILS(q->contextSetConfig(k.w.context, none), LOST);
    HTP_FAILS(q->contextGetBinarySize(k.w.context, &size), LOST);
    HTP_FAILS(q->graphExecuteAsync(k.c.graph, &k.c.x, 1, &k.c.y, 1, NULL, NULL, NULL, NULL), LOST);
    recover(&k);
    htp_end(&k.w);
}

static void htp_ssr_01_a_crash_for_good_answers_1011(void **state) {
    (void)state;
    client k = {.w = htp_begin(43)};
    build(&k, "g");
    crash_at(&k.w, 1, true);
    HTP_FAILS(execute(&k), FATAL);
    HTP_FAILS(execute(&k), FATAL);
    Qnn_ContextHandle_t c;
    HTP_FAILS(k.w.qnn.contextCreate(k.w.backend, k.w.device, NULL, &c), FATAL);
    HTP_OK(k.w.qnn.contextFree(k.w.context, NULL)); // cleaning up works
    crash_at(&k.w, 0, false);                       // it is back
    HTP_OK(k.w.qnn.contextCreate(k.w.backend, k.w.device, NULL, &k.w.context));
    htp_end(&k.w);
}

typedef struct thread_client {
    client *k;
    Qnn_ErrorHandle_t first, then;
    atomic_bool runs;
    pthread_t thread;
} thread_client;

// Executes until it runs into the restart, and recovers by itself.
static void *run_and_recover(void *arg) {
    thread_client *t = arg;
    do {
        t->first = execute(t->k);
        atomic_store(&t->runs, true);
    } while (t->first == QNN_SUCCESS);
    recover(t->k);
    t->then = execute(t->k);
    return NULL;
}

static void htp_ssr_02_each_thread_recovers_by_itself(void **state) {
    (void)state;
    client a = {.w = htp_begin(43)}, b = a;
    HTP_OK(a.w.qnn.contextCreate(a.w.backend, a.w.device, NULL, &b.w.context));
    build(&a, "a");
    build(&b, "b");
    thread_client t = {.k = &a};
    assert_int_equal(pthread_create(&t.thread, NULL, run_and_recover, &t), 0);
    while (!atomic_load(&t.runs))
        sched_yield();
    crash_at(&b.w, 1, false); // whichever thread meets it, both have lost their contexts
    Qnn_ErrorHandle_t mine = QNN_SUCCESS;
    while (mine == QNN_SUCCESS)
        mine = execute(&b);
    HTP_FAILS(mine, LOST);
    recover(&b);
    pthread_join(t.thread, NULL);
    HTP_FAILS(t.first, LOST);
    HTP_OK(t.then);
    HTP_OK(b.w.qnn.contextFree(b.w.context, NULL));
    htp_end(&a.w);
}

static void htp_ssr_03_ssr_05_what_stays_and_what_goes(void **state) {
    (void)state;
    client k = {.w = htp_begin(43)};
    const htp_table *q = &k.w.qnn;
    Qnn_ProfileHandle_t profile;
    HTP_OK(q->profileCreate(k.w.backend, QNN_PROFILE_LEVEL_BASIC, &profile));
    build(&k, "g");
    int fd = memfd_create("ssr", 0);
    assert_int_equal(ftruncate(fd, N), 0);
    uint32_t dims[] = {1, N};
    Qnn_MemDescriptor_t d = {.memShape = {2, dims, NULL},
                             .dataType = QNN_DATATYPE_UFIXED_POINT_8,
                             .memType = QNN_MEM_TYPE_ION,
                             .ionInfo = {fd}};
    Qnn_MemHandle_t h = NULL, other = NULL;
    HTP_OK(q->memRegister(k.w.context, &d, 1, &h));
    Qnn_ContextHandle_t second;
    HTP_OK(q->contextCreate(k.w.backend, k.w.device, NULL, &second));

    crash_at(&k.w, 1, false);
    HTP_FAILS(execute(&k), LOST);
    HTP_FAILS(q->memRegister(k.w.context, &d, 1, &other), LOST);
    HTP_OK(q->memDeRegister(&h, 1));
    HTP_OK(q->contextFree(second, NULL));
    HTP_OK(q->contextFree(k.w.context, profile)); // a lost one; the profile lives
    HTP_OK(q->contextCreate(k.w.backend, k.w.device, NULL, &k.w.context)); // as do these two
    HTP_OK(q->memRegister(k.w.context, &d, 1, &h));
    build(&k, "g");
    HTP_OK(q->graphExecute(k.c.graph, &k.c.x, 1, &k.c.y, 1, profile, NULL));
    chain_check(&k.c, k.x, k.y, N);
    HTP_OK(q->profileFree(profile));
    close(fd);
    htp_end(&k.w);
}

static void htp_ssr_06_a_restart_at_any_kind_of_call(void **state) {
    (void)state;
    client k = {.w = htp_begin(43)};
    const htp_table *q = &k.w.qnn;
    Qnn_ContextHandle_t c = NULL;
    crash_at(&k.w, 1, false);
    HTP_FAILS(q->contextCreate(k.w.backend, k.w.device, NULL, &c), LOST);
    recover(&k);
    chain late;
    chain_build(q, k.w.context, "late", NULL, 1, N, 1, &late);
    crash_at(&k.w, 1, false);
    HTP_FAILS(q->graphFinalize(late.graph, NULL, NULL), LOST);
    recover(&k);
    HTP_OK(execute(&k)); // one order, one restart
    htp_end(&k.w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(htp_ssr_01_lost_contexts_answer_1007),
        cmocka_unit_test(htp_ssr_01_a_crash_for_good_answers_1011),
        cmocka_unit_test(htp_ssr_02_each_thread_recovers_by_itself),
        cmocka_unit_test(htp_ssr_03_ssr_05_what_stays_and_what_goes),
        cmocka_unit_test(htp_ssr_06_a_restart_at_any_kind_of_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
