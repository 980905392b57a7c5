// Non-maximum suppression. Candidates lie in rows: one for each class of an image, or one for an
// image. State of a candidate: 0 out, 1 in. Of equal scores the smaller number comes first.
// REAL is double where the device has it: overlaps are compared with limits.
#define GROUP 64

#ifdef KERNEL_candidates
// C: scores of all rows; T: states. P: candidates of a row, rows of an image, then the scores'
// strides of image, candidate and row, and whether a score must be above the threshold.
__kernel void candidates(S_ARG, C_ARG, T_ARG, P_ARG, const float threshold, const int n) {
    S_BEGIN C_BEGIN T_BEGIN P_BEGIN
    int g = (int)get_global_id(0), i = g % P[0], row = g / P[0];
    if (g >= n)
        return;
    float s = LD_S(row / P[1] * P[2] + i * P[3] + row % P[1] * P[4]);
    ST_C(g, s);
    ST_T(g, P[5] ? s > threshold : s >= threshold);
}
#endif

#ifdef KERNEL_propose
// Anchors moved by their deltas, clipped to the image, not too small. A [count,4], Z [images,2].
__kernel void propose(S_ARG, D_ARG, A_ARG, Z_ARG, B_ARG, C_ARG, T_ARG, const int per_image,
                      const int anchors, const int width, const float step_y, const float step_x,
                      const float min_size, const float most, const int n) {
    S_BEGIN D_BEGIN A_BEGIN Z_BEGIN B_BEGIN C_BEGIN T_BEGIN
    int g = (int)get_global_id(0), image = g / per_image, i = g % per_image;
    if (g >= n)
        return;
    int cell = i / anchors, a = i % anchors * 4;
    REAL size[2];
    for (int e = 0; e < 2; e++) {
        REAL shift = e ? cell / width * (REAL)step_y : cell % width * (REAL)step_x;
        REAL low = (REAL)LD_A(a + e) + shift, high = (REAL)LD_A(a + 2 + e) + shift;
        REAL grown = exp(fmin((REAL)LD_D(g * 4 + 2 + e), (REAL)most)) * (high - low) / 2;
        REAL centre = (low + high) / 2 + LD_D(g * 4 + e) * (high - low);
        REAL end = LD_Z(image * 2 + 1 - e);
        low = fmin(fmax(centre - grown, (REAL)0), end);
        high = fmin(fmax(centre + grown, (REAL)0), end);
        ST_B(g * 4 + e, low);
        ST_B(g * 4 + 2 + e, high);
        size[e] = high - low;
    }
    float s = LD_S(g);
    ST_C(g, s);
    ST_T(g, size[0] >= min_size && size[1] >= min_size && !isnan(s));
}
#endif

#ifdef KERNEL_limit_best
// U: the states T of those that are among the best `most` of their row and, with G, of their group.
__kernel void limit_best(C_ARG, T_ARG, G_ARG, U_ARG, const int count, const int most, const int n) {
    C_BEGIN T_BEGIN G_BEGIN U_BEGIN
    int g = (int)get_global_id(0), i = g % count, base = g - i, better = 0;
    if (g >= n)
        return;
    REAL s = LD_C(g);
    for (int j = 0; j < count && LD_T(g); j++) {
#if HAS_G
        if (LD_G(j) != LD_G(i))
            continue;
#endif
        better += LD_T(base + j) && (LD_C(base + j) > s || (LD_C(base + j) == s && j < i));
    }
    ST_U(g, LD_T(g) && better < most);
}
#endif

#ifdef KERNEL_pick
// Length of the part that two intervals share.
inline REAL common_part(REAL a1, REAL a2, REAL b1, REAL b2) {
    return fmin(fmax(a1, a2), fmax(b1, b2)) - fmax(fmin(a1, a2), fmin(b1, b2));
}

inline REAL overlap(const REAL *a, const REAL *b) {
    REAL h = common_part(a[0], a[2], b[0], b[2]), w = common_part(a[1], a[3], b[1], b[3]);
    if (!(h > 0 && w > 0))
        return 0;
    REAL both = h * w;
    REAL all = fabs(a[2] - a[0]) * fabs(a[3] - a[1]) + fabs(b[2] - b[0]) * fabs(b[3] - b[1]) - both;
    REAL iou = both / all;
    return iou > 0 ? fmin(iou, (REAL)1) : 0;
}

// What is left of a score at this overlap; negative: nothing. The methods are those of qrn_nms.
inline REAL kept_share(int method, REAL iou, REAL limit, REAL sigma) {
    switch (method) {
    case 0:
        return iou > limit ? -1 : 1;
    case 1:
        return iou >= limit ? -1 : 1;
    case 2:
        return iou < limit ? 1 : 1 - iou;
    case 3:
        return exp(-iou * iou / sigma);
    default:
        return iou > limit ? -1 : exp(-iou * iou / (2 * sigma));
    }
}

// One group a row: picks the best, lets it suppress the others (with G only those of its group),
// and so on. O: the picks in order; N: how many. P: candidates of a row, rows of an image; strides
// of the boxes for image, candidate (after division by P[3]) and row; picks at most; method; 0 or
// the number of classes that share the row, and the picks of each.
#define BOX(b, i)                                                                                  \
    REAL b[4];                                                                                     \
    for (int e = 0; e < 4; e++)                                                                    \
        b[e] = LD_D((row / P[1] * P[2] + (i) / P[3] * P[4] + row % P[1] * P[5]) * 4 + e);

__kernel void pick(C_ARG, T_ARG, D_ARG, G_ARG, O_ARG, N_ARG, P_ARG, const float limit,
                   const float sigma, const float least) {
    C_BEGIN T_BEGIN D_BEGIN G_BEGIN O_BEGIN N_BEGIN P_BEGIN
    __local REAL scores[GROUP];
    __local int items[GROUP];
    const int row = (int)get_group_id(0), me = (int)get_local_id(0), n = P[0], base = row * n;
    const int most = P[6], method = P[7], classes = P[8];
    int picked = 0;
    for (; picked < most; picked++) {
        int best = -1;
        for (int i = me; i < n; i += GROUP)
            if (LD_T(base + i) && (best < 0 || LD_C(base + i) > LD_C(base + best)))
                best = i;
        items[me] = best;
        scores[me] = best < 0 ? 0 : LD_C(base + best);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int step = GROUP / 2; step > 0; step /= 2) {
            int he = me + step;
            if (me < step && items[he] >= 0 &&
                (items[me] < 0 || scores[he] > scores[me] ||
                 (scores[he] == scores[me] && items[he] < items[me]))) {
                items[me] = items[he];
                scores[me] = scores[he];
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        best = items[0];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (best < 0)
            break;
        int same = 1; // picks of its class
        for (int k = 0; classes && k < picked; k++)
            same += LD_O(row * most + k) % classes == best % classes;
        barrier(CLK_GLOBAL_MEM_FENCE); // all have read the list
        if (me == 0)
            ST_O(row * most + picked, best);
        BOX(a, best)
        for (int i = me; i < n; i += GROUP) {
            if (i == best)
                ST_T(base + i, 0);
            if (i == best || !LD_T(base + i))
                continue;
            if (classes && same >= P[9] && i % classes == best % classes) {
                ST_T(base + i, 0); // no room, and so it suppresses nobody
                continue;
            }
#if HAS_G
            if (LD_G(i) != LD_G(best))
                continue;
#endif
            BOX(b, i)
            REAL share = kept_share(method, overlap(a, b), limit, sigma);
            if (method >= 2)
                ST_C(base + i, LD_C(base + i) * share);
            if (share < 0 || (method >= 2 && LD_C(base + i) < least))
                ST_T(base + i, 0);
        }
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
    if (me == 0)
        ST_N(row, picked);
}
#endif

#ifdef KERNEL_pack_rows
// A work item does a row of the output: (image, class, box), or with D the score, the box and the
// image. Z: picks in all ([1]) or of each image. P: rows, rows of an image, picks of a row at most,
// candidates of a row, capacity, elements of Z.
__kernel void pack_rows(N_ARG, O_ARG, C_ARG, D_ARG, Y_ARG, B_ARG, I_ARG, Z_ARG, F_ARG,
                        const int node, const int slot, P_ARG, const int n) {
    N_BEGIN O_BEGIN C_BEGIN D_BEGIN Y_BEGIN B_BEGIN I_BEGIN Z_BEGIN F_BEGIN P_BEGIN
    int o = (int)get_global_id(0), rest = o, row = 0;
    if (o >= n)
        return;
    while (row < P[0] && rest >= LD_N(row))
        rest -= LD_N(row++);
    int there = row < P[0], i = there ? LD_O(row * P[2] + rest) : 0;
    if (o < P[4]) {
#if HAS_D
        int from = row * P[3] + i;
        ST_Y(o, there ? (float)LD_C(from) : 0.0f);
        for (int e = 0; e < 4; e++)
            ST_B(o * 4 + e, there ? (float)LD_D(from * 4 + e) : 0.0f);
        ST_I(o, there ? row / P[1] : 0);
#else
        ST_Y(o * 3, there ? row / P[1] : 0);
        ST_Y(o * 3 + 1, there ? row % P[1] : 0);
        ST_Y(o * 3 + 2, i);
#endif
    }
    if (o == 0 && slot) {
        int all = 0;
        for (int r = 0; r < P[0]; r++)
            all += LD_N(r);
        F[slot] = min(all, P[4]);
    }
#if HAS_Z
    if (o < P[5]) { // rows of the images before it, and with it
        int before = 0, with = 0, to = P[5] == 1 ? P[0] : (o + 1) * P[1];
        for (int r = 0; r < to; r++) {
            before += r < to - P[1] && P[5] > 1 ? LD_N(r) : 0;
            with += LD_N(r);
        }
        ST_Z(o, min(with, P[4]) - min(before, P[4]));
    }
#endif
}
#endif

#ifdef KERNEL_best_of_image
// The picks of an image by descending score, whatever their row. P: images, rows of an image, picks
// of a row at most, candidates of a row, classes, rows of the output, whether all classes share one
// row, whether boxes are clipped, boxes' strides of image, candidate and class.
#define CLASS(row, i) (P[6] ? (i) % P[4] : (row) % P[1])
#define ORDER(row, i) (P[6] ? (i) : (i)*P[4] + (row) % P[1])

__kernel void best_of_image(N_ARG, O_ARG, C_ARG, D_ARG, Y_ARG, S_ARG, L_ARG, Z_ARG, H_ARG, P_ARG,
                            const int n) {
    N_BEGIN O_BEGIN C_BEGIN D_BEGIN Y_BEGIN S_BEGIN L_BEGIN Z_BEGIN H_BEGIN P_BEGIN
    int g = (int)get_global_id(0), most = P[5];
    if (g >= n)
        return;
    int row = g / P[2], k = g % P[2], image = row / P[1], rank = 0;
    if (image < P[0] && k < LD_N(row)) {
        int i = LD_O(row * P[2] + k), order = ORDER(row, i);
        REAL s = LD_C(row * P[3] + i);
        for (int r = image * P[1]; r < (image + 1) * P[1]; r++)
            for (int q = 0; q < LD_N(r); q++) {
                int j = LD_O(r * P[2] + q);
                REAL t = LD_C(r * P[3] + j);
                rank += t > s || (t == s && ORDER(r, j) < order);
            }
        if (rank < most) {
            int at = image * most + rank, b = P[6] ? i / P[4] : i, c = CLASS(row, i);
            for (int e = 0; e < 4; e++) {
                float v = LD_D((image * P[8] + b * P[9] + c * P[10]) * 4 + e);
                ST_Y(at * 4 + e, P[7] ? fmin(fmax(v, 0.0f), 1.0f) : v);
            }
            ST_S(at, (float)s);
            ST_L(at, c);
#if HAS_H
            ST_H(at, b);
#endif
        }
    }
    if (g < P[0] * most) { // rows that are left over
        int total = 0, at = g / most;
        for (int r = at * P[1]; r < (at + 1) * P[1]; r++)
            total += LD_N(r);
        if (g % most == 0)
            ST_Z(at, min(total, most));
        if (g % most >= total) {
            for (int e = 0; e < 4; e++)
                ST_Y(g * 4 + e, 0.0f);
            ST_S(g, 0.0f);
            ST_L(g, 0);
#if HAS_H
            ST_H(g, -1);
#endif
        }
    }
}
#endif

#ifdef KERNEL_check_groups
// limit 0: there is none.
__kernel void check_groups(G_ARG, F_ARG, const int node, const int limit, const int n) {
    G_BEGIN F_BEGIN
    int g = (int)get_global_id(0);
    if (g >= n)
        return;
    long group = (long)LD_G(g);
    if (group < 0 || (limit && group >= limit))
        F[0] = node;
}
#endif

#ifdef KERNEL_pack_groups
// The picks of all classes in the order of group, class, pick. P: classes, candidates, capacity.
__kernel void pack_groups(N_ARG, O_ARG, C_ARG, D_ARG, G_ARG, Y_ARG, S_ARG, L_ARG, I_ARG, H_ARG,
                          F_ARG, const int node, const int slot, P_ARG, const int n) {
    N_BEGIN O_BEGIN C_BEGIN D_BEGIN G_BEGIN Y_BEGIN S_BEGIN L_BEGIN I_BEGIN H_BEGIN F_BEGIN P_BEGIN
    int g = (int)get_global_id(0), classes = P[0], count = P[1], total = 0;
    if (g >= n)
        return;
    int row = g / count, k = g % count;
    for (int r = 0; r < classes; r++)
        total += LD_N(r);
    if (g == 0 && slot)
        F[slot] = min(total, P[2]);
    if (row < classes && k < LD_N(row)) {
        int i = LD_O(row * count + k), at = 0;
        for (int r = 0; r < classes; r++)
            for (int q = 0; q < LD_N(r); q++) {
                long other = LD_G(LD_O(r * count + q)), own = LD_G(i);
                at += other < own || (other == own && (r < row || (r == row && q < k)));
            }
        if (at < P[2]) {
            for (int e = 0; e < 4; e++)
                ST_Y(at * 4 + e, LD_D((i * classes + row) * 4 + e));
            ST_S(at, (float)LD_C(row * count + i));
            ST_L(at, row);
            ST_I(at, LD_G(i));
#if HAS_H
            ST_H(at, i);
#endif
        }
    }
    if (g < P[2] && g >= total) {
        for (int e = 0; e < 4; e++)
            ST_Y(g * 4 + e, 0.0f);
        ST_S(g, 0.0f);
        ST_L(g, 0);
        ST_I(g, 0);
#if HAS_H
        ST_H(g, 0);
#endif
    }
}
#endif

#ifdef KERNEL_count_packed
// How many of the first rows of the output belong to each group (Z) and each class (W).
__kernel void count_packed(N_ARG, L_ARG, I_ARG, Z_ARG, W_ARG, const int classes, const int capacity,
                           const int n_groups, const int n_classes, const int n) {
    N_BEGIN L_BEGIN I_BEGIN Z_BEGIN W_BEGIN
    int g = (int)get_global_id(0), total = 0, of_group = 0, of_class = 0;
    if (g >= n)
        return;
    for (int r = 0; r < classes; r++)
        total += LD_N(r);
    total = min(total, capacity);
    for (int o = 0; o < total; o++) {
        of_group += LD_I(o) == g;
        of_class += LD_L(o) == g;
    }
#if HAS_Z
    if (g < n_groups)
        ST_Z(g, of_group);
#endif
#if HAS_W
    if (g < n_classes)
        ST_W(g, of_class);
#endif
}
#endif
