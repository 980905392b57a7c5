// SPDX-License-Identifier: MIT
//
// libLiteRtDispatch_Quern.so as LiteRT's runtime uses it, with a runtime of our own: buffers are
// blocks of exactly their size, so that a sanitizer sees what goes beyond them. The model is a
// context binary of two graphs, y = relu(x) and y = a - b.
#include "frontend/litert/litert_api.h"

#include "qnn_client.h"

#include "QnnInterface.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define OK(call) assert_int_equal((call), 0)
enum { N = 8 };

// --- The runtime

struct lr_buffer {
    uint8_t *bytes;
    size_t size;
    int locked;
    bool kept; // by the runtime itself
};

struct lr_requirements {
    int kind;
    size_t size;
};

static lr_status create_requirements(int n, const int *kinds, size_t size, int n_strides,
                                     const uint32_t *strides, lr_requirements **out) {
    assert_int_equal(n, 1);
    assert_int_equal(n_strides, 0);
    assert_null(strides);
    **out = (lr_requirements){kinds[0], size};
    return LR_OK;
}

static lr_status packed_size(lr_buffer *b, size_t *bytes) {
    *bytes = b->size;
    return LR_OK;
}

static lr_status lock(lr_buffer *b, void **address, int mode) {
    (void)mode;
    if (b->kept)
        return LR_E_RUNTIME;
    assert_int_equal(b->locked++, 0);
    *address = b->bytes;
    return LR_OK;
}

static lr_status unlock(lr_buffer *b) {
    assert_int_equal(b->locked--, 1);
    return LR_OK;
}

static lr_status host_memory(lr_buffer *b, void **address) {
    *address = b->bytes;
    return LR_OK;
}

static const lr_runtime runtime = {.header = {.size_bytes = 408, .major = 1, .minor = 1},
                                   .create_requirements = create_requirements,
                                   .packed_size = packed_size,
                                   .lock = lock,
                                   .unlock = unlock,
                                   .host_memory = host_memory};

static lr_buffer new_buffer(const uint8_t *values, size_t size) {
    lr_buffer b = {malloc(size), size, 0, false};
    assert_non_null(b.bytes);
    memset(b.bytes, 0, size);
    if (values)
        memcpy(b.bytes, values, size);
    return b;
}

// --- The model

static char *binary; // with bytes before it, as in a file
static size_t binary_bytes;
static const size_t binary_offset = 64;

static void *open_symbol(const char *file, const char *symbol, void *fn) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", getenv("QUERN_LIB_DIR"), file);
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        fail_msg("%s", dlerror());
    void *found = dlsym(lib, symbol);
    assert_non_null(found);
    memcpy(fn, &found, sizeof found);
    return lib;
}

static void add_graph(const QNN_INTERFACE_VER_TYPE *qnn, Qnn_ContextHandle_t context,
                      const char *name, const char *op_type, uint32_t n_in) {
    static const char *const names[] = {"a", "b"};
    uint32_t dims[] = {1, N};
    Qnn_GraphHandle_t g = NULL;
    OK(qnn->graphCreate(context, name, NULL, &g));
    Qnn_Tensor_t in[2], out = describe_u8("y", QNN_TENSOR_TYPE_APP_READ, 2, dims, 0.5f, -128);
    for (uint32_t i = 0; i < n_in; i++) {
        in[i] = describe_u8(names[i], QNN_TENSOR_TYPE_APP_WRITE, 2, dims, 0.5f, -128);
        OK(qnn->tensorCreateGraphTensor(g, &in[i]));
    }
    OK(qnn->tensorCreateGraphTensor(g, &out));
    Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
    op.v1 =
        (Qnn_OpConfigV1_t){name, QNN_OP_PACKAGE_NAME_QTI_AISW, op_type, 0, NULL, n_in, in, 1, &out};
    OK(qnn->graphAddNode(g, op));
    OK(qnn->graphFinalize(g, NULL, NULL));
}

static int make_binary(void **state) {
    (void)state;
    Qnn_ErrorHandle_t (*get)(const QnnInterface_t ***, uint32_t *);
    const QnnInterface_t **list = NULL;
    uint32_t n = 0;
    void *lib = open_symbol("libQnnHtp.so", "QnnInterface_getProviders", &get);
    OK(get(&list, &n));
    QNN_INTERFACE_VER_TYPE qnn = list[0]->QNN_INTERFACE_VER_NAME;
    Qnn_BackendHandle_t backend = NULL;
    Qnn_ContextHandle_t context = NULL;
    OK(qnn.backendCreate(NULL, NULL, &backend));
    OK(qnn.contextCreate(backend, NULL, NULL, &context));
    add_graph(&qnn, context, "relu", "Relu", 1);
    add_graph(&qnn, context, "minus", "ElementWiseSubtract", 2);
    Qnn_ContextBinarySize_t size = 0, written = 0;
    OK(qnn.contextGetBinarySize(context, &size));
    binary = malloc(binary_offset + size);
    assert_non_null(binary);
    OK(qnn.contextGetBinary(context, binary + binary_offset, size, &written));
    binary_bytes = written;
    OK(qnn.contextFree(context, NULL));
    OK(qnn.backendFree(backend));
    return dlclose(lib);
}

// --- The library

static const lr_interface *ask(void) {
    lr_status (*get)(lr_api *);
    open_symbol("libLiteRtDispatch_Quern.so", "LiteRtDispatchGetApi", &get);
    lr_api api = {.header = {.size_bytes = sizeof api, .major = 1}};
    OK(get(&api));
    assert_int_equal(api.version.major, 0);
    assert_int_equal(api.version.minor, 1);
    assert_int_equal(api.version.patch, 0);
    assert_null(api.async_interface);
    lr_api older = {.header = {.size_bytes = 0}};
    assert_int_equal(get(&older), LR_E_VERSION);
    assert_int_equal(get(NULL), LR_E_ARGUMENT);
    return api.interface;
}

static lr_bytes model(void) {
    return (lr_bytes){
        .fd = -1, .base = binary, .offset = binary_offset, .size_bytes = binary_bytes};
}

static void graphs_of_one_binary_run(void **state) {
    (void)state;
    const lr_interface *f = ask();
    const char *vendor = NULL;
    int can = 0;
    OK(f->initialize(&runtime, NULL, NULL));
    OK(f->vendor_id(&vendor));
    assert_string_equal(vendor, "Quern");
    OK(f->capabilities(&can));
    assert_int_equal(can, LR_CAN_BASIC);
    OK(f->check_runtime((lr_version){0, 1, 0}, NULL, NULL));
    lr_device *d = NULL;
    OK(f->device_create(&runtime, NULL, &d));
    lr_bytes m = model();
    lr_invocation *relu = NULL, *minus = NULL;
    OK(f->invocation_create(&runtime, d, LR_EXECUTABLE_BYTES, &m, "relu", 1, 1, &relu));
    OK(f->invocation_create(&runtime, d, LR_EXECUTABLE_BYTES, &m, "minus", 2, 1, &minus));
    lr_requirements need = {0}, *p = &need;
    const lr_tensor_type type = {.rank = 2, .dims = {1, N}};
    OK(f->output_requirements(minus, 0, &type, &p));
    assert_int_equal(need.kind, LR_HOST_MEMORY);
    assert_int_equal(need.size, N);
    const uint8_t values[2][N] = {{0, 1, 127, 128, 129, 200, 254, 255},
                                  {128, 128, 100, 130, 128, 100, 128, 0}};
    const uint8_t positive[N] = {128, 128, 128, 128, 129, 200, 254, 255};
    const uint8_t difference[N] = {0, 1, 155, 126, 129, 228, 254, 255};
    lr_buffer a = new_buffer(values[0], N), b = new_buffer(values[1], N), y = new_buffer(NULL, N);
    uint64_t ha, hb, hy;
    OK(f->buffer_register(d, &a, &ha));
    OK(f->buffer_register(d, &b, &hb));
    OK(f->buffer_register(d, &y, &hy));
    OK(f->attach_input(relu, 0, ha));
    OK(f->attach_output(relu, 0, hy));
    OK(f->invoke(relu));
    assert_memory_equal(y.bytes, positive, N);
    OK(f->attach_input(minus, 0, ha));
    OK(f->attach_input(minus, 1, hb));
    OK(f->attach_output(minus, 0, hy));
    OK(f->invoke(minus));
    assert_memory_equal(y.bytes, difference, N);
    assert_int_equal(a.locked + b.locked + y.locked, 0);
    b.kept = y.kept = true; // parts on the CPU use them
    memset(y.bytes, 0, N);
    OK(f->invoke(minus));
    assert_memory_equal(y.bytes, difference, N);
    assert_int_equal(a.locked + b.locked + y.locked, 0);
    OK(f->detach_input(minus, 1, hb));
    assert_int_equal(f->invoke(minus), LR_E_ARGUMENT); // b has no buffer
    assert_int_equal(a.locked + b.locked + y.locked, 0);
    OK(f->buffer_unregister(d, hb));
    OK(f->invocation_destroy(relu));
    OK(f->invocation_destroy(minus));
    OK(f->device_destroy(d));
    free(a.bytes);
    free(b.bytes);
    free(y.bytes);
}

static void what_does_not_fit_is_rejected(void **state) {
    (void)state;
    const lr_interface *f = ask();
    lr_device *d = NULL;
    lr_invocation *v = NULL;
    lr_runtime older = runtime;
    older.header.size_bytes = 100;
    assert_int_equal(f->device_create(&older, NULL, &d), LR_E_UNSUPPORTED);
    OK(f->device_create(&runtime, NULL, &d));
    lr_bytes m = model();
    assert_int_equal(f->invocation_create(&runtime, d, LR_EXECUTABLE_HANDLE, &m, "relu", 1, 1, &v),
                     LR_E_UNSUPPORTED);
    assert_int_equal(f->invocation_create(&runtime, d, LR_EXECUTABLE_BYTES, &m, "no", 1, 1, &v),
                     LR_E_NOT_FOUND);
    assert_int_equal(f->invocation_create(&runtime, d, LR_EXECUTABLE_BYTES, &m, "", 1, 1, &v),
                     LR_E_NOT_FOUND); // there are two
    assert_int_equal(f->invocation_create(&runtime, d, LR_EXECUTABLE_BYTES, &m, "relu", 2, 1, &v),
                     LR_E_ARGUMENT);
    assert_null(v);
    OK(f->invocation_create(&runtime, d, LR_EXECUTABLE_BYTES, &m, "relu", 1, 1, &v));
    assert_int_equal(f->attach_input(v, 1, 0), LR_E_ARGUMENT);
    assert_int_equal(f->attach_output(v, -1, 0), LR_E_ARGUMENT);
    lr_requirements need, *p = &need;
    assert_int_equal(
        f->input_requirements(v, 0, &(lr_tensor_type){.rank = 2, .has_strides = 1}, &p),
        LR_E_UNSUPPORTED);
    assert_int_equal(f->input_requirements(v, 7, &(lr_tensor_type){.rank = 2}, &p), LR_E_ARGUMENT);
    assert_int_equal(f->set_scheduling(v, &need), LR_E_UNSUPPORTED);
    lr_buffer small = new_buffer(NULL, N - 1), y = new_buffer(NULL, N);
    OK(f->attach_input(v, 0, (uint64_t)(uintptr_t)&small));
    OK(f->attach_output(v, 0, (uint64_t)(uintptr_t)&y));
    assert_int_equal(f->invoke(v), LR_E_ARGUMENT);
    assert_int_equal(small.locked + y.locked, 0);
    free(small.bytes);
    free(y.bytes);
    OK(f->invocation_destroy(v));
    OK(f->device_destroy(d));
}

// Whatever the bytes are: an answer, and nothing is left behind.
static void damaged_binaries_are_rejected(void **state) {
    (void)state;
    const lr_interface *f = ask();
    for (size_t cut = 0; cut < binary_bytes; cut += binary_bytes / 40 + 1) {
        char *bytes = malloc(binary_bytes);
        assert_non_null(bytes);
        memcpy(bytes, binary + binary_offset, binary_bytes);
        memset(bytes + cut, 0xEE, binary_bytes - cut < 16 ? binary_bytes - cut : 16);
        lr_device *d = NULL;
        lr_invocation *v = NULL;
        OK(f->device_create(&runtime, NULL, &d));
        lr_bytes m = {.fd = -1, .base = bytes, .size_bytes = cut % 2 ? cut : binary_bytes};
        if (f->invocation_create(&runtime, d, LR_EXECUTABLE_BYTES, &m, "relu", 1, 1, &v) == LR_OK)
            OK(f->invocation_destroy(v));
        else
            assert_null(v);
        OK(f->device_destroy(d));
        free(bytes);
    }
}

static int free_binary(void **state) {
    (void)state;
    free(binary);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(graphs_of_one_binary_run),
                                       cmocka_unit_test(what_does_not_fit_is_rejected),
                                       cmocka_unit_test(damaged_binaries_are_rejected)};
    return cmocka_run_group_tests(tests, make_binary, free_binary);
}
