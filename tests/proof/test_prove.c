// SPDX-License-Identifier: MIT
//
// The proofs find what they are for: families of two rows, the second the reference, the first with
// one fault each.
#include "prove.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define N 100

static uint8_t source[N], target[N];

static uint32_t three_tasks(const qrn_kcall *k, uint32_t n_threads) {
    (void)k;
    return n_threads < 3 ? n_threads : 3;
}

// y = x + `add`, elements [begin, end) of the task.
static void add_to(const qrn_kcall *k, uint8_t add, size_t more) {
    size_t begin, end;
    const uint8_t *x = k->in[0]->data;
    uint8_t *y = k->out[0]->data;
    qrn_split(N, 1, k->task, k->n_tasks, &begin, &end);
    for (size_t i = begin; i < end + more; i++)
        y[i] = (uint8_t)(x[i] + add);
}

static qrn_status reference(const qrn_kcall *k) {
    add_to(k, 1, 0);
    return QRN_OK;
}
static qrn_status element_reference(const qrn_kcall *k) {
    size_t begin, end;
    qrn_elements(k, 1, &begin, &end);
    for (size_t i = begin; i < end; i++)
        ((uint8_t *)k->out[0]->data)[i] = (uint8_t)(((const uint8_t *)k->in[0]->data)[i] + 1);
    return QRN_OK;
}
static qrn_status last_differs(const qrn_kcall *k) {
    add_to(k, 1, 0);
    if (k->task + 1 == k->n_tasks)
        ((uint8_t *)k->out[0]->data)[N - 1] ^= 1;
    return QRN_OK;
}
static qrn_status tasks_differ(const qrn_kcall *k) {
    add_to(k, k->n_tasks == 3 ? 2 : 1, 0);
    return QRN_OK;
}
static qrn_status order_matters(const qrn_kcall *k) { // one element of the next task
    add_to(k, k->task ? 1 : 2, k->task + 1 < k->n_tasks ? 1 : 0);
    return QRN_OK;
}
static qrn_status writes_input(const qrn_kcall *k) {
    add_to(k, 1, 0);
    ((uint8_t *)k->in[0]->data)[0]++;
    return QRN_OK;
}
static qrn_status reads_behind(const qrn_kcall *k) {
    add_to(k, 1, 0);
    volatile uint8_t seen = ((const uint8_t *)k->in[0]->data)[N];
    (void)seen;
    return QRN_OK;
}
static qrn_status reads_before(const qrn_kcall *k) {
    add_to(k, 1, 0);
    volatile uint8_t seen = ((const uint8_t *)k->in[0]->data)[-1];
    (void)seen;
    return QRN_OK;
}
static qrn_status writes_behind(const qrn_kcall *k) {
    add_to(k, 1, 0);
    ((volatile uint8_t *)k->out[0]->data)[N] = 0;
    return QRN_OK;
}
static qrn_status other_status(const qrn_kcall *k) {
    add_to(k, 1, 0);
    return QRN_E_ARGUMENT;
}
static qrn_status clears_first(const qrn_kcall *k) { // not in place
    memset(k->out[0]->data, 0, k->task ? 0 : N);
    for (size_t i = 0; i < N; i++)
        ((uint8_t *)k->out[0]->data)[i] = (uint8_t)(((const uint8_t *)k->in[0]->data)[i] + 1);
    return QRN_OK;
}

static qrn_status ignores_range(const qrn_kcall *k) { // in place and in pieces: adds again
    qrn_kcall whole = *k;
    whole.begin = whole.end = 0;
    return element_reference(&whole);
}
static qrn_status tells(const qrn_kcall *k) {
    reference(k);
    size_t begin, end;
    qrn_split(N, 1, k->task, k->n_tasks, &begin, &end);
    qrn_report(k, begin, end);
    return QRN_OK;
}
static qrn_status tells_twice(const qrn_kcall *k) {
    tells(k);
    qrn_report(k, 3, 4);
    return QRN_OK;
}
static qrn_status forgets_to_tell(const qrn_kcall *k) {
    reference(k);
    qrn_report(k, 0, k->task ? 0 : N - 1);
    return QRN_OK;
}
static qrn_status tells_early(const qrn_kcall *k) {
    size_t begin, end;
    qrn_split(N, 1, k->task, k->n_tasks, &begin, &end);
    qrn_report(k, begin, end);
    return reference(k);
}

// What the family of the tried row promises.
static bool family_tells, family_element_wise;

// Proves a call of a family whose first row is fn; 1: it holds, 0: it does not.
static bool holds_for(qrn_kernel_fn fn, uint32_t in_place, const char **why) {
    static proof p;
    qrn_kernel rows[2] = {
        {.name = "tried", .domain = QRN_DOMAIN_RAW, .fn = fn, .tasks = three_tasks},
        {.name = "made_ref",
         .domain = QRN_DOMAIN_RAW,
         .fn = family_tells          ? tells
               : family_element_wise ? element_reference
                                     : reference,
         .tasks = three_tasks}};
    qrn_family f = {.name = "made",
                    .rows = rows,
                    .n_rows = 2,
                    .in_place = in_place,
                    .element_wise = family_element_wise,
                    .reports = family_tells};
    qrn_view x = {.data = source, .dtype = QRN_DTYPE_U8, .rank = 1, .dims = {N}};
    qrn_view y = {.data = target, .dtype = QRN_DTYPE_U8, .rank = 1, .dims = {N}};
    qrn_view *in[] = {&x}, *out[] = {&y};
    size_t bytes[] = {N, N};
    for (uint32_t i = 0; i < N; i++)
        source[i] = (uint8_t)(i * 37);
    qrn_kcall k = {.in = in, .out = out, .n_in = 1, .n_out = 1, .n_tasks = 1};
    p = (proof){.family = &f, .domain = QRN_DOMAIN_RAW, .call = &k, .bytes = bytes};
    bool ok = prove(&p);
    *why = p.why;
    return ok;
}

static void what_is_right_holds(void **state) {
    (void)state;
    const char *why;
    assert_true(holds_for(reference, 1, &why));
    for (uint32_t i = 0; i < N; i++) // the call has its result
        assert_int_equal(target[i], (uint8_t)(source[i] + 1));
    assert_true(holds_for(clears_first, 0, &why));
}

static void what_is_wrong_is_named(void **state) {
    (void)state;
    static const struct {
        qrn_kernel_fn fn;
        uint32_t in_place;
        const char *word;
    } faults[] = {
        {last_differs, 0, "not the result of made_ref"},
        {other_status, 0, "not the result of made_ref"},
        {tasks_differ, 0, "another result with 3 threads"},
        {order_matters, 0, "another result with"},
        {writes_input, 0, "writes to an input"},
        {clears_first, 1, "in place"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        const char *why;
        assert_false(holds_for(faults[i].fn, faults[i].in_place, &why));
        if (!strstr(why, faults[i].word) || !strstr(why, "tried"))
            fail_msg("fault %zu: '%s'", i, why);
    }
}

static void promises_of_families_are_kept(void **state) {
    (void)state;
    const char *why;
    family_tells = true;
    assert_true(holds_for(tells, 0, &why));
    assert_false(holds_for(tells_twice, 0, &why));
    assert_non_null(strstr(why, "tells of an element twice"));
    assert_false(holds_for(forgets_to_tell, 0, &why));
    assert_non_null(strstr(why, "does not tell of an element"));
    assert_false(holds_for(tells_early, 0, &why));
    assert_non_null(strstr(why, "changes what it has told of"));
    family_tells = false;
    family_element_wise = true;
    assert_true(holds_for(element_reference, 1, &why));
    assert_false(holds_for(ignores_range, 1, &why));
    assert_non_null(strstr(why, "in pieces"));
    family_element_wise = false;
}

// The same in a process of its own, which a fault ends; what it says is not shown.
static bool faults_for(qrn_kernel_fn fn) {
    pid_t child = fork();
    if (child == 0) {
        const char *why;
        close(STDERR_FILENO);
        _exit(holds_for(fn, 0, &why) ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return !WIFEXITED(status) || WEXITSTATUS(status) > 1;
}

static void accesses_outside_end_the_program(void **state) {
    (void)state;
    assert_false(faults_for(reference));
    assert_true(faults_for(reads_behind));
    assert_true(faults_for(reads_before));
    assert_true(faults_for(writes_behind));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_right_holds),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(promises_of_families_are_kept),
        cmocka_unit_test(accesses_outside_end_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
