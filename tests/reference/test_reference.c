// SPDX-License-Identifier: MIT
//
// The reference library on random views (permuted, sliced, broadcast) against loops that work out
// the place of every element from its index. Folding and the ExecuTorch runner have tests of their
// own against numpy; they rarely reach strides, which these do.
#include "reference/array.h"
#include "reference/elementwise.h"
#include "reference/reduce.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../kernel/chance.h"

#define ROOM ((size_t)1 << 16)
#define ROUNDS 3000

static const qrn_dtype types[] = {QRN_DTYPE_U8, QRN_DTYPE_I16, QRN_DTYPE_F32, QRN_DTYPE_I64};

// A random view of `memory`: a dense array, then a few changes. Has at most ROOM elements.
static qrn_nd random_view(qrn_dtype t, unsigned char *memory, bool broadcast) {
    qrn_nd a;
    size_t dims[5];
    uint32_t rank = between(0, 4);
    for (uint32_t d = 0; d < rank; d++)
        dims[d] = between(0, 40) == 0 ? 0
                                      : between(1, between(0, 3) ? 4
                                                   : rank < 3    ? 90
                                                   : rank < 4    ? 20
                                                                 : 9);
    assert_true(qrn_nd_init(&a, t, rank, dims, memory));
    assert_true(a.count * a.elem <= ROOM);
    for (uint32_t k = between(0, 3); k > 0 && a.rank; k--) {
        uint32_t d = between(0, a.rank - 1), perm[5];
        size_t n = a.dims[d];
        switch (between(0, broadcast ? 3 : 2)) {
        case 0: // a slice, perhaps backwards
            if (n) {
                int64_t step = (int64_t)between(1, 3), start = between(0, (uint32_t)n - 1);
                size_t forward = (n - 1 - (size_t)start) / (size_t)step + 1;
                size_t backward = (size_t)start / (size_t)step + 1;
                bool back = between(0, 1);
                qrn_nd_slice(&a, d, start, back ? -step : step, back ? backward : forward);
            }
            break;
        case 1: // two dimensions change places
            for (uint32_t i = 0; i < a.rank; i++)
                perm[i] = i;
            perm[d] = a.rank - 1;
            perm[a.rank - 1] = d;
            qrn_nd_permute(&a, perm);
            break;
        case 2:
            qrn_nd_insert(&a, d, 1, 8);
            break;
        default:
            if (n == 1) {
                memcpy(dims, a.dims, sizeof dims);
                dims[d] = between(1, 5);
                assert_true(a.rank <= 5 && qrn_nd_expand(&a, a.rank, dims));
            }
        }
        if (a.rank == 5)
            break;
    }
    return a.count <= ROOM ? a : qrn_nd_scalar(t, memory);
}

// Where element i (in row-major order) of a view lies.
static unsigned char *place(const qrn_nd *a, size_t i) {
    unsigned char *p = a->data;
    for (uint32_t d = a->rank; d-- > 0; i /= a->dims[d])
        p += (ptrdiff_t)(i % a->dims[d]) * a->steps[d];
    return p;
}

static unsigned char *noise(void) {
    unsigned char *p = malloc(ROOM);
    for (size_t i = 0; i < ROOM; i++)
        p[i] = (unsigned char)random_u32();
    return p;
}

static void copies_touch_what_the_views_name_and_nothing_else(void **unused) {
    (void)unused;
    unsigned char *from = noise(), *to = noise(), *want = malloc(ROOM);
    for (int round = 0; round < ROUNDS; round++) {
        qrn_nd y = random_view(types[between(0, 3)], to, false), x = y;
        x.data = from;
        // The same shape with other strides: the dimensions lie in another order.
        ptrdiff_t step = (ptrdiff_t)x.elem;
        uint32_t first = y.rank ? between(0, y.rank - 1) : 0;
        for (uint32_t k = 0; k < y.rank; k++) {
            uint32_t d = (first + k) % y.rank;
            x.steps[d] = between(0, 9) ? step : 0;
            step *= (ptrdiff_t)(x.dims[d] ? x.dims[d] : 1);
        }
        memcpy(want, to, ROOM);
        for (size_t i = 0; i < y.count; i++)
            memcpy(want + (place(&y, i) - to), place(&x, i), y.elem);
        qrn_nd_copy(&y, &x);
        assert_memory_equal(to, want, ROOM);
    }
    free(from);
    free(to);
    free(want);
}

static void elements_meet_their_broadcast_partners(void **unused) {
    (void)unused;
    unsigned char *from = noise();
    int64_t *out = malloc(ROOM * sizeof *out);
    for (int round = 0; round < ROUNDS; round++) {
        qrn_nd a = random_view(QRN_DTYPE_I16, from, true), y, x[2] = {a, a};
        size_t dims[5];
        for (uint32_t d = 0; d < a.rank; d++) { // the second one has 1 where chance says so
            dims[d] = a.dims[d];
            if (between(0, 2) == 0 && a.dims[d])
                qrn_nd_slice(&x[1], d, between(0, (uint32_t)a.dims[d] - 1), 1, 1);
        }
        qrn_nd b = x[1];
        assert_true(qrn_nd_init(&y, QRN_DTYPE_I64, a.rank, dims, out));
        qrn_nd_apply(QRN_OP_SUB, &y, x, 2, QRN_CAST_SATURATE);
        for (size_t i = 0; i < y.count; i++) {
            size_t rest = i;
            unsigned char *p = b.data;
            for (uint32_t d = y.rank; d-- > 0; rest /= y.dims[d])
                p += b.dims[d] == 1 ? 0 : (ptrdiff_t)(rest % y.dims[d]) * b.steps[d];
            int16_t left, right;
            memcpy(&left, place(&a, i), sizeof left);
            memcpy(&right, p, sizeof right);
            assert_int_equal(out[i], left - right);
        }
    }
    free(from);
    free(out);
}

static void reductions_take_every_element_once(void **unused) {
    (void)unused;
    unsigned char *from = noise();
    int64_t *sums = malloc(ROOM * sizeof *sums), *most = malloc(ROOM * sizeof *most);
    for (int round = 0; round < ROUNDS; round++) {
        qrn_nd x = random_view(QRN_DTYPE_I16, from, true), y;
        uint32_t mask = between(0, (1u << x.rank) - 1);
        size_t dims[5];
        uint32_t rank = qrn_nd_reduced(&x, mask, between(0, 1), dims);
        assert_true(qrn_nd_init(&y, QRN_DTYPE_I64, rank, dims, sums));
        qrn_nd_reduce(QRN_ND_SUM, &y, &x, mask, QRN_CAST_WRAP);
        y.data = (unsigned char *)most;
        if (x.count)
            qrn_nd_arg(&y, &x, mask, false, false);
        for (size_t i = 0; i < x.count; i++) { // take each element from the sum of its place
            size_t rest = i, at = 0, among = 0, step = 1, among_step = 1;
            for (uint32_t d = x.rank; d-- > 0; rest /= x.dims[d]) {
                bool gone = mask >> d & 1;
                *(gone ? &among : &at) += rest % x.dims[d] * *(gone ? &among_step : &step);
                *(gone ? &among_step : &step) *= x.dims[d];
            }
            int16_t v;
            memcpy(&v, place(&x, i), sizeof v);
            sums[at] -= v;
            if ((int64_t)among == most[at]) // nothing is larger than the largest
                most[at] = INT64_MIN / 2 + v;
        }
        for (size_t i = 0; i < y.count; i++)
            assert_int_equal(sums[i], 0);
        for (size_t i = 0; i < x.count; i++) {
            size_t rest = i, at = 0, step = 1;
            for (uint32_t d = x.rank; d-- > 0; rest /= x.dims[d])
                if (!(mask >> d & 1)) {
                    at += rest % x.dims[d] * step;
                    step *= x.dims[d];
                }
            int16_t v;
            memcpy(&v, place(&x, i), sizeof v);
            assert_true(INT64_MIN / 2 + v <= most[at]);
        }
    }
    free(from);
    free(sums);
    free(most);
}

static void slices_are_those_of_numpy(void **unused) {
    (void)unused;
    for (int64_t n = 0; n < 6; n++)
        for (int64_t start = -8; start < 9; start++)
            for (int64_t end = -8; end < 9; end++)
                for (int64_t step = -7; step < 8; step++) {
                    if (step == 0)
                        continue;
                    int64_t first = start, by = step, from = start < 0 ? start + n : start;
                    int64_t to = end < 0 ? end + n : end;
                    size_t count = qrn_slice_of((size_t)n, &first, end, &by), seen = 0;
                    if (from < 0 && step > 0)
                        from = 0;
                    if (from >= n && step < 0)
                        from = n - 1;
                    // Every index from `from` on that lies before the end and inside.
                    for (int64_t i = from; i >= 0 && i < n && (step > 0 ? i < to : i > to);
                         i += step, seen++)
                        assert_int_equal(first + (int64_t)seen * by, i);
                    assert_int_equal(count, seen);
                }
}

static void casts_saturate_or_wrap(void **unused) {
    (void)unused;
    static const struct {
        double x;
        qrn_dtype to;
        qrn_cast rule;
        int64_t want;
    } cases[] = {
        {300, QRN_DTYPE_U8, QRN_CAST_SATURATE, 255},   {300, QRN_DTYPE_U8, QRN_CAST_WRAP, 44},
        {-1.9, QRN_DTYPE_U8, QRN_CAST_SATURATE, 0},    {-1.9, QRN_DTYPE_U8, QRN_CAST_WRAP, 255},
        {-129, QRN_DTYPE_I8, QRN_CAST_SATURATE, -128}, {-129, QRN_DTYPE_I8, QRN_CAST_WRAP, 127},
        {17, QRN_DTYPE_UQ4, QRN_CAST_SATURATE, 1},     {-9, QRN_DTYPE_SQ4, QRN_CAST_SATURATE, 7},
        {0.4, QRN_DTYPE_B8, QRN_CAST_SATURATE, 1},     {-0.0, QRN_DTYPE_B8, QRN_CAST_WRAP, 0},
        {1e30, QRN_DTYPE_I64, QRN_CAST_WRAP, 0},       {1e30, QRN_DTYPE_I64, 0, INT64_MAX},
        {-1e30, QRN_DTYPE_I64, 0, INT64_MIN},          {1e30, QRN_DTYPE_U64, 0, -1},
        {NAN, QRN_DTYPE_I32, QRN_CAST_SATURATE, 0},    {NAN, QRN_DTYPE_I32, QRN_CAST_WRAP, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        qrn_num v = {.f = cases[i].x}, bits = {.u = 0}, back;
        qrn_nums_cast(&v, 1, QRN_KIND_FLOAT, cases[i].to, cases[i].rule);
        qrn_nums_store(&v, cases[i].to, &bits, 0, 1);
        qrn_nums_load(&back, cases[i].to, &bits, 0, 1);
        assert_int_equal(back.i, cases[i].want);
    }
    // 2^24 + 1 and a bit far below: the integer rounds up, the double on the way would not.
    qrn_num v = {.i = (((int64_t)1 << 24) + 1) * ((int64_t)1 << 38) + 1};
    qrn_nums_cast(&v, 1, QRN_KIND_SIGNED, QRN_DTYPE_F32, QRN_CAST_SATURATE);
    assert_true((float)v.f == 0x1.000002p62f);
}

static void indices_are_checked_before_they_are_followed(void **unused) {
    (void)unused;
    float table[6] = {0, 1, 2, 3, 4, 5}, got[4] = {0};
    int64_t list[2] = {-1, 2}, bad = 0;
    qrn_nd x, y, index;
    assert_true(qrn_nd_init(&x, QRN_DTYPE_F32, 2, (size_t[]){2, 3}, table));
    assert_true(qrn_nd_init(&y, QRN_DTYPE_F32, 2, (size_t[]){2, 2}, got));
    assert_true(qrn_nd_init(&index, QRN_DTYPE_I64, 1, (size_t[]){2}, list));
    assert_false(qrn_nd_gather(&y, &x, 0, &index, &bad));
    assert_int_equal(bad, 2);
    assert_true(qrn_nd_gather(&y, &x, 1, &index, &bad));
    assert_true(got[0] == 2 && got[1] == 2 && got[2] == 5 && got[3] == 5);
    assert_false(qrn_nd_init(&x, QRN_DTYPE_F32, 2, (size_t[]){SIZE_MAX / 2, 4}, table));
    assert_false(qrn_nd_init(&x, QRN_DTYPE_U8, QRN_ND_RANK + 1, (size_t[QRN_ND_RANK + 1]){0}, got));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_touch_what_the_views_name_and_nothing_else),
        cmocka_unit_test(elements_meet_their_broadcast_partners),
        cmocka_unit_test(reductions_take_every_element_once),
        cmocka_unit_test(slices_are_those_of_numpy),
        cmocka_unit_test(casts_saturate_or_wrap),
        cmocka_unit_test(indices_are_checked_before_they_are_followed),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
