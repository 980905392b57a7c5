// SPDX-License-Identifier: MIT
//
// GPU backend: how it completes the opaque structs of QnnOpPackage.h: kernels, their arguments,
// memory objects and fusions. Not to be included together with the CPU one.

#ifndef QNN_GPU_OP_PACKAGE_H
#define QNN_GPU_OP_PACKAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "GPU/QnnGpuCommon.h"
#include "GPU/QnnGpuGraph.h"
#include "QnnOpPackage.h"
#include "QnnTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

// Pointer to encodings the package itself understands.
typedef void *QnnGpu_QuantizeParamsInfo_Custom_t;

// Facts about the GPU.
typedef struct {
    char deviceVersion[128];           // OpenCL device version text
    uint32_t interfaceVersion[2];      // major, minor
    char tierName[8];                  // tier of the GPU
    uint32_t compilerVersion[4];       // of the OpenCL compiler
    size_t maxWorkGroupSize;           // work items in a group
    size_t image1dBufferMaxWidth;      // pixels
    size_t image2dMaxWidth;            // pixels
    size_t image2dMaxHeight;           // pixels
    size_t maxBufferAllocSize;         // bytes
    uint32_t baseAddrAlignment;        // of buffers
    size_t image2dArrayMaxWidth;       // pixels
    size_t image2dArrayMaxHeight;      // pixels
    size_t image2dArrayMaxDepth;       // images
    bool predicateClobberFullRegister; // property of the compiler
    bool isLocalMemorySupported;       // local memory can be used
    bool vector64Support;              // 64-bit vectors can be used
} QnnGpu_DeviceProperties_t;

// What the backend offers to the package.
typedef struct _QnnOpPackage_GlobalInfrastructure_t {
    const Qnn_ApiVersion_t *sdkApiVersion;             // version of the backend
    const QnnGpu_DeviceProperties_t *deviceProperties; // facts about the GPU
    const char *driverPath;                            // of the OpenCL driver
} QnnGpuOpPackage_GlobalInfrastructure_t;

// More about the package.
typedef struct _QnnOpPackage_PackageInfo_t {
    const char *kernelRepoHash; // changes when a kernel does
} QnnGpuOpPackage_PackageInfo_t;

// An edge the ops of a super node must have.
typedef struct {
    uint32_t producer;            // index of an op
    uint32_t producerOutputIndex; // which of its outputs
    uint32_t consumer;            // index of an op
    uint32_t consumerInputIndex;  // which of its inputs
} QnnGpuOpPackage_SuperNodeConnectionConstraint_t;

// Where a constrained tensor is.
typedef enum {
    QNN_GPU_OPTIMIZATION_SUPER_NODE_TENSOR_SOURCE_OUTPUT = 1,
    QNN_GPU_OPTIMIZATION_SUPER_NODE_TENSOR_SOURCE_INPUT = 2,
} QnnGpuOpPackage_TensorConstraintSource_t;

// What is constrained.
typedef enum {
    QNN_GPU_OPTIMIZATION_SUPER_NODE_TENSOR_CONSTRAINT_DATA_TYPE = 1,
    QNN_GPU_OPTIMIZATION_SUPER_NODE_TENSOR_CONSTRAINT_RANK = 2,
    QNN_GPU_OPTIMIZATION_SUPER_NODE_TENSOR_CONSTRAINT_DIMENSION = 3,
    QNN_GPU_OPTIMIZATION_SUPER_NODE_TENSOR_CONSTRAINT_TENSOR_TYPE = 4,
} QnnGpuOpPackage_TensorConstraintType_t;

// Extent that a dimension must have.
struct QnnGpuOpPackage_TensorConstraintDimension {
    uint32_t index; // which dimension
    uint32_t size;  // its extent
};

// What a tensor of a super node must be.
typedef struct {
    uint32_t operationIndex;                         // which op
    QnnGpuOpPackage_TensorConstraintSource_t source; // input or output of it
    union UNNAMED {
        uint32_t index;   // by position
        const char *name; // by name of a parameter
    };
    QnnGpuOpPackage_TensorConstraintType_t type; // selects the second union's member
    union UNNAMED {
        Qnn_DataType_t dataType;                                    // DATA_TYPE
        Qnn_TensorType_t tensorType;                                // TENSOR_TYPE
        uint32_t rank;                                              // RANK
        struct QnnGpuOpPackage_TensorConstraintDimension dimension; // DIMENSION
    };
} QnnGpuOpPackage_TensorConstraint_t;

// Ops that the package implements as one. All lists are NULL-terminated.
typedef struct {
    const char **operations;                                                 // op types, in order
    QnnGpuOpPackage_SuperNodeConnectionConstraint_t **connectionConstraints; // edges
    QnnGpuOpPackage_TensorConstraint_t **tensorConstraints;                  // tensors
} QnnGpuOpPackage_SuperNodeOptimization_t;

// Kind of an optimisation.
typedef enum {
    QNN_GPU_OPTIMIZATION_TYPE_UNDEFINED = 0,
    QNN_GPU_OPTIMIZATION_TYPE_SUPER_NODE = 2,
} QnnGpuOpPackage_OptimizationType_t;

// An optimisation.
typedef struct _QnnOpPackage_Optimization_t {
    QnnGpuOpPackage_OptimizationType_t type; // selects the union member
    const char *name;                        // of the optimisation
    union UNNAMED {
        const QnnGpuOpPackage_SuperNodeOptimization_t *superNode; // SUPER_NODE
    };
} QnnGpuOpPackage_Optimization_t;

// What the backend offers for a graph.
typedef struct _QnnOpPackage_GraphInfrastructure_t {
    QnnGpu_Precision_t precisionMode;                  // arithmetic of the graph
    const QnnGpu_DeviceProperties_t *deviceProperties; // facts about the GPU
} QnnGpuOpPackage_GraphInfrastructure_t;

// Tensor that holds per-axis scales and offsets.
typedef struct {
    uint32_t scaleOffsetId; // tensor id
} QnnGpu_AxisScaleOffsetInfo_t;

// Tensors that hold per-axis scales and offsets.
typedef struct {
    uint32_t scaleId;  // tensor id
    uint32_t offsetId; // tensor id
} QnnGpu_BwAxisScaleOffsetInfo_t;

// Tensor that holds scales and offsets of blocks.
typedef struct {
    uint32_t *blockSize;    // shape of a block
    uint32_t scaleOffsetId; // tensor id
} QnnGpu_BlockEncodingInfo_t;

// Tensor that holds scales of blocks.
typedef struct {
    uint32_t *blockDimensions; // shape of a block
    uint32_t blockScaleId;     // tensor id
} QnnGpu_MicroscalingEncodingInfo_t;

// Who understands the encoding.
typedef enum {
    QNN_GPU_QUANTIZATION_ENCODING_QNN_IMPL = 0, // the backend
    QNN_GPU_QUANTIZATION_ENCODING_CUSTOM = 1,   // the package
    QNN_GPU_QUANTIZATION_ENCODING_UNDEFINED = 0x7FFFFFFF,
} QnnGpu_QuantizationEncodingType_t;

// Encoding of a memory object.
typedef struct {
    QnnGpu_QuantizationEncodingType_t encodingType; // who understands it
    union UNNAMED {
        QnnGpu_AxisScaleOffsetInfo_t axisScaleOffsetInfo;           // per axis
        QnnGpu_BwAxisScaleOffsetInfo_t bwAxisScaleOffsetInfo;       // per axis, with a bit width
        QnnGpu_BlockEncodingInfo_t blockEncodingInfo;               // per block
        QnnGpu_MicroscalingEncodingInfo_t microscalingEncodingInfo; // microscaling
        QnnGpu_QuantizeParamsInfo_Custom_t customParams;            // CUSTOM
    };
} QnnGpu_QuantizeParams_t;

// Kind of a memory object.
typedef enum {
    QNN_GPU_MEM_OBJ_TYPE_HOST = 0, // memory of the host
    QNN_GPU_MEM_OBJ_TYPE_BUFFER = 1,
    QNN_GPU_MEM_OBJ_TYPE_IMAGE2D = 2,
    QNN_GPU_MEM_OBJ_TYPE_IMAGE2D_ARRAY = 3,
    QNN_GPU_MEM_OBJ_TYPE_AGGREGATED_IMAGE2D = 4,       // several images for one tensor
    QNN_GPU_MEM_OBJ_TYPE_AGGREGATED_IMAGE2D_ARRAY = 5, // several images for one tensor
    QNN_GPU_MEM_OBJ_TYPE_UNCLAIMED = 6,                // nobody has chosen yet
    QNN_GPU_MEM_OBJ_TYPE_IMAGE1D_BUFFER = 7,
    QNN_GPU_MEM_OBJ_TYPE_ALIAS = 8, // memory of another object
} QnnGpu_MemoryObjectType_t;

// Order of the dimensions in a memory object.
typedef enum {
    QNN_GPU_MEM_LAYOUT_HWC = 0,
    QNN_GPU_MEM_LAYOUT_HCW = 1,
    QNN_GPU_MEM_LAYOUT_CHW = 2,
    QNN_GPU_MEM_LAYOUT_C_HWC4 = 3,
    QNN_GPU_MEM_LAYOUT_DHWC = 4,
    QNN_GPU_MEM_LAYOUT_CDHW = 5,
    QNN_GPU_MEM_LAYOUT_UNDEFINED = 0x7FFFFFFF,
} QnnGpu_MemoryLayout_t;

// Memory an op reads or writes.
typedef struct {
    QnnGpu_MemoryObjectType_t type;         // buffer or image
    Qnn_DataType_t dataType;                // type of an element
    uint32_t *dimensions;                   // extents
    uint32_t *offsets;                      // of an aggregated object; otherwise NULL
    uint32_t numDimensions;                 // length of dimensions
    QnnGpu_MemoryLayout_t layout;           // order of the dimensions
    QnnGpu_QuantizeParams_t quantizeParams; // encoding
    const char *name;                       // of the object
    const char *aliasSourceName;            // ALIAS: the object it shares memory with
} QnnGpu_MemoryObject_t;

// How a tensor is stored.
typedef struct {
    uint32_t id;                               // tensor id
    const QnnGpu_MemoryObject_t *memoryObject; // how it is stored
} QnnGpu_TensorStorageType_t;

// The node to implement: one op config, or several for a super node. Lists are NULL-terminated.
typedef struct _QnnOpPackage_Node_t {
    uint32_t optimization;          // index of the optimisation that made the super node
    const Qnn_OpConfig_t **configs; // op configs
    const QnnGpu_TensorStorageType_t **storageTypes; // storage of the inputs
    int32_t kernelVariant; // which kernel to choose; -1 leaves it to the package
} QnnGpuOpPackage_Node_t;

// How the implementation wants an output stored.
typedef struct {
    uint32_t opConfigIndex;                    // which op config
    uint32_t outputIndex;                      // which of its outputs
    const QnnGpu_MemoryObject_t *memoryObject; // how it is to be stored
} QnnGpu_OutputClaim_t;

// A tensor as argument.
typedef struct {
    uint32_t opConfigIndex; // which op config
    uint32_t tensorIndex;   // which of its tensors
    uint32_t element;       // which image of an aggregated object
} QnnGpu_TensorKernelArg_t;

// OpenCL type of a data argument.
typedef enum {
    QNN_GPU_KERNEL_ARG_CL_TYPE_CHAR = 0,
    QNN_GPU_KERNEL_ARG_CL_TYPE_UCHAR = 1,
    QNN_GPU_KERNEL_ARG_CL_TYPE_SHORT = 2,
    QNN_GPU_KERNEL_ARG_CL_TYPE_USHORT = 3,
    QNN_GPU_KERNEL_ARG_CL_TYPE_INT = 4,
    QNN_GPU_KERNEL_ARG_CL_TYPE_UINT = 5,
    QNN_GPU_KERNEL_ARG_CL_TYPE_LONG = 6,
    QNN_GPU_KERNEL_ARG_CL_TYPE_ULONG = 7,
    QNN_GPU_KERNEL_ARG_CL_TYPE_FLOAT = 8,
    QNN_GPU_KERNEL_ARG_CL_TYPE_DOUBLE = 9,
} QnnGpu_DataKernelArgType_t;

// A value as argument; type selects the union member.
typedef struct {
    QnnGpu_DataKernelArgType_t type; // selects the union member
    union UNNAMED {
        int8_t qnnChar;
        uint8_t qnnUChar;
        int16_t qnnShort;
        uint16_t qnnUShort;
        int32_t qnnInt;
        uint32_t qnnUInt;
        int64_t qnnLong;
        uint64_t qnnULong;
        float qnnFloat;
        double qnnDouble;
    };
} QnnGpu_DataKernelArg_t;

// Local memory as argument.
typedef struct {
    uint32_t size; // bytes
} QnnGpu_LocalKernelArg_t;

// Kind of a kernel argument.
typedef enum {
    QNN_GPU_KERNEL_ARG_TYPE_OP_INPUT_READ = 0,
    QNN_GPU_KERNEL_ARG_TYPE_OP_INPUT_READWRITE = 1,
    QNN_GPU_KERNEL_ARG_TYPE_OP_OUTPUT_WRITE = 2,
    QNN_GPU_KERNEL_ARG_TYPE_INTERNAL_READ = 3,
    QNN_GPU_KERNEL_ARG_TYPE_INTERNAL_READWRITE = 4,
    QNN_GPU_KERNEL_ARG_TYPE_INTERNAL_WRITE = 5,
    QNN_GPU_KERNEL_ARG_TYPE_DATA = 6,
    QNN_GPU_KERNEL_ARG_TYPE_LOCAL = 7,
    QNN_GPU_KERNEL_ARG_TYPE_NULL_PTR = 8,
    QNN_GPU_KERNEL_ARG_TYPE_OP_TENSOR_PARAM = 9,
    QNN_GPU_KERNEL_ARG_TYPE_OP_OUTPUT_READWRITE = 10,
} QnnGpu_KernelArgType_t;

// A kernel argument.
typedef struct {
    QnnGpu_KernelArgType_t type; // selects the union member
    union UNNAMED {
        QnnGpu_TensorKernelArg_t tensor; // the tensor kinds
        QnnGpu_DataKernelArg_t data;     // DATA
        QnnGpu_LocalKernelArg_t local;   // LOCAL
    };
} QnnGpu_KernelArg_t;

// Range of local work sizes to try, for each dimension.
typedef struct {
    uint32_t minValue[3]; // smallest
    uint32_t maxValue[3]; // greatest
    uint32_t stepSize[3]; // between two tries
} QnnGpu_KernelLocalWorkSizeTuning_t;

// What may be tuned.
typedef enum {
    QNN_GPU_KERNEL_TUNING_LOCAL_WORK_SIZE = 0,
    QNN_GPU_KERNEL_TUNING_UNDEFINED = 0x7FFFFFFF,
} QnnGpu_KernelTuningOption_t;

// One thing that may be tuned.
typedef struct {
    QnnGpu_KernelTuningOption_t option; // selects the union member
    union UNNAMED {
        QnnGpu_KernelLocalWorkSizeTuning_t lws; // LOCAL_WORK_SIZE
    };
} QnnGpu_KernelTuningConfig_t;

// Form of a kernel.
typedef enum {
    QNN_GPU_KERNEL_SOURCE_TYPE_TEXT = 0,
    QNN_GPU_KERNEL_SOURCE_TYPE_BINARY = 1,
} QnnGpu_KernelSourceType_t;

// A kernel and how to launch it.
typedef struct {
    const void *kernelSource;             // text or binary
    size_t sourceLength;                  // bytes
    QnnGpu_KernelSourceType_t sourceType; // which of the two
    const char *buildOptions;             // for the OpenCL compiler
    size_t globalWorkDim;                 // entries of globalWorkSizes in use
    size_t globalWorkSizes[3];            // work items
    size_t localWorkDim;                  // entries of localWorkSizes in use; 0 lets OpenCL choose
    size_t localWorkSizes[3];             // work items in a group
    QnnGpu_KernelArg_t **args;            // NULL-terminated
    const char *name;                     // of the kernel function
    uint32_t isDynamic;                   // not 0: arguments change between executions
    QnnGpu_KernelTuningConfig_t **tuningConfigs; // NULL-terminated, or NULL
    void *reserved;                              // not used
} QnnGpu_Kernel_t;

// An op implementation. Lists are NULL-terminated.
typedef struct _QnnOpPackage_OpImpl_t {
    QnnGpu_OutputClaim_t **outputClaims;   // how outputs are to be stored
    QnnGpu_MemoryObject_t **memoryObjects; // memory of its own
    QnnGpu_Kernel_t **kernels;             // in the order to run
} QnnGpu_Operation_t;

// Initial values: everything unset.
// clang-format off
#define QNN_GPU_OP_PACKAGE_SUPER_NODE_OPTIMIZATION_INIT {NULL, NULL, NULL}
#define QNN_GPU_OP_PACKAGE_OPTIMIZATION_INIT {QNN_GPU_OPTIMIZATION_TYPE_UNDEFINED, NULL, {NULL}}
#define QNN_GPU_AXIS_SCALE_OFFSET_INFO_INIT {0}
#define QNN_GPU_BW_AXIS_SCALE_OFFSET_INFO_INIT {0, 0}
#define QNN_GPU_BLOCK_ENCODING_INFO_INIT {NULL, 0}
#define QNN_GPU_MICROSCALING_ENCODING_INFO_INIT {NULL, 0}
#define QNN_GPU_QUANTIZE_PARAMS_INFO_INIT \
    {QNN_GPU_QUANTIZATION_ENCODING_UNDEFINED, {QNN_GPU_AXIS_SCALE_OFFSET_INFO_INIT}}
#define QNN_GPU_MEMORY_OBJECT_INIT \
    {QNN_GPU_MEM_OBJ_TYPE_UNCLAIMED, QNN_DATATYPE_UNDEFINED, NULL, NULL, 0, \
    QNN_GPU_MEM_LAYOUT_UNDEFINED, QNN_GPU_QUANTIZE_PARAMS_INFO_INIT, NULL, NULL}
#define QNN_GPU_TENSOR_STORAGE_TYPE_INIT {0, NULL}
#define QNN_GPU_OUTPUT_CLAIM_INIT {0, 0, NULL}
#define QNN_GPU_TENSOR_KERNEL_ARG_INIT {0, 0, 0}
#define QNN_GPU_DATA_KERNEL_ARG_INIT {QNN_GPU_KERNEL_ARG_CL_TYPE_CHAR, {0}}
#define QNN_GPU_LOCAL_KERNEL_ARG_INIT {0}
#define QNN_GPU_KERNEL_ARG_INIT {QNN_GPU_KERNEL_ARG_TYPE_NULL_PTR, {QNN_GPU_TENSOR_KERNEL_ARG_INIT}}
#define QNN_GPU_KERNEL_INIT \
    {NULL, 0, QNN_GPU_KERNEL_SOURCE_TYPE_TEXT, NULL, 0, {0}, 0, {0}, NULL, NULL, 0, NULL, NULL}
#define QNN_GPU_OPERATION_INIT {NULL, NULL, NULL}
// clang-format on

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_GPU_OP_PACKAGE_H
