// SPDX-License-Identifier: MIT
//
// Encodings as JSON: each version is read into the one form, written and read again, and wrong ones
// are refused in words. Expected numbers are those of the formulas of the formats.
#include "quantizer/encodings_json.h"

#include "base/mem.h"
#include "base/report_text.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static qz_encodings *read_text(const char *text) {
    qz_encodings *e = NULL;
    if (qz_encodings_parse("file.json", text, strlen(text), &e) != QRN_OK)
        fail_msg("%s", qrn_message());
    return e;
}

static const qz_encoding *get(const qz_encodings *e, const char *name) {
    const qz_encoding *q = qz_encodings_find(e, name);
    assert_non_null(q);
    return q;
}

static void check(const qz_encoding *q, unsigned bits, double scale, int32_t offset) {
    assert_false(q->is_float);
    assert_int_equal(q->bits, bits);
    assert_int_equal(q->n, 1);
    assert_true(fabs((double)q->scales[0] - scale) <= 1e-6 * scale);
    assert_int_equal(q->offsets[0], offset);
}

#define ACTIVATIONS(list) "{\"activation_encodings\": {" list "}, \"param_encodings\": {}}"

static void ranges_become_scales(void **state) {
    (void)state;
    // [-1.8, 0.5], [-5.1, 5.1], [5, 10], [-20, -6] and a constant 0, in 8 bits.
    qz_encodings *e = read_text(ACTIVATIONS(
        "\"a\": [{\"bitwidth\": 8, \"min\": -1.8, \"max\": 0.5}],"
        "\"b\": [{\"bitwidth\": 8, \"min\": -5.1, \"max\": 5.1}],"
        "\"c\": [{\"bitwidth\": 8, \"min\": 5, \"max\": 10}],"
        "\"d\": [{\"bitwidth\": 8, \"min\": -20, \"max\": -6}],"
        "\"e\": [{\"bitwidth\": 8, \"min\": 0, \"max\": 0}],"
        "\"s\": [{\"bitwidth\": 8, \"min\": -2, \"max\": 1, \"is_symmetric\": \"True\"}],"
        "\"t\": [{\"bitwidth\": 8, \"min\": -1, \"max\": 2, \"is_symmetric\": true}]"));
    check(get(e, "a"), 8, 2.3 / 255, -200);
    check(get(e, "b"), 8, 0.04, -128);
    check(get(e, "c"), 8, 10.0 / 255, 0);
    check(get(e, "d"), 8, 20.0 / 255, -255);
    check(get(e, "e"), 8, 1e-4 / 255, 0);
    check(get(e, "s"), 8, 2.0 / 128, -128); // the whole of both sides is reached
    check(get(e, "t"), 8, 2.0 / 127, -128);
    assert_true(get(e, "s")->symmetric && get(e, "b")->symmetric && !get(e, "a")->symmetric);
    assert_int_equal(get(e, "a")->place, QZ_OF_ACTIVATION);
    assert_true(fabs(qz_encoding_min(get(e, "b"), 0) + 5.12) < 1e-5);
    assert_true(fabs(qz_encoding_max(get(e, "b"), 0) - 5.08) < 1e-5);
    qz_encodings_free(e);
}

static void offsets_of_both_signs_are_understood(void **state) {
    (void)state;
    qz_encodings *e = read_text(
        "{\"version\": \"0.5.0\", \"activation_encodings\": {"
        "\"n\": [{\"bitwidth\": 8, \"scale\": 0.5, \"offset\": -103}],"
        "\"p\": [{\"bitwidth\": 8, \"scale\": 0.5, \"offset\": 140, \"min\": -70, \"max\": 57.5}],"
        "\"u\": [{\"bitwidth\": 8, \"scale\": 0.5, \"offset\": 0, \"min\": 0, \"max\": 127.5,"
        " \"is_symmetric\": \"True\"}],"
        "\"f\": [{\"bitwidth\": 16, \"dtype\": \"float\"}]}, \"param_encodings\": {"
        "\"s\": [{\"bitwidth\": 8, \"scale\": 0.5, \"offset\": 0, \"is_symmetric\": \"True\"}],"
        "\"b\": [{\"bitwidth\": 32, \"scale\": 1e-4, \"offset\": -2147483648,"
        " \"is_symmetric\": \"True\"}]}}");
    check(get(e, "n"), 8, 0.5, -103);
    check(get(e, "p"), 8, 0.5, -140);
    check(get(e, "u"), 8, 0.5, 0); // unsigned and symmetric
    check(get(e, "s"), 8, 0.5, -128);
    check(get(e, "b"), 32, 1e-4, INT32_MIN);
    assert_true(get(e, "f")->is_float && get(e, "f")->bits == 16);
    assert_int_equal(get(e, "b")->place, QZ_OF_PARAM);
    qz_encodings_free(e);
}

static const char lists[] =
    "{\"version\": \"1.0.0\", \"activation_encodings\": [{\"name\": \"x\", \"enc_type\": "
    "\"PER_TENSOR\", \"dtype\": \"INT\", \"bw\": 16, \"is_sym\": false, \"scale\": [0.01], "
    "\"offset\": [-300]}, {\"name\": \"h\", \"dtype\": \"FLOAT\", \"bw\": 16}],"
    "\"param_encodings\": [{\"name\": \"c\", \"enc_type\": \"PER_CHANNEL\", \"dtype\": \"INT\","
    " \"bw\": 8, \"is_sym\": true, \"scale\": [0.5, 0.25], \"offset\": [-128, -128]},"
    "{\"name\": \"b\", \"enc_type\": \"PER_BLOCK\", \"dtype\": \"INT\", \"bw\": 4, \"is_sym\": "
    "true,"
    " \"scale\": [1, 2, 3, 4], \"offset\": [-8, -8, -8, -8], \"block_size\": 32},"
    "{\"name\": \"l\", \"enc_type\": \"LPBQ\", \"dtype\": \"INT\", \"bw\": 8, \"compressed_bw\": 4,"
    " \"is_sym\": true, \"scale\": [0.5, 2], \"offset\": [-128, -128], \"block_size\": 16,"
    " \"per_block_int_scale\": [1, 2, 16, 4]}]}";

static void lists_have_channels_and_blocks(void **state) {
    (void)state;
    static const float products[] = {0.5f, 1, 32, 8};
    qz_encodings *e = read_text(lists);
    check(get(e, "x"), 16, 0.01, -300);
    assert_true(get(e, "h")->is_float);
    const qz_encoding *c = get(e, "c"), *b = get(e, "b"), *l = get(e, "l");
    assert_true(c->n == 2 && c->scales[1] == 0.25f && c->symmetric && !c->block);
    assert_true(b->n == 4 && b->block == 32 && b->bits == 4 && b->offsets[3] == -8);
    assert_true(l->n == 4 && l->block == 16 && l->bits == 4 && l->n_channels == 2);
    assert_memory_equal(l->scales, products, sizeof products);
    assert_true(l->offsets[0] == -8 && l->symmetric);
    qz_encodings_free(e);
}

static void zero_points_are_those_of_the_type(void **state) {
    (void)state;
    static const float products[] = {0.5f, 4, 1.5f, 8};
    qz_encodings *e = read_text(
        "{\"version\": \"2.0.0\", \"encodings\": [{\"name\": \"u\", \"output_dtype\": \"uint8\","
        "\"y_scale\": 0.5, \"y_zero_point\": 3}, {\"name\": \"i\", \"output_dtype\": \"int8\","
        "\"y_scale\": 0.5, \"y_zero_point\": -5}, {\"name\": \"c\", \"output_dtype\": \"int8\","
        "\"y_scale\": [0.5, 1], \"axis\": -1}, {\"name\": \"h\", \"output_dtype\": \"float16\"},"
        "{\"name\": \"l\", \"output_dtype\": \"int4\", \"axis\": 0, \"block_size\": 8,"
        "\"per_channel_float_scale\": [[0.5, 2]], \"per_block_int_scale\": [[1, 2], [3, 4]]}]}");
    check(get(e, "u"), 8, 0.5, -3);
    check(get(e, "i"), 8, 0.5, -123);
    const qz_encoding *c = get(e, "c"), *l = get(e, "l");
    assert_true(c->n == 2 && c->axis == -1 && c->symmetric && c->offsets[1] == -128);
    assert_true(get(e, "h")->is_float && get(e, "h")->place == QZ_OF_TENSOR);
    assert_memory_equal(l->scales, products, sizeof products); // blocks first
    qz_encodings_free(e);
}

static void check_same(const qz_encoding *a, const qz_encoding *b) {
    assert_true(a->bits == b->bits && a->is_float == b->is_float && a->n == b->n);
    assert_true(a->block == b->block && a->n_channels == b->n_channels);
    assert_true(a->is_float || a->symmetric == b->symmetric);
    for (uint32_t i = 0; i < a->n; i++)
        assert_true(a->scales[i] == b->scales[i] && a->offsets[i] == b->offsets[i]);
}

static void what_is_written_is_read_again(void **state) {
    (void)state;
    for (int version = 0; version < 3; version++) {
        static const float scales[] = {0.1f, 1.17549435e-38f, 3e8f};
        static const int32_t middle[] = {-128, -128, -128};
        qz_encodings *e = version ? read_text(lists) : NULL;
        if (!e)
            assert_int_equal(qz_encodings_create(&e), QRN_OK);
        qz_encoding q = {.name = "more \"\\ \xc3\xa9", .place = QZ_OF_PARAM, .bits = 8};
        q.symmetric = true;
        q.n = 3;
        q.scales = scales;
        q.offsets = middle;
        q.axis = 1;
        assert_int_equal(qz_encodings_add(e, &q), QRN_OK);
        qrn_text text = {0};
        FILE *to = qrn_text_open(&text);
        assert_int_equal(qz_encodings_print(e, (qz_encodings_version)version, to), QRN_OK);
        assert_true(qrn_text_close(to, &text));
        qz_encodings *again = read_text(text.data);
        assert_int_equal(again->n, e->n);
        for (uint32_t i = 0; i < e->n; i++)
            check_same(&e->items[i], get(again, e->items[i].name));
        if (version == QZ_ENCODINGS_2_0_0)
            assert_int_equal(get(again, q.name)->axis, 1);
        else
            assert_int_equal(get(again, q.name)->place, QZ_OF_PARAM);
        free(text.data);
        qz_encodings_free(e);
        qz_encodings_free(again);
    }
}

static void blocks_have_no_legacy_form(void **state) {
    (void)state;
    qz_encodings *e = read_text(lists);
    qrn_text text = {0};
    FILE *to = qrn_text_open(&text);
    assert_int_equal(qz_encodings_print(e, QZ_ENCODINGS_0_6_1, to), QRN_E_UNSUPPORTED);
    assert_non_null(strstr(qrn_message(), "'b'"));
    assert_true(qrn_text_close(to, &text));
    free(text.data);
    qz_encodings_free(e);
}

#define LISTED(entry) "{\"activation_encodings\": [" entry "]}"
#define MODERN(entry) "{\"version\": \"2.0.0\", \"encodings\": [" entry "]}"

static void wrong_files_are_refused_in_words(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"{", "file.json:1"},
        {"[]", "no encodings"},
        {"{\"version\": \"3.0.0\"}", "version '3.0.0'"},
        {"{\"version\": \"2.1.0\", \"encodings\": []}", "version '2.1.0'"},
        {"{\"version\": \"2.0.0\"}", "a list 'encodings'"},
        {"{\"activation_encodings\": {}}", "param_encodings is missing"},
        {"{\"version\": \"0.6.1\", \"activation_encodings\": []}", "is an array"},
        {ACTIVATIONS("\"x\": 3"), "tensor 'x'"},
        {ACTIVATIONS("\"x\": []"), "tensor 'x'"},
        {ACTIVATIONS("\"x\": [1]"), "an object is expected"},
        {ACTIVATIONS("\"x\": [{\"min\": 1}]"), "no bitwidth"},
        {ACTIVATIONS("\"x\": [{\"bitwidth\": 8}]"), "neither a scale nor min"},
        {ACTIVATIONS("\"x\": [{\"bitwidth\": 64, \"min\": 0, \"max\": 1}]"), "64 bits"},
        {ACTIVATIONS("\"x\": [{\"bitwidth\": 8.5, \"min\": 0, \"max\": 1}]"), "8.5 bits"},
        {ACTIVATIONS("\"x\": [{\"bitwidth\": 8, \"dtype\": \"float\"}]"), "8-bit floats"},
        {ACTIVATIONS("\"x\": [{\"bitwidth\": 8, \"dtype\": \"complex\"}]"), "'complex'"},
        {ACTIVATIONS("\"x\": [{\"bitwidth\": 8, \"scale\": 0, \"offset\": 0}]"), "scale 0"},
        {ACTIVATIONS("\"x\": [{\"bitwidth\": 8, \"scale\": -1, \"offset\": 0}]"), "scale -1"},
        {ACTIVATIONS("\"x\": [{\"bitwidth\": 8, \"scale\": 1e99, \"offset\": 0}]"), "scale 1e+99"},
        {ACTIVATIONS("\"x\": [{\"bitwidth\": 8, \"scale\": 1e999, \"offset\": 0}]"), "1e999"},
        {ACTIVATIONS("\"x\": [{\"bitwidth\": 8, \"scale\": 1, \"offset\": -256}]"), "offset -256"},
        {ACTIVATIONS("\"x\": [{\"bitwidth\": 8, \"scale\": 1, \"offset\": 1.5}]"), "offset -1.5"},
        {ACTIVATIONS("\"x\": [{\"bitwidth\": 8, \"scale\": \"1\"}]"), "is a number"},
        {ACTIVATIONS("\"x\": [{\"bitwidth\": 8, \"scale\": 1}, {\"bitwidth\": 4, \"scale\": 1}]"),
         "8 and 4 bits"},
        {LISTED("{\"bw\": 8}"), "without the name"},
        {LISTED("7"), "found a number"},
        {LISTED("{\"name\": \"x\", \"bw\": 8, \"scale\": [1, 2], \"offset\": [0]}"), "2 scales"},
        {LISTED("{\"name\": \"x\", \"bw\": 8, \"scale\": []}"), "0 scales"},
        {LISTED("{\"name\": \"x\", \"bw\": 8, \"scale\": [1], \"offset\": [128]}"), "offset 128"},
        {LISTED("{\"name\": \"x\", \"bw\": 8, \"enc_type\": \"VECTOR\"}"), "enc_type VECTOR"},
        {LISTED("{\"name\": \"x\", \"bw\": 8, \"enc_type\": \"PER_BLOCK\", \"scale\": [1]}"),
         "without a block_size"},
        {LISTED("{\"name\": \"x\", \"bw\": 8, \"scale\": [1], \"zero_point_shift\": [0.5]}"),
         "zero_point_shift"},
        {LISTED("{\"name\": \"x\", \"bw\": 8, \"scale\": [1]}, {\"name\": \"x\", \"bw\": 8,"
                "\"scale\": [1]}"),
         "has an encoding already"},
        {MODERN("{\"name\": \"x\", \"output_dtype\": \"int\", \"y_scale\": 1}"), "output_dtype"},
        {MODERN("{\"name\": \"x\", \"output_dtype\": \"int8x\", \"y_scale\": 1}"), "'int8x'"},
        {MODERN("{\"name\": \"x\", \"output_dtype\": \"int8\", \"y_scale\": [1, 2]}"), "no axis"},
        {MODERN("{\"name\": \"x\", \"output_dtype\": \"int8\", \"y_scale\": 1, \"axis\": 9}"),
         "axis 9"},
        {MODERN("{\"name\": \"x\", \"output_dtype\": \"int4\", \"axis\": 0, \"block_size\": 2,"
                "\"per_channel_float_scale\": [1, 2], \"per_block_int_scale\": [1, 2, 3]}"),
         "3 per_block_int_scale"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t live = qrn_alloc_live();
        qz_encodings *e = NULL;
        assert_int_not_equal(
            qz_encodings_parse("file.json", cases[i].text, strlen(cases[i].text), &e), QRN_OK);
        assert_null(e);
        if (!strstr(qrn_message(), cases[i].says) || !strstr(qrn_message(), "file.json"))
            fail_msg("%s: %s", cases[i].text, qrn_message());
        assert_int_equal(qrn_alloc_live(), live);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_become_scales),
        cmocka_unit_test(offsets_of_both_signs_are_understood),
        cmocka_unit_test(lists_have_channels_and_blocks),
        cmocka_unit_test(zero_points_are_those_of_the_type),
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(blocks_have_no_legacy_form),
        cmocka_unit_test(wrong_files_are_refused_in_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
