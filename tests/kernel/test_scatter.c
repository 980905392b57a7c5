// SPDX-License-Identifier: MIT
//
// Scatter into a cache that the application gave as input and as output: one buffer, two, and two
// that overlap. The result is always x with the updates. GatherElements and ScatterElements on
// random shapes and axes, with rows longer than a run of places, against their definition: indices
// of both signs, of several types, and out of range.
#include "kernels/move/gather.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chance.h"

#include "../proof/prove_call.h"

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

static void new_rows_reach_a_cache_wherever_the_result_lies(void **unused) {
    (void)unused;
    static const int shifts[] = {0, 1, -1, SIZE, -SLOTS * SIZE, COUNT, -COUNT};
    for (size_t i = 0; i < sizeof shifts / sizeof shifts[0]; i++) {
        scatter_row(&qrn_family_scatter_elements, QRN_DOMAIN_RAW, shifts[i]);
        scatter_row(&qrn_family_scatter_elements, QRN_DOMAIN_F32, shifts[i]);
        scatter_row(&qrn_family_scatter_nd, QRN_DOMAIN_RAW, shifts[i]);
        scatter_row(&qrn_family_scatter_nd, QRN_DOMAIN_F32, shifts[i]);
    }
}

typedef struct elements {
    qrn_view x, index, part; // part: what is gathered, or the updates
    uint32_t axis;
} elements;

static qrn_view view_of(qrn_dtype t, uint32_t rank, const uint32_t *dims) {
    qrn_view v = {.dtype = t, .rank = rank};
    memcpy(v.dims, dims, rank * sizeof *dims);
    size_t bytes = qrn_view_count(&v) * qrn_view_elem(&v);
    uint8_t *data = v.data = malloc(bytes);
    assert_non_null(data);
    for (size_t i = 0; i < bytes; i++)
        data[i] = (uint8_t)random_u32();
    return v;
}

static void put_index(const qrn_view *v, size_t i, int64_t value) {
    if (v->dtype == QRN_DTYPE_I32)
        ((int32_t *)v->data)[i] = (int32_t)value;
    else if (v->dtype == QRN_DTYPE_I8)
        ((int8_t *)v->data)[i] = (int8_t)value;
    else
        ((uint32_t *)v->data)[i] = (uint32_t)value;
}

static elements random_elements(void) {
    static const qrn_dtype types[] = {QRN_DTYPE_U8, QRN_DTYPE_I16, QRN_DTYPE_F32, QRN_DTYPE_I64};
    static const qrn_dtype index[] = {QRN_DTYPE_I32, QRN_DTYPE_I32, QRN_DTYPE_U32, QRN_DTYPE_I8};
    uint32_t rank = between(1, 3), dims[3], some[3];
    elements e = {.axis = between(0, rank - 1)};
    for (uint32_t d = 0; d < rank; d++) {
        dims[d] = d + 1 == rank ? between(1, 600) : between(1, 5);
        some[d] = d == e.axis ? between(1, dims[d] + 9) : between(1, dims[d]);
    }
    qrn_dtype t = types[between(0, 3)];
    e.x = view_of(t, rank, dims);
    e.part = view_of(t, rank, some);
    e.index = view_of(index[between(0, 3)], rank, some);
    uint32_t dim = dims[e.axis], most = e.index.dtype == QRN_DTYPE_I8 && dim > 128 ? 128 : dim;
    bool signs = between(0, 1);
    for (size_t i = 0; i < qrn_view_count(&e.index); i++) {
        int64_t at = between(0, most - 1);
        bool below = e.index.dtype != QRN_DTYPE_U32 && between(0, 1) && dim <= 128;
        below |= e.index.dtype == QRN_DTYPE_I32 && between(0, 1);
        put_index(&e.index, i, signs && below ? at - dim : at);
    }
    return e;
}

// The element of x that index number i names, coordinate by coordinate.
static size_t named(const elements *e, size_t i) {
    size_t at = 0, scale = 1, rest = i;
    for (uint32_t d = e->x.rank; d-- > 0;) {
        int64_t c = (int64_t)(rest % e->index.dims[d]);
        rest /= e->index.dims[d];
        if (d == e->axis)
            c = qrn_view_int(&e->index, i);
        at += (size_t)(c < 0 ? c + e->x.dims[d] : c) * scale;
        scale *= e->x.dims[d];
    }
    return at;
}

static void free_elements(const elements *e) {
    free(e->x.data);
    free(e->index.data);
    free(e->part.data);
}

static void elements_are_gathered_where_the_definition_says(void **unused) {
    (void)unused;
    for (uint32_t round = 0; round < 200; round++) {
        elements e = random_elements();
        size_t n = qrn_view_count(&e.index), elem = qrn_view_elem(&e.x);
        qrn_axis_args args = {.axis = e.axis};
        qrn_view *in[] = {&e.x, &e.index}, *out[] = {&e.part};
        qrn_kcall k = {.args = &args, .in = in, .out = out, .n_in = 2, .n_out = 1, .n_tasks = 1};
        const qrn_kernel *row = &qrn_family_gather_elements.rows[0];
        prove_call(&qrn_family_gather_elements, QRN_DOMAIN_RAW, &k);
        assert_int_equal(row->fn(&k), QRN_OK);
        for (size_t i = 0; i < n; i++)
            assert_memory_equal((char *)e.part.data + i * elem,
                                (char *)e.x.data + named(&e, i) * elem, elem);
        uint32_t dim = e.x.dims[e.axis];
        if (e.index.dtype == QRN_DTYPE_I32) {
            const int64_t bad[] = {dim, -(int64_t)dim - 1, INT32_MAX, INT32_MIN};
            put_index(&e.index, between(0, (uint32_t)n - 1), bad[round % 4]);
            assert_int_equal(row->fn(&k), QRN_E_ARGUMENT);
        }
        free_elements(&e);
    }
}

static void elements_are_scattered_where_the_definition_says(void **unused) {
    (void)unused;
    for (uint32_t round = 0; round < 200; round++) {
        elements e = random_elements();
        size_t n = qrn_view_count(&e.index), elem = qrn_view_elem(&e.x);
        size_t bytes = qrn_view_count(&e.x) * elem;
        qrn_scatter_args args = {.axis = e.axis};
        qrn_view y = e.x, *in[] = {&e.x, &e.index, &e.part}, *out[] = {&y};
        char *want = malloc(bytes);
        y.data = malloc(bytes);
        assert_true(want && y.data);
        memcpy(want, e.x.data, bytes);
        for (size_t i = 0; i < n; i++)
            memcpy(want + named(&e, i) * elem, (char *)e.part.data + i * elem, elem);
        qrn_kcall k = {.args = &args, .in = in, .out = out, .n_in = 3, .n_out = 1, .n_tasks = 1};
        const qrn_kernel *row = &qrn_family_scatter_elements.rows[0];
        assert_int_equal(row->fn(&k), QRN_OK);
        assert_memory_equal(y.data, want, bytes);
        uint32_t dim = e.x.dims[e.axis];
        if (e.index.dtype == QRN_DTYPE_I32) {
            const int64_t bad[] = {dim, -(int64_t)dim - 1, INT32_MAX, INT32_MIN};
            put_index(&e.index, between(0, (uint32_t)n - 1), bad[round % 4]);
            assert_int_equal(row->fn(&k), QRN_E_ARGUMENT);
        }
        free(want);
        free(y.data);
        free_elements(&e);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_rows_reach_a_cache_wherever_the_result_lies),
        cmocka_unit_test_setup(elements_are_gathered_where_the_definition_says, set_up),
        cmocka_unit_test_setup(elements_are_scattered_where_the_definition_says, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
