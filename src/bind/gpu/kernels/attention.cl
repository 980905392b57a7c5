// Attention, one query a work item: scores against all keys, softmax as it goes, values summed.
//
// P: [0] queries, [1] keys, [2] leading dimensions, [3, 4] strides of q along queries and depth,
// [5, 6] of k, [7, 8] of v along keys and columns, [9, 10] of y, [11, 12] of the mask; then for each
// leading dimension, from the last to the first, its size and strides in q, k, v, y and the mask.
__kernel void attention(Q_ARG, K_ARG, V_ARG, M_ARG, Y_ARG, P_ARG, const int q_at, const int k_at,
                        const int v_at, const float scale EPI_ARGS) {
    Q_BEGIN K_BEGIN V_BEGIN M_BEGIN Y_BEGIN P_BEGIN
    int row = (int)get_global_id(0), head = (int)get_global_id(1);
    int qo = q_at + row * P[3], ko = k_at, vo = v_at, yo = row * P[9], mo = row * P[11];
    for (int d = 0; d < P[2]; d++) {
        __global const int *lead = P + 13 + 6 * d;
        int i = head % lead[0];
        qo += i * lead[1];
        ko += i * lead[2];
        vo += i * lead[3];
        yo += i * lead[4];
        mo += i * lead[5];
        head /= lead[0];
    }
    float q[DEPTH], o[WIDE], most = -INFINITY, sum = 0.0f;
    for (int d = 0; d < DEPTH; d++)
        q[d] = LD_Q(qo + d * P[4]);
    for (int d = 0; d < WIDE; d++)
        o[d] = 0.0f;
    for (int j = 0; j < P[1]; j++) {
        float s = 0.0f;
        for (int d = 0; d < DEPTH; d++)
            s += q[d] * LD_K(ko + j * P[5] + d * P[6]);
        s = s * scale + (HAS_M ? LD_M(mo + j * P[12]) : 0.0f);
        float next = q_max(most, s), keep = most == next ? 1.0f : exp(most - next);
        float p = s == -INFINITY && next == -INFINITY ? 0.0f : exp(s - next);
        most = next;
        sum = sum * keep + p;
        for (int d = 0; d < WIDE; d++)
            o[d] = o[d] * keep + p * LD_V(vo + j * P[7] + d * P[8]);
    }
    for (int d = 0; d < WIDE; d++)
        ST_Y(yo + d * P[10], o[d] / sum);
}
