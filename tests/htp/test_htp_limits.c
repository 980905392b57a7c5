// SPDX-License-Identifier: MIT
//
// The HTP's limits beyond types: every published text has a meaning, every meaning is tried from
// both sides, and every rank limit holds for every row. usage: test_htp_limits FOLDER, with
// support.tsv in it.
#include "limit_cases.h"

#include "../ir/tsv.h"

static const char *g_folder;

static void open_facts(tsv *t) {
    char path[1024];
    snprintf(path, sizeof path, "%s/support.tsv", g_folder);
    *t = (tsv){.file = fopen(path, "r")};
    assert_non_null(t->file);
}

static bool next_htp_row(tsv *t) {
    while (tsv_next(t))
        if (strcmp(t->col[1], "HTP") == 0 && strcmp(t->col[3], "no") != 0 &&
            strcmp(t->col[3], "listed-no") != 0)
            return true;
    fclose(t->file);
    return false;
}

// Skips "in[0]: " or "axis: "; the subject, if any, is copied.
static const char *without_subject(const char *clause, char *subject) {
    int n = 0;
    subject[0] = '\0';
    if (sscanf(clause, "%31[a-z0-9_.[]%*1[]]: %n", subject, &n) == 1 && n) {
        strcat(subject, "]");
        return clause + n;
    }
    n = 0;
    if (sscanf(clause, "%31[a-z0-9_]: %n", subject, &n) == 1 && n)
        return clause + n;
    subject[0] = '\0';
    return clause;
}

bool g_accepted[MAX_LIMITS], g_refused[MAX_LIMITS];

size_t limit_index(const char *text) {
    const qrn_htp_limit *l = qrn_htp_limit_find(text, strlen(text));
    if (!l)
        fail_msg("no meaning for '%s'", text);
    size_t i = 0;
    while (qrn_htp_limit_at(i) != l)
        i++;
    assert_true(i < MAX_LIMITS);
    return i;
}

static void every_published_limit_has_a_meaning_and_no_meaning_is_idle(void **state) {
    (void)state;
    tsv t;
    open_facts(&t);
    bool used[MAX_LIMITS] = {false};
    size_t n = 0;
    while (next_htp_row(&t)) {
        char *clause[64], subject[40];
        size_t n_clauses = tsv_split(t.col[6], " ; ", clause, 64);
        for (size_t i = 0; i < n_clauses; i++, n++)
            used[limit_index(without_subject(clause[i], subject))] = true;
        if (strcmp(t.col[3], "delta-yes") == 0 && t.col[4][0] &&
            strncmp(t.col[4], "in[0]=f16|", 10))
            used[limit_index(t.col[4])] = true;
    }
    assert_true(n > 700);
    for (size_t r = 0; r < qrn_htp_support.n_rows; r++) {
        char words[512], *clause[16], subject[40];
        if (qrn_htp_support.rows[r].answer != QRN_ANSWER_OBSERVED ||
            strcmp(qrn_htp_support.rows[r].constraints, "as published") == 0)
            continue;
        snprintf(words, sizeof words, "%s", qrn_htp_support.rows[r].constraints);
        for (size_t k = tsv_split(words, " ; ", clause, 16); k-- > 0;)
            used[limit_index(without_subject(clause[k], subject))] = true;
    }
    for (size_t i = 0; qrn_htp_limit_at(i); i++)
        if (!used[i])
            fail_msg("'%s' is published nowhere", qrn_htp_limit_at(i)->text);
}

static qrn_status judge(call *k, uint32_t arch) {
    qrn_htp_device d = {.soc = *qrn_soc_of_arch(arch), .chosen = true};
    qrn_message_clear();
    assert_int_equal(qrn_support_check(&qrn_htp_support, &k->c), QRN_OK);
    return qrn_htp_limits_check(&d, &k->c);
}

void accepts_on(uint32_t arch, call *k, const char *text) {
    if (judge(k, arch) != QRN_OK)
        fail_msg("%s, '%s': %s", k->c.op->name, text, qrn_message());
    g_accepted[limit_index(text)] = true;
}

void refuses_on(uint32_t arch, call *k, const char *text, const char *reason) {
    assert_int_not_equal(judge(k, arch), QRN_OK);
    if (!strstr(qrn_message(), reason) || !strstr(qrn_message(), "node 'n'") ||
        !strstr(qrn_message(), "HTP support table"))
        fail_msg("'%s' expected in: %s", reason, qrn_message());
    g_refused[limit_index(text)] = true;
}

// --- shapes

static void ranks(void **state) {
    (void)state;
    call k;
    unary(&k, "Argmax", QRN_DTYPE_UQ8, QRN_DTYPE_I32, 4);
    accepts(&k, "rank<=4");
    unary(&k, "Argmax", QRN_DTYPE_UQ8, QRN_DTYPE_I32, 5);
    refuses(&k, "rank<=4",
            "input 0: rank 5, HTP supports at most 4 (HTP support table, int8: rank<=4)");
    unary(&k, "PoolAvg3d", QRN_DTYPE_UQ8, QRN_DTYPE_UQ8, 4);
    refuses(&k, "rank=5", "input 0: rank 4, HTP supports 5");
    // A single number counts as a vector of one.
    call_begin(&k, "ElementWiseAdd");
    call_in(&k, QRN_DTYPE_UQ8, 5, ones);
    call_in(&k, QRN_DTYPE_UQ8, SCALAR_DIMS);
    call_out(&k, QRN_DTYPE_UQ8, 5, ones);
    accepts(&k, "rank 1..5");
    call_begin(&k, "Concat");
    for (uint32_t i = 0; i < 3; i++)
        call_in(&k, QRN_DTYPE_UQ8, i == 2 ? 6 : 5, ones);
    call_out(&k, QRN_DTYPE_UQ8, 5, ones);
    refuses(&k, "rank<=5", "input 2: rank 6");
    unary(&k, "ReluMinMax", QRN_DTYPE_F16, QRN_DTYPE_F16, 5); // rank<=4, then widened
    accepts(&k, "rank 5");
    unary(&k, "Cast", QRN_DTYPE_I32, QRN_DTYPE_F32, 5);
    accepts(&k, "sq16->i32 (2.44); sq16->uq16 (2.39); rank 5 (2.39)");
    unary(&k, "Cast", QRN_DTYPE_I32, QRN_DTYPE_F32, 6);
    refuses(&k, "sq16->i32 (2.44); sq16->uq16 (2.39); rank 5 (2.39)",
            "rank 6, HTP supports at most 5");
    unary(&k, "ReluMinMax", QRN_DTYPE_F16, QRN_DTYPE_F16, 6);
    refuses(&k, "rank 5",
            "rank 6, HTP supports at most 5, as widened (HTP support table, fp16: rank<=4)");
}

static void ranks_by_operation(void **state) {
    (void)state;
    call k;
    unary(&k, "ElementWiseNeuron", QRN_DTYPE_F16, QRN_DTYPE_F16, 5);
    call_u32(&k, "operation", 4); // RELU
    accepts(&k, "rank<=4 (<=5 for RELU)");
    call_u32(&k, "operation", 5); // RELU_MIN_MAX is not in the list of this row
    refuses(&k, "rank<=4 (<=5 for RELU)", "rank 5, HTP supports at most 4");
    call_begin(&k, "ElementWiseBinary");
    call_in(&k, QRN_DTYPE_UQ8, 5, ones);
    call_in(&k, QRN_DTYPE_UQ8, 5, ones);
    call_out(&k, QRN_DTYPE_UQ8, 5, ones);
    call_u32(&k, "operation", 0); // ADD
    accepts(&k, "rank 1..5 (1..4 for AND, FLOOR_DIV, OR)");
    call_u32(&k, "operation", 15); // OR, which FLOOR_DIV must not stand in for
    refuses(&k, "rank 1..5 (1..4 for AND, FLOOR_DIV, OR)", "rank 5, HTP supports at most 4");
}

static void shapes(void **state) {
    (void)state;
    call k;
    for (uint32_t batch = 1; batch <= 2; batch++) {
        const char *text = "rank 4, or rank 3 with leading dim 1";
        call_begin(&k, "InstanceNorm");
        call_in(&k, QRN_DTYPE_UQ8, DIMS(batch, 5, 3));
        call_in(&k, QRN_DTYPE_UQ8, DIMS(3));
        call_in(&k, QRN_DTYPE_UQ8, DIMS(3));
        call_out(&k, QRN_DTYPE_UQ8, DIMS(batch, 5, 3));
        if (batch == 1)
            accepts(&k, text);
        else
            refuses(&k, text, "input 0: shape [2,5,3]");
    }
    const char *text = "rank<=4: b8,uq8,sq8,uq16,sq16,i32,u32; rank 5: uq8,sq8,uq16,f16,f32";
    unary(&k, "Transpose", QRN_DTYPE_UQ16, QRN_DTYPE_UQ16, 5);
    accepts(&k, text);
    unary(&k, "Transpose", QRN_DTYPE_I32, QRN_DTYPE_I32, 5);
    refuses(&k, text, "input 0: data type i32 at rank 5");
    weighted(&k, "MatMul", QRN_DTYPE_F32, QRN_DTYPE_F32, 2);
    accepts(&k, "static dims only");
    k.out_t[0].has_dynamic = true;
    refuses(&k, "static dims only", "output 0: dynamic dimensions");
    unary(&k, "Reshape", QRN_DTYPE_UQ8, QRN_DTYPE_UQ8, 2);
    accepts(&k, "input must be absent");
    call_in(&k, QRN_DTYPE_I32, DIMS(2));
    refuses(&k, "input must be absent", "input 1: given");
}

static void begin_lstm(call *k, uint32_t rank) {
    call_begin(k, "Lstm");
    call_in(k, QRN_DTYPE_F32, rank, ones);
    for (uint32_t i = 1; i < 10; i++)
        call_in(k, QRN_DTYPE_F32, i < 7 ? 2 : 1, ones);
    for (uint32_t i = 0; i < 3; i++)
        call_out(k, QRN_DTYPE_F32, rank, ones);
}

static void lstm(void **state) {
    (void)state;
    call k;
    begin_lstm(&k, 3);
    accepts(&k, "rank=2");
    accepts(&k, "must be absent (no layer-norm variant)");
    begin_lstm(&k, 4);
    refuses(&k, "rank=2", "input 0: rank 4, HTP supports at most 3");
    begin_lstm(&k, 2);
    while (k.c.n_in < 13)
        call_absent_in(&k);
    call_in(&k, QRN_DTYPE_F32, DIMS(1));
    refuses(&k, "must be absent (no layer-norm variant)", "input 13: given");
    begin_lstm(&k, 2);
    while (k.c.n_in < 24)
        call_absent_in(&k);
    uint8_t reset = 0;
    qrn_tensor *t = call_in(&k, QRN_DTYPE_B8, DIMS(1));
    t->role = QRN_ROLE_STATIC;
    t->data = &reset;
    accepts(&k, "only default");
    reset = 1;
    refuses(&k, "only default", "input 24: given");
    t->role = QRN_ROLE_INPUT;
    t->data = NULL;
    refuses(&k, "only default", "input 24: given");
}

// --- types and values

static void types_by_operation(void **state) {
    (void)state;
    call k;
    const char *text = "per-operation dtypes {";
    unary(&k, "ElementWiseUnary", QRN_DTYPE_UQ8, QRN_DTYPE_UQ8, 2);
    call_u32(&k, "operation", 1); // ASIN
    accepts(&k, text);
    call_u32(&k, "operation", 10); // RECIPROCAL, which a client uses
    accepts(&k, text);
    unary(&k, "ElementWiseUnary", QRN_DTYPE_SQ8, QRN_DTYPE_SQ8, 2);
    call_u32(&k, "operation", 3);
    refuses(&k, text, "input 0: data type sq8, HTP supports uq8|uq16 for operation CEIL");
    unary(&k, "ElementWiseUnary", QRN_DTYPE_F32, QRN_DTYPE_F32, 2);
    call_u32(&k, "operation", 1);
    refuses(&k, text, "HTP has no operation ASIN for data type f32");
    // MOD must not be found inside FMOD.
    call_begin(&k, "ElementWiseBinary");
    call_in(&k, QRN_DTYPE_UQ8, 1, ones);
    call_in(&k, QRN_DTYPE_UQ8, 1, ones);
    call_out(&k, QRN_DTYPE_UQ8, 1, ones);
    call_u32(&k, "operation", 12);
    refuses(&k, text, "no operation MOD");
}

static void values(void **state) {
    (void)state;
    call k;
    int32_t index[] = {0, 3, -1};
    call_begin(&k, "Gather");
    call_in(&k, QRN_DTYPE_UQ8, DIMS(4, 2));
    qrn_tensor *t = call_in(&k, QRN_DTYPE_I32, DIMS(3));
    t->role = QRN_ROLE_STATIC;
    t->data = index;
    t->size_bytes = 8;
    call_out(&k, QRN_DTYPE_UQ8, DIMS(3, 2));
    accepts(&k, "indices non-negative");
    t->size_bytes = sizeof index;
    refuses(&k, "indices non-negative", "input 1: index -1");
    uint32_t value = INT32_MAX;
    unary(&k, "Cast", QRN_DTYPE_U32, QRN_DTYPE_F32, 1);
    k.in_t[0].role = QRN_ROLE_STATIC;
    k.in_t[0].data = &value;
    k.in_t[0].size_bytes = 4;
    accepts(&k, "u32 values must fit in i32");
    value++;
    refuses(&k, "u32 values must fit in i32", "value 2147483648");
}

// --- parameters

static void values_of_parameters(void **state) {
    (void)state;
    static const struct {
        const char *op, *param, *text;
        qrn_dtype x, y;
        uint32_t good, bad, rank;
    } row[] = {
        {"ArgbToRgb", "reverse_output", "only 0", QRN_DTYPE_UQ8, QRN_DTYPE_UQ8, 0, 1, 4},
        {"Nv12ToRgb", "output_order", "only RGB", QRN_DTYPE_UQ8, QRN_DTYPE_UQ8, 0, 1, 2},
        {"InstanceNorm", "mode", "only MU_SIGMA", QRN_DTYPE_UQ8, QRN_DTYPE_UQ8, 0, 1, 4},
        {"InstanceNorm", "region", "only ACROSS_SPATIAL", QRN_DTYPE_UQ8, QRN_DTYPE_UQ8, 0, 2, 4},
        {"ScatterElements", "reduction", "NONE, ADD, MUL", QRN_DTYPE_UQ16, QRN_DTYPE_UQ16, 2, 3, 2},
        {"ScatterElements", "reduction", "f16: NONE only; with NONE indices must not repeat",
         QRN_DTYPE_F16, QRN_DTYPE_F16, 0, 1, 2},
        {"Buffer", "mode", "BLOCKING mode rejected", QRN_DTYPE_UQ8, QRN_DTYPE_UQ8, 1, 0, 2},
        {"Gru", "direction", "FORWARD only", QRN_DTYPE_UQ16, QRN_DTYPE_UQ16, 0, 1, 2},
        {"ElementWiseUnary", "operation", "EXP on bf16", QRN_DTYPE_BF16, QRN_DTYPE_BF16, 5, 0, 2},
        {"Softmax", "axis", "axis must be N-1", QRN_DTYPE_UQ8, QRN_DTYPE_UQ8, 2, 1, 3},
        {"CumulativeSum", "axis", "in [0,N-1]", QRN_DTYPE_F16, QRN_DTYPE_F16, 2, 3, 3},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        call k;
        unary(&k, row[i].op, row[i].x, row[i].y, row[i].rank);
        call_u32(&k, row[i].param, row[i].good);
        accepts(&k, row[i].text);
        call_u32(&k, row[i].param, row[i].bad);
        refuses(&k, row[i].text, row[i].param[0] == 'a' ? "axis" : "HTP supports");
    }
    call k;
    unary(&k, "ScatterElements", QRN_DTYPE_F32, QRN_DTYPE_F32, 2);
    call_u32(&k, "reduction", 1); // the limit is about f16 alone
    accepts(&k, "f16: NONE only; with NONE indices must not repeat");
}

static void parameters_of_wider_ops(void **state) {
    (void)state;
    call k;
    call_begin(&k, "ElementWiseBinary");
    call_in(&k, QRN_DTYPE_SQ8, 2, ones);
    call_in(&k, QRN_DTYPE_SQ8, 2, ones);
    call_out(&k, QRN_DTYPE_SQ8, 2, ones);
    call_u32(&k, "operation", 2); // DIVIDE
    accepts(&k, "DIVIDE with sq8");
    call_u32(&k, "operation", 16); // POWER
    refuses(&k, "DIVIDE with sq8", "POWER");
    call_begin(&k, "ElementWiseBinary");
    for (uint32_t i = 0; i < 2; i++)
        call_in(&k, QRN_DTYPE_I8, 2, ones);
    call_out(&k, QRN_DTYPE_I8, 2, ones);
    call_u32(&k, "operation", 11); // MINIMUM
    accepts(&k, "one of MAXIMUM, MINIMUM");
    call_u32(&k, "operation", 0);
    refuses(&k, "one of MAXIMUM, MINIMUM",
            "parameter 'operation': value ADD, HTP supports MAXIMUM, MINIMUM for these types");
    begin_lstm(&k, 2);
    for (uint32_t i = 0; i < 10; i++)
        k.in_t[i].dtype = i < 7 ? QRN_DTYPE_UQ8 : QRN_DTYPE_SQ32;
    for (uint32_t i = 0; i < 3; i++)
        k.out_t[i].dtype = i == 1 ? QRN_DTYPE_SQ16 : QRN_DTYPE_UQ8;
    accepts(&k, "only FORWARD");
    call_u32(&k, "direction", 1);
    refuses(&k, "only FORWARD", "parameter 'direction': value REVERSE, HTP supports FORWARD");
}

static void htp_prc_06_bf16_from_v81_on(void **state) {
    (void)state;
    call k;
    unary(&k, "RmsNorm", QRN_DTYPE_BF16, QRN_DTYPE_BF16, 2);
    accepts_on(81, &k, "bf16");
    refuses_on(79, &k, "bf16", "bf16 needs an HTP of v81 or later, this device is v79");
    unary(&k, "ElementWiseUnary", QRN_DTYPE_BF16, QRN_DTYPE_BF16, 2);
    call_u32(&k, "operation", 5);
    refuses_on(79, &k, "EXP on bf16", "needs an HTP of v81 or later");
}

static void axes(void **state) {
    (void)state;
    call k;
    uint32_t axis[] = {2, 1};
    unary(&k, "LayerNorm", QRN_DTYPE_UQ8, QRN_DTYPE_UQ8, 3);
    call_tensor_param(&k, "axes", QRN_DTYPE_U32, axis, DIMS(1));
    accepts(&k, "last axis only");
    axis[0] = 1;
    refuses(&k, "last axis only", "parameter 'axes': ");
    axis[0] = 2;
    call_tensor_param(&k, "axes", QRN_DTYPE_U32, axis, DIMS(2));
    refuses(&k, "last axis only", "2 axes");
    call_begin(&k, "Lrn");
    call_in(&k, QRN_DTYPE_F32, DIMS(1, 31, 33, 4));
    call_out(&k, QRN_DTYPE_F32, DIMS(1, 31, 33, 4));
    call_u32(&k, "region", 1);
    accepts(&k, "WITHIN_CHANNEL needs H*W<1024");
    k.in_t[0].shape.dims[2] = 34;
    refuses(&k, "WITHIN_CHANNEL needs H*W<1024", "31x34");
}

static void dilated(call *k, const char *op, qrn_dtype x, uint32_t *dilation, uint32_t *stride) {
    uint32_t rank = strstr(op, "3d") ? 5 : 4;
    weighted(k, op, x, x, rank);
    call_tensor_param(k, "dilation", QRN_DTYPE_U32, dilation, DIMS(rank - 2));
    call_tensor_param(k, "stride", QRN_DTYPE_U32, stride, DIMS(rank - 2));
}

static void dilations(void **state) {
    (void)state;
    const char *any = "dilation>1 only with stride [1,1]",
               *deep = "dilation>1 only with h,w stride 1";
    const char *two =
        "dilation>1 only with stride [1,1], or dilation [2,2]+stride [2,2]+kernel [3,3]";
    call k;
    uint32_t d[3] = {2, 3, 1}, s[3] = {1, 1, 1};
    dilated(&k, "DepthWiseConv2d", QRN_DTYPE_F32, d, s);
    accepts(&k, any);
    s[1] = 2;
    refuses(&k, any, "dilation [2,3] with stride [1,2]");
    d[0] = d[1] = 1;
    accepts(&k, any);
    d[0] = d[1] = s[0] = 2;
    refuses(&k, any, "dilation [2,2] with stride [2,2]");
    dilated(&k, "DepthWiseConv2d", QRN_DTYPE_UQ8, d, s);
    accepts(&k, two);
    k.in_t[1].shape.dims[0] = 5;
    refuses(&k, two, "dilation [2,2] with stride [2,2]");
    d[0] = 1;
    dilated(&k, "Conv3d", QRN_DTYPE_F32, d, s);
    s[1] = s[2] = 1;
    accepts(&k, deep);
    accepts(&k, "depth dilation=1");
    s[2] = 2;
    refuses(&k, deep, "dilation [2,1] with stride [1,2]");
    s[2] = 1;
    d[0] = 2;
    refuses(&k, "depth dilation=1", "dilation 2 of the depth");
}

// --- all of them

static void every_meaning_was_tried_from_both_sides(void **state) {
    (void)state;
    for (size_t i = 0; qrn_htp_limit_at(i); i++) {
        const qrn_htp_limit *l = qrn_htp_limit_at(i);
        if (!l->rules[0] && !l->rank)
            assert_non_null(l->why);
        else if (!g_accepted[i] || !g_refused[i])
            fail_msg("'%s' was not %s", l->text, g_accepted[i] ? "refused" : "accepted");
    }
}

static qrn_dtype first_type(const char *token) {
    for (int i = 0; i < QRN_DTYPE_COUNT; i++)
        if (tsv_types(token) >> i & 1)
            return (qrn_dtype)i;
    return QRN_DTYPE_COUNT;
}

// A call with the types of an alternative "in[0]=f32|f16,in[1]=...": of rank 3.
static void begin_row(call *k, const char *op, const char *alternative) {
    char copy[TSV_LINE], *operand[64], types[128];
    strcpy(copy, alternative);
    call_begin(k, op);
    size_t n = tsv_split(copy, ",", operand, 64);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(sscanf(operand[i], "%*[^=]=%127[a-z0-9]", types), 1);
        qrn_tensor *t = operand[i][0] == 'i' ? call_in(k, first_type(types), 3, ones)
                                             : call_out(k, first_type(types), 3, ones);
        t->role = QRN_ROLE_STATIC;
    }
}

// The largest rank of a plain text, widened for the ops that later releases mention; 0: not plain.
static uint32_t published_rank(const char *op, const char *text) {
    static const char *const wider[] = {"GatherElements",
                                        "Pad",
                                        "ElementWiseExp",
                                        "ReluMinMax",
                                        "Cast",
                                        "Pack",
                                        "ReduceMean", // later releases
                                        "Tile",
                                        "Gelu",
                                        "MatMul",
                                        "ElementWiseSquareRoot",
                                        "ReduceSum",
                                        "ReduceMax",
                                        "ElementWiseMaximum",
                                        "Prelu"}; // observed
    uint32_t max = 0;
    char after = '\0';
    if (sscanf(text, "rank<=%u%c", &max, &after) < 1 && sscanf(text, "rank=%u%c", &max, &after) < 1)
        sscanf(text, "rank %*u..%u%c", &max, &after);
    if (!max || after)
        return 0;
    for (size_t i = 0; i < sizeof wider / sizeof wider[0]; i++)
        if (strcmp(op, wider[i]) == 0 && max < 5)
            max = 5;
    return strcmp(op, "Lstm") == 0 ? 3 : max;
}

static bool rank_was_the_reason(const call *k, bool is_output, uint32_t index) {
    char place[32];
    qrn_htp_device d = {.soc = *qrn_soc_of_arch(81), .chosen = true};
    qrn_message_clear();
    if (qrn_htp_limits_check(&d, &k->c) == QRN_OK)
        return false;
    snprintf(place, sizeof place, "%s %u: rank ", is_output ? "output" : "input", index);
    return strstr(qrn_message(), place) != NULL;
}

// The operand and the largest rank that a clause "in[0]: rank<=4" is about; NULL for other clauses.
static qrn_tensor *operand_of(call *k, const char *clause, uint32_t *max, bool *is_output,
                              uint32_t *index) {
    char subject[40];
    *max = published_rank(k->c.op->name, without_subject(clause, subject));
    *is_output = subject[0] == 'o';
    if (!*max || sscanf(subject, "%*[a-z][%u", index) != 1)
        return NULL;
    return *is_output ? &k->out_t[*index] : &k->in_t[*index];
}

// All operands have their largest rank, which is good; then this one has one more.
static void one_rank_too_many(const tsv *t, const char *alternative, char *const *clause, size_t n,
                              size_t at) {
    call k;
    uint32_t max, index;
    bool is_output;
    begin_row(&k, t->col[0], alternative);
    for (size_t i = 0; i < n; i++) {
        qrn_tensor *other = operand_of(&k, clause[i], &max, &is_output, &index);
        if (other)
            *other = call_tensor(other->dtype, QRN_ROLE_STATIC, max, ones);
        else if (strstr(clause[i], "must be absent") && sscanf(clause[i], "in[%u", &index) == 1)
            k.in[index] = NULL;
    }
    qrn_tensor *operand = operand_of(&k, clause[at], &max, &is_output, &index);
    if (rank_was_the_reason(&k, is_output, index))
        fail_msg("%s %s %s: %s", t->col[0], t->col[2], clause[at], qrn_message());
    operand->shape.dims[operand->shape.rank++] = 1;
    if (!rank_was_the_reason(&k, is_output, index))
        fail_msg("%s %s %s: rank %u passes (%s)", t->col[0], t->col[2], clause[at], max + 1,
                 qrn_message());
}

static void every_rank_limit_of_every_row_holds(void **state) {
    (void)state;
    tsv t;
    open_facts(&t);
    size_t tried = 0;
    while (next_htp_row(&t)) {
        char *alt[16], *clause[64];
        size_t n_alts = tsv_split(t.col[4], " ; ", alt, 16);
        size_t n = tsv_split(t.col[6], " ; ", clause, 64);
        for (size_t a = 0; strcmp(t.col[3], "yes") == 0 && a < n_alts; a++)
            for (size_t c = 0; c < n; c++) {
                call k;
                uint32_t max, index;
                bool is_output;
                call_begin(&k, t.col[0]);
                if (!operand_of(&k, clause[c], &max, &is_output, &index))
                    continue;
                one_rank_too_many(&t, alt[a], clause, n, c);
                tried++;
            }
    }
    assert_true(tried > 800);
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    g_folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_published_limit_has_a_meaning_and_no_meaning_is_idle),
        cmocka_unit_test(ranks),
        cmocka_unit_test(ranks_by_operation),
        cmocka_unit_test(shapes),
        cmocka_unit_test(lstm),
        cmocka_unit_test(types_by_operation),
        cmocka_unit_test(values),
        cmocka_unit_test(encodings),
        cmocka_unit_test(biases),
        cmocka_unit_test(weights_by_axis),
        cmocka_unit_test(weights_computed_from_static_ones),
        cmocka_unit_test(weights_of_16_bits),
        cmocka_unit_test(weights_by_block),
        cmocka_unit_test(weights_of_float_inputs),
        cmocka_unit_test(values_of_parameters),
        cmocka_unit_test(parameters_of_wider_ops),
        cmocka_unit_test(htp_prc_06_bf16_from_v81_on),
        cmocka_unit_test(axes),
        cmocka_unit_test(dilations),
        cmocka_unit_test(every_meaning_was_tried_from_both_sides),
        cmocka_unit_test(every_rank_limit_of_every_row_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
