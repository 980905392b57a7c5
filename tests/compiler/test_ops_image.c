// SPDX-License-Identifier: MIT
//
// The checks of the image ops of compiled graphs.
#include "op_fuzz.h"

#include "kernels/image/color.h"
#include "kernels/image/resample.h"
#include "kernels/image/sample.h"
#include "kernels/image/window.h"

static void yuv_rgb_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[2,36] > f32[2,4,6,3]", OP_ARGS(qrn_yuv_rgb_args, .v_first = true)),
        OP_SEED(F64, "f64[1,12] > f64[1,2,4,3]", OP_ARGS(qrn_yuv_rgb_args, .bgr = true)),
        OP_SEED(F32, "f32[1,15000] > f32[1,100,100,3]", OP_ARGS(qrn_yuv_rgb_args, .bgr = true)),
    };
    OP_FUZZ(qrn_cop_yuv_rgb, seeds, 2000);
}

static void drop_alpha_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "uq8[2,5,7,4]:t > uq8[2,5,7,3]:t",
                OP_ARGS(qrn_drop_alpha_args, .alpha_last = true)),
        OP_SEED(RAW, "f32[2,5,7,4] > f32[2,5,7,3]", OP_ARGS(qrn_drop_alpha_args, .bgr = true)),
        OP_SEED(RAW, "f64[90,90,4] > f64[90,90,3]", OP_ARGS(qrn_drop_alpha_args, .bgr = true)),
        OP_SEED(RAW, "f16[4] > f16[3]", OP_ARGS(qrn_drop_alpha_args, .bgr = true)),
    };
    OP_FUZZ(qrn_cop_drop_alpha, seeds, 1500);
}

#define RESAMPLE(axis_, taps_) OP_ARGS(qrn_resample_args, .axis = axis_, .taps = taps_)
// Positions and weights of 4 positions with 2 taps, and with 3.
#define TWO_TAPS                                                                                   \
    (const int32_t[]) { 0, 0, 0, 1, 1, 2, 2, 2 }
#define TWO_WEIGHTS                                                                                \
    (const double[]) { 1, 0, 0.25, 0.75, 0.5, 0.5, 0, 1 }
#define THREE_TAPS                                                                                 \
    (const int32_t[]) { 0, 1, 2, 2, 1, 0, 0, 0, 0, 1, 2, 2 }
#define THREE_WEIGHTS                                                                              \
    (const double[]) { 0, 0, 0, 0.25, 0.5, 0.25, 1, 0, 0, -0.25, 1, 0.25 }

static void resample_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[2,3,5] i32[8]:c f64[8]:c > f32[2,4,5]", RESAMPLE(1, 2),
                .data = {NULL, TWO_TAPS, TWO_WEIGHTS}),
        OP_SEED(F32, "f32[2,3] i32[8]:c f64[8]:c > f32[2,4]", RESAMPLE(1, 2),
                .data = {NULL, TWO_TAPS, TWO_WEIGHTS}),
        OP_SEED(F32, "f32[2,3,3] i32[8]:c f64[8]:c > f32[2,4,3]", RESAMPLE(1, 2),
                .data = {NULL, TWO_TAPS, TWO_WEIGHTS}),
        OP_SEED(F32, "f32[3,1100] i32[12]:c f64[12] > f32[4,1100]", RESAMPLE(0, 3),
                .data = {NULL, THREE_TAPS}),
        OP_SEED(F32, "f32[3,5000] i32[12]:c f64[12]:c > f32[4,5000]", RESAMPLE(0, 3),
                .data = {NULL, THREE_TAPS, THREE_WEIGHTS}),
        OP_SEED(F64, "f64[2,3,5] i32[4,2]:c f64[8]:c > f64[2,4,5]", RESAMPLE(1, 2),
                .data = {NULL, TWO_TAPS, TWO_WEIGHTS}),
    };
    OP_FUZZ(qrn_cop_resample, seeds, 3000);
}

static void resample_move_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "uq8[2,3,5]:t i32[8]:c > uq8[2,8,5]:t", RESAMPLE(1, 1),
                .data = {NULL, TWO_TAPS}),
        OP_SEED(RAW, "f64[2,3] i32[8]:c > f64[2,8]", RESAMPLE(1, 1), .data = {NULL, TWO_TAPS}),
        OP_SEED(RAW, "i16[3,5000] i32[8]:c > i16[8,5000]", RESAMPLE(0, 1),
                .data = {NULL, TWO_TAPS}),
        OP_SEED(RAW, "f32[2,3,3] i32[8]:c i32[8]:c > f32[2,8,8]", RESAMPLE(1, 1),
                .data = {NULL, TWO_TAPS, TWO_TAPS}),
        OP_SEED(RAW, "uq8[3,3,5] i32[8]:c i32[8]:c > uq8[8,8,5]", RESAMPLE(0, 1),
                .data = {NULL, TWO_TAPS, TWO_TAPS}),
    };
    OP_FUZZ(qrn_cop_resample_move, seeds, 3000);
}

static void resample_q_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "uq8[2,3,5]:t i32[8]:c f64[8]:c > uq8[2,4,5]:t", RESAMPLE(1, 2),
                .data = {NULL, TWO_TAPS, TWO_WEIGHTS}),
        OP_SEED(RAW, "sq8[2,3,70]:t i32[8]:c f64[8]:c > f32[2,4,70]", RESAMPLE(1, 2),
                .data = {NULL, TWO_TAPS, TWO_WEIGHTS}),
        OP_SEED(RAW, "f32[2,3,5] i32[8]:c f64[8]:c > sq8[2,4,5]:t", RESAMPLE(1, 2),
                .data = {NULL, TWO_TAPS, TWO_WEIGHTS}),
        OP_SEED(RAW, "f64[2,3,300] i32[12]:c f64[12]:c > uq16[2,4,300]:t", RESAMPLE(1, 3),
                .data = {NULL, THREE_TAPS, THREE_WEIGHTS}),
        OP_SEED(RAW, "sq16[3,5000]:t i32[12]:c f64[12] > sq16[4,5000]:t", RESAMPLE(0, 3),
                .data = {NULL, THREE_TAPS}),
        OP_SEED(RAW, "f64[3,5] i32[12]:c f64[12]:c > f64[4,5]", RESAMPLE(0, 3),
                .data = {NULL, THREE_TAPS, THREE_WEIGHTS}),
    };
    OP_FUZZ(qrn_cop_resample_q, seeds, 3000);
}

static void glimpse_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[2,6,7,3] f32[2,2] > f32[2,4,5,3]",
                OP_ARGS(qrn_glimpse_args, .noise = QRN_GLIMPSE_UNIFORM, .centered = true,
                        .normalized = true)),
        OP_SEED(F64, "f64[2,6,7,3] f16[2,2] > f64[2,4,5,3]",
                OP_ARGS(qrn_glimpse_args, .noise = QRN_GLIMPSE_GAUSSIAN, .centered = true)),
        OP_SEED(F64, "f64[2,6,7,3] uq8[2,2]:a1 > f64[2,9,5,3]",
                OP_ARGS(qrn_glimpse_args, .noise = QRN_GLIMPSE_ZEROS)),
        OP_SEED(F32, "f32[8,6,7,3] f32[8,2] > f32[8,30,80,3]",
                OP_ARGS(qrn_glimpse_args, .noise = QRN_GLIMPSE_ZEROS, .normalized = true)),
    };
    OP_FUZZ(qrn_cop_glimpse, seeds, 2000);
}

static void patches_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[2,6,7,3] > f32[2,5,4,18]",
                OP_ARGS(qrn_patches_args, .size = {2, 3}, .stride = {1, 2}, .rate = {1, 1},
                        .before = {0, 1})),
        OP_SEED(F64, "f64[2,6,7,3] > f64[2,6,7,12]",
                OP_ARGS(qrn_patches_args, .size = {2, 2}, .stride = {1, 1}, .rate = {3, 2},
                        .before = {1, 0})),
        OP_SEED(F32, "f32[1,50,50,2] > f32[1,50,50,8]",
                OP_ARGS(qrn_patches_args, .size = {2, 2}, .stride = {1, 1}, .rate = {1, 1})),
    };
    OP_FUZZ(qrn_cop_patches, seeds, 3000);
}

static void correlation1d_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[2,4,6,3] f32[2,4,6,3] > f32[2,4,6,5]",
                OP_ARGS(qrn_correlation1d_args, .displacement = 2, .shift = 1)),
        OP_SEED(F64, "f64[2,4,6,3] f64[2,4,6,3] > f64[2,4,6,1]",
                OP_ARGS(qrn_correlation1d_args, .shift = -3)),
        OP_SEED(F32, "f32[2,40,60,1] f32[2,40,60,1] > f32[2,40,60,5]",
                OP_ARGS(qrn_correlation1d_args, .displacement = 2)),
    };
    OP_FUZZ(qrn_cop_correlation1d, seeds, 2000);
}

#define GRID(...) OP_ARGS(qrn_grid_sample_args, __VA_ARGS__)

static void grid_sample_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[2,6,7,3] f32[2,4,5,2] > f32[2,4,5,3]", GRID(.border = QRN_SAMPLE_ZEROS)),
        OP_SEED(F64, "f64[2,6,7,3] f64[2,4,5,2] > f64[2,4,5,3]",
                GRID(.border = QRN_SAMPLE_REFLECT, .align_corners = true, .nearest = true)),
        OP_SEED(F32, "f32[2,3,6,7,2] f32[2,2,4,5,3] > f32[2,2,4,5,2]",
                GRID(.border = QRN_SAMPLE_BORDER)),
        OP_SEED(F64, "f64[2,3,6,7,2] f64[2,2,4,5,3] > f64[2,2,4,5,2]",
                GRID(.border = QRN_SAMPLE_ZEROS, .nearest = true)),
        OP_SEED(F32, "f32[2,6,7,3] f32[2,70,50,2] > f32[2,70,50,3]",
                GRID(.border = QRN_SAMPLE_REFLECT)),
    };
    OP_FUZZ(qrn_cop_grid_sample, seeds, 3000);
}

static void crop_resize_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[9,6,7,3] f32[2,4] i32[2] > f32[2,4,5,3]",
                OP_ARGS(qrn_crop_resize_args, .outside = 1.5f)),
        OP_SEED(F64, "f64[9,6,7,3] f64[3,4] u32[3] > f64[3,1,5,3]",
                OP_ARGS(qrn_crop_resize_args, .nearest = true)),
        OP_SEED(F32, "f32[9,6,7,3] f32[2,4] i32[2] > f32[2,60,60,3]",
                OP_ARGS(qrn_crop_resize_args, .outside = 1.5f)),
    };
    OP_FUZZ(qrn_cop_crop_resize, seeds, 3000);
}

static void project_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[2,6,7,3] f32[8] > f32[2,6,7,3]",
                OP_ARGS(qrn_project_args, .nearest = true)),
        OP_SEED(F64, "f64[2,6,7,3] f64[2,8] > f64[2,6,7,3]",
                OP_ARGS(qrn_project_args, .nearest = false)),
        OP_SEED(F32, "f32[2,60,70,3] f32[2,1,8] > f32[2,60,70,3]",
                OP_ARGS(qrn_project_args, .nearest = false)),
    };
    OP_FUZZ(qrn_cop_project, seeds, 2000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(yuv_rgb_runs_whatever_its_check_accepts),
        cmocka_unit_test(drop_alpha_runs_whatever_its_check_accepts),
        cmocka_unit_test(resample_runs_whatever_its_check_accepts),
        cmocka_unit_test(resample_move_runs_whatever_its_check_accepts),
        cmocka_unit_test(resample_q_runs_whatever_its_check_accepts),
        cmocka_unit_test(glimpse_runs_whatever_its_check_accepts),
        cmocka_unit_test(patches_runs_whatever_its_check_accepts),
        cmocka_unit_test(correlation1d_runs_whatever_its_check_accepts),
        cmocka_unit_test(grid_sample_runs_whatever_its_check_accepts),
        cmocka_unit_test(crop_resize_runs_whatever_its_check_accepts),
        cmocka_unit_test(project_runs_whatever_its_check_accepts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
