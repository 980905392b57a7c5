// SPDX-License-Identifier: MIT
//
// Static tensors of constant filters.
#include "frontend/onnx/emit/filter.h"

#include "base/mem.h"
#include "frontend/onnx/driver/internal.h"
#include "frontend/onnx/emit/permute.h"

#include <string.h>

static ox_val *value(const ox_import *im, const ox_node *n, uint32_t i) {
    return i < n->n_in && n->in[i][0] ? ox_scope_find(im->scope, n->in[i]) : NULL;
}

// Position of the axis that has dimension `axis` of v after permuting.
static uint32_t new_axis(const uint32_t *perm, uint32_t rank, uint32_t axis, uint32_t lead) {
    for (uint32_t i = 0; i < rank; i++)
        if (perm[i] == axis)
            return i + lead;
    return 0;
}

// Data of v permuted into a new buffer of v's own type.
static void *permuted_data(const ox_val *v, const void *data, unsigned bits, const uint32_t *perm) {
    size_t n = ox_count(v);
    void *out = qrn_alloc((n * bits + 7) / 8);
    if (!out || bits >= 8) {
        if (out)
            ox_permute(out, data, bits, v->rank, v->dims, perm);
        return out;
    }
    uint8_t *wide = qrn_alloc(n), *moved = qrn_alloc(n);
    if (wide && moved) {
        ox_unpack4(wide, data, n);
        ox_permute(moved, wide, 8, v->rank, v->dims, perm);
        ox_pack4(out, moved, n);
    } else {
        qrn_free(out);
        out = NULL;
    }
    qrn_free(wide);
    qrn_free(moved);
    return out;
}

static bool is_identity(const uint32_t *perm, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (perm[i] != i)
            return false;
    return true;
}

// What distinguishes one permutation of a constant from another.
static uint32_t key_of(const uint32_t *perm, uint32_t n, uint32_t lead) {
    uint32_t key = lead + 1;
    for (uint32_t i = 0; i < n; i++)
        key = key * OX_MAX_RANK + perm[i];
    return key;
}

// The HTP has 4-bit weights in bytes, with the number of bits in their encoding: so its table lists
// them for every activation, and so other clients send them.
static bool in_bytes(const ox_import *im, const ox_val *v) {
    return v->type == OX_I4 && v->enc && !v->enc->block && im->graph->client->is_htp;
}

static qrn_status encode_in_bytes(ox_import *im, const ox_val *v, Qnn_QuantizeParams_t *q) {
    const Qnn_QuantizeParams_t from = *q;
    if (v->enc->n == 1) {
        q->quantizationEncoding = QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET;
        q->bwScaleOffsetEncoding = (Qnn_BwScaleOffset_t){.bitwidth = 4,
                                                         .scale = from.scaleOffsetEncoding.scale,
                                                         .offset = from.scaleOffsetEncoding.offset};
        return QRN_OK;
    }
    float *scales = qrn_arena_alloc(im->arena, v->enc->n * sizeof *scales);
    int32_t *offsets = qrn_arena_alloc(im->arena, v->enc->n * sizeof *offsets);
    if (!scales || !offsets)
        return ox_no_memory(im);
    for (uint32_t i = 0; i < v->enc->n; i++) {
        scales[i] = from.axisScaleOffsetEncoding.scaleOffset[i].scale;
        offsets[i] = from.axisScaleOffsetEncoding.scaleOffset[i].offset;
    }
    q->quantizationEncoding = QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET;
    q->bwAxisScaleOffsetEncoding =
        (Qnn_BwAxisScaleOffset_t){.bitwidth = 4,
                                  .axis = from.axisScaleOffsetEncoding.axis,
                                  .numElements = v->enc->n,
                                  .scales = scales,
                                  .offsets = offsets};
    return QRN_OK;
}

// Signed 4-bit values as bytes, permuted.
static void *bytes_of_nibbles(const ox_val *v, const void *data, const uint32_t *perm) {
    size_t n = ox_count(v);
    uint8_t *wide = qrn_alloc(n), *out = qrn_alloc(n);
    if (wide && out) {
        ox_unpack4(wide, data, n);
        for (size_t i = 0; i < n; i++)
            wide[i] = (uint8_t)((wide[i] & 15) - ((wide[i] & 8) << 1));
        ox_permute(out, wide, 8, v->rank, v->dims, perm);
    } else {
        qrn_free(out);
        out = NULL;
    }
    qrn_free(wide);
    return out;
}

static qrn_status make(ox_import *im, const ox_val *v, const void *data, const uint32_t *perm,
                       uint32_t rank, qc_tensor **out) {
    uint32_t lead = rank > v->rank ? rank - v->rank : 0, dims[OX_MAX_RANK];
    Qnn_DataType_t dtype = ox_qnn_type(im, v);
    Qnn_QuantizeParams_t q;
    if (dtype == QNN_DATATYPE_UNDEFINED || v->type == OX_I64 || v->type == OX_U64)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "constant '%s': a filter of type %s", v->name,
                        ox_type_name(v->type));
    QRN_TRY(ox_quantize_params(im, v, OX_ONNX, &q));
    if (v->enc && v->enc->n > 1 && !v->enc->block)
        q.axisScaleOffsetEncoding.axis =
            (int32_t)new_axis(perm, v->rank, (uint32_t)v->enc->axis, lead);
    for (uint32_t i = 0; i < lead; i++)
        dims[i] = 1;
    for (uint32_t i = 0; i < v->rank; i++)
        dims[lead + i] = v->dims[perm[i]];
    unsigned bits = ox_type_bits(v->type);
    // In a trial only 16-bit values are looked at; other weights stay untouched in their file.
    const qc_client *c = im->graph->client;
    bool wider = in_bytes(im, v);
    if (wider)
        QRN_TRY(encode_in_bytes(im, v, &q));
    bool move = wider || (!is_identity(perm, v->rank) && !(c->trial && bits != 16));
    void *moved = wider  ? bytes_of_nibbles(v, data, perm)
                  : move ? permuted_data(v, data, bits, perm)
                         : NULL;
    if (wider) {
        bits = 8;
        dtype = QNN_DATATYPE_SFIXED_POINT_8;
    }
    if (move && !moved)
        return ox_no_memory(im);
    qrn_status s =
        qc_tensor_create(im->graph, v->name, QNN_TENSOR_TYPE_STATIC, dtype, lead + v->rank, dims,
                         &q, moved ? moved : data, (ox_count(v) * bits + 7) / 8, out);
    qrn_free(moved);
    return s;
}

void ox_note_table(const ox_import *im, const ox_node *n, const ox_val *v) {
    if (v && n && ox_type_bits(v->type) == 4)
        ox_note(im, n, "have their weights expanded to floats",
                "QNN has no such op of floats with 4-bit constants");
}

// The real numbers of a quantized constant as a constant of its own.
static qrn_status make_real(ox_import *im, const ox_node *n, uint32_t i, ox_val *v,
                            const uint32_t *perm, uint32_t rank, qc_tensor **out) {
    float *numbers;
    ox_note_table(im, n, v->quantized);
    QRN_TRY(ox_real_numbers(im, n, i, &numbers));
    ox_val plain = *v;
    plain.type = OX_F32;
    plain.enc = NULL;
    qrn_status s = make(im, &plain, numbers, perm, rank, out);
    qrn_free(numbers);
    return s;
}

qrn_status ox_static_permuted(ox_import *im, const ox_node *n, uint32_t i, const uint32_t *perm,
                              uint32_t rank, bool real, qc_tensor **out) {
    ox_val *v = value(im, n, i);
    *out = NULL;
    if (!v)
        return ox_fail(im, n, QRN_E_UNCONNECTED, "input %u is missing", i);
    ox_val *q = v->quantized && v->quantized->enc ? v->quantized : NULL;
    if (!v->data && !(q && q->data))
        return QRN_OK;
    bool quantized = !v->data && im->quantized && !real;
    ox_val *keeper = quantized ? q : v;
    uint32_t key = key_of(perm, v->rank, rank > v->rank ? rank - v->rank : 0);
    if (keeper->permuted && keeper->permuted_by == key) {
        *out = keeper->permuted;
        return QRN_OK;
    }
    if (quantized)
        QRN_TRY(make(im, q, q->data, perm, rank, out));
    else if (v->data && !(real && v->type == OX_F16 && im->quantized))
        QRN_TRY(make(im, v, v->data, perm, rank, out));
    else
        QRN_TRY(make_real(im, n, i, v, perm, rank, out));
    keeper->permuted = *out;
    keeper->permuted_by = key;
    return QRN_OK;
}

qrn_status ox_static_moved(ox_import *im, const ox_val *v, const uint32_t *perm, qc_tensor **out) {
    return make(im, v, v->data, perm, v->rank, out);
}

qrn_status ox_real_numbers(ox_import *im, const ox_node *n, uint32_t i, float **out) {
    const ox_val *v = value(im, n, i);
    *out = NULL;
    if (v && !v->data && v->quantized)
        v = v->quantized;
    if (!v || !v->data)
        return QRN_OK;
    size_t count = ox_count(v);
    *out = qrn_alloc(count * sizeof **out);
    if (!*out)
        return ox_no_memory(im);
    ox_const_floats_into(v, *out);
    return QRN_OK;
}
