// SPDX-License-Identifier: MIT
//
// QNN tensors of values: types, encodings, layouts. A tensor is made when it is first asked for; a
// layout that is missing comes from the other one by a Transpose, or by a Reshape where only
// dimensions of size 1 move.
#include "frontend/onnx/driver/internal.h"

#include "base/fp16.h"
#include "base/mem.h"
#include "frontend/onnx/emit/filter.h"
#include "frontend/onnx/emit/permute.h"

#include <string.h>

uint32_t ox_axis_in(ox_layout layout, uint32_t axis, uint32_t rank) {
    if (layout == OX_ONNX || rank < 3 || axis == 0)
        return axis;
    return axis == 1 ? rank - 1 : axis - 1;
}

// perm[i]: the ONNX dimension at position i of the layout.
static void layout_perm(ox_layout layout, uint32_t rank, uint32_t *perm) {
    for (uint32_t i = 0; i < rank; i++)
        perm[ox_axis_in(layout, i, rank)] = i;
}

void ox_dims_in(ox_layout layout, uint32_t rank, const uint32_t *dims, uint32_t *out) {
    for (uint32_t i = 0; i < rank; i++)
        out[ox_axis_in(layout, i, rank)] = dims[i];
}

// --- types and encodings

Qnn_DataType_t ox_qnn_type(const ox_import *im, const ox_val *v) {
    (void)im;
    switch (v->type) {
    case OX_F32:
        return QNN_DATATYPE_FLOAT_32;
    case OX_F16:
        return QNN_DATATYPE_FLOAT_16;
    case OX_BF16:
        return QNN_DATATYPE_BFLOAT_16;
    case OX_BOOL:
        return QNN_DATATYPE_BOOL_8;
    case OX_U8:
        return QNN_DATATYPE_UFIXED_POINT_8;
    case OX_I8:
        return QNN_DATATYPE_SFIXED_POINT_8;
    case OX_U16:
        return QNN_DATATYPE_UFIXED_POINT_16;
    case OX_I16:
        return QNN_DATATYPE_SFIXED_POINT_16;
    case OX_U4:
        return QNN_DATATYPE_UFIXED_POINT_4;
    case OX_I4:
        return QNN_DATATYPE_SFIXED_POINT_4;
    case OX_I32:
        return v->enc ? QNN_DATATYPE_SFIXED_POINT_32 : QNN_DATATYPE_INT_32;
    case OX_U32:
    case OX_U64:
        return QNN_DATATYPE_UINT_32;
    case OX_I64:
        return QNN_DATATYPE_INT_32;
    default:
        return QNN_DATATYPE_UNDEFINED;
    }
}

Qnn_QuantizeParams_t ox_plain_encoding(Qnn_DataType_t dtype) {
    Qnn_QuantizeParams_t q = QNN_QUANTIZE_PARAMS_INIT;
    switch (dtype) {
    case QNN_DATATYPE_UFIXED_POINT_4:
    case QNN_DATATYPE_SFIXED_POINT_4:
    case QNN_DATATYPE_UFIXED_POINT_8:
    case QNN_DATATYPE_SFIXED_POINT_8:
    case QNN_DATATYPE_UFIXED_POINT_16:
    case QNN_DATATYPE_SFIXED_POINT_16:
        q.encodingDefinition = QNN_DEFINITION_DEFINED;
        q.quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
        q.scaleOffsetEncoding.scale = 1;
        q.scaleOffsetEncoding.offset = 0;
        break;
    default:
        break;
    }
    return q;
}

static qrn_status block_params(ox_import *im, const ox_val *v, ox_layout layout,
                               Qnn_QuantizeParams_t *q) {
    uint32_t *block = qrn_arena_alloc(im->arena, v->rank * sizeof *block);
    Qnn_ScaleOffset_t *pairs = qrn_arena_alloc(im->arena, v->enc->n * sizeof *pairs);
    if (!block || !pairs)
        return ox_no_memory(im);
    if (layout != OX_ONNX)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "value '%s': block encoding in another layout", v->name);
    for (uint32_t i = 0; i < v->rank; i++)
        block[i] = i == (uint32_t)v->enc->axis ? v->enc->block : 1;
    for (uint32_t i = 0; i < v->enc->n; i++)
        pairs[i] = (Qnn_ScaleOffset_t){v->enc->scales[i], v->enc->zeros ? -v->enc->zeros[i] : 0};
    q->quantizationEncoding = QNN_QUANTIZATION_ENCODING_BLOCK;
    q->blockEncoding.blockSize = block;
    q->blockEncoding.scaleOffset = pairs;
    return QRN_OK;
}

qrn_status ox_quantize_params(ox_import *im, const ox_val *v, ox_layout layout,
                              Qnn_QuantizeParams_t *q) {
    *q = ox_plain_encoding(ox_qnn_type(im, v));
    if (!v->enc)
        return QRN_OK;
    q->encodingDefinition = QNN_DEFINITION_DEFINED;
    if (v->enc->block)
        return block_params(im, v, layout, q);
    if (v->enc->n == 1) {
        q->quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
        q->scaleOffsetEncoding.scale = v->enc->scales[0];
        q->scaleOffsetEncoding.offset = v->enc->zeros ? -v->enc->zeros[0] : 0;
        return QRN_OK;
    }
    Qnn_ScaleOffset_t *pairs = qrn_arena_alloc(im->arena, v->enc->n * sizeof *pairs);
    if (!pairs)
        return ox_no_memory(im);
    for (uint32_t i = 0; i < v->enc->n; i++)
        pairs[i] = (Qnn_ScaleOffset_t){v->enc->scales[i], v->enc->zeros ? -v->enc->zeros[i] : 0};
    q->quantizationEncoding = QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET;
    q->axisScaleOffsetEncoding.axis = (int32_t)ox_axis_in(layout, (uint32_t)v->enc->axis, v->rank);
    q->axisScaleOffsetEncoding.numScaleOffsets = v->enc->n;
    q->axisScaleOffsetEncoding.scaleOffset = pairs;
    return QRN_OK;
}

// --- tensors

qrn_status ox_tensor_create(ox_import *im, const ox_val *v, ox_layout layout, Qnn_TensorType_t type,
                            const void *data, size_t bytes, qc_tensor **out) {
    Qnn_DataType_t dtype = ox_qnn_type(im, v);
    Qnn_QuantizeParams_t q;
    uint32_t dims[OX_MAX_RANK] = {1}; // a value of rank 0 is held as [1]
    if (dtype == QNN_DATATYPE_UNDEFINED)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "value '%s': QNN has no tensors of type %s", v->name,
                        ox_type_name(v->type));
    QRN_TRY(ox_quantize_params(im, v, layout, &q));
    ox_dims_in(layout, v->rank, v->dims, dims);
    return qc_tensor_create(im->graph, v->name, type, dtype, v->rank ? v->rank : 1, dims, &q, data,
                            bytes, out);
}

// Behind a Cast nobody would learn how many rows of a counted value there are.
bool ox_is_wide(const ox_import *im, const ox_val *v) {
    return im->opt->wide_borders && !v->counted && (v->type == OX_I64 || v->type == OX_U64);
}

qrn_status ox_tensor_wide(ox_import *im, const ox_val *v, Qnn_TensorType_t type, qc_tensor **out) {
    Qnn_DataType_t dtype = v->type == OX_I64 ? QNN_DATATYPE_INT_64 : QNN_DATATYPE_UINT_64;
    uint32_t dims[OX_MAX_RANK] = {1};
    ox_dims_in(OX_ONNX, v->rank, v->dims, dims);
    return qc_tensor_create(im->graph, v->name, type, dtype, v->rank ? v->rank : 1, dims, NULL,
                            NULL, 0, out);
}

qrn_status ox_tensor_new(ox_import *im, ox_val *v, ox_layout layout, qc_tensor **out) {
    bool app = v->is_output && (layout == OX_ONNX || im->opt->keep_all) && !ox_is_wide(im, v);
    QRN_TRY(ox_tensor_create(im, v, layout, app ? QNN_TENSOR_TYPE_APP_READ : QNN_TENSOR_TYPE_NATIVE,
                             NULL, 0, out));
    v->at[layout] = *out;
    return QRN_OK;
}

// 64-bit integers as 32 bits, saturated: what is larger is a "to the end" in ONNX.
static qrn_status narrow(ox_import *im, const ox_val *v, const void **data, size_t *bytes) {
    size_t n = ox_count(v);
    int32_t *out = qrn_arena_alloc(im->arena, n * sizeof *out);
    if (!out)
        return ox_no_memory(im);
    const int64_t *src = v->data;
    for (size_t i = 0; i < n; i++) {
        if (v->type == OX_U64)
            out[i] = (int32_t)((uint64_t)src[i] > UINT32_MAX ? UINT32_MAX : (uint32_t)src[i]);
        else
            out[i] = (int32_t)(src[i] > INT32_MAX   ? INT32_MAX
                               : src[i] < INT32_MIN ? INT32_MIN
                                                    : src[i]);
    }
    *data = out;
    *bytes = n * sizeof *out;
    return QRN_OK;
}

// Elements of a constant in the order of a layout; whole bytes only.
static qrn_status permute(ox_import *im, const ox_val *v, ox_layout layout, size_t elem,
                          const void **data) {
    uint32_t perm[OX_MAX_RANK];
    layout_perm(layout, v->rank, perm);
    char *out = qrn_arena_alloc(im->arena, ox_count(v) * elem);
    if (!out)
        return ox_no_memory(im);
    ox_permute(out, *data, (unsigned)(8 * elem), v->rank, v->dims, perm);
    *data = out;
    return QRN_OK;
}

static qrn_status constant(ox_import *im, ox_val *v, ox_layout layout, qc_tensor **out) {
    const void *data = v->data;
    size_t bytes = v->bytes;
    if (v->type == OX_I64 || v->type == OX_U64)
        QRN_TRY(narrow(im, v, &data, &bytes));
    unsigned bits = ox_type_bits(v->type) == 64 ? 32 : ox_type_bits(v->type);
    if (layout != OX_ONNX && v->rank > 2) {
        if (bits < 8)
            return QRN_FAIL(QRN_E_UNSUPPORTED, "constant '%s': 4-bit data in another layout",
                            v->name);
        QRN_TRY(permute(im, v, layout, bits / 8, &data));
    }
    QRN_TRY(ox_tensor_create(im, v, layout, QNN_TENSOR_TYPE_STATIC, data, bytes, out));
    (*out)->values = v->type == OX_F32 ? data : NULL;
    v->at[layout] = *out;
    return QRN_OK;
}

// Do only dimensions of size 1 change places?
static bool moves_nothing(const ox_val *v) {
    uint32_t spatial = 1;
    for (uint32_t i = 2; i < v->rank; i++)
        spatial *= v->dims[i];
    return spatial == 1 || v->dims[1] == 1;
}

static qrn_status relayout(ox_import *im, ox_val *v, ox_layout to, qc_tensor **out) {
    ox_layout from = to == OX_ONNX ? OX_LAST : OX_ONNX;
    uint32_t there[OX_MAX_RANK], here[OX_MAX_RANK], perm[OX_MAX_RANK];
    const qc_tensor *x = v->at[from];
    QRN_TRY(ox_tensor_new(im, v, to, out));
    if (moves_nothing(v))
        return ox_emit_reshape(im, im->node, x, *out);
    layout_perm(to, v->rank, there);
    for (uint32_t i = 0; i < v->rank; i++)
        here[i] = ox_axis_in(from, i, v->rank);
    for (uint32_t i = 0; i < v->rank; i++)
        perm[i] = here[there[i]];
    im->n_transposes++;
    return ox_emit_transpose(im, im->node, x, perm, *out);
}

// The numbers of quantized constants, as the type that their scale gives to v.
static qrn_status dequantized_constant(ox_import *im, ox_val *v, ox_layout layout,
                                       qc_tensor **out) {
    const float *values = ox_const_floats(im, v->quantized);
    ox_val copy = *v;
    if (v->type != OX_F32 && v->type != OX_F16)
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "constant '%s': its scale is %s, expected float or float16", v->name,
                        ox_type_name(v->type));
    if (!values)
        return ox_no_memory(im);
    ox_note_table(im, im->node, v->quantized);
    copy.data = values;
    copy.bytes = ox_count(v) * ox_type_bits(v->type) / 8;
    if (v->type == OX_F16) {
        uint16_t *rounded = qrn_arena_alloc(im->arena, copy.bytes);
        if (!rounded)
            return ox_no_memory(im);
        for (size_t i = 0; i < ox_count(v); i++)
            rounded[i] = qrn_f16_from_f64((double)values[i]);
        copy.data = rounded;
    }
    QRN_TRY(constant(im, &copy, layout, out));
    v->at[layout] = *out;
    return QRN_OK;
}

static qrn_status dequantized(ox_import *im, ox_val *v, ox_layout layout, qc_tensor **out) {
    if (v->quantized->data)
        return dequantized_constant(im, v, layout, out);
    if (layout == OX_ONNX && !v->quantized->at[OX_ONNX] && v->quantized->at[OX_LAST] &&
        v->at[OX_LAST])
        return relayout(im, v, layout, out);
    qc_tensor *q = NULL;
    qc_op o;
    QRN_TRY(ox_tensor_in(im, v->quantized, layout, &q));
    QRN_TRY(ox_tensor_new(im, v, layout, out));
    ox_op(im, &o, im->node, QNN_OP_DEQUANTIZE);
    qc_in(&o, q);
    qc_out(&o, *out);
    return qc_op_end(&o);
}

// Makes a transposed value in the layout that is asked for first.
static qrn_status transpose_place(ox_import *im, ox_val *v, ox_layout layout, qc_tensor **out) {
    const ox_transposed *from = v->transposed;
    uint32_t perm[OX_MAX_RANK], last = 0;
    bool identity = true, ordered = true; // but for dimensions of size 1
    for (uint32_t i = 0; i < v->rank; i++)
        perm[ox_axis_in(layout, i, v->rank)] = from->dims[i];
    for (uint32_t i = 0; i < v->rank; i++) {
        identity &= perm[i] == i;
        if (from->t->dims[perm[i]] == 1)
            continue;
        ordered &= perm[i] >= last;
        last = perm[i];
    }
    if (identity && !(v->is_output && layout == OX_ONNX)) {
        *out = v->at[layout] = from->t;
        return QRN_OK;
    }
    QRN_TRY(ox_tensor_new(im, v, layout, out));
    return ordered ? ox_emit_reshape(im, from->node, from->t, *out)
                   : ox_emit_transpose(im, from->node, from->t, perm, *out);
}

qrn_status ox_tensor_in(ox_import *im, ox_val *v, ox_layout layout, qc_tensor **out) {
    if (v->rank < 3)
        layout = OX_ONNX; // there is no channel to move
    if (v->at[layout]) {
        *out = v->at[layout];
        return QRN_OK;
    }
    if (v->data)
        return constant(im, v, layout, out);
    if (v->transposed && !v->at[OX_ONNX] && !v->at[OX_LAST])
        return transpose_place(im, v, layout, out);
    if (v->quantized && !v->at[OX_ONNX] && !v->at[OX_LAST])
        return dequantized(im, v, layout, out);
    if (v->at[OX_ONNX] || v->at[OX_LAST])
        return relayout(im, v, layout, out);
    if (v->why)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "%s", v->why);
    return QRN_FAIL(QRN_E_UNCONNECTED, "value '%s' is read before it is computed", v->name);
}
