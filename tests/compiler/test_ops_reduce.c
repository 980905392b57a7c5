// SPDX-License-Identifier: MIT
//
// The checks of reductions, softmax and normalization in compiled graphs.
#include "op_fuzz.h"

#include "kernels/norm/norm.h"
#include "kernels/reduce/along.h"
#include "kernels/reduce/reduce.h"
#include "kernels/softmax/masked.h"
#include "kernels/softmax/softmax.h"

#define REDUCE(op_, mask) OP_ARGS(qrn_reduce_args, .op = QRN_REDUCE_##op_, .axes = mask)

static void reduce_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[3,5,40] > f32[3,5]", REDUCE(MAX, 4)),
        OP_SEED(F32, "f32[3,5,40] > f32[40]", REDUCE(MEAN, 3)),
        OP_SEED(F32, "f32[3,5,4] > f32[3,1,4]", REDUCE(PROD, 2)),
        OP_SEED(F64, "f64[70,300] > f64[70]", REDUCE(SUM_SQUARE, 2)),
        OP_SEED(F64, "f64[4,6,9] > f64[6,9]", REDUCE(MIN, 1)),
        OP_SEED(I64, "i64[4,6,3] > i64[1]", REDUCE(MEAN, 7)),
        OP_SEED(I64, "i64[] > i64[]", REDUCE(SUM_SQUARE, 0)),
        OP_SEED(RAW, "uq8[5,6,20]:t > uq8[5,6]:t", REDUCE(SUM, 4)),
        OP_SEED(RAW, "sq16[5,6,20]:t > uq8[20]:t", REDUCE(MEAN, 3)),
        OP_SEED(RAW, "sq8[90,9]:t > sq16[9]:t", REDUCE(MEAN, 1)),
        OP_SEED(RAW, "uq16[4,6,9]:t > sq16[4,9]:t", REDUCE(MAX, 2)),
    };
    OP_FUZZ(qrn_cop_reduce, seeds, 3000);
}

static void moments_run_whatever_their_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[3,5,4] > f32[3,4] f32[3,4]", REDUCE(SUM, 2)),
        OP_SEED(F64, "f64[7] > f64[] f64[]", REDUCE(SUM, 1)),
    };
    OP_FUZZ(qrn_cop_moments, seeds, 1000);
}

static void extremes_run_whatever_their_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[3,5,40] > f32[] f32[1]", NULL),
        OP_SEED(F64, "f64[7] > f64[1,1] f64[]", NULL),
    };
    OP_FUZZ(qrn_cop_extremes, seeds, 1000);
}

static void arg_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[3,5,4] > i32[3,4]", OP_ARGS(qrn_arg_args, .axis = 1)),
        OP_SEED(F64, "f64[3,5,4] > f16[3,5,1]", OP_ARGS(qrn_arg_args, .axis = 2, .min = true)),
        OP_SEED(I64, "i64[70,300] > u32[300]", OP_ARGS(qrn_arg_args, .axis = 0)),
        OP_SEED(F32, "f32[6] > f32[]", OP_ARGS(qrn_arg_args, .axis = 0)),
    };
    OP_FUZZ(qrn_cop_arg, seeds, 1500);
}

static void cumsum_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[3,5,4] > f32[3,5,4]", OP_ARGS(qrn_cumsum_args, .axis = 1)),
        OP_SEED(F64, "f64[9] > f64[9]", OP_ARGS(qrn_cumsum_args, .exclusive = true)),
        OP_SEED(I64, "i64[70,300] > i64[70,300]", OP_ARGS(qrn_cumsum_args, .reverse = true)),
    };
    OP_FUZZ(qrn_cop_cumsum, seeds, 1500);
}

static void topk_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[3,20] > f32[3,5] i32[3,5]", OP_ARGS(qrn_topk_args, .smallest = false)),
        OP_SEED(F64, "f64[9] > f64[9] u32[9]", OP_ARGS(qrn_topk_args, .low_ties = true)),
        OP_SEED(I64, "i64[70,300] > i64[70,1] i32[70,1]", OP_ARGS(qrn_topk_args, .smallest = true)),
    };
    OP_FUZZ(qrn_cop_topk, seeds, 1500);
}

#define SOFTMAX(...) OP_ARGS(qrn_softmax_args, .beta = 1, __VA_ARGS__)

static void softmax_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[3,5,40] > f32[3,5,40]", SOFTMAX(.axis = 2)),
        OP_SEED(F32, "f32[3,5,4] > f32[3,5,4]", SOFTMAX(.axis = 0, .log = true)),
        OP_SEED(F64, "f64[40,500] > f64[40,500]", SOFTMAX(.axis = 1)),
        OP_SEED(RAW, "uq8[3,5,40]:t > uq8[3,5,40]:t", SOFTMAX(.axis = 2)),
        OP_SEED(RAW, "sq16[6,600]:t > uq16[6,600]:t", SOFTMAX(.axis = 1)),
        OP_SEED(RAW, "uq16[30,600]:t > sq8[30,600]:t", SOFTMAX(.axis = 1)),
        OP_SEED(RAW, "sq8[4,6,3]:t > sq16[4,6,3]:t", SOFTMAX(.axis = 1)),
    };
    OP_FUZZ(qrn_cop_softmax, seeds, 2500);
}

static void masked_softmax_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[2,3,5,7] f32[2,7] > f32[2,3,5,7]",
                OP_ARGS(qrn_masked_softmax_args, .compressed = false)),
        OP_SEED(F64, "f64[2,3,7,7] i32[2,3] > f64[2,3,7,7]",
                OP_ARGS(qrn_masked_softmax_args, .compressed = true)),
        OP_SEED(F32, "f32[2,3,16,16] uq8[2,2]:t > f32[2,3,16,16]",
                OP_ARGS(qrn_masked_softmax_args, .compressed = true)),
    };
    OP_FUZZ(qrn_cop_masked_softmax, seeds, 1500);
}

// The offset that has no positive counterpart is not a small one.
static void the_lowest_offset_is_far(void **state) {
    (void)state;
    qrn_quant lowest = {.kind = QRN_QUANT_TENSOR, .bits = 8, .scale = 0.5f, .offset = INT32_MIN};
    qrn_quant plain = {.kind = QRN_QUANT_TENSOR, .bits = 8, .scale = 0.5f};
    qrn_view far = {.dtype = QRN_DTYPE_UQ8, .quant = &lowest, .rank = 2, .dims = {3, 8}};
    qrn_view near = {.dtype = QRN_DTYPE_UQ8, .quant = &plain, .rank = 2, .dims = {3, 8}};
    const qrn_norm_args norm = {.kind = QRN_NORM_RMS, .n_axes = 1, .axes = {1}};
    assert_true(qrn_norm_supports_q(&norm, &near, &near));
    assert_false(qrn_norm_supports_q(&norm, &far, &near));
    const qrn_softmax_args softmax = {.axis = 1, .beta = 1};
    qrn_view *in[] = {&near}, *out[] = {&far};
    const qrn_kcall k = {
        .args = &softmax, .in = in, .out = out, .n_in = 1, .n_out = 1, .n_tasks = 1};
    const qrn_family *f = &qrn_family_softmax;
    for (uint32_t i = 0; i < f->n_rows; i++)
        if (f->rows[i].domain == QRN_DOMAIN_RAW && f->rows[i].needs)
            assert_false(f->rows[i].works(&k));
}

#define NORM(kind_, ...)                                                                           \
    OP_ARGS(qrn_norm_args, .kind = QRN_NORM_##kind_, .epsilon = 1e-3f, __VA_ARGS__)

static void norm_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[3,5,40] f32[40] f32[40] > f32[3,5,40]",
                NORM(MEAN_VARIANCE, .n_axes = 1, .axes = {2})),
        OP_SEED(
            F32, "f32[2,5,6,32] f32[32] f32[32] > f32[2,5,6,32]",
            NORM(MEAN_VARIANCE, .per_channel = true, .group = 4, .n_axes = 3, .axes = {1, 2, 3})),
        OP_SEED(F32, "f32[2,5,6,30] f32[30] - > f32[2,5,6,30]",
                NORM(CENTER, .per_channel = true, .n_axes = 2, .axes = {1, 2})),
        OP_SEED(F64, "f64[4,6,5] - f64[5,4] > f64[4,6,5]", NORM(RMS, .n_axes = 2, .axes = {2, 0})),
        OP_SEED(F64, "f64[40,6] > f64[40,6]", NORM(L2, .n_axes = 1, .axes = {0})),
        OP_SEED(F32, "f32[9] > f32[9]", NORM(ROOT_SUM, .per_channel = true)),
        OP_SEED(RAW, "uq8[3,5,40]:t f64[40] f64[40] > uq8[3,5,40]:t",
                NORM(MEAN_VARIANCE, .n_axes = 1, .axes = {2})),
        OP_SEED(RAW, "sq16[3,5,40]:t f64[5,40] > uq16[3,5,40]:t",
                NORM(RMS, .n_axes = 2, .axes = {1, 2})),
        OP_SEED(RAW, "uq16[70,300]:t > sq8[70,300]:t", NORM(RMS, .n_axes = 1, .axes = {1})),
    };
    OP_FUZZ(qrn_cop_norm, seeds, 3000);
}

static void affine_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[3,5,40] f32[40] f32[40] > f32[3,5,40]", NULL),
        OP_SEED(F32, "f32[70,300] f32[300] > f32[70,300]", NULL),
        OP_SEED(F64, "f64[9] f64[9] - > f64[9]", NULL),
        OP_SEED(F32, "f32[2,7,5,40] f32[7,1,1] f32[7,1,1] > f32[2,7,5,40]", NULL),
        OP_SEED(F64, "f64[3,5] f64[3,1] > f64[3,5]", NULL),
    };
    OP_FUZZ(qrn_cop_affine, seeds, 1500);
}

static void lrn_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[2,5,6,9] > f32[2,5,6,9]", OP_ARGS(qrn_lrn_args, .beta = 1, .radius = 2)),
        OP_SEED(F64, "f64[2,5,6,3] > f64[2,5,6,3]",
                OP_ARGS(qrn_lrn_args, .bias = 1, .radius = 1, .within_channel = true)),
        OP_SEED(F64, "f64[40] > f64[40]", OP_ARGS(qrn_lrn_args, .bias = 1, .radius = 90)),
    };
    OP_FUZZ(qrn_cop_lrn, seeds, 1500);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reduce_runs_whatever_its_check_accepts),
        cmocka_unit_test(extremes_run_whatever_their_check_accepts),
        cmocka_unit_test(moments_run_whatever_their_check_accepts),
        cmocka_unit_test(arg_runs_whatever_its_check_accepts),
        cmocka_unit_test(cumsum_runs_whatever_its_check_accepts),
        cmocka_unit_test(topk_runs_whatever_its_check_accepts),
        cmocka_unit_test(softmax_runs_whatever_its_check_accepts),
        cmocka_unit_test(masked_softmax_runs_whatever_its_check_accepts),
        cmocka_unit_test(the_lowest_offset_is_far),
        cmocka_unit_test(norm_runs_whatever_its_check_accepts),
        cmocka_unit_test(affine_runs_whatever_its_check_accepts),
        cmocka_unit_test(lrn_runs_whatever_its_check_accepts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
