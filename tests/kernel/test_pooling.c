// SPDX-License-Identifier: MIT
//
// Every row of the pooling families that this machine can run, on random windows and up to 200
// channels, against maxima and averages computed here one window at a time. Quantized values agree
// to the bit. Operands end where a page ends that nobody may touch. QUERN_TEST_SEED repeats a run.
#include "base/cpu.h"
#include "kernels/pooling/pooling.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "chance.h"

// Memory whose last byte is the last of a page; the next page is closed.
typedef struct fenced {
    uint8_t *pages;
    size_t size; // of all pages
} fenced;

static void *fence(size_t bytes, fenced *f) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (bytes + page - 1) / page * page;
    f->size = room + page;
    f->pages = mmap(NULL, f->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(f->pages != MAP_FAILED);
    assert_int_equal(mprotect(f->pages + room, page, PROT_NONE), 0);
    return f->pages + room - bytes;
}

typedef struct layer {
    qrn_pooling_args args;
    qrn_quant xq, yq;
    qrn_view x, y;
    fenced xm, ym;
} layer;

static double lowest(qrn_dtype t) {
    return t == QRN_DTYPE_SQ8    ? -128
           : t == QRN_DTYPE_SQ16 ? -32768
           : t == QRN_DTYPE_F32  ? -INFINITY
                                 : 0;
}

static layer random_layer(qrn_dtype t) {
    layer l = {.args = {.n_spatial = 2, .count_pad = between(0, 1)}};
    uint32_t channels = between(0, 1) ? between(1, between(0, 2) ? 200 : 3) : 16 * between(1, 9);
    uint32_t top = qrn_dtypes[t].bits == 16 ? 65535 : 255;
    bool coarse =
        between(0, 1); // equal scales: many averages lie half-way between two quantized values
    l.xq = (qrn_quant){.kind = QRN_QUANT_TENSOR,
                       .scale = 0.01f,
                       .offset = -(int32_t)(between(0, 3) ? between(0, top) : top)};
    l.yq = l.xq;
    if (!coarse)
        l.yq = (qrn_quant){.kind = QRN_QUANT_TENSOR,
                           .scale = 0.005f + (float)between(0, 1000) / 50000.0f,
                           .offset = -(int32_t)between(0, top)};
    l.x = (qrn_view){.dtype = t, .quant = &l.xq, .rank = 4, .dims = {between(1, 2)}};
    l.y = l.x;
    l.y.quant = &l.yq;
    l.x.dims[3] = l.y.dims[3] = channels;
    bool whole = t != QRN_DTYPE_F32 && between(0, 9) == 0; // one large window
    bool extreme = between(0, 4) == 0;                     // nothing but ends of the range
    uint32_t far = top == 65535 ? 181 : 90;                // 32761 cells
    if (whole && top == 65535)
        l.x.dims[3] = l.y.dims[3] = between(1, 70);
    for (uint32_t i = 0; whole && i < 2; i++) {
        l.x.dims[1 + i] = l.args.size[i] = between(0, 2) ? between(60, far) : far;
        l.args.stride[i] = l.y.dims[1 + i] = 1;
    }
    for (uint32_t i = 0; !whole && i < 2; i++) {
        l.args.size[i] = between(1, 4);
        l.args.stride[i] = between(1, 3);
        l.args.before[i] = between(0, l.args.size[i] - 1);
        l.args.after[i] = between(0, l.args.size[i] - 1);
        uint32_t in = between(l.args.size[i], i && between(0, 3) == 0 ? 60 : 14);
        uint32_t all = in + l.args.before[i] + l.args.after[i] - l.args.size[i];
        bool up = between(0, 2) == 0; // rounding up reaches behind the padding
        l.x.dims[1 + i] = in;
        l.y.dims[1 + i] = (all + (up ? l.args.stride[i] - 1 : 0)) / l.args.stride[i] + 1;
    }
    if (t == QRN_DTYPE_SQ16 && between(0, 3)) // a zero point in range
        l.xq.offset += 32768;
    uint32_t end = between(0, 1) ? lowest(t) < 0 ? 0x8000 : 0 : lowest(t) < 0 ? 0x7fff : 0xffff;
    l.x.data = fence(qrn_view_count(&l.x) * qrn_view_elem(&l.x), &l.xm);
    l.y.data = fence(qrn_view_count(&l.y) * qrn_view_elem(&l.y), &l.ym);
    for (size_t i = 0; i < qrn_view_count(&l.x); i++)
        if (t == QRN_DTYPE_F32)
            ((float *)l.x.data)[i] =
                between(0, 999) ? (float)(random_u32() % 2000) / 100.0f - 10.0f : NAN;
        else if (qrn_view_elem(&l.x) == 2)
            ((uint16_t *)l.x.data)[i] =
                (uint16_t)(extreme ? end ^ (between(0, 99) == 0) : random_u32());
        else
            ((uint8_t *)l.x.data)[i] = (uint8_t)random_u32();
    return l;
}

static double value(const qrn_view *v, size_t i) {
    switch (v->dtype) {
    case QRN_DTYPE_UQ8:
        return ((const uint8_t *)v->data)[i];
    case QRN_DTYPE_SQ8:
        return ((const int8_t *)v->data)[i];
    case QRN_DTYPE_UQ16:
        return ((const uint16_t *)v->data)[i];
    case QRN_DTYPE_SQ16:
        return ((const int16_t *)v->data)[i];
    default:
        return (double)((const float *)v->data)[i];
    }
}

// Largest value, sum and counts of the window of result r.
typedef struct answer {
    double largest, sum, size; // size: sum of magnitudes
    int64_t cells, padded;
} answer;

static answer look(const layer *l, size_t r) {
    size_t channels = l->x.dims[3], c = r % channels, cell = r / channels;
    int64_t at[2] = {(int64_t)(cell / l->y.dims[2] % l->y.dims[1]), (int64_t)(cell % l->y.dims[2])};
    size_t batch = cell / l->y.dims[2] / l->y.dims[1];
    answer a = {.largest = lowest(l->x.dtype)};
    for (uint32_t i = 0; i < l->args.size[0]; i++)
        for (uint32_t j = 0; j < l->args.size[1]; j++) {
            int64_t row = at[0] * l->args.stride[0] + i - l->args.before[0];
            int64_t col = at[1] * l->args.stride[1] + j - l->args.before[1];
            int64_t height = l->x.dims[1], width = l->x.dims[2];
            a.padded += row < height + l->args.after[0] && col < width + l->args.after[1];
            if (row < 0 || col < 0 || row >= height || col >= width)
                continue;
            double v = value(
                &l->x,
                ((batch * (size_t)height + (size_t)row) * (size_t)width + (size_t)col) * channels +
                    c);
            a.largest = v > a.largest || isnan(v) ? v : a.largest;
            a.sum += v;
            a.size += fabs(v);
            a.cells++;
        }
    return a;
}

// The average as a quantized value of y.
static double average(const layer *l, const answer *a) {
    int64_t count = l->args.count_pad ? a->padded : a->cells;
    double sum = (a->sum + (double)a->cells * l->xq.offset) * (double)l->xq.scale;
    double t = count ? sum / (double)count : 0;
    t = floor(t / (double)l->yq.scale + 0.5) - l->yq.offset;
    double lo = lowest(l->y.dtype), hi = lo + (qrn_view_elem(&l->y) == 2 ? 65535 : 255);
    return t < lo ? lo : t > hi ? hi : t;
}

static bool same(double is, double expected, double tolerance) {
    return is == expected || (isnan(is) && isnan(expected)) || fabs(is - expected) <= tolerance;
}

static void check(qrn_dtype t, bool largest, unsigned times) {
    const qrn_family *f = largest ? &qrn_family_pool_max : &qrn_family_pool_avg;
    qrn_domain domain = t == QRN_DTYPE_F32 ? QRN_DOMAIN_F32 : QRN_DOMAIN_RAW;
    for (unsigned n = 0; n < times; n++) {
        layer l = random_layer(t);
        if (largest)
            l.yq = l.xq;
        l.x.quant = &l.xq;
        l.y.quant = &l.yq;
        qrn_view *in[] = {&l.x}, *out[] = {&l.y};
        qrn_kcall k = {.args = &l.args, .in = in, .out = out, .n_in = 1, .n_out = 1, .n_tasks = 1};
        unsigned ran = 0;
        for (uint32_t i = 0; i < f->n_rows; i++) {
            if (qrn_kernel_rejection(&f->rows[i], domain, &k, qrn_cpu_isa()))
                continue;
            ran++;
            k.n_tasks = between(1, 5);
            memset(l.y.data, 0x5a, qrn_view_count(&l.y) * qrn_view_elem(&l.y));
            for (k.task = 0; k.task < k.n_tasks; k.task++)
                assert_int_equal(f->rows[i].fn(&k), QRN_OK);
            for (size_t r = 0; r < qrn_view_count(&l.y); r++) {
                answer a = look(&l, r);
                int64_t count = l.args.count_pad ? a.padded : a.cells;
                double expected = largest              ? a.largest
                                  : t != QRN_DTYPE_F32 ? average(&l, &a)
                                  : count              ? (double)(float)(a.sum / (double)count)
                                                       : 0;
                // Sums of floats by lines are in single precision.
                bool rounds = !largest && t == QRN_DTYPE_F32 && strstr(f->rows[i].name, "lines");
                double tolerance = rounds && count ? a.size * 0x1p-22 / (double)count : 0;
                if (!same(value(&l.y, r), expected, tolerance))
                    fail_msg("%s: result %zu is %g, expected %g", f->rows[i].name, r,
                             value(&l.y, r), expected);
            }
        }
        assert_true(ran >= 1);
        munmap(l.xm.pages, l.xm.size);
        munmap(l.ym.pages, l.ym.size);
    }
}

static void maxima_agree(void **unused) {
    (void)unused;
    check(QRN_DTYPE_UQ8, true, 40);
    check(QRN_DTYPE_SQ8, true, 20);
    check(QRN_DTYPE_UQ16, true, 20);
    check(QRN_DTYPE_SQ16, true, 20);
    check(QRN_DTYPE_F32, true, 40);
}

static void averages_agree(void **unused) {
    (void)unused;
    check(QRN_DTYPE_UQ8, false, 60);
    check(QRN_DTYPE_SQ8, false, 30);
    check(QRN_DTYPE_UQ16, false, 60);
    check(QRN_DTYPE_SQ16, false, 30);
    check(QRN_DTYPE_F32, false, 40);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maxima_agree),
        cmocka_unit_test(averages_agree),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
