// SPDX-License-Identifier: MIT
//
// The checks of the element-wise ops of compiled graphs.
#include "op_fuzz.h"

#include "kernels/eltwise/unary.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unary_runs_whatever_its_check_accepts),
        cmocka_unit_test(float_test_runs_whatever_its_check_accepts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
