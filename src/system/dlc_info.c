// SPDX-License-Identifier: MIT
//
// Graphs of a DLC file that can be composed, their application tensors and encodings, one question
// a function. Descriptions are made when the first question comes, and live as long as the file.
#include "system/dlc_ask.h"

#include "core/describe_tensor.h"

#include <string.h>

qrn_status qrn_dlc_ask(const char *call, qrn_part_kind kind, const void *handle, const void *place,
                       qrn_part **out) {
    static const char *const words[] = {
        [QRN_PART_RECORD] = "record",         [QRN_PART_GRAPH] = "graph",
        [QRN_PART_BINARY] = "context binary", [QRN_PART_BINARY_GRAPH] = "graph of a binary",
        [QRN_PART_TENSOR] = "tensor",         [QRN_PART_QUANT] = "encoding"};
    *out = qrn_dlc_pin_part(kind, handle);
    if (!*out)
        return QRN_FAIL(QRN_E_HANDLE, "%s: not a handle of a %s", call, words[kind]);
    return place ? QRN_OK : QRN_FAIL(QRN_E_ARGUMENT, "%s: no place for the answer", call);
}

qrn_status qrn_dlc_answer_part(qrn_part *of, qrn_part_kind kind, const void *what, void **handle) {
    qrn_system_dlc *d = of->owner;
    pthread_mutex_lock(&d->lock);
    qrn_part *p = qrn_dlc_part(d, kind, what);
    pthread_mutex_unlock(&d->lock);
    if (!p)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a handle");
    *handle = p->handle;
    return QRN_OK;
}

// --- Graphs

static qrn_status describe_list(const qrn_tensor *const *list, uint32_t n, qrn_arena *a,
                                Qnn_Tensor_t **out) {
    *out = qrn_arena_alloc(a, n * sizeof **out);
    if (!*out)
        return QRN_FAIL(QRN_E_MEM, "out of memory for tensors");
    for (uint32_t i = 0; i < n; i++)
        QRN_TRY(qrn_tensor_describe(list[i], a, &(*out)[i]));
    return QRN_OK;
}

static qrn_status describe_graphs(qrn_system_dlc *d) {
    uint32_t n = d->dlc ? d->dlc->n_graphs : 0;
    QnnSystemDlc_ComposableGraphInfo_t *graphs =
        qrn_arena_alloc(d->arena, (n + 1) * sizeof *graphs);
    if (!graphs)
        return QRN_FAIL(QRN_E_MEM, "out of memory for graphs");
    for (uint32_t i = 0; i < n; i++) {
        qrn_dlc_io io = {0};
        QnnSystemDlc_ComposableGraphInfoV1_t *v = &graphs[i].graphInfoV1;
        QRN_TRY(qrn_dlc_graph_io(d->dlc, &d->dlc->graphs[i], d->arena, &io));
        graphs[i].version = QNN_SYSTEM_DLC_COMPOSABLE_GRAPH_INFO_VERSION_1;
        v->graphName = d->dlc->graphs[i].name;
        v->numGraphInputs = io.n_in;
        v->numGraphOutputs = io.n_out;
        QRN_TRY(describe_list(io.in, io.n_in, d->arena, &v->graphInputs));
        QRN_TRY(describe_list(io.out, io.n_out, d->arena, &v->graphOutputs));
    }
    d->graphs = graphs;
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnSystemDlc_getComposableGraphInfoHandles(
    QnnSystemDlc_Handle_t dlcHandle, QnnSystemDlc_GraphInfoHandle_t **graphInfoHandles,
    uint32_t *numGraphInfoHandles) {
    QRN_API_CALL;
    qrn_system_dlc *d = qrn_pin(QRN_KIND_DLC, dlcHandle);
    if (!d)
        return qrn_dlc_end(QRN_FAIL(QRN_E_HANDLE, "getComposableGraphInfoHandles: not a DLC"));
    if (!graphInfoHandles || !numGraphInfoHandles)
        return qrn_dlc_end(
            QRN_FAIL(QRN_E_ARGUMENT, "getComposableGraphInfoHandles: no place for the handles"));
    uint32_t n = d->dlc ? d->dlc->n_graphs : 0;
    void **list = NULL;
    pthread_mutex_lock(&d->lock);
    qrn_status s = d->graphs ? QRN_OK : describe_graphs(d);
    if (s == QRN_OK)
        s = qrn_dlc_handles(d, QRN_PART_GRAPH, d->graphs, sizeof *d->graphs, n, &list);
    pthread_mutex_unlock(&d->lock);
    if (s == QRN_OK) {
        *graphInfoHandles = list;
        *numGraphInfoHandles = n;
    }
    return qrn_dlc_end(s);
}

#define GRAPH(name, place_type, ...)                                                               \
    QRN_DLC_GETTER(name, QRN_PART_GRAPH, QnnSystemDlc_ComposableGraphInfo_t, place_type,           \
                   __VA_ARGS__)

GRAPH(getComposableGraphInfo, const QnnSystemDlc_ComposableGraphInfo_t **, *place = it)
GRAPH(getComposableGraphInfoGraphName, const char **, *place = it->graphInfoV1.graphName)
GRAPH(getComposableGraphInfoNumInputTensors, uint32_t *, *place = it->graphInfoV1.numGraphInputs)
GRAPH(getComposableGraphInfoNumOutputTensors, uint32_t *, *place = it->graphInfoV1.numGraphOutputs)
QRN_DLC_GETTER_AT(getGraphInfoInputTensorInfo, QRN_PART_GRAPH, QnnSystemDlc_ComposableGraphInfo_t,
                  it->graphInfoV1.numGraphInputs, QnnSystemDlc_TensorInfoHandle_t *,
                  s = qrn_dlc_answer_part(part, QRN_PART_TENSOR,
                                          &it->graphInfoV1.graphInputs[index], place))
QRN_DLC_GETTER_AT(getGraphInfoOutputTensorInfo, QRN_PART_GRAPH, QnnSystemDlc_ComposableGraphInfo_t,
                  it->graphInfoV1.numGraphOutputs, QnnSystemDlc_TensorInfoHandle_t *,
                  s = qrn_dlc_answer_part(part, QRN_PART_TENSOR,
                                          &it->graphInfoV1.graphOutputs[index], place))

// --- Tensors

#define TENSOR(name, place_type, ...)                                                              \
    QRN_DLC_GETTER(name, QRN_PART_TENSOR, Qnn_Tensor_t, place_type, __VA_ARGS__)

TENSOR(getTensorInfoName, const char **, *place = it->v1.name)
TENSOR(getTensorInfoId, uint32_t *, *place = it->v1.id)
TENSOR(getTensorInfoType, Qnn_TensorType_t *, *place = it->v1.type)
TENSOR(getTensorInfoDataFormat, Qnn_TensorDataFormat_t *, *place = it->v1.dataFormat)
TENSOR(getTensorInfoDataType, Qnn_DataType_t *, *place = it->v1.dataType)
TENSOR(getTensorInfoRank, uint32_t *, *place = it->v1.rank)
TENSOR(getTensorInfoDimensions, uint32_t *,
       memcpy(place, it->v1.dimensions, it->v1.rank * sizeof *place))
TENSOR(getTensorInfoQuantParams, QnnSystemDlc_QuantParamsHandle_t *,
       s = qrn_dlc_answer_part(part, QRN_PART_QUANT, &it->v1.quantizeParams, place))

// --- Encodings

#define QUANT(name, place_type, ...)                                                               \
    QRN_DLC_GETTER(name, QRN_PART_QUANT, Qnn_QuantizeParams_t, place_type, __VA_ARGS__)
// A question that one form of encodings has an answer to.
#define FORM(name, form, place_type, ...)                                                          \
    QUANT(                                                                                         \
        name, place_type, s = is_form(it, QNN_QUANTIZATION_ENCODING_##form, #name);                \
        if (s == QRN_OK) { __VA_ARGS__; })
#define FORM_AT(name, form, count, place_type, ...)                                                \
    QRN_DLC_GETTER_AT(name, QRN_PART_QUANT, Qnn_QuantizeParams_t,                                  \
                      is_form(it, QNN_QUANTIZATION_ENCODING_##form, #name) == QRN_OK ? (count)     \
                                                                                     : 0,          \
                      place_type, __VA_ARGS__)

static qrn_status is_form(const Qnn_QuantizeParams_t *q, Qnn_QuantizationEncoding_t form,
                          const char *call) {
    if (q->encodingDefinition == QNN_DEFINITION_DEFINED && q->quantizationEncoding == form)
        return QRN_OK;
    return QRN_FAIL(QRN_E_ARGUMENT, "%s: the encoding is %d, not %d", call,
                    (int)q->quantizationEncoding, (int)form);
}

QUANT(getQuantParamsEncodingDefinition, Qnn_Definition_t *, *place = it->encodingDefinition)
QUANT(getQuantParamsEncoding, Qnn_QuantizationEncoding_t *, *place = it->quantizationEncoding)
FORM(getQuantParamsScaleOffsetScale, SCALE_OFFSET, float *, *place = it->scaleOffsetEncoding.scale)
FORM(getQuantParamsScaleOffsetOffset, SCALE_OFFSET, int32_t *,
     *place = it->scaleOffsetEncoding.offset)
FORM(getQuantParamsBwScaleOffsetBitwidth, BW_SCALE_OFFSET, uint32_t *,
     *place = it->bwScaleOffsetEncoding.bitwidth)
FORM(getQuantParamsBwScaleOffsetScale, BW_SCALE_OFFSET, float *,
     *place = it->bwScaleOffsetEncoding.scale)
FORM(getQuantParamsBwScaleOffsetOffset, BW_SCALE_OFFSET, int32_t *,
     *place = it->bwScaleOffsetEncoding.offset)
FORM(getQuantParamsAxisScaleOffsetAxis, AXIS_SCALE_OFFSET, int32_t *,
     *place = it->axisScaleOffsetEncoding.axis)
FORM(getQuantParamsAxisScaleOffsetNumScaleOffsets, AXIS_SCALE_OFFSET, uint32_t *,
     *place = it->axisScaleOffsetEncoding.numScaleOffsets)
FORM_AT(getQuantParamsAxisScaleOffsetScaleAtIndex, AXIS_SCALE_OFFSET,
        it->axisScaleOffsetEncoding.numScaleOffsets, float *,
        *place = it->axisScaleOffsetEncoding.scaleOffset[index].scale)
FORM_AT(getQuantParamsAxisScaleOffsetOffsetAtIndex, AXIS_SCALE_OFFSET,
        it->axisScaleOffsetEncoding.numScaleOffsets, int32_t *,
        *place = it->axisScaleOffsetEncoding.scaleOffset[index].offset)
FORM(getQuantParamsBwAxisScaleOffsetBitwidth, BW_AXIS_SCALE_OFFSET, uint32_t *,
     *place = it->bwAxisScaleOffsetEncoding.bitwidth)
FORM(getQuantParamsBwAxisScaleOffsetAxis, BW_AXIS_SCALE_OFFSET, int32_t *,
     *place = it->bwAxisScaleOffsetEncoding.axis)
FORM(getQuantParamsBwAxisScaleOffsetNumElements, BW_AXIS_SCALE_OFFSET, uint32_t *,
     *place = it->bwAxisScaleOffsetEncoding.numElements)
FORM_AT(getQuantParamsBwAxisScaleOffsetScaleAtIndex, BW_AXIS_SCALE_OFFSET,
        it->bwAxisScaleOffsetEncoding.numElements, float *,
        *place = it->bwAxisScaleOffsetEncoding.scales[index])
FORM_AT(getQuantParamsBwAxisScaleOffsetOffsetAtIndex, BW_AXIS_SCALE_OFFSET,
        it->bwAxisScaleOffsetEncoding.numElements, int32_t *,
        *place = it->bwAxisScaleOffsetEncoding.offsets
                     ? it->bwAxisScaleOffsetEncoding.offsets[index]
                     : 0)
