// What all kernels share. Texts of a program: definitions of its operands, this file, its own.
#define P_ARG __global const int *P_p, const int P_o
#define P_BEGIN __global const int *P = P_p + P_o;

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

// Floats as the op table defines them: NaN wins.
inline float q_max(float a, float b) { return isnan(a) ? a : isnan(b) ? b : fmax(a, b); }
inline float q_min(float a, float b) { return isnan(a) ? a : isnan(b) ? b : fmin(a, b); }
inline float q_clamp(float x, float low, float high) { return x < low ? low : x > high ? high : x; }
inline float q_sigmoid(float x) { return 1.0f / (1.0f + exp(-x)); }
inline float q_gelu(float x) { return 0.5f * x * (1.0f + erf(x * 0.70710678118654752f)); }
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
