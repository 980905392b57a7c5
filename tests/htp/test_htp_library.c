// SPDX-License-Identifier: MIT
//
// Two copies of the HTP library in one process. The copies are opened the way clients do it.
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

static Qnn_OpConfig_t relu(Qnn_Tensor_t *x, Qnn_Tensor_t *y) {
    static uint32_t dims[] = {4};
    Qnn_Tensor_t t = QNN_TENSOR_INIT;
    t.v1.name = "t";
    t.v1.type = QNN_TENSOR_TYPE_NATIVE;
    t.v1.dataType = QNN_DATATYPE_UFIXED_POINT_8;
    t.v1.rank = 1;
    t.v1.dimensions = dims;
    t.v1.quantizeParams.encodingDefinition = QNN_DEFINITION_DEFINED;
    t.v1.quantizeParams.quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
    t.v1.quantizeParams.scaleOffsetEncoding = (Qnn_ScaleOffset_t){0.5f, 0};
    *x = *y = t;
    Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
    op.v1.name = "relu";
    op.v1.packageName = QNN_OP_PACKAGE_NAME_QTI_AISW;
    op.v1.typeName = "Relu";
    op.v1.numOfInputs = op.v1.numOfOutputs = 1;
    op.v1.inputTensors = x;
    op.v1.outputTensors = y;
    return op;
}

// What the five calls answer, on a backend handle of the copy.
static void ask(const copy *c, Qnn_ErrorHandle_t answer[5]) {
    Qnn_BackendHandle_t backend = NULL;
    Qnn_DeviceHandle_t device = NULL;
    Qnn_ContextHandle_t context = NULL;
    Qnn_GraphHandle_t graph = NULL;
    Qnn_Tensor_t x, y;
    assert_int_equal(c->qnn.backendCreate(NULL, NULL, &backend), QNN_SUCCESS);
    answer[0] = c->qnn.backendValidateOpConfig(backend, relu(&x, &y));
    answer[1] = c->qnn.deviceCreate(NULL, NULL, &device);
    answer[2] = c->qnn.contextCreate(backend, device, NULL, &context);
    answer[3] = c->qnn.graphCreate(context, "g", NULL, &graph);
    answer[4] = c->qnn.backendRegisterOpPackage(backend, "/nowhere/libNone.so", "provider", NULL);
    if (context)
        assert_int_equal(c->qnn.contextFree(context, NULL), QNN_SUCCESS);
    if (device)
        assert_int_equal(c->qnn.deviceFree(device), QNN_SUCCESS);
    assert_int_equal(c->qnn.backendFree(backend), QNN_SUCCESS);
    for (int i = 0; i < 5; i++)
        answer[i] = QNN_GET_ERROR_CODE(answer[i]);
}

static void works(const copy *c) {
    Qnn_ErrorHandle_t answer[5];
    ask(c, answer);
    for (int i = 0; i < 4; i++)
        assert_int_equal(answer[i], QNN_SUCCESS);
    assert_int_not_equal(answer[4], QNN_COMMON_ERROR_LOADING_BINARIES); // no such package
}

static void refuses(const copy *c) {
    Qnn_ErrorHandle_t answer[5];
    ask(c, answer);
    for (int i = 0; i < 5; i++)
        assert_int_equal(answer[i], QNN_COMMON_ERROR_LOADING_BINARIES);
}

static void htp_lib_01_lib_02_lib_04_a_second_copy_is_refused(void **state) {
    (void)state;
    copy first = open_copy(library_path());
    works(&first);
    copy again = open_copy(library_path()); // the same file is the same copy
    works(&again);
    assert_ptr_equal(first.qnn.backendCreate, again.qnn.backendCreate);
    dlclose(again.lib);
    copy second = open_renamed();
    assert_ptr_not_equal(first.qnn.backendCreate, second.qnn.backendCreate);
    refuses(&second);
    works(&first);
    dlclose(first.lib);
    works(&second); // it is alone now
    dlclose(second.lib);
}

static void another_backend_is_no_copy(void **state) {
    (void)state;
    char path[4096];
    snprintf(path, sizeof path, "%s/libQnnCpu.so", getenv("QUERN_LIB_DIR"));
    copy cpu = open_copy(path), htp = open_copy(library_path());
    works(&htp);
    dlclose(htp.lib);
    dlclose(cpu.lib);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(htp_lib_01_lib_02_lib_04_a_second_copy_is_refused),
        cmocka_unit_test(another_backend_is_no_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
