// SPDX-License-Identifier: MIT
//
// The API's fourteen encodings, checked and brought to the four kinds of base/quant.h.
//   real = scale * (q + offset + shift) + real_offset
// Codebooks (VECTOR), MX formats and alternative encodings (ARRAY_OF) are checked, then rejected.
#include "api/tensor.h"

#include "base/mem.h"

#include <math.h>

#define ALL_BITS UINT32_MAX // of the container

// One encoding, still in the client's memory: pairs lie `stride` bytes apart.
typedef struct source {
    uint32_t bits;            // bits of a value that count, or ALL_BITS
    uint32_t mapping;         // Qnn_QuantizationEncodingMapping_t
    const void *scales;       // float
    const void *offsets;      // int32_t, NULL = all 0
    const void *real_offsets; // float, NULL = all 0
    size_t stride;
} source;

static void set_pairs(source *s, const Qnn_ScaleOffset_t *pairs) {
    s->scales = pairs ? &pairs->scale : NULL;
    s->offsets = pairs ? &pairs->offset : NULL;
    s->stride = sizeof(*pairs);
}

static void set_float_pairs(source *s, const Qnn_FloatScaleOffset_t *pairs) {
    s->scales = pairs ? &pairs->scale : NULL;
    s->real_offsets = pairs ? &pairs->offset : NULL;
    s->stride = sizeof(*pairs);
}

static const void *at(const void *base, size_t stride, size_t i) {
    return (const char *)base + stride * i;
}
static float float_at(const void *base, size_t stride, size_t i) {
    return *(const float *)at(base, stride, i);
}
static int32_t int_at(const void *base, size_t stride, size_t i) {
    return *(const int32_t *)at(base, stride, i);
}

// Bit width and mapping; sets bits and shift of the tensor's encoding.
static qrn_status set_bits(const source *s, const qrn_site *w, qrn_tensor *t) {
    uint32_t container = qrn_dtypes[t->dtype].bits;
    uint32_t bits = s->bits == ALL_BITS ? container : s->bits;
    if (bits == 0 || bits > container)
        return QRN_SITE_FAIL(w, QRN_E_TENSOR, "encoding of %u bits in data type %s of %u bits",
                             bits, qrn_dtypes[t->dtype].token, container);
    t->quant.bits = (uint8_t)bits;
    bool is_signed = qrn_dtypes[t->dtype].cls == QRN_CLASS_SFIXED;
    switch (s->mapping) {
    case QNN_QUANTIZATION_ENCODING_MAPPING_STANDARD_SYMMETRIC:
        t->quant.shift = 0.0f;
        return QRN_OK;
    case QNN_QUANTIZATION_ENCODING_MAPPING_ASYMMETRIC_PLUS_ONE:
        t->quant.shift = 1.0f;
        return QRN_OK;
    case QNN_QUANTIZATION_ENCODING_MAPPING_LINEAR_SYMMETRIC_EXCLUDE_ZERO:
        t->quant.shift = is_signed ? 0.5f : 0.5f - ldexpf(1.0f, (int)bits - 1);
        return QRN_OK;
    default:
        return QRN_SITE_FAIL(w, QRN_E_TENSOR, "encoding mapping %u, allowed 0, 1, 2", s->mapping);
    }
}

// A scale of 0 is a bias that takes its scale from input and weights, or a channel of zeros.
static qrn_status check_scale(const qrn_site *w, const qrn_tensor *t, float scale, size_t i) {
    bool zero_fits = t->role == QRN_ROLE_STATIC || qrn_dtypes[t->dtype].bits == 32;
    if (isfinite(scale) && (scale > 0.0f || (scale == 0.0f && zero_fits)))
        return QRN_OK;
    return QRN_SITE_FAIL(w, QRN_E_TENSOR, "scale %zu of the encoding is %g, expected above 0", i,
                         (double)scale);
}

static qrn_status per_tensor(const source *s, const qrn_site *w, qrn_tensor *t) {
    QRN_TRY(set_bits(s, w, t));
    QRN_TRY(check_scale(w, t, float_at(s->scales, 0, 0), 0));
    t->quant.kind = QRN_QUANT_TENSOR;
    t->quant.scale = float_at(s->scales, 0, 0);
    t->quant.offset = int_at(s->offsets, 0, 0);
    return QRN_OK;
}

// A real offset that is a whole number of steps, as integer zero points become in FLOAT_BLOCK.
static bool is_whole(float scale, float real, int32_t *steps) {
    double n = round((double)real / (double)scale);
    *steps = fabs(n) <= 65536.0 ? (int32_t)n : 0;
    return fabs(n) <= 65536.0 && (float)((double)scale * n) == real;
}

// Are all real offsets whole? Then they are offsets as in BLOCK, for which there are kernels.
static bool all_whole(const source *s, size_t n) {
    int32_t steps;
    for (size_t i = 0; s->real_offsets && i < n; i++)
        if (!is_whole(float_at(s->scales, s->stride, i), float_at(s->real_offsets, s->stride, i),
                      &steps))
            return false;
    return s->real_offsets != NULL;
}

// Checks and copies n groups into arrays of the arena, of which each `share` neighbours have one
// entry in the source; arrays that hold only zeros are left out.
static qrn_status copy_groups(const source *s, size_t n, size_t share, const qrn_site *w,
                              qrn_arena *a, qrn_tensor *t) {
    bool has_offset = false, has_real = false;
    for (size_t i = 0; i < n / share; i++) {
        QRN_TRY(check_scale(w, t, float_at(s->scales, s->stride, i), i));
        has_offset |= s->offsets && int_at(s->offsets, s->stride, i) != 0;
        float real = s->real_offsets ? float_at(s->real_offsets, s->stride, i) : 0.0f;
        if (!isfinite(real))
            return QRN_SITE_FAIL(w, QRN_E_TENSOR, "offset %zu of the encoding is not finite", i);
        has_real |= real != 0.0f;
    }
    bool whole = has_real && all_whole(s, n / share);
    has_offset |= whole;
    has_real &= !whole;
    float *scales = qrn_arena_alloc(a, n * sizeof(float));
    int32_t *offsets = has_offset ? qrn_arena_alloc(a, n * sizeof(int32_t)) : NULL;
    float *reals = has_real ? qrn_arena_alloc(a, n * sizeof(float)) : NULL;
    if (!scales || (has_offset && !offsets) || (has_real && !reals))
        return QRN_SITE_FAIL(w, QRN_E_MEM, "out of memory for %zu scales", n);
    for (size_t i = 0; i < n; i++) {
        scales[i] = float_at(s->scales, s->stride, i / share);
        if (whole)
            is_whole(scales[i], float_at(s->real_offsets, s->stride, i / share), &offsets[i]);
        else if (offsets)
            offsets[i] = int_at(s->offsets, s->stride, i / share);
        if (reals)
            reals[i] = float_at(s->real_offsets, s->stride, i / share);
    }
    t->quant.scales = scales;
    t->quant.offsets = offsets;
    t->quant.real_offsets = reals;
    t->quant.n_groups = (uint32_t)n;
    return QRN_OK;
}

static qrn_status check_axis(int32_t axis, const qrn_site *w, const qrn_tensor *t) {
    if (axis < 0 || (uint32_t)axis >= t->shape.rank)
        return QRN_SITE_FAIL(w, QRN_E_TENSOR, "encoding axis %d of a tensor of rank %u", axis,
                             t->shape.rank);
    return QRN_OK;
}

// The bias of a transposed convolution with groups may come with the scales of its weights, one for
// each channel of a group: ExecuTorch then means each of them for as many neighbours as there are
// groups.
static bool scales_are_shared(const qrn_tensor *t, uint32_t n) {
    return t->dtype == QRN_DTYPE_SQ32 && t->shape.rank == 1 && n > 0 && n < t->shape.dims[0] &&
           t->shape.dims[0] % n == 0;
}

static qrn_status per_axis(const source *s, int32_t axis, uint32_t n, const qrn_site *w,
                           qrn_arena *a, qrn_tensor *t) {
    QRN_TRY(check_axis(axis, w, t));
    uint32_t size = t->shape.dims[axis];
    if (n != size && !scales_are_shared(t, n))
        return QRN_SITE_FAIL(w, QRN_E_TENSOR, "%u scales for axis %d of size %u", n, axis, size);
    if (!s->scales)
        return QRN_SITE_FAIL(w, QRN_E_TENSOR, "encoding without scales");
    QRN_TRY(set_bits(s, w, t));
    QRN_TRY(copy_groups(s, size, n ? size / n : 1, w, a, t));
    t->quant.kind = QRN_QUANT_AXIS;
    t->quant.axis = (uint8_t)axis;
    return QRN_OK;
}

static qrn_status per_block(const source *s, const uint32_t *block, const qrn_site *w, qrn_arena *a,
                            qrn_tensor *t) {
    if (!block || !s->scales)
        return QRN_SITE_FAIL(w, QRN_E_TENSOR, "block encoding without %s",
                             block ? "scales" : "block sizes");
    size_t n = 1; // at most the number of elements, which was found to be addressable
    for (uint32_t i = 0; i < t->shape.rank; i++) {
        if (block[i] == 0)
            return QRN_SITE_FAIL(w, QRN_E_TENSOR,
                                 "size of the encoding's block is 0 in dimension %u", i);
        n *= (t->shape.dims[i] - 1) / block[i] + 1;
        t->quant.block[i] = block[i];
    }
    if (n > UINT32_MAX)
        return QRN_SITE_FAIL(w, QRN_E_TENSOR_UNSUPPORTED, "encoding of %zu blocks", n);
    QRN_TRY(set_bits(s, w, t));
    QRN_TRY(copy_groups(s, n, 1, w, a, t));
    t->quant.kind = QRN_QUANT_BLOCK;
    return QRN_OK;
}

// Two levels: a float pair per index of the axis and a small integer factor per block of its slice.
typedef struct expansion {
    source own; // bits, mapping; scales and offsets: one pair per index of the axis
    int32_t axis;
    uint32_t n_blocks;       // per index of the axis
    uint32_t factor_bits;    // bits of a factor that count
    const uint8_t *factors8; // one of the two: [axis index][block]
    const uint16_t *factors16;
} expansion;

static uint32_t factor_at(const expansion *e, size_t i) {
    if (e->factors8)
        return e->factors8[i];
    return e->factors16 ? e->factors16[i] : 0;
}

// Blocks run along the innermost dimension that is not the axis (the input channels of a filter).
static qrn_status check_expansion(const expansion *e, const qrn_site *w, const qrn_tensor *t,
                                  uint32_t *along) {
    QRN_TRY(check_axis(e->axis, w, t));
    uint32_t axis = (uint32_t)e->axis, rank = t->shape.rank;
    uint32_t storage_bits = e->factors8 ? 8 : 16;
    if (!e->own.scales || (!e->factors8 && !e->factors16))
        return QRN_SITE_FAIL(w, QRN_E_TENSOR, "block expansion without %s",
                             e->own.scales ? "block scales (8 or 16 bits)" : "scales");
    if (e->factor_bits == 0 || e->factor_bits > storage_bits)
        return QRN_SITE_FAIL(w, QRN_E_TENSOR, "block scales of %u bits in storage of %u bits",
                             e->factor_bits, storage_bits);
    *along = axis == rank - 1 ? (rank > 1 ? rank - 2 : 0) : rank - 1;
    uint32_t size = *along == axis ? 1 : t->shape.dims[*along];
    if (e->n_blocks == 0 || size % e->n_blocks)
        return QRN_SITE_FAIL(w, QRN_E_TENSOR, "%u blocks do not divide dimension %u of size %u",
                             e->n_blocks, *along, size);
    size_t n = (size_t)t->shape.dims[axis] * e->n_blocks;
    for (size_t i = 0; i < n; i++)
        if (factor_at(e, i) > 1u << e->factor_bits)
            return QRN_SITE_FAIL(w, QRN_E_TENSOR, "block scale %zu is %u, more than %u bits", i,
                                 factor_at(e, i), e->factor_bits);
    return QRN_OK;
}

// Keeps the two levels beside their products.
static qrn_status keep_expansion(const expansion *e, const qrn_site *w, qrn_arena *a,
                                 qrn_tensor *t) {
    uint32_t n = t->shape.dims[e->axis], storage = e->factors8 ? 8 : 16;
    qrn_expansion *x = qrn_arena_alloc(a, sizeof(*x));
    float *scales = qrn_arena_alloc(a, n * sizeof(*scales));
    int32_t *offsets = qrn_arena_alloc(a, n * sizeof(*offsets));
    const void *from = e->factors8 ? (const void *)e->factors8 : (const void *)e->factors16;
    void *factors = qrn_arena_copy(a, from, (size_t)n * e->n_blocks * (storage / 8));
    if (!x || !scales || !offsets || !factors)
        return QRN_SITE_FAIL(w, QRN_E_MEM, "out of memory for %u scales", n);
    for (uint32_t i = 0; i < n; i++) {
        scales[i] = float_at(e->own.scales, e->own.stride, i);
        offsets[i] = int_at(e->own.offsets, e->own.stride, i);
    }
    *x = (qrn_expansion){.axis = (uint32_t)e->axis,
                         .n_blocks = e->n_blocks,
                         .factor_bits = e->factor_bits,
                         .storage_bits = storage,
                         .scales = scales,
                         .offsets = offsets,
                         .factors = factors};
    t->expansion = x;
    return QRN_OK;
}

static qrn_status expanded(const expansion *e, const qrn_site *w, qrn_arena *a, qrn_tensor *t) {
    uint32_t along = 0;
    QRN_TRY(check_expansion(e, w, t, &along));
    uint32_t axis = (uint32_t)e->axis, n_axis = t->shape.dims[axis];
    size_t n = (size_t)n_axis * e->n_blocks;
    for (uint32_t i = 0; i < n_axis; i++)
        QRN_TRY(check_scale(w, t, float_at(e->own.scales, e->own.stride, i), i));
    QRN_TRY(set_bits(&e->own, w, t));
    float *scales = qrn_arena_alloc(a, n * sizeof(float));
    int32_t *offsets = qrn_arena_alloc(a, n * sizeof(int32_t));
    if (!scales || !offsets)
        return QRN_SITE_FAIL(w, QRN_E_MEM, "out of memory for %zu scales", n);
    bool axis_outer = axis < along;
    for (uint32_t i = 0; i < n_axis; i++) {
        for (uint32_t b = 0; b < e->n_blocks; b++) {
            size_t from = (size_t)i * e->n_blocks + b;
            size_t to = axis_outer ? from : (size_t)b * n_axis + i;
            scales[to] = float_at(e->own.scales, e->own.stride, i) * (float)factor_at(e, from);
            offsets[to] = int_at(e->own.offsets, e->own.stride, i);
            QRN_TRY(check_scale(w, t, scales[to], from)); // may be too large
        }
    }
    for (uint32_t i = 0; i < t->shape.rank; i++)
        t->quant.block[i] = i == axis    ? 1
                            : i == along ? t->shape.dims[i] / e->n_blocks
                                         : t->shape.dims[i];
    t->quant.kind = QRN_QUANT_BLOCK;
    t->quant.scales = scales;
    t->quant.offsets = offsets;
    t->quant.n_groups = (uint32_t)n;
    return keep_expansion(e, w, a, t);
}

static qrn_status mapped_expansion(const Qnn_BwBlockwiseExpansionMapped_t *x, const qrn_site *w,
                                   qrn_arena *a, qrn_tensor *t) {
    bool is8 = x->blockScaleStorageType == QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_8;
    bool is16 = x->blockScaleStorageType == QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_16;
    expansion e = {.own = {.bits = x->bitwidth, .mapping = (uint32_t)x->mapping},
                   .axis = x->axis,
                   .n_blocks = x->numBlocksPerAxis,
                   .factor_bits = x->blockScaleBitwidth,
                   .factors8 = is8 ? x->blocksScale8 : NULL,
                   .factors16 = is16 ? x->blocksScale16 : NULL};
    set_pairs(&e.own, x->scaleOffsets);
    return expanded(&e, w, a, t);
}

static qrn_status plain_expansion(const Qnn_BlockwiseExpansion_t *x, const qrn_site *w,
                                  qrn_arena *a, qrn_tensor *t) {
    Qnn_BwBlockwiseExpansionMapped_t m = {.bitwidth = ALL_BITS,
                                          .mapping =
                                              QNN_QUANTIZATION_ENCODING_MAPPING_STANDARD_SYMMETRIC,
                                          .axis = x->axis,
                                          .scaleOffsets = x->scaleOffsets,
                                          .numBlocksPerAxis = x->numBlocksPerAxis,
                                          .blockScaleBitwidth = x->blockScaleBitwidth,
                                          .blockScaleStorageType = x->blockScaleStorageType,
                                          .blocksScale8 = x->blocksScale8};
    return mapped_expansion(&m, w, a, t);
}

static qrn_status vector_form(const Qnn_VectorEncoding_t *v, const qrn_site *w,
                              const qrn_tensor *t) {
    QRN_TRY(check_axis(v->bwAxisScaleOffset.axis, w, t));
    if (!v->bwAxisScaleOffset.scales || v->rowsPerBlock == 0 || v->columnsPerBlock == 0 ||
        v->vectorDimension == 0 || v->vectorStride == 0 || v->indexBitwidth == 0)
        return QRN_SITE_FAIL(w, QRN_E_TENSOR, "codebook encoding with a size of 0 or no scales");
    return QRN_SITE_FAIL(w, QRN_E_TENSOR_UNSUPPORTED, "codebook encodings are not supported");
}

static qrn_status micro_form(const Qnn_MicroscalingEncoding_t *m, const qrn_site *w,
                             const qrn_tensor *t) {
    if (m->valueEncoding < QNN_FLOAT_ENCODING_MXFP8_E5M2 ||
        m->valueEncoding > QNN_FLOAT_ENCODING_MXFP4_E2M1)
        return QRN_SITE_FAIL(w, QRN_E_TENSOR, "MX element format %d, allowed 0 to 4",
                             (int)m->valueEncoding);
    if (m->blockRank != t->shape.rank || !m->blockDimensions || m->blockCount == 0 ||
        !m->blockScales8)
        return QRN_SITE_FAIL(w, QRN_E_TENSOR, "MX encoding without blocks of the tensor's rank %u",
                             t->shape.rank);
    return QRN_SITE_FAIL(w, QRN_E_TENSOR_UNSUPPORTED, "MX encodings are not supported");
}

static qrn_status array_form(const Qnn_ArrayOf_t *x, const qrn_site *w) {
    if (x->numElements == 0 || !x->vectorElements || !x->indexTensor)
        return QRN_SITE_FAIL(w, QRN_E_TENSOR,
                             "array of encodings without elements or index tensor");
    return QRN_SITE_FAIL(w, QRN_E_TENSOR_UNSUPPORTED, "arrays of encodings are not supported");
}

static qrn_status block_forms(const Qnn_QuantizeParams_t *q, const qrn_site *w, qrn_arena *a,
                              qrn_tensor *t) {
    source s = {.bits = ALL_BITS};
    switch (q->quantizationEncoding) {
    case QNN_QUANTIZATION_ENCODING_BLOCK:
        set_pairs(&s, q->blockEncoding.scaleOffset);
        return per_block(&s, q->blockEncoding.blockSize, w, a, t);
    case QNN_QUANTIZATION_ENCODING_BW_BLOCK_MAPPED:
        s.bits = q->bwBlockMappedEncoding->bitwidth;
        s.mapping = (uint32_t)q->bwBlockMappedEncoding->mapping;
        set_pairs(&s, q->bwBlockMappedEncoding->scaleOffset);
        return per_block(&s, q->bwBlockMappedEncoding->blockSize, w, a, t);
    case QNN_QUANTIZATION_ENCODING_FLOAT_BLOCK:
        set_float_pairs(&s, q->floatBlockEncoding.floatScaleOffset);
        return per_block(&s, q->floatBlockEncoding.blockSize, w, a, t);
    default: // BW_FLOAT_BLOCK
        s.bits = q->bwFloatBlockEncoding.bitwidth;
        set_float_pairs(&s, q->bwFloatBlockEncoding.floatScaleOffset);
        return per_block(&s, q->bwFloatBlockEncoding.blockSize, w, a, t);
    }
}

static qrn_status axis_forms(const Qnn_QuantizeParams_t *q, const qrn_site *w, qrn_arena *a,
                             qrn_tensor *t) {
    source s = {.bits = ALL_BITS, .stride = sizeof(float)};
    if (q->quantizationEncoding == QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET) {
        const Qnn_AxisScaleOffset_t *x = &q->axisScaleOffsetEncoding;
        set_pairs(&s, x->scaleOffset);
        return per_axis(&s, x->axis, x->numScaleOffsets, w, a, t);
    }
    if (q->quantizationEncoding == QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET) {
        const Qnn_BwAxisScaleOffset_t *x = &q->bwAxisScaleOffsetEncoding;
        s.bits = x->bitwidth;
        s.scales = x->scales;
        s.offsets = x->offsets;
        return per_axis(&s, x->axis, x->numElements, w, a, t);
    }
    const Qnn_BwAxisScaleOffsetMapped_t *x = q->bwAxisScaleOffsetMappedEncoding;
    s.bits = x->bitwidth;
    s.mapping = (uint32_t)x->mapping;
    s.scales = x->scales;
    s.offsets = x->offsets;
    return per_axis(&s, x->axis, x->numElements, w, a, t);
}

// Encodings that the union holds by pointer.
static bool is_by_pointer(Qnn_QuantizationEncoding_t e) {
    switch (e) {
    case QNN_QUANTIZATION_ENCODING_BLOCKWISE_EXPANSION:
    case QNN_QUANTIZATION_ENCODING_VECTOR:
    case QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET_MAPPED:
    case QNN_QUANTIZATION_ENCODING_BW_BLOCK_MAPPED:
    case QNN_QUANTIZATION_ENCODING_BW_BLOCKWISE_EXPANSION_MAPPED:
    case QNN_QUANTIZATION_ENCODING_MICROSCALING:
    case QNN_QUANTIZATION_ENCODING_ARRAY_OF:
        return true;
    default:
        return false;
    }
}

static qrn_status fixed_point(const Qnn_QuantizeParams_t *q, const qrn_site *w, qrn_arena *a,
                              qrn_tensor *t) {
    if (is_by_pointer(q->quantizationEncoding) && !q->arrayOfEncoding)
        return QRN_SITE_FAIL(w, QRN_E_TENSOR, "encoding %d without its description",
                             (int)q->quantizationEncoding);
    source s = {.bits = ALL_BITS};
    switch (q->quantizationEncoding) {
    case QNN_QUANTIZATION_ENCODING_SCALE_OFFSET:
        s.scales = &q->scaleOffsetEncoding.scale;
        s.offsets = &q->scaleOffsetEncoding.offset;
        return per_tensor(&s, w, t);
    case QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET:
        s.bits = q->bwScaleOffsetEncoding.bitwidth;
        s.scales = &q->bwScaleOffsetEncoding.scale;
        s.offsets = &q->bwScaleOffsetEncoding.offset;
        return per_tensor(&s, w, t);
    case QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET:
    case QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET:
    case QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET_MAPPED:
        return axis_forms(q, w, a, t);
    case QNN_QUANTIZATION_ENCODING_BLOCK:
    case QNN_QUANTIZATION_ENCODING_BW_BLOCK_MAPPED:
    case QNN_QUANTIZATION_ENCODING_FLOAT_BLOCK:
    case QNN_QUANTIZATION_ENCODING_BW_FLOAT_BLOCK:
        return block_forms(q, w, a, t);
    case QNN_QUANTIZATION_ENCODING_BLOCKWISE_EXPANSION:
        return plain_expansion(q->blockwiseExpansion, w, a, t);
    case QNN_QUANTIZATION_ENCODING_BW_BLOCKWISE_EXPANSION_MAPPED:
        return mapped_expansion(q->bwBlockwiseExpansionMappedEncoding, w, a, t);
    case QNN_QUANTIZATION_ENCODING_VECTOR:
        return vector_form(q->vectorEncoding, w, t);
    case QNN_QUANTIZATION_ENCODING_MICROSCALING:
        return micro_form(q->microScalingEncoding, w, t);
    case QNN_QUANTIZATION_ENCODING_ARRAY_OF:
        return array_form(q->arrayOfEncoding, w);
    default:
        return QRN_SITE_FAIL(w, QRN_E_TENSOR, "encoding %d, allowed 0 to 13",
                             (int)q->quantizationEncoding);
    }
}

qrn_status qrn_quant_parse(const Qnn_QuantizeParams_t *src, const qrn_site *w, qrn_arena *a,
                           qrn_tensor *t) {
    t->quant = (qrn_quant){.kind = QRN_QUANT_NONE, .bits = qrn_dtypes[t->dtype].bits};
    t->encoding = (uint32_t)QNN_QUANTIZATION_ENCODING_UNDEFINED;
    if (!qrn_dtype_is_fixed(t->dtype)) {
        // Plain numbers keep no encoding. One that would change how values read is not ignored.
        if (src->encodingDefinition == QNN_DEFINITION_DEFINED &&
            src->quantizationEncoding != QNN_QUANTIZATION_ENCODING_SCALE_OFFSET &&
            src->quantizationEncoding != QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET &&
            src->quantizationEncoding != QNN_QUANTIZATION_ENCODING_UNDEFINED)
            return QRN_SITE_FAIL(w, QRN_E_TENSOR_UNSUPPORTED, "encoding %d on data type %s",
                                 (int)src->quantizationEncoding, qrn_dtypes[t->dtype].token);
        return QRN_OK;
    }
    if (src->encodingDefinition == QNN_DEFINITION_UNDEFINED)
        return QRN_OK;
    if (src->encodingDefinition == QNN_DEFINITION_IMPL_GENERATED)
        return QRN_SITE_FAIL(w, QRN_E_TENSOR_UNSUPPORTED,
                             "data type %s with an encoding left to the library, expected a "
                             "defined one",
                             qrn_dtypes[t->dtype].token);
    if (src->encodingDefinition != QNN_DEFINITION_DEFINED)
        return QRN_SITE_FAIL(w, QRN_E_TENSOR, "encoding definition %d",
                             (int)src->encodingDefinition);
    t->encoding = (uint32_t)src->quantizationEncoding;
    return fixed_point(src, w, a, t);
}
