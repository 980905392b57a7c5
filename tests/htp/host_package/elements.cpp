// SPDX-License-Identifier: MIT
//
// Ops on elements. ScaleShift: y = scale * x + shift, where shift may be left out and is then 0.5;
// one definition for floats, one that reads and writes the real numbers of any type. HalfStep: the
// stored value of uint8 plus 1, with what the encodings are.
#include "HTP/core/constraints.h"
#include "HTP/core/op_package_feature_support.h"
#include "HTP/core/op_register_ext.h"
#include "HTP/core/optimize.h"
#include "HTP/core/simple_reg.h"
#include "QnnOpPackage.h"

BEGIN_PKG_OP_DEFINITION(PKG_Elements);

template <typename T>
GraphStatus scaleShift(T &y, const T &x, const PlainFloatTensor &scale, const Tensor &shift);
static GraphStatus halfStep(QuantUint8Tensor &y, const QuantUint8Tensor &x);
static float scaleShiftCost(const Op *op);

static const Qnn_Param_t defaultShift = [] {
    Qnn_Param_t p = QNN_PARAM_INIT;
    p.paramType = QNN_PARAMTYPE_SCALAR;
    p.name = "shift";
    p.scalarParam.dataType = QNN_DATATYPE_FLOAT_32;
    p.scalarParam.floatValue = 0.5f;
    return p;
}();

DEF_PACKAGE_OP_AND_COST_AND_FLAGS((scaleShift<PlainFloatTensor>), "ScaleShift", SNAIL,
                                  Flags::RESOURCE_HVX)
DEF_PACKAGE_OP_AND_COST_F_AND_FLAGS((scaleShift<Tensor>), "ScaleShift", scaleShiftCost)
DEF_PACKAGE_PARAM_ORDER("ScaleShift", "scale", true, nullptr, "shift", false, &defaultShift)
DEF_PACKAGE_OP(halfStep, "HalfStep")
DEF_TENSOR_PROPERTIES(Op("HalfStep", "x"), Flat("x"), MainMemory("*"))

template <typename T>
GraphStatus scaleShift(T &y, const T &x, const PlainFloatTensor &scale, const Tensor &shift) {
    y.set_dims(x);
    auto [batches, height, width, depth] = x.dims();
    for (Idx b = 0; b < batches; b++)
        for (Idx h = 0; h < height; h++)
            for (Idx w = 0; w < width; w++)
                for (Idx d = 0; d < depth; d++)
                    y(b, h, w, d) = scale(0, 0, 0, 0) * x(b, h, w, d) + shift(0, 0, 0, 0);
    return GraphStatus::Success;
}

static GraphStatus halfStep(QuantUint8Tensor &y, const QuantUint8Tensor &x) {
    if (x.get_dtype() != DType::QUInt8 || x.interface_offset() != 3 || y.interface_offset() != 0 ||
        x.interface_scale() != 0.25f || x.get_dtype_intfc().scale != 0.25f)
        return GraphStatus::ErrorPrecision;
    auto from = static_cast<const uint8_t *>(x.raw_data_const());
    auto to = static_cast<uint8_t *>(y.raw_data());
    for (size_t i = 0; i < x.total_storage_elements(); i++)
        to[i] = static_cast<uint8_t>(from[i] + 1);
    return x.total_storage_bytes() == y.total_storage_bytes() ? GraphStatus::Success
                                                              : GraphStatus::ErrorDimensions;
}

static float scaleShiftCost(const Op *) { return 0.0f; }

END_PKG_OP_DEFINITION(PKG_Elements);
