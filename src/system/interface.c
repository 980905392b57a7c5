// SPDX-License-Identifier: MIT
//
// The function table of the System library. Further entries behind the table, for clients whose
// table is longer, answer "not supported".
//
// State of the library: the provider object, filled by the first call and constant afterwards.
#include "system/dlc.h"
#include "system/system.h"

#include "base/env.h"
#include "core/backend.h"
#include "core/version.h"

#define N_MORE 64 // entries behind the table

typedef Qnn_ErrorHandle_t (*more_fn)(void);

// What the core asks of a library: here only its name.
const qrn_backend qrn_this_backend = {.provider_name = QNN_SYSTEM_INTERFACE_PROVIDER_NAME};

static Qnn_ErrorHandle_t not_supported(void) {
    QRN_API_CALL;
    return qrn_api_end(QRN_COMP_SYSTEM_CONTEXT,
                       QRN_FAIL(QRN_E_UNSUPPORTED,
                                "functions newer than System API %d.%d are not supported",
                                QNN_SYSTEM_API_VERSION_MAJOR, QNN_SYSTEM_API_VERSION_MINOR),
                       qrn_system_log());
}

#define MORE_4 not_supported, not_supported, not_supported, not_supported
#define MORE_16 MORE_4, MORE_4, MORE_4, MORE_4
#if defined(__x86_64__)
// The same calling convention, with the length of the struct by value left open.
#define COMPOSE_GRAPHS (QnnSystemDlc_composeGraphsFn_t)(void (*)(void)) qrn_dlc_compose_any
#else
#define COMPOSE_GRAPHS QnnSystemDlc_composeGraphs
#endif

// clang-format off
static struct {
    QnnSystemInterface_t interface;
    more_fn more[N_MORE];
} provider = {
    .interface = {
        .providerName = QNN_SYSTEM_INTERFACE_PROVIDER_NAME,
        .QNN_SYSTEM_INTERFACE_VER_NAME = {
            .systemContextCreate = QnnSystemContext_create,
            .systemContextGetBinaryInfo = QnnSystemContext_getBinaryInfo,
            .systemContextGetMetaData = QnnSystemContext_getMetadata,
            .systemContextFree = QnnSystemContext_free,
            .systemTensorGetMemoryFootprint = QnnSystemTensor_getMemoryFootprint,
            .systemLogCreate = QnnSystemLog_create,
            .systemLogSetLogLevel = QnnSystemLog_setLogLevel,
            .systemLogFree = QnnSystemLog_free,
            .systemDlcCreateFromFile = QnnSystemDlc_createFromFile,
            .systemDlcCreateFromBinary = QnnSystemDlc_createFromBinary,
            .systemDlcComposeGraphs = COMPOSE_GRAPHS,
            .systemDlcGetOpMappings = QnnSystemDlc_getOpMappings,
            .systemDlcFree = QnnSystemDlc_free,
            .systemProfileCreateSerializationTarget = QnnSystemProfile_createSerializationTarget,
            .systemProfileSerializeEventData = QnnSystemProfile_serializeEventData,
            .systemProfileFreeSerializationTarget = QnnSystemProfile_freeSerializationTarget,
            .systemDlcGetRecordByName = QnnSystemDlc_getRecordByName,
            .systemDlcGetRecordsByType = QnnSystemDlc_getRecordsByType,
            .systemDlcGetRecordDataSize = QnnSystemDlc_getRecordDataSize,
            .systemDlcReadRecordDataMemoryMapped = QnnSystemDlc_readRecordDataMemoryMapped,
            .systemDlcFreeRecord = QnnSystemDlc_freeRecord,
            .systemDlcSave = QnnSystemDlc_save,
            .systemDlcCreateFromFileWithDestinationDir =
                QnnSystemDlc_createFromFileWithDestinationDir,
            .systemDlcCreateFromBinaryWithDestinationDir =
                QnnSystemDlc_createFromBinaryWithDestinationDir,
            .systemDlcGetBinarySize = QnnSystemDlc_getBinarySize,
            .systemDlcGetBinary = QnnSystemDlc_getBinary,
            .systemDlcCreateWithDestinationDir = QnnSystemDlc_createWithDestinationDir,
            .systemDlcGetComposableGraphInfoHandles = QnnSystemDlc_getComposableGraphInfoHandles,
            .systemDlcGetContextBinaryInfoHandles = QnnSystemDlc_getContextBinaryInfoHandles,
            .systemDlcGetComposableGraphInfo = QnnSystemDlc_getComposableGraphInfo,
            .systemDlcGetContextBinaryInfo = QnnSystemDlc_getContextBinaryInfo,
            .systemDlcGetComposableGraphInfoGraphName =
                QnnSystemDlc_getComposableGraphInfoGraphName,
            .systemDlcGetComposableGraphInfoNumInputTensors =
                QnnSystemDlc_getComposableGraphInfoNumInputTensors,
            .systemDlcGetComposableGraphInfoNumOutputTensors =
                QnnSystemDlc_getComposableGraphInfoNumOutputTensors,
            .systemDlcGetGraphInfoInputTensorInfo = QnnSystemDlc_getGraphInfoInputTensorInfo,
            .systemDlcGetGraphInfoOutputTensorInfo = QnnSystemDlc_getGraphInfoOutputTensorInfo,
            .systemDlcGetTensorInfoName = QnnSystemDlc_getTensorInfoName,
            .systemDlcGetTensorInfoId = QnnSystemDlc_getTensorInfoId,
            .systemDlcGetTensorInfoType = QnnSystemDlc_getTensorInfoType,
            .systemDlcGetTensorInfoDataFormat = QnnSystemDlc_getTensorInfoDataFormat,
            .systemDlcGetTensorInfoDataType = QnnSystemDlc_getTensorInfoDataType,
            .systemDlcGetTensorInfoRank = QnnSystemDlc_getTensorInfoRank,
            .systemDlcGetTensorInfoDimensions = QnnSystemDlc_getTensorInfoDimensions,
            .systemDlcGetTensorInfoQuantParams = QnnSystemDlc_getTensorInfoQuantParams,
            .systemDlcGetQuantParamsEncodingDefinition =
                QnnSystemDlc_getQuantParamsEncodingDefinition,
            .systemDlcGetQuantParamsEncoding = QnnSystemDlc_getQuantParamsEncoding,
            .systemDlcGetQuantParamsScaleOffsetScale = QnnSystemDlc_getQuantParamsScaleOffsetScale,
            .systemDlcGetQuantParamsScaleOffsetOffset =
                QnnSystemDlc_getQuantParamsScaleOffsetOffset,
            .systemDlcGetQuantParamsBwScaleOffsetBitwidth =
                QnnSystemDlc_getQuantParamsBwScaleOffsetBitwidth,
            .systemDlcGetQuantParamsBwScaleOffsetScale =
                QnnSystemDlc_getQuantParamsBwScaleOffsetScale,
            .systemDlcGetQuantParamsBwScaleOffsetOffset =
                QnnSystemDlc_getQuantParamsBwScaleOffsetOffset,
            .systemDlcGetQuantParamsAxisScaleOffsetAxis =
                QnnSystemDlc_getQuantParamsAxisScaleOffsetAxis,
            .systemDlcGetQuantParamsAxisScaleOffsetNumScaleOffsets =
                QnnSystemDlc_getQuantParamsAxisScaleOffsetNumScaleOffsets,
            .systemDlcGetQuantParamsAxisScaleOffsetScaleAtIndex =
                QnnSystemDlc_getQuantParamsAxisScaleOffsetScaleAtIndex,
            .systemDlcGetQuantParamsAxisScaleOffsetOffsetAtIndex =
                QnnSystemDlc_getQuantParamsAxisScaleOffsetOffsetAtIndex,
            .systemDlcGetQuantParamsBwAxisScaleOffsetBitwidth =
                QnnSystemDlc_getQuantParamsBwAxisScaleOffsetBitwidth,
            .systemDlcGetQuantParamsBwAxisScaleOffsetAxis =
                QnnSystemDlc_getQuantParamsBwAxisScaleOffsetAxis,
            .systemDlcGetQuantParamsBwAxisScaleOffsetNumElements =
                QnnSystemDlc_getQuantParamsBwAxisScaleOffsetNumElements,
            .systemDlcGetQuantParamsBwAxisScaleOffsetScaleAtIndex =
                QnnSystemDlc_getQuantParamsBwAxisScaleOffsetScaleAtIndex,
            .systemDlcGetQuantParamsBwAxisScaleOffsetOffsetAtIndex =
                QnnSystemDlc_getQuantParamsBwAxisScaleOffsetOffsetAtIndex,
            .systemDlcGetContextBinaryInfoBackendId = QnnSystemDlc_getContextBinaryInfoBackendId,
            .systemDlcGetContextBinaryInfoBuildId = QnnSystemDlc_getContextBinaryInfoBuildId,
            .systemDlcGetContextBinaryInfoCoreApiVersion =
                QnnSystemDlc_getContextBinaryInfoCoreApiVersion,
            .systemDlcGetContextBinaryInfoBackendApiVersion =
                QnnSystemDlc_getContextBinaryInfoBackendApiVersion,
            .systemDlcGetContextBinaryInfoSocVersion = QnnSystemDlc_getContextBinaryInfoSocVersion,
            .systemDlcGetContextBinaryInfoHwInfoBlobVersion =
                QnnSystemDlc_getContextBinaryInfoHwInfoBlobVersion,
            .systemDlcGetContextBinaryInfoContextBlobVersion =
                QnnSystemDlc_getContextBinaryInfoContextBlobVersion,
            .systemDlcGetContextBinaryInfoHwInfoBlobSize =
                QnnSystemDlc_getContextBinaryInfoHwInfoBlobSize,
            .systemDlcGetContextBinaryInfoHwInfoBlob = QnnSystemDlc_getContextBinaryInfoHwInfoBlob,
            .systemDlcGetContextBinaryInfoContextBlobSize =
                QnnSystemDlc_getContextBinaryInfoContextBlobSize,
            .systemDlcGetContextBinaryInfoNumContextTensors =
                QnnSystemDlc_getContextBinaryInfoNumContextTensors,
            .systemDlcGetContextBinaryInfoContextTensorInfo =
                QnnSystemDlc_getContextBinaryInfoContextTensorInfo,
            .systemDlcGetContextBinaryInfoNumGraphs = QnnSystemDlc_getContextBinaryInfoNumGraphs,
            .systemDlcGetContextGraphInfoHandle = QnnSystemDlc_getContextGraphInfoHandle,
            .systemDlcGetContextBinaryInfoSocModel = QnnSystemDlc_getContextBinaryInfoSocModel,
            .systemDlcGetContextBinaryInfoContextMetadataSize =
                QnnSystemDlc_getContextBinaryInfoContextMetadataSize,
            .systemDlcGetContextBinaryInfoContextMetadata =
                QnnSystemDlc_getContextBinaryInfoContextMetadata,
            .systemDlcGetContextGraphInfoGraphName = QnnSystemDlc_getContextGraphInfoGraphName,
            .systemDlcGetContextGraphInfoNumInputTensors =
                QnnSystemDlc_getContextGraphInfoNumInputTensors,
            .systemDlcGetContextGraphInfoNumOutputTensors =
                QnnSystemDlc_getContextGraphInfoNumOutputTensors,
            .systemDlcGetContextGraphInfoNumUpdateableTensors =
                QnnSystemDlc_getContextGraphInfoNumUpdateableTensors,
            .systemDlcGetContextGraphInfoGraphBlobInfoSize =
                QnnSystemDlc_getContextGraphInfoGraphBlobInfoSize,
            .systemDlcGetContextGraphInfoGraphBlobInfo =
                QnnSystemDlc_getContextGraphInfoGraphBlobInfo,
            .systemDlcGetContextGraphInfoStartOpIndex =
                QnnSystemDlc_getContextGraphInfoStartOpIndex,
            .systemDlcGetContextGraphInfoEndOpIndex = QnnSystemDlc_getContextGraphInfoEndOpIndex,
            .systemDlcGetContextGraphInfoInputTensorInfo =
                QnnSystemDlc_getContextGraphInfoInputTensorInfo,
            .systemDlcGetContextGraphInfoOutputTensorInfo =
                QnnSystemDlc_getContextGraphInfoOutputTensorInfo,
            .systemDlcGetContextGraphInfoUpdateableTensorInfo =
                QnnSystemDlc_getContextGraphInfoUpdateableTensorInfo,
            .systemDlcFreeRecordRange = QnnSystemDlc_freeRecordRange,
        },
    },
    .more = {MORE_16, MORE_16, MORE_16, MORE_16},
};
// clang-format on

_Static_assert(offsetof(QnnSystemInterface_t, QNN_SYSTEM_INTERFACE_VER_NAME) == 32 &&
                   sizeof(QnnSystemInterface_t) == 32 + 89 * sizeof(more_fn),
               "the further entries must lie right behind the table");

static const QnnSystemInterface_t *const providers[1] = {&provider.interface};
static pthread_once_t once = PTHREAD_ONCE_INIT;

// The version that goes with the core version that QUERN_API_VERSION asks for.
static uint32_t minor_for(uint32_t core_minor) {
    static const struct {
        uint32_t core, system;
    } pairs[] = {{40, 15}, {39, 14}, {37, 12}, {32, 7}, {27, 4}, {23, 2}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (core_minor >= pairs[i].core)
            return pairs[i].system;
    return 1;
}

static void fill(void) {
    Qnn_Version_t core = {0};
    // Checked by the caller; a version that cannot be served never leaves the library.
    qrn_version_parse(qrn_env_get(QRN_ENV_API_VERSION), &core);
    provider.interface.systemApiVersion = (Qnn_Version_t){1, minor_for(core.minor), 0};
}

static qrn_status get_providers(const QnnSystemInterface_t ***list, uint32_t *n) {
    Qnn_Version_t core;
    if (!list || !n)
        return QRN_FAIL(QRN_E_ARGUMENT, "providers: no place to write to");
    QRN_TRY(qrn_version_parse(qrn_env_get(QRN_ENV_API_VERSION), &core));
    pthread_once(&once, fill);
    *list = (const QnnSystemInterface_t **)providers;
    *n = 1;
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnSystemInterface_getProviders(const QnnSystemInterface_t ***providerList,
                                                  uint32_t *numProviders) {
    return qrn_api_end(QRN_COMP_COMMON, get_providers(providerList, numProviders), NULL);
}
