// SPDX-License-Identifier: MIT
//
// Speed of every convolution and product row that this machine can run, on the layers of common
// networks, one thread: GFLOP/s (two per product; GOP/s for codes) and, for single precision, the
// share of the arithmetic peak that a loop of independent fused multiply-adds reaches in the same
// run.
//   bench_gemm [word ...]    only rows whose name contains one of the words
#include "base/cpu.h"
#include "base/mem.h"
#include "kernels/gemm/dense.h"
#include "kernels/gemm/dense8.h"
#include "kernels/gemm/matmul.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#define CHAINS 12 // enough to hide the latency of an FMA on two units

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static float peak_loop(size_t n) {
    __m256 acc[CHAINS], a = _mm256_set1_ps(0.5f), b = _mm256_set1_ps(1.0f);
    for (int i = 0; i < CHAINS; i++)
        acc[i] = _mm256_set1_ps((float)i);
    for (size_t k = 0; k < n; k++)
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++)
            acc[i] = _mm256_fmadd_ps(acc[i], a, b);
    float sum = 0;
    for (int i = 0; i < CHAINS; i++)
        sum += acc[i][0];
    return sum;
}
__attribute__((target("avx512f"))) static float peak_loop_512(size_t n) {
    __m512 acc[CHAINS], a = _mm512_set1_ps(0.5f), b = _mm512_set1_ps(1.0f);
    for (int i = 0; i < CHAINS; i++)
        acc[i] = _mm512_set1_ps((float)i);
    for (size_t k = 0; k < n; k++)
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++)
            acc[i] = _mm512_fmadd_ps(acc[i], a, b);
    float sum = 0;
    for (int i = 0; i < CHAINS; i++)
        sum += acc[i][0];
    return sum;
}

// Best of a few runs of each width the CPU has, in GFLOP/s; 0 when unknown.
static double peak(void) {
    volatile float sink;
    double best = 0;
    for (int i = 0; i < 10; i++) {
        size_t n = 1000000;
        double t = now();
        if (qrn_cpu_isa() & QRN_ISA_AVX2) {
            sink = peak_loop(n);
            double rate = 2e-9 * 8 * CHAINS * (double)n / (now() - t);
            best = rate > best ? rate : best;
        }
        t = now();
        if (qrn_cpu_isa() & QRN_ISA_AVX512) {
            sink = peak_loop_512(n);
            double rate = 2e-9 * 16 * CHAINS * (double)n / (now() - t);
            best = rate > best ? rate : best;
        }
    }
    (void)sink;
    return best;
}
#else
static double peak(void) { return 0; }
#endif

typedef struct layer {
    const char *name;
    uint32_t size, cin, kernel, stride, group, cout; // cin, cout: all groups; square images
} layer;

static const layer layers[] = {
    {"resnet50 7x7/2", 224, 3, 7, 2, 1, 64},
    {"resnet50 1x1 64-256", 56, 64, 1, 1, 1, 256},
    {"resnet50 3x3 64", 56, 64, 3, 1, 1, 64},
    {"resnet50 3x3 256", 14, 256, 3, 1, 1, 256},
    {"resnet50 1x1 1024-256", 14, 1024, 1, 1, 1, 256},
    {"mobilenet 3x3/2 3-32", 224, 3, 3, 2, 1, 32},
    {"mobilenet 1x1 16-96", 112, 16, 1, 1, 1, 96},
    {"mobilenet 1x1 160-960", 7, 160, 1, 1, 1, 960},
    {"mobilenet dw 96", 56, 96, 3, 1, 96, 96},
    {"mobilenet dw/2 144", 56, 144, 3, 2, 144, 144},
    {"classifier 1280-1000", 1, 1280, 1, 1, 1, 1000},
};

static qrn_view make(uint32_t rank, const uint32_t *dims, qrn_dtype dtype, const qrn_quant *quant) {
    qrn_view v = {.dtype = dtype, .rank = rank, .quant = quant};
    memcpy(v.dims, dims, rank * sizeof *dims);
    size_t n = qrn_view_count(&v);
    v.data = qrn_calloc(n * qrn_view_elem(&v));
    for (size_t i = 0; v.data && i < n; i++)
        if (dtype == QRN_DTYPE_F32)
            ((float *)v.data)[i] = (float)(i * 7919 % 2048) / 1024.0f - 1.0f;
        else
            ((uint8_t *)v.data)[i] = (uint8_t)(i * 7919);
    return v;
}

static int wanted(const char *row, int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        if (strstr(row, argv[i]))
            return 1;
    return argc < 2;
}

// Times every row of the family in a domain on one call.
static void time_rows(const qrn_family *f, qrn_domain domain, qrn_kcall *k, const char *what,
                      double products, double top, int argc, char **argv) {
    for (uint32_t i = 0; i < f->n_rows; i++) {
        const qrn_kernel *row = &f->rows[i];
        if (qrn_kernel_refusal(row, domain, k, qrn_cpu_isa()) || !wanted(row->name, argc, argv))
            continue;
        size_t bytes = row->scratch ? row->scratch(k) : 0;
        k->scratch = bytes ? qrn_alloc(bytes) : NULL;
        double best = 1e9, begin = now();
        for (int n = 0; n < 3 || (now() - begin < 0.2 && n < 1000); n++) {
            double t = now();
            row->fn(k);
            t = now() - t;
            best = t < best ? t : best;
        }
        double rate = 2e-9 * products / best;
        printf("%-24s %-22s %9.3f ms %8.1f G/s", row->name, what, 1e3 * best, rate);
        if (top > 0)
            printf(" %5.1f %% of peak", 100 * rate / top);
        printf("\n");
        qrn_free(k->scratch);
        k->scratch = NULL;
    }
}

// The same layer with packed weights.
static void time_dense8(const qrn_dense_args *d, const char *what, qrn_view *x, const qrn_view *w,
                        qrn_view *y, double products, int argc, char **argv) {
    uint32_t dims[4], channels = d->group * d->cols;
    qrn_dense8_args args = {.dense = *d, .w_offset = 0};
    if (!qrn_dense8_packed_shape(d, dims))
        return;
    qrn_view packed = make(4, dims, QRN_DTYPE_I8, NULL);
    qrn_view sums = make(1, &channels, QRN_DTYPE_F32, NULL);
    qrn_view scales = make(1, &channels, QRN_DTYPE_F32, NULL);
    qrn_dense8_pack(d, w->data, channels, 1, 0x80, packed.data);
    qrn_dense8_sums(d, w->data, channels, 1, 0x80, sums.data);
    for (uint32_t c = 0; c < channels; c++)
        ((float *)scales.data)[c] = w->quant->scale;
    qrn_view *in[] = {x, &packed, &sums, &scales};
    qrn_kcall k = {.args = &args, .in = in, .out = &y, .n_in = 4, .n_out = 1, .n_tasks = 1};
    time_rows(&qrn_family_dense8, QRN_DOMAIN_RAW, &k, what, products, 0, argc, argv);
    qrn_free(packed.data);
    qrn_free(sums.data);
    qrn_free(scales.data);
}

static void time_layer(const layer *l, double top, int argc, char **argv) {
    uint32_t out = (l->size + 2 * (l->kernel / 2) - l->kernel) / l->stride + 1;
    uint32_t cin = l->cin / l->group, packed_dims[3];
    qrn_conv_args conv = {.n_spatial = 2,
                          .group = l->group,
                          .stride = {l->stride, l->stride},
                          .dilation = {1, 1},
                          .before = {l->kernel / 2, l->kernel / 2}};
    qrn_dense_args dense = {.conv = conv,
                            .kernel = {l->kernel, l->kernel},
                            .group = l->group,
                            .depth = l->kernel * l->kernel * cin,
                            .cols = l->cout / l->group};
    const qrn_quant q = {.kind = QRN_QUANT_TENSOR, .bits = 8, .scale = 0.01f, .offset = -128};
    uint32_t x_dims[] = {1, l->size, l->size, l->cin}, y_dims[] = {1, out, out, l->cout};
    uint32_t w_dims[] = {l->kernel, l->kernel, cin, l->cout};
    if (!qrn_dense_packed_shape(&dense, packed_dims))
        return;
    qrn_view x = make(4, x_dims, QRN_DTYPE_F32, NULL), y = make(4, y_dims, QRN_DTYPE_F32, NULL);
    qrn_view w = make(4, w_dims, QRN_DTYPE_F32, NULL);
    qrn_view packed = make(3, packed_dims, QRN_DTYPE_F32, NULL);
    qrn_view xq = make(4, x_dims, QRN_DTYPE_UQ8, &q), yq = make(4, y_dims, QRN_DTYPE_UQ8, &q);
    qrn_view wq = make(4, w_dims, QRN_DTYPE_UQ8, &q);
    double products = (double)out * out * l->cout * dense.depth;
    qrn_view *in[] = {&x, &packed}, *outs[] = {&y};
    qrn_kcall k = {.args = &dense, .in = in, .out = outs, .n_in = 2, .n_out = 1, .n_tasks = 1};
    if (cin > 1 || l->group == 1)
        time_rows(&qrn_family_dense, QRN_DOMAIN_F32, &k, l->name, products, top, argc, argv);
    k.args = &conv;
    in[1] = &w;
    if (cin == 1)
        time_rows(&qrn_family_conv, QRN_DOMAIN_F32, &k, l->name, products, top, argc, argv);
    in[0] = &xq;
    in[1] = &wq;
    outs[0] = &yq;
    time_rows(&qrn_family_conv, QRN_DOMAIN_RAW, &k, l->name, products, 0, argc, argv);
    if (cin > 1 || l->group == 1)
        time_dense8(&dense, l->name, &xq, &wq, &yq, products, argc, argv);
    qrn_view *all[] = {&x, &y, &w, &packed, &xq, &yq, &wq};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        qrn_free(all[i]->data);
}

static void time_matmul(uint32_t batch, uint32_t rows, uint32_t depth, uint32_t cols,
                        bool transposed, double top, int argc, char **argv) {
    char what[64];
    snprintf(what, sizeof what, "%ux%ux%ux%u%s", batch, rows, depth, cols, transposed ? " bT" : "");
    qrn_matmul_args args = {.transpose_b = transposed};
    qrn_view a = make(3, (uint32_t[]){batch, rows, depth}, QRN_DTYPE_F32, NULL);
    uint32_t b_dims[] = {batch, transposed ? cols : depth, transposed ? depth : cols};
    qrn_view b = make(3, b_dims, QRN_DTYPE_F32, NULL);
    qrn_view c = make(3, (uint32_t[]){batch, rows, cols}, QRN_DTYPE_F32, NULL);
    qrn_view *in[] = {&a, &b}, *outs[] = {&c};
    qrn_kcall k = {.args = &args, .in = in, .out = outs, .n_in = 2, .n_out = 1, .n_tasks = 1};
    time_rows(&qrn_family_matmul, QRN_DOMAIN_F32, &k, what, (double)batch * rows * depth * cols,
              top, argc, argv);
    qrn_free(a.data);
    qrn_free(b.data);
    qrn_free(c.data);
}

int main(int argc, char **argv) {
    double top = peak();
    char isa[128];
    printf("CPU: %s; single-precision peak of one core: %.1f GFLOP/s\n",
           qrn_cpu_isa_text(qrn_cpu_isa(), isa, sizeof isa), top);
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++)
        time_layer(&layers[i], top, argc, argv);
    time_matmul(12, 128, 64, 128, true, top, argc, argv);
    time_matmul(12, 128, 128, 64, false, top, argc, argv);
    time_matmul(1, 1024, 1024, 1024, false, top, argc, argv);
    return 0;
}
