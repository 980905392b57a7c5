// SPDX-License-Identifier: MIT
//
// The file of QUERN_SOCS: good rows become chips, bad ones are told with their line. The
// environment is read when the program starts, so the program writes the file and starts itself
// again.
#include "base/soc.h"
#include "htp_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char contents[] =
    "# id\tname\taliases\tarch\tvtcm_mb\thvx\thmx\tcores\tfp16\tdlbc\tsigned_pd\tslc\n"
    "\n"
    "9001\tQUERN-1\tQ1 Quern_One\t81\t32\t6\t2\t4\t1\t1\t0\t1\r\n" // 3
    "57\tSM8650\t-\t75\t4\t2\t1\t1\t1\t0\t1\t0\n"                  // 4: instead of the built-in one
    "9002\tshort\t-\t75\t4\n"                                      // 5: columns are missing
    "9003\tlong\t-\t75\t4\t2\t1\t1\t1\t0\t1\t0\t0\n"               // 6: one too many
    "9004\tarch\t-\t70\t4\t2\t1\t1\t1\t0\t1\t0\n"                  // 7: no such architecture
    "9005\tvtcm\t-\t75\t65\t2\t1\t1\t1\t0\t1\t0\n"                 // 8: too large
    "99999999999999999999\tid\t-\t75\t4\t2\t1\t1\t1\t0\t1\t0\n"    // 9: no number of the API
    "9001\ttwice\t-\t75\t4\t2\t1\t1\t1\t0\t1\t0\n"                 // 10: given before
    "9006\tna\x01me\t-\t75\t4\t2\t1\t1\t1\t0\t1\t0\n"              // 11: not a name
    "9007\tbool\t-\t75\t4\t2\t1\t1\t2\t0\t1\t0\n"                  // 12: the last one that is told
    "9008\t\t-\t75\t4\t2\t1\t1\t1\t0\t1\t0\n"                      // 13: told no more
    "9009\tLast\t-\t68\t1\t1\t1\t1\t0\t0\t0\t0";                   // 14: without a line end

static char path_of_file[256];

static void good_rows_are_chips(void **state) {
    (void)state;
    const qrn_soc *s = qrn_soc_by_id(9001);
    assert_non_null(s);
    assert_string_equal(s->name, "QUERN-1");
    assert_int_equal(s->arch, 81);
    assert_int_equal(s->vtcm_mb, 32);
    assert_int_equal(s->hvx, 6);
    assert_int_equal(s->hmx, 2);
    assert_int_equal(s->cores, 4);
    assert_true(s->fp16 && s->dlbc && !s->signed_pd && s->slc);
    assert_ptr_equal(qrn_soc_by_name("quern_one"), s);
    assert_ptr_equal(qrn_soc_by_name("Q1"), s);
    assert_null(qrn_soc_by_name("-"));
    assert_int_equal(qrn_soc_by_name("last")->id, 9009);
    assert_int_equal(qrn_soc_by_id(43)->vtcm_mb, 8); // others stay
}

static void a_row_replaces_the_built_in_one(void **state) {
    (void)state;
    assert_int_equal(qrn_soc_by_id(57)->vtcm_mb, 4);
    assert_int_equal(qrn_soc_by_name("SM8650")->hvx, 2);
    unsigned n = 0;
    for (uint32_t i = 0; qrn_soc_at(i); i++)
        n += qrn_soc_at(i)->id == 57;
    assert_int_equal(n, 1);
}

static void bad_rows_are_told(void **state) {
    (void)state;
    static const char *const words[] = {
        ":5: ", ":6: ", ":7: ", ":8: ", ":9: ", ":10: ", ":11: ", ":12: "};
    for (uint32_t i = 0; i < 8; i++) {
        const char *w = qrn_soc_warning(i);
        assert_non_null(w);
        assert_non_null(strstr(w, words[i]));
        assert_non_null(strstr(w, path_of_file));
    }
    assert_non_null(strstr(qrn_soc_warning(2), "arch"));
    assert_non_null(strstr(qrn_soc_warning(3), "vtcm_mb"));
    assert_non_null(strstr(qrn_soc_warning(7), "further"));
    assert_null(qrn_soc_warning(8));
    for (uint32_t id = 9002; id <= 9008; id++)
        assert_null(qrn_soc_by_id(id));
    assert_int_equal(qrn_soc_by_id(9001)->arch, 81);
}

static unsigned n_warnings;
static void hear(const char *fmt, QnnLog_Level_t level, uint64_t time, va_list args) {
    (void)fmt, (void)time, (void)args;
    n_warnings += level == QNN_LOG_LEVEL_WARN;
}

static void devices_use_the_rows(void **state) {
    (void)state;
    htp_table qnn = htp_open();
    Qnn_DeviceHandle_t device = htp_device(&qnn, 9001);
    const QnnDevice_PlatformInfo_t *info;
    HTP_OK(qnn.deviceGetInfo(device, &info));
    const QnnDevice_HardwareDeviceInfoV1_t *d = &info->v1.hwDevices[0].v1;
    assert_int_equal(d->numCores, 4);
    assert_int_equal(d->cores[3].v1.coreId, 3);
    assert_int_equal(d->deviceInfoExtension->onChipDevice.vtcmSize, 32);
    assert_int_equal(d->deviceInfoExtension->onChipDevice.socModel, 9001);
    assert_false(d->deviceInfoExtension->onChipDevice.signedPdSupport);
    QnnDevice_Infrastructure_t infra;
    uint32_t id;
    HTP_OK(qnn.deviceGetInfrastructure(&infra));
    HTP_OK(infra->perfInfra.createPowerConfigId(0, 3, &id)); // a core of the newest device
    HTP_FAILS(infra->perfInfra.createPowerConfigId(0, 4, &id), 13001);
    HTP_OK(infra->perfInfra.destroyPowerConfigId(id));
    HTP_OK(qnn.deviceFree(device));
    Qnn_LogHandle_t log;
    HTP_OK(qnn.logCreate(hear, QNN_LOG_LEVEL_WARN, &log));
    HTP_OK(qnn.deviceCreate(log, NULL, &device));
    assert_int_equal(n_warnings, 8);
    HTP_OK(qnn.deviceFree(device));
    HTP_OK(qnn.logFree(log));
}

// Whatever the bytes: rows are within their bounds, names end, and nothing is read beyond the text.
static void damaged_files_are_survived(void **state) {
    (void)state;
    uint32_t seed = 1;
    for (int run = 0; run < 20000; run++) {
        size_t n = sizeof contents - 1;
        char *text = malloc(n);
        assert_non_null(text);
        memcpy(text, contents, n);
        for (int i = 0; i < 1 + run % 8; i++) {
            static const char bytes[] = "\t\n\r 0919-#\xFF\0";
            seed = seed * 1664525u + 1013904223u;
            text[(seed >> 8) % n] = bytes[(seed >> 4) % sizeof bytes];
        }
        seed = seed * 1664525u + 1013904223u;
        qrn_soc_reread(text, run % 3 ? n : (seed >> 8) % n);
        free(text); // rows are copies
        for (uint32_t i = 0; qrn_soc_at(i); i++) {
            const qrn_soc *s = qrn_soc_at(i);
            assert_true(s->id && strlen(s->name) && strlen(s->name) < 32 &&
                        strlen(s->aliases) < 128);
            assert_non_null(qrn_soc_of_arch(s->arch));
            assert_true(s->vtcm_mb >= 1 && s->vtcm_mb <= 64 && s->cores >= 1 && s->cores <= 16);
            assert_ptr_equal(qrn_soc_by_id(s->id), s);
        }
    }
    qrn_soc_reread("", 0);
    assert_null(qrn_soc_by_id(9001));
    assert_int_equal(qrn_soc_by_id(57)->vtcm_mb, 8);
}

static void more_rows_than_there_is_room_for(void **state) {
    (void)state;
    char text[8192];
    size_t n = 0;
    for (int i = 0; i < 70; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%d\tN%d\t-\t75\t4\t2\t1\t1\t1\t0\t1\t0\n",
                              9100 + i, i);
    qrn_soc_reread(text, n);
    assert_non_null(qrn_soc_by_id(9163));
    assert_null(qrn_soc_by_id(9164));
    assert_non_null(strstr(qrn_soc_warning(0), ":65: "));
}

static void a_file_that_is_missing_is_told(void **state) {
    (void)state;
    assert_non_null(strstr(qrn_soc_warning(0), path_of_file));
    assert_null(qrn_soc_warning(1));
    assert_int_equal(qrn_soc_by_id(57)->vtcm_mb, 8);
}

static int start_again(char **argv) {
    char path[] = "/tmp/quern-socs-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0 || write(fd, contents, sizeof contents - 1) != (ssize_t)sizeof contents - 1)
        return 1;
    close(fd);
    setenv("QUERN_SOCS", path, 1);
    execv("/proc/self/exe", argv);
    return 1;
}

int main(int argc, char **argv) {
#ifdef QUERN_EMULATED
    return 77; // an emulated program cannot start itself again
#endif
    (void)argc;
    const struct CMUnitTest missing[] = {cmocka_unit_test(a_file_that_is_missing_is_told)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_rows_are_chips),
        cmocka_unit_test(a_row_replaces_the_built_in_one),
        cmocka_unit_test(bad_rows_are_told),
        cmocka_unit_test(devices_use_the_rows),
        cmocka_unit_test(damaged_files_are_survived),
        cmocka_unit_test(more_rows_than_there_is_room_for),
    };
    const char *path = getenv("QUERN_SOCS");
    if (!path)
        return start_again(argv);
    snprintf(path_of_file, sizeof path_of_file, "%s", path);
    if (access(path, R_OK) != 0)
        return cmocka_run_group_tests(missing, NULL, NULL);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    if (failed)
        return failed;
    execv("/proc/self/exe", argv); // once more, without the file
    return 1;
}
