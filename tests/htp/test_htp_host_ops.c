// SPDX-License-Identifier: MIT
//
// Ops that are written with the headers HTP/core (tests/htp/host_package): registration without
// createOpImpl, the choice of a definition by types, parameters by their order, encodings, several
// results, shapes, failures.
#include "htp_client.h"

#include <math.h>

typedef struct world {
    htp_world w;
    Qnn_GraphHandle_t g;
} world;

static world begin(void) {
    world a = {.w = htp_begin(0)};
    HTP_OK(a.w.qnn.backendRegisterOpPackage(a.w.backend, getenv("QUERN_HOST_PACKAGE"),
                                            "HostPackageInterfaceProvider", "CPU"));
    HTP_OK(a.w.qnn.graphCreate(a.w.context, "g", NULL, &a.g));
    return a;
}

static Qnn_Tensor_t add(const world *a, Qnn_Tensor_t t) {
    HTP_OK(a->w.qnn.tensorCreateGraphTensor(a->g, &t));
    return t;
}

static Qnn_Param_t scalar(const char *name, Qnn_Scalar_t value) {
    return (Qnn_Param_t){.paramType = QNN_PARAMTYPE_SCALAR, .name = name, .scalarParam = value};
}

static Qnn_Param_t real(const char *name, float v) {
    return scalar(name, (Qnn_Scalar_t){.dataType = QNN_DATATYPE_FLOAT_32, .floatValue = v});
}

static Qnn_OpConfig_t op(const char *type, Qnn_Tensor_t *in, Qnn_Tensor_t *out, uint32_t n_out,
                         Qnn_Param_t *params, uint32_t n_params) {
    Qnn_OpConfig_t c = op_config(type, "HostPackage", type, in, 1, out, n_out);
    c.v1.params = params;
    c.v1.numOfParams = n_params;
    return c;
}

// Parameters in another order than the op's, one that the op does not know, and the default.
static void floats_with_parameters_in_the_order_of_the_op(void **state) {
    (void)state;
    for (int given = 0; given < 2; given++) {
        world a = begin();
        uint32_t dims[] = {2, 3};
        Qnn_Tensor_t x = tensor(&a.w.qnn, a.g, "x", QNN_TENSOR_TYPE_APP_WRITE, 2, dims);
        Qnn_Tensor_t y = tensor(&a.w.qnn, a.g, "y", QNN_TENSOR_TYPE_APP_READ, 2, dims);
        Qnn_Param_t params[] = {real("other", 7), real("scale", 3), real("shift", -1)};
        HTP_OK(a.w.qnn.graphAddNode(a.g, op("ScaleShift", &x, &y, 1, params, given ? 3 : 2)));
        HTP_OK(a.w.qnn.graphFinalize(a.g, NULL, NULL));
        float in[6] = {-2, -1, 0, 1, 2, 3}, out[6];
        set_buffer(&x, in, sizeof in);
        set_buffer(&y, out, sizeof out);
        HTP_OK(a.w.qnn.graphExecute(a.g, &x, 1, &y, 1, NULL, NULL));
        for (int i = 0; i < 6; i++)
            assert_true(out[i] == 3 * in[i] + (given ? -1.0f : 0.5f));
        htp_end(&a.w);
    }
}

static void a_mandatory_parameter_is_missed(void **state) {
    (void)state;
    world a = begin();
    uint32_t dims[] = {2, 3};
    Qnn_Tensor_t x = tensor(&a.w.qnn, a.g, "x", QNN_TENSOR_TYPE_APP_WRITE, 2, dims);
    Qnn_Tensor_t y = tensor(&a.w.qnn, a.g, "y", QNN_TENSOR_TYPE_APP_READ, 2, dims);
    HTP_OK(a.w.qnn.graphAddNode(a.g, op("ScaleShift", &x, &y, 1, NULL, 0)));
    HTP_FAILS(a.w.qnn.graphFinalize(a.g, NULL, NULL), QNN_GRAPH_ERROR_FINALIZE_FAILED);
    htp_end(&a.w);
}

// The definition for any type: real numbers of 8- and 16-bit quantized values, rounded once.
static void elements_of_any_type_are_real_numbers(void **state) {
    (void)state;
    static const struct {
        Qnn_DataType_t dtype;
        int32_t offset, lo, hi;
    } types[] = {{QNN_DATATYPE_UFIXED_POINT_8, -10, 0, 255},
                 {QNN_DATATYPE_SFIXED_POINT_8, 4, -128, 127},
                 {QNN_DATATYPE_UFIXED_POINT_16, -30000, 0, 65535},
                 {QNN_DATATYPE_SFIXED_POINT_16, 0, -32768, 32767}};
    for (int k = 0; k < 4; k++) {
        world a = begin();
        uint32_t dims[] = {64};
        Qnn_Tensor_t x = htp_tensor("x", QNN_TENSOR_TYPE_APP_WRITE, types[k].dtype, 1, dims);
        Qnn_Tensor_t y = htp_tensor("y", QNN_TENSOR_TYPE_APP_READ, types[k].dtype, 1, dims);
        htp_encode(&x, 0.5f, types[k].offset);
        htp_encode(&y, 0.3f, types[k].offset);
        x = add(&a, x);
        y = add(&a, y);
        Qnn_Param_t scale = real("scale", 2);
        HTP_OK(a.w.qnn.graphAddNode(a.g, op("ScaleShift", &x, &y, 1, &scale, 1)));
        HTP_OK(a.w.qnn.graphFinalize(a.g, NULL, NULL));
        bool narrow = types[k].hi < 256;
        uint16_t in[64], out[64];
        uint8_t *in8 = (uint8_t *)in, *out8 = (uint8_t *)out;
        int32_t stored[64];
        for (int i = 0; i < 64; i++) {
            stored[i] = types[k].lo + i * (types[k].hi - types[k].lo) / 63;
            if (narrow)
                in8[i] = (uint8_t)stored[i];
            else
                in[i] = (uint16_t)stored[i];
        }
        set_buffer(&x, in, narrow ? 64 : 128);
        set_buffer(&y, out, narrow ? 64 : 128);
        HTP_OK(a.w.qnn.graphExecute(a.g, &x, 1, &y, 1, NULL, NULL));
        for (int i = 0; i < 64; i++) {
            double v = 2 * (stored[i] + types[k].offset) * 0.5 + 0.5;
            double q = round(v / (double)0.3f) - types[k].offset;
            q = q < types[k].lo ? types[k].lo : q > types[k].hi ? types[k].hi : q;
            uint16_t mask = narrow ? 0xff : 0xffff;
            assert_int_equal((narrow ? out8[i] : out[i]), (uint16_t)(int32_t)q & mask);
        }
        htp_end(&a.w);
    }
}

static void a_definition_is_for_its_types(void **state) {
    (void)state;
    for (int right = 0; right < 2; right++) {
        world a = begin();
        Qnn_DataType_t dtype = right ? QNN_DATATYPE_UFIXED_POINT_8 : QNN_DATATYPE_SFIXED_POINT_8;
        uint32_t dims[] = {1, 1, 2, 2};
        Qnn_Tensor_t x = htp_tensor("x", QNN_TENSOR_TYPE_APP_WRITE, dtype, 4, dims);
        Qnn_Tensor_t y = htp_tensor("y", QNN_TENSOR_TYPE_APP_READ, dtype, 4, dims);
        htp_encode(&x, 0.25f, -3);
        htp_encode(&y, 0.25f, 0);
        x = add(&a, x);
        y = add(&a, y);
        HTP_OK(a.w.qnn.graphAddNode(a.g, op("HalfStep", &x, &y, 1, NULL, 0)));
        HTP_FAILS(a.w.qnn.graphFinalize(a.g, NULL, NULL),
                  right ? QNN_SUCCESS : QNN_GRAPH_ERROR_FINALIZE_FAILED);
        uint8_t in[4] = {0, 1, 17, 254}, out[4];
        set_buffer(&x, in, 4);
        set_buffer(&y, out, 4);
        if (right)
            HTP_OK(a.w.qnn.graphExecute(a.g, &x, 1, &y, 1, NULL, NULL));
        for (int i = 0; right && i < 4; i++)
            assert_int_equal(out[i], in[i] + 1);
        htp_end(&a.w);
    }
}

static void several_results(void **state) {
    (void)state;
    world a = begin();
    uint32_t dims[] = {2, 2, 4}, half[] = {2, 2, 2};
    Qnn_Tensor_t x = tensor(&a.w.qnn, a.g, "x", QNN_TENSOR_TYPE_APP_WRITE, 3, dims);
    Qnn_Tensor_t y[2] = {tensor(&a.w.qnn, a.g, "first", QNN_TENSOR_TYPE_APP_READ, 3, half),
                         tensor(&a.w.qnn, a.g, "second", QNN_TENSOR_TYPE_APP_READ, 3, half)};
    HTP_OK(a.w.qnn.graphAddNode(a.g, op("Halves", &x, y, 2, NULL, 0)));
    HTP_OK(a.w.qnn.graphFinalize(a.g, NULL, NULL));
    float in[16], out[2][8];
    for (int i = 0; i < 16; i++)
        in[i] = (float)i;
    set_buffer(&x, in, sizeof in);
    set_buffer(&y[0], out[0], sizeof out[0]);
    set_buffer(&y[1], out[1], sizeof out[1]);
    HTP_OK(a.w.qnn.graphExecute(a.g, &x, 1, y, 2, NULL, NULL));
    for (int r = 0; r < 4; r++)
        for (int k = 0; k < 4; k++)
            assert_true(out[k / 2][2 * r + k % 2] == (float)(4 * r + k));
    htp_end(&a.w);
}

// Axis 1 of [5, 7] is the last of four; axis 0 of [3, 7] makes the op fail.
static void axes_count_from_the_first_of_four(void **state) {
    (void)state;
    for (int fails = 0; fails < 2; fails++) {
        world a = begin();
        uint32_t dims[] = {fails ? 3 : 5, 7}, one[] = {1};
        Qnn_Tensor_t x = tensor(&a.w.qnn, a.g, "x", QNN_TENSOR_TYPE_APP_WRITE, 2, dims);
        Qnn_Tensor_t y = tensor(&a.w.qnn, a.g, "y", QNN_TENSOR_TYPE_APP_READ, 1, one);
        Qnn_Param_t axis = scalar(
            "axis", (Qnn_Scalar_t){.dataType = QNN_DATATYPE_UINT_32, .uint32Value = fails ? 0 : 1});
        HTP_OK(a.w.qnn.graphAddNode(a.g, op("AxisExtent", &x, &y, 1, &axis, 1)));
        HTP_OK(a.w.qnn.graphFinalize(a.g, NULL, NULL));
        float in[35] = {0}, out = -1;
        set_buffer(&x, in, dims[0] * 28);
        set_buffer(&y, &out, sizeof out);
        Qnn_ErrorHandle_t e = a.w.qnn.graphExecute(a.g, &x, 1, &y, 1, NULL, NULL);
        assert_int_equal(e == QNN_SUCCESS, !fails);
        if (!fails)
            assert_true(out == 7);
        htp_end(&a.w);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_with_parameters_in_the_order_of_the_op),
        cmocka_unit_test(a_mandatory_parameter_is_missed),
        cmocka_unit_test(elements_of_any_type_are_real_numbers),
        cmocka_unit_test(a_definition_is_for_its_types),
        cmocka_unit_test(several_results),
        cmocka_unit_test(axes_count_from_the_first_of_four),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
