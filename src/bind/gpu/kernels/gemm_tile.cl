// GEMM for GPUs: tiles of 64 rows and 64 columns in local memory, 4 x 4 results a work item (16 x 16
// of them a group). Weights are packed as [n / 64][K][64], K rounded up to DEPTH.
//
// P: as in gemm_cpu.cl.
#define DEPTH 16
#define TILE 64

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
gemm_tile(X_ARG, W_ARG, B_ARG, Y_ARG, P_ARG, const int M, const int N, const int K EPI_ARGS) {
    X_BEGIN W_BEGIN B_BEGIN Y_BEGIN P_BEGIN EPI_BEGIN
    __local float a[DEPTH][TILE + 4], b[DEPTH][TILE];
    const int tid = (int)get_local_id(0), tx = tid % 16, ty = tid / 16;
    const int row0 = (int)get_group_id(1) * TILE, col0 = (int)get_group_id(0) * TILE;
    const int H = P[0], Wd = P[1], channels = P[2], KW = P[6];
    // This work item loads element k0 + tid % 16 of rows row0 + tid / 16 + 16 * i.
    int y0[4], x0[4], base[4];
    for (int i = 0; i < 4; i++) {
        int row = min(row0 + ty + 16 * i, M - 1), rest = row / P[4];
        x0[i] = row % P[4] * P[8] - P[12];
        y0[i] = rest % P[3] * P[7] - P[11];
        base[i] = rest / P[3] * H;
    }
    float acc[4][4];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            acc[i][j] = 0.0f;
    const int steps = (K + DEPTH - 1) / DEPTH;
    __global const float *w = W + (size_t)get_group_id(0) * steps * DEPTH * TILE;
    for (int s = 0; s < steps; s++) {
        int k = s * DEPTH + tx, c = k % channels, tap = k / channels;
        int ky = tap / KW, kx = tap - ky * KW;
        for (int i = 0; i < 4; i++) {
            int y = y0[i] + ky * P[9], x = x0[i] + kx * P[10];
            int in = k < K && y >= 0 && y < H && x >= 0 && x < Wd;
            a[tx][ty + 16 * i] = in ? LD_X(((base[i] + y) * Wd + x) * P[13] + c) : 0.0f;
        }
        vstore4(vload4(0, w + s * DEPTH * TILE + 4 * tid), 0, &b[0][0] + 4 * tid);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int d = 0; d < DEPTH; d++) {
            float4 u = vload4(0, &a[d][4 * ty]), v = vload4(0, &b[d][4 * tx]);
            float us[4] = {u.x, u.y, u.z, u.w}, vs[4] = {v.x, v.y, v.z, v.w};
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++)
                    acc[i][j] = mad(us[i], vs[j], acc[i][j]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            int row = row0 + 4 * ty + i, col = col0 + 4 * tx + j;
            if (row < M && col < N) {
                float v = acc[i][j] + (HAS_B ? LD_B(col) : 0.0f);
                int at_y = row * N + col;
                ST_Y(at_y, EPI(CLAMP(v), at_y));
            }
        }
}
