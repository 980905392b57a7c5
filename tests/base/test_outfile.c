// SPDX-License-Identifier: MIT
//
// Output files appear whole or not at all, whatever stands at their place.
#include "temp_folder.h"

#include "base/mem.h"
#include "base/outfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int go_with_usual_umask(void **state) {
    umask(022);
    return go_into_new_folder(state);
}

static void put(const char *path, const char *text, mode_t mode) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static const char *get(const char *path) {
    static char text[256];
    int fd = open(path, O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n < 0 ? 0 : n] = '\0';
    return n < 0 ? NULL : text;
}

static struct stat look(const char *path) {
    struct stat st;
    assert_int_equal(lstat(path, &st), 0);
    return st;
}

// Files in the folder; *unfinished: of those, temporary ones.
static unsigned count_files(unsigned *unfinished) {
    unsigned n = 0;
    DIR *d = opendir(".");
    *unfinished = 0;
    for (struct dirent *e; (e = readdir(d));) {
        size_t len = strlen(e->d_name);
        n += e->d_name[0] != '.';
        *unfinished += len > 5 && strcmp(e->d_name + len - 5, ".part") == 0;
    }
    closedir(d);
    return n;
}

static void assert_files(unsigned want) {
    unsigned unfinished, n = count_files(&unfinished);
    assert_int_equal(n, want);
    assert_int_equal(unfinished, 0);
}

static qrn_status save(const char *path, const char *text) {
    return qrn_outfile_save(path, text, strlen(text));
}

static void assert_refused(const char *path, int error) {
    assert_int_not_equal(save(path, "new"), QRN_OK);
    assert_non_null(strstr(qrn_message(), strerror(error)));
    if (path[0] && strlen(path) < 200)
        assert_ptr_equal(strstr(qrn_message(), path), qrn_message());
}

static void a_new_file_has_the_mode_of_the_umask(void **state) {
    (void)state;
    umask(027);
    assert_int_equal(save("a", "text"), QRN_OK);
    assert_string_equal(get("a"), "text");
    assert_int_equal(look("a").st_mode & 07777, 0640);
    umask(022);
    assert_files(1);
}

static void a_replaced_file_keeps_its_mode(void **state) {
    (void)state;
    put("a", "old", 0600);
    assert_int_equal(save("a", "new"), QRN_OK);
    assert_string_equal(get("a"), "new");
    assert_int_equal(look("a").st_mode & 07777, 0600);
    put("b", "old", 04775);
    assert_int_equal(save("b", "new"), QRN_OK);
    assert_int_equal(look("b").st_mode & 07777, 0775); // never setuid with other contents
    assert_files(2);
}

static void a_replaced_file_keeps_its_owner(void **state) {
    (void)state;
    if (geteuid() != 0)
        skip();
    put("a", "old", 0640);
    assert_int_equal(chown("a", 1234, 2345), 0);
    assert_int_equal(save("a", "new"), QRN_OK);
    assert_int_equal(look("a").st_uid, 1234);
    assert_int_equal(look("a").st_gid, 2345);
    assert_int_equal(look("a").st_mode & 07777, 0640);
}

static void a_read_only_file_is_not_replaced(void **state) {
    (void)state;
    put("a", "old", 0444);
    if (geteuid() != 0) {
        assert_refused("a", EACCES);
        assert_string_equal(get("a"), "old");
        return;
    }
    pid_t child = fork(); // root may write to everything
    if (child == 0) {
        bool ok = chown(".", 1234, 1234) == 0 && chown("a", 1234, 1234) == 0 && setgid(1234) == 0 &&
                  setuid(1234) == 0 && save("a", "new") != QRN_OK && strcmp(get("a"), "old") == 0;
        _exit(ok ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void readers_see_the_old_file_until_the_commit(void **state) {
    (void)state;
    qrn_outfile f;
    put("a", "old", 0644);
    assert_int_equal(qrn_outfile_begin(&f, "a"), QRN_OK);
    qrn_outfile_write(&f, "new", 3);
    assert_string_equal(get("a"), "old");
    assert_int_equal(qrn_outfile_commit(&f), QRN_OK);
    assert_string_equal(get("a"), "new");
    assert_int_equal(qrn_outfile_begin(&f, "a"), QRN_OK);
    qrn_outfile_write(&f, "newer", 5);
    qrn_outfile_abort(&f);
    assert_string_equal(get("a"), "new");
    assert_files(1);
}

static void a_link_stays_and_its_file_is_replaced(void **state) {
    (void)state;
    assert_int_equal(mkdir("deep", 0755), 0);
    put("deep/file", "old", 0600);
    assert_int_equal(symlink("file", "deep/inner"), 0);
    assert_int_equal(symlink("deep/inner", "outer"), 0);
    assert_int_equal(save("outer", "new"), QRN_OK);
    assert_string_equal(get("deep/file"), "new");
    assert_int_equal(look("deep/file").st_mode & 07777, 0600);
    assert_true(S_ISLNK(look("outer").st_mode));
    assert_true(S_ISLNK(look("deep/inner").st_mode));
    assert_int_equal(symlink("deep/fresh", "dangling"), 0); // as a shell's > does
    assert_int_equal(save("dangling", "made"), QRN_OK);
    assert_string_equal(get("deep/fresh"), "made");
    assert_int_equal(symlink("loop", "loop"), 0);
    assert_refused("loop", ELOOP);
    assert_files(4);
}

static void what_another_user_planted_in_a_shared_folder_is_left_alone(void **state) {
    (void)state;
    if (geteuid() != 0)
        skip();
    put("precious", "old", 0600);
    assert_int_equal(mkdir("shared", 0777), 0);
    assert_int_equal(chmod("shared", 01777), 0);
    assert_int_equal(symlink("../precious", "shared/link"), 0);
    assert_int_equal(lchown("shared/link", 1234, 1234), 0);
    put("shared/file", "theirs", 0666);
    assert_int_equal(chown("shared/file", 1234, 1234), 0);
    assert_int_equal(mkfifo("shared/pipe", 0666), 0);
    assert_int_equal(chown("shared/pipe", 1234, 1234), 0);
    assert_refused("shared/link", EACCES);
    assert_refused("shared/file", EACCES);
    assert_refused("shared/pipe", EACCES); // and does not wait for a reader
    assert_string_equal(get("precious"), "old");
    assert_string_equal(get("shared/file"), "theirs");
    assert_int_equal(save("shared/own", "new"), QRN_OK);
    assert_int_equal(save("shared/own", "newer"), QRN_OK);
}

static void devices_and_pipes_are_written_directly(void **state) {
    (void)state;
    char got[8] = "";
    int ends[2];
    char path[64];
    assert_int_equal(save("/dev/null", "new"), QRN_OK);
    assert_true(S_ISCHR(look("/dev/null").st_mode));
    assert_refused("/dev/full", ENOSPC);
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[1]);
    assert_int_equal(save(path, "text"), QRN_OK);
    assert_int_equal(read(ends[0], got, sizeof got), 4);
    assert_string_equal(got, "text");
    int fd = open("out", O_RDWR | O_CREAT, 0644);
    assert_int_equal(write(fd, "first ", 6), 6);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    assert_int_equal(save(path, "second"), QRN_OK); // the open file, not another of its name
    assert_int_equal(pread(fd, got, 6, 6), 6);
    assert_memory_equal(got, "second", 6);
    close(fd);
    close(ends[0]);
    close(ends[1]);
    assert_files(1);
}

static void names_that_cannot_be_written_are_named(void **state) {
    (void)state;
    char name[PATH_MAX + 8];
    assert_int_equal(mkdir("folder", 0755), 0);
    assert_refused("folder", EISDIR);
    assert_refused("folder/", EISDIR);
    assert_refused("folder/..", EISDIR);
    assert_refused("", ENOENT);
    assert_refused("none/a", ENOENT);
    put("a", "old", 0644);
    assert_refused("a/b", ENOTDIR);
    memset(name, 'n', sizeof name);
    name[PATH_MAX + 7] = '\0';
    assert_refused(name, ENAMETOOLONG);
    name[NAME_MAX + 1] = '\0';
    assert_refused(name, ENAMETOOLONG);
    name[NAME_MAX] = '\0';
    assert_int_equal(save(name, "longest"), QRN_OK);
    assert_string_equal(get(name), "longest");
    assert_files(3);
}

// A file that may not grow beyond 1000 bytes stands for a full disk.
static void a_failed_write_is_reported_once_and_leaves_nothing(void **state) {
    (void)state;
    struct rlimit was, small;
    char page[600];
    memset(page, 'x', sizeof page);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    small = (struct rlimit){1000, was.rlim_max};
    put("a", "old", 0644);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    qrn_outfile f;
    qrn_status s = qrn_outfile_begin(&f, "a");
    for (int i = 0; i < 3; i++)
        qrn_outfile_write(&f, page, sizeof page);
    errno = 0;
    qrn_status end = qrn_outfile_commit(&f);
    char said[QRN_MESSAGE_MAX];
    strcpy(said, qrn_message());
    qrn_status t = qrn_outfile_begin(&f, "b");
    FILE *stream = qrn_outfile_stream(&f);
    for (int i = 0; i < 100; i++)
        fprintf(stream, "%0100d\n", i);
    errno = 0;
    qrn_status stream_end = qrn_outfile_commit(&f);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    assert_int_equal(s, QRN_OK);
    assert_int_equal(t, QRN_OK);
    assert_int_equal(end, QRN_E_NOT_PERMITTED);
    assert_int_equal(stream_end, QRN_E_NOT_PERMITTED);
    char want[128];
    snprintf(want, sizeof want, "a cannot be written: %s", strerror(EFBIG));
    assert_string_equal(said, want);
    want[0] = 'b';
    assert_string_equal(qrn_message(), want);
    assert_string_equal(get("a"), "old");
    assert_files(1);
}

static void streams_and_holes_reach_the_file(void **state) {
    (void)state;
    qrn_outfile f;
    assert_int_equal(qrn_outfile_begin(&f, "a"), QRN_OK);
    fprintf(qrn_outfile_stream(&f), "%d and %s", 7, "eight");
    assert_int_equal(qrn_outfile_commit(&f), QRN_OK);
    assert_string_equal(get("a"), "7 and eight");
    assert_int_equal(qrn_outfile_begin(&f, "b"), QRN_OK);
    qrn_outfile_write(&f, "x", 1);
    qrn_outfile_extend(&f, 1 << 20);
    assert_int_equal(qrn_outfile_commit(&f), QRN_OK);
    assert_int_equal(look("b").st_size, 1 << 20);
}

static void the_temporary_name_cannot_be_foretold_and_is_not_shared(void **state) {
    (void)state;
    qrn_outfile f, g;
    assert_int_equal(qrn_outfile_begin(&f, "a"), QRN_OK);
    assert_int_equal(qrn_outfile_begin(&g, "a"), QRN_OK);
    assert_string_not_equal(f.temp, g.temp);
    assert_true(fcntl(f.fd, F_GETFD) & FD_CLOEXEC);
    qrn_outfile_write(&f, "first", 5);
    qrn_outfile_write(&g, "second, which is longer", 23);
    assert_int_equal(qrn_outfile_commit(&g), QRN_OK);
    assert_int_equal(qrn_outfile_commit(&f), QRN_OK);
    assert_string_equal(get("a"), "first");
    assert_files(1);
}

static void a_killed_writer_leaves_its_temporary_file_alone(void **state) {
    (void)state;
    put("a", "old", 0644);
    pid_t child = fork();
    if (child == 0) {
        qrn_outfile f;
        if (qrn_outfile_begin(&f, "a") == QRN_OK)
            qrn_outfile_write(&f, "half", 4);
        raise(SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    unsigned unfinished;
    assert_int_equal(count_files(&unfinished), 2);
    assert_int_equal(unfinished, 1);
    assert_string_equal(get("a"), "old");
}

// Each writer fills files of its own length with its own letter.
static _Noreturn void write_rounds(int writer, int rounds) {
    static char bytes[64 * 1024];
    for (int i = 0; i < rounds; i++) {
        size_t n = (size_t)(writer + 1) * 16 * 1024;
        memset(bytes, 'a' + writer, n);
        qrn_outfile f;
        if (qrn_outfile_begin_unsynced(&f, AT_FDCWD, "a") != QRN_OK)
            _exit(2);
        for (size_t at = 0; at < n; at += 4096)
            qrn_outfile_write(&f, bytes + at, 4096);
        if (qrn_outfile_commit(&f) != QRN_OK)
            _exit(3);
    }
    _exit(0);
}

static bool is_whole(const char *bytes, size_t n) {
    size_t writer = n ? (size_t)(bytes[0] - 'a') : 99;
    return writer < 3 && n == (writer + 1) * 16 * 1024 && memcmp(bytes, bytes + 1, n - 1) == 0;
}

static void three_writers_of_one_file_show_whole_files_only(void **state) {
    (void)state;
    static char bytes[64 * 1024];
    enum { WRITERS = 3, ROUNDS = 1000 };
    pid_t children[WRITERS];
    for (int w = 0; w < WRITERS; w++)
        if ((children[w] = fork()) == 0)
            write_rounds(w, ROUNDS);
    unsigned seen = 0, broken = 0;
    for (int alive = WRITERS; alive;) {
        int fd = open("a", O_RDONLY);
        if (fd >= 0) {
            ssize_t n = read(fd, bytes, sizeof bytes);
            seen++;
            broken += n < 0 || !is_whole(bytes, (size_t)n);
            close(fd);
        }
        int status;
        while (waitpid(-1, &status, WNOHANG) > 0) {
            assert_int_equal(status, 0);
            alive--;
        }
    }
    assert_int_equal(broken, 0);
    assert_true(seen > 0);
    assert_files(1);
}

static void a_published_file_is_written_on(void **state) {
    (void)state;
    qrn_outfile f;
    int fd = -1, other = -1;
    put("a", "old", 0600);
    assert_int_equal(qrn_outfile_begin(&f, "a"), QRN_OK);
    qrn_outfile_write(&f, "head ", 5);
    assert_int_equal(qrn_outfile_publish(&f, &fd), QRN_OK);
    assert_string_equal(get("a"), "head ");
    assert_int_equal(qrn_outfile_begin(&f, "a"), QRN_OK); // a second writer has its own file
    qrn_outfile_write(&f, "theirs", 6);
    assert_int_equal(qrn_outfile_publish(&f, &other), QRN_OK);
    assert_int_equal(qrn_outfile_append(fd, "tail", 4), 0);
    assert_string_equal(get("a"), "theirs");
    assert_int_equal(look("a").st_mode & 07777, 0600);
    close(fd);
    close(other);
    assert_files(1);
}

static void logs_grow_and_refuse_what_is_planted(void **state) {
    (void)state;
    int fd = qrn_outfile_open_append("log");
    assert_int_equal(qrn_outfile_append(fd, "one\n", 4), 0);
    close(fd);
    assert_int_equal(symlink("log", "link"), 0);
    fd = qrn_outfile_open_append("link");
    assert_int_equal(qrn_outfile_append(fd, "two\n", 4), 0);
    assert_int_equal(qrn_outfile_append(fd, "", 0), 0);
    close(fd);
    assert_string_equal(get("log"), "one\ntwo\n");
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_int_equal(qrn_outfile_open_append("pipe"), -1); // nobody reads: does not wait
    assert_int_equal(errno, ENXIO);
    int reader = open("pipe", O_RDONLY | O_NONBLOCK);
    fd = qrn_outfile_open_append("pipe");
    assert_int_equal(qrn_outfile_append(fd, "x", 1), 0);
    assert_false(fcntl(fd, F_GETFL) & O_NONBLOCK);
    close(fd);
    close(reader);
    assert_int_equal(qrn_outfile_open_append("none/log"), -1);
    assert_int_equal(errno, ENOENT);
    fd = qrn_outfile_open_append("/dev/full");
    assert_int_equal(qrn_outfile_append(fd, "x", 1), ENOSPC);
    close(fd);
    if (geteuid() != 0)
        return;
    assert_int_equal(mkdir("shared", 0777), 0);
    assert_int_equal(chmod("shared", 01777), 0);
    assert_int_equal(symlink("../log", "shared/log"), 0);
    assert_int_equal(lchown("shared/log", 1234, 1234), 0);
    assert_int_equal(qrn_outfile_open_append("shared/log"), -1);
    assert_int_equal(errno, EACCES);
}

static void nothing_is_allocated_or_left_open(void **state) {
    (void)state;
    size_t live = qrn_alloc_live();
    int before = dup(0), after;
    assert_int_equal(save("a", "new"), QRN_OK);
    assert_int_not_equal(save("none/a", "new"), QRN_OK);
    assert_int_equal(save("/dev/null", "new"), QRN_OK);
    after = dup(0);
    assert_int_equal(after, before + 1);
    close(before);
    close(after);
    assert_int_equal(qrn_alloc_live(), live);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, go_with_usual_umask, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_new_file_has_the_mode_of_the_umask),
        TEST(a_replaced_file_keeps_its_mode),
        TEST(a_replaced_file_keeps_its_owner),
        TEST(a_read_only_file_is_not_replaced),
        TEST(readers_see_the_old_file_until_the_commit),
        TEST(a_link_stays_and_its_file_is_replaced),
        TEST(what_another_user_planted_in_a_shared_folder_is_left_alone),
        TEST(devices_and_pipes_are_written_directly),
        TEST(names_that_cannot_be_written_are_named),
        TEST(a_failed_write_is_reported_once_and_leaves_nothing),
        TEST(streams_and_holes_reach_the_file),
        TEST(the_temporary_name_cannot_be_foretold_and_is_not_shared),
        TEST(a_killed_writer_leaves_its_temporary_file_alone),
        TEST(three_writers_of_one_file_show_whole_files_only),
        TEST(a_published_file_is_written_on),
        TEST(logs_grow_and_refuse_what_is_planted),
        TEST(nothing_is_allocated_or_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
