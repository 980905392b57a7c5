// SPDX-License-Identifier: MIT
//
// Every pair of calls on the same objects: two threads make them at once, a few times each, for
// every pair of rows of pair_calls.c. Each call returns success or a code that is documented for
// it, and sanitizers find nothing to say.
//   test_call_pairs library table-of-codes [all | first-row second-row]
// Without the third argument every SAMPLE-th pair is tried.
#include "pair_world.h"

#include <sys/mman.h>
#include <unistd.h>

#define SAMPLE 7
#define LIMIT_SECONDS 600 // of the whole program: a pair that waits for ever ends it

qnn_table qnn;
uint32_t pair_dims[2] = {1, SIZE};
void *binary;
uint64_t binary_bytes;

// --- The world

Qnn_Tensor_t pair_tensor(Qnn_TensorType_t type, const char *name) {
    return describe(name, type, QNN_DATATYPE_FLOAT_32, 2, pair_dims);
}

void pair_build(world *w, Qnn_ContextHandle_t context, bool finalize, Qnn_GraphHandle_t *graph) {
    static float weights[SIZE];
    assert_int_equal(qnn.graphCreate(context, "g", NULL, graph), QNN_SUCCESS);
    Qnn_Tensor_t in[2] = {pair_tensor(QNN_TENSOR_TYPE_APP_WRITE, "x"),
                          pair_tensor(QNN_TENSOR_TYPE_UPDATEABLE_STATIC, "w")};
    Qnn_Tensor_t out = pair_tensor(QNN_TENSOR_TYPE_APP_READ, "y");
    set_buffer(&in[1], weights, sizeof weights);
    assert_int_equal(qnn.tensorCreateGraphTensor(*graph, &in[0]), QNN_SUCCESS);
    assert_int_equal(qnn.tensorCreateGraphTensor(*graph, &in[1]), QNN_SUCCESS);
    assert_int_equal(qnn.tensorCreateGraphTensor(*graph, &out), QNN_SUCCESS);
    assert_int_equal(qnn.graphAddNode(*graph, op_config("add", QNN_OP_PACKAGE_NAME_QTI_AISW,
                                                        QNN_OP_ELEMENT_WISE_ADD, in, 2, &out, 1)),
                     QNN_SUCCESS);
    if (!finalize)
        return;
    assert_int_equal(qnn.graphFinalize(*graph, NULL, NULL), QNN_SUCCESS);
    w->x = in[0];
    w->w = in[1];
    w->y = out;
}

static void quiet(const char *fmt, QnnLog_Level_t level, uint64_t t, va_list args) {
    char line[2048];
    (void)level, (void)t;
    vsnprintf(line, sizeof line, fmt, args);
}

static void register_memory(world *w) {
    uint32_t n = SIZE;
    w->fd = memfd_create("pair", MFD_CLOEXEC);
    assert_true(w->fd >= 0 && ftruncate(w->fd, 4096) == 0);
    int other = memfd_create("pair", MFD_CLOEXEC);
    assert_true(other >= 0 && ftruncate(other, 4096) == 0);
    Qnn_MemDescriptor_t d = {.memShape = {1, &n, NULL},
                             .dataType = QNN_DATATYPE_FLOAT_32,
                             .memType = QNN_MEM_TYPE_ION,
                             .ionInfo = {other}};
    if (qnn.memRegister(w->built, &d, 1, &w->memory) != QNN_SUCCESS)
        w->memory = NULL;
    close(other); // the mapping stays
}

static void make_world(world *w) {
    *w = (world){0};
    static const QnnSignal_Config_t abort_option = {.option = QNN_SIGNAL_CONFIG_OPTION_ABORT};
    static const QnnSignal_Config_t *aborting[] = {&abort_option, NULL};
    assert_int_equal(qnn.logCreate(quiet, QNN_LOG_LEVEL_ERROR, &w->log), QNN_SUCCESS);
    assert_int_equal(qnn.backendCreate(w->log, NULL, &w->backend), QNN_SUCCESS);
    if (qnn.deviceCreate(w->log, NULL, &w->device) != QNN_SUCCESS)
        w->device = NULL;
    assert_int_equal(qnn.contextCreate(w->backend, w->device, NULL, &w->built), QNN_SUCCESS);
    assert_int_equal(qnn.contextCreate(w->backend, w->device, NULL, &w->open), QNN_SUCCESS);
    pair_build(w, w->built, true, &w->done);
    pair_build(w, w->open, false, &w->raw);
    assert_int_equal(qnn.profileCreate(w->backend, QNN_PROFILE_LEVEL_DETAILED, &w->profile),
                     QNN_SUCCESS);
    if (qnn.signalCreate(w->backend, aborting, &w->signal) != QNN_SUCCESS)
        w->signal = NULL;
    register_memory(w);
    float in[SIZE] = {0}, out[SIZE];
    Qnn_Tensor_t x = w->x, y = w->y;
    set_buffer(&x, in, sizeof in);
    set_buffer(&y, out, sizeof out);
    assert_int_equal(qnn.graphExecute(w->done, &x, 1, &y, 1, w->profile, NULL), QNN_SUCCESS);
    const QnnProfile_EventId_t *ids = NULL;
    uint32_t n = 0;
    if (qnn.profileGetEvents(w->profile, &ids, &n) == QNN_SUCCESS && n)
        w->event = ids[0];
}

// What the pair has left. The last frees must succeed: nothing is in use any more.
static void end_world(world *w) {
    Qnn_ErrorHandle_t e = QNN_GET_ERROR_CODE(qnn.contextFree(w->built, NULL));
    assert_true(e == QNN_SUCCESS || e == QNN_CONTEXT_ERROR_INVALID_HANDLE);
    assert_int_equal(atomic_load(&w->n_notified), atomic_load(&w->n_queued));
    e = QNN_GET_ERROR_CODE(qnn.contextFree(w->open, NULL));
    assert_true(e == QNN_SUCCESS || e == QNN_CONTEXT_ERROR_INVALID_HANDLE);
    e = QNN_GET_ERROR_CODE(qnn.backendFree(w->backend));
    assert_true(e == QNN_SUCCESS || e == QNN_BACKEND_ERROR_INVALID_HANDLE);
    if (w->device) {
        e = QNN_GET_ERROR_CODE(qnn.deviceFree(w->device));
        assert_true(e == QNN_SUCCESS || e == QNN_DEVICE_ERROR_INVALID_HANDLE);
    }
    e = QNN_GET_ERROR_CODE(qnn.logFree(w->log));
    assert_true(e == QNN_SUCCESS || e == QNN_LOG_ERROR_INVALID_HANDLE);
    close(w->fd);
}

static void make_binary(void) {
    world w;
    make_world(&w);
    if (qnn.contextGetBinarySize(w.built, &binary_bytes) == QNN_SUCCESS) {
        binary = malloc(binary_bytes);
        assert_int_equal(qnn.contextGetBinary(w.built, binary, binary_bytes, &binary_bytes),
                         QNN_SUCCESS);
    }
    end_world(&w);
}

// --- Documented codes: function, name, code

typedef struct pair_code {
    char function[64];
    unsigned code;
} pair_code;
static pair_code documented[1024];
static size_t n_documented;

static void read_codes(const char *path) {
    FILE *f = fopen(path, "r");
    if (!f)
        fail_msg("cannot read %s", path);
    char line[512], name[256];
    while (fgets(line, sizeof line, f) && n_documented < 1024) {
        pair_code *p = &documented[n_documented];
        n_documented += sscanf(line, "%63s %255s %u", p->function, name, &p->code) == 3;
    }
    fclose(f);
    assert_true(n_documented > 100);
}

static bool is_documented(const char *function, Qnn_ErrorHandle_t e) {
    unsigned code = (unsigned)QNN_GET_ERROR_CODE(e);
    if (code == QNN_SUCCESS || code == QNN_COMMON_ERROR_NOT_SUPPORTED)
        return true;
    for (size_t i = 0; i < n_documented; i++)
        if (documented[i].code == code && strcmp(documented[i].function, function) == 0)
            return true;
    return false;
}

// --- Pairs

typedef struct side {
    caller c;
    const call *what;
    pthread_barrier_t *start;
    Qnn_ErrorHandle_t bad; // the first code that is not documented
} side;

static void *make_calls(void *arg) {
    side *s = arg;
    pthread_barrier_wait(s->start);
    for (int i = 0; i < (s->what->frees ? 1 : ROUNDS); i++) {
        s->c.round = i;
        Qnn_ErrorHandle_t e = s->what->make(&s->c);
        if (!s->bad && !is_documented(s->what->name, e))
            s->bad = e;
    }
    return NULL;
}

static unsigned n_bad;

static void try_pair(size_t a, size_t b) {
    static side sides[2];
    world w;
    pthread_barrier_t start;
    pthread_t threads[2];
    make_world(&w);
    pthread_barrier_init(&start, NULL, 2);
    for (int i = 0; i < 2; i++) {
        sides[i] = (side){.c = {.w = &w}, .what = &pair_calls[i ? b : a], .start = &start};
        assert_int_equal(pthread_create(&threads[i], NULL, make_calls, &sides[i]), 0);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    end_world(&w);
    pthread_barrier_destroy(&start);
    for (int i = 0; i < 2; i++)
        if (sides[i].bad) {
            n_bad++;
            printf("%s beside %s: %llu is not documented\n", sides[i].what->name,
                   sides[1 - i].what->name, (unsigned long long)sides[i].bad);
        }
}

static int n_arguments;
static char **arguments;

static void every_pair_of_calls_on_the_same_objects_is_safe(void **state) {
    (void)state;
    const char *which = n_arguments > 3 ? arguments[3] : "";
    void *lib = open_named(arguments[1], &qnn);
    read_codes(arguments[2]);
    make_binary();
    if (n_arguments > 4) {
        try_pair((size_t)atoi(arguments[3]), (size_t)atoi(arguments[4]));
    } else {
        size_t n = 0, tried = 0;
        for (size_t a = 0; a < n_pair_calls; a++)
            for (size_t b = a; b < n_pair_calls; b++)
                if (n++ % SAMPLE == 0 || strcmp(which, "all") == 0) {
                    try_pair(a, b);
                    tried++;
                }
        print_message("%zu of %zu pairs\n", tried, n);
    }
    free(binary);
    assert_int_equal(n_bad, 0);
    assert_int_equal(dlclose(lib), 0);
}

int main(int argc, char **argv) {
    n_arguments = argc;
    arguments = argv;
    alarm(LIMIT_SECONDS);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_of_calls_on_the_same_objects_is_safe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
