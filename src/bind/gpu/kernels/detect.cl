// Detection: regions of feature maps, key points, the last step of single-shot detectors.

#if I_REAL
#define INDEX(i) q_to_long(LD_I(i), -0x40000000l, 0x40000000l)
#else
#define INDEX(i) ((long)LD_I(i))
#endif

#ifdef KERNEL_roi_align
typedef struct span {
    float start, bin, samples, first;
    int size, count;
} span;

// Samples of a bin that may lie on the map; the others are 0 and need no visit.
inline void samples_on_map(span *s) {
    float step = s->bin / s->samples, last = s->samples - 1.0f;
    s->first = 0.0f;
    s->count = 0;
    if (!(s->samples >= 1.0f))
        return;
    if (step == 0.0f) {
        s->count = (int)fmin(s->samples, 0x1p30f);
        return;
    }
    float t0 = (-1.0f - s->start) / step - 0.5f, t1 = ((float)s->size - s->start) / step - 0.5f;
    float low = fmin(fmax(floor(fmin(t0, t1)) - 1.0f, 0.0f), last);
    float high = fmin(fmax(ceil(fmax(t0, t1)) + 1.0f, 0.0f), last);
    s->first = low;
    s->count = high - low >= 0.0f ? (int)fmin(high - low + 1.0f, 0x1p30f) : 0;
}

// One axis of a roi, at bin number b; false: its bins are 0.
inline bool place(span *s, float low, float high, float ratio, int b, int bins, int size,
                  int samples, int aligned, int skip_empty) {
    float shift = aligned ? 0.5f : 0.0f;
    if (skip_empty && !(high > low))
        return false;
    s->start = low / ratio - shift;
    float length = high / ratio - shift - s->start;
    if (!isfinite(s->start) || !isfinite(length))
        return false;
    length = aligned ? length : fmax(length, 1.0f);
    s->bin = length / (float)bins;
    s->samples = samples > 0 ? (float)samples : fmax(ceil(s->bin), 0.0f);
    s->size = size;
    s->start += (float)b * s->bin;
    samples_on_map(s);
    return true;
}

// Two neighbouring pixels and the weight of the second; false: off the map.
inline bool pair_at(const span *s, int i, int *low, int *high, float *w) {
    float p = s->start + (s->first + (float)i + 0.5f) * (s->bin / s->samples);
    if (!(p >= -1.0f && p <= (float)s->size))
        return false;
    p = fmin(fmax(p, 0.0f), (float)s->size - 1.0f);
    *low = (int)p;
    *high = *low + 1 < s->size ? *low + 1 : *low;
    *w = p - (float)*low;
    return true;
}

// P: images, height, width, channels of x; height, width of y; samples; aligned, skip_empty.
__kernel void roi_align(X_ARG, R_ARG, I_ARG, Y_ARG, F_ARG, const int node, P_ARG,
                        const float ratio_y, const float ratio_x, const int n EPI_ARGS) {
    X_BEGIN R_BEGIN I_BEGIN Y_BEGIN F_BEGIN P_BEGIN EPI_BEGIN
    int i = (int)get_global_id(0), c = i % P[3], o = i / P[3], r = o / P[5] / P[4];
    if (i >= n)
        return;
    long image = INDEX(r);
    span v, h;
    float sum = 0.0f;
    if (image < 0 || image >= P[0]) {
        F[0] = node;
    } else if (place(&v, LD_R(r * 4 + 1), LD_R(r * 4 + 3), ratio_y, o / P[5] % P[4], P[4], P[1],
                     P[6], P[8], P[9]) &&
               place(&h, LD_R(r * 4), LD_R(r * 4 + 2), ratio_x, o % P[5], P[5], P[2], P[7], P[8],
                     P[9])) {
        int base = (int)image * P[1];
        for (int a = 0; a < v.count; a++) {
            int y0, y1, x0, x1;
            float wy, wx;
            if (!pair_at(&v, a, &y0, &y1, &wy))
                continue;
            y0 = (base + y0) * P[2];
            y1 = (base + y1) * P[2];
            for (int b = 0; b < h.count; b++)
                if (pair_at(&h, b, &x0, &x1, &wx))
                    sum += (1.0f - wy) * ((1.0f - wx) * LD_X((y0 + x0) * P[3] + c) +
                                          wx * LD_X((y0 + x1) * P[3] + c)) +
                           wy * ((1.0f - wx) * LD_X((y1 + x0) * P[3] + c) +
                                 wx * LD_X((y1 + x1) * P[3] + c));
        }
        sum /= fmax(v.samples * h.samples, 1.0f);
    }
    ST_Y(i, EPI(sum, i));
}
#endif

#ifdef KERNEL_roi_pool
// Pixels [*low, *high) of bin b.
inline void pool_range(float from, float to, float ratio, int b, int bins, int size, int *low,
                       int *high) {
    from = round(from / ratio);
    to = round(to / ratio);
    float extent = fmax(to - from + 1.0f, 1.0f);
    *low = (int)fmin(fmax(floor((float)b * extent / (float)bins) + from, 0.0f), (float)size);
    *high =
        (int)fmin(fmax(ceil(((float)b + 1.0f) * extent / (float)bins) + from, 0.0f), (float)size);
}

// P: images, height, width, channels of x; height, width of y.
__kernel void roi_pool(X_ARG, R_ARG, I_ARG, Y_ARG, F_ARG, const int node, P_ARG,
                       const float ratio_y, const float ratio_x, const int n EPI_ARGS) {
    X_BEGIN R_BEGIN I_BEGIN Y_BEGIN F_BEGIN P_BEGIN EPI_BEGIN
    int i = (int)get_global_id(0), c = i % P[3], o = i / P[3], r = o / P[5] / P[4];
    int top, bottom, left, right;
    if (i >= n)
        return;
    long image = INDEX(r);
    pool_range(LD_R(r * 4 + 1), LD_R(r * 4 + 3), ratio_y, o / P[5] % P[4], P[4], P[1], &top,
               &bottom);
    pool_range(LD_R(r * 4), LD_R(r * 4 + 2), ratio_x, o % P[5], P[5], P[2], &left, &right);
    float best = 0.0f;
    if (image < 0 || image >= P[0]) {
        F[0] = node;
    } else if (top < bottom && left < right) {
        best = -INFINITY;
        for (int y = top; y < bottom; y++)
            for (int x = left; x < right; x++)
                best = fmax(best, LD_X((((int)image * P[1] + y) * P[2] + x) * P[3] + c));
    }
    ST_Y(i, EPI(best, i));
}
#endif

#ifdef KERNEL_keypoint
// Index before or behind `at`, mirrored at the ends of an axis.
inline int neighbour(int at, int step, int size) {
    return step < 0   ? (at > 0 ? at - 1 : size > 1 ? 1 : 0)
           : step > 0 ? (at + 1 < size ? at + 1 : at > 0 ? at - 1 : 0)
                      : at;
}

__kernel void keypoint(X_ARG, B_ARG, Y_ARG, Z_ARG, const int height, const int width,
                       const int points, const int n) {
    X_BEGIN B_BEGIN Y_BEGIN Z_BEGIN
    int o = (int)get_global_id(0), box = o / points, best = 0;
    if (o >= n)
        return;
    int base = box * height * width * points + o % points;
    for (int i = 1; i < height * width; i++)
        if (LD_X(base + i * points) > LD_X(base + best * points))
            best = i;
    int row = best / width, col = best % width;
    float g[3][3];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            g[i][j] = LD_X(base + (neighbour(row, i - 1, height) * width +
                                   neighbour(col, j - 1, width)) * points);
    float gx = (g[1][2] - g[1][0]) / 2.0f, gy = (g[2][1] - g[0][1]) / 2.0f;
    float xx = g[1][2] - 2.0f * g[1][1] + g[1][0], yy = g[2][1] - 2.0f * g[1][1] + g[0][1];
    // Rows are subtracted first: equal ones must give exactly 0.
    float xy = ((g[2][2] - g[0][2]) - (g[2][0] - g[0][0])) / 4.0f, det = xx * yy - xy * xy;
    float dx = -(yy * gx - xy * gy) / det, dy = -(xx * gy - xy * gx) / det;
    if (!isfinite(dx) || !isfinite(dy))
        dx = dy = 0.0f;
    float far = fmax(fabs(dx), fabs(dy));
    if (far > 1.5f) { // cells that the fit may move a maximum
        dx *= 1.5f / far;
        dy *= 1.5f / far;
    }
    float x1 = LD_B(box * 4), y1 = LD_B(box * 4 + 1);
    float w = LD_B(box * 4 + 2) - x1, h = LD_B(box * 4 + 3) - y1;
    ST_Y(o, g[1][1] + gx * dx + gy * dy + (xx * dx * dx + 2.0f * xy * dx * dy + yy * dy * dy) / 2.0f);
    ST_Z(o * 2, ((float)col + dx + 0.5f) * w / (float)width + x1);
    ST_Z(o * 2 + 1, ((float)row + dy + 0.5f) * h / (float)height + y1);
}
#endif

// --- DetectionOutput. Rows of candidates: one for each class, or one for the best class of each
// anchor. State of a candidate: 0 out, 1 in, 2 picked.

#ifdef KERNEL_decode
// Boxes from deltas and anchors, both as centre y, centre x, height, width.
__kernel void decode(D_ARG, A_ARG, B_ARG, const int n_boxes, const int per_anchor,
                     const int anchors_step, const float f0, const float f1, const float f2,
                     const float f3, const int n) {
    D_BEGIN A_BEGIN B_BEGIN
    int i = (int)get_global_id(0), image = i / n_boxes;
    if (i >= n)
        return;
    int a = (image * anchors_step + i % n_boxes / per_anchor) * 4;
    const float factor[4] = {f0, f1, f2, f3};
    for (int e = 0; e < 2; e++) {
        float size = LD_A(a + 2 + e);
        float centre = LD_A(a + e) + LD_D(i * 4 + e) * factor[e] * size;
        float half_size = exp(LD_D(i * 4 + 2 + e) * factor[2 + e]) * size / 2.0f;
        ST_B(i * 4 + e, centre - half_size);
        ST_B(i * 4 + 2 + e, centre + half_size);
    }
}
#endif

#ifdef KERNEL_candidates
// Fills score, box and state of [images, rows, anchors]; rows is the number of classes or 1.
__kernel void candidates(S_ARG, C_ARG, B_ARG, T_ARG, const int anchors, const int classes,
                         const int rows, const int skipped, const int shared,
                         const float confidence, const int n) {
    S_BEGIN C_BEGIN B_BEGIN T_BEGIN
    int i = (int)get_global_id(0), a = i % anchors, row = i / anchors % rows;
    if (i >= n)
        return;
    int scores = (i / anchors / rows * anchors + a) * classes;
    int from = rows == 1 && classes != 1 ? 0 : row, to = rows == 1 && classes != 1 ? classes : row + 1;
    int best = -1;
    for (int c = from; c < to; c++)
        if (c != skipped && LD_S(scores + c) >= confidence &&
            (best < 0 || LD_S(scores + c) > LD_S(scores + best)))
            best = c;
    ST_C(i, best < 0 ? 0.0f : LD_S(scores + best));
    ST_B(i, shared ? a : a * classes + max(best, 0));
    ST_T(i, best < 0 ? 0 : 1);
}
#endif

#if defined(KERNEL_suppress) || defined(KERNEL_report)
#define GROUP 64

// Item with the best score of all work items of the group, ties to the smaller order; -1: none.
inline int best_of_group(float score, int item, int order, __local float *scores,
                         __local int *items, __local int *orders) {
    int me = (int)get_local_id(0);
    scores[me] = score;
    items[me] = item;
    orders[me] = order;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = GROUP / 2; step > 0; step /= 2) {
        if (me < step) {
            int he = me + step;
            bool better = items[me] < 0 || scores[he] > scores[me] ||
                          (scores[he] == scores[me] && orders[he] < orders[me]);
            if (items[he] >= 0 && better) {
                scores[me] = scores[he];
                items[me] = items[he];
                orders[me] = orders[he];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    int best = items[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    return best;
}
#endif

#ifdef KERNEL_suppress
// Length of the part that two intervals share.
inline float common_part(float a1, float a2, float b1, float b2) {
    return fmin(fmax(a1, a2), fmax(b1, b2)) - fmax(fmin(a1, a2), fmin(b1, b2));
}

inline float overlap(const float4 a, const float4 b) {
    float h = common_part(a.x, a.z, b.x, b.z), w = common_part(a.y, a.w, b.y, b.w);
    if (!(h > 0.0f && w > 0.0f))
        return 0.0f;
    float both = h * w;
    float all = fabs(a.z - a.x) * fabs(a.w - a.y) + fabs(b.z - b.x) * fabs(b.w - b.y) - both;
    float iou = both / all;
    return iou > 0.0f ? fmin(iou, 1.0f) : 0.0f;
}

// One group a row: picks the best, drops what overlaps it, and so on. D: decoded boxes.
__kernel void suppress(C_ARG, B_ARG, T_ARG, D_ARG, const int anchors, const int rows,
                       const int n_boxes, const int most, const float iou_limit, const float eta) {
    C_BEGIN B_BEGIN T_BEGIN D_BEGIN
    __local float scores[GROUP];
    __local int items[GROUP], orders[GROUP];
    int row = (int)get_group_id(0), me = (int)get_local_id(0);
    int base = row * anchors, boxes = row / rows * n_boxes;
    float limit = iou_limit;
    for (int picked = 0; picked < most; picked++) {
        int best = -1;
        for (int i = me; i < anchors; i += GROUP)
            if (LD_T(base + i) == 1 && (best < 0 || LD_C(base + i) > LD_C(base + best)))
                best = i;
        best = best_of_group(best < 0 ? 0.0f : LD_C(base + best), best, best, scores, items, orders);
        if (best < 0)
            break;
        float4 box = LD4_D((boxes + LD_B(base + best)) * 4);
        for (int i = me; i < anchors; i += GROUP) {
            if (i == best)
                ST_T(base + i, 2);
            else if (LD_T(base + i) == 1 &&
                     overlap(box, LD4_D((boxes + LD_B(base + i)) * 4)) > limit)
                ST_T(base + i, 0);
        }
        barrier(CLK_GLOBAL_MEM_FENCE);
        if (eta > 0.0f && eta < 1.0f && limit > 0.5f)
            limit *= eta;
    }
}
#endif

#ifdef KERNEL_list_classes
// For each picked anchor the best classes that count become picked; T: [images, anchors], M:
// [images, classes, anchors].
__kernel void list_classes(S_ARG, T_ARG, M_ARG, const int anchors, const int classes,
                           const int skipped, const int most, const float confidence, const int n) {
    S_BEGIN T_BEGIN M_BEGIN
    int i = (int)get_global_id(0), a = i % anchors, image = i / anchors;
    if (i >= n)
        return;
    int scores = i * classes;
    for (int c = 0; c < classes; c++) {
        int better = 0;
        bool counts = LD_T(i) == 2 && c != skipped && LD_S(scores + c) >= confidence;
        for (int o = 0; o < classes && counts; o++)
            better += o != skipped && (LD_S(scores + o) > LD_S(scores + c) ||
                                       (LD_S(scores + o) == LD_S(scores + c) && o < c));
        ST_M((image * classes + c) * anchors + a, counts && better < most ? 2 : 0);
    }
}
#endif

#ifdef KERNEL_report
// One group an image: the best of all picked candidates, one after the other. A picked candidate
// that was reported gets state 3.
__kernel void report(S_ARG, M_ARG, D_ARG, Y_ARG, Z_ARG, L_ARG, N_ARG, const int anchors,
                     const int classes, const int n_boxes, const int shared, const int most,
                     const int background, const int number_background) {
    S_BEGIN M_BEGIN D_BEGIN Y_BEGIN Z_BEGIN L_BEGIN N_BEGIN
    __local float scores[GROUP];
    __local int items[GROUP], orders[GROUP];
    int image = (int)get_group_id(0), me = (int)get_local_id(0), total = anchors * classes;
    int used = 0;
    for (; used < most; used++) {
        int best = -1, order = 0; // items are class * anchors + anchor
        float top = 0.0f;
        for (int i = me; i < total; i += GROUP) {
            int c = i / anchors, a = i % anchors;
            if (LD_M(image * total + i) != 2 || (!number_background && c == background))
                continue;
            float score = LD_S((image * anchors + a) * classes + c);
            if (best < 0 || score > top || (score == top && a * classes + c < order)) {
                best = i;
                top = score;
                order = a * classes + c;
            }
        }
        best = best_of_group(top, best, order, scores, items, orders);
        if (best < 0)
            break;
        if (me == best % GROUP) // the one that reads it
            ST_M(image * total + best, 3);
        if (me == 0) {
            int c = best / anchors, a = best % anchors, at = image * most + used;
            int box = (image * n_boxes + (shared ? a : a * classes + c)) * 4;
            ST_Y(at, LD_S((image * anchors + a) * classes + c));
            for (int e = 0; e < 4; e++)
                ST_Z(at * 4 + e, LD_D(box + e));
            ST_L(at, number_background || c < background ? c : c - 1);
        }
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
    for (int i = used + me; i < most; i += GROUP) {
        ST_Y(image * most + i, 0.0f);
        for (int e = 0; e < 4; e++)
            ST_Z((image * most + i) * 4 + e, 0.0f);
        ST_L(image * most + i, 0);
    }
    if (me == 0)
        ST_N(image, used);
}
#endif
