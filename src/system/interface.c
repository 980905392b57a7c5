// SPDX-License-Identifier: MIT
//
// The function table of the System library. DLC containers are refused: their entries say so, and
// further ones behind the table, for clients whose table is longer, answer "not supported".
//
// State of the library: the provider object, filled by the first call and constant afterwards.
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

static Qnn_ErrorHandle_t no_containers(void) {
    QRN_API_CALL;
    return qrn_api_end(QRN_COMP_SYSTEM_CONTEXT,
                       QRN_FAIL(QRN_E_UNSUPPORTED,
                                "DLC containers are not supported; compile the model to a context "
                                "binary (in ExecuTorch: without online_prepare)"),
                       qrn_system_log());
}

#define MORE_4 not_supported, not_supported, not_supported, not_supported
#define MORE_16 MORE_4, MORE_4, MORE_4, MORE_4
// The calling conventions that Quern runs on let a function ignore what it is given.
#define REFUSED(slot, type) .slot = (type)(void (*)(void))no_containers

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
            REFUSED(systemDlcCreateFromFile, QnnSystemDlc_createFromFileFn_t),
            REFUSED(systemDlcCreateFromBinary, QnnSystemDlc_createFromBinaryFn_t),
            REFUSED(systemDlcComposeGraphs, QnnSystemDlc_composeGraphsFn_t),
            REFUSED(systemDlcGetOpMappings, QnnSystemDlc_getOpMappingsFn_t),
            REFUSED(systemDlcFree, QnnSystemDlc_freeFn_t),
            .systemProfileCreateSerializationTarget = QnnSystemProfile_createSerializationTarget,
            .systemProfileSerializeEventData = QnnSystemProfile_serializeEventData,
            .systemProfileFreeSerializationTarget = QnnSystemProfile_freeSerializationTarget,
            REFUSED(systemDlcGetRecordByName, QnnSystemDlc_getRecordByNameFn_t),
            REFUSED(systemDlcGetRecordsByType, QnnSystemDlc_getRecordsByTypeFn_t),
            REFUSED(systemDlcGetRecordDataSize, QnnSystemDlc_getRecordDataSizeFn_t),
            REFUSED(systemDlcReadRecordDataMemoryMapped,
                    QnnSystemDlc_readRecordDataMemoryMappedFn_t),
            REFUSED(systemDlcFreeRecord, QnnSystemDlc_freeRecordFn_t),
            REFUSED(systemDlcSave, QnnSystemDlc_saveFn_t),
            REFUSED(systemDlcCreateFromFileWithDestinationDir,
                    QnnSystemDlc_createFromFileWithDestinationDirFn_t),
            REFUSED(systemDlcCreateFromBinaryWithDestinationDir,
                    QnnSystemDlc_createFromBinaryWithDestinationDirFn_t),
            REFUSED(systemDlcGetBinarySize, QnnSystemDlc_getBinarySizeFn_t),
            REFUSED(systemDlcGetBinary, QnnSystemDlc_getBinaryFn_t),
            REFUSED(systemDlcCreateWithDestinationDir, QnnSystemDlc_createWithDestinationDirFn_t),
            REFUSED(systemDlcGetComposableGraphInfoHandles,
                    QnnSystemDlc_getComposableGraphInfoHandlesFn_t),
            REFUSED(systemDlcGetContextBinaryInfoHandles,
                    QnnSystemDlc_getContextBinaryInfoHandlesFn_t),
            REFUSED(systemDlcGetComposableGraphInfo, QnnSystemDlc_getComposableGraphInfoFn_t),
            REFUSED(systemDlcGetContextBinaryInfo, QnnSystemDlc_getContextBinaryInfoFn_t),
            REFUSED(systemDlcGetComposableGraphInfoGraphName,
                    QnnSystemDlc_getComposableGraphInfoGraphNameFn_t),
            REFUSED(systemDlcGetComposableGraphInfoNumInputTensors,
                    QnnSystemDlc_getComposableGraphInfoNumInputTensorsFn_t),
            REFUSED(systemDlcGetComposableGraphInfoNumOutputTensors,
                    QnnSystemDlc_getComposableGraphInfoNumOutputTensorsFn_t),
            REFUSED(systemDlcGetGraphInfoInputTensorInfo,
                    QnnSystemDlc_getGraphInfoInputTensorInfoFn_t),
            REFUSED(systemDlcGetGraphInfoOutputTensorInfo,
                    QnnSystemDlc_getGraphInfoOutputTensorInfoFn_t),
            REFUSED(systemDlcGetTensorInfoName, QnnSystemDlc_getTensorInfoNameFn_t),
            REFUSED(systemDlcGetTensorInfoId, QnnSystemDlc_getTensorInfoIdFn_t),
            REFUSED(systemDlcGetTensorInfoType, QnnSystemDlc_getTensorInfoTypeFn_t),
            REFUSED(systemDlcGetTensorInfoDataFormat, QnnSystemDlc_getTensorInfoDataFormatFn_t),
            REFUSED(systemDlcGetTensorInfoDataType, QnnSystemDlc_getTensorInfoDataTypeFn_t),
            REFUSED(systemDlcGetTensorInfoRank, QnnSystemDlc_getTensorInfoRankFn_t),
            REFUSED(systemDlcGetTensorInfoDimensions, QnnSystemDlc_getTensorInfoDimensionsFn_t),
            REFUSED(systemDlcGetTensorInfoQuantParams, QnnSystemDlc_getTensorInfoQuantParamsFn_t),
            REFUSED(systemDlcGetQuantParamsEncodingDefinition,
                    QnnSystemDlc_getQuantParamsEncodingDefinitionFn_t),
            REFUSED(systemDlcGetQuantParamsEncoding, QnnSystemDlc_getQuantParamsEncodingFn_t),
            REFUSED(systemDlcGetQuantParamsScaleOffsetScale,
                    QnnSystemDlc_getQuantParamsScaleOffsetScaleFn_t),
            REFUSED(systemDlcGetQuantParamsScaleOffsetOffset,
                    QnnSystemDlc_getQuantParamsScaleOffsetOffsetFn_t),
            REFUSED(systemDlcGetQuantParamsBwScaleOffsetBitwidth,
                    QnnSystemDlc_getQuantParamsBwScaleOffsetBitwidthFn_t),
            REFUSED(systemDlcGetQuantParamsBwScaleOffsetScale,
                    QnnSystemDlc_getQuantParamsBwScaleOffsetScaleFn_t),
            REFUSED(systemDlcGetQuantParamsBwScaleOffsetOffset,
                    QnnSystemDlc_getQuantParamsBwScaleOffsetOffsetFn_t),
            REFUSED(systemDlcGetQuantParamsAxisScaleOffsetAxis,
                    QnnSystemDlc_getQuantParamsAxisScaleOffsetAxisFn_t),
            REFUSED(systemDlcGetQuantParamsAxisScaleOffsetNumScaleOffsets,
                    QnnSystemDlc_getQuantParamsAxisScaleOffsetNumScaleOffsetsFn_t),
            REFUSED(systemDlcGetQuantParamsAxisScaleOffsetScaleAtIndex,
                    QnnSystemDlc_getQuantParamsAxisScaleOffsetScaleAtIndexFn_t),
            REFUSED(systemDlcGetQuantParamsAxisScaleOffsetOffsetAtIndex,
                    QnnSystemDlc_getQuantParamsAxisScaleOffsetOffsetAtIndexFn_t),
            REFUSED(systemDlcGetQuantParamsBwAxisScaleOffsetBitwidth,
                    QnnSystemDlc_getQuantParamsBwAxisScaleOffsetBitwidthFn_t),
            REFUSED(systemDlcGetQuantParamsBwAxisScaleOffsetAxis,
                    QnnSystemDlc_getQuantParamsBwAxisScaleOffsetAxisFn_t),
            REFUSED(systemDlcGetQuantParamsBwAxisScaleOffsetNumElements,
                    QnnSystemDlc_getQuantParamsBwAxisScaleOffsetNumElementsFn_t),
            REFUSED(systemDlcGetQuantParamsBwAxisScaleOffsetScaleAtIndex,
                    QnnSystemDlc_getQuantParamsBwAxisScaleOffsetScaleAtIndexFn_t),
            REFUSED(systemDlcGetQuantParamsBwAxisScaleOffsetOffsetAtIndex,
                    QnnSystemDlc_getQuantParamsBwAxisScaleOffsetOffsetAtIndexFn_t),
            REFUSED(systemDlcGetContextBinaryInfoBackendId,
                    QnnSystemDlc_getContextBinaryInfoBackendIdFn_t),
            REFUSED(systemDlcGetContextBinaryInfoBuildId,
                    QnnSystemDlc_getContextBinaryInfoBuildIdFn_t),
            REFUSED(systemDlcGetContextBinaryInfoCoreApiVersion,
                    QnnSystemDlc_getContextBinaryInfoCoreApiVersionFn_t),
            REFUSED(systemDlcGetContextBinaryInfoBackendApiVersion,
                    QnnSystemDlc_getContextBinaryInfoBackendApiVersionFn_t),
            REFUSED(systemDlcGetContextBinaryInfoSocVersion,
                    QnnSystemDlc_getContextBinaryInfoSocVersionFn_t),
            REFUSED(systemDlcGetContextBinaryInfoHwInfoBlobVersion,
                    QnnSystemDlc_getContextBinaryInfoHwInfoBlobVersionFn_t),
            REFUSED(systemDlcGetContextBinaryInfoContextBlobVersion,
                    QnnSystemDlc_getContextBinaryInfoContextBlobVersionFn_t),
            REFUSED(systemDlcGetContextBinaryInfoHwInfoBlobSize,
                    QnnSystemDlc_getContextBinaryInfoHwInfoBlobSizeFn_t),
            REFUSED(systemDlcGetContextBinaryInfoHwInfoBlob,
                    QnnSystemDlc_getContextBinaryInfoHwInfoBlobFn_t),
            REFUSED(systemDlcGetContextBinaryInfoContextBlobSize,
                    QnnSystemDlc_getContextBinaryInfoContextBlobSizeFn_t),
            REFUSED(systemDlcGetContextBinaryInfoNumContextTensors,
                    QnnSystemDlc_getContextBinaryInfoNumContextTensorsFn_t),
            REFUSED(systemDlcGetContextBinaryInfoContextTensorInfo,
                    QnnSystemDlc_getContextBinaryInfoContextTensorInfoFn_t),
            REFUSED(systemDlcGetContextBinaryInfoNumGraphs,
                    QnnSystemDlc_getContextBinaryInfoNumGraphsFn_t),
            REFUSED(systemDlcGetContextGraphInfoHandle, QnnSystemDlc_getContextGraphInfoHandleFn_t),
            REFUSED(systemDlcGetContextBinaryInfoSocModel,
                    QnnSystemDlc_getContextBinaryInfoSocModelFn_t),
            REFUSED(systemDlcGetContextBinaryInfoContextMetadataSize,
                    QnnSystemDlc_getContextBinaryInfoContextMetadataSizeFn_t),
            REFUSED(systemDlcGetContextBinaryInfoContextMetadata,
                    QnnSystemDlc_getContextBinaryInfoContextMetadataFn_t),
            REFUSED(systemDlcGetContextGraphInfoGraphName,
                    QnnSystemDlc_getContextGraphInfoGraphNameFn_t),
            REFUSED(systemDlcGetContextGraphInfoNumInputTensors,
                    QnnSystemDlc_getContextGraphInfoNumInputTensorsFn_t),
            REFUSED(systemDlcGetContextGraphInfoNumOutputTensors,
                    QnnSystemDlc_getContextGraphInfoNumOutputTensorsFn_t),
            REFUSED(systemDlcGetContextGraphInfoNumUpdateableTensors,
                    QnnSystemDlc_getContextGraphInfoNumUpdateableTensorsFn_t),
            REFUSED(systemDlcGetContextGraphInfoGraphBlobInfoSize,
                    QnnSystemDlc_getContextGraphInfoGraphBlobInfoSizeFn_t),
            REFUSED(systemDlcGetContextGraphInfoGraphBlobInfo,
                    QnnSystemDlc_getContextGraphInfoGraphBlobInfoFn_t),
            REFUSED(systemDlcGetContextGraphInfoStartOpIndex,
                    QnnSystemDlc_getContextGraphInfoStartOpIndexFn_t),
            REFUSED(systemDlcGetContextGraphInfoEndOpIndex,
                    QnnSystemDlc_getContextGraphInfoEndOpIndexFn_t),
            REFUSED(systemDlcGetContextGraphInfoInputTensorInfo,
                    QnnSystemDlc_getContextGraphInfoInputTensorInfoFn_t),
            REFUSED(systemDlcGetContextGraphInfoOutputTensorInfo,
                    QnnSystemDlc_getContextGraphInfoOutputTensorInfoFn_t),
            REFUSED(systemDlcGetContextGraphInfoUpdateableTensorInfo,
                    QnnSystemDlc_getContextGraphInfoUpdateableTensorInfoFn_t),
            REFUSED(systemDlcFreeRecordRange, QnnSystemDlc_freeRecordRangeFn_t),
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
