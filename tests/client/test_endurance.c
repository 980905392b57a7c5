// SPDX-License-Identifier: MIT
//
// A client that comes and goes: graphs built and freed a thousand times, the library loaded and
// unloaded a hundred times. Nothing may pile up: neither memory nor threads nor file descriptors.
#include "qnn_client.h"

#include <dirent.h>

#define N 8192 // elements; more than one task each

static uint32_t dims[] = {1, N};

// A context with one graph: softmax(relu(x)), executed once, freed.
static void one_round(const qnn_table *qnn, Qnn_BackendHandle_t backend) {
    Qnn_ContextHandle_t context;
    Qnn_GraphHandle_t g;
    assert_int_equal(qnn->contextCreate(backend, NULL, NULL, &context), QNN_SUCCESS);
    assert_int_equal(qnn->graphCreate(context, "g", NULL, &g), QNN_SUCCESS);
    Qnn_Tensor_t x = tensor(qnn, g, "x", QNN_TENSOR_TYPE_APP_WRITE, 2, dims);
    Qnn_Tensor_t r = tensor(qnn, g, "r", QNN_TENSOR_TYPE_NATIVE, 2, dims);
    Qnn_Tensor_t y = tensor(qnn, g, "y", QNN_TENSOR_TYPE_APP_READ, 2, dims);
    node(qnn, g, "relu", QNN_OP_RELU, &x, &r);
    node(qnn, g, "softmax", QNN_OP_SOFTMAX, &r, &y);
    assert_int_equal(qnn->graphFinalize(g, NULL, NULL), QNN_SUCCESS);
    static float in[N], out[N];
    set_buffer(&x, in, sizeof in);
    set_buffer(&y, out, sizeof out);
    assert_int_equal(qnn->graphExecute(g, &x, 1, &y, 1, NULL, NULL), QNN_SUCCESS);
    assert_true(out[0] > 0.9f / N && out[0] < 1.1f / N);
    assert_int_equal(qnn->contextFree(context, NULL), QNN_SUCCESS);
}

static long resident_pages(void) {
    long size = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_int_equal(fscanf(f, "%ld %ld", &size, &resident), 2);
    fclose(f);
    return resident;
}

static int entries(const char *dir) {
    int n = 0;
    DIR *d = opendir(dir);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

// Sanitizers keep freed memory aside (their leak check at exit says the same), and an emulator's
// own memory counts in.
static long allowed_pages(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(QUERN_EMULATED)
    return 1L << 20;
#else
    return 64; // 256 KiB for the heap's own movements
#endif
}

static void a_thousand_rounds_do_not_grow(void **state) {
    (void)state;
    qnn_table qnn;
    void *lib = open_library(&qnn);
    Qnn_BackendHandle_t backend;
    assert_int_equal(qnn.backendCreate(NULL, NULL, &backend), QNN_SUCCESS);
    for (int i = 0; i < 50; i++)
        one_round(&qnn, backend);
    long pages = resident_pages();
    int threads = entries("/proc/self/task"), files = entries("/proc/self/fd");
    for (int i = 0; i < 1000; i++)
        one_round(&qnn, backend);
    assert_true(resident_pages() - pages <= allowed_pages());
    assert_int_equal(entries("/proc/self/task"), threads);
    assert_int_equal(entries("/proc/self/fd"), files);
    assert_int_equal(qnn.backendFree(backend), QNN_SUCCESS);
    dlclose(lib);
}

static void unloading_and_loading_again_leaves_nothing(void **state) {
    (void)state;
    long pages = 0;
    int threads = 0, files = 0;
    for (int i = 0; i < 110; i++) {
        qnn_table qnn;
        void *lib = open_library(&qnn);
        Qnn_BackendHandle_t backend;
        assert_int_equal(qnn.backendCreate(NULL, NULL, &backend), QNN_SUCCESS);
        one_round(&qnn, backend);
        assert_int_equal(qnn.backendFree(backend), QNN_SUCCESS);
        dlclose(lib);
        if (i == 9) {
            pages = resident_pages();
            threads = entries("/proc/self/task");
            files = entries("/proc/self/fd");
        }
    }
    assert_true(resident_pages() - pages <= allowed_pages());
    assert_int_equal(entries("/proc/self/task"), threads);
    assert_int_equal(entries("/proc/self/fd"), files);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thousand_rounds_do_not_grow),
        cmocka_unit_test(unloading_and_loading_again_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
