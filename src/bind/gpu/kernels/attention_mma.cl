// Attention on the tensor cores of NVIDIA devices: 16 queries a group; its warps share the keys, 16
// at a time, and put their parts together at the end. P as in attention.cl. See gemm_mma.cl for the
// order of elements inside of a product; here K runs over the depth, then over the keys.
#ifndef ASM
#define ASM asm // a keyword of NVIDIA's compiler
#endif

#if F16
#define CHUNK 8
#define WORD ushort
#else
#define CHUNK 4
#define WORD uint
#endif
#define BLOCK (4 * CHUNK)
#define BLOCKS ((DEPTH + BLOCK - 1) / BLOCK)
#define TILES (WIDE / 8)

#if F16
#define PRODUCT(c, a0, a1, a2, a3, b0, b1)                                                         \
    ASM("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "                                       \
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                                    \
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                           \
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1))
inline uint pair(float low, float high) {
    uint r;
    ASM("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    return r;
}
#else
#define PRODUCT1(c, a0, a1, a2, a3, b0, b1)                                                        \
    ASM("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "                                      \
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                                    \
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                           \
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1))
inline uint high_part(uint x) { return x & 0xffffe000u; }
inline uint low_part(uint x) {
    return as_uint(as_float(x) - as_float(x & 0xffffe000u)) + 0x1000u;
}
// Three products of the two parts of each operand.
#define PRODUCT(c, a0, a1, a2, a3, b0, b1)                                                         \
    {                                                                                              \
        uint ah0 = high_part(a0), ah1 = high_part(a1), ah2 = high_part(a2), ah3 = high_part(a3);   \
        uint bh0 = high_part(b0), bh1 = high_part(b1);                                             \
        PRODUCT1(c, low_part(a0), low_part(a1), low_part(a2), low_part(a3), bh0, bh1);             \
        PRODUCT1(c, ah0, ah1, ah2, ah3, low_part(b0), low_part(b1));                               \
        PRODUCT1(c, ah0, ah1, ah2, ah3, bh0, bh1);                                                 \
    }
#endif

// The value of another lane.
inline float exchange(float x, int with) {
    float r;
    ASM volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=f"(r) : "f"(x), "r"(with));
    return r;
}

__kernel __attribute__((reqd_work_group_size(32 * WARPS, 1, 1))) void
attention_mma(Q_ARG, K_ARG, V_ARG, M_ARG, Y_ARG, P_ARG, const int q_at, const int k_at,
              const int v_at, const float scale EPI_ARGS) {
    Q_BEGIN K_BEGIN V_BEGIN M_BEGIN Y_BEGIN P_BEGIN
    __local float part[WARPS][16][WIDE + 1], most_of[WARPS][16], sum_of[WARPS][16];
    const int tid = (int)get_local_id(0), lane = tid & 31, warp = tid >> 5;
    const int g = lane >> 2, q = lane & 3, row0 = (int)get_group_id(0) * 16;
    const int rows = P[0], keys = P[1];
    int head = (int)get_group_id(1), qo = q_at, ko = k_at, vo = v_at, yo = 0, mo = 0;
#pragma unroll
    for (int d = 0; d < LEADS; d++) {
        const int *lead = P + 13 + 6 * d;
        int i = head % lead[0];
        qo += i * lead[1];
        ko += i * lead[2];
        vo += i * lead[3];
        yo += i * lead[4];
        mo += i * lead[5];
        head /= lead[0];
    }
    // Queries of rows g and g + 8.
    uint4 a[BLOCKS][2];
#pragma unroll
    for (int s = 0; s < BLOCKS; s++)
#pragma unroll
        for (int r = 0; r < 2; r++) {
            int at_d = s * BLOCK + q * CHUNK, row = min(row0 + g + 8 * r, rows - 1);
            a[s][r] = at_d < DEPTH ? *(__global const uint4 *)(Q + qo + row * P[3] + at_d) : (uint4)(0);
        }
    float o[TILES][4], most[2] = {-INFINITY, -INFINITY}, sum[2] = {0.0f, 0.0f};
#pragma unroll
    for (int t = 0; t < TILES; t++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            o[t][e] = 0.0f;
    __global const WORD *values = (__global const WORD *)(V + vo);

    for (int k0 = 16 * warp; k0 < keys; k0 += 16 * WARPS) {
        float c[2][4];
#pragma unroll
        for (int j = 0; j < 2; j++) {
#pragma unroll
            for (int e = 0; e < 4; e++)
                c[j][e] = 0.0f;
            int key = min(k0 + 8 * j + g, keys - 1);
#pragma unroll
            for (int s = 0; s < BLOCKS; s++) {
                int at_d = s * BLOCK + q * CHUNK;
                uint4 b = at_d < DEPTH ? *(__global const uint4 *)(K + ko + key * P[5] + at_d) : (uint4)(0);
                PRODUCT(c[j], a[s][0].x, a[s][1].x, a[s][0].y, a[s][1].y, b.x, b.y);
                PRODUCT(c[j], a[s][0].z, a[s][1].z, a[s][0].w, a[s][1].w, b.z, b.w);
            }
        }
        // Scores of rows g (e 0, 1) and g + 8 (e 2, 3), keys k0 + 8 j + 2 q + e % 2.
        float next[2] = {most[0], most[1]};
#pragma unroll
        for (int j = 0; j < 2; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                int key = k0 + 8 * j + 2 * q + (e & 1), row = min(row0 + g + 8 * (e >> 1), rows - 1);
                float s = c[j][e] * scale;
#if HAS_M
                s += LD_M(mo + row * P[11] + min(key, keys - 1) * P[12]);
#endif
                c[j][e] = key < keys ? s : -INFINITY;
                next[e >> 1] = fmax(next[e >> 1], c[j][e]);
            }
        float keep[2];
#pragma unroll
        for (int r = 0; r < 2; r++) {
            next[r] = fmax(next[r], exchange(next[r], 1));
            next[r] = fmax(next[r], exchange(next[r], 2));
            keep[r] = most[r] == next[r] ? 1.0f : exp(most[r] - next[r]);
            most[r] = next[r];
            sum[r] *= keep[r];
        }
#pragma unroll
        for (int j = 0; j < 2; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                float p = c[j][e] == -INFINITY ? 0.0f : exp(c[j][e] - most[e >> 1]);
                c[j][e] = p;
                sum[e >> 1] += p;
            }
#if F16
        const uint p0 = pair(c[0][0], c[0][1]), p1 = pair(c[0][2], c[0][3]);
        const uint p2 = pair(c[1][0], c[1][1]), p3 = pair(c[1][2], c[1][3]);
#endif
        int at_key[4];
#pragma unroll
        for (int e = 0; e < 4; e++)
            at_key[e] = min(k0 + 8 * (e >> 1) + 2 * q + (e & 1), keys - 1) * P[7];
#pragma unroll
        for (int t = 0; t < TILES; t++) {
            int col = (8 * t + g) * P[8];
            uint w[4];
#pragma unroll
            for (int e = 0; e < 4; e++)
                w[e] = values[at_key[e] + col];
            float part_sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#if F16
            PRODUCT(part_sum, p0, p1, p2, p3, w[0] | w[1] << 16, w[2] | w[3] << 16);
#else
#pragma unroll
            for (int j = 0; j < 2; j++)
                PRODUCT(part_sum, as_uint(c[j][0]), as_uint(c[j][2]), as_uint(c[j][1]),
                        as_uint(c[j][3]), w[2 * j], w[2 * j + 1]);
#endif
#pragma unroll
            for (int e = 0; e < 4; e++)
                o[t][e] = o[t][e] * keep[e >> 1] + part_sum[e];
        }
    }
#pragma unroll
    for (int r = 0; r < 2; r++) {
        sum[r] += exchange(sum[r], 1);
        sum[r] += exchange(sum[r], 2);
        if (q == 0) {
            most_of[warp][g + 8 * r] = most[r];
            sum_of[warp][g + 8 * r] = sum[r];
        }
    }
#pragma unroll
    for (int t = 0; t < TILES; t++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            part[warp][g + 8 * (e >> 1)][8 * t + 2 * q + (e & 1)] = o[t][e];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = tid; i < 16 * WIDE; i += 32 * WARPS) {
        int r = i / WIDE, col = i % WIDE;
        float top = most_of[0][r], all = 0.0f, v = 0.0f;
        for (int w = 1; w < WARPS; w++)
            top = fmax(top, most_of[w][r]);
        for (int w = 0; w < WARPS; w++) {
            float f = most_of[w][r] == top ? 1.0f : exp(most_of[w][r] - top);
            all += f * sum_of[w][r];
            v += f * part[w][r][col];
        }
        if (row0 + r < rows)
            ST_Y(yo + (row0 + r) * P[9] + col * P[10], v / all);
    }
}
