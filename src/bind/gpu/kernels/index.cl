// Steps whose data name elements. An index that is out of range is reported in F and touches
// nothing: what it should have read is 0, what it should have written is left alone.

#if I_REAL
#define INDEX(i) q_to_long(LD_I(i), -0x40000000l, 0x40000000l)
#else
#define INDEX(i) ((long)LD_I(i))
#endif

// A negative index counts from the end; -1: out of range.
inline int in_range(long at, int dim) {
    at += at < 0 && at >= -(long)dim ? dim : 0;
    return at >= 0 && at < dim ? (int)at : -1;
}

#ifdef KERNEL_gather
// y[outer, i.., inner] = x[outer, index[i..], inner]
__kernel void gather(X_ARG, I_ARG, Y_ARG, F_ARG, const int node, const int inner,
                     const int n_index, const int dim, const int n EPI_ARGS) {
    X_BEGIN I_BEGIN Y_BEGIN F_BEGIN EPI_BEGIN
    int i = (int)get_global_id(0), row = i / inner;
    if (i >= n)
        return;
    int at = in_range(INDEX(row % n_index), dim);
    if (at < 0)
        F[0] = node;
    ST_Y(i, EPI(at < 0 ? 0 : LD_X((row / n_index * dim + at) * inner + i % inner), i));
}
#endif

#ifdef KERNEL_gather_elements
// P: number of dimensions, then for each, from the last on: size of y, size and stride of x.
__kernel void gather_elements(X_ARG, I_ARG, Y_ARG, F_ARG, const int node, P_ARG, const int axis,
                              const int n EPI_ARGS) {
    X_BEGIN I_BEGIN Y_BEGIN F_BEGIN P_BEGIN EPI_BEGIN
    int i = (int)get_global_id(0), rest = i, x = 0, good = 1;
    if (i >= n)
        return;
    for (int d = 0; d < P[0]; d++) {
        int size = P[1 + 3 * d], q = rest / size, at = rest - q * size;
        rest = q;
        at = in_range(d == axis ? INDEX(i) : at, P[2 + 3 * d]);
        good &= at >= 0;
        x += at * P[3 + 3 * d];
    }
    if (!good)
        F[0] = node;
    ST_Y(i, EPI(good ? LD_X(x) : 0, i));
}
#endif

// Slice that tuple number t of q indices names; -1: out of range. P: sizes of the dimensions.
#if defined(KERNEL_gather_nd) || defined(KERNEL_scatter_nd) || defined(KERNEL_scatter_claim) ||      \
    defined(KERNEL_scatter_put)
#define TUPLE(slice, t)                                                                            \
    int slice = 0;                                                                                 \
    for (int d = 0; d < q; d++) {                                                                  \
        int at = in_range(INDEX((t) * q + d), P[d]);                                               \
        slice = slice < 0 || at < 0 ? -1 : slice * P[d] + at;                                      \
    }
#endif

#ifdef KERNEL_gather_nd
__kernel void gather_nd(X_ARG, I_ARG, Y_ARG, F_ARG, const int node, P_ARG, const int q,
                        const int inner, const int per_batch, const int slices,
                        const int n EPI_ARGS) {
    X_BEGIN I_BEGIN Y_BEGIN F_BEGIN P_BEGIN EPI_BEGIN
    int i = (int)get_global_id(0), t = i / inner;
    if (i >= n)
        return;
    TUPLE(slice, t)
    if (slice < 0)
        F[0] = node;
    ST_Y(i, EPI(slice < 0 ? 0 : LD_X((t / per_batch * slices + slice) * inner + i % inner), i));
}
#endif

#ifdef KERNEL_batch_permutation
// Row r of y is the r-th row that an index in range names; rows left over are 0.
__kernel void batch_permutation(X_ARG, I_ARG, Y_ARG, const int inner, const int n_index,
                                const int dim, const int n EPI_ARGS) {
    X_BEGIN I_BEGIN Y_BEGIN EPI_BEGIN
    int i = (int)get_global_id(0), left = i / inner, row = -1;
    if (i >= n)
        return;
    for (int k = 0; k < n_index && row < 0; k++) {
        long at = INDEX(k);
        if (at >= 0 && at < dim && left-- == 0)
            row = (int)at;
    }
    ST_Y(i, EPI(row < 0 ? 0 : LD_X(row * inner + i % inner), i));
}
#endif

#ifdef KERNEL_one_hot
#if Y_REAL
#define VALUE(low, high) as_float(low)
#else
#define VALUE(low, high) ((Y_T)((ulong)(uint)(low) | (ulong)(uint)(high) << 32))
#endif
__kernel void one_hot(I_ARG, Y_ARG, const int inner, const int depth, const int on_low,
                      const int on_high, const int off_low, const int off_high,
                      const int n EPI_ARGS) {
    I_BEGIN Y_BEGIN EPI_BEGIN
    int i = (int)get_global_id(0), block = i / inner;
    if (i >= n)
        return;
    long at = INDEX(block / depth * inner + i % inner);
    ST_Y(i, EPI(at == block % depth ? VALUE(on_low, on_high) : VALUE(off_low, off_high), i));
}
#endif

#if defined(KERNEL_scatter_elements) || defined(KERNEL_scatter_nd)
#if Y_REAL
#define NUMBER float
#define LARGER(a, b) ((b) > (a) || isnan(b) ? (b) : (a))
#else
#define NUMBER long
#define LARGER(a, b) max(a, b)
#endif
inline NUMBER combine(NUMBER old, NUMBER update, int reduction) {
    return reduction == 1   ? old + update
           : reduction == 2 ? old * update
           : reduction == 3 ? LARGER(old, update)
                            : update;
}
#endif

#ifdef KERNEL_scatter_elements
// One line along the axis a work item: updates of one element are in one line, and so in order.
// P: number of other dimensions, then for each, from the last on: size and stride of the indices,
// stride of y.
__kernel void scatter_elements(I_ARG, U_ARG, Y_ARG, F_ARG, const int node, P_ARG, const int length,
                               const int i_step, const int dim, const int y_step,
                               const int reduction, const int n) {
    I_BEGIN U_BEGIN Y_BEGIN F_BEGIN P_BEGIN
    int rest = (int)get_global_id(0), from = 0, to = 0;
    if (rest >= n)
        return;
    for (int d = 0; d < P[0]; d++) {
        int size = P[1 + 3 * d], q = rest / size, r = rest - q * size;
        from += r * P[2 + 3 * d];
        to += r * P[3 + 3 * d];
        rest = q;
    }
    for (int k = 0; k < length; k++, from += i_step) {
        int at = in_range(INDEX(from), dim);
        if (at < 0) {
            F[0] = node;
            continue;
        }
        NUMBER old = (NUMBER)LD_Y(to + at * y_step), update = (NUMBER)LD_U(from);
        ST_Y(to + at * y_step, combine(old, update, reduction));
    }
}
#endif

#ifdef KERNEL_scatter_nd
// One element of all slices a work item.
__kernel void scatter_nd(I_ARG, U_ARG, Y_ARG, F_ARG, const int node, P_ARG, const int q,
                         const int n_tuples, const int reduction, const int n) {
    I_BEGIN U_BEGIN Y_BEGIN F_BEGIN P_BEGIN
    int j = (int)get_global_id(0);
    if (j >= n)
        return;
    for (int t = 0; t < n_tuples; t++) {
        TUPLE(slice, t)
        if (slice < 0) {
            F[0] = node;
            continue;
        }
        NUMBER old = (NUMBER)LD_Y(slice * n + j), update = (NUMBER)LD_U(t * n + j);
        ST_Y(slice * n + j, combine(old, update, reduction));
    }
}
#endif

// Many short slices, no reduction: each slice belongs to the last tuple that names it.
#ifdef KERNEL_scatter_clear
__kernel void scatter_clear(W_ARG, const int n) {
    W_BEGIN
    int i = (int)get_global_id(0);
    if (i < n)
        W[i] = -1;
}
#endif

#ifdef KERNEL_scatter_claim
__kernel void scatter_claim(I_ARG, W_ARG, F_ARG, const int node, P_ARG, const int q, const int n) {
    I_BEGIN W_BEGIN F_BEGIN P_BEGIN
    int t = (int)get_global_id(0);
    if (t >= n)
        return;
    TUPLE(slice, t)
    if (slice < 0)
        F[0] = node;
    else
        atomic_max(&W[slice], t);
}
#endif

#ifdef KERNEL_scatter_put
__kernel void scatter_put(I_ARG, W_ARG, U_ARG, Y_ARG, P_ARG, const int q, const int inner,
                          const int n) {
    I_BEGIN W_BEGIN U_BEGIN Y_BEGIN P_BEGIN
    int i = (int)get_global_id(0), t = i / inner;
    if (i >= n)
        return;
    TUPLE(slice, t)
    if (slice >= 0 && W[slice] == t)
        ST_Y(slice * inner + i % inner, LD_U(i));
}
#endif

#ifdef KERNEL_lut
// y = table[x], x as an unsigned number.
__kernel void lut(X_ARG, T_ARG, Y_ARG, const int mask, const int n EPI_ARGS) {
    X_BEGIN T_BEGIN Y_BEGIN EPI_BEGIN
    int i = (int)get_global_id(0);
    if (i < n)
        ST_Y(i, EPI(LD_T((int)LD_X(i) & mask), i));
}
#endif

#if defined(KERNEL_nonzero_count) || defined(KERNEL_nonzero)
#define BLOCK 256 // elements that a work item looks at
#endif

#ifdef KERNEL_nonzero_count
__kernel void nonzero_count(X_ARG, N_ARG, const int total, const int n) {
    X_BEGIN N_BEGIN
    int g = (int)get_global_id(0), sum = 0;
    if (g >= n)
        return;
    for (int i = g * BLOCK; i < min(g * BLOCK + BLOCK, total); i++)
        sum += LD_X(i) != 0;
    ST_N(g, sum);
}
#endif

#ifdef KERNEL_nonzero
// Coordinates of the elements that are not 0, in order; rows that are left over are -1. P: rank,
// then the dimensions.
__kernel void nonzero(X_ARG, N_ARG, Y_ARG, F_ARG, const int node, const int slot, P_ARG,
                      const int total, const int rows, const int n) {
    X_BEGIN N_BEGIN Y_BEGIN F_BEGIN P_BEGIN
    int g = (int)get_global_id(0), row = 0, all = 0;
    if (g >= n)
        return;
    for (int b = 0; b < n; b++) {
        row += b < g ? LD_N(b) : 0;
        all += LD_N(b);
    }
    if (all > rows)
        F[0] = node;
    if (g == 0 && slot)
        F[slot] = all;
    for (int i = g * BLOCK; i < min(g * BLOCK + BLOCK, total) && row < rows; i++) {
        if (!(LD_X(i) != 0))
            continue;
        int rest = i;
        for (int d = P[0] - 1; d >= 0; d--) {
            ST_Y(row * P[0] + d, rest % P[1 + d]);
            rest /= P[1 + d];
        }
        row++;
    }
    for (int r = all * P[0] + g; r < rows * P[0]; r += n)
        ST_Y(r, -1);
}
#endif
