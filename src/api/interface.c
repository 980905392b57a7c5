// SPDX-License-Identifier: MIT
//
// The function table. Versions are announced higher than the headers say, because clients want at
// least the version they were built with; behind the table lie further entries that answer "not
// supported", for clients whose table is longer than ours.
//
// State of the library: the provider object, filled by the first call and constant afterwards.
#include "api/interface.h"

#include "api/errors.h"
#include "base/env.h"

#include <stdio.h>

#define CORE_MAJOR 2
#define CORE_MINOR 40
#define CORE_MINOR_OLDEST 14 // structs had other sizes before
#define N_MORE 64            // entries behind the table

typedef Qnn_ErrorHandle_t (*more_fn)(void);

static Qnn_ErrorHandle_t not_supported(void) {
    return qrn_api_end(QRN_COMP_COMMON,
                       QRN_FAIL(QRN_E_UNSUPPORTED, "call of a function newer than API %d.%d",
                                QNN_API_VERSION_MAJOR, QNN_API_VERSION_MINOR),
                       NULL);
}

#define MORE_4 not_supported, not_supported, not_supported, not_supported
#define MORE_16 MORE_4, MORE_4, MORE_4, MORE_4

// clang-format off
static struct {
    QnnInterface_t interface;
    more_fn more[N_MORE];
} provider = {
    .interface = {
        .QNN_INTERFACE_VER_NAME = {
            .propertyHasCapability = QnnProperty_hasCapability,
            .backendCreate = QnnBackend_create,
            .backendSetConfig = QnnBackend_setConfig,
            .backendGetApiVersion = QnnBackend_getApiVersion,
            .backendGetBuildId = QnnBackend_getBuildId,
            .backendRegisterOpPackage = QnnBackend_registerOpPackage,
            .backendGetSupportedOperations = QnnBackend_getSupportedOperations,
            .backendValidateOpConfig = QnnBackend_validateOpConfig,
            .backendFree = QnnBackend_free,
            .contextCreate = QnnContext_create,
            .contextSetConfig = QnnContext_setConfig,
            .contextGetBinarySize = QnnContext_getBinarySize,
            .contextGetBinary = QnnContext_getBinary,
            .contextCreateFromBinary = QnnContext_createFromBinary,
            .contextFree = QnnContext_free,
            .graphCreate = QnnGraph_create,
            .graphCreateSubgraph = QnnGraph_createSubgraph,
            .graphSetConfig = QnnGraph_setConfig,
            .graphAddNode = QnnGraph_addNode,
            .graphFinalize = QnnGraph_finalize,
            .graphRetrieve = QnnGraph_retrieve,
            .graphExecute = QnnGraph_execute,
            .graphExecuteAsync = QnnGraph_executeAsync,
            .tensorCreateContextTensor = QnnTensor_createContextTensor,
            .tensorCreateGraphTensor = QnnTensor_createGraphTensor,
            .logCreate = QnnLog_create,
            .logSetLogLevel = QnnLog_setLogLevel,
            .logFree = QnnLog_free,
            .profileCreate = QnnProfile_create,
            .profileSetConfig = QnnProfile_setConfig,
            .profileGetEvents = QnnProfile_getEvents,
            .profileGetSubEvents = QnnProfile_getSubEvents,
            .profileGetEventData = QnnProfile_getEventData,
            .profileGetExtendedEventData = QnnProfile_getExtendedEventData,
            .profileFree = QnnProfile_free,
            .memRegister = QnnMem_register,
            .memDeRegister = QnnMem_deRegister,
            .deviceGetPlatformInfo = QnnDevice_getPlatformInfo,
            .deviceFreePlatformInfo = QnnDevice_freePlatformInfo,
            .deviceGetInfrastructure = QnnDevice_getInfrastructure,
            .deviceCreate = QnnDevice_create,
            .deviceSetConfig = QnnDevice_setConfig,
            .deviceGetInfo = QnnDevice_getInfo,
            .deviceFree = QnnDevice_free,
            .signalCreate = QnnSignal_create,
            .signalSetConfig = QnnSignal_setConfig,
            .signalTrigger = QnnSignal_trigger,
            .signalFree = QnnSignal_free,
            .errorGetMessage = QnnError_getMessage,
            .errorGetVerboseMessage = QnnError_getVerboseMessage,
            .errorFreeVerboseMessage = QnnError_freeVerboseMessage,
            .graphPrepareExecutionEnvironment = QnnGraph_prepareExecutionEnvironment,
            .graphReleaseExecutionEnvironment = QnnGraph_releaseExecutionEnvironment,
            .graphGetProperty = QnnGraph_getProperty,
            .contextValidateBinary = QnnContext_validateBinary,
            .contextCreateFromBinaryWithSignal = QnnContext_createFromBinaryWithSignal,
            .contextCreateFromBinaryListAsync = QnnContext_createFromBinaryListAsync,
            .tensorUpdateGraphTensors = QnnTensor_updateGraphTensors,
            .tensorUpdateContextTensors = QnnTensor_updateContextTensors,
            .contextGetBinarySectionSize = QnnContext_getBinarySectionSize,
            .contextGetBinarySection = QnnContext_getBinarySection,
            .contextApplyBinarySection = QnnContext_applyBinarySection,
            .backendGetProperty = QnnBackend_getProperty,
            .contextGetProperty = QnnContext_getProperty,
            .contextGetIncrementalBinary = QnnContext_getIncrementalBinary,
            .contextReleaseIncrementalBinary = QnnContext_releaseIncrementalBinary,
            .contextFinalize = QnnContext_finalize,
            .globalConfigSet = QnnGlobalConfig_Set,
            .contextCreateFromBinaryWithCallback = QnnContext_createFromBinaryWithCallback,
            .contextGetBinarySectionUpdate = QnnContext_getBinarySectionUpdate,
            .contextFreeBinarySectionUpdate = QnnContext_freeBinarySectionUpdate,
            .contextAddToDlc = QnnContext_addToDlc,
            .graphValidate = QnnGraph_validate,
            .graphFreeValidationResult = QnnGraph_freeValidationResult,
            .backendRegisterOpPackageFromBinary = QnnBackend_registerOpPackageFromBinary,
        },
    },
    .more = {MORE_16, MORE_16, MORE_16, MORE_16},
};
// clang-format on

_Static_assert(offsetof(QnnInterface_t, QNN_INTERFACE_VER_NAME) == 40 &&
                   sizeof(QnnInterface_t) == 40 + 75 * sizeof(more_fn),
               "the further entries must lie right behind the table");

static const QnnInterface_t *const providers[] = {&provider.interface};
static pthread_once_t once = PTHREAD_ONCE_INIT;
static qrn_status version_status;

qrn_status qrn_interface_parse_version(const char *text, Qnn_Version_t *core) {
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

static void fill(void) {
    const qrn_backend *b = &qrn_this_backend;
    provider.interface.backendId = b->id;
    provider.interface.providerName = b->provider_name;
    provider.interface.apiVersion.backendApiVersion =
        (Qnn_Version_t){b->version_major, b->version_minor, b->version_patch};
    version_status = qrn_interface_parse_version(qrn_env_get(QRN_ENV_API_VERSION),
                                                 &provider.interface.apiVersion.coreApiVersion);
}

qrn_status qrn_interface_version(Qnn_ApiVersion_t *version) {
    pthread_once(&once, fill);
    if (version_status != QRN_OK)
        return QRN_FAIL(version_status, "QUERN_API_VERSION asks for a version that is not served");
    *version = provider.interface.apiVersion;
    return QRN_OK;
}

Qnn_ErrorHandle_t qrn_interface_providers(const QnnInterface_t ***list, uint32_t *n) {
    Qnn_ApiVersion_t version;
    qrn_status s;
    if (!list || !n)
        s = QRN_FAIL(QRN_E_ARGUMENT, "providers: no place to write to");
    else
        s = qrn_interface_version(&version);
    if (s == QRN_OK) {
        *list = (const QnnInterface_t **)providers;
        *n = sizeof providers / sizeof *providers;
    }
    return qrn_api_end(QRN_COMP_COMMON, s, NULL);
}
