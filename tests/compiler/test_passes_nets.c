// SPDX-License-Identifier: MIT
//
// Random networks of codes: convolutions, depthwise ones, sums, products, tables, joins and changes
// of encoding, of 8 and of 16 bits. The same bytes with all passes, with each of them left out,
// with none, and on several threads.
#include "small_graph.h"

#include "compiler/passes.h"

#include <stdio.h>
#include <string.h>

#define GRAPHS 400
#define NODES 9
#define SIDE 6 // of pictures: every node keeps it

static small_graph g;
static uint32_t seed, known[NODES + 2], n_known;
static Qnn_DataType_t dtype;
static uint32_t n_convs;

static uint32_t below(uint32_t n) {
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 16) % n;
}

static uint32_t channels(uint32_t t) { return g.dims[t][3]; }

// A tensor of codes; now and then the application wants it.
static uint32_t codes(uint32_t n_channels, float scale) {
    bool wide = dtype == QNN_DATATYPE_UFIXED_POINT_16;
    return small_encoded(&g, below(6) ? QNN_TENSOR_TYPE_NATIVE : QNN_TENSOR_TYPE_APP_READ, dtype,
                         SHAPE(1, SIDE, SIDE, n_channels), wide ? scale / 256 : scale,
                         -(int32_t)(below(100) + 80) * (wide ? 256 : 1));
}

static uint32_t add_conv(uint32_t x) {
    static int8_t data[3 * 3 * 64 * 64];
    bool depthwise = below(3) == 0;
    uint32_t k = below(2) ? 1 : 3, cin = depthwise ? 1 : channels(x);
    uint32_t cout = depthwise ? channels(x) : 1 + below(40), n = k * k * cin * cout, pad = k / 2;
    for (uint32_t i = 0; i < n; i++)
        data[i] = (int8_t)below(256);
    uint32_t w =
        small_constant(&g, QNN_DATATYPE_SFIXED_POINT_8, SHAPE(k, k, cin, cout), 0.01f, 0, data, n);
    uint32_t y = codes(cout, 0.2f);
    small_conv(&g, depthwise ? QNN_OP_DEPTH_WISE_CONV_2D : QNN_OP_CONV_2D, x, w, y,
               (uint32_t[]){pad, pad, pad, pad});
    n_convs++;
    return y;
}

// A sum or product with another tensor of as many channels, or with x itself.
static uint32_t add_binary(uint32_t x) {
    static const char *const ops[] = {QNN_OP_ELEMENT_WISE_ADD, QNN_OP_ELEMENT_WISE_MULTIPLY,
                                      QNN_OP_ELEMENT_WISE_SUBTRACT, QNN_OP_ELEMENT_WISE_MAXIMUM};
    uint32_t other = x, y = codes(channels(x), 0.07f);
    for (uint32_t i = 0; i < n_known; i++)
        if (channels(known[i]) == channels(x) && below(2))
            other = known[i];
    small_binary(&g, ops[below(4)], below(2) ? x : other, below(2) ? other : x, y);
    return y;
}

static uint32_t add_table(uint32_t x) {
    static const char *const ops[] = {QNN_OP_SIGMOID, QNN_OP_TANH, QNN_OP_RELU, QNN_OP_HARD_SWISH,
                                      QNN_OP_CONVERT};
    uint32_t y = codes(channels(x), 0.01f);
    small_unary(&g, ops[below(5)], x, y);
    return y;
}

static uint32_t add_swish(uint32_t x) {
    uint32_t s = codes(channels(x), 0.004f), y = codes(channels(x), 0.05f);
    small_unary(&g, QNN_OP_SIGMOID, x, s);
    small_binary(&g, QNN_OP_ELEMENT_WISE_MULTIPLY, x, s, y);
    return y;
}

// Of tensors whose encodings may differ: those that do are converted on the way.
static uint32_t add_concat(uint32_t x) {
    uint32_t other = known[below(n_known)];
    if (channels(x) + channels(other) > 60)
        return add_table(x);
    uint32_t y = codes(channels(x) + channels(other), 0.08f);
    small_concat(&g, (uint32_t[]){x, other}, 2, y, 3);
    return y;
}

static void build(uint32_t number) {
    static uint32_t (*const add[])(uint32_t) = {add_conv,  add_conv,  add_binary, add_binary,
                                                add_table, add_swish, add_concat};
    seed = number * 2654435761u + 777u;
    dtype = number % 3 ? QNN_DATATYPE_UFIXED_POINT_8 : QNN_DATATYPE_UFIXED_POINT_16;
    n_known = 0;
    known[n_known++] =
        small_encoded(&g, QNN_TENSOR_TYPE_APP_WRITE, dtype, SHAPE(1, SIDE, SIDE, 3 + below(30)),
                      number % 3 ? 0.05f : 0.05f / 256, number % 3 ? -120 : -30000);
    for (uint32_t i = 0; i < NODES && g.n_tensors < MAX_TENSORS - 16; i++) {
        uint32_t x = known[below(3) ? n_known - 1 : below(n_known)];
        uint32_t y = add[below(sizeof add / sizeof add[0])](x);
        known[n_known++] = y;
    }
    uint32_t last = known[n_known - 1];
    uint32_t y =
        small_encoded(&g, QNN_TENSOR_TYPE_APP_READ, dtype, SHAPE(1, SIDE, SIDE, channels(last)),
                      number % 3 ? 0.1f : 0.1f / 256, number % 3 ? -100 : -25000);
    small_unary(&g, QNN_OP_RELU, last, y);
}

static void random_nets_give_the_same_bytes(void **state) {
    (void)state;
    uint32_t fewer = 0, chained = 0;
    for (uint32_t n = 0; n < GRAPHS; n++) {
        small_begin(&g);
        build(n);
        small_pair p = small_compare(&g);
        fewer += p.with.n_steps < p.without.n_steps;
        chained += p.with.n_chained > 0;
        small_free(&p.with);
        for (const qrn_pass *pass = qrn_passes; pass->name; pass++) {
            char list[32];
            snprintf(list, sizeof list, "-%s", pass->name);
            small_run got = small_go(&g, list, 1);
            if (memcmp(p.without.out, got.out, got.n_out) != 0)
                fail_msg("graph %u: other bytes without pass %s", n, pass->name);
            small_free(&got);
        }
        small_free(&p.without);
        small_end(&g);
    }
    print_message("%u convolutions; fewer steps in %u graphs, chained steps in %u\n", n_convs,
                  fewer, chained);
    assert_true(fewer > GRAPHS / 3 && chained > GRAPHS / 3); // the passes find work
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_nets_give_the_same_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
