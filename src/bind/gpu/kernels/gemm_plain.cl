// Convolutions and matrix products, one result a work item: the readable form that runs whatever
// the fast ones do not.

#ifdef KERNEL_conv
// P: spatial in, out, kernel, stride, dilation, before: 3 each.
__kernel void conv(X_ARG, W_ARG, B_ARG, Y_ARG, P_ARG, const int cin, const int cout,
                   const int group, const int total, const int transposed EPI_ARGS) {
    X_BEGIN W_BEGIN B_BEGIN Y_BEGIN P_BEGIN EPI_BEGIN
    int i = (int)get_global_id(0);
    if (i >= total)
        return;
    int co = i % cout, cell = i / cout;
    int o[3];
    for (int d = 2; d >= 0; d--) {
        o[d] = cell % P[3 + d];
        cell /= P[3 + d];
    }
    int cin_g = cin / group, cout_g = cout / group, g = co / cout_g;
    float sum = HAS_B ? LD_B(co) : 0.0f;
    for (int k0 = 0; k0 < P[6]; k0++)
        for (int k1 = 0; k1 < P[7]; k1++)
            for (int k2 = 0; k2 < P[8]; k2++) {
                int k[3] = {k0, k1, k2}, from = cell, inside = 1;
                for (int d = 0; d < 3; d++) {
                    int p;
                    if (transposed) {
                        p = o[d] + P[15 + d] - k[d] * P[12 + d];
                        inside &= p >= 0 && p % P[9 + d] == 0;
                        p /= P[9 + d];
                    } else {
                        p = o[d] * P[9 + d] - P[15 + d] + k[d] * P[12 + d];
                    }
                    inside &= p >= 0 && p < P[d];
                    from = from * P[d] + p;
                }
                if (!inside)
                    continue;
                int tap = (k0 * P[7] + k1) * P[8] + k2;
                int x = from * cin + g * cin_g;
                int w = transposed ? (tap * cin + g * cin_g) * cout_g + (co - g * cout_g)
                                   : tap * cin_g * cout + co;
                int w_step = transposed ? cout_g : cout;
                for (int c = 0; c < cin_g; c++)
                    sum += LD_X(x + c) * LD_W(w + c * w_step);
            }
    ST_Y(i, EPI(CLAMP(sum), i));
}
#endif

#ifdef KERNEL_matmul
// P: leading dimensions, then size, stride in a, stride in b of each, from the last to the first.
__kernel void matmul(A_ARG, B_ARG, C_ARG, Y_ARG, P_ARG, const int rows, const int cols,
                     const int depth, const int a_row, const int a_depth, const int b_depth,
                     const int b_col, const int total EPI_ARGS) {
    A_BEGIN B_BEGIN C_BEGIN Y_BEGIN P_BEGIN EPI_BEGIN
    int i = (int)get_global_id(0);
    if (i >= total)
        return;
    int col = i % cols, row = i / cols % rows, n = i / cols / rows, a = 0, b = 0;
    for (int d = 0; d < P[0]; d++) {
        int size = P[1 + 3 * d], at_d = n % size;
        a += at_d * P[2 + 3 * d];
        b += at_d * P[3 + 3 * d];
        n /= size;
    }
    a += row * a_row;
    b += col * b_col;
    float sum = HAS_C ? LD_C(col) : 0.0f;
    for (int k = 0; k < depth; k++)
        sum += LD_A(a + k * a_depth) * LD_B(b + k * b_depth);
    ST_Y(i, EPI(CLAMP(sum), i));
}
#endif
