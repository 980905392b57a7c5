// A few rows times quantized weights: a team of 32 work items computes ROWS columns, each item 32
// elements of K at a time; 8 teams a group. Weights are [N][K] of BITS bits, four or eight words a
// chunk; S are scales [N][K / step], Z what is added to the quantized values before.
#define TILE 4096 // elements of a row of X in local memory; a chunk has one word more, for the banks

inline float number(uint word, int i) {
#if SIGNED
    return (float)((int)(word << (32 - BITS - i * BITS)) >> (32 - BITS));
#else
    return (float)(word >> (i * BITS) & ((1u << BITS) - 1u));
#endif
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
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = tid; i < n; i += 256)
            x[i / 32 * 33 + i % 32] = LD_X(row * K + k0 + i);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int c = lane; c < n / 32; c += 32)
            for (int r = 0; r < ROWS; r++) {
                const int col = min(col0 + r, N - 1), g = col * groups + (k0 + 32 * c) / step;
                __global const uint4 *w =
                    (__global const uint4 *)W + ((size_t)col * chunks + k0 / 32 + c) * (BITS / 4);
                float sum = 0.0f;
#if HAS_Z
                const float zero = LD_Z(g);
#else
                const float zero = 0.0f;
#endif
                for (int part = 0; part < BITS / 4; part++) {
                    uint4 v = w[part];
                    uint words[4] = {v.x, v.y, v.z, v.w};
                    for (int d = 0; d < 4; d++)
                        for (int i = 0; i < 32 / BITS; i++)
                            sum += x[c * 33 + (part * 4 + d) * (32 / BITS) + i] *
                                   (number(words[d], i) + zero);
                }
                acc[r] += sum * LD_S(g);
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
