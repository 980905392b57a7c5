// SPDX-License-Identifier: MIT
//
// The structs behind custom options of single backends, and which of them belongs to an option. An
// option that is not described here is left out of the recording, with a comment.
#include "backend/saver/fields.h"

#include "base/soc.h"

#include "Quern/QuernBackend.h"

#include <string.h>

// clang-format off

// --- HTP: graphs

PLAIN(htp_optimization, QnnHtpGraph_OptimizationOption_t,
    {ENUM_OF(QnnHtpGraph_OptimizationOption_t, type, QnnHtpGraph_OptimizationType_t)},
    {F32(QnnHtpGraph_OptimizationOption_t, floatValue)})
PLAIN(htp_vtcm, QnnHtpGraph_VtcmConfig_t,
    {U32(QnnHtpGraph_VtcmConfig_t, sizeInBytes)}, {U32(QnnHtpGraph_VtcmConfig_t, offsetInBytes)},
    {U32(QnnHtpGraph_VtcmConfig_t, sizeTotalInBytes)})
PLAIN(htp_parallel, QnnHtpGraph_ParallelGraphExecutionConfig_t,
    {ENUM_OF(QnnHtpGraph_ParallelGraphExecutionConfig_t, concurrency,
             QnnHtpGraph_ConcurrencyOption_t)},
    {EMBED(QnnHtpGraph_ParallelGraphExecutionConfig_t, vtcmConfig, htp_vtcm)})
PLAIN(htp_bounding, QnnHtp_HmxBoundingInfo_t,
    {F32(QnnHtp_HmxBoundingInfo_t, targetHmxFreqHz)},
    {F32(QnnHtp_HmxBoundingInfo_t, targetDspCoreFreq)})
STRUCT(htp_finalize, QnnHtpGraph_FinalizeConfig_t,
    {STRING(QnnHtpGraph_FinalizeConfig_t, key)},
    {EMBED(QnnHtpGraph_FinalizeConfig_t, value, scalar)})
#define HTP_GRAPH(KIND, member, value)                                                             \
    {KIND(QnnHtpGraph_CustomConfig_t, member),                                                     \
     WHEN(QnnHtpGraph_CustomConfig_t, option, QNN_HTP_GRAPH_CONFIG_OPTION_##value)}
#define HTP_GRAPH_STRUCT(member, t, value)                                                         \
    {EMBED(QnnHtpGraph_CustomConfig_t, member, t),                                                 \
     WHEN(QnnHtpGraph_CustomConfig_t, option, QNN_HTP_GRAPH_CONFIG_OPTION_##value)}
STRUCT(htp_graph, QnnHtpGraph_CustomConfig_t,
    {ENUM_OF(QnnHtpGraph_CustomConfig_t, option, QnnHtpGraph_ConfigOption_t)},
    HTP_GRAPH_STRUCT(optimizationOption, htp_optimization, OPTIMIZATION),
    {ENUM_OF(QnnHtpGraph_CustomConfig_t, precision, Qnn_Precision_t),
     WHEN(QnnHtpGraph_CustomConfig_t, option, QNN_HTP_GRAPH_CONFIG_OPTION_PRECISION)},
    HTP_GRAPH(U32, vtcmSizeInMB, VTCM_SIZE),
    HTP_GRAPH(U8, foldReluActivationIntoConvOff, FOLD_RELU_ACTIVATION_INTO_CONV_OFF),
    HTP_GRAPH(U8, shortDepthConvOnHmxOff, SHORT_DEPTH_CONV_ON_HMX_OFF),
    HTP_GRAPH(U64, numHvxThreads, NUM_HVX_THREADS),
    HTP_GRAPH_STRUCT(finalizeConfig, htp_finalize, FINALIZE_CONFIG),
    HTP_GRAPH(U32, numCores, NUM_CORES),
    HTP_GRAPH_STRUCT(parallelGraphExecutionConfig, htp_parallel, PARALLEL_GRAPH_EXECUTION_CONFIG),
    HTP_GRAPH(U32, vtcmSizeInBytes, VTCM_SIZE_IN_BYTES),
    HTP_GRAPH_STRUCT(hmxBoundingInfo, htp_bounding, HMX_BOUNDING),
    HTP_GRAPH(U8, weightsPacking, WEIGHTS_PACKING),
    HTP_GRAPH(U8, assumeSameQuant, ASSUME_SAME_QUANT),
    HTP_GRAPH(U8, shareIOBuffer, SHARE_IO_BUFFER),
    HTP_GRAPH(U8, advancedActivationFusion, ADVANCED_ACTIVATION_FUSION),
    HTP_GRAPH(U8, highPrecisionSigmoid, HIGH_PRECISION_SIGMOID),
    HTP_GRAPH(U8, monolithicLstm, MONOLITHIC_LSTM),
    HTP_GRAPH(U8, precisionCompensation, PRECISION_COMPENSATION),
    HTP_GRAPH(U8, enablePredication, ENABLE_PREDICATION),
    HTP_GRAPH(U8, fp16ClampOverflow, FP16_CLAMP_OVERFLOW))

// --- HTP: contexts

STRUCT(htp_group, QnnHtpContext_GroupRegistration_t,
    {HANDLE(QnnHtpContext_GroupRegistration_t, firstGroupHandle, CONTEXT)},
    {U64(QnnHtpContext_GroupRegistration_t, maxSpillFillBuffer)})
PLAIN(htp_split, QnnHtpContext_GraphSplit_t,
    {U8(QnnHtpContext_GraphSplit_t, graphSplittingEnabled)})
PLAIN(htp_loading, QnnHtpContext_ParallelWeightLoading_t,
    {ENUM_OF(QnnHtpContext_ParallelWeightLoading_t, mode,
             QnnHtpContext_ParallelWeightLoadingMode_t)},
    {U64(QnnHtpContext_ParallelWeightLoading_t, thresholdInMbOverride)})
STRUCT(htp_lora_group, QnnHtpContext_LoraPreloadGroup_t,
    {STRINGS(QnnHtpContext_LoraPreloadGroup_t, graphNames),
     COUNT(QnnHtpContext_LoraPreloadGroup_t, numGraphs)},
    {U32(QnnHtpContext_LoraPreloadGroup_t, numGraphs)})
STRUCT(htp_lora_groups, QnnHtpContext_LoraPreloadBufferGroups_t,
    {MANY(QnnHtpContext_LoraPreloadBufferGroups_t, groups, htp_lora_group),
     COUNT(QnnHtpContext_LoraPreloadBufferGroups_t, numGroups)},
    {U32(QnnHtpContext_LoraPreloadBufferGroups_t, numGroups)})
#define HTP_CONTEXT_WHEN(value)                                                                    \
    WHEN(QnnHtpContext_CustomConfig_t, option, QNN_HTP_CONTEXT_CONFIG_OPTION_##value)
#define HTP_CONTEXT(KIND, member, value)                                                           \
    {KIND(QnnHtpContext_CustomConfig_t, member), HTP_CONTEXT_WHEN(value)}
#define HTP_CONTEXT_STRUCT(member, t, value)                                                       \
    {EMBED(QnnHtpContext_CustomConfig_t, member, t), HTP_CONTEXT_WHEN(value)}
STRUCT(htp_context, QnnHtpContext_CustomConfig_t,
    {ENUM_OF(QnnHtpContext_CustomConfig_t, option, QnnHtpContext_ConfigOption_t)},
    HTP_CONTEXT(U8, weightSharingEnabled, WEIGHT_SHARING_ENABLED),
    HTP_CONTEXT_STRUCT(groupRegistration, htp_group, REGISTER_MULTI_CONTEXTS),
    HTP_CONTEXT(U64, fileReadMemoryBudgetInMb, FILE_READ_MEMORY_BUDGET),
    HTP_CONTEXT(U8, dspMemoryProfilingEnabled, DSP_MEMORY_PROFILING_ENABLED),
    HTP_CONTEXT(U8, shareResources, SHARE_RESOURCES),
    HTP_CONTEXT(U8, ioMemEstimation, IO_MEM_ESTIMATION),
    HTP_CONTEXT(U8, isPrepareOnly, PREPARE_ONLY),
    HTP_CONTEXT(U8, initAcceleration, INIT_ACCELERATION),
    HTP_CONTEXT(U8, skipValidationOnBinarySection, SKIP_VALIDATION_ON_BINARY_SECTION),
    {ENUM_OF(QnnHtpContext_CustomConfig_t, shareResOptType,
             QnnHtpContext_ShareResourcesOptimizationType_t),
     HTP_CONTEXT_WHEN(SHARE_RESOURCES_OPTIMIZATION_TYPE)},
    HTP_CONTEXT(U8, useExtendedUdma, USE_EXTENDED_UDMA),
    HTP_CONTEXT_STRUCT(concurrentGroupRegistration, htp_group,
                       REGISTER_CONCURRENT_RESOURCE_SHARING),
    HTP_CONTEXT(U8, loraWeightSharingEnabled, LORA_WEIGHT_SHARING_ENABLED),
    HTP_CONTEXT(U8, loraWeightSharingRamPreloadEnabled, LORA_WEIGHT_SHARING_RAM_PRELOAD_ENABLED),
    {ONE(QnnHtpContext_CustomConfig_t, loraPreloadBufferGroups, htp_lora_groups),
     HTP_CONTEXT_WHEN(LORA_PRELOAD_BUFFER_GROUPS)},
    HTP_CONTEXT(U64, reusedIoLimitMb, REUSED_IO_LIMIT),
    HTP_CONTEXT(U8, referenceWeightSharingEnabled, REFERENCE_WEIGHT_SHARING_ENABLED),
    HTP_CONTEXT(U32, concurrentDeserializationExtraSizeKB, CONCURRENT_DESERIALIZATION_EXTRA_SIZE),
    HTP_CONTEXT(U8, graphSplittingEnabled, GRAPH_SPLITTING_ENABLED),
    HTP_CONTEXT_STRUCT(graphSplittingConfigs, htp_split, GRAPH_SPLITTING_CONFIGS),
    HTP_CONTEXT_STRUCT(parallelWeightLoading, htp_loading, PARALLEL_WEIGHT_LOADING))

// --- HTP: devices

PLAIN(htp_arch, QnnHtpDevice_Minimum_Arch_t,
    {U32(QnnHtpDevice_Minimum_Arch_t, deviceId)},
    {ENUM_OF(QnnHtpDevice_Minimum_Arch_t, arch, QnnHtpDevice_Arch_t)})
PLAIN(htp_signed, QnnHtpDevice_UseSignedProcessDomain_t,
    {U32(QnnHtpDevice_UseSignedProcessDomain_t, deviceId)},
    {U8(QnnHtpDevice_UseSignedProcessDomain_t, useSignedProcessDomain)})
PLAIN(htp_secure, QnnHtpDevice_UseSecureProcessDomain_t,
    {U32(QnnHtpDevice_UseSecureProcessDomain_t, deviceId)},
    {U8(QnnHtpDevice_UseSecureProcessDomain_t, useSecureProcessDomain)})
PLAIN(htp_async, QnnHtpDevice_AsyncExecute_t,
    {U32(QnnHtpDevice_AsyncExecute_t, deviceId)},
    {U8(QnnHtpDevice_AsyncExecute_t, enableAsyncExecute)})
#define HTP_DEVICE_WHEN(value)                                                                     \
    WHEN(QnnHtpDevice_CustomConfig_t, option, QNN_HTP_DEVICE_CONFIG_OPTION_##value)
STRUCT(htp_device, QnnHtpDevice_CustomConfig_t,
    {ENUM_OF(QnnHtpDevice_CustomConfig_t, option, QnnHtpDevice_ConfigOption_t)},
    {U32(QnnHtpDevice_CustomConfig_t, socModel), HTP_DEVICE_WHEN(SOC)},
    {EMBED(QnnHtpDevice_CustomConfig_t, arch, htp_arch), HTP_DEVICE_WHEN(ARCH)},
    {EMBED(QnnHtpDevice_CustomConfig_t, useSignedProcessDomain, htp_signed),
     HTP_DEVICE_WHEN(SIGNEDPD)},
    {EMBED(QnnHtpDevice_CustomConfig_t, useSecureProcessDomain, htp_secure),
     HTP_DEVICE_WHEN(SECUREPD)},
    {EMBED(QnnHtpDevice_CustomConfig_t, asyncExecute, htp_async), HTP_DEVICE_WHEN(ASYNC_EXECUTE)},
    {U32(QnnHtpDevice_CustomConfig_t, appUid), HTP_DEVICE_WHEN(APP_UID)})

PLAIN(htp_on_chip, QnnHtpDevice_OnChipDeviceInfoExtension_t,
    {U64(QnnHtpDevice_OnChipDeviceInfoExtension_t, vtcmSize)},
    {U32(QnnHtpDevice_OnChipDeviceInfoExtension_t, socModel)},
    {U8(QnnHtpDevice_OnChipDeviceInfoExtension_t, signedPdSupport)},
    {U8(QnnHtpDevice_OnChipDeviceInfoExtension_t, dlbcSupport)},
    {ENUM_OF(QnnHtpDevice_OnChipDeviceInfoExtension_t, arch, QnnHtpDevice_Arch_t)})
STRUCT(htp_info, QnnHtpDevice_DeviceInfoExtension_t,
    {U32(QnnHtpDevice_DeviceInfoExtension_t, devType)},
    {EMBED(QnnHtpDevice_DeviceInfoExtension_t, onChipDevice, htp_on_chip),
     WHEN(QnnHtpDevice_DeviceInfoExtension_t, devType, QNN_HTP_DEVICE_TYPE_ON_CHIP)})

// --- HTP: memory and votes

STRUCT(htp_shared, QnnHtpMem_SharedBufferConfig_t,
    {AT(QnnHtpMem_SharedBufferConfig_t, fd), .kind = QRN_SAVED_FD},
    {U64(QnnHtpMem_SharedBufferConfig_t, offset)})
#define HTP_MEM(member, value)                                                                     \
    {EMBED(QnnMemHtp_Descriptor_t, member, htp_shared), WHEN(QnnMemHtp_Descriptor_t, type, value)}
STRUCT(htp_mem, QnnMemHtp_Descriptor_t,
    {ENUM_OF(QnnMemHtp_Descriptor_t, type, QnnHtpMem_Type_t)}, {U64(QnnMemHtp_Descriptor_t, size)},
    HTP_MEM(sharedBufferConfig, QNN_HTP_MEM_SHARED_BUFFER),
    HTP_MEM(weightsBufferConfig, QNN_HTP_MEM_WEIGHTS_BUFFER),
    HTP_MEM(sharedSpillfillBufferConfig, QNN_HTP_MEM_SHARED_SPILLFILL_BUFFER),
    HTP_MEM(sharedVTCMBackupBufferConfig, QNN_HTP_MEM_SHARED_VTCMBACKUP_BUFFER))

typedef QnnHtpPerfInfrastructure_DcvsV3_t dcvs_v3;
typedef QnnHtpPerfInfrastructure_DcvsV3Exp_t dcvs_v3_exp;
typedef QnnHtpPerfInfrastructure_HmxV2_t hmx_v2;
typedef QnnHtpPerfInfrastructure_Ceng_t ceng;
typedef QnnHtpPerfInfrastructure_CengExp_t ceng_exp;
typedef QnnHtpPerfInfrastructure_PowerConfig_t power_config;
#define CORNER(T, f) {ENUM_OF(T, f, QnnHtpPerfInfrastructure_VoltageCorner_t)}
#define EXP_CORNER(T, f) {ENUM_OF(T, f, QnnHtpPerfInfrastructure_ExpVoltageCorner_t)}
#define CLOCK(T, f) {ENUM_OF(T, f, QnnHtpPerfInfrastructure_ClkPerfMode_t)}
#define MODE(T, f) {ENUM_OF(T, f, QnnHtpPerfInfrastructure_PowerMode_t)}
PLAIN(dcvs, dcvs_v3,
    {.name = "contextId", .offset = offsetof(dcvs_v3, contextId), .kind = QRN_SAVED_HANDLE,
     .object = QRN_SAVER_POWER},
    {U32(dcvs_v3, setDcvsEnable)}, {U32(dcvs_v3, dcvsEnable)}, MODE(dcvs_v3, powerMode),
    {U32(dcvs_v3, setSleepLatency)}, {U32(dcvs_v3, sleepLatency)},
    {U32(dcvs_v3, setSleepDisable)}, {U32(dcvs_v3, sleepDisable)}, {U32(dcvs_v3, setBusParams)},
    CORNER(dcvs_v3, busVoltageCornerMin), CORNER(dcvs_v3, busVoltageCornerTarget),
    CORNER(dcvs_v3, busVoltageCornerMax), {U32(dcvs_v3, setCoreParams)},
    CORNER(dcvs_v3, coreVoltageCornerMin), CORNER(dcvs_v3, coreVoltageCornerTarget),
    CORNER(dcvs_v3, coreVoltageCornerMax))
PLAIN(dcvs_exp, dcvs_v3_exp,
    {.name = "contextId", .offset = offsetof(dcvs_v3_exp, contextId), .kind = QRN_SAVED_HANDLE,
     .object = QRN_SAVER_POWER},
    MODE(dcvs_v3_exp, powerMode), {U32(dcvs_v3_exp, setSleepLatency)},
    {U32(dcvs_v3_exp, sleepLatency)}, {U32(dcvs_v3_exp, setSleepDisable)},
    {U32(dcvs_v3_exp, sleepDisable)}, {U32(dcvs_v3_exp, setBusParams)},
    EXP_CORNER(dcvs_v3_exp, busVoltageCornerMin), EXP_CORNER(dcvs_v3_exp, busVoltageCornerTarget),
    EXP_CORNER(dcvs_v3_exp, busVoltageCornerMax), {U32(dcvs_v3_exp, setCoreParams)},
    EXP_CORNER(dcvs_v3_exp, coreVoltageCornerMin), EXP_CORNER(dcvs_v3_exp, coreVoltageCornerTarget),
    EXP_CORNER(dcvs_v3_exp, coreVoltageCornerMax), CLOCK(dcvs_v3_exp, corePerfMode),
    CLOCK(dcvs_v3_exp, busPerfMode))
PLAIN(hmx, hmx_v2,
    {U32(hmx_v2, hmxPickDefault)}, EXP_CORNER(hmx_v2, hmxVoltageCornerMin),
    EXP_CORNER(hmx_v2, hmxVoltageCornerTarget), EXP_CORNER(hmx_v2, hmxVoltageCornerMax),
    CLOCK(hmx_v2, hmxPerfMode))
PLAIN(compute, ceng,
    CORNER(ceng, cengVoltageCornerMin), CORNER(ceng, cengVoltageCornerTarget),
    CORNER(ceng, cengVoltageCornerMax), CLOCK(ceng, cengPerfMode))
PLAIN(compute_exp, ceng_exp,
    EXP_CORNER(ceng_exp, cengVoltageCornerMin), EXP_CORNER(ceng_exp, cengVoltageCornerTarget),
    EXP_CORNER(ceng_exp, cengVoltageCornerMax), CLOCK(ceng_exp, cengPerfMode))
#define POWER_WHEN(value)                                                                          \
    WHEN(power_config, option, QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_##value)
STRUCT_OUT(power, QnnHtpPerfInfrastructure_PowerConfig_t,
    {ENUM_OF(power_config, option, QnnHtpPerfInfrastructure_PowerConfigOption_t)},
    {EMBED(power_config, dcvsV3Config, dcvs), POWER_WHEN(DCVS_V3)},
    {U32(power_config, rpcControlLatencyConfig), POWER_WHEN(RPC_CONTROL_LATENCY)},
    {U32(power_config, rpcPollingTimeConfig), POWER_WHEN(RPC_POLLING_TIME)},
    {U32(power_config, hmxTimeoutIntervalUsConfig), POWER_WHEN(HMX_TIMEOUT_INTERVAL_US)},
    {EMBED(power_config, hmxV2Config, hmx), POWER_WHEN(HMX_V2)},
    {U32(power_config, adaptivePollingTimeConfig), POWER_WHEN(ADAPTIVE_POLLING_TIME)},
    {U32(power_config, ddrPerfModeConfig), POWER_WHEN(DDR_PERF_MODE)},
    {EMBED(power_config, cengConfig, compute), POWER_WHEN(CENG)},
    {EMBED(power_config, dcvsV3ExpConfig, dcvs_exp), POWER_WHEN(DCVS_V3_EXP)},
    {EMBED(power_config, cengExpConfig, compute_exp), POWER_WHEN(CENG_EXP)})
STRUCT_OUT(memory_config, QnnHtpPerfInfrastructure_MemoryConfig_t,
    {ENUM_OF(QnnHtpPerfInfrastructure_MemoryConfig_t, option,
             QnnHtpPerfInfrastructure_MemoryConfigOption_t)},
    {U32(QnnHtpPerfInfrastructure_MemoryConfig_t, memGrowSizeConfig)})

// --- GPU

#define GPU_BACKEND(KIND, member, value)                                                           \
    {KIND(QnnGpuBackend_CustomConfig_t, member),                                                   \
     WHEN(QnnGpuBackend_CustomConfig_t, option, QNN_GPU_BACKEND_CONFIG_OPTION_##value)}
STRUCT(gpu_backend, QnnGpuBackend_CustomConfig_t,
    {ENUM_OF(QnnGpuBackend_CustomConfig_t, option, QnnGpuBackend_ConfigOption_t)},
    GPU_BACKEND(U8, enableTuningMode, ENABLE_TUNING_MODE),
    GPU_BACKEND(STRING, performanceCacheDir, PERFORMANCE_CACHE_DIR),
    GPU_BACKEND(U8, invalidatePerformanceCache, INVALIDATE_PERFORMANCE_CACHE),
    GPU_BACKEND(U8, weightSharingEnabled, WEIGHT_SHARING_ENABLED),
    GPU_BACKEND(U8, disableKernelProfiling, DISABLE_KERNEL_PROFILING))
#define GPU_CONTEXT(KIND, member, value)                                                           \
    {KIND(QnnGpuContext_CustomConfig_t, member),                                                   \
     WHEN(QnnGpuContext_CustomConfig_t, option, QNN_GPU_CONTEXT_CONFIG_OPTION_##value)}
STRUCT(gpu_context, QnnGpuContext_CustomConfig_t,
    {ENUM_OF(QnnGpuContext_CustomConfig_t, option, QnnGpuContext_ConfigOption_t)},
    {ENUM_OF(QnnGpuContext_CustomConfig_t, perfHint, QnnGpuContext_PerfHint_t),
     WHEN(QnnGpuContext_CustomConfig_t, option, QNN_GPU_CONTEXT_CONFIG_OPTION_PERF_HINT)},
    GPU_CONTEXT(U8, useGLBuffers, USE_GL_BUFFERS),
    GPU_CONTEXT(STRING, kernelRepoDir, KERNEL_REPO_DIR),
    GPU_CONTEXT(U8, invalidateKernelRepo, INVALIDATE_KERNEL_REPO))
STRUCT(gpu_graph, QnnGpuGraph_CustomConfig_t,
    {ENUM_OF(QnnGpuGraph_CustomConfig_t, precision, QnnGpu_Precision_t)},
    {U8(QnnGpuGraph_CustomConfig_t, disableMemoryOptimizations)},
    {U8(QnnGpuGraph_CustomConfig_t, disableNodeOptimizations)},
    {U8(QnnGpuGraph_CustomConfig_t, disableQueueRecording)})
#define GPU_GRAPH_V2(KIND, member, value)                                                          \
    {KIND(QnnGpuGraph_CustomConfigV2_t, member),                                                   \
     WHEN(QnnGpuGraph_CustomConfigV2_t, option, QNN_GPU_GRAPH_CONFIG_OPTION_##value)}
STRUCT(gpu_graph_v2, QnnGpuGraph_CustomConfigV2_t,
    {U32(QnnGpuGraph_CustomConfigV2_t, handshake)},
    {ENUM_OF(QnnGpuGraph_CustomConfigV2_t, option, QnnGpuGraph_ConfigOption_t)},
    {ENUM_OF(QnnGpuGraph_CustomConfigV2_t, precision, QnnGpu_Precision_t),
     WHEN(QnnGpuGraph_CustomConfigV2_t, option, QNN_GPU_GRAPH_CONFIG_OPTION_PRECISION)},
    GPU_GRAPH_V2(U8, disableMemoryOptimizations, DISABLE_MEMORY_OPTIMIZATIONS),
    GPU_GRAPH_V2(U8, disableNodeOptimizations, DISABLE_NODE_OPTIMIZATIONS),
    GPU_GRAPH_V2(U8, disableQueueRecording, DISABLE_QUEUE_RECORDING))

// --- CPU, and Quern's own

PLAIN(cpu_qmx, QnnCpuGraph_UseQmx_t, {U8(QnnCpuGraph_UseQmx_t, useQmx)})
STRUCT(cpu_graph, QnnCpuGraph_CustomConfig_t,
    {ENUM_OF(QnnCpuGraph_CustomConfig_t, option, QnnCpuGraph_ConfigOption_t)},
    {EMBED(QnnCpuGraph_CustomConfig_t, cpuGraphUseQmx, cpu_qmx),
     WHEN(QnnCpuGraph_CustomConfig_t, option, QNN_CPU_GRAPH_CONFIG_OPTION_USE_QMX)})

static const struct {
    uint32_t backend_id;
    qrn_saved_component component;
    const qrn_saved_type *type;
} table[] = {
    {QNN_BACKEND_ID_HTP, QRN_OPTION_GRAPH, &qrn_type_htp_graph},
    {QNN_BACKEND_ID_HTP, QRN_OPTION_CONTEXT, &qrn_type_htp_context},
    {QNN_BACKEND_ID_HTP, QRN_OPTION_DEVICE, &qrn_type_htp_device},
    {QNN_BACKEND_ID_HTP, QRN_OPTION_INFO, &qrn_type_htp_info},
    {QNN_BACKEND_ID_HTP, QRN_OPTION_MEM, &qrn_type_htp_mem},
    {QNN_BACKEND_ID_GPU, QRN_OPTION_BACKEND, &qrn_type_gpu_backend},
    {QNN_BACKEND_ID_GPU, QRN_OPTION_CONTEXT, &qrn_type_gpu_context},
    {QNN_BACKEND_ID_GPU, QRN_OPTION_GRAPH, &qrn_type_gpu_graph},
    {QNN_BACKEND_ID_CPU, QRN_OPTION_GRAPH, &qrn_type_cpu_graph},
};
// clang-format on

// Has the struct a member for what its selector says? One without a selector has.
static bool is_described(const qrn_saved_type *t, const void *at) {
    bool selects = false;
    for (size_t i = 0; i < t->n_fields; i++) {
        const qrn_saved_field *f = &t->fields[i];
        if (!f->when_at)
            continue;
        selects = true;
        if (*(const uint32_t *)((const char *)at + f->when_at - 1) == f->when)
            return true;
    }
    return !selects;
}

_Static_assert(sizeof(QnnHtpDevice_CustomConfig_t) <= QRN_SAVED_COPY_BYTES, "room for a copy");

static uint32_t word_at(const void *custom, size_t offset) {
    uint32_t word;
    memcpy(&word, (const char *)custom + offset, sizeof word);
    return word;
}

// Options of HTP devices have their union at byte 8, but at byte 4 (and 12 bytes in all) in headers
// up to core API 2.33. Nothing says which it is: a chip is one that is known, and a device id,
// which is first in the other options, is hardly ever more than a small number.
static void settle_device(const void *custom, QnnHtpDevice_CustomConfig_t *out) {
    enum { OLDER = 4, NOW = 8, SECOND = 12 };
    uint32_t option = word_at(custom, 0), older = word_at(custom, OLDER),
             now = word_at(custom, NOW);
    *out = (QnnHtpDevice_CustomConfig_t){.option = (QnnHtpDevice_ConfigOption_t)option};
    if (option == QNN_HTP_DEVICE_CONFIG_OPTION_SOC) {
        out->socModel = !qrn_soc_by_id(now) && qrn_soc_by_id(older) ? older : now;
        return;
    }
    if (option == QNN_HTP_DEVICE_CONFIG_OPTION_APP_UID) {
        out->appUid = now;
        return;
    }
    bool is_arch = option == QNN_HTP_DEVICE_CONFIG_OPTION_ARCH;
    bool is_older = is_arch ? now >= QNN_HTP_DEVICE_ARCH_V68 : now != 0;
    out->arch.deviceId = is_older ? older : now;
    uint32_t value = is_older ? now : word_at(custom, SECOND);
    if (is_arch)
        out->arch.arch = (QnnHtpDevice_Arch_t)value;
    else // the same place in all of them; a bool is one byte
        out->useSignedProcessDomain.useSignedProcessDomain = (value & 0xFF) != 0;
}

const void *qrn_saved_settle(const qrn_saved_type *t, const void *custom, void *room) {
    if (t != &qrn_type_htp_device)
        return custom;
    settle_device(custom, room);
    return room;
}

bool qrn_saved_is_ours(int component, const void *custom) {
    return custom && component == QRN_OPTION_BACKEND &&
           *(const uint32_t *)custom == QUERN_BACKEND_CONFIG_MAGIC;
}

const qrn_saved_type *qrn_saved_custom(uint32_t backend_id, int component, const void *custom) {
    const qrn_saved_type *t = NULL;
    for (size_t i = 0; custom && i < sizeof table / sizeof table[0]; i++)
        if (table[i].backend_id == backend_id && (int)table[i].component == component)
            t = table[i].type;
    if (t == &qrn_type_gpu_graph && *(const uint32_t *)custom == QNN_GPU_GRAPH_V2_HANDSHAKE_FLAG)
        t = &qrn_type_gpu_graph_v2;
    return t && !qrn_saved_is_ours(component, custom) && is_described(t, custom) ? t : NULL;
}
