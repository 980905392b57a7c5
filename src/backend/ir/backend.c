// SPDX-License-Identifier: MIT
//
// libQnnIr.so: the backend that would write graphs as DLC files, for clients that are linked to it
// by name. It describes itself, and rejects what would need the format.
#include "core/services.h"

#include "IR/QnnIrCommon.h"

static qrn_status backend_create(struct qrn_api_backend *b) {
    (void)b;
    return QRN_FAIL(QRN_E_UNSUPPORTED,
                    "DLC files are not implemented by Quern yet; use libQnnHtp.so to compile a "
                    "graph, or libQnnSaver.so to record it");
}

static const qrn_support_table support = {.backend = "IR", .mode = QRN_SUPPORT_EXACT};

const qrn_backend qrn_this_backend = {
    .provider_name = QNN_IR_INTERFACE_PROVIDER_NAME,
    .id = QNN_BACKEND_ID_IR,
    .version_major = QNN_IR_API_VERSION_MAJOR,
    .version_minor = QNN_IR_API_VERSION_MINOR,
    .version_patch = QNN_IR_API_VERSION_PATCH,
    .support = &support,
    .backend_create = backend_create,
};
