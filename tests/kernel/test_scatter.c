// SPDX-License-Identifier: MIT
//
// Scatter into a cache that the application gave as input and as output: one buffer, two, and two
// that overlap. The result is always x with the updates.
#include "kernels/move/gather.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { HEADS = 2, SLOTS = 5, SIZE = 3, COUNT = HEADS * SLOTS * SIZE };

// New rows for slot 3 of both heads; `shift`: elements from x to the result, in one block of
// memory.
static void scatter_row(const qrn_family *f, qrn_domain domain, int shift) {
    float *memory = calloc(3 * COUNT, sizeof *memory), updates[HEADS * SIZE], want[COUNT];
    int32_t index[HEADS * SIZE];
    assert_non_null(memory);
    float *x = memory + COUNT, *y = x + shift;
    bool nd = f == &qrn_family_scatter_nd;
    for (int i = 0; i < COUNT; i++)
        x[i] = want[i] = (float)(i + 1);
    for (int i = 0; i < HEADS * SIZE; i++) {
        updates[i] = -(float)(i + 1);
        index[i] = 3;
        want[(i / SIZE * SLOTS + 3) * SIZE + i % SIZE] = updates[i];
    }
    int32_t pairs[HEADS * 2] = {0, 3, 1, 3};
    qrn_view data = {.data = x, .dtype = QRN_DTYPE_F32, .rank = 3, .dims = {HEADS, SLOTS, SIZE}};
    qrn_view result = data;
    qrn_view which = {.data = nd ? pairs : index,
                      .dtype = QRN_DTYPE_I32,
                      .rank = nd ? 2 : 3,
                      .dims = {HEADS, nd ? 2 : 1, SIZE}};
    qrn_view rows = {.data = updates,
                     .dtype = QRN_DTYPE_F32,
                     .rank = nd ? 2 : 3,
                     .dims = {HEADS, nd ? SIZE : 1, SIZE}};
    result.data = y;
    qrn_scatter_args args = {.axis = 1};
    qrn_view *in[] = {&data, &which, &rows}, *out[] = {&result};
    qrn_kcall k = {.args = &args, .in = in, .out = out, .n_in = 3, .n_out = 1, .n_tasks = 1};
    for (uint32_t i = 0; i < f->n_rows; i++) {
        if (f->rows[i].domain != domain)
            continue;
        for (int j = 0; j < COUNT; j++)
            x[j] = (float)(j + 1);
        assert_int_equal(f->rows[i].fn(&k), QRN_OK);
        assert_memory_equal(y, want, sizeof want);
    }
    free(memory);
}

static void new_rows_reach_a_cache_wherever_the_result_lies(void **state) {
    (void)state;
    static const int shifts[] = {0, 1, -1, SIZE, -SLOTS * SIZE, COUNT, -COUNT};
    for (size_t i = 0; i < sizeof shifts / sizeof shifts[0]; i++) {
        scatter_row(&qrn_family_scatter_elements, QRN_DOMAIN_RAW, shifts[i]);
        scatter_row(&qrn_family_scatter_elements, QRN_DOMAIN_F32, shifts[i]);
        scatter_row(&qrn_family_scatter_nd, QRN_DOMAIN_RAW, shifts[i]);
        scatter_row(&qrn_family_scatter_nd, QRN_DOMAIN_F32, shifts[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_rows_reach_a_cache_wherever_the_result_lies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
