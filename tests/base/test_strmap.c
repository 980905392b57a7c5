// SPDX-License-Identifier: MIT
//
// The string map: what was put in is found until it is taken out, in any order.
#include "base/strmap.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { N = 500 };
static char keys[N][16];

static void keys_that_were_removed_are_gone_and_the_others_stay(void **state) {
    (void)state;
    size_t live = qrn_alloc_live();
    qrn_strmap m = {0};
    qrn_strmap_remove(&m, "none");
    for (int i = 0; i < N; i++) {
        snprintf(keys[i], sizeof keys[i], "k%d", i);
        assert_true(qrn_strmap_put(&m, keys[i], keys[i]));
    }
    for (int i = 0, at = 0; i < N; i++, at = (at + 177) % N) { // no common factor with N
        qrn_strmap_remove(&m, keys[at]);
        qrn_strmap_remove(&m, keys[at]);
        assert_int_equal(m.n, N - 1 - i);
        for (int k = 0, other = 0; k < N; k++, other = (other + 177) % N)
            assert_ptr_equal(qrn_strmap_get(&m, keys[other]), k <= i ? NULL : keys[other]);
    }
    qrn_strmap_clear(&m);
    assert_int_equal(qrn_alloc_live(), live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_that_were_removed_are_gone_and_the_others_stay),
    };
    return cmocka_run_group_tests_name("strmap", tests, NULL, NULL);
}
