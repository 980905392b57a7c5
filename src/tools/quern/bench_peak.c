// SPDX-License-Identifier: MIT
//
// Peaks of the machine. Arithmetic: chains of independent multiply-accumulates that stay in
// registers, one loop for each kind of number and instruction set; the best of those that the CPU
// has counts. Memory: sums over buffers that fit the second-level cache, the third, and no cache,
// in large pages where the system has them, from end to end and as four streams side by side. All
// threads run at once; the best of some rounds counts, because a busy machine can only make them
// slower.
#include "tools/quern/bench_peak.h"

#include "base/cpu.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#define CHAINS 12 // enough to hide the latency of two units
#define MIN_ROUNDS 4
#define MAX_MS 60.0 // for the rounds of one loop after those
#define MAX_THREADS 64
#define L2_BYTES ((size_t)256 << 10)
#define DRAM_BYTES ((size_t)128 << 20) // of one thread; of several, half of it each
#define LARGE_PAGE ((size_t)2 << 20)
#define STREAMS 4
#define STREAM_BYTES ((size_t)1 << 10) // read of one stream before the next
#define ARITHMETIC_STEPS 200000
#define MEMORY_BYTES ((size_t)64 << 20) // read in a round, at least

const char *const qt_peak_names[QT_N_PEAKS] = {"f32", "i8", "i16"};

// Nothing is known of the operands, and one of them seems to change, so that no product can leave
// the loop or be left out.
#define HIDE(reg, v) __asm__ volatile("" : "+" reg(v))

// static int32_t NAME(size_t n): n times CHAINS steps; STEP sees acc, a and b of type VEC.
#define LOOP(NAME, TARGET, VEC, REG, ZERO, STEP, LANE)                                             \
    __attribute__((target(TARGET))) static int32_t NAME(size_t n) {                                \
        VEC acc[CHAINS], a = ZERO, b = ZERO;                                                       \
        for (int i = 0; i < CHAINS; i++)                                                           \
            acc[i] = ZERO;                                                                         \
        HIDE(REG, b);                                                                              \
        for (size_t k = 0; k < n; k++)                                                             \
            _Pragma("GCC unroll 12") for (int i = 0; i < CHAINS; i++) {                            \
                HIDE(REG, a);                                                                      \
                acc[i] = STEP(acc[i], a, b);                                                       \
            }                                                                                      \
        int32_t sum = 0;                                                                           \
        for (int i = 0; i < CHAINS; i++)                                                           \
            sum += LANE(acc[i]);                                                                   \
        return sum;                                                                                \
    }

// One loop: what it counts and when it can run.
typedef struct arithmetic {
    qt_peak_kind kind;
    uint32_t needs; // QRN_ISA_*
    int products;   // of one step
    int32_t (*run)(size_t n);
    const char *how;
} arithmetic;

#if defined(__x86_64__)
#define FMA2(c, a, b) _mm256_fmadd_ps(a, b, c)
#define FMA5(c, a, b) _mm512_fmadd_ps(a, b, c)
#define BYTES2(c, a, b)                                                                            \
    _mm256_add_epi32(c, _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), _mm256_set1_epi16(1)))
#define BYTES5(c, a, b)                                                                            \
    _mm512_add_epi32(c, _mm512_madd_epi16(_mm512_maddubs_epi16(a, b), _mm512_set1_epi16(1)))
#define WORDS2(c, a, b) _mm256_add_epi32(c, _mm256_madd_epi16(a, b))
#define WORDS5(c, a, b) _mm512_add_epi32(c, _mm512_madd_epi16(a, b))
#define FLOAT2(v) (int32_t) _mm256_cvtss_f32(v)
#define FLOAT5(v) (int32_t) _mm512_cvtss_f32(v)
#define INT2(v) _mm256_cvtsi256_si32(v)
#define INT5(v) _mm512_cvtsi512_si32(v)
#define BW "avx512f,avx512bw"
#define VNNI "avx512f,avx512bw,avx512vnni"
LOOP(f32_avx2, "avx2,fma", __m256, "x", _mm256_setzero_ps(), FMA2, FLOAT2)
LOOP(f32_avx512, "avx512f", __m512, "v", _mm512_setzero_ps(), FMA5, FLOAT5)
LOOP(i8_avx2, "avx2", __m256i, "x", _mm256_setzero_si256(), BYTES2, INT2)
LOOP(i8_avx512, BW, __m512i, "v", _mm512_setzero_si512(), BYTES5, INT5)
LOOP(i8_vnni, VNNI, __m512i, "v", _mm512_setzero_si512(), _mm512_dpbusd_epi32, INT5)
LOOP(i16_avx2, "avx2", __m256i, "x", _mm256_setzero_si256(), WORDS2, INT2)
LOOP(i16_avx512, BW, __m512i, "v", _mm512_setzero_si512(), WORDS5, INT5)
LOOP(i16_vnni, VNNI, __m512i, "v", _mm512_setzero_si512(), _mm512_dpwssd_epi32, INT5)

static const arithmetic loops[] = {
    {QT_PEAK_F32, QRN_ISA_AVX2, 8, f32_avx2, "avx2 fma"},
    {QT_PEAK_F32, QRN_ISA_AVX512, 16, f32_avx512, "avx512 fma"},
    {QT_PEAK_I8, QRN_ISA_AVX2, 32, i8_avx2, "avx2 maddubs, madd"},
    {QT_PEAK_I8, QRN_ISA_AVX512, 64, i8_avx512, "avx512 maddubs, madd"},
    {QT_PEAK_I8, QRN_ISA_AVX512VNNI, 64, i8_vnni, "avx512 dpbusd"},
    {QT_PEAK_I16, QRN_ISA_AVX2, 16, i16_avx2, "avx2 madd"},
    {QT_PEAK_I16, QRN_ISA_AVX512, 32, i16_avx512, "avx512 madd"},
    {QT_PEAK_I16, QRN_ISA_AVX512VNNI, 32, i16_vnni, "avx512 dpwssd"},
};
#elif defined(__aarch64__)
#define BYTES(c, a, b) vpadalq_s16(c, vmull_s8(vget_low_s8(a), vget_low_s8(b)))
#define BYTES_LOOP(NAME, TARGET, STEP)                                                             \
    __attribute__((target(TARGET))) static int32_t NAME(size_t n) {                                \
        int32x4_t acc[CHAINS];                                                                     \
        int8x16_t a = vdupq_n_s8(0), b = a;                                                        \
        for (int i = 0; i < CHAINS; i++)                                                           \
            acc[i] = vdupq_n_s32(0);                                                               \
        HIDE("w", b);                                                                              \
        for (size_t k = 0; k < n; k++)                                                             \
            _Pragma("GCC unroll 12") for (int i = 0; i < CHAINS; i++) {                            \
                HIDE("w", a);                                                                      \
                acc[i] = STEP(acc[i], a, b);                                                       \
            }                                                                                      \
        int32_t sum = 0;                                                                           \
        for (int i = 0; i < CHAINS; i++)                                                           \
            sum += vgetq_lane_s32(acc[i], 0);                                                      \
        return sum;                                                                                \
    }
#define WORDS(c, a, b)                                                                             \
    vmlal_s16(c, vget_low_s16(vreinterpretq_s16_s32(a)), vget_low_s16(vreinterpretq_s16_s32(b)))
#define FLOAT(v) (int32_t) vgetq_lane_f32(v, 0)
#define INT(v) vgetq_lane_s32(v, 0)
LOOP(f32_neon, "arch=armv8-a", float32x4_t, "w", vdupq_n_f32(0), vfmaq_f32, FLOAT)
LOOP(i16_neon, "arch=armv8-a", int32x4_t, "w", vdupq_n_s32(0), WORDS, INT)
BYTES_LOOP(i8_neon, "arch=armv8-a", BYTES)
BYTES_LOOP(i8_dot, "arch=armv8.2-a+dotprod", vdotq_s32)
BYTES_LOOP(i8_mm, "arch=armv8.2-a+i8mm", vmmlaq_s32)

static const arithmetic loops[] = {
    {QT_PEAK_F32, QRN_ISA_NEON, 4, f32_neon, "neon fmla"},
    {QT_PEAK_I8, QRN_ISA_NEON, 8, i8_neon, "neon smull, sadalp"},
    {QT_PEAK_I8, QRN_ISA_NEONDOT, 16, i8_dot, "neon sdot"},
    {QT_PEAK_I8, QRN_ISA_NEONI8MM, 32, i8_mm, "neon smmla"},
    {QT_PEAK_I16, QRN_ISA_NEON, 4, i16_neon, "neon smlal"},
};
#else
static const arithmetic loops[] = {{QT_N_PEAKS, 0, 0, NULL, NULL}};
#endif

// The exclusive or of a buffer, whose size is a multiple of 512 bytes, by vectors of WIDTH bytes.
#define READ(NAME, ATTRIBUTE, WIDTH)                                                               \
    ATTRIBUTE static uint64_t NAME(const void *data, size_t bytes) {                               \
        typedef uint64_t vec __attribute__((vector_size(WIDTH), may_alias));                       \
        const vec *p = data;                                                                       \
        vec a = {0}, b = {0}, c = {0}, d = {0};                                                    \
        for (size_t i = 0; i < bytes / WIDTH; i += 4) {                                            \
            a ^= p[i];                                                                             \
            b ^= p[i + 1];                                                                         \
            c ^= p[i + 2];                                                                         \
            d ^= p[i + 3];                                                                         \
        }                                                                                          \
        a ^= b ^ c ^ d;                                                                            \
        return a[0] ^ a[1];                                                                        \
    }
READ(read_16, , 16)
#if defined(__x86_64__)
READ(read_32, __attribute__((target("avx2"))), 32)
READ(read_64, __attribute__((target("avx512f"))), 64)
#endif

static uint64_t read_part(const void *data, size_t bytes) {
#if defined(__x86_64__)
    if (qrn_cpu_isa() & QRN_ISA_AVX512)
        return read_64(data, bytes);
    if (qrn_cpu_isa() & QRN_ISA_AVX2)
        return read_32(data, bytes);
#endif
    return read_16(data, bytes);
}

static uint64_t read_all(const void *data, size_t bytes, bool streams) {
    if (!streams)
        return read_part(data, bytes);
    uint64_t sum = 0;
    size_t each = bytes / STREAMS;
    for (size_t at = 0; at < each; at += STREAM_BYTES)
        for (size_t s = 0; s < STREAMS; s++)
            sum ^= read_part((const char *)data + s * each + at, STREAM_BYTES);
    return sum;
}

// What every thread of a round does.
typedef struct work {
    const arithmetic *loop; // or
    size_t buffer_bytes;    // memory
    bool streams;           // of it side by side
    atomic_bool go;         // all threads are there
} work;

typedef struct worker {
    work *w;
    pthread_t thread;
    void *buffer;
    uint64_t sink;  // results go somewhere, so that they are computed
    double amount;  // operations or bytes
    double done_ms; // when it had finished
} worker;

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void *work_thread(void *arg) {
    worker *me = arg;
    const work *w = me->w;
    while (!atomic_load(&w->go))
        sched_yield();
    if (w->loop) {
        me->sink += (uint64_t)w->loop->run(ARITHMETIC_STEPS);
        me->amount = 2.0 * w->loop->products * CHAINS * ARITHMETIC_STEPS;
    } else {
        me->amount = 0;
        for (size_t done = 0; done < MEMORY_BYTES; done += w->buffer_bytes) {
            me->sink += read_all(me->buffer, w->buffer_bytes, w->streams);
            me->amount += (double)w->buffer_bytes;
        }
    }
    me->done_ms = now_ms();
    return NULL;
}

// One round: everything that was done by the time it took until the last thread was ready.
static double one_round(work *w, worker *all, unsigned threads) {
    unsigned n = 1;
    double amount = 0, end = 0;
    atomic_store(&w->go, false);
    while (n < threads && pthread_create(&all[n].thread, NULL, work_thread, &all[n]) == 0)
        n++;
    double start = now_ms();
    atomic_store(&w->go, true);
    work_thread(&all[0]);
    for (unsigned i = 0; i < n; i++) {
        if (i)
            pthread_join(all[i].thread, NULL);
        amount += all[i].amount;
        end = all[i].done_ms > end ? all[i].done_ms : end;
    }
    return end > start ? amount / (end - start) / 1e6 : 0;
}

// Memory of a thread, all of it its own; in large pages if it is large and the system has some.
static void *new_buffer(size_t bytes, int value) {
    void *p = aligned_alloc(bytes < LARGE_PAGE ? 64 : LARGE_PAGE, bytes);
    if (!p)
        return NULL;
#if defined(MADV_HUGEPAGE)
    if (bytes >= LARGE_PAGE)
        madvise(p, bytes, MADV_HUGEPAGE);
#endif
    return memset(p, value, bytes);
}

// The best round, in 1e9 operations or bytes a second; 0 when there is no memory.
static double measure(const arithmetic *loop, size_t buffer_bytes, unsigned threads) {
    work w = {.loop = loop, .buffer_bytes = buffer_bytes};
    worker all[MAX_THREADS] = {{0}};
    bool ready = true;
    double best = 0;
    for (unsigned i = 0; i < threads; i++) {
        all[i].w = &w;
        all[i].buffer = buffer_bytes ? new_buffer(buffer_bytes, (int)i + 1) : NULL;
        ready = ready && (all[i].buffer || !buffer_bytes);
    }
    double begin = now_ms();
    for (int i = 0; ready && (i < MIN_ROUNDS || now_ms() - begin < MAX_MS); i++) {
        w.streams = i % 2 == 1;
        double rate = one_round(&w, all, threads);
        best = rate > best ? rate : best;
    }
    for (unsigned i = 0; i < threads; i++)
        free(all[i].buffer);
    return best;
}

// The third level: a buffer that the second of no thread holds and that all have room for.
static void measure_l3(unsigned threads, qt_peaks *out) {
    long l2 = 0, l3 = 0;
#if defined(_SC_LEVEL3_CACHE_SIZE)
    l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
    l3 = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
    out->l2_bytes = l2 > 0 ? (double)l2 * threads : 0;
    size_t each = l2 > 0 && l3 > 0 ? (size_t)l3 / 8 / threads / LARGE_PAGE * LARGE_PAGE : 0;
    if (each < 2 * (size_t)(l2 > 0 ? l2 : 0) || !each)
        return;
    out->l3_bytes = (double)l3;
    out->l3_gbs = measure(NULL, each, threads);
}

void qt_peaks_measure(unsigned threads, qt_peaks *out) {
    threads = threads < 1 ? 1 : threads > MAX_THREADS ? MAX_THREADS : threads;
    *out = (qt_peaks){.threads = threads};
    for (size_t i = 0; i < sizeof loops / sizeof loops[0]; i++) {
        const arithmetic *l = &loops[i];
        if (!l->run || (qrn_cpu_isa() & l->needs) != l->needs)
            continue;
        double gops = measure(l, 0, threads);
        if (gops > out->gops[l->kind]) {
            out->gops[l->kind] = gops;
            out->how[l->kind] = l->how;
        }
    }
    out->l2_gbs = measure(NULL, L2_BYTES, threads);
    measure_l3(threads, out);
    out->dram_gbs = measure(NULL, threads > 1 ? DRAM_BYTES / 2 : DRAM_BYTES, threads);
}
