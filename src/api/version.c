// SPDX-License-Identifier: MIT
//
// The API versions that are announced: higher than the headers say, because clients want at least
// the version they were built with. QUERN_API_VERSION lowers the core version for a client that
// wants equality.
#include "api/version.h"

#include "backend/backend.h"
#include "base/env.h"

#include <stdio.h>

#define CORE_MAJOR 2
#define CORE_MINOR 40
#define CORE_MINOR_OLDEST 14 // structs had other sizes before

qrn_status qrn_version_parse(const char *text, Qnn_Version_t *core) {
    unsigned major = CORE_MAJOR, minor = CORE_MINOR, patch = 0;
    int end = 0, more = 0;
    if (text && sscanf(text, "%2u.%3u%n", &major, &minor, &end) == 2 &&
        sscanf(text + end, ".%3u%n", &patch, &more) == 1)
        end += more;
    if (text && (end == 0 || text[end] || major != CORE_MAJOR || minor < CORE_MINOR_OLDEST ||
                 minor > CORE_MINOR))
        return QRN_FAIL(QRN_E_UNSUPPORTED, "QUERN_API_VERSION is '%.32s', allowed %d.%d to %d.%d",
                        text, CORE_MAJOR, CORE_MINOR_OLDEST, CORE_MAJOR, CORE_MINOR);
    *core = (Qnn_Version_t){major, minor, patch};
    return QRN_OK;
}

qrn_status qrn_version(Qnn_ApiVersion_t *version) {
    const qrn_backend *b = &qrn_this_backend;
    QRN_TRY(qrn_version_parse(qrn_env_get(QRN_ENV_API_VERSION), &version->coreApiVersion));
    version->backendApiVersion =
        (Qnn_Version_t){b->version_major, b->version_minor, b->version_patch};
    return QRN_OK;
}
