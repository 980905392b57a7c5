// SPDX-License-Identifier: MIT
//
// ONNX Runtime's plugin interface, as far as the provider uses it: the host's tables by slot number
// and the structs of callbacks that a plugin fills. Nothing of ONNX Runtime is needed to build; the
// tables only grow at their ends, so a slot stays what it is in every later version.
// tests/ort/test_slots.py checks the numbers against a running onnxruntime.
#ifndef QRN_FRONTEND_ORT_ORT_API_H
#define QRN_FRONTEND_ORT_ORT_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ORT_API_WANTED 24      // version of the callbacks and tables below
#define ORT_API_LEAST 24       // older hosts are refused
#define ORT_API_OF_PROFILER 25 // that brought profilers; older hosts do not ask for them

// Objects of the host.
typedef struct OrtStatus OrtStatus;
typedef struct OrtEnv OrtEnv;
typedef struct OrtSession OrtSession;
typedef struct OrtLogger OrtLogger;
typedef struct OrtGraph OrtGraph;
typedef struct OrtNode OrtNode;
typedef struct OrtValueInfo OrtValueInfo;
typedef struct OrtValue OrtValue;
typedef struct OrtTypeInfo OrtTypeInfo;
typedef struct OrtTensorTypeAndShapeInfo OrtTensorTypeAndShapeInfo;
typedef struct OrtOpAttr OrtOpAttr;
typedef struct OrtSessionOptions OrtSessionOptions;
typedef struct OrtRunOptions OrtRunOptions;
typedef struct OrtKernelContext OrtKernelContext;
typedef struct OrtKeyValuePairs OrtKeyValuePairs;
typedef struct OrtHardwareDevice OrtHardwareDevice;
typedef struct OrtEpDevice OrtEpDevice;
typedef struct OrtEpGraphSupportInfo OrtEpGraphSupportInfo;
typedef struct OrtNodeComputeContext OrtNodeComputeContext;
typedef struct OrtMemoryInfo OrtMemoryInfo;
typedef struct OrtMemoryDevice OrtMemoryDevice;
typedef struct OrtDataTransferImpl OrtDataTransferImpl;
typedef struct OrtSyncStreamImpl OrtSyncStreamImpl;
typedef struct OrtKernelRegistry OrtKernelRegistry;
typedef struct OrtDeviceEpIncompatibilityDetails OrtDeviceEpIncompatibilityDetails;
typedef struct OrtExternalResourceImporterImpl OrtExternalResourceImporterImpl;
typedef struct OrtCustomOpDomain OrtCustomOpDomain;
typedef struct OrtCustomOp OrtCustomOp;
typedef struct OrtKernelInfo OrtKernelInfo;
typedef struct OrtProfilingEvent OrtProfilingEvent;
typedef struct OrtProfilingEventsContainer OrtProfilingEventsContainer;

typedef enum OrtErrorCode {
    ORT_FAIL = 1,
    ORT_INVALID_ARGUMENT = 2,
    ORT_NO_SUCHFILE = 3,
    ORT_ENGINE_ERROR = 5,
    ORT_NOT_IMPLEMENTED = 9,
    ORT_INVALID_GRAPH = 10,
    ORT_EP_FAIL = 11
} OrtErrorCode;

typedef enum OrtLoggingLevel {
    ORT_LOG_VERBOSE,
    ORT_LOG_INFO,
    ORT_LOG_WARNING,
    ORT_LOG_ERROR,
    ORT_LOG_FATAL
} OrtLoggingLevel;

typedef enum OrtOpAttrType {
    ORT_ATTR_INT = 1,
    ORT_ATTR_INTS,
    ORT_ATTR_FLOAT,
    ORT_ATTR_FLOATS,
    ORT_ATTR_STRING,
    ORT_ATTR_STRINGS,
    ORT_ATTR_GRAPH,
    ORT_ATTR_TENSOR
} OrtOpAttrType;

typedef enum OrtHardwareDeviceType { ORT_CPU, ORT_GPU, ORT_NPU } OrtHardwareDeviceType;
typedef enum OrtEpDataLayout { ORT_NCHW, ORT_NHWC } OrtEpDataLayout;
typedef enum OrtCompiledModelCompatibility {
    ORT_NOT_APPLICABLE,
    ORT_OPTIMAL,
    ORT_PREFER_RECOMPILATION,
    ORT_UNSUPPORTED
} OrtCompiledModelCompatibility;

typedef enum OrtProfilingEventCategory {
    ORT_EVENT_OF_SESSION,
    ORT_EVENT_OF_NODE,
    ORT_EVENT_OF_KERNEL
} OrtProfilingEventCategory;

// Why a device cannot be used: bits.
enum { ORT_DRIVER_INCOMPATIBLE = 1, ORT_DEVICE_INCOMPATIBLE = 2, ORT_MISSING_DEPENDENCY = 4 };

// Kinds of memory, as far as the provider has them.
enum { ORT_MEMORY_OF_CPU = 0, ORT_MEMORY_HOST_ACCESSIBLE = 5, ORT_ALLOCATOR_OF_DEVICE = 0 };

// --- the host's tables

typedef struct OrtTable {
    void (*slot[1])(void); // as many as the host has
} OrtTable;

typedef struct OrtApiBase {
    const OrtTable *(*GetApi)(uint32_t version);
    const char *(*GetVersionString)(void);
} OrtApiBase;

typedef struct OrtEpFactory OrtEpFactory;
typedef struct OrtEp OrtEp;
typedef struct OrtNodeComputeInfo OrtNodeComputeInfo;
typedef struct OrtAllocator OrtAllocator;
typedef struct OrtEpProfilerImpl OrtEpProfilerImpl;

typedef struct OrtNodeFusionOptions {
    uint32_t version;
    bool drop_constant_initializers;
} OrtNodeFusionOptions;

// One type and one slot number for each function of ort_slots.def.
#define X(table, slot, name, result, args)                                                         \
    typedef result(*ort_##name##_fn) args;                                                         \
    enum { ORT_SLOT_##name = (slot) };
#include "frontend/ort/ort_slots.def"
#undef X

// --- callbacks that the plugin fills; each begins with the version it is written for

struct OrtEpFactory {
    uint32_t version;
    const char *(*GetName)(const OrtEpFactory *);
    const char *(*GetVendor)(const OrtEpFactory *);
    OrtStatus *(*GetSupportedDevices)(OrtEpFactory *, const OrtHardwareDevice *const *, size_t,
                                      OrtEpDevice **, size_t, size_t *);
    OrtStatus *(*CreateEp)(OrtEpFactory *, const OrtHardwareDevice *const *,
                           const OrtKeyValuePairs *const *, size_t, const OrtSessionOptions *,
                           const OrtLogger *, OrtEp **);
    void (*ReleaseEp)(OrtEpFactory *, OrtEp *);
    uint32_t (*GetVendorId)(const OrtEpFactory *);
    const char *(*GetVersion)(const OrtEpFactory *);
    OrtStatus *(*ValidateCompiledModelCompatibilityInfo)(OrtEpFactory *,
                                                         const OrtHardwareDevice *const *, size_t,
                                                         const char *,
                                                         OrtCompiledModelCompatibility *);
    OrtStatus *(*CreateAllocator)(OrtEpFactory *, const OrtMemoryInfo *, const OrtKeyValuePairs *,
                                  OrtAllocator **);
    void (*ReleaseAllocator)(OrtEpFactory *, OrtAllocator *);
    OrtStatus *(*CreateDataTransfer)(OrtEpFactory *, OrtDataTransferImpl **);
    bool (*IsStreamAware)(const OrtEpFactory *);
    OrtStatus *(*CreateSyncStreamForDevice)(OrtEpFactory *, const OrtMemoryDevice *,
                                            const OrtKeyValuePairs *, OrtSyncStreamImpl **);
    OrtStatus *(*GetHardwareDeviceIncompatibilityDetails)(OrtEpFactory *, const OrtHardwareDevice *,
                                                          OrtDeviceEpIncompatibilityDetails *);
    OrtStatus *(*CreateExternalResourceImporterForDevice)(OrtEpFactory *, const OrtEpDevice *,
                                                          OrtExternalResourceImporterImpl **);
    OrtStatus *(*GetNumCustomOpDomains)(OrtEpFactory *, size_t *);
    OrtStatus *(*GetCustomOpDomains)(OrtEpFactory *, OrtCustomOpDomain **, size_t);
};

struct OrtEp {
    uint32_t version;
    const char *(*GetName)(const OrtEp *);
    OrtStatus *(*GetCapability)(OrtEp *, const OrtGraph *, OrtEpGraphSupportInfo *);
    OrtStatus *(*Compile)(OrtEp *, const OrtGraph **, const OrtNode **, size_t,
                          OrtNodeComputeInfo **, OrtNode **);
    void (*ReleaseNodeComputeInfos)(OrtEp *, OrtNodeComputeInfo **, size_t);
    OrtStatus *(*GetPreferredDataLayout)(OrtEp *, OrtEpDataLayout *);
    OrtStatus *(*ShouldConvertDataLayoutForOp)(OrtEp *, const char *, const char *, OrtEpDataLayout,
                                               int *);
    OrtStatus *(*SetDynamicOptions)(OrtEp *, const char *const *, const char *const *, size_t);
    OrtStatus *(*OnRunStart)(OrtEp *, const OrtRunOptions *);
    OrtStatus *(*OnRunEnd)(OrtEp *, const OrtRunOptions *, bool);
    OrtStatus *(*CreateAllocator)(OrtEp *, const OrtMemoryInfo *, OrtAllocator **);
    OrtStatus *(*CreateSyncStreamForDevice)(OrtEp *, const OrtMemoryDevice *, OrtSyncStreamImpl **);
    const char *(*GetCompiledModelCompatibilityInfo)(OrtEp *, const OrtGraph *);
    OrtStatus *(*GetKernelRegistry)(OrtEp *, const OrtKernelRegistry **);
    OrtStatus *(*IsConcurrentRunSupported)(OrtEp *, bool *);
    // Since API 25:
    OrtStatus *(*Sync)(OrtEp *);
    OrtStatus *(*CreateProfiler)(OrtEp *, OrtEpProfilerImpl **);
};

struct OrtEpProfilerImpl {
    uint32_t version;
    void (*Release)(OrtEpProfilerImpl *);
    OrtStatus *(*StartProfiling)(OrtEpProfilerImpl *, int64_t offset_ns);
    OrtStatus *(*StartEvent)(OrtEpProfilerImpl *, uint64_t id);
    OrtStatus *(*StopEvent)(OrtEpProfilerImpl *, uint64_t id, const OrtProfilingEvent *);
    OrtStatus *(*EndProfiling)(OrtEpProfilerImpl *, OrtProfilingEventsContainer *);
};

struct OrtNodeComputeInfo {
    uint32_t version;
    OrtStatus *(*CreateState)(OrtNodeComputeInfo *, OrtNodeComputeContext *, void **);
    OrtStatus *(*Compute)(OrtNodeComputeInfo *, void *, OrtKernelContext *);
    void (*ReleaseState)(OrtNodeComputeInfo *, void *);
};

// An op that a plugin makes known. Types are ONNXTensorElementDataType; 0 is any.
struct OrtCustomOp {
    uint32_t version;
    void *(*CreateKernel)(const OrtCustomOp *, const OrtTable *, const OrtKernelInfo *);
    const char *(*GetName)(const OrtCustomOp *);
    const char *(*GetExecutionProviderType)(const OrtCustomOp *);
    int (*GetInputType)(const OrtCustomOp *, size_t);
    size_t (*GetInputTypeCount)(const OrtCustomOp *);
    int (*GetOutputType)(const OrtCustomOp *, size_t);
    size_t (*GetOutputTypeCount)(const OrtCustomOp *);
    void (*KernelCompute)(void *, OrtKernelContext *);
    void (*KernelDestroy)(void *);
    int (*GetInputCharacteristic)(const OrtCustomOp *, size_t);
    int (*GetOutputCharacteristic)(const OrtCustomOp *, size_t);
    int (*GetInputMemoryType)(const OrtCustomOp *, size_t);
    int (*GetVariadicInputMinArity)(const OrtCustomOp *);
    int (*GetVariadicInputHomogeneity)(const OrtCustomOp *);
    int (*GetVariadicOutputMinArity)(const OrtCustomOp *);
    int (*GetVariadicOutputHomogeneity)(const OrtCustomOp *);
    OrtStatus *(*CreateKernelV2)(const OrtCustomOp *, const OrtTable *, const OrtKernelInfo *,
                                 void **);
    OrtStatus *(*KernelComputeV2)(void *, OrtKernelContext *);
    OrtStatus *(*InferOutputShapeFn)(const OrtCustomOp *, void *);
    int (*GetStartVersion)(const OrtCustomOp *);
    int (*GetEndVersion)(const OrtCustomOp *);
    size_t (*GetMayInplace)(int **, int **);
    void (*ReleaseMayInplace)(int *, int *);
    size_t (*GetAliasMap)(int **, int **);
    void (*ReleaseAliasMap)(int *, int *);
};

struct OrtAllocator {
    uint32_t version;
    void *(*Alloc)(OrtAllocator *, size_t);
    void (*Free)(OrtAllocator *, void *);
    const OrtMemoryInfo *(*Info)(const OrtAllocator *);
    void *(*Reserve)(OrtAllocator *, size_t);
    OrtStatus *(*GetStats)(const OrtAllocator *, OrtKeyValuePairs **);
    void *(*AllocOnStream)(OrtAllocator *, size_t, void *stream);
};

_Static_assert(sizeof(OrtEpFactory) == 144 && offsetof(OrtEpFactory, GetVersion) == 56 &&
                   offsetof(OrtEpFactory, GetCustomOpDomains) == 136,
               "layout of OrtEpFactory");
_Static_assert(sizeof(OrtEp) == 136 && offsetof(OrtEp, OnRunStart) == 64 &&
                   offsetof(OrtEp, IsConcurrentRunSupported) == 112,
               "layout of OrtEp");
_Static_assert(sizeof(OrtNodeComputeInfo) == 32 && sizeof(OrtNodeFusionOptions) == 8 &&
                   sizeof(OrtAllocator) == 56 && sizeof(OrtCustomOp) == 208 &&
                   sizeof(OrtEpProfilerImpl) == 48,
               "layout of the small structs");

#endif
