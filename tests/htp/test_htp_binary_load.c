// SPDX-License-Identifier: MIT
//
// Ways of loading context binaries: weights that the client brings, loads that are cancelled, lists
// of binaries.
#include "binary_model.h"
#include "htp_options.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

// Two equal networks and a third with other weights: weights of their own and shared ones.
static blob blob_of_three(uint8_t out[2][NET_OUT_BYTES]) {
    htp_world w = htp_begin(0);
    const char *names[] = {"a", "b", "c"};
    for (uint32_t i = 0; i < 3; i++) {
        net m = {.seed = i == 2 ? 99 : 0};
        net_build(&w.qnn, w.context, names[i], NULL, &m);
        HTP_OK(w.qnn.graphFinalize(m.graph, NULL, NULL));
        if (i)
            net_run(&w.qnn, &m, out[i - 1]);
    }
    blob b = blob_of(&w.qnn, w.context);
    htp_end(&w);
    return b;
}

#define TENSORS_PER_NET 9u

static net net_with(Qnn_GraphHandle_t graph, uint32_t i) {
    net m = net_around(graph);
    m.x.v1.id += i * TENSORS_PER_NET;
    m.y.v1.id += i * TENSORS_PER_NET;
    return m;
}

static net nth_net(const htp_table *qnn, Qnn_ContextHandle_t c, const char *name, uint32_t i) {
    return net_with(net_of(qnn, c, name).graph, i);
}

// --- clients that bring the weights

typedef enum mistake { NONE, MISALIGNED, SHORT, SAME_FD, ERROR, NO_FD } mistake;

typedef struct provider {
    const blob *from; // the whole binary
    mistake mistake;
    bool by_fd; // gives the descriptor of a memory file without an address
    uint32_t n_asked, n_returned;
    uint64_t offset[4], size[4];
    int fd[4];
    void *memory[4];
    void (*meanwhile)(struct provider *p); // called while the load runs
    const htp_world *world;
    Qnn_SignalHandle_t signal;
} provider;

static size_t page_rounded(uint64_t n) { return (n + 4095) / 4096 * 4096 + 4096; }

static Qnn_ErrorHandle_t provide(Qnn_ContextBinaryDataRequest_t want,
                                 Qnn_ContextBinaryDmaDataResponse_t *got, void *param) {
    provider *p = param;
    uint32_t i = p->n_asked++;
    assert_in_range(i, 0, 3);
    if (p->meanwhile)
        p->meanwhile(p);
    if (p->mistake == ERROR)
        return QNN_COMMON_ERROR_SYSTEM;
    size_t room = page_rounded(want.size);
    p->offset[i] = want.offset;
    p->size[i] = want.size;
    p->fd[i] = memfd_create("weights", 0);
    assert_int_equal(ftruncate(p->fd[i], (off_t)room), 0);
    p->memory[i] = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED, p->fd[i], 0);
    memcpy(p->memory[i], p->from->data + want.offset, want.size);
    int fd = p->mistake == NO_FD ? -1 : p->mistake == SAME_FD ? p->fd[0] : p->fd[i];
    uint8_t *data = p->by_fd ? NULL : (uint8_t *)p->memory[i];
    if (p->mistake == MISALIGNED)
        data += 64;
    *got = (Qnn_ContextBinaryDmaDataResponse_t){
        {fd, data}, 0, p->mistake == SHORT ? want.size - 1 : room};
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t take_back(Qnn_ContextBinaryDmaDataMem_t mem, void *param) {
    provider *p = param;
    (void)mem;
    p->n_returned++;
    return QNN_SUCCESS;
}

static void provider_end(provider *p) {
    for (int i = 0; i < 4; i++)
        if (p->memory[i]) {
            munmap(p->memory[i], page_rounded(p->size[i]));
            close(p->fd[i]);
        }
}

static Qnn_ErrorHandle_t load_from(htp_world *w, const QnnContext_Config_t *a,
                                   const QnnContext_Config_t *b, const blob *file, provider *p) {
    Qnn_ContextBinaryCallback_t cb = {
        QNN_CONTEXT_CALLBACK_DMA_BUFFER,
        {.dmaBufferCallback = {QNN_CONTEXT_CALLBACK_DMA_BUFFER_VERSION_1,
                               {.v1 = {provide, take_back, p}}}}};
    const QnnContext_Config_t *list[] = {a, b, NULL};
    p->world = w;
    return w->qnn.contextCreateFromBinaryWithCallback(w->backend, w->device, list, &cb, file->data,
                                                      file->size, &w->context, NULL, p->signal);
}

static Qnn_ErrorHandle_t raw_provide(Qnn_ContextBinaryDataRequest_t want,
                                     Qnn_ContextBinaryRawDataResponse_t *got, void *param) {
    (void)want, (void)got, (void)param;
    fail_msg("a provider of ordinary memory was asked");
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t raw_take(Qnn_ContextBinaryRawDataMem_t mem, void *param) {
    (void)mem, (void)param;
    return QNN_SUCCESS;
}

static void htp_cbk_01_ordinary_memory_is_refused(void **state) {
    (void)state;
    uint8_t out[2][NET_OUT_BYTES];
    blob b = blob_of_three(out);
    htp_world w = htp_bare(0);
    Qnn_ContextBinaryCallback_t cb = {
        QNN_CONTEXT_CALLBACK_RAW_BUFFER,
        {.rawBufferCallback = {QNN_CONTEXT_CALLBACK_RAW_BUFFER_VERSION_1,
                               {.v1 = {raw_provide, raw_take, NULL}}}}};
    HTP_FAILS(w.qnn.contextCreateFromBinaryWithCallback(w.backend, w.device, NULL, &cb, b.data,
                                                        b.size, &w.context, NULL, NULL),
              QNN_COMMON_ERROR_NOT_SUPPORTED);
    htp_end(&w);
    free(b.data);
}

// The weights of the client's own file are destroyed: what is computed comes from its buffers.
static void htp_cbk_02_cbk_04_cbk_06_cbk_07_weights_come_from_buffers(void **state) {
    (void)state;
    uint8_t out[2][NET_OUT_BYTES], loaded[NET_OUT_BYTES];
    blob whole = blob_of_three(out), file = blob_alloc(whole.size);
    memcpy(file.data, whole.data, whole.size);
    for (int round = 0; round < 3; round++) { // the first one shows where the weights are
        provider p = {.from = &whole, .by_fd = round == 2};
        htp_world w = htp_bare(0);
        HTP_OK(load_from(&w, NULL, NULL, &file, &p));
        assert_int_equal(p.n_asked, 2); // once a section: own and shared ones
        for (int i = 0; i < 2; i++) {
            assert_true(p.size[i] > 0 && p.offset[i] + p.size[i] <= whole.size);
            assert_int_equal(p.offset[i] % 4096, 0);
            memset(file.data + p.offset[i], 0xEE, p.size[i]);
        }
        assert_true(p.offset[0] + p.size[0] <= p.offset[1]);
        net b = nth_net(&w.qnn, w.context, "b", 1), c = nth_net(&w.qnn, w.context, "c", 2);
        net_run(&w.qnn, &b, loaded);
        assert_memory_equal(loaded, out[0], sizeof loaded);
        net_run(&w.qnn, &c, loaded);
        assert_memory_equal(loaded, out[1], sizeof loaded);
        assert_int_equal(p.n_returned, 0);
        HTP_OK(w.qnn.contextFree(w.context, NULL));
        w.context = NULL;
        assert_int_equal(p.n_returned, 2);
        htp_end(&w);
        provider_end(&p);
    }
    free(whole.data);
    free(file.data);
}

static void htp_cbk_03_cbk_04_cbk_08_bad_buffers_end_the_load(void **state) {
    (void)state;
    uint8_t out[2][NET_OUT_BYTES];
    blob b = blob_of_three(out);
    const struct {
        mistake mistake;
        uint32_t n_asked, n_returned;
    } rows[] = {{MISALIGNED, 1, 1}, {SHORT, 1, 1}, {SAME_FD, 2, 2}, {NO_FD, 1, 1}, {ERROR, 1, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        provider p = {.from = &b, .mistake = rows[i].mistake};
        htp_world w = htp_bare(0);
        HTP_FAILS(load_from(&w, NULL, NULL, &b, &p), QNN_CONTEXT_ERROR_CREATE_FROM_BINARY);
        assert_null(w.context);
        assert_int_equal(p.n_asked, rows[i].n_asked);
        assert_int_equal(p.n_returned, rows[i].n_returned); // what came is given back
        htp_end(&w);
        provider_end(&p);
    }
    free(b.data);
}

static void htp_cbk_05_not_with_switching_or_deferred_graphs(void **state) {
    (void)state;
    uint8_t out[2][NET_OUT_BYTES];
    blob b = blob_of_three(out);
    provider p = {.from = &b};
    const QnnContext_Config_t defer = {.option = QNN_CONTEXT_CONFIG_OPTION_DEFER_GRAPH_INIT,
                                       .isGraphInitDeferred = 1};
    const QnnContext_Config_t keep = {.option = QNN_CONTEXT_CONFIG_PERSISTENT_BINARY,
                                      .isPersistentBinary = 1};
    const QnnContext_Config_t limit = {.option = QNN_CONTEXT_CONFIG_MEMORY_LIMIT_HINT,
                                       .memoryLimitHint = 1};
    htp_world w = htp_bare(0);
    HTP_FAILS(load_from(&w, &defer, NULL, &b, &p), QNN_COMMON_ERROR_NOT_SUPPORTED);
    HTP_FAILS(load_from(&w, &keep, &limit, &b, &p), QNN_COMMON_ERROR_NOT_SUPPORTED);
    assert_int_equal(p.n_asked, 0);
    HTP_OK(load_from(&w, &keep, NULL, &b, &p));
    htp_end(&w);
    provider_end(&p);
    free(b.data);
}

// --- cancellation

static Qnn_SignalHandle_t make_signal(const htp_world *w, QnnSignal_Config_t option) {
    const QnnSignal_Config_t *list[] = {&option, NULL};
    Qnn_SignalHandle_t s = NULL;
    HTP_OK(w->qnn.signalCreate(w->backend, list, &s));
    return s;
}

static const QnnSignal_Config_t aborting = {.option = QNN_SIGNAL_CONFIG_OPTION_ABORT};
static const QnnSignal_Config_t at_once = {.option = QNN_SIGNAL_CONFIG_OPTION_TIMEOUT,
                                           .timeoutDurationUs = 0};

static void trigger(provider *p) { HTP_OK(p->world->qnn.signalTrigger(p->signal)); }

// The load is cancelled while the client brings the weights.
static void htp_can_01_can_06_cancelled_loads_leave_nothing(void **state) {
    (void)state;
    uint8_t out[2][NET_OUT_BYTES];
    blob b = blob_of_three(out);
    htp_world w = htp_bare(0);
    Qnn_SignalHandle_t abort_it = make_signal(&w, aborting), late = make_signal(&w, at_once);
    HTP_OK(w.qnn.contextCreateFromBinary(w.backend, w.device, NULL, b.data, b.size, &w.context,
                                         NULL)); // makes what lives as long as the backend
    HTP_OK(w.qnn.contextFree(w.context, NULL));
    w.context = NULL;
    provider p = {.from = &b, .meanwhile = trigger, .signal = abort_it};
    HTP_FAILS(load_from(&w, NULL, NULL, &b, &p), QNN_CONTEXT_ERROR_ABORTED);
    assert_null(w.context);
    assert_int_equal(p.n_returned, p.n_asked);
    HTP_FAILS(w.qnn.contextCreateFromBinaryWithSignal(w.backend, w.device, NULL, b.data, b.size,
                                                      &w.context, NULL, late),
              QNN_CONTEXT_ERROR_TIMED_OUT);
    assert_null(w.context);
    HTP_OK(w.qnn.contextCreateFromBinaryWithSignal(w.backend, w.device, NULL, b.data, b.size,
                                                   &w.context, NULL, abort_it)); // not triggered
    HTP_OK(w.qnn.signalFree(abort_it));
    HTP_OK(w.qnn.signalFree(late));
    htp_end(&w);
    provider_end(&p);
    free(b.data);
}

// A signal belongs to one call at a time.
static net busy_net;
static void use_the_signal(provider *p) {
    const htp_table *qnn = &p->world->qnn;
    uint8_t in[NET_IN_BYTES] = {0}, out[NET_OUT_BYTES];
    htp_buffer(&busy_net.x, in, sizeof in);
    htp_buffer(&busy_net.y, out, sizeof out);
    HTP_FAILS(qnn->graphExecute(busy_net.graph, &busy_net.x, 1, &busy_net.y, 1, NULL, p->signal),
              QNN_GRAPH_ERROR_SIGNAL_IN_USE);
    HTP_FAILS(qnn->signalFree(p->signal), QNN_SIGNAL_ERROR_SIGNAL_IN_USE);
}

static void htp_can_02_signals_serve_one_call_at_a_time(void **state) {
    (void)state;
    uint8_t out[2][NET_OUT_BYTES];
    blob b = blob_of_three(out);
    htp_world w = htp_begin(0);
    busy_net = (net){0};
    net_build(&w.qnn, w.context, "busy", NULL, &busy_net);
    HTP_OK(w.qnn.graphFinalize(busy_net.graph, NULL, NULL));
    Qnn_SignalHandle_t s = make_signal(&w, aborting);
    HTP_FAILS(w.qnn.signalTrigger(s), QNN_SIGNAL_ERROR_SIGNAL_IDLE);
    provider p = {.from = &b, .meanwhile = use_the_signal, .signal = s};
    htp_world second = {.qnn = w.qnn, .backend = w.backend, .device = w.device};
    HTP_OK(load_from(&second, NULL, NULL, &b, &p));
    HTP_OK(w.qnn.contextFree(second.context, NULL));
    HTP_OK(w.qnn.signalFree(s));
    htp_end(&w);
    provider_end(&p);
    free(b.data);
}

typedef struct runner {
    const htp_table *qnn;
    net *m;
    Qnn_SignalHandle_t signal;
    Qnn_ErrorHandle_t code; // of the first execution that failed
} runner;

static void *run_until_it_fails(void *param) {
    runner *r = param;
    uint8_t in[NET_IN_BYTES] = {0}, out[NET_OUT_BYTES];
    htp_buffer(&r->m->x, in, sizeof in);
    htp_buffer(&r->m->y, out, sizeof out);
    do
        r->code = r->qnn->graphExecute(r->m->graph, &r->m->x, 1, &r->m->y, 1, NULL, r->signal);
    while (r->code == QNN_SUCCESS);
    return NULL;
}

static void htp_can_03_executions_can_be_cancelled(void **state) {
    (void)state;
    htp_world w = htp_begin(0);
    net m = {0};
    net_build(&w.qnn, w.context, "net", NULL, &m);
    HTP_OK(w.qnn.graphFinalize(m.graph, NULL, NULL));
    runner r = {&w.qnn, &m, make_signal(&w, at_once), 0};
    run_until_it_fails(&r);
    assert_int_equal(QNN_GET_ERROR_CODE(r.code), QNN_GRAPH_ERROR_TIMED_OUT);
    HTP_OK(w.qnn.signalFree(r.signal));
    r.signal = make_signal(&w, aborting);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run_until_it_fails, &r), 0);
    // Until it hits an execution that runs: between two of them the signal is idle.
    while (w.qnn.signalTrigger(r.signal) != QNN_SUCCESS)
        nanosleep(&(struct timespec){0, 1000}, NULL);
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_sec += 20;
    int joined = pthread_timedjoin_np(thread, NULL, &soon);
    for (int i = 0; i < 1000 && joined; i++) { // it came after the last step
        w.qnn.signalTrigger(r.signal);
        clock_gettime(CLOCK_REALTIME, &soon);
        soon.tv_nsec = soon.tv_nsec / 2;
        soon.tv_sec += 1;
        joined = pthread_timedjoin_np(thread, NULL, &soon);
    }
    assert_int_equal(joined, 0);
    assert_int_equal(QNN_GET_ERROR_CODE(r.code), QNN_GRAPH_ERROR_ABORTED);
    HTP_OK(w.qnn.signalFree(r.signal));
    htp_end(&w);
}

static void htp_can_04_finalize_takes_no_signal(void **state) {
    (void)state;
    htp_world w = htp_begin(0);
    net m = {0};
    net_build(&w.qnn, w.context, "net", NULL, &m);
    Qnn_SignalHandle_t s = make_signal(&w, aborting);
    HTP_FAILS(w.qnn.propertyHasCapability(QNN_PROPERTY_GRAPH_SUPPORT_FINALIZE_SIGNAL),
              QNN_PROPERTY_NOT_SUPPORTED);
    HTP_FAILS(w.qnn.graphFinalize(m.graph, NULL, s), QNN_COMMON_ERROR_NOT_SUPPORTED);
    HTP_OK(w.qnn.signalFree(s));
    htp_end(&w);
}

static void htp_can_05_loads_for_several_cores_cannot_be_cancelled(void **state) {
    (void)state;
    htp_world w = {.qnn = htp_open()};
    HTP_OK(w.qnn.backendCreate(NULL, NULL, &w.backend));
    w.device = device_of_cores(&w.qnn, 2);
    HTP_OK(w.qnn.contextCreate(w.backend, w.device, NULL, &w.context));
    QnnHtpGraph_CustomConfig_t two = GRAPH_OPTION(NUM_CORES, .numCores = 2);
    graph_list l;
    net m = {0};
    net_build(&w.qnn, w.context, "net", graph_options(&l, &two, 1), &m);
    HTP_OK(w.qnn.graphFinalize(m.graph, NULL, NULL));
    blob b = blob_of(&w.qnn, w.context);
    Qnn_SignalHandle_t s = make_signal(&w, aborting);
    Qnn_ContextHandle_t c = NULL;
    HTP_FAILS(w.qnn.contextCreateFromBinaryWithSignal(w.backend, w.device, NULL, b.data, b.size, &c,
                                                      NULL, s),
              QNN_COMMON_ERROR_NOT_SUPPORTED);
    HTP_OK(w.qnn.contextCreateFromBinary(w.backend, w.device, NULL, b.data, b.size, &c, NULL));
    HTP_OK(w.qnn.contextFree(c, NULL));
    HTP_OK(w.qnn.signalFree(s));
    htp_end(&w);
    free(b.data);
}

// --- lists

typedef struct notes {
    htp_world *world;
    uint32_t n_graphs, n_contexts;
    Qnn_ErrorHandle_t status;
    Qnn_ContextHandle_t context;
    uint8_t out[NET_OUT_BYTES]; // of graph "b", run while the list is loaded
} notes;

static void notify(Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph, const char *name,
                   QnnContext_createFromBinaryAsyncNotifyType_t type, void *param,
                   Qnn_ErrorHandle_t status) {
    notes *n = param;
    n->status = status;
    if (type == QNN_CONTEXT_NOTIFY_TYPE_CONTEXT_INIT) {
        n->context = context;
        n->n_contexts++;
        return;
    }
    n->n_graphs++;
    assert_int_equal(status, QNN_SUCCESS);
    assert_null(context); // comes last: a client may take every context it sees as a new one
    if (strcmp(name, "b") == 0) {
        net m = net_with(graph, 1);
        net_run(&n->world->qnn, &m, n->out);
    }
}

static QnnContext_Params_t entry(const blob *b, notes *n) {
    return (QnnContext_Params_t){QNN_CONTEXT_PARAMS_VERSION_1,
                                 {.v1 = {NULL, b->data, b->size, NULL, notify, n}}};
}

static void htp_lst_01_lst_02_lst_03_lst_08_lists_notify_while_they_load(void **state) {
    (void)state;
    uint8_t out[2][NET_OUT_BYTES];
    blob b = blob_of_three(out);
    htp_world w = htp_bare(0);
    notes n[2] = {{.world = &w}, {.world = &w}};
    QnnContext_Params_t first = entry(&b, &n[0]), second = entry(&b, &n[1]);
    const QnnContext_Params_t *list[] = {&first, &second, NULL};
    HTP_OK(w.qnn.contextCreateFromBinaryListAsync(w.backend, w.device, list, NULL, NULL));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(n[i].n_graphs, 3);
        assert_int_equal(n[i].n_contexts, 1);
        assert_int_equal(n[i].status, QNN_SUCCESS);
        assert_memory_equal(n[i].out, out[0], NET_OUT_BYTES); // usable when notified
        HTP_OK(w.qnn.contextFree(n[i].context, NULL));
    }
    htp_end(&w);
    free(b.data);
}

static void htp_lst_07_one_that_fails_does_not_stop_the_others(void **state) {
    (void)state;
    uint8_t out[2][NET_OUT_BYTES];
    blob b = blob_of_three(out), broken = blob_alloc(b.size);
    memcpy(broken.data, b.data, b.size);
    broken.data[4096 + 40] ^= 1; // info section
    htp_world w = htp_bare(0);
    notes n[2] = {{.world = &w}, {.world = &w}};
    QnnContext_Params_t first = entry(&broken, &n[0]), second = entry(&b, &n[1]);
    QnnContext_Params_t nobody = second;
    nobody.v1.notifyFunc = NULL;
    const QnnContext_Params_t *list[] = {&first, &second, NULL}, *bad[] = {&second, &nobody, NULL};
    HTP_FAILS(w.qnn.contextCreateFromBinaryListAsync(w.backend, w.device, list, NULL, NULL),
              QNN_CONTEXT_ERROR_CREATE_FROM_BINARY);
    assert_int_equal(n[0].n_graphs, 0);
    assert_int_equal(QNN_GET_ERROR_CODE(n[0].status), QNN_CONTEXT_ERROR_CREATE_FROM_BINARY);
    assert_int_equal(n[1].n_graphs, 3);
    assert_int_equal(n[1].status, QNN_SUCCESS);
    HTP_OK(w.qnn.contextFree(n[1].context, NULL));
    HTP_FAILS(w.qnn.contextCreateFromBinaryListAsync(w.backend, w.device, list + 2, NULL, NULL),
              QNN_CONTEXT_ERROR_INVALID_ARGUMENT);
    HTP_FAILS(w.qnn.contextCreateFromBinaryListAsync(w.backend, w.device, bad, NULL, NULL),
              QNN_CONTEXT_ERROR_INVALID_ARGUMENT);
    assert_int_equal(n[1].n_contexts, 1); // nothing was loaded
    htp_end(&w);
    free(b.data);
    free(broken.data);
}

// Two lists at a time, which clients are told not to load: each gets its own right.
static void *load_a_list(void *param) {
    const blob *b = param;
    static const uint32_t rounds = 5;
    for (uint32_t i = 0; i < rounds; i++) {
        htp_world w = htp_bare(0);
        notes n = {.world = &w};
        QnnContext_Params_t one = entry(b, &n);
        const QnnContext_Params_t *list[] = {&one, NULL};
        if (w.qnn.contextCreateFromBinaryListAsync(w.backend, w.device, list, NULL, NULL) !=
                QNN_SUCCESS ||
            n.n_graphs != 3 || w.qnn.contextFree(n.context, NULL) != QNN_SUCCESS)
            return NULL;
        htp_end(&w);
    }
    return param;
}

static void htp_lst_04_lists_of_two_threads(void **state) {
    (void)state;
    uint8_t out[2][NET_OUT_BYTES];
    blob b = blob_of_three(out);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, load_a_list, &b), 0);
    for (int i = 0; i < 2; i++) {
        void *result = NULL;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_ptr_equal(result, &b);
    }
    free(b.data);
}

// The file on a disk, mapped.
static blob mapped_file(const blob *b) {
    FILE *f = tmpfile();
    assert_non_null(f);
    assert_int_equal(fwrite(b->data, 1, b->size, f), b->size);
    assert_int_equal(fflush(f), 0);
    void *at = mmap(NULL, b->size, PROT_READ, MAP_PRIVATE, fileno(f), 0);
    assert_ptr_not_equal(at, MAP_FAILED);
    fclose(f);
    return (blob){at, b->size};
}

static void htp_lst_10_cbk_05_callbacks_in_lists_are_for_files(void **state) {
    (void)state;
    uint8_t out[2][NET_OUT_BYTES];
    blob b = blob_of_three(out), file = mapped_file(&b);
    htp_world w = htp_bare(0);
    provider p = {.from = &b, .world = &w};
    Qnn_ContextBinaryCallback_t cb = {
        QNN_CONTEXT_CALLBACK_DMA_BUFFER,
        {.dmaBufferCallback = {QNN_CONTEXT_CALLBACK_DMA_BUFFER_VERSION_1,
                               {.v1 = {provide, take_back, &p}}}}};
    QnnHtpContext_CustomConfig_t share = {.option = QNN_HTP_CONTEXT_CONFIG_OPTION_SHARE_RESOURCES,
                                          .shareResources = true};
    QnnContext_Config_t sharing = {.option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM,
                                   .customConfig = &share};
    const QnnContext_Config_t *group[] = {&sharing, NULL};
    const struct {
        const blob *from;
        const QnnContext_Config_t **group;
        Qnn_ErrorHandle_t code;
    } rows[] = {{&b, NULL, QNN_COMMON_ERROR_NOT_SUPPORTED}, // in memory
                {&file, group, QNN_COMMON_ERROR_NOT_SUPPORTED},
                {&file, NULL, QNN_SUCCESS}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        notes n = {.world = &w};
        QnnContext_ParamsV2_t v2 = {NULL, rows[i].from->data, rows[i].from->size, NULL, notify, &n,
                                    &cb};
        QnnContext_Params_t one = {QNN_CONTEXT_PARAMS_VERSION_2, {.v2 = &v2}};
        const QnnContext_Params_t *list[] = {&one, NULL};
        HTP_FAILS(
            w.qnn.contextCreateFromBinaryListAsync(w.backend, w.device, list, rows[i].group, NULL),
            rows[i].code);
        assert_int_equal(QNN_GET_ERROR_CODE(n.status), rows[i].code);
        assert_int_equal(p.n_asked, rows[i].code ? 0 : 2);
        if (!rows[i].code)
            HTP_OK(w.qnn.contextFree(n.context, NULL));
    }
    htp_end(&w);
    provider_end(&p);
    munmap(file.data, file.size);
    free(b.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(htp_cbk_01_ordinary_memory_is_refused),
        cmocka_unit_test(htp_cbk_02_cbk_04_cbk_06_cbk_07_weights_come_from_buffers),
        cmocka_unit_test(htp_cbk_03_cbk_04_cbk_08_bad_buffers_end_the_load),
        cmocka_unit_test(htp_cbk_05_not_with_switching_or_deferred_graphs),
        cmocka_unit_test(htp_can_01_can_06_cancelled_loads_leave_nothing),
        cmocka_unit_test(htp_can_02_signals_serve_one_call_at_a_time),
        cmocka_unit_test(htp_can_03_executions_can_be_cancelled),
        cmocka_unit_test(htp_can_04_finalize_takes_no_signal),
        cmocka_unit_test(htp_can_05_loads_for_several_cores_cannot_be_cancelled),
        cmocka_unit_test(htp_lst_01_lst_02_lst_03_lst_08_lists_notify_while_they_load),
        cmocka_unit_test(htp_lst_04_lists_of_two_threads),
        cmocka_unit_test(htp_lst_10_cbk_05_callbacks_in_lists_are_for_files),
        cmocka_unit_test(htp_lst_07_one_that_fails_does_not_stop_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
