// SPDX-License-Identifier: MIT
//
// The function table, and the one function that every backend library exports. Behind the table lie
// further entries that return "not supported", for clients whose table is longer than ours.
//
// State of the library: the provider object, filled by the first call and constant afterwards.
#include "core/backend.h"
#include "core/errors.h"
#include "core/version.h"

#include "QnnInterface.h"

#include <pthread.h>

#define N_MORE 64 // entries behind the table

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

static const QnnInterface_t *const providers[1] = {&provider.interface};
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill(void) {
    provider.interface.backendId = qrn_this_backend.id;
    provider.interface.providerName = qrn_this_backend.provider_name;
    // Checked by the caller; a version that cannot be served never leaves the library.
    qrn_version(&provider.interface.apiVersion);
    if (qrn_this_backend.interface_table)
        qrn_this_backend.interface_table(&provider.interface.QNN_INTERFACE_VER_NAME);
}

static qrn_status get_providers(const QnnInterface_t ***list, uint32_t *n) {
    Qnn_ApiVersion_t version;
    if (!list || !n)
        return QRN_FAIL(QRN_E_ARGUMENT, "providers: no place to write to");
    QRN_TRY(qrn_version(&version));
    pthread_once(&once, fill);
    *list = (const QnnInterface_t **)providers;
    *n = 1;
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnInterface_getProviders(const QnnInterface_t ***providerList,
                                            uint32_t *numProviders) {
    return qrn_api_end(QRN_COMP_COMMON, get_providers(providerList, numProviders), NULL);
}
