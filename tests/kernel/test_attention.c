// SPDX-License-Identifier: MIT
//
// Attention: every row that this machine can run against the formula in double, on random shapes
// and layouts, keys in one place and in two, f32, fp16 and bytes, all rules of rounding. Parts of a
// call must add up to the same bytes, however many there are. QUERN_TEST_SEED repeats a run.
#include "base/cpu.h"
#include "base/fp16.h"
#include "kernels/attention/attention.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chance.h"

static float random_float(void) { return (float)(random_u32() / 2147483648.0 - 1.0); }

// Lays dimensions out one behind the other in a random order, the last `fixed` of them fastest;
// returns how many elements there are. A dimension of size 0 has a stride of 0: it repeats.
static size_t lay_out(uint32_t n, const size_t *dims, uint32_t fixed, uint32_t *strides) {
    uint32_t order[6], count = 0;
    for (uint32_t i = 0; i < n; i++)
        order[count++] = i;
    for (uint32_t i = n - fixed; i > 1; i--) {
        uint32_t k = between(0, i - 1), t = order[k];
        order[k] = order[i - 1];
        order[i - 1] = t;
    }
    size_t next = 1;
    for (uint32_t i = n; i-- > 0;) {
        strides[order[i]] = dims[order[i]] ? (uint32_t)next : 0;
        next *= dims[order[i]] ? dims[order[i]] : 1;
    }
    return next;
}

static qrn_view make(size_t n) {
    qrn_view v = {.dtype = QRN_DTYPE_F32, .rank = 1, .dims = {(uint32_t)n}};
    float *x = malloc(n * sizeof *x); // exactly: sanitizers see any overrun
    assert_non_null(x);
    for (size_t i = 0; i < n; i++)
        x[i] = random_float();
    v.data = x;
    return v;
}

typedef struct call {
    qrn_attention_args a;
    qrn_view views[QRN_ATT_IN], y;
    qrn_quant quants[QRN_ATT_IN]; // of keys and values in bytes
    qrn_view *in[QRN_ATT_IN], *out[1];
    qrn_kcall k;
    bool large; // scores are, and so are their errors
} call;

static void add_operand(call *c, uint32_t i, size_t n) {
    c->views[i] = make(n);
    c->in[i] = &c->views[i];
}

// The same numbers in fp16; with `huge` one of them is infinite, which only some rules keep.
static void to_fp16(qrn_view *v, bool huge) {
    size_t n = qrn_view_count(v);
    uint16_t *x = malloc(n * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++)
        x[i] = qrn_f16_from_f64((double)((const float *)v->data)[i]);
    if (huge)
        x[between(0, (uint32_t)n - 1)] = 0x7c00;
    free(v->data);
    v->data = x;
    v->dtype = QRN_DTYPE_F16;
}

// The same numbers in 8 bits, steps of about a hundredth.
static void to_bytes(call *c, uint32_t operand) {
    qrn_view *v = &c->views[operand];
    bool with_sign = between(0, 1);
    int32_t zero = (int32_t)between(0, 40) + (with_sign ? -20 : 108);
    size_t n = qrn_view_count(v);
    uint8_t *x = malloc(n);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++) {
        int32_t q = (int32_t)lround((double)((const float *)v->data)[i] * 100) + zero;
        x[i] = (uint8_t)q;
    }
    free(v->data);
    c->quants[operand] = (qrn_quant){.kind = QRN_QUANT_TENSOR, .scale = 0.0101f, .offset = -zero};
    v->data = x;
    v->dtype = with_sign ? QRN_DTYPE_SQ8 : QRN_DTYPE_UQ8;
    v->quant = &c->quants[operand];
}

// Keys or values of a segment; keys of the second layout lie side by side.
static void add_keys(call *c, uint32_t operand, uint32_t keys, uint32_t cols, bool side_by_side,
                     uint32_t *strides) {
    const qrn_attention_args *a = &c->a;
    size_t dims[] = {between(0, 9) ? a->batch[0] : 0, a->batch[1], keys, cols};
    size_t swapped[] = {dims[0], dims[1], cols, keys};
    add_operand(c, operand, lay_out(4, side_by_side ? swapped : dims, 1, strides + 1));
    uint32_t kind = between(0, 2);
    if (kind == 1)
        to_fp16(&c->views[operand], a->rule == QRN_FP16_WIDE_RANGE && between(0, 9) == 0);
    if (kind == 2)
        to_bytes(c, operand);
    if (side_by_side) {
        uint32_t t = strides[QRN_ATT_KEY];
        strides[QRN_ATT_KEY] = strides[QRN_ATT_KEY_COL];
        strides[QRN_ATT_KEY_COL] = t;
    }
}

static void hide_some(call *c) {
    float *m = c->views[QRN_ATT_MASK].data;
    float low = between(0, 1) ? -1e4f : -INFINITY;
    for (size_t i = 0; i < qrn_view_count(&c->views[QRN_ATT_MASK]); i++)
        m[i] = between(0, 2) ? 0.0f : low;
}

static void begin(call *c, uint32_t most_rows) {
    qrn_attention_args *a = &c->a;
    memset(c, 0, sizeof *c);
    *a = (qrn_attention_args){.batch = {between(1, 2), between(1, 3)},
                              .rows = {between(1, 3), between(1, most_rows)},
                              .keys = {between(1, 300), between(0, 1) ? between(1, 70) : 0},
                              .depth = between(1, 80),
                              .width = between(1, 80),
                              .scale = 0.25 + between(0, 8) * 0.125,
                              .rule = between(QRN_FP16_OFF, QRN_FP16_AS_F32)};
    size_t keys = a->keys[0] + a->keys[1];
    a->causal = a->rows[1] <= keys && between(0, 3) == 0;
    const size_t q[] = {a->batch[0], a->batch[1], a->rows[0], a->rows[1], a->depth};
    const size_t y[] = {a->batch[0], a->batch[1], a->rows[0], a->rows[1], a->width};
    const size_t m[] = {0, between(0, 1) ? a->batch[1] : 0, between(0, 1) ? a->rows[0] : 0,
                        between(0, 3) ? a->rows[1] : 0, keys};
    add_operand(c, QRN_ATT_Q, lay_out(5, q, between(0, 1), a->q + 1));
    add_keys(c, QRN_ATT_K, a->keys[0], a->depth, between(0, 2) == 0, a->k);
    add_keys(c, QRN_ATT_V, a->keys[0], a->width, false, a->v);
    if (a->keys[1]) {
        add_keys(c, QRN_ATT_MORE_K, a->keys[1], a->depth, between(0, 2) == 0, a->more_k);
        add_keys(c, QRN_ATT_MORE_V, a->keys[1], a->width, false, a->more_v);
    }
    if (between(0, 2)) {
        add_operand(c, QRN_ATT_MASK, lay_out(5, m, between(0, 5) > 0, a->mask + 1));
        hide_some(c);
    }
    c->y = make(lay_out(5, y, 1, a->y + 1));
    c->out[0] = &c->y;
    c->k = (qrn_kcall){.args = a, .in = c->in, .out = c->out, .n_in = QRN_ATT_IN, .n_out = 1};
}

static void end(call *c) {
    for (uint32_t i = 0; i < QRN_ATT_IN; i++)
        free(c->views[i].data);
    free(c->y.data);
}

// --- the formula

static double load(const call *c, uint32_t operand, size_t at) {
    const qrn_view *v = &c->views[operand];
    if (v->quant) // not rounded
        return (double)v->quant->scale *
               ((v->dtype == QRN_DTYPE_UQ8 ? ((const uint8_t *)v->data)[at]
                                           : ((const int8_t *)v->data)[at]) +
                v->quant->offset);
    float x = v->dtype == QRN_DTYPE_F16 ? qrn_f16_to_f32(((const uint16_t *)v->data)[at])
                                        : ((const float *)v->data)[at];
    return qrn_fp16_round((double)x, (qrn_fp16_rule)c->a.rule);
}

static double of_key(const call *c, uint32_t operand, const uint32_t *index, size_t key,
                     size_t col) {
    const qrn_attention_args *a = &c->a;
    bool more = key >= a->keys[0], keys = operand == QRN_ATT_K;
    const uint32_t *s = keys ? (more ? a->more_k : a->k) : (more ? a->more_v : a->v);
    size_t at = (size_t)index[0] * s[QRN_ATT_BATCH0] + (size_t)index[1] * s[QRN_ATT_BATCH1] +
                (more ? key - a->keys[0] : key) * s[QRN_ATT_KEY] + col * s[QRN_ATT_KEY_COL];
    return load(c, more ? operand + 2 : operand, at);
}

static size_t row_at(const uint32_t *s, const uint32_t *i) {
    return (size_t)i[0] * s[QRN_ATT_BATCH0] + (size_t)i[1] * s[QRN_ATT_BATCH1] +
           (size_t)i[2] * s[QRN_ATT_ROW0] + (size_t)i[3] * s[QRN_ATT_ROW1];
}

static double rounded(const call *c, double x) {
    return qrn_fp16_round(x, (qrn_fp16_rule)c->a.rule);
}

// Has a key the mask -infinity, or what the rule makes of it?
static bool is_hidden(const call *c, const uint32_t *index, size_t key) {
    const uint32_t *s = c->a.mask;
    return c->in[QRN_ATT_MASK] &&
           load(c, QRN_ATT_MASK, row_at(s, index) + key * s[QRN_ATT_COL]) <= rounded(c, -INFINITY);
}

// Result of row [batch, batch, row, row], element w.
static void expected(const call *c, const uint32_t *index, double *want) {
    const qrn_attention_args *a = &c->a;
    size_t keys = a->keys[0] + a->keys[1];
    size_t sees = a->causal ? keys - a->rows[1] + index[3] + 1 : keys;
    double *e = calloc(keys, sizeof *e), top = -INFINITY, sum = 0;
    assert_non_null(e);
    for (size_t j = 0; j < sees; j++) {
        for (size_t d = 0; d < a->depth; d++)
            e[j] += load(c, QRN_ATT_Q, row_at(a->q, index) + d * a->q[QRN_ATT_COL]) *
                    of_key(c, QRN_ATT_K, index, j, d);
        e[j] = rounded(c, rounded(c, e[j]) * a->scale);
        if (c->in[QRN_ATT_MASK])
            e[j] = rounded(
                c, e[j] + load(c, QRN_ATT_MASK, row_at(a->mask, index) + j * a->mask[QRN_ATT_COL]));
        e[j] = is_hidden(c, index, j) ? -INFINITY : e[j];
        top = fmax(top, e[j]);
    }
    for (size_t w = 0; w < a->width; w++)
        want[w] = 0;
    bool hidden = top <= (a->rule == QRN_FP16_WIDE_RANGE ? -1e5 : -INFINITY);
    for (size_t j = 0; j < sees && !hidden; j++) {
        double weight = exp(e[j] - top);
        if (is_hidden(c, index, j))
            continue; // whatever lies there
        sum += weight;
        for (size_t w = 0; w < a->width; w++)
            want[w] += weight * of_key(c, QRN_ATT_V, index, j, w);
    }
    for (size_t w = 0; w < a->width && sum > 0; w++)
        want[w] /= sum;
    free(e);
}

static void check(const call *c, const qrn_kernel *row) {
    const qrn_attention_args *a = &c->a;
    bool rounds = a->rule != QRN_FP16_OFF && a->rule != QRN_FP16_AS_F32;
    double want[128], limit = rounds ? 4e-3 : c->large ? 1e-4 : 3e-6;
    uint32_t i[4];
    for (i[0] = 0; i[0] < a->batch[0]; i[0]++)
        for (i[1] = 0; i[1] < a->batch[1]; i[1]++)
            for (i[2] = 0; i[2] < a->rows[0]; i[2]++)
                for (i[3] = 0; i[3] < a->rows[1]; i[3]++) {
                    expected(c, i, want);
                    for (size_t w = 0; w < a->width; w++) {
                        size_t at = row_at(a->y, i) + w * a->y[QRN_ATT_COL];
                        double got = (double)((const float *)c->y.data)[at];
                        if (!(fabs(got - want[w]) <= limit * fmax(1, fabs(want[w]))))
                            fail_msg("%s: row [%u,%u,%u,%u] element %zu is %.9g, expected %.9g",
                                     row->name, i[0], i[1], i[2], i[3], w, got, want[w]);
                    }
                }
}

// --- the rows

static void run_row(const qrn_kernel *row, call *c, uint32_t n_tasks) {
    qrn_kcall *k = &c->k;
    k->n_tasks = n_tasks;
    size_t bytes = row->scratch ? row->scratch(k) : 0;
    k->scratch = malloc(bytes ? bytes : 1);
    assert_non_null(k->scratch);
    memset(k->scratch, 0xff, bytes); // NaN
    if (row->counts)
        memset(k->scratch, 0, QRN_COUNTER);
    for (k->task = n_tasks; k->task-- > 0;)
        assert_int_equal(row->fn(k), QRN_OK);
    free(k->scratch);
}

static void check_rows(call *c) {
    size_t bytes = qrn_view_count(&c->y) * sizeof(float);
    void *first = malloc(bytes);
    assert_non_null(first);
    for (uint32_t i = 0; i < qrn_family_attention.n_rows; i++) {
        const qrn_kernel *row = &qrn_family_attention.rows[i];
        if (qrn_kernel_rejection(row, QRN_DOMAIN_F32, &c->k, qrn_cpu_isa()))
            continue;
        for (uint32_t n_tasks = 1; n_tasks <= 5; n_tasks += 2) {
            memset(c->y.data, 0xff, bytes);
            run_row(row, c, n_tasks);
            if (n_tasks > 1)
                assert_memory_equal(first, c->y.data, bytes);
            memcpy(first, c->y.data, bytes);
        }
        check(c, row);
    }
    free(first);
}

static void few_rows_of_queries_agree_with_the_formula(void **unused) {
    (void)unused;
    for (int round = 0; round < 60; round++) {
        call c;
        begin(&c, 5);
        check_rows(&c);
        end(&c);
    }
}

static void many_rows_of_queries_agree_with_the_formula(void **unused) {
    (void)unused;
    for (int round = 0; round < 25; round++) {
        call c;
        begin(&c, 60);
        check_rows(&c);
        end(&c);
    }
}

// Keys that every row's mask hides are left out, unless their scores may be so large that they
// count: here the hidden ones win, by far.
static void hidden_keys_count_where_their_scores_are_large(void **unused) {
    (void)unused;
    enum { ROWS = 40, KEYS = 256, SIZE = 8 };
    call c = {.a = {.batch = {1, 1},
                    .rows = {1, ROWS},
                    .keys = {KEYS, 0},
                    .depth = SIZE,
                    .width = SIZE,
                    .scale = 1.0,
                    .q = {0, 0, 0, 0, SIZE, 1},
                    .y = {0, 0, 0, 0, SIZE, 1},
                    .k = {0, 0, 0, SIZE, 1},
                    .v = {0, 0, 0, SIZE, 1},
                    .mask = {0, 0, 0, 0, 0, 1}}};
    add_operand(&c, QRN_ATT_Q, ROWS * SIZE);
    add_operand(&c, QRN_ATT_K, KEYS * SIZE);
    add_operand(&c, QRN_ATT_V, KEYS * SIZE);
    add_operand(&c, QRN_ATT_MASK, KEYS);
    c.y = make(ROWS * SIZE);
    c.out[0] = &c.y;
    c.k = (qrn_kcall){.args = &c.a, .in = c.in, .out = c.out, .n_in = QRN_ATT_IN, .n_out = 1};
    for (int large = 0; large < 2; large++) {
        c.large = large;
        for (size_t i = 0; i < ROWS * SIZE; i++)
            ((float *)c.views[QRN_ATT_Q].data)[i] = large ? 8.0f : random_float();
        for (size_t i = 0; i < KEYS * SIZE; i++)
            ((float *)c.views[QRN_ATT_K].data)[i] =
                large && i / SIZE >= KEYS / 2 ? 10.0f + random_float() : random_float();
        for (size_t i = 0; i < KEYS; i++)
            ((float *)c.views[QRN_ATT_MASK].data)[i] = i >= KEYS / 2 ? -300.0f : 0.0f;
        check_rows(&c);
    }
    end(&c);
}

// A cache of which the first keys are used, and a new key behind it: what the mask hides is not
// read, so that NaN there does no harm.
static void hidden_parts_of_a_cache_are_not_read(void **unused) {
    (void)unused;
    enum { ROWS = 3, CACHE = 300, SIZE = 24, PART = 128 }; // keys of a part
    for (uint32_t round = 0; round < 40; round++) {
        uint32_t used = between(0, 2 * PART), near = (used + 15) / 16 * 16;
        call c = {.a = {.batch = {1, 2},
                        .rows = {1, ROWS},
                        .keys = {CACHE, 1},
                        .depth = SIZE,
                        .width = SIZE,
                        .scale = 0.5,
                        .rule = between(QRN_FP16_OFF, QRN_FP16_AS_F32),
                        .q = {0, 0, ROWS * SIZE, 0, SIZE, 1},
                        .y = {0, 0, ROWS * SIZE, 0, SIZE, 1},
                        .k = {0, 0, CACHE * SIZE, SIZE, 1},
                        .v = {0, 0, CACHE * SIZE, SIZE, 1},
                        .more_k = {0, 0, SIZE, SIZE, 1},
                        .more_v = {0, 0, SIZE, SIZE, 1},
                        .mask = {0, 0, 0, 0, 0, 1}}};
        const size_t sizes[] = {2 * ROWS * SIZE, 2 * CACHE * SIZE, 2 * CACHE * SIZE,
                                2 * SIZE,        2 * SIZE,         CACHE + 1};
        for (uint32_t i = 0; i < QRN_ATT_IN; i++)
            add_operand(&c, i, sizes[i]);
        for (size_t i = 0; i <= CACHE; i++)
            ((float *)c.views[QRN_ATT_MASK].data)[i] = i >= used && i < CACHE ? -INFINITY : 0.0f;
        for (uint32_t i = QRN_ATT_K; i <= QRN_ATT_V; i++) {
            to_fp16(&c.views[i], false);
            for (size_t k = near; k < CACHE / 16 * 16; k++) // those of the last 16 are read
                for (size_t b = 0; b < 2; b++)
                    ((uint16_t *)c.views[i].data)[(b * CACHE + k) * SIZE] = 0x7e00;
        }
        c.y = make(2 * ROWS * SIZE);
        c.out[0] = &c.y;
        c.k = (qrn_kcall){.args = &c.a, .in = c.in, .out = c.out, .n_in = QRN_ATT_IN, .n_out = 1};
        check_rows(&c);
        end(&c);
    }
}

// NaN among the scores is no number that may be left out.
static void nan_in_a_query_makes_its_row_nan(void **unused) {
    (void)unused;
    for (uint32_t rows = 1; rows <= 40; rows += 13) {
        call c;
        begin(&c, 1);
        end(&c);
        c.a = (qrn_attention_args){.batch = {1, 1},
                                   .rows = {1, rows},
                                   .keys = {50, 0},
                                   .depth = 8,
                                   .width = 8,
                                   .scale = 1.0,
                                   .q = {0, 0, 0, 0, 8, 1},
                                   .y = {0, 0, 0, 0, 8, 1},
                                   .k = {0, 0, 0, 8, 1},
                                   .v = {0, 0, 0, 8, 1}};
        memset(c.in, 0, sizeof c.in);
        memset(c.views, 0, sizeof c.views);
        add_operand(&c, QRN_ATT_Q, rows * 8);
        add_operand(&c, QRN_ATT_K, 50 * 8);
        add_operand(&c, QRN_ATT_V, 50 * 8);
        c.y = make(rows * 8);
        ((float *)c.views[QRN_ATT_Q].data)[(rows - 1) * 8 + 3] = NAN;
        for (uint32_t i = 0; i < qrn_family_attention.n_rows; i++) {
            const qrn_kernel *row = &qrn_family_attention.rows[i];
            if (qrn_kernel_rejection(row, QRN_DOMAIN_F32, &c.k, qrn_cpu_isa()))
                continue;
            run_row(row, &c, 1);
            assert_true(isnan(((const float *)c.y.data)[(rows - 1) * 8]));
            assert_true(rows == 1 || !isnan(((const float *)c.y.data)[0]));
        }
        end(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_rows_of_queries_agree_with_the_formula),
        cmocka_unit_test(many_rows_of_queries_agree_with_the_formula),
        cmocka_unit_test(hidden_keys_count_where_their_scores_are_large),
        cmocka_unit_test(hidden_parts_of_a_cache_are_not_read),
        cmocka_unit_test(nan_in_a_query_makes_its_row_nan),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
