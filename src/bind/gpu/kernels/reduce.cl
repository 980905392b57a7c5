// Reductions over any set of axes. Rows and their parts: see ROWS_BEGIN of common.cl.

#ifdef KERNEL_reduce
// INIT, OF(v), JOIN(a, b), END(a) say which one.
__kernel void reduce(X_ARG, Y_ARG, ROWS_ARGS EPI_ARGS) {
    X_BEGIN Y_BEGIN EPI_BEGIN ROWS_BEGIN
    NUM sum = INIT;
    EACH_PART(part, INIT, JOIN(part, OF(LD_X(base + INNER(i)))), sum = JOIN(sum, part))
    TREE(sum, JOIN)
    if (ROW_OWNER)
        ST_Y(row, EPI(END(sum), row));
}
#endif

#ifdef KERNEL_moments
__kernel void moments(X_ARG, M_ARG, V_ARG, ROWS_ARGS EPI_ARGS) {
    X_BEGIN M_BEGIN V_BEGIN EPI_BEGIN ROWS_BEGIN
    CENTER(mean, rest, squares)
    if (ROW_OWNER) {
        ST_M(row, mean + rest);
        ST_V(row, squares / (float)n);
    }
}
#endif
