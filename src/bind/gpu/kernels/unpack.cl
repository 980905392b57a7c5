// From the form in which a package stores a tensor to a plain buffer; one work item an element of
// the memory object, which may be a tile of the tensor. KIND: 0 a buffer, 2 an image, 3 an array of
// images, 7 an image over a buffer. Images have four channels a texel.

#if KIND == 0
#define OPEN X_BEGIN
#define VALUE LD_X(t * LANES + lane)
#elif KIND == 2
#undef X_ARG
#define X_ARG __read_only image2d_t X_p
#define OPEN TEXEL v = READ(X_p, (int2)(t % row, t / row));
#elif KIND == 3
#undef X_ARG
#define X_ARG __read_only image2d_array_t X_p
#define OPEN TEXEL v = READ(X_p, (int4)(t % row, t / row % H, t / row / H, 0));
#else
#undef X_ARG
#define X_ARG __read_only image1d_buffer_t X_p
#define OPEN TEXEL v = READ(X_p, t);
#endif
#if KIND != 0
#define VALUE (lane == 0 ? v.x : lane == 1 ? v.y : lane == 2 ? v.z : v.w)
#endif

#ifdef KERNEL_unpack
// Of each dimension: its size, where it begins in the tensor, the tensor's size.
__kernel void unpack(X_ARG, Y_ARG, const int N, const int n0, const int fn, const int D,
                     const int d0, const int fd, const int H, const int h0, const int fh,
                     const int W, const int w0, const int fw, const int C, const int c0,
                     const int fc, const int S, const int row, const int count) {
    Y_BEGIN
    int rest = (int)get_global_id(0);
    if (rest >= count)
        return;
    const int c = rest % C, s = c / LANES, lane = c % LANES;
    rest /= C;
    const int w = rest % W;
    rest /= W;
    const int h = rest % H;
    rest /= H;
    const int d = rest % D, n = rest / D;
#if ORDER == 0
    const int t = (((n * D + d) * H + h) * W + w) * S + s;
#elif ORDER == 1
    const int t = (((n * D + d) * H + h) * S + s) * W + w;
#else
    const int t = (((n * S + s) * D + d) * H + h) * W + w;
#endif
    const int y = ((((n + n0) * fd + d + d0) * fh + h + h0) * fw + w + w0) * fc + c + c0;
    OPEN
    ST_Y(y, VALUE);
}
#endif
