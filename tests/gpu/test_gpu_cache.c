// SPDX-License-Identifier: MIT
//
// Built programs in files (GPU-KRP): found again, replaced, rebuilt when they are damaged, and
// never shown to the driver before their checksum holds. Each test has a folder of its own.
#include "gpu_client.h"

#include "base/mem.h"
#include "opencl/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static qrn_cl_api real;
static unsigned n_texts, n_binaries;

static cl_program count_text(cl_context c, cl_uint n, const char **text, const size_t *len,
                             cl_int *err) {
    n_texts++;
    return real.clCreateProgramWithSource(c, n, text, len, err);
}

static cl_program count_binary(cl_context c, cl_uint n, const cl_device_id *d, const size_t *len,
                               const unsigned char **bytes, cl_int *status, cl_int *err) {
    n_binaries++;
    return real.clCreateProgramWithBinary(c, n, d, len, bytes, status, err);
}

static void count(void) {
    n_texts = n_binaries = 0;
    real = qrn_cl;
    qrn_cl.clCreateProgramWithSource = count_text;
    qrn_cl.clCreateProgramWithBinary = count_binary;
}

static char *new_folder(void) {
    static char path[64];
    strcpy(path, "/tmp/quern-gpu-XXXXXX");
    assert_non_null(mkdtemp(path));
    return path;
}

// Calls f for each file of a folder; how many there are.
static unsigned each_file(const char *folder, void (*f)(const char *path)) {
    DIR *d = opendir(folder);
    const struct dirent *e;
    unsigned n = 0;
    while (d && (e = readdir(d))) {
        char path[512];
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        n++;
        if (f)
            f(path);
    }
    if (d)
        closedir(d);
    return n;
}

static void remove_file(const char *path) { unlink(path); }
static void remove_folder(const char *folder) {
    each_file(folder, remove_file);
    rmdir(folder);
}

// A context with its own folder of programs; its graph is built and run.
static void run_in(const char *folder, bool invalidate, unsigned texts, unsigned binaries) {
    gpu_world w = {.qnn = gpu_open()};
    gpu_lines[0] = 0;
    GPU_OK(w.qnn.logCreate(gpu_log_line, QNN_LOG_LEVEL_DEBUG, &w.log));
    GPU_OK(w.qnn.backendCreate(w.log, NULL, &w.backend));
    QnnGpuContext_CustomConfig_t dir = {.option = QNN_GPU_CONTEXT_CONFIG_OPTION_KERNEL_REPO_DIR,
                                        .kernelRepoDir = folder};
    QnnGpuContext_CustomConfig_t fresh = {.option =
                                              QNN_GPU_CONTEXT_CONFIG_OPTION_INVALIDATE_KERNEL_REPO,
                                          .invalidateKernelRepo = invalidate};
    QnnContext_Config_t c1 = {.option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &dir};
    QnnContext_Config_t c2 = {.option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &fresh};
    const QnnContext_Config_t *list[] = {&c1, &c2, NULL};
    GPU_OK(w.qnn.contextCreate(w.backend, NULL, list, &w.context));
    gpu_graph g;
    count();
    gpu_graph_make(&w, &g, "g", NULL);
    qrn_cl = real;
    assert_int_equal(n_texts, texts);
    assert_int_equal(n_binaries, binaries);
    gpu_graph_check(&w, &g, 1);
    gpu_end(&w);
}

static void krp_02_programs_are_found_again(void **state) {
    (void)state;
    char *folder = new_folder();
    run_in(folder, false, 1, 0);
    assert_int_equal(each_file(folder, NULL), 1);
    run_in(folder, false, 0, 1);
    assert_int_equal(each_file(folder, NULL), 1);
    remove_folder(folder);
}

static void krp_03_invalidate_builds_and_stores_again(void **state) {
    (void)state;
    char *folder = new_folder();
    run_in(folder, false, 1, 0);
    run_in(folder, true, 1, 0);
    run_in(folder, false, 0, 1);
    remove_folder(folder);
}

static void krp_01_a_second_graph_builds_nothing(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    gpu_graph a, b;
    gpu_graph_make(&w, &a, "a", NULL);
    count();
    gpu_graph_make(&w, &b, "b", NULL);
    qrn_cl = real;
    assert_int_equal(n_texts + n_binaries, 0);
    gpu_end(&w);
}

static void krp_02_a_missing_folder_is_made(void **state) {
    (void)state;
    char deep[256], *folder = new_folder();
    snprintf(deep, sizeof deep, "%s/a", folder);
    run_in(deep, false, 1, 0);
    assert_int_equal(each_file(deep, NULL), 1);
    remove_folder(deep);
    rmdir(folder);
}

static void krp_02_an_unwritable_folder_is_one_warning(void **state) {
    (void)state;
    run_in("/proc/no-such-folder", false, 1, 0);
    GPU_LOGGED("built GPU programs are not kept");
    const char *first = strstr(gpu_lines, "built GPU programs are not kept");
    assert_null(strstr(first + 1, "built GPU programs are not kept"));
}

static void change_byte(const char *path) {
    FILE *f = fopen(path, "r+b");
    fseek(f, QRN_CL_STORE_HEADER + 3, SEEK_SET);
    int c = fgetc(f);
    fseek(f, QRN_CL_STORE_HEADER + 3, SEEK_SET);
    fputc(c ^ 1, f);
    fclose(f);
}
static void cut_short(const char *path) { assert_int_equal(truncate(path, 100), 0); }
static void make_empty(const char *path) { assert_int_equal(truncate(path, 0), 0); }
static void make_link(const char *path) {
    unlink(path);
    assert_int_equal(symlink("/dev/zero", path), 0);
}

static void krp_05_damaged_files_are_built_again(void **state) {
    (void)state;
    void (*const damage[])(const char *) = {change_byte, cut_short, make_empty, make_link};
    char *folder = new_folder();
    run_in(folder, false, 1, 0);
    for (unsigned i = 0; i < sizeof damage / sizeof damage[0]; i++) {
        each_file(folder, damage[i]);
        run_in(folder, false, 1, 0);
        if (damage[i] == make_link) // the link's target is not replaced
            each_file(folder, remove_file);
        else
            run_in(folder, false, 0, 1);
    }
    remove_folder(folder);
}

// --- the reader alone

static void put_file(uint8_t *file, const uint8_t *key, const uint8_t *binary, size_t n) {
    qrn_sha256 h;
    memset(file, 0, QRN_CL_STORE_HEADER);
    memcpy(file, "QRNCLP01", 8);
    memcpy(file + 8, key, QRN_SHA256_BYTES);
    file[40] = (uint8_t)n;
    file[41] = (uint8_t)(n >> 8);
    qrn_sha256_begin(&h);
    qrn_sha256_add(&h, binary, n);
    qrn_sha256_end(&h, file + 48);
    memcpy(file + QRN_CL_STORE_HEADER, binary, n);
}

static void krp_05_no_corruption_of_ten_thousand_is_taken_for_a_program(void **state) {
    (void)state;
    uint8_t key[QRN_SHA256_BYTES], binary[700], file[800], bad[1000];
    uint32_t seed = 12345;
    for (size_t i = 0; i < sizeof binary; i++)
        binary[i] = (uint8_t)(i * 7);
    memset(key, 5, sizeof key);
    put_file(file, key, binary, sizeof binary);
    size_t size = QRN_CL_STORE_HEADER + sizeof binary, n;
    const void *found;
    assert_true(qrn_cl_store_parse(file, size, key, &found, &n));
    assert_memory_equal(found, binary, sizeof binary);
    assert_int_equal(n, sizeof binary);
    for (unsigned i = 0; i < 10000; i++) {
        seed = seed * 1664525u + 1013904223u;
        size_t at = (seed >> 8) % size, len = size;
        memcpy(bad, file, size);
        if (i % 4 == 0)
            len = at; // cut short
        else if (i % 4 == 1)
            len = size + 1 + at % 200; // something behind it
        else
            bad[at] ^= (uint8_t)(1u << (seed >> 5) % 8);
        assert_false(qrn_cl_store_parse(bad, len, key, &found, &n));
    }
    key[3]++;
    assert_false(qrn_cl_store_parse(file, size, key, &found, &n));
}

// The folder of all programs does not grow for ever; other files in it are nobody's business.
static void krp_06_files_that_were_not_used_for_long_go(void **state) {
    (void)state;
    char *folder = new_folder(), path[256];
    qrn_cl_store s = {0};
    uint8_t key[QRN_SHA256_BYTES] = {0};
    for (unsigned i = 0; i < QRN_CL_STORE_FILES + 10; i++) {
        snprintf(path, sizeof path, "%s/%064x.clbin", folder, i + 1);
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        fclose(f);
        struct timespec times[2] = {{.tv_sec = 1000 + i}, {.tv_sec = 1000 + i}};
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    }
    snprintf(path, sizeof path, "%s/keep.txt", folder);
    fclose(fopen(path, "w"));
    assert_int_equal(qrn_cl_store_open(&s, folder), QRN_OK);
    s.named = false;
    qrn_cl_store_save(&s, key, "program", 7);
    assert_int_equal(each_file(folder, NULL), QRN_CL_STORE_FILES / 2 + 2); // the new one and ours
    assert_true(qrn_cl_store_has(&s, key));
    assert_int_equal(access(path, F_OK), 0);
    snprintf(path, sizeof path, "%s/%064x.clbin", folder, QRN_CL_STORE_FILES + 10);
    assert_int_equal(access(path, F_OK), 0); // the newest
    qrn_cl_store_close(&s);
    remove_folder(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(krp_01_a_second_graph_builds_nothing),
        cmocka_unit_test(krp_02_programs_are_found_again),
        cmocka_unit_test(krp_02_a_missing_folder_is_made),
        cmocka_unit_test(krp_02_an_unwritable_folder_is_one_warning),
        cmocka_unit_test(krp_03_invalidate_builds_and_stores_again),
        cmocka_unit_test(krp_06_files_that_were_not_used_for_long_go),
        cmocka_unit_test(krp_05_damaged_files_are_built_again),
        cmocka_unit_test(krp_05_no_corruption_of_ten_thousand_is_taken_for_a_program),
    };
    return gpu_tests(tests);
}
