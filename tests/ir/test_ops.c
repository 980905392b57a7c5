// SPDX-License-Identifier: MIT
//
// The op table against a list of facts that was written apart from it: operands, ranks, types,
// parameters, defaults and enumerators. usage: test_ops FOLDER, with ops.tsv in it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ir/op.h"
#include "tsv.h"

static const char *g_folder;

static void open_facts(tsv *t) {
    char path[1024];
    snprintf(path, sizeof path, "%s/ops.tsv", g_folder);
    *t = (tsv){.file = fopen(path, "r")};
    assert_non_null(t->file);
}

static uint8_t presence_of(const char *position, const char *word) {
    int mandatory = strcmp(word, "mandatory") == 0;
    assert_true(mandatory || strcmp(word, "optional") == 0);
    if (strstr(position, "..m") || strstr(position, "..M"))
        return mandatory ? QRN_VARIADIC : QRN_VARIADIC_ANY;
    return mandatory ? QRN_REQUIRED : QRN_OPTIONAL;
}

static void check_rank(const char *op, const qrn_operand_def *d, const char *text) {
    unsigned lo, hi;
    if (strcmp(text, "*") == 0) {
        assert_true(d->rank_min <= d->rank_max && d->rank_max <= QRN_MAX_RANK);
        return;
    }
    if (sscanf(text, ">=%u", &lo) == 1)
        hi = QRN_MAX_RANK;
    else if (sscanf(text, "%u..%u", &lo, &hi) != 2)
        hi = lo = (unsigned)strtoul(text, NULL, 10);
    // ">=1" is said of tensors in general; ops that clients give scalars take them.
    bool scalars_too = text[0] == '>' && lo == 1 && d->rank_min == 0;
    if ((d->rank_min != lo && !scalars_too) || d->rank_max != hi)
        fail_msg("%s '%s': rank %u..%u, expected %s", op, d->name, d->rank_min, d->rank_max, text);
}

// The table may be wider than the facts (newer releases), never narrower.
static void check_types(const char *op, const char *name, qrn_dtype_mask have, const char *text) {
    qrn_dtype_mask want = tsv_types(text);
    assert_true(want != 0 || strcmp(text, "*") == 0);
    if (have == 0 || (have & want) != want)
        fail_msg("%s '%s': types %#x lack some of %s", op, name, have, text);
}

static void check_operands(const char *op, const qrn_operand_def *defs, uint8_t n_defs,
                           char *text) {
    char *piece[32], *f[5];
    size_t n = tsv_split(text, " ; ", piece, 32);
    if (n != n_defs)
        fail_msg("%s: %u operands, expected %zu", op, n_defs, n);
    for (size_t i = 0; i < n; i++) {
        tsv_fields(piece[i], f, 5);
        assert_int_equal(strtoul(f[0], NULL, 10), i);
        assert_string_equal(defs[i].name, f[1]);
        check_rank(op, &defs[i], f[2]);
        check_types(op, f[1], defs[i].types, f[3]);
        if (defs[i].presence != presence_of(f[0], f[4]))
            fail_msg("%s '%s': presence %u, expected %s", op, f[1], defs[i].presence, f[4]);
    }
}

static void check_enumerators(const char *op, const qrn_param_def *d, char *text) {
    char *piece[32];
    size_t n = tsv_split(text, ",", piece, 32);
    if (n == 0) {
        assert_null(d->enums);
        return;
    }
    assert_non_null(d->enums);
    for (size_t i = 0; i < n; i++) {
        char *value = strchr(piece[i], '=');
        assert_non_null(value);
        *value++ = '\0';
        if (!d->enums[i].name)
            fail_msg("%s '%s': enumerator %s is missing", op, d->name, piece[i]);
        assert_string_equal(d->enums[i].name, piece[i]);
        assert_int_equal(d->enums[i].value, strtoul(value, NULL, 10));
    }
    assert_null(d->enums[n].name);
}

static void check_params(const qrn_op_def *op, char *text) {
    char *piece[32], *f[7];
    size_t n = tsv_split(text, " ; ", piece, 32);
    if (n != op->n_params)
        fail_msg("%s: %u parameters, expected %zu", op->name, op->n_params, n);
    for (size_t i = 0; i < n; i++) {
        const qrn_param_def *d = &op->params[i];
        tsv_fields(piece[i], f, 7);
        assert_string_equal(d->name, f[0]);
        assert_int_equal(d->is_tensor, strcmp(f[1], "tensor") == 0);
        check_types(op->name, f[0], d->types, f[2]);
        assert_int_equal(d->rank_min, strtoul(f[3], NULL, 10));
        assert_int_equal(d->rank_max, d->rank_min);
        assert_int_equal(d->presence, presence_of("", f[4]));
        assert_string_equal(d->default_text, f[5]);
        check_enumerators(op->name, d, f[6]);
    }
}

static void every_op_has_the_operands_and_parameters_of_its_definition(void **state) {
    (void)state;
    tsv t;
    open_facts(&t);
    size_t n = 0;
    while (tsv_next(&t)) {
        const qrn_op_def *op = qrn_op_find(t.col[0]);
        if (!op)
            fail_msg("no op '%s' in the table", t.col[0]);
        assert_string_equal(op->category, t.col[1]);
        check_operands(op->name, op->ins, op->n_ins, t.col[2]);
        check_operands(op->name, op->outs, op->n_outs, t.col[3]);
        check_params(op, t.col[4]);
        n++;
    }
    fclose(t.file);
    assert_int_equal(n, 161);
    assert_non_null(qrn_op_at(n - 1));
    assert_null(qrn_op_at(n));
}

static void names_are_unique_and_found(void **state) {
    (void)state;
    const qrn_op_def *op;
    for (size_t i = 0; (op = qrn_op_at(i)); i++) {
        assert_ptr_equal(qrn_op_find(op->name), op);
        for (uint32_t k = 0; k < op->n_params; k++)
            assert_int_equal(qrn_op_param_index(op, op->params[k].name), k);
    }
    assert_null(qrn_op_find("conv2d"));
    assert_null(qrn_op_find(""));
    assert_null(qrn_op_find(NULL));
}

static void rows_keep_the_order_of_presence(void **state) {
    (void)state;
    const qrn_op_def *op;
    for (size_t i = 0; (op = qrn_op_at(i)); i++) {
        assert_non_null(op->rule);
        for (int side = 0; side < 2; side++) {
            const qrn_operand_def *d = side ? op->outs : op->ins;
            uint32_t n = side ? op->n_outs : op->n_ins;
            for (uint32_t k = 0; k + 1 < n; k++) // variadic operands come last
                assert_true(d[k].presence == QRN_REQUIRED || d[k].presence == QRN_OPTIONAL);
        }
        for (uint32_t k = 0; k < op->n_params; k++) // only optional parameters have a default
            assert_int_equal(op->params[k].presence == QRN_OPTIONAL,
                             op->params[k].default_text[0] != '\0');
    }
}

static void check_flag(const char *const *names, size_t n, uint32_t flag) {
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        const qrn_op_def *op = qrn_op_find(names[i]);
        assert_non_null(op);
        if (!(op->flags & flag))
            fail_msg("%s lacks flag %u", names[i], flag);
    }
    for (size_t i = 0; qrn_op_at(i); i++)
        found += (qrn_op_at(i)->flags & flag) != 0;
    assert_int_equal(found, n);
}

#define CHECK_FLAG(flag, ...)                                                                      \
    check_flag((const char *const[]){__VA_ARGS__},                                                 \
               sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), flag)

static void flags_name_the_special_ops(void **state) {
    (void)state;
    CHECK_FLAG(QRN_OP_DYNAMIC, "MatMul", "Reshape", "Cast", "Concat", "Conv2d", "Convert",
               "ElementWiseAdd", "ElementWiseBinary", "ElementWiseDivide", "ElementWiseMultiply",
               "ElementWisePower", "ElementWiseSquareRoot", "ElementWiseSubtract",
               "ElementWiseUnary", "Gather", "ReduceMean", "RmsNorm", "StridedSlice",
               "ElementWiseNeuron", "Sigmoid", "Softmax", "Transpose", "ExpandDims", "Squeeze",
               "FullyConnected");
    CHECK_FLAG(QRN_OP_STATEFUL, "Lstm", "Gru", "Buffer");
    CHECK_FLAG(QRN_OP_CONTROL, "If");
    CHECK_FLAG(QRN_OP_RANDOM, "RandomNormalLike", "RandomUniformLike", "ExtractGlimpse");
    CHECK_FLAG(QRN_OP_DEPRECATED, "Relu1", "Relu6");
    CHECK_FLAG(QRN_OP_SPARSE, "CreateSparse", "GetSparseIndices", "GetSparseValues",
               "SparseToDense", "Conv2d", "Conv3d", "Batchnorm", "ElementWiseAdd", "Relu");
}

int main(int argc, char **argv) {
    if (argc < 2)
        return 2;
    g_folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_has_the_operands_and_parameters_of_its_definition),
        cmocka_unit_test(names_are_unique_and_found),
        cmocka_unit_test(rows_keep_the_order_of_presence),
        cmocka_unit_test(flags_name_the_special_ops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
