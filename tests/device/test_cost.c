// SPDX-License-Identifier: MIT
//
// The time of steps: formulas worked out by hand, and the published latencies (latency.tsv) that
// the constants must explain when the steps of the twelve networks (steps.tsv) go through them.
// The only argument is the folder of both tables.
#include "device/cost.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *folder;

static qd_estimate of(qrn_arena *arena, qd_step *list, uint32_t n, const char *chip, qd_precision p,
                      double vtcm) {
    const qd_steps steps = {.list = list, .n = n};
    const qd_options options = {.vtcm_bytes = (uint64_t)vtcm};
    qd_estimate e;
    assert_int_equal(qd_estimate_of(&steps, qd_chip_find(chip), p, &options, arena, &e), QRN_OK);
    return e;
}

static void near(double got, double want) {
    if (fabs(got - want) > 1e-9 * fabs(want))
        fail_msg("%.12g, expected %.12g", got, want);
}

static void a_matrix_step_takes_its_padded_products(void **state) {
    (void)state;
    qrn_arena *arena = qrn_arena_create();
    qd_step s = {.kind = QD_MATRIX,
                 .macs = 1e9,
                 .padded = 2e9,
                 .results = 1e6,
                 .in = 100,
                 .out = 200,
                 .weights = 1e6};
    // 8 Elite: clk 2.32, 18.37e12 MAC/s, fp16 at 0.333 of it, 81 GB/s
    qd_estimate e = of(arena, &s, 1, "SM8750", QD_W8A8, 0);
    double all = 2e9 + 31.2 * 1e6, core = all / 18.37e6, memory = 1e6 / 81e3;
    near(e.core, core);
    near(e.memory, memory);
    near(e.us, 202 / 2.32 + pow(pow(core, 4) + pow(memory, 4), 0.25));
    e = of(arena, &s, 1, "SM8750", QD_W8A16, 0);
    near(e.sum.matrix, 2 * core);
    near(e.start, 2 * 202 / 2.32);
    e = of(arena, &s, 1, "SM8750", QD_FP16, 0);
    near(e.sum.matrix, core / 0.333);
    s.size.groups = 1;
    assert_true(of(arena, &s, 1, "SM8750", QD_W8A8, 0).sum.overhead == 0);
    s.size.groups = 9;
    near(of(arena, &s, 1, "SM8750", QD_W8A8, 0).sum.overhead, 9 * 0.684 / 2.32);
    near(e.sum.weight_bytes, 2e6);
    near(e.peak_vtcm, 600);
    qrn_arena_destroy(arena);
}

static void decoding_takes_the_reading_of_weights_and_cache(void **state) {
    (void)state;
    qrn_arena *arena = qrn_arena_create();
    qd_step list[] = {{.kind = QD_MATRIX, .weights = 1e9, .weight_bits = 4, .streamed = true},
                      {.kind = QD_MATRIX, .cache = 1e7, .streamed = true}};
    double memory = 0.5e9 / 64.8e3 + 2e7 / 16.5e3; // 16-bit cache
    qd_estimate e = of(arena, list, 2, "SM8750", QD_W8A16, 0);
    near(e.sum.weight_bytes, 0.5e9);
    near(e.memory, memory);
    near(e.us, 2 * 202 / 2.32 + memory);
    // 8 Gen 2 was not measured: 0.65 of 62 GB/s.
    near(of(arena, list, 1, "SM8550", QD_W8A16, 0).memory, 0.5e9 / (0.65 * 62e3));
    qrn_arena_destroy(arena);
}

static void vector_steps_take_their_bytes(void **state) {
    (void)state;
    static const struct {
        qd_class kind;
        double rate;
    } rows[] = {
        {QD_DEPTHWISE, 180}, {QD_LIGHT, 952}, {QD_POOL, 952}, {QD_HEAVY, 187}, {QD_MOVE, 71.3}};
    qrn_arena *arena = qrn_arena_create();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        qd_step s = {.kind = rows[i].kind, .macs = 7e5, .in = 3e5, .out = 4e5};
        double us = 7e5 / (rows[i].rate * 0.83e3); // 8 Gen 1: v69, clk 0.83
        near(of(arena, &s, 1, "SM8450", QD_W8A8, 0).sum.vector, us);
        near(of(arena, &s, 1, "SM8450", QD_W8A16, 0).sum.vector, us * 2);
        near(of(arena, &s, 1, "SM8450", QD_FP16, 0).sum.vector, us * 2 * 2.38);
        near(of(arena, &s, 1, "SM8650", QD_FP16, 0).sum.vector, // v75, clk 1.61
             us * 0.83 / 1.61 * 2);
        near(of(arena, &s, 1, "SM8450", QD_W8A8, 0).sum.overhead, 5.19 / 0.83);
        s.thin = true; // at the rate of thin arithmetic, whatever its class
        near(of(arena, &s, 1, "SM8450", QD_W8A8, 0).sum.vector, 7e5 / (58 * 0.83e3));
    }
    qrn_arena_destroy(arena);
}

static void a_split_step_doubles_in_quantized_graphs(void **state) {
    (void)state;
    qrn_arena *arena = qrn_arena_create();
    qd_step once = {.kind = QD_LIGHT, .in = 1e5, .out = 1e5}, twice = once;
    twice.split = true;
    near(of(arena, &twice, 1, "SM8650", QD_W8A8, 0).core,
         2 * of(arena, &once, 1, "SM8650", QD_W8A8, 0).core);
    near(of(arena, &twice, 1, "SM8650", QD_FP16, 0).core,
         of(arena, &once, 1, "SM8650", QD_FP16, 0).core);
    qrn_arena_destroy(arena);
}

static void a_concat_in_place_is_free_in_fp16(void **state) {
    (void)state;
    qrn_arena *arena = qrn_arena_create();
    qd_step copy = {.kind = QD_MOVE, .in = 1e5, .out = 1e5}, place = copy;
    place.in_place = true;
    assert_true(of(arena, &place, 1, "SM8650", QD_FP16, 0).core == 0);
    near(of(arena, &place, 1, "SM8650", QD_W8A16, 0).core,
         of(arena, &copy, 1, "SM8650", QD_W8A16, 0).core);
    assert_int_equal(qd_passes(&place, QD_FP16), 1);
    qrn_arena_destroy(arena);
}

static void a_concat_of_integers_takes_its_bytes_twice(void **state) {
    (void)state;
    qrn_arena *arena = qrn_arena_create();
    qd_step copy = {.kind = QD_MOVE, .in = 1e5, .out = 1e5}, join = copy;
    join.joins = true;
    for (int p = 0; p < QD_PRECISIONS; p++) {
        qd_time one = of(arena, &copy, 1, "SM8650", (qd_precision)p, 0).sum;
        qd_time two = of(arena, &join, 1, "SM8650", (qd_precision)p, 0).sum;
        near(two.vector, (p == QD_FP16 ? 1 : 2) * one.vector);
        near(two.overhead, one.overhead);
    }
    qrn_arena_destroy(arena);
}

static void what_exceeds_a_share_of_vtcm_spills(void **state) {
    (void)state;
    qrn_arena *arena = qrn_arena_create();
    qd_step s = {.kind = QD_LIGHT, .in = 3e6, .out = 3e6};
    near(of(arena, &s, 1, "SM8650", QD_W8A8, 0).sum.spill_bytes, 6e6 - 0.44 * 8388608);
    near(of(arena, &s, 1, "SM8650", QD_W8A8, 2097152).sum.spill_bytes, 6e6 - 0.44 * 2097152);
    near(of(arena, &s, 1, "SM8650", QD_W8A8, 2097152).peak_vtcm, 2097152);
    s.in = s.out = 1e6;
    assert_true(of(arena, &s, 1, "SM8650", QD_W8A8, 0).sum.spill_bytes == 0);
    qrn_arena_destroy(arena);
}

// Clock and threads, on one step of each unit.
static void options_slow_units_down(void **state) {
    (void)state;
    const qd_chip *c = qd_chip_find("SM8650");
    const qd_step matrix = {.kind = QD_MATRIX, .padded = 1e9, .weights = 1e6, .size.groups = 4};
    const qd_step vector = {.kind = QD_HEAVY, .in = 1e6, .out = 1e6};
    qd_time m = qd_time_of(&matrix, c, QD_W8A8, NULL), v = qd_time_of(&vector, c, QD_W8A8, NULL);
    qd_options o = {.hvx_threads = 3, .clock = 0.5};
    qd_time slow_m = qd_time_of(&matrix, c, QD_W8A8, &o),
            slow = qd_time_of(&vector, c, QD_W8A8, &o);
    near(slow_m.matrix, 2 * m.matrix);
    near(slow_m.overhead, 2 * m.overhead);
    near(slow_m.memory, m.memory);
    near(slow.vector, 2 * v.vector * 4 / 3);
    near(slow.overhead, 2 * v.overhead);
    near(qd_start_us(c, QD_W8A8, &o), 2 * qd_start_us(c, QD_W8A8, NULL));
    o = (qd_options){.hvx_threads = 4, .clock = 1};
    assert_true(qd_time_of(&vector, c, QD_W8A8, &o).vector == v.vector);
}

static void profiles_have_the_clocks_of_their_corners(void **state) {
    (void)state;
    static const struct {
        const char *name;
        double mhz;
    } corners[] = {
#define CORNER(name, mhz) {#name, mhz},
#include "backend/htp/power/corners.def"
#undef CORNER
    };
    static const struct {
        const char *name, *corner;
    } rows[] = {
#define POWER(name, corner, mhz) {name, #corner},
#include "device/power.def"
#undef POWER
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint32_t found = 0;
        for (size_t k = 0; k < sizeof corners / sizeof corners[0]; k++) {
            const char *scale = "DCVS_VOLTAGE_", *name = corners[k].name;
            const char *last = strstr(name, "CORNER_"); // VCORNER_SVS, CORNER_DISABLE
            if (strncmp(name, scale, strlen(scale)) != 0 || !last ||
                strcmp(last + 7, rows[i].corner) != 0)
                continue;
            near(qd_power_clock(rows[i].name), corners[k].mhz / 1500);
            found++;
        }
        assert_int_equal(found, 1);
    }
    assert_true(qd_power_clock("burst") == 1 && qd_power_clock("warp") == 0);
}

static void an_empty_graph_costs_the_start(void **state) {
    (void)state;
    qrn_arena *arena = qrn_arena_create();
    near(of(arena, NULL, 0, "SM8650", QD_W8A8, 0).us, 202 / 1.61);
    near(of(arena, NULL, 0, "SM8650", QD_FP16, 0).us, 2 * 202 / 1.61);
    qrn_arena_destroy(arena);
}

static void chips_have_many_names(void **state) {
    (void)state;
    const qd_chip *c = qd_chip_find("SM8650");
    assert_non_null(c);
    assert_ptr_equal(qd_chip_find("57"), c);
    assert_ptr_equal(qd_chip_find("samsung galaxy s24"), c);
    assert_ptr_equal(qd_chip_find("Snapdragon 8 Gen 3"), c);
    assert_null(qd_chip_find("Samsung"));
    assert_null(qd_chip_find(""));
    assert_null(qd_chip_find("0"));
    assert_null(qd_chip_find("4294967353")); // 57 in 32 bits
    assert_int_equal(qd_chip_of_arch(69)->soc, 36);
    assert_null(qd_chip_of_arch(70));
    assert_true(qd_has_data(qd_chip_find("SM7750"), QD_W8A16));
    assert_false(qd_has_data(qd_chip_find("SM7750"), QD_FP16));
}

static void the_longest_part_binds(void **state) {
    (void)state;
    assert_string_equal(qd_bound_names[qd_bound(&(qd_time){.matrix = 3, .memory = 2})], "matrix");
    assert_string_equal(qd_bound_names[qd_bound(&(qd_time){.vector = 1, .overhead = 2})],
                        "overhead");
    assert_string_equal(qd_bound_names[qd_bound(&(qd_time){.matrix = 3, .memory = 4})], "memory");
}

// --- published latencies

#define MAX_STEPS 2000
#define MAX_POINTS 400

typedef struct tables {
    qd_step steps[MAX_STEPS];
    char models[MAX_STEPS][32];
    uint32_t n_steps, n_points;
    double predicted[MAX_POINTS], measured[MAX_POINTS];
} tables;

static FILE *open_table(const char *name, char *line, int size) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_non_null(fgets(line, size, f)); // where it comes from
    assert_non_null(fgets(line, size, f)); // columns
    return f;
}

static void read_steps(tables *t) {
    char line[512], kind[32];
    FILE *f = open_table("steps.tsv", line, sizeof line);
    while (fgets(line, sizeof line, f)) {
        assert_true(t->n_steps < MAX_STEPS);
        qd_step *s = &t->steps[t->n_steps];
        int passes, fp16, joins;
        assert_int_equal(sscanf(line, "%31s %31s %d %d %lf %lf %lf %lf %lf %lf %lf %lf %d",
                                t->models[t->n_steps++], kind, &passes, &fp16, &s->macs, &s->padded,
                                &s->in, &s->out, &s->windows, &s->weights, &s->results,
                                &s->size.groups, &joins),
                         13);
        while (s->kind < QD_CLASSES && strcmp(qd_class_names[s->kind], kind) != 0)
            s->kind++;
        s->split = passes == 2;
        s->in_place = fp16 == 0;
        s->joins = joins;
        if (s->kind != QD_MATRIX && s->kind != QD_DEPTHWISE)
            s->windows -= s->in + s->out; // the table has all of the work
    }
    fclose(f);
}

static double predict(tables *t, const char *model, const char *precision, const char *device) {
    uint32_t first = 0, n = 0;
    while (first < t->n_steps && strcmp(t->models[first], model) != 0)
        first++;
    while (first + n < t->n_steps && strcmp(t->models[first + n], model) == 0)
        n++;
    assert_true(n > 20);
    qd_precision p = strcmp(precision, "float") == 0  ? QD_FP16
                     : strcmp(precision, "w8a8") == 0 ? QD_W8A8
                                                      : QD_W8A16;
    assert_non_null(qd_chip_find(device));
    assert_true(qd_has_data(qd_chip_find(device), p));
    qrn_arena *arena = qrn_arena_create();
    double ms = of(arena, &t->steps[first], n, device, p, 0).us / 1e3;
    qrn_arena_destroy(arena);
    return ms;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double rank_of(const double *list, uint32_t n, uint32_t i) {
    double rank = 0;
    for (uint32_t k = 0; k < n; k++)
        rank += list[k] < list[i] ? 1 : list[k] == list[i] && k != i ? 0.5 : 0;
    return rank;
}

static double spearman(const tables *t) {
    double mean = (t->n_points - 1) / 2.0, xy = 0, xx = 0, yy = 0;
    for (uint32_t i = 0; i < t->n_points; i++) {
        double x = rank_of(t->predicted, t->n_points, i) - mean;
        double y = rank_of(t->measured, t->n_points, i) - mean;
        xy += x * y;
        xx += x * x;
        yy += y * y;
    }
    return xy / sqrt(xx * yy);
}

static void published_latencies_are_explained(void **state) {
    (void)state;
    tables *t = calloc(1, sizeof *t);
    assert_non_null(t);
    read_steps(t);
    char line[512], model[64], precision[32], device[64];
    double errors[MAX_POINTS];
    FILE *f = open_table("latency.tsv", line, sizeof line);
    while (fgets(line, sizeof line, f)) {
        double *ms = &t->measured[t->n_points];
        assert_int_equal(sscanf(line, "%63[^\t]\t%31[^\t]\t%63[^\t]\t%*[^\t]\t%lf", model,
                                precision, device, ms),
                         4);
        t->predicted[t->n_points] = predict(t, model, precision, device);
        errors[t->n_points] = fabs(t->predicted[t->n_points] / *ms - 1);
        t->n_points++;
    }
    fclose(f);
    assert_int_equal(t->n_points, 317);
    qsort(errors, t->n_points, sizeof errors[0], ascending);
    double median = errors[158], most = errors[284] + 0.4 * (errors[285] - errors[284]);
    print_message("median %.2f %%, 90th percentile %.2f %%, Spearman %.4f\n", 100 * median,
                  100 * most, spearman(t));
    assert_true(median < 0.046);
    assert_true(most < 0.1325);
    assert_true(spearman(t) > 0.99);
    free(t);
}

int main(int argc, char **argv) {
    folder = argc > 1 ? argv[1] : ".";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_matrix_step_takes_its_padded_products),
        cmocka_unit_test(decoding_takes_the_reading_of_weights_and_cache),
        cmocka_unit_test(vector_steps_take_their_bytes),
        cmocka_unit_test(a_split_step_doubles_in_quantized_graphs),
        cmocka_unit_test(a_concat_in_place_is_free_in_fp16),
        cmocka_unit_test(a_concat_of_integers_takes_its_bytes_twice),
        cmocka_unit_test(what_exceeds_a_share_of_vtcm_spills),
        cmocka_unit_test(options_slow_units_down),
        cmocka_unit_test(profiles_have_the_clocks_of_their_corners),
        cmocka_unit_test(an_empty_graph_costs_the_start),
        cmocka_unit_test(chips_have_many_names),
        cmocka_unit_test(the_longest_part_binds),
        cmocka_unit_test(published_latencies_are_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
