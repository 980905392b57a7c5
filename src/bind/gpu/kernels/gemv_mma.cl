// One or two rows times 4-bit weights, on the tensor cores of NVIDIA devices. A group of WARPS
// warps computes 16 columns, then the next 16 of its share; warps share K, and each has STEPS blocks
// of 64 elements of K on their way. Weights are exact in bf16, and a number of X is three of bf16
// (8 bits of its mantissa each), which are three of the eight columns of a product: no bit is lost.
// Sums of 32 elements of K are scaled by their column's scale.
//
//   W  [N / 16][K / 64][lane] of four words, one for each 16 elements of K. Nibble i of a word of
//      lane 4g + t: column g + 8 * (i & 1), element 2t + 8 * (i >> 1 & 1) + (i >> 2); signed
//      ones plus 8.
//   S  scales [N / 16][K / 64][g] of four: first 32 elements of K for columns g and g + 8, then the
//      others; Z in the same order what is added to the quantized values.
#ifndef ASM
#define ASM asm // a keyword of NVIDIA's compiler
#endif
#define TILE (4096 / XROWS)     // elements of a row of X in local memory
#define SPAN (STEPS * WARPS)    // blocks that a group has
#define PITCH ((TILE + 32) / 2) // words of a part of a row; 16 more than it needs, for the banks
#define COLS (3 * XROWS)        // of the products

// A pair of quantized values as bf16: bits in the mantissa of 128 (one instruction: word & mask |
// 128), then less 128 and what is added.
inline uint number(uint word, int by, uint less) {
    uint pair, r;
    ASM("lop3.b32 %0, %1, 0x000f000f, %2, 0xea;" : "=r"(pair) : "r"(word >> by), "r"(0x43004300u));
    ASM("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(pair), "r"(0x3f803f80u), "r"(less));
    return r;
}
inline uint twice(float x) { return as_uint(x) >> 16 | (as_uint(x) & 0xffff0000u); }

inline void product(float c[4], uint word, uint less0, uint less1, uint b0, uint b1) {
    ASM("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(number(word, 0, less0)), "r"(number(word, 4, less1)), "r"(number(word, 8, less0)),
          "r"(number(word, 12, less1)), "r"(b0), "r"(b1));
}

inline float head(float x) { return as_float(as_uint(x) & 0xffff0000u); }
inline float rest(float x) { return isinf(x) ? 0.0f : x - head(x); }

__kernel __attribute__((reqd_work_group_size(32 * WARPS, 1, 1))) void
gemv_mma(X_ARG, W_ARG, S_ARG, Z_ARG, B_ARG, Y_ARG, const int M, const int N, const int K EPI_ARGS) {
    X_BEGIN W_BEGIN S_BEGIN Z_BEGIN B_BEGIN Y_BEGIN EPI_BEGIN
    __local uint x[COLS * PITCH];
    __local float parts[WARPS * 128], sums[WARPS / 4 * 128];
    const int tid = (int)get_local_id(0), lane = tid & 31, warp = tid >> 5, g = lane >> 2, t = lane & 3;
    const int row0 = (int)get_group_id(1) * XROWS, chunks = (K + 63) / 64, tiles = (N + 15) / 16;
    const int first = (int)get_group_id(0), stride = (int)get_num_groups(0);
    const bool once = K <= TILE; // X is brought once for all tiles of the group
    float acc[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    uint4 w[STEPS];
    float4 s[STEPS];
#define FETCH(i, tile, k0)                                                                         \
    {                                                                                              \
        size_t at = (size_t)(tile)*chunks + (k0) + min(warp + WARPS * i, chunks - (k0)-1);         \
        w[i] = ((__global const uint4 *)W)[at * 32 + lane];                                        \
        s[i] = ((__global const float4 *)S)[at * 8 + g];                                           \
    }
    // Weights are on their way while X is brought, and while those before them are multiplied.
#pragma unroll
    for (int i = 0; i < STEPS; i++)
        FETCH(i, first, 0)
    int tile = first, k0 = 0;
    while (tile < tiles) {
        const int next_k0 = k0 + SPAN < chunks ? k0 + SPAN : 0;
        const int next_tile = next_k0 ? tile : tile + stride, in_x = k0 % (TILE / 64);
        if (in_x == 0 && (!once || tile == first)) {
            const int n = min(TILE / 64, chunks - k0);
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int i = tid; i < XROWS * n * 32; i += 32 * WARPS) {
                int r = XROWS > 1 ? i / (n * 32) : 0, j = i - r * (n * 32);
                int k = 64 * k0 + 2 * j, row = row0 + r;
                float v0 = row < M && k < K ? LD_X(row * K + k) : 0.0f;
                float v1 = row < M && k + 1 < K ? LD_X(row * K + k + 1) : 0.0f;
                // Of 16 pairs of a block of 32 a lane reads those four that it needs at once.
                int at = r * 3 * PITCH + (j & ~15) + (j & 3) * 4 + (j >> 3 & 1) * 2 + (j >> 2 & 1);
#pragma unroll
                for (int p = 0; p < 3; p++) {
                    x[at + p * PITCH] = as_uint(v0) >> 16 | (as_uint(v1) & 0xffff0000u);
                    v0 = rest(v0);
                    v1 = rest(v1);
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
#pragma unroll
        for (int i = 0; i < STEPS; i++) {
            const int c = k0 + warp + WARPS * i;
            if (c < chunks) {
                const uint words[4] = {w[i].x, w[i].y, w[i].z, w[i].w};
                const float by[4] = {s[i].x, s[i].y, s[i].z, s[i].w};
#if HAS_Z
                float4 z4 = ((__global const float4 *)Z)[((size_t)tile * chunks + c) * 8 + g];
                const float z[4] = {z4.x, z4.y, z4.z, z4.w};
#else
                const float z[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#endif
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    const uint less0 = twice(z[2 * h] - LESS), less1 = twice(z[2 * h + 1] - LESS);
                    const int at = (in_x + warp + WARPS * i) * 32 + h * 16 + t * 4;
                    uint4 b = g < COLS ? *(__local const uint4 *)&x[g * PITCH + at] : (uint4)(0);
                    float d[4] = {0.0f, 0.0f, 0.0f, 0.0f};
                    product(d, words[2 * h], less0, less1, b.x, b.y);
                    product(d, words[2 * h + 1], less0, less1, b.z, b.w);
#pragma unroll
                    for (int e = 0; e < 4; e++)
                        acc[e] += d[e] * by[2 * h + e / 2];
                }
            }
            if (next_tile < tiles)
                FETCH(i, next_tile, next_k0)
        }
        if (next_k0 == 0) {
            // The parts of the warps, always in the same order.
#pragma unroll
            for (int e = 0; e < 4; e++) {
                parts[warp * 128 + (g + 8 * (e / 2)) * 8 + 2 * t + e % 2] = acc[e];
                acc[e] = 0.0f;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            float sum = 0.0f;
            for (int i = 0; i < 4; i++)
                sum += parts[((tid >> 7) * 4 + i) * 128 + (tid & 127)];
            sums[tid] = sum;
            barrier(CLK_LOCAL_MEM_FENCE);
            const int row = row0 + (tid >> 4), col = tile * 16 + (tid & 15);
            if (tid < 16 * XROWS && row < M && col < N) {
                float v = 0.0f;
                for (int p = 2; p >= 0; p--) // small ones first
                    for (int i = 0; i < WARPS / 4; i++)
                        v += sums[i * 128 + (tid & 15) * 8 + (tid >> 4) * 3 + p];
                v += HAS_B ? LD_B(col) : 0.0f;
                int at_y = row * N + col;
                ST_Y(at_y, EPI(CLAMP(v), at_y));
            }
        }
        tile = next_tile;
        k0 = next_k0;
    }
}
