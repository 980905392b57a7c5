// SPDX-License-Identifier: MIT
//
// Every row of the dense, matmul and conv families that this machine can run, against sums in
// double written out here, on random shapes with tails. QUERN_TEST_SEED repeats a run.
//
// Tolerance. A chain of n fused multiply-adds in single precision is off by at most
// n * 2^-24 * sum|a*b| (first order), so each result is given (n + 1) * 2^-24 * (|bias| +
// sum|a*b|). Rows that sum in double must be within one rounding: 2^-24 * |result| and a trifle.
// Winograd's convolution is held to 1e-5 of the largest result.
#include "base/cpu.h"
#include "base/mem.h"
#include "kernels/gemm/dense/dense.h"
#include "kernels/gemm/tiles/gemm_f32.h"
#include "kernels/gemm/matmul/matmul.h"
#include "kernels/gemm/winograd/winograd.h"
#include "kernels/gemm/winograd/winograd_f16.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chance.h"

#include "../proof/prove_call.h"

static float random_real(void) { return (float)random_u32() / 2147483648.0f - 1.0f; }

// A view with its own memory of exactly the right size, so that sanitizers see any overrun.
static qrn_view make(uint32_t rank, const uint32_t *dims, bool fill) {
    qrn_view v = {.dtype = QRN_DTYPE_F32, .rank = rank};
    memcpy(v.dims, dims, rank * sizeof *dims);
    size_t n = qrn_view_count(&v);
    float *data = malloc(n ? n * sizeof *data : 1);
    assert_non_null(data);
    for (size_t i = 0; i < n; i++)
        data[i] = fill ? random_real() : NAN;
    v.data = data;
    return v;
}

typedef struct expectation {
    double value, bound; // bound: sum of the magnitudes of all terms
} expectation;

typedef struct checked_call {
    const qrn_family *family;
    const void *args;
    qrn_view *in[3], *out[1];
    uint32_t n_in;
    size_t terms;                // products per result
    const expectation *expected; // one per result
    double slack;                // for every result; 0: as above
} checked_call;

static void run_row(const qrn_kernel *row, const checked_call *c, uint32_t n_tasks) {
    qrn_kcall k = {.args = c->args, .in = c->in, .out = c->out, .n_in = c->n_in, .n_out = 1};
    k.n_tasks = n_tasks;
    size_t bytes = row->scratch ? row->scratch(&k) : 0;
    k.scratch = malloc(bytes ? bytes : 1);
    assert_non_null(k.scratch);
    memset(k.scratch, 0xff, bytes); // NaN
    for (k.task = 0; k.task < n_tasks; k.task++)
        assert_int_equal(row->fn(&k), QRN_OK);
    free(k.scratch);
}

static void compare(const qrn_kernel *row, const checked_call *c) {
    const float *got = c->out[0]->data;
    bool is_ref = strstr(row->name, "_ref") != NULL;
    for (size_t i = 0; i < qrn_view_count(c->out[0]); i++) {
        const expectation *e = &c->expected[i];
        double slack = is_ref ? 0x1p-24 * fabs(e->value) + 0x1p-48 * e->bound
                              : (double)(c->terms + 1) * 0x1p-24 * e->bound;
        slack = c->slack > 0.0 ? c->slack : slack;
        if (!(fabs((double)got[i] - e->value) <= slack))
            fail_msg("%s: result %zu is %.9g, expected %.9g +- %.3g", row->name, i, (double)got[i],
                     e->value, slack);
    }
}

// Runs every row the machine has, checks it, and checks that neither the number of tasks nor, for
// fast rows, the ISA changes a bit. Returns how many rows ran.
static unsigned check_rows(const checked_call *c) {
    size_t bytes = qrn_view_count(c->out[0]) * sizeof(float);
    void *first = malloc(bytes ? bytes : 1), *fast = malloc(bytes ? bytes : 1);
    unsigned ran = 0;
    bool have_fast = false;
    for (uint32_t i = 0; i < c->family->n_rows; i++) {
        const qrn_kernel *row = &c->family->rows[i];
        qrn_kcall k = {.args = c->args, .in = c->in, .out = c->out, .n_in = c->n_in, .n_out = 1};
        if (row->domain != QRN_DOMAIN_F32 || (row->needs & qrn_cpu_isa()) != row->needs ||
            (row->works && !row->works(&k)))
            continue;
        ran++;
        for (uint32_t n_tasks = 1; n_tasks <= 7; n_tasks += 3) {
            memset(c->out[0]->data, 0xff, bytes);
            run_row(row, c, n_tasks);
            compare(row, c);
            if (n_tasks == 1)
                memcpy(first, c->out[0]->data, bytes);
            assert_memory_equal(first, c->out[0]->data, bytes);
        }
        if (row->needs && have_fast)
            assert_memory_equal(fast, first, bytes);
        if (row->needs) {
            memcpy(fast, first, bytes);
            have_fast = true;
        }
    }
    prove_call(
        c->family, QRN_DOMAIN_F32,
        &(qrn_kcall){.args = c->args, .in = c->in, .out = c->out, .n_in = c->n_in, .n_out = 1});
    free(first);
    free(fast);
    return ran;
}

static void add_term(expectation *e, double term) {
    e->value += term;
    e->bound += fabs(term);
}

static void check_matmul(uint32_t batch, uint32_t rows, uint32_t depth, uint32_t cols, bool ta,
                         bool tb, bool bias, bool shared_b) {
    qrn_matmul_args args = {.transpose_a = ta, .transpose_b = tb};
    qrn_view a = make(3, (uint32_t[]){batch, ta ? depth : rows, ta ? rows : depth}, true);
    qrn_view b =
        make(3, (uint32_t[]){shared_b ? 1 : batch, tb ? cols : depth, tb ? depth : cols}, true);
    qrn_view v = make(1, &cols, true), c = make(3, (uint32_t[]){batch, rows, cols}, false);
    expectation *e = calloc((size_t)batch * rows * cols + 1, sizeof *e);
    const float *pa = a.data, *pb = b.data, *pv = v.data;
    for (size_t n = 0; n < batch; n++)
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < cols; j++) {
                expectation *at = &e[(n * rows + i) * cols + j];
                if (bias)
                    add_term(at, (double)pv[j]);
                for (size_t k = 0; k < depth; k++)
                    add_term(at,
                             (double)pa[n * rows * depth + (ta ? k * rows + i : i * depth + k)] *
                                 (double)pb[(shared_b ? 0 : n * depth * cols) +
                                            (tb ? j * depth + k : k * cols + j)]);
            }
    checked_call call = {.family = &qrn_family_matmul,
                         .args = &args,
                         .in = {&a, &b, bias ? &v : NULL},
                         .out = {&c},
                         .n_in = 3,
                         .terms = depth,
                         .expected = e};
    assert_true(check_rows(&call) >= 1);
    free(e);
    free(a.data);
    free(b.data);
    free(v.data);
    free(c.data);
}

static void matmul_rows_agree_with_the_sum(void **unused) {
    (void)unused;
    for (int i = 0; i < 60; i++)
        check_matmul(between(1, 3), between(1, 40), between(1, 70), between(1, 80), i % 5 == 0,
                     i % 2 == 0, i % 3 != 0, i % 4 == 0);
    check_matmul(1, 13, 2100, 33, false, false, true, false); // several stretches of depth
    check_matmul(1, 5, 1024, 7, false, true, true, false);    // exactly one
    check_matmul(2, 0, 3, 4, false, false, true, false);      // nothing to do
}

// Dense with plain rows: the same numbers as matmul with weights [cols, depth].
static void dense_rows_agree_with_the_sum(void **unused) {
    (void)unused;
    for (int i = 0; i < 40; i++) {
        uint32_t rows = i % 4 ? between(1, 60) : 1, depth = between(1, i == 7 ? 1500 : 90);
        uint32_t cols = between(1, rows == 1 ? 300 : 100);
        qrn_dense_args args = {.rows = true, .group = 1, .depth = depth, .cols = cols};
        if (i % 8 == 0)
            args.conv.clamp = (qrn_clamp){.on = true, .low = -0.5f, .high = 1.5f};
        qrn_view x = make(2, (uint32_t[]){rows, depth}, true);
        qrn_view w = make(2, (uint32_t[]){cols, depth}, true), v = make(1, &cols, true);
        qrn_view y = make(2, (uint32_t[]){rows, cols}, false);
        uint32_t dims[3];
        assert_true(qrn_dense_packed_shape(&args, dims));
        qrn_view packed = make(3, dims, false);
        qrn_dense_pack(&args, w.data, 1, depth, packed.data);
        expectation *e = calloc((size_t)rows * cols, sizeof *e);
        for (size_t r = 0; r < rows; r++)
            for (size_t j = 0; j < cols; j++) {
                add_term(&e[r * cols + j], (double)((float *)v.data)[j]);
                for (size_t k = 0; k < depth; k++)
                    add_term(&e[r * cols + j], (double)((float *)x.data)[r * depth + k] *
                                                   (double)((float *)w.data)[j * depth + k]);
                if (args.conv.clamp.on)
                    e[r * cols + j].value = fmin(fmax(e[r * cols + j].value, -0.5), 1.5);
            }
        checked_call call = {.family = &qrn_family_dense,
                             .args = &args,
                             .in = {&x, &packed, &v},
                             .out = {&y},
                             .n_in = 3,
                             .terms = depth,
                             .expected = e};
        assert_true(check_rows(&call) >= 1);
        free(e);
        free(x.data);
        free(w.data);
        free(v.data);
        free(y.data);
        free(packed.data);
    }
}

typedef struct conv_case {
    uint32_t batch, in[2], kernel[2], stride[2], dilation[2], pad[2], group, cin,
        cout; // of a group
} conv_case;

static uint32_t out_size(const conv_case *c, int d) {
    int padded = (int)(c->in[d] + 2 * c->pad[d]),
        reach = (int)((c->kernel[d] - 1) * c->dilation[d]);
    return padded > reach ? (uint32_t)(padded - reach - 1) / c->stride[d] + 1 : 0;
}

// The convolution from its definition, tap by tap.
static void expect_conv(const conv_case *c, const float *x, const float *w, const float *bias,
                        expectation *e) {
    uint32_t oh = out_size(c, 0), ow = out_size(c, 1), cout = c->cout * c->group;
    for (size_t i = 0; i < (size_t)c->batch * oh * ow * cout; i++)
        add_term(&e[i], (double)bias[i % cout]);
    for (uint32_t n = 0; n < c->batch; n++)
        for (uint32_t y = 0; y < oh; y++)
            for (uint32_t z = 0; z < ow; z++)
                for (uint32_t a = 0; a < c->kernel[0]; a++)
                    for (uint32_t b = 0; b < c->kernel[1]; b++) {
                        int h = (int)(y * c->stride[0] + a * c->dilation[0]) - (int)c->pad[0];
                        int v = (int)(z * c->stride[1] + b * c->dilation[1]) - (int)c->pad[1];
                        if (h < 0 || v < 0 || h >= (int)c->in[0] || v >= (int)c->in[1])
                            continue;
                        const float *cell =
                            x + (((size_t)n * c->in[0] + (size_t)h) * c->in[1] + (size_t)v) *
                                    c->cin * c->group;
                        const float *tap = w + ((size_t)a * c->kernel[1] + b) * c->cin * cout;
                        expectation *at = e + (((size_t)n * oh + y) * ow + z) * cout;
                        for (uint32_t o = 0; o < cout; o++)
                            for (uint32_t i = 0; i < c->cin; i++)
                                add_term(&at[o], (double)cell[o / c->cout * c->cin + i] *
                                                     (double)tap[(size_t)i * cout + o]);
                    }
}

static void check_conv(const conv_case *c) {
    uint32_t cin = c->cin * c->group, cout = c->cout * c->group, dims[3];
    qrn_conv_args conv = {.n_spatial = 2,
                          .group = c->group,
                          .stride = {c->stride[0], c->stride[1]},
                          .dilation = {c->dilation[0], c->dilation[1]},
                          .before = {c->pad[0], c->pad[1]}};
    qrn_dense_args dense = {.conv = conv,
                            .kernel = {c->kernel[0], c->kernel[1]},
                            .group = c->group,
                            .depth = c->kernel[0] * c->kernel[1] * c->cin,
                            .cols = c->cout};
    qrn_view x = make(4, (uint32_t[]){c->batch, c->in[0], c->in[1], cin}, true);
    qrn_view w = make(4, (uint32_t[]){c->kernel[0], c->kernel[1], c->cin, cout}, true);
    qrn_view v = make(1, &cout, true);
    qrn_view y = make(4, (uint32_t[]){c->batch, out_size(c, 0), out_size(c, 1), cout}, false);
    assert_true(qrn_dense_packed_shape(&dense, dims));
    qrn_view packed = make(3, dims, false);
    qrn_dense_pack(&dense, w.data, cout, 1, packed.data);
    expectation *e = calloc(qrn_view_count(&y), sizeof *e);
    expect_conv(c, x.data, w.data, v.data, e);
    checked_call call = {.family = &qrn_family_dense,
                         .args = &dense,
                         .in = {&x, &packed, &v},
                         .out = {&y},
                         .n_in = 3,
                         .terms = dense.depth,
                         .expected = e};
    assert_true(check_rows(&call) >= 1);
    call.family = &qrn_family_conv;
    call.args = &conv;
    call.in[1] = &w;
    unsigned ran = check_rows(&call);
    assert_true(ran >= 1);
    if (c->cin == 1 && c->cout == 1 && qrn_cpu_isa())
        assert_true(ran >= 2); // a depthwise row took part
    free(e);
    free(x.data);
    free(w.data);
    free(v.data);
    free(y.data);
    free(packed.data);
}

static void conv_rows_agree_with_the_sum(void **unused) {
    (void)unused;
    for (int i = 0; i < 80; i++) {
        conv_case c = {.batch = between(1, 2),
                       .in = {between(1, 9), between(1, 11)},
                       .kernel = {between(1, 4), between(1, 4)},
                       .stride = {between(1, 3), between(1, 3)},
                       .dilation = {between(1, 2), between(1, 3)},
                       .pad = {between(0, 3), between(0, 3)},
                       .group = between(1, 3),
                       .cin = between(1, 5),
                       .cout = between(1, 40)};
        if (i % 4 == 0) // pointwise: no gathering
            c = (conv_case){.batch = c.batch,
                            .in = {c.in[0], c.in[1]},
                            .kernel = {1, 1},
                            .stride = {1, 1},
                            .dilation = {1, 1},
                            .group = c.group,
                            .cin = between(1, 40),
                            .cout = c.cout};
        if (i % 4 == 1) { // depthwise
            c.group = between(1, 90);
            c.cin = c.cout = 1;
        }
        if (out_size(&c, 0) && out_size(&c, 1))
            check_conv(&c);
    }
    // More than 64 taps, and rows too long for a block of several.
    check_conv(&(conv_case){1, {12, 12}, {9, 9}, {1, 1}, {1, 1}, {4, 4}, 20, 1, 1});
    check_conv(&(conv_case){1, {5, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 1, 600, 3});
    // Many lines, in several bands with padding and without; windows that begin and end outside.
    check_conv(&(conv_case){2, {40, 33}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 1, 60, 3});
    check_conv(&(conv_case){1, {45, 31}, {3, 2}, {2, 1}, {1, 1}, {0, 0}, 1, 50, 16});
    check_conv(&(conv_case){1, {3, 2}, {7, 7}, {2, 2}, {1, 1}, {3, 3}, 1, 3, 24});
    // Columns of cells, which count as lines: with padding and without, with strides, dilated.
    check_conv(&(conv_case){2, {60, 1}, {5, 1}, {1, 1}, {1, 1}, {0, 0}, 1, 40, 70});
    check_conv(&(conv_case){2, {61, 1}, {5, 1}, {2, 1}, {1, 1}, {3, 0}, 1, 33, 35});
    check_conv(&(conv_case){1, {50, 1}, {3, 1}, {3, 1}, {2, 1}, {2, 0}, 1, 24, 20});
    check_conv(&(conv_case){1, {300, 1}, {9, 1}, {1, 1}, {1, 1}, {4, 0}, 1, 300, 33});
    check_conv(&(conv_case){1, {20, 1}, {3, 1}, {1, 1}, {1, 1}, {1, 0}, 3, 8, 12});
    // Distances that the cache does not like, rows and strides.
    check_conv(&(conv_case){1, {3, 18}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, 1, 1024, 40});
    check_conv(&(conv_case){1, {6, 9}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, 1, 512, 33});
}

// The same with weights kept as halves, which they fit; args: those of the plain product.
static void check_winograd_f16(qrn_dense_args args, qrn_view *x, const qrn_view *w, qrn_view *v,
                               qrn_view *y, const expectation *e) {
    uint32_t dims[3];
    args.depth = 9 * x->dims[3];
    assert_true(qrn_dense_packed_shape(&args, dims));
    qrn_view packed = {.dtype = QRN_DTYPE_F16, .rank = 3, .dims = {dims[0], dims[1], dims[2]}};
    packed.data = malloc(qrn_view_count(&packed) * sizeof(uint16_t));
    qrn_dense_f16_pack(&args, w, args.cols, 1, QRN_FP16_IEEE, packed.data);
    qrn_dense_f16_args f16 = {.dense = args};
    checked_call call = {.family = &qrn_family_winograd_f16,
                         .args = &f16,
                         .in = {x, &packed, v},
                         .out = {y},
                         .n_in = 3,
                         .expected = e};
    for (size_t i = 0; i < qrn_view_count(y); i++)
        call.slack = fmax(call.slack, 3e-6 * fabs(e[i].value));
    assert_true(check_rows(&call) >= 1);
    free(packed.data);
}

static void check_winograd(const conv_case *c) {
    uint32_t cin = c->cin, cout = c->cout, dims[3];
    qrn_dense_args args = {.conv = {.n_spatial = 2,
                                    .group = 1,
                                    .stride = {1, 1},
                                    .dilation = {1, 1},
                                    .before = {c->pad[0], c->pad[1]}},
                           .kernel = {3, 3},
                           .group = 1,
                           .depth = QRN_WINOGRAD_PLANES * cin,
                           .cols = cout};
    qrn_view x = make(4, (uint32_t[]){c->batch, c->in[0], c->in[1], cin}, true);
    qrn_view w = make(4, (uint32_t[]){3, 3, cin, cout}, true), v = make(1, &cout, true);
    qrn_view y = make(4, (uint32_t[]){c->batch, out_size(c, 0), out_size(c, 1), cout}, false);
    assert_true(qrn_dense_packed_shape(&args, dims));
    qrn_view packed = make(3, dims, false);
    for (size_t i = 0; i < qrn_view_count(&w); i++) // numbers that fit halves
        ((float *)w.data)[i] = rintf(((float *)w.data)[i] * 64) / 64;
    qrn_winograd_pack(&args, w.data, packed.data);
    expectation *e = calloc(qrn_view_count(&y), sizeof *e);
    expect_conv(c, x.data, w.data, v.data, e);
    checked_call call = {.family = &qrn_family_winograd,
                         .args = &args,
                         .in = {&x, &packed, &v},
                         .out = {&y},
                         .n_in = 3,
                         .expected = e};
    for (size_t i = 0; i < qrn_view_count(&y); i++)
        call.slack = fmax(call.slack, 1e-5 * fabs(e[i].value));
    assert_true(check_rows(&call) >= 1);
    check_winograd_f16(args, &x, &w, &v, &y, e);
    free(e);
    free(x.data);
    free(w.data);
    free(v.data);
    free(y.data);
    free(packed.data);
}

static void winograd_rows_agree_with_the_sum(void **unused) {
    (void)unused;
    for (int i = 0; i < 24; i++) {
        conv_case c = {.batch = between(1, 2),
                       .in = {between(2, 21), between(2, 19)},
                       .kernel = {3, 3},
                       .stride = {1, 1},
                       .dilation = {1, 1},
                       .pad = {between(0, 3), between(0, 3)},
                       .group = 1,
                       .cin = 16 * between(1, 3),
                       .cout = 16 * between(1, 4)};
        if (out_size(&c, 0) && out_size(&c, 1))
            check_winograd(&c);
    }
    check_winograd(&(conv_case){1, {18, 70}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 1, 112, 32}); // blocks
}

static void winograd_is_for_large_plain_convolutions(void **unused) {
    (void)unused;
    const qrn_dense_args good = {
        .conv = {.n_spatial = 2, .group = 1, .stride = {1, 1}, .dilation = {1, 1}},
        .kernel = {3, 3},
        .group = 1};
    const qrn_view x = {.rank = 4, .dims = {1, 16, 16, 32}},
                   y = {.rank = 4, .dims = {1, 14, 14, 64}};
    assert_true(qrn_winograd_fits(&good, &x, &y));
    assert_true(qrn_winograd_f16_fits(&good, &x, &y));
    assert_false(qrn_winograd_f16_fits(&good, &x, &(qrn_view){.rank = 4, .dims = {1, 7, 7, 64}}));
    qrn_dense_args a = good;
    a.kernel[1] = 5;
    assert_false(qrn_winograd_fits(&a, &x, &y) || qrn_winograd_f16_fits(&a, &x, &y));
    a = good;
    a.conv.stride[0] = 2;
    assert_false(qrn_winograd_fits(&a, &x, &y) || qrn_winograd_f16_fits(&a, &x, &y));
    a = good;
    a.conv.dilation[1] = 2;
    assert_false(qrn_winograd_fits(&a, &x, &y) || qrn_winograd_f16_fits(&a, &x, &y));
    a = good;
    a.group = 2;
    assert_false(qrn_winograd_fits(&a, &x, &y) || qrn_winograd_f16_fits(&a, &x, &y));
    assert_false(qrn_winograd_fits(&good, &(qrn_view){.rank = 4, .dims = {1, 16, 16, 40}}, &y));
    assert_false(qrn_winograd_fits(&good, &x, &(qrn_view){.rank = 4, .dims = {1, 7, 7, 64}}));
    assert_false(qrn_winograd_fits(&good, &x, &(qrn_view){.rank = 4, .dims = {1, 64, 1, 64}}));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(matmul_rows_agree_with_the_sum, set_up),
        cmocka_unit_test_setup(dense_rows_agree_with_the_sum, set_up),
        cmocka_unit_test_setup(conv_rows_agree_with_the_sum, set_up),
        cmocka_unit_test_setup(winograd_rows_agree_with_the_sum, set_up),
        cmocka_unit_test(winograd_is_for_large_plain_convolutions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
