// Steps that move elements.

// Element of the output from the bits that the graph stores.
#if Y_REAL
#define VALUE(low, high) as_float(low)
#else
#define VALUE(low, high) ((Y_T)((ulong)(uint)(low) | (ulong)(uint)(high) << 32))
#endif

#ifdef KERNEL_move
// P: number of loops, then for each, from the innermost on: size, step in x, step in y.
__kernel void move(X_ARG, Y_ARG, P_ARG, const int from_x, const int from_y, const int n EPI_ARGS) {
    X_BEGIN Y_BEGIN P_BEGIN EPI_BEGIN
    int rest = (int)get_global_id(0), x = from_x, y = from_y;
    if (rest >= n)
        return;
    for (int d = 0; d < P[0]; d++) {
        int size = P[1 + 3 * d], q = rest / size, r = rest - q * size;
        x += r * P[2 + 3 * d];
        y += r * P[3 + 3 * d];
        rest = q;
    }
    ST_Y(y, EPI(LD_X(x), y));
}
#endif

#ifdef KERNEL_move4
// The same, four neighbours a work item; sizes and steps are those of fours.
__kernel void move4(X_ARG, Y_ARG, P_ARG, const int from_x, const int from_y, const int n) {
    X_BEGIN Y_BEGIN P_BEGIN
    int rest = (int)get_global_id(0), x = from_x, y = from_y;
    if (rest >= n)
        return;
    for (int d = 0; d < P[0]; d++) {
        int size = P[1 + 3 * d], q = rest / size, r = rest - q * size;
        x += r * P[2 + 3 * d];
        y += r * P[3 + 3 * d];
        rest = q;
    }
    ST4_Y(y, LD4_X(x));
}
#endif

#ifdef KERNEL_move_parts
// Up to four outputs of one source, WIDTH neighbours a work item. P: for each output the work item
// that it ends before, and where its own parameters are: from_x, from_y, then loops as of move.
#if WIDTH == 4
#define PUT(Z) ST4_##Z(y, LD4_X(x));
#else
#define PUT(Z) ST_##Z(y, LD_X(x));
#endif
__kernel void move_parts(X_ARG, Y0_ARG, Y1_ARG, Y2_ARG, Y3_ARG, P_ARG, const int n) {
    X_BEGIN Y0_BEGIN Y1_BEGIN Y2_BEGIN Y3_BEGIN P_BEGIN
    int i = (int)get_global_id(0);
    if (i >= n)
        return;
    int part = i < P[0] ? 0 : i < P[2] ? 1 : i < P[4] ? 2 : 3;
    __global const int *own = P + P[2 * part + 1];
    int rest = part ? i - P[2 * part - 2] : i, x = own[0], y = own[1];
    for (int d = 0; d < own[2]; d++) {
        int size = own[3 + 3 * d], q = rest / size, r = rest - q * size;
        x += r * own[4 + 3 * d];
        y += r * own[5 + 3 * d];
        rest = q;
    }
    if (part == 0)
        PUT(Y0)
    else if (part == 1)
        PUT(Y1)
    else if (part == 2)
        PUT(Y2)
    else
        PUT(Y3)
}
#endif

#ifdef KERNEL_pad
// P: number of dimensions, then for each, from the last on: size of y, size of x, elements before,
// stride of x. Scheme: constant, symmetric, reflect, edge.
__kernel void pad(X_ARG, Y_ARG, P_ARG, const int scheme, const int low, const int high,
                  const int n EPI_ARGS) {
    X_BEGIN Y_BEGIN P_BEGIN EPI_BEGIN
    int i = (int)get_global_id(0), rest = i, x = 0, inside = 1;
    if (i >= n)
        return;
    for (int d = 0; d < P[0]; d++) {
        int size = P[1 + 4 * d], dim = P[2 + 4 * d], q = rest / size;
        int at = rest - q * size - P[3 + 4 * d];
        rest = q;
        if (at < 0 || at >= dim) {
            inside &= scheme != 0;
            at = scheme == 1   ? (at < 0 ? -1 - at : 2 * dim - 1 - at)
                 : scheme == 2 ? (at < 0 ? -at : 2 * dim - 2 - at)
                               : (at < 0 ? 0 : dim - 1);
        }
        x += at * P[4 + 4 * d];
    }
    ST_Y(i, EPI(inside ? LD_X(x) : VALUE(low, high), i));
}
#endif

#ifdef KERNEL_batch_space
// P: sizes of the space side [n, h, w], of the batch side [h, w], block, padding above and left.
__kernel void batch_space(X_ARG, Y_ARG, P_ARG, const int channels, const int to_batch,
                          const int low, const int high, const int n EPI_ARGS) {
    X_BEGIN Y_BEGIN P_BEGIN EPI_BEGIN
    int i = (int)get_global_id(0), c = i % channels, at = i / channels, x, inside = 1;
    if (i >= n)
        return;
    if (to_batch) {
        int w = at % P[4], h = at / P[4] % P[3], block = at / P[4] / P[3];
        int image = block % P[0], part = block / P[0];
        int row = h * P[5] + part / P[6] - P[7], col = w * P[6] + part % P[6] - P[8];
        inside = row >= 0 && row < P[1] && col >= 0 && col < P[2];
        x = (image * P[1] + row) * P[2] + col;
    } else {
        int w = at % P[2] + P[8], h = at / P[2] % P[1] + P[7], image = at / P[2] / P[1];
        int block = (h % P[5] * P[6] + w % P[6]) * P[0] + image;
        x = (block * P[3] + h / P[5]) * P[4] + w / P[6];
    }
    ST_Y(i, EPI(inside ? LD_X(x * channels + c) : VALUE(low, high), i));
}
#endif


#ifdef KERNEL_unpack4
// Quantized values of 4 bits, two a byte, the first in the low bits.
__kernel void unpack4(X_ARG, Y_ARG, const int sign, const int offset, const float scale,
                      const int n EPI_ARGS) {
    X_BEGIN Y_BEGIN EPI_BEGIN
    int i = (int)get_global_id(0);
    if (i >= n)
        return;
    int q = ((uchar)LD_X(i / 2) >> i % 2 * 4) & 15;
    ST_Y(i, EPI((float)((q ^ sign) - sign + offset) * scale, i));
}
#endif
