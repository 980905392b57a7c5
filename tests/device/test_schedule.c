// SPDX-License-Identifier: MIT
//
// Schedules: small graphs worked out by hand, and what must hold of every schedule, checked on a
// thousand random graphs. The checks here look at the result alone and share no code with what made
// it.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/schedule.h"
#include "net.h"

// --- building

static uint32_t value(net *n, uint32_t rows, uint32_t channels, int role) {
    qd_value v = {
        .rank = 4, .dims = {1, rows, rows, channels}, .input = role == 1, .output = role == 2};
    uint32_t index;
    assert_int_equal(qd_add_value(&n->g, &v, &index), QRN_OK);
    return index;
}

static uint32_t filter(net *n, uint32_t taps, uint32_t in, uint32_t out) {
    qd_value v = {.rank = 4, .dims = {taps, taps, in, out}, .constant = true};
    uint32_t index;
    assert_int_equal(qd_add_value(&n->g, &v, &index), QRN_OK);
    return index;
}

static void op(net *n, const char *type, const uint32_t *in, uint32_t n_in, uint32_t out) {
    static unsigned number;
    char name[32];
    snprintf(name, sizeof name, "op%u", number++);
    qd_op o = {.name = name, .type = type, .in = in, .out = &out, .n_in = n_in, .n_out = 1};
    assert_int_equal(qd_add_op(&n->g, &o), QRN_OK);
}
#define OP(n, type, out, ...)                                                                      \
    op(n, type, (const uint32_t[]){__VA_ARGS__},                                                   \
       sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), out)

static qd_schedule schedule(net *n, const char *chip, qd_precision p, const qd_options *o) {
    qd_schedule s;
    if (!n->s.list)
        assert_int_equal(qd_cut(&n->g, &n->s), QRN_OK);
    assert_int_equal(qd_schedule_of(&n->g, &n->s, qd_chip_find(chip), p, o, n->g.arena, &s),
                     QRN_OK);
    return s;
}

static void near(double got, double want) {
    if (fabs(got - want) > 1e-9 * fmax(1, fabs(want)))
        fail_msg("%.12g, expected %.12g", got, want);
}

// --- what must hold of every schedule

static void check_tiles(const qd_schedule *s) {
    for (uint32_t i = 0; i < s->n_tiles; i++) {
        const qd_tile *a = &s->tiles[i];
        assert_true(a->bytes > 0 && a->offset % 128 == 0 && a->first <= a->last);
        assert_true(a->last < s->n_slots);
        assert_true((uint64_t)a->offset + a->bytes <= s->vtcm_bytes);
        for (uint32_t k = i + 1; k < s->n_tiles; k++) {
            const qd_tile *b = &s->tiles[k];
            assert_true(a->first <= b->first);
            bool together = b->first <= a->last && a->first <= b->last;
            if (together && a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes)
                fail_msg("tiles %u and %u overlap", i, k);
        }
    }
}

// The most that lives at a time, counted step by step.
static void check_peak(const qd_schedule *s) {
    uint64_t peak = 0;
    for (uint32_t i = 0; i < s->n_slots; i++) {
        uint64_t taken = 0;
        for (uint32_t k = 0; k < s->n_tiles; k++)
            taken += s->tiles[k].first <= i && i <= s->tiles[k].last ? s->tiles[k].bytes : 0;
        peak = taken > peak ? taken : peak;
    }
    assert_int_equal(s->peak_bytes, peak);
}

static void check_timeline(const qd_schedule *s) {
    double core = s->start, dma = s->start, eps = 1e-9 * s->us;
    for (uint32_t i = 0; i < s->n_slots; i++) {
        const qd_slot *x = &s->slots[i];
        near(x->begin, core);
        assert_true(x->begin <= x->run && x->run <= x->end && x->end <= s->us);
        assert_true(x->begin + x->control <= x->run + eps);
        assert_true(dma <= x->fetch.begin + eps && x->fetch.begin <= x->fetch.end);
        assert_true(x->fetch.end <= x->swap.begin + eps && x->swap.begin <= x->swap.end);
        assert_true(x->swap.end <= x->end + eps); // it has what it needs, and has given it away
        if (x->swap.end > x->swap.begin)
            assert_true(x->swap.begin >= x->begin - eps);
        double wait = x->run - x->begin, spent = x->end - x->run;
        assert_true(qd_overlap(s, i) <= spent + eps);
        assert_true(qd_overlap_waiting(s, i) <= wait + eps);
        assert_true((x->engines & QD_DMA) ? x->swap.end > x->fetch.begin
                                          : x->swap.end <= dma + eps);
        core = x->end;
        dma = x->swap.end;
    }
    near(core, s->us);
}

// Units, control and transfers last as long as the cost model says, on a common scale.
static void check_sums(const qd_schedule *s, const qd_estimate *e) {
    double units = 0, control = 0, dma = 0;
    near(s->us, e->us);
    near(s->core, e->core);
    near(s->memory, e->memory);
    for (uint32_t i = 0; i < s->n_slots; i++) {
        const qd_slot *x = &s->slots[i];
        units += (x->end - x->run) / s->scale;
        control += x->control / s->scale;
        dma += (x->fetch.end - x->fetch.begin + x->swap.end - x->swap.begin) / s->scale;
        near((x->end - x->run) / s->scale, e->steps[i].matrix + e->steps[i].vector);
        near(x->spill_bytes, e->steps[i].spill_bytes);
    }
    near(units + control, e->core);
    near(dma, e->memory);
    double most = fmax(e->core, e->memory), all = e->core + e->memory;
    if (s->n_slots) {
        double length = (s->us - s->start) / s->scale;
        assert_true(length >= most * (1 - 1e-9) && length <= all * (1 + 1e-9));
    }
}

static void check_swaps(const net *n, const qd_schedule *s) {
    uint64_t *charged = calloc(s->n_slots + 1, sizeof *charged);
    assert_non_null(charged);
    for (uint32_t i = 0; i < s->n_swaps; i++) {
        const qd_swap *w = &s->swaps[i];
        assert_true(w->step < s->n_slots && w->bytes > 0 && w->value < n->g.n_values);
        assert_true(!n->g.values[w->value].constant);
        assert_true(i == 0 || s->swaps[i - 1].step <= w->step);
        charged[w->step] += w->waited ? 0 : w->bytes;
    }
    for (uint32_t i = 0; i < s->n_slots; i++)
        assert_true(charged[i] == (uint64_t)s->slots[i].spill_bytes);
    free(charged);
}

// A value that is read and not in the VTCM came over the DDR, and a step's operands are there.
static void check_operands(const net *n, const qd_schedule *s) {
    for (uint32_t i = 0; i < n->g.n_ops; i++) {
        const qd_op *o = &n->g.ops[i];
        uint32_t step = n->s.step_of[i];
        for (uint32_t k = 0; step != QD_NO_STEP && k < o->n_in; k++) {
            uint32_t v = n->s.origin[o->in[k]];
            if (n->g.values[v].constant || n->s.maker[v] == step)
                continue;
            bool found = false;
            for (uint32_t t = 0; t < s->n_tiles; t++)
                found |=
                    s->tiles[t].value == v && s->tiles[t].first <= step && step <= s->tiles[t].last;
            for (uint32_t t = 0; t < s->n_swaps; t++)
                found |= s->swaps[t].value == v && s->swaps[t].step == step;
            if (!found)
                fail_msg("step %u reads value %u, which is nowhere", step, v);
        }
    }
}

static void check_all(net *n, const qd_schedule *s) {
    qd_estimate e;
    const qd_options options = {.vtcm_bytes = s->vtcm_bytes, .hvx_threads = s->hvx_threads};
    assert_int_equal(
        qd_estimate_of(&n->s, qd_chip_find(s->chip), s->precision, &options, n->g.arena, &e),
        QRN_OK);
    assert_int_equal(s->n_slots, n->s.n);
    check_tiles(s);
    check_peak(s);
    check_timeline(s);
    check_sums(s, &e);
    check_swaps(n, s);
    check_operands(n, s);
}

// --- by hand

static void one_convolution_takes_three_places(void **state) {
    net *n = *state;
    uint32_t x = value(n, 16, 32, 1), w = filter(n, 1, 32, 64), y = value(n, 16, 64, 2);
    OP(n, "Conv2d", y, x, w);
    qd_schedule s = schedule(n, "SM8750", QD_W8A8, NULL);
    check_all(n, &s);
    assert_int_equal(s.n_slots, 1);
    assert_int_equal(s.n_tiles, 3);
    assert_int_equal(s.n_swaps, 0);
    assert_int_equal(s.peak_bytes, 16 * 16 * 32 + 16 * 16 * 64 + 32 * 64);
    assert_int_equal(s.slots[0].engines, QD_HMX | QD_DMA);
    assert_int_equal(s.slots[0].cuts, 1);
    // 8 Elite: 18.37e12 MAC/s, 81 GB/s. The weights come beside: the step ends when its unit is
    // done.
    double unit = 256.0 * (32 + 31.2) * 64 / 18.37e6, fetch = 2048 / 81e3;
    double all = pow(pow(unit, 4) + pow(fetch, 4), 0.25), scale = all / unit;
    near(s.start, 202 / 2.32);
    near(s.scale, scale);
    near(s.slots[0].run, s.start);
    near(s.slots[0].end, s.start + all);
    near(s.slots[0].fetch.begin, s.start);
    near(s.slots[0].fetch.end, s.start + fetch * scale);
}

// Activations and batch normalization have no place of their own, and no time.
static void fused_ops_are_one_slot(void **state) {
    net *n = *state;
    uint32_t x = value(n, 16, 32, 1), w = filter(n, 1, 32, 32), a = value(n, 16, 32, 0);
    uint32_t y = value(n, 16, 32, 2);
    OP(n, "Conv2d", a, x, w);
    OP(n, "Relu", y, a);
    qd_schedule s = schedule(n, "SM8650", QD_W8A8, NULL);
    check_all(n, &s);
    assert_int_equal(s.n_slots, 1);
    assert_int_equal(s.slots[0].n_ops, 2);
    for (uint32_t i = 0; i < s.n_tiles; i++)
        assert_true(s.tiles[i].value != a);
}

static void a_large_step_is_cut_and_spills(void **state) {
    net *n = *state;
    uint32_t x = value(n, 256, 64, 1), y = value(n, 256, 64, 2); // 4 MB each
    OP(n, "Relu", y, x);
    qd_schedule s = schedule(n, "SM8650", QD_W8A8, NULL);
    check_all(n, &s);
    double budget = floor(0.44 * 8388608);
    assert_int_equal(s.slots[0].cuts, 3); // 8 MB in pieces of 3.5 MB
    near(s.slots[0].spill_bytes, 8388608 - 0.44 * 8388608);
    assert_int_equal(s.n_swaps, 2);
    assert_true(s.swaps[0].fill && s.swaps[0].value == x && !s.swaps[1].fill);
    assert_true(s.peak_bytes <= budget && s.peak_bytes > budget - 1024);
    // Half precision: twice the bytes.
    s = schedule(n, "SM8650", QD_FP16, NULL);
    check_all(n, &s);
    assert_int_equal(s.slots[0].cuts, 5);
}

// Six results of 1.2 MB that are added up at the end; there is room for five tensors beside each
// other, and those that are needed last leave: the fourth and the fifth.
static void a_tensor_that_waits_leaves_when_there_is_no_room(void **state) {
    net *n = *state;
    uint32_t x = value(n, 128, 72, 1), v[6];
    for (int i = 0; i < 6; i++) {
        v[i] = value(n, 128, 72, 0);
        OP(n, "Sigmoid", v[i], x);
    }
    for (int i = 1; i < 6; i++) {
        uint32_t sum = value(n, 128, 72, i == 5 ? 2 : 0);
        OP(n, "ElementWiseAdd", sum, v[0], v[i]);
        v[0] = sum;
    }
    qd_schedule s = schedule(n, "SM8650", QD_W8A8, NULL);
    check_all(n, &s);
    const qd_swap want[] = {{v[3], 4, false, true, 128 * 128 * 72},
                            {v[4], 5, false, true, 128 * 128 * 72},
                            {v[3], 8, true, true, 128 * 128 * 72},
                            {v[4], 9, true, true, 128 * 128 * 72}};
    assert_int_equal(s.n_swaps, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(s.swaps[i].value, want[i].value);
        assert_int_equal(s.swaps[i].step, want[i].step);
        assert_int_equal(s.swaps[i].fill, want[i].fill);
        assert_int_equal(s.swaps[i].waited, true);
        assert_int_equal(s.swaps[i].bytes, want[i].bytes);
    }
    assert_int_equal(s.slots[4].engines, QD_HVX); // which costs nothing in the model
}

// Weights of the second step come while the first one runs.
static void weights_are_fetched_ahead(void **state) {
    net *n = *state;
    uint32_t x = value(n, 32, 256, 1), y = value(n, 32, 256, 0), z = value(n, 8, 256, 2);
    OP(n, "Conv2d", y, x, filter(n, 3, 256, 256));
    OP(n, "Conv2d", z, y, filter(n, 3, 256, 256));
    qd_schedule s = schedule(n, "SM8650", QD_W8A8, NULL);
    check_all(n, &s);
    assert_true(s.slots[1].fetch.begin < s.slots[0].end);
    assert_true(qd_overlap(&s, 0) > 0);
    // A quarter of 2 MB does not hold both.
    s = schedule(n, "SM8650", QD_W8A8, &(qd_options){.vtcm_bytes = 2 << 20});
    check_all(n, &s);
    assert_true(s.slots[1].fetch.begin >= s.slots[0].end);
    near(qd_overlap_waiting(&s, 1), 0); // it waits for these very bytes
    assert_true(s.slots[1].run - s.slots[1].begin > s.slots[1].control);
}

static void options_that_nobody_measured_are_marked(void **state) {
    net *n = *state;
    uint32_t x = value(n, 64, 64, 1), y = value(n, 64, 64, 2);
    OP(n, "Sigmoid", y, x);
    qd_schedule all = schedule(n, "SM8650", QD_W8A8, NULL);
    qd_schedule two = schedule(n, "SM8650", QD_W8A8, &(qd_options){.hvx_threads = 2});
    near((two.slots[0].end - two.slots[0].run) / two.scale,
         2 * (all.slots[0].end - all.slots[0].run) / all.scale);
    assert_int_equal(two.marks, QD_MARK_THREADS);
    qd_schedule six = schedule(n, "SM8650", QD_W8A8, &(qd_options){.hvx_threads = 6});
    near(six.us, all.us);
    assert_int_equal(six.marks, 0);
    qd_schedule dlbc = schedule(n, "SM8650", QD_W8A8, &(qd_options){.dlbc = true});
    near(dlbc.us, all.us);
    assert_int_equal(dlbc.marks, QD_MARK_DLBC);
    assert_string_equal(qd_mark_text(dlbc.marks), "compressed data (DLBC)");
    assert_string_equal(qd_mark_text(0), "");
    qd_schedule none;
    for (int i = 0; i < 2; i++)
        assert_int_equal(qd_schedule_of(&n->g, &n->s, qd_chip_find("SM8650"), QD_W8A8,
                                        &(qd_options){.vtcm_bytes = i ? 1ull << 32 : 65535},
                                        n->g.arena, &none),
                         QRN_E_ARGUMENT);
}

// A schedule that was stored at full power, and one that is made for less.
static void a_slower_clock_gives_the_same_either_way(void **state) {
    net *n = *state;
    uint32_t x = value(n, 32, 256, 1), y = value(n, 32, 256, 0), z = value(n, 32, 256, 2);
    OP(n, "Conv2d", y, x, filter(n, 3, 256, 256));
    OP(n, "Sigmoid", z, y);
    double clock = qd_power_clock("balanced");
    near(clock, 0.7);
    qd_schedule full = schedule(n, "SM8650", QD_W8A8, NULL), later = full;
    qd_schedule made = schedule(n, "SM8650", QD_W8A8, &(qd_options){.clock = clock});
    near(made.start, full.start / 0.7);
    near(made.core, full.core / 0.7);
    near(made.memory, full.memory);
    qd_reclock(&later, clock);
    near(later.us, made.us);
    near(later.start, made.start);
    near(later.core, made.core);
    near(later.slots[1].end, made.us);
    check_timeline(&later);
    assert_int_equal(later.marks, QD_MARK_POWER);
    assert_int_equal(made.marks, QD_MARK_POWER);
    assert_string_equal(qd_mark_text(made.marks), "less than full power");
    later = schedule(n, "SM8650", QD_W8A8, NULL);
    qd_reclock(&later, 1);
    assert_true(later.us == schedule(n, "SM8650", QD_W8A8, NULL).us && later.marks == 0);
}

static void a_graph_without_steps_ends_at_the_start(void **state) {
    net *n = *state;
    uint32_t x = value(n, 8, 8, 1), y = value(n, 8, 8, 2);
    OP(n, "Reshape", y, x);
    qd_schedule s = schedule(n, "SM8650", QD_W8A8, NULL);
    assert_int_equal(s.n_slots + s.n_tiles + s.n_swaps + s.peak_bytes, 0);
    near(s.us, 202 / 1.61);
}

// --- any graph

static uint32_t seed;

static uint32_t draw(uint32_t below) {
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

// Up to 40 ops over up to three older values each, of sizes that sometimes exceed every VTCM.
static void random_graph(net *n) {
    static const char *const types[] = {
        "Relu",    "Sigmoid", "ElementWiseAdd", "ElementWiseMultiply",
        "Reshape", "Concat",  "Transpose",      "Batchnorm",
        "Conv2d",  "Conv2d",  "PoolMax2d",      "Mystery"};
    uint32_t live[64], n_live = 1 + draw(3), ops = 1 + draw(40);
    for (uint32_t i = 0; i < n_live; i++)
        live[i] = value(n, 1 + draw(200), 1 + draw(160), 1);
    for (uint32_t i = 0; i < ops; i++) {
        const char *type = types[draw(sizeof types / sizeof types[0])];
        uint32_t in[3], n_in = strncmp(type, "ElementWise", 11) == 0 ? 2 : 1;
        for (uint32_t k = 0; k < 3; k++)
            in[k] = live[draw(3) ? n_live - 1 : draw(n_live)];
        n_in = strcmp(type, "Concat") == 0 ? 3 : n_in;
        const qd_value *a = &n->g.values[in[0]];
        uint32_t rows = draw(4) ? a->dims[1] : 1 + draw(300), channels = a->dims[3];
        if (strcmp(type, "Conv2d") == 0) {
            uint32_t to = 1 + draw(256);
            in[1] = filter(n, 1 + 2 * draw(3), channels, to);
            n_in = 2;
            channels = to;
        }
        live[n_live] = value(n, rows, channels, draw(12) == 0 ? 2 : 0);
        op(n, type, in, n_in, live[n_live]);
        n_live++;
    }
}

static void what_must_hold_holds_for_random_graphs(void **state) {
    net *n = *state;
    static const char *const chips[] = {"SM8750", "SM8650", "SM8450", "QCM6490", "Q-6690"};
    uint64_t waited = 0, cut = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        qrn_arena_destroy(n->g.arena);
        *n = (net){.g.arena = qrn_arena_create()};
        seed = i;
        random_graph(n);
        qd_options o = {.vtcm_bytes = draw(2) ? 0 : 65536u * (1 + draw(128))};
        qd_schedule s = schedule(n, chips[draw(5)], (qd_precision)draw(2), &o);
        check_all(n, &s);
        qd_schedule again = schedule(n, s.chip, s.precision, &o);
        assert_int_equal(again.n_tiles, s.n_tiles);
        assert_memory_equal(again.tiles, s.tiles, s.n_tiles * sizeof *s.tiles);
        assert_memory_equal(again.slots, s.slots, s.n_slots * sizeof *s.slots);
        for (uint32_t k = 0; k < s.n_swaps; k++)
            waited += s.swaps[k].waited;
        for (uint32_t k = 0; k < s.n_slots; k++)
            cut += s.slots[k].cuts > 1;
    }
    assert_true(waited > 100 && cut > 1000); // else the graphs are too easy
}

// More tensors at a time than there are places for.
static void thousands_of_tensors_wait(void **state) {
    net *n = *state;
    enum { MANY = 3000 };
    static uint32_t all[MANY];
    uint32_t x = value(n, 4, 4, 1);
    for (uint32_t i = 0; i < MANY; i++) {
        all[i] = value(n, 4, 4, 0);
        OP(n, "Sigmoid", all[i], x);
    }
    op(n, "Concat", all, MANY, value(n, 4, 4 * MANY, 2));
    qd_schedule s = schedule(n, "QCM6490", QD_W8A8, NULL);
    check_timeline(&s);
    check_swaps(n, &s);
    assert_int_equal(s.n_slots, MANY + 1);
    assert_true(s.peak_bytes <= s.vtcm_bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, make, drop)
        TEST(one_convolution_takes_three_places),
        TEST(fused_ops_are_one_slot),
        TEST(a_large_step_is_cut_and_spills),
        TEST(a_tensor_that_waits_leaves_when_there_is_no_room),
        TEST(weights_are_fetched_ahead),
        TEST(options_that_nobody_measured_are_marked),
        TEST(a_slower_clock_gives_the_same_either_way),
        TEST(a_graph_without_steps_ends_at_the_start),
        TEST(what_must_hold_holds_for_random_graphs),
        TEST(thousands_of_tensors_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
