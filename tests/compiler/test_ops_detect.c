// SPDX-License-Identifier: MIT
//
// The checks of the detection ops of compiled graphs.
#include "op_fuzz.h"

#include "kernels/detect/candidates.h"
#include "kernels/detect/detection_output.h"
#include "kernels/detect/nms.h"
#include "kernels/detect/proposals.h"
#include "kernels/detect/roi.h"

#define ANY_SCORE (-1e300) // below the scores of most random bytes

#define DELTAS OP_ARGS(qrn_box_deltas_args, .weights = {10, 10, 5, 5})

static void box_deltas_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[5,4] f32[5,8] i32[5] f32[9,2] > f32[5,8] i32[9]", DELTAS),
        OP_SEED(F32, "f32[5,4] f32[5,12] i32[5] uq16[16,2]:t > f32[5,12]", DELTAS),
        OP_SEED(F64, "f64[3,4] f64[3,4] i32[3] uq8[9,2]:a0 > f64[3,4] u32[9]", DELTAS),
    };
    OP_FUZZ(qrn_cop_box_deltas, seeds, 3000);
}

static void rotated_deltas_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[5,5] f32[5,10] f32[9,3] i32[5] > f32[5,10] f32[9]",
                OP_ARGS(qrn_rotated_deltas_args, .weights = {10, 10, 5, 5}, .bounded = true,
                        .low = -90, .high = 90)),
        OP_SEED(F32, "f32[2,5] f32[2,5] f32[4,3] i32[2] > f32[2,5] f32[4]",
                OP_ARGS(qrn_rotated_deltas_args, .weights = {1, 1, 1, 1})),
        OP_SEED(F64, "f64[6,5] f64[6,5] f64[2,3] > f64[6,5] f64[2]",
                OP_ARGS(qrn_rotated_deltas_args, .weights = {1, 1, 1, 1}, .apply_scale = true,
                        .upright_degree = 1)),
    };
    OP_FUZZ(qrn_cop_rotated_deltas, seeds, 3000);
}

#define DETECTION(...)                                                                             \
    OP_ARGS(qrn_detection_output_args, .factors = {0.1f, 0.1f, 0.2f, 0.2f}, .limit = -1,           \
            .iou_threshold = 0.5, __VA_ARGS__)

static void detection_output_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[2,7,3] f32[2,7,4] f32[7,4] > f32[2,5] f32[2,5,4] i32[2,5] u32[2]",
                DETECTION(.regular = true, .shared = true, .eta = 0.9)),
        OP_SEED(F64, "f64[2,7,3] f64[2,21,4] f64[14,4] > f64[2,30] f64[2,30,4] i32[2,30] u32[2]",
                DETECTION(.regular = true, .number_background = true)),
        OP_SEED(F32, "f32[2,7,3] f32[2,7,4] f32[7,4] > f32[2,5] f32[2,5,4] i32[2,5] u32[2]",
                DETECTION(.shared = true, .use_background = true, .confidence = ANY_SCORE)),
        OP_SEED(F64, "f64[2,7,3] f64[2,21,4] f64[7,4] > f64[2,9] f64[2,9,4] i32[2,9] u32[2]",
                DETECTION(.background = 1, .number_background = true, .confidence = ANY_SCORE)),
    };
    OP_FUZZ(qrn_cop_detection_output, seeds, 3000);
}

static void generate_proposals_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[2,3,5,2] f32[2,3,5,8] f32[2,4] f32[2,2] > f32[9] f32[9,4] i32[9]",
                OP_ARGS(qrn_generate_args, .step = {16, 16}, .iou_threshold = 0.7, .pre_limit = 6,
                        .post_limit = 3, .report = 7)),
        OP_SEED(F64, "f64[2,3,5,2] f64[2,3,5,8] f64[2,4] f64[2,2] > f64[70] f64[70,4] u32[70]",
                OP_ARGS(qrn_generate_args, .step = {1, 2}, .iou_threshold = 0.7, .pre_limit = ~0u,
                        .post_limit = ~0u, .clip_deltas = true)),
    };
    OP_FUZZ(qrn_cop_generate_proposals, seeds, 3000);
}

static void collect_proposals_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[3,5] - - - - f32[3] > f32[2,5]", NULL),
        OP_SEED(F64, "f64[3,5] f64[6,5] - - - f64[3] f64[6] - - - > f64[9,5]", NULL),
        OP_SEED(F32,
                "f32[3,5] f32[6,5] f32[1,5] f32[2,5] f32[4,5] f32[3] f32[6] f32[1] f32[2] f32[4] "
                "> f32[8,5]",
                NULL),
    };
    OP_FUZZ(qrn_cop_collect_proposals, seeds, 3000);
}

static void distribute_proposals_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[9,4] > i32[9] f32[9,4] f32[9,4] f32[6,4] f32[9,4]",
                OP_ARGS(qrn_distribute_args, .min_level = 2, .max_level = 5, .canonical_level = 4,
                        .canonical_scale = 2, .report = 30)),
        OP_SEED(F64, "f64[9,5] > u32[9] f64[9,5] - -",
                OP_ARGS(qrn_distribute_args, .min_level = 3, .max_level = 3, .canonical_level = 4,
                        .canonical_scale = 224)),
    };
    OP_FUZZ(qrn_cop_distribute_proposals, seeds, 3000);
}

static void nms_limit_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32,
                "f32[7,8] f32[7,2] i32[7] i32[2] > f32[5,4] f32[5] i32[5] i32[5] i32[16] i32[5] "
                "i32[2]",
                OP_ARGS(qrn_nms_limit_args, .method = QRN_NMS_FROM, .iou_threshold = 0.5,
                        .score_threshold = ANY_SCORE, .pre_limit = 3, .report = 0x2f)),
        OP_SEED(F64, "f64[7,12] f64[7,3] i32[7] > f64[25,4] f64[25] i32[25] i32[25] - i32[25]",
                OP_ARGS(qrn_nms_limit_args, .method = QRN_NMS_GAUSSIAN, .sigma = 0.5,
                        .score_threshold = ANY_SCORE, .nms_score_threshold = -1, .pre_limit = -1)),
        OP_SEED(F32, "f32[9,4] f32[9,1] i32[9] > f32[3,4] f32[3] u32[3] i32[3] i32[4] - i32[1]",
                OP_ARGS(qrn_nms_limit_args, .method = QRN_NMS_LINEAR, .iou_threshold = 0.3,
                        .score_threshold = ANY_SCORE, .pre_limit = -1, .report = 15)),
    };
    OP_FUZZ(qrn_cop_nms_limit, seeds, 4000);
}

static void keypoint_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[2,5,6,3] f32[2,4] > f32[2,3] f32[2,3,2]", NULL),
        OP_SEED(F64, "f64[2,1,6,3] f64[2,4] > f64[2,3] f64[2,3,2]", NULL),
    };
    OP_FUZZ(qrn_cop_keypoint, seeds, 2000);
}

static void nms_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[2,6,4] f32[2,3,6] > i32[40,3] u32[2]",
                OP_ARGS(qrn_nms_args, .iou_threshold = 0.5, .score_threshold = ANY_SCORE, .most = 4,
                        .report = 1)),
        OP_SEED(
            F64, "f64[2,6,4] f64[2,3,6] > u32[4,3] u32[1]",
            OP_ARGS(qrn_nms_args, .iou_threshold = 0.5, .score_threshold = ANY_SCORE, .most = 9)),
        OP_SEED(F64, "f64[2,6,4] f64[2,3,6] > u32[4,3]",
                OP_ARGS(qrn_nms_args, .iou_threshold = 0.5, .most = 9)),
    };
    OP_FUZZ(qrn_cop_nms, seeds, 3000);
}

static void combined_nms_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[2,6,3,4] f32[2,6,3] > f32[2,5,4] f32[2,5] u32[2,5] u32[2]",
                OP_ARGS(qrn_combined_nms_args, .iou_threshold = 0.5, .score_threshold = ANY_SCORE,
                        .per_class = 2)),
        OP_SEED(F64, "f64[2,6,1,4] f64[2,6,3] > f64[2,25,4] f64[2,25] u32[2,25] u32[2]",
                OP_ARGS(qrn_combined_nms_args, .iou_threshold = 0.5, .score_threshold = ANY_SCORE,
                        .per_class = 9, .clip = true)),
    };
    OP_FUZZ(qrn_cop_combined_nms, seeds, 3000);
}

static void multi_nms_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[2,6,4] f32[2,6,3] > f32[2,5,4] f32[2,5] i32[2,5] u32[2] i32[2,5]",
                OP_ARGS(qrn_multi_nms_args, .iou_threshold = 0.5, .score_threshold = ANY_SCORE)),
        OP_SEED(F64, "f64[2,6,4] f64[2,6,3] > f64[2,25,4] f64[2,25] i32[2,25] u32[2] i32[2,25]",
                OP_ARGS(qrn_multi_nms_args, .iou_threshold = 0.5, .score_threshold = ANY_SCORE,
                        .sigma = 0.5)),
    };
    OP_FUZZ(qrn_cop_multi_nms, seeds, 3000);
}

static void pick_rows_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "f32[2,16,3] i32[2,5] > f32[2,5,3]", NULL),
        OP_SEED(RAW, "uq8[2,16]:t i32[2,5] > uq8[2,5]:t", NULL),
        OP_SEED(RAW, "f64[2,4,3,2] i32[2,5] > f64[2,5,3,2]", NULL),
        OP_SEED(RAW, "i32[2,16,3] i32[2,5] > i32[2,5,3]", NULL),
    };
    OP_FUZZ(qrn_cop_pick_rows, seeds, 3000);
}

// What multi_nms writes there is inside; anybody else may write anything.
static void pick_rows_refuses_a_row_outside(void **state) {
    (void)state;
    float x[2 * 3] = {1, 2, 3, 4, 5, 6}, y[2 * 2];
    int32_t chosen[2 * 2] = {2, -1, 0, 2};
    qrn_view vx = {.data = x, .dtype = QRN_DTYPE_F32, .rank = 2, .dims = {2, 3}};
    qrn_view vc = {.data = chosen, .dtype = QRN_DTYPE_I32, .rank = 2, .dims = {2, 2}};
    qrn_view vy = {.data = y, .dtype = QRN_DTYPE_F32, .rank = 2, .dims = {2, 2}};
    qrn_view *in[] = {&vx, &vc}, *out[] = {&vy};
    qrn_kcall k = {.in = in, .out = out, .n_in = 2, .n_out = 1, .n_tasks = 1};
    const qrn_kernel *row = &qrn_family_pick_rows.rows[0];
    assert_int_equal(row->fn(&k), QRN_OK);
    assert_true(y[0] == 3 && y[1] == 0 && y[2] == 4 && y[3] == 6);
    chosen[3] = 3;
    assert_int_equal(row->fn(&k), QRN_E_ARGUMENT);
    chosen[3] = INT32_MAX;
    assert_int_equal(row->fn(&k), QRN_E_ARGUMENT);
}

static void roi_align_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[9,6,7,3] f32[5,4] i32[5] > f32[5,2,3,3]",
                OP_ARGS(qrn_roi_args, .ratio = {2, 2}, .samples = {2, 3})),
        OP_SEED(F64, "f64[9,6,7,3] f64[5,4] u32[5] > f64[5,2,3,3]",
                OP_ARGS(qrn_roi_args, .ratio = {1, 1}, .samples = {-1, 0}, .aligned = true)),
        OP_SEED(F32, "f32[9,6,7,3] f32[90,4] i32[90] > f32[90,9,9,3]",
                OP_ARGS(qrn_roi_args, .ratio = {1, 1}, .samples = {2, 1}, .skip_empty = true)),
    };
    OP_FUZZ(qrn_cop_roi_align, seeds, 2000);
}

static void roi_pool_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[9,6,7,3] f32[5,4] i32[5] > f32[5,2,3,3]",
                OP_ARGS(qrn_roi_args, .ratio = {2, 2})),
        OP_SEED(F64, "f64[9,6,7,3] f64[5,4] u32[5] > f64[5,2,3,3]",
                OP_ARGS(qrn_roi_args, .ratio = {1, 1})),
        OP_SEED(F32, "f32[9,6,7,3] f32[90,4] i32[90] > f32[90,9,9,3]",
                OP_ARGS(qrn_roi_args, .ratio = {1, 1})),
    };
    OP_FUZZ(qrn_cop_roi_pool, seeds, 2000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(box_deltas_runs_whatever_its_check_accepts),
        cmocka_unit_test(rotated_deltas_runs_whatever_its_check_accepts),
        cmocka_unit_test(detection_output_runs_whatever_its_check_accepts),
        cmocka_unit_test(generate_proposals_runs_whatever_its_check_accepts),
        cmocka_unit_test(collect_proposals_runs_whatever_its_check_accepts),
        cmocka_unit_test(distribute_proposals_runs_whatever_its_check_accepts),
        cmocka_unit_test(nms_limit_runs_whatever_its_check_accepts),
        cmocka_unit_test(keypoint_runs_whatever_its_check_accepts),
        cmocka_unit_test(nms_runs_whatever_its_check_accepts),
        cmocka_unit_test(combined_nms_runs_whatever_its_check_accepts),
        cmocka_unit_test(multi_nms_runs_whatever_its_check_accepts),
        cmocka_unit_test(pick_rows_runs_whatever_its_check_accepts),
        cmocka_unit_test(pick_rows_refuses_a_row_outside),
        cmocka_unit_test(roi_align_runs_whatever_its_check_accepts),
        cmocka_unit_test(roi_pool_runs_whatever_its_check_accepts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
