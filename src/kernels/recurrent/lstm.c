// SPDX-License-Identifier: MIT
//
// The LSTM family.
#include "kernels/recurrent/recurrent.h"

#include "base/cpu.h"
#include "kernels/recurrent/recurrent_rows.h"

// Added to the variance of a layer-normalized gate, as TFLite does.
#define NORM_EPSILON 1e-8

enum {
    W_XF = 1,
    W_XC,
    W_XO,
    W_HF,
    W_HC,
    W_HO,
    B_F,
    B_C,
    B_O,
    H_INIT,
    C_INIT,
    LN_INPUT,
    LN_FORGET,
    LN_CELL,
    LN_OUTPUT,
    W_XI,
    W_HI,
    W_CI,
    W_CF,
    W_CO,
    B_I,
    W_PROJ,
    B_PROJ,
    RESET,
    NONE = 0 // x is no operand of a gate
};

enum { INPUT, FORGET, CELL, OUTPUT, N_GATES };

typedef struct gate_operands {
    uint32_t wx, wh, peephole, norm, bias;
    uint32_t result; // optional output with the gate's last value
} gate_operands;

static const gate_operands gates[N_GATES] = {
    [INPUT] = {W_XI, W_HI, W_CI, LN_INPUT, B_I, 3},
    [FORGET] = {W_XF, W_HF, W_CF, LN_FORGET, B_F, 4},
    [CELL] = {W_XC, W_HC, NONE, LN_CELL, B_C, 5},
    [OUTPUT] = {W_XO, W_HO, W_CO, LN_OUTPUT, B_O, 6},
};

// Work space of one batch row; h and c are neighbours.
typedef struct lstm_row {
    size_t units, out;
    double *h, *c, *x, *hidden, *gate[N_GATES];
} lstm_row;

static const qrn_view *operand(const qrn_kcall *k, uint32_t i) {
    return i != NONE && i < k->n_in ? k->in[i] : NULL;
}

static const qrn_view *result(const qrn_kcall *k, uint32_t o) {
    return o < k->n_out ? k->out[o] : NULL;
}

static size_t row_doubles(const qrn_kcall *k) {
    size_t units = k->in[W_XF]->dims[0], out = k->in[W_HF]->dims[1], input = k->in[W_XF]->dims[1];
    return out + input + (2 + N_GATES) * units;
}

static lstm_row row_of(const qrn_kcall *k) {
    lstm_row r = {.units = k->in[W_XF]->dims[0], .out = k->in[W_HF]->dims[1]};
    r.h = (double *)k->scratch + k->task * row_doubles(k);
    r.c = r.h + r.out;
    r.hidden = r.c + r.units;
    for (uint32_t g = 0; g < N_GATES; g++)
        r.gate[g] = r.hidden + (1 + g) * r.units;
    r.x = r.hidden + (1 + N_GATES) * r.units;
    return r;
}

#define T float
#define NAME(x) x##_f32_ref
#include "kernels/recurrent/gemv.inc"
#include "kernels/recurrent/lstm.inc"
#undef T
#undef NAME
#define T double
#define NAME(x) x##_f64_ref
#include "kernels/recurrent/gemv.inc"
#include "kernels/recurrent/lstm.inc"

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    const qrn_lstm_args *a = k->args;
    return row_tasks(sequence_of(k->in[0], a->time_major), row_doubles(k), n_threads);
}

static size_t scratch(const qrn_kcall *k) { return k->n_tasks * row_doubles(k) * sizeof(double); }

// The layer as the vector rows have it.
static qrn_fast_layer layer_of(const qrn_kcall *k) {
    const qrn_lstm_args *a = k->args;
    return (qrn_fast_layer){.n_gates = N_GATES,
                            .units = k->in[W_XF]->dims[0],
                            .wx = {W_XI, W_XF, W_XC, W_XO},
                            .wh = {W_HI, W_HF, W_HC, W_HO},
                            .bias = {B_I, B_F, B_C, B_O},
                            .h_init = H_INIT,
                            .c_init = C_INIT,
                            .reset = RESET,
                            .h_out = 2,
                            .c_out = 1,
                            .reverse = a->reverse,
                            .s = sequence_of(k->in[0], a->time_major)};
}

// Has the layer what those rows know, and nothing more?
static bool is_plain(const qrn_kcall *k) {
    static const uint32_t none[] = {LN_INPUT, LN_FORGET, LN_CELL, LN_OUTPUT, W_CI,
                                    W_CF,     W_CO,      W_PROJ,  B_PROJ};
    const qrn_lstm_args *a = k->args;
    bool plain = operand(k, W_XI) && operand(k, W_HI) && a->cell_clip <= 0 && a->out_clip <= 0;
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        plain = plain && !operand(k, none[i]);
    for (uint32_t o = 3; o < k->n_out; o++)
        plain = plain && !k->out[o];
    return plain;
}

static size_t fast_scratch(const qrn_kcall *k) {
    qrn_fast_layer l = layer_of(k);
    return qrn_fast_scratch(k, &l);
}

// clang-format off
#define FAST(isa)                                                                                  \
    static qrn_status lstm_f32_##isa(const qrn_kcall *k) {                                         \
        qrn_fast_layer l = layer_of(k);                                                            \
        return qrn_recurrent_f32_##isa(k, &l);                                                     \
    }
#define ROW(isa, ISA)                                                                              \
    {.name = "lstm_f32_" #isa, .domain = QRN_DOMAIN_F32, .needs = ISA, .works = is_plain,          \
     .fn = lstm_f32_##isa, .tasks = tasks, .scratch = fast_scratch}
// clang-format on

#ifdef __x86_64__
FAST(avx512)
FAST(avx2)
#endif
#ifdef __aarch64__
FAST(neon)
#endif

static const qrn_kernel lstm_rows[] = {
#ifdef __x86_64__
    ROW(avx512, QRN_ISA_AVX512),
    ROW(avx2, QRN_ISA_AVX2),
#endif
#ifdef __aarch64__
    ROW(neon, QRN_ISA_NEON),
#endif
    {.name = "lstm_f32_ref",
     .domain = QRN_DOMAIN_F32,
     .fn = lstm_f32_ref,
     .tasks = tasks,
     .scratch = scratch},
    {.name = "lstm_f64_ref",
     .domain = QRN_DOMAIN_F64,
     .fn = lstm_f64_ref,
     .tasks = tasks,
     .scratch = scratch},
};
QRN_FAMILY(lstm, sizeof(qrn_lstm_args));
