// SPDX-License-Identifier: MIT
//
// Handle table: every wrong handle is found out, what is in use stays, and who wants
// an object alone waits for the others.
#include "api/given.h"
#include "core/own.h"
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
        qrn_handle_free(old[i]); // the table is empty each time
        qrn_handle_free(old[i]);
    }
    void *last = qrn_handle_new(QRN_KIND_SIGNAL, &obj);
    qrn_handle_free(old[99]); // same slot, older serial
    assert_ptr_equal(qrn_handle_get(QRN_KIND_SIGNAL, last), &obj);
    qrn_handle_free(last);
    qrn_handle_free(NULL);
}

static void the_table_grows(void **state) {
    (void)state;
    enum { N = 5000 };
    static int objects[N];
    static void *handles[N];
    size_t live = qrn_alloc_live();
    for (unsigned i = 0; i < N; i++)
        handles[i] = qrn_handle_new(QRN_KIND_MEM, &objects[i]);
    for (unsigned i = 0; i < N; i += 2)
        qrn_handle_free(handles[i]);
    for (unsigned i = 0; i < N; i++) {
        assert_ptr_equal(qrn_handle_get(QRN_KIND_MEM, handles[i]), i % 2 ? &objects[i] : NULL);
        assert_ptr_equal(qrn_handle_at(QRN_KIND_MEM, qrn_handle_slot(handles[i])),
                         i % 2 ? handles[i] : NULL);
    }
    for (unsigned i = 1; i < N; i += 2)
        qrn_handle_free(handles[i]);
    assert_int_equal(qrn_alloc_live(), live);
    assert_null(qrn_handle_at(QRN_KIND_MEM, 0));
    assert_null(qrn_handle_at(QRN_KIND_MEM, QRN_HANDLE_SLOTS));
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

// The first ones need no memory.
static void without_memory_there_is_no_handle(void **state) {
    (void)state;
    enum { N = 20000 }; // more than the tests before have made
    static void *handles[N];
    int obj;
    unsigned n = 0;
    qrn_alloc_fail_at(1, true);
    while (n < N && (handles[n] = qrn_handle_new(QRN_KIND_LOG, &obj)))
        n++;
    qrn_alloc_fail_at(0, false);
    assert_true(n >= 64 && n < N);
    handles[n] = qrn_handle_new(QRN_KIND_LOG, &obj);
    assert_non_null(handles[n]);
    for (unsigned i = 0; i <= n; i++)
        qrn_handle_free(handles[i]);
}

static void call_from_a_callback(void *h, const int *obj) {
    QRN_API_CALL;
    void *found = NULL;
    assert_int_equal(qrn_pin_last(QRN_KIND_CONTEXT, h, true, &found), QRN_E_IN_USE);
    assert_null(qrn_pin_alone(QRN_KIND_CONTEXT, h));
    assert_true(*qrn_pin_reason() != '\0');
    assert_ptr_equal(qrn_pin(QRN_KIND_CONTEXT, h), obj);
    assert_null(qrn_pin(QRN_KIND_CONTEXT, obj));
    assert_true(*qrn_pin_reason() == '\0');
}

static void call_and_free(void *h, int *obj) {
    QRN_API_CALL;
    assert_ptr_equal(qrn_pin(QRN_KIND_CONTEXT, h), obj);
    assert_ptr_equal(qrn_pin(QRN_KIND_CONTEXT, h), obj); // the same pin
    assert_null(qrn_pin(QRN_KIND_GRAPH, h));
    call_from_a_callback(h, obj);
    qrn_handle_free(h);
    assert_null(qrn_handle_get(QRN_KIND_CONTEXT, h));
    // Its place is not given away before the call ends.
    void *next = qrn_handle_new(QRN_KIND_CONTEXT, obj);
    assert_int_not_equal(qrn_handle_slot(next), qrn_handle_slot(h));
    qrn_handle_free(next);
}

static void expect_alone(void *h) {
    QRN_API_CALL;
    assert_null(qrn_pin(QRN_KIND_CONTEXT, h));
}

static void call_alone(void *h, const int *obj) {
    QRN_API_CALL;
    void *found = NULL;
    assert_int_equal(qrn_pin_last(QRN_KIND_CONTEXT, h, false, &found), QRN_OK);
    assert_ptr_equal(found, obj);
    expect_alone(h);
}

static void what_a_call_pins_stays_and_ends_with_the_call(void **state) {
    (void)state;
    int obj;
    void *h = qrn_handle_new(QRN_KIND_CONTEXT, &obj);
    assert_null(qrn_pin(QRN_KIND_CONTEXT, h)); // outside of a call
    call_and_free(h, &obj);
    h = qrn_handle_new(QRN_KIND_CONTEXT, &obj);
    call_alone(h, &obj);
    qrn_handle_free(h);
}

typedef struct waiter {
    void *handle;
    atomic_bool failed;
} waiter;

// Has the object alone: nobody who is in there may see it changed.
static void *change(void *arg) {
    waiter *w = arg;
    for (int i = 0; i < 2000; i++) {
        QRN_API_CALL;
        int *o = qrn_pin_alone(QRN_KIND_CONTEXT, w->handle);
        if (!o)
            return NULL;
        *o += 1;
    }
    return NULL;
}

static void *look(void *arg) {
    waiter *w = arg;
    for (int i = 0; i < 2000; i++) {
        QRN_API_CALL;
        const volatile int *o = qrn_pin(QRN_KIND_CONTEXT, w->handle);
        if (!o)
            return NULL;
        int before = *o;
        if (*o != before)
            atomic_store(&w->failed, true);
    }
    return NULL;
}

static void alone_and_together_exclude_each_other(void **state) {
    (void)state;
    int object = 0;
    waiter w = {.handle = qrn_handle_new(QRN_KIND_CONTEXT, &object)};
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&t[i], NULL, i % 2 ? look : change, &w), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    assert_false(atomic_load(&w.failed));
    assert_int_equal(object, 4000);
    qrn_handle_free(w.handle);
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
        cmocka_unit_test(the_table_grows),
        cmocka_unit_test(a_pointer_that_was_given_comes_back_once_and_for_its_kind),
        cmocka_unit_test(without_memory_there_is_no_handle),
        cmocka_unit_test(what_a_call_pins_stays_and_ends_with_the_call),
        cmocka_unit_test(alone_and_together_exclude_each_other),
        cmocka_unit_test(threads_do_not_see_each_others_objects),
    };
    return cmocka_run_group_tests_name("handle", tests, NULL, NULL);
}
