// SPDX-License-Identifier: MIT
//
// Speed of GEMMs of few rows with weights that no cache holds, as they come when a language model
// writes one word after the other: 128 MiB of packed weights of 8 and 4 bits, activations of 8 and
// 16 bits, and floats with fp16 scales of blocks of 32; first as one large matrix, then as many
// matrices of the sizes of a small model, one after the other. Bytes of weights and scales of
// blocks a second, compared with reading weights and nothing else.
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

// Reads a part of the weights and does nothing else: from end to end, or four streams side by side,
// with the widest loads: narrower ones fill the CPU's window of instructions with fewer bytes on
// their way (16 bytes: half the speed on Zen 5).
#define PIECE (1024 / sizeof(words))
typedef uint64_t words __attribute__((vector_size(64), aligned(64)));

typedef struct reading {
    const words *from;
    uint32_t n_tasks, streams;
    words sums[64]; // [n_tasks], so that reads are not left out
} reading;

#define READ(name, target)                                                                         \
    target static void name(reading *r, uint32_t task) {                                           \
        size_t begin, end;                                                                         \
        words sum[4] = {{0}};                                                                      \
        qrn_split(WEIGHT_BYTES / sizeof *r->from, 4 * PIECE, task, r->n_tasks, &begin, &end);      \
        size_t each = (end - begin) / r->streams;                                                  \
        for (size_t at = begin; at < begin + each; at += PIECE)                                    \
            for (size_t s = 0; s < r->streams; s++)                                                \
                for (size_t i = 0; i < PIECE; i += 4)                                              \
                    for (size_t k = 0; k < 4; k++)                                                 \
                        sum[k] ^= r->from[s * each + at + i + k];                                  \
        r->sums[task % 64] = sum[0] ^ sum[1] ^ sum[2] ^ sum[3];                                    \
    }
READ(read_plain, )
#if defined(__x86_64__)
READ(read_avx512, __attribute__((target("avx512f"))))
#endif

static void read_task(void *arg, uint32_t task) {
#if defined(__x86_64__)
    if (qrn_cpu_isa() & QRN_ISA_AVX512) {
        read_avx512(arg, task);
        return;
    }
#endif
    read_plain(arg, task);
}

static double seconds(qrn_pool *pool, void (*fn)(void *, uint32_t), void *arg, double best) {
    double t = now();
    qrn_pool_run(pool, fn, arg, qrn_pool_threads(pool));
    t = now() - t;
    return t < best ? t : best;
}

// best: seconds for `size` bytes; read: for reading WEIGHT_BYTES alone.
static void print_line(const char *row, const char *what, double best, double size, double read) {
    double alone = WEIGHT_BYTES / read;
    printf("%-24s %-22s %8.3f ms %6.2f GB/s   read alone %6.2f GB/s   %5.1f %%\n", row, what,
           1e3 * best, 1e-9 * size / best, 1e-9 * alone, 100 * size / best / alone);
}

// In turns with reading alone: what else the machine does slows both.
static void time_call(const qrn_family *f, qrn_domain domain, qrn_kcall *k, qrn_pool *pool,
                      const char *what) {
    const qrn_kernel *row = qrn_kernel_select(f, domain, k, qrn_cpu_isa());
    k->n_tasks = qrn_pool_threads(pool);
    size_t scratch = row->scratch ? row->scratch(k) : 0;
    k->scratch = scratch ? bytes(scratch) : NULL;
    work w = {row, *k};
    reading r = {.from = k->in[1]->data, .n_tasks = k->n_tasks};
    double best = 1e9, read = 1e9;
    for (int i = 0; i < ROUNDS; i++) {
        best = seconds(pool, run_task, &w, best);
        r.streams = i % 2 ? 4 : 1;
        read = seconds(pool, read_task, &r, read);
    }
    qrn_free(k->scratch);
    print_line(row->name, what, best, WEIGHT_BYTES, read);
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

// Matrices of floats with weights of 4 or 8 bits: all that 128 MiB hold, one after the other.
typedef struct shape {
    uint32_t depth, cols;
} shape;

static const shape small[] = {{576, 1536}, {1536, 576}, {576, 576}, {576, 192}};

typedef struct floats {
    qrn_weight_only_args args;
    qrn_view x, y, w, scales;
    qrn_view *in[5], *out[1];
    qrn_kcall call;
    size_t n; // matrices
} floats;

// Both types of rows have values of fp16.
static void make_floats(floats *f, shape s, uint32_t bits, uint32_t rows, bool fp16) {
    uint32_t runs = s.depth / BLOCK;
    *f = (floats){.args = {.w_bits = bits, .run = BLOCK, .fp16 = fp16},
                  .x = {.dtype = QRN_DTYPE_F32, .rank = 2, .dims = {rows, s.depth}},
                  .y = {.dtype = QRN_DTYPE_F32, .rank = 2, .dims = {rows, s.cols}},
                  .w = {.dtype = QRN_DTYPE_I8},
                  .scales = {.dtype = QRN_DTYPE_F16, .rank = 3, .dims = {s.cols / 32, runs, 32}},
                  .n = WEIGHT_BYTES / ((size_t)s.depth * s.cols * bits / 8)};
    f->args.dense = (qrn_dense_args){.rows = true, .group = 1, .depth = s.depth, .cols = s.cols};
    size_t n_scales = (size_t)s.cols * runs * f->n;
    f->x.data = bytes((size_t)rows * s.depth * 4);
    f->y.data = bytes((size_t)rows * s.cols * 4);
    f->scales.data = bytes(n_scales * 2);
    for (size_t i = 0; i < (size_t)rows * s.depth; i++)
        ((float *)f->x.data)[i] = (float)(i % 7) - 3.0f;
    for (size_t i = 0; i < n_scales; i++)
        ((uint16_t *)f->scales.data)[i] = 0x2c00; // 1/16
    f->in[0] = &f->x;
    f->in[1] = &f->w;
    f->in[2] = &f->scales;
    f->out[0] = &f->y;
    f->call = (qrn_kcall){
        .args = &f->args, .in = f->in, .out = f->out, .n_in = 5, .n_out = 1, .n_tasks = 1};
}

static double run_matrices(floats *f, work *w, int8_t *packed, qrn_pool *pool) {
    size_t of_one = (size_t)f->args.dense.depth * f->args.dense.cols;
    uint16_t *scales = f->scales.data;
    double t = now();
    for (size_t i = 0; i < f->n; i++) {
        f->w.data = packed + i * of_one * f->args.w_bits / 8;
        f->scales.data = scales + i * of_one / BLOCK;
        qrn_pool_run(pool, run_task, w, w->call.n_tasks);
    }
    f->scales.data = scales;
    return now() - t;
}

static void time_floats(shape s, uint32_t bits, uint32_t rows, bool fp16, qrn_view *packed,
                        qrn_pool *pool) {
    floats f;
    make_floats(&f, s, bits, rows, fp16);
    const qrn_kernel *row =
        qrn_kernel_select(&qrn_family_weight_only, QRN_DOMAIN_F32, &f.call, qrn_cpu_isa());
    f.call.n_tasks = qrn_pool_threads(pool);
    size_t scratch = row->scratch ? row->scratch(&f.call) : 0;
    f.call.scratch = scratch ? bytes(scratch) : NULL;
    work w = {row, f.call};
    reading r = {.from = packed->data, .n_tasks = f.call.n_tasks};
    double best = 1e9, read = 1e9, size = (double)f.n * s.depth * s.cols;
    size *= bits / 8.0 + 2.0 / BLOCK;
    for (int i = 0; i < ROUNDS; i++) {
        double t = run_matrices(&f, &w, packed->data, pool);
        best = t < best ? t : best;
        r.streams = i % 2 ? 4 : 1;
        read = seconds(pool, read_task, &r, read);
    }
    char what[48];
    snprintf(what, sizeof what, "%sw%u %ux%u %u row%s", fp16 ? "f16" : "f32", bits, s.depth, s.cols,
             rows, rows > 1 ? "s" : "");
    print_line(row->name, what, best, size, read);
    void *all[] = {f.x.data, f.y.data, f.scales.data, f.call.scratch};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        qrn_free(all[i]);
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
            time_floats((shape){DEPTH, WEIGHT_BYTES / DEPTH * 8 / bits}, bits, rows, false, &packed,
                        pool);
    for (uint32_t bits = 8; bits >= 4; bits -= 4)
        for (size_t i = 0; i < sizeof small / sizeof *small; i++)
            for (int fp16 = 0; fp16 < 2; fp16++)
                time_floats(small[i], bits, 1, fp16, &packed, pool);
    qrn_free(packed.data);
    qrn_pool_release(pool);
    return 0;
}
