// SPDX-License-Identifier: MIT
//
// Interface of a package in the style of packages for the HTP: macros list its files, and it has no
// function that makes ops.
#include "HTP/QnnHtpCommon.h"
#include "HTP/core/constraints.h"
#include "HTP/core/op_package_feature_support.h"
#include "HTP/core/op_register_ext.h"
#include "HTP/core/optimize.h"
#include "HTP/core/simple_reg.h"
#include "HTP/core/unique_types.h"
#include "QnnOpPackage.h"
#include "QnnSdkBuildId.h"

DEFINE_UNIQ_TY()
BEGIN_PKG_OPS_OPTS_LIST()
DECLARE_PKG_OPS_OPTS_LIST(PKG_Elements)
DECLARE_PKG_OPS_OPTS_LIST(PKG_Shapes)
END_PKG_OPS_OPTS_LIST()

INIT_PACKAGE_OP_DEF()
INIT_PACKAGE_OPTIMIZATION_DEF()
INIT_PACKAGE_PARAM_ORDER_DEF()
LIST_PACKAGE_AXIS_PARAMS("axis")
INIT_PKG_CORE_INIT_FUNC()

namespace {

const char *names[] = {"ScaleShift", "HalfStep", "Halves", "AxisExtent"};
Qnn_ApiVersion_t api_version = QNN_HTP_API_VERSION_INIT;
QnnOpPackage_Info_t description = QNN_OP_PACKAGE_INFO_INIT;

Qnn_ErrorHandle_t init(QnnOpPackage_GlobalInfrastructure_t) {
    REGISTER_PACKAGE_PARAM_ORDERS()
    REGISTER_PACKAGE_AXIS_PARAMS()
    REGISTER_PACKAGE_PER_CHANNEL_QUANTIZED_OPS()
    return QNN_SUCCESS;
}

Qnn_ErrorHandle_t terminate() { return QNN_SUCCESS; }

Qnn_ErrorHandle_t get_info(const QnnOpPackage_Info_t **info) {
    description.packageName = THIS_PKG_NAME_STR;
    description.operationNames = names;
    description.numOperations = sizeof names / sizeof names[0];
    description.sdkBuildId = QNN_SDK_BUILD_ID;
    description.sdkApiVersion = &api_version;
    *info = &description;
    return QNN_SUCCESS;
}

} // namespace

extern "C" __attribute__((visibility("default"))) Qnn_ErrorHandle_t HostPackageInterfaceProvider(
    QnnOpPackage_Interface_t *interface) {
    interface->interfaceVersion = {1, 4, 0};
    interface->v1_4 = {};
    interface->v1_4.init = init;
    interface->v1_4.terminate = terminate;
    interface->v1_4.getInfo = get_info;
    return QNN_SUCCESS;
}
