// SPDX-License-Identifier: MIT
//
// The API versions that the library announces.
#ifndef QRN_CORE_VERSION_H
#define QRN_CORE_VERSION_H

#include "base/status.h"

#include "QnnTypes.h"

// Core and backend API version. QRN_E_UNSUPPORTED when QUERN_API_VERSION asks for a version that
// cannot be served; `version` is then left alone.
qrn_status qrn_version(Qnn_ApiVersion_t *version);

// "v<release>_quern-<version>": of the library, and in the context binaries that it writes.
const char *qrn_build_id(void);

// The core version that a text such as "2.37" stands for; NULL gives the default.
qrn_status qrn_version_parse(const char *text, Qnn_Version_t *core);

#endif
