// SPDX-License-Identifier: MIT
//
// The API versions that are announced: higher than the headers say, because clients want at least
// the version they were built with. QUERN_API_VERSION lowers the core version for a client that
// wants equality.
#include "core/version.h"

#include "base/env.h"
#include "core/backend.h"

#include "QnnSdkBuildId.h"

#define CORE_MAJOR 2
#define CORE_MINOR 40
#define CORE_MINOR_OLDEST 14 // structs had other sizes before

// One to three digits at *text, which moves behind them.
static bool read_number(const char **text, uint32_t *value) {
    unsigned digits = 0;
    *value = 0;
    for (; **text >= '0' && **text <= '9' && digits < 3; digits++)
        *value = *value * 10 + (uint32_t)(*(*text)++ - '0');
    return digits > 0;
}

static bool read_version(const char *text, Qnn_Version_t *v) {
    v->patch = 0;
    if (!read_number(&text, &v->major) || *text++ != '.' || !read_number(&text, &v->minor))
        return false;
    if (*text == '.') {
        text++;
        if (!read_number(&text, &v->patch))
            return false;
    }
    return *text == '\0' && v->major == CORE_MAJOR && v->minor >= CORE_MINOR_OLDEST &&
           v->minor <= CORE_MINOR;
}

qrn_status qrn_version_parse(const char *text, Qnn_Version_t *core) {
    Qnn_Version_t v = {CORE_MAJOR, CORE_MINOR, 0};
    if (text && !read_version(text, &v))
        return QRN_FAIL(QRN_E_UNSUPPORTED, "QUERN_API_VERSION is '%.32s', allowed %d.%d to %d.%d",
                        text, CORE_MAJOR, CORE_MINOR_OLDEST, CORE_MAJOR, CORE_MINOR);
    *core = v;
    return QRN_OK;
}

const char *qrn_build_id(void) { return QNN_SDK_BUILD_ID "-" QUERN_VERSION; }

qrn_status qrn_version(Qnn_ApiVersion_t *version) {
    const qrn_backend *b = &qrn_this_backend;
    QRN_TRY(qrn_version_parse(qrn_env_get(QRN_ENV_API_VERSION), &version->coreApiVersion));
    version->backendApiVersion =
        (Qnn_Version_t){b->version_major, b->version_minor, b->version_patch};
    return QRN_OK;
}
