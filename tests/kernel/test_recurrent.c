// SPDX-License-Identifier: MIT
//
// The vector rows of LSTM and GRU against the reference row, which computes in double, over sizes
// with tails, several batch rows, both directions and a state that goes on; with weights as they
// are and packed; in one task and in three, to the bit.
#include "base/cpu.h"
#include "kernels/recurrent/recurrent.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chance.h"

#define MOST_IN 25
#define MOST_OUT 8

typedef struct trial {
    const qrn_family *family;
    union {
        qrn_lstm_args lstm;
        qrn_gru_args gru;
    } args;
    qrn_view in[MOST_IN], out[MOST_OUT], *ins[MOST_IN], *outs[MOST_OUT];
    uint32_t n_in, n_out;
    size_t state_bytes;
} trial;

static void fill(qrn_view *v, uint32_t rank, uint32_t a, uint32_t b, uint32_t c) {
    *v = (qrn_view){.dtype = QRN_DTYPE_F32, .rank = rank, .dims = {a, b, c}};
    size_t n = qrn_view_count(v);
    float *x = malloc(n * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++)
        x[i] = ((float)random_u32() / 0x1p31f - 1) * (rank == 2 ? 0.3f : 1);
    v->data = x;
}

static void use(trial *t, uint32_t i, uint32_t rank, uint32_t a, uint32_t b) {
    fill(&t->in[i], rank, a, b, 1);
    t->ins[i] = &t->in[i];
}

// x and out[0]; [T, B, I], or [B, T, I].
static void sequences(trial *t, bool time_major, uint32_t steps, uint32_t batch, uint32_t input,
                      uint32_t units) {
    uint32_t a = time_major ? steps : batch, b = time_major ? batch : steps;
    fill(&t->in[0], 3, a, b, input);
    fill(&t->out[0], 3, a, b, units);
    for (uint32_t o = 1; o < t->n_out; o++)
        fill(&t->out[o], 2, batch, units, 1);
    t->ins[0] = &t->in[0];
    for (uint32_t o = 0; o < t->n_out; o++)
        t->outs[o] = &t->out[o];
}

static void open_lstm(trial *t, uint32_t steps, uint32_t batch, uint32_t input, uint32_t units) {
    *t = (trial){.family = &qrn_family_lstm, .n_in = 25, .n_out = 3};
    t->args.lstm = (qrn_lstm_args){.reverse = between(0, 1), .time_major = between(0, 1)};
    sequences(t, t->args.lstm.time_major, steps, batch, input, units);
    for (uint32_t i = 1; i <= 3; i++) {
        use(t, i, 2, units, input);     // of x
        use(t, 3 + i, 2, units, units); // of h
        use(t, 6 + i, 1, units, 1);     // biases
    }
    use(t, 10, 2, batch, units);
    use(t, 11, 2, batch, units);
    use(t, 16, 2, units, input);
    use(t, 17, 2, units, units);
    use(t, 21, 1, units, 1);
    t->state_bytes = qrn_recurrent_state(batch, units, units);
}

static void open_gru(trial *t, uint32_t steps, uint32_t batch, uint32_t input, uint32_t units) {
    *t = (trial){.family = &qrn_family_gru, .n_in = 15, .n_out = 2};
    t->args.gru = (qrn_gru_args){.reverse = between(0, 1),
                                 .time_major = between(0, 1),
                                 .linear_before_reset = between(0, 1)};
    sequences(t, t->args.gru.time_major, steps, batch, input, units);
    for (uint32_t i = 1; i <= 3; i++) {
        use(t, i, 2, units, input);
        use(t, 3 + i, 2, units, units);
        use(t, 6 + i, 1, units, 1);
        use(t, 9 + i, 1, units, 1);
    }
    use(t, 13, 2, batch, units);
    t->state_bytes = qrn_recurrent_state(batch, units, 0);
}

static void close_trial(trial *t) {
    for (uint32_t i = 0; i < t->n_in; i++)
        free(t->in[i].data);
    for (uint32_t o = 0; o < t->n_out; o++)
        free(t->out[o].data);
}

// All outputs of two runs, one behind the other; the second goes on where the first stopped.
static float *results(trial *t, const qrn_kernel *row, uint32_t n_tasks, size_t *n) {
    static const uint8_t goes_on = 0;
    qrn_view reset = {.data = (void *)(uintptr_t)&goes_on, .dtype = QRN_DTYPE_B8};
    qrn_kcall k = {.args = &t->args,
                   .in = t->ins,
                   .out = t->outs,
                   .n_in = t->n_in,
                   .n_out = t->n_out,
                   .n_tasks = n_tasks};
    t->ins[t->n_in - 1] = &reset;
    *n = 0;
    for (uint32_t o = 0; o < t->n_out; o++)
        *n += 2 * qrn_view_count(&t->out[o]);
    float *all = malloc(*n * sizeof *all), *at = all;
    k.scratch = malloc(row->scratch(&k));
    k.state = calloc(1, t->state_bytes);
    assert_true(all && k.scratch && k.state);
    for (int run = 0; run < 2; run++) {
        for (k.task = 0; k.task < n_tasks; k.task++)
            assert_int_equal(row->fn(&k), QRN_OK);
        for (uint32_t o = 0; o < t->n_out; o++) {
            size_t count = qrn_view_count(&t->out[o]);
            memcpy(at, t->out[o].data, count * sizeof *at);
            at += count;
        }
    }
    free(k.scratch);
    free(k.state);
    return all;
}

static unsigned each_row(trial *t) {
    const qrn_kernel *rows = t->family->rows, *ref = NULL;
    unsigned checked = 0;
    size_t n;
    for (uint32_t r = 0; r < t->family->n_rows; r++)
        if (rows[r].domain == QRN_DOMAIN_F32 && !rows[r].needs)
            ref = &rows[r];
    assert_non_null(ref);
    float *want = results(t, ref, 1, &n);
    for (uint32_t r = 0; r < t->family->n_rows; r++) {
        qrn_kcall k = {
            .args = &t->args, .in = t->ins, .out = t->outs, .n_in = t->n_in, .n_out = t->n_out};
        if (&rows[r] == ref || qrn_kernel_rejection(&rows[r], QRN_DOMAIN_F32, &k, qrn_cpu_isa()))
            continue;
        float *got = results(t, &rows[r], 1, &n), *parts = results(t, &rows[r], 3, &n);
        for (size_t i = 0; i < n; i++)
            if (!(fabsf(got[i] - want[i]) <= 2e-5f))
                fail_msg("%s: element %zu of %zu is %.9g, expected %.9g", rows[r].name, i, n,
                         (double)got[i], (double)want[i]);
        assert_memory_equal(got, parts, n * sizeof *got);
        free(got);
        free(parts);
        checked++;
    }
    free(want);
    return checked;
}

static void rows_agree_with_the_reference(void **unused) {
    (void)unused;
    unsigned checked = 0;
    for (unsigned round = 0; round < 40; round++) {
        trial t;
        uint32_t steps = between(1, 12), batch = between(1, 11), input = between(1, 50);
        (round % 2 ? open_lstm : open_gru)(&t, steps, batch, input, between(1, 70));
        checked += each_row(&t);
        close_trial(&t);
    }
    print_message("%u comparisons with the reference\n", checked);
    if (qrn_cpu_isa() == 0)
        skip();
    assert_true(checked > 0);
}

// Enough steps (16) and vectors (64) that the weights are packed and the GEMM makes the products.
static void rows_with_packed_weights_agree_with_the_reference(void **unused) {
    (void)unused;
    unsigned checked = 0;
    for (unsigned round = 0; round < 24; round++) {
        trial t;
        uint32_t batch = round % 3 ? between(4, 20) : between(1, 3);
        uint32_t steps = 64 / batch + between(16, 30);
        (round % 2 ? open_lstm : open_gru)(&t, steps, batch, between(1, 50), between(16, 70));
        checked += each_row(&t);
        close_trial(&t);
    }
    if (qrn_cpu_isa() == 0)
        skip();
    assert_true(checked > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(rows_agree_with_the_reference, set_up),
        cmocka_unit_test_setup(rows_with_packed_weights_agree_with_the_reference, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
