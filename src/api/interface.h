// SPDX-License-Identifier: MIT
//
// The provider object that clients get, and the versions it announces.
#ifndef QRN_API_INTERFACE_H
#define QRN_API_INTERFACE_H

#include "base/status.h"

#include "QnnInterface.h"

// Core and backend API version as announced. QRN_E_UNSUPPORTED when QUERN_API_VERSION asks for a
// version that cannot be served; `version` is then left alone.
qrn_status qrn_interface_version(Qnn_ApiVersion_t *version);

// The core version that a text such as "2.37" stands for; NULL gives the default.
qrn_status qrn_interface_parse_version(const char *text, Qnn_Version_t *core);

// What QnnInterface_getProviders of every backend library does. The exported function itself stands
// in the folder of the backend, because symbols of the static core stay hidden.
Qnn_ErrorHandle_t qrn_interface_providers(const QnnInterface_t ***list, uint32_t *n);

#endif
