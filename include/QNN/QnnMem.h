// SPDX-License-Identifier: MIT
//
// Memory component: register memory that several processors share, for tensors to use without a
// copy.

#ifndef QNN_MEM_H
#define QNN_MEM_H

#include <stddef.h>
#include <stdint.h>

#include "QnnCommon.h"
#include "QnnTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QNN_MEM_INVALID_FD (-1) // no file descriptor

// Texts for shapeConfig: compressed image formats.
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_RGBA8888 "DATA_FORMAT_UBWC_RGBA8888"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_NV12 "DATA_FORMAT_UBWC_NV12"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_NV12_Y "DATA_FORMAT_UBWC_NV12_Y"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_NV12_UV "DATA_FORMAT_UBWC_NV12_UV"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_NV124R "DATA_FORMAT_UBWC_NV124R"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_NV124R_Y "DATA_FORMAT_UBWC_NV124R_Y"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_NV124R_UV "DATA_FORMAT_UBWC_NV124R_UV"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_P010 "DATA_FORMAT_UBWC_P010"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_P010_Y "DATA_FORMAT_UBWC_P010_Y"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_P010_UV "DATA_FORMAT_UBWC_P010_UV"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_P016 "DATA_FORMAT_UBWC_P016"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_P016_Y "DATA_FORMAT_UBWC_P016_Y"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_P016_UV "DATA_FORMAT_UBWC_P016_UV"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_TP10 "DATA_FORMAT_UBWC_TP10"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_TP10_Y "DATA_FORMAT_UBWC_TP10_Y"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_TP10_UV "DATA_FORMAT_UBWC_TP10_UV"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_TBAYER10_1X1 "DATA_FORMAT_UBWC_TBAYER10_1X1"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_TBAYER10_2X2 "DATA_FORMAT_UBWC_TBAYER10_2X2"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_TBAYER10_3X3 "DATA_FORMAT_UBWC_TBAYER10_3X3"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_TBAYER10_4X4 "DATA_FORMAT_UBWC_TBAYER10_4X4"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_BAYER16_10BPS_1X1 "DATA_FORMAT_UBWC_BAYER16_10BPS_1X1"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_BAYER16_10BPS_2X2 "DATA_FORMAT_UBWC_BAYER16_10BPS_2X2"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_BAYER16_10BPS_4X4 "DATA_FORMAT_UBWC_BAYER16_10BPS_4X4"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_BAYER16_12BPS_1X1 "DATA_FORMAT_UBWC_BAYER16_12BPS_1X1"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_BAYER16_12BPS_2X2 "DATA_FORMAT_UBWC_BAYER16_12BPS_2X2"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_BAYER16_12BPS_4X4 "DATA_FORMAT_UBWC_BAYER16_12BPS_4X4"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_BAYER16_14BPS_1X1 "DATA_FORMAT_UBWC_BAYER16_14BPS_1X1"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_BAYER16_14BPS_2X2 "DATA_FORMAT_UBWC_BAYER16_14BPS_2X2"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_BAYER16_14BPS_4X4 "DATA_FORMAT_UBWC_BAYER16_14BPS_4X4"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_BAYER16_16BPS_1X1 "DATA_FORMAT_UBWC_BAYER16_16BPS_1X1"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_BAYER16_16BPS_2X2 "DATA_FORMAT_UBWC_BAYER16_16BPS_2X2"
#define SHAPE_CONFIG_DATA_FORMAT_UBWC_BAYER16_16BPS_4X4 "DATA_FORMAT_UBWC_BAYER16_16BPS_4X4"

// Errors of the memory component.
typedef enum {
    QNN_MEM_MIN_ERROR = 8000,                 // first code
    QNN_MEM_NO_ERROR = 0,                     // done
    QNN_MEM_ERROR_NOT_SUPPORTED = 1000,       // the library does not do this
    QNN_MEM_ERROR_INVALID_ARGUMENT = 8000,    // an argument is wrong
    QNN_MEM_ERROR_INVALID_HANDLE = 8001,      // not a handle of this component
    QNN_MEM_ERROR_ALREADY_REGISTERED = 8002,  // this memory has a handle
    QNN_MEM_ERROR_MAPPING = 8003,             // the memory could not be mapped
    QNN_MEM_ERROR_INVALID_SHAPE = 8004,       // the shape is wrong
    QNN_MEM_ERROR_UNSUPPORTED_MEMTYPE = 8005, // memory of this kind is not supported
    QNN_MEM_MAX_ERROR = 8999,                 // last code
    QNN_MEM_ERROR_UNDEFINED = 0x7FFFFFFF,
} QnnMem_Error_t;

// Pointer to the memory descriptor of the backend.
typedef void *Qnn_MemInfoCustom_t;

// A Direct3D 12 resource.
typedef void *Qnn_Dx12ResourceHandle_t;

// Shape of the memory.
typedef struct {
    uint32_t numDim;         // length of dimSize
    uint32_t *dimSize;       // elements of each dimension
    const char *shapeConfig; // SHAPE_CONFIG_* or NULL
} Qnn_MemShape_t;

// ION memory.
typedef struct {
    int32_t fd; // file descriptor; QNN_MEM_INVALID_FD for none
} Qnn_MemIonInfo_t;

// A DMA buffer.
typedef struct {
    int32_t fd; // file descriptor; QNN_MEM_INVALID_FD for none
    void *data; // where it is mapped
} Qnn_MemDmaBufInfo_t;

// A Direct3D 12 buffer.
typedef struct {
    Qnn_Dx12ResourceHandle_t resourceHandle; // the resource
} Qnn_MemDx12BufInfo_t;

// Kind of shared memory.
typedef enum {
    QNN_MEM_TYPE_ION = 1,
    QNN_MEM_TYPE_CUSTOM = 2,
    QNN_MEM_TYPE_DMA_BUF = 3,
    QNN_MEM_TYPE_DX12 = 4,
    QNN_MEM_TYPE_UNDEFINED = 0x7FFFFFFF,
} Qnn_MemType_t;

// Memory to register.
typedef struct {
    Qnn_MemShape_t memShape; // shape of the memory
    Qnn_DataType_t dataType; // type of an element
    Qnn_MemType_t memType;   // selects the union member
    union UNNAMED {
        Qnn_MemIonInfo_t ionInfo;         // ION
        Qnn_MemInfoCustom_t customInfo;   // CUSTOM
        Qnn_MemDmaBufInfo_t dmaBufInfo;   // DMA_BUF
        Qnn_MemDx12BufInfo_t dx12BufInfo; // DX12
    };
} Qnn_MemDescriptor_t;

// Initial values: everything unset.
// clang-format off
#define QNN_MEM_SHAPE_INIT {0, NULL, NULL}
#define QNN_MEM_ION_INFO_INIT {-1}
#define QNN_MEM_DMA_BUF_INFO_INIT {-1, NULL}
#define QNN_MEM_DX12_BUF_INFO_INIT {NULL}
#define QNN_MEM_DESCRIPTOR_INIT \
    {QNN_MEM_SHAPE_INIT, QNN_DATATYPE_UNDEFINED, QNN_MEM_TYPE_UNDEFINED, \
    {QNN_MEM_ION_INFO_INIT}}
// clang-format on

// Registers memory for the tensors of a context: a handle for each descriptor, or none at all.
// Errors: QNN_MEM_ERROR_NOT_SUPPORTED, QNN_MEM_ERROR_ALREADY_REGISTERED,
// QNN_MEM_ERROR_UNSUPPORTED_MEMTYPE, QNN_MEM_ERROR_MAPPING, QNN_MEM_ERROR_INVALID_ARGUMENT,
// QNN_MEM_ERROR_INVALID_SHAPE, QNN_MEM_ERROR_INVALID_HANDLE.
QNN_API Qnn_ErrorHandle_t QnnMem_register(Qnn_ContextHandle_t context,
                                          const Qnn_MemDescriptor_t *memDescriptors,
                                          uint32_t numDescriptors, Qnn_MemHandle_t *memHandles);

// Gives handles back. Tries all of them, then reports a bad one.
// Errors: QNN_MEM_ERROR_NOT_SUPPORTED, QNN_MEM_ERROR_INVALID_ARGUMENT,
// QNN_MEM_ERROR_INVALID_HANDLE.
QNN_API Qnn_ErrorHandle_t QnnMem_deRegister(const Qnn_MemHandle_t *memHandles, uint32_t numHandles);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_MEM_H
