// SPDX-License-Identifier: MIT
//
// A backend whose memory is not the host's: registered memory stays on the device, dumps hold what
// was computed there, profiles name the nodes, and everything is given back. Values are worked out
// here: y = relu(x + x), z = y * y.
#include "../client/qnn_client.h"
#include "toy_backend.h"

#include "core/handle.h"
#include "core/objects.h"

#include "Quern/QuernBackend.h"

#include <ftw.h>
#include <unistd.h>

#define N 4
#define OK(call) assert_int_equal(call, QNN_SUCCESS)

static const float xs[N] = {-1.5f, 0.5f, 2.0f, -3.0f}, zs[N] = {0.0f, 1.0f, 16.0f, 0.0f};

typedef struct world {
    qnn_table qnn;
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t context;
    Qnn_GraphHandle_t graph;
    Qnn_Tensor_t x, z;
} world;

static world begin_with(const QnnBackend_Config_t **config) {
    world w = {0};
    const QnnInterface_t **list = NULL;
    uint32_t n = 0;
    static uint32_t dims[] = {N};
    OK(QnnInterface_getProviders(&list, &n));
    assert_string_equal(list[0]->providerName, "TOY_QUERN");
    w.qnn = list[0]->QNN_INTERFACE_VER_NAME;
    OK(w.qnn.backendCreate(NULL, config, &w.backend));
    OK(w.qnn.contextCreate(w.backend, NULL, NULL, &w.context));
    OK(w.qnn.graphCreate(w.context, "g", NULL, &w.graph));
    w.x = tensor(&w.qnn, w.graph, "x", QNN_TENSOR_TYPE_APP_WRITE, 1, dims);
    Qnn_Tensor_t s = tensor(&w.qnn, w.graph, "s", QNN_TENSOR_TYPE_NATIVE, 1, dims);
    Qnn_Tensor_t y = tensor(&w.qnn, w.graph, "y", QNN_TENSOR_TYPE_NATIVE, 1, dims);
    w.z = tensor(&w.qnn, w.graph, "z", QNN_TENSOR_TYPE_APP_READ, 1, dims);
    Qnn_Tensor_t twice[] = {w.x, w.x}, square[] = {y, y};
    const char *package = QNN_OP_PACKAGE_NAME_QTI_AISW;
    OK(w.qnn.graphAddNode(w.graph,
                          op_config("add", package, QNN_OP_ELEMENT_WISE_ADD, twice, 2, &s, 1)));
    OK(w.qnn.graphAddNode(w.graph, op_config("relu", package, QNN_OP_RELU, &s, 1, &y, 1)));
    OK(w.qnn.graphAddNode(
        w.graph, op_config("mul", package, QNN_OP_ELEMENT_WISE_MULTIPLY, square, 2, &w.z, 1)));
    OK(w.qnn.graphFinalize(w.graph, NULL, NULL));
    return w;
}

static world begin(void) { return begin_with(NULL); }

static void end(world *w) {
    OK(w->qnn.contextFree(w->context, NULL));
    OK(w->qnn.backendFree(w->backend));
    assert_int_equal(toy_blocks(), 0);
}

static void run_on_host_buffers(world *w) {
    float x[N], z[N] = {0};
    memcpy(x, xs, sizeof x);
    set_buffer(&w->x, x, sizeof x);
    set_buffer(&w->z, z, sizeof z);
    OK(w->qnn.graphExecute(w->graph, &w->x, 1, &w->z, 1, NULL, NULL));
    assert_memory_equal(z, zs, sizeof z);
}

static void host_buffers_are_copied_to_the_device_and_back(void **state) {
    (void)state;
    world w = begin();
    uint32_t before = toy_blocks();
    run_on_host_buffers(&w);
    assert_int_equal(toy_blocks(), before);
    end(&w);
}

static Qnn_MemHandle_t take(const world *w, const float *start) {
    uint32_t dims[] = {N};
    Qnn_MemDescriptor_t d = {.memShape = {.numDim = 1, .dimSize = dims},
                             .dataType = QNN_DATATYPE_FLOAT_32,
                             .memType = QNN_MEM_TYPE_CUSTOM,
                             .customInfo = (void *)(uintptr_t)start};
    Qnn_MemHandle_t h = NULL;
    OK(w->qnn.memRegister(w->context, &d, 1, &h));
    return h;
}

static void memory_of_the_device_has_no_address(void **state) {
    (void)state;
    world w = begin();
    Qnn_MemHandle_t in = take(&w, xs), out = take(&w, NULL);
    const qrn_api_mem *m = qrn_handle_get(QRN_KIND_MEM, out);
    assert_int_equal(m->memory.kind, QRN_MEMORY_DEVICE);
    assert_null(m->memory.host);
    w.x.v1.memType = w.z.v1.memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    w.x.v1.memHandle = in;
    w.z.v1.memHandle = out;
    OK(w.qnn.graphExecute(w.graph, &w.x, 1, &w.z, 1, NULL, NULL));
    float z[N] = {0};
    assert_int_equal(qrn_this_backend.mem_download(m->context, &m->memory, 0, z, sizeof z), QRN_OK);
    assert_memory_equal(z, zs, sizeof z);
    OK(w.qnn.memDeRegister(&in, 1));
    OK(w.qnn.memDeRegister(&out, 1));
    end(&w);
}

// --- dumps and profiles

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at) {
    (void)st, (void)kind, (void)at;
    return remove(path);
}

// The last N floats of a file of a dump.
static bool holds(const char *folder, const char *name, const float *want) {
    char path[256];
    float got[N] = {0};
    snprintf(path, sizeof path, "%s/g/run-0001/%s", folder, name);
    FILE *f = fopen(path, "rb");
    bool ok = f && fseek(f, -(long)sizeof got, SEEK_END) == 0 && fread(got, sizeof got, 1, f) == 1;
    if (f)
        fclose(f);
    return ok && memcmp(got, want, sizeof got) == 0;
}

static void dumps_hold_what_the_device_computed(void **state) {
    (void)state;
    char folder[] = "/tmp/quern-toy-XXXXXX";
    const float sum[N] = {-3.0f, 1.0f, 4.0f, -6.0f}, y[N] = {0.0f, 1.0f, 4.0f, 0.0f};
    assert_non_null(mkdtemp(folder));
    QuernBackend_DumpConfig_t dump = {QUERN_BACKEND_CONFIG_MAGIC, QUERN_BACKEND_OPTION_DUMP, folder,
                                      1};
    QnnBackend_Config_t c = {.option = QNN_BACKEND_CONFIG_OPTION_CUSTOM, .customConfig = &dump};
    world w = begin_with((const QnnBackend_Config_t *[]){&c, NULL});
    run_on_host_buffers(&w);
    end(&w);
    assert_true(holds(folder, "00000_x.npy", xs));
    assert_true(holds(folder, "00001_s.npy", sum));
    assert_true(holds(folder, "00002_y.npy", y));
    assert_true(holds(folder, "00003_z.npy", zs));
    assert_int_equal(nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static void profiles_name_the_nodes(void **state) {
    (void)state;
    world w = begin();
    Qnn_ProfileHandle_t p;
    const QnnProfile_EventId_t *top = NULL, *nodes = NULL;
    uint32_t n_top = 0, n = 0;
    float x[N], z[N];
    memcpy(x, xs, sizeof x);
    set_buffer(&w.x, x, sizeof x);
    set_buffer(&w.z, z, sizeof z);
    OK(w.qnn.profileCreate(w.backend, QNN_PROFILE_LEVEL_DETAILED, &p));
    OK(w.qnn.graphExecute(w.graph, &w.x, 1, &w.z, 1, p, NULL));
    OK(w.qnn.profileGetEvents(p, &top, &n_top));
    assert_int_equal(n_top, 1);
    OK(w.qnn.profileGetSubEvents(top[0], &nodes, &n));
    static const char *const names[] = {"add", "relu", "mul"};
    assert_int_equal(n, 3);
    for (uint32_t i = 0; i < n; i++) {
        QnnProfile_EventData_t e;
        OK(w.qnn.profileGetEventData(nodes[i], &e));
        assert_string_equal(e.identifier, names[i]);
    }
    OK(w.qnn.profileFree(p));
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_buffers_are_copied_to_the_device_and_back),
        cmocka_unit_test(memory_of_the_device_has_no_address),
        cmocka_unit_test(dumps_hold_what_the_device_computed),
        cmocka_unit_test(profiles_name_the_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
