// SPDX-License-Identifier: MIT
//
// Static tensors of quantized weights beside float activations, and encodings that follow a
// permutation or lose their negative scales.
#include "frontend/onnx/emit/weights.h"

#include "base/mem.h"
#include "frontend/onnx/driver/internal.h"
#include "frontend/onnx/emit/permute.h"

#include <math.h>
#include <string.h>

static const uint32_t as_is[] = {0, 1}, swapped[] = {1, 0};

static bool is_signed(const ox_val *v) { return v->type == OX_I4 || v->type == OX_I8; }

bool ox_weights_are(const ox_val *v) {
    return v && v->data && v->enc && v->rank == 2 && ox_count(v) &&
           (is_signed(v) || v->type == OX_U4 || v->type == OX_U8);
}

// --- encodings

const ox_enc *ox_permuted_encoding(ox_import *im, const ox_val *v, const uint32_t *perm) {
    const ox_enc *from = v->enc;
    if (from->n == 1 && !from->block)
        return from;
    ox_enc *e = qrn_arena_copy(im->arena, from, sizeof *e);
    for (uint32_t d = 0; e && d < v->rank; d++)
        if (perm[d] == (uint32_t)from->axis)
            e->axis = (int32_t)d;
    if (!e || !from->block)
        return e;
    uint32_t dims[OX_MAX_RANK]; // of the scales
    memcpy(dims, v->dims, sizeof dims);
    dims[from->axis] = (dims[from->axis] + from->block - 1) / from->block;
    float *scales = qrn_arena_alloc(im->arena, from->n * sizeof *scales);
    int32_t *zeros = from->zeros ? qrn_arena_alloc(im->arena, from->n * sizeof *zeros) : NULL;
    if (!scales || (from->zeros && !zeros))
        return NULL;
    ox_permute(scales, from->scales, 32, v->rank, dims, perm);
    if (zeros)
        ox_permute(zeros, from->zeros, 32, v->rank, dims, perm);
    e->scales = scales;
    e->zeros = zeros;
    return e;
}

// Zero points when unsigned values become signed bytes.
static const ox_enc *signed_encoding(ox_import *im, const ox_val *v, const ox_enc *from) {
    ox_enc *e = qrn_arena_copy(im->arena, from, sizeof *e);
    int32_t *zeros = qrn_arena_alloc(im->arena, from->n * sizeof *zeros);
    int32_t half = is_signed(v) ? 0 : 1 << (ox_type_bits(v->type) - 1);
    if (!e || !zeros)
        return NULL;
    for (uint32_t i = 0; i < from->n; i++)
        zeros[i] = (from->zeros ? from->zeros[i] : 0) - half;
    e->zeros = zeros;
    return e;
}

// One scale for all as one for each channel, where the HTP wants that.
static const ox_enc *by_channel(ox_import *im, const ox_enc *from, uint32_t axis, uint32_t n) {
    ox_enc *e = qrn_arena_copy(im->arena, from, sizeof *e);
    float *scales = qrn_arena_alloc(im->arena, n * sizeof *scales);
    int32_t *zeros = qrn_arena_alloc(im->arena, n * sizeof *zeros);
    if (!e || !scales || !zeros)
        return NULL;
    for (uint32_t i = 0; i < n; i++) {
        scales[i] = from->scales[0];
        zeros[i] = from->zeros ? from->zeros[0] : 0;
    }
    *e = (ox_enc){.n = n, .axis = (int32_t)axis, .scales = scales, .zeros = zeros};
    return e;
}

static int32_t offset_of(const ox_enc *e, uint32_t i) { return e->zeros ? -e->zeros[i] : 0; }

// With a number of bits: BW_AXIS_SCALE_OFFSET or, in blocks, BW_FLOAT_BLOCK.
static qrn_status bw_params(ox_import *im, const ox_val *v, unsigned bits,
                            Qnn_QuantizeParams_t *q) {
    const ox_enc *e = v->enc;
    float *scales = qrn_arena_alloc(im->arena, e->n * sizeof *scales);
    int32_t *offsets = qrn_arena_alloc(im->arena, e->n * sizeof *offsets);
    uint32_t *block = qrn_arena_alloc(im->arena, v->rank * sizeof *block);
    Qnn_FloatScaleOffset_t *pairs = qrn_arena_alloc(im->arena, e->n * sizeof *pairs);
    if (!scales || !offsets || !block || !pairs)
        return ox_no_memory(im);
    for (uint32_t i = 0; i < e->n; i++) {
        scales[i] = e->scales[i];
        offsets[i] = offset_of(e, i);
        pairs[i] = (Qnn_FloatScaleOffset_t){
            e->scales[i], (float)((double)e->scales[i] * (double)offset_of(e, i))};
    }
    for (uint32_t i = 0; i < v->rank; i++)
        block[i] = i == (uint32_t)e->axis && e->block ? e->block : 1;
    *q = (Qnn_QuantizeParams_t)QNN_QUANTIZE_PARAMS_INIT;
    q->encodingDefinition = QNN_DEFINITION_DEFINED;
    if (e->block) {
        q->quantizationEncoding = QNN_QUANTIZATION_ENCODING_BW_FLOAT_BLOCK;
        q->bwFloatBlockEncoding = (Qnn_BwFloatBlockEncoding_t){bits, block, pairs};
    } else {
        q->quantizationEncoding = QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET;
        q->bwAxisScaleOffsetEncoding =
            (Qnn_BwAxisScaleOffset_t){bits, e->axis, e->n, scales, offsets};
    }
    return QRN_OK;
}

// Blocks of a matrix: which scale is that of block b of channel c.
typedef struct grid {
    const ox_enc *e;
    uint32_t channels, blocks;
} grid;

static float scale_at(const grid *g, uint32_t c, uint32_t b) {
    return g->e->scales[g->e->axis ? c * g->blocks + b : b * g->channels + c];
}

// Are the scales of channel c whole multiples of `base`, 1 to 15 times it?
static bool divides(const grid *g, uint32_t c, float base, uint8_t *factors) {
    for (uint32_t b = 0; b < g->blocks; b++) {
        double k = round((double)scale_at(g, c, b) / (double)base);
        if (!(k >= 1 && k <= 15) || (float)((double)base * k) != scale_at(g, c, b))
            return false;
        factors[b] = (uint8_t)k;
    }
    return true;
}

// The scale of channel c, of which those of its blocks are multiples; 0: there is none.
static float base_of(const grid *g, uint32_t c, uint8_t *factors) {
    float most = 0;
    for (uint32_t b = 0; b < g->blocks; b++)
        most = fmaxf(most, scale_at(g, c, b));
    for (int k = 1; k <= 15; k++) {
        float near = most / (float)k; // or, for products are rounded, one of its neighbours
        const float bases[] = {near, nextafterf(near, 0), nextafterf(near, INFINITY)};
        for (size_t i = 0; i < 3; i++)
            if (bases[i] > 0 && divides(g, c, bases[i], factors))
                return bases[i];
    }
    return 0;
}

// Scales of two levels; *done: they are such.
static qrn_status expansion_params(ox_import *im, const ox_val *v, Qnn_QuantizeParams_t *q,
                                   bool *done) {
    const ox_enc *e = v->enc;
    uint32_t channel = 1 - (uint32_t)e->axis, length = v->dims[e->axis];
    grid g = {e, v->dims[channel], length / e->block};
    *done = false;
    if (length % e->block)
        return QRN_OK;
    for (uint32_t i = 0; e->zeros && i < e->n; i++)
        if (e->zeros[i])
            return QRN_OK;
    Qnn_BlockwiseExpansion_t *x = qrn_arena_alloc(im->arena, sizeof *x);
    Qnn_ScaleOffset_t *pairs = qrn_arena_alloc(im->arena, g.channels * sizeof *pairs);
    uint8_t *factors = qrn_arena_alloc(im->arena, e->n);
    if (!x || !pairs || !factors)
        return ox_no_memory(im);
    for (uint32_t c = 0; c < g.channels; c++) {
        pairs[c] = (Qnn_ScaleOffset_t){base_of(&g, c, factors + (size_t)c * g.blocks), 0};
        if (pairs[c].scale <= 0)
            return QRN_OK;
    }
    *x = (Qnn_BlockwiseExpansion_t){.axis = (int32_t)channel,
                                    .scaleOffsets = pairs,
                                    .numBlocksPerAxis = g.blocks,
                                    .blockScaleBitwidth = 4,
                                    .blockScaleStorageType =
                                        QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_8,
                                    .blocksScale8 = factors};
    *q = (Qnn_QuantizeParams_t)QNN_QUANTIZE_PARAMS_INIT;
    q->encodingDefinition = QNN_DEFINITION_DEFINED;
    q->quantizationEncoding = QNN_QUANTIZATION_ENCODING_BLOCKWISE_EXPANSION;
    q->blockwiseExpansion = x;
    *done = true;
    return QRN_OK;
}

// The encoding of signed bytes of which `bits` count.
static qrn_status byte_params(ox_import *im, const ox_val *v, unsigned bits, bool expansion,
                              Qnn_QuantizeParams_t *q) {
    bool done = false;
    if (expansion && bits < 8 && v->enc->block)
        QRN_TRY(expansion_params(im, v, q, &done));
    if (done)
        return QRN_OK;
    return bits < 8 ? bw_params(im, v, bits, q) : ox_quantize_params(im, v, OX_ONNX, q);
}

qrn_status ox_weights_describe(ox_import *im, const ox_val *v, const ox_weights_form *f,
                               qc_tensor *out) {
    const uint32_t *perm = f->swap ? swapped : as_is;
    bool in_bytes = f->in_bytes;
    ox_val as = *v;
    unsigned bits = ox_type_bits(v->type);
    Qnn_QuantizeParams_t q;
    as.enc = f->swap ? ox_permuted_encoding(im, v, perm) : v->enc;
    as.dims[0] = v->dims[perm[0]];
    as.dims[1] = v->dims[perm[1]];
    uint32_t channel = perm[f->channel];
    if (in_bytes && as.enc)
        as.enc = signed_encoding(im, v, as.enc);
    if (in_bytes && as.enc && as.enc->n == 1 && !as.enc->block)
        as.enc = by_channel(im, as.enc, channel, as.dims[channel]);
    if (!as.enc)
        return ox_no_memory(im);
    if (in_bytes)
        as.type = OX_I8;
    if (in_bytes)
        QRN_TRY(byte_params(im, &as, bits, f->expansion, &q));
    else
        QRN_TRY(ox_quantize_params(im, &as, OX_ONNX, &q));
    *out = (qc_tensor){.t = QNN_TENSOR_INIT, .rank = 2, .dims = {as.dims[0], as.dims[1]}};
    out->t.v1.name = v->name;
    out->t.v1.type = QNN_TENSOR_TYPE_STATIC;
    out->t.v1.dataType = ox_qnn_type(im, &as);
    out->t.v1.rank = 2;
    out->t.v1.dimensions = out->dims;
    out->t.v1.quantizeParams = q;
    out->t.v1.memType = QNN_TENSORMEMTYPE_RAW;
    return QRN_OK;
}

// --- data

// Values one a byte, in the order asked for.
static uint8_t *bytes_of(const ox_val *v, const uint32_t *perm) {
    size_t n = ox_count(v);
    bool narrow = ox_type_bits(v->type) == 4;
    bool moves = perm != as_is;
    uint8_t *wide = narrow && moves ? qrn_alloc(n) : NULL, *out = qrn_alloc(n);
    if (out && !moves) {
        if (narrow)
            ox_unpack4(out, v->data, n);
        else
            memcpy(out, v->data, n);
    } else if (out && (wide || !narrow)) {
        if (narrow)
            ox_unpack4(wide, v->data, n);
        ox_permute(out, narrow ? wide : v->data, 8, v->rank, v->dims, perm);
    } else {
        qrn_free(out);
        out = NULL;
    }
    qrn_free(wide);
    return out;
}

// Sign-extended, or shifted to the middle.
static void to_signed(const ox_val *v, uint8_t *x, size_t n) {
    unsigned half = 1u << (ox_type_bits(v->type) - 1);
    for (size_t i = 0; i < n; i++)
        x[i] = (uint8_t)(is_signed(v) ? (x[i] ^ half) - half : x[i] - half);
}

static void *data_of(const ox_val *v, const uint32_t *perm, bool in_bytes) {
    size_t n = ox_count(v);
    uint8_t *x = bytes_of(v, perm);
    if (x && in_bytes)
        to_signed(v, x, n);
    if (!x || in_bytes || ox_type_bits(v->type) == 8)
        return x;
    uint8_t *packed = qrn_alloc((n + 1) / 2);
    if (packed)
        ox_pack4(packed, x, n);
    qrn_free(x);
    return packed;
}

qrn_status ox_weights_make(ox_import *im, ox_val *v, const ox_weights_form *f, qc_tensor **out) {
    bool swap = f->swap, in_bytes = f->in_bytes;
    uint32_t key = 1u << 30 | (uint32_t)f->expansion << 2 | (uint32_t)swap << 1 |
                   (uint32_t)in_bytes; // none of filter.c's
    qc_tensor like;
    if (v->permuted && v->permuted_by == key) {
        *out = v->permuted;
        return QRN_OK;
    }
    QRN_TRY(ox_weights_describe(im, v, f, &like));
    size_t bytes = (ox_count(v) * qc_dtype_bits(like.t.v1.dataType) + 7) / 8;
    bool move = swap || in_bytes;
    // Nobody looks at the values in a trial.
    void *moved = !move                      ? NULL
                  : im->graph->client->trial ? qrn_calloc(bytes)
                                             : data_of(v, swap ? swapped : as_is, in_bytes);
    if (move && !moved)
        return ox_no_memory(im);
    qrn_status s =
        qc_tensor_create(im->graph, v->name, QNN_TENSOR_TYPE_STATIC, like.t.v1.dataType, 2,
                         like.dims, &like.t.v1.quantizeParams, moved ? moved : v->data, bytes, out);
    qrn_free(moved);
    QRN_TRY(s);
    v->permuted = *out;
    v->permuted_by = key;
    return QRN_OK;
}

// --- scales that are negative or 0

static bool all_positive(const ox_enc *e) {
    for (uint32_t i = 0; i < e->n; i++)
        if (e->scales[i] <= 0)
            return false;
    return true;
}

// Consecutive elements whose groups are known: all of one, or each of the next one.
typedef struct run {
    size_t first, n; // elements
    size_t group;    // of the first
    size_t step;     // to the group of the next element: 0 or 1
} run;

// The run that begins with element `first`.
static run run_at(const ox_val *v, size_t first) {
    const ox_enc *e = v->enc;
    size_t inner = 1, len = v->dims[e->axis];
    if (e->n == 1 && !e->block)
        return (run){first, ox_count(v) - first, 0, 0};
    for (uint32_t d = (uint32_t)e->axis + 1; d < v->rank; d++)
        inner *= v->dims[d];
    size_t at = first / inner % len, group = ox_group_of(v, first);
    if (inner > 1)
        return (run){first, inner, group, e->block ? 1 : 0};
    if (!e->block)
        return (run){first, len - at, group, 1};
    size_t left = e->block - at % e->block;
    return (run){first, left < len - at ? left : len - at, group, 0};
}

// q and z become m - q and m - z: m is 0 where that keeps them in range, so that encodings without
// zero points stay so; else the sum of the type's lowest and highest value.
static void find_mirrors(const ox_val *v, const uint8_t *x, int32_t *mirror) {
    const ox_enc *e = v->enc;
    unsigned half = 1u << (ox_type_bits(v->type) - 1);
    int32_t sum = is_signed(v) ? -1 : 2 * (int32_t)half - 1;
    run r;
    for (uint32_t g = 0; g < e->n; g++)
        mirror[g] = is_signed(v) && !(e->zeros && e->zeros[g]) ? 0 : sum;
    for (size_t i = 0; is_signed(v) && i < ox_count(v); i += r.n) {
        r = run_at(v, i);
        for (size_t k = 0; k < r.n; k++)
            if (x[i + k] == half) // the lowest, which has no positive twin
                mirror[r.group + k * r.step] = sum;
    }
}

// Quantized values of one group.
static void flip_run(const ox_val *v, size_t group, uint8_t *x, size_t n, int32_t mirror) {
    const ox_enc *e = v->enc;
    unsigned bits = ox_type_bits(v->type), mask = (1u << bits) - 1;
    int32_t zero = e->zeros ? e->zeros[group] : 0;
    if (e->scales[group] > 0)
        return;
    for (size_t i = 0; i < n; i++) // modulo 2^bits a signed value and its bits are the same
        x[i] = (uint8_t)((uint32_t)(e->scales[group] < 0 ? mirror - x[i] : zero) & mask);
}

static void flip(const ox_val *v, uint8_t *x, const int32_t *mirror) {
    run r;
    for (size_t i = 0; i < ox_count(v); i += r.n) {
        r = run_at(v, i);
        for (size_t k = 0; k < (r.step ? r.n : 1); k++)
            flip_run(v, r.group + k, x + i + k, r.step ? 1 : r.n, mirror[r.group + k]);
    }
}

static ox_enc *flipped_encoding(ox_import *im, const ox_enc *from, const int32_t *mirror) {
    ox_enc *e = qrn_arena_copy(im->arena, from, sizeof *e);
    float *scales = qrn_arena_alloc(im->arena, from->n * sizeof *scales);
    int32_t *zeros = qrn_arena_alloc(im->arena, from->n * sizeof *zeros);
    if (!e || !scales || !zeros)
        return NULL;
    for (uint32_t g = 0; g < from->n; g++) {
        int32_t zero = from->zeros ? from->zeros[g] : 0;
        scales[g] = from->scales[g] == 0 ? 1 : fabsf(from->scales[g]);
        zeros[g] = from->scales[g] < 0 ? mirror[g] - zero : zero;
    }
    e->scales = scales;
    e->zeros = zeros;
    return e;
}

qrn_status ox_positive_scales(ox_import *im, ox_val *v) {
    if (!v->data || !v->enc || ox_type_bits(v->type) > 8 || !ox_count(v) || all_positive(v->enc))
        return QRN_OK;
    size_t n = ox_count(v);
    bool narrow = ox_type_bits(v->type) == 4;
    int32_t *mirror = qrn_alloc(v->enc->n * sizeof *mirror);
    uint8_t *x = qrn_alloc(n), *out = qrn_arena_alloc(im->arena, narrow ? (n + 1) / 2 : n);
    ox_enc *e = NULL;
    if (mirror && x && out) {
        if (narrow)
            ox_unpack4(x, v->data, n);
        else
            memcpy(x, v->data, n);
        find_mirrors(v, x, mirror);
        flip(v, x, mirror);
        e = flipped_encoding(im, v->enc, mirror);
        if (narrow)
            ox_pack4(out, x, n);
        else
            memcpy(out, x, n);
    }
    qrn_free(mirror);
    qrn_free(x);
    if (!e)
        return ox_no_memory(im);
    v->data = out;
    v->enc = e;
    return QRN_OK;
}
