// SPDX-License-Identifier: MIT
//
// Drawing encodings. Good ones use few groups; bad ones have scales that are no scales, wrong
// counts, axes and bit widths out of range, unknown numbers, and NULL where an array should be.
#include "encoding.h"

#include <math.h>

enum { MAX_GROUPS = 256 };

typedef struct pen {
    source *s;
    scrap *mem;
    qrn_dtype dtype;
    const qrn_shape *shape;
    bool bad;
} pen;

static float scale(pen *p) {
    static const float good[] = {0.1f, 1.0f, 0.00392157f, 0.05f, 2.0f, 1e-6f, 1e6f};
    static const float bad[] = {0.0f, -1.0f, 3e38f, 1e-45f};
    if (!p->bad || !draw_chance(p->s, 20))
        return DRAW_FROM(p->s, good);
    uint32_t which = draw_below(p->s, 6);
    return which == 0 ? NAN : which == 1 ? INFINITY : DRAW_FROM(p->s, bad);
}

static int32_t offset(pen *p) {
    static const int32_t good[] = {0, -128, -127, 0, -5, 3, -32768, 0};
    static const int32_t wild[] = {INT32_MIN, INT32_MAX, -65536, 1000000};
    return draw_chance(p->s, 4) ? DRAW_FROM(p->s, wild) : DRAW_FROM(p->s, good);
}

// Sometimes, in bad encodings: NULL.
static void *array(pen *p, size_t n, size_t elem_bytes) {
    return p->bad && draw_chance(p->s, 10) ? NULL : scrap_new(p->mem, n * elem_bytes, 0);
}

static Qnn_ScaleOffset_t *pairs(pen *p, size_t n) {
    Qnn_ScaleOffset_t *a = array(p, n, sizeof *a);
    for (size_t i = 0; a && i < n; i++)
        a[i] = (Qnn_ScaleOffset_t){scale(p), offset(p)};
    return a;
}

static Qnn_FloatScaleOffset_t *float_pairs(pen *p, size_t n) {
    Qnn_FloatScaleOffset_t *a = array(p, n, sizeof *a);
    for (size_t i = 0; a && i < n; i++)
        a[i] = (Qnn_FloatScaleOffset_t){scale(p), p->bad ? scale(p) : 0.5f};
    return a;
}

static float *scales(pen *p, size_t n) {
    float *a = array(p, n, sizeof *a);
    for (size_t i = 0; a && i < n; i++)
        a[i] = scale(p);
    return a;
}

static int32_t *offsets(pen *p, size_t n) {
    int32_t *a = draw_chance(p->s, 50) ? NULL : array(p, n, sizeof *a);
    for (size_t i = 0; a && i < n; i++)
        a[i] = offset(p);
    return a;
}

static int32_t axis(pen *p) {
    static const int32_t bad[] = {-1, 8, INT32_MAX, INT32_MIN, 100};
    if (p->bad && draw_chance(p->s, 20))
        return DRAW_FROM(p->s, bad);
    return p->shape->rank ? (int32_t)draw_below(p->s, p->shape->rank) : 0;
}

// Entries that an encoding along `a` claims to have.
static uint32_t axis_count(pen *p, int32_t a) {
    uint32_t size = a >= 0 && (uint32_t)a < p->shape->rank ? p->shape->dims[a] : 1;
    if (size > MAX_GROUPS || (p->bad && draw_chance(p->s, 20)))
        return draw_below(p->s, 4); // wrong, and few
    return size;
}

static uint32_t bits(pen *p) {
    static const uint32_t bad[] = {0, 33, 64, UINT32_MAX, 9, 17};
    if (p->bad && draw_chance(p->s, 30))
        return DRAW_FROM(p->s, bad);
    return 1 + draw_below(p->s, qrn_dtypes[p->dtype].bits);
}

static Qnn_QuantizationEncodingMapping_t mapping(pen *p) {
    uint32_t v = p->bad && draw_chance(p->s, 20) ? draw_u32(p->s) : draw_below(p->s, 3);
    return (Qnn_QuantizationEncodingMapping_t)v;
}

// A block shape of at most MAX_GROUPS blocks, and their number.
static uint32_t *block(pen *p, size_t *n) {
    uint32_t *b = array(p, QRN_MAX_RANK, sizeof *b);
    *n = 1;
    for (uint32_t i = 0; b && i < p->shape->rank; i++) {
        uint32_t dim = p->shape->dims[i];
        b[i] = dim ? 1 + draw_below(p->s, dim) : 1;
        uint32_t blocks = dim ? (dim - 1) / b[i] + 1 : 1;
        if (*n * blocks > MAX_GROUPS) {
            b[i] = UINT32_MAX;
            blocks = 1;
        }
        *n *= blocks;
        if (p->bad && draw_chance(p->s, 10))
            b[i] = 0;
    }
    return b;
}

static Qnn_BwBlockwiseExpansionMapped_t expansion(pen *p) {
    Qnn_BwBlockwiseExpansionMapped_t e = {.bitwidth = bits(p), .mapping = mapping(p)};
    e.axis = axis(p);
    uint32_t rank = p->shape->rank;
    uint32_t n = e.axis >= 0 && (uint32_t)e.axis < rank ? p->shape->dims[e.axis] : 1;
    uint32_t along =
        rank > 1 ? p->shape->dims[(uint32_t)e.axis == rank - 1 ? rank - 2 : rank - 1] : 1;
    e.numBlocksPerAxis = along > 1 && draw_chance(p->s, 50) && along % 2 == 0 ? 2 : 1;
    if (p->bad && draw_chance(p->s, 20))
        e.numBlocksPerAxis = draw_below(p->s, 4);
    bool wide = draw_chance(p->s, 50);
    e.blockScaleBitwidth = 1 + draw_below(p->s, p->bad ? 20 : 4);
    e.blockScaleStorageType = wide ? QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_16
                                   : QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_8;
    if ((size_t)n * e.numBlocksPerAxis > MAX_GROUPS)
        return e; // without arrays
    e.scaleOffsets = pairs(p, n);
    size_t factors = (size_t)n * e.numBlocksPerAxis;
    e.blocksScale8 = array(p, factors, wide ? 2 : 1);
    for (size_t i = 0; e.blocksScale8 && i < factors; i++)
        e.blocksScale8[i] = (uint8_t)draw_below(p->s, p->bad ? 16 : 2);
    if (p->bad && draw_chance(p->s, 10))
        e.blockScaleStorageType = (Qnn_BlockwiseExpansionBlockScaleStorageType_t)draw_u32(p->s);
    return e;
}

static void *by_pointer(pen *p, const void *value, size_t size_bytes) {
    void *copy = array(p, 1, size_bytes);
    if (copy)
        memcpy(copy, value, size_bytes);
    return copy;
}

static void axis_kinds(pen *p, Qnn_QuantizeParams_t *q) {
    int32_t a = axis(p);
    uint32_t n = axis_count(p, a);
    if (q->quantizationEncoding == QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET) {
        q->axisScaleOffsetEncoding = (Qnn_AxisScaleOffset_t){a, n, pairs(p, n)};
    } else if (q->quantizationEncoding == QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET) {
        q->bwAxisScaleOffsetEncoding =
            (Qnn_BwAxisScaleOffset_t){bits(p), a, n, scales(p, n), offsets(p, n)};
    } else {
        Qnn_BwAxisScaleOffsetMapped_t m = {.bitwidth = bits(p),
                                           .axis = a,
                                           .mapping = mapping(p),
                                           .numElements = n,
                                           .scales = scales(p, n),
                                           .offsets = offsets(p, n)};
        q->bwAxisScaleOffsetMappedEncoding = by_pointer(p, &m, sizeof m);
    }
}

static void block_kinds(pen *p, Qnn_QuantizeParams_t *q) {
    size_t n;
    uint32_t *b = block(p, &n);
    if (q->quantizationEncoding == QNN_QUANTIZATION_ENCODING_BLOCK) {
        q->blockEncoding = (Qnn_BlockEncoding_t){b, pairs(p, n)};
    } else if (q->quantizationEncoding == QNN_QUANTIZATION_ENCODING_FLOAT_BLOCK) {
        q->floatBlockEncoding = (Qnn_FloatBlockEncoding_t){b, float_pairs(p, n)};
    } else if (q->quantizationEncoding == QNN_QUANTIZATION_ENCODING_BW_FLOAT_BLOCK) {
        q->bwFloatBlockEncoding = (Qnn_BwFloatBlockEncoding_t){bits(p), b, float_pairs(p, n)};
    } else {
        Qnn_BwBlockMapped_t m = {
            .bitwidth = bits(p), .mapping = mapping(p), .blockSize = b, .scaleOffset = pairs(p, n)};
        q->bwBlockMappedEncoding = by_pointer(p, &m, sizeof m);
    }
}

static void expansion_kinds(pen *p, Qnn_QuantizeParams_t *q) {
    Qnn_BwBlockwiseExpansionMapped_t m = expansion(p);
    if (q->quantizationEncoding == QNN_QUANTIZATION_ENCODING_BW_BLOCKWISE_EXPANSION_MAPPED) {
        q->bwBlockwiseExpansionMappedEncoding = by_pointer(p, &m, sizeof m);
        return;
    }
    Qnn_BlockwiseExpansion_t e = {.axis = m.axis,
                                  .scaleOffsets = m.scaleOffsets,
                                  .numBlocksPerAxis = m.numBlocksPerAxis,
                                  .blockScaleBitwidth = m.blockScaleBitwidth,
                                  .blockScaleStorageType = m.blockScaleStorageType,
                                  .blocksScale8 = m.blocksScale8};
    q->blockwiseExpansion = by_pointer(p, &e, sizeof e);
}

static void exotic_kinds(pen *p, Qnn_QuantizeParams_t *q) {
    if (q->quantizationEncoding == QNN_QUANTIZATION_ENCODING_VECTOR) {
        Qnn_VectorEncoding_t v = {.rowsPerBlock = draw_u8(p->s),
                                  .columnsPerBlock = draw_u8(p->s),
                                  .vectorDimension = draw_u8(p->s),
                                  .vectorStride = draw_u8(p->s),
                                  .indexBitwidth = draw_u8(p->s)};
        int32_t a = axis(p);
        uint32_t n = axis_count(p, a);
        v.bwAxisScaleOffset = (Qnn_BwAxisScaleOffset_t){bits(p), a, n, scales(p, n), offsets(p, n)};
        q->vectorEncoding = by_pointer(p, &v, sizeof v);
    } else if (q->quantizationEncoding == QNN_QUANTIZATION_ENCODING_MICROSCALING) {
        size_t n;
        uint32_t *b = block(p, &n);
        Qnn_MicroscalingEncoding_t m = {.valueEncoding = (Qnn_FloatEncoding_t)draw_below(p->s, 6),
                                        .blockRank = p->shape->rank,
                                        .blockDimensions = b,
                                        .blockCount = (uint32_t)n,
                                        .scaleDataType = QNN_DATATYPE_UINT_8};
        m.blockScales8 = array(p, n, 1);
        q->microScalingEncoding = by_pointer(p, &m, sizeof m);
    } else {
        Qnn_ArrayOf_t a = {.quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET,
                           .numElements = draw_below(p->s, 3)};
        a.indexTensor = array(p, 1, sizeof *a.indexTensor);
        a.vectorElements = array(p, 4, sizeof *a.vectorElements);
        q->arrayOfEncoding = by_pointer(p, &a, sizeof a);
    }
}

Qnn_QuantizeParams_t encoding_draw(source *s, scrap *mem, qrn_dtype dtype, const qrn_shape *shape,
                                   uint32_t bad_percent) {
    static const Qnn_QuantizationEncoding_t usual[] = {
        QNN_QUANTIZATION_ENCODING_SCALE_OFFSET, QNN_QUANTIZATION_ENCODING_SCALE_OFFSET,
        QNN_QUANTIZATION_ENCODING_SCALE_OFFSET, QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET,
        QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET};
    pen p = {s, mem, dtype, shape, draw_chance(s, bad_percent)};
    Qnn_QuantizeParams_t q = QNN_QUANTIZE_PARAMS_INIT;
    if (!qrn_dtype_is_fixed(dtype) && !(p.bad && draw_chance(s, 20)))
        return q;
    if (draw_chance(s, 3))
        return q; // codes without a meaning
    q.encodingDefinition =
        p.bad && draw_chance(s, 10) ? (Qnn_Definition_t)draw_below(s, 4) : QNN_DEFINITION_DEFINED;
    q.quantizationEncoding =
        draw_chance(s, 70) ? DRAW_FROM(s, usual) : (Qnn_QuantizationEncoding_t)draw_below(s, 14);
    switch (q.quantizationEncoding) {
    case QNN_QUANTIZATION_ENCODING_SCALE_OFFSET:
        q.scaleOffsetEncoding = (Qnn_ScaleOffset_t){scale(&p), offset(&p)};
        break;
    case QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET:
        q.bwScaleOffsetEncoding = (Qnn_BwScaleOffset_t){bits(&p), scale(&p), offset(&p)};
        break;
    case QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET:
    case QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET:
    case QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET_MAPPED:
        axis_kinds(&p, &q);
        break;
    case QNN_QUANTIZATION_ENCODING_BLOCK:
    case QNN_QUANTIZATION_ENCODING_FLOAT_BLOCK:
    case QNN_QUANTIZATION_ENCODING_BW_FLOAT_BLOCK:
    case QNN_QUANTIZATION_ENCODING_BW_BLOCK_MAPPED:
        block_kinds(&p, &q);
        break;
    case QNN_QUANTIZATION_ENCODING_BLOCKWISE_EXPANSION:
    case QNN_QUANTIZATION_ENCODING_BW_BLOCKWISE_EXPANSION_MAPPED:
        expansion_kinds(&p, &q);
        break;
    default:
        exotic_kinds(&p, &q);
        break;
    }
    if (p.bad && draw_chance(s, 5))
        q.quantizationEncoding = (Qnn_QuantizationEncoding_t)(14 + draw_u8(s));
    return q;
}
