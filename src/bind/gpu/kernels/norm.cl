// Softmax and norms: statistics of a row, then its elements. Sums are fp32, in parts.

#ifdef KERNEL_softmax
// y = exp(z - top) / sum, z = beta * x; LOG: z - top - log(sum).
__kernel void softmax(X_ARG, Y_ARG, ROWS_ARGS, const float beta EPI_ARGS) {
    X_BEGIN Y_BEGIN EPI_BEGIN ROWS_BEGIN
    float top = -INFINITY, sum = 0.0f;
    EACH(i) top = fmax(top, beta * LD_X(base + INNER(i)));
    TREE(top, fmax)
    EACH_PART(part, 0.0f, part + exp(beta * LD_X(base + INNER(i)) - top), sum += part)
    TREE(sum, PLUS)
    float scale = LOG ? log(sum) : 1.0f / sum;
    EACH(i) {
        int at_i = base + INNER(i);
        float z = beta * LD_X(at_i) - top;
        if (inside)
            ST_Y(at_i, EPI(LOG ? z - scale : exp(z) * scale, at_i));
    }
}
#endif

#ifdef KERNEL_masked_softmax
#if COMPRESSED
// The sequence [*first, *last) that holds position `at`; lengths that do not fit give *last -1.
inline void sequence_of(__global const M_T *M, int begin, int n_sequences, int at, int n,
                        int *first, int *last) {
    int start = 0;
    *first = *last = 0;
    for (int i = 0; i < n_sequences; i++) {
        float length = (float)LD_M(begin + i);
        if (!(length >= 0.0f && length <= (float)(n - start))) {
            *last = -1;
            return;
        }
        int next = start + (int)length;
        if (at >= start && at < next) {
            *first = start;
            *last = next;
        }
        start = next;
    }
}
#define MASK(i) 0.0f
#else
#define MASK(i) LD_M(mask + (i))
#endif

// Lengths that do not fit are reported in F.
__kernel void masked_softmax(X_ARG, M_ARG, Y_ARG, F_ARG, const int node, ROWS_ARGS,
                             const int per_batch, const int width, const int n_sequences EPI_ARGS) {
    X_BEGIN M_BEGIN Y_BEGIN F_BEGIN EPI_BEGIN ROWS_BEGIN
    int first = 0, end = n, mask = row / per_batch * n;
#if COMPRESSED
    sequence_of(M, row / per_batch * n_sequences, n_sequences, row % width, n, &first, &end);
    if (end < 0)
        F[0] = node;
#endif
    float top = -INFINITY, sum = 0.0f, outside = end < 0 ? NAN : 0.0f;
    EACH(i) if (i >= first && i < end) top = fmax(top, LD_X(base + INNER(i)) + MASK(i));
    TREE(top, fmax)
    EACH_PART(part, 0.0f,
              part + (i >= first && i < end ? exp(LD_X(base + INNER(i)) + MASK(i) - top) : 0.0f),
              sum += part)
    TREE(sum, PLUS)
    float scale = 1.0f / sum;
    EACH(i) {
        int at_i = base + INNER(i);
        int in = i >= first && i < end;
        if (inside)
            ST_Y(at_i, EPI(in ? exp(LD_X(at_i) + MASK(i) - top) * scale : outside, at_i));
    }
}
#endif

#ifdef KERNEL_norm
// y = (x - shift) * factor * G + B. kind as kernels/norm/norm.h numbers them; CENTERED: of kinds 0
// and 1, which have a mean.
__kernel void norm(X_ARG, G_ARG, B_ARG, Y_ARG, ROWS_ARGS, const int kind,
                   const float epsilon EPI_ARGS) {
    X_BEGIN G_BEGIN B_BEGIN Y_BEGIN EPI_BEGIN ROWS_BEGIN
#if CENTERED
    CENTER(shift, rest, squares)
#else
    float shift = 0.0f, rest = 0.0f, squares = 0.0f;
    EACH_PART(part, 0.0f, part + q_square(LD_X(base + INNER(i))), squares += part)
    TREE(squares, PLUS)
#endif
    float factor = kind == 1   ? 1.0f
                   : kind == 3 ? 1.0f / sqrt(squares + epsilon)
                   : kind == 4 ? 1.0f / fmax(sqrt(squares), epsilon)
                               : 1.0f / sqrt(squares / (float)n + epsilon);
    int channel = HAS_G || HAS_B ? OUTER2(row) : 0;
    EACH(i) {
        int at_i = base + INNER(i), c = HAS_G || HAS_B ? channel + INNER2(i) : 0;
        float v = (LD_X(at_i) - shift - rest) * factor;
        if (HAS_G)
            v *= LD_G(c);
        if (HAS_B)
            v += LD_B(c);
        if (inside)
            ST_Y(at_i, EPI(v, at_i));
    }
}
#endif

#ifdef KERNEL_lrn
// y = x / (bias + alpha * S)^beta, S the sum of squares in a window that is clipped to the tensor:
// over channels, or WITHIN a channel over rows and columns.
__kernel void lrn(X_ARG, Y_ARG, const int total, const int channels, const int height,
                  const int width, const int radius, const float alpha, const float beta,
                  const float bias EPI_ARGS) {
    X_BEGIN Y_BEGIN EPI_BEGIN
    int i = (int)get_global_id(0);
    if (i >= total)
        return;
    int c = i % channels, pixel = i / channels;
    float sum = 0.0f;
#if WITHIN
    int image = pixel / (height * width) * height * width;
    int y = pixel / width % height, x = pixel % width;
    int bottom = height - y <= radius ? height : y + radius + 1;
    int right = width - x <= radius ? width : x + radius + 1;
    for (int r = max(0, y - radius); r < bottom; r++) {
        float part = 0.0f;
        for (int q = max(0, x - radius); q < right; q++)
            part += q_square(LD_X((image + r * width + q) * channels + c));
        sum += part;
    }
#else
    int right = channels - c <= radius ? channels : c + radius + 1;
    for (int q = max(0, c - radius); q < right; q++)
        sum += q_square(LD_X(pixel * channels + q));
#endif
    ST_Y(i, EPI(LD_X(i) / pow(bias + alpha * sum, beta), i));
}
#endif
