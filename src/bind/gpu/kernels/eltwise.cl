// Element-wise steps: everything is in EPI.
__kernel void eltwise(Y_ARG, const int n EPI_ARGS) {
    Y_BEGIN EPI_BEGIN
    int i = (int)get_global_id(0);
    if (i < n)
        ST_Y(i, EPI(0, i));
}
