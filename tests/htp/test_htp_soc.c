// SPDX-License-Identifier: MIT
//
// QUERN_SOC: the chip that a client finds which names none. Arguments: model number and
// architecture of that chip, and the number of warnings a new device logs.
#include "HTP/QnnHtpDevice.h"
#include "QnnInterface.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define OK(call) assert_int_equal((call), QNN_SUCCESS)

static unsigned soc, arch, warnings, heard;
static QNN_INTERFACE_VER_TYPE qnn;

static void hear(const char *fmt, QnnLog_Level_t level, uint64_t time_ns, va_list args) {
    (void)level;
    (void)time_ns;
    char text[1024];
    vsnprintf(text, sizeof text, fmt, args);
    heard += strstr(text, "QUERN_SOC is '") != NULL;
}

static int open_library(void **state) {
    (void)state;
    char path[4096];
    snprintf(path, sizeof path, "%s/libQnnHtp.so", getenv("QUERN_LIB_DIR"));
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail_msg("%s", dlerror());
    Qnn_ErrorHandle_t (*get)(const QnnInterface_t ***, uint32_t *);
    *(void **)&get = dlsym(library, "QnnInterface_getProviders");
    const QnnInterface_t **list = NULL;
    uint32_t n = 0;
    OK(get(&list, &n));
    qnn = list[0]->QNN_INTERFACE_VER_NAME;
    return 0;
}

static void expect_chip(const QnnDevice_PlatformInfo_t *info, unsigned model, unsigned version) {
    const QnnHtpDevice_DeviceInfoExtension_t *e = info->v1.hwDevices[0].v1.deviceInfoExtension;
    assert_int_equal(e->onChipDevice.socModel, model);
    assert_int_equal(e->onChipDevice.arch, version);
}

static void platform_info_answers_with_the_chip(void **state) {
    (void)state;
    const QnnDevice_PlatformInfo_t *info = NULL;
    OK(qnn.deviceGetPlatformInfo(NULL, &info));
    expect_chip(info, soc, arch);
    OK(qnn.deviceFreePlatformInfo(NULL, info));
}

static void a_device_without_options_is_the_chip(void **state) {
    (void)state;
    Qnn_LogHandle_t log = NULL;
    Qnn_DeviceHandle_t device = NULL;
    const QnnDevice_PlatformInfo_t *info = NULL;
    OK(qnn.logCreate(hear, QNN_LOG_LEVEL_WARN, &log));
    OK(qnn.deviceCreate(log, NULL, &device));
    OK(qnn.deviceGetInfo(device, &info));
    expect_chip(info, soc, arch);
    assert_int_equal(heard, warnings);
    OK(qnn.deviceFree(device));
    OK(qnn.logFree(log));
}

static void what_a_client_asks_for_wins(void **state) {
    (void)state;
    QnnHtpDevice_CustomConfig_t custom = {.option = QNN_HTP_DEVICE_CONFIG_OPTION_SOC,
                                          .socModel = 36};
    QnnDevice_Config_t config = {.option = QNN_DEVICE_CONFIG_OPTION_CUSTOM,
                                 .customConfig = &custom};
    Qnn_DeviceHandle_t device = NULL;
    const QnnDevice_PlatformInfo_t *info = NULL;
    OK(qnn.deviceCreate(NULL, (const QnnDevice_Config_t *[]){&config, NULL}, &device));
    OK(qnn.deviceGetInfo(device, &info));
    expect_chip(info, 36, 69);
    OK(qnn.deviceFree(device));
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    soc = (unsigned)atoi(argv[1]), arch = (unsigned)atoi(argv[2]);
    warnings = (unsigned)atoi(argv[3]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(platform_info_answers_with_the_chip),
                                       cmocka_unit_test(a_device_without_options_is_the_chip),
                                       cmocka_unit_test(what_a_client_asks_for_wins)};
    return cmocka_run_group_tests(tests, open_library, NULL);
}
