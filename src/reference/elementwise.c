// SPDX-License-Identifier: MIT
//
// The table of element-wise functions, and how runs of elements pass through them.
#include "reference/elementwise.h"

#include "reference/integer.h"

#include <math.h>

#define RUN 256 // elements that are numbers at a time

// --- The functions

static double reciprocal(double x) { return 1 / x; }
static double rsqrt(double x) { return 1 / sqrt(x); }
static double sigmoid(double x) { return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x)); }

// Remainders with the sign of b; where there is none, numpy's 0 has the sign of b, torch's that of
// a.
static double mod_torch(double a, double b) {
    double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
static double mod_numpy(double a, double b) {
    double r = mod_torch(a, b);
    return r == 0 ? copysign(0, b) : r;
}

#define WRAP(a, op, b) (int64_t)((uint64_t)(a)op(uint64_t)(b))

#define LOOP(name, T, read, second, W, write, expr)                                                \
    static void name(const qrn_map *m, qrn_num *y, qrn_num *const *x, size_t n) {                  \
        (void)m;                                                                                   \
        for (size_t i = 0; i < n; i++) {                                                           \
            T a = x[0][i].read, b = x[second][i].read;                                             \
            (void)a, (void)b;                                                                      \
            y[i].write = (W)(expr);                                                                \
        }                                                                                          \
    }
#define LOOPS(name, second, flt, sgn, uns)                                                         \
    LOOP(name##_f, double, f, second, double, f, flt)                                              \
    LOOP(name##_i, int64_t, i, second, int64_t, i, sgn)                                            \
    LOOP(name##_u, uint64_t, u, second, uint64_t, u, uns)
#define TRUTHS(name, second, flt, sgn, uns)                                                        \
    LOOP(name##_f, double, f, second, uint64_t, u, flt)                                            \
    LOOP(name##_i, int64_t, i, second, uint64_t, u, sgn)                                           \
    LOOP(name##_u, uint64_t, u, second, uint64_t, u, uns)
#define X1(name, ...) LOOPS(name, 0, __VA_ARGS__)
#define X2(name, ...) LOOPS(name, 1, __VA_ARGS__)
#define T1(name, ...) TRUTHS(name, 0, __VA_ARGS__)
#define T2(name, ...) TRUTHS(name, 1, __VA_ARGS__)
QRN_OP_LIST(X1, X2, T1, T2)
LOOP(angle, double, f, 1, double, f, atan2(a, b))

static void math(const qrn_map *m, qrn_num *y, qrn_num *const *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        y[i].f = m->math(x[0][i].f);
}

static void cast(const qrn_map *m, qrn_num *y, qrn_num *const *x, size_t n) {
    (void)m;
    for (size_t i = 0; i < n; i++)
        y[i] = x[0][i];
}

static void choose(const qrn_map *m, qrn_num *y, qrn_num *const *x, size_t n) {
    for (size_t i = 0; i < n; i++) {
        bool first = m->domain == QRN_KIND_FLOAT ? x[0][i].f != 0 : x[0][i].u != 0;
        y[i] = x[first ? 1 : 2][i];
    }
}

static void mean(const qrn_map *m, qrn_num *y, qrn_num *const *x, size_t n) {
    double by = m->joined + 1 == m->n ? m->n : 1;
    for (size_t i = 0; i < n; i++)
        y[i].f = (x[0][i].f + x[1][i].f) / by;
}

void qrn_map_dequantize(const qrn_map *m, qrn_num *y, qrn_num *const *x, size_t n) {
    (void)m;
    for (size_t i = 0; i < n; i++)
        y[i].f = (x[0][i].f - x[2][i].f) * x[1][i].f;
}

typedef void map_fn(const qrn_map *m, qrn_num *y, qrn_num *const *x, size_t n);
static const struct {
    map_fn *fn[3]; // by kind
    uint8_t arity;
    bool truth, floats; // integers become floats
    double (*math)(double);
} ops[] = {
// clang-format off
#define X(name, function)                                                                          \
    [QRN_OP_##name] = {.fn = {math, math, math}, .arity = 1, .floats = true, .math = function},
    QRN_MATH_LIST(X)
#undef X
#undef X1
#undef X2
#undef T1
#undef T2
#define ROW(name, n, t)                                                                            \
    [QRN_OP_##name] = {.fn = {name##_f, name##_i, name##_u}, .arity = n, .truth = t},
#define X1(name, ...) ROW(name, 1, false)
#define X2(name, ...) ROW(name, 2, false)
#define T1(name, ...) ROW(name, 1, true)
#define T2(name, ...) ROW(name, 2, true)
    QRN_OP_LIST(X1, X2, T1, T2)
    [QRN_OP_ATAN2] = {.fn = {angle, angle, angle}, .arity = 2, .floats = true},
    [QRN_OP_MEAN] = {.fn = {mean, mean, mean}, .arity = 2, .floats = true},
    [QRN_OP_CAST] = {.fn = {cast, cast, cast}, .arity = 1},
    [QRN_OP_SELECT] = {.fn = {choose, choose, choose}, .arity = 3},
    // clang-format on
};

// --- Runs

// One run of the merged views, from index i on.
static void map_run(qrn_map *m, const qrn_nd *y, const qrn_nd *x, uint32_t n, const qrn_index *i) {
    qrn_num buffers[3][RUN], *in[3] = {buffers[0], buffers[1], buffers[2]};
    uint32_t inner = y->rank - 1;
    size_t part;
    for (size_t done = 0; done < y->dims[inner]; done += part) {
        part = y->dims[inner] - done < RUN ? y->dims[inner] - done : RUN;
        m->joined = 0;
        for (uint32_t k = 0; k < n; k++) {
            ptrdiff_t at = qrn_index_offset(i, inner, x[k].steps);
            uint32_t to = k - m->joined;
            qrn_nums_read(in[to], x[k].dtype, x[k].data + at + (ptrdiff_t)done * x[k].steps[inner],
                          x[k].steps[inner], part, m->domain);
            if (to + 1 < m->arity)
                continue;
            m->joined = k;
            m->fn(m, in[0], in, part);
        }
        qrn_nums_cast(in[0], part, m->result, y->dtype, m->rule);
        ptrdiff_t to = qrn_index_offset(i, inner, y->steps) + (ptrdiff_t)done * y->steps[inner];
        qrn_nums_store(in[0], y->dtype, y->data + to, y->steps[inner], part);
    }
}

void qrn_nd_map(qrn_map *m, const qrn_nd *result, qrn_nd *x, uint32_t n) {
    qrn_nd y = *result;
    qrn_index i = {{0}};
    m->n = n;
    if (y.count == 0)
        return;
    for (uint32_t k = 0; k < n; k++)
        qrn_nd_expand(&x[k], y.rank, y.dims);
    qrn_nd_merge(&y, x, n);
    do
        map_run(m, &y, x, n, &i);
    while (qrn_index_next(&i, y.rank - 1, y.dims));
}

qrn_kind qrn_nd_domain(const qrn_nd *y, const qrn_nd *x, uint32_t n) {
    qrn_kind kind = y->kind == QRN_KIND_FLOAT ? QRN_KIND_FLOAT : QRN_KIND_UNSIGNED;
    for (uint32_t k = 0; k < n; k++)
        kind = x[k].kind < kind ? x[k].kind : kind;
    return kind;
}

void qrn_nd_apply(qrn_op op, const qrn_nd *y, qrn_nd *x, uint32_t n, qrn_cast rule) {
    qrn_kind kind = ops[op].floats ? QRN_KIND_FLOAT : qrn_nd_domain(y, x, n);
    qrn_map m = {.fn = ops[op].fn[kind],
                 .arity = ops[op].arity,
                 .domain = kind,
                 .result = ops[op].truth ? QRN_KIND_UNSIGNED : kind,
                 .rule = rule,
                 .math = ops[op].math};
    if (op == QRN_OP_CAST && x->kind != QRN_KIND_FLOAT)
        m.domain = m.result = x->kind; // once, straight to the type of y
    qrn_nd_map(&m, y, x, n);
}
