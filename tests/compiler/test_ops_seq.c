// SPDX-License-Identifier: MIT
//
// The checks of the recurrent, attention, signal, stateful and random ops of compiled graphs.
#include "op_fuzz.h"

#include "base/fp16.h"
#include "kernels/attention/attention.h"
#include "kernels/buffer/buffer.h"
#include "kernels/random/random.h"
#include "kernels/recurrent/recurrent.h"
#include "kernels/signal/stft.h"

// Weights of three gates for inputs of 4, h of 5 and 5 units; then three biases.
#define LSTM_WEIGHTS "f32[5,4] f32[5,4] f32[5,4] f32[5,5] f32[5,5] f32[5,5] f32[5] f32[5] f32[5] "
// The same with a projection to 3.
#define LSTM_PROJECTED "f64[5,4] f64[5,4] f64[5,4] f64[5,3] f64[5,3] f64[5,3] f64[5] f64[5] f64[5] "
#define LSTM(...) OP_ARGS(qrn_lstm_args, __VA_ARGS__)

static void lstm_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[2,4] " LSTM_WEIGHTS "> f32[2,5] f32[2,5] f32[2,5]", LSTM(.cell_clip = 1)),
        OP_SEED(F32,
                "f32[6,2,4] " LSTM_WEIGHTS "f32[2,5] f32[2,5] f32[5] f32[5] f32[5] f32[5] "
                "f32[5,4] f32[5,5] f32[5] f32[5] f32[5] f32[5] - - b8[1] "
                "> f32[6,2,5] f32[2,5] f32[2,5] f32[2,5] f32[2,5] f32[2,5] f32[2,5] f32[2,5]",
                LSTM(.time_major = true)),
        OP_SEED(F64,
                "f64[2,6,4] " LSTM_PROJECTED "f64[2,3] f64[2,5] - - - - - - - - - - f64[3,5] "
                "f64[3] b8[] > f64[2,6,3] f64[2,5] f64[2,3] - f64[2,5] - - f64[2,3]",
                LSTM(.reverse = true, .out_clip = 0.5)),
        OP_SEED(F32, "f32[50,3,4] " LSTM_WEIGHTS "> f32[50,3,5] f32[3,5] f32[3,5]",
                LSTM(.time_major = true)),
    };
    OP_FUZZ(qrn_cop_lstm, seeds, 4000);
}

static void gru_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32,
                "f32[6,2,4] f32[5,4] f32[5,4] f32[5,4] f32[5,5] f32[5,5] f32[5,5] "
                "f32[5] f32[5] f32[5] f32[5] f32[5] f32[5] f32[1,2,5] b8[1] > f32[6,2,5] "
                "f32[1,2,5]",
                OP_ARGS(qrn_gru_args, .time_major = true)),
        OP_SEED(F64,
                "f64[2,6,4] f64[5,4] f64[5,4] f64[5,4] f64[5,5] f64[5,5] f64[5,5] > f64[2,6,5] "
                "f64[1,2,5]",
                OP_ARGS(qrn_gru_args, .reverse = true, .linear_before_reset = true)),
        OP_SEED(F32,
                "f32[3,9,10] f32[20,10] f32[20,10] f32[20,10] f32[20,20] f32[20,20] f32[20,20] "
                "f32[20] - - f32[20] > f32[3,9,20] f32[1,3,20]",
                OP_ARGS(qrn_gru_args, .linear_before_reset = true)),
    };
    OP_FUZZ(qrn_cop_gru, seeds, 3000);
}

#define HEADS(...) OP_ARGS(qrn_gqa_args, .q_heads = 6, .kv_heads = 2, .scale = 0.5, __VA_ARGS__)

static void gqa_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[2,3,24] f32[2,3,8] f32[2,3,8] > f32[2,3,24]", HEADS(.causal = true)),
        OP_SEED(F32,
                "f32[2,3,24] f32[2,5,8] f32[2,5,8] f32[2,2,7,4] f32[2,2,7,4] f32[2,6,3,12] i32[2] "
                "> f32[2,3,24] f32[2,2,12,4] f32[2,2,12,4]",
                HEADS(.causal = true)),
        OP_SEED(F64, "f64[2,3,24] f64[2,1,8] f64[2,1,8] - - f64[3,1] u8[2] > f64[2,3,24]",
                HEADS(.causal = false)),
        OP_SEED(F32, "f32[2,16,24] f32[2,32,8] f32[2,32,8] - - f32[1,1,16,32] > f32[2,16,24]",
                HEADS(.causal = false)),
    };
    OP_FUZZ(qrn_cop_gqa, seeds, 4000);
}

// 2 matrices of keys, each for 3 heads of 4 queries.
#define ATTENTION(...)                                                                             \
    OP_ARGS(qrn_attention_args, .batch = {1, 2}, .rows = {3, 4}, .depth = 8, .width = 8,           \
            .q = {0, 192, 96, 32, 8, 1}, .y = {0, 192, 96, 32, 8, 1}, .scale = 0.5, __VA_ARGS__)

#define QUANTIZED(...)                                                                             \
    OP_ARGS(qrn_attention_args, .batch = {1, 2}, .rows = {3, 4}, .depth = 8, .width = 8,           \
            .q = {0, 192, 96, 32, 8, 1}, .y = {0, 192, 96, 32, 8, 1}, .k = {0, 0, 40, 8, 1},       \
            .v = {0, 0, 40, 8, 1}, .scale = 1.0, __VA_ARGS__)

static void attention_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[2,3,4,8] f32[2,5,8] f32[2,5,8] - - f32[4,5] > f32[2,12,8]",
                ATTENTION(.keys = {5, 0}, .k = {0, 0, 40, 8, 1}, .v = {0, 0, 40, 8, 1},
                          .mask = {0, 0, 0, 0, 5, 1})),
        OP_SEED(F32, "f32[192] f32[2,5,8] f32[2,5,8] f32[2,2,8] f32[2,2,8] > f32[192]",
                ATTENTION(.keys = {5, 2}, .k = {0, 0, 40, 8, 1}, .v = {0, 0, 40, 8, 1},
                          .more_k = {0, 0, 16, 8, 1}, .more_v = {0, 0, 16, 8, 1}, .causal = true)),
        OP_SEED(F32, "f32[2,3,4,8] f32[8,50] f32[50,8] > f32[2,12,8]",
                ATTENTION(.keys = {50, 0}, .k = {0, 0, 0, 1, 50}, .v = {0, 0, 0, 8, 1},
                          .rule = QRN_FP16_WIDE_RANGE)),
        OP_SEED(F32, "f32[40,9] f32[70,9] f32[70,5] > f32[40,5]",
                OP_ARGS(qrn_attention_args, .batch = {1, 1}, .rows = {1, 40}, .keys = {70, 0},
                        .depth = 9, .width = 5, .q = {0, 0, 0, 0, 9, 1}, .y = {0, 0, 0, 0, 5, 1},
                        .k = {0, 0, 0, 9, 1}, .v = {0, 0, 0, 5, 1}, .scale = 1.0)),
        OP_SEED(RAW,
                "uq16[2,3,4,8]:t uq16[2,5,8]:t sq8[2,5,8]:t uq16[2,2,8]:t sq8[2,2,8]:t uq16[4,7]:t "
                "> uq16[2,12,8]:t uq16[2,12,7]:t uq16[168]:t uq16[2,3,4,7]:t uq16[2,12,7]:t",
                QUANTIZED(.keys = {5, 2}, .mask = {0, 0, 0, 0, 7, 1}, .more_k = {0, 0, 16, 8, 1},
                          .more_v = {0, 0, 16, 8, 1})),
        OP_SEED(RAW,
                "uq8[2,3,4,8]:t uq8[2,5,8]:t uq8[2,5,8]:t > uq8[2,12,8]:t uq8[2,12,5]:t - - "
                "uq8[2,12,5]:t",
                QUANTIZED(.keys = {5, 0})),
    };
    OP_FUZZ(qrn_cop_attention, seeds, 6000);
}

static void rotary_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[2,3,5,8] f32[2,5,4] f32[2,5,4] > f32[2,3,5,8]",
                OP_ARGS(qrn_rotary_args, false)),
        OP_SEED(F64, "f64[2,3,5,9] f64[7,3] f64[7,3] i32[2,5] > f64[2,3,5,9]",
                OP_ARGS(qrn_rotary_args, true)),
        OP_SEED(F32, "f32[2,4,30,70] f32[9,35] f32[9,35] i32[2,30] > f32[2,4,30,70]",
                OP_ARGS(qrn_rotary_args, true)),
    };
    OP_FUZZ(qrn_cop_rotary, seeds, 2500);
}

static void stft_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[2,40,1] f32[16] > f32[2,5,9,2]",
                OP_ARGS(qrn_stft_args, .length = 16, .step = 6)),
        OP_SEED(F64, "f64[2,40,2] > f64[2,25,16,2]",
                OP_ARGS(qrn_stft_args, .length = 16, .step = 1)),
        OP_SEED(F32, "f32[1,7,1] - > f32[1,1,1,2]",
                OP_ARGS(qrn_stft_args, .length = 7, .step = UINT32_MAX)),
    };
    OP_FUZZ(qrn_cop_stft, seeds, 2500);
}

static void buffer_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(
            RAW, "f32[2,3,4] b8[1] > f32[2,9,4]",
            OP_ARGS(qrn_buffer_args, .dim = 1, .stride = 3, .slots = 9, .mode = QRN_BUFFER_LEFT)),
        OP_SEED(
            RAW, "uq8[2]:t b8[] > uq8[8]:t",
            OP_ARGS(qrn_buffer_args, .dim = 0, .stride = 4, .slots = 8, .mode = QRN_BUFFER_RIGHT)),
        OP_SEED(RAW, "f16[1] > f16[]", OP_ARGS(qrn_buffer_args, .dim = 0, .stride = 1, .slots = 1)),
        OP_SEED(RAW, "uq16[4,2] > uq16[4,6]",
                OP_ARGS(qrn_buffer_args, .dim = 1, .stride = 2, .slots = 6)),
    };
    OP_FUZZ(qrn_cop_buffer, seeds, 3000);
}

static void random_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "u32[2]:c > f32[3,5]", OP_ARGS(qrn_random_args, .normal = true, .b = 1),
                .data = {(const uint32_t[]){3, 5}}),
        OP_SEED(F64, "u32[1]:c f32[1] > f64[9]", OP_ARGS(qrn_random_args, .a = -1, .b = 1),
                .data = {(const uint32_t[]){9}}),
        OP_SEED(F32, "u32[1]:c f32[1] > f32[40000]", OP_ARGS(qrn_random_args, .a = -1, .b = 1),
                .data = {(const uint32_t[]){40000}}),
    };
    OP_FUZZ(qrn_cop_random, seeds, 1500);
}

static void a_recurrent_layer_needs_all_weights_of_its_shapes(void **state) {
    (void)state;
    const op_seed lstm[] = {
        // h smaller and larger than c without a projection
        OP_SEED(F64, "f64[2,4] " LSTM_PROJECTED "> f64[2,3] f64[2,5] f64[2,3]", LSTM(0)),
        OP_SEED(F32,
                "f32[2,4] f32[3,4] f32[3,4] f32[3,4] f32[3,5] f32[3,5] f32[3,5] f32[3] f32[3] "
                "f32[3] > f32[2,5] f32[2,3] f32[2,5]",
                LSTM(0)),
        // half an input gate
        OP_SEED(F32,
                "f32[2,4] " LSTM_WEIGHTS
                "- - - - - - f32[5,4] - - - - f32[5] > f32[2,5] f32[2,5] f32[2,5]",
                LSTM(0)),
        // the batch is the other dimension
        OP_SEED(F32, "f32[6,2,4] " LSTM_WEIGHTS "> f32[6,2,5] f32[2,5] f32[2,5]",
                LSTM(.time_major = false)),
        OP_SEED(F32, "f32[2,4] " LSTM_WEIGHTS "> f32[2,5] f32[2,5] -", LSTM(0)),
    };
    const op_seed gru[] = {
        OP_SEED(F64,
                "f64[2,4] f64[5,4] f64[5,4] f64[5,4] f64[5,5] f64[5,5] f64[5,5] > f64[2,5] "
                "f64[1,2,5]",
                OP_ARGS(qrn_gru_args, 0)),
        OP_SEED(F64,
                "f64[6,2,4] f64[5,4] f64[5,4] f64[5,4] f64[5,5] f64[5,5] f64[5,5] > "
                "f64[6,2,5] f64[1,2,5]",
                OP_ARGS(qrn_gru_args, .time_major = false)),
    };
    OP_REFUSE(qrn_cop_lstm, lstm);
    OP_REFUSE(qrn_cop_gru, gru);
}

static void attention_needs_heads_and_caches_that_fit(void **state) {
    (void)state;
    const op_seed gqa[] = {
        // 6 heads of queries on 4 heads of keys
        OP_SEED(F32, "f32[2,3,24] f32[2,3,16] f32[2,3,16] > f32[2,3,24]",
                OP_ARGS(qrn_gqa_args, .q_heads = 6, .kv_heads = 4)),
        OP_SEED(F32, "f32[2,3,24] f32[2,3,8] f32[2,3,8] > f32[2,3,24]",
                OP_ARGS(qrn_gqa_args, .q_heads = 6)),
        // keys without values, and the other way round
        OP_SEED(F32, "f32[2,3,24] f32[2,5,8] f32[2,5,8] f32[2,2,7,4] > f32[2,3,24]", HEADS(0)),
        OP_SEED(F32, "f32[2,3,24] f32[2,5,8] f32[2,5,8] - f32[2,2,7,4] > f32[2,3,24]", HEADS(0)),
        // a mask of five dimensions, and one of the wrong size
        OP_SEED(F32, "f32[2,3,24] f32[2,3,8] f32[2,3,8] - - f32[1,1,1,1,1] > f32[2,3,24]",
                HEADS(0)),
        OP_SEED(F32, "f32[2,3,24] f32[2,3,8] f32[2,3,8] - - f32[2] > f32[2,3,24]", HEADS(0)),
    };
    const op_seed rotary[] = {
        OP_SEED(F32, "f32[2,3,5,8] f32[2,4,4] f32[2,4,4] > f32[2,3,5,8]",
                OP_ARGS(qrn_rotary_args, false)),
        OP_SEED(F32, "f32[2,3,5,8] f32[1,5,4] f32[1,5,4] > f32[2,3,5,8]",
                OP_ARGS(qrn_rotary_args, false)),
        OP_SEED(F32, "f32[2,3,5,8] f32[2,5,5] f32[2,5,5] > f32[2,3,5,8]",
                OP_ARGS(qrn_rotary_args, false)),
    };
    const op_seed fused[] = {
        // strides that leave an operand, or leave holes in the result
        OP_SEED(F32, "f32[2,3,4,8] f32[2,5,8] f32[2,5,8] > f32[2,12,8]",
                ATTENTION(.keys = {5, 0}, .k = {0, 0, 40, 9, 1}, .v = {0, 0, 40, 8, 1})),
        OP_SEED(F32, "f32[2,3,4,8] f32[2,5,8] f32[2,5,8] > f32[2,12,8]",
                ATTENTION(.keys = {5, 0}, .k = {1, 0, 40, 8, 1}, .v = {0, 0, 40, 8, 1})),
        OP_SEED(F32, "f32[2,3,4,8] f32[2,5,8] f32[2,5,8] > f32[2,13,8]",
                ATTENTION(.keys = {5, 0}, .k = {0, 0, 40, 8, 1}, .v = {0, 0, 40, 8, 1})),
        OP_SEED(F32, "f32[191] f32[2,5,8] f32[2,5,8] > f32[192]",
                ATTENTION(.keys = {5, 0}, .k = {0, 0, 40, 8, 1}, .v = {0, 0, 40, 8, 1})),
        // more keys by repeating one, further keys that are not there, a mask that is too short
        OP_SEED(F32, "f32[192] f32[8] f32[8] > f32[192]", ATTENTION(.keys = {9, 0}, .k = {0})),
        OP_SEED(F32, "f32[192] f32[2,5,8] f32[2,5,8] > f32[192]",
                ATTENTION(.keys = {5, 1}, .k = {0, 0, 40, 8, 1}, .v = {0, 0, 40, 8, 1})),
        OP_SEED(F32, "f32[192] f32[2,5,8] f32[2,5,8] - - f32[4] > f32[192]",
                ATTENTION(.keys = {5, 0}, .k = {0, 0, 40, 8, 1}, .v = {0, 0, 40, 8, 1},
                          .mask = {0, 0, 0, 0, 0, 1})),
        OP_SEED(F32, "f32[192] f32[2,2,8] f32[2,2,8] > f32[192]",
                ATTENTION(.keys = {2, 0}, .k = {0, 0, 16, 8, 1}, .v = {0, 0, 16, 8, 1},
                          .causal = true)),
        // quantized: scores that are missing or too few, a factor, keys of two formats
        OP_SEED(RAW, "uq8[2,3,4,8]:t uq8[2,5,8]:t uq8[2,5,8]:t > uq8[2,12,8]:t",
                QUANTIZED(.keys = {5, 0})),
        OP_SEED(RAW,
                "uq8[2,3,4,8]:t uq8[2,5,8]:t uq8[2,5,8]:t > uq8[2,12,8]:t uq8[2,12,4]:t - - "
                "uq8[2,12,5]:t",
                QUANTIZED(.keys = {5, 0})),
        OP_SEED(RAW,
                "uq8[2,3,4,8]:t uq8[2,5,8]:t uq8[2,5,8]:t - - uq8[4,5]:t > uq8[2,12,8]:t "
                "uq8[2,12,5]:t - - uq8[2,12,5]:t",
                QUANTIZED(.keys = {5, 0}, .mask = {0, 0, 0, 0, 5, 1})),
        OP_SEED(RAW,
                "uq8[2,3,4,8]:t uq8[2,5,8]:t uq8[2,5,8]:t > uq8[2,12,8]:t uq8[2,12,5]:t - - "
                "uq8[2,12,5]:t",
                QUANTIZED(.keys = {5, 0}, .causal = true)),
        OP_SEED(RAW,
                "uq16[2,3,4,8]:t uq16[2,5,8]:t sq8[2,5,8]:t uq8[2,2,8]:t sq8[2,2,8]:t > "
                "uq16[2,12,8]:t uq16[2,12,7]:t - - uq16[2,12,7]:t",
                QUANTIZED(.keys = {5, 2}, .more_k = {0, 0, 16, 8, 1}, .more_v = {0, 0, 16, 8, 1})),
    };
    OP_REFUSE(qrn_cop_attention, fused);
    OP_REFUSE(qrn_cop_gqa, gqa);
    OP_REFUSE(qrn_cop_rotary, rotary);
}

// Else a later call appends more frames than there are slots, or drops more than there are.
static void a_buffer_needs_slots_for_whole_calls(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "f32[3] > f32[10]", OP_ARGS(qrn_buffer_args, .stride = 3, .slots = 10)),
        OP_SEED(RAW, "f32[3] > f32[9]", OP_ARGS(qrn_buffer_args, .stride = 2, .slots = 9)),
        OP_SEED(RAW, "f32[3] > f32[9]", OP_ARGS(qrn_buffer_args, .stride = 12, .slots = 9)),
        OP_SEED(RAW, "f32[3] > f32[9]", OP_ARGS(qrn_buffer_args, .stride = 0, .slots = 9)),
        OP_SEED(RAW, "f32[3] > f32[9]", OP_ARGS(qrn_buffer_args, .stride = 3, .slots = 12)),
    };
    OP_REFUSE(qrn_cop_buffer, seeds);
}

// The state of an op that can be told to begin anew holds h and c of each batch row, and a mark.
static void only_a_layer_that_can_go_on_has_state(void **state) {
    (void)state;
    qrn_view x = {.rank = 3, .dims = {6, 2, 4}}, w = {.rank = 2, .dims = {5, 4}};
    qrn_view u = {.rank = 2, .dims = {5, 3}}, reset = {.dtype = QRN_DTYPE_B8};
    qrn_view *in[25] = {&x, &w, NULL, NULL, &u};
    qrn_kcall k = {.args = LSTM(.time_major = true), .in = in, .n_in = 25};
    assert_int_equal(qrn_cop_lstm.state(&k), 0);
    in[24] = &reset;
    assert_int_equal(qrn_cop_lstm.state(&k), 2 * (1 + 3 + 5) * 8);
    k.args = LSTM(.time_major = false);
    assert_int_equal(qrn_cop_lstm.state(&k), 6 * (1 + 3 + 5) * 8);
    x.rank = 2;
    assert_int_equal(qrn_cop_lstm.state(&k), 0);
}

#define TEST(op) cmocka_unit_test(op##_runs_whatever_its_check_accepts)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(lstm),
        TEST(gru),
        TEST(gqa),
        TEST(attention),
        TEST(rotary),
        TEST(stft),
        TEST(buffer),
        TEST(random),
        cmocka_unit_test(a_recurrent_layer_needs_all_weights_of_its_shapes),
        cmocka_unit_test(attention_needs_heads_and_caches_that_fit),
        cmocka_unit_test(a_buffer_needs_slots_for_whole_calls),
        cmocka_unit_test(only_a_layer_that_can_go_on_has_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
