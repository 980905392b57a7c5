// SPDX-License-Identifier: MIT
//
// Macros by which the files of an op package define its ops and its library lists them.

#ifndef QUERN_HTP_OP_REGISTER_EXT_H
#define QUERN_HTP_OP_REGISTER_EXT_H

#include "HTP/core/host_ops.h"
#include "HTP/core/unique_types.h"

// Name of the package; compilers get -DTHIS_PKG_NAME=name.
#ifndef THIS_PKG_NAME_STR
#define QUERN_HTP_TEXT_OF(name) #name
#define QUERN_HTP_TEXT(name) QUERN_HTP_TEXT_OF(name)
#ifdef THIS_PKG_NAME
#define THIS_PKG_NAME_STR QUERN_HTP_TEXT(THIS_PKG_NAME)
#else
#define THIS_PKG_NAME_STR ""
#endif
#endif

#define QUERN_HTP_JOIN_OF(a, b) a##b
#define QUERN_HTP_JOIN(a, b) QUERN_HTP_JOIN_OF(a, b)
#define QUERN_HTP_ADDED QUERN_HTP_JOIN(quern_htp_added_, __COUNTER__)

// An op file: everything between the two. A list that names a file which is not linked does not
// link either.
#define BEGIN_PKG_OP_DEFINITION(NAME)                                                              \
    __attribute__((visibility("hidden"))) void quern_htp_file_##NAME();                            \
    void quern_htp_file_##NAME() {}
#define END_PKG_OP_DEFINITION(NAME)

// The op OP is computed by the function F: results by reference, then inputs and parameters by
// constant reference. Costs and flags have no meaning on a host.
#define DEF_PACKAGE_OP(F, OP)                                                                      \
    [[maybe_unused]] static const bool QUERN_HTP_ADDED = quern_htp::add_op<F>(OP);
#define DEF_PACKAGE_OP_AND_COST_AND_FLAGS(F, OP, COST, ...) DEF_PACKAGE_OP(F, OP)
#define DEF_PACKAGE_OP_AND_COST_F_AND_FLAGS(F, OP, COST_F, ...)                                    \
    DEF_PACKAGE_OP(F, OP)                                                                          \
    [[maybe_unused]] static float (*const QUERN_HTP_ADDED)(const Op *) = COST_F;

// Order of the parameters of an op: name, whether it must be given, and what is used otherwise
// (nullptr: it is left out), for each.
#define DEF_PACKAGE_PARAM_ORDER(OP, ...)                                                           \
    [[maybe_unused]] static const bool QUERN_HTP_ADDED = quern_htp::add_order(OP, __VA_ARGS__);

// Names of parameters that are axes, which count from the first of four dimensions.
#define LIST_PACKAGE_AXIS_PARAMS(...)                                                              \
    [[maybe_unused]] static const bool QUERN_HTP_ADDED = quern_htp::add_axes(__VA_ARGS__);

// Scales of channels as further operands: not here.
#define LIST_PACKAGE_PER_CHANNEL_QUANTIZED_OPS(...)                                                \
    static_assert(false, "Quern: ops with an encoding for each channel are not supported on a "    \
                         "host")

// Layouts and places of operands: here all are flat and in main memory.
#define DEF_TENSOR_PROPERTIES(...)

// The files of the package.
#define BEGIN_PKG_OPS_OPTS_LIST() static void quern_htp_files() {
#define DECLARE_PKG_OPS_OPTS_LIST(NAME)                                                            \
    __attribute__((visibility("hidden"))) void quern_htp_file_##NAME();                            \
    quern_htp_file_##NAME();
#define END_PKG_OPS_OPTS_LIST() }

// Once a package, in the file of its interface.
#define INIT_PACKAGE_OP_DEF()                                                                      \
    namespace quern_htp {                                                                          \
    __attribute__((visibility("hidden"))) Package &package() {                                     \
        static Package mine;                                                                       \
        return mine;                                                                               \
    }                                                                                              \
    }
#define INIT_PACKAGE_PARAM_ORDER_DEF()
#define INIT_PKG_CORE_INIT_FUNC()                                                                  \
    extern "C" __attribute__((visibility("default"))) Qnn_ErrorHandle_t                            \
    QuernHtpOpPackage_createOpImpl(const Qnn_OpConfig_t *config, QnnOpPackage_Node_t node,         \
                                   QnnOpPackage_OpImpl_t *opImpl) {                                \
        quern_htp_files();                                                                         \
        return quern_htp::create(config, node, opImpl);                                            \
    }                                                                                              \
    extern "C" __attribute__((visibility("default"))) Qnn_ErrorHandle_t                            \
    QuernHtpOpPackage_freeOpImpl(QnnOpPackage_OpImpl_t opImpl) {                                   \
        return quern_htp::destroy(opImpl);                                                         \
    }

// In the package's init: what they register is in the package's list already.
#define REGISTER_PACKAGE_OPS()
#define REGISTER_PACKAGE_OPTIMIZATIONS()
#define REGISTER_PACKAGE_PARAM_ORDERS()
#define REGISTER_PACKAGE_AXIS_PARAMS()
#define REGISTER_PACKAGE_PER_CHANNEL_QUANTIZED_OPS()

#endif // QUERN_HTP_OP_REGISTER_EXT_H
