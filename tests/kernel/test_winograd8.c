// SPDX-License-Identifier: MIT
//
// 3x3 convolutions on 8-bit values with the matrices of Winograd's form beside the packed weights:
// every row of the dense8 family, bit for bit against the definition of
// src/kernels/gemm/epilogue/requant.h written out here, on random shapes and encodings and on the
// largest sums there can be. QUERN_TEST_SEED repeats a run.
#include "base/cpu.h"
#include "kernels/gemm/tiles/gemm_q8.h"
#include "kernels/gemm/winograd/winograd8.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chance.h"

#include "../proof/prove_call.h"

#define COLS_MAX 80

// A layer; tensors have memory of exactly the right size, so that sanitizers see any overrun.
typedef struct layer {
    uint32_t batch, h, w, pad, cin, cout, oh, ow;
    bool x_signed, w_signed, y_signed, has_bias;
    qrn_quant xq, yq;
    uint8_t *x, *weights, *y, *expected;
    int32_t bias[COLS_MAX], sums[COLS_MAX];
    float scales[COLS_MAX];
} layer;

static uint8_t *quantized(size_t n) {
    uint8_t *data = malloc(n);
    assert_non_null(data);
    bool ends = between(0, 5) == 0; // nothing but the ends of the range
    for (size_t i = 0; i < n; i++)
        data[i] = (uint8_t)(ends ? random_u32() % 2 * 255 : random_u32());
    return data;
}

static void make_layer(layer *l) {
    l->oh = l->h + 2 * l->pad - 2;
    l->ow = l->w + 2 * l->pad - 2;
    l->x = quantized((size_t)l->batch * l->h * l->w * l->cin);
    l->weights = quantized((size_t)9 * l->cin * l->cout);
    l->y = quantized((size_t)l->batch * l->oh * l->ow * l->cout);
    l->expected = quantized((size_t)l->batch * l->oh * l->ow * l->cout);
    int32_t low = l->x_signed ? -128 : 0;
    l->xq = (qrn_quant){.kind = QRN_QUANT_TENSOR, .bits = 8, .scale = 0.02f};
    l->xq.offset = -(low + (int32_t)between(0, 255));
    float most = 0.0f;
    for (uint32_t c = 0; c < l->cout; c++) {
        l->scales[c] = 0.01f + (float)(random_u32() % 1000) / 20000.0f;
        most = l->scales[c] > most ? l->scales[c] : most;
        l->bias[c] = (int32_t)(random_u32() % 20001) - 10000;
    }
    l->yq = (qrn_quant){.kind = QRN_QUANT_TENSOR, .bits = 8};
    l->yq.scale = l->xq.scale * most * sqrtf((float)l->cin) * (between(0, 3) ? 150.0f : 9.0f);
    l->yq.offset = (int32_t)between(0, 280) - (l->y_signed ? 140 : 260);
}

static void free_layer(layer *l) {
    free(l->x);
    free(l->weights);
    free(l->y);
    free(l->expected);
}

static int32_t number(uint8_t quantized, bool is_signed) {
    return is_signed ? (int8_t)quantized : quantized;
}

// Weights: signed bytes, or unsigned ones less 128.
static int32_t weight(const layer *l, size_t i) {
    return number(l->weights[i], l->w_signed) - (l->w_signed ? 0 : 128);
}

static uint8_t expected_q(const layer *l, uint32_t n, uint32_t oy, uint32_t ox, uint32_t c) {
    int64_t sum = l->has_bias ? l->bias[c] : 0;
    for (uint32_t tap = 0; tap < 9; tap++) {
        int64_t y = (int64_t)oy + tap / 3 - l->pad, x = (int64_t)ox + tap % 3 - l->pad;
        if (y < 0 || x < 0 || y >= l->h || x >= l->w)
            continue;
        const uint8_t *cell = l->x + (size_t)((n * l->h + y) * l->w + x) * l->cin;
        for (uint32_t i = 0; i < l->cin; i++)
            sum += (int64_t)(number(cell[i], l->x_signed) + l->xq.offset) *
                   weight(l, ((size_t)tap * l->cin + i) * l->cout + c);
    }
    double m = (double)l->xq.scale * (double)l->scales[c] / (double)l->yq.scale;
    double t = floor(fma((double)sum, m, 0.5 - (double)l->yq.offset));
    double lo = l->y_signed ? -128 : 0, hi = lo + 255;
    return (uint8_t)(int32_t)(t < lo ? lo : t > hi ? hi : t);
}

static void find_expected(layer *l) {
    uint8_t *to = l->expected;
    for (uint32_t n = 0; n < l->batch; n++)
        for (uint32_t y = 0; y < l->oh; y++)
            for (uint32_t x = 0; x < l->ow; x++)
                for (uint32_t c = 0; c < l->cout; c++)
                    *to++ = expected_q(l, n, y, x, c);
}

static void check_row(const qrn_kernel *row, qrn_kcall *k, const layer *l) {
    size_t n = (size_t)l->batch * l->oh * l->ow * l->cout;
    for (k->n_tasks = 1; k->n_tasks <= 7; k->n_tasks += 3) {
        size_t bytes = row->scratch(k);
        k->scratch = aligned_alloc(64, (bytes + 64) / 64 * 64);
        assert_non_null(k->scratch);
        memset(k->scratch, 0xa5, bytes);
        memset(l->y, 0x5a, n);
        for (k->task = 0; k->task < k->n_tasks; k->task++)
            assert_int_equal(row->fn(k), QRN_OK);
        free(k->scratch);
        k->scratch = NULL;
        for (size_t i = 0; i < n; i++)
            if (l->y[i] != l->expected[i])
                fail_msg("%s, %u tasks, %ux%ux%u to %u: result %zu is %d, expected %d", row->name,
                         k->n_tasks, l->h, l->w, l->cin, l->cout, i, l->y[i], l->expected[i]);
    }
    k->task = 0;
}

static qrn_view view_of(void *data, qrn_dtype t, const qrn_quant *q, uint32_t a, uint32_t b,
                        uint32_t c, uint32_t d) {
    return (qrn_view){.data = data, .quant = q, .dtype = t, .rank = 4, .dims = {a, b, c, d}};
}

// Runs every row on a layer; returns whether Winograd's was among them.
static bool check_layer(layer *l) {
    qrn_dense8_args args = {.dense = {.conv = {.n_spatial = 2,
                                               .group = 1,
                                               .stride = {1, 1},
                                               .dilation = {1, 1},
                                               .before = {l->pad, l->pad}},
                                      .kernel = {3, 3},
                                      .group = 1,
                                      .depth = 9 * l->cin,
                                      .cols = l->cout}};
    uint8_t flip = l->w_signed ? 0 : 0x80;
    // Packed weights: panels of columns, steps of depth, and what one step of a panel holds.
    uint32_t d8[4] = {(uint32_t)qrn_panels(l->cout), (uint32_t)qrn_q8_steps(9 * l->cin), QRN_PANEL,
                      QRN_Q8_DEPTH};
    uint32_t d[4];
    qrn_winograd8_shape(&args.dense, d);
    int8_t *packed = malloc((size_t)d8[0] * d8[1] * d8[2] * d8[3]);
    int16_t *matrices = malloc((size_t)d[0] * d[1] * d[2] * d[3] * sizeof *matrices);
    assert_true(packed && matrices);
    qrn_dense8_pack(&args.dense, l->weights, l->cout, 1, flip, packed);
    qrn_winograd8_pack(&args.dense, packed, matrices);
    qrn_dense8_sums(&args.dense, l->weights, l->cout, 1, flip, l->sums);
    qrn_view x = view_of(l->x, l->x_signed ? QRN_DTYPE_SQ8 : QRN_DTYPE_UQ8, &l->xq, l->batch, l->h,
                         l->w, l->cin);
    qrn_view y = view_of(l->y, l->y_signed ? QRN_DTYPE_SQ8 : QRN_DTYPE_UQ8, &l->yq, l->batch, l->oh,
                         l->ow, l->cout);
    qrn_view w = view_of(packed, QRN_DTYPE_I8, NULL, d8[0], d8[1], d8[2], d8[3]);
    qrn_view u = view_of(matrices, QRN_DTYPE_I16, NULL, d[0], d[1], d[2], d[3]);
    qrn_view sums = {.data = l->sums, .dtype = QRN_DTYPE_I32, .rank = 1, .dims = {l->cout}};
    qrn_view scales = {.data = l->scales, .dtype = QRN_DTYPE_F32, .rank = 1, .dims = {l->cout}};
    qrn_view bias = {.data = l->bias, .dtype = QRN_DTYPE_I32, .rank = 1, .dims = {l->cout}};
    qrn_view *in[] = {&x, &w, &sums, &scales, l->has_bias ? &bias : NULL, &u}, *out[] = {&y};
    qrn_kcall k = {.args = &args, .in = in, .out = out, .n_in = 6, .n_out = 1, .n_tasks = 1};
    const qrn_family *f = &qrn_family_dense8;
    bool winograd = false;
    for (uint32_t i = 0; i < f->n_rows; i++)
        if (!qrn_kernel_rejection(&f->rows[i], QRN_DOMAIN_RAW, &k, qrn_cpu_isa())) {
            check_row(&f->rows[i], &k, l);
            winograd |= strstr(f->rows[i].name, "winograd") != NULL;
        }
    k.n_tasks = 0;
    prove_call(f, QRN_DOMAIN_RAW, &k);
    free(packed);
    free(matrices);
    return winograd;
}

static bool wanted(void) { return (qrn_cpu_isa() & QRN_ISA_AVX2) != 0; }

static void rows_agree_with_the_definition(void **unused) {
    (void)unused;
    for (int n = 0; n < 60; n++) {
        layer l = {.batch = between(1, 2),
                   .h = between(3, n % 10 ? 11 : 40),
                   .w = between(3, n % 10 ? 14 : 30),
                   .pad = between(0, 2),
                   .cin = between(1, n % 4 ? 40 : 100),
                   .cout = between(1, n % 10 ? COLS_MAX : 40),
                   .x_signed = between(0, 1),
                   .w_signed = between(0, 1),
                   .y_signed = between(0, 1),
                   .has_bias = between(0, 3) != 0};
        make_layer(&l);
        find_expected(&l);
        assert_int_equal(check_layer(&l), wanted());
        free_layer(&l);
    }
}

// All activations and all weights at one end, with the most channels that may be: the sums that the
// way back to 32 bits is least able to hold.
static void the_largest_sums_are_whole(void **unused) {
    (void)unused;
    for (int n = 0; n < 4; n++) {
        layer l = {.batch = 1, .h = 7, .w = 9, .pad = 1, .cin = 227, .cout = 33};
        l.x_signed = l.w_signed = l.has_bias = true;
        make_layer(&l);
        memset(l.x, n & 1 ? 0x7f : 0x80, (size_t)l.h * l.w * l.cin);
        memset(l.weights, n & 2 ? 0x7f : 0x80, (size_t)9 * l.cin * l.cout);
        l.xq.offset = n & 1 ? 128 : -127;
        l.yq.offset = -128;
        l.yq.scale = 400.0f;
        find_expected(&l);
        assert_int_equal(check_layer(&l), wanted());
        free_layer(&l);
    }
}

// Results that lie so close to a whole number that single precision cannot tell the side: with
// 2^-n as multiplier many sums are exact ties.
static void ties_are_rounded_up(void **unused) {
    (void)unused;
    for (int n = 0; n < 6; n++) {
        layer l = {.batch = 1, .h = 10, .w = 10, .pad = 1, .cin = between(1, 20), .cout = 48};
        l.w_signed = l.has_bias = true;
        make_layer(&l);
        l.xq.scale = 1.0f;
        l.yq.scale = (float)(256 << n);
        for (uint32_t c = 0; c < l.cout; c++)
            l.scales[c] = c % 2 ? 1.0f : 3.0f;
        find_expected(&l);
        assert_int_equal(check_layer(&l), wanted());
        free_layer(&l);
    }
}

// Large images of few channels gain; what the sums cannot hold and what has offsets, strides or
// few tiles does not.
static void shapes_that_gain(void **unused) {
    (void)unused;
    qrn_dense_args a = {.conv = {.n_spatial = 2, .group = 1, .stride = {1, 1}, .dilation = {1, 1}},
                        .kernel = {3, 3},
                        .group = 1,
                        .depth = 9 * 64,
                        .cols = 64};
    qrn_view x = {.rank = 4, .dims = {1, 56, 56, 64}}, y = {.rank = 4, .dims = {1, 56, 56, 64}};
    assert_true(qrn_winograd8_fits(&a, &x, &y));
    x.dims[3] = 227;
    assert_true(qrn_winograd8_fits(&a, &x, &y));
    x.dims[3] = 228;
    assert_false(qrn_winograd8_fits(&a, &x, &y));
    x.dims[3] = 64;
    a.conv.stride[1] = 2;
    assert_false(qrn_winograd8_fits(&a, &x, &y));
    a.conv.stride[1] = 1;
    a.conv.dilation[0] = 2;
    assert_false(qrn_winograd8_fits(&a, &x, &y));
    a.conv.dilation[0] = 1;
    a.kernel[0] = 1;
    assert_false(qrn_winograd8_fits(&a, &x, &y));
    a.kernel[0] = 3;
    y.dims[1] = y.dims[2] = 14;
    assert_false(qrn_winograd8_fits(&a, &x, &y));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(rows_agree_with_the_definition, set_up),
        cmocka_unit_test_setup(the_largest_sums_are_whole, set_up),
        cmocka_unit_test_setup(ties_are_rounded_up, set_up),
        cmocka_unit_test(shapes_that_gain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
