// SPDX-License-Identifier: MIT
//
// Quotas of control groups, out of trees that look like those of the system.
#include "temp_folder.h"

#include "base/quota.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Writes a file, and makes the folders on the way.
static void put(const char *path, const char *text) {
    char part[512];
    for (const char *at = strchr(path, '/'); at; at = strchr(at + 1, '/')) {
        snprintf(part, sizeof part, "%.*s", (int)(at - path), path);
        mkdir(part, 0700);
    }
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static uint32_t cpus(void) { return qrn_quota_cpus("list", "tree"); }

static void nothing_to_read_is_no_quota(void **state) {
    (void)state;
    assert_int_equal(cpus(), 0);
    put("list", "0::/a\n4:cpu,cpuacct:/a\n");
    assert_int_equal(cpus(), 0);
}

static void version_2_has_one_file_in_each_group(void **state) {
    (void)state;
    put("list", "0::/a.slice/b.service\n");
    put("tree/cpu.max", "max 100000\n");
    put("tree/a.slice/cpu.max", "max 100000\n");
    put("tree/a.slice/b.service/cpu.max", "250000 100000\n");
    assert_int_equal(cpus(), 2);
    put("tree/a.slice/cpu.max", "50000 100000\n"); // half a CPU for all below it
    assert_int_equal(cpus(), 1);
    put("list", "0::/\n");
    assert_int_equal(cpus(), 0);
    put("tree/cpu.max", "300000 100000\n");
    assert_int_equal(cpus(), 3);
}

static void version_1_has_two_files_below_a_controller(void **state) {
    (void)state;
    put("list", "9:name=systemd:/\n4:cpu,cpuacct:/docker/x\n3:cpuset:/docker/x\n0::/docker/x\n");
    put("tree/cpu,cpuacct/docker/x/cpu.cfs_quota_us", "400000\n");
    put("tree/cpu,cpuacct/docker/x/cpu.cfs_period_us", "100000\n");
    put("tree/cpuset/docker/x/cpu.max", "100000 100000\n"); // no such thing is there
    assert_int_equal(cpus(), 4);
    put("tree/cpu,cpuacct/docker/x/cpu.cfs_quota_us", "-1\n");
    assert_int_equal(cpus(), 0);
    put("list", "4:cpu:/docker/x\n");
    put("tree/cpu/cpu.cfs_quota_us", "200000\n"); // a container: its group is the root
    put("tree/cpu/cpu.cfs_period_us", "50000\n");
    assert_int_equal(cpus(), 4);
    put("list", "4:cpuacct,cpu:/docker/x\n");
    assert_int_equal(cpus(), 4);
    put("list", "4:cpuset:/docker/x\n");
    assert_int_equal(cpus(), 0);
}

static void what_is_no_quota_does_not_count(void **state) {
    (void)state;
    static const char *const no_quotas[] = {"",          "\n",
                                            "max",       "100000",
                                            "100000 0",  "0 100000",
                                            "-5 100000", "100000 -100000",
                                            "x 100000",  "99999999999999999999 1",
                                            "100000 max"};
    put("list", "0::/\n");
    for (size_t i = 0; i < sizeof no_quotas / sizeof *no_quotas; i++) {
        put("tree/cpu.max", no_quotas[i]);
        assert_int_equal(cpus(), 0);
    }
}

static void lists_that_are_damaged_do_no_harm(void **state) {
    (void)state;
    char *line = malloc(20000);
    assert_non_null(line);
    memset(line, 'a', 20000);
    memcpy(line, "0::/", 4);
    line[19999] = '\0';
    const char *const lists[] = {
        "",         "0",          "0:",         "0::",         "0::x\n",
        "::\n",     ":\n:\n",     line,         "0::/../..\n", "0::/a/../../b\n",
        "1:cpu:\n", "1:cpu,:/\n", "1:,cpu:/\n", "0:://///\n"};
    put("tree/cpu.max", "200000 100000");
    put("b/cpu.max", "100000 100000"); // nobody goes there
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        put("list", lists[i]);
        assert_int_equal(cpus(), 2);
    }
    free(line);
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, go_into_new_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        T(nothing_to_read_is_no_quota),
        T(version_2_has_one_file_in_each_group),
        T(version_1_has_two_files_below_a_controller),
        T(what_is_no_quota_does_not_count),
        T(lists_that_are_damaged_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
