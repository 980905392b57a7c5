// Ops along one axis: the position of the largest element, the largest elements in order, running
// sums. NaN counts as larger than every number.
inline int greater(NUM a, NUM b) { return a > b || (a != a && b == b); }

#ifndef KERNEL_cumsum
// Does element (a, i) come before (b, j) in the order that is asked for?
inline int before(NUM a, int i, NUM b, int j) {
    if (greater(a, b))
        return !SMALLEST;
    if (greater(b, a))
        return SMALLEST;
    return LOW_TIES ? i < j : i > j;
}

// The first of the row that comes behind (last, at); at -1: the first of all. No element: top -1.
#define FIRST_BEHIND(last, at, best, top)                                                          \
    for (int i = lane; i < n; i += LY) {                                                           \
        NUM v = LD_X(base + INNER(i));                                                             \
        if ((at < 0 || before(last, at, v, i)) && (top < 0 || before(v, i, best, top))) {          \
            best = v;                                                                              \
            top = i;                                                                               \
        }                                                                                          \
    }                                                                                              \
    TREE_PAIR(best, top)

#if LY > 1
#define PAIR_BEGIN __local int tree_at[LX * LY];
#define TREE_PAIR(best, top)                                                                       \
    {                                                                                              \
        int here = lane * LX + col;                                                                \
        tree[here] = best;                                                                         \
        tree_at[here] = top;                                                                       \
        barrier(CLK_LOCAL_MEM_FENCE);                                                              \
        for (int s = LY / 2; s > 0; s >>= 1) {                                                     \
            int there = here + s * LX;                                                             \
            if (lane < s && tree_at[there] >= 0 &&                                                 \
                (tree_at[here] < 0 ||                                                              \
                 before(tree[there], tree_at[there], tree[here], tree_at[here]))) {                \
                tree[here] = tree[there];                                                          \
                tree_at[here] = tree_at[there];                                                    \
            }                                                                                      \
            barrier(CLK_LOCAL_MEM_FENCE);                                                          \
        }                                                                                          \
        best = tree[col];                                                                          \
        top = tree_at[col];                                                                        \
        barrier(CLK_LOCAL_MEM_FENCE);                                                              \
    }
#else
#define PAIR_BEGIN
#define TREE_PAIR(best, top)
#endif
#endif

#ifdef KERNEL_arg
__kernel void arg(X_ARG, Y_ARG, ROWS_ARGS EPI_ARGS) {
    X_BEGIN Y_BEGIN EPI_BEGIN ROWS_BEGIN PAIR_BEGIN
    NUM best = 0;
    int top = -1;
    FIRST_BEHIND(best, -1, best, top)
    if (ROW_OWNER)
        ST_Y(row, EPI(top, row));
}
#endif

#ifdef KERNEL_topk
// One pass over the row for each element that is wanted: nothing to keep between passes but the
// element before it.
__kernel void topk(X_ARG, Y_ARG, I_ARG, ROWS_ARGS, const int wanted EPI_ARGS) {
    X_BEGIN Y_BEGIN I_BEGIN EPI_BEGIN ROWS_BEGIN PAIR_BEGIN
    NUM last = 0;
    int at_last = -1;
    for (int k = 0; k < wanted; k++) {
        NUM best = 0;
        int top = -1;
        FIRST_BEHIND(last, at_last, best, top)
        if (ROW_OWNER) {
            ST_Y(row * wanted + k, best);
            ST_I(row * wanted + k, top);
        }
        last = best;
        at_last = top;
    }
}
#endif

#ifdef KERNEL_cumsum
// One work item a row. `lost` is what the sum of floats has lost by rounding (Kahan).
__kernel void cumsum(X_ARG, Y_ARG, const int rows, const int n, const int inner,
                     const int exclusive, const int reverse EPI_ARGS) {
    X_BEGIN Y_BEGIN EPI_BEGIN
    int row = (int)get_global_id(0);
    if (row >= rows)
        return;
    int base = row / inner * n * inner + row % inner;
    NUM sum = 0, lost = 0;
    for (int i = 0; i < n; i++) {
        int here = base + (reverse ? n - 1 - i : i) * inner;
        NUM with = LD_X(here) - lost, next = sum + with;
        ST_Y(here, EPI(exclusive ? sum : next, here));
        lost = isfinite((float)next) ? (next - sum) - with : 0;
        sum = next;
    }
}
#endif
