// Pooling over up to three dimensions, channels last; WIDTH neighbouring channels a work item.
#if WIDTH == 4
#define VEC float4
#define LOAD LD4_X
#else
#define VEC float
#define LOAD LD_X
#endif

#ifdef POOL_MAX
#define EMPTY (-INFINITY) // of a window without any cell of the input
#define CELL(best, v) ((v) > (best) || isnan(v) ? (v) : (best))
#if WIDTH == 4
#undef CELL
#define CELL(best, v) select((best), (v), (v) > (best) || isnan(v))
#endif
#else
#define EMPTY 0.0f
#ifdef POOL_L2
#define CELL(sum, v) ((sum) + (v) * (v))
#else
#define CELL(sum, v) ((sum) + (v))
#endif
#endif

// P: size of the input, of the output, of the window, stride, cells before, cells after: 3 each.
__kernel void pool(X_ARG, Y_ARG, P_ARG, const int items, const int channels,
                   const int count_pad EPI_ARGS) {
    X_BEGIN Y_BEGIN P_BEGIN EPI_BEGIN
    int item = (int)get_global_id(0);
    if (item >= items)
        return;
    int i = item * WIDTH, c = i % channels, cell = i / channels;
    int low[3], high[3], count = 1;
    for (int d = 2; d >= 0; d--) {
        int begin = cell % P[3 + d] * P[9 + d] - P[12 + d], end = begin + P[6 + d];
        cell /= P[3 + d];
        low[d] = max(begin, 0);
        high[d] = min(end, P[d]);
        count *= count_pad ? max(min(end, P[d] + P[15 + d]) - begin, 0) : max(high[d] - low[d], 0);
    }
    VEC sum = EMPTY;
    for (int a = low[0]; a < high[0]; a++)
        for (int b = low[1]; b < high[1]; b++) {
            int line = ((cell * P[0] + a) * P[1] + b) * P[2];
#ifdef POOL_MAX
            for (int q = low[2]; q < high[2]; q++)
                sum = CELL(sum, LOAD((line + q) * channels + c));
#else
            VEC part = 0.0f;
            for (int q = low[2]; q < high[2]; q++)
                part = CELL(part, LOAD((line + q) * channels + c));
            sum += part;
#endif
        }
#ifdef POOL_L2
    sum = sqrt(sum);
#elif defined(POOL_AVG)
    sum = count > 0 ? sum / (float)count : (VEC)(0.0f);
#endif
#if WIDTH == 4
    ST4_Y(i, ((float4)(EPI(sum.x, i), EPI(sum.y, i + 1), EPI(sum.z, i + 2), EPI(sum.w, i + 3))));
#else
    ST_Y(i, EPI(sum, i));
#endif
}
