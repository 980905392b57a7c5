// SPDX-License-Identifier: MIT
//
// Ops about shapes. Halves: the halves of the last dimension. AxisExtent: the extent of an axis,
// which counts from the first of four dimensions here; it fails for an axis of three.
#include "HTP/core/constraints.h"
#include "HTP/core/op_package_feature_support.h"
#include "HTP/core/op_register_ext.h"
#include "HTP/core/optimize.h"
#include "HTP/core/simple_reg.h"
#include "QnnOpPackage.h"

BEGIN_PKG_OP_DEFINITION(PKG_Shapes);

template <typename T> GraphStatus halves(T &first, T &second, const T &x) {
    const size_t rows = x.dim(0) * x.dim(1) * x.dim(2), half = x.dim(3) / 2;
    auto from = static_cast<const float *>(x.raw_data_const());
    auto a = static_cast<float *>(first.raw_data()), b = static_cast<float *>(second.raw_data());
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < half; i++) {
            a[r * half + i] = from[2 * r * half + i];
            b[r * half + i] = from[(2 * r + 1) * half + i];
        }
    return GraphStatus::Success;
}
DEF_PACKAGE_OP((halves<Tensor>), "Halves")

static GraphStatus axisExtent(PlainFloatTensor &y, const Tensor &x, const Int32Tensor &axis) {
    const size_t extent = x.dim(static_cast<size_t>(axis(0, 0, 0, 0)));
    if (extent == 3)
        return GraphStatus::ErrorDimensions;
    y(0, 0, 0, 0) = static_cast<float>(extent);
    return GraphStatus::Success;
}
DEF_PACKAGE_OP(axisExtent, "AxisExtent")

END_PKG_OP_DEFINITION(PKG_Shapes);
