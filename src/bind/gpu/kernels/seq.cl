// Attention with grouped heads, rotary embedding, short-time Fourier transform.

#ifdef KERNEL_rotary
// x [B,H,S,D]; C and S: cosines and sines, [B,S,half] or [N,half] by the positions I.
__kernel void rotary(X_ARG, C_ARG, S_ARG, I_ARG, Y_ARG, F_ARG, const int node, const int heads,
                     const int steps, const int size, const int half_size, const int rows,
                     const int interleaved, const int n EPI_ARGS) {
    X_BEGIN C_BEGIN S_BEGIN I_BEGIN Y_BEGIN F_BEGIN EPI_BEGIN
    int i = (int)get_global_id(0), d = i % size, row = i / size;
    if (i >= n)
        return;
    int place = row / (heads * steps) * steps + row % steps;
    float v = LD_X(i);
#if HAS_I
    long position = (long)LD_I(place);
    int good = position >= 0 && position < rows;
    if (!good)
        F[0] = node;
    place = good ? (int)position : 0;
#endif
    if (d < 2 * half_size) {
        int second = interleaved ? d & 1 : d >= half_size;
        int pair = interleaved ? d >> 1 : d - second * half_size;
        float other = LD_X(i + (interleaved ? 1 : half_size) * (second ? -1 : 1));
        float c = LD_C(place * half_size + pair), s = LD_S(place * half_size + pair);
        v = second ? v * c + other * s : v * c - other * s;
    }
    ST_Y(i, EPI(v, i));
}
#endif

#ifdef KERNEL_gqa
// LANES work items do a query of a head: scores of all keys it sees, then their weighted values.
// Q [B,S,Hq*D]; K and V [B,T,Hkv*D]; PK and PV [B,Hkv,past,D]; M broadcasts by the strides in P.
// W: scores, [rows, past + T]. P: batch, queries, keys, past, query heads, key heads, D, causal,
// strides of M.
#define KEY(t, j)                                                                                  \
    ((j) < past ? LD_P##t(((batch * kv_heads + kv_head) * past + (j)) * size + d)                  \
                : LD_##t(((batch * keys + (j)-past) * kv_heads + kv_head) * size + d))
#if LANES > 1
#define SYNC(what) barrier(what);
#else
#define SYNC(what)
#endif

__kernel void gqa(Q_ARG, K_ARG, V_ARG, PK_ARG, PV_ARG, M_ARG, N_ARG, Y_ARG, W_ARG, F_ARG,
                  const int node, P_ARG, const float scale EPI_ARGS) {
    Q_BEGIN K_BEGIN V_BEGIN PK_BEGIN PV_BEGIN M_BEGIN N_BEGIN Y_BEGIN W_BEGIN F_BEGIN P_BEGIN EPI_BEGIN
    const int queries = P[1], keys = P[2], past = P[3], q_heads = P[4], kv_heads = P[5], size = P[6];
    const int row = (int)get_global_id(0) / LANES, lane = (int)get_global_id(0) % LANES;
    const int head = row % q_heads, batch = row / (q_heads * queries), step = row / q_heads % queries;
    const int kv_head = head / (q_heads / kv_heads), total = past + keys;
    long count = total;
#if HAS_N
    count = (long)LD_N(batch);
    if (count < 0 || count > total) {
        F[0] = node;
        count = 0;
    }
#endif
    const int own = total - queries + step + 1;
    const int visible = P[7] && own < count ? own : (int)count;
    __global float *w = W + row * total;
    for (int j = lane; j < visible; j += LANES) {
        float dot = 0.0f;
        for (int d = 0; d < size; d++)
            dot += LD_Q(row * size + d) * KEY(K, j);
        dot *= scale;
#if HAS_M
        dot += LD_M(batch * P[8] + head * P[9] + step * P[10] + j * P[11]);
#endif
        w[j] = dot;
    }
    SYNC(CLK_GLOBAL_MEM_FENCE)
    float top = -INFINITY, sum = 0.0f;
    for (int j = 0; j < visible; j++)
        top = w[j] > top || isnan(w[j]) ? w[j] : top;
    if (top != -INFINITY)
        for (int j = 0; j < visible; j++)
            sum += exp(w[j] - top);
    SYNC(CLK_GLOBAL_MEM_FENCE) // all have read the scores
    for (int j = lane; j < visible; j += LANES)
        w[j] = top == -INFINITY ? 0.0f : exp(w[j] - top) / sum;
    SYNC(CLK_GLOBAL_MEM_FENCE)
    for (int d = lane; d < size; d += LANES) {
        float v = 0.0f;
        for (int j = 0; j < visible; j++)
            if (w[j] != 0.0f) // an infinite value behind a mask does not count
                v += w[j] * KEY(V, j);
        ST_Y(row * size + d, EPI(v, row * size + d));
    }
}
#endif

#ifdef KERNEL_join_positions
// [B,H,past + T,D] of the cache [B,H,past,D] and what is new [B,T,H*D].
__kernel void join_positions(X_ARG, PX_ARG, Y_ARG, const int keys, const int past, const int heads,
                             const int size, const int n) {
    X_BEGIN PX_BEGIN Y_BEGIN
    int i = (int)get_global_id(0), d = i % size, j = i / size % (past + keys);
    if (i >= n)
        return;
    int head = i / size / (past + keys); // of all batches
    if (j < past)
        ST_Y(i, LD_PX((head * past + j) * size + d));
    else
        ST_Y(i, LD_X(((head / heads * keys + j - past) * heads + head % heads) * size + d));
}
#endif

#ifdef KERNEL_stft
// A work item does a number of a frame. T: cosines, then sines, of 2 pi i / length.
__kernel void stft(X_ARG, W_ARG, T_ARG, Y_ARG, const int signal, const int parts, const int frames,
                   const int bins, const int length, const int step, const int n EPI_ARGS) {
    X_BEGIN W_BEGIN T_BEGIN Y_BEGIN EPI_BEGIN
    int i = (int)get_global_id(0), im = i & 1, bin = i / 2 % bins, frame = i / 2 / bins;
    if (i >= n)
        return;
    int from = (frame / frames * signal + frame % frames * step) * parts, turn = 0;
    float sum = 0.0f, part = 0.0f;
    for (int k = 0; k < length; k++) {
#if HAS_W
        float w = LD_W(k);
#else
        float w = 1.0f;
#endif
        float c = LD_T(turn), s = LD_T(length + turn);
        float u = w * LD_X(from + k * parts), v = parts > 1 ? w * LD_X(from + k * 2 + 1) : 0.0f;
        part += im ? v * c - u * s : u * c + v * s;
        turn = turn + bin < length ? turn + bin : turn + bin - length;
        if ((k & 31) == 31) { // parts of a long sum, each on its own
            sum += part;
            part = 0.0f;
        }
    }
    ST_Y(i, EPI(sum + part, i));
}
#endif
