// Boxes that deltas move, proposals that are collected and distributed, rows that are picked.
// REAL is double where the device has it.

#ifdef KERNEL_box_deltas
// R: rois [n_rois,4]; D: deltas [n_rois,classes*4]; I: image of each roi; Z: sizes [images,2].
__kernel void box_deltas(R_ARG, D_ARG, I_ARG, Z_ARG, Y_ARG, F_ARG, const int node,
                         const int classes, const int images, const float w0, const float w1,
                         const float w2, const float w3, const int n) {
    R_BEGIN D_BEGIN I_BEGIN Z_BEGIN Y_BEGIN F_BEGIN
    int g = (int)get_global_id(0), r = g / classes;
    if (g >= n)
        return;
    const REAL weight[4] = {w0, w1, w2, w3};
    long image = (long)LD_I(r);
    if (image < 0 || image >= images) {
        F[0] = node;
        image = 0;
    }
    for (int e = 0; e < 2; e++) {
        REAL low = LD_R(r * 4 + e), high = LD_R(r * 4 + 2 + e), size = high - low;
        REAL centre = (low + high) / 2 + LD_D(g * 4 + e) / weight[e] * size;
        REAL grown = exp(LD_D(g * 4 + 2 + e) / weight[2 + e]) * size / 2;
        REAL end = LD_Z(image * 2 + 1 - e);
        ST_Y(g * 4 + e, (float)fmin(fmax(centre - grown, (REAL)0), end));
        ST_Y(g * 4 + 2 + e, (float)fmin(fmax(centre + grown, (REAL)0), end));
    }
}
#endif

#ifdef KERNEL_rotated_deltas
// R: rois [n_rois,5] (centre x and y, width, height, angle); D: deltas [n_rois,classes*5]; Z:
// images [images,3] (height, width, scale). P: classes, images, apply the scale, bounded, low, high.
__kernel void rotated_deltas(R_ARG, D_ARG, Z_ARG, I_ARG, Y_ARG, F_ARG, const int node, P_ARG,
                             const float w0, const float w1, const float w2, const float w3,
                             const float upright, const int n) {
    R_BEGIN D_BEGIN Z_BEGIN I_BEGIN Y_BEGIN F_BEGIN P_BEGIN
    int g = (int)get_global_id(0), r = g / P[0];
    if (g >= n)
        return;
    const REAL weight[4] = {w0, w1, w2, w3};
    long image = 0;
#if HAS_I
    image = (long)LD_I(r);
    if (image < 0 || image >= P[1]) {
        F[0] = node;
        image = 0;
    }
#endif
    REAL b[4], scale = LD_Z(image * 3 + 2), low = P[4], period = (REAL)P[5] - low;
    REAL angle = LD_R(r * 5 + 4) + LD_D(g * 5 + 4) * (REAL)57.29577951308232;
    if (P[3] && !(angle >= low && angle <= (REAL)P[5])) {
        REAL from = fmod(angle - low, period);
        angle = low + (from < 0 ? from + period : from);
    }
    for (int e = 0; e < 2; e++) {
        REAL size = LD_R(r * 5 + 2 + e) / scale;
        b[e] = LD_R(r * 5 + e) / scale + LD_D(g * 5 + e) / weight[e] * size;
        b[2 + e] = exp(LD_D(g * 5 + 2 + e) / weight[2 + e]) * size;
    }
    if (fabs(angle) <= fmax((REAL)upright, (REAL)0)) { // upright: cut at the borders of the image
        angle = 0;
        for (int e = 0; e < 2; e++) {
            REAL end = floor(LD_Z(image * 3 + 1 - e) / scale + (REAL)0.5);
            REAL from = fmin(fmax(b[e] - b[2 + e] / 2, (REAL)0), end);
            REAL to = fmin(fmax(b[e] + b[2 + e] / 2, (REAL)0), end);
            b[e] = (from + to) / 2;
            b[2 + e] = to - from;
        }
    }
    for (int e = 0; e < 4; e++)
        ST_Y(g * 5 + e, (float)(P[2] ? b[e] * scale : b[e]));
    ST_Y(g * 5 + 4, (float)angle);
}
#endif

#ifdef KERNEL_count_images
// How many rois each image has; without I all are of image 0.
__kernel void count_images(I_ARG, Y_ARG, const int n_rois, const int n) {
    I_BEGIN Y_BEGIN
    int g = (int)get_global_id(0), sum = 0;
    if (g >= n)
        return;
    for (int r = 0; r < n_rois; r++)
#if HAS_I
        sum += (long)LD_I(r) == g;
#else
        sum += g == 0;
#endif
    ST_Y(g, (float)sum);
}
#endif

#ifdef KERNEL_collect
// The rows of five lists with the best scores: one work item a row that may be among them. P: where
// each list begins in the order of all; then their number.
#define SCORE(j)                                                                                   \
    ((j) < P[1]   ? LD_S0(j)                                                                       \
     : (j) < P[2] ? LD_S1((j)-P[1])                                                                \
     : (j) < P[3] ? LD_S2((j)-P[2])                                                                \
     : (j) < P[4] ? LD_S3((j)-P[3])                                                                \
                  : LD_S4((j)-P[4]))
#define ROI(j)                                                                                     \
    ((j) < P[1]   ? LD_R0((j)*5 + e)                                                               \
     : (j) < P[2] ? LD_R1(((j)-P[1]) * 5 + e)                                                      \
     : (j) < P[3] ? LD_R2(((j)-P[2]) * 5 + e)                                                      \
     : (j) < P[4] ? LD_R3(((j)-P[3]) * 5 + e)                                                      \
                  : LD_R4(((j)-P[4]) * 5 + e))

inline float ranked(float s) { return isnan(s) ? -INFINITY : s; }

__kernel void collect(R0_ARG, R1_ARG, R2_ARG, R3_ARG, R4_ARG, S0_ARG, S1_ARG, S2_ARG, S3_ARG,
                      S4_ARG, Y_ARG, P_ARG, const int rows) {
    R0_BEGIN R1_BEGIN R2_BEGIN R3_BEGIN R4_BEGIN S0_BEGIN S1_BEGIN S2_BEGIN S3_BEGIN S4_BEGIN Y_BEGIN
    P_BEGIN
    int g = (int)get_global_id(0), rank = 0;
    if (g >= P[5])
        return;
    float s = ranked(SCORE(g));
    for (int j = 0; j < P[5]; j++) {
        float t = ranked(SCORE(j));
        rank += t > s || (t == s && j < g);
    }
    for (int e = 0; e < 5 && rank < rows; e++)
        ST_Y(rank * 5 + e, ROI(g));
}
#endif

#ifdef KERNEL_distribute
// X [n_rois,columns]. Y: where each roi is in all levels behind each other; L0.. the levels. P:
// rois, columns, levels, then the rows of each level. A work item does a roi, and a row of each
// level that is left over.
inline int level_of(const float *roi, float canonical, float scale, float low, float high) {
    REAL w = (REAL)roi[2] - roi[0], h = (REAL)roi[3] - roi[1];
    if (w <= 0 && h <= 0)
        return -1;
    REAL level = floor(canonical + log2(sqrt(w * h) / scale));
    return (int)(fmin(fmax(level, (REAL)low), (REAL)high) - low);
}
#define LEVEL(p, level)                                                                            \
    float roi_##level[4];                                                                          \
    for (int e = 0; e < 4; e++)                                                                    \
        roi_##level[e] = LD_X((p)*P[1] + P[1] - 4 + e);                                            \
    int level = level_of(roi_##level, canonical, scale, low, high);
#define PUT(L, number)                                                                             \
    if (g == 0 && slot##number)                                                                    \
        F[slot##number] = counts[number];                                                          \
    if (level == number)                                                                           \
        for (int e = 0; e < P[1]; e++)                                                             \
            ST_##L(before * P[1] + e, LD_X(g * P[1] + e));                                         \
    if (P[2] > number && g >= counts[number] && g < P[3 + number])                                 \
        for (int e = 0; e < P[1]; e++)                                                             \
            ST_##L(g *P[1] + e, 0.0f);

__kernel void distribute(X_ARG, Y_ARG, L0_ARG, L1_ARG, L2_ARG, L3_ARG, F_ARG, const int node, P_ARG,
                         const float canonical, const float scale, const float low,
                         const float high, const int slot0, const int slot1, const int slot2,
                         const int slot3, const int n) {
    X_BEGIN Y_BEGIN L0_BEGIN L1_BEGIN L2_BEGIN L3_BEGIN F_BEGIN P_BEGIN
    int g = (int)get_global_id(0), level = -1, before = 0, first = 0;
    if (g >= n)
        return;
    int counts[4] = {0, 0, 0, 0};
    if (g < P[0]) {
        LEVEL(g, own)
        level = own;
    }
    for (int p = 0; p < P[0]; p++) {
        LEVEL(p, other)
        if (other < 0)
            continue;
        counts[other]++;
        before += p < g && other == level;
        first += other < level;
    }
    if (g < P[0])
        ST_Y(g, level < 0 ? -1 : first + before);
    if (level >= 0 && before >= P[3 + level]) {
        F[0] = node;
        level = -1;
    }
    PUT(L0, 0)
    PUT(L1, 1)
    PUT(L2, 2)
    PUT(L3, 3)
}
#endif

#ifdef KERNEL_pick_rows
// y[n, k, ..] = x[n, chosen[n, k], ..], 0 where the number is negative.
__kernel void pick_rows(X_ARG, I_ARG, Y_ARG, F_ARG, const int node, const int rows, const int kept,
                        const int inner, const int n EPI_ARGS) {
    X_BEGIN I_BEGIN Y_BEGIN F_BEGIN EPI_BEGIN
    int g = (int)get_global_id(0), k = g / inner;
    if (g >= n)
        return;
    int row = LD_I(k);
    if (row >= rows) {
        F[0] = node;
        row = -1;
    }
    ST_Y(g, EPI(row < 0 ? 0 : LD_X((k / kept * rows + row) * inner + g % inner), g));
}
#endif
