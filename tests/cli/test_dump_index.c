// SPDX-License-Identifier: MIT
//
// Readers of dumps against an index and an array with bytes changed, cut out or put in: whatever
// comes out is numbers or an error.
#include "tools/quern/dump.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define ROUNDS 6000

static char folder[64];
static uint64_t seed = 1;

static const char good[] =
    "{\"quern_dump\": 1, \"graph\": \"g\", \"run\": 1, \"backend\": \"CPU\", \"sets\": 1,\n"
    "\"tensors\": [\n"
    " {\"name\": \"a\", \"order\": 0, \"file\": \"t.npy\", \"role\": \"input\", \"node\": null, "
    "\"op\": null, \"type\": \"uq8\", \"shape\": [2, 4], \"encoding\": {\"kind\": \"axis\", "
    "\"axis\": 1, \"scales\": [1, 2, 3, 0.5], \"offsets\": [0, 1, 2, 3]}, \"declared\": \"uq8\"},\n"
    " {\"name\": \"b_token_1\", \"order\": 1, \"file\": \"t.npy\", \"role\": \"output\", "
    "\"node\": \"n\", \"op\": \"Relu\", \"type\": \"uq8\", \"shape\": [2, 4], \"encoding\": "
    "{\"kind\": \"block\", \"block\": [1, 2], \"scales\": [1, 2, 3, 0.5], \"offsets\": "
    "[0, 1, 2, 3], \"real_offsets\": [1, 2, 3, 4], \"bits\": 8, \"shift\": 0.5}},\n"
    " {\"name\": \"c\", \"order\": 2, \"file\": \"t.npy\", \"role\": \"output\", \"node\": \"m\", "
    "\"op\": \"Relu\", \"type\": \"uq8\", \"shape\": [2, 4], \"encoding\": {\"kind\": \"tensor\", "
    "\"scale\": 0.25, \"offset\": -3}}\n"
    "],\n\"missing\": [{\"name\": \"d\", \"node\": \"n\", \"op\": \"Relu\", \"reason\": "
    "\"folded\", \"into\": \"b\"}], \"complete\": true}\n";

static uint32_t draw(uint32_t below) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % below;
}

static void write_file(const char *name, const void *data, size_t n) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    fclose(f);
}

static void write_array(void) {
    static char npy[128 + 8] = "\x93NUMPY\1\0\x76\0{'descr': '|u1', 'fortran_order': False, "
                               "'shape': (2, 4), }";
    size_t used = 10 + strlen(npy + 10);
    memset(npy + used, ' ', 128 - used);
    npy[127] = '\n';
    for (int i = 0; i < 8; i++)
        npy[128 + i] = (char)(10 * i);
    write_file("t.npy", npy, sizeof npy);
}

static int setup(void **state) {
    (void)state;
    strcpy(folder, "/tmp/quern-index-XXXXXX");
    if (!mkdtemp(folder))
        return 1;
    write_array();
    return 0;
}

static int teardown(void **state) {
    char path[128];
    (void)state;
    snprintf(path, sizeof path, "%s/t.npy", folder);
    remove(path);
    return rmdir(folder);
}

// Reads everything that can be read; the number of tensors that could.
static size_t use(const char *text, size_t n) {
    qt_dump d = {0}, whole = {0};
    size_t loaded = 0, pairs;
    qt_pair *list = NULL;
    if (qt_dump_parse(folder, text, n, &d) != QRN_OK)
        return 0;
    for (size_t i = 0; i < d.n; i++) {
        qt_array a = {0};
        loaded += qt_dump_load(&d, &d.tensors[i], &a) == QRN_OK;
        assert_true(qt_dump_step(&d.tensors[i]) >= 0);
        qt_array_free(&a);
    }
    assert_int_equal(qt_dump_parse(folder, good, sizeof good - 1, &whole), QRN_OK);
    if (qt_dump_pair(&whole, &d, false, &list, &pairs) == QRN_OK)
        assert_true(pairs <= d.n);
    free(list);
    qt_dump_free(&whole);
    qt_dump_free(&d);
    return loaded;
}

static void a_good_index_is_read_whole(void **state) {
    (void)state;
    qt_dump d = {0};
    qt_array a = {0};
    assert_int_equal(use(good, sizeof good - 1), 3);
    assert_int_equal(qt_dump_parse(folder, good, sizeof good - 1, &d), QRN_OK);
    assert_int_equal(qt_dump_load(&d, &d.tensors[1], &a), QRN_OK);
    // Codes 0 10 | 20 30 / 40 50 | 60 70 in blocks of 1 x 2.
    static const double want[] = {1 * 0.5 + 1,  1 * 10.5 + 1, 2 * 21.5 + 2,   2 * 31.5 + 2,
                                  3 * 42.5 + 3, 3 * 52.5 + 3, 0.5 * 63.5 + 4, 0.5 * 73.5 + 4};
    assert_memory_equal(a.data, want, sizeof want);
    qt_array_free(&a);
    qt_dump_free(&d);
}

static void every_cut_is_survived(void **state) {
    (void)state;
    for (size_t n = 0; n < sizeof good - 2; n++)
        assert_int_equal(use(good, n), 0);
}

static void changed_bytes_are_survived(void **state) {
    (void)state;
    static const char words[][12] = {"-1",   "1e308", "null", "[]",     "{}", "999999999",
                                     "true", "\"\"",  "0",    "1e-400", "]",  "\"/\""};
    size_t ok = 0;
    for (int round = 0; round < ROUNDS; round++) {
        char text[sizeof good + 64];
        memcpy(text, good, sizeof good);
        size_t n = sizeof good - 1;
        for (uint32_t k = draw(3) + 1; k > 0; k--) {
            size_t at = draw((uint32_t)n);
            const char *word = words[draw(12)];
            size_t len = strlen(word);
            if (draw(2)) {
                text[at] = (char)draw(256);
            } else if (n + len < sizeof text) {
                size_t gone = draw(4) < n - at ? draw(4) : 0;
                gone = gone < n - at ? gone : 0;
                memmove(text + at + len, text + at + gone, n - at - gone);
                memcpy(text + at, word, len);
                n += len - gone;
            }
        }
        ok += use(text, n) > 0;
    }
    assert_true(ok > 50 && ok < ROUNDS); // some changes do no harm, many do
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_index_is_read_whole),
        cmocka_unit_test(every_cut_is_survived),
        cmocka_unit_test(changed_bytes_are_survived),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
