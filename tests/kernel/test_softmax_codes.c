// SPDX-License-Identifier: MIT
//
// Softmax of codes: every row that this machine can run against the formula in long double, for all
// pairs of formats, on rows of all lengths, whole and in parts. Codes must be equal but where the
// real result is too close to the border between two codes for long double to tell.
// QUERN_TEST_SEED repeats a run.
#include "base/cpu.h"
#include "kernels/softmax/softmax.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t state;

static uint32_t random_u32(void) { // xorshift64*
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (uint32_t)((state * 0x2545F4914F6CDD1Du) >> 32);
}
static uint32_t between(uint32_t lo, uint32_t hi) { return lo + random_u32() % (hi - lo + 1); }
static float real_between(double lo, double hi) {
    return (float)(lo + (hi - lo) * (random_u32() / 4294967296.0));
}

static const qrn_dtype formats[] = {QRN_DTYPE_UQ8, QRN_DTYPE_SQ8, QRN_DTYPE_UQ16, QRN_DTYPE_SQ16};

static int32_t code_at(const qrn_view *v, size_t i) {
    switch (v->dtype) {
    case QRN_DTYPE_UQ8:
        return ((const uint8_t *)v->data)[i];
    case QRN_DTYPE_SQ8:
        return ((const int8_t *)v->data)[i];
    case QRN_DTYPE_UQ16:
        return ((const uint16_t *)v->data)[i];
    default:
        return ((const int16_t *)v->data)[i];
    }
}

// Memory of exactly the right size, so that sanitizers see any overrun; random codes within
// `spread` of each other.
static qrn_view make(const qrn_quant *quant, uint32_t rank, const uint32_t *dims, uint32_t spread) {
    qrn_view v = {.dtype = formats[between(0, 3)], .quant = quant, .rank = rank};
    memcpy(v.dims, dims, rank * sizeof *dims);
    size_t n = qrn_view_count(&v), size = qrn_view_elem(&v);
    v.data = malloc(n * size);
    assert_non_null(v.data);
    for (size_t i = 0; i < n; i++) {
        uint32_t code = between(0, spread) + 60;
        if (size == 1)
            ((uint8_t *)v.data)[i] = (uint8_t)code;
        else
            ((uint16_t *)v.data)[i] = (uint16_t)code;
    }
    return v;
}

static void run_row(const qrn_kernel *row, qrn_kcall *k, uint32_t n_tasks) {
    k->n_tasks = n_tasks;
    size_t bytes = row->scratch ? row->scratch(k) : 0;
    k->scratch = malloc(bytes ? bytes : 1);
    assert_non_null(k->scratch);
    memset(k->scratch, 0xff, bytes);
    for (k->task = 0; k->task < n_tasks; k->task++)
        assert_int_equal(row->fn(k), QRN_OK);
    free(k->scratch);
}

// The results of one row of the tensor in units of the output's scale.
static void expect(const qrn_view *x, float scale_y, double beta, size_t at, size_t n, size_t step,
                   long double *want) {
    long double top = -INFINITY, sum = 0, unit = (long double)x->quant->scale * (long double)beta;
    for (size_t i = 0; i < n; i++)
        top = fmaxl(top, unit * code_at(x, at + i * step));
    for (size_t i = 0; i < n; i++)
        sum += want[i] = expl(unit * code_at(x, at + i * step) - top);
    for (size_t i = 0; i < n; i++)
        want[i] /= sum * (long double)scale_y;
}

static void check(const qrn_kernel *row, const qrn_kcall *k) {
    static const int32_t low[] = {0, -128, 0, -32768}, high[] = {255, 127, 65535, 32767};
    const qrn_softmax_args *a = k->args;
    const qrn_view *x = k->in[0], *y = k->out[0];
    size_t n = x->dims[a->axis], inner = qrn_view_span(x, a->axis + 1, x->rank);
    size_t f = 0, rows = qrn_view_count(x) / n;
    while (formats[f] != y->dtype)
        f++;
    long double *want = malloc(n * sizeof *want);
    assert_non_null(want);
    for (size_t r = 0; r < rows; r++) {
        size_t at = r / inner * n * inner + r % inner;
        expect(x, y->quant->scale, (double)a->beta, at, n, inner, want);
        for (size_t i = 0; i < n; i++) {
            long double code = floorl(want[i] + 0.5L) - y->quant->offset;
            if (fabsl(want[i] + 0.5L - roundl(want[i] + 0.5L)) < 1e-9L)
                continue;
            code = code < low[f] ? low[f] : code > high[f] ? high[f] : code;
            int32_t got = code_at(y, at + i * inner);
            if (got != (int32_t)code)
                fail_msg("%s: element %zu of row %zu is %d, expected %d", row->name, i, r, got,
                         (int32_t)code);
        }
    }
    free(want);
}

static void rows_give_the_nearest_code(void **unused) {
    (void)unused;
    const char *seed = getenv("QUERN_TEST_SEED");
    state = seed ? strtoull(seed, NULL, 0) : 0x5eed;
    print_message("QUERN_TEST_SEED=%llu\n", (unsigned long long)state);
    unsigned checked = 0;
    for (unsigned round = 0; round < 600; round++) {
        uint32_t dims[3] = {between(1, 3), between(1, 9), between(1, round % 16 ? 200 : 2000)};
        qrn_softmax_args args = {.axis = between(0, 7) ? 2 : between(0, 1)};
        args.beta = between(0, 7) ? 1.0f : real_between(-2, 3);
        qrn_quant x_quant = {.kind = QRN_QUANT_TENSOR, .offset = (int32_t)between(0, 300) - 150};
        qrn_quant y_quant = {.kind = QRN_QUANT_TENSOR};
        uint32_t spread = between(0, 2) ? 190 : between(0, 65000);
        x_quant.scale = real_between(1e-4, 20.0 / (spread + 1) + 1e-3);
        y_quant.scale = real_between(1.0 / 70000, between(0, 1) ? 1.0 / 60000 : 0.02);
        y_quant.offset = between(0, 1) ? 0 : (int32_t)between(0, 60) - 30;
        qrn_view x = make(&x_quant, 3, dims, spread), y = make(&y_quant, 3, dims, 0);
        qrn_view *ins[1] = {&x}, *outs[1] = {&y};
        qrn_kcall k = {.args = &args, .in = ins, .out = outs, .n_in = 1, .n_out = 1};
        for (uint32_t i = 0; i < qrn_family_softmax.n_rows; i++) {
            const qrn_kernel *row = &qrn_family_softmax.rows[i];
            if (qrn_kernel_refusal(row, QRN_DOMAIN_RAW, &k, qrn_cpu_isa()))
                continue;
            for (uint32_t n_tasks = 1; n_tasks <= 3; n_tasks += 2) {
                memset(y.data, 0xaa, qrn_view_count(&y) * qrn_view_elem(&y));
                run_row(row, &k, n_tasks);
                check(row, &k);
            }
            checked++;
        }
        free(x.data);
        free(y.data);
    }
    print_message("%u comparisons\n", checked);
    assert_true(checked >= 600);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_give_the_nearest_code)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
