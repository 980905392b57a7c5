// SPDX-License-Identifier: MIT
//
// The provider object that clients get.
#ifndef QRN_API_INTERFACE_H
#define QRN_API_INTERFACE_H

#include "QnnInterface.h"

// What QnnInterface_getProviders of every backend library does. The exported function itself stands
// in the folder of the backend, because symbols of the static core stay hidden.
Qnn_ErrorHandle_t qrn_interface_providers(const QnnInterface_t ***list, uint32_t *n);

// The table in that object. A library that stands between client and core changes it before a
// client has seen it.
QNN_INTERFACE_VER_TYPE *qrn_interface_table(void);

#endif
