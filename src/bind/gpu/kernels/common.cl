// What all kernels share. Texts of a program: definitions of its operands, this file, its own.

// Element of a broadcast operand for element i of the output. p: number of dimensions, then for
// each, from the last to the first, its size and the operand's stride.
inline int at(int i, __global const int *p) {
    int n = p[0], sum = 0;
    for (int d = 0; d < n; d++) {
        int size = p[1 + 2 * d], q = i / size;
        sum += (i - q * size) * p[2 + 2 * d];
        i = q;
    }
    return sum;
}

#ifdef LY
// Kernels over rows: LX rows a work-group, LY work items a row. All work items of a group reach
// every barrier; those behind the last row compute it once more and store nothing.
#if PLAIN_ROWS // without parameters, for which a kernel would have to wait
#define ROWS_ARGS const int n_rows, const int n
#define P_BEGIN
#define OUTER(i) ((i) * n)
#define INNER(i) (i)
#define OUTER2(i) 0
#define INNER2(i) (i)
#else
#define ROWS_ARGS P_ARG, const int n_rows, const int n
#define OUTER(i) at1((i), P + P[0])
#define INNER(i) at1((i), P + P[1])
#define OUTER2(i) at1((i), P + P[2])
#define INNER2(i) at1((i), P + P[3])
inline int at1(int i, __global const int *p) { return p[0] == 1 ? i * p[2] : at(i, p); }
#endif
#if LY > 1
#define ROWS_BEGIN                                                                                 \
    P_BEGIN __local NUM tree[LX * LY];                                                             \
    const int lane = (int)get_local_id(1), col = (int)get_local_id(0);                             \
    const int inside = (int)get_global_id(0) < n_rows;                                             \
    const int row = min((int)get_global_id(0), n_rows - 1), base = OUTER(row);
#define ROW_OWNER (lane == 0 && inside)
// Joins what the work items of a row have, always in the same order; all get the result.
#define TREE(acc, JOIN)                                                                            \
    {                                                                                              \
        const int here = lane * LX + col;                                                          \
        tree[here] = acc;                                                                          \
        barrier(CLK_LOCAL_MEM_FENCE);                                                              \
        for (int s = LY / 2; s > 0; s >>= 1) {                                                     \
            if (lane < s)                                                                          \
                tree[here] = JOIN(tree[here], tree[here + s * LX]);                                \
            barrier(CLK_LOCAL_MEM_FENCE);                                                          \
        }                                                                                          \
        acc = tree[col];                                                                           \
        barrier(CLK_LOCAL_MEM_FENCE);                                                              \
    }
#else
#define ROWS_BEGIN                                                                                 \
    P_BEGIN const int lane = 0, inside = 1, row = (int)get_global_id(0);                           \
    if (row >= n_rows)                                                                             \
        return;                                                                                    \
    const int base = OUTER(row);
#define ROW_OWNER 1
#define TREE(acc, JOIN)
#endif
// The elements i of a work item's share.
#define EACH(i) for (int i = lane; i < n; i += LY)
// The same in parts of PART, each summed up on its own: a long sum of floats loses little.
#define PART 32
#define EACH_PART(part, init, step, add)                                                           \
    for (int begin = lane; begin < n; begin += PART * LY) {                                        \
        NUM part = init;                                                                           \
        int last = min(n - begin, PART * LY) + begin;                                              \
        for (int i = begin; i < last; i += LY)                                                     \
            part = step;                                                                           \
        add;                                                                                       \
    }
#define PLUS(a, b) ((a) + (b))
// The mean of a row of X and the sum of squares around it. The mean of numbers far from 0 does not
// fit a float: it is mean + rest, where rest comes from the same pass as the squares.
#define CENTER(mean, rest, squares)                                                                \
    float mean = 0.0f, rest = 0.0f, squares = 0.0f;                                                \
    EACH_PART(part, 0.0f, part + LD_X(base + INNER(i)), mean += part)                              \
    TREE(mean, PLUS)                                                                               \
    mean /= (float)n;                                                                              \
    for (int begin = lane; begin < n; begin += PART * LY) {                                        \
        float part = 0.0f, part2 = 0.0f;                                                           \
        int last = min(n - begin, PART * LY) + begin;                                              \
        for (int i = begin; i < last; i += LY) {                                                   \
            float d = LD_X(base + INNER(i)) - mean;                                                \
            part += d;                                                                             \
            part2 += d * d;                                                                        \
        }                                                                                          \
        rest += part;                                                                              \
        squares += part2;                                                                          \
    }                                                                                              \
    TREE(rest, PLUS)                                                                               \
    TREE(squares, PLUS)                                                                            \
    squares = fmax(squares - rest * rest / (float)n, 0.0f);                                        \
    rest /= (float)n;
#endif
// Four numbers of f16 that were read at once.
inline float4 q_halves(ushort4 bits) { return vload_half4(0, (const __private half *)&bits); }
inline float q_square(float x) { return x * x; }

inline int q_unsigned4(uchar byte, int i) { return byte >> ((i & 1) << 2) & 15; }
inline int q_signed4(char byte, int i) { return (q_unsigned4((uchar)byte, i) ^ 8) - 8; }

// Floats as the op table defines them: NaN wins.
inline float q_max(float a, float b) { return isnan(a) ? a : isnan(b) ? b : fmax(a, b); }
inline float q_min(float a, float b) { return isnan(a) ? a : isnan(b) ? b : fmin(a, b); }
inline float q_clamp(float x, float low, float high) { return x < low ? low : x > high ? high : x; }
inline float q_sigmoid(float x) { return 1.0f / (1.0f + exp(-x)); }
// erfc, not 1 + erf: small results on the negative side keep their digits.
inline float q_gelu(float x) {
    return x < -15.0f ? -0.0f : 0.5f * x * erfc(x * -0.70710678118654752f);
}
// epsilon < 0: there is none.
inline float q_logit(float p, float epsilon) {
    p = epsilon >= 0.0f ? q_clamp(p, epsilon, 1.0f - epsilon) : p;
    return log(p / (1.0f - p));
}
inline float q_softplus(float x, float beta, float threshold) {
    float z = beta * x;
    return threshold >= 0.0f && z > threshold ? x
           : (fmax(z, 0.0f) + log1p(exp(-fabs(z)))) / beta;
}
inline float q_mod(float a, float b) {
    float r = fmod(a, b);
    return r != 0.0f && (r < 0.0f) != (b < 0.0f) ? r + b : r;
}

// Integers: no division by zero, wrapping.
inline long q_idiv(long a, long b) { return b == 0 ? 0 : b == -1 ? (long)(0ul - (ulong)a) : a / b; }
inline long q_ifmod(long a, long b) { return b == 0 || b == -1 ? 0 : a % b; }
inline long q_imod(long a, long b) {
    long r = q_ifmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
inline long q_ifloordiv(long a, long b) {
    long q = q_idiv(a, b);
    return b != 0 && b != -1 && a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
inline long q_ipow(long a, long b) {
    if (b < 0)
        return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
    ulong r = 1, x = (ulong)a;
    for (; b; b >>= 1, x *= x)
        if (b & 1)
            r *= x;
    return (long)r;
}
// Floats to integers: toward zero, saturating, NaN gives 0.
inline long q_to_long(float x, long low, long high) {
    return isnan(x) ? 0 : x <= (float)low ? low : x >= (float)high ? high : (long)x;
}
EPI_FUNCTION
