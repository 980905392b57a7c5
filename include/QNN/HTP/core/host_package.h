// SPDX-License-Identifier: MIT
//
// Packages of HTP ops on a host: what a package that was compiled with these headers exports beside
// its interface provider, and what the HTP backend of Quern looks for when the interface has no
// createOpImpl. This file and its neighbours are Quern's own text; they give the names that op
// packages use in public their plain meaning on a CPU (docs/op-packages.md).

#ifndef QUERN_HTP_HOST_PACKAGE_H
#define QUERN_HTP_HOST_PACKAGE_H

#include "QnnOpPackage.h"
#include "QnnTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

// Names of the two functions.
#define QUERN_HTP_CREATE_OP "QuernHtpOpPackage_createOpImpl"
#define QUERN_HTP_FREE_OP "QuernHtpOpPackage_freeOpImpl"

// Makes the implementation of a node. `config` describes it as the client did, with types,
// encodings and the data of tensor parameters; `node` has the data of each execution. Both live
// longer than the implementation.
typedef Qnn_ErrorHandle_t (*QuernHtpOpPackage_CreateOpImplFn_t)(const Qnn_OpConfig_t *config,
                                                                QnnOpPackage_Node_t node,
                                                                QnnOpPackage_OpImpl_t *opImpl);

// Frees an implementation.
typedef Qnn_ErrorHandle_t (*QuernHtpOpPackage_FreeOpImplFn_t)(QnnOpPackage_OpImpl_t opImpl);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QUERN_HTP_HOST_PACKAGE_H
