// SPDX-License-Identifier: MIT
//
// The checks of convolutions, matrix products and pooling in compiled graphs.
#include "op_fuzz.h"

#include "kernels/columns/columns.h"
#include "kernels/conv/conv.h"
#include "kernels/gemm/matmul/matmul.h"
#include "kernels/hadamard/hadamard.h"
#include "kernels/pooling/pooling.h"

#define ONES                                                                                       \
    { 1, 1, 1 }
#define CONV(spatial, groups, ...)                                                                 \
    OP_ARGS(qrn_conv_args, .n_spatial = spatial, .group = groups, .stride = ONES,                  \
            .dilation = ONES, __VA_ARGS__)
#define SAME .before = {1, 1, 1}

static void conv_of_reals_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[1,6,7,4] f32[3,3,4,5] f32[5] > f32[1,6,7,5]", CONV(2, 1, SAME)),
        OP_SEED(F32, "f32[2,9,3] f32[4,3,2]:c > f32[2,6,2]", CONV(1, 1, .transposed = false)),
        OP_SEED(F32, "f32[1,4,5,6] f32[2,2,3,8] - > f32[1,3,4,8]",
                CONV(2, 2, .clamp = {.on = true, .high = 6})),
        OP_SEED(F32, "f32[1,9,16,19] f32[3,3,1,19] f32[19] > f32[1,9,16,19]", CONV(2, 19, SAME)),
        OP_SEED(F32, "f32[1,16,33] f32[5,1,33] > f32[1,12,33]", CONV(1, 33, .transposed = false)),
        OP_SEED(F32, "f32[1,3,4,5,2] f32[2,2,2,2,3] > f32[1,2,3,4,3]",
                CONV(3, 1, .transposed = false)),
        OP_SEED(F32, "f32[1,4,4,6] f32[3,3,6,2] f32[4] > f32[1,6,6,4]",
                CONV(2, 2, .transposed = true)),
        OP_SEED(F64, "f64[1,6,7,4] f64[3,3,4,5] f64[5] > f64[1,6,7,5]", CONV(2, 1, SAME)),
        OP_SEED(F64, "f64[2,4,3] f64[4,3,2] > f64[2,7,2]", CONV(1, 1, .transposed = true)),
    };
    OP_FUZZ(qrn_cop_conv, seeds, 2500);
}

static void conv_of_quantized_values_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "uq8[1,6,7,4]:t sq8[3,3,4,5]:a3 i32[5] > uq8[1,6,7,5]:t", CONV(2, 1, SAME)),
        OP_SEED(RAW, "sq16[2,9,3]:t sq4[4,3,2]:t f64[2] > sq16[2,6,2]:t", CONV(1, 1, SAME)),
        OP_SEED(RAW, "uq16[1,5,5,8]:t sq4[1,1,8,6]:b1x1x4x2 f64[6] > uq8[1,5,5,6]:t",
                CONV(2, 1, .transposed = false)),
        OP_SEED(RAW, "uq8[1,9,16,70]:t sq8[3,3,1,70]:a3 sq32[70]:t > uq8[1,9,16,70]:t",
                CONV(2, 70, SAME)),
        OP_SEED(RAW, "sq8[1,9,16,70]:t uq8[3,3,1,70]:t > uq16[1,9,16,70]:t", CONV(2, 70, SAME)),
        OP_SEED(RAW, "sq8[1,8,9,64]:t sq8[3,3,1,64]:a3 i32[64] > sq8[1,8,9,64]:t",
                CONV(2, 64, SAME)),
        OP_SEED(RAW, "uq16[1,8,9,40]:t sq8[3,3,1,40]:a3 i32[40] > uq16[1,8,9,40]:t",
                CONV(2, 40, SAME)),
        OP_SEED(RAW, "sq16[1,8,9,32]:t sq8[5,3,1,32]:t f64[32] > sq16[1,4,9,32]:t",
                CONV(2, 32, SAME)),
        OP_SEED(RAW, "uq8[1,30,20]:t sq16[5,1,20]:a2 > sq16[1,26,20]:t",
                CONV(1, 20, .transposed = false)),
        OP_SEED(RAW, "uq8[1,4,4,6]:t sq8[3,3,6,2]:a3 i32[4] > uq8[1,6,6,4]:t",
                CONV(2, 2, .transposed = true)),
        OP_SEED(RAW, "uq8[1,3,4,5,2]:t sq8[2,2,2,2,3]:t > sq8[1,2,3,4,3]:t6",
                CONV(3, 1, .transposed = false)),
    };
    OP_FUZZ(qrn_cop_conv, seeds, 2500);
}

// Two cells that lie far apart: what is between them must not be brought into memory.
static void depthwise_with_a_far_stride_takes_little_memory(void **state) {
    (void)state;
    const qrn_conv_args args = {.n_spatial = 2,
                                .group = 64,
                                .stride = {1, 1u << 30},
                                .dilation = ONES,
                                .before = {0, 1u << 29}};
    qrn_quant q = {.kind = QRN_QUANT_TENSOR, .bits = 8, .scale = 0.5f};
    qrn_view x = {.dtype = QRN_DTYPE_SQ8, .quant = &q, .rank = 4, .dims = {1, 4, 4, 64}};
    qrn_view w = {.dtype = QRN_DTYPE_SQ8, .quant = &q, .rank = 4, .dims = {3, 3, 1, 64}};
    qrn_view y = {.dtype = QRN_DTYPE_SQ8, .quant = &q, .rank = 4, .dims = {1, 2, 2, 64}};
    qrn_view *in[] = {&x, &w}, *out[] = {&y};
    qrn_kcall k = {.args = &args, .in = in, .out = out, .n_in = 2, .n_out = 1, .n_tasks = 1};
    assert_null(qrn_cop_conv.check(&k, QRN_DOMAIN_RAW));
    const qrn_family *f = &qrn_family_conv;
    for (uint32_t i = 0; i < f->n_rows; i++)
        if (!qrn_kernel_rejection(&f->rows[i], QRN_DOMAIN_RAW, &k, UINT32_MAX) &&
            f->rows[i].scratch)
            assert_true(f->rows[i].scratch(&k) < (1 << 20));
}

#define MATMUL(...) OP_ARGS(qrn_matmul_args, __VA_ARGS__)

static void matmul_of_reals_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[5,7] f32[7,40] f32[40] > f32[5,40]", MATMUL(.flat = false)),
        OP_SEED(F32, "f32[2,1,5,7] f32[3,7,4] > f32[2,3,5,4]", MATMUL(.flat = false)),
        OP_SEED(F32, "f32[3,7,5] f32[4,7] > f32[3,5,4]",
                MATMUL(.transpose_a = true, .transpose_b = true)),
        OP_SEED(F32, "f32[2,6,4] f32[9,8] f32[9] > f32[6,9]",
                MATMUL(.flat = true, .transpose_b = true)),
        OP_SEED(F32, "f32[60,33] f32[33,130] > f32[60,130]",
                MATMUL(.clamp = {.on = true, .low = -1, .high = 1})),
        OP_SEED(F64, "f64[2,5,7] f64[1,7,4] - > f64[2,5,4]", MATMUL(.flat = false)),
        OP_SEED(F64, "f64[8] f64[3,8] f64[3] > f64[3]", MATMUL(.flat = true, .transpose_b = true)),
    };
    OP_FUZZ(qrn_cop_matmul, seeds, 2500);
}

static void matmul_of_quantized_values_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "uq8[50,7]:t sq8[7,40]:t > uq8[50,40]:t", MATMUL(.flat = false)),
        OP_SEED(RAW, "sq8[2,5,8]:t uq8[2,4,8]:t > sq8[2,5,4]:t", MATMUL(.transpose_b = true)),
        OP_SEED(RAW, "uq16[2,30,70]:t uq16[2,70,40]:t > uq16[2,30,40]:t", MATMUL(.flat = false)),
        OP_SEED(RAW, "sq16[70,30]:t sq8[40,70]:t > uq8[30,40]:t",
                MATMUL(.transpose_a = true, .transpose_b = true)),
        OP_SEED(RAW, "uq8[5,7]:t sq8[7,40]:a1 i32[40] > uq16[5,40]:t", MATMUL(.flat = false)),
        OP_SEED(RAW, "uq16[5,16]:t sq16[9,16]:a0 f64[9] > uq16[5,9]:t",
                MATMUL(.flat = true, .transpose_b = true)),
        OP_SEED(RAW, "uq8[5,16]:t sq4[9,16]:b1x4 f64[9] > uq8[5,9]:t",
                MATMUL(.flat = true, .transpose_b = true)),
        OP_SEED(RAW, "uq8[5,16]:t sq4[16,10]:t i32[10] > sq8[5,10]:t", MATMUL(.flat = false)),
    };
    OP_FUZZ(qrn_cop_matmul, seeds, 2500);
}

#define COLUMNS(...)                                                                               \
    OP_ARGS(qrn_columns_args, .kernel = {3, 2}, .stride = {2, 1}, .dilation = {1, 2}, __VA_ARGS__)

static void columns_run_whatever_their_checks_accept(void **state) {
    (void)state;
    const op_seed to_columns[] = {
        OP_SEED(F32, "f32[2,5,6,3] > f32[2,18,8]", COLUMNS(.before = {0})),
        OP_SEED(F64, "f64[1,5,6,1] > f64[1,6,21]", COLUMNS(.before = {1, 2}, .after = {1, 1})),
    };
    const op_seed to_image[] = {
        OP_SEED(F32, "f32[2,18,8] > f32[2,5,6,3]", COLUMNS(.before = {0})),
        OP_SEED(F64, "f64[1,6,21] > f64[1,5,6,1]", COLUMNS(.before = {1, 2}, .after = {1, 1})),
    };
    OP_FUZZ(qrn_cop_im2col, to_columns, 2000);
    OP_FUZZ(qrn_cop_col2im, to_image, 2000);
}

static void hadamard_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(F32, "f32[3,5,8] > f32[3,5,8]", OP_ARGS(qrn_hadamard_args, .scale = 1)),
        OP_SEED(F64, "f64[300,64] > f64[300,64]", OP_ARGS(qrn_hadamard_args, .scale = 2)),
    };
    OP_FUZZ(qrn_cop_hadamard, seeds, 1000);
}

#define POOL(spatial, ...)                                                                         \
    OP_ARGS(qrn_pooling_args, .n_spatial = spatial, .size = {2, 3, 2}, .stride = {1, 2, 1},        \
            __VA_ARGS__)
#define PADDED .before = {1, 1, 1}, .after = {1, 1, 1}

static const op_seed pool_of_reals[] = {
    OP_SEED(F32, "f32[2,5,7,3] > f32[2,4,3,3]", POOL(2, .count_pad = false)),
    OP_SEED(F32, "f32[1,9,20,40] > f32[1,10,10,40]", POOL(2, PADDED, .count_pad = true)),
    OP_SEED(F32, "f32[1,8,5] > f32[1,7,5]", POOL(1, .count_pad = false)),
    OP_SEED(F64, "f64[1,4,5,6,17] > f64[1,5,3,7,17]", POOL(3, PADDED)),
};

static void pool_max_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        pool_of_reals[0],
        pool_of_reals[1],
        pool_of_reals[2],
        pool_of_reals[3],
        OP_SEED(RAW, "uq8[2,5,7,67]:t > uq8[2,4,3,67]:t", POOL(2, .count_pad = false)),
        OP_SEED(RAW, "sq8[2,5,7,3]:t > sq8[2,6,4,3]:t", POOL(2, PADDED)),
        OP_SEED(RAW, "uq16[1,4,5,6,17]:t > uq16[1,5,3,7,17]:t", POOL(3, PADDED)),
        OP_SEED(RAW, "sq16[2,5,7,35]:t > sq16[2,4,3,35]:t", POOL(2, .count_pad = false)),
    };
    OP_FUZZ(qrn_cop_pool_max, seeds, 2000);
}

static void pool_avg_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        pool_of_reals[0],
        pool_of_reals[1],
        pool_of_reals[2],
        pool_of_reals[3],
        OP_SEED(RAW, "uq8[2,5,7,67]:t > uq8[2,4,3,67]:t", POOL(2, .count_pad = false)),
        OP_SEED(RAW, "sq8[2,5,7,3]:t > uq16[2,6,4,3]:t", POOL(2, PADDED)),
        OP_SEED(RAW, "uq16[1,4,5,6,17]:t > sq8[1,5,3,7,17]:t", POOL(3, PADDED)),
        OP_SEED(RAW, "sq16[2,5,7,70]:t > sq16[2,4,3,70]:t", POOL(2, .count_pad = true)),
    };
    OP_FUZZ(qrn_cop_pool_avg, seeds, 2000);
}

static void pool_l2_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    OP_FUZZ(qrn_cop_pool_l2, pool_of_reals, 1500);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conv_of_reals_runs_whatever_its_check_accepts),
        cmocka_unit_test(conv_of_quantized_values_runs_whatever_its_check_accepts),
        cmocka_unit_test(depthwise_with_a_far_stride_takes_little_memory),
        cmocka_unit_test(matmul_of_reals_runs_whatever_its_check_accepts),
        cmocka_unit_test(matmul_of_quantized_values_runs_whatever_its_check_accepts),
        cmocka_unit_test(columns_run_whatever_their_checks_accept),
        cmocka_unit_test(hadamard_runs_whatever_its_check_accepts),
        cmocka_unit_test(pool_max_runs_whatever_its_check_accepts),
        cmocka_unit_test(pool_avg_runs_whatever_its_check_accepts),
        cmocka_unit_test(pool_l2_runs_whatever_its_check_accepts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
