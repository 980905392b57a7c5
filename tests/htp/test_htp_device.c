// SPDX-License-Identifier: MIT
//
// Devices of the HTP backend: options in both layouts, platform infos, the global option.
#include "htp_client.h"

#include "HTP/QnnHtpDevice.h"
#include "HTP/QnnHtpMem.h"
#include "QnnGlobalConfig.h"
#include "QnnMem.h"

#include <sys/wait.h>
#include <unistd.h>

static htp_table qnn;

static int open_table(void **state) {
    (void)state;
    qnn = htp_open();
    return 0;
}

// Counts warnings and keeps the last one.
static unsigned n_warnings;
static char last_warning[512];
static void hear(const char *fmt, QnnLog_Level_t level, uint64_t time, va_list args) {
    (void)time;
    if (level != QNN_LOG_LEVEL_WARN)
        return;
    n_warnings++;
    vsnprintf(last_warning, sizeof last_warning, fmt, args);
}

// Raw words of a custom option: {option, ...}.
static Qnn_ErrorHandle_t create_from(const void *a, const void *b, QnnDevice_PlatformInfo_t *info,
                                     Qnn_LogHandle_t log, Qnn_DeviceHandle_t *device) {
    QnnDevice_Config_t configs[3];
    const QnnDevice_Config_t *list[4] = {0};
    int n = 0;
    const void *customs[] = {a, b};
    for (int i = 0; i < 2; i++)
        if (customs[i]) {
            configs[n].option = QNN_DEVICE_CONFIG_OPTION_CUSTOM;
            configs[n].customConfig = (void *)customs[i];
            list[n] = &configs[n];
            n++;
        }
    if (info) {
        configs[n].option = QNN_DEVICE_CONFIG_OPTION_PLATFORM_INFO;
        configs[n].hardwareInfo = info;
        list[n] = &configs[n];
    }
    return qnn.deviceCreate(log, list, device);
}

// What a device says of itself.
typedef struct facts {
    uint32_t soc, arch, vtcm_mb, n_cores;
    bool dlbc, signed_pd, hpass;
} facts;

static facts facts_of(Qnn_DeviceHandle_t device) {
    const QnnDevice_PlatformInfo_t *info = NULL;
    HTP_OK(qnn.deviceGetInfo(device, &info));
    const QnnDevice_HardwareDeviceInfo_t *d = info->v1.hwDevices;
    const QnnHtpDevice_OnChipDeviceInfoExtension_t *c = &d->v1.deviceInfoExtension->onChipDevice;
    return (facts){.soc = (uint32_t)c->socModel,
                   .arch = (uint32_t)c->arch,
                   .vtcm_mb = (uint32_t)c->vtcmSize,
                   .n_cores = d->v1.numCores,
                   .dlbc = c->dlbcSupport,
                   .signed_pd = c->signedPdSupport,
                   .hpass = d->v1.cores[0].v1.coreType == QNN_HTP_CORE_TYPE_HPASS};
}

// Facts of a device that is made for the purpose.
static facts facts_from(const void *a, const void *b, QnnDevice_PlatformInfo_t *info) {
    Qnn_DeviceHandle_t device = NULL;
    HTP_OK(create_from(a, b, info, NULL, &device));
    facts f = facts_of(device);
    HTP_OK(qnn.deviceFree(device));
    return f;
}

static QnnHtpDevice_CustomConfig_t soc_option(uint32_t soc) {
    QnnHtpDevice_CustomConfig_t c;
    memset(&c, 0, sizeof c);
    c.option = QNN_HTP_DEVICE_CONFIG_OPTION_SOC;
    c.socModel = soc;
    return c;
}

static QnnHtpDevice_CustomConfig_t arch_option(uint32_t arch) {
    QnnHtpDevice_CustomConfig_t c;
    memset(&c, 0, sizeof c);
    c.option = QNN_HTP_DEVICE_CONFIG_OPTION_ARCH;
    c.arch.arch = (QnnHtpDevice_Arch_t)arch;
    return c;
}

// A platform info as a client without hardware builds it.
typedef struct offline {
    QnnDevice_PlatformInfo_t info;
    QnnDevice_HardwareDeviceInfo_t device;
    QnnHtpDevice_DeviceInfoExtension_t extension;
    QnnDevice_CoreInfo_t cores[2];
} offline;

static void offline_make(offline *o, uint32_t soc, uint32_t arch, size_t vtcm) {
    memset(o, 0, sizeof *o);
    for (uint32_t i = 0; i < 2; i++) {
        o->cores[i].version = QNN_DEVICE_CORE_INFO_VERSION_1;
        o->cores[i].v1.coreId = i;
    }
    o->extension.devType = QNN_HTP_DEVICE_TYPE_ON_CHIP;
    o->extension.onChipDevice.socModel = soc;
    o->extension.onChipDevice.arch = (QnnHtpDevice_Arch_t)arch;
    o->extension.onChipDevice.vtcmSize = vtcm;
    o->extension.onChipDevice.dlbcSupport = true;
    o->device.version = QNN_DEVICE_HARDWARE_DEVICE_INFO_VERSION_1;
    o->device.v1.numCores = 1;
    o->device.v1.cores = o->cores;
    o->device.v1.deviceInfoExtension = &o->extension;
    o->info.version = QNN_DEVICE_PLATFORM_INFO_VERSION_1;
    o->info.v1.numHwDevices = 1;
    o->info.v1.hwDevices = &o->device;
}

// Runs first: the option is fixed by the library's first use. In a child, to leave the others
// alone.
static void global_option_chooses_the_default_chip(void **state) {
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        QnnGlobalConfig_t config = {.option = QNN_GLOBAL_CONFIG_OPTION_SOC_MODEL};
        const QnnGlobalConfig_t *list[] = {&config, NULL};
        int bad = 0;
        config.socModel = (Qnn_SocModel_t)12345;
        bad |= qnn.globalConfigSet(list) != QNN_GLOBAL_CONFIG_ERROR_INVALID_CONFIG;
        config.socModel = QNN_SOC_MODEL_SM8650;
        bad |= qnn.globalConfigSet(list) != QNN_SUCCESS;
        bad |= facts_from(NULL, NULL, NULL).arch != 75;
        bad |= qnn.globalConfigSet(list) != QNN_SUCCESS; // the same once more
        config.socModel = QNN_SOC_MODEL_SM8550;
        bad |= qnn.globalConfigSet(list) != QNN_GLOBAL_CONFIG_ERROR_INVALID_CONFIG;
        _exit(bad);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void htp_dev_01_default_is_sm8350(void **state) {
    (void)state;
    facts d = facts_from(NULL, NULL, NULL);
    assert_int_equal(d.soc, 30);
    assert_int_equal(d.arch, 68);
    QnnHtpDevice_CustomConfig_t soc = soc_option(57);
    d = facts_from(&soc, NULL, NULL);
    assert_int_equal(d.soc, 57);
    assert_int_equal(d.arch, 75);
    assert_int_equal(d.vtcm_mb, 8);
}

// Architectures and sizes as published, for a chip of every architecture.
static void htp_dev_01_chips_have_published_facts(void **state) {
    (void)state;
    static const struct {
        uint32_t soc, arch, vtcm;
    } known[] = {{30, 68, 4}, {35, 68, 2}, {93, 68, 2},  {39, 68, 8}, {36, 69, 8},
                 {53, 69, 8}, {43, 73, 8}, {45, 73, 2},  {60, 73, 8}, {57, 75, 8},
                 {69, 79, 8}, {87, 81, 8}, {72, 81, 16}, {95, 81, 4}, {54, 69, 4}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        QnnHtpDevice_CustomConfig_t soc = soc_option(known[i].soc);
        facts d = facts_from(&soc, NULL, NULL);
        assert_int_equal(d.arch, known[i].arch);
        assert_int_equal(d.vtcm_mb, known[i].vtcm);
    }
}

static void htp_dev_02_arch_alone(void **state) {
    (void)state;
    static const uint32_t archs[] = {68, 69, 73, 75, 79, 81, 85, 89};
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
        QnnHtpDevice_CustomConfig_t arch = arch_option(archs[i]);
        facts d = facts_from(&arch, NULL, NULL);
        assert_int_equal(d.arch, archs[i]);
        assert_int_equal(d.soc, 0);
    }
    QnnHtpDevice_CustomConfig_t none = arch_option(0);
    facts d = facts_from(&none, NULL, NULL);
    assert_int_equal(d.soc, 30);
}

static void htp_dev_03_soc_beats_arch(void **state) {
    (void)state;
    QnnHtpDevice_CustomConfig_t soc = soc_option(43), arch = arch_option(75);
    assert_int_equal(facts_from(&soc, &arch, NULL).arch, 73);
    assert_int_equal(facts_from(&arch, &soc, NULL).arch, 73);
    // A chip that is not known leaves the architecture.
    soc = soc_option(4711);
    assert_int_equal(facts_from(&soc, &arch, NULL).arch, 75);
    assert_int_equal(facts_from(&arch, &soc, NULL).arch, 75);
}

// Only a signed process domain may share addresses of the VTCM.
static bool shares_vtcm(const void *option) {
    htp_world w = {.qnn = qnn};
    HTP_OK(qnn.backendCreate(NULL, NULL, &w.backend));
    HTP_OK(create_from(option, NULL, NULL, NULL, &w.device));
    HTP_OK(qnn.contextCreate(w.backend, w.device, NULL, &w.context));
    uint32_t dims[] = {64};
    QnnMemHtp_Descriptor_t address = {
        .type = QNN_HTP_MEM_QURT, .size = 64, .qurtAddress = 0xFF000000u};
    Qnn_MemDescriptor_t d = {.memShape = {1, dims, NULL},
                             .dataType = QNN_DATATYPE_UFIXED_POINT_8,
                             .memType = QNN_MEM_TYPE_CUSTOM,
                             .customInfo = &address};
    Qnn_MemHandle_t h = NULL;
    Qnn_ErrorHandle_t code = qnn.memRegister(w.context, &d, 1, &h);
    if (code != QNN_SUCCESS)
        HTP_FAILS(code, QNN_MEM_ERROR_INVALID_ARGUMENT);
    htp_end(&w);
    return code == QNN_SUCCESS;
}

static void htp_dev_04_signed_domain(void **state) {
    (void)state;
    QnnHtpDevice_CustomConfig_t c;
    memset(&c, 0, sizeof c);
    c.option = QNN_HTP_DEVICE_CONFIG_OPTION_SIGNEDPD;
    assert_false(shares_vtcm(NULL));
    assert_false(shares_vtcm(&c));
    c.useSignedProcessDomain.useSignedProcessDomain = true;
    assert_true(shares_vtcm(&c));
    const uint32_t older[3] = {2, 0, 1};
    assert_true(shares_vtcm(older));
}

static void htp_dev_05_secure_domain_is_retired(void **state) {
    (void)state;
    QnnHtpDevice_CustomConfig_t soc = soc_option(57), secure;
    memset(&secure, 0, sizeof secure);
    secure.option = QNN_HTP_DEVICE_CONFIG_OPTION_SECUREPD;
    Qnn_DeviceHandle_t device = NULL;
    HTP_FAILS(create_from(&soc, &secure, NULL, NULL, &device), 1000);
    assert_null(device);
}

static void htp_dev_06_unknown_numbers(void **state) {
    (void)state;
    Qnn_DeviceHandle_t device = NULL;
    QnnHtpDevice_CustomConfig_t c = soc_option(4711);
    HTP_FAILS(create_from(&c, NULL, NULL, NULL, &device), 14001);
    c = soc_option(0);
    HTP_FAILS(create_from(&c, NULL, NULL, NULL, &device), 14001);
    c = arch_option(70);
    HTP_FAILS(create_from(&c, NULL, NULL, NULL, &device), 14001);
}

static void htp_dev_06_unknown_options_are_ignored_with_a_warning(void **state) {
    (void)state;
    Qnn_LogHandle_t log;
    Qnn_DeviceHandle_t device = NULL;
    HTP_OK(qnn.logCreate(hear, QNN_LOG_LEVEL_WARN, &log));
    const uint32_t unknown[6] = {77, 0, 1, 2, 3, 4};
    n_warnings = 0;
    HTP_OK(create_from(unknown, NULL, NULL, log, &device));
    assert_int_equal(n_warnings, 1);
    assert_non_null(strstr(last_warning, "77"));
    assert_int_equal(facts_of(device).soc, 30);
    HTP_OK(qnn.deviceFree(device));
    // Known ones that change nothing here are taken without a word.
    for (uint32_t option = 4; option <= 6; option++) {
        const uint32_t known[6] = {option};
        HTP_OK(create_from(known, NULL, NULL, log, &device));
        HTP_OK(qnn.deviceFree(device));
    }
    assert_int_equal(n_warnings, 1);
    HTP_OK(qnn.logFree(log));
}

// Clients built with older headers send 12 bytes. They lie at the end of a heap block here, so that
// a sanitizer sees any byte read beyond them.
static void older_layout_is_understood(void **state) {
    (void)state;
    uint32_t *words = malloc(12);
    assert_non_null(words);
    memcpy(words, (uint32_t[]){0, 57, 0}, 12); // SOC, as measured
    assert_int_equal(facts_from(words, NULL, NULL).soc, 57);
    memcpy(words, (uint32_t[]){1, 0, 79}, 12); // ARCH: device 0
    assert_int_equal(facts_from(words, NULL, NULL).arch, 79);
    memcpy(words, (uint32_t[]){2, 0, 1}, 12); // SIGNEDPD: device 0
    assert_true(shares_vtcm(words));
    free(words);
}

// Today's layout: what lies in the padding does not matter.
static void padding_is_not_read_as_a_chip(void **state) {
    (void)state;
    const uint32_t words[6] = {0, 43, 57};
    assert_int_equal(facts_from(words, NULL, NULL).soc, 57);
    // A platform info tells which one was meant.
    offline o;
    offline_make(&o, 43, 73, 8);
    assert_int_equal(facts_from(words, NULL, &o.info).soc, 43);
}

static void htp_dev_07_offline_info_describes_the_device(void **state) {
    (void)state;
    offline o;
    offline_make(&o, 69, 79, 6);
    facts d = facts_from(NULL, NULL, &o.info);
    assert_int_equal(d.soc, 69);
    assert_int_equal(d.arch, 79);
    assert_int_equal(d.vtcm_mb, 6);
    assert_false(d.signed_pd);
    assert_true(d.dlbc);
    // A chip nobody knows: facts of its architecture.
    offline_make(&o, 4711, 81, 16);
    d = facts_from(NULL, NULL, &o.info);
    assert_int_equal(d.arch, 81);
    assert_int_equal(d.vtcm_mb, 16);
    // As ExecuTorch sends it: the chip in an option and in the info.
    const uint32_t words[3] = {0, 57, 0};
    offline_make(&o, 57, 75, 8);
    d = facts_from(words, NULL, &o.info);
    assert_int_equal(d.soc, 57);
    assert_int_equal(d.vtcm_mb, 8);
}

static void htp_dev_07_hostile_infos_are_refused(void **state) {
    (void)state;
    offline o;
    Qnn_DeviceHandle_t device = NULL;
#define REFUSED(change, code)                                                                      \
    do {                                                                                           \
        offline_make(&o, 57, 75, 8);                                                               \
        change;                                                                                    \
        HTP_FAILS(create_from(NULL, NULL, &o.info, NULL, &device), code);                          \
    } while (0)
    REFUSED(o.info.v1.numHwDevices = 0, 14001);
    REFUSED(o.info.v1.numHwDevices = 2, 14001);
    REFUSED(o.info.v1.hwDevices = NULL, 14001);
    REFUSED(o.device.version = 2, 14001);
    REFUSED(o.device.v1.deviceId = 1, 14001);
    REFUSED(o.device.v1.numCores = 0, 14001);
    REFUSED(o.device.v1.numCores = 0xFFFFFFFF, 14001);
    REFUSED(o.device.v1.cores = NULL, 14001);
    REFUSED(o.cores[0].version = 9, 14001);
    REFUSED(o.cores[0].v1.coreType = 2, 14001);
    REFUSED(o.cores[0].v1.coreId = 16, 14001);
    REFUSED((o.device.v1.numCores = 2, o.cores[1].v1.coreId = 0), 14001);
    REFUSED(o.extension.onChipDevice.vtcmSize = 65, 14001);
    REFUSED(o.extension.onChipDevice.arch = 70, 14001);
    REFUSED(o.extension.devType = QNN_HTP_DEVICE_TYPE_OFF_CHIP, 14002);
    // Without a description only cores that exist can be named.
    REFUSED((o.device.v1.deviceInfoExtension = NULL, o.device.v1.numCores = 2), 14001);
#undef REFUSED
}

static const QnnHtpDevice_OnChipDeviceInfoExtension_t *on_chip(
    const QnnDevice_PlatformInfo_t *info) {
    assert_int_equal(info->version, QNN_DEVICE_PLATFORM_INFO_VERSION_1);
    assert_int_equal(info->v1.numHwDevices, 1);
    const QnnDevice_HardwareDeviceInfo_t *d = info->v1.hwDevices;
    assert_int_equal(d->version, QNN_DEVICE_HARDWARE_DEVICE_INFO_VERSION_1);
    assert_int_equal(d->v1.deviceId, 0);
    assert_int_equal(d->v1.numCores, 1);
    assert_int_equal(d->v1.cores[0].v1.coreId, 0);
    assert_int_equal(d->v1.deviceInfoExtension->devType, QNN_HTP_DEVICE_TYPE_ON_CHIP);
    return &d->v1.deviceInfoExtension->onChipDevice;
}

static void htp_dev_07_dev_08_platform_info_answers(void **state) {
    (void)state;
    const QnnDevice_PlatformInfo_t *info = NULL;
    HTP_OK(qnn.deviceGetPlatformInfo(NULL, &info));
    assert_int_equal(on_chip(info)->socModel, 30);
    assert_int_equal(on_chip(info)->arch, 68);
    assert_int_equal(on_chip(info)->vtcmSize, 4);
    assert_false(on_chip(info)->dlbcSupport);
    // Reduced, and handed back: a device that is the default.
    QnnDevice_PlatformInfo_t copy = *info;
    facts d = facts_from(NULL, NULL, &copy);
    assert_int_equal(d.soc, 30);
    HTP_OK(qnn.deviceFreePlatformInfo(NULL, info));
    HTP_FAILS(qnn.deviceFreePlatformInfo(NULL, info), QNN_DEVICE_ERROR_INVALID_ARGUMENT);
    // While devices live: of the newest one, from which clients learn the architecture.
    Qnn_DeviceHandle_t older = htp_device(&qnn, 57), newer = htp_device(&qnn, 69);
    HTP_OK(qnn.deviceGetPlatformInfo(NULL, &info));
    assert_int_equal(on_chip(info)->arch, 79);
    HTP_OK(qnn.deviceFreePlatformInfo(NULL, info));
    HTP_OK(qnn.deviceFree(newer));
    HTP_OK(qnn.deviceGetPlatformInfo(NULL, &info));
    assert_int_equal(on_chip(info)->arch, 75);
    HTP_OK(qnn.deviceFree(older));
    assert_int_equal(on_chip(info)->arch, 75); // the client's until it frees it
    HTP_OK(qnn.deviceFreePlatformInfo(NULL, info));
}

static void info_of_a_device_follows_its_options(void **state) {
    (void)state;
    Qnn_DeviceHandle_t device = htp_device(&qnn, 57);
    const QnnDevice_PlatformInfo_t *before = NULL, *after = NULL;
    HTP_OK(qnn.deviceGetInfo(device, &before));
    assert_int_equal(on_chip(before)->socModel, 57);
    assert_int_equal(on_chip(before)->arch, 75);
    assert_true(on_chip(before)->dlbcSupport);
    QnnHtpDevice_CustomConfig_t soc = soc_option(69);
    QnnDevice_Config_t config = {.option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = &soc};
    const QnnDevice_Config_t *list[] = {&config, NULL};
    HTP_OK(qnn.deviceSetConfig(device, list));
    HTP_OK(qnn.deviceGetInfo(device, &after));
    assert_int_equal(on_chip(after)->arch, 79);
    assert_int_equal(on_chip(before)->arch, 75); // lives as long as the device
    // A list that fails changes nothing.
    soc = soc_option(4711);
    HTP_FAILS(qnn.deviceSetConfig(device, list), 14001);
    assert_int_equal(facts_of(device).soc, 69);
    HTP_OK(qnn.deviceSetConfig(device, &list[1]));
    assert_int_equal(facts_of(device).soc, 69);
    HTP_OK(qnn.deviceFree(device));
}

static void htp_dev_09_hpass_cores_have_less(void **state) {
    (void)state;
    offline o;
    offline_make(&o, 57, 75, 0);
    facts nsp = facts_from(NULL, NULL, &o.info);
    assert_false(nsp.hpass);
    o.cores[0].v1.coreType = QNN_HTP_CORE_TYPE_HPASS;
    Qnn_DeviceHandle_t device;
    HTP_OK(create_from(NULL, NULL, &o.info, NULL, &device));
    facts hpass = facts_of(device);
    assert_true(hpass.hpass);
    assert_true(hpass.vtcm_mb < nsp.vtcm_mb);
    const QnnDevice_PlatformInfo_t *info;
    HTP_OK(qnn.deviceGetInfo(device, &info));
    assert_int_equal(info->v1.hwDevices[0].v1.cores[0].v1.coreType, QNN_HTP_CORE_TYPE_HPASS);
    HTP_OK(qnn.deviceFree(device));
    // Of two kinds the NSP is taken.
    o.device.v1.numCores = 2;
    facts both = facts_from(NULL, NULL, &o.info);
    assert_false(both.hpass);
    assert_int_equal(both.n_cores, 1);
}

static void htp_dev_10_device_in_use(void **state) {
    (void)state;
    htp_world w = htp_begin(57);
    HTP_FAILS(w.qnn.deviceFree(w.device), 14003);
    HTP_OK(w.qnn.contextFree(w.context, NULL));
    w.context = NULL;
    htp_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(global_option_chooses_the_default_chip),
        cmocka_unit_test(htp_dev_01_default_is_sm8350),
        cmocka_unit_test(htp_dev_01_chips_have_published_facts),
        cmocka_unit_test(htp_dev_02_arch_alone),
        cmocka_unit_test(htp_dev_03_soc_beats_arch),
        cmocka_unit_test(htp_dev_04_signed_domain),
        cmocka_unit_test(htp_dev_05_secure_domain_is_retired),
        cmocka_unit_test(htp_dev_06_unknown_numbers),
        cmocka_unit_test(htp_dev_06_unknown_options_are_ignored_with_a_warning),
        cmocka_unit_test(older_layout_is_understood),
        cmocka_unit_test(padding_is_not_read_as_a_chip),
        cmocka_unit_test(htp_dev_07_offline_info_describes_the_device),
        cmocka_unit_test(htp_dev_07_hostile_infos_are_refused),
        cmocka_unit_test(htp_dev_07_dev_08_platform_info_answers),
        cmocka_unit_test(info_of_a_device_follows_its_options),
        cmocka_unit_test(htp_dev_09_hpass_cores_have_less),
        cmocka_unit_test(htp_dev_10_device_in_use),
    };
    return cmocka_run_group_tests(tests, open_table, NULL);
}
