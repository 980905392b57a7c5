// SPDX-License-Identifier: MIT
//
// Schedules as bytes: what is stored comes back, and whatever else comes is refused in words or
// harmless. The bytes are checked against the prose of docs/context-binary.md by
// tests/binary/read_binary.py.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "device/stored.h"

static qd_slot slots[3] = {
    {.name = "conv",
     .op = 0,
     .kind = QD_MATRIX,
     .n_ops = 2,
     .engines = QD_HMX | QD_DMA,
     .cuts = 1,
     .macs = 1e9,
     .padded = 2e9,
     .in_bytes = 100,
     .out_bytes = 200,
     .weight_bytes = 300,
     .begin = 100,
     .control = 0.5,
     .run = 101.5,
     .end = 110.25,
     .fetch = {100, 101},
     .swap = {101, 101}},
    {.name = "",
     .op = 3,
     .kind = QD_HEAVY,
     .n_ops = 1,
     .engines = QD_HVX,
     .cuts = 1,
     .begin = 110.25,
     .control = 4,
     .run = 114.25,
     .end = 120,
     .fetch = {101, 101},
     .swap = {101, 101}},
    {.name = "a name of sixteen",
     .op = 4,
     .kind = QD_MOVE,
     .n_ops = 1,
     .engines = QD_HVX | QD_DMA,
     .cuts = 9,
     .in_bytes = 5e9,
     .out_bytes = 5e9,
     .spill_bytes = 9e9,
     .begin = 120,
     .control = 4,
     .run = 124,
     .end = 0.1 + 150,
     .fetch = {101, 101},
     .swap = {120, 140}},
};
static qd_tile tiles[2] = {{7, false, 128, 256, 0, 1}, {9, true, 4096, 128, 0, 2}};
static qd_swap swaps[2] = {{7, 2, true, false, 9000000000}, {8, 2, false, true, 1}};
static const qd_schedule good = {.soc = 57,
                                 .chip = "SM8650",
                                 .precision = QD_W8A16,
                                 .vtcm_bytes = 8192,
                                 .hvx_threads = 2,
                                 .marks = QD_MARK_THREADS | QD_MARK_DLBC,
                                 .us = 0.1 + 150,
                                 .start = 100,
                                 .core = 40,
                                 .memory = 20,
                                 .scale = 1.25,
                                 .peak_bytes = 384,
                                 .slots = slots,
                                 .tiles = tiles,
                                 .swaps = swaps,
                                 .n_slots = 3,
                                 .n_tiles = 2,
                                 .n_swaps = 2};

typedef struct bytes {
    qrn_arena *arena;
    unsigned char *p;
    size_t n;
} bytes;

static int store(void **state) {
    static bytes b;
    b = (bytes){.arena = qrn_arena_create()};
    *state = &b;
    return qd_store(&good, b.arena, &b.p, &b.n) == QRN_OK ? 0 : 1;
}

static int drop(void **state) {
    qrn_arena_destroy(((bytes *)*state)->arena);
    return 0;
}

static void what_is_stored_comes_back(void **state) {
    const bytes *b = *state;
    qd_schedule s;
    assert_int_equal(qd_stored_read(b->p, b->n, b->arena, &s), QRN_OK);
    assert_int_equal(s.soc, 57);
    assert_string_equal(s.chip, "SM8650");
    assert_int_equal(s.precision, QD_W8A16);
    assert_int_equal(s.marks, QD_MARK_THREADS | QD_MARK_DLBC);
    assert_true(s.us == (double)(float)(0.1 + 150) && s.scale == 1.25 && s.core == 40);
    for (int i = 0; i < 3; i++) {
        const qd_slot *x = &s.slots[i], *y = &slots[i];
        assert_string_equal(x->name, y->name);
        assert_int_equal(x->op, y->op);
        assert_int_equal(x->kind, y->kind);
        assert_int_equal(x->n_ops, y->n_ops);
        assert_int_equal(x->engines, y->engines);
        assert_int_equal(x->cuts, y->cuts);
        assert_true(x->macs == y->macs && x->padded == y->padded && x->in_bytes == y->in_bytes);
        assert_true(x->out_bytes == y->out_bytes && x->weight_bytes == y->weight_bytes);
        assert_true(x->spill_bytes == y->spill_bytes && x->begin == y->begin && x->run == y->run);
        assert_true(x->end == (double)(float)y->end && x->control == y->control);
        assert_memory_equal(&x->fetch, &y->fetch, sizeof x->fetch);
        assert_memory_equal(&x->swap, &y->swap, sizeof x->swap);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(s.tiles[i].value, tiles[i].value);
        assert_int_equal(s.tiles[i].weights, tiles[i].weights);
        assert_int_equal(s.tiles[i].first, tiles[i].first);
        assert_int_equal(s.tiles[i].last, tiles[i].last);
        assert_int_equal(s.tiles[i].offset, tiles[i].offset);
        assert_int_equal(s.tiles[i].bytes, tiles[i].bytes);
        assert_int_equal(s.swaps[i].value, swaps[i].value);
        assert_int_equal(s.swaps[i].step, swaps[i].step);
        assert_int_equal(s.swaps[i].fill, swaps[i].fill);
        assert_int_equal(s.swaps[i].waited, swaps[i].waited);
        assert_true(s.swaps[i].bytes == swaps[i].bytes);
    }
}

// Reads a copy of exactly this size; what is taken must be safe to use.
static qrn_status read(const unsigned char *p, size_t n) {
    qrn_arena *arena = qrn_arena_create();
    unsigned char *copy = test_malloc(n ? n : 1);
    memcpy(copy, p, n);
    qd_schedule s;
    qrn_status code = qd_stored_read(copy, n, arena, &s);
    if (code == QRN_OK) {
        double end = s.start;
        for (uint32_t i = 0; i < s.n_slots; i++) {
            assert_true(s.slots[i].run >= end && s.slots[i].end <= s.us);
            assert_true(s.slots[i].kind < QD_CLASSES && s.slots[i].cuts && s.slots[i].name);
            assert_true(isfinite(qd_overlap(&s, i)) && isfinite(qd_overlap_waiting(&s, i)));
            end = s.slots[i].end;
        }
        for (uint32_t i = 0; i < s.n_tiles; i++)
            assert_true((uint64_t)s.tiles[i].offset + s.tiles[i].bytes <= s.vtcm_bytes);
        for (uint32_t i = 0; i < s.n_swaps; i++)
            assert_true(s.swaps[i].step < s.n_slots);
        assert_non_null(qd_occupancy(&s, arena));
    } else {
        assert_int_equal(code, QRN_E_BINARY);
        assert_non_null(strstr(qrn_message(), "context binary: schedule, byte "));
    }
    test_free(copy);
    qrn_arena_destroy(arena);
    return code;
}

static void every_other_length_is_refused(void **state) {
    const bytes *b = *state;
    unsigned char longer[4096] = {0};
    assert_true(b->n + 8 < sizeof longer);
    memcpy(longer, b->p, b->n);
    for (size_t n = 0; n < b->n + 8; n++)
        assert_int_equal(read(longer, n), n == b->n ? QRN_OK : QRN_E_BINARY);
}

static void any_word_may_be_anything(void **state) {
    const bytes *b = *state;
    static const uint32_t worst[] = {0,          1,          2,          3,          4,
                                     0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7FC00000, 0x7F800000,
                                     0xBF800000, 0x00FFFFFF, 0x47000000};
    unsigned taken = 0, refused = 0;
    for (size_t at = 0; at < b->n; at += 4)
        for (size_t k = 0; k < sizeof worst / sizeof worst[0]; k++) {
            unsigned char was[4];
            memcpy(was, b->p + at, 4);
            for (int i = 0; i < 4; i++)
                b->p[at + (size_t)i] = (unsigned char)(worst[k] >> 8 * i);
            *(read(b->p, b->n) == QRN_OK ? &taken : &refused) += 1;
            memcpy(b->p + at, was, 4);
        }
    assert_true(taken > 100 && refused > 500);
    assert_int_equal(read(b->p, b->n), QRN_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_stored_comes_back, store, drop),
        cmocka_unit_test_setup_teardown(every_other_length_is_refused, store, drop),
        cmocka_unit_test_setup_teardown(any_word_may_be_anything, store, drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
