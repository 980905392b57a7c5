// SPDX-License-Identifier: MIT
//
// Copies of encodings: a tensor of a graph under construction keeps its own, so that callers may
// build theirs on the stack.
#include "frontend/client/internal.h"

#include <string.h>

static void *copy(qc_graph *g, const void *src, size_t count, size_t size, bool *ok) {
    void *p = src ? qrn_arena_copy(g->arena, src, count * size) : NULL;
    if (src && !p)
        *ok = false;
    return p;
}

static size_t n_blocks(uint32_t rank, const uint32_t *dims, const uint32_t *block) {
    size_t n = 1;
    for (uint32_t i = 0; i < rank; i++)
        n *= block[i] ? (dims[i] + (size_t)block[i] - 1) / block[i] : 1;
    return n;
}

static bool copy_expansion(qc_graph *g, const uint32_t *dims, Qnn_QuantizeParams_t *q) {
    bool ok = true;
    Qnn_BlockwiseExpansion_t *e = copy(g, q->blockwiseExpansion, 1, sizeof *e, &ok);
    if (!e)
        return false;
    size_t n = dims[e->axis];
    e->scaleOffsets = copy(g, e->scaleOffsets, n, sizeof *e->scaleOffsets, &ok);
    n *= e->numBlocksPerAxis;
    if (e->blockScaleStorageType == QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_16)
        e->blocksScale16 = copy(g, e->blocksScale16, n, sizeof *e->blocksScale16, &ok);
    else
        e->blocksScale8 = copy(g, e->blocksScale8, n, sizeof *e->blocksScale8, &ok);
    q->blockwiseExpansion = e;
    return ok;
}

static bool axis_fits(const Qnn_QuantizeParams_t *q, uint32_t rank) {
    return q->quantizationEncoding != QNN_QUANTIZATION_ENCODING_BLOCKWISE_EXPANSION ||
           (q->blockwiseExpansion && q->blockwiseExpansion->axis >= 0 &&
            (uint32_t)q->blockwiseExpansion->axis < rank);
}

qrn_status qc_quant_copy(qc_graph *g, const char *tensor, const Qnn_QuantizeParams_t *src,
                         uint32_t rank, const uint32_t *dims, Qnn_QuantizeParams_t *out) {
    Qnn_QuantizeParams_t q = *src;
    if (!axis_fits(&q, rank))
        return QRN_FAIL(QRN_E_ARGUMENT, "tensor '%s': axis of the encoding out of range", tensor);
    bool ok = true;
    switch (q.quantizationEncoding) {
    case QNN_QUANTIZATION_ENCODING_UNDEFINED:
    case QNN_QUANTIZATION_ENCODING_SCALE_OFFSET:
    case QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET:
        break;
    case QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET: {
        Qnn_AxisScaleOffset_t *e = &q.axisScaleOffsetEncoding;
        e->scaleOffset = copy(g, e->scaleOffset, e->numScaleOffsets, sizeof *e->scaleOffset, &ok);
        break;
    }
    case QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET: {
        Qnn_BwAxisScaleOffset_t *e = &q.bwAxisScaleOffsetEncoding;
        e->scales = copy(g, e->scales, e->numElements, sizeof *e->scales, &ok);
        e->offsets = copy(g, e->offsets, e->numElements, sizeof *e->offsets, &ok);
        break;
    }
    case QNN_QUANTIZATION_ENCODING_BLOCK: {
        Qnn_BlockEncoding_t *e = &q.blockEncoding;
        size_t n = n_blocks(rank, dims, e->blockSize);
        e->blockSize = copy(g, e->blockSize, rank, sizeof *e->blockSize, &ok);
        e->scaleOffset = copy(g, e->scaleOffset, n, sizeof *e->scaleOffset, &ok);
        break;
    }
    case QNN_QUANTIZATION_ENCODING_BW_FLOAT_BLOCK: {
        Qnn_BwFloatBlockEncoding_t *e = &q.bwFloatBlockEncoding;
        size_t n = n_blocks(rank, dims, e->blockSize);
        e->blockSize = copy(g, e->blockSize, rank, sizeof *e->blockSize, &ok);
        e->floatScaleOffset = copy(g, e->floatScaleOffset, n, sizeof *e->floatScaleOffset, &ok);
        break;
    }
    case QNN_QUANTIZATION_ENCODING_BLOCKWISE_EXPANSION:
        ok = copy_expansion(g, dims, &q);
        break;
    default:
        return QRN_FAIL(QRN_E_UNSUPPORTED, "tensor '%s': encoding %d is not supported here", tensor,
                        (int)q.quantizationEncoding);
    }
    if (!ok)
        return qc_no_memory(tensor);
    *out = q;
    return QRN_OK;
}
