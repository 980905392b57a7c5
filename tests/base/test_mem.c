// SPDX-License-Identifier: MIT
//
// Heap, arena, statuses: alignment, growth, failure on demand, one line per failure.
#include "base/arena.h"
#include "base/mem.h"
#include "base/sanitized.h"
#include "base/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void allocations_are_aligned_and_counted(void **state) {
    (void)state;
    size_t before = qrn_alloc_live();
    for (size_t n = 0; n < 300; n += 7) {
        unsigned char *p = qrn_calloc(n);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % QRN_ALIGN, 0);
        for (size_t i = 0; i < n + QRN_TAIL; i++)
            assert_int_equal(p[i], 0);
        qrn_free(p);
    }
    qrn_free(NULL);
    assert_int_equal(qrn_alloc_live(), before);
}

#ifdef QRN_ASAN
int __asan_address_is_poisoned(void const volatile *p);
#endif

static void a_sanitizer_sees_both_ends_of_objects(void **state) {
    (void)state;
#ifdef QRN_ASAN
    char *p = qrn_alloc(100);
    qrn_arena *a = qrn_arena_create();
    char *first = qrn_arena_alloc(a, 10), *second = qrn_arena_alloc(a, 100);
    assert_true(__asan_address_is_poisoned(p - 1));
    assert_true(__asan_address_is_poisoned(first + 10));
    assert_true(__asan_address_is_poisoned(second + 100));
    assert_false(__asan_address_is_poisoned(first + 9) || __asan_address_is_poisoned(second + 99));
    qrn_arena_destroy(a);
    qrn_free(p);
#else
    skip();
#endif
}

static void sizes_that_overflow_are_refused(void **state) {
    (void)state;
    size_t out = 7;
    assert_null(qrn_alloc(SIZE_MAX));
    assert_null(qrn_alloc(SIZE_MAX - 8));
    assert_false(qrn_mul_size(SIZE_MAX / 2, 3, &out));
    assert_false(qrn_add_size(SIZE_MAX, 1, &out));
    assert_true(qrn_mul_size(6, 7, &out));
    assert_int_equal(out, 42);
}

static void the_nth_allocation_fails_on_demand(void **state) {
    (void)state;
    qrn_alloc_fail_at(2, false);
    void *a = qrn_alloc(1), *b = qrn_alloc(1), *c = qrn_alloc(1);
    assert_non_null(a);
    assert_null(b);
    assert_non_null(c);
    qrn_free(a);
    qrn_free(c);
    qrn_alloc_fail_at(1, true);
    assert_null(qrn_alloc(1));
    assert_null(qrn_alloc(1));
    qrn_alloc_fail_at(0, false);
}

static void realloc_keeps_the_old_bytes_and_survives_failure(void **state) {
    (void)state;
    char *p = qrn_strdup("quern");
    char *q = qrn_realloc(p, 6, 4096);
    assert_string_equal(q, "quern");
    qrn_alloc_fail_at(1, false);
    assert_null(qrn_realloc(q, 6, 8192));
    assert_string_equal(q, "quern");
    qrn_free(q);
}

static void arena_objects_do_not_overlap_and_die_together(void **state) {
    (void)state;
    size_t before = qrn_alloc_live(), total = 0;
    qrn_arena *a = qrn_arena_create();
    unsigned char *p[200];
    for (size_t i = 0; i < 200; i++) {
        size_t n = i * i % 7000;
        p[i] = qrn_arena_alloc(a, n);
        assert_non_null(p[i]);
        assert_int_equal((uintptr_t)p[i] % (n >= QRN_ALIGN ? QRN_ALIGN : 16), 0);
        memset(p[i], (int)i, n);
        total += n;
    }
    for (size_t i = 0; i < 200; i++)
        for (size_t j = 0; j < i * i % 7000; j++)
            assert_int_equal(p[i][j], (unsigned char)i);
    assert_int_equal(qrn_arena_used(a), total);
    assert_string_equal(qrn_arena_strdup(a, "x"), "x");
    assert_null(qrn_arena_alloc(a, SIZE_MAX - 3));
    qrn_arena_destroy(a);
    qrn_arena_destroy(NULL);
    assert_int_equal(qrn_alloc_live(), before);
}

// Large objects, of their own or in blocks that have grown, begin and end where they should.
static void arenas_of_many_megabytes_keep_their_objects_apart(void **state) {
    (void)state;
    size_t before = qrn_alloc_live();
    qrn_arena *a = qrn_arena_create();
    unsigned char *p[60];
    size_t n[60];
    for (size_t i = 0; i < 60; i++) {
        n[i] = i % 7 == 0 ? 3000001 + i : 100003 * (i % 5) + 1;
        p[i] = qrn_arena_reserve(a, n[i]);
        assert_non_null(p[i]);
        assert_int_equal((uintptr_t)p[i] % 16, 0);
        memset(p[i], (int)i, n[i]);
    }
    for (size_t i = 0; i < 60; i++)
        for (size_t j = 0; j < n[i]; j += 997)
            assert_int_equal(p[i][j] + p[i][n[i] - 1], 2 * i);
    qrn_arena_destroy(a);
    assert_int_equal(qrn_alloc_live(), before);
}

static void a_failure_leaves_its_line(void **state) {
    (void)state;
    qrn_message_clear();
    assert_string_equal(qrn_message(), "");
    assert_int_equal(QRN_FAIL(QRN_E_SHAPE, "rank %d, expected %d", 3, 4), QRN_E_SHAPE);
    assert_string_equal(qrn_message(), "rank 3, expected 4");
    char longer[4000];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    (void)QRN_FAIL(QRN_E_SHAPE, "%s", longer);
    assert_int_equal(strlen(qrn_message()), QRN_MESSAGE_MAX - 1);
    for (int s = 0; s < QRN_STATUS_COUNT; s++)
        assert_true(strlen(qrn_status_text((qrn_status)s)) > 0);
    assert_non_null(qrn_status_text((qrn_status)9999));
    qrn_message_clear();
}

static void spares_are_used_again_while_they_are_kept(void **state) {
    (void)state;
#if defined(QRN_ASAN) || defined(QRN_TSAN)
    skip();
#else
    const size_t large = (size_t)5 << 20;
    qrn_spares_keep();
    qrn_spares_keep();
    char *a = qrn_alloc(large), *b = qrn_alloc(large);
    memset(a, 1, large);
    qrn_free(a);
    qrn_free(b);
    char *c = qrn_alloc(large), *d = qrn_alloc(large - 1000), *e = qrn_alloc(large);
    assert_ptr_equal(c, b); // the newest
    assert_ptr_equal(d, a);
    assert_true(e != a && e != b);
    memset(e, 2, large + QRN_TAIL);
    qrn_free(d);
    qrn_spares_drop(); // one keeper is left
    assert_ptr_equal(qrn_alloc(large), a);
    qrn_free(a);
    char *half = qrn_alloc(large / 2), *more = qrn_alloc(2 * large);
    assert_true(half && more && half != a && more != a); // too much would be wasted, too small
    qrn_free(half);
    qrn_free(more);
    qrn_free(c);
    qrn_free(e);
    qrn_spares_drop();
    char *zero = qrn_calloc(large);
    for (size_t i = 0; i < large; i += 512)
        assert_int_equal(zero[i], 0);
    qrn_free(zero);
#endif
}

// Only whole pages go: what lies beside the part stays.
static void pages_that_are_left_go_and_their_neighbours_stay(void **state) {
    (void)state;
    enum { BYTES = 4 << 20, FROM = 100000, N = 3000000 };
    unsigned char *p = qrn_alloc(BYTES);
    assert_non_null(p);
    memset(p, 7, BYTES);
    qrn_leave_pages(p + FROM, N);
    qrn_leave_pages(p + 10, 20); // no page
    size_t gone = 0;
    for (size_t i = 0; i < BYTES; i++) {
        gone += p[i] == 0;
        if (i < FROM || i >= FROM + N)
            assert_int_equal(p[i], 7);
    }
#ifndef QRN_ASAN
    assert_true(gone > N - 2 * 65536);
#endif
    memset(p, 1, BYTES); // it can be used again
    qrn_free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_are_aligned_and_counted),
        cmocka_unit_test(a_sanitizer_sees_both_ends_of_objects),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(the_nth_allocation_fails_on_demand),
        cmocka_unit_test(realloc_keeps_the_old_bytes_and_survives_failure),
        cmocka_unit_test(arena_objects_do_not_overlap_and_die_together),
        cmocka_unit_test(arenas_of_many_megabytes_keep_their_objects_apart),
        cmocka_unit_test(a_failure_leaves_its_line),
        cmocka_unit_test(spares_are_used_again_while_they_are_kept),
        cmocka_unit_test(pages_that_are_left_go_and_their_neighbours_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
