// SPDX-License-Identifier: MIT
//
// The checks of the sparse ops of compiled graphs.
#include "op_fuzz.h"

#include "kernels/sparse/sparse.h"

#define MAKE(limit_) OP_ARGS(qrn_sparse_make_args, .limit = limit_)
#define READ(write) OP_ARGS(qrn_sparse_read_args, .write_dims = write)

static void sparse_create_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "i32[5,2] f32[5,3] > f32[16,16,3]:s5x2", MAKE(5)),
        OP_SEED(RAW, "u32[4,1] uq8[4,3,2]:t > uq8[16,3,2]:t:s5x1", MAKE(5)),
        OP_SEED(RAW, "i32[3,3] uq8[3]:t > uq8[16,16,16]:t5:s3x3", MAKE(3)),
        OP_SEED(RAW, "i32[3,1] i64[3,2] > i64[16,2]:s3x1", MAKE(3)),
    };
    OP_FUZZ(qrn_cop_sparse_create, seeds, 4000);
}

static void sparse_indices_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "f32[16,16,3]:s5x2 > i32[5,2]", READ(true)),
        OP_SEED(RAW, "uq8[16,16,3]:t:s5x3 > u32[7,3]", READ(false)),
    };
    OP_FUZZ(qrn_cop_sparse_indices, seeds, 3000);
}

static void sparse_values_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "f32[16,16,3]:s5x2 > f32[5,3]", READ(true)),
        OP_SEED(RAW, "uq8[16,16,3]:t:s5x2 > uq8[9,3]:t6", READ(false)),
        OP_SEED(RAW, "f64[16,16,3]:s5x3 > f64[7]", READ(false)),
    };
    OP_FUZZ(qrn_cop_sparse_values, seeds, 3000);
}

static void sparse_dense_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "f32[16,16,3]:s5x2 > f32[16,16,3]", NULL),
        OP_SEED(RAW, "uq8[16,4]:t:s5x1 > uq8[16,4]:t7", NULL),
        OP_SEED(RAW, "sq16[16,16]:t:s5x2 > sq16[16,16]:t", NULL),
        OP_SEED(RAW, "i64[16,16]:s5x1 > i64[16,16]", NULL),
    };
    OP_FUZZ(qrn_cop_sparse_dense, seeds, 4000);
}

static void sparse_pick_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "f32[16,16,3] f32[16,16,3]:s5x2 > f32[16,16,3]:s5x2", MAKE(5)),
        OP_SEED(RAW, "f32[16,16,3] f32[16,16,5]:s4x2 - > f32[16,16,3]:s5x2", MAKE(5)),
        OP_SEED(RAW, "uq8[16,3]:t uq8[16,3]:t:s4x1 uq8[16,3]:t:s3x1 > uq8[16,3]:t6:s7x1", MAKE(7)),
        OP_SEED(RAW, "i8[5,5] i8[5,5]:s4x2 i8[5,5]:s4x2 > i8[5,5]:s8x2", MAKE(8)),
        OP_SEED(RAW, "f64[16] f64[16]:s4x1 f64[16]:s3x1 > f64[16]:s2x1", MAKE(2)),
    };
    OP_FUZZ(qrn_cop_sparse_pick, seeds, 4000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sparse_create_runs_whatever_its_check_accepts),
        cmocka_unit_test(sparse_indices_runs_whatever_its_check_accepts),
        cmocka_unit_test(sparse_values_runs_whatever_its_check_accepts),
        cmocka_unit_test(sparse_dense_runs_whatever_its_check_accepts),
        cmocka_unit_test(sparse_pick_runs_whatever_its_check_accepts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
