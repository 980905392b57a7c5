// SPDX-License-Identifier: MIT
//
// Every row of the conv family that this machine can run, on random depthwise convolutions:
// quantized ones of 8 and 16 bits bit for bit against exact sums, one fused multiply-add, floor and
// clamp, as src/kernels/gemm/epilogue/requant.h defines them; float ones against sums in double.
// Inputs end where a page ends that nobody may read. QUERN_TEST_SEED repeats a run.
#include "base/cpu.h"
#include "kernels/conv/conv.h"

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

#define CHANNELS_MAX 320

// Memory whose last byte is the last of a page; the next page is closed.
typedef struct fenced {
    uint8_t *pages;
    size_t size; // of all pages
    uint8_t *data;
} fenced;

static fenced fence(size_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (bytes + page - 1) / page * page;
    fenced f = {.size = room + page};
    f.pages = mmap(NULL, f.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(f.pages != MAP_FAILED);
    assert_int_equal(mprotect(f.pages + room, page, PROT_NONE), 0);
    f.data = f.pages + room - bytes;
    return f;
}

static void unfence(fenced *f) { munmap(f->pages, f->size); }

typedef struct layer {
    qrn_conv_args args;
    uint32_t x_dims[4], w_dims[4], y_dims[4];
    uint32_t channels, taps;
} layer;

// Sizes around the widths of vectors and tiles; dilated and strided windows, wide padding.
static layer random_layer(void) {
    static const uint32_t widths[] = {16, 32, 48, 64, 72, 96, 128, 144, 192, 320};
    layer l = {.args = {.n_spatial = 2}};
    l.channels = between(0, 2) ? widths[between(0, 9)] : between(1, 150);
    l.args.group = l.channels;
    uint32_t square = between(0, 3) ? (between(0, 2) ? 3 : 5) : 0, spans[2];
    uint32_t stride = between(1, 2);
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t k = square ? square : between(1, 7);
        l.args.stride[i] = between(0, 5) ? stride : between(1, 4);
        l.args.dilation[i] = between(0, 4) ? 1 : between(1, 3);
        l.args.before[i] = between(0, 2) ? k / 2 : between(0, k + 1);
        spans[i] = (k - 1) * l.args.dilation[i] + 1;
        l.w_dims[i] = k;
        l.x_dims[1 + i] = between(1, i && between(0, 1) ? 40 : 12);
        uint32_t after = between(0, 2) ? k / 2 : between(0, k + 1);
        uint32_t all = l.x_dims[1 + i] + l.args.before[i] + after;
        if (all < spans[i])
            l.x_dims[1 + i] += spans[i] - all;
        all = l.x_dims[1 + i] + l.args.before[i] + after;
        l.y_dims[1 + i] = (all - spans[i]) / l.args.stride[i] + 1;
    }
    l.x_dims[0] = l.y_dims[0] = between(1, 2);
    l.x_dims[3] = l.y_dims[3] = l.w_dims[3] = l.channels;
    l.w_dims[2] = 1;
    l.taps = l.w_dims[0] * l.w_dims[1];
    return l;
}

// Number of the input cell under a tap of an output cell; -1: none.
static int64_t source(const layer *l, size_t cell, uint32_t tap) {
    int64_t at[2] = {(int64_t)(cell / l->y_dims[2] % l->y_dims[1]), (int64_t)(cell % l->y_dims[2])};
    int64_t batch = (int64_t)(cell / l->y_dims[2] / l->y_dims[1]);
    uint32_t k[2] = {tap / l->w_dims[1], tap % l->w_dims[1]};
    for (int i = 0; i < 2; i++) {
        at[i] = at[i] * l->args.stride[i] + (int64_t)k[i] * l->args.dilation[i] - l->args.before[i];
        if (at[i] < 0 || at[i] >= l->x_dims[1 + i])
            return -1;
    }
    return (batch * l->x_dims[1] + at[0]) * l->x_dims[2] + at[1];
}

static qrn_view view_of(const uint32_t *dims, qrn_dtype dtype, const qrn_quant *q, fenced *memory) {
    qrn_view v = {.dtype = dtype, .quant = q, .rank = 4};
    memcpy(v.dims, dims, 4 * sizeof *dims);
    size_t bytes = qrn_view_count(&v) * qrn_view_elem(&v);
    *memory = fence(bytes);
    v.data = memory->data;
    bool extreme = between(0, 9) == 0; // nothing but the ends of the range
    for (size_t i = 0; i < bytes; i++)
        memory->data[i] = (uint8_t)(extreme ? random_u32() % 2 * 255 : random_u32());
    return v;
}

static bool is_signed(qrn_dtype t) { return qrn_dtypes[t].cls == QRN_CLASS_SFIXED; }

static int64_t quantized(const qrn_view *v, size_t i) {
    switch (v->dtype) {
    case QRN_DTYPE_SQ8:
        return ((const int8_t *)v->data)[i];
    case QRN_DTYPE_SQ16:
        return ((const int16_t *)v->data)[i];
    case QRN_DTYPE_UQ16:
        return ((const uint16_t *)v->data)[i];
    default:
        return ((const uint8_t *)v->data)[i];
    }
}

static qrn_quant encoding(qrn_dtype t, float scale) {
    int32_t bits = (int32_t)qrn_dtypes[t].bits, half = 1 << (bits - 1);
    int32_t zero = (int32_t)between(0, 2 * (uint32_t)half - 1) - (is_signed(t) ? half : 0);
    return (qrn_quant){.kind = QRN_QUANT_TENSOR,
                       .bits = (uint8_t)bits,
                       .scale = scale,
                       .offset = between(0, 3) ? -zero : 0};
}

// Operands of a quantized call.
typedef struct operands {
    layer l;
    qrn_quant xq, wq, yq;
    qrn_view x, w, y, bias;
    fenced xm, wm, ym;
    float scales[CHANNELS_MAX];
    int32_t offsets[CHANNELS_MAX], bias_q[CHANNELS_MAX];
} operands;

// Some channels with weights so small that their bias, in units of them, is as large as they come;
// most have results within the range.
static void make_some_wide(operands *o) {
    for (uint32_t c = between(0, 40); c < o->l.channels; c += between(1, 60)) {
        bool end = between(0, 2) == 0;
        o->bias_q[c] =
            end ? (between(0, 1) ? INT32_MAX : INT32_MIN) : (int32_t)random_u32() >> between(0, 8);
        double steps = exp2((double)between(0, 11) - 2), size = fabs((double)o->bias_q[c]) + 1;
        o->scales[c] = (float)(steps * (double)o->yq.scale / (double)o->xq.scale / size);
    }
}

static void make_operands(operands *o, qrn_dtype xt, qrn_dtype wt, qrn_dtype yt) {
    o->l = random_layer();
    o->xq = encoding(xt, qrn_dtypes[xt].bits == 8 ? 0.02f : 0.0001f);
    o->yq = encoding(yt, qrn_dtypes[yt].bits == 8 ? 0.05f : 0.0003f);
    // Weights are bytes with their offset most of the time, and not at others.
    int32_t shared = between(0, 5) ? (is_signed(wt) ? 0 : -(1 << (qrn_dtypes[wt].bits - 1)))
                                   : -(int32_t)between(0, 120);
    bool own = between(0, 4) == 0, steep = between(0, 9) == 0, heavy = between(0, 9) == 0;
    o->wq = (qrn_quant){.kind = QRN_QUANT_AXIS,
                        .bits = (uint8_t)qrn_dtypes[wt].bits,
                        .axis = 3,
                        .scales = o->scales,
                        .offsets = o->offsets,
                        .n_groups = o->l.channels};
    for (uint32_t c = 0; c < o->l.channels; c++) {
        o->scales[c] = (steep ? 40.0f : 0.01f) + (float)(random_u32() % 1000) / 20000.0f;
        o->offsets[c] = own ? -(int32_t)between(0, 20) : shared;
        o->bias_q[c] = (int32_t)(random_u32() % 20001) - 10000;
        if (heavy) // beyond what sums of 24 or 32 bits have room for
            o->bias_q[c] = (int32_t)random_u32() >> between(1, 8);
    }
    if (between(0, 3) == 0)
        make_some_wide(o);
    o->x = view_of(o->l.x_dims, xt, &o->xq, &o->xm);
    o->w = view_of(o->l.w_dims, wt, &o->wq, &o->wm);
    o->y = view_of(o->l.y_dims, yt, &o->yq, &o->ym);
    o->bias =
        (qrn_view){.data = o->bias_q, .dtype = QRN_DTYPE_I32, .rank = 1, .dims = {o->l.channels}};
}

static int64_t expected_q(const operands *o, bool has_bias, size_t cell, uint32_t c) {
    int64_t acc = has_bias ? o->bias_q[c] : 0;
    for (uint32_t t = 0; t < o->l.taps; t++) {
        int64_t from = source(&o->l, cell, t);
        if (from >= 0)
            acc += (quantized(&o->x, (size_t)from * o->l.channels + c) + o->xq.offset) *
                   (quantized(&o->w, (size_t)t * o->l.channels + c) + o->offsets[c]);
    }
    double m = (double)o->xq.scale * (double)o->scales[c] / (double)o->yq.scale;
    double t = floor(fma((double)acc, m, -(double)o->yq.offset + 0.5));
    int64_t hi = (qrn_view_elem(&o->y) == 2 ? 65535 : 255) >> (is_signed(o->y.dtype) ? 1 : 0);
    int64_t lo = is_signed(o->y.dtype) ? -hi - 1 : 0;
    return t < (double)lo ? lo : t > (double)hi ? hi : (int64_t)t;
}

// Remembers what it is told of.
typedef struct witness {
    qrn_follower follower;
    const qrn_view *y;
    uint8_t *seen; // [bytes of y] as they were
    uint8_t *told; // [elements of y] how often
} witness;

static void remember(const qrn_follower *f, size_t begin, size_t end) {
    const witness *w = (const witness *)f;
    size_t elem = qrn_view_elem(w->y);
    memcpy(w->seen + begin * elem, (const uint8_t *)w->y->data + begin * elem,
           (end - begin) * elem);
    for (size_t i = begin; i < end; i++)
        w->told[i]++;
}

// Runs a row with so many tasks. Every result is told of once, when it is there.
static void run_row(const qrn_kernel *row, qrn_kcall *k, uint32_t n_tasks) {
    size_t count = qrn_view_count(k->out[0]), elem = qrn_view_elem(k->out[0]);
    witness w = {{remember}, k->out[0], malloc(count * elem), calloc(count, 1)};
    assert_true(w.seen && w.told);
    k->follower = &w.follower;
    k->n_tasks = n_tasks;
    size_t bytes = row->scratch ? row->scratch(k) : 0;
    k->scratch = aligned_alloc(64, (bytes + 64) / 64 * 64);
    assert_non_null(k->scratch);
    memset(k->scratch, 0xa5, bytes);
    memset(k->out[0]->data, 0x5a, qrn_view_count(k->out[0]) * qrn_view_elem(k->out[0]));
    for (k->task = 0; k->task < n_tasks; k->task++)
        assert_int_equal(row->fn(k), QRN_OK);
    free(k->scratch);
    for (size_t i = 0; i < count; i++)
        if (w.told[i] != 1)
            fail_msg("%s: told of result %zu %u times", row->name, i, w.told[i]);
    assert_memory_equal(w.seen, k->out[0]->data, count * elem);
    free(w.seen);
    free(w.told);
}

static unsigned check_quantized(operands *o) {
    bool has_bias = between(0, 3) != 0;
    qrn_view *in[] = {&o->x, &o->w, has_bias ? &o->bias : NULL}, *out[] = {&o->y};
    qrn_kcall k = {.args = &o->l.args, .in = in, .out = out, .n_in = 3, .n_out = 1, .n_tasks = 1};
    size_t n = qrn_view_count(&o->y);
    int64_t *expected = malloc(n * sizeof *expected);
    assert_non_null(expected);
    for (size_t i = 0; i < n; i++)
        expected[i] = expected_q(o, has_bias, i / o->l.channels, (uint32_t)(i % o->l.channels));
    unsigned ran = 0;
    for (uint32_t i = 0; i < qrn_family_conv.n_rows; i++) {
        const qrn_kernel *row = &qrn_family_conv.rows[i];
        if (qrn_kernel_rejection(row, QRN_DOMAIN_RAW, &k, qrn_cpu_isa()))
            continue;
        ran++;
        for (uint32_t tasks = 1; tasks <= 4; tasks += 3) {
            run_row(row, &k, tasks);
            for (size_t r = 0; r < n; r++)
                if (quantized(&o->y, r) != expected[r])
                    fail_msg("%s, %u tasks: result %zu is %lld, expected %lld", row->name, tasks, r,
                             (long long)quantized(&o->y, r), (long long)expected[r]);
        }
    }
    free(expected);
    return ran;
}

static void check_types(qrn_dtype xt, qrn_dtype wt, qrn_dtype yt, unsigned times) {
    static operands o;
    for (unsigned i = 0; i < times; i++) {
        make_operands(&o, xt, wt, yt);
        assert_true(check_quantized(&o) >= 2); // more than the reference
        unfence(&o.xm);
        unfence(&o.wm);
        unfence(&o.ym);
    }
}

static void rows_of_8_bits_agree_with_the_definition(void **unused) {
    (void)unused;
    check_types(QRN_DTYPE_UQ8, QRN_DTYPE_SQ8, QRN_DTYPE_UQ8, 120);
    check_types(QRN_DTYPE_UQ8, QRN_DTYPE_UQ8, QRN_DTYPE_UQ8, 20);
    check_types(QRN_DTYPE_SQ8, QRN_DTYPE_SQ8, QRN_DTYPE_SQ8, 30);
    check_types(QRN_DTYPE_UQ8, QRN_DTYPE_SQ8, QRN_DTYPE_SQ8, 20);
    check_types(QRN_DTYPE_UQ8, QRN_DTYPE_SQ8, QRN_DTYPE_UQ16, 10);
}

static void rows_of_16_bits_agree_with_the_definition(void **unused) {
    (void)unused;
    check_types(QRN_DTYPE_UQ16, QRN_DTYPE_SQ8, QRN_DTYPE_UQ16, 120);
    check_types(QRN_DTYPE_UQ16, QRN_DTYPE_UQ8, QRN_DTYPE_UQ16, 15);
    check_types(QRN_DTYPE_SQ16, QRN_DTYPE_SQ8, QRN_DTYPE_SQ16, 20);
    check_types(QRN_DTYPE_UQ16, QRN_DTYPE_SQ8, QRN_DTYPE_UQ8, 10);
    check_types(QRN_DTYPE_UQ16, QRN_DTYPE_SQ16, QRN_DTYPE_UQ16, 20);
}

static void check_float(const layer *l) {
    fenced xm, wm, ym;
    qrn_view x = view_of(l->x_dims, QRN_DTYPE_F32, NULL, &xm);
    qrn_view w = view_of(l->w_dims, QRN_DTYPE_F32, NULL, &wm);
    qrn_view y = view_of(l->y_dims, QRN_DTYPE_F32, NULL, &ym);
    float bias_data[CHANNELS_MAX];
    for (uint32_t c = 0; c < l->channels; c++)
        bias_data[c] = (float)(random_u32() % 2000) / 500.0f - 2.0f;
    qrn_view bias = {.data = bias_data, .dtype = QRN_DTYPE_F32, .rank = 1, .dims = {l->channels}};
    float *xs = x.data, *ws = w.data;
    for (size_t i = 0; i < qrn_view_count(&x); i++)
        xs[i] = (float)(random_u32() % 2000) / 1000.0f - 1.0f;
    for (size_t i = 0; i < qrn_view_count(&w); i++)
        ws[i] = (float)(random_u32() % 2000) / 1000.0f - 1.0f;
    bool has_bias = between(0, 3) != 0;
    qrn_view *in[] = {&x, &w, has_bias ? &bias : NULL}, *out[] = {&y};
    qrn_kcall k = {.args = &l->args, .in = in, .out = out, .n_in = 3, .n_out = 1, .n_tasks = 1};
    for (uint32_t i = 0; i < qrn_family_conv.n_rows; i++) {
        const qrn_kernel *row = &qrn_family_conv.rows[i];
        if (qrn_kernel_rejection(row, QRN_DOMAIN_F32, &k, qrn_cpu_isa()))
            continue;
        run_row(row, &k, between(1, 4));
        for (size_t r = 0; r < qrn_view_count(&y); r++) {
            uint32_t c = (uint32_t)(r % l->channels);
            double sum = has_bias ? (double)bias_data[c] : 0, size = fabs(sum);
            for (uint32_t t = 0; t < l->taps; t++) {
                int64_t from = source(l, r / l->channels, t);
                if (from < 0)
                    continue;
                double p = (double)xs[(size_t)from * l->channels + c] *
                           (double)ws[(size_t)t * l->channels + c];
                sum += p;
                size += fabs(p);
            }
            double is = (double)((float *)y.data)[r];
            if (!(fabs(is - sum) <= 1e-6 * size + 1e-30))
                fail_msg("%s: result %zu is %g, expected %g", row->name, r, is, sum);
        }
    }
    unfence(&xm);
    unfence(&wm);
    unfence(&ym);
}

static void float_rows_agree_with_sums_in_double(void **unused) {
    (void)unused;
    for (unsigned i = 0; i < 150; i++) {
        layer l = random_layer();
        check_float(&l);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_8_bits_agree_with_the_definition),
        cmocka_unit_test(rows_of_16_bits_agree_with_the_definition),
        cmocka_unit_test(float_rows_agree_with_sums_in_double),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
