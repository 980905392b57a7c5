// SPDX-License-Identifier: MIT
//
// The checks of the ops of compiled graphs that move elements.
#include "op_fuzz.h"

#include "kernels/move/gather.h"
#include "kernels/move/generate.h"
#include "kernels/move/join.h"
#include "kernels/move/layout.h"

#define AXIS(n) OP_ARGS(qrn_axis_args, .axis = n)
#define JOIN(n) OP_ARGS(qrn_join_args, .axis = n)

static void gather_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "f32[4,3,2] i32[5] > f32[4,5,2]", AXIS(1)),
        OP_SEED(RAW, "uq8[7,9]:t u32[2,3] > uq8[2,3,9]:t", AXIS(0)),
        OP_SEED(RAW, "i64[6] f32[1] > i64[]", AXIS(0)),
        OP_SEED(RAW, "f16[16,5] uq8[4000]:t > f16[4000,5]", AXIS(0)),
        OP_SEED(RAW, "b8[3,8] sq16[6]:t12 > b8[3,6]", AXIS(1)),
    };
    OP_FUZZ(qrn_cop_gather, seeds, 2000);
}

static void gather_elements_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "f32[4,3,2] i32[4,7,2] > f32[4,7,2]", AXIS(1)),
        OP_SEED(RAW, "uq16[5,6]:t u32[2,3] > uq16[2,3]:t", AXIS(0)),
        OP_SEED(RAW, "i64[9] i8[20000] > i64[20000]", AXIS(0)),
    };
    OP_FUZZ(qrn_cop_gather_elements, seeds, 2000);
}

static void gather_nd_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "f32[4,3,2] i32[5,2] > f32[5,2]", OP_ARGS(qrn_gather_nd_args, 0)),
        OP_SEED(RAW, "f16[2,3,4,5] u32[2,7,1] > f16[2,7,4,5]",
                OP_ARGS(qrn_gather_nd_args, .batch_dims = 1)),
        OP_SEED(RAW, "i8[2,3] i32[2] > i8[]", OP_ARGS(qrn_gather_nd_args, 0)),
        OP_SEED(RAW, "i8[2,3,4] i32[2,3,1] > i8[2,3]",
                OP_ARGS(qrn_gather_nd_args, .batch_dims = 2)),
    };
    OP_FUZZ(qrn_cop_gather_nd, seeds, 2000);
}

static void batch_permutation_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "f32[5,3] i32[4] > f32[4,3]", NULL),
        OP_SEED(RAW, "f32[5] u32[5] > f32[5]", NULL),
        OP_SEED(RAW, "uq8[2,3,4]:t uq8[2] > uq8[2,3,4]:t", NULL),
    };
    OP_FUZZ(qrn_cop_batch_permutation, seeds, 1500);
}

#define SCATTER(...) OP_ARGS(qrn_scatter_args, __VA_ARGS__)

static void scatter_elements_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "uq8[4,3]:t i32[2,3] uq8[2,3]:t > uq8[4,3]:t", SCATTER(.axis = 0)),
        OP_SEED(RAW, "f16[4,3] u32[4,5] f16[4,5] > f16[4,3]", SCATTER(.axis = 1)),
        OP_SEED(RAW, "i32[1] i32[1] i32[] > i32[1]", SCATTER(.axis = 0)),
        OP_SEED(F32, "f32[4,3] i32[4,5] f32[4,5] > f32[4,3]",
                SCATTER(.axis = 1, .reduction = QRN_REDUCE_MUL)),
        OP_SEED(F64, "f64[6] i8[9] f64[9] > f64[6]", SCATTER(.reduction = QRN_REDUCE_MAX)),
        OP_SEED(I64, "i64[6] u32[9] i64[9] > i64[6]", SCATTER(.reduction = QRN_REDUCE_ADD)),
    };
    OP_FUZZ(qrn_cop_scatter_elements, seeds, 2500);
}

static void scatter_nd_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "uq8[4,3]:t uq8[2,1]:t uq8[2,3]:t > uq8[4,3]:t", SCATTER(0)),
        OP_SEED(RAW, "b8[4,3] i32[2] b8[] > b8[4,3]", SCATTER(0)),
        OP_SEED(F32, "f32[4,3,2] i32[5,2] f32[5,2] > f32[4,3,2]",
                SCATTER(.reduction = QRN_REDUCE_ADD)),
        OP_SEED(F64, "f64[6] u32[2,2,1] f64[2,2] > f64[6]", SCATTER(.reduction = QRN_REDUCE_MUL)),
        OP_SEED(I64, "i64[6,2] i32[9,1] i64[9,2] > i64[6,2]", SCATTER(.reduction = QRN_REDUCE_MAX)),
    };
    OP_FUZZ(qrn_cop_scatter_nd, seeds, 2500);
}

static void concat_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "f32[2,3,4] f32[2,1,4] f32[2,5,4] > f32[2,9,4]", JOIN(1)),
        OP_SEED(RAW, "uq8[300,200]:t uq8[300,100]:t > uq8[300,300]:t", JOIN(1)),
        OP_SEED(RAW, "f16[2,3] f16[2,3] > f16[2,3,2]", JOIN(2)),  // Pack
        OP_SEED(RAW, "i32[5] i32[5] i32[5] > i32[3,5]", JOIN(0)), // Pack
        OP_SEED(RAW, "i64[9,9] > i64[9,9]", JOIN(0)),
    };
    OP_FUZZ(qrn_cop_concat, seeds, 2500);
}

static void split_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "f32[2,9,4] > f32[2,3,4] f32[2,1,4] f32[2,5,4]", JOIN(1)),
        OP_SEED(RAW, "uq8[300,300]:t > uq8[300,200]:t uq8[300,100]:t", JOIN(1)),
        OP_SEED(RAW, "f16[2,3,2] > f16[2,3] f16[2,3]", JOIN(2)), // UnPack
        OP_SEED(RAW, "i32[3] > i32[] i32[] i32[]", JOIN(0)),     // UnPack
    };
    OP_FUZZ(qrn_cop_split, seeds, 2500);
}

static void pad_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "f32[2,3,4] > f32[5,3,6]",
                OP_ARGS(qrn_pad_args, .scheme = QRN_PAD_CONSTANT, .before = {1, 0, 2})),
        OP_SEED(RAW, "uq8[4,5,3]:t > uq8[12,9,3]:t",
                OP_ARGS(qrn_pad_args, .scheme = QRN_PAD_SYMMETRIC, .before = {4, 3})),
        OP_SEED(RAW, "i64[7] > i64[19]",
                OP_ARGS(qrn_pad_args, .scheme = QRN_PAD_REFLECT, .before = {6})),
        OP_SEED(RAW, "f16[3,2] > f16[90,200]",
                OP_ARGS(qrn_pad_args, .scheme = QRN_PAD_EDGE, .before = {50, 70})),
        OP_SEED(RAW, "f64[3,2] > f64[3,2]", OP_ARGS(qrn_pad_args, .scheme = QRN_PAD_REFLECT)),
    };
    OP_FUZZ(qrn_cop_pad, seeds, 3000);
}

static void copy_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "f32[2,3] > f32[1,2,1,3]", NULL),
        OP_SEED(RAW, "uq16[1]:t > uq16[]:t", NULL),
        OP_SEED(RAW, "u32[4]:c > u32[4]", NULL),
        OP_SEED(RAW, "b8[300,300] > b8[90000]", NULL),
    };
    OP_FUZZ(qrn_cop_copy, seeds, 1500);
}

static void reshape_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "f32[2,3] > f32[6]", OP_ARGS(qrn_reshape_args, false)),
        OP_SEED(RAW, "uq8[300,300]:t i32[1] > uq8[90000]:t", OP_ARGS(qrn_reshape_args, false)),
        OP_SEED(RAW, "f32[2,3] i32[2]:c > f32[7,7]", OP_ARGS(qrn_reshape_args, true),
                .data = {[1] = (const int32_t[]){-1, 0}}),
        OP_SEED(RAW, "f32[3,4,5] i32[3]:c > f32[6,2,10]", OP_ARGS(qrn_reshape_args, true),
                .data = {[1] = (const int32_t[]){3, 2, -1}}),
        OP_SEED(RAW, "f32[1] i32[1] > f32[]", OP_ARGS(qrn_reshape_args, true)),
    };
    OP_FUZZ(qrn_cop_reshape, seeds, 2500);
}

static void nonzero_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "f32[2,3,4] > i32[24,3]", OP_ARGS(qrn_nonzero_args, true)),
        OP_SEED(RAW, "uq8[6]:t > u32[6,1]", OP_ARGS(qrn_nonzero_args, false)),
        OP_SEED(RAW, "sq8[3,4]:a1.5 > u32[4,2]", OP_ARGS(qrn_nonzero_args, true)),
    };
    OP_FUZZ(qrn_cop_nonzero, seeds, 1500);
}

static void one_hot_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "i32[2,3] > f32[2,3,4]", OP_ARGS(qrn_one_hot_args, .axis = 2, .on = {1})),
        OP_SEED(RAW, "u32[9] > uq8[5,9]:t", OP_ARGS(qrn_one_hot_args, .axis = 0, .off = {1})),
        OP_SEED(RAW, "sq16[2,3]:t9 > f64[2,5,3]", OP_ARGS(qrn_one_hot_args, .axis = 1)),
        OP_SEED(RAW, "f32[300] > i32[300,100]", OP_ARGS(qrn_one_hot_args, .axis = 1)),
    };
    OP_FUZZ(qrn_cop_one_hot, seeds, 1500);
}

static void fill_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "u32[2]:c > f32[2,3]", OP_ARGS(qrn_fill_args, .value = {1, 2, 3, 4}),
                .data = {(const uint32_t[]){2, 3}}),
        OP_SEED(RAW, "u32[1]:c > i8[300]", OP_ARGS(qrn_fill_args, .value = {7}),
                .data = {(const uint32_t[]){300}}),
        OP_SEED(RAW, "u32[2]:c > u32[300,200]", OP_ARGS(qrn_fill_args, .value = {7}),
                .data = {(const uint32_t[]){300, 200}}),
        OP_SEED(RAW, "u32[1]:c > i8[]", OP_ARGS(qrn_fill_args, .value = {7}),
                .data = {(const uint32_t[]){1}}),
    };
    OP_FUZZ(qrn_cop_fill, seeds, 1000);
}

#define PERM(...) OP_ARGS(qrn_transpose_args, .perm = {__VA_ARGS__})

static void transpose_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "f32[2,3,5] > f32[5,2,3]", PERM(2, 0, 1)),
        OP_SEED(RAW, "uq8[2,3,21,33]:t > uq8[2,21,33,3]:t", PERM(0, 2, 3, 1)),
        OP_SEED(RAW, "u8[1,3,200,150] > u8[1,200,150,3]", PERM(0, 2, 3, 1)),
        OP_SEED(RAW, "f16[2,20,30,3] > f16[2,3,20,30]", PERM(0, 3, 1, 2)),
        OP_SEED(RAW, "i64[70,200] > i64[200,70]", PERM(1, 0)),
        OP_SEED(RAW, "b8[3,4,5,6,7] > b8[7,3,6,4,5]", PERM(4, 0, 3, 1, 2)),
        OP_SEED(RAW, "u16[17,64] > u16[64,17]", PERM(1, 0)),
        OP_SEED(RAW, "f32[9,4,33] > f32[4,9,33]", PERM(1, 0, 2)),
        OP_SEED(RAW, "f32[2,2,2,2,2,2,2,3] > f32[3,2,2,2,2,2,2,2]", PERM(7, 6, 5, 4, 3, 2, 1, 0)),
        OP_SEED(RAW, "f32[1] > f32[]", PERM(0)),
    };
    OP_FUZZ(qrn_cop_transpose, seeds, 5000);
}

#define BLOCKS(...) OP_ARGS(qrn_depth_space_args, .block = {2, 3}, __VA_ARGS__)

static void depth_space_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "f32[2,4,9,5] > f32[2,2,3,30]", BLOCKS(.to_depth = true)),
        OP_SEED(RAW, "f16[2,4,9,5] > f16[2,2,3,30]", BLOCKS(.to_depth = true, .crd = true)),
        OP_SEED(RAW, "uq8[2,5,7,12]:t > uq8[2,10,21,2]:t", BLOCKS(.crd = false)),
        OP_SEED(RAW, "uq8[1,50,70,18]:t > uq8[1,100,210,3]:t", BLOCKS(.crd = true)),
    };
    OP_FUZZ(qrn_cop_depth_space, seeds, 2500);
}

static void batch_space_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "f32[2,3,5,4] > f32[12,2,2,4]",
                OP_ARGS(qrn_batch_space_args, .block = {2, 3}, .pad = {{0, 1}, {1, 0}},
                        .to_batch = true)),
        OP_SEED(RAW, "uq8[12,2,2,4]:t > uq8[2,3,5,4]:t",
                OP_ARGS(qrn_batch_space_args, .block = {2, 3}, .pad = {{0, 1}, {1, 0}})),
        OP_SEED(RAW, "f16[1,100,100,4] > f16[4,50,50,4]",
                OP_ARGS(qrn_batch_space_args, .block = {2, 2}, .to_batch = true)),
    };
    OP_FUZZ(qrn_cop_batch_space, seeds, 3000);
}

static void shuffle_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "f32[2,5,12] > f32[2,5,12]",
                OP_ARGS(qrn_shuffle_args, .axis = 2, .groups = 3)),
        OP_SEED(RAW, "uq8[2,8,30,40]:t > uq8[2,8,30,40]:t",
                OP_ARGS(qrn_shuffle_args, .axis = 1, .groups = 4)),
        OP_SEED(RAW, "f16[300,200] > f16[300,200]",
                OP_ARGS(qrn_shuffle_args, .axis = 1, .groups = 2)),
    };
    OP_FUZZ(qrn_cop_shuffle, seeds, 2500);
}

#define SLICE(n, ...) OP_ARGS(qrn_slice_args, .n_rows = n, .rows = {__VA_ARGS__})
#define KEEP(begin, step)                                                                          \
    { QRN_SLICE_KEEP, false, begin, step }
#define OPEN(step)                                                                                 \
    { QRN_SLICE_KEEP, true, 0, step }
#define SHRINK(begin)                                                                              \
    { QRN_SLICE_SHRINK, false, begin, 1 }
#define NEW                                                                                        \
    { QRN_SLICE_NEW, false, 0, 1 }

static void slice_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "f32[7,8,9] > f32[3,8,2]", SLICE(3, KEEP(1, 2), OPEN(-1), KEEP(8, -5))),
        OP_SEED(RAW, "uq8[7,8]:t > uq8[1,4]:t", SLICE(3, NEW, SHRINK(6), KEEP(0, 2))),
        OP_SEED(RAW, "i64[7] > i64[]", SLICE(1, KEEP(3, 1))),
        OP_SEED(RAW, "f16[300,200] > f16[300,100]", SLICE(2, OPEN(1), KEEP(1, 2))),
        OP_SEED(RAW, "u8[3,4,5,6] > u8[5,3,1]",
                SLICE(5, SHRINK(0), SHRINK(1), OPEN(1), KEEP(5, -2), NEW)),
    };
    OP_FUZZ(qrn_cop_slice, seeds, 4000);
}

static void tile_runs_whatever_its_check_accepts(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "f32[2,3] > f32[4,9]", NULL),
        OP_SEED(RAW, "uq8[2,3,4]:t > uq8[2,300,40]:t", NULL),
        OP_SEED(RAW, "f16[1,1,7,1,2,1,1,3] > f16[2,1,7,3,2,2,1,6]", NULL),
        OP_SEED(RAW, "i32[300] > i32[30000]", NULL),
    };
    OP_FUZZ(qrn_cop_tile, seeds, 2000);
}

// None of these would leave its operands, but elements of the output would stay as they were.
static void the_whole_output_is_written(void **state) {
    (void)state;
    const op_seed concat[] = {OP_SEED(RAW, "f32[2,3] f32[2,4] > f32[2,8]", JOIN(1))};
    const op_seed split[] = {OP_SEED(RAW, "f32[2,8] > f32[2,3] f32[2,4]", JOIN(1))};
    const op_seed tile[] = {OP_SEED(RAW, "f32[2,3] > f32[4,8]", NULL)};
    const op_seed slice[] = {OP_SEED(RAW, "f32[7,8] > f32[2,3]", SLICE(2, SHRINK(1), KEEP(1, 1)))};
    const op_seed batch_space[] = {
        OP_SEED(RAW, "f32[12,2,2,4] > f32[2,5,5,4]",
                OP_ARGS(qrn_batch_space_args, .block = {2, 3}, .pad = {{0, 0}, {1, 0}})),
        OP_SEED(RAW, "f32[11,2,2,4] > f32[2,4,5,4]",
                OP_ARGS(qrn_batch_space_args, .block = {2, 3}, .pad = {{0, 0}, {1, 0}})),
    };
    OP_REFUSE(qrn_cop_concat, concat);
    OP_REFUSE(qrn_cop_split, split);
    OP_REFUSE(qrn_cop_tile, tile);
    OP_REFUSE(qrn_cop_slice, slice);
    OP_REFUSE(qrn_cop_batch_space, batch_space);
}

// A stored value means the same before and after.
static void what_is_moved_keeps_its_type_and_encoding(void **state) {
    (void)state;
    const op_seed copy[] = {
        OP_SEED(RAW, "i32[4] > f32[4]", NULL),
        OP_SEED(RAW, "uq8[4]:t > uq8[4]:t6", NULL),
        OP_SEED(RAW, "uq8[4]:t > uq8[4]", NULL),
        OP_SEED(RAW, "uq4[4]:t > uq4[4]:t", NULL),
    };
    const op_seed concat[] = {OP_SEED(RAW, "uq8[2]:t uq8[2]:t:z > uq8[4]:t", JOIN(0))};
    const op_seed scatter[] = {
        OP_SEED(RAW, "uq8[4]:t i32[2] uq8[2] > uq8[4]:t", SCATTER(.axis = 0))};
    OP_REFUSE(qrn_cop_copy, copy);
    OP_REFUSE(qrn_cop_concat, concat);
    OP_REFUSE(qrn_cop_scatter_elements, scatter);
}

static void a_reduction_is_known_and_has_its_domain(void **state) {
    (void)state;
    const op_seed seeds[] = {
        OP_SEED(RAW, "f32[4] i32[2] f32[2] > f32[4]", SCATTER(.reduction = QRN_REDUCE_ADD)),
        OP_SEED(F32, "f32[4] i32[2] f32[2] > f32[4]", SCATTER(.reduction = QRN_REDUCE_MAX + 1)),
        OP_SEED(F64, "f32[4] i32[2] f32[2] > f32[4]", SCATTER(.reduction = QRN_REDUCE_ADD)),
    };
    OP_REFUSE(qrn_cop_scatter_elements, seeds);
}

// The step of a range that takes one element counts for nothing, not even when it would lead
// further than a number can say.
static void a_slice_of_one_element_ignores_its_step(void **state) {
    (void)state;
    const float number = 42;
    float copy = 0;
    const qrn_slice_args *args =
        SLICE(3, KEEP(0, INT32_MAX), KEEP(0, INT32_MIN), KEEP(0, INT32_MAX));
    qrn_view x = {.dtype = QRN_DTYPE_F32,
                  .rank = 3,
                  .dims = {65536, 65536, 65536},
                  .data = (void *)(uintptr_t)&number};
    qrn_view y = {.dtype = QRN_DTYPE_F32, .rank = 3, .dims = {1, 1, 1}};
    qrn_view *in[] = {&x}, *out[] = {&y};
    qrn_kcall k = {.args = args, .in = in, .out = out, .n_in = 1, .n_out = 1, .n_tasks = 1};
    assert_null(qrn_cop_slice.check(&k, QRN_DOMAIN_RAW));
    y.data = &copy;
    const qrn_kernel *row = qrn_kernel_select(&qrn_family_slice, QRN_DOMAIN_RAW, &k, 0);
    assert_int_equal(row->fn(&k), QRN_OK);
    assert_true(copy == number);
}

#define TEST(op) cmocka_unit_test(op##_runs_whatever_its_check_accepts)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(gather),
        TEST(gather_elements),
        TEST(gather_nd),
        TEST(batch_permutation),
        TEST(scatter_elements),
        TEST(scatter_nd),
        TEST(concat),
        TEST(split),
        TEST(pad),
        TEST(copy),
        TEST(reshape),
        TEST(nonzero),
        TEST(one_hot),
        TEST(fill),
        TEST(transpose),
        TEST(depth_space),
        TEST(batch_space),
        TEST(shuffle),
        TEST(slice),
        TEST(tile),
        cmocka_unit_test(the_whole_output_is_written),
        cmocka_unit_test(what_is_moved_keeps_its_type_and_encoding),
        cmocka_unit_test(a_reduction_is_known_and_has_its_domain),
        cmocka_unit_test(a_slice_of_one_element_ignores_its_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
