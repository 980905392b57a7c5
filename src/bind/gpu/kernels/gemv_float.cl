// A few rows times constant floats [N][K], K a multiple of 4: a team of 32 work items computes a
// column, 8 teams a group.
//
//   ALIGNED_X  vectors of X begin where the device reads them at once
#define WIDE(name, i)                                                                              \
    (sizeof(*name) == 2 ? q_halves(*(__global const ushort4 *)(name + (i)))                        \
                        : *(__global const float4 *)(name + (i)))

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
gemv_float(X_ARG, W_ARG, B_ARG, Y_ARG, const int N, const int K EPI_ARGS) {
    X_BEGIN W_BEGIN B_BEGIN Y_BEGIN EPI_BEGIN
    __local float parts[256];
    const int tid = (int)get_local_id(0), lane = tid & 31;
    const int col = (int)get_group_id(0) * 8 + (tid >> 5), row = (int)get_group_id(1);
    const int w0 = min(col, N - 1) * K, x0 = row * K;
    float4 acc = (float4)(0.0f);
#pragma unroll 8
    for (int k = lane * 4; k < K; k += 128)
        acc += WIDE(W, w0 + k) * (ALIGNED_X ? WIDE(X, x0 + k) : LD4_X(x0 + k));
    parts[tid] = (acc.x + acc.y) + (acc.z + acc.w);
    for (int half_team = 16; half_team > 0; half_team /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < half_team)
            parts[tid] += parts[tid + half_team];
    }
    if (lane == 0 && col < N) {
        int at_y = row * N + col;
        float v = parts[tid] + (HAS_B ? LD_B(col) : 0.0f);
        ST_Y(at_y, EPI(CLAMP(v), at_y));
    }
}
