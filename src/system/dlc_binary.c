// SPDX-License-Identifier: MIT
//
// Context binaries in a DLC file, one question a function: described as QnnSystemContext describes
// a binary of its own.
#include "system/dlc_ask.h"

static bool holds_binary(const qrn_dlc_record *r) {
    return (r->type == QRN_DLC_TYPE_HTP_CACHE || r->type == QRN_DLC_TYPE_GPU_CACHE) &&
           qrn_bin_is_ours(r->data, r->size_bytes);
}

static qrn_status describe_binary(const qrn_dlc_record *r, qrn_arena *a,
                                  QnnSystemContext_BinaryInfo_t **out) {
    qrn_bin *b = NULL;
    QRN_TRY(qrn_bin_open(r->data, r->size_bytes, false, &b));
    qrn_status s = qrn_system_describe(b, r->size_bytes, a, out);
    qrn_bin_close(b);
    return s;
}

static qrn_status describe_binaries(qrn_system_dlc *d) {
    uint32_t n = 0, total = d->dlc ? d->dlc->n_records : 0;
    QnnSystemContext_BinaryInfo_t **list =
        qrn_arena_alloc(d->arena, ((size_t)total + 1) * sizeof *list);
    if (!list)
        return QRN_FAIL(QRN_E_MEM, "out of memory for context binaries");
    for (uint32_t i = 0; i < total; i++)
        if (holds_binary(&d->dlc->records[i]))
            QRN_TRY(describe_binary(&d->dlc->records[i], d->arena, &list[n++]));
    d->binaries = list;
    d->n_binaries = n;
    return QRN_OK;
}

static qrn_status list_binaries(qrn_system_dlc *d, void ***out) {
    if (!d->binaries)
        QRN_TRY(describe_binaries(d));
    void **list = qrn_arena_alloc(d->arena, ((size_t)d->n_binaries + 1) * sizeof *list);
    if (!list)
        return QRN_FAIL(QRN_E_MEM, "out of memory for handles");
    for (uint32_t i = 0; i < d->n_binaries; i++) {
        qrn_part *p = qrn_dlc_part(d, QRN_PART_BINARY, d->binaries[i]);
        if (!p)
            return QRN_FAIL(QRN_E_MEM, "out of memory for handles");
        list[i] = p->handle;
    }
    *out = list;
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnSystemDlc_getContextBinaryInfoHandles(
    QnnSystemDlc_Handle_t dlcHandle,
    QnnSystemDlc_ContextBinaryInfoHandle_t **contextBinaryInfoHandles,
    uint32_t *numContextBinaryInfoHandles) {
    QRN_API_CALL;
    qrn_system_dlc *d = qrn_pin(QRN_KIND_DLC, dlcHandle);
    void **list = NULL;
    if (!d)
        return qrn_dlc_end(QRN_FAIL(QRN_E_HANDLE, "getContextBinaryInfoHandles: not a DLC"));
    if (!contextBinaryInfoHandles || !numContextBinaryInfoHandles)
        return qrn_dlc_end(
            QRN_FAIL(QRN_E_ARGUMENT, "getContextBinaryInfoHandles: no place for the handles"));
    pthread_mutex_lock(&d->lock);
    qrn_status s = list_binaries(d, &list);
    pthread_mutex_unlock(&d->lock);
    if (s == QRN_OK) {
        *contextBinaryInfoHandles = list;
        *numContextBinaryInfoHandles = d->n_binaries;
    }
    return qrn_dlc_end(s);
}

// --- Binaries: the descriptions have the third version, which has no blob of the hardware.

#define BINARY(name, place_type, ...)                                                              \
    QRN_DLC_GETTER(name, QRN_PART_BINARY, QnnSystemContext_BinaryInfo_t, place_type, __VA_ARGS__)
#define V3 (it->contextBinaryInfoV3)

BINARY(getContextBinaryInfo, const QnnSystemContext_BinaryInfo_t **, *place = it)
BINARY(getContextBinaryInfoBackendId, uint32_t *, *place = V3.backendId)
BINARY(getContextBinaryInfoBuildId, const char **, *place = V3.buildId)
BINARY(getContextBinaryInfoSocVersion, const char **, *place = V3.socVersion)
BINARY(getContextBinaryInfoHwInfoBlobSize, uint32_t *, (void)it; *place = 0)
BINARY(getContextBinaryInfoHwInfoBlob, void **, (void)it; *place = NULL)
BINARY(getContextBinaryInfoContextBlobSize, uint64_t *, *place = V3.contextBlobSize)
BINARY(getContextBinaryInfoNumContextTensors, uint32_t *, *place = V3.numContextTensors)
BINARY(getContextBinaryInfoNumGraphs, uint32_t *, *place = V3.numGraphs)
BINARY(getContextBinaryInfoSocModel, uint32_t *, *place = V3.socModel)
BINARY(getContextBinaryInfoContextMetadataSize, uint32_t *,
       *place = (uint32_t)V3.contextMetadataSize)
BINARY(getContextBinaryInfoContextMetadata, void **, *place = V3.contextMetadata)
QRN_DLC_GETTER_AT(getContextBinaryInfoContextTensorInfo, QRN_PART_BINARY,
                  QnnSystemContext_BinaryInfo_t, V3.numContextTensors,
                  QnnSystemDlc_TensorInfoHandle_t *,
                  s = qrn_dlc_answer_part(part, QRN_PART_TENSOR, &V3.contextTensors[index], place))
QRN_DLC_GETTER_AT(getContextGraphInfoHandle, QRN_PART_BINARY, QnnSystemContext_BinaryInfo_t,
                  V3.numGraphs, QnnSystemDlc_ContextGraphInfoHandle_t *,
                  s = qrn_dlc_answer_part(part, QRN_PART_BINARY_GRAPH, &V3.graphs[index], place))

// Versions have three places.
#define VERSION(name, member)                                                                      \
    Qnn_ErrorHandle_t QnnSystemDlc_##name(QnnSystemDlc_ContextBinaryInfoHandle_t handle,           \
                                          uint32_t *major, uint32_t *minor, uint32_t *patch) {     \
        QRN_API_CALL;                                                                              \
        qrn_part *part = NULL;                                                                     \
        qrn_status s =                                                                             \
            qrn_dlc_ask(#name, QRN_PART_BINARY, handle, major && minor ? patch : NULL, &part);     \
        if (s == QRN_OK) {                                                                         \
            const QnnSystemContext_BinaryInfo_t *it = part->what;                                  \
            *major = (member).major;                                                               \
            *minor = (member).minor;                                                               \
            *patch = (member).patch;                                                               \
        }                                                                                          \
        return qrn_dlc_end(s);                                                                     \
    }

VERSION(getContextBinaryInfoCoreApiVersion, V3.coreApiVersion)
VERSION(getContextBinaryInfoBackendApiVersion, V3.backendApiVersion)
VERSION(getContextBinaryInfoHwInfoBlobVersion, ((void)it, (Qnn_Version_t)QNN_VERSION_INIT))
VERSION(getContextBinaryInfoContextBlobVersion, V3.contextBlobVersion)
#undef V3

// --- Their graphs

#define GRAPH(name, place_type, ...)                                                               \
    QRN_DLC_GETTER(name, QRN_PART_BINARY_GRAPH, QnnSystemContext_GraphInfo_t, place_type,          \
                   __VA_ARGS__)
#define GRAPH_AT(name, count, list)                                                                \
    QRN_DLC_GETTER_AT(name, QRN_PART_BINARY_GRAPH, QnnSystemContext_GraphInfo_t, V3.count,         \
                      QnnSystemDlc_TensorInfoHandle_t *,                                           \
                      s = qrn_dlc_answer_part(part, QRN_PART_TENSOR, &V3.list[index], place))
#define V3 (it->graphInfoV3)

GRAPH(getContextGraphInfoGraphName, const char **, *place = V3.graphName)
GRAPH(getContextGraphInfoNumInputTensors, uint32_t *, *place = V3.numGraphInputs)
GRAPH(getContextGraphInfoNumOutputTensors, uint32_t *, *place = V3.numGraphOutputs)
GRAPH(getContextGraphInfoNumUpdateableTensors, uint32_t *, *place = V3.numUpdateableTensors)
GRAPH(getContextGraphInfoGraphBlobInfoSize, uint32_t *, *place = V3.graphBlobInfoSize)
GRAPH(getContextGraphInfoGraphBlobInfo, void **, *place = V3.graphBlobInfo)
GRAPH(getContextGraphInfoStartOpIndex, uint32_t *, *place = V3.startOpIndex)
GRAPH(getContextGraphInfoEndOpIndex, uint32_t *, *place = V3.endOpIndex)
GRAPH_AT(getContextGraphInfoInputTensorInfo, numGraphInputs, graphInputs)
GRAPH_AT(getContextGraphInfoOutputTensorInfo, numGraphOutputs, graphOutputs)
GRAPH_AT(getContextGraphInfoUpdateableTensorInfo, numUpdateableTensors, updateableTensors)
