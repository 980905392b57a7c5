// SPDX-License-Identifier: MIT
//
// Speed of GEMMs of few rows with weights that no cache holds, as they come when a language model
// writes one word after the other: 128 MiB of packed weights of 8 and 4 bits, activations of 8 and
// 16 bits, and floats with fp16 scales of blocks of 32. Bytes of weights a second, without scales,
// compared with reading them and nothing else.
//   bench_gemv [threads]    1 unless told
#include "base/cpu.h"
#include "base/mem.h"
#include "base/pool.h"
#include "kernels/gemm/dense/dense8.h"
#include "kernels/gemm/dense/dense_planes.h"
#include "kernels/gemm/gemv/weight_only.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define DEPTH 4096
#define WEIGHT_BYTES (128u << 20)
#define ROUNDS 12
#define BLOCK 32

typedef struct form {
    const char *name;
    uint32_t x_bits, w_bits;
} form;

static const form forms[] = {{"a8w8", 8, 8}, {"a16w8", 16, 8}, {"a8w4", 8, 4}, {"a16w4", 16, 4}};

// A call whose tasks run on the pool.
typedef struct work {
    const qrn_kernel *row;
    qrn_kcall call;
} work;

static void run_task(void *arg, uint32_t task) {
    const work *w = arg;
    qrn_kcall k = w->call;
    k.task = task;
    w->row->fn(&k);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *bytes(size_t n) {
    uint8_t *p = qrn_alloc(n);
    if (!p) {
        fprintf(stderr, "bench_gemv: out of memory\n");
        exit(1);
    }
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)(i * 7919 >> 3);
    return p;
}

// Reads a part of the weights and does nothing else.
typedef struct reading {
    const uint64_t *words;
    uint32_t n_tasks;
    uint64_t sums[64]; // [n_tasks], so that reads are not left out
} reading;

static void read_task(void *arg, uint32_t task) {
    reading *r = arg;
    size_t begin, end;
    uint64_t sum[8] = {0};
    qrn_split(WEIGHT_BYTES / sizeof *r->words, 8, task, r->n_tasks, &begin, &end);
    for (size_t i = begin; i < end; i += 8)
        for (int k = 0; k < 8; k++)
            sum[k] += r->words[i + (size_t)k];
    for (int k = 1; k < 8; k++)
        sum[0] += sum[k];
    r->sums[task % 64] = sum[0];
}

static double seconds(qrn_pool *pool, void (*fn)(void *, uint32_t), void *arg, double best) {
    double t = now();
    qrn_pool_run(pool, fn, arg, qrn_pool_threads(pool));
    t = now() - t;
    return t < best ? t : best;
}

// In turns with reading alone: what else the machine does slows both.
static void time_call(const qrn_family *f, qrn_domain domain, qrn_kcall *k, qrn_pool *pool,
                      const char *what) {
    const qrn_kernel *row = qrn_kernel_select(f, domain, k, qrn_cpu_isa());
    k->n_tasks = qrn_pool_threads(pool);
    size_t scratch = row->scratch ? row->scratch(k) : 0;
    k->scratch = scratch ? bytes(scratch) : NULL;
    work w = {row, *k};
    reading r = {.words = k->in[1]->data, .n_tasks = k->n_tasks};
    double best = 1e9, read = 1e9;
    for (int i = 0; i < ROUNDS; i++) {
        best = seconds(pool, run_task, &w, best);
        read = seconds(pool, read_task, &r, read);
    }
    qrn_free(k->scratch);
    printf("%-24s %-12s %8.3f ms %7.2f GB/s   read alone %7.2f GB/s   %5.1f %%\n", row->name, what,
           1e3 * best, 1e-9 * WEIGHT_BYTES / best, 1e-9 * WEIGHT_BYTES / read, 100 * read / best);
}

static void time_form(const form *f, uint32_t rows, qrn_view *packed, qrn_pool *pool) {
    uint32_t cols = WEIGHT_BYTES / DEPTH * 8 / f->w_bits, start = 0;
    const qrn_quant xq = {.kind = QRN_QUANT_TENSOR, .scale = 0.01f, .offset = -100};
    const qrn_quant yq = {.kind = QRN_QUANT_TENSOR, .scale = 9.0f, .offset = -100};
    bool two = f->x_bits == 16;
    qrn_dtype type = two ? QRN_DTYPE_UQ16 : QRN_DTYPE_UQ8;
    qrn_view x = {.data = bytes((size_t)rows * DEPTH * 2),
                  .quant = &xq,
                  .dtype = type,
                  .rank = 2,
                  .dims = {rows, DEPTH}};
    qrn_view y = {.data = bytes((size_t)rows * cols * 2),
                  .quant = &yq,
                  .dtype = type,
                  .rank = 2,
                  .dims = {rows, cols}};
    qrn_view sums = {
        .data = bytes((size_t)cols * 4), .dtype = QRN_DTYPE_I32, .rank = 1, .dims = {cols}};
    qrn_view scales = {
        .data = bytes((size_t)cols * 4), .dtype = QRN_DTYPE_F32, .rank = 2, .dims = {1, cols}};
    qrn_view starts = {.data = &start, .dtype = QRN_DTYPE_U32, .rank = 1, .dims = {1}};
    for (uint32_t c = 0; c < cols; c++)
        ((float *)scales.data)[c] = 0.01f;
    qrn_dense_args d = {.rows = true, .group = 1, .depth = DEPTH, .cols = cols};
    qrn_dense8_args narrow = {.dense = d};
    qrn_dense_planes_args planes = {.dense = d, .w_bits = f->w_bits};
    qrn_view *in[] = {&x, packed, &sums, &scales, NULL, &starts, NULL}, *outs[] = {&y};
    bool is_bytes = f->x_bits == 8 && f->w_bits == 8;
    qrn_kcall k = {.args = is_bytes ? (void *)&narrow : &planes,
                   .in = in,
                   .out = outs,
                   .n_in = is_bytes ? 5 : 7,
                   .n_out = 1,
                   .n_tasks = 1};
    char what[32];
    snprintf(what, sizeof what, "%s %u row%s", f->name, rows, rows > 1 ? "s" : "");
    time_call(is_bytes ? &qrn_family_dense8 : &qrn_family_dense_planes, QRN_DOMAIN_RAW, &k, pool,
              what);
    qrn_view *all[] = {&x, &y, &sums, &scales};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        qrn_free(all[i]->data);
}

static void time_floats(uint32_t bits, uint32_t rows, qrn_view *packed, qrn_pool *pool) {
    uint32_t cols = WEIGHT_BYTES / DEPTH * 8 / bits, runs = DEPTH / BLOCK;
    qrn_weight_only_args a = {.w_bits = bits, .run = BLOCK};
    a.dense = (qrn_dense_args){.rows = true, .group = 1, .depth = DEPTH, .cols = cols};
    qrn_view x = {.dtype = QRN_DTYPE_F32, .rank = 2, .dims = {rows, DEPTH}};
    qrn_view y = {.dtype = QRN_DTYPE_F32, .rank = 2, .dims = {rows, cols}};
    qrn_view scales = {.dtype = QRN_DTYPE_F16, .rank = 3, .dims = {cols / 32, runs, 32}};
    x.data = bytes((size_t)rows * DEPTH * 4);
    y.data = bytes((size_t)rows * cols * 4);
    scales.data = bytes((size_t)cols * runs * 2);
    for (size_t i = 0; i < (size_t)rows * DEPTH; i++)
        ((float *)x.data)[i] = (float)(i % 7) - 3.0f;
    for (size_t i = 0; i < (size_t)cols * runs; i++)
        ((uint16_t *)scales.data)[i] = 0x2c00; // 1/16
    qrn_view *in[] = {&x, packed, &scales, NULL, NULL}, *outs[] = {&y};
    qrn_kcall k = {.args = &a, .in = in, .out = outs, .n_in = 5, .n_out = 1, .n_tasks = 1};
    char what[32];
    snprintf(what, sizeof what, "f32w%u %u row%s", bits, rows, rows > 1 ? "s" : "");
    time_call(&qrn_family_weight_only, QRN_DOMAIN_F32, &k, pool, what);
    qrn_free(x.data);
    qrn_free(y.data);
    qrn_free(scales.data);
}

int main(int argc, char **argv) {
    uint32_t threads = argc > 1 ? (uint32_t)atoi(argv[1]) : 1;
    qrn_pool *pool = qrn_pool_acquire(threads ? threads : 1);
    printf("%u threads, depth %d\n", qrn_pool_threads(pool), DEPTH);
    qrn_view packed = {.data = bytes(WEIGHT_BYTES), .dtype = QRN_DTYPE_I8};
    for (uint32_t rows = 1; rows <= 4; rows += 3)
        for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
            time_form(&forms[i], rows, &packed, pool);
    for (uint32_t rows = 1; rows <= 16; rows *= 4)
        for (uint32_t bits = 8; bits >= 4; bits -= 4)
            time_floats(bits, rows, &packed, pool);
    qrn_free(packed.data);
    qrn_pool_release(pool);
    return 0;
}
