// SPDX-License-Identifier: MIT
//
// The backends' support tables against a list of facts that was written apart from them, row by
// row, and the check of a call against a table. usage: test_support FOLDER, with support.tsv in it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backend_tables.h"
#include "call.h"
#include "tsv.h"

static const char *const answer_text[] = {
#define X(name, text) [QRN_ANSWER_##name] = text,
    QRN_ANSWER_LIST(X)
#undef X
};

static const char *g_folder;

static void open_facts(tsv *t) {
    char path[1024];
    snprintf(path, sizeof path, "%s/support.tsv", g_folder);
    *t = (tsv){.file = fopen(path, "r")};
    assert_non_null(t->file);
}

static const qrn_support_table *table_of(const char *backend) {
    for (int i = 0; i < N_BACKEND_TABLES; i++)
        if (strcmp(test_backend_tables[i]->backend, backend) == 0)
            return test_backend_tables[i];
    return NULL;
}

// Reads "in[0..m]=f32|uq8" and compares.
static bool operand_is(const qrn_support_operand *o, const char *text) {
    char side[4], range[16], types[128];
    if (sscanf(text, "%3[a-z][%15[^]]]=%127[a-z0-9|]", side, range, types) != 3)
        return false;
    unsigned first = (unsigned)strtoul(range, NULL, 10);
    const char *dots = strstr(range, "..");
    unsigned last = !dots                              ? first
                    : dots[2] >= '0' && dots[2] <= '9' ? (unsigned)strtoul(dots + 2, NULL, 10)
                                                       : QRN_SUPPORT_LAST;
    return o->is_output == (strcmp(side, "out") == 0) && o->first == first && o->last == last &&
           o->types == tsv_types(types);
}

static bool alts_are(const qrn_support_row *r, char *text) {
    char *alt[64], *operand[64];
    size_t n = tsv_split(text, " ; ", alt, 64);
    if (n != r->n_alts)
        return false;
    for (size_t i = 0; i < n; i++) {
        size_t m = tsv_split(alt[i], ",", operand, 64);
        if (m != r->alts[i].n_operands)
            return false;
        for (size_t k = 0; k < m; k++)
            if (!operand_is(&r->alts[i].operands[k], operand[k]))
                return false;
    }
    return true;
}

static bool row_is(const qrn_support_row *r, tsv *t) {
    if (strcmp(r->op, t->col[0]) || strcmp(r->config, t->col[2]) ||
        strcmp(answer_text[r->answer], t->col[3]) || strcmp(r->params, t->col[5]) ||
        strcmp(r->constraints, t->col[6]))
        return false;
    if (r->note[0] || !t->col[4][0]) // types in words: the words are kept
        return strcmp(r->note, t->col[4]) == 0;
    char copy[TSV_LINE];
    strcpy(copy, t->col[4]);
    return alts_are(r, copy);
}

static void tables_agree_with_the_facts_row_by_row(void **state) {
    (void)state;
    tsv t;
    open_facts(&t);
    size_t n[N_BACKEND_TABLES] = {0};
    while (tsv_next(&t)) {
        const qrn_support_table *table = table_of(t.col[1]);
        assert_non_null(table);
        size_t matches = 0;
        for (size_t i = 0; i < table->n_rows; i++)
            matches += row_is(&table->rows[i], &t);
        if (matches != 1)
            fail_msg("line %u: %s %s %s has %zu rows", t.number, t.col[1], t.col[0], t.col[2],
                     matches);
        for (int i = 0; i < N_BACKEND_TABLES; i++)
            n[i] += test_backend_tables[i] == table;
    }
    fclose(t.file);
    for (int i = 0; i < N_BACKEND_TABLES; i++) {
        assert_int_equal(test_backend_tables[i]->n_rows, n[i]);
        assert_true(n[i] > 100);
    }
}

static void rows_of_an_op_stand_together_and_are_in_the_op_table(void **state) {
    (void)state;
    for (int i = 0; i < N_BACKEND_TABLES; i++)
        for (size_t k = 0; k < test_backend_tables[i]->n_rows; k++) {
            const char *op = test_backend_tables[i]->rows[k].op;
            assert_non_null(qrn_op_find(op));
            if (k == 0 || strcmp(test_backend_tables[i]->rows[k - 1].op, op) == 0)
                continue;
            for (size_t j = 0; j < k; j++)
                if (strcmp(test_backend_tables[i]->rows[j].op, op) == 0)
                    fail_msg("%s: rows of %s are apart", test_backend_tables[i]->backend, op);
        }
}

// Otherwise the op table would refuse what a backend is said to support.
static void check_types(const qrn_support_table *t) {
    for (size_t k = 0; k < t->n_rows; k++) {
        const qrn_support_row *r = &t->rows[k];
        const qrn_op_def *op = qrn_op_find(r->op);
        assert_non_null(op);
        for (size_t a = 0; a < r->n_alts; a++)
            for (size_t o = 0; o < r->alts[a].n_operands; o++) {
                const qrn_support_operand *s = &r->alts[a].operands[o];
                const qrn_operand_def *d = s->is_output ? op->outs : op->ins;
                uint32_t n = s->is_output ? op->n_outs : op->n_ins;
                uint32_t at = s->first < n ? s->first : n - 1;
                if (s->types & ~d[at].types)
                    fail_msg("%s %s %s: '%s' lacks a type", t->backend, r->op, r->config,
                             d[at].name);
            }
    }
}

static void the_op_table_allows_every_published_type(void **state) {
    (void)state;
    for (int i = 0; i < N_BACKEND_TABLES; i++)
        check_types(test_backend_tables[i]);
}

static void the_op_table_allows_every_observed_type(void **state) {
    (void)state;
    check_types(&test_htp_observed);
    for (size_t k = 0; k < test_htp_observed.n_rows; k++) {
        const qrn_support_row *r = &test_htp_observed.rows[k];
        assert_int_equal(r->answer, QRN_ANSWER_OBSERVED);
        static const char *const sources[] = {"LiteRT", "test", "sweep", "twin"};
        size_t known = 0, n_sources = sizeof sources / sizeof *sources;
        while (known < n_sources && strcmp(r->note, sources[known]))
            known++;
        if (known == n_sources)
            fail_msg("%s %s: no source '%s'", r->op, r->config, r->note);
    }
}

static void begin_binary(call *k, const char *op, qrn_dtype a, qrn_dtype b, qrn_dtype y) {
    call_begin(k, op);
    call_in(k, a, DIMS(2));
    call_in(k, b, DIMS(2));
    call_out(k, y, DIMS(2));
}

static void the_cpu_takes_whatever_the_op_table_allows(void **state) {
    (void)state;
    const qrn_op_def *op;
    for (size_t i = 0; (op = qrn_op_at(i)); i++) {
        assert_true(qrn_support_has(&qrn_cpu_support, op->name));
        call k;
        call_begin(&k, op->name);
        assert_int_equal(qrn_support_check(&qrn_cpu_support, &k.c), QRN_OK);
    }
    assert_false(qrn_support_has(&qrn_cpu_support, "Nothing"));
}

static void exact_tables_want_one_alternative_for_all_operands(void **state) {
    (void)state;
    call k;
    begin_binary(&k, "ElementWiseSubtract", QRN_DTYPE_UQ8, QRN_DTYPE_UQ8, QRN_DTYPE_UQ8);
    assert_int_equal(qrn_support_check(&test_htp_support, &k.c), QRN_OK);
    begin_binary(&k, "ElementWiseSubtract", QRN_DTYPE_F16, QRN_DTYPE_F16, QRN_DTYPE_F16);
    assert_int_equal(qrn_support_check(&test_htp_support, &k.c), QRN_OK);
    begin_binary(&k, "ElementWiseSubtract", QRN_DTYPE_F16, QRN_DTYPE_UQ8, QRN_DTYPE_UQ8);
    qrn_message_clear();
    assert_int_equal(qrn_support_check(&test_htp_support, &k.c), QRN_E_DTYPE);
    const char *start = "graph 'g' node 'n' (ElementWiseSubtract): data types in[0]=f16 in[1]=uq8 "
                        "out[0]=uq8 not supported by HTP, allowed in[0]=f16 in[1]=f16 out[0]=f16 ;";
    assert_int_equal(strncmp(qrn_message(), start, strlen(start)), 0);
}

static void union_tables_look_at_each_operand_alone(void **state) {
    (void)state;
    call k;
    begin_binary(&k, "ElementWiseSubtract", QRN_DTYPE_F32, QRN_DTYPE_F16, QRN_DTYPE_F32);
    assert_int_equal(qrn_support_check(&test_gpu_support, &k.c), QRN_OK);
    begin_binary(&k, "ElementWiseSubtract", QRN_DTYPE_F32, QRN_DTYPE_SQ8, QRN_DTYPE_F32);
    qrn_message_clear();
    assert_int_equal(qrn_support_check(&test_gpu_support, &k.c), QRN_E_DTYPE);
    assert_string_equal(qrn_message(),
                        "graph 'g' node 'n' (ElementWiseSubtract): input 1: data type sq8 not "
                        "supported by GPU, allowed f32|f16|i32");
}

static void ops_that_a_backend_lacks_are_unknown_to_it(void **state) {
    (void)state;
    call k;
    begin_binary(&k, "ElementWiseFmod", QRN_DTYPE_F32, QRN_DTYPE_F32, QRN_DTYPE_F32);
    assert_false(qrn_support_has(&test_htp_support, "ElementWiseFmod"));
    qrn_message_clear();
    assert_int_equal(qrn_support_check(&test_htp_support, &k.c), QRN_E_OP_UNKNOWN);
    assert_string_equal(qrn_message(),
                        "graph 'g' node 'n' (ElementWiseFmod): op not supported by HTP");
    assert_true(qrn_support_has(&test_htp_support, "Conv2d"));
    assert_true(qrn_support_has(&test_gpu_support, "Conv2d"));
}

static void open_and_variadic_rows_are_understood(void **state) {
    (void)state;
    call k;
    call_begin(&k, "Concat");
    for (int i = 0; i < 5; i++)
        call_in(&k, QRN_DTYPE_UQ8, DIMS(2));
    call_out(&k, QRN_DTYPE_UQ8, DIMS(10));
    assert_int_equal(qrn_support_check(&test_htp_support, &k.c), QRN_OK);
    k.in_t[4].dtype = QRN_DTYPE_F16;
    assert_int_equal(qrn_support_check(&test_htp_support, &k.c), QRN_E_DTYPE);
    call_begin(&k, "GroupedQueryAttention"); // published without types
    for (int i = 0; i < 3; i++)
        call_in(&k, QRN_DTYPE_F32, DIMS(1, 2, 4));
    call_out(&k, QRN_DTYPE_F32, DIMS(1, 2, 4));
    assert_int_equal(qrn_support_check(&test_htp_support, &k.c), QRN_OK);
    call_begin(&k, "ElementWiseAbs"); // i32 came with a later release
    call_in(&k, QRN_DTYPE_I32, DIMS(2));
    call_out(&k, QRN_DTYPE_I32, DIMS(2));
    assert_int_equal(qrn_support_check(&test_htp_support, &k.c), QRN_OK);
    k.in_t[0].dtype = k.out_t[0].dtype = QRN_DTYPE_SQ16;
    assert_int_equal(qrn_support_check(&test_htp_support, &k.c), QRN_E_DTYPE);
    call_begin(&k, "Pad"); // a later release lifted the rank, not the types
    call_in(&k, QRN_DTYPE_I64, DIMS(2));
    call_out(&k, QRN_DTYPE_I64, DIMS(2));
    assert_int_equal(qrn_support_check(&test_htp_support, &k.c), QRN_E_DTYPE);
}

int main(int argc, char **argv) {
    if (argc < 2)
        return 2;
    g_folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_agree_with_the_facts_row_by_row),
        cmocka_unit_test(rows_of_an_op_stand_together_and_are_in_the_op_table),
        cmocka_unit_test(the_op_table_allows_every_published_type),
        cmocka_unit_test(the_op_table_allows_every_observed_type),
        cmocka_unit_test(the_cpu_takes_whatever_the_op_table_allows),
        cmocka_unit_test(exact_tables_want_one_alternative_for_all_operands),
        cmocka_unit_test(union_tables_look_at_each_operand_alone),
        cmocka_unit_test(ops_that_a_backend_lacks_are_unknown_to_it),
        cmocka_unit_test(open_and_variadic_rows_are_understood),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
