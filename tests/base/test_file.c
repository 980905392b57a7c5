// SPDX-License-Identifier: MIT
//
// Files that are read: small ones are copies, changes of large ones are found.
#include "temp_folder.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SMALL (32 * 1024)
#define LARGE (1024 * 1024)

static void set_times(const char *path, time_t seconds) {
    const struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

// A file that was written long ago.
static void put(const char *path, char letter, size_t n) {
    char *bytes = malloc(n);
    memset(bytes, letter, n);
    FILE *f = fopen(path, "w");
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    free(bytes);
    set_times(path, 1000000000);
}

// What a careless program does: writes into the file that is there.
static void overwrite(const char *path) {
    int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, "other", 5, 100), 5);
    close(fd);
}

static void small_files_are_copies(void **state) {
    (void)state;
    qrn_file f;
    put("a", 'x', SMALL);
    assert_int_equal(qrn_file_map("a", &f), QRN_OK);
    assert_int_equal(f.size, SMALL);
    assert_int_equal((uintptr_t)f.data % QRN_ALIGN, 0);
    assert_false(qrn_file_holds(f.data));
    overwrite("a");
    assert_int_equal(truncate("a", 0), 0);
    for (size_t i = 0; i < SMALL; i++)
        assert_int_equal(((const char *)f.data)[i], 'x');
    assert_int_equal(qrn_file_check(&f), QRN_OK);
    qrn_file_unmap(&f);
    put("empty", 'x', 0);
    assert_int_equal(qrn_file_map("empty", &f), QRN_OK);
    assert_int_equal(f.size, 0);
    assert_non_null(f.data);
    qrn_file_unmap(&f);
    qrn_file_unmap(&f);
}

static void cut(const char *path) { assert_int_equal(truncate(path, 4096), 0); }
static void grow(const char *path) { assert_int_equal(truncate(path, LARGE + 1), 0); }
static void overwrite_and_set_times_back(const char *path) {
    overwrite(path);
    set_times(path, 1000000000);
}
static void replace(const char *path) {
    put("other", 'y', LARGE);
    assert_int_equal(rename("other", path), 0);
}
static void take_away(const char *path) { assert_int_equal(unlink(path), 0); }
static void protect(const char *path) { assert_int_equal(chmod(path, 0400), 0); }
static void add_a_name(const char *path) { assert_int_equal(link(path, "b"), 0); }
static void leave(const char *path) { (void)path; }

static const struct {
    void (*change)(const char *path);
    bool harmless;
} changes[] = {
    {cut, false},    {grow, false},     {overwrite, false}, {overwrite_and_set_times_back, false},
    {replace, true}, {take_away, true}, {protect, true},    {add_a_name, true},
    {leave, true}};
#define N_CHANGES (sizeof changes / sizeof changes[0])

static void assert_found(qrn_status s, bool harmless) {
    assert_int_equal(s, harmless ? QRN_OK : QRN_E_BINARY);
    if (harmless)
        return;
    assert_non_null(strstr(qrn_message(), "was changed while it was in use"));
    assert_non_null(strchr(qrn_message(), 'a'));
}

static void changes_of_large_files_are_found_and_renames_do_no_harm(void **state) {
    (void)state;
    for (size_t i = 0; i < N_CHANGES; i++) {
        qrn_file f;
        put("a", 'x', LARGE);
        assert_int_equal(qrn_file_map("a", &f), QRN_OK);
        assert_true(qrn_file_holds(f.data));
        assert_int_equal(qrn_file_check(&f), QRN_OK);
        changes[i].change("a");
        assert_found(qrn_file_check(&f), changes[i].harmless);
        if (changes[i].harmless)
            for (size_t k = 0; k < LARGE; k += 512)
                assert_int_equal(((const char *)f.data)[k], 'x');
        qrn_file_unmap(&f);
        unlink("a");
        unlink("b");
    }
}

static void mappings_of_others_are_guarded_from_within(void **state) {
    (void)state;
    for (size_t i = 0; i < N_CHANGES; i++) {
        qrn_file_guard *g = NULL;
        put("a", 'x', LARGE);
        int fd = open("a", O_RDONLY);
        char *p = mmap(NULL, LARGE, PROT_READ, MAP_PRIVATE, fd, 0);
        close(fd);
        assert_int_equal(qrn_file_guard_of(p + 12345, &g), QRN_OK);
        assert_non_null(g);
        changes[i].change("a");
        assert_found(qrn_file_guard_check(g), changes[i].harmless);
        qrn_file_guard_free(g);
        munmap(p, LARGE);
        unlink("a");
        unlink("b");
    }
}

static void memory_and_lost_files_have_no_guard(void **state) {
    (void)state;
    qrn_file_guard *g = NULL;
    char *heap = calloc(1, LARGE);
    assert_int_equal(qrn_file_guard_of(heap, &g), QRN_OK);
    assert_null(g);
    free(heap);
    int fd = memfd_create("a", 0);
    assert_int_equal(ftruncate(fd, 4096), 0);
    char *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    assert_int_equal(qrn_file_guard_of(p, &g), QRN_OK);
    assert_null(g);
    munmap(p, 4096);
    close(fd);
    put("a", 'x', 4096);
    fd = open("a", O_RDONLY);
    p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    unlink("a");
    put("a", 'y', 4096); // another file of that name
    assert_int_equal(qrn_file_guard_of(p, &g), QRN_OK);
    assert_null(g);
    assert_int_equal(qrn_file_guard_of(NULL, &g), QRN_OK);
    assert_null(g);
    assert_int_equal(qrn_file_guard_check(NULL), QRN_OK);
    munmap(p, 4096);
}

// A change in the tick of the last one would not be seen: mapping waits for its end.
static void changes_of_a_file_that_was_just_written_are_found(void **state) {
    (void)state;
    for (int i = 0; i < 20; i++) {
        qrn_file f;
        put("a", 'x', LARGE);
        assert_int_equal(utimensat(AT_FDCWD, "a", NULL, 0), 0); // now
        assert_int_equal(qrn_file_map("a", &f), QRN_OK);
        assert_non_null(f.guard); // gigabytes are not copied, however new they are
        overwrite("a");
        assert_int_equal(qrn_file_check(&f), QRN_E_BINARY);
        qrn_file_unmap(&f);
    }
}

static void only_regular_files_are_read_and_nothing_waits(void **state) {
    (void)state;
    qrn_file f = {0};
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_int_equal(qrn_file_map("pipe", &f), QRN_E_ARGUMENT);
    assert_string_equal(qrn_message(), "pipe: not a regular file");
    assert_int_equal(qrn_file_map("/dev/zero", &f), QRN_E_ARGUMENT);
    assert_int_equal(qrn_file_map(".", &f), QRN_E_ARGUMENT);
    assert_int_equal(qrn_file_map("none", &f), QRN_E_NOT_FOUND);
    assert_non_null(strstr(qrn_message(), strerror(ENOENT)));
    assert_null(f.data);
}

static void a_handler_of_sigbus_learns_the_file(void **state) {
    (void)state;
    qrn_file f;
    put("a", 'x', LARGE);
    assert_int_equal(qrn_file_map("a", &f), QRN_OK);
    assert_string_equal(qrn_file_at((const char *)f.data + LARGE - 1), "a");
    assert_null(qrn_file_at((const char *)f.data + LARGE));
    const void *was = f.data;
    qrn_file_unmap(&f);
    assert_null(qrn_file_at(was));
    qrn_file many[100];
    for (size_t i = 0; i < 100; i++) // more than it remembers
        assert_int_equal(qrn_file_map("a", &many[i]), QRN_OK);
    for (size_t i = 0; i < 100; i++)
        qrn_file_unmap(&many[i]);
    assert_null(qrn_file_at(was));
}

static void nothing_is_left_open_or_allocated(void **state) {
    (void)state;
    size_t live = qrn_alloc_live();
    int before = dup(0);
    put("a", 'x', LARGE);
    for (unsigned n = 0; n < 4; n++) {
        qrn_file f;
        qrn_alloc_fail_at(n, false);
        qrn_status s = qrn_file_map("a", &f);
        qrn_alloc_fail_at(0, false);
        assert_int_equal(s, n == 1 ? QRN_E_MEM : QRN_OK);
        if (s != QRN_OK)
            continue;
        qrn_file_guard *g = NULL;
        assert_int_equal(qrn_file_guard_of(f.data, &g), QRN_OK);
        assert_non_null(g);
        qrn_file_guard_free(g);
        qrn_file_unmap(&f);
    }
    int after = dup(0);
    assert_int_equal(after, before + 1);
    close(before);
    close(after);
    assert_int_equal(qrn_alloc_live(), live);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, go_into_new_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(small_files_are_copies),
        TEST(changes_of_large_files_are_found_and_renames_do_no_harm),
        TEST(mappings_of_others_are_guarded_from_within),
        TEST(memory_and_lost_files_have_no_guard),
        TEST(changes_of_a_file_that_was_just_written_are_found),
        TEST(only_regular_files_are_read_and_nothing_waits),
        TEST(a_handler_of_sigbus_learns_the_file),
        TEST(nothing_is_left_open_or_allocated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
