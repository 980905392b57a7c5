// SPDX-License-Identifier: MIT
//
// Generic validation: each class of mistake is refused with its status and a line that says what
// was found and what is allowed; what clients legitimately write is accepted.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "call.h"

static void accepts(call *k) {
    qrn_status s = call_validate(k);
    if (s != QRN_OK)
        fail_msg("refused: %s", qrn_message());
}

static void refuses(call *k, qrn_status want, const char *message) {
    qrn_status s = call_validate(k);
    assert_string_equal(qrn_message(), message);
    assert_int_equal(s, want);
}

static const uint32_t ones[2] = {1, 1};
static const uint32_t pads[4] = {1, 1, 1, 1};

// A correct 3x3 convolution of [1,8,8,4] to 6 channels.
static void begin_conv(call *k) {
    call_begin(k, "Conv2d");
    call_in(k, QRN_DTYPE_F32, DIMS(1, 8, 8, 4));
    call_in(k, QRN_DTYPE_F32, DIMS(3, 3, 4, 6));
    call_out(k, QRN_DTYPE_F32, DIMS(1, 8, 8, 6));
    call_tensor_param(k, "stride", QRN_DTYPE_U32, ones, DIMS(2));
    call_tensor_param(k, "pad_amount", QRN_DTYPE_U32, pads, DIMS(2, 2));
}

static void begin_relu(call *k) {
    call_begin(k, "Relu");
    call_in(k, QRN_DTYPE_F32, DIMS(2, 3));
    call_out(k, QRN_DTYPE_F32, DIMS(2, 3));
}

static void begin_add(call *k) {
    call_begin(k, "ElementWiseAdd");
    call_in(k, QRN_DTYPE_F32, DIMS(2, 1, 3));
    call_in(k, QRN_DTYPE_F32, DIMS(4, 1));
    call_out(k, QRN_DTYPE_F32, DIMS(2, 4, 3));
}

static void a_correct_op_is_accepted(void **state) {
    (void)state;
    call k;
    begin_conv(&k);
    accepts(&k);
    call_in(&k, QRN_DTYPE_F32, DIMS(6)); // with bias
    accepts(&k);
    begin_relu(&k);
    accepts(&k);
    begin_add(&k);
    accepts(&k);
}

static void missing_and_surplus_operands_are_refused(void **state) {
    (void)state;
    call k;
    begin_conv(&k);
    k.c.n_in = 1;
    refuses(&k, QRN_E_OP_CONFIG, "graph 'g' node 'n' (Conv2d): input 1 'filter': missing");
    begin_conv(&k);
    k.in[0] = NULL;
    refuses(&k, QRN_E_OP_CONFIG, "graph 'g' node 'n' (Conv2d): input 0 'x': missing");
    begin_conv(&k);
    k.c.n_in = 0;
    k.c.n_out = 0;
    refuses(&k, QRN_E_OP_CONFIG, "graph 'g' node 'n' (Conv2d): input 0 'x': missing");
    begin_conv(&k);
    k.c.n_out = 0;
    refuses(&k, QRN_E_OP_CONFIG, "graph 'g' node 'n' (Conv2d): output 0 'y': missing");
    begin_relu(&k);
    call_in(&k, QRN_DTYPE_F32, DIMS(1));
    refuses(&k, QRN_E_OP_CONFIG, "graph 'g' node 'n' (Relu): 2 inputs given, at most 1 allowed");
    begin_relu(&k);
    call_out(&k, QRN_DTYPE_F32, DIMS(2, 3));
    refuses(&k, QRN_E_OP_CONFIG, "graph 'g' node 'n' (Relu): 2 outputs given, at most 1 allowed");
}

static void variadic_operands_need_one_and_have_no_gaps(void **state) {
    (void)state;
    call k;
    call_begin(&k, "Concat");
    call_u32(&k, "axis", 0);
    call_out(&k, QRN_DTYPE_F32, DIMS(12, 3));
    refuses(&k, QRN_E_OP_CONFIG, "graph 'g' node 'n' (Concat): input 0 'x': missing");
    for (int i = 0; i < 6; i++)
        call_in(&k, QRN_DTYPE_F32, DIMS(2, 3));
    accepts(&k);
    k.in[4] = NULL;
    refuses(&k, QRN_E_OP_CONFIG, "graph 'g' node 'n' (Concat): input 4 'x': missing");
    k.in[4] = &k.in_t[4];
    k.in_t[4].dtype = QRN_DTYPE_F64;
    refuses(&k, QRN_E_DTYPE,
            "graph 'g' node 'n' (Concat): input 4 'x': data type f64, allowed "
            "f32|f16|i32|u32|sq8|sq16|uq8|uq16");
}

static void an_optional_input_may_be_absent_in_the_middle(void **state) {
    (void)state;
    call k;
    call_begin(&k, "RmsNorm");
    static const uint32_t axis[1] = {1};
    call_in(&k, QRN_DTYPE_F32, DIMS(2, 3));
    call_absent_in(&k);
    call_in(&k, QRN_DTYPE_F32, DIMS(3));
    call_out(&k, QRN_DTYPE_F32, DIMS(2, 3));
    call_tensor_param(&k, "axes", QRN_DTYPE_U32, axis, DIMS(1));
    accepts(&k);
}

static void ranks_and_types_are_checked_per_operand(void **state) {
    (void)state;
    call k;
    begin_conv(&k);
    k.in_t[1] = call_tensor(QRN_DTYPE_F32, QRN_ROLE_STATIC, DIMS(3, 3, 4));
    k.in_t[1].name = "w0";
    refuses(&k, QRN_E_SHAPE,
            "graph 'g' node 'n' (Conv2d): input 1 'filter' (tensor 'w0'): rank 3, expected 4");
    begin_conv(&k);
    k.in_t[0].dtype = QRN_DTYPE_I64;
    refuses(&k, QRN_E_DTYPE,
            "graph 'g' node 'n' (Conv2d): input 0 'x': data type i64, allowed "
            "f32|f16|sq8|sq16|uq8|uq16");
    begin_conv(&k);
    k.out_t[0].dtype = QRN_DTYPE_B8;
    refuses(&k, QRN_E_DTYPE,
            "graph 'g' node 'n' (Conv2d): output 0 'y': data type b8, allowed "
            "f32|f16|sq8|sq16|uq8|uq16");
    begin_conv(&k);
    k.in_t[0].dtype = QRN_DTYPE_COUNT;
    refuses(&k, QRN_E_DTYPE, "graph 'g' node 'n' (Conv2d): input 0 'x': unknown data type");
    begin_relu(&k);
    k.in_t[0].shape.rank = 9;
    refuses(&k, QRN_E_SHAPE,
            "graph 'g' node 'n' (Relu): input 0 'x': rank 9, expected at least 1 and at most 8");
    begin_relu(&k);
    k.in_t[0].shape.rank = 0;
    refuses(&k, QRN_E_SHAPE,
            "graph 'g' node 'n' (Relu): input 0 'x': rank 0, expected at least 1 and at most 8");
    call_begin(&k, "GridSample");
    call_in(&k, QRN_DTYPE_F32, DIMS(1, 2, 3));
    call_in(&k, QRN_DTYPE_F32, DIMS(1, 2, 3));
    call_out(&k, QRN_DTYPE_F32, DIMS(1, 2, 3));
    refuses(&k, QRN_E_SHAPE,
            "graph 'g' node 'n' (GridSample): input 0 'x': rank 3, expected 4 to 5");
}

static void empty_and_overflowing_shapes_are_refused(void **state) {
    (void)state;
    call k;
    begin_relu(&k);
    k.in_t[0].shape.dims[1] = 0;
    refuses(&k, QRN_E_SHAPE,
            "graph 'g' node 'n' (Relu): input 0 'x': dimension 1 is 0, expected at least 1");
    begin_relu(&k);
    for (int i = 0; i < 2; i++) {
        qrn_tensor *t = i ? &k.out_t[0] : &k.in_t[0];
        t->shape = (qrn_shape){3, {UINT32_MAX, UINT32_MAX, UINT32_MAX}};
    }
    refuses(&k, QRN_E_SHAPE,
            "graph 'g' node 'n' (Relu): input 0 'x': shape [4294967295,4294967295,4294967295] has "
            "more bytes than can be addressed");
    // The count still fits, the bytes do not.
    k.in_t[0].shape = k.out_t[0].shape = (qrn_shape){3, {1u << 31, 1u << 31, 1}};
    refuses(&k, QRN_E_SHAPE,
            "graph 'g' node 'n' (Relu): input 0 'x': shape [2147483648,2147483648,1] has more "
            "bytes than can be addressed");
}

static void dynamic_dimensions_need_an_op_that_admits_them(void **state) {
    (void)state;
    call k;
    begin_relu(&k);
    k.in_t[0].has_dynamic = true;
    k.in_t[0].dynamic[0] = 1;
    refuses(&k, QRN_E_TENSOR_UNSUPPORTED,
            "graph 'g' node 'n' (Relu): input 0 'x': dynamic dimensions, the op allows fixed ones "
            "only");
    begin_add(&k);
    k.in_t[0].has_dynamic = k.out_t[0].has_dynamic = true;
    k.in_t[0].dynamic[0] = k.out_t[0].dynamic[0] = 1;
    accepts(&k);
    k.out_t[0].shape.dims[0] = 5; // a larger limit than the inputs need
    accepts(&k);
    k.out_t[0].shape.dims[0] = 1; // too small a limit
    refuses(&k, QRN_E_SHAPE,
            "graph 'g' node 'n' (ElementWiseAdd): output 0 'y': shape [1,4,3], expected [2,4,3]");
    k.in_t[0].shape.dims[0] = k.out_t[0].shape.dims[0] = 0; // known at execution only
    accepts(&k);
}

static void sparse_tensors_need_an_op_that_takes_them(void **state) {
    (void)state;
    call k;
    begin_relu(&k);
    k.in_t[0].format = k.out_t[0].format = QRN_FORMAT_SPARSE;
    accepts(&k);
    call_begin(&k, "Tanh");
    call_in(&k, QRN_DTYPE_F32, DIMS(2))->format = QRN_FORMAT_SPARSE;
    call_out(&k, QRN_DTYPE_F32, DIMS(2));
    refuses(&k, QRN_E_TENSOR_UNSUPPORTED,
            "graph 'g' node 'n' (Tanh): input 0 'x': sparse format, the op allows dense tensors "
            "only");
}

static void sparse_and_dense_tensors_do_not_mix(void **state) {
    (void)state;
    call k;
    begin_relu(&k);
    k.in_t[0].format = QRN_FORMAT_SPARSE;
    refuses(&k, QRN_E_TENSOR_UNSUPPORTED,
            "graph 'g' node 'n' (Relu): input 0 and output 0: one is sparse, the other dense");
    begin_add(&k);
    k.in_t[0].format = k.out_t[0].format = QRN_FORMAT_SPARSE;
    refuses(&k, QRN_E_TENSOR_UNSUPPORTED,
            "graph 'g' node 'n' (ElementWiseAdd): input 1 and output 0: one is sparse, the other "
            "dense");
    k.in_t[1].format = QRN_FORMAT_SPARSE;
    accepts(&k);
    call_begin(&k, "Batchnorm");
    call_in(&k, QRN_DTYPE_F32, DIMS(2, 3));
    call_in(&k, QRN_DTYPE_F32, DIMS(3));
    call_out(&k, QRN_DTYPE_F32, DIMS(2, 3))->format = QRN_FORMAT_SPARSE;
    refuses(&k, QRN_E_TENSOR_UNSUPPORTED,
            "graph 'g' node 'n' (Batchnorm): input 0 and output 0: one is sparse, the other dense");
    k.in_t[0].format = QRN_FORMAT_SPARSE;
    accepts(&k);
}

static void outputs_must_be_writable(void **state) {
    (void)state;
    call k;
    begin_relu(&k);
    k.out_t[0].role = QRN_ROLE_STATIC;
    refuses(&k, QRN_E_OP_CONFIG,
            "graph 'g' node 'n' (Relu): output 0 'y': is a static tensor, which no op may write");
    k.out_t[0].role = QRN_ROLE_INPUT;
    refuses(&k, QRN_E_OP_CONFIG,
            "graph 'g' node 'n' (Relu): output 0 'y': is written by the application, which no op "
            "may write");
}

static void required_parameters_must_be_given(void **state) {
    (void)state;
    call k;
    begin_conv(&k);
    k.params[1].present = false;
    refuses(&k, QRN_E_PARAM, "graph 'g' node 'n' (Conv2d): parameter 'pad_amount': missing");
    call_begin(&k, "ElementWiseUnary");
    call_in(&k, QRN_DTYPE_F32, DIMS(2));
    call_out(&k, QRN_DTYPE_F32, DIMS(2));
    refuses(&k, QRN_E_PARAM,
            "graph 'g' node 'n' (ElementWiseUnary): parameter 'operation': missing");
}

static void scalars_and_tensors_are_not_mixed_up(void **state) {
    (void)state;
    call k;
    begin_conv(&k);
    call_tensor_param(&k, "group", QRN_DTYPE_U32, ones, DIMS(1));
    refuses(&k, QRN_E_PARAM,
            "graph 'g' node 'n' (Conv2d): parameter 'group': given as a tensor, expected a scalar");
    begin_conv(&k);
    k.params[0].is_tensor = false;
    refuses(
        &k, QRN_E_PARAM,
        "graph 'g' node 'n' (Conv2d): parameter 'stride': given as a scalar, expected a tensor");
}

static void scalar_types_are_checked_with_the_usual_leniency(void **state) {
    (void)state;
    call k;
    begin_conv(&k);
    call_f32(&k, "group", 1.0f);
    refuses(&k, QRN_E_PARAM,
            "graph 'g' node 'n' (Conv2d): parameter 'group': data type f32, allowed u32");
    begin_conv(&k);
    call_i32(&k, "group", 1);
    accepts(&k);
    assert_int_equal(qrn_op_u32(&k.c, "group", 7), 1);
    call_i32(&k, "group", -1);
    refuses(&k, QRN_E_PARAM,
            "graph 'g' node 'n' (Conv2d): parameter 'group': value -1 does not fit u32");
    call_begin(&k, "Gather"); // axis is i32
    call_in(&k, QRN_DTYPE_F32, DIMS(5, 2));
    call_in(&k, QRN_DTYPE_I32, DIMS(3));
    call_out(&k, QRN_DTYPE_F32, DIMS(3, 2));
    call_u32(&k, "axis", 0);
    accepts(&k);
    call_u32(&k, "axis", 0x80000000u);
    refuses(&k, QRN_E_PARAM,
            "graph 'g' node 'n' (Gather): parameter 'axis': value 2147483648 does not fit i32");
    call_begin(&k, "MatMul");
    call_in(&k, QRN_DTYPE_F32, DIMS(2, 3));
    call_in(&k, QRN_DTYPE_F32, DIMS(4, 3));
    call_out(&k, QRN_DTYPE_F32, DIMS(2, 4));
    call_b8(&k, "transpose_in1", true);
    call_param(&k, "transpose_in1")->dtype = QRN_DTYPE_U8;
    accepts(&k);
    assert_true(qrn_op_bool(&k.c, "transpose_in1", false));
    call_param(&k, "transpose_in1")->dtype = QRN_DTYPE_U32;
    refuses(&k, QRN_E_PARAM,
            "graph 'g' node 'n' (MatMul): parameter 'transpose_in1': data type u32, allowed b8");
    call_param(&k, "transpose_in1")->dtype = QRN_DTYPE_COUNT;
    refuses(&k, QRN_E_PARAM,
            "graph 'g' node 'n' (MatMul): parameter 'transpose_in1': unknown data type");
}

static void unknown_enumerators_are_refused_with_the_list(void **state) {
    (void)state;
    call k;
    static const uint32_t block[2] = {2, 2};
    call_begin(&k, "DepthToSpace");
    call_in(&k, QRN_DTYPE_F32, DIMS(1, 2, 3, 8));
    call_out(&k, QRN_DTYPE_F32, DIMS(1, 4, 6, 2));
    call_tensor_param(&k, "block_size", QRN_DTYPE_U32, block, DIMS(2));
    call_u32(&k, "mode", 1);
    accepts(&k);
    call_u32(&k, "mode", 7);
    refuses(&k, QRN_E_PARAM,
            "graph 'g' node 'n' (DepthToSpace): parameter 'mode': unknown enumerator value 7, "
            "allowed DCR=0, CRD=1");
    call_begin(&k, "Nv12ToRgb"); // an enumeration of type i32
    call_in(&k, QRN_DTYPE_UQ8, DIMS(1, 24));
    call_out(&k, QRN_DTYPE_UQ8, DIMS(1, 4, 4, 3));
    call_i32(&k, "output_order", -1);
    refuses(&k, QRN_E_PARAM,
            "graph 'g' node 'n' (Nv12ToRgb): parameter 'output_order': unknown enumerator value "
            "-1, allowed RGB=0, BGR=1");
}

static void string_parameters_need_a_string(void **state) {
    (void)state;
    call k;
    call_begin(&k, "If");
    call_in(&k, QRN_DTYPE_B8, SCALAR_DIMS);
    qrn_param *p = call_param(&k, "then_graph");
    p->dtype = QRN_DTYPE_STR;
    refuses(&k, QRN_E_PARAM, "graph 'g' node 'n' (If): parameter 'then_graph': no string given");
    call_u32(&k, "then_graph", 1);
    refuses(&k, QRN_E_PARAM,
            "graph 'g' node 'n' (If): parameter 'then_graph': data type u32, allowed str");
}

static void parameter_tensors_are_checked_like_operands(void **state) {
    (void)state;
    call k;
    begin_conv(&k);
    call_tensor_param(&k, "stride", QRN_DTYPE_U32, ones, DIMS(1, 2));
    refuses(&k, QRN_E_PARAM, "graph 'g' node 'n' (Conv2d): parameter 'stride': rank 2, expected 1");
    begin_conv(&k);
    call_tensor_param(&k, "stride", QRN_DTYPE_F32, ones, DIMS(2));
    refuses(&k, QRN_E_PARAM,
            "graph 'g' node 'n' (Conv2d): parameter 'stride': data type f32, allowed u32");
    begin_conv(&k);
    k.param_t[0].role = QRN_ROLE_NATIVE;
    refuses(&k, QRN_E_PARAM,
            "graph 'g' node 'n' (Conv2d): parameter 'stride': tensor is not static");
    begin_conv(&k);
    k.param_t[0].size_bytes = 4;
    refuses(&k, QRN_E_PARAM,
            "graph 'g' node 'n' (Conv2d): parameter 'stride': 4 bytes of data, expected 8");
    begin_conv(&k);
    k.params[0].tensor = NULL;
    refuses(&k, QRN_E_PARAM, "graph 'g' node 'n' (Conv2d): parameter 'stride': no tensor given");
    begin_conv(&k);
    k.param_t[0].shape.dims[0] = 0x7fffffff;
    k.param_t[0].shape.rank = 20;
    refuses(&k, QRN_E_PARAM,
            "graph 'g' node 'n' (Conv2d): parameter 'stride': rank 20, expected 1");
}

static void signed_parameter_tensors_pass_while_no_value_is_negative(void **state) {
    (void)state;
    call k;
    static const int32_t good[2] = {1, 1}, bad[2] = {1, -1};
    begin_conv(&k);
    call_tensor_param(&k, "stride", QRN_DTYPE_I32, good, DIMS(2));
    accepts(&k);
    call_tensor_param(&k, "stride", QRN_DTYPE_I32, bad, DIMS(2));
    refuses(&k, QRN_E_PARAM,
            "graph 'g' node 'n' (Conv2d): parameter 'stride': data type i32, allowed u32");
}

static void declared_output_shapes_must_be_the_implied_ones(void **state) {
    (void)state;
    call k;
    begin_relu(&k);
    k.out_t[0].shape.dims[1] = 4;
    k.out_t[0].name = "out";
    refuses(&k, QRN_E_SHAPE,
            "graph 'g' node 'n' (Relu): output 0 'y' (tensor 'out'): shape [2,4], expected [2,3]");
    begin_add(&k);
    k.out_t[0].shape = (qrn_shape){2, {4, 3}};
    refuses(&k, QRN_E_SHAPE,
            "graph 'g' node 'n' (ElementWiseAdd): output 0 'y': shape [4,3], expected [2,4,3]");
    begin_add(&k);
    k.in_t[1].shape.dims[1] = 2;
    refuses(&k, QRN_E_SHAPE,
            "graph 'g' node 'n' (ElementWiseAdd): input 1: shape [4,2] does not broadcast with "
            "[2,1,3] of the inputs before");
}

static void a_single_value_may_be_written_with_or_without_a_dimension(void **state) {
    (void)state;
    call k;
    call_begin(&k, "ElementWiseMultiply");
    call_in(&k, QRN_DTYPE_F32, SCALAR_DIMS);
    call_in(&k, QRN_DTYPE_F32, SCALAR_DIMS);
    call_out(&k, QRN_DTYPE_F32, DIMS(1));
    accepts(&k);
    k.in_t[0].shape = (qrn_shape){1, {1}};
    k.out_t[0].shape = (qrn_shape){0};
    accepts(&k);
    k.out_t[0].shape = (qrn_shape){1, {2}};
    refuses(&k, QRN_E_SHAPE,
            "graph 'g' node 'n' (ElementWiseMultiply): output 0 'y': shape [2], expected [1]");
}

static qrn_status rule_of_twenty_rows(const qrn_op_call *c) {
    c->out_shape[0] = (qrn_shape){2, {20, 2}};
    return QRN_OK;
}

static void data_dependent_outputs_declare_a_limit(void **state) {
    (void)state;
    call k;
    call_begin(&k, "NonZero");
    qrn_op_def op = *k.c.op;
    op.rule = rule_of_twenty_rows;
    k.c.op = &op;
    call_in(&k, QRN_DTYPE_F32, DIMS(4, 5));
    qrn_tensor *out = call_out(&k, QRN_DTYPE_I32, DIMS(20, 2));
    accepts(&k);
    out->has_dynamic = true;
    out->dynamic[0] = 1;
    accepts(&k);
    out->shape.dims[0] = 7;
    accepts(&k);
    out->shape.dims[1] = 3;
    refuses(&k, QRN_E_SHAPE,
            "graph 'g' node 'n' (NonZero): output 0 'indices': shape [7,3], expected [20,2]");
    out->shape = (qrn_shape){2, {7, 2}};
    out->has_dynamic = false;
    out->dynamic[0] = 0;
    op.flags = 0;
    refuses(&k, QRN_E_SHAPE,
            "graph 'g' node 'n' (NonZero): output 0 'indices': shape [7,2], expected [20,2]");
}

static void nameless_calls_do_not_crash(void **state) {
    (void)state;
    call k;
    begin_relu(&k);
    k.c.graph = k.c.node = NULL;
    k.c.n_in = 0;
    refuses(&k, QRN_E_OP_CONFIG, "graph '' node '' (Relu): input 0 'x': missing");
}

static void accessors_read_what_was_given(void **state) {
    (void)state;
    call k;
    size_t n;
    begin_conv(&k);
    assert_int_equal(qrn_op_u32(&k.c, "group", 5), 5);
    const uint32_t *s = qrn_op_u32s(&k.c, "stride", &n);
    assert_ptr_equal(s, ones);
    assert_int_equal(n, 2);
    assert_ptr_equal(qrn_op_i32s(&k.c, "pad_amount", &n), pads);
    assert_int_equal(n, 4);
    assert_null(qrn_op_u32s(&k.c, "dilation", &n));
    assert_int_equal(n, 0);
    assert_null(qrn_op_f32s(&k.c, "stride", &n)); // not of that type
    call_tensor_param(&k, "stride", QRN_DTYPE_U32, NULL, DIMS(2));
    assert_null(qrn_op_u32s(&k.c, "stride", &n)); // data not known yet
    call_begin(&k, "Lrn");
    call_i32(&k, "radius", -3);
    call_f32(&k, "alpha", 0.25f);
    assert_int_equal(qrn_op_i32(&k.c, "radius", 0), -3);
    assert_true(qrn_op_f32(&k.c, "alpha", 0) == 0.25f);
    assert_true(qrn_op_f32(&k.c, "beta", 0.5f) == 0.5f);
    assert_true(qrn_op_f32(&k.c, "radius", 0) == -3.0f);
    assert_false(qrn_op_param(&k.c, "bias")->present);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_correct_op_is_accepted),
        cmocka_unit_test(missing_and_surplus_operands_are_refused),
        cmocka_unit_test(variadic_operands_need_one_and_have_no_gaps),
        cmocka_unit_test(an_optional_input_may_be_absent_in_the_middle),
        cmocka_unit_test(ranks_and_types_are_checked_per_operand),
        cmocka_unit_test(empty_and_overflowing_shapes_are_refused),
        cmocka_unit_test(dynamic_dimensions_need_an_op_that_admits_them),
        cmocka_unit_test(sparse_tensors_need_an_op_that_takes_them),
        cmocka_unit_test(sparse_and_dense_tensors_do_not_mix),
        cmocka_unit_test(outputs_must_be_writable),
        cmocka_unit_test(required_parameters_must_be_given),
        cmocka_unit_test(scalars_and_tensors_are_not_mixed_up),
        cmocka_unit_test(scalar_types_are_checked_with_the_usual_leniency),
        cmocka_unit_test(unknown_enumerators_are_refused_with_the_list),
        cmocka_unit_test(string_parameters_need_a_string),
        cmocka_unit_test(parameter_tensors_are_checked_like_operands),
        cmocka_unit_test(signed_parameter_tensors_pass_while_no_value_is_negative),
        cmocka_unit_test(declared_output_shapes_must_be_the_implied_ones),
        cmocka_unit_test(a_single_value_may_be_written_with_or_without_a_dimension),
        cmocka_unit_test(data_dependent_outputs_declare_a_limit),
        cmocka_unit_test(nameless_calls_do_not_crash),
        cmocka_unit_test(accessors_read_what_was_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
