// SPDX-License-Identifier: MIT
//
// The strided copy against the nest of loops that defines it: random nests with steps of every
// sign, elements of every size, any number of tasks, buffers of exactly the right size at odd
// addresses. QUERN_TEST_SEED repeats a run.
#include "kernels/move/strided.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chance.h"

// Elements that the nest touches lie in [low, high] relative to the first.
static void reach(const qrn_strided *s, ptrdiff_t *low, ptrdiff_t *high, size_t *count) {
    *low = *high = 0;
    *count = 1;
    for (uint32_t i = 0; i < s->n_loops; i++) {
        ptrdiff_t span = s->n[i] ? (ptrdiff_t)(s->n[i] - 1) * s->step[i] : 0;
        *(span < 0 ? low : high) += span;
        *count *= s->n[i];
    }
}

// The definition: iteration k, written out by division.
static ptrdiff_t source_of(const qrn_strided *s, size_t k) {
    ptrdiff_t at = 0;
    for (uint32_t i = s->n_loops; i-- > 0;) {
        at += (ptrdiff_t)(k % s->n[i]) * s->step[i];
        k /= s->n[i];
    }
    return at;
}

static void check(const qrn_strided *s, size_t elem, uint32_t n_tasks) {
    ptrdiff_t low, high;
    size_t count;
    reach(s, &low, &high, &count);
    size_t in_bytes = (size_t)(high - low + 1) * elem, out_bytes = count * elem;
    unsigned char *in = malloc(in_bytes + 1), *out = malloc(out_bytes + 2);
    assert_non_null(in);
    assert_non_null(out);
    for (size_t i = 0; i < in_bytes; i++)
        in[i + 1] = (unsigned char)random_u32();
    memset(out, 0xA5, out_bytes + 2);
    const unsigned char *first = in + 1 - low * (ptrdiff_t)elem;
    for (uint32_t task = 0; task < n_tasks; task++)
        qrn_strided_copy(s, first, out + 1, elem, task, n_tasks);
    for (size_t k = 0; k < count; k++)
        if (memcmp(out + 1 + k * elem, first + source_of(s, k) * (ptrdiff_t)elem, elem) != 0)
            fail_msg("element %zu of %zu, %zu bytes each, %u loops, %u tasks", k, count, elem,
                     s->n_loops, n_tasks);
    assert_int_equal(out[0], 0xA5);
    assert_int_equal(out[out_bytes + 1], 0xA5);
    free(in);
    free(out);
}

static void random_nests_follow_the_definition(void **unused) {
    (void)unused;
    for (int round = 0; round < 3000; round++) {
        qrn_strided s = {0};
        uint32_t n_loops = between(0, 5);
        for (uint32_t i = 0; i < n_loops; i++) {
            qrn_strided_loop(&s, between(1, i < 2 ? 20 : 5), 0);
            s.step[i] = (ptrdiff_t)between(0, 12) - 6;
        }
        check(&s, (size_t)1 << between(0, 3), between(1, 5));
    }
}

// A dense tensor with its dimensions permuted, sizes around those of tiles and blocks.
static void permuted_tensors_follow_the_definition(void **unused) {
    (void)unused;
    for (int round = 0; round < 1500; round++) {
        uint32_t rank = between(2, 4), order[4] = {0, 1, 2, 3};
        size_t dims[4], step[4], next = 1;
        for (uint32_t i = rank; i-- > 0;) {
            dims[i] = i < 2 ? between(1, 70) : between(1, 9);
            step[i] = next;
            next *= dims[i];
        }
        for (uint32_t i = rank - 1; i > 0; i--) {
            uint32_t j = between(0, i), t = order[i];
            order[i] = order[j];
            order[j] = t;
        }
        qrn_strided s = {0};
        for (uint32_t i = 0; i < rank; i++)
            qrn_strided_loop(&s, dims[order[i]], step[order[i]]);
        check(&s, (size_t)1 << between(0, 3), between(1, 4));
    }
}

static void nothing_is_copied_by_a_loop_of_no_iterations(void **unused) {
    (void)unused;
    qrn_strided s = {0};
    qrn_strided_loop(&s, 3, 1);
    qrn_strided_loop(&s, 0, 1);
    char guard = 7;
    qrn_strided_copy(&s, &guard, &guard, 1, 0, 1);
    assert_int_equal(guard, 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_nests_follow_the_definition),
        cmocka_unit_test(permuted_tensors_follow_the_definition),
        cmocka_unit_test(nothing_is_copied_by_a_loop_of_no_iterations),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
