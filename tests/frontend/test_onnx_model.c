// SPDX-License-Identifier: MIT
//
// The ONNX reader: data stays in the mapped file, hostile files end in an error that says where,
// and no failure leaks. Needs the models that make_models.py writes, in the folder of the first
// argument.
#include "base/mem.h"
#include "frontend/onnx/reader/reader.h"
#include "walk_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

// Files of a few kilobytes must not make the reader claim more; what a sanitizer keeps is in it.
#define ENOUGH_KB (512 * 1024)

static const char *folder;

static const char *path_of(const char *name) {
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static ox_model *open_model(const char *name) {
    ox_model *m = NULL;
    if (ox_model_open(path_of(name), &m) != QRN_OK)
        fail_msg("%s", qrn_message());
    return m;
}

static long peak_kb(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss;
}

static bool is_mapped(const ox_model *m, const void *p, size_t n) {
    for (const ox_mapping *f = m->mappings; f; f = f->next) {
        uintptr_t start = (uintptr_t)f->file.data, at = (uintptr_t)p;
        if (at >= start && at + n <= start + f->file.size)
            return true;
    }
    return false;
}

static void aligned_data_stays_in_the_file(void **state) {
    (void)state;
    ox_model *m = open_model("good/zero_copy.onnx");
    unsigned in_place = 0;
    for (uint32_t i = 0; i < m->graph->n_constants; i++) {
        const ox_tensor *t = &m->graph->constants[i];
        bool mapped = is_mapped(m, t->data, t->bytes);
        in_place += mapped;
        if (ox_type_bits(t->type) <= 8 || strcmp(t->name, "outside") == 0)
            assert_true(mapped);
        if (t->type == OX_F32)
            assert_int_equal((uintptr_t)t->data % sizeof(float), 0);
    }
    // Eight floats with names of all lengths: a quarter of them is aligned by chance.
    assert_true(in_place >= 3 + 2);
    assert_true(qrn_arena_used(m->arena) < 4096);
    ox_model_close(m);
}

static void external_data_of_gigabytes_is_not_read(void **state) {
    (void)state;
    char big[4096];
    snprintf(big, sizeof big, "%s/big.bin", folder);
    FILE *f = fopen(big, "wb");
    assert_non_null(f);
    off_t size = (off_t)1 << 32;
    int made = ftruncate(fileno(f), size + 4096);
    fclose(f);
    assert_int_equal(made, 0);
    long before = peak_kb();
    ox_model *m = open_model("big.onnx");
    const ox_tensor *t = &m->graph->constants[0];
    assert_int_equal(t->bytes, (size_t)1 << 31);
    assert_true(is_mapped(m, t->data, t->bytes));
    assert_int_equal(((const unsigned char *)t->data)[t->bytes - 1], 0);
    ox_model_close(m);
    assert_int_equal(unlink(big), 0);
    assert_true(peak_kb() - before < 32 * 1024);
}

// Each line of expect.tsv: file, then words that the message must have.
static void check_refusal(char *line) {
    char name[1100], path[4096];
    char *rest = strchr(line, '\t');
    line[strcspn(line, "\n")] = '\0';
    if (!rest)
        fail_msg("expect.tsv: '%s'", line);
    *rest++ = '\0';
    snprintf(name, sizeof name, "bad/%s", line);
    snprintf(path, sizeof path, "%s", path_of(name));
    size_t live = qrn_alloc_live();
    ox_model *m = NULL;
    qrn_message_clear();
    qrn_status s = ox_model_open(path, &m);
    if (s == QRN_OK || s == QRN_E_MEM || m)
        fail_msg("%s: status %d", name, s);
    if (!strstr(qrn_message(), path))
        fail_msg("%s: the message does not name the file: %s", name, qrn_message());
    for (char *word = strtok(rest, "\t"); word; word = strtok(NULL, "\t"))
        if (!strstr(qrn_message(), word))
            fail_msg("%s: '%s' is not in: %s", name, word, qrn_message());
    if (qrn_alloc_live() != live)
        fail_msg("%s: leaks", name);
}

static void hostile_models_are_refused_with_a_reason(void **state) {
    (void)state;
    char line[1024];
    unsigned n = 0;
    long before = peak_kb();
    FILE *f = fopen(path_of("bad/expect.tsv"), "r");
    assert_non_null(f);
    for (; fgets(line, sizeof line, f); n++)
        check_refusal(line);
    fclose(f);
    assert_true(n > 50);
    assert_true(peak_kb() - before < ENOUGH_KB);
}

static unsigned char *read_file(const char *name, size_t *n) {
    FILE *f = fopen(path_of(name), "rb");
    assert_non_null(f);
    unsigned char *data = malloc(1 << 16);
    assert_non_null(data);
    *n = fread(data, 1, 1 << 16, f);
    fclose(f);
    assert_in_range(*n, 1, (1 << 16) - 1);
    return data;
}

// Reads from memory of exactly n bytes, so that a sanitizer sees the first byte behind it.
static qrn_status try_bytes(const unsigned char *data, size_t n) {
    size_t live = qrn_alloc_live();
    unsigned char *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, data, n);
    ox_model *m = NULL;
    qrn_message_clear();
    qrn_status s = ox_model_parse(copy, n, "mutant", &m);
    if (s == QRN_OK)
        assert_true(walk_model(m) != 0);
    else
        assert_non_null(strstr(qrn_message(), "mutant: "));
    ox_model_close(m);
    free(copy);
    assert_int_equal(qrn_alloc_live(), live);
    return s;
}

static const char *const small_models[] = {"good/small.onnx", "good/attributes.onnx",
                                           "good/functions.onnx", "good/values.onnx",
                                           "good/tensors_typed_5.onnx"};
#define N_SMALL (sizeof small_models / sizeof small_models[0])

static void models_cut_short_are_refused_or_shorter(void **state) {
    (void)state;
    for (size_t k = 0; k < N_SMALL; k++) {
        size_t n, failures = 0;
        unsigned char *data = read_file(small_models[k], &n);
        for (size_t cut = 0; cut < n; cut++)
            failures += try_bytes(data, cut) != QRN_OK;
        // Only a cut between two fields of the model itself leaves a model.
        assert_true(failures >= n - 10);
        assert_int_equal(try_bytes(data, n), QRN_OK);
        free(data);
    }
}

static void models_with_a_changed_byte_do_no_harm(void **state) {
    (void)state;
    static const unsigned char flips[] = {1, 2, 4, 8, 16, 32, 64, 128, 255};
    long before = peak_kb();
    for (size_t k = 0; k < N_SMALL; k++) {
        size_t n, failures = 0;
        unsigned char *data = read_file(small_models[k], &n);
        for (size_t i = 0; i < n; i++)
            for (size_t f = 0; f < sizeof flips; f++) {
                data[i] ^= flips[f];
                failures += try_bytes(data, n) != QRN_OK;
                data[i] ^= flips[f];
            }
        assert_true(failures > n); // most flips hurt the structure
        free(data);
    }
    assert_true(peak_kb() - before < ENOUGH_KB);
}

static void every_failed_allocation_is_reported(void **state) {
    (void)state;
    static const char *const models[] = {"good/small.onnx",      "good/functions.onnx",
                                         "good/external.onnx",   "good/tensors_typed_5.onnx",
                                         "good/attributes.onnx", "good/nested_30.onnx"};
    for (size_t k = 0; k < sizeof models / sizeof models[0]; k++) {
        unsigned n = 1;
        for (qrn_status s = QRN_E_MEM; s != QRN_OK; n++) {
            size_t live = qrn_alloc_live();
            ox_model *m = NULL;
            qrn_alloc_fail_at(n, true);
            s = ox_model_open(path_of(models[k]), &m);
            qrn_alloc_fail_at(0, false);
            if (s != QRN_OK)
                assert_int_equal(s, QRN_E_MEM);
            ox_model_close(m);
            assert_int_equal(qrn_alloc_live(), live);
        }
        assert_true(n > 3);
    }
}

static void external_data_of_a_model_in_memory_is_refused(void **state) {
    (void)state;
    size_t n;
    unsigned char *data = read_file("good/external.onnx", &n);
    assert_int_equal(try_bytes(data, n), QRN_E_UNSUPPORTED);
    free(data);
}

static void attributes_are_found_by_name_and_type(void **state) {
    (void)state;
    ox_model *m = open_model("good/attributes.onnx");
    const ox_node *n = &m->graph->nodes[0];
    int64_t list[3] = {0};
    assert_int_equal(ox_attr_int(n, "one", 7), 1);
    assert_int_equal(ox_attr_int(n, "zero", 7), 7); // a float
    assert_int_equal(ox_attr_int(n, "absent", 7), 7);
    assert_int_equal(ox_attr_int(n, "least", 7), INT64_MIN);
    assert_true(ox_attr_float(n, "zero", 7) == 0);
    assert_true(ox_attr_float(n, "one", 7) == 7);
    assert_string_equal(ox_attr_string(n, "one", "else"), "else");
    assert_string_equal(ox_attr_string(n, "text", "else"), "t\xc3\xa4xt");
    assert_int_equal(ox_attr_ints(n, "ints", list, 3), 3);
    assert_int_equal(list[2], (int64_t)1 << 62);
    assert_int_equal(ox_attr_ints(n, "ints", list, 2), 0); // does not fit
    assert_int_equal(ox_attr_ints(n, "floats", list, 3), 0);
    assert_null(ox_attr_find(n, "absent"));
    assert_int_equal(ox_model_opset(m, ""), 17);
    assert_int_equal(ox_model_opset(m, "ai.onnx"), 17);
    assert_int_equal(ox_model_opset(m, "other"), 0);
    ox_model_close(m);
}

static void missing_files_and_folders_are_named(void **state) {
    (void)state;
    ox_model *m = NULL;
    assert_int_not_equal(ox_model_open(path_of("no such file"), &m), QRN_OK);
    assert_non_null(strstr(qrn_message(), "no such file"));
    assert_int_not_equal(ox_model_open(folder, &m), QRN_OK);
    assert_non_null(strstr(qrn_message(), folder));
    assert_null(m);
    ox_model_close(NULL);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aligned_data_stays_in_the_file),
        cmocka_unit_test(external_data_of_gigabytes_is_not_read),
        cmocka_unit_test(hostile_models_are_refused_with_a_reason),
        cmocka_unit_test(models_cut_short_are_refused_or_shorter),
        cmocka_unit_test(models_with_a_changed_byte_do_no_harm),
        cmocka_unit_test(every_failed_allocation_is_reported),
        cmocka_unit_test(external_data_of_a_model_in_memory_is_refused),
        cmocka_unit_test(attributes_are_found_by_name_and_type),
        cmocka_unit_test(missing_files_and_folders_are_named),
    };
    if (argc != 2) {
        fprintf(stderr, "usage: test_onnx_model FOLDER\n");
        return 2;
    }
    folder = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
