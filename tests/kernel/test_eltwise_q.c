// SPDX-License-Identifier: MIT
//
// Fast rows on quantized values against the reference row of the same family, to the bit: binary
// ops on all pairs of 8-bit values and on many of 16 bits, under encodings that make results fall
// on or next to the middle between two quantized values; tables; conversions from floats; sums.
// Memory is of exactly the size that a row may touch. QUERN_TEST_SEED repeats a run.
#include "base/cpu.h"
#include "kernels/convert.h"
#include "kernels/eltwise/binary.h"
#include "kernels/eltwise/lut.h"
#include "kernels/quantize.h"
#include "kernels/reduce/reduce_q.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../proof/prove_call.h"
#define CHANCE_SEED 0xc0de5
#include "chance.h"

static qrn_view make(qrn_dtype dtype, const qrn_quant *quant, uint32_t rank, const uint32_t *dims) {
    qrn_view v = {.dtype = dtype, .quant = quant, .rank = rank};
    memcpy(v.dims, dims, rank * sizeof *dims);
    size_t bytes = qrn_view_count(&v) * qrn_view_elem(&v);
    v.data = malloc(bytes);
    assert_non_null(v.data);
    for (size_t i = 0; i < bytes; i++)
        ((uint8_t *)v.data)[i] = (uint8_t)random_u32();
    return v;
}

// Scales in ratios of small numbers make half of all results ties; others are arbitrary.
static qrn_quant random_quant(qrn_dtype dtype) {
    static const float even[] = {0.25f, 0.125f, 0.375f, 0.0625f, 0.75f, 0.5f};
    bool is16 = dtype == QRN_DTYPE_UQ16 || dtype == QRN_DTYPE_SQ16;
    int32_t range = is16 ? 65536 : 256;
    qrn_quant q = {.kind = QRN_QUANT_TENSOR};
    q.scale = between(0, 2) ? (float)between(1, 1u << 24) * 0x1p-24f : even[between(0, 5)];
    if (between(0, 9) == 0)
        q.scale *= 0x1p-12f; // results far out of range
    q.offset = (int32_t)between(0, (uint32_t)range) - (between(0, 3) ? range : 2 * range);
    if (dtype == QRN_DTYPE_SQ8 || dtype == QRN_DTYPE_SQ16)
        q.offset = between(0, 1) ? 0 : q.offset + range / 2;
    return q;
}

// Makes the products of 16-bit values fill the range of the result, more or less.
static void scale_product(qrn_quant q[3]) {
    q[2].scale = q[0].scale * q[1].scale * (float)between(10000, 400000);
    if (between(0, 3) == 0) // halves are met exactly
        q[2].scale = q[0].scale * q[1].scale * 65536;
}

// Every row that can run the call, whole, in parts and in place of input `over`, against the last
// row; returns how many rows there were.
static unsigned check_rows(const qrn_family *f, const void *args, qrn_view **in, uint32_t n_in,
                           qrn_view *out, int over) {
    size_t bytes = qrn_view_count(out) * qrn_view_elem(out);
    void *want = malloc(bytes), *kept = malloc(bytes), *own = out->data;
    assert_true(want && kept);
    qrn_kcall k = {.args = args, .in = in, .out = &out, .n_in = n_in, .n_out = 1, .n_tasks = 1};
    const qrn_kernel *ref = &f->rows[f->n_rows - 1];
    assert_int_equal(ref->fn(&k), QRN_OK);
    memcpy(want, own, bytes);
    unsigned checked = 0;
    for (uint32_t i = 0; i + 1 < f->n_rows; i++) {
        const qrn_kernel *row = &f->rows[i];
        if (qrn_kernel_rejection(row, QRN_DOMAIN_RAW, &k, qrn_cpu_isa()))
            continue;
        for (int way = 0; way < 3; way++) {
            void *result = way == 2 && over >= 0 ? in[over]->data : own;
            if (result != own)
                memcpy(kept, result, bytes);
            else
                memset(own, 0xaa, bytes);
            out->data = result;
            k.n_tasks = way == 1 ? 3 : 1;
            for (k.task = 0; k.task < k.n_tasks; k.task++)
                assert_int_equal(row->fn(&k), QRN_OK);
            if (memcmp(result, want, bytes) != 0)
                fail_msg("%s, way %d: other results than %s", row->name, way, ref->name);
            if (result != own)
                memcpy(result, kept, bytes);
            out->data = own;
        }
        checked++;
        k.task = 0;
        k.n_tasks = 1;
    }
    prove_call(f, QRN_DOMAIN_RAW, &k);
    free(want);
    free(kept);
    return checked;
}

static void report(unsigned checked) {
    print_message("%u comparisons with the reference\n", checked);
    if (qrn_cpu_isa() == 0)
        skip();
    assert_true(checked > 0);
}

static void all_pairs_of_bytes(void **unused) {
    (void)unused;
    unsigned checked = 0;
    for (unsigned round = 0; round < 120; round++) {
        static const qrn_dtype types[] = {QRN_DTYPE_UQ8, QRN_DTYPE_SQ8};
        const uint32_t dims[2] = {256, 256};
        qrn_binary_args args = {between(QRN_BINARY_ADD, QRN_BINARY_MUL)};
        qrn_dtype t[3];
        qrn_quant q[3];
        for (int i = 0; i < 3; i++) {
            t[i] = types[between(0, 1)];
            q[i] = random_quant(t[i]);
        }
        qrn_view a = make(t[0], &q[0], 2, dims), b = make(t[1], &q[1], 2, dims);
        qrn_view y = make(t[2], &q[2], 2, dims), *in[2] = {&a, &b};
        for (unsigned i = 0; i < 65536; i++) {
            ((uint8_t *)a.data)[i] = (uint8_t)i;
            ((uint8_t *)b.data)[i] = (uint8_t)(i >> 8);
        }
        checked += check_rows(&qrn_family_binary, &args, in, 2, &y, (int)between(0, 1));
        free(a.data);
        free(b.data);
        free(y.data);
    }
    report(checked);
}

// Shapes with every way of broadcasting, tails of every length.
static void shapes_and_words(void **unused) {
    (void)unused;
    unsigned checked = 0;
    for (unsigned round = 0; round < 1500; round++) {
        static const qrn_dtype types[2][2] = {{QRN_DTYPE_UQ8, QRN_DTYPE_SQ8},
                                              {QRN_DTYPE_UQ16, QRN_DTYPE_SQ16}};
        uint32_t rank = between(1, 4), dims[4], part[2][4], is16 = between(0, 2) != 0;
        qrn_binary_args args = {between(QRN_BINARY_ADD, QRN_BINARY_MUL)};
        for (uint32_t d = 0; d < rank; d++)
            dims[d] = between(1, d + 1 == rank ? (round % 8 ? 100 : 1500) : 5);
        bool full = between(0, 1);
        for (uint32_t d = 0; d < rank; d++) { // one of the operands or both are spread
            part[0][d] = full || between(0, 2) ? dims[d] : 1;
            part[1][d] = part[0][d] < dims[d] || between(0, 2) ? dims[d] : 1;
        }
        qrn_dtype t[3];
        qrn_quant q[3];
        for (int i = 0; i < 3; i++) {
            t[i] = types[is16][between(0, 1)];
            q[i] = random_quant(t[i]);
        }
        if (is16 && args.op == QRN_BINARY_MUL)
            scale_product(q);
        uint32_t skip_a = between(0, 3) ? 0 : between(0, rank - 1), skip_b = skip_a ? 0 : 0;
        for (uint32_t d = 0; d < skip_a; d++)
            part[1][d] = dims[d];
        qrn_view a = make(t[0], &q[0], rank - skip_a, part[0] + skip_a);
        qrn_view b = make(t[1], &q[1], rank - skip_b, part[1] + skip_b);
        qrn_view y = make(t[2], &q[2], rank, dims), *in[2] = {&a, &b};
        int over = qrn_view_count(&a) == qrn_view_count(&y)   ? 0
                   : qrn_view_count(&b) == qrn_view_count(&y) ? 1
                                                              : -1;
        checked += check_rows(&qrn_family_binary, &args, in, 2, &y, over);
        free(a.data);
        free(b.data);
        free(y.data);
    }
    report(checked);
}

// Products with one number per channel, channels of any number.
static void channels_of_words(void **unused) {
    (void)unused;
    unsigned checked = 0;
    for (unsigned round = 0; round < 300; round++) {
        static const qrn_dtype types[] = {QRN_DTYPE_UQ16, QRN_DTYPE_SQ16};
        uint32_t dims[2] = {between(1, 60), between(1, round % 4 ? 200 : 2500)};
        bool first = between(0, 1);
        qrn_binary_args args = {QRN_BINARY_MUL};
        qrn_dtype t[3];
        qrn_quant q[3];
        for (int i = 0; i < 3; i++) {
            t[i] = types[between(0, 1)];
            q[i] = random_quant(t[i]);
        }
        scale_product(q);
        qrn_view a = make(t[0], &q[0], first ? 1 : 2, first ? dims + 1 : dims);
        qrn_view b = make(t[1], &q[1], first ? 2 : 1, first ? dims : dims + 1);
        qrn_view y = make(t[2], &q[2], 2, dims), *in[2] = {&a, &b};
        checked += check_rows(&qrn_family_binary, &args, in, 2, &y, first);
        free(a.data);
        free(b.data);
        free(y.data);
    }
    report(checked);
}

static unsigned check_tables(qrn_dtype t, uint32_t entries, uint32_t most, uint32_t step) {
    unsigned checked = 0;
    qrn_view table = make(t, NULL, 1, &entries);
    for (uint32_t n = 1; n < most; n += step) {
        qrn_view x = make(t, NULL, 1, &n), y = make(t, NULL, 1, &n), *in[2] = {&x, &table};
        checked += check_rows(&qrn_family_lut, NULL, in, 2, &y, 0);
        free(x.data);
        free(y.data);
    }
    free(table.data);
    return checked;
}

static void tables(void **unused) {
    (void)unused;
    report(check_tables(QRN_DTYPE_UQ8, 256, 300, 1));
    unsigned words = check_tables(QRN_DTYPE_SQ16, 65536, 100, 1) +
                     check_tables(QRN_DTYPE_UQ16, 65536, 70000, 9999);
    print_message("%u comparisons of words\n", words);
}

// Numbers that lie on, next to and far from the middle between two quantized values.
static void floats_to_quantized(void **unused) {
    (void)unused;
    unsigned checked = 0;
    for (unsigned round = 0; round < 400; round++) {
        static const qrn_dtype types[] = {QRN_DTYPE_UQ8, QRN_DTYPE_SQ8, QRN_DTYPE_UQ16,
                                          QRN_DTYPE_SQ16};
        uint32_t n = between(1, 1000);
        qrn_dtype t = types[between(0, 3)];
        qrn_quant q = random_quant(t);
        qrn_view x = make(between(0, 1) ? QRN_DTYPE_F32 : QRN_DTYPE_F64, NULL, 1, &n);
        qrn_view y = make(t, &q, 1, &n), *in[1] = {&x};
        for (uint32_t i = 0; i < n; i++) {
            double range = t == QRN_DTYPE_UQ8 || t == QRN_DTYPE_SQ8 ? 300 : 70000;
            double v = ((double)random_u32() * 0x1p-31 - 1) * range;
            if (round % 2 && between(0, 7) == 0) // quite or nearly a half
                v = floor(v) + 0.5 + (double)((int)between(0, 2) - 1) * 0x1p-30;
            v *= (double)q.scale;
            if (round % 3 == 0 && between(0, 99) == 0)
                v = (double[]){NAN, INFINITY, -INFINITY, 1e30, 0}[between(0, 4)];
            if (x.dtype == QRN_DTYPE_F32)
                ((float *)x.data)[i] = (float)v;
            else
                ((double *)x.data)[i] = v;
        }
        checked += check_rows(&qrn_family_quantize, NULL, in, 1, &y, -1);
        checked += check_rows(&qrn_family_convert, NULL, in, 1, &y, -1);
        free(x.data);
        free(y.data);
    }
    report(checked);
}

static void reductions_of_quantized(void **unused) {
    (void)unused;
    unsigned checked = 0;
    for (unsigned round = 0; round < 600; round++) {
        static const qrn_dtype types[] = {QRN_DTYPE_UQ8, QRN_DTYPE_SQ8, QRN_DTYPE_UQ16,
                                          QRN_DTYPE_SQ16};
        uint32_t rank = between(1, 4), dims[4], kept[4], n_kept = 0;
        qrn_reduce_args args = {between(QRN_REDUCE_SUM, QRN_REDUCE_MIN),
                                between(1, (1u << rank) - 1)};
        double count = 1;
        for (uint32_t d = 0; d < rank; d++) {
            dims[d] = between(1, d + 1 == rank ? 300 : round % 8 ? 7 : 40);
            if (args.axes >> d & 1)
                count *= dims[d];
            else
                kept[n_kept++] = dims[d];
        }
        qrn_dtype tx = types[between(0, 3)], ty = types[between(0, 3)];
        qrn_quant qx = random_quant(tx), qy = random_quant(ty);
        qrn_view x = make(tx, &qx, rank, dims), y = make(ty, &qy, n_kept, kept), *in[1] = {&x};
        if (qrn_reduce_q_work(args.op, &x, &y, count))
            checked += check_rows(&qrn_family_reduce, &args, in, 1, &y, -1);
        free(x.data);
        free(y.data);
    }
    report(checked);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_pairs_of_bytes),  cmocka_unit_test(shapes_and_words),
        cmocka_unit_test(channels_of_words),   cmocka_unit_test(tables),
        cmocka_unit_test(floats_to_quantized), cmocka_unit_test(reductions_of_quantized),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
