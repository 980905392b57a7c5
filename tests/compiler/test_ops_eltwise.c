// SPDX-License-Identifier: MIT
//
// The checks of the element-wise ops of compiled graphs.
#include "op_fuzz.h"

#include "kernels/eltwise/binary.h"
#include "kernels/eltwise/rotate.h"
#include "kernels/eltwise/round_to.h"
#include "kernels/eltwise/unary.h"
#include "kernels/fp16/round_fp16.h"

static void unary_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[2,3,5] > f32[2,3,5]", OP_ARGS(qrn_unary_args, .op = QRN_UNARY_TANH)),
        OP_SEED(F32, "f32[70,300] > f32[70,300]",
                OP_ARGS(qrn_unary_args, .op = QRN_UNARY_CLAMP, .high = 6)),
        OP_SEED(F64, "f64[17] f64[] > f64[17]", OP_ARGS(qrn_unary_args, .op = QRN_UNARY_LOGIT)),
        OP_SEED(F64, "f64[4,9] > f64[4,9]", OP_ARGS(qrn_unary_args, .op = QRN_UNARY_ELU)),
        OP_SEED(I64, "i64[33] > i64[33]", OP_ARGS(qrn_unary_args, .op = QRN_UNARY_NEG)),
    };
    OP_FUZZ(qrn_cop_unary, seeds, 2000);
}

static void float_test_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[40] > b8[40]", OP_ARGS(qrn_float_test_args, .nan = true)),
        OP_SEED(F64, "f64[2,3] > uq8[2,3]:t", OP_ARGS(qrn_float_test_args, .plus_inf = true)),
    };
    OP_FUZZ(qrn_cop_float_test, seeds, 1000);
}

#define BINARY(op_) OP_ARGS(qrn_binary_args, .op = op_)

static void binary_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[2,3,5] f32[5] > f32[2,3,5]", BINARY(QRN_BINARY_ADD)),
        OP_SEED(F32, "f32[70,300] f32[70,1] > f32[70,300]", BINARY(QRN_BINARY_MAX)),
        OP_SEED(F64, "f64[1,7] f64[4,1] > f64[4,7]", BINARY(QRN_BINARY_POW)),
        OP_SEED(I64, "i64[3,3] i64[] > i64[3,3]", BINARY(QRN_BINARY_FLOOR_DIV)),
        OP_SEED(RAW, "uq8[5,33]:t sq8[33]:t > uq8[5,33]:t", BINARY(QRN_BINARY_ADD)),
        OP_SEED(RAW, "uq16[5,33]:t uq16[5,33]:t > uq16[5,33]:t", BINARY(QRN_BINARY_SUB)),
        OP_SEED(RAW, "sq8[5,70]:t uq8[5,1]:t > sq8[5,70]:t", BINARY(QRN_BINARY_MUL)),
        OP_SEED(RAW, "uq16[400,6]:t sq16[6]:t > sq16[400,6]:t", BINARY(QRN_BINARY_MUL)),
        OP_SEED(RAW, "f16[40,9] f32[9] > uq8[40,9]:t", BINARY(QRN_BINARY_PRELU)),
        OP_SEED(RAW, "i32[40,9] i32[9] > i32[40,9]", BINARY(QRN_BINARY_MOD)),
        OP_SEED(RAW, "u32[40,9] u32[40,9] > u32[40,9]", BINARY(QRN_BINARY_SHIFT_LEFT)),
    };
    OP_FUZZ(qrn_cop_binary, seeds, 3000);
}

static void compare_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[2,3,5] f32[3,1] > b8[2,3,5]", BINARY(QRN_COMPARE_GT)),
        OP_SEED(F64, "f64[6] f64[] > i32[6]", BINARY(QRN_COMPARE_NE)),
        OP_SEED(I64, "i64[70,300] i64[300] > uq8[70,300]:t", BINARY(QRN_COMPARE_LE)),
        OP_SEED(RAW, "i32[70,3] i32[3] > b8[70,3]", BINARY(QRN_COMPARE_LT)),
        OP_SEED(RAW, "u32[70] u32[] > i32[70]", BINARY(QRN_COMPARE_GE)),
    };
    OP_FUZZ(qrn_cop_compare, seeds, 1500);
}

#define ROUND_TO(low_, high_) OP_ARGS(qrn_round_to_args, .low = low_, .high = high_)

static void round_to_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "f32[70,3] f32[1] f32[] > u8[70,3]", ROUND_TO(0, 255)),
        OP_SEED(RAW, "f32[333] f32[] - > sq16[333]:t", ROUND_TO(-9, 32767)),
    };
    OP_FUZZ(qrn_cop_round_to, seeds, 1500);
}

#define ROTATE(inner_) OP_ARGS(qrn_rotate_args, .inner = inner_)

static void rotate_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[2,3,10] f32[3,5] f32[1,3,5] > f32[2,3,10]", ROTATE(1)),
        OP_SEED(F32, "f32[7,4,66] f32[7,1,33] f32[7,1,33] > f32[7,4,66]", ROTATE(4)),
        OP_SEED(F32, "f32[2] f32[1] f32[1] > f32[2]", ROTATE(9)),
    };
    OP_FUZZ(qrn_cop_rotate, seeds, 1500);
}

static void rotate_refuses_other_sizes(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[3,10] f32[3,5] f32[3,5] > f32[3,10]", ROTATE(0)),
        OP_SEED(F32, "f32[3,11] f32[3,5] f32[3,5] > f32[3,11]", ROTATE(1)),
        OP_SEED(F32, "f32[3,10] f32[3,5] f32[2,5] > f32[3,10]", ROTATE(1)),
        OP_SEED(F32, "f32[3,10] f32[3,5] f32[5,3] > f32[3,10]", ROTATE(1)),
        OP_SEED(F32, "f32[3,10] f32[3,5] f32[3,5] > f32[3,9]", ROTATE(1)),
    };
    OP_REFUSE(qrn_cop_rotate, seeds);
}

static void logical_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "b8[2,3,5] b8[3,1] > b8[2,3,5]", BINARY(QRN_LOGICAL_XOR)),
        OP_SEED(RAW, "uq8[70,300]:t > b8[70,300]", BINARY(QRN_LOGICAL_NOT)),
        OP_SEED(RAW, "u8[1] - > i8[9]", BINARY(QRN_LOGICAL_NOT)),
    };
    OP_FUZZ(qrn_cop_logical, seeds, 1500);
}

static void select_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "b8[2,1] f32[3] f32[2,3] > f32[2,3]", NULL),
        OP_SEED(RAW, "i32[] uq8[70,300]:t uq8[1]:t > uq8[70,300]:t", NULL),
        OP_SEED(RAW, "i64[4,5] i64[4,5] i64[5] > i64[4,5]", NULL),
        OP_SEED(RAW, "uq16[5] f16[5] f16[5] > f16[5]", NULL),
    };
    OP_FUZZ(qrn_cop_select, seeds, 1500);
}

static void mux_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "i32[2,1] f32[3] f32[2,3] f32[] > f32[2,3]", NULL),
        OP_SEED(RAW, "u8[7] uq16[7]:t > uq16[7]:t", NULL),
        OP_SEED(RAW, "f32[7,9] b8[7,9] b8[1] > b8[7,9]", NULL),
    };
    OP_FUZZ(qrn_cop_mux, seeds, 1500);
}

static void lut_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "uq8[3,45]:t uq8[256]:c > uq8[3,45]", NULL),
        OP_SEED(RAW, "sq16[99]:t uq16[65536]:c > uq16[99]:t", NULL),
        OP_SEED(RAW, "b8[300] f32[256]:c > f32[20,15]", NULL),
        OP_SEED(RAW, "uq16[70,300] f64[65536] > f64[70,300]", NULL),
    };
    OP_FUZZ(qrn_cop_lut, seeds, 1000);
}

// Every type to and from every other one is reached by random changes of types.
static const op_seed conversions[] = {
    OP_SEED(RAW, "f32[3,45] > uq8[3,45]:t", NULL),
    OP_SEED(RAW, "sq4[5,3]:a0 > f32[5,3]", NULL),
    OP_SEED(RAW, "f64[5,7] > uq4[5,7]:t", NULL),
    OP_SEED(RAW, "uq16[260]:t > uq16[260]:t12", NULL),
    OP_SEED(RAW, "sq8[4,6]:b2x3 > f16[4,6]", NULL),
    OP_SEED(RAW, "i32[40000] > i8[40000]", NULL),
    OP_SEED(RAW, "sq8[9,9]:a1.5 > sq32[81]:t", NULL),
};

static void convert_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    OP_FUZZ(qrn_cop_convert, conversions, 3000);
}

static void cast_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    OP_FUZZ(qrn_cop_cast, conversions, 2000);
}

static void quantize_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "f32[3,145] > uq8[3,145]:t", NULL),
        OP_SEED(RAW, "f16[300] > sq16[300]:t", NULL),
        OP_SEED(RAW, "f64[40,1000] > sq8[40,1000]:t", NULL),
        OP_SEED(RAW, "f32[300] > uq16[300]:t", NULL),
    };
    OP_FUZZ(qrn_cop_quantize, seeds, 2000);
}

static void half_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "f32[3,145] > f32[3,145]",
                OP_ARGS(qrn_round_fp16_args, .rule = QRN_FP16_IEEE)),
        OP_SEED(RAW, "f32[3,145] > f16[3,145]",
                OP_ARGS(qrn_round_fp16_args, .rule = QRN_FP16_WIDE_RANGE)),
        OP_SEED(RAW, "uq8[40000]:t > f16[40000]",
                OP_ARGS(qrn_round_fp16_args, .rule = QRN_FP16_CLAMP)),
        OP_SEED(RAW, "sq4[5,3]:a0 > f32[5,3]",
                OP_ARGS(qrn_round_fp16_args, .rule = QRN_FP16_CLAMP)),
    };
    OP_FUZZ(qrn_cop_round_fp16, seeds, 2000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unary_runs_whatever_its_check_accepts),
        cmocka_unit_test(float_test_runs_whatever_its_check_accepts),
        cmocka_unit_test(binary_runs_whatever_its_check_accepts),
        cmocka_unit_test(compare_runs_whatever_its_check_accepts),
        cmocka_unit_test(round_to_runs_whatever_its_check_accepts),
        cmocka_unit_test(rotate_runs_whatever_its_check_accepts),
        cmocka_unit_test(rotate_refuses_other_sizes),
        cmocka_unit_test(logical_runs_whatever_its_check_accepts),
        cmocka_unit_test(select_runs_whatever_its_check_accepts),
        cmocka_unit_test(mux_runs_whatever_its_check_accepts),
        cmocka_unit_test(lut_runs_whatever_its_check_accepts),
        cmocka_unit_test(convert_runs_whatever_its_check_accepts),
        cmocka_unit_test(cast_runs_whatever_its_check_accepts),
        cmocka_unit_test(quantize_runs_whatever_its_check_accepts),
        cmocka_unit_test(half_runs_whatever_its_check_accepts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
