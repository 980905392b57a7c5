// SPDX-License-Identifier: MIT
//
// The text of compiled graphs: every attribute that is not 0 is there with its value, for every op;
// lines of a small graph, written out by hand; what is cut; hostile names.
#include "compiler/compiled.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST_LINES 8
#define MOST_BYTES 2000

static char lines[MOST_LINES][MOST_BYTES];
static uint32_t n_lines;

static void keep(void *ctx, const char *line) {
    (void)ctx;
    assert_true(n_lines < MOST_LINES);
    assert_true(strlen(line) < MOST_BYTES);
    assert_null(strpbrk(line, "\n\r\x1b"));
    strcpy(lines[n_lines++], line);
}

static void print(const qrn_compiled *cg) {
    n_lines = 0;
    assert_int_equal(qrn_compiled_print(cg, keep, NULL), QRN_OK);
    assert_int_equal(n_lines, cg->n_steps + 1);
}

// --- attributes

// An op with no operands but one of each kind.
static qrn_cvalue values[2] = {
    {.kind = QRN_CV_IO, .dtype = QRN_DTYPE_F32, .base = QRN_VAL_NONE, .io = 0, .name = "x"},
    {.kind = QRN_CV_IO, .dtype = QRN_DTYPE_F32, .base = QRN_VAL_NONE, .io = 1, .name = "y"}};
static qrn_cio io[2] = {{.value = 0}, {.value = 1, .is_output = true}};
static qrn_cnode node = {.name = "n", .type = "Type"};

static void print_op(const qrn_cop *op, void *args) {
    uint32_t in = 0, out = 1;
    qrn_cstep step = {.kind = QRN_CSTEP_OP,
                      .domain = QRN_DOMAIN_RAW,
                      .op = op,
                      .args = args,
                      .in = &in,
                      .out = &out,
                      .n_in = 1,
                      .n_out = 1};
    const qrn_compiled cg = {.name = "g",
                             .values = values,
                             .steps = &step,
                             .nodes = &node,
                             .io = io,
                             .n_values = 2,
                             .n_steps = 1,
                             .n_nodes = 1,
                             .n_io = 2};
    print(&cg);
}

// Element i of an attribute: different ones, with many digits.
static double sample(const qrn_attr *a, uint32_t i) {
    switch ((qrn_attr_kind)a->kind) {
    case QRN_ATTR_BOOL:
        return 1;
    case QRN_ATTR_U8:
        return 200 + i;
    case QRN_ATTR_U32:
        return 4000000000.0 + i;
    case QRN_ATTR_I32:
    case QRN_ATTR_I64:
        return -2000000000.0 - i;
    case QRN_ATTR_F32:
        return (double)(-0.1f - (float)i);
    default:
        return -0.1 - i / 3.0;
    }
}

static void set(void *args, const qrn_attr *a, uint32_t i) {
    double v = sample(a, i);
    float f = (float)v;
    uint64_t bits = 0;
    if (a->kind == QRN_ATTR_F64)
        memcpy(&bits, &v, sizeof v);
    else if (a->kind == QRN_ATTR_F32)
        memcpy(&bits, &f, sizeof f);
    else
        bits = (uint64_t)(int64_t)v;
    assert_true(qrn_attr_set(args, a, i, bits));
}

// Where the value of an attribute stands in the line of the step, n-th of its name; fails when it
// is not there.
static const char *find(const char *name, uint32_t nth) {
    char mark[2][80];
    snprintf(mark[0], sizeof mark[0], "{%s=", name);
    snprintf(mark[1], sizeof mark[1], ", %s=", name);
    const char *first = strstr(lines[1], mark[0]), *at = lines[1];
    if (first && nth-- == 0)
        return first + strlen(mark[0]);
    do {
        at = strstr(at, mark[1]);
        if (!at)
            fail_msg("no '%s' in: %s", name, lines[1]);
        at += strlen(mark[1]);
    } while (nth-- > 0);
    return at;
}

static void expect(const qrn_attr *a, uint32_t nth) {
    const char *at = find(a->name, nth);
    if (a->count > 1)
        assert_int_equal(*at++, '[');
    for (uint32_t i = 0; i < a->count; i++) {
        char *end;
        double got = strncmp(at, "true", 4) == 0 ? 1 : strtod(at, &end);
        if (a->kind == QRN_ATTR_BOOL)
            end = (char *)(uintptr_t)at + 4;
        double want = sample(a, i);
        if (a->kind == QRN_ATTR_F32 ? (float)got != (float)want : got != want)
            fail_msg("%s[%u] is not %.17g in: %s", a->name, i, want, lines[1]);
        assert_int_equal(*end, i + 1 < a->count ? ',' : a->count > 1 ? ']' : *end);
        at = end + 1;
    }
}

static void every_attribute_of_every_op_is_printed(void **state) {
    (void)state;
    uint32_t n_ops = 0, n_attrs = 0;
    for (uint32_t id = 1; id < 1000; id++) {
        const qrn_cop *op = qrn_cop_by_id(id);
        if (!op)
            continue;
        void *args = calloc(1, op->family->args_bytes + 1);
        assert_non_null(args);
        for (uint32_t i = 0; i < op->n_attrs; i++)
            for (uint32_t k = 0; k < op->attrs[i].count; k++)
                set(args, &op->attrs[i], k);
        print_op(op, args);
        assert_null(strstr(lines[1], "..."));
        for (uint32_t i = 0; i < op->n_attrs; i++) {
            uint32_t nth = 0; // members of two arrays may have one name
            for (uint32_t k = 0; k < i; k++)
                nth += strcmp(op->attrs[k].name, op->attrs[i].name) == 0;
            expect(&op->attrs[i], nth);
        }
        free(args);
        n_ops++;
        n_attrs += op->n_attrs;
    }
    assert_true(n_ops > 80 && n_attrs > 150); // the table is there
}

static void an_attribute_alone_is_printed_alone(void **state) {
    (void)state;
    for (uint32_t id = 1; id < 1000; id++) {
        const qrn_cop *op = qrn_cop_by_id(id);
        for (uint32_t i = 0; op && i < op->n_attrs; i++) {
            const qrn_attr *a = &op->attrs[i];
            uint8_t *args = calloc(1, op->family->args_bytes + 1);
            assert_non_null(args);
            print_op(op, args);
            assert_null(strchr(lines[1], '{'));
            set(args, a, a->count - 1u); // zeros before it are printed, nothing else
            print_op(op, args);
            const char *at = find(a->name, 0), *end = strchr(at, '}');
            assert_non_null(end);
            assert_null(memchr(at, '=', (size_t)(end - at)));
            free(args);
        }
    }
}

// --- a graph

static uint32_t in0[] = {0, 1, 2}, out0[] = {4}, in1[] = {4}, out1[] = {5},
                in2[] = {5, QRN_VAL_NONE}, out2[] = {3};
static const float scales[6] = {1, 1, 1, 1, 1, 1};
static const qrn_attr attrs[] = {
    {.name = "axis", .offset = 0, .stride = 4, .count = 1, .kind = QRN_ATTR_I32},
    {.name = "pad", .offset = 4, .stride = 4, .count = 4, .kind = QRN_ATTR_U32},
    {.name = "eps", .offset = 20, .stride = 4, .count = 1, .kind = QRN_ATTR_F32}};
static const qrn_cop test_op = {.name = "sum", .attrs = attrs, .n_attrs = 3};

#define OF(...)                                                                                    \
    {                                                                                              \
        .rank = sizeof((uint32_t[]){__VA_ARGS__}) / 4, .dims = { __VA_ARGS__ }                     \
    }

static qrn_cvalue some[] = {
    {.kind = QRN_CV_IO,
     .dtype = QRN_DTYPE_UQ8,
     .shape = OF(2, 6),
     .size_bytes = 12,
     .name = "x",
     .quant = {.kind = QRN_QUANT_TENSOR, .bits = 8, .scale = 0.05f, .offset = -128},
     .base = QRN_VAL_NONE},
    {.kind = QRN_CV_CONST,
     .dtype = QRN_DTYPE_SQ8,
     .shape = OF(6, 6),
     .size_bytes = 36,
     .quant = {.kind = QRN_QUANT_AXIS, .bits = 4, .axis = 1, .scales = scales, .n_groups = 6},
     .base = QRN_VAL_NONE,
     .constant = 0,
     .name = "w"},
    {.kind = QRN_CV_CONST,
     .dtype = QRN_DTYPE_F32,
     .shape = OF(6, 6),
     .size_bytes = 144,
     .base = QRN_VAL_NONE,
     .constant = 1,
     .name = ""},
    {.kind = QRN_CV_IO,
     .io = 1,
     .dtype = QRN_DTYPE_F32,
     .shape = OF(2, 6),
     .size_bytes = 48,
     .base = QRN_VAL_NONE,
     .name = "y\n\x1b[1m\"z"},
    {.kind = QRN_CV_TEMP,
     .dtype = QRN_DTYPE_F32,
     .shape = OF(3, 6),
     .size_bytes = 72,
     .base = QRN_VAL_NONE,
     .name = ""},
    {.kind = QRN_CV_TEMP,
     .dtype = QRN_DTYPE_F32,
     .shape = OF(2, 6),
     .size_bytes = 48,
     .base = 4,
     .base_offset = 24,
     .name = "t"}};
static qrn_cconst constants[] = {{.kind = QRN_CONST_TENSOR, .updateable = true},
                                 {.kind = QRN_CONST_ROUNDED, .source = 1}};
static qrn_cnode some_nodes[] = {{.name = "first", .type = "MatMul"},
                                 {.name = "second", .type = "Relu"}};
static struct {
    int32_t axis;
    uint32_t pad[4];
    float eps;
} some_args = {-1, {0, 2, 0, 0}, 1e-5f};
static qrn_cstep some_steps[] = {{.op = &test_op,
                                  .domain = QRN_DOMAIN_RAW,
                                  .args = &some_args,
                                  .in = in0,
                                  .n_in = 3,
                                  .out = out0,
                                  .n_out = 1,
                                  .n_fused = 1},
                                 {.op = &test_op,
                                  .domain = QRN_DOMAIN_F32,
                                  .in = in1,
                                  .n_in = 1,
                                  .out = out1,
                                  .n_out = 1,
                                  .node = 1},
                                 {.op = &test_op,
                                  .domain = QRN_DOMAIN_F32,
                                  .in = in2,
                                  .n_in = 2,
                                  .out = out2,
                                  .n_out = 1,
                                  .node = 1,
                                  .state_bytes = 8}};
static const qrn_compiled graph = {.name = "net",
                                   .half = QRN_FP16_IEEE,
                                   .values = some,
                                   .steps = some_steps,
                                   .constants = constants,
                                   .nodes = some_nodes,
                                   .io = (qrn_cio[]){{.value = 0}, {.value = 3, .is_output = true}},
                                   .n_values = 6,
                                   .n_steps = 3,
                                   .n_constants = 2,
                                   .n_nodes = 2,
                                   .n_io = 2};

static void lines_of_a_graph(void **state) {
    (void)state;
    static const char *const want[] = {
        "graph \"net\": fp16 ieee, inputs 1, outputs 1, values 6, steps 3, constants 2 (180 bytes)",
        "   0   %4: f32[3,6]                 = sum.raw("
        "%0 input \"x\": uq8[2,6]<scale 0.05 offset -128>, "
        "%1 const tensor updateable \"w\": sq8[6,6]<per axis 1, 6 scales, 4 bits>, "
        "%2 const rounded(%1): f32[6,6]) {axis=-1, pad=[0,2], eps=1e-05} epilogue 1..1 "
        "live 0..2 // MatMul \"first\"",
        "   1 + %5 \"t\" in %4+24: f32[2,6]    = sum.f32(%4: f32[3,6]) live 0..2 "
        "// Relu \"second\"",
        "   2   %3 output \"y\\n\\x1b[1m\\\"z\": f32[2,6] = sum.f32("
        "%5 \"t\" in %4+24: f32[2,6], none) state 8 bytes live 2..2 // Relu \"second\""};
    print(&graph);
    for (uint32_t i = 0; i < 4; i++)
        assert_string_equal(lines[i], want[i]);
}

static void control_steps_name_their_targets(void **state) {
    (void)state;
    qrn_cstep steps[] = {{.kind = QRN_CSTEP_BRANCH, .in = in0, .n_in = 1, .target = 2},
                         {.kind = QRN_CSTEP_JUMP, .target = 2}};
    qrn_compiled cg = graph;
    cg.steps = steps;
    cg.n_steps = 2;
    print(&cg);
    assert_string_equal(lines[1],
                        "   0   if not (%0 input \"x\": uq8[2,6]<scale 0.05 offset -128>) "
                        "go to 2 // MatMul \"first\"");
    assert_string_equal(lines[2], "   1   go to 2 // MatMul \"first\"");
}

// --- what is too long

static void long_lists_are_cut_with_a_count(void **state) {
    (void)state;
    uint32_t in[100];
    for (uint32_t i = 0; i < 100; i++)
        in[i] = 4;
    qrn_cstep step = some_steps[0];
    step.in = in;
    step.n_in = 100;
    step.n_fused = 0;
    qrn_compiled cg = graph;
    cg.steps = &step;
    cg.n_steps = 1;
    print(&cg);
    assert_non_null(
        strstr(lines[1], "f32[3,6], ... 92 more) {axis=-1, pad=[0,2], eps=1e-05} live"));
}

static void the_end_of_a_line_is_never_cut(void **state) {
    (void)state;
    static char name[5000];
    memset(name, '\x01', sizeof name - 1); // four characters each, once they are escaped
    qrn_cnode long_node = {.name = name, .type = "Type"};
    qrn_cvalue long_values[2] = {values[0], values[1]};
    long_values[0].name = long_values[1].name = name;
    uint32_t in[8] = {0}, out[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    qrn_cstep step = {.op = &test_op,
                      .domain = QRN_DOMAIN_RAW,
                      .args = &some_args,
                      .in = in,
                      .out = out,
                      .n_in = 8,
                      .n_out = 8,
                      .state_bytes = 77};
    const qrn_compiled cg = {.name = name,
                             .values = long_values,
                             .steps = &step,
                             .nodes = &long_node,
                             .io = io,
                             .n_values = 2,
                             .n_steps = 1,
                             .n_nodes = 1,
                             .n_io = 2};
    print(&cg);
    assert_non_null(strstr(lines[0], "...\": fp16 off"));
    assert_non_null(strstr(lines[1], " more"));
    assert_non_null(strstr(lines[1], " state 77 bytes live 0..0"));
    const char *end = lines[1] + strlen(lines[1]) - 5;
    assert_string_equal(end, "1...\"");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_attribute_of_every_op_is_printed),
        cmocka_unit_test(an_attribute_alone_is_printed_alone),
        cmocka_unit_test(lines_of_a_graph),
        cmocka_unit_test(control_steps_name_their_targets),
        cmocka_unit_test(long_lists_are_cut_with_a_count),
        cmocka_unit_test(the_end_of_a_line_is_never_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
