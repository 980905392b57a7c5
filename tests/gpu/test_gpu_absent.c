// SPDX-License-Identifier: MIT
//
// Machines without OpenCL: no library, or a library without drivers; and QUERN_GPU_DEVICE=none,
// which needs neither. The argument says which. The library is hidden by replacing dlopen
// (linker option --wrap), the drivers by OCL_ICD_VENDORS.
#include "gpu_client.h"

#include "QnnProperty.h"

static bool hide_library;

void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags) {
    if (hide_library && name && strstr(name, "OpenCL"))
        name = "hidden-libOpenCL.so";
    return __real_dlopen(name, flags);
}

static void api_02_03_without_opencl_only_making_a_backend_fails(void **state) {
    (void)state;
    gpu_table qnn = gpu_open();
    Qnn_LogHandle_t log;
    Qnn_BackendHandle_t backend = NULL;
    Qnn_ApiVersion_t version;
    const char *id;
    GPU_OK(qnn.logCreate(gpu_log_line, QNN_LOG_LEVEL_DEBUG, &log));
    GPU_OK(qnn.backendGetApiVersion(&version));
    assert_int_equal(version.backendApiVersion.major, 3);
    GPU_OK(qnn.backendGetBuildId(&id));
    assert_int_equal(qnn.propertyHasCapability(QNN_PROPERTY_GROUP_DEVICE), QNN_PROPERTY_SUPPORTED);
    GPU_FAILS(qnn.backendCreate(log, NULL, &backend), 4000);
    assert_null(backend);
    GPU_LOGGED("pocl-opencl-icd");
    GPU_LOGGED(hide_library ? "no OpenCL library" : "has no device");
    if (hide_library)
        GPU_LOGGED("libOpenCL.so");
    Qnn_DeviceHandle_t device;
    assert_int_not_equal(qnn.deviceCreate(log, NULL, &device), QNN_SUCCESS);
    GPU_OK(qnn.logFree(log));
}

static void bin_04_device_none_compiles_without_opencl(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    gpu_graph g;
    float out[GPU_N];
    GPU_LOGGED("QUERN_GPU_DEVICE=none");
    gpu_graph_make(&w, &g, "g", NULL);
    GPU_FAILS(gpu_graph_try(&w, &g, 1, out, NULL), 1000);
    GPU_LOGGED("cannot be executed without an OpenCL device");
    Qnn_DeviceHandle_t device;
    GPU_OK(w.qnn.deviceCreate(NULL, NULL, &device));
    GPU_OK(w.qnn.deviceFree(device));
    const QnnDevice_PlatformInfo_t *info = NULL;
    GPU_OK(w.qnn.deviceGetPlatformInfo(NULL, &info));
    assert_int_equal(info->v1.numHwDevices, 0);
    GPU_OK(w.qnn.deviceFreePlatformInfo(NULL, info));
    gpu_end(&w);
}

int main(int argc, char **argv) {
    const struct CMUnitTest absent[] = {
        cmocka_unit_test(api_02_03_without_opencl_only_making_a_backend_fails),
    };
    const struct CMUnitTest none[] = {
        cmocka_unit_test(bin_04_device_none_compiles_without_opencl),
    };
    const char *what = argc > 1 ? argv[1] : "";
    hide_library = strcmp(what, "drivers") != 0;
    return strcmp(what, "none") == 0 ? cmocka_run_group_tests(none, NULL, NULL)
                                     : cmocka_run_group_tests(absent, NULL, NULL);
}
