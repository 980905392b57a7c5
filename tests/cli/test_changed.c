// SPDX-License-Identifier: MIT
//
// Files that change while a program reads them: an import is refused, and a page that is lost ends
// the program with a line that names the file.
#include "frontend/client/client.h"
#include "frontend/onnx/import.h"
#include "tools/quern/flags.h"
#include "tools/quern/output.h"

#include "base/file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define LARGE (1024 * 1024)

static char path[] = "/tmp/quern_changed_XXXXXX";

static void put_file(void) {
    int fd = open(path, O_WRONLY | O_TRUNC);
    assert_int_equal(ftruncate(fd, LARGE), 0);
    const struct timespec past[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    assert_int_equal(futimens(fd, past), 0);
    close(fd);
}

// Status of a child that reads the file after it was cut; `said` is what it wrote.
static int read_lost_page(char said[512]) {
    int ends[2], status;
    put_file();
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        qrn_file f;
        dup2(ends[1], STDERR_FILENO);
        qt_watch_files();
        if (qrn_file_map(path, &f) != QRN_OK || truncate(path, 0) != 0)
            _exit(99);
        const volatile char *at = (const char *)f.data + LARGE / 2;
        _exit(*at ? 98 : 97);
    }
    close(ends[1]);
    size_t n = 0;
    for (ssize_t k; n < 511 && (k = read(ends[0], said + n, 511 - n)) > 0;)
        n += (size_t)k;
    said[n] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void a_lost_page_ends_the_program_with_a_line(void **state) {
    (void)state;
    char said[512], want[512];
    int status = read_lost_page(said);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), QT_EXIT_FAILURE);
    snprintf(want, sizeof want,
             "quern: error: %s was changed while it was read: replace files by renaming\n", path);
    assert_string_equal(said, want);
}

// --- import

typedef struct text {
    unsigned char *data;
    size_t n;
} text;

static void add(text *t, const void *bytes, size_t n) {
    memcpy(t->data + t->n, bytes, n);
    t->n += n;
}

static void add_number(text *t, uint64_t v) {
    do {
        unsigned char byte = (unsigned char)((v & 127) | (v > 127 ? 128 : 0));
        add(t, &byte, 1);
        v >>= 7;
    } while (v);
}

static void add_field(text *t, unsigned field, const void *bytes, size_t n) {
    add_number(t, field << 3 | 2);
    add_number(t, n);
    add(t, bytes, n);
}

static text room(void) { return (text){malloc(4 * LARGE), 0}; }

static void add_message(text *t, unsigned field, text *inner) {
    add_field(t, field, inner->data, inner->n);
    free(inner->data);
}

// ValueInfoProto of a float vector.
static text info(const char *name, uint64_t n) {
    text dim = room(), shape = room(), tensor = room(), type = room(), t = room();
    add_number(&dim, 1 << 3);
    add_number(&dim, n);
    add_message(&shape, 1, &dim);
    add_number(&tensor, 1 << 3);
    add_number(&tensor, 1);
    add_message(&tensor, 2, &shape);
    add_message(&type, 1, &tensor);
    add_field(&t, 1, name, strlen(name));
    add_message(&t, 2, &type);
    return t;
}

// y = x + w, with a megabyte of w inside.
static text adder(void) {
    enum { N = LARGE / 4 };
    text node = room(), w = room(), graph = room(), opset = room(), m = room();
    text x = info("x", N), y = info("y", N);
    add_field(&node, 1, "x", 1);
    add_field(&node, 1, "w", 1);
    add_field(&node, 2, "y", 1);
    add_field(&node, 4, "Add", 3);
    add_number(&w, 1 << 3);
    add_number(&w, N);
    add_number(&w, 2 << 3);
    add_number(&w, 1);
    add_field(&w, 8, "w", 1);
    void *zeros = calloc(1, LARGE);
    add_field(&w, 9, zeros, LARGE);
    free(zeros);
    add_message(&graph, 1, &node);
    add_field(&graph, 2, "g", 1);
    add_message(&graph, 5, &w);
    add_message(&graph, 11, &x);
    add_message(&graph, 12, &y);
    add_number(&opset, 2 << 3);
    add_number(&opset, 17);
    add_number(&m, 1 << 3);
    add_number(&m, 8);
    add_message(&m, 7, &graph);
    add_message(&m, 8, &opset);
    return m;
}

static void save(const text *t) {
    int fd = open(path, O_WRONLY | O_TRUNC);
    assert_int_equal(write(fd, t->data, t->n), t->n);
    const struct timespec past[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    assert_int_equal(futimens(fd, past), 0);
    close(fd);
}

static void leave(void) {}
static void cut(void) { assert_int_equal(truncate(path, 100), 0); }
static void overwrite(void) {
    int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, "other", 5, LARGE / 2), 5);
    close(fd);
}
static void replace(void) {
    char other[64];
    snprintf(other, sizeof other, "%s.new", path);
    FILE *f = fopen(other, "w");
    fputs("nonsense", f);
    fclose(f);
    assert_int_equal(rename(other, path), 0);
}

static void a_model_that_changes_before_its_import_is_refused(void **state) {
    (void)state;
    const struct {
        void (*change)(void);
        qrn_status want;
    } rows[] = {{leave, QRN_OK}, {cut, QRN_E_BINARY}, {overwrite, QRN_E_BINARY}, {replace, QRN_OK}};
    text t = adder();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ox_model *m = NULL;
        qc_client *c = NULL;
        ox_result r = {0};
        const ox_options options = {0};
        save(&t);
        assert_int_equal(ox_model_open(path, &m), QRN_OK);
        assert_int_equal(qc_open("cpu", NULL, &c), QRN_OK);
        rows[i].change();
        assert_int_equal(ox_import_model(m, c, &options, &r), rows[i].want);
        if (rows[i].want == QRN_OK)
            qc_graph_destroy(r.graph);
        else
            assert_non_null(strstr(qrn_message(), path));
        qc_close(c);
        ox_model_close(m);
    }
    free(t.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_page_ends_the_program_with_a_line),
        cmocka_unit_test(a_model_that_changes_before_its_import_is_refused),
    };
    close(mkstemp(path));
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
