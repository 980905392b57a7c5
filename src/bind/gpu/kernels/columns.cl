// Windows of an image [N, H, W, C] as columns [N, C * kh * kw, L] and back; the Hadamard transform.
// P: size of the image, kernel, stride, dilation, cells before: height and width of each.

#ifdef KERNEL_im2col
__kernel void im2col(X_ARG, Y_ARG, P_ARG, const int total, const int channels, const int positions,
                     const int across EPI_ARGS) {
    X_BEGIN Y_BEGIN P_BEGIN EPI_BEGIN
    int i = (int)get_global_id(0);
    if (i >= total)
        return;
    int l = i % positions, row = i / positions, cells = P[2] * P[3];
    int cell = row % cells, c = row / cells % channels, n = row / cells / channels;
    int y = l / across * P[4] + cell / P[3] * P[6] - P[8];
    int x = l % across * P[5] + cell % P[3] * P[7] - P[9];
    int in = y >= 0 && y < P[0] && x >= 0 && x < P[1];
    float v = in ? LD_X(((n * P[0] + y) * P[1] + x) * channels + c) : 0.0f;
    ST_Y(i, EPI(v, i));
}
#endif

#ifdef KERNEL_col2im
// A cell of the image is the sum of the cells of columns that map to it.
__kernel void col2im(X_ARG, Y_ARG, P_ARG, const int total, const int channels, const int positions,
                     const int across EPI_ARGS) {
    X_BEGIN Y_BEGIN P_BEGIN EPI_BEGIN
    int i = (int)get_global_id(0);
    if (i >= total)
        return;
    int c = i % channels, pixel = i / channels, x = pixel % P[1], y = pixel / P[1] % P[0];
    int n = pixel / P[1] / P[0], down = positions / across;
    float sum = 0.0f;
    for (int a = 0; a < P[2]; a++)
        for (int b = 0; b < P[3]; b++) {
            int row = y + P[8] - a * P[6], col = x + P[9] - b * P[7];
            if (row < 0 || col < 0 || row % P[4] || col % P[5] || row / P[4] >= down ||
                col / P[5] >= across)
                continue;
            int from = ((n * channels + c) * P[2] + a) * P[3] + b;
            sum += LD_X(from * positions + row / P[4] * across + col / P[5]);
        }
    ST_Y(i, EPI(sum, i));
}
#endif

#ifdef KERNEL_hadamard
// y[i] = scale / sqrt(n) * sum_j (-1)^popcount(i & j) * x[j] along the last dimension.
__kernel void hadamard(X_ARG, Y_ARG, const int total, const int n, const float scale EPI_ARGS) {
    X_BEGIN Y_BEGIN EPI_BEGIN
    int i = (int)get_global_id(0);
    if (i >= total)
        return;
    int own = i % n, base = i - own;
    float sum = 0.0f;
    for (int begin = 0; begin < n; begin += 32) {
        float part = 0.0f;
        for (int j = begin; j < min(n, begin + 32); j++)
            part += popcount(own & j) & 1 ? -LD_X(base + j) : LD_X(base + j);
        sum += part;
    }
    ST_Y(i, EPI(scale / sqrt((float)n) * sum, i));
}
#endif
