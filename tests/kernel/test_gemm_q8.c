// SPDX-License-Identifier: MIT
//
// Every quantized row of the conv, dense8, dense_planes and matmul families that this machine can
// run, on random shapes, encodings and types of 4 to 16 bits, bit for bit against the definition in
// src/kernels/gemm/epilogue/requant.h written out here: exact integer sums, one fused multiply-add,
// floor, clamp. QUERN_TEST_SEED repeats a run.
#include "base/cpu.h"
#include "kernels/conv/conv.h"
#include "kernels/gemm/dense/dense8.h"
#include "kernels/gemm/dense/dense_planes.h"
#include "kernels/gemm/matmul/matmul.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chance.h"

#include "../proof/prove_call.h"

#define CHANNELS_MAX 128
#define RUNS_MAX 12

static float random_scale(void) { return 0.01f + (float)(random_u32() % 1000) / 20000.0f; }

// Tensors with memory of exactly the right size, so that sanitizers see any overrun.
static qrn_view make(uint32_t rank, const uint32_t *dims, qrn_dtype dtype, const qrn_quant *quant) {
    qrn_view v = {.dtype = dtype, .rank = rank, .quant = quant};
    memcpy(v.dims, dims, rank * sizeof *dims);
    size_t bytes = (qrn_view_count(&v) * qrn_dtypes[dtype].bits + 7) / 8;
    uint8_t *data = malloc(bytes ? bytes : 1);
    assert_non_null(data);
    bool extreme = between(0, 9) == 0; // nothing but the ends of the range
    for (size_t i = 0; i < bytes; i++)
        data[i] = (uint8_t)(extreme ? random_u32() % 2 * 255 : random_u32());
    v.data = data;
    return v;
}

static int64_t q(const qrn_view *v, size_t i) {
    int nibble = v->dtype == QRN_DTYPE_SQ4 || v->dtype == QRN_DTYPE_UQ4
                     ? ((const uint8_t *)v->data)[i / 2] >> (i % 2 ? 4 : 0) & 15
                     : 0;
    switch (v->dtype) {
    case QRN_DTYPE_SQ4:
        return nibble >= 8 ? nibble - 16 : nibble;
    case QRN_DTYPE_UQ4:
        return nibble;
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

// Operands of one call with their encodings.
typedef struct operands {
    qrn_quant xq, wq, yq;
    float scales[CHANNELS_MAX];
    int32_t offsets[CHANNELS_MAX], bias[CHANNELS_MAX];
    qrn_view x, w, y, bias_view;
    bool has_bias;
    uint8_t bits; // of w
} operands;

static bool is_signed(qrn_dtype t) { return qrn_dtypes[t].cls == QRN_CLASS_SFIXED; }

static qrn_quant tensor_quant(qrn_dtype t) {
    unsigned bits = qrn_dtypes[t].bits;
    int32_t top = (1 << bits) - 1, zero = (int32_t)between(0, (uint32_t)top);
    if (is_signed(t))
        zero = zero / 2 - top / 4;
    float scale = random_scale() * (bits == 16 ? 1.0f / 256 : bits == 4 ? 16.0f : 1.0f);
    return (qrn_quant){
        .kind = QRN_QUANT_TENSOR, .bits = (uint8_t)bits, .scale = scale, .offset = -zero};
}

// channel_axis: of w; per_channel offsets differ only where the rows under test allow it.
static void make_operands(operands *o, uint32_t rank, const uint32_t *x_dims, uint32_t w_rank,
                          const uint32_t *w_dims, uint32_t channel_axis, const uint32_t *y_dims,
                          uint32_t channels) {
    static const qrn_dtype out_types[] = {QRN_DTYPE_UQ8, QRN_DTYPE_SQ8, QRN_DTYPE_UQ16,
                                          QRN_DTYPE_SQ16};
    static const qrn_dtype weight_types[] = {QRN_DTYPE_UQ8, QRN_DTYPE_SQ8,  QRN_DTYPE_SQ4,
                                             QRN_DTYPE_UQ4, QRN_DTYPE_SQ16, QRN_DTYPE_UQ16};
    qrn_dtype xt = out_types[between(0, 5) % 4];
    qrn_dtype wt = weight_types[between(0, 9) % 6];
    qrn_dtype yt = out_types[between(0, 5) % 4];
    bool plain = between(0, 2) == 0; // 16 bits times symmetric weights
    if (plain) {
        xt = out_types[between(2, 3)];
        yt = out_types[between(2, 3)];
        wt = weight_types[between(1, 2)];
    }
    o->xq = tensor_quant(xt);
    o->wq = tensor_quant(wt);
    if (plain)
        o->wq.offset = 0;
    float w_scale = o->wq.scale;
    o->bits = o->wq.bits;
    int32_t shared = between(0, 2) ? 0 : o->wq.offset;
    bool same = plain || between(0, 3) != 0;
    for (uint32_t c = 0; c < channels; c++) {
        o->scales[c] = w_scale * (0.5f + (float)(random_u32() % 1000) / 1000.0f);
        o->offsets[c] = same ? shared : (int32_t)between(0, 20) - 10;
        o->bias[c] = (int32_t)(random_u32() % 20001) - 10000;
    }
    if (between(0, 1))
        o->wq = (qrn_quant){.kind = QRN_QUANT_AXIS,
                            .bits = o->bits,
                            .axis = (uint8_t)channel_axis,
                            .scales = o->scales,
                            .offsets = o->offsets,
                            .n_groups = channels};
    bool is16 = yt == QRN_DTYPE_UQ16 || yt == QRN_DTYPE_SQ16;
    o->yq = (qrn_quant){.kind = QRN_QUANT_TENSOR, .bits = is16 ? (between(0, 7) ? 16 : 12) : 8};
    o->yq.scale = is16 ? 0.01f : 0.9f;
    o->yq.offset = (int32_t)between(0, 200) - (is16 ? 3000 : 160);
    o->x = make(rank, x_dims, xt, &o->xq);
    o->w = make(w_rank, w_dims, wt, &o->wq);
    o->y = make(rank, y_dims, yt, &o->yq);
    o->has_bias = between(0, 3) != 0;
    o->bias_view = (qrn_view){.data = o->bias, .dtype = QRN_DTYPE_I32, .rank = 1};
    o->bias_view.dims[0] = channels;
}

static void free_operands(operands *o) {
    free(o->x.data);
    free(o->w.data);
    free(o->y.data);
}

// The definition: result i of channel c from its exact sum of products.
static int64_t expected_q(const operands *o, uint32_t c, int64_t products) {
    int64_t acc = products + (o->has_bias ? o->bias[c] : 0), lo, hi;
    bool axis = o->wq.kind == QRN_QUANT_AXIS;
    double m =
        (double)o->xq.scale * (double)(axis ? o->scales[c] : o->wq.scale) / (double)o->yq.scale;
    double t = floor(fma((double)acc, m, -(double)o->yq.offset + 0.5));
    hi = ((1 << o->yq.bits) - 1) >> (is_signed(o->y.dtype) ? 1 : 0);
    lo = is_signed(o->y.dtype) ? -hi - 1 : 0;
    return t < (double)lo ? lo : t > (double)hi ? hi : (int64_t)t;
}

static int64_t product(const operands *o, size_t xi, size_t wi, uint32_t c) {
    int32_t w_offset = o->wq.kind == QRN_QUANT_AXIS ? o->offsets[c] : o->wq.offset;
    return (q(&o->x, xi) + o->xq.offset) * (q(&o->w, wi) + w_offset);
}

// Runs every RAW row the machine has with several numbers of tasks; returns how many rows ran.
static unsigned check_rows(const qrn_family *f, const void *args, qrn_view *const *in,
                           uint32_t n_in, operands *o, const int64_t *expected) {
    unsigned ran = 0;
    for (uint32_t i = 0; i < f->n_rows; i++) {
        qrn_view *outs[] = {&o->y};
        qrn_kcall k = {.args = args, .in = in, .out = outs, .n_in = n_in, .n_out = 1, .n_tasks = 1};
        if (qrn_kernel_rejection(&f->rows[i], QRN_DOMAIN_RAW, &k, qrn_cpu_isa()))
            continue;
        ran++;
        for (k.n_tasks = 1; k.n_tasks <= 7; k.n_tasks += 3) {
            size_t bytes = f->rows[i].scratch ? f->rows[i].scratch(&k) : 0;
            k.scratch = aligned_alloc(64, (bytes + 64) / 64 * 64);
            assert_non_null(k.scratch);
            memset(k.scratch, 0xa5, bytes);
            memset(o->y.data, 0x5a, qrn_view_count(&o->y) * qrn_view_elem(&o->y));
            for (k.task = 0; k.task < k.n_tasks; k.task++)
                assert_int_equal(f->rows[i].fn(&k), QRN_OK);
            free(k.scratch);
            for (size_t r = 0; r < qrn_view_count(&o->y); r++)
                if (q(&o->y, r) != expected[r])
                    fail_msg("%s, %u tasks: result %zu is %lld, expected %lld", f->rows[i].name,
                             k.n_tasks, r, (long long)q(&o->y, r), (long long)expected[r]);
        }
    }
    qrn_view *outs[] = {&o->y};
    prove_call(f, QRN_DOMAIN_RAW,
               &(qrn_kcall){.args = args, .in = in, .out = outs, .n_in = n_in, .n_out = 1});
    return ran;
}

// Packed forms of the weights, and what the dense families want beside them.
typedef struct packed_operands {
    qrn_view packed, sums, scales, offsets, starts;
    int32_t sums_data[CHANNELS_MAX], offsets_data[CHANNELS_MAX];
    int64_t sums64[CHANNELS_MAX];
    float scales_data[CHANNELS_MAX];
    uint32_t start;
} packed_operands;

static void pack(const qrn_weights *w, const operands *o, packed_operands *p) {
    uint32_t channels = w->dense.group * w->dense.cols, rank, dims[5];
    bool axis = o->wq.kind == QRN_QUANT_AXIS, is16 = w->packed == 16;
    p->start = 0;
    assert_true(qrn_weights_shape(w, &rank, dims));
    p->packed = make(rank, dims, QRN_DTYPE_I8, NULL);
    qrn_weights_pack(w, o->w.data, p->packed.data);
    qrn_weights_sums(w, o->w.data, &p->start, 1, is16 ? NULL : p->sums_data,
                     is16 ? p->sums64 : NULL);
    for (uint32_t c = 0; c < channels; c++) {
        p->scales_data[c] = axis ? o->scales[c] : o->wq.scale;
        p->offsets_data[c] = (axis ? o->offsets[c] : o->wq.offset) + qrn_weights_shift(w);
    }
    p->sums = (qrn_view){.data = is16 ? (void *)p->sums64 : p->sums_data,
                         .dtype = is16 ? QRN_DTYPE_I64 : QRN_DTYPE_I32,
                         .rank = 1,
                         .dims = {channels}};
    p->scales = (qrn_view){
        .data = p->scales_data, .dtype = QRN_DTYPE_F32, .rank = 2, .dims = {1, channels}};
    p->offsets = (qrn_view){
        .data = p->offsets_data, .dtype = QRN_DTYPE_I32, .rank = 2, .dims = {1, channels}};
    p->starts = (qrn_view){.data = &p->start, .dtype = QRN_DTYPE_U32, .rank = 1, .dims = {1}};
}

static bool same_offsets(const int32_t *offsets, uint32_t n) {
    for (uint32_t c = 1; c < n; c++)
        if (offsets[c] != offsets[0])
            return false;
    return true;
}

// The same product by the rows with packed weights, where their conditions hold. Returns how many
// of the two families ran.
static unsigned check_packed(const qrn_dense_args *d, operands *o, size_t w_depth, size_t w_col,
                             const int64_t *expected) {
    uint32_t bits = qrn_dtypes[o->w.dtype].bits;
    qrn_weights w = {.dense = *d,
                     .w_depth = w_depth,
                     .w_col = w_col,
                     .dtype = o->w.dtype,
                     .bits = bits,
                     .packed = bits};
    if (!d->rows && !qrn_dense_has_zero(o->x.dtype, o->xq.offset))
        return 0;
    packed_operands p;
    pack(&w, o, &p);
    qrn_view *bias = o->has_bias ? &o->bias_view : NULL;
    bool symmetric = p.offsets_data[0] == 0 && same_offsets(p.offsets_data, d->group * d->cols);
    qrn_view *offsets = symmetric && between(0, 3) ? NULL : &p.offsets;
    qrn_view *in[] = {&o->x, &p.packed, &p.sums, &p.scales, offsets, &p.starts, bias};
    qrn_dense_planes_args planes = {.dense = *d, .w_bits = bits};
    assert_true(check_rows(&qrn_family_dense_planes, &planes, in, 7, o, expected) >= 1);
    int32_t w_offset = p.offsets_data[0] - qrn_weights_shift(&w);
    bool bytes = bits == 8 && qrn_view_elem(&o->x) == 1 && qrn_view_elem(&o->y) == 1 &&
                 same_offsets(p.offsets_data, d->group * d->cols) &&
                 qrn_dense8_fits(d, is_signed(o->x.dtype), o->xq.offset, is_signed(o->w.dtype),
                                 w_offset, o->has_bias ? o->bias : NULL);
    if (bytes) {
        qrn_dense8_args args = {.dense = *d, .w_offset = p.offsets_data[0]};
        in[4] = bias;
        assert_true(check_rows(&qrn_family_dense8, &args, in, 5, o, expected) >= 1);
    }
    free(p.packed.data);
    return bytes ? 2 : 1;
}

static void conv_rows_agree_with_the_definition(void **unused) {
    (void)unused;
    unsigned packed = 0, depthwise = 0;
    for (int n = 0; n < 300; n++) {
        bool dw = n % 3 == 0, pointwise = n % 3 == 1;
        uint32_t kh = pointwise ? 1 : between(1, 3), kw = pointwise ? 1 : between(1, 4);
        uint32_t stride = pointwise ? 1 : between(1, 2), dil = between(1, 2);
        uint32_t pad = pointwise ? 0 : between(0, 2), group = dw ? between(1, 90) : between(1, 2);
        uint32_t cin = dw ? 1 : between(1, 40), cout = dw ? 1 : between(1, 40);
        bool large = n % 30 == 2; // several blocks of rows
        bool broad = n % 6 == 5;  // lines long enough for windows that overlap
        if (broad) {
            group = 1;
            cin = 4 * between(1, 10);
        }
        uint32_t h = between(1, large ? 30 : 6) + (kh - 1) * dil;
        uint32_t w = (broad ? between(20, 40) : between(1, large ? 40 : 7)) + (kw - 1) * dil;
        uint32_t oh = (h + 2 * pad - (kh - 1) * dil - 1) / stride + 1;
        uint32_t ow = (w + 2 * pad - (kw - 1) * dil - 1) / stride + 1, co_all = group * cout;
        qrn_conv_args conv = {.n_spatial = 2,
                              .group = group,
                              .stride = {stride, stride},
                              .dilation = {dil, dil},
                              .before = {pad, pad}};
        qrn_dense_args dense = {
            .conv = conv, .kernel = {kh, kw}, .group = group, .depth = kh * kw * cin, .cols = cout};
        operands o;
        make_operands(&o, 4, (uint32_t[]){1, h, w, cin * group}, 4,
                      (uint32_t[]){kh, kw, cin, co_all}, 3, (uint32_t[]){1, oh, ow, co_all},
                      co_all);
        int64_t *expected = calloc((size_t)oh * ow * co_all, sizeof *expected);
        for (uint32_t i = 0; i < oh * ow * co_all; i++) {
            uint32_t c = i % co_all, x0 = i / co_all % ow, y0 = i / co_all / ow;
            int64_t sum = 0;
            for (uint32_t t = 0; t < kh * kw * cin; t++) {
                int64_t y = (int64_t)y0 * stride + t / cin / kw * dil - pad;
                int64_t x = (int64_t)x0 * stride + t / cin % kw * dil - pad;
                if (y >= 0 && x >= 0 && y < h && x < w)
                    sum += product(&o, (size_t)(y * w + x) * cin * group + c / cout * cin + t % cin,
                                   (size_t)t * co_all + c, c);
            }
            expected[i] = expected_q(&o, c, sum);
        }
        qrn_view *in[] = {&o.x, &o.w, o.has_bias ? &o.bias_view : NULL};
        unsigned ran = check_rows(&qrn_family_conv, &conv, in, 3, &o, expected);
        assert_true(ran >= 1);
        depthwise += dw && ran >= 2;
        packed += check_packed(&dense, &o, co_all, 1, expected);
        free(expected);
        free_operands(&o);
    }
    assert_true(packed >= 120);
    assert_true(depthwise >= 60);
}

// The sum of products of output (oy, ox) and channel c of a transposed convolution: taps find a
// cell of x where the distance is a multiple of the stride.
static int64_t transposed_sum(const operands *o, const qrn_dense_args *d, uint32_t oy, uint32_t ox,
                              uint32_t c) {
    const uint32_t *xd = o->x.dims, *s = d->conv.stride, cin = xd[3], cout = o->y.dims[3];
    int64_t sum = 0;
    for (uint32_t t = 0; t < d->kernel[0] * d->kernel[1]; t++) {
        int64_t y = (int64_t)oy + d->conv.before[0] - t / d->kernel[1] * d->conv.dilation[0];
        int64_t x = (int64_t)ox + d->conv.before[1] - t % d->kernel[1] * d->conv.dilation[1];
        if (y < 0 || x < 0 || y % s[0] || x % s[1] || y / s[0] >= xd[1] || x / s[1] >= xd[2])
            continue;
        size_t cell = (size_t)(y / s[0]) * xd[2] + (size_t)(x / s[1]);
        for (uint32_t i = 0; i < cin; i++)
            sum += product(o, cell * cin + i, ((size_t)t * cin + i) * cout + c, c);
    }
    return sum;
}

static void transposed_rows_agree_with_the_definition(void **unused) {
    (void)unused;
    for (int n = 0; n < 150; n++) {
        bool even = n % 3 == 0, large = n % 10 == 9; // kernels of whole strides; several blocks
        uint32_t s[2] = {between(1, 3), between(1, 3)}, k[2], size[2], out[2], before[2];
        uint32_t cin = n % 4 ? 4 * between(1, 12) : between(1, 20), cout = between(1, 70);
        for (int i = 0; i < 2; i++) {
            k[i] = even ? s[i] * between(1, 2) : between(1, 5);
            size[i] = between(1, large ? 40 : 7);
            before[i] = even ? (k[i] - s[i]) / 2 : between(0, k[i] - 1);
            uint32_t all = (size[i] - 1) * s[i] + k[i] + between(0, s[i] - 1);
            out[i] = all > before[i] ? all - before[i] : 1;
            out[i] -= between(0, 1) && out[i] > before[i] ? before[i] : 0;
        }
        qrn_dense_args d = {.conv = {.n_spatial = 2, .group = 1, .transposed = true},
                            .group = 1,
                            .depth = k[0] * k[1] * cin,
                            .cols = cout};
        for (int i = 0; i < 2; i++) {
            d.conv.stride[i] = s[i];
            d.conv.dilation[i] = n % 7 == 6 ? 2 : 1;
            d.conv.before[i] = before[i];
            d.kernel[i] = k[i];
        }
        operands o;
        make_operands(&o, 4, (uint32_t[]){1, size[0], size[1], cin}, 4,
                      (uint32_t[]){k[0], k[1], cin, cout}, 3, (uint32_t[]){1, out[0], out[1], cout},
                      cout);
        int64_t *expected = calloc((size_t)out[0] * out[1] * cout, sizeof *expected);
        for (uint32_t i = 0; i < out[0] * out[1] * cout; i++)
            expected[i] =
                expected_q(&o, i % cout,
                           transposed_sum(&o, &d, i / cout / out[1], i / cout % out[1], i % cout));
        check_packed(&d, &o, cout, 1, expected);
        free(expected);
        free_operands(&o);
    }
}

static void gemm_rows_agree_with_the_definition(void **unused) {
    (void)unused;
    unsigned packed = 0;
    for (int n = 0; n < 250; n++) {
        uint32_t rows = between(1, n % 25 == 7 ? 600 : 30), depth = between(1, n % 10 ? 70 : 700),
                 cols = between(1, 100);
        bool tb = n % 2 == 0;
        qrn_matmul_args args = {.transpose_b = tb};
        qrn_dense_args dense = {.rows = true, .group = 1, .depth = depth, .cols = cols};
        operands o;
        make_operands(&o, 2, (uint32_t[]){rows, depth}, 2,
                      (uint32_t[]){tb ? cols : depth, tb ? depth : cols}, tb ? 0 : 1,
                      (uint32_t[]){rows, cols}, cols);
        int64_t *expected = calloc((size_t)rows * cols, sizeof *expected);
        for (uint32_t i = 0; i < rows * cols; i++) {
            int64_t sum = 0;
            for (uint32_t k = 0; k < depth; k++)
                sum += product(&o, (size_t)i / cols * depth + k,
                               tb ? (size_t)(i % cols) * depth + k : (size_t)k * cols + i % cols,
                               i % cols);
            expected[i] = expected_q(&o, i % cols, sum);
        }
        qrn_view *in[] = {&o.x, &o.w, o.has_bias ? &o.bias_view : NULL};
        assert_true(check_rows(&qrn_family_matmul, &args, in, 3, &o, expected) >= 1);
        packed += check_packed(&dense, &o, tb ? 1 : cols, tb ? depth : 1, expected);
        free(expected);
        free_operands(&o);
    }
    assert_true(packed >= 265); // all by dense_planes, some by dense8
}

// Bytes with symmetric weights, which many rows of a short depth have of their own.
static bool is_plain_bytes(const operands *o) {
    return qrn_view_elem(&o->x) == 1 && qrn_view_elem(&o->y) == 1 &&
           qrn_dtypes[o->w.dtype].bits == 8 && o->wq.kind == QRN_QUANT_TENSOR &&
           o->wq.offset == (is_signed(o->w.dtype) ? 0 : -128);
}

static void many_short_rows_agree_with_the_definition(void **unused) {
    (void)unused;
    for (int n = 0; n < 15; n++) {
        uint32_t rows = between(90, 260), depth = between(10, n % 4 ? 60 : 270);
        uint32_t cols = between(9, 70);
        qrn_dense_args dense = {.rows = true, .group = 1, .depth = depth, .cols = cols};
        operands o;
        do {
            make_operands(&o, 2, (uint32_t[]){rows, depth}, 2, (uint32_t[]){depth, cols}, 1,
                          (uint32_t[]){rows, cols}, cols);
            o.wq.offset = is_signed(o.w.dtype) ? 0 : -128;
            if (!is_plain_bytes(&o))
                free_operands(&o);
        } while (!is_plain_bytes(&o));
        if (n % 3 == 0) { // results of all bytes: nothing is clamped beside
            o.y.dtype = QRN_DTYPE_UQ8;
            o.yq.offset = -(int32_t)between(0, 255);
        }
        o.yq.scale *= (float)between(1, 40);
        int64_t *expected = calloc((size_t)rows * cols, sizeof *expected);
        for (uint32_t i = 0; i < rows * cols; i++) {
            int64_t sum = 0;
            for (uint32_t k = 0; k < depth; k++)
                sum += product(&o, (size_t)i / cols * depth + k, (size_t)k * cols + i % cols,
                               i % cols);
            expected[i] = expected_q(&o, i % cols, sum);
        }
        assert_int_equal(check_packed(&dense, &o, cols, 1, expected), 2);
        free(expected);
        free_operands(&o);
    }
}

// Sums for which the scaled sum is as close to a whole number as an integer can make it, on both
// sides of it, with the scales and zeros of the operands: the bias moves each sum there.
static void sums_next_to_a_tie(operands *o, uint32_t depth, uint32_t cols) {
    for (uint32_t c = 0; c < cols; c++) {
        bool axis = o->wq.kind == QRN_QUANT_AXIS;
        double scale = (double)(axis ? o->scales[c] : o->wq.scale);
        double m = (double)o->xq.scale * scale / (double)o->yq.scale;
        double whole = (double)between(0, 260) - (is_signed(o->y.dtype) ? 130 : 2);
        double acc = (whole - 0.5 + (double)o->yq.offset) / m;
        int64_t sum = 0;
        for (uint32_t k = 0; k < depth; k++)
            sum += product(o, k, (size_t)k * cols + c, c);
        o->bias[c] = (int32_t)((between(0, 1) ? floor(acc) : ceil(acc)) - (double)sum);
    }
    o->has_bias = true;
}

static void results_next_to_a_tie_are_rounded_exactly(void **unused) {
    (void)unused;
    unsigned packed = 0;
    for (int n = 0; n < 400; n++) {
        uint32_t rows = between(1, 5), depth = between(1, n % 4 ? 8 : 600), cols = between(60, 100);
        qrn_dense_args dense = {.rows = true, .group = 1, .depth = depth, .cols = cols};
        operands o;
        make_operands(&o, 2, (uint32_t[]){rows, depth}, 2, (uint32_t[]){depth, cols}, 1,
                      (uint32_t[]){rows, cols}, cols);
        for (uint32_t r = 1; r < rows; r++) // all rows are the first one
            memcpy((char *)o.x.data + r * depth * qrn_view_elem(&o.x), o.x.data,
                   depth * qrn_view_elem(&o.x));
        o.yq.scale *= n % 3 ? 1000.0f : 10000.0f; // many sums for each result
        if (n % 3 == 1)
            o.yq.offset = -(int32_t)between(0, is_signed(o.y.dtype) ? 127 : 255);
        sums_next_to_a_tie(&o, depth, cols);
        int64_t *expected = calloc((size_t)rows * cols, sizeof *expected);
        for (uint32_t i = 0; i < rows * cols; i++) {
            int64_t sum = 0;
            for (uint32_t k = 0; k < depth; k++)
                sum += product(&o, k, (size_t)k * cols + i % cols, i % cols);
            expected[i] = expected_q(&o, i % cols, sum);
        }
        packed += check_packed(&dense, &o, cols, 1, expected);
        free(expected);
        free_operands(&o);
    }
    assert_true(packed >= 420);
}

// Weights that change their scale, and some their offset, every few steps of the depth.
typedef struct block_operands {
    float scales[RUNS_MAX * CHANNELS_MAX];
    int32_t offsets[RUNS_MAX * CHANNELS_MAX], sums[RUNS_MAX * CHANNELS_MAX];
    uint32_t starts[RUNS_MAX], n_runs;
    double bias[CHANNELS_MAX];
} block_operands;

static int64_t expected_of_blocks(const operands *o, const block_operands *b, uint32_t depth,
                                  uint32_t cols, uint32_t row, uint32_t c) {
    double t = 0.5 - (double)o->yq.offset + b->bias[c] / (double)o->yq.scale;
    for (uint32_t run = 0; run < b->n_runs; run++) {
        uint32_t end = run + 1 < b->n_runs ? b->starts[run + 1] : depth;
        int64_t acc = 0;
        for (uint32_t k = b->starts[run]; k < end; k++)
            acc += (q(&o->x, (size_t)row * depth + k) + o->xq.offset) *
                   (q(&o->w, (size_t)k * cols + c) + b->offsets[run * cols + c]);
        t = fma((double)acc,
                (double)o->xq.scale * (double)b->scales[run * cols + c] / (double)o->yq.scale, t);
    }
    int64_t hi = ((1 << o->yq.bits) - 1) >> (is_signed(o->y.dtype) ? 1 : 0);
    int64_t lo = is_signed(o->y.dtype) ? -hi - 1 : 0;
    t = floor(t);
    return t < (double)lo ? lo : t > (double)hi ? hi : (int64_t)t;
}

static void make_blocks(block_operands *b, const operands *o, uint32_t depth, uint32_t cols,
                        uint32_t block, bool offsets) {
    b->n_runs = (depth + block - 1) / block;
    for (uint32_t run = 0; run < b->n_runs; run++)
        b->starts[run] = run * block;
    for (uint32_t i = 0; i < b->n_runs * cols; i++) {
        b->scales[i] = o->wq.scale * (0.5f + (float)(random_u32() % 1000) / 1000.0f);
        b->offsets[i] = offsets ? (int32_t)between(0, 20) - 10 : 0;
    }
    for (uint32_t c = 0; c < cols; c++)
        b->bias[c] = (double)between(0, 2000) / 100.0 - 10;
}

static void rows_of_blocks_agree_with_the_definition(void **unused) {
    (void)unused;
    static block_operands b;
    for (int n = 0; n < 60; n++) {
        uint32_t rows = between(1, n % 2 ? 20 : 5), cols = between(1, 70);
        uint32_t block = 4 * between(1, n % 5 ? 16 : 80), depth = between(1, 12 * block);
        bool offsets = n % 3 == 0;
        qrn_dense_args dense = {.rows = true, .group = 1, .depth = depth, .cols = cols};
        operands o;
        do {
            make_operands(&o, 2, (uint32_t[]){rows, depth}, 2, (uint32_t[]){depth, cols}, 1,
                          (uint32_t[]){rows, cols}, cols);
            if (o.w.dtype == QRN_DTYPE_SQ8 || o.w.dtype == QRN_DTYPE_SQ4)
                break;
            free_operands(&o);
        } while (true);
        o.wq.scale = o.wq.kind == QRN_QUANT_AXIS ? o.scales[0] : o.wq.scale;
        make_blocks(&b, &o, depth, cols, block, offsets);
        int64_t *expected = calloc((size_t)rows * cols, sizeof *expected);
        for (uint32_t i = 0; i < rows * cols; i++)
            expected[i] = expected_of_blocks(&o, &b, depth, cols, i / cols, i % cols);
        uint32_t bits = qrn_dtypes[o.w.dtype].bits, rank, dims[5];
        qrn_weights w = {.dense = dense,
                         .w_depth = cols,
                         .w_col = 1,
                         .dtype = o.w.dtype,
                         .bits = bits,
                         .packed = bits};
        assert_true(qrn_weights_shape(&w, &rank, dims));
        qrn_view packed = make(rank, dims, QRN_DTYPE_I8, NULL);
        qrn_weights_pack(&w, o.w.data, packed.data);
        qrn_weights_sums(&w, o.w.data, b.starts, b.n_runs, b.sums, NULL);
        qrn_view sums = {
            .data = b.sums, .dtype = QRN_DTYPE_I32, .rank = 2, .dims = {b.n_runs, cols}};
        qrn_view scales = sums, some = sums,
                 bias = {.data = b.bias, .dtype = QRN_DTYPE_F64, .rank = 1, .dims = {cols}};
        scales.data = b.scales;
        scales.dtype = QRN_DTYPE_F32;
        some.data = b.offsets;
        qrn_view starts = {.data = b.starts, .dtype = QRN_DTYPE_U32, .rank = 1, .dims = {b.n_runs}};
        qrn_view *in[] = {&o.x, &packed, &sums, &scales, offsets ? &some : NULL, &starts, &bias};
        qrn_dense_planes_args planes = {.dense = dense, .w_bits = bits, .blocks = true};
        assert_true(check_rows(&qrn_family_dense_planes, &planes, in, 7, &o, expected) >= 1);
        free(packed.data);
        free(expected);
        free_operands(&o);
    }
}

// A bias can take the sum of few products beyond 32 bits, and scales can take the results there.
static void large_sums_are_whole(void **unused) {
    (void)unused;
    for (int n = 0; n < 24; n++) {
        uint32_t rows = between(1, 20), depth = between(1, n % 2 ? 12 : 60), cols = between(1, 40);
        qrn_dense_args dense = {.rows = true, .group = 1, .depth = depth, .cols = cols};
        operands o;
        do {
            make_operands(&o, 2, (uint32_t[]){rows, depth}, 2, (uint32_t[]){depth, cols}, 1,
                          (uint32_t[]){rows, cols}, cols);
            if (qrn_view_elem(&o.x) == 2 && o.w.dtype == QRN_DTYPE_SQ8 && o.has_bias)
                break;
            free_operands(&o);
        } while (true);
        for (uint32_t c = 0; c < cols; c++)
            o.bias[c] = n % 3 ? (c % 2 ? INT32_MAX : INT32_MIN) : o.bias[c];
        o.yq.scale = n % 3 == 0 ? 1e-9f : (float)between(1, 9) * 1e3f;
        int64_t *expected = calloc((size_t)rows * cols, sizeof *expected);
        for (uint32_t i = 0; i < rows * cols; i++) {
            int64_t sum = 0;
            for (uint32_t k = 0; k < depth; k++)
                sum += product(&o, (size_t)i / cols * depth + k, (size_t)k * cols + i % cols,
                               i % cols);
            expected[i] = expected_q(&o, i % cols, sum);
        }
        check_packed(&dense, &o, cols, 1, expected);
        free(expected);
        free_operands(&o);
    }
}

// The bound must be sharp enough to let ordinary layers in and must keep overflow out.
static void sums_beyond_32_bits_are_not_packed(void **unused) {
    (void)unused;
    qrn_dense_args d = {.rows = true, .group = 1, .depth = 33025, .cols = 1};
    assert_true(qrn_dense8_fits(&d, false, 0, false, 0, NULL)); // 33025 * 255 * 255 < 2^31
    d.depth++;
    assert_false(qrn_dense8_fits(&d, false, 0, false, 0, NULL));
    assert_true(qrn_dense8_fits(&d, false, -255, true, 0, NULL)); // 255 * 128
    assert_false(qrn_dense8_fits(&d, false, 255, true, 0, NULL)); // 510 * 128
    d.depth = 1;
    assert_true(qrn_dense8_fits(&d, true, 0, true, 0, (int32_t[]){INT32_MAX - 128 * 128}));
    assert_false(qrn_dense8_fits(&d, true, 0, true, 0, (int32_t[]){INT32_MAX - 128 * 128 + 1}));
    assert_false(qrn_dense8_fits(&d, true, 0, true, 0, (int32_t[]){INT32_MIN}));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(conv_rows_agree_with_the_definition, set_up),
        cmocka_unit_test_setup(transposed_rows_agree_with_the_definition, set_up),
        cmocka_unit_test_setup(gemm_rows_agree_with_the_definition, set_up),
        cmocka_unit_test_setup(many_short_rows_agree_with_the_definition, set_up),
        cmocka_unit_test_setup(results_next_to_a_tie_are_rounded_exactly, set_up),
        cmocka_unit_test_setup(rows_of_blocks_agree_with_the_definition, set_up),
        cmocka_unit_test_setup(large_sums_are_whole, set_up),
        cmocka_unit_test(sums_beyond_32_bits_are_not_packed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
