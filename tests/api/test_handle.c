// SPDX-License-Identifier: MIT
//
// Handle table: every wrong handle is found out, and an empty table holds no memory.
#include "api/given.h"
#include "api/objects.h"
#include "pairs.h"

static void a_handle_gives_its_object_and_only_for_its_kind(void **state) {
    (void)state;
    int a, b;
    void *h = qrn_handle_new(QRN_KIND_LOG, &a), *g = qrn_handle_new(QRN_KIND_GRAPH, &b);
    assert_non_null(h);
    assert_ptr_equal(qrn_handle_get(QRN_KIND_LOG, h), &a);
    assert_ptr_equal(qrn_handle_get(QRN_KIND_GRAPH, g), &b);
    assert_null(qrn_handle_get(QRN_KIND_GRAPH, h));
    assert_null(qrn_handle_get(QRN_KIND_MEM, h));
    assert_null(qrn_handle_get(QRN_KIND_LOG, NULL));
    assert_null(qrn_handle_get(QRN_KIND_LOG, &a));
    assert_null(qrn_handle_get(QRN_KIND_LOG, (char *)h + 16)); // next slot
    assert_null(qrn_handle_get(QRN_KIND_LOG, (void *)UINTPTR_MAX));
    qrn_handle_free(h);
    qrn_handle_free(g);
}

static void a_freed_handle_never_lives_again(void **state) {
    (void)state;
    int obj;
    void *old[100];
    for (unsigned i = 0; i < 100; i++) {
        old[i] = qrn_handle_new(QRN_KIND_SIGNAL, &obj);
        for (unsigned k = 0; k < i; k++)
            assert_null(qrn_handle_get(QRN_KIND_SIGNAL, old[k]));
        assert_ptr_equal(qrn_handle_get(QRN_KIND_SIGNAL, old[i]), &obj);
        qrn_handle_free(old[i]); // the table is empty, and released, each time
        qrn_handle_free(old[i]);
    }
    void *last = qrn_handle_new(QRN_KIND_SIGNAL, &obj);
    qrn_handle_free(old[99]); // same slot, older serial
    assert_ptr_equal(qrn_handle_get(QRN_KIND_SIGNAL, last), &obj);
    qrn_handle_free(last);
    qrn_handle_free(NULL);
}

static void the_table_grows_and_goes_when_empty(void **state) {
    (void)state;
    enum { N = 5000 };
    static int objects[N];
    static void *handles[N];
    size_t live = qrn_alloc_live();
    for (unsigned i = 0; i < N; i++)
        handles[i] = qrn_handle_new(QRN_KIND_MEM, &objects[i]);
    assert_true(qrn_alloc_live() > live);
    for (unsigned i = 0; i < N; i += 2)
        qrn_handle_free(handles[i]);
    for (unsigned i = 0; i < N; i++) {
        assert_ptr_equal(qrn_handle_get(QRN_KIND_MEM, handles[i]), i % 2 ? &objects[i] : NULL);
        if (i % 2)
            assert_ptr_equal(qrn_handle_at(QRN_KIND_MEM, qrn_handle_slot(handles[i])), &objects[i]);
    }
    for (unsigned i = 1; i < N; i += 2)
        qrn_handle_free(handles[i]);
    assert_int_equal(qrn_alloc_live(), live);
    assert_null(qrn_handle_at(QRN_KIND_MEM, 0));
}

static void a_pointer_that_was_given_comes_back_once_and_for_its_kind(void **state) {
    (void)state;
    enum { N = 3000 };
    static int things[N];
    size_t live = qrn_alloc_live();
    assert_false(qrn_given_take(QRN_GIVEN_TEXT, &things[0]));
    for (unsigned i = 0; i < N; i++)
        assert_true(qrn_given_add(i % 2 ? QRN_GIVEN_TEXT : QRN_GIVEN_INFO, &things[i]));
    assert_false(qrn_given_take(QRN_GIVEN_TEXT, NULL));
    for (unsigned i = 0, at = 0; i < N; i++, at = (at + 1787) % N) { // in no order of theirs
        assert_false(qrn_given_take(at % 2 ? QRN_GIVEN_INFO : QRN_GIVEN_TEXT, &things[at]));
        assert_true(qrn_given_take(at % 2 ? QRN_GIVEN_TEXT : QRN_GIVEN_INFO, &things[at]));
        assert_false(qrn_given_take(at % 2 ? QRN_GIVEN_TEXT : QRN_GIVEN_INFO, &things[at]));
    }
    assert_int_equal(qrn_alloc_live(), live);
    qrn_alloc_fail_at(1, false);
    assert_false(qrn_given_add(QRN_GIVEN_TEXT, &things[0]));
    qrn_alloc_fail_at(0, false);
}

static void without_memory_there_is_no_handle(void **state) {
    (void)state;
    int obj;
    qrn_alloc_fail_at(1, false);
    void *h = qrn_handle_new(QRN_KIND_LOG, &obj);
    qrn_alloc_fail_at(0, false);
    assert_null(h);
    h = qrn_handle_new(QRN_KIND_LOG, &obj);
    assert_non_null(h);
    qrn_handle_free(h);
}

static void *churn(void *arg) {
    int obj;
    for (unsigned i = 0; i < 2000; i++) {
        void *h = qrn_handle_new(QRN_KIND_GRAPH, &obj);
        if (qrn_handle_get(QRN_KIND_GRAPH, h) != &obj)
            *(bool *)arg = false;
        qrn_handle_free(h);
        if (qrn_handle_get(QRN_KIND_GRAPH, h))
            *(bool *)arg = false;
    }
    return NULL;
}

static void threads_do_not_see_each_others_objects(void **state) {
    (void)state;
    pthread_t threads[4];
    bool good[4] = {true, true, true, true};
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, churn, &good[i]), 0);
    for (unsigned i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_true(good[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_handle_gives_its_object_and_only_for_its_kind),
        cmocka_unit_test(a_freed_handle_never_lives_again),
        cmocka_unit_test(the_table_grows_and_goes_when_empty),
        cmocka_unit_test(a_pointer_that_was_given_comes_back_once_and_for_its_kind),
        cmocka_unit_test(without_memory_there_is_no_handle),
        cmocka_unit_test(threads_do_not_see_each_others_objects),
    };
    return cmocka_run_group_tests_name("handle", tests, NULL, NULL);
}
