// SPDX-License-Identifier: MIT
//
// libQnnLpai.so: the backend of the low-power accelerator, for clients that are linked to it by
// name. It describes itself, and rejects what would need a model of that accelerator.
#include "core/services.h"

#include "LPAI/QnnLpaiCommon.h"

static qrn_status backend_create(struct qrn_api_backend *b) {
    (void)b;
    return QRN_FAIL(QRN_E_UNSUPPORTED, "the LPAI accelerator is not implemented by Quern yet; use "
                                       "libQnnHtp.so or libQnnCpu.so");
}

static const qrn_support_table support = {.backend = "LPAI", .mode = QRN_SUPPORT_EXACT};

const qrn_backend qrn_this_backend = {
    .provider_name = QNN_LPAI_INTERFACE_PROVIDER_NAME,
    .id = QNN_BACKEND_ID_LPAI,
    .version_major = QNN_LPAI_API_VERSION_MAJOR,
    .version_minor = QNN_LPAI_API_VERSION_MINOR,
    .version_patch = QNN_LPAI_API_VERSION_PATCH,
    .support = &support,
    .backend_create = backend_create,
};
