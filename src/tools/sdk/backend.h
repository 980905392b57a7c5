// SPDX-License-Identifier: MIT
//
// Opening the backend that --backend names, with what the other flags say about it.
#ifndef QRN_TOOLS_SDK_BACKEND_H
#define QRN_TOOLS_SDK_BACKEND_H

#include "tools/sdk/extension_library.h"

typedef struct qs_backend_request {
    const char *library;
    const char *log_level;        // NULL: warnings
    const char *platform_options; // "k0:v0;k1:v1"
    const char *device_options;   // "device_id:0;core_id:0"
    const char *op_packages;      // "path:provider[:target],..."
    qs_extension *extension;      // attached to the device
    uint32_t soc;                 // instead of the extension's; 0: the extension's
} qs_backend_request;

// Without a context. QT_EXIT_OK or another code after a message.
int qs_backend_open(const qs_backend_request *r, qc_client **out);

#endif
