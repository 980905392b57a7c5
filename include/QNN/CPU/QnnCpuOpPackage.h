// SPDX-License-Identifier: MIT
//
// CPU backend: how it completes the opaque structs of QnnOpPackage.h. Not to be included together
// with the GPU one.

#ifndef QNN_CPU_OP_PACKAGE_H
#define QNN_CPU_OP_PACKAGE_H

#include <stddef.h>
#include <stdint.h>

#include "CPU/QnnCpuCommon.h"
#include "QnnGraph.h"
#include "QnnOpPackage.h"
#include "QnnTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

// Row-major, last dimension contiguous.
#define QNN_CPUOPPACKAGE_TENSOR_DATA_FORMAT_FLAT_BUFFER 0

// QNN_CPUOPPACKAGE_TENSOR_DATA_FORMAT_*.
typedef uint32_t QnnCpuOpPackage_TensorDataFormat_t;

// Value of a profile record.
typedef double QnnCpuOpPackage_ProfileData_t;

// Nothing is offered for a graph: the struct stays incomplete.
typedef struct _QnnOpPackage_GraphInfrastructure_t QnnCpuOpPackage_GraphInfrastructure_t;

// Kind of a message.
typedef enum {
    QNN_CPU_MSG_ERROR = 1,
    QNN_CPU_MSG_DEBUG = 2,
    QNN_CPU_MSG_LOW = 3,
    QNN_CPU_MSG_MED = 4,
    QNN_CPU_MSG_HIGH = 5,
    QNN_CPU_MSG_UNDEFINED = 0x7FFFFFFF,
} QnnCpuOpPackage_MsgType_t;

// Detail of a profile record.
typedef enum {
    QNN_CPU_PROFILE_BASIC = 1,
    QNN_CPU_PROFILE_DETAILED = 2,
    QNN_CPU_PROFILE_UNDEFINED = 0x7FFFFFFF,
} QnnCpuOpPackage_ProfileType_t;

// What the backend offers to the package.
typedef struct _QnnOpPackage_GlobalInfrastructure_t {
    // writes a message, as printf does
    void (*reportMessage)(QnnCpuOpPackage_MsgType_t, const char *, ...);
    // records a value
    void (*profile)(QnnCpuOpPackage_ProfileType_t, QnnCpuOpPackage_ProfileData_t);
} QnnCpuOpPackage_GlobalInfra_t;

// Runs an op; gets the userData of its implementation.
typedef Qnn_ErrorHandle_t (*QnnCpuOpPackage_OpImplFn_t)(void *opPkgNodeData);

// An op implementation.
typedef struct _QnnOpPackage_OpImpl_t {
    QnnCpuOpPackage_OpImplFn_t opImplFn; // runs the op
    void *userData;                      // what it is given
} QnnCpuOpPackage_OpImpl_t;

// Type of an element: the numbers of Qnn_DataType_t.
typedef enum {
    QNN_CPU_DATATYPE_BOOL_8 = 0x0508,
    QNN_CPU_DATATYPE_INT_8 = 0x0008,
    QNN_CPU_DATATYPE_INT_32 = 0x0032,
    QNN_CPU_DATATYPE_UINT_8 = 0x0108,
    QNN_CPU_DATATYPE_UINT_32 = 0x0132,
    QNN_CPU_DATATYPE_FLOAT_32 = 0x0232,
    QNN_CPU_DATATYPE_UNDEFINED = 0x7FFFFFFF,
} QnnCpuOpPackage_DataType_t;

// A tensor.
typedef struct {
    // QNN_TENSOR_DATA_FORMAT_*; dense unless said otherwise
    QnnCpuOpPackage_TensorDataFormat_t dataFormat;
    QnnCpuOpPackage_DataType_t dataType; // type of an element
    uint32_t rank;                       // number of dimensions; 0 is a scalar
    uint32_t *maxDimensions;             // greatest shape
    uint32_t *currentDimensions;         // shape of this execution
    void *data;                          // the elements
    Qnn_QuantizeParams_t quantizeParams; // how stored values stand for real ones
} QnnCpuOpPackage_Tensor_t;

// Which member of QnnCpuOpPackage_Param_t is set.
// 0xFFFFFFFF does not fit an int and makes the type unsigned: an extension to ISO C.
#ifdef __GNUC__
__extension__
#endif
    typedef enum {
        QNN_CPU_PARAMTYPE_SCALAR = 0,
        QNN_CPU_PARAMTYPE_TENSOR = 1,
        QNN_CPU_PARAMTYPE_STRING = 2,
        QNN_CPU_PARAMTYPE_UNDEFINED = 0xFFFFFFFF,
    } QnnCpuOpPackage_ParamType_t;

// A parameter.
typedef struct {
    QnnCpuOpPackage_ParamType_t type; // selects the union member
    const char *name;                 // name of the parameter
    union UNNAMED {
        double scalarParam;                    // SCALAR, whatever its type was
        const char *string;                    // STRING
        QnnCpuOpPackage_Tensor_t *tensorParam; // TENSOR
    };
} QnnCpuOpPackage_Param_t;

// The node to implement.
typedef struct _QnnOpPackage_Node_t {
    const char *name;                   // of the node
    const char *packageName;            // op package
    const char *typeName;               // op type inside the package
    uint32_t numOfParams;               // length of params
    QnnCpuOpPackage_Param_t **params;   // the parameters
    uint32_t numOfInputs;               // length of the inputs
    QnnCpuOpPackage_Tensor_t **inputs;  // in the order of the op
    uint32_t numOfOutputs;              // length of the outputs
    QnnCpuOpPackage_Tensor_t **outputs; // in the order of the op
} QnnCpuOpPackage_Node_t;

// Initial values: everything unset.
// clang-format off
#define QNN_CPU_OP_PACKAGE_GLOBAL_INFRA_INIT {NULL, NULL}
#define QNN_CPU_OP_PACKAGE_OPIMPL_INIT {NULL, NULL}
#define QNN_CPU_OP_PACKAGE_TENSOR_INIT \
    {0, QNN_CPU_DATATYPE_UNDEFINED, 0, NULL, NULL, NULL, QNN_QUANTIZE_PARAMS_INIT}
#define QNN_CPU_OP_PACKAGE_PARAM_INIT {QNN_CPU_PARAMTYPE_UNDEFINED, NULL, {0.0}}
#define QNN_CPU_OP_PACKAGE_NODE_INIT {NULL, NULL, NULL, 0, NULL, 0, NULL, 0, NULL}
// clang-format on

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_CPU_OP_PACKAGE_H
