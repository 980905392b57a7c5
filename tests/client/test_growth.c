// SPDX-License-Identifier: MIT
//
// Many living objects: what making, using and freeing one of them costs does not depend on how many
// there are. Eight times as many objects may take up to 32 times the processor time (a walk over
// the living ones takes 64 times); oldest first, newest first and mixed orders of freeing.
#include "qnn_client.h"

#include <time.h>

#define FEW 1500
#define MANY (8 * FEW)
#define MOST_TIMES 32
#define LEAST_SECONDS 0.001 // below it the clock says little

static qnn_table qnn;
static Qnn_BackendHandle_t backend;
static Qnn_ContextHandle_t context;
static void *objects[MANY];

static double processor_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

typedef struct family {
    const char *name;
    Qnn_ErrorHandle_t (*make)(size_t i, void **object);
    Qnn_ErrorHandle_t (*end)(void *object);
} family;

static Qnn_ErrorHandle_t make_log(size_t i, void **h) {
    (void)i;
    return qnn.logCreate(NULL, QNN_LOG_LEVEL_ERROR, h);
}

static Qnn_ErrorHandle_t make_backend(size_t i, void **h) {
    (void)i;
    return qnn.backendCreate(NULL, NULL, h);
}

static Qnn_ErrorHandle_t make_device(size_t i, void **h) {
    (void)i;
    return qnn.deviceCreate(NULL, NULL, h);
}

static Qnn_ErrorHandle_t make_context(size_t i, void **h) {
    (void)i;
    return qnn.contextCreate(backend, NULL, NULL, h);
}

static Qnn_ErrorHandle_t end_context(void *h) { return qnn.contextFree(h, NULL); }

static Qnn_ErrorHandle_t make_graph(size_t i, void **h) {
    char name[32];
    snprintf(name, sizeof name, "graph_with_a_name_%zu", i);
    Qnn_ErrorHandle_t e = qnn.graphCreate(context, name, NULL, h);
    void *again = NULL;
    return e ? e : qnn.graphRetrieve(context, name, &again) || again != *h;
}

static Qnn_ErrorHandle_t make_profile(size_t i, void **h) {
    (void)i;
    return qnn.profileCreate(backend, QNN_PROFILE_LEVEL_BASIC, h);
}

static Qnn_ErrorHandle_t make_signal(size_t i, void **h) {
    (void)i;
    return qnn.signalCreate(backend, NULL, h);
}

static Qnn_ErrorHandle_t make_text(size_t i, void **h) {
    (void)i;
    return qnn.errorGetVerboseMessage(QNN_COMMON_ERROR_MEM_ALLOC, (const char **)h);
}

static Qnn_ErrorHandle_t end_text(void *text) { return qnn.errorFreeVerboseMessage(text); }

static Qnn_ErrorHandle_t make_info(size_t i, void **h) {
    (void)i;
    return qnn.deviceGetPlatformInfo(NULL, (const QnnDevice_PlatformInfo_t **)h);
}

static Qnn_ErrorHandle_t end_info(void *info) { return qnn.deviceFreePlatformInfo(NULL, info); }

static Qnn_ErrorHandle_t nothing(void *object) {
    (void)object;
    return QNN_SUCCESS;
}

enum { OLDEST_FIRST, NEWEST_FIRST, MIXED, N_ORDERS };

static double seconds_of(const family *f, size_t n, int order) {
    double start = processor_seconds();
    for (size_t i = 0; i < n; i++)
        assert_int_equal(f->make(i, &objects[i]), QNN_SUCCESS);
    for (size_t i = 0; i < n; i++) {
        size_t at = order == OLDEST_FIRST ? i : n - 1 - i;
        if (order == MIXED)
            at = i * 7919 % n; // no common factor with n
        assert_int_equal(f->end(objects[at]), QNN_SUCCESS);
    }
    return processor_seconds() - start;
}

static void grows_linearly(const family *f) {
    for (int order = 0; order < N_ORDERS; order++) {
        double few = seconds_of(f, FEW, order), many = seconds_of(f, MANY, order);
        if (few < LEAST_SECONDS)
            few = LEAST_SECONDS;
        if (many > MOST_TIMES * few)
            fail_msg("%s, order %d: %d take %.3f s, %d take %.3f s", f->name, order, FEW, few, MANY,
                     many);
    }
}

static void the_cost_of_an_object_does_not_depend_on_their_number(void **state) {
    (void)state;
    const family families[] = {
        {"logs", make_log, qnn.logFree},          {"backends", make_backend, qnn.backendFree},
        {"contexts", make_context, end_context},  {"profiles", make_profile, qnn.profileFree},
        {"texts", make_text, end_text},           {"devices", make_device, qnn.deviceFree},
        {"signals", make_signal, qnn.signalFree}, {"platform infos", make_info, end_info},
    };
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        void *first = NULL;
        if (families[i].make(0, &first) != QNN_SUCCESS)
            continue; // the backend has no such objects
        assert_int_equal(families[i].end(first), QNN_SUCCESS);
        grows_linearly(&families[i]);
    }
}

static const char *library = "libQnnCpu.so";

// Graphs end with their context. The HTP allows 64 of them: nothing can grow there.
static void the_cost_of_a_graph_does_not_depend_on_their_number(void **state) {
    (void)state;
    if (strstr(library, "QnnHtp"))
        skip();
    const family graphs = {"graphs", make_graph, nothing};
    double seconds[2];
    for (int k = 0; k < 2; k++) {
        assert_int_equal(qnn.contextCreate(backend, NULL, NULL, &context), QNN_SUCCESS);
        double start = processor_seconds();
        seconds_of(&graphs, k ? MANY : FEW, OLDEST_FIRST);
        assert_int_equal(qnn.contextFree(context, NULL), QNN_SUCCESS);
        seconds[k] = processor_seconds() - start;
    }
    if (seconds[1] > MOST_TIMES * seconds[0])
        fail_msg("%d graphs take %.3f s, %d take %.3f s", FEW, seconds[0], MANY, seconds[1]);
}

static int set_up(void **state) {
    *state = open_named(library, &qnn);
    return qnn.backendCreate(NULL, NULL, &backend) != QNN_SUCCESS;
}

static int tear_down(void **state) {
    assert_int_equal(qnn.backendFree(backend), QNN_SUCCESS);
    dlclose(*state);
    return 0;
}

int main(int argc, char **argv) {
    library = argc > 1 ? argv[1] : library;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cost_of_an_object_does_not_depend_on_their_number),
        cmocka_unit_test(the_cost_of_a_graph_does_not_depend_on_their_number),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
