// GEMM for devices that are CPUs: a work item computes ROWS rows of 32 columns in vectors of 16, no
// local memory. Weights are packed as [n / 32][K][32].
//
// P: [0] in height, [1] width, [2] channels, [3] out height, [4] width, [5] kernel height, [6] width,
// [7, 8] strides, [9, 10] dilations, [11, 12] pads before, [13] elements between cells. A matrix is a picture of one tap.
__kernel void gemm_cpu(X_ARG, W_ARG, B_ARG, Y_ARG, P_ARG, const int M, const int N,
                       const int K EPI_ARGS) {
    X_BEGIN W_BEGIN B_BEGIN Y_BEGIN P_BEGIN EPI_BEGIN
    const int panel = (int)get_global_id(0), row0 = (int)get_global_id(1) * ROWS;
    const int H = P[0], Wd = P[1], channels = P[2];
    __global const float *w = W + (size_t)panel * K * 32;
    float16 low[ROWS], high[ROWS];
    int y0[ROWS], x0[ROWS], base[ROWS];
    for (int r = 0; r < ROWS; r++) {
        int row = min(row0 + r, M - 1), rest = row / P[4];
        x0[r] = row % P[4] * P[8] - P[12];
        y0[r] = rest % P[3] * P[7] - P[11];
        base[r] = rest / P[3] * H;
        low[r] = high[r] = (float16)(0.0f);
    }
    for (int ky = 0; ky < P[5]; ky++)
        for (int kx = 0; kx < P[6]; kx++) {
            int from[ROWS], inside = 1, some = 0;
            for (int r = 0; r < ROWS; r++) {
                int y = y0[r] + ky * P[9], x = x0[r] + kx * P[10];
                int in = y >= 0 && y < H && x >= 0 && x < Wd;
                from[r] = in ? ((base[r] + y) * Wd + x) * P[13] : -1;
                inside &= in;
                some |= in;
            }
            if (inside) {
                for (int c = 0; c < channels; c++) {
                    float16 w0 = vload16(0, w + 32 * c), w1 = vload16(1, w + 32 * c);
                    for (int r = 0; r < ROWS; r++) {
                        float16 a = (float16)(LD_X(from[r] + c));
                        low[r] = mad(a, w0, low[r]);
                        high[r] = mad(a, w1, high[r]);
                    }
                }
            } else if (some) {
                for (int c = 0; c < channels; c++) {
                    float16 w0 = vload16(0, w + 32 * c), w1 = vload16(1, w + 32 * c);
                    for (int r = 0; r < ROWS; r++) {
                        float16 a = (float16)(from[r] < 0 ? 0.0f : LD_X(max(from[r], 0) + c));
                        low[r] = mad(a, w0, low[r]);
                        high[r] = mad(a, w1, high[r]);
                    }
                }
            }
            w += 32 * channels;
        }
    const int n = min(32, N - 32 * panel);
    for (int r = 0; r < ROWS; r++) {
        float t[32];
        vstore16(low[r], 0, t);
        vstore16(high[r], 1, t);
        if (row0 + r < M)
            for (int j = 0; j < n; j++) {
                int col = 32 * panel + j, at_y = (row0 + r) * N + col;
                float v = t[j] + (HAS_B ? LD_B(col) : 0.0f);
                ST_Y(at_y, EPI(CLAMP(v), at_y));
            }
    }
}
