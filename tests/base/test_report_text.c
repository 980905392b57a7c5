// SPDX-License-Identifier: MIT
//
// Names on their way to terminals, logs and tables, and streams into memory.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/report_text.h"
#include "base/status.h"

static void control_characters_are_shown_as_escapes(void **state) {
    (void)state;
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"", ""},
        {"conv_1/Relu:0 \\ 'x'", "conv_1/Relu:0 \\ 'x'"},
        {"a\nb\rc\td", "a\\nb\\rc\\td"},
        {"\x1b[31mred\a\x7f", "\\x1b[31mred\\x07\\x7f"},
        {"gr\xc3\xbc\xc3\x9f \xe5\x90\x8d\xf0\x9f\x98\x80",
         "gr\xc3\xbc\xc3\x9f \xe5\x90\x8d\xf0\x9f\x98\x80"},
        {"\xc2\x9b"
         "31m",
         "\\x9b31m"}, // a control sequence in one character
        {"\xe2\x80\xae"
         "evil",
         "\\u202eevil"}, // turns the direction
        {"\xe2\x80\xa8|\xe2\x81\xa9", "\\u2028|\\u2069"},
        {"\xff\xc3(\xe2\x82", "\\xff\\xc3(\\xe2\\x82"}, // not UTF-8
        {"\xed\xa0\x80\xc0\x80", "\\xed\\xa0\\x80\\xc0\\x80"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char out[256];
        qrn_shown_text(out, sizeof out, rows[i].text);
        assert_string_equal(out, rows[i].want);
    }
}

static void a_text_is_cut_between_characters(void **state) {
    (void)state;
    char out[8];
    qrn_shown_text(out, sizeof out, "abcde\x1b[0m");
    assert_string_equal(out, "abcde");
    qrn_shown_text(out, sizeof out, "abcdef\xc3\xbc");
    assert_string_equal(out, "abcdef");
    char part[QRN_SHOWN_MAX];
    assert_int_equal(qrn_shown_char("\xc3\xbc", 1, part), 1); // no byte behind the end is read
    assert_string_equal(part, "\\xc3");
    assert_int_equal(qrn_shown_char("x", 0, part), 0);
}

static void failures_hold_no_control_characters(void **state) {
    (void)state;
    QRN_FAIL(QRN_E_NAME, "node '%s'", "a\n\x1b[2Jb");
    assert_string_equal(qrn_message(), "node 'a\\n\\x1b[2Jb'");
}

static char *cell(const char *text) {
    qrn_text t;
    FILE *f = qrn_text_open(&t);
    assert_non_null(f);
    qrn_csv_text(f, text);
    assert_true(qrn_text_close(f, &t));
    return t.data;
}

static void cells_of_tables_are_names_not_formulas(void **state) {
    (void)state;
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"conv", "conv"},
        {"a,b", "\"a,b\""},
        {"say \"x\"", "\"say \"\"x\"\"\""},
        {"=1+1", "'=1+1"},
        {"+1", "'+1"},
        {"-1", "'-1"},
        {"@SUM(A1)", "'@SUM(A1)"},
        {"=HYPERLINK(\"http://x\",\"y\")", "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\""},
        {"a\nb", "a\\nb"},
        {"\t=1", "\\t=1"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *got = cell(rows[i].text);
        assert_string_equal(got, rows[i].want);
        free(got);
    }
}

static void json_escapes_what_terminals_obey(void **state) {
    (void)state;
    qrn_text t;
    FILE *f = qrn_text_open(&t);
    qrn_json_text(f, "a\x1b\x7f\xc2\x9b\xc3\xbc\"");
    assert_true(qrn_text_close(f, &t));
    assert_string_equal(t.data, "\"a\\u001b\\u007f\\u009b\xc3\xbc\\\"\"");
    free(t.data);
}

static void a_stream_into_memory_keeps_every_byte(void **state) {
    (void)state;
    qrn_text t;
    FILE *f = qrn_text_open(&t);
    for (int i = 0; i < 100000; i++)
        fprintf(f, "%d,", i % 10);
    assert_true(qrn_text_close(f, &t));
    assert_int_equal(t.n, 200000);
    assert_int_equal(strlen(t.data), t.n);
    for (size_t i = 0; i < t.n; i++)
        assert_int_equal(t.data[i], i % 2 ? ',' : '0' + (int)(i / 2 % 10));
    free(t.data);
    f = qrn_text_open(&t);
    assert_true(qrn_text_close(f, &t)); // nothing is a text, too
    assert_string_equal(t.data, "");
    free(t.data);
}

static void names_lose_their_beginnings(void **state) {
    (void)state;
    static const struct {
        const char *text, *want;
        size_t most;
    } cases[] = {
        {"node 'a/long/name': bad", "node 'a/long/name': bad", 23},
        {"node '0123456789012345678901234567890123456789': bad",
         "node '...89012345678901234567890123456789': bad", 48},
        {"the client's tensor 'x' isn't here at all", "the client's tensor 'x' isn't here at all",
         8},
        {"'never ends 012345678901234567890123456789", "'never ends 012345678901234567890123456789",
         8},
        {"", "", 0},
    };
    char out[128];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        qrn_short_names(out, sizeof out, cases[i].text, cases[i].most);
        assert_string_equal(out, cases[i].want);
    }
    // Never inside of a character, and never beyond the room.
    qrn_short_names(out, sizeof out,
                    "'\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
                    "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4z'",
                    0);
    assert_string_equal(out, "'...\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4z'");
    qrn_short_names(out, 10, "node 'abcdefghijklmnopqrstuvwxyz'", 5);
    assert_string_equal(out, "node '...");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_characters_are_shown_as_escapes),
        cmocka_unit_test(a_text_is_cut_between_characters),
        cmocka_unit_test(failures_hold_no_control_characters),
        cmocka_unit_test(cells_of_tables_are_names_not_formulas),
        cmocka_unit_test(json_escapes_what_terminals_obey),
        cmocka_unit_test(names_lose_their_beginnings),
        cmocka_unit_test(a_stream_into_memory_keeps_every_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
