// SPDX-License-Identifier: MIT
//
// Tensors as the API has them, for descriptions of binaries and for op packages. Encodings go back
// from the four kinds of base/quant.h to the form that the client gave; block expansions of context
// binaries, whose factors are multiplied into the scales, become the block encoding of the same
// values.
#include "core/describe_tensor.h"

#include <string.h>

static qrn_status no_memory(const qrn_tensor *t) {
    return QRN_FAIL(QRN_E_MEM, "out of memory for the description of tensor '%s'", t->name);
}

// The mapping that gives a shift (see api/quant_parse.c).
static Qnn_QuantizationEncodingMapping_t mapping_of(const qrn_quant *q) {
    if (q->shift == 0.0f)
        return QNN_QUANTIZATION_ENCODING_MAPPING_STANDARD_SYMMETRIC;
    if (q->shift == 1.0f)
        return QNN_QUANTIZATION_ENCODING_MAPPING_ASYMMETRIC_PLUS_ONE;
    return QNN_QUANTIZATION_ENCODING_MAPPING_LINEAR_SYMMETRIC_EXCLUDE_ZERO;
}

static Qnn_ScaleOffset_t *copy_pairs(const qrn_quant *q, qrn_arena *a) {
    Qnn_ScaleOffset_t *pairs = qrn_arena_alloc(a, q->n_groups * sizeof *pairs);
    for (uint32_t i = 0; pairs && i < q->n_groups; i++)
        pairs[i] = (Qnn_ScaleOffset_t){qrn_quant_scale(q, i), qrn_quant_offset(q, i)};
    return pairs;
}

// Real offsets that are whole numbers of steps were kept as integers.
static float real_offset(const qrn_quant *q, uint32_t i) {
    double steps = (double)qrn_quant_scale(q, i) * (double)qrn_quant_offset(q, i);
    return q->real_offsets ? q->real_offsets[i] : (float)steps;
}

static Qnn_FloatScaleOffset_t *copy_float_pairs(const qrn_quant *q, qrn_arena *a) {
    Qnn_FloatScaleOffset_t *pairs = qrn_arena_alloc(a, q->n_groups * sizeof *pairs);
    for (uint32_t i = 0; pairs && i < q->n_groups; i++)
        pairs[i] = (Qnn_FloatScaleOffset_t){qrn_quant_scale(q, i), real_offset(q, i)};
    return pairs;
}

static void per_tensor(const qrn_tensor *t, Qnn_QuantizeParams_t *p) {
    const qrn_quant *q = &t->quant;
    if (t->encoding == QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET) {
        p->quantizationEncoding = QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET;
        p->bwScaleOffsetEncoding = (Qnn_BwScaleOffset_t){q->bits, q->scale, q->offset};
    } else {
        p->quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
        p->scaleOffsetEncoding = (Qnn_ScaleOffset_t){q->scale, q->offset};
    }
}

static bool bw_axis(const qrn_tensor *t, qrn_arena *a, Qnn_QuantizeParams_t *p) {
    const qrn_quant *q = &t->quant;
    float *scales = qrn_arena_copy(a, q->scales, q->n_groups * sizeof *scales);
    int32_t *offsets =
        q->offsets ? qrn_arena_copy(a, q->offsets, q->n_groups * sizeof *offsets) : NULL;
    if (!scales || (q->offsets && !offsets))
        return false;
    if (t->encoding == QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET) {
        p->bwAxisScaleOffsetEncoding =
            (Qnn_BwAxisScaleOffset_t){q->bits, q->axis, q->n_groups, scales, offsets};
        return true;
    }
    Qnn_BwAxisScaleOffsetMapped_t *m = qrn_arena_alloc(a, sizeof *m);
    if (m)
        *m = (Qnn_BwAxisScaleOffsetMapped_t){q->bits,     q->axis, mapping_of(q),
                                             q->n_groups, scales,  offsets};
    p->bwAxisScaleOffsetMappedEncoding = m;
    return m;
}

static bool per_axis(const qrn_tensor *t, qrn_arena *a, Qnn_QuantizeParams_t *p) {
    const qrn_quant *q = &t->quant;
    p->quantizationEncoding = (Qnn_QuantizationEncoding_t)t->encoding;
    if (t->encoding == QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET ||
        t->encoding == QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET_MAPPED)
        return bw_axis(t, a, p);
    p->quantizationEncoding = QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET;
    p->axisScaleOffsetEncoding = (Qnn_AxisScaleOffset_t){q->axis, q->n_groups, copy_pairs(q, a)};
    return p->axisScaleOffsetEncoding.scaleOffset;
}

static uint32_t *copy_block(const qrn_tensor *t, qrn_arena *a) {
    return qrn_arena_copy(a, t->quant.block, t->shape.rank * sizeof *t->quant.block);
}

static bool float_block(const qrn_tensor *t, qrn_arena *a, Qnn_QuantizeParams_t *p) {
    uint32_t *block = copy_block(t, a);
    Qnn_FloatScaleOffset_t *pairs = copy_float_pairs(&t->quant, a);
    if (t->encoding == QNN_QUANTIZATION_ENCODING_FLOAT_BLOCK)
        p->floatBlockEncoding = (Qnn_FloatBlockEncoding_t){block, pairs};
    else
        p->bwFloatBlockEncoding = (Qnn_BwFloatBlockEncoding_t){t->quant.bits, block, pairs};
    p->quantizationEncoding = (Qnn_QuantizationEncoding_t)t->encoding;
    return block && pairs;
}

static bool mapped_block(const qrn_tensor *t, qrn_arena *a, Qnn_QuantizeParams_t *p) {
    const qrn_quant *q = &t->quant;
    Qnn_BwBlockMapped_t *m = qrn_arena_alloc(a, sizeof *m);
    if (m)
        *m = (Qnn_BwBlockMapped_t){q->bits, mapping_of(q), copy_block(t, a), copy_pairs(q, a)};
    p->quantizationEncoding = QNN_QUANTIZATION_ENCODING_BW_BLOCK_MAPPED;
    p->bwBlockMappedEncoding = m;
    return m && m->blockSize && m->scaleOffset;
}

// The two levels of an expansion, where they are known.
static bool expansion(const qrn_tensor *t, qrn_arena *a, Qnn_QuantizeParams_t *p) {
    const qrn_expansion *x = t->expansion;
    uint32_t n = t->shape.dims[x->axis];
    Qnn_ScaleOffset_t *pairs = qrn_arena_alloc(a, n * sizeof *pairs);
    Qnn_BwBlockwiseExpansionMapped_t *m = qrn_arena_alloc(a, sizeof *m);
    Qnn_BlockwiseExpansion_t *plain = qrn_arena_alloc(a, sizeof *plain);
    void *factors = qrn_arena_copy(a, x->factors, (size_t)n * x->n_blocks * (x->storage_bits / 8));
    if (!pairs || !m || !plain || !factors)
        return false;
    for (uint32_t i = 0; i < n; i++)
        pairs[i] = (Qnn_ScaleOffset_t){x->scales[i], x->offsets[i]};
    m->bitwidth = t->quant.bits;
    m->mapping = mapping_of(&t->quant);
    plain->axis = m->axis = (int32_t)x->axis;
    plain->scaleOffsets = m->scaleOffsets = pairs;
    plain->numBlocksPerAxis = m->numBlocksPerAxis = x->n_blocks;
    plain->blockScaleBitwidth = m->blockScaleBitwidth = x->factor_bits;
    plain->blockScaleStorageType = m->blockScaleStorageType =
        x->storage_bits == 8 ? QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_8
                             : QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_16;
    plain->blocksScale8 = m->blocksScale8 = factors; // one place for both widths
    p->quantizationEncoding = (Qnn_QuantizationEncoding_t)t->encoding;
    if (t->encoding == QNN_QUANTIZATION_ENCODING_BLOCKWISE_EXPANSION)
        p->blockwiseExpansion = plain;
    else
        p->bwBlockwiseExpansionMappedEncoding = m;
    return true;
}

static bool per_block(const qrn_tensor *t, qrn_arena *a, Qnn_QuantizeParams_t *p) {
    if (t->expansion)
        return expansion(t, a, p);
    switch (t->encoding) {
    case QNN_QUANTIZATION_ENCODING_FLOAT_BLOCK:
    case QNN_QUANTIZATION_ENCODING_BW_FLOAT_BLOCK:
        return float_block(t, a, p);
    case QNN_QUANTIZATION_ENCODING_BW_BLOCK_MAPPED:
    case QNN_QUANTIZATION_ENCODING_BW_BLOCKWISE_EXPANSION_MAPPED:
        return mapped_block(t, a, p);
    default:
        p->quantizationEncoding = QNN_QUANTIZATION_ENCODING_BLOCK;
        p->blockEncoding = (Qnn_BlockEncoding_t){copy_block(t, a), copy_pairs(&t->quant, a)};
        return p->blockEncoding.blockSize && p->blockEncoding.scaleOffset;
    }
}

static qrn_status encoding(const qrn_tensor *t, qrn_arena *a, Qnn_QuantizeParams_t *p) {
    *p = (Qnn_QuantizeParams_t)QNN_QUANTIZE_PARAMS_INIT;
    if (t->quant.kind == QRN_QUANT_NONE)
        return QRN_OK;
    p->encodingDefinition = QNN_DEFINITION_DEFINED;
    bool done = true;
    if (t->quant.kind == QRN_QUANT_TENSOR)
        per_tensor(t, p);
    else
        done = t->quant.kind == QRN_QUANT_AXIS ? per_axis(t, a, p) : per_block(t, a, p);
    return done ? QRN_OK : no_memory(t);
}

static Qnn_TensorType_t type_of(const qrn_tensor *t) {
    static const uint8_t updateable[] = {
        [QRN_ROLE_INPUT] = QNN_TENSOR_TYPE_UPDATEABLE_APP_WRITE,
        [QRN_ROLE_OUTPUT] = QNN_TENSOR_TYPE_UPDATEABLE_APP_READ,
        [QRN_ROLE_INOUT] = QNN_TENSOR_TYPE_UPDATEABLE_APP_READWRITE,
        [QRN_ROLE_NATIVE] = QNN_TENSOR_TYPE_UPDATEABLE_NATIVE,
        [QRN_ROLE_STATIC] = QNN_TENSOR_TYPE_UPDATEABLE_STATIC,
    };
    static const uint8_t optional[] = {
        [QRN_ROLE_INPUT] = QNN_TENSOR_TYPE_OPTIONAL_APP_WRITE,
        [QRN_ROLE_OUTPUT] = QNN_TENSOR_TYPE_OPTIONAL_APP_READ,
        [QRN_ROLE_INOUT] = QNN_TENSOR_TYPE_OPTIONAL_APP_READWRITE,
    };
    if (t->updateable && t->role < sizeof updateable)
        return (Qnn_TensorType_t)updateable[t->role];
    if (t->optional_io && t->role < sizeof optional)
        return (Qnn_TensorType_t)optional[t->role];
    return (Qnn_TensorType_t)t->role; // the numbers are the API's
}

// What only the second version of the struct can say.
static qrn_status second_version(const qrn_tensor *t, qrn_arena *a, Qnn_Tensor_t *out) {
    out->version = QNN_TENSOR_VERSION_2;
    if (t->has_dynamic) {
        out->v2.isDynamicDimensions = qrn_arena_copy(a, t->dynamic, t->shape.rank);
        if (!out->v2.isDynamicDimensions)
            return no_memory(t);
    }
    if (t->format == QRN_FORMAT_SPARSE)
        out->v2.sparseParams =
            (Qnn_SparseParams_t){.type = QNN_SPARSE_LAYOUT_HYBRID_COO,
                                 .hybridCoo = {t->n_sparse_elements, t->n_sparse_dims}};
    return QRN_OK;
}

qrn_status qrn_tensor_describe(const qrn_tensor *t, qrn_arena *a, Qnn_Tensor_t *out) {
    *out = (Qnn_Tensor_t){.version = QNN_TENSOR_VERSION_1};
    if (t->has_dynamic || t->format == QRN_FORMAT_SPARSE)
        QRN_TRY(second_version(t, a, out));
    Qnn_TensorV1_t *v = &out->v1; // both versions agree in these fields
    v->id = t->id;
    v->name = qrn_arena_strdup(a, t->name);
    v->type = type_of(t);
    v->dataFormat = t->format;
    v->dataType = (Qnn_DataType_t)qrn_dtypes[t->dtype].code;
    v->rank = t->shape.rank;
    v->memType = QNN_TENSORMEMTYPE_RAW;
    if (t->shape.rank)
        v->dimensions = qrn_arena_copy(a, t->shape.dims, t->shape.rank * sizeof *v->dimensions);
    if (!v->name || (t->shape.rank && !v->dimensions))
        return no_memory(t);
    return encoding(t, a, &v->quantizeParams);
}
