// SPDX-License-Identifier: MIT
//
// Every row of the STFT family that this machine can run against sums in long double, over lengths
// with small factors, large primes and powers of 2, real and complex, with frames that differ much
// in size; and whole against in parts, to the bit.
#include "base/cpu.h"
#include "kernels/signal/stft.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chance.h"

#define FRAMES 37
#define STEP 3

typedef struct trial {
    qrn_stft_args args;
    qrn_view x, window, y, *in[2], *out[1];
    qrn_kcall call;
} trial;

static float random_float(void) { return (float)random_u32() / 0x1p31f - 1; }

static void open_trial(trial *t, uint32_t length, uint32_t parts, bool windowed, bool onesided) {
    *t = (trial){.args = {length, STEP}};
    t->x =
        (qrn_view){.dtype = QRN_DTYPE_F32, .rank = 3, .dims = {1, length + STEP * FRAMES, parts}};
    t->window = (qrn_view){.dtype = QRN_DTYPE_F32, .rank = 1, .dims = {length}};
    t->y = (qrn_view){.dtype = QRN_DTYPE_F32,
                      .rank = 4,
                      .dims = {1, FRAMES, onesided ? length / 2 + 1 : length, 2}};
    qrn_view *views[] = {&t->x, &t->window, &t->y};
    for (int v = 0; v < 3; v++) {
        size_t n = qrn_view_count(views[v]);
        views[v]->data = malloc(n * sizeof(float));
        assert_non_null(views[v]->data);
        for (size_t i = 0; i < n; i++)
            ((float *)views[v]->data)[i] = random_float();
    }
    t->in[0] = &t->x;
    t->in[1] = &t->window;
    t->out[0] = &t->y;
    t->call = (qrn_kcall){.args = &t->args,
                          .in = t->in,
                          .out = t->out,
                          .n_in = windowed ? 2 : 1,
                          .n_out = 1,
                          .n_tasks = 1};
}

static void close_trial(trial *t) {
    free(t->x.data);
    free(t->window.data);
    free(t->y.data);
}

static void run(trial *t, const qrn_kernel *row, uint32_t n_tasks) {
    t->call.n_tasks = n_tasks;
    t->call.scratch = malloc(row->scratch(&t->call));
    assert_non_null(t->call.scratch);
    for (t->call.task = 0; t->call.task < n_tasks; t->call.task++)
        assert_int_equal(row->fn(&t->call), QRN_OK);
    t->call.task = 0;
    free(t->call.scratch);
}

// Bin of a frame by the definition, and the sum of the sizes of its terms.
static void bin_of(const trial *t, size_t frame, size_t bin, long double *want, long double *size) {
    const float *x = t->x.data, *w = t->call.n_in > 1 ? t->window.data : NULL;
    size_t n = t->args.length, parts = t->x.dims[2];
    want[0] = want[1] = *size = 0;
    for (size_t i = 0; i < n; i++) {
        long double turn = 6.283185307179586476925286766559L * (long double)(bin * i % n) / n;
        const float *at = x + (frame * STEP + i) * parts;
        long double factor = w ? w[i] : 1, re = at[0] * factor, im = parts > 1 ? at[1] * factor : 0;
        want[0] += re * cosl(turn) + im * sinl(turn);
        want[1] += im * cosl(turn) - re * sinl(turn);
        *size += fabsl(re) + fabsl(im);
    }
}

static void check(trial *t, const char *row) {
    size_t bins = t->y.dims[2], stride = bins > 40 ? bins / 20 : 1;
    for (size_t f = 0; f<FRAMES; f += t->args.length> 200 ? 7 : 1)
        for (size_t b = 0; b < bins; b += stride) {
            long double want[2], size;
            bin_of(t, f, b, want, &size);
            for (int i = 0; i < 2; i++) {
                float got = ((float *)t->y.data)[(f * bins + b) * 2 + i];
                long double off = fabsl(got - want[i]),
                            most = fabsl(want[i]) * 0x1p-24L + size * 1e-9L;
                if (isnan((double)want[i]) ? !isnan(got) : !(off <= most))
                    fail_msg("%s: length %u frame %zu bin %zu is %.9g, expected %.9Lg", row,
                             t->args.length, f, b, (double)got, want[i]);
            }
        }
}

static void each_row(trial *t) {
    size_t bytes = qrn_view_count(&t->y) * sizeof(float);
    float *kept = malloc(bytes);
    assert_non_null(kept);
    for (uint32_t r = 0; r < qrn_family_stft.n_rows; r++) {
        const qrn_kernel *row = &qrn_family_stft.rows[r];
        if (qrn_kernel_rejection(row, QRN_DOMAIN_F32, &t->call, qrn_cpu_isa()))
            continue;
        run(t, row, 1);
        check(t, row->name);
        memcpy(kept, t->y.data, bytes);
        run(t, row, 3);
        assert_memory_equal(kept, t->y.data, bytes);
    }
    free(kept);
}

static void lengths_of_all_kinds(void **unused) {
    (void)unused;
    static const uint32_t lengths[] = {1,  2,  3,  4,  5,   6,   7,   8,   11,  13,  16,  17,
                                       19, 30, 64, 97, 121, 128, 200, 251, 256, 360, 400, 1001};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        for (uint32_t kind = 0; kind < 4; kind++) {
            trial t;
            open_trial(&t, lengths[i], kind & 1 ? 2 : 1, kind & 2, kind == 2);
            each_row(&t);
            close_trial(&t);
        }
}

// A loud frame must not drown a quiet one, nor NaN spread to frames without.
static void frames_do_not_touch_each_other(void **unused) {
    (void)unused;
    for (int kind = 0; kind < 3; kind++) {
        trial t;
        open_trial(&t, STEP, 1, false, false); // frames share no number
        float *x = t.x.data;
        for (size_t i = 0; i < (size_t)t.x.dims[1]; i++)
            if (i / STEP % 2 == 0)
                x[i] = kind == 0 ? x[i] * 1e20f : kind == 1 ? 0 : x[i];
        if (kind == 2)
            x[5 * STEP] = NAN;
        each_row(&t);
        close_trial(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(lengths_of_all_kinds, set_up),
        cmocka_unit_test_setup(frames_do_not_touch_each_other, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
