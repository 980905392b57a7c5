// SPDX-License-Identifier: MIT
//
// The JSON reader: values with their lines, comments, escapes, and texts that are no JSON.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json_read.h"

static qrn_arena *arena;

static int make_arena(void **state) {
    (void)state;
    arena = qrn_arena_create();
    return arena ? 0 : -1;
}

static int free_arena(void **state) {
    (void)state;
    qrn_arena_destroy(arena);
    return 0;
}

static const qrn_json *read_text(const char *text) {
    // A copy without anything behind it: the reader must not need a zero byte.
    size_t n = strlen(text);
    char *copy = malloc(n + !n);
    memcpy(copy, text, n);
    qrn_json *v = NULL;
    qrn_status s = qrn_json_read("t", copy, n, arena, &v);
    free(copy);
    return s == QRN_OK ? v : NULL;
}

static void values_have_kind_text_and_line(void **state) {
    (void)state;
    const qrn_json *v =
        read_text("{\"a\": [1, -2.5e+3, true,\n false, null],\n\n\"b\": {\"c\": \"x\"}}");
    assert_non_null(v);
    assert_int_equal(v->kind, QRN_JSON_OBJECT);
    assert_int_equal(v->n, 2);
    const qrn_json *a = v->first, *b = a->next;
    assert_string_equal(a->key, "a");
    assert_int_equal(a->line, 1);
    assert_int_equal(a->kind, QRN_JSON_ARRAY);
    assert_int_equal(a->n, 5);
    static const qrn_json_kind kinds[] = {QRN_JSON_NUMBER, QRN_JSON_NUMBER, QRN_JSON_TRUE,
                                          QRN_JSON_FALSE, QRN_JSON_NULL};
    static const unsigned lines[] = {1, 1, 1, 2, 2};
    size_t i = 0;
    for (const qrn_json *x = a->first; x; x = x->next, i++) {
        assert_int_equal(x->kind, kinds[i]);
        assert_int_equal(x->line, lines[i]);
        assert_null(x->key);
    }
    assert_int_equal(i, 5);
    assert_string_equal(a->first->text, "1");
    assert_string_equal(a->first->next->text, "-2.5e+3");
    assert_int_equal(b->line, 4);
    assert_null(b->next);
    assert_string_equal(b->first->key, "c");
    assert_string_equal(b->first->text, "x");
}

static void comments_and_spaces_are_passed_over(void **state) {
    (void)state;
    const qrn_json *v =
        read_text("\xef\xbb\xbf// first\n/* a\n b */ { /**/ \"k\" // k\n : /* v */ [ ] } // end");
    assert_non_null(v);
    assert_int_equal(v->line, 3);
    assert_string_equal(v->first->key, "k");
    assert_int_equal(v->first->n, 0);
}

static void escapes_are_characters(void **state) {
    (void)state;
    const qrn_json *v =
        read_text("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20ac\\uD83D\\ude00\"");
    assert_non_null(v);
    assert_string_equal(v->text, "\"\\/\b\f\n\r\tA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
}

static const struct {
    const char *text, *words;
} broken[] = {
    {"", "t:1: the text ends where a value is expected"},
    {"\n\n", "t:3: the text ends where a value is expected"},
    {"{", "t:1: expected a key in quotes"},
    {"{\n a: 1}", "t:2: expected a key in quotes"},
    {"{\"a\" 1}", "t:1: expected ':' behind a key"},
    {"{\"a\":}", "t:1: expected a JSON value"},
    {"{\"a\":1,\n}", "t:2: expected a key in quotes"},
    {"{\"a\":1 \"b\":2}", "t:1: expected ',' or '}'"},
    {"{\"a\":1,\n\"b\":2,\n\"a\":3}", "t:3: the key \"a\" stands on line 1 already"},
    {"[1", "t:1: expected ',' or ']'"},
    {"[1,]", "t:1: expected a JSON value"},
    {"01", "t:1: not a number"},
    {"-", "t:1: not a number"},
    {"1.", "t:1: not a number"},
    {"1e", "t:1: not a number"},
    {"nul", "t:1: expected a JSON value"},
    {"1 2", "t:1: something stands behind the value"},
    {"/* x", "t:1: a comment has no end"},
    {"\"abc", "t:1: a string has no end"},
    {"\"a\nb\"", "t:1: a string has no end on its line"},
    {"\"\\x\"", "t:1: an unknown escape"},
    {"\"\\", "t:1: an unknown escape"},
    {"\"\\u12\"", "t:1: \\u wants four hexadecimal digits"},
    {"\"\\u0000\"", "t:1: \\u wants four hexadecimal digits"},
    {"\"\\ud800\"", "t:1: half of a surrogate pair"},
    {"\"\\ud800\\u0041\"", "t:1: half of a surrogate pair"},
    {"\"\\udc00\"", "t:1: half of a surrogate pair"},
};

static void broken_texts_fail_with_line_and_reason(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        assert_null(read_text(broken[i].text));
        if (strncmp(qrn_message(), broken[i].words, strlen(broken[i].words)) != 0)
            fail_msg("'%s': %s", broken[i].text, qrn_message());
    }
}

static void depth_is_bounded(void **state) {
    (void)state;
    char deep[200];
    memset(deep, '[', sizeof deep);
    deep[sizeof deep - 1] = '\0';
    assert_null(read_text(deep));
    assert_string_equal(qrn_message(), "t:1: too deeply nested");
}

static void vocabularies_of_many_keys_are_read_and_a_double_key_is_found(void **state) {
    (void)state;
    enum { KEYS = 200000 };
    char *many = malloc(KEYS * 16), *at = many;
    *at++ = '{';
    for (int i = 0; i < KEYS; i++)
        at += sprintf(at, "\"%d\":0,", i);
    sprintf(at, "\"x\":0}");
    const qrn_json *v = read_text(many);
    assert_non_null(v);
    assert_int_equal(v->n, KEYS + 1);
    sprintf(at, "\"777\":0}");
    assert_null(read_text(many));
    free(many);
    assert_string_equal(qrn_message(), "t:1: the key \"777\" stands on line 1 already");
}

static void no_start_of_a_text_is_misread(void **state) {
    (void)state;
    static const char text[] = "{\"a\": [1, \"\\u20ac\", {\"b\": null}], // c\n \"d\": -1.5e3}";
    for (size_t n = 0; n < sizeof text - 1; n++) {
        char part[sizeof text];
        memcpy(part, text, n);
        part[n] = '\0';
        assert_null(read_text(part));
    }
    assert_non_null(read_text(text));
}

static void a_missing_file_is_named(void **state) {
    (void)state;
    qrn_json *v = NULL;
    assert_int_not_equal(qrn_json_read_file("/nowhere/a.json", arena, &v), QRN_OK);
    assert_non_null(strstr(qrn_message(), "/nowhere/a.json"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_have_kind_text_and_line),
        cmocka_unit_test(comments_and_spaces_are_passed_over),
        cmocka_unit_test(escapes_are_characters),
        cmocka_unit_test(broken_texts_fail_with_line_and_reason),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(vocabularies_of_many_keys_are_read_and_a_double_key_is_found),
        cmocka_unit_test(no_start_of_a_text_is_misread),
        cmocka_unit_test(a_missing_file_is_named),
    };
    return cmocka_run_group_tests(tests, make_arena, free_arena);
}
