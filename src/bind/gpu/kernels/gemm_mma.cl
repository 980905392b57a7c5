// GEMM on the tensor cores of NVIDIA devices, through PTX; registers only, no local memory. Rows are
// output cells of a convolution or rows of a matrix, columns are output channels.
//
//   F16 1   operands in f16, sums in f32 (mma m16n8k16)
//   F16 0   operands in f32, each split into two tf32 numbers; three products, sums in f32 (m16n8k8)
//
// A block of K is 16 bytes for each of the four lanes of a row: lane q of row g holds elements
// q*CHUNK to q*CHUNK + CHUNK - 1 of it. The two halves of the 16 bytes feed two products, with
// elements of K in another order than the instruction counts them: A and B agree, so sums are the
// same. Packed weights hold the bytes of a lane where it reads them: [n / 8][block][lane][16].
//
//   GATHER  0 rows of X, CHUNK elements at a time
//           1 cells of a convolution, channels a multiple of CHUNK
//           2 cells of a convolution (or rows), element by element, X of any type; PLANAR: X has
//             planes of channels
//   WEIGHTS 0 packed
//           1 W is a matrix [N, K] of X's kind, CHUNK elements at a time
//           2 W is a matrix with any strides, element by element
//   SPLIT   1 several groups share the sum of a tile; the last one adds the parts, in order
//   AHEAD   blocks that are loaded before they are needed
//   MT, NT  tiles of 16 rows and 8 columns of a warp;  WM, WN  warps of a group

#ifndef ASM
#define ASM asm // a keyword of NVIDIA's compiler
#endif

#if F16
#define CHUNK 8
#else
#define CHUNK 4
#endif
#define BLOCK (4 * CHUNK)
#define UNROLL _Pragma("unroll")

#if F16
#define PRODUCT(c, a0, a1, a2, a3, b0, b1)                                                         \
    ASM("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "                              \
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                           \
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                  \
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1))
#else
#define PRODUCT(c, a0, a1, a2, a3, b0, b1)                                                         \
    ASM("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "                             \
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                           \
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                  \
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1))
// A number as two of tf32, which has 10 bits of mantissa: the rest is exact, and rounded by half of
// what the device cuts off.
inline uint high_part(float x) { return as_uint(x) & 0xffffe000u; }
inline uint low_part(float x, uint high) { return as_uint(x - as_float(high)) + 0x1000u; }
#endif

// CHUNK numbers as 16 bytes.
inline uint4 bytes_of(const float *v) {
#if F16
    uint r[4];
    for (int i = 0; i < 4; i++)
        ASM("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r[i]) : "f"(v[2 * i + 1]), "f"(v[2 * i]));
    return (uint4)(r[0], r[1], r[2], r[3]);
#else
    return (uint4)(as_uint(v[0]), as_uint(v[1]), as_uint(v[2]), as_uint(v[3]));
#endif
}

// One block of K. Products of one block are summed by the device, which cuts off; blocks are added
// with rounding.
inline void multiply(float acc[MT][NT][4], const uint4 a[2 * MT], const uint4 b[NT]) {
#if F16
#pragma unroll
    for (int i = 0; i < MT; i++)
#pragma unroll
        for (int j = 0; j < NT; j++) {
            PRODUCT(acc[i][j], a[2 * i].x, a[2 * i + 1].x, a[2 * i].y, a[2 * i + 1].y, b[j].x,
                    b[j].y);
            PRODUCT(acc[i][j], a[2 * i].z, a[2 * i + 1].z, a[2 * i].w, a[2 * i + 1].w, b[j].z,
                    b[j].w);
        }
#else
    uint bh[NT][4], bl[NT][4];
#pragma unroll
    for (int j = 0; j < NT; j++) {
        float v[4] = {as_float(b[j].x), as_float(b[j].y), as_float(b[j].z), as_float(b[j].w)};
#pragma unroll
        for (int e = 0; e < 4; e++) {
            bh[j][e] = high_part(v[e]);
            bl[j][e] = low_part(v[e], bh[j][e]);
        }
    }
#pragma unroll
    for (int i = 0; i < MT; i++) {
        uint ah[2][4], al[2][4];
        float sum[NT][4];
#pragma unroll
        for (int r = 0; r < 2; r++) {
            uint4 w = a[2 * i + r];
            float v[4] = {as_float(w.x), as_float(w.y), as_float(w.z), as_float(w.w)};
#pragma unroll
            for (int e = 0; e < 4; e++) {
                ah[r][e] = high_part(v[e]);
                al[r][e] = low_part(v[e], ah[r][e]);
            }
        }
#pragma unroll
        for (int j = 0; j < NT; j++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                sum[j][e] = 0.0f;
#pragma unroll
        for (int h = 0; h < 4; h += 2) {
#pragma unroll
            for (int j = 0; j < NT; j++)
                PRODUCT(sum[j], al[0][h], al[1][h], al[0][h + 1], al[1][h + 1], bh[j][h],
                        bh[j][h + 1]);
#pragma unroll
            for (int j = 0; j < NT; j++)
                PRODUCT(sum[j], ah[0][h], ah[1][h], ah[0][h + 1], ah[1][h + 1], bl[j][h],
                        bl[j][h + 1]);
#pragma unroll
            for (int j = 0; j < NT; j++)
                PRODUCT(sum[j], ah[0][h], ah[1][h], ah[0][h + 1], ah[1][h + 1], bh[j][h],
                        bh[j][h + 1]);
        }
#pragma unroll
        for (int j = 0; j < NT; j++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                acc[i][j][e] += sum[j][e];
    }
#endif
}

#if SPLIT
// Adds the parts of a tile, which lie thread by thread, from the first on. Several are on their way
// at once: waiting for one after the other takes longer than the products of a small layer.
#define SUMS (MT * NT * 4)
#define AT_ONCE (SUMS <= 20 ? 8 : 2) // as registers allow
inline void add_parts(float acc[MT][NT][4], __global const float *all, int parts, int threads) {
#pragma unroll
    for (int e = 0; e < SUMS; e++)
        acc[e / (NT * 4)][e / 4 % NT][e % 4] = 0.0f;
    for (int p = 0; p < parts; p += AT_ONCE) {
        float got[AT_ONCE][SUMS];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++)
#pragma unroll
            for (int e = 0; e < SUMS; e++)
                got[i][e] = p + i < parts ? all[(size_t)((p + i) * SUMS + e) * threads] : 0.0f;
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++)
#pragma unroll
            for (int e = 0; e < SUMS; e++)
                acc[e / (NT * 4)][e / 4 % NT][e % 4] += got[i][e];
    }
}
#endif

#ifdef KERNEL_gemm_mma
// P: [0] in height, [1] width, [2] channels of a tap, [3] out height, [4] width, [5] kernel height, [6] width,
// [7, 8] strides, [9, 10] dilations, [11, 12] pads before, [13] elements between cells (GATHER 0:
// rows) of X, [14] between columns and [15] between rows of K of W (WEIGHTS 1, 2), [16] LEADS leading dimensions,
// then size, stride in X, stride in W of each, from the last to the first.
__kernel __attribute__((reqd_work_group_size(32 * WM * WN, 1, 1))) void
gemm_mma(X_ARG, W_ARG, B_ARG, Y_ARG, S_ARG, C_ARG, P_ARG, const int M, const int N,
         const int K EPI_ARGS) {
    X_BEGIN W_BEGIN B_BEGIN Y_BEGIN S_BEGIN C_BEGIN P_BEGIN EPI_BEGIN
    const int tid = (int)get_local_id(0), lane = tid & 31, warp = tid >> 5;
    const int g = lane >> 2, q = lane & 3;
    const int row0 = ((int)get_group_id(1) * WM + warp % WM) * (16 * MT);
    const int col0 = ((int)get_group_id(0) * WN + warp / WM) * (8 * NT);
    const int blocks = (K + BLOCK - 1) / BLOCK;
#if SPLIT
    const int parts = (int)get_num_groups(2), part = (int)get_group_id(2);
    const int from = blocks * part / parts, to = blocks * (part + 1) / parts;
    const int y_at = 0;
#else
    const int from = 0, to = blocks;
    int n = (int)get_group_id(2);
    const int y_at = n * M * N;
#pragma unroll
    for (int d = 0; d < LEADS; d++) {
        int size = P[17 + 3 * d], at_d = n % size;
        X += at_d * P[18 + 3 * d];
        W += at_d * P[19 + 3 * d];
        n /= size;
    }
#endif
    float acc[MT][NT][4];
#pragma unroll
    for (int i = 0; i < MT; i++)
#pragma unroll
        for (int j = 0; j < NT; j++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                acc[i][j][e] = 0.0f;

    // Where the rows of this lane are: row i is row0 + 16 * (i / 2) + 8 * (i % 2) + g.
    int kk = from * BLOCK + q * CHUNK; // element of K
#if GATHER == 0
    const int channels = K;
    int at_row[2 * MT];
#pragma unroll
    for (int i = 0; i < 2 * MT; i++) {
        int row = row0 + 8 * i + g;
        at_row[i] = (row < M ? row : M - 1) * P[13];
    }
#else
    const int H = P[0], Wd = P[1], channels = P[2], KW = P[6];
    int c = kk % channels, ky = kk / channels / KW, kx = kk / channels % KW;
    int y0[2 * MT], x0[2 * MT], base[2 * MT], off[2 * MT];
#pragma unroll
    for (int i = 0; i < 2 * MT; i++) {
        int row = row0 + 8 * i + g;
        row = row < M ? row : M - 1;
        int ox = row % P[4], rest = row / P[4], oy = rest % P[3];
        x0[i] = ox * P[8] - P[12];
        y0[i] = oy * P[7] - P[11];
        base[i] = rest / P[3] * H;
    }
#define FIND_TAP                                                                                   \
    UNROLL for (int i = 0; i < 2 * MT; i++) {                                                             \
        int y = y0[i] + ky * P[9], x = x0[i] + kx * P[10];                                         \
        bool in = y >= 0 && y < H && x >= 0 && x < Wd && ky < P[5];                                \
        off[i] = in ? ((base[i] + y) * Wd + x) * P[13] : -1;                                       \
    }
    FIND_TAP
#endif

#if GATHER == 0
#define LOAD_A(dst)                                                                                \
    UNROLL for (int i = 0; i < 2 * MT; i++)                                                               \
        dst[i] = kk < K ? *(__global const uint4 *)(X + at_row[i] + kk) : (uint4)(0);
#define NEXT kk += BLOCK;
#elif GATHER == 1
#define LOAD_A(dst)                                                                                \
    UNROLL for (int i = 0; i < 2 * MT; i++)                                                               \
        dst[i] = off[i] >= 0 ? *(__global const uint4 *)(X + off[i] + c) : (uint4)(0);
#define NEXT                                                                                       \
    kk += BLOCK;                                                                                   \
    c += BLOCK;                                                                                    \
    if (c >= channels) {                                                                           \
        do {                                                                                       \
            c -= channels;                                                                         \
            kx++;                                                                                  \
            if (kx == KW) {                                                                        \
                kx = 0;                                                                            \
                ky++;                                                                              \
            }                                                                                      \
        } while (c >= channels);                                                                   \
        FIND_TAP                                                                                   \
    }
#else
#if PLANAR
#define CELL(base, y, x, c) ((base * channels + y) * Wd + x + c * H * Wd)
#else
#define CELL(base, y, x, c) (((base + y) * Wd + x) * P[13] + c)
#endif
#define LOAD_A(dst)                                                                                \
    {                                                                                              \
        float v[2 * MT][CHUNK];                                                                    \
        int c1 = c, kx1 = kx, ky1 = ky;                                                            \
        UNROLL for (int e = 0; e < CHUNK; e++) {                                                   \
            UNROLL for (int i = 0; i < 2 * MT; i++) {                                              \
                int y = y0[i] + ky1 * P[9], x = x0[i] + kx1 * P[10];                               \
                bool in = y >= 0 && y < H && x >= 0 && x < Wd && ky1 < P[5];                       \
                v[i][e] = in ? LD_X(CELL(base[i], y, x, c1)) : 0.0f;                               \
            }                                                                                      \
            if (++c1 == channels) {                                                                \
                c1 = 0;                                                                            \
                if (++kx1 == KW) {                                                                 \
                    kx1 = 0;                                                                       \
                    ky1++;                                                                         \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        UNROLL for (int i = 0; i < 2 * MT; i++)                                                    \
            dst[i] = bytes_of(v[i]);                                                               \
    }
#define NEXT                                                                                       \
    kk += BLOCK;                                                                                   \
    c = kk % channels;                                                                             \
    kx = kk / channels % KW;                                                                       \
    ky = kk / channels / KW;
#endif

#if WEIGHTS == 0
    __global const uint4 *weights = (__global const uint4 *)W + (size_t)(col0 / 8) * blocks * 32 +
                                    (size_t)from * 32 + lane;
    const int step = blocks * 32, last_tile = (N + 7) / 8 - 1 - col0 / 8;
#define LOAD_B(dst)                                                                                \
    UNROLL for (int j = 0; j < NT; j++)                                                                   \
        dst[j] = weights[(size_t)step * (j < last_tile ? j : max(last_tile, 0))];                  \
    weights += 32;
#elif WEIGHTS == 1
#define LOAD_B(dst)                                                                                \
    UNROLL for (int j = 0; j < NT; j++) {                                                                 \
        int col = col0 + 8 * j + g;                                                                \
        dst[j] = kk < K && col < N ? *(__global const uint4 *)(W + col * P[14] + kk) : (uint4)(0); \
    }
#else
#define LOAD_B(dst)                                                                                \
    UNROLL for (int j = 0; j < NT; j++) {                                                                 \
        int col = col0 + 8 * j + g;                                                                \
        float v[CHUNK];                                                                            \
        UNROLL for (int e = 0; e < CHUNK; e++)                                                     \
            v[e] = kk + e < K && col < N ? LD_W(col * P[14] + (kk + e) * P[15]) : 0.0f;            \
        dst[j] = bytes_of(v);                                                                      \
    }
#endif

    // AHEAD blocks are on their way while one is computed.
    uint4 a[AHEAD + 1][2 * MT], b[AHEAD + 1][NT];
    const int end = col0 < N ? to : from;
#pragma unroll
    for (int s = 0; s < AHEAD; s++)
        if (from + s < end) {
            LOAD_A(a[s])
            LOAD_B(b[s])
            NEXT
        }
    for (int k = from; k < end; k += AHEAD + 1) {
#pragma unroll
        for (int s = 0; s <= AHEAD; s++) {
            const int fresh = (s + AHEAD) % (AHEAD + 1);
            if (k + s + AHEAD < end) {
                LOAD_A(a[fresh])
                LOAD_B(b[fresh])
                NEXT
            }
            if (k + s < end)
                multiply(acc, a[s], b[s]);
        }
    }

#if SPLIT
    // The group that comes last adds the parts of a tile.
    const int threads = 32 * WM * WN, tile = (int)(get_group_id(1) * get_num_groups(0) + get_group_id(0));
    __local int last;
    if (parts > 1) {
        __global float *mine = S + (size_t)(tile * parts + part) * (SUMS * threads) + tid;
#pragma unroll
        for (int e = 0; e < SUMS; e++)
            mine[e * threads] = acc[e / (NT * 4)][e / 4 % NT][e % 4];
        ASM volatile("fence.acq_rel.gpu;" ::: "memory");
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        if (tid == 0)
            last = atomic_inc((__global volatile int *)C + tile) == parts - 1;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (!last)
            return;
        ASM volatile("fence.acq_rel.gpu;" ::: "memory");
        add_parts(acc, S + (size_t)tile * parts * (SUMS * threads) + tid, parts, threads);
        if (tid == 0)
            C[tile] = 0;
    }
#endif

#pragma unroll
    for (int i = 0; i < MT; i++)
#pragma unroll
        for (int j = 0; j < NT; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                int row = row0 + 16 * i + 8 * (e / 2) + g, col = col0 + 8 * j + 2 * q + e % 2;
                if (row < M && col < N) {
                    float v = acc[i][j][e] + (HAS_B ? LD_B(col) : 0.0f);
                    int at_y = y_at + row * N + col;
                    ST_Y(at_y, EPI(CLAMP(v), at_y));
                }
            }
}
#endif

#ifdef KERNEL_separable
// A depthwise convolution, filters V [KH][KW][K] and bias D, and a 1x1 convolution of its results,
// which only local memory holds. A group has 16 rows and all columns: its 8 warps compute the rows'
// results for CHANNELS elements of K, then NT tiles of 8 columns each.
//
//   SPLIT  several groups share K of a tile, as above; else a group does all of K
//
// P: as above, of the depthwise convolution. W is packed.
#define WARPS 8
#define CHANNELS 64
#define PITCH ((CHANNELS + BLOCK) * (int)sizeof(float) / CHUNK) // words of a row in local memory

#define WIDE(name, i)                                                                              \
    (sizeof(*name) == 2 ? q_halves(*(__global const ushort4 *)(name + (i)))                        \
                        : *(__global const float4 *)(name + (i)))

__kernel __attribute__((reqd_work_group_size(32 * WARPS, 1, 1))) void
separable(X_ARG, W_ARG, B_ARG, Y_ARG, S_ARG, C_ARG, V_ARG, D_ARG, P_ARG, const int M, const int N,
          const int K EPI_ARGS) {
    X_BEGIN W_BEGIN B_BEGIN Y_BEGIN S_BEGIN C_BEGIN V_BEGIN D_BEGIN P_BEGIN EPI_BEGIN
    __local uint rows[16 * PITCH];
    const int tid = (int)get_local_id(0), lane = tid & 31, warp = tid >> 5;
    const int g = lane >> 2, q = lane & 3, H = P[0], Wd = P[1];
    const int row0 = (int)get_group_id(0) * 16, tile0 = warp * NT, n_tiles = (N + 7) / 8;
    const int parts = (int)get_num_groups(1), part = (int)get_group_id(1);
    const int steps = (K + CHANNELS - 1) / CHANNELS, blocks = (K + BLOCK - 1) / BLOCK;
    const int from = steps * part / parts, to = steps * (part + 1) / parts;
    // Which cell, and which four channels of it, this work item computes.
    const int my_row = tid / (CHANNELS / 4), my_k = tid % (CHANNELS / 4) * 4;
    const int row = min(row0 + my_row, M - 1), ox = row % P[4], rest = row / P[4];
    const int y0 = rest % P[3] * P[7] - P[11], x0 = ox * P[8] - P[12], base = rest / P[3] * H;
    float acc[1][NT][4];
#pragma unroll
    for (int i = 0; i < NT * 4; i++)
        acc[0][i / 4][i % 4] = 0.0f;
    for (int step = from; step < to; step++) {
        const int k = step * CHANNELS + my_k;
        uint4 b[CHANNELS / BLOCK][NT];
#pragma unroll
        for (int i = 0; i < CHANNELS / BLOCK; i++)
#pragma unroll
            for (int j = 0; j < NT; j++) {
                int block = min(step * (CHANNELS / BLOCK) + i, blocks - 1);
                int tile = min(tile0 + j, n_tiles - 1);
                b[i][j] = ((__global const uint4 *)W)[((size_t)tile * blocks + block) * 32 + lane];
            }
        float4 sum = (float4)(0.0f);
        if (k < K) {
            float4 taps[KH * KW];
#pragma unroll
            for (int tap = 0; tap < KH * KW; tap++) {
                int y = y0 + tap / KW * P[9], x = x0 + tap % KW * P[10];
                bool in = y >= 0 && y < H && x >= 0 && x < Wd;
                taps[tap] = in ? WIDE(X, ((base + y) * Wd + x) * K + k) : (float4)(0.0f);
            }
            sum = HAS_D ? WIDE(D, k) : (float4)(0.0f);
#pragma unroll
            for (int tap = 0; tap < KH * KW; tap++)
                sum = fma(WIDE(V, tap * K + k), taps[tap], sum);
            sum = (float4)(FRONT_CLAMP(sum.x), FRONT_CLAMP(sum.y), FRONT_CLAMP(sum.z),
                           FRONT_CLAMP(sum.w));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
#if F16
        uint low, high;
        ASM("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(low) : "f"(sum.y), "f"(sum.x));
        ASM("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(high) : "f"(sum.w), "f"(sum.z));
        *(__local uint2 *)&rows[my_row * PITCH + my_k / 2] = (uint2)(low, high);
#else
        *(__local uint4 *)&rows[my_row * PITCH + my_k] = as_uint4(sum);
#endif
        barrier(CLK_LOCAL_MEM_FENCE);
        if (tile0 < n_tiles)
#pragma unroll
            for (int i = 0; i < CHANNELS / BLOCK; i++) {
                uint4 a[2];
#pragma unroll
                for (int r = 0; r < 2; r++)
                    a[r] = *(__local const uint4 *)&rows[(g + 8 * r) * PITCH + (i * 4 + q) * 4];
                multiply(acc, a, b[i]);
            }
    }
#if SPLIT
    __local int last;
    const int tile = (int)get_group_id(0), each = SUMS * 32 * WARPS;
    __global float *mine = S + (size_t)(tile * parts + part) * each + tid;
#pragma unroll
    for (int e = 0; e < SUMS; e++)
        mine[e * 32 * WARPS] = acc[0][e / 4][e % 4];
    ASM volatile("fence.acq_rel.gpu;" ::: "memory");
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (tid == 0)
        last = atomic_inc((__global volatile int *)C + tile) == parts - 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (!last)
        return;
    ASM volatile("fence.acq_rel.gpu;" ::: "memory");
    add_parts(acc, S + (size_t)tile * parts * each + tid, parts, 32 * WARPS);
    if (tid == 0)
        C[tile] = 0;
#endif
#pragma unroll
    for (int j = 0; j < NT; j++)
#pragma unroll
        for (int e = 0; e < 4; e++) {
            int y_row = row0 + 8 * (e / 2) + g, col = (tile0 + j) * 8 + 2 * q + e % 2;
            if (y_row < M && col < N) {
                float v = acc[0][j][e] + (HAS_B ? LD_B(col) : 0.0f);
                int at_y = y_row * N + col;
                ST_Y(at_y, EPI(CLAMP(v), at_y));
            }
        }
}
#endif
