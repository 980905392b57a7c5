// SPDX-License-Identifier: MIT
//
// Data types, quantisation encodings, tensors, parameters and op configurations: what a graph is
// described with. Versioned structs hold a version first and a union of layouts after it; look at
// the version before anything else.

#ifndef QNN_TYPES_H
#define QNN_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "QnnCommon.h"

#ifdef __cplusplus
extern "C" {
#endif

// How elements lie in memory. Only DENSE is required of every backend.
#define QNN_TENSOR_DATA_FORMAT_DENSE 0       // row-major, last dimension contiguous
#define QNN_TENSOR_DATA_FORMAT_FLAT_BUFFER 0 // older name of DENSE
#define QNN_TENSOR_DATA_FORMAT_SPARSE 1      // coordinates and values
#define QNN_TENSOR_DATA_FORMAT_CODEBOOK 2    // indices; with a VECTOR encoding
#define QNN_TENSOR_DATA_FORMAT_MX 3          // with a MICROSCALING encoding
// compressed image formats of the camera and the display
#define QNN_TENSOR_DATA_FORMAT_UBWC_RGBA8888 4
#define QNN_TENSOR_DATA_FORMAT_UBWC_NV12 5
#define QNN_TENSOR_DATA_FORMAT_UBWC_NV12_Y 6
#define QNN_TENSOR_DATA_FORMAT_UBWC_NV12_UV 7
#define QNN_TENSOR_DATA_FORMAT_HMX_WEIGHT_LAYOUT 8 // weight blocks of the NPU
#define QNN_TENSOR_DATA_FORMAT_UBWC_NV124R 9
#define QNN_TENSOR_DATA_FORMAT_UBWC_NV124R_Y 10
#define QNN_TENSOR_DATA_FORMAT_UBWC_NV124R_UV 11
#define QNN_TENSOR_DATA_FORMAT_UBWC_P010 12
#define QNN_TENSOR_DATA_FORMAT_UBWC_P010_Y 13
#define QNN_TENSOR_DATA_FORMAT_UBWC_P010_UV 14
#define QNN_TENSOR_DATA_FORMAT_UBWC_P016 15
#define QNN_TENSOR_DATA_FORMAT_UBWC_P016_Y 16
#define QNN_TENSOR_DATA_FORMAT_UBWC_P016_UV 17
#define QNN_TENSOR_DATA_FORMAT_UBWC_TP10 18
#define QNN_TENSOR_DATA_FORMAT_UBWC_TP10_Y 19
#define QNN_TENSOR_DATA_FORMAT_UBWC_TP10_UV 20
#define QNN_TENSOR_DATA_FORMAT_UBWC_TBAYER10_1X1 21
#define QNN_TENSOR_DATA_FORMAT_UBWC_TBAYER10_2X2 22
#define QNN_TENSOR_DATA_FORMAT_UBWC_TBAYER10_3X3 23
#define QNN_TENSOR_DATA_FORMAT_UBWC_TBAYER10_4X4 24
#define QNN_TENSOR_DATA_FORMAT_UBWC_BAYER16_10BPS_1X1 25
#define QNN_TENSOR_DATA_FORMAT_UBWC_BAYER16_10BPS_2X2 26
#define QNN_TENSOR_DATA_FORMAT_UBWC_BAYER16_10BPS_4X4 27
#define QNN_TENSOR_DATA_FORMAT_UBWC_BAYER16_12BPS_1X1 28
#define QNN_TENSOR_DATA_FORMAT_UBWC_BAYER16_12BPS_2X2 29
#define QNN_TENSOR_DATA_FORMAT_UBWC_BAYER16_12BPS_4X4 30
#define QNN_TENSOR_DATA_FORMAT_UBWC_BAYER16_14BPS_1X1 31
#define QNN_TENSOR_DATA_FORMAT_UBWC_BAYER16_14BPS_2X2 32
#define QNN_TENSOR_DATA_FORMAT_UBWC_BAYER16_14BPS_4X4 33
#define QNN_TENSOR_DATA_FORMAT_UBWC_BAYER16_16BPS_1X1 34
#define QNN_TENSOR_DATA_FORMAT_UBWC_BAYER16_16BPS_2X2 35
#define QNN_TENSOR_DATA_FORMAT_UBWC_BAYER16_16BPS_4X4 36
// each batch element starts at a multiple of 256 bytes
#define QNN_TENSOR_DATA_FORMAT_BATCH_ALIGNED_256 37

// Type of an element. High byte: 0 int, 1 uint, 2 float, 3 signed fixed point, 4 unsigned fixed
// point, 5 bool, 6 string. Low byte: width in bits, its decimal digits written as hex. 2- and 4-bit
// elements are packed, the first in the lowest bits of a byte.
typedef enum {
    QNN_DATATYPE_INT_2 = 0x0002,
    QNN_DATATYPE_INT_4 = 0x0004,
    QNN_DATATYPE_INT_8 = 0x0008,
    QNN_DATATYPE_INT_16 = 0x0016,
    QNN_DATATYPE_INT_32 = 0x0032,
    QNN_DATATYPE_INT_64 = 0x0064,
    QNN_DATATYPE_UINT_2 = 0x0102,
    QNN_DATATYPE_UINT_4 = 0x0104,
    QNN_DATATYPE_UINT_8 = 0x0108,
    QNN_DATATYPE_UINT_16 = 0x0116,
    QNN_DATATYPE_UINT_32 = 0x0132,
    QNN_DATATYPE_UINT_64 = 0x0164,
    QNN_DATATYPE_FLOAT_4 = 0x0204,
    QNN_DATATYPE_FLOAT_8 = 0x0208,
    QNN_DATATYPE_FLOAT_16 = 0x0216,
    QNN_DATATYPE_BFLOAT_16 = 0x0226, // 8 exponent bits
    QNN_DATATYPE_FLOAT_32 = 0x0232,
    QNN_DATATYPE_FLOAT_64 = 0x0264,
    QNN_DATATYPE_SFIXED_POINT_2 = 0x0302,
    QNN_DATATYPE_SFIXED_POINT_4 = 0x0304,
    QNN_DATATYPE_SFIXED_POINT_8 = 0x0308,
    QNN_DATATYPE_SFIXED_POINT_16 = 0x0316,
    QNN_DATATYPE_SFIXED_POINT_32 = 0x0332,
    QNN_DATATYPE_UFIXED_POINT_2 = 0x0402,
    QNN_DATATYPE_UFIXED_POINT_4 = 0x0404,
    QNN_DATATYPE_UFIXED_POINT_8 = 0x0408,
    QNN_DATATYPE_UFIXED_POINT_16 = 0x0416,
    QNN_DATATYPE_UFIXED_POINT_32 = 0x0432,
    QNN_DATATYPE_BOOL_8 = 0x0508, // one byte, 0 is false
    QNN_DATATYPE_STRING = 0x0608, // scalar parameters only
    QNN_DATATYPE_UNDEFINED = 0x7FFFFFFF,
} Qnn_DataType_t;

// Bytes of a context binary.
typedef uint64_t Qnn_ContextBinarySize_t;

// QNN_TENSOR_DATA_FORMAT_*: how the elements lie in memory.
typedef uint32_t Qnn_TensorDataFormat_t;

// What a name in an op mapping stands for.
typedef enum {
    QNN_OP_MAPPING_TYPE_TENSOR = 0,
    QNN_OP_MAPPING_TYPE_OP = 1,
} Qnn_MappingType_t;

// One source of a mapping.
typedef struct {
    const char *name;       // in the source model
    Qnn_MappingType_t type; // op or tensor
} Qnn_OpMappingPair_t;

// What an op or tensor of the graph was made from.
typedef struct {
    const char *name;          // in the graph
    Qnn_OpMappingPair_t *pair; // what it was made from
    uint32_t numPairs;         // length of pair
} Qnn_Mapping_t;

// The mappings of a graph back to the model it was converted from.
typedef struct {
    const char *graphName;         // name of the graph
    Qnn_Mapping_t *opMappings;     // of the ops
    uint32_t numOpMappings;        // length of opMappings
    Qnn_Mapping_t *tensorMappings; // of the tensors
    uint32_t numTensorMappings;    // length of tensorMappings
} Qnn_OpMappingV1_t;

// Version of Qnn_OpMapping_t.
typedef enum {
    QNN_OP_MAPPING_VERSION_1 = 1,
} Qnn_OpMappingVersion_t;

// Op mapping, versioned.
typedef struct {
    Qnn_OpMappingVersion_t version; // selects the union member
    union UNNAMED {
        Qnn_OpMappingV1_t *v1; // version 1
    };
} Qnn_OpMapping_t;

// How much a verbose error message tells.
typedef enum {
    QNN_ERROR_REPORTING_LEVEL_BRIEF = 0,
    QNN_ERROR_REPORTING_LEVEL_DETAILED = 1,
    QNN_ERROR_REPORTING_LEVEL_UNDEFINED = 0x7FFFFFFF,
} Qnn_ErrorReportingLevel_t;

// How much a backend or context keeps for verbose error messages.
typedef struct {
    Qnn_ErrorReportingLevel_t reportingLevel; // how much a message tells
    uint32_t storageLimit;                    // KB that may be kept
} Qnn_ErrorReportingConfig_t;

// A version.
typedef struct {
    uint32_t major; // incompatible when different
    uint32_t minor; // only grows by additions
    uint32_t patch; // no change of interface
} Qnn_Version_t;

// Versions of the core API and of the backend's own API.
typedef struct {
    Qnn_Version_t coreApiVersion;    // of QnnCommon.h
    Qnn_Version_t backendApiVersion; // of the backend's own headers
} Qnn_ApiVersion_t;

// A single value; dataType selects the union member.
typedef struct {
    Qnn_DataType_t dataType; // type of the value
    union UNNAMED {
        float floatValue;
        double doubleValue;
        uint64_t uint64Value;
        int64_t int64Value;
        uint32_t uint32Value;
        int32_t int32Value;
        uint16_t uint16Value;
        int16_t int16Value;
        uint8_t uint8Value;
        int8_t int8Value;
        uint8_t bool8Value;      // 0 is false
        int16_t bfloat16Value;   // the bits
        const char *stringValue; // UTF-8
    };
} Qnn_Scalar_t;

// Real value = (stored value + offset) * scale.
typedef struct {
    float scale;    // real value of one step
    int32_t offset; // added to the stored value before scaling; the negated zero point
} Qnn_ScaleOffset_t;

// Scale and offset with fewer bits in use than the container has; signed values are extended from
// the highest bit in use.
typedef struct {
    uint32_t bitwidth; // bits in use; the low bits of the container
    float scale;       // real value of one step
    int32_t offset;    // added to the stored value before scaling; the negated zero point
} Qnn_BwScaleOffset_t;

// One scale and offset for each index of a dimension.
typedef struct {
    int32_t axis;                   // dimension along which the encoding varies
    uint32_t numScaleOffsets;       // extent of the axis
    Qnn_ScaleOffset_t *scaleOffset; // one pair for each index or block
} Qnn_AxisScaleOffset_t;

// Per-axis scales and offsets with fewer bits in use than the container has.
typedef struct {
    uint32_t bitwidth;    // bits in use; the low bits of the container
    int32_t axis;         // dimension along which the encoding varies
    uint32_t numElements; // length of the arrays
    float *scales;        // one for each index of axis
    int32_t *offsets;     // one for each index of axis; NULL means all 0
} Qnn_BwAxisScaleOffset_t;

// How a stored value q maps to the integer that is scaled, in the *_MAPPED encodings.
typedef enum {
    QNN_QUANTIZATION_ENCODING_MAPPING_STANDARD_SYMMETRIC = 0,  // q itself
    QNN_QUANTIZATION_ENCODING_MAPPING_ASYMMETRIC_PLUS_ONE = 1, // q + 1
    // q + 0.5 signed, q - 2^(bits - 1) + 0.5 unsigned: no zero
    QNN_QUANTIZATION_ENCODING_MAPPING_LINEAR_SYMMETRIC_EXCLUDE_ZERO = 2,
    QNN_QUANTIZATION_ENCODING_MAPPING_UNDEFINED = 0x7FFFFFFF,
} Qnn_QuantizationEncodingMapping_t;

// As Qnn_BwAxisScaleOffset_t, with a mapping.
typedef struct {
    uint32_t bitwidth;                         // bits in use; the low bits of the container
    int32_t axis;                              // dimension along which the encoding varies
    Qnn_QuantizationEncodingMapping_t mapping; // how stored values map to integers
    uint32_t numElements;                      // length of the arrays
    float *scales;                             // one for each index of axis
    int32_t *offsets;                          // one for each index of axis; NULL means all 0
} Qnn_BwAxisScaleOffsetMapped_t;

// One scale and offset for each block; the number of blocks is the product of ceil(dimension /
// block).
typedef struct {
    uint32_t *blockSize;            // shape of a block: rank entries
    Qnn_ScaleOffset_t *scaleOffset; // one pair for each index or block
} Qnn_BlockEncoding_t;

// As Qnn_BlockEncoding_t, with a bit width and a mapping.
typedef struct {
    uint32_t bitwidth;                         // bits in use; the low bits of the container
    Qnn_QuantizationEncodingMapping_t mapping; // how stored values map to integers
    uint32_t *blockSize;                       // shape of a block: rank entries
    Qnn_ScaleOffset_t *scaleOffset;            // one pair for each index or block
} Qnn_BwBlockMapped_t;

// Width of the stored block factors.
typedef enum {
    QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_8 = 0,
    QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_16 = 1,
    QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_UNDEFINED = 0x7FFFFFFF,
} Qnn_BlockwiseExpansionBlockScaleStorageType_t;

// Per-axis scales, refined by a small integer factor for each block of a slice: effective scale =
// scale of the slice * factor.
typedef struct {
    int32_t axis;                    // dimension along which the encoding varies
    Qnn_ScaleOffset_t *scaleOffsets; // one pair for each index of axis
    uint32_t numBlocksPerAxis;       // blocks in one slice of axis
    uint32_t blockScaleBitwidth;     // bits of a block factor in use
    Qnn_BlockwiseExpansionBlockScaleStorageType_t blockScaleStorageType; // selects the union member
    union UNNAMED {
        uint8_t *blocksScale8;   // block factors: [index of axis][block]
        uint16_t *blocksScale16; // the same, 16 bits each
    };
} Qnn_BlockwiseExpansion_t;

// As Qnn_BlockwiseExpansion_t, with a bit width and a mapping.
typedef struct {
    uint32_t bitwidth;                         // bits in use; the low bits of the container
    Qnn_QuantizationEncodingMapping_t mapping; // how stored values map to integers
    int32_t axis;                              // dimension along which the encoding varies
    Qnn_ScaleOffset_t *scaleOffsets;           // one pair for each index of axis
    uint32_t numBlocksPerAxis;                 // blocks in one slice of axis
    uint32_t blockScaleBitwidth;               // bits of a block factor in use
    Qnn_BlockwiseExpansionBlockScaleStorageType_t blockScaleStorageType; // selects the union member
    union UNNAMED {
        uint8_t *blocksScale8;   // block factors: [index of axis][block]
        uint16_t *blocksScale16; // the same, 16 bits each
    };
} Qnn_BwBlockwiseExpansionMapped_t;

// Codebook compression: indices into vectors of per-axis quantised values.
typedef struct {
    Qnn_BwAxisScaleOffset_t bwAxisScaleOffset; // encoding of the decoded values
    uint32_t rowsPerBlock;                     // rows that share a codebook
    uint32_t columnsPerBlock;                  // columns that share a codebook
    uint8_t vectorDimension;                   // values in a codebook entry
    uint8_t vectorStride;                      // distance between the values of an entry
    uint8_t indexBitwidth;                     // bits of a stored index
} Qnn_VectorEncoding_t;

// Real value = stored value * scale + offset.
typedef struct {
    float scale;  // real value of one step
    float offset; // in real units
} Qnn_FloatScaleOffset_t;

// As Qnn_BlockEncoding_t, with offsets in real units.
typedef struct {
    uint32_t *blockSize;                      // shape of a block: rank entries
    Qnn_FloatScaleOffset_t *floatScaleOffset; // one pair for each block
} Qnn_FloatBlockEncoding_t;

// As Qnn_FloatBlockEncoding_t, with fewer bits in use than the container has.
typedef struct {
    uint32_t bitwidth;                        // bits in use; the low bits of the container
    uint32_t *blockSize;                      // shape of a block: rank entries
    Qnn_FloatScaleOffset_t *floatScaleOffset; // one pair for each block
} Qnn_BwFloatBlockEncoding_t;

// Element format of a microscaling (MX) tensor.
typedef enum {
    QNN_FLOAT_ENCODING_MXFP8_E5M2 = 0,
    QNN_FLOAT_ENCODING_MXFP8_E4M3 = 1,
    QNN_FLOAT_ENCODING_MXFP6_E3M2 = 2,
    QNN_FLOAT_ENCODING_MXFP6_E2M3 = 3,
    QNN_FLOAT_ENCODING_MXFP4_E2M1 = 4,
    QNN_FLOAT_ENCODING_UNDEFINED = 0x7FFFFFFF,
} Qnn_FloatEncoding_t;

// MX formats: small floats that share one scale per block. An 8-bit scale s stands for 2^(s-127).
typedef struct {
    Qnn_FloatEncoding_t valueEncoding; // format of the elements
    uint32_t blockRank;                // length of blockDimensions
    uint32_t *blockDimensions;         // shape of a block
    uint32_t blockCount;               // number of blocks
    Qnn_DataType_t scaleDataType;      // selects the union member
    union UNNAMED {
        uint8_t *blockScales8;   // exponents
        float *blockScalesFloat; // scales
    };
} Qnn_MicroscalingEncoding_t;

// Where the numbers of an encoding come from.
typedef enum {
    QNN_DEFINITION_IMPL_GENERATED = 0,     // the library may choose
    QNN_DEFINITION_DEFINED = 1,            // as given
    QNN_DEFINITION_UNDEFINED = 0x7FFFFFFF, // no encoding
} Qnn_Definition_t;

// Kind of a quantisation encoding: selects the union member of Qnn_QuantizeParams_t.
typedef enum {
    QNN_QUANTIZATION_ENCODING_SCALE_OFFSET = 0,         // one pair for the tensor
    QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET = 1,    // one pair for each index of an axis
    QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET = 2,      // SCALE_OFFSET with a bit width
    QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET = 3, // AXIS_SCALE_OFFSET with a bit width
    QNN_QUANTIZATION_ENCODING_BLOCK = 4,                // one pair for each block
    QNN_QUANTIZATION_ENCODING_BLOCKWISE_EXPANSION = 5,  // per axis, with a factor for each block
    QNN_QUANTIZATION_ENCODING_VECTOR = 6,               // codebook
    QNN_QUANTIZATION_ENCODING_FLOAT_BLOCK = 7,          // BLOCK with float offsets
    QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET_MAPPED = 8,    // with a mapping
    QNN_QUANTIZATION_ENCODING_BW_BLOCK_MAPPED = 9,                // with a bit width and a mapping
    QNN_QUANTIZATION_ENCODING_BW_BLOCKWISE_EXPANSION_MAPPED = 10, // with a bit width and a mapping
    QNN_QUANTIZATION_ENCODING_BW_FLOAT_BLOCK = 11,                // FLOAT_BLOCK with a bit width
    QNN_QUANTIZATION_ENCODING_MICROSCALING = 12,                  // MX
    QNN_QUANTIZATION_ENCODING_ARRAY_OF = 13,                      // alternatives
    QNN_QUANTIZATION_ENCODING_UNDEFINED = 0x7FFFFFFF,
} Qnn_QuantizationEncoding_t;

typedef struct Qnn_ArrayOf_t Qnn_ArrayOf_t;

// How stored values stand for real ones.
typedef struct {
    Qnn_Definition_t encodingDefinition;             // whether the numbers below count
    Qnn_QuantizationEncoding_t quantizationEncoding; // selects the union member
    union UNNAMED {
        Qnn_ScaleOffset_t scaleOffsetEncoding;             // SCALE_OFFSET
        Qnn_AxisScaleOffset_t axisScaleOffsetEncoding;     // AXIS_SCALE_OFFSET
        Qnn_BwScaleOffset_t bwScaleOffsetEncoding;         // BW_SCALE_OFFSET
        Qnn_BwAxisScaleOffset_t bwAxisScaleOffsetEncoding; // BW_AXIS_SCALE_OFFSET
        Qnn_BlockEncoding_t blockEncoding;                 // BLOCK
        Qnn_BlockwiseExpansion_t *blockwiseExpansion;      // BLOCKWISE_EXPANSION
        Qnn_VectorEncoding_t *vectorEncoding;              // VECTOR
        Qnn_FloatBlockEncoding_t floatBlockEncoding;       // FLOAT_BLOCK
        // BW_AXIS_SCALE_OFFSET_MAPPED
        Qnn_BwAxisScaleOffsetMapped_t *bwAxisScaleOffsetMappedEncoding;
        Qnn_BwBlockMapped_t *bwBlockMappedEncoding; // BW_BLOCK_MAPPED
        // BW_BLOCKWISE_EXPANSION_MAPPED
        Qnn_BwBlockwiseExpansionMapped_t *bwBlockwiseExpansionMappedEncoding;
        Qnn_BwFloatBlockEncoding_t bwFloatBlockEncoding;  // BW_FLOAT_BLOCK
        Qnn_MicroscalingEncoding_t *microScalingEncoding; // MICROSCALING
        Qnn_ArrayOf_t *arrayOfEncoding;                   // ARRAY_OF
    };
} Qnn_QuantizeParams_t;

// Memory of the client.
typedef struct {
    void *data;        // the elements
    uint32_t dataSize; // bytes
} Qnn_ClientBuffer_t;

// Called by the library to fetch the data of a tensor.
typedef Qnn_ErrorHandle_t (*Qnn_GetTensorRawDataFn_t)(Qnn_ContextHandle_t context,
                                                      Qnn_GraphHandle_t graph, uint64_t id,
                                                      Qnn_ClientBuffer_t *clientBuf);

// Called by the library when it no longer needs fetched data.
typedef Qnn_ErrorHandle_t (*Qnn_FreeTensorRawDataFn_t)(Qnn_ContextHandle_t context,
                                                       Qnn_GraphHandle_t graph, uint64_t id);

// Callbacks for tensor data that is fetched when it is needed.
typedef struct {
    Qnn_GetTensorRawDataFn_t getTensorData;   // hands out the data
    Qnn_FreeTensorRawDataFn_t freeTensorData; // takes it back
} Qnn_TensorRetrieveRaw_t;

// Bytes whose meaning the sender and the receiver know.
typedef struct {
    void *data;   // the bytes
    uint64_t len; // how many
} Qnn_OpaqueObject_t;

// Role of a tensor.
typedef enum {
    QNN_TENSOR_TYPE_APP_WRITE = 0,            // graph input
    QNN_TENSOR_TYPE_APP_READ = 1,             // graph output
    QNN_TENSOR_TYPE_APP_READWRITE = 2,        // of a context: output of one graph, input of another
    QNN_TENSOR_TYPE_NATIVE = 3,               // inside the graph
    QNN_TENSOR_TYPE_STATIC = 4,               // constant
    QNN_TENSOR_TYPE_NULL = 5,                 // stands for an absent optional tensor
    QNN_TENSOR_TYPE_UPDATEABLE_STATIC = 6,    // constant whose data or encoding may change
    QNN_TENSOR_TYPE_UPDATEABLE_NATIVE = 7,    // its encoding may change
    QNN_TENSOR_TYPE_UPDATEABLE_APP_WRITE = 8, // its encoding may change
    QNN_TENSOR_TYPE_UPDATEABLE_APP_READ = 9,  // its encoding may change
    QNN_TENSOR_TYPE_UPDATEABLE_APP_READWRITE = 10, // its encoding may change
    QNN_TENSOR_TYPE_OPTIONAL_APP_WRITE = 11,       // may be left out of an execution
    QNN_TENSOR_TYPE_OPTIONAL_APP_READ = 12,        // may be left out of an execution
    QNN_TENSOR_TYPE_OPTIONAL_APP_READWRITE = 13,   // may be left out of an execution
    QNN_TENSOR_TYPE_UNDEFINED = 0x7FFFFFFF,
} Qnn_TensorType_t;

// Where the data of a tensor is.
typedef enum {
    QNN_TENSORMEMTYPE_RAW = 0,          // buffer of the client
    QNN_TENSORMEMTYPE_MEMHANDLE = 1,    // registered memory
    QNN_TENSORMEMTYPE_RETRIEVE_RAW = 2, // fetched through callbacks; V2 only
    QNN_TENSORMEMTYPE_UNDEFINED = 0x7FFFFFFF,
} Qnn_TensorMemType_t;

// A tensor. The library copies what it needs: the struct may go away after a call.
typedef struct {
    uint32_t id; // set by the library when the tensor is created; later calls match tensors by it
    const char *name;                    // unique in the context and its graphs
    Qnn_TensorType_t type;               // role
    Qnn_TensorDataFormat_t dataFormat;   // QNN_TENSOR_DATA_FORMAT_*; dense unless said otherwise
    Qnn_DataType_t dataType;             // type of an element
    Qnn_QuantizeParams_t quantizeParams; // how stored values stand for real ones
    uint32_t rank;                       // number of dimensions; 0 is a scalar
    uint32_t *dimensions;                // at creation the greatest shape; NULL for a scalar
    Qnn_TensorMemType_t memType;         // selects the union member
    union UNNAMED {
        Qnn_ClientBuffer_t clientBuf; // RAW
        Qnn_MemHandle_t memHandle;    // MEMHANDLE
    };
} Qnn_TensorV1_t;

// Coordinates for the first dimensions, dense values for the rest.
typedef struct {
    uint32_t numSpecifiedElements; // coordinates given
    uint32_t numSparseDimensions;  // leading dimensions that are sparse
} Qnn_SparseLayoutHybridCoo_t;

// Layout of a sparse tensor.
typedef enum {
    QNN_SPARSE_LAYOUT_HYBRID_COO = 0,
    QNN_SPARSE_LAYOUT_UNDEFINED = 0x7FFFFFFF,
} Qnn_SparseLayoutType_t;

// Layout of a sparse tensor; used with the sparse data format only.
typedef struct {
    Qnn_SparseLayoutType_t type; // selects the union member
    union UNNAMED {
        Qnn_SparseLayoutHybridCoo_t hybridCoo; // HYBRID_COO
    };
} Qnn_SparseParams_t;

// A tensor with dynamic dimensions, sparsity and data on demand.
typedef struct {
    uint32_t id; // set by the library when the tensor is created; later calls match tensors by it
    const char *name;                    // unique in the context and its graphs
    Qnn_TensorType_t type;               // role
    Qnn_TensorDataFormat_t dataFormat;   // QNN_TENSOR_DATA_FORMAT_*; dense unless said otherwise
    Qnn_DataType_t dataType;             // type of an element
    Qnn_QuantizeParams_t quantizeParams; // how stored values stand for real ones
    uint32_t rank;                       // number of dimensions; 0 is a scalar
    uint32_t *dimensions;                // at creation the greatest shape; NULL for a scalar
    Qnn_TensorMemType_t memType;         // selects the union member
    union UNNAMED {
        Qnn_ClientBuffer_t clientBuf;         // RAW
        Qnn_MemHandle_t memHandle;            // MEMHANDLE
        Qnn_TensorRetrieveRaw_t *retrieveRaw; // RETRIEVE_RAW
    };
    // rank flags, not 0 where an execution may use less; NULL means all fixed
    uint8_t *isDynamicDimensions;
    Qnn_SparseParams_t sparseParams; // with the sparse data format
    uint8_t isProduced; // set by an execution that ended early: 0 if this output was not reached
} Qnn_TensorV2_t;

// Version of Qnn_Tensor_t. V1 and V2 agree in every byte up to and including the data union.
typedef enum {
    QNN_TENSOR_VERSION_1 = 1,
    QNN_TENSOR_VERSION_2 = 2,
    QNN_TENSOR_VERSION_UNDEFINED = 0x7FFFFFFF,
} Qnn_TensorVersion_t;

// A tensor, versioned.
typedef struct {
    Qnn_TensorVersion_t version; // selects the union member
    union UNNAMED {
        Qnn_TensorV1_t v1; // version 1
        Qnn_TensorV2_t v2; // version 2
    };
} Qnn_Tensor_t;

// Inputs and outputs of one execution.
typedef struct {
    uint32_t numInputs;    // length of inputs
    Qnn_Tensor_t *inputs;  // in any order
    uint32_t numOutputs;   // length of outputs
    Qnn_Tensor_t *outputs; // in any order
} Qnn_TensorSetV1_t;

// Version of Qnn_TensorSet_t.
typedef enum {
    QNN_TENSOR_SET_VERSION_1 = 1,
    QNN_TENSOR_SET_VERSION_UNDEFINED = 0x7FFFFFFF,
} Qnn_TensorSetVersion_t;

// Inputs and outputs of one execution, versioned.
typedef struct {
    Qnn_TensorSetVersion_t version; // selects the union member
    union UNNAMED {
        Qnn_TensorSetV1_t v1; // version 1
    };
} Qnn_TensorSet_t;

// Which member of Qnn_Param_t is set.
// 0xFFFFFFFF does not fit an int and makes the type unsigned: an extension to ISO C.
#ifdef __GNUC__
__extension__
#endif
    typedef enum {
        QNN_PARAMTYPE_SCALAR = 0,
        QNN_PARAMTYPE_TENSOR = 1,
        QNN_PARAMTYPE_UNDEFINED = 0xFFFFFFFF,
    } Qnn_ParamType_t;

// Parameter of an op: a scalar, or a static tensor that has been created already.
typedef struct {
    Qnn_ParamType_t paramType; // selects the union member
    const char *name;          // QNN_OP_*_PARAM_*
    union UNNAMED {
        Qnn_Scalar_t scalarParam; // SCALAR
        Qnn_Tensor_t tensorParam; // TENSOR: static and created
    };
} Qnn_Param_t;

// A node: op, parameters, inputs and outputs in the order of the op definition. An absent optional
// input is a tensor of type NULL.
typedef struct {
    const char *name;            // of this node, unique in the graph
    const char *packageName;     // op package
    const char *typeName;        // op type inside the package
    uint32_t numOfParams;        // length of params
    Qnn_Param_t *params;         // in any order
    uint32_t numOfInputs;        // length of the inputs
    Qnn_Tensor_t *inputTensors;  // in the order of the op
    uint32_t numOfOutputs;       // length of the outputs
    Qnn_Tensor_t *outputTensors; // in the order of the op
} Qnn_OpConfigV1_t;

// Version of Qnn_OpConfig_t.
typedef enum {
    QNN_OPCONFIG_VERSION_1 = 1,
    QNN_OPCONFIG_VERSION_UNDEFINED = 0x7FFFFFFF,
} Qnn_OpConfigVersion_t;

// A node, versioned.
typedef struct {
    Qnn_OpConfigVersion_t version; // selects the union member
    union UNNAMED {
        Qnn_OpConfigV1_t v1; // version 1
    };
} Qnn_OpConfig_t;

// Alternative encodings of one tensor; a tensor of indices says which is in force.
struct Qnn_ArrayOf_t {
    Qnn_QuantizationEncoding_t quantizationEncoding; // kind of every element
    uint32_t numElements;                            // length of vectorElements
    Qnn_Tensor_t *indexTensor;                       // which element is in force
    Qnn_QuantizeParams_t **vectorElements;           // the alternatives
};

// Arithmetic a backend may use for float32 graphs.
typedef enum {
    QNN_PRECISION_FLOAT32 = 0,
    QNN_PRECISION_FLOAT16 = 1, // half-precision arithmetic allowed
    QNN_PRECISION_UNDEFINED = 0x7FFFFFFF,
} Qnn_Precision_t;

// Scheduling priority; a higher number wins. A backend may lower what it does not offer.
typedef enum {
    QNN_PRIORITY_LOWEST = 0, // the smallest that is accepted
    QNN_PRIORITY_LOW = 0,
    QNN_PRIORITY_NORMAL_LOW = 50,
    QNN_PRIORITY_NORMAL = 100,
    QNN_PRIORITY_DEFAULT = 100, // unless configured
    QNN_PRIORITY_NORMAL_HIGH = 150,
    QNN_PRIORITY_HIGH = 200,
    QNN_PRIORITY_HIGH_PLUS = 300,
    QNN_PRIORITY_CRITICAL = 400,
    QNN_PRIORITY_CRITICAL_PLUS = 500,
    QNN_PRIORITY_HIGHEST = 500, // the greatest that is accepted
    QNN_PRIORITY_UNDEFINED = 0x7FFFFFFF,
} Qnn_Priority_t;

// Number of an SoC.
typedef enum {
    QNN_SOC_MODEL_UNKNOWN = 0,
    QNN_SOC_MODEL_SDM845 = 1,
    QNN_SOC_MODEL_SDM835 = 2,
    QNN_SOC_MODEL_SDM821 = 3,
    QNN_SOC_MODEL_SDM820 = 4,
    QNN_SOC_MODEL_SDM801 = 5,
    QNN_SOC_MODEL_SDM670 = 6,
    QNN_SOC_MODEL_SDM660 = 7,
    QNN_SOC_MODEL_SDM652 = 8,
    QNN_SOC_MODEL_SDM636 = 9,
    QNN_SOC_MODEL_SDM630 = 10,
    QNN_SOC_MODEL_SDM625 = 11,
    QNN_SOC_MODEL_SDM855 = 12,
    QNN_SOC_MODEL_SDM710 = 13,
    QNN_SOC_MODEL_SDM632 = 15,
    QNN_SOC_MODEL_SM6150 = 16,
    QNN_SOC_MODEL_SM7150 = 17,
    QNN_SOC_MODEL_QCS405 = 18,
    QNN_SOC_MODEL_SM6125 = 19,
    QNN_SOC_MODEL_QCS403 = 20,
    QNN_SOC_MODEL_SDM865 = 21,
    QNN_SOC_MODEL_IPQ6018 = 23,
    QNN_SOC_MODEL_IPQ6028 = 24,
    QNN_SOC_MODEL_SM7250 = 25,
    QNN_SOC_MODEL_SA8195 = 26,
    QNN_SOC_MODEL_SM6250 = 27,
    QNN_SOC_MODEL_SM4250 = 28,
    QNN_SOC_MODEL_SM6350 = 29,
    QNN_SOC_MODEL_SM8350 = 30,
    QNN_SOC_MODEL_SM4350 = 31,
    QNN_SOC_MODEL_SM7350 = 32,
    QNN_SOC_MODEL_QCS410 = 33,
    QNN_SOC_MODEL_SM8325 = 34,
    QNN_SOC_MODEL_SM7325 = 35,
    QNN_SOC_MODEL_SM8450 = 36,
    QNN_SOC_MODEL_SC8280X = 37,
    QNN_SOC_MODEL_SM7315 = 38,
    QNN_SOC_MODEL_SA8295 = 39,
    QNN_SOC_MODEL_SM6225 = 40,
    QNN_SOC_MODEL_SM7450 = 41,
    QNN_SOC_MODEL_SM8475 = 42,
    QNN_SOC_MODEL_SM8550 = 43,
    QNN_SOC_MODEL_SXR1230P = 45,
    QNN_SOC_MODEL_SSG2115P = 46,
    QNN_SOC_MODEL_STP6225P = 47,
    QNN_SOC_MODEL_QCS6125 = 48,
    QNN_SOC_MODEL_QRB4210 = 49,
    QNN_SOC_MODEL_SM6450 = 50,
    QNN_SOC_MODEL_QCS7230 = 51,
    QNN_SOC_MODEL_SA8255 = 52,
    QNN_SOC_MODEL_SXR2230P = 53,
    QNN_SOC_MODEL_SM7475 = 54,
    QNN_SOC_MODEL_SM4375 = 55,
    QNN_SOC_MODEL_QCM4325 = 56,
    QNN_SOC_MODEL_SM8650 = 57,
    QNN_SOC_MODEL_SSG2125P = 58,
    QNN_SOC_MODEL_SM4450 = 59,
    QNN_SOC_MODEL_SC8380XP = 60,
    QNN_SOC_MODEL_SM7435 = 61,
    QNN_SOC_MODEL_SA8540 = 62,
    QNN_SOC_MODEL_AIC100 = 63,
    QNN_SOC_MODEL_SM7550 = 64,
    QNN_SOC_MODEL_SM6450Q = 65,
    QNN_SOC_MODEL_QCS8550 = 66,
    QNN_SOC_MODEL_SA8620P = 67,
    QNN_SOC_MODEL_SM8635 = 68,
    QNN_SOC_MODEL_SM8750 = 69,
    QNN_SOC_MODEL_SM7675 = 70,
    QNN_SOC_MODEL_SM4635 = 71,
    QNN_SOC_MODEL_SA8797 = 72,
    QNN_SOC_MODEL_SM7635 = 73,
    QNN_SOC_MODEL_SM6650 = 74,
    QNN_SOC_MODEL_SXR2330P = 75,
    QNN_SOC_MODEL_SM6475 = 76,
    QNN_SOC_MODEL_QCS9100 = 77,
    QNN_SOC_MODEL_QCM6690 = 78,
    QNN_SOC_MODEL_IPQ9574 = 79,
    QNN_SOC_MODEL_IPQ5404 = 80,
    QNN_SOC_MODEL_IPQ5424 = 81,
    QNN_SOC_MODEL_QCS8300 = 82,
    QNN_SOC_MODEL_QCS2290 = 83,
    QNN_SOC_MODEL_SA525M = 84,
    QNN_SOC_MODEL_SM8735 = 85,
    QNN_SOC_MODEL_SM7750 = 86,
    QNN_SOC_MODEL_SM8850 = 87,
    QNN_SOC_MODEL_DYNAMIC_SDM = 0x7FFFFFFF, // whatever the machine has
} Qnn_SocModel_t;

// Initial values: everything unset.
// clang-format off
#define QNN_OP_MAPPING_V1_INIT {NULL, NULL, 0, NULL, 0}
#define QNN_OP_MAPPING_INIT {QNN_OP_MAPPING_VERSION_1, {NULL}}
#define QNN_ERROR_REPORTING_CONFIG_INIT {QNN_ERROR_REPORTING_LEVEL_UNDEFINED, 0}
#define QNN_VERSION_INIT {0, 0, 0}
#define QNN_API_VERSION_INIT \
    {{QNN_API_VERSION_MAJOR, QNN_API_VERSION_MINOR, QNN_API_VERSION_PATCH}, QNN_VERSION_INIT}
#define QNN_SCALAR_INIT {QNN_DATATYPE_UNDEFINED, {0.0f}}
#define QNN_SCALE_OFFSET_INIT {0.0f, 0}
#define QNN_BW_SCALE_OFFSET_INIT {0, 0.0f, 0}
#define QNN_AXIS_SCALE_OFFSET_INIT {0, 0, NULL}
#define QNN_BW_AXIS_SCALE_OFFSET_INIT {0, 0, 0, NULL, NULL}
#define QNN_BW_AXIS_SCALE_OFFSET_MAPPED_INIT \
    {0, 0, QNN_QUANTIZATION_ENCODING_MAPPING_STANDARD_SYMMETRIC, 0, NULL, NULL}
#define QNN_BLOCK_ENCODING_INIT {NULL, NULL}
#define QNN_BW_BLOCK_MAPPED_ENCODING_INIT \
    {0, QNN_QUANTIZATION_ENCODING_MAPPING_STANDARD_SYMMETRIC, NULL, NULL}
#define QNN_BLOCKWISE_EXPANSION_INIT \
    {0, NULL, 0, 0, QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_UNDEFINED, {NULL}}
#define QNN_BW_BLOCKWISE_EXPANSION_MAPPED_INIT \
    {0, QNN_QUANTIZATION_ENCODING_MAPPING_STANDARD_SYMMETRIC, 0, NULL, 0, 0, \
    QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_UNDEFINED, {NULL}}
#define QNN_VECTOR_ENCODING_INIT {QNN_BW_AXIS_SCALE_OFFSET_INIT, 0, 0, 0, 0, 0}
#define QNN_FLOAT_SCALE_OFFSET_INIT {0.0f, 0.0f}
#define QNN_FLOAT_BLOCK_ENCODING_INIT {NULL, NULL}
#define QNN_BW_FLOAT_BLOCK_ENCODING_INIT {0, NULL, NULL}
#define QNN_MICROSCALING_ENCODING_INIT \
    {QNN_FLOAT_ENCODING_UNDEFINED, 0, NULL, 0, QNN_DATATYPE_UNDEFINED, {NULL}}
#define QNN_QUANTIZE_PARAMS_INIT \
    {QNN_DEFINITION_UNDEFINED, QNN_QUANTIZATION_ENCODING_UNDEFINED, {QNN_SCALE_OFFSET_INIT}}
#define QNN_CLIENT_BUFFER_INIT {NULL, 0}
#define QNN_TENSOR_RETRIEVE_RAW_INIT {NULL, NULL}
#define QNN_OPAQUE_OBJECT_INIT {NULL, 0}
#define QNN_TENSOR_V1_INIT \
    {0, NULL, QNN_TENSOR_TYPE_UNDEFINED, 0, QNN_DATATYPE_UNDEFINED, QNN_QUANTIZE_PARAMS_INIT, 0, \
    NULL, QNN_TENSORMEMTYPE_UNDEFINED, {QNN_CLIENT_BUFFER_INIT}}
#define QNN_SPARSE_LAYOUT_HYBRID_COO_INIT {0, 0}
#define QNN_SPARSE_PARAMS_INIT {QNN_SPARSE_LAYOUT_UNDEFINED, {QNN_SPARSE_LAYOUT_HYBRID_COO_INIT}}
#define QNN_TENSOR_V2_INIT \
    {0, NULL, QNN_TENSOR_TYPE_UNDEFINED, 0, QNN_DATATYPE_UNDEFINED, QNN_QUANTIZE_PARAMS_INIT, 0, \
    NULL, QNN_TENSORMEMTYPE_UNDEFINED, {QNN_CLIENT_BUFFER_INIT}, NULL, QNN_SPARSE_PARAMS_INIT, \
    0}
#define QNN_TENSOR_INIT {QNN_TENSOR_VERSION_1, {QNN_TENSOR_V1_INIT}}
#define QNN_TENSOR_SET_V1_INIT {0, NULL, 0, NULL}
#define QNN_TENSOR_SET_INIT {QNN_TENSOR_SET_VERSION_1, {QNN_TENSOR_SET_V1_INIT}}
#define QNN_PARAM_INIT {QNN_PARAMTYPE_UNDEFINED, NULL, {QNN_SCALAR_INIT}}
#define QNN_OPCONFIG_V1_INIT {NULL, NULL, NULL, 0, NULL, 0, NULL, 0, NULL}
#define QNN_OPCONFIG_INIT {QNN_OPCONFIG_VERSION_1, {QNN_OPCONFIG_V1_INIT}}
#define QNN_ARRAYOF_INIT {QNN_QUANTIZATION_ENCODING_UNDEFINED, 0, NULL, NULL}
// clang-format on

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_TYPES_H
