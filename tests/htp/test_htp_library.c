// SPDX-License-Identifier: MIT
//
// Two libraries of one name in one process, as somebody opens them who compares two. Each keeps a
// state of its own.
#include "../client/qnn_client.h"

#include "QnnInterface.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

typedef QNN_INTERFACE_VER_TYPE table;

typedef struct copy {
    void *lib;
    table qnn;
} copy;

static const char *library_path(void) {
    static char path[4096];
    snprintf(path, sizeof path, "%s/libQnnHtp.so", getenv("QUERN_LIB_DIR"));
    return path;
}

static copy open_copy(const char *path) {
    copy c = {.lib = dlopen(path, RTLD_NOW | RTLD_LOCAL)};
    if (!c.lib)
        fail_msg("%s", dlerror());
    Qnn_ErrorHandle_t (*get)(const QnnInterface_t ***, uint32_t *) = (Qnn_ErrorHandle_t(*)(
        const QnnInterface_t ***, uint32_t *))dlsym(c.lib, "QnnInterface_getProviders");
    const QnnInterface_t **list;
    uint32_t n;
    assert_int_equal(get(&list, &n), QNN_SUCCESS);
    c.qnn = list[0]->QNN_INTERFACE_VER_NAME;
    return c;
}

// The same bytes under another name: a file in memory.
static copy open_renamed(void) {
    int from = open(library_path(), O_RDONLY), to = memfd_create("renamed", MFD_CLOEXEC);
    struct stat st;
    assert_true(from >= 0 && to >= 0 && fstat(from, &st) == 0);
    while (lseek(from, 0, SEEK_CUR) < st.st_size)
        assert_true(sendfile(to, from, NULL, (size_t)st.st_size) > 0);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", to);
    copy c = open_copy(path);
    close(from);
    close(to);
    return c;
}

// A graph of a copy: y = relu(x).
typedef struct net {
    Qnn_BackendHandle_t backend;
    Qnn_DeviceHandle_t device;
    Qnn_ContextHandle_t context;
    Qnn_GraphHandle_t graph;
    Qnn_Tensor_t x, y;
} net;

#define OK(call) assert_int_equal((call), QNN_SUCCESS)
enum { N = 4 };

static net make_net(const table *q) {
    static uint32_t dims[] = {N};
    net n = {.x = describe_u8("x", QNN_TENSOR_TYPE_APP_WRITE, 1, dims, 0.5f, -100),
             .y = describe_u8("y", QNN_TENSOR_TYPE_APP_READ, 1, dims, 0.5f, -100)};
    OK(q->backendCreate(NULL, NULL, &n.backend));
    OK(q->deviceCreate(NULL, NULL, &n.device));
    OK(q->contextCreate(n.backend, n.device, NULL, &n.context));
    OK(q->graphCreate(n.context, "g", NULL, &n.graph));
    OK(q->tensorCreateGraphTensor(n.graph, &n.x));
    OK(q->tensorCreateGraphTensor(n.graph, &n.y));
    Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
    op.v1.name = "relu";
    op.v1.packageName = QNN_OP_PACKAGE_NAME_QTI_AISW;
    op.v1.typeName = "Relu";
    op.v1.numOfInputs = op.v1.numOfOutputs = 1;
    op.v1.inputTensors = &n.x;
    op.v1.outputTensors = &n.y;
    OK(q->backendValidateOpConfig(n.backend, op));
    OK(q->graphAddNode(n.graph, op));
    OK(q->graphFinalize(n.graph, NULL, NULL));
    return n;
}

static void run_net(const table *q, net *n) {
    uint8_t in[N] = {0, 99, 101, 255}, out[N] = {0};
    const uint8_t want[N] = {100, 100, 101, 255};
    n->x.v1.clientBuf = (Qnn_ClientBuffer_t){in, N};
    n->y.v1.clientBuf = (Qnn_ClientBuffer_t){out, N};
    OK(q->graphExecute(n->graph, &n->x, 1, &n->y, 1, NULL, NULL));
    assert_memory_equal(out, want, N);
}

static void free_net(const table *q, net *n) {
    OK(q->contextFree(n->context, NULL));
    OK(q->deviceFree(n->device));
    OK(q->backendFree(n->backend));
}

static void two_copies_work_side_by_side(void **state) {
    (void)state;
    copy first = open_copy(library_path()), again = open_copy(library_path());
    assert_ptr_equal(first.qnn.backendCreate, again.qnn.backendCreate); // one file is one copy
    dlclose(again.lib);
    copy second = open_renamed();
    assert_ptr_not_equal(first.qnn.backendCreate, second.qnn.backendCreate);
    net a = make_net(&first.qnn), b = make_net(&second.qnn);
    run_net(&second.qnn, &b);
    run_net(&first.qnn, &a);
    free_net(&first.qnn, &a);
    dlclose(first.lib);
    run_net(&second.qnn, &b); // what the other one did and left concerns it not
    free_net(&second.qnn, &b);
    dlclose(second.lib);
}

static void handles_of_another_copy_are_unknown(void **state) {
    (void)state;
    copy first = open_copy(library_path()), second = open_renamed();
    net a = make_net(&first.qnn);
    Qnn_ContextHandle_t context = NULL;
    assert_int_equal(second.qnn.contextCreate(a.backend, NULL, NULL, &context),
                     QNN_CONTEXT_ERROR_INVALID_HANDLE);
    assert_int_equal(second.qnn.graphExecute(a.graph, &a.x, 1, &a.y, 1, NULL, NULL),
                     QNN_GRAPH_ERROR_INVALID_HANDLE);
    free_net(&first.qnn, &a);
    dlclose(second.lib);
    dlclose(first.lib);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_copies_work_side_by_side),
        cmocka_unit_test(handles_of_another_copy_are_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
