// SPDX-License-Identifier: MIT
//
// The JSON of qnn-context-binary-utility: each struct of the System API is an object {"info",
// "version"}, its members have their names in the API.
#include "tools/quern/show_published.h"

#include "tools/quern/report.h"

#include "HTP/QnnHtpSystemContext.h"

#include <stdio.h>

typedef struct word {
    uint32_t value;
    const char *name;
} word;

#define WORD(name)                                                                                 \
    { (uint32_t)(name), #name }
#define N_WORDS(table) (sizeof(table) / sizeof *(table))

static const word tensor_types[] = {
    WORD(QNN_TENSOR_TYPE_APP_WRITE),
    WORD(QNN_TENSOR_TYPE_APP_READ),
    WORD(QNN_TENSOR_TYPE_APP_READWRITE),
    WORD(QNN_TENSOR_TYPE_NATIVE),
    WORD(QNN_TENSOR_TYPE_STATIC),
    WORD(QNN_TENSOR_TYPE_NULL),
    WORD(QNN_TENSOR_TYPE_UPDATEABLE_STATIC),
    WORD(QNN_TENSOR_TYPE_UPDATEABLE_NATIVE),
    WORD(QNN_TENSOR_TYPE_UPDATEABLE_APP_WRITE),
    WORD(QNN_TENSOR_TYPE_UPDATEABLE_APP_READ),
    WORD(QNN_TENSOR_TYPE_UPDATEABLE_APP_READWRITE),
    WORD(QNN_TENSOR_TYPE_OPTIONAL_APP_WRITE),
    WORD(QNN_TENSOR_TYPE_OPTIONAL_APP_READ),
    WORD(QNN_TENSOR_TYPE_OPTIONAL_APP_READWRITE),
};

static const word data_types[] = {
    WORD(QNN_DATATYPE_INT_2),           WORD(QNN_DATATYPE_INT_4),
    WORD(QNN_DATATYPE_INT_8),           WORD(QNN_DATATYPE_INT_16),
    WORD(QNN_DATATYPE_INT_32),          WORD(QNN_DATATYPE_INT_64),
    WORD(QNN_DATATYPE_UINT_2),          WORD(QNN_DATATYPE_UINT_4),
    WORD(QNN_DATATYPE_UINT_8),          WORD(QNN_DATATYPE_UINT_16),
    WORD(QNN_DATATYPE_UINT_32),         WORD(QNN_DATATYPE_UINT_64),
    WORD(QNN_DATATYPE_FLOAT_4),         WORD(QNN_DATATYPE_FLOAT_8),
    WORD(QNN_DATATYPE_FLOAT_16),        WORD(QNN_DATATYPE_BFLOAT_16),
    WORD(QNN_DATATYPE_FLOAT_32),        WORD(QNN_DATATYPE_FLOAT_64),
    WORD(QNN_DATATYPE_SFIXED_POINT_2),  WORD(QNN_DATATYPE_SFIXED_POINT_4),
    WORD(QNN_DATATYPE_SFIXED_POINT_8),  WORD(QNN_DATATYPE_SFIXED_POINT_16),
    WORD(QNN_DATATYPE_SFIXED_POINT_32), WORD(QNN_DATATYPE_UFIXED_POINT_2),
    WORD(QNN_DATATYPE_UFIXED_POINT_4),  WORD(QNN_DATATYPE_UFIXED_POINT_8),
    WORD(QNN_DATATYPE_UFIXED_POINT_16), WORD(QNN_DATATYPE_UFIXED_POINT_32),
    WORD(QNN_DATATYPE_BOOL_8),          WORD(QNN_DATATYPE_STRING),
};

// Those that the binaries of Quern's backends have; others are printed as numbers.
static const word data_formats[] = {
    WORD(QNN_TENSOR_DATA_FORMAT_DENSE),
    WORD(QNN_TENSOR_DATA_FORMAT_SPARSE),
    WORD(QNN_TENSOR_DATA_FORMAT_HMX_WEIGHT_LAYOUT),
};

static const word mem_types[] = {
    WORD(QNN_TENSORMEMTYPE_RAW),
    WORD(QNN_TENSORMEMTYPE_MEMHANDLE),
    WORD(QNN_TENSORMEMTYPE_RETRIEVE_RAW),
};

static const word definitions[] = {
    WORD(QNN_DEFINITION_IMPL_GENERATED),
    WORD(QNN_DEFINITION_DEFINED),
    WORD(QNN_DEFINITION_UNDEFINED),
};

static const word mappings[] = {
    WORD(QNN_QUANTIZATION_ENCODING_MAPPING_STANDARD_SYMMETRIC),
    WORD(QNN_QUANTIZATION_ENCODING_MAPPING_ASYMMETRIC_PLUS_ONE),
    WORD(QNN_QUANTIZATION_ENCODING_MAPPING_LINEAR_SYMMETRIC_EXCLUDE_ZERO),
};

static const word encodings[] = {
    WORD(QNN_QUANTIZATION_ENCODING_SCALE_OFFSET),
    WORD(QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET),
    WORD(QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET),
    WORD(QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET),
    WORD(QNN_QUANTIZATION_ENCODING_BLOCK),
    WORD(QNN_QUANTIZATION_ENCODING_BLOCKWISE_EXPANSION),
    WORD(QNN_QUANTIZATION_ENCODING_VECTOR),
    WORD(QNN_QUANTIZATION_ENCODING_FLOAT_BLOCK),
    WORD(QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET_MAPPED),
    WORD(QNN_QUANTIZATION_ENCODING_BW_BLOCK_MAPPED),
    WORD(QNN_QUANTIZATION_ENCODING_BW_BLOCKWISE_EXPANSION_MAPPED),
    WORD(QNN_QUANTIZATION_ENCODING_BW_FLOAT_BLOCK),
    WORD(QNN_QUANTIZATION_ENCODING_MICROSCALING),
    WORD(QNN_QUANTIZATION_ENCODING_ARRAY_OF),
    WORD(QNN_QUANTIZATION_ENCODING_UNDEFINED),
};

// A value that has no name is a number in hexadecimal digits.
static json_t *json_word(const word *table, size_t n, uint32_t value) {
    for (size_t i = 0; i < n; i++)
        if (table[i].value == value)
            return json_string(table[i].name);
    char text[16];
    snprintf(text, sizeof text, "%#x", value);
    return json_string(text);
}
#define JSON_WORD(table, value) json_word(table, N_WORDS(table), (uint32_t)(value))

static json_t *json_u64(uint64_t v) { return json_integer((json_int_t)v); }

static json_t *json_u32s(const uint32_t *list, uint32_t n) {
    json_t *out = json_array();
    for (uint32_t i = 0; i < n; i++)
        json_array_append_new(out, json_u64(list[i]));
    return out;
}

static json_t *json_pair(const Qnn_ScaleOffset_t *p) {
    return json_pack("{s:o,s:i}", "scale", qt_json_number((double)p->scale), "offset",
                     (int)p->offset);
}

static json_t *json_pairs(const Qnn_ScaleOffset_t *list, uint64_t n) {
    json_t *out = json_array();
    for (uint64_t i = 0; i < n; i++)
        json_array_append_new(out, json_pair(&list[i]));
    return out;
}

static json_t *json_float_pairs(const Qnn_FloatScaleOffset_t *list, uint64_t n) {
    json_t *out = json_array();
    for (uint64_t i = 0; i < n; i++)
        json_array_append_new(out,
                              json_pack("{s:o,s:o}", "scale", qt_json_number((double)list[i].scale),
                                        "offset", qt_json_number((double)list[i].offset)));
    return out;
}

static json_t *json_scales(const float *list, uint32_t n) {
    json_t *out = json_array();
    for (uint32_t i = 0; i < n; i++)
        json_array_append_new(out, qt_json_number((double)list[i]));
    return out;
}

// Absent offsets are 0.
static json_t *json_offsets(const int32_t *list, uint32_t n) {
    json_t *out = json_array();
    for (uint32_t i = 0; i < n; i++)
        json_array_append_new(out, json_integer(list ? list[i] : 0));
    return out;
}

static uint64_t n_blocks(const Qnn_TensorV1_t *t, const uint32_t *block) {
    uint64_t n = 1;
    for (uint32_t i = 0; i < t->rank; i++)
        n *= block[i] ? (t->dimensions[i] + (uint64_t)block[i] - 1) / block[i] : 1;
    return n;
}

static json_t *json_axis(const Qnn_AxisScaleOffset_t *e) {
    return json_pack("{s:i,s:I,s:o}", "axis", (int)e->axis, "numScaleOffsets",
                     (json_int_t)e->numScaleOffsets, "scaleOffset",
                     json_pairs(e->scaleOffset, e->numScaleOffsets));
}

static json_t *json_bw_axis(const Qnn_BwAxisScaleOffset_t *e) {
    return json_pack("{s:I,s:i,s:I,s:o,s:o}", "bitwidth", (json_int_t)e->bitwidth, "axis",
                     (int)e->axis, "numElements", (json_int_t)e->numElements, "scales",
                     json_scales(e->scales, e->numElements), "offsets",
                     json_offsets(e->offsets, e->numElements));
}

static json_t *json_bw_axis_mapped(const Qnn_BwAxisScaleOffsetMapped_t *e) {
    return json_pack("{s:I,s:i,s:o,s:I,s:o,s:o}", "bitwidth", (json_int_t)e->bitwidth, "axis",
                     (int)e->axis, "mapping", JSON_WORD(mappings, e->mapping), "numElements",
                     (json_int_t)e->numElements, "scales", json_scales(e->scales, e->numElements),
                     "offsets", json_offsets(e->offsets, e->numElements));
}

static json_t *json_block(const Qnn_TensorV1_t *t, const Qnn_BlockEncoding_t *e) {
    return json_pack("{s:o,s:o}", "blockSize", json_u32s(e->blockSize, t->rank), "scaleOffset",
                     json_pairs(e->scaleOffset, n_blocks(t, e->blockSize)));
}

static json_t *json_block_mapped(const Qnn_TensorV1_t *t, const Qnn_BwBlockMapped_t *e) {
    return json_pack("{s:I,s:o,s:o,s:o}", "bitwidth", (json_int_t)e->bitwidth, "mapping",
                     JSON_WORD(mappings, e->mapping), "blockSize", json_u32s(e->blockSize, t->rank),
                     "scaleOffset", json_pairs(e->scaleOffset, n_blocks(t, e->blockSize)));
}

static json_t *json_float_block(const Qnn_TensorV1_t *t, const uint32_t *block,
                                const Qnn_FloatScaleOffset_t *pairs) {
    return json_pack("{s:o,s:o}", "blockSize", json_u32s(block, t->rank), "floatScaleOffset",
                     json_float_pairs(pairs, n_blocks(t, block)));
}

// The member that the encoding selects. The System library of Quern gives block expansions as the
// block encodings of the same values; others that no case has are described by their name alone.
static void add_encoding(json_t *o, const Qnn_TensorV1_t *t) {
    const Qnn_QuantizeParams_t *q = &t->quantizeParams;
    switch (q->quantizationEncoding) {
    case QNN_QUANTIZATION_ENCODING_SCALE_OFFSET:
        json_object_set_new(o, "scaleOffset", json_pair(&q->scaleOffsetEncoding));
        break;
    case QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET:
        json_object_set_new(o, "axisScaleOffset", json_axis(&q->axisScaleOffsetEncoding));
        break;
    case QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET:
        json_object_set_new(o, "bwScaleOffset",
                            json_pack("{s:I,s:o,s:i}", "bitwidth",
                                      (json_int_t)q->bwScaleOffsetEncoding.bitwidth, "scale",
                                      qt_json_number((double)q->bwScaleOffsetEncoding.scale),
                                      "offset", (int)q->bwScaleOffsetEncoding.offset));
        break;
    case QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET:
        json_object_set_new(o, "bwAxisScaleOffset", json_bw_axis(&q->bwAxisScaleOffsetEncoding));
        break;
    case QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET_MAPPED:
        json_object_set_new(o, "bwAxisScaleOffsetMapped",
                            json_bw_axis_mapped(q->bwAxisScaleOffsetMappedEncoding));
        break;
    case QNN_QUANTIZATION_ENCODING_BLOCK:
        json_object_set_new(o, "blockEncoding", json_block(t, &q->blockEncoding));
        break;
    case QNN_QUANTIZATION_ENCODING_BW_BLOCK_MAPPED:
        json_object_set_new(o, "bwBlockMapped", json_block_mapped(t, q->bwBlockMappedEncoding));
        break;
    case QNN_QUANTIZATION_ENCODING_FLOAT_BLOCK:
        json_object_set_new(o, "floatBlockEncoding",
                            json_float_block(t, q->floatBlockEncoding.blockSize,
                                             q->floatBlockEncoding.floatScaleOffset));
        break;
    case QNN_QUANTIZATION_ENCODING_BW_FLOAT_BLOCK: {
        json_t *e = json_float_block(t, q->bwFloatBlockEncoding.blockSize,
                                     q->bwFloatBlockEncoding.floatScaleOffset);
        json_object_set_new(e, "bitwidth", json_u64(q->bwFloatBlockEncoding.bitwidth));
        json_object_set_new(o, "bwFloatBlockEncoding", e);
        break;
    }
    default:
        break;
    }
}

// Public readers look for the kind of encoding under one key or the other.
static json_t *json_quantize(const Qnn_TensorV1_t *t) {
    const Qnn_QuantizeParams_t *q = &t->quantizeParams;
    json_t *o =
        json_pack("{s:o,s:o,s:o}", "definition", JSON_WORD(definitions, q->encodingDefinition),
                  "encoding", JSON_WORD(encodings, q->quantizationEncoding), "quantizationEncoding",
                  JSON_WORD(encodings, q->quantizationEncoding));
    if (o && q->encodingDefinition == QNN_DEFINITION_DEFINED)
        add_encoding(o, t);
    return o;
}

static json_t *json_tensor(const Qnn_Tensor_t *t) {
    const Qnn_TensorV1_t *v = &t->v1; // both versions agree in its members
    json_t *info =
        json_pack("{s:I,s:o,s:o,s:o,s:o,s:o,s:I,s:o,s:o}", "id", (json_int_t)v->id, "name",
                  qt_json_text(v->name ? v->name : ""), "type", JSON_WORD(tensor_types, v->type),
                  "dataFormat", JSON_WORD(data_formats, v->dataFormat), "dataType",
                  JSON_WORD(data_types, v->dataType), "quantizeParams", json_quantize(v), "rank",
                  (json_int_t)v->rank, "dimensions", json_u32s(v->dimensions, v->rank), "memType",
                  JSON_WORD(mem_types, v->memType));
    if (info && t->version == QNN_TENSOR_VERSION_2 && t->v2.isDynamicDimensions) {
        json_t *dynamic = json_array();
        for (uint32_t i = 0; i < v->rank; i++)
            json_array_append_new(dynamic, json_integer(t->v2.isDynamicDimensions[i]));
        json_object_set_new(info, "isDynamicDimensions", dynamic);
    }
    return json_pack("{s:o,s:I}", "info", info, "version", (json_int_t)t->version);
}

static void add_tensors(json_t *o, const char *count, const char *name, const Qnn_Tensor_t *list,
                        uint32_t n) {
    json_t *out = json_array();
    for (uint32_t i = 0; i < n; i++)
        json_array_append_new(out, json_tensor(&list[i]));
    json_object_set_new(o, count, json_u64(n));
    json_object_set_new(o, name, out);
}

static json_t *json_blob(const QnnHtpSystemContext_GraphBlobInfo_t *b) {
    const QnnHtpSystemContext_GraphBlobInfoV1_t *v = &b->contextBinaryGraphBlobInfoV1;
    return json_pack("{s:{s:I,s:I,s:I,s:i,s:I},s:I}", "info", "spillFillBufferSize",
                     (json_int_t)v->spillFillBufferSize, "vtcmSize", (json_int_t)v->vtcmSize,
                     "optimizationLevel", (json_int_t)v->optimizationLevel, "htpDlbc",
                     (int)v->htpDlbc, "numHvxThreads", (json_int_t)v->numHvxThreads, "version",
                     (json_int_t)b->version);
}

static json_t *json_blob_v2(const QnnHtpSystemContext_GraphBlobInfoV2_t *b) {
    return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "version", (json_int_t)b->version,
                     "nativeKChannelSize", (json_int_t)b->nativeKChannelSize, "nativeVChannelSize",
                     (json_int_t)b->nativeVChannelSize, "isSafeShareIO",
                     (json_int_t)b->isSafeShareIO, "ioTensorSize", (json_int_t)b->ioTensorSize,
                     "opDataSize", (json_int_t)b->opDataSize, "constSize", (json_int_t)b->constSize,
                     "ddrTensorSize", (json_int_t)b->ddrTensorSize, "sharedWeightsSize",
                     (json_int_t)b->sharedWeightsSize);
}

// The HTP's facts of a graph: one struct, and the second right behind it.
static void add_blobs(json_t *o, const QnnSystemContext_GraphInfoV3_t *g) {
    const QnnHtpSystemContext_GraphBlobInfo_t *first = g->graphBlobInfo;
    if (!first || g->graphBlobInfoSize < sizeof *first ||
        first->version != QNN_SYSTEM_CONTEXT_HTP_GRAPH_INFO_BLOB_VERSION_V1)
        return;
    json_object_set_new(o, "graphBlobInfo", json_blob(first));
    const QnnHtpSystemContext_GraphBlobInfoV2_t *second = (const void *)(first + 1);
    if (g->graphBlobInfoSize >= sizeof *first + sizeof *second)
        json_object_set_new(o, "graphBlobInfoV2", json_blob_v2(second));
}

static json_t *json_graph(const QnnSystemContext_GraphInfo_t *graph) {
    const QnnSystemContext_GraphInfoV3_t *g = &graph->graphInfoV3;
    json_t *info = json_pack("{s:o}", "graphName", qt_json_text(g->graphName));
    add_tensors(info, "numGraphInputs", "graphInputs", g->graphInputs, g->numGraphInputs);
    add_tensors(info, "numGraphOutputs", "graphOutputs", g->graphOutputs, g->numGraphOutputs);
    add_tensors(info, "numUpdateableTensors", "updateableTensors", g->updateableTensors,
                g->numUpdateableTensors);
    add_blobs(info, g);
    json_object_set_new(info, "startOpIndex", json_u64(g->startOpIndex));
    json_object_set_new(info, "endOpIndex", json_u64(g->endOpIndex));
    return json_pack("{s:o,s:I}", "info", info, "version", (json_int_t)graph->version);
}

static json_t *json_version(Qnn_Version_t v) {
    return json_pack("{s:I,s:I,s:I}", "major", (json_int_t)v.major, "minor", (json_int_t)v.minor,
                     "patch", (json_int_t)v.patch);
}

json_t *qt_published_json(const QnnSystemContext_BinaryInfoV3_t *v) {
    json_t *graphs = json_array();
    for (uint32_t i = 0; i < v->numGraphs; i++)
        json_array_append_new(graphs, json_graph(&v->graphs[i]));
    json_t *info = json_pack(
        "{s:I,s:o,s:o,s:o,s:o,s:o,s:I,s:I,s:o,s:I}", "backendId", (json_int_t)v->backendId,
        "buildId", qt_json_text(v->buildId ? v->buildId : ""), "coreApiVersion",
        json_version(v->coreApiVersion), "backendApiVersion", json_version(v->backendApiVersion),
        "socVersion", qt_json_text(v->socVersion ? v->socVersion : ""), "contextBlobVersion",
        json_version(v->contextBlobVersion), "contextBlobSize", (json_int_t)v->contextBlobSize,
        "numGraphs", (json_int_t)v->numGraphs, "graphs", graphs, "socModel",
        (json_int_t)v->socModel);
    add_tensors(info, "numContextTensors", "contextTensors", v->contextTensors,
                v->numContextTensors);
    const QnnHtpSystemContext_ContextBlobInfo_t *c = v->contextMetadata;
    if (c && v->contextMetadataSize >= sizeof *c)
        json_object_set_new(info, "contextMetadata",
                            json_pack("{s:{s:I},s:I}", "info", "dspArch",
                                      (json_int_t)c->contextBinaryContextBlobInfoV1.dspArch,
                                      "version", (json_int_t)c->version));
    return json_pack("{s:o,s:i}", "info", info, "version",
                     (int)QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_3);
}
