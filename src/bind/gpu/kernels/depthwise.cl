// Depthwise convolutions in two dimensions: a work item computes LANES channels of RUN outputs along
// the width. Filters are [kernel height, width, channels].
//
// P: as in gemm_cpu.cl.
#if LANES == 1
#define NUMBERS float
#define LOAD(name, i) LD_##name(i)
#elif LANES == 4
#define NUMBERS float4
#define LOAD(name, i) LD4_##name(i)
#else
#define NUMBERS float16
#define LOAD(name, i)                                                                              \
    (float16)(LD4_##name(i), LD4_##name((i) + 4), LD4_##name((i) + 8), LD4_##name((i) + 12))
#endif

__kernel void depthwise(X_ARG, W_ARG, B_ARG, Y_ARG, P_ARG, const int rows, const int runs,
                        const int lanes EPI_ARGS) {
    X_BEGIN W_BEGIN B_BEGIN Y_BEGIN P_BEGIN EPI_BEGIN
    const int c = (int)get_global_id(0) * LANES, row = (int)get_global_id(2);
    const int ox0 = (int)get_global_id(1) * RUN;
    if (c >= lanes * LANES || row >= rows || (int)get_global_id(1) >= runs)
        return;
    const int H = P[0], Wd = P[1], C = P[2], OW = P[4];
    const int y0 = row % P[3] * P[7] - P[11], x0 = ox0 * P[8] - P[12], base = row / P[3] * H;
    NUMBERS acc[RUN];
    for (int r = 0; r < RUN; r++)
        acc[r] = HAS_B ? LOAD(B, c) : (NUMBERS)(0.0f);
    for (int ky = 0; ky < P[5]; ky++) {
        int y = y0 + ky * P[9];
        if (y < 0 || y >= H)
            continue;
        for (int kx = 0; kx < P[6]; kx++) {
            NUMBERS w = LOAD(W, (ky * P[6] + kx) * C + c);
            for (int r = 0; r < RUN; r++) {
                int x = x0 + r * P[8] + kx * P[10];
                if (x >= 0 && x < Wd)
                    acc[r] += LOAD(X, ((base + y) * Wd + x) * C + c) * w;
            }
        }
    }
    for (int r = 0; r < RUN; r++)
        if (ox0 + r < OW) {
            int at_y = (row * OW + ox0 + r) * C + c;
#if LANES == 1
            ST_Y(at_y, EPI(CLAMP(acc[r]), at_y));
#else
            float t[LANES];
#if LANES == 4
            vstore4(acc[r], 0, t);
#else
            vstore16(acc[r], 0, t);
#endif
            for (int e = 0; e < LANES; e++)
                ST_Y(at_y + e, EPI(CLAMP(t[e]), at_y + e));
#endif
        }
}
