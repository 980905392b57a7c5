// Images: resampling, colours, windows, samples at positions that come from data.

#ifdef KERNEL_resample
// y[outer, o, inner] = sum over t of w[o, t] * x[outer, index[o, t], inner]; HAS_W 0: one tap,
// moved. A tap of weight 0 counts nothing, whatever it reads.
__kernel void resample(X_ARG, I_ARG, W_ARG, Y_ARG, const int size, const int inner, const int out,
                       const int taps, const int n EPI_ARGS) {
    X_BEGIN I_BEGIN W_BEGIN Y_BEGIN EPI_BEGIN
    int i = (int)get_global_id(0), row = i / inner, o = row % out;
    if (i >= n)
        return;
    int from = row / out * size * inner + i % inner;
#if HAS_W
    float sum = 0.0f;
    for (int t = 0; t < taps; t++) {
        float w = LD_W(o * taps + t);
        if (w != 0.0f)
            sum += w * LD_X(from + LD_I(o * taps + t) * inner);
    }
    ST_Y(i, EPI(sum, i));
#else
    ST_Y(i, EPI(LD_X(from + LD_I(o) * inner), i));
#endif
}
#endif

#ifdef KERNEL_yuv_rgb
// BT.601 with video range, nearest chroma.
__kernel void yuv_rgb(X_ARG, Y_ARG, const int height, const int width, const int v_first,
                      const int bgr, const int n EPI_ARGS) {
    X_BEGIN Y_BEGIN EPI_BEGIN
    int i = (int)get_global_id(0), c = bgr ? 2 - i % 3 : i % 3;
    if (i >= n)
        return;
    int p = i / 3, col = p % width, row = p / width % height, plane = height * width;
    int luma = p / plane * (plane + plane / 2), chroma = luma + plane + row / 2 * width;
    float y = 1.164f * fmax(LD_X(luma + p % plane) - 16.0f, 0.0f);
    float u = LD_X(chroma + col / 2 * 2 + v_first) - 128.0f;
    float v = LD_X(chroma + col / 2 * 2 + !v_first) - 128.0f;
    float value = c == 0 ? y + 1.596f * v : c == 1 ? y - 0.813f * v - 0.391f * u : y + 2.018f * u;
    ST_Y(i, EPI(fmin(fmax(value, 0.0f), 255.0f), i));
}
#endif

#ifdef KERNEL_drop_alpha
__kernel void drop_alpha(X_ARG, Y_ARG, const int first, const int bgr, const int n EPI_ARGS) {
    X_BEGIN Y_BEGIN EPI_BEGIN
    int i = (int)get_global_id(0), c = bgr ? 2 - i % 3 : i % 3;
    if (i < n)
        ST_Y(i, EPI(LD_X(i / 3 * 4 + first + c), i));
}
#endif

#ifdef KERNEL_patches
// P: height, width, channels of x; height, width of y; size, stride, rate, padding before: 2 each.
__kernel void patches(X_ARG, Y_ARG, P_ARG, const int n EPI_ARGS) {
    X_BEGIN Y_BEGIN P_BEGIN EPI_BEGIN
    int i = (int)get_global_id(0);
    if (i >= n)
        return;
    int c = i % P[2], window = i / P[2], dx = window % P[6], dy = window / P[6] % P[5];
    int o = window / P[6] / P[5], image = o / P[4] / P[3];
    int row = o / P[4] % P[3] * P[7] + dy * P[9] - P[11];
    int col = o % P[4] * P[8] + dx * P[10] - P[12];
    bool inside = row >= 0 && row < P[0] && col >= 0 && col < P[1];
    ST_Y(i, EPI(inside ? LD_X(((image * P[0] + row) * P[1] + col) * P[2] + c) : 0, i));
}
#endif

#ifdef KERNEL_correlation1d
// y[n, h, w, d] = mean over c of a[n, h, w, c] * b[n, h, w + d + move, c], 0 outside.
__kernel void correlation1d(X_ARG, B_ARG, Y_ARG, const int width, const int channels,
                            const int depth, const int move, const int n EPI_ARGS) {
    X_BEGIN B_BEGIN Y_BEGIN EPI_BEGIN
    int i = (int)get_global_id(0), p = i / depth, step = i % depth + move;
    if (i >= n)
        return;
    int col = p % width + step;
    float sum = 0.0f;
    if (col >= 0 && col < width)
        for (int c = 0; c < channels; c++)
            sum += LD_X(p * channels + c) * LD_B((p + step) * channels + c);
    ST_Y(i, EPI(sum / (float)channels, i));
}
#endif

#if defined(KERNEL_grid_sample) || defined(KERNEL_crop_resize) || defined(KERNEL_project)
#define OUTSIDE (-4.0f) // no pixel beside it is inside; also for what is no number

inline float near_image(float p, int size) {
    return p >= OUTSIDE && p <= (float)size + 4.0f ? p : OUTSIDE;
}

// Channel c of the image that begins at `image`, at position p of n_axes axes; pixels outside are
// 0. An axis of the nearest pixel has one corner.
inline float pixel(__global const X_T *X, int image, const int *size, const float *p, int n_axes,
                   int nearest, int channels, int c) {
    float sum = 0.0f;
    for (int corner = 0; corner < (nearest ? 1 : 1 << n_axes); corner++) {
        int at = 0;
        float w = 1.0f;
        for (int a = 0; a < n_axes; a++) {
            int low = (int)floor(p[a]), up = corner >> a & 1;
            float part = p[a] - (float)low;
            w *= nearest ? 1.0f : up ? part : 1.0f - part;
            if (low + up < 0 || low + up >= size[a])
                w = 0.0f;
            at = at * size[a] + (w == 0.0f ? 0 : low + up);
        }
        if (w != 0.0f)
            sum += w * LD_X(image + at * channels + c);
    }
    return sum;
}
#endif

#ifdef KERNEL_grid_sample
// Mirrors p at low and high until it lies between them.
inline float reflect(float p, float low, float high) {
    float span = high - low;
    if (!(span > 0.0f))
        return 0.0f;
    float far = fmod(fabs(p - low), 2.0f * span);
    return low + (far > span ? 2.0f * span - far : far);
}

// Border: 0 zeros, 1 the edge, 2 mirrored.
inline float grid_position(float g, int size, int border, int align, int nearest) {
    float last = (float)size - 1.0f;
    float p = align ? (g + 1.0f) / 2.0f * last : ((g + 1.0f) * (float)size - 1.0f) / 2.0f;
    float edge = align ? 0.0f : 0.5f;
    if (border == 2)
        p = reflect(p, -edge, last + edge);
    if (border != 0)
        p = fmin(fmax(p, 0.0f), last);
    p = near_image(p, size);
    return nearest ? rint(p) : p;
}

// P: axes, then their sizes.
__kernel void grid_sample(X_ARG, G_ARG, Y_ARG, P_ARG, const int channels, const int pixels,
                          const int border, const int align, const int nearest,
                          const int n EPI_ARGS) {
    X_BEGIN G_BEGIN Y_BEGIN P_BEGIN EPI_BEGIN
    int i = (int)get_global_id(0), o = i / channels, n_axes = P[0], size[3], image = channels;
    float p[3];
    if (i >= n)
        return;
    for (int a = 0; a < n_axes; a++) {
        size[a] = P[1 + a];
        image *= size[a];
        p[a] = grid_position(LD_G(o * n_axes + n_axes - 1 - a), size[a], border, align, nearest);
    }
    ST_Y(i, EPI(pixel(X, o / pixels * image, size, p, n_axes, nearest, channels, i % channels), i));
}
#endif

#ifdef KERNEL_crop_resize
#if I_REAL
#define INDEX(i) q_to_long(LD_I(i), -0x40000000l, 0x40000000l)
#else
#define INDEX(i) ((long)LD_I(i))
#endif
inline float crop_position(float from, float to, int i, int n, int size, int nearest) {
    float last = (float)size - 1.0f;
    float p = n > 1 ? from * last + (float)i * ((to - from) * last / ((float)n - 1.0f))
                    : 0.5f * (from + to) * last;
    if (!(p >= 0.0f && p <= last))
        return -1.0f;
    return nearest ? round(p) : p;
}

// P: images, height, width, channels of x; height, width of y.
__kernel void crop_resize(X_ARG, B_ARG, I_ARG, Y_ARG, F_ARG, const int node, P_ARG,
                          const int nearest, const float outside, const int n EPI_ARGS) {
    X_BEGIN B_BEGIN I_BEGIN Y_BEGIN F_BEGIN P_BEGIN EPI_BEGIN
    int i = (int)get_global_id(0), o = i / P[3], box = o / P[5] / P[4], size[2] = {P[1], P[2]};
    if (i >= n)
        return;
    long image = INDEX(box);
    float p[2], value = outside;
    p[0] = crop_position(LD_B(box * 4), LD_B(box * 4 + 2), o / P[5] % P[4], P[4], P[1], nearest);
    p[1] = crop_position(LD_B(box * 4 + 1), LD_B(box * 4 + 3), o % P[5], P[5], P[2], nearest);
    if (image < 0 || image >= P[0])
        F[0] = node;
    else if (p[0] >= 0.0f && p[1] >= 0.0f)
        value = pixel(X, (int)image * P[1] * P[2] * P[3], size, p, 2, nearest, P[3], i % P[3]);
    ST_Y(i, EPI(value, i));
}
#endif

#ifdef KERNEL_project
// P: height, width, channels of x; height, width of y.
__kernel void project(X_ARG, M_ARG, Y_ARG, P_ARG, const int each, const int nearest,
                      const int n EPI_ARGS) {
    X_BEGIN M_BEGIN Y_BEGIN P_BEGIN EPI_BEGIN
    int i = (int)get_global_id(0), o = i / P[2], image = o / P[4] / P[3], size[2] = {P[0], P[1]};
    if (i >= n)
        return;
    int m = image * each;
    float x = (float)(o % P[4]), y = (float)(o / P[4] % P[3]);
    float scale = LD_M(m + 6) * x + LD_M(m + 7) * y + 1.0f, p[2];
    p[0] = near_image((LD_M(m + 3) * x + LD_M(m + 4) * y + LD_M(m + 5)) / scale, P[0]);
    p[1] = near_image((LD_M(m) * x + LD_M(m + 1) * y + LD_M(m + 2)) / scale, P[1]);
    if (nearest) {
        p[0] = round(p[0]);
        p[1] = round(p[1]);
    }
    ST_Y(i, EPI(pixel(X, image * P[0] * P[1] * P[2], size, p, 2, nearest, P[2], i % P[2]), i));
}
#endif

#ifdef KERNEL_glimpse_noise
// What the noise of an image is made of: Z[image] is base, spread.
__kernel void glimpse_noise(X_ARG, Z_ARG, ROWS_ARGS) {
    X_BEGIN Z_BEGIN ROWS_BEGIN
    CENTER(mean, rest, squares)
    float low = INFINITY, high = -INFINITY;
    EACH(i) {
        low = fmin(low, LD_X(base + INNER(i)));
        high = fmax(high, LD_X(base + INNER(i)));
    }
    TREE(low, fmin)
    TREE(high, fmax)
    if (ROW_OWNER) {
        ST_Z(row * 2, UNIFORM ? low : mean + rest);
        ST_Z(row * 2 + 1, UNIFORM ? high - low : sqrt(squares / (float)n));
    }
}
#endif

#ifdef KERNEL_glimpse
// A well mixed number of 53 bits for each counter (splitmix64).
inline ulong mixed(ulong n) {
    n = (n + 1) * 0x9e3779b97f4a7c15ul;
    n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9ul;
    n = (n ^ n >> 27) * 0x94d049bb133111ebul;
    return (n ^ n >> 31) >> 11;
}

// First row or column of the window; far outside for a position that is no number.
inline float glimpse_start(REAL at, int size, int window, int centered, int normalized) {
    REAL p = at * (normalized ? size : 1);
    if (centered && normalized)
        p = p / 2 + size / (REAL)2 - window / (REAL)2;
    else if (centered)
        p += size / (REAL)2;
    return isnan(p) ? -INFINITY : (float)trunc(p);
}

// One window of each image; pixels outside are noise, which depends on their position alone. P:
// height, width, channels, height and width of the window. NOISE: 0 uniform, 1 normal, 2 none.
__kernel void glimpse(X_ARG, B_ARG, Z_ARG, Y_ARG, P_ARG, const int centered, const int normalized,
                      const int n EPI_ARGS) {
    X_BEGIN B_BEGIN Z_BEGIN Y_BEGIN P_BEGIN EPI_BEGIN
    int g = (int)get_global_id(0), per_image = P[3] * P[4] * P[2], image = g / per_image;
    if (g >= n)
        return;
    int i = g % per_image, c = i % P[2];
    float row = glimpse_start(LD_B(image * 2), P[0], P[3], centered, normalized) +
                (float)(i / P[2] / P[4]);
    float col = glimpse_start(LD_B(image * 2 + 1), P[1], P[4], centered, normalized) +
                (float)(i / P[2] % P[4]);
    float v = 0.0f;
    if (row >= 0.0f && row < (float)P[0] && col >= 0.0f && col < (float)P[1]) {
        v = LD_X(((image * P[0] + (int)row) * P[1] + (int)col) * P[2] + c);
    }
#if NOISE < 2
    else {
        ulong at = ((ulong)image << 40 ^ (ulong)i) * 2;
        float z = (float)mixed(at) * 0x1p-53f, base = LD_Z(image * 2), spread = LD_Z(image * 2 + 1);
#if NOISE == 1
        float left = (float)(0x20000000000000ul - mixed(at)) * 0x1p-53f;
        z = sqrt(-2.0f * log(left)) * cos(6.283185307179586f * ((float)mixed(at + 1) * 0x1p-53f));
#endif
        v = spread == 0.0f ? base : base + spread * z;
    }
#endif
    ST_Y(g, EPI(v, g));
}
#endif
