// SPDX-License-Identifier: MIT
//
// Random graphs of moves, sums and conversions: the same bytes with all passes, with each of them
// left out, and with none.
#include "small_graph.h"

#include "compiler/passes.h"

#include <stdio.h>
#include <string.h>

#define GRAPHS 1000
#define NODES 14

static small_graph g;
static uint32_t seed;
static uint32_t known[MAX_TENSORS], n_known; // tensors that have been written

static uint32_t below(uint32_t n) {
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 16) % n;
}

static uint32_t count(uint32_t t) {
    uint32_t n = 1;
    for (uint32_t d = 0; d < g.tensors[t].v1.rank; d++)
        n *= g.dims[t][d];
    return n;
}

// A tensor for a result: now and then the application wants it.
static uint32_t result(const uint32_t *shape) {
    bool wanted = below(5) == 0;
    return small_tensor(&g, wanted ? QNN_TENSOR_TYPE_APP_READ : QNN_TENSOR_TYPE_NATIVE,
                        QNN_DATATYPE_FLOAT_32, shape);
}

static void shape_of(uint32_t t, uint32_t shape[5]) {
    memset(shape, 0, 5 * sizeof *shape);
    memcpy(shape, g.dims[t], g.tensors[t].v1.rank * sizeof *shape);
}

static uint32_t add_unary(uint32_t x) {
    static const char *const ops[] = {QNN_OP_RELU, QNN_OP_ELEMENT_WISE_NEG,
                                      QNN_OP_ELEMENT_WISE_ABS};
    uint32_t shape[5];
    shape_of(x, shape);
    uint32_t y = result(shape);
    small_unary(&g, ops[below(3)], x, y);
    return y;
}

static uint32_t add_reshape(uint32_t x) {
    uint32_t n = count(x), part = 1;
    for (uint32_t d = 2; d <= 4 && part == 1; d++)
        part = n % d == 0 && below(2) ? d : 1;
    uint32_t y = below(2) ? result(SHAPE(part, n / part)) : result(SHAPE(1, n / part, 1, part));
    small_unary(&g, QNN_OP_RESHAPE, x, y);
    return y;
}

static uint32_t add_transpose(uint32_t x) {
    uint32_t rank = g.tensors[x].v1.rank, perm[4] = {0, 1, 2, 3}, shape[5] = {0};
    for (uint32_t d = 0; d < rank; d++) {
        uint32_t e = below(rank), t = perm[d];
        perm[d] = perm[e];
        perm[e] = t;
    }
    for (uint32_t d = 0; d < rank; d++)
        shape[d] = g.dims[x][perm[d]];
    uint32_t y = result(shape);
    small_transpose(&g, x, y, perm);
    return y;
}

static uint32_t add_concat(uint32_t x) {
    uint32_t axis = below(g.tensors[x].v1.rank), parts[3] = {x}, n = 1, shape[5];
    shape_of(x, shape);
    for (uint32_t i = 0; i < n_known && n < 3; i++) {
        uint32_t t = known[below(n_known)];
        bool fits = g.tensors[t].v1.rank == g.tensors[x].v1.rank;
        for (uint32_t d = 0; fits && d < g.tensors[x].v1.rank; d++)
            fits = d == axis || g.dims[t][d] == g.dims[x][d];
        if (!fits)
            continue;
        parts[n++] = t;
        shape[axis] += g.dims[t][axis];
    }
    uint32_t y = result(shape);
    small_concat(&g, parts, n, y, axis);
    return y;
}

static uint32_t add_split(uint32_t x) {
    uint32_t axis = below(g.tensors[x].v1.rank), shape[5], whole = g.dims[x][axis];
    if (whole < 2)
        return add_unary(x);
    shape_of(x, shape);
    uint32_t first = 1 + below(whole - 1), out[2];
    shape[axis] = first;
    out[0] = result(shape);
    shape[axis] = whole - first;
    out[1] = result(shape);
    small_split(&g, x, out, 2, axis);
    known[n_known++] = out[0];
    return out[1];
}

static uint32_t add_slice(uint32_t x) {
    uint32_t rank = g.tensors[x].v1.rank, shape[5];
    int32_t ranges[12];
    shape_of(x, shape);
    for (uint32_t d = 0; d < rank; d++) {
        uint32_t begin = below(3) ? 0 : below(shape[d]), n = 1 + below(shape[d] - begin);
        n = below(2) ? shape[d] - begin : n;
        memcpy(&ranges[3 * d], (int32_t[]){(int32_t)begin, (int32_t)(begin + n), 1}, 12);
        shape[d] = n;
    }
    uint32_t y = result(shape);
    small_slice(&g, x, y, ranges);
    return y;
}

static uint32_t add_sum(uint32_t x) {
    uint32_t shape[5], other = x;
    shape_of(x, shape);
    for (uint32_t i = 0; i < n_known; i++)
        if (g.tensors[known[i]].v1.rank == g.tensors[x].v1.rank &&
            memcmp(g.dims[known[i]], g.dims[x], g.tensors[x].v1.rank * 4) == 0 && below(2))
            other = known[i];
    uint32_t y = result(shape);
    small_binary(&g, QNN_OP_ELEMENT_WISE_ADD, below(2) ? x : other, other, y);
    return y;
}

// Codes and back, with the same encoding or another.
static uint32_t add_codes(uint32_t x) {
    uint32_t shape[5];
    shape_of(x, shape);
    float first = 0.75f, second = below(2) ? 0.75f : 0.5f;
    uint32_t q =
        small_encoded(&g, QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_UFIXED_POINT_8, shape, first, -120);
    uint32_t r = small_tensor(&g, QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_FLOAT_32, shape);
    uint32_t again =
        small_encoded(&g, QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_UFIXED_POINT_8, shape, second, -120);
    uint32_t y = result(shape);
    small_unary(&g, QNN_OP_QUANTIZE, x, q);
    small_unary(&g, QNN_OP_DEQUANTIZE, q, r);
    small_unary(&g, QNN_OP_QUANTIZE, r, again);
    small_unary(&g, QNN_OP_DEQUANTIZE, again, y);
    return y;
}

static void build(uint32_t number) {
    static uint32_t (*const add[])(uint32_t) = {add_unary,  add_reshape, add_transpose,
                                                add_concat, add_concat,  add_split,
                                                add_slice,  add_sum,     add_codes};
    seed = number * 2654435761u + 12345u;
    n_known = 0;
    known[n_known++] = INPUT(&g, 1 + below(3), 2 + below(4), 1 + below(5));
    known[n_known++] = INPUT(&g, 1, 2 + below(4), 2, 1 + below(5));
    for (uint32_t i = 0; i < NODES && g.n_tensors < MAX_TENSORS - 8; i++) {
        uint32_t from = below(3) ? n_known - 1 - below(n_known < 4 ? n_known : 4) : below(n_known);
        uint32_t x = known[from];
        uint32_t y = count(x) > 5000 ? add_slice(x) : add[below(sizeof add / sizeof add[0])](x);
        known[n_known++] = y;
    }
    uint32_t shape[5];
    shape_of(known[n_known - 1], shape);
    uint32_t last = small_tensor(&g, QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_FLOAT_32, shape);
    small_unary(&g, QNN_OP_ELEMENT_WISE_NEG, known[n_known - 1], last);
}

static void random_graphs_give_the_same_bytes(void **state) {
    (void)state;
    uint32_t fewer = 0;
    for (uint32_t n = 0; n < GRAPHS; n++) {
        small_begin(&g);
        build(n);
        small_run want = small_go(&g, "-all", n), got = small_go(&g, "", n);
        if (memcmp(want.out, got.out, want.n_out) != 0)
            fail_msg("graph %u: other bytes with all passes", n);
        fewer += got.n_steps < want.n_steps;
        small_free(&got);
        for (const qrn_pass *p = qrn_passes; p->name; p++) {
            char list[32];
            snprintf(list, sizeof list, "-%s", p->name);
            got = small_go(&g, list, n);
            if (memcmp(want.out, got.out, want.n_out) != 0)
                fail_msg("graph %u: other bytes without pass %s", n, p->name);
            small_free(&got);
        }
        small_free(&want);
        small_end(&g);
    }
    assert_true(fewer > GRAPHS / 2); // the passes find work in most of them
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs_give_the_same_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
