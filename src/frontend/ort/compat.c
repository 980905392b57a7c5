// SPDX-License-Identifier: MIT
//
// What a context model needs, in one line of its metadata, and what the host can ask before it
// loads one or chooses a device:
//   <backend id>:<SDK major.minor.patch>:<backend API>:<context binary>:<architecture>:<driver>
#include "frontend/ort/context.h"

#include "base/mem.h"
#include "base/soc.h"

#include "GPU/QnnGpuCommon.h"
#include "HTP/QnnHtpCommon.h"
#include "HTP/QnnHtpSystemContext.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MAX 128

typedef struct needs {
    unsigned backend, arch, driver;
    Qnn_Version_t sdk, api, blob;
} needs;

// "v2.51.0.<build>", with or without words behind it.
static bool read_sdk(const qc_client *c, Qnn_Version_t *out) {
    const char *id = NULL;
    return c->qnn.backendGetBuildId && c->qnn.backendGetBuildId(&id) == QNN_SUCCESS && id &&
           sscanf(id, "v%u.%u.%u.", &out->major, &out->minor, &out->patch) == 3;
}

static unsigned arch_of(const QnnSystemContext_BinaryInfoV3_t *info) {
    const QnnHtpSystemContext_ContextBlobInfo_t *blob = info->contextMetadata;
    if (info->backendId != QNN_BACKEND_ID_HTP || !blob ||
        info->contextMetadataSize < sizeof *blob ||
        blob->version != QNN_SYSTEM_CONTEXT_HTP_CONTEXT_INFO_BLOB_VERSION_V1)
        return 0;
    return blob->contextBinaryContextBlobInfoV1.dspArch;
}

qrn_status qe_compat_note(qe_ep *ep, const QnnSystemContext_BinaryInfoV3_t *info) {
    const Qnn_Version_t *a = &info->backendApiVersion, *b = &info->contextBlobVersion;
    Qnn_Version_t sdk;
    char text[TEXT_MAX];
    if (!read_sdk(ep->client, &sdk))
        return QRN_OK; // another library's; nobody could compare it
    snprintf(text, sizeof text, "%u:%u.%u.%u:%u.%u.%u:%u.%u.%u:%u:0", info->backendId, sdk.major,
             sdk.minor, sdk.patch, a->major, a->minor, a->patch, b->major, b->minor, b->patch,
             arch_of(info));
    ep->compat = qrn_arena_strdup(ep->arena, text);
    return ep->compat ? QRN_OK : QRN_FAIL(QRN_E_MEM, "context model: no memory");
}

const char *qe_compat_info(OrtEp *base, const OrtGraph *graph) {
    (void)graph;
    const char *text = ((const qe_ep *)base)->compat;
    return text ? text : ""; // the host takes its length, whatever it is
}

// --- asked by the host

static bool read_needs(const char *text, needs *n) {
    int end = 0;
    return text &&
           sscanf(text, "%u:%u.%u.%u:%u.%u.%u:%u.%u.%u:%u:%u%n", &n->backend, &n->sdk.major,
                  &n->sdk.minor, &n->sdk.patch, &n->api.major, &n->api.minor, &n->api.patch,
                  &n->blob.major, &n->blob.minor, &n->blob.patch, &n->arch, &n->driver,
                  &end) == 12 &&
           text[end] == '\0';
}

static int compare(const Qnn_Version_t *a, const Qnn_Version_t *b) {
    if (a->major != b->major)
        return a->major < b->major ? -1 : 1;
    if (a->minor != b->minor)
        return a->minor < b->minor ? -1 : 1;
    return a->patch == b->patch ? 0 : a->patch < b->patch ? -1 : 1;
}

static qrn_status open_library(qe_backend kind, qc_client **out) {
    char path[PATH_MAX];
    const qc_options options = {.no_context = true};
    qe_library_path(kind, path, sizeof path);
    return qc_open(path, &options, out);
}

// Older is good enough to run, but a new one may be better; newer may hold what is not known.
static OrtCompiledModelCompatibility judge(const needs *n) {
    qc_client *c = NULL;
    Qnn_Version_t sdk = {0};
    qe_backend kind = n->backend == QNN_BACKEND_ID_GPU ? QE_BACKEND_GPU : QE_BACKEND_HTP;
    if (open_library(kind, &c) != QRN_OK)
        return ORT_UNSUPPORTED;
    bool known = read_sdk(c, &sdk);
    int by_sdk = compare(&n->sdk, &sdk), by_api = compare(&n->api, &c->version.backendApiVersion);
    qc_close(c);
    if (!known)
        return ORT_NOT_APPLICABLE;
    if (by_sdk > 0 || by_api > 0 || (n->arch && !qrn_soc_of_arch(n->arch)))
        return ORT_UNSUPPORTED;
    return by_sdk < 0 || by_api < 0 ? ORT_PREFER_RECOMPILATION : ORT_OPTIMAL;
}

OrtStatus *qe_compat_check(OrtEpFactory *f, const OrtHardwareDevice *const *devices, size_t n,
                           const char *info, OrtCompiledModelCompatibility *out) {
    (void)f, (void)devices, (void)n; // the chip is an option of the session, not the device's
    needs want;
    bool ours = read_needs(info, &want) &&
                (want.backend == QNN_BACKEND_ID_HTP || want.backend == QNN_BACKEND_ID_GPU);
    *out = ours ? judge(&want) : ORT_NOT_APPLICABLE;
    return NULL;
}

// --- devices

OrtStatus *qe_device_check(OrtEpFactory *f, const OrtHardwareDevice *device,
                           OrtDeviceEpIncompatibilityDetails *details) {
    static const qe_backend of_type[] = {QE_BACKEND_CPU, QE_BACKEND_GPU, QE_BACKEND_HTP};
    (void)f;
    OrtHardwareDeviceType type = ORT(HardwareDevice_Type)(device);
    qc_client *c = NULL;
    if (type > ORT_NPU)
        return ORT(DeviceEpIncompatibilityDetails_SetDetails)(
            details, ORT_DEVICE_INCOMPATIBLE, 0, "this kind of device has no QNN backend");
    qrn_status s = open_library(of_type[type], &c);
    qc_close(c);
    if (s == QRN_OK)
        return NULL;
    uint32_t reason = s == QRN_E_NOT_FOUND      ? ORT_MISSING_DEPENDENCY
                      : s == QRN_E_INCOMPATIBLE ? ORT_DRIVER_INCOMPATIBLE
                                                : ORT_DEVICE_INCOMPATIBLE;
    return ORT(DeviceEpIncompatibilityDetails_SetDetails)(details, reason, 0, qrn_message());
}
