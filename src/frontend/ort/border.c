// SPDX-License-Identifier: MIT
//
// Borders of a partition: nothing that a model declares is taken on trust. What a context binary
// has is compared with the model once, at loading; what the host brings is compared on every run
// (run.c), and here are the words for what differs.
#include "frontend/ort/part.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_HELD 2

// QNN's types that hold values of a type of ONNX bit for bit, or in 32 bits where it has 64.
static const Qnn_DataType_t held[][MAX_HELD] = {
    [OX_F32] = {QNN_DATATYPE_FLOAT_32},
    [OX_F16] = {QNN_DATATYPE_FLOAT_16},
    [OX_F64] = {QNN_DATATYPE_FLOAT_64, QNN_DATATYPE_FLOAT_32},
    [OX_BF16] = {QNN_DATATYPE_BFLOAT_16},
    [OX_BOOL] = {QNN_DATATYPE_BOOL_8},
    [OX_U4] = {QNN_DATATYPE_UFIXED_POINT_4, QNN_DATATYPE_UINT_4},
    [OX_I4] = {QNN_DATATYPE_SFIXED_POINT_4, QNN_DATATYPE_INT_4},
    [OX_U8] = {QNN_DATATYPE_UFIXED_POINT_8, QNN_DATATYPE_UINT_8},
    [OX_I8] = {QNN_DATATYPE_SFIXED_POINT_8, QNN_DATATYPE_INT_8},
    [OX_U16] = {QNN_DATATYPE_UFIXED_POINT_16, QNN_DATATYPE_UINT_16},
    [OX_I16] = {QNN_DATATYPE_SFIXED_POINT_16, QNN_DATATYPE_INT_16},
    [OX_U32] = {QNN_DATATYPE_UFIXED_POINT_32, QNN_DATATYPE_UINT_32},
    [OX_I32] = {QNN_DATATYPE_SFIXED_POINT_32, QNN_DATATYPE_INT_32},
    [OX_U64] = {QNN_DATATYPE_UINT_64, QNN_DATATYPE_UINT_32},
    [OX_I64] = {QNN_DATATYPE_INT_64, QNN_DATATYPE_INT_32},
};
#define N_HELD ((int)(sizeof held / sizeof held[0]))

bool qe_type_fits(int type, Qnn_DataType_t dtype) {
    for (int i = 0; type > 0 && type < N_HELD && i < MAX_HELD; i++)
        if (held[type][i] && held[type][i] == dtype)
            return true;
    return false;
}

// The type of ONNX that a tensor's elements are first of all.
static const char *name_of(Qnn_DataType_t dtype) {
    for (int i = 0; i < N_HELD; i++)
        if (qe_type_fits(i, dtype))
            return ox_type_name(i);
    return "another type";
}

// --- words

#define SHAPE_TEXT 192

static const char *shape_text(const int64_t *dims, size_t rank, char *out) {
    size_t n = (size_t)snprintf(out, SHAPE_TEXT, "[");
    for (size_t i = 0; i < rank && n < SHAPE_TEXT; i++) {
        const char *comma = i ? "," : "";
        n +=
            (size_t)(dims[i] < 0 ? snprintf(out + n, SHAPE_TEXT - n, "%s?", comma)
                                 : snprintf(out + n, SHAPE_TEXT - n, "%s%" PRId64, comma, dims[i]));
    }
    if (n < SHAPE_TEXT)
        snprintf(out + n, SHAPE_TEXT - n, "]");
    return out;
}

static const char *tensor_text(const qc_tensor *t, char *out) {
    int64_t dims[OX_MAX_RANK];
    for (uint32_t i = 0; i < t->rank; i++)
        dims[i] = t->dims[i];
    return shape_text(dims, t->rank, out);
}

qrn_status qe_fail_value(const qe_place *at, const qe_border *b, int type, const int64_t *dims,
                         size_t rank) {
    char want[SHAPE_TEXT], got[SHAPE_TEXT];
    return QRN_FAIL(QRN_E_SHAPE,
                    "model %s, partition '%s', %s '%s': the value is %s %s, the graph was compiled "
                    "for %s %s; correct or remove the shape that the model declares for it, and "
                    "make the session anew",
                    at->model, at->graph, at->input ? "input" : "output", b->name,
                    ox_type_name(type), shape_text(dims, rank, got), ox_type_name(b->type),
                    shape_text(b->dims, b->rank, want));
}

// --- once

static bool same_shape(const ox_info *info, const qc_tensor *t) {
    if (!info->has_shape)
        return true;
    if (info->rank == 0)
        return t->rank == 0 || (t->rank == 1 && t->dims[0] == 1); // held as [1]
    if (info->rank != t->rank)
        return false;
    for (uint32_t i = 0; i < t->rank; i++)
        if (info->dims[i] >= 0 && info->dims[i] != t->dims[i])
            return false;
    return true;
}

qrn_status qe_check_declared(const qe_place *at, const ox_info *info, const qc_tensor *t) {
    char declared[SHAPE_TEXT], has[SHAPE_TEXT];
    if (qe_type_fits(info->type, t->t.v1.dataType) && same_shape(info, t))
        return QRN_OK;
    return QRN_FAIL(QRN_E_INCOMPATIBLE,
                    "model %s, partition '%s', %s '%s': the model declares %s %s, the graph in the "
                    "context binary has %s %s (tensor '%s'): they do not belong together",
                    at->model, at->graph, at->input ? "input" : "output", info->name,
                    ox_type_name(info->type),
                    info->has_shape ? shape_text(info->dims, info->rank, declared) : "",
                    name_of(t->t.v1.dataType), tensor_text(t, has), t->t.v1.name);
}

qrn_status qe_check_border(const qe_place *at, const qe_border *b, const qc_tensor *t) {
    size_t bytes = (b->count * (b->convert ? 32 : ox_type_bits(b->type)) + 7) / 8;
    char want[SHAPE_TEXT], has[SHAPE_TEXT];
    if (bytes == qc_tensor_bytes(t) && b->count == qc_tensor_count(t) &&
        qe_type_fits(b->type, t->t.v1.dataType))
        return QRN_OK;
    return QRN_FAIL(QRN_E_INCONSISTENT,
                    "model %s, partition '%s', %s '%s': %s %s of the model and the graph's tensor "
                    "%s of %zu bytes differ in size",
                    at->model, at->graph, at->input ? "input" : "output", b->name,
                    ox_type_name(b->type), shape_text(b->dims, b->rank, want), tensor_text(t, has),
                    qc_tensor_bytes(t));
}

qrn_status qe_check_place(const qe_place *at, const qe_border *b, const OrtValue *v) {
    const OrtMemoryInfo *memory = NULL;
    int device = ORT_MEMORY_OF_CPU;
    QE_TRY(GetTensorMemoryInfo, v, &memory);
    ORT(MemoryInfoGetDeviceType)(memory, &device);
    if (device == ORT_MEMORY_OF_CPU ||
        ORT(MemoryInfoGetDeviceMemType)(memory) == ORT_MEMORY_HOST_ACCESSIBLE)
        return QRN_OK;
    return QRN_FAIL(QRN_E_ARGUMENT,
                    "model %s, partition '%s', %s '%s': the value lies in the memory of another "
                    "device (type %d); bring it to the processor's",
                    at->model, at->graph, at->input ? "input" : "output", b->name, device);
}
