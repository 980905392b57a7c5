// A few rows times quantized weights: a team of 32 work items computes ROWS columns, each item 32
// elements of K at a time; 8 teams a group. Weights are [N][K] of BITS bits, four or eight words a
// chunk; S are scales [N][K / step], Z what is added to the quantized values before.
#define TILE 4096 // elements of a row of X in local memory; a chunk has one word more, for the banks

// A quantized value without a conversion: its bits in the mantissa of 128 or 32768.
#if BITS == 4
#define POSITION 16
#define MAGIC 0x43000000u
#define TOO_MUCH (128.0f + (SIGNED ? 8.0f : 0.0f))
#define FLIP (SIGNED ? 0x88888888u : 0u)
#else
#define POSITION 8
#define MAGIC 0x47000000u
#define TOO_MUCH (32768.0f + (SIGNED ? 128.0f : 0.0f))
#define FLIP (SIGNED ? 0x80808080u : 0u)
#endif
#define MASK (((1u << BITS) - 1u) << POSITION)

inline float raised(uint word, int i) {
    int by = i * BITS - POSITION;
    return as_float(((by >= 0 ? word >> by : word << -by) & MASK) | MAGIC);
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
gemv(X_ARG, W_ARG, S_ARG, Z_ARG, B_ARG, Y_ARG, const int N, const int K, const int step EPI_ARGS) {
    X_BEGIN W_BEGIN S_BEGIN Z_BEGIN B_BEGIN Y_BEGIN EPI_BEGIN
    __local float x[TILE / 32 * 33], parts[ROWS][256];
    const int tid = (int)get_local_id(0), lane = tid & 31, team = tid >> 5;
    const int col0 = ((int)get_group_id(0) * 8 + team) * ROWS, row = (int)get_group_id(1);
    const int chunks = K / 32, groups = K / step;
    float acc[ROWS];
    for (int r = 0; r < ROWS; r++)
        acc[r] = 0.0f;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        const int n = min(TILE, K - k0);
        // Weights are on their way while X is brought.
        uint4 w[TILE / 1024][ROWS][BITS / 4];
#pragma unroll
        for (int s = 0; s < TILE / 1024; s++)
#pragma unroll
            for (int r = 0; r < ROWS; r++)
#pragma unroll
                for (int p = 0; p < BITS / 4; p++) {
                    int c = min(lane + 32 * s, n / 32 - 1), col = min(col0 + r, N - 1);
                    w[s][r][p] = ((__global const uint4 *)
                                      W)[((size_t)col * chunks + k0 / 32 + c) * (BITS / 4) + p];
                }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = tid; i < n; i += 256)
            x[i / 32 * 33 + i % 32] = LD_X(row * K + k0 + i);
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int s = 0; s < TILE / 1024; s++) {
            int c = lane + 32 * s;
            if (c < n / 32) {
#pragma unroll
                for (int r = 0; r < ROWS; r++) {
                    const int g = min(col0 + r, N - 1) * groups + (k0 + 32 * c) / step;
                    const float less = (HAS_Z ? LD_Z(g) : 0.0f) - TOO_MUCH;
                    float sum = 0.0f;
#pragma unroll
                    for (int p = 0; p < BITS / 4; p++) {
                        uint words[4] = {w[s][r][p].x, w[s][r][p].y, w[s][r][p].z, w[s][r][p].w};
#pragma unroll
                        for (int d = 0; d < 4; d++)
#pragma unroll
                            for (int i = 0; i < 32 / BITS; i++)
                                sum += x[c * 33 + (p * 4 + d) * (32 / BITS) + i] *
                                       (raised(words[d] ^ FLIP, i) + less);
                    }
                    acc[r] += sum * LD_S(g);
                }
            }
        }
    }
    for (int r = 0; r < ROWS; r++)
        parts[r][tid] = acc[r];
    for (int half_team = 16; half_team > 0; half_team /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < half_team)
            for (int r = 0; r < ROWS; r++)
                parts[r][tid] += parts[r][tid + half_team];
    }
    if (lane == 0)
        for (int r = 0; r < ROWS; r++)
            if (col0 + r < N) {
                int at_y = row * N + col0 + r;
                float v = parts[r][tid] + (HAS_B ? LD_B(col0 + r) : 0.0f);
                ST_Y(at_y, EPI(CLAMP(v), at_y));
            }
}
