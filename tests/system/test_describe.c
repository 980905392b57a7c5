// SPDX-License-Identifier: MIT
//
// The description of a binary field by field: of the context that was made by hand, and of the same
// context as it comes back from its bytes.
#include "pairs.h"
#include "sample.h"
#include "core/describe_tensor.h"
#include "system/system.h"

#include "HTP/QnnHtpSystemContext.h"

#include <stdlib.h>
#include <string.h>

typedef struct world {
    qrn_arena *arena;
    const QnnSystemContext_BinaryInfoV3_t *info;
} world;

static world describe(const qrn_bin *b) {
    world w = {.arena = qrn_arena_create()};
    QnnSystemContext_BinaryInfo_t *info = NULL;
    assert_non_null(w.arena);
    assert_int_equal(qrn_system_describe(b, 4321, w.arena, &info), QRN_OK);
    assert_int_equal(info->version, QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_3);
    w.info = &info->contextBinaryInfoV3;
    return w;
}

static const QnnSystemContext_GraphInfoV3_t *graph(const world *w, uint32_t i) {
    assert_int_equal(w->info->graphs[i].version, QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_3);
    return &w->info->graphs[i].graphInfoV3;
}

static void check_head(const QnnSystemContext_BinaryInfoV3_t *v) {
    assert_int_equal(v->backendId, 6);
    assert_string_equal(v->buildId, "test 1");
    assert_int_equal(v->coreApiVersion.major, 2);
    assert_int_equal(v->coreApiVersion.minor, 40);
    assert_int_equal(v->backendApiVersion.major, 5);
    assert_int_equal(v->backendApiVersion.minor, 51);
    assert_string_equal(v->socVersion, "SM8650");
    assert_int_equal(v->socModel, 57);
    assert_int_equal(v->contextBlobVersion.major, QRN_BIN_VERSION_MAJOR);
    assert_int_equal(v->contextBlobVersion.minor, 3); // nothing needs a later one
    assert_int_equal(v->contextBlobSize, 4321);
    assert_int_equal(v->contextMetadataSize, sizeof(QnnHtpSystemContext_ContextBlobInfo_t));
    const QnnHtpSystemContext_ContextBlobInfo_t *c = v->contextMetadata;
    assert_int_equal(c->version, QNN_SYSTEM_CONTEXT_HTP_CONTEXT_INFO_BLOB_VERSION_V1);
    assert_int_equal(c->contextBinaryContextBlobInfoV1.dspArch, 75);
    assert_int_equal(v->numGraphs, 2);
    assert_int_equal(v->numContextTensors, 1);
    assert_string_equal(v->contextTensors[0].v1.name, "between");
    assert_int_equal(v->contextTensors[0].v1.type, QNN_TENSOR_TYPE_APP_READWRITE);
    assert_int_equal(v->contextTensors[0].v1.id, 7);
}

static void check_plain(const Qnn_Tensor_t *t, uint32_t id, const char *name, Qnn_TensorType_t type,
                        Qnn_DataType_t dtype, uint32_t d0, uint32_t d1) {
    assert_int_equal(t->v1.id, id);
    assert_string_equal(t->v1.name, name);
    assert_int_equal(t->v1.type, type);
    assert_int_equal(t->v1.dataType, dtype);
    assert_int_equal(t->v1.dataFormat, QNN_TENSOR_DATA_FORMAT_DENSE);
    assert_int_equal(t->v1.rank, 2);
    assert_int_equal(t->v1.dimensions[0], d0);
    assert_int_equal(t->v1.dimensions[1], d1);
    assert_int_equal(t->v1.memType, QNN_TENSORMEMTYPE_RAW);
    assert_null(t->v1.clientBuf.data);
    assert_int_equal(t->v1.clientBuf.dataSize, 0);
}

static void check_first(const QnnSystemContext_GraphInfoV3_t *g) {
    assert_string_equal(g->graphName, "first");
    assert_int_equal(g->numGraphInputs, 1);
    assert_int_equal(g->numGraphOutputs, 1);
    check_plain(&g->graphInputs[0], 1, "x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_UFIXED_POINT_8,
                4, 2);
    assert_int_equal(g->graphInputs[0].version, QNN_TENSOR_VERSION_1);
    const Qnn_QuantizeParams_t *q = &g->graphInputs[0].v1.quantizeParams;
    assert_int_equal(q->encodingDefinition, QNN_DEFINITION_DEFINED);
    assert_int_equal(q->quantizationEncoding, QNN_QUANTIZATION_ENCODING_SCALE_OFFSET);
    assert_true(q->scaleOffsetEncoding.scale == 0.1f);
    assert_int_equal(q->scaleOffsetEncoding.offset, -128);
    check_plain(&g->graphOutputs[0], 4, "y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_UFIXED_POINT_8,
                4, 3);
    q = &g->graphOutputs[0].v1.quantizeParams;
    assert_int_equal(q->quantizationEncoding, QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET);
    assert_int_equal(q->bwScaleOffsetEncoding.bitwidth, 7);
    assert_true(q->bwScaleOffsetEncoding.scale == 0.2f);
    assert_int_equal(q->bwScaleOffsetEncoding.offset, -1);
    assert_int_equal(g->startOpIndex, 0);
    assert_int_equal(g->endOpIndex, 0);
}

static void check_updateable(const QnnSystemContext_GraphInfoV3_t *g) {
    assert_int_equal(g->numUpdateableTensors, 2);
    check_plain(&g->updateableTensors[0], 2, "w", QNN_TENSOR_TYPE_UPDATEABLE_STATIC,
                QNN_DATATYPE_SFIXED_POINT_8, 3, 2);
    const Qnn_QuantizeParams_t *q = &g->updateableTensors[0].v1.quantizeParams;
    assert_int_equal(q->quantizationEncoding, QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET);
    assert_int_equal(q->axisScaleOffsetEncoding.axis, 0);
    assert_int_equal(q->axisScaleOffsetEncoding.numScaleOffsets, 3);
    assert_true(q->axisScaleOffsetEncoding.scaleOffset[1].scale == 0.25f);
    assert_int_equal(q->axisScaleOffsetEncoding.scaleOffset[1].offset, -3);
    assert_int_equal(q->axisScaleOffsetEncoding.scaleOffset[2].offset, 7);
    q = &g->updateableTensors[1].v1.quantizeParams;
    assert_int_equal(q->quantizationEncoding, QNN_QUANTIZATION_ENCODING_BW_FLOAT_BLOCK);
    assert_int_equal(q->bwFloatBlockEncoding.bitwidth, 4);
    assert_int_equal(q->bwFloatBlockEncoding.blockSize[1], 2);
    assert_true(q->bwFloatBlockEncoding.floatScaleOffset[3].scale == 4.0f);
    assert_true(q->bwFloatBlockEncoding.floatScaleOffset[2].offset == 0.5f);
}

static void check_second(const QnnSystemContext_GraphInfoV3_t *g) {
    assert_string_equal(g->graphName, "second");
    assert_int_equal(g->numGraphInputs, 1);
    const Qnn_Tensor_t *a = &g->graphInputs[0];
    assert_int_equal(a->version, QNN_TENSOR_VERSION_2);
    check_plain(a, 5, "a", QNN_TENSOR_TYPE_OPTIONAL_APP_WRITE, QNN_DATATYPE_FLOAT_16, 4, 3);
    assert_int_equal(a->v2.isDynamicDimensions[0], 0);
    assert_int_equal(a->v2.isDynamicDimensions[1], 1);
    assert_int_equal(a->v1.quantizeParams.encodingDefinition, QNN_DEFINITION_UNDEFINED);
    // Its own output, then the context tensor that it writes.
    assert_int_equal(g->numGraphOutputs, 2);
    assert_string_equal(g->graphOutputs[0].v1.name, "b");
    assert_string_equal(g->graphOutputs[1].v1.name, "between");
    assert_int_equal(g->startOpIndex, 1);
    assert_int_equal(g->endOpIndex, 2);
}

static void check_blobs(const world *w) {
    const QnnHtpSystemContext_GraphBlobInfo_t *v1 = graph(w, 0)->graphBlobInfo;
    assert_int_equal(graph(w, 0)->graphBlobInfoSize,
                     sizeof *v1 + sizeof(QnnHtpSystemContext_GraphBlobInfoV2_t));
    assert_int_equal(v1->version, QNN_SYSTEM_CONTEXT_HTP_GRAPH_INFO_BLOB_VERSION_V1);
    // 5 MiB of intermediate data, of which 2 lie in VTCM.
    assert_int_equal(v1->contextBinaryGraphBlobInfoV1.spillFillBufferSize, 3u << 20);
    assert_int_equal(v1->contextBinaryGraphBlobInfoV1.vtcmSize, 2);
    assert_int_equal(v1->contextBinaryGraphBlobInfoV1.optimizationLevel, 3);
    assert_int_equal(v1->contextBinaryGraphBlobInfoV1.htpDlbc, 1);
    assert_int_equal(v1->contextBinaryGraphBlobInfoV1.numHvxThreads, 2);
    const QnnHtpSystemContext_GraphBlobInfoV2_t *v2 = (const void *)(v1 + 1);
    assert_int_equal(v2->version, QNN_SYSTEM_CONTEXT_HTP_GRAPH_INFO_BLOB_VERSION_V2);
    assert_int_equal(v2->ddrTensorSize, 3u << 20);
    assert_int_equal(v2->opDataSize, 40); // of one op
    // Nothing asked for: the default, and all vector threads of an SM8650.
    v1 = graph(w, 1)->graphBlobInfo;
    assert_int_equal(v1->contextBinaryGraphBlobInfoV1.spillFillBufferSize, 0);
    assert_int_equal(v1->contextBinaryGraphBlobInfoV1.vtcmSize, 4);
    assert_int_equal(v1->contextBinaryGraphBlobInfoV1.htpDlbc, 0);
    assert_int_equal(v1->contextBinaryGraphBlobInfoV1.numHvxThreads, 4);
}

static void check_all(const qrn_bin *b) {
    world w = describe(b);
    check_head(w.info);
    check_first(graph(&w, 0));
    check_updateable(graph(&w, 0));
    check_second(graph(&w, 1));
    check_blobs(&w);
    qrn_arena_destroy(w.arena);
}

static void says_what_is_in_a_context(void **state) {
    (void)state;
    check_all(sample_bin());
}

static void says_the_same_of_its_bytes(void **state) {
    (void)state;
    uint64_t size = 0;
    void *bytes = sample_bytes(&size);
    qrn_bin *b = NULL;
    assert_int_equal(qrn_bin_open(bytes, size, true, &b), QRN_OK);
    check_all(b);
    qrn_bin_close(b);
    free(bytes);
}

static void chips_and_blobs_may_be_missing(void **state) {
    (void)state;
    qrn_bin b = *sample_bin();
    b.soc_id = 93; // QCM6490, with 2 MB of VTCM
    b.arch = 68;
    world w = describe(&b);
    assert_string_equal(w.info->socVersion, "QCM6490");
    const QnnHtpSystemContext_GraphBlobInfo_t *v1 = graph(&w, 1)->graphBlobInfo;
    assert_int_equal(v1->contextBinaryGraphBlobInfoV1.vtcmSize, 2);
    qrn_arena_destroy(w.arena);
    b.soc_id = 0;
    b.arch = 0;
    w = describe(&b);
    assert_string_equal(w.info->socVersion, "");
    assert_int_equal(w.info->socModel, 0);
    qrn_arena_destroy(w.arena);
    b.backend_id = 4; // not the HTP
    w = describe(&b);
    assert_null(w.info->contextMetadata);
    assert_int_equal(w.info->contextMetadataSize, 0);
    assert_null(graph(&w, 0)->graphBlobInfo);
    assert_int_equal(graph(&w, 0)->graphBlobInfoSize, 0);
    qrn_arena_destroy(w.arena);
}

// One tensor, described.
static Qnn_QuantizeParams_t one(const qrn_tensor *t, qrn_arena *a) {
    Qnn_Tensor_t out;
    assert_int_equal(qrn_tensor_describe(t, a, &out), QRN_OK);
    return out.v1.quantizeParams;
}

static void encodings_keep_their_form(void **state) {
    (void)state;
    qrn_arena *a = qrn_arena_create();
    const float scales[2] = {2, 4};
    qrn_tensor t = {
        .id = 9,
        .name = "t",
        .role = QRN_ROLE_STATIC,
        .dtype = QRN_DTYPE_SQ8,
        .shape = {2, {2, 2}},
        .quant = {.kind = QRN_QUANT_AXIS, .bits = 4, .axis = 1, .scales = scales, .n_groups = 2},
        .encoding = QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET};
    Qnn_QuantizeParams_t q = one(&t, a);
    assert_int_equal(q.quantizationEncoding, 3);
    assert_int_equal(q.bwAxisScaleOffsetEncoding.bitwidth, 4);
    assert_int_equal(q.bwAxisScaleOffsetEncoding.axis, 1);
    assert_true(q.bwAxisScaleOffsetEncoding.scales[1] == 4.0f);
    assert_null(q.bwAxisScaleOffsetEncoding.offsets);
    t.encoding = QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET_MAPPED;
    t.quant.shift = 0.5f;
    q = one(&t, a);
    assert_int_equal(q.quantizationEncoding, 8);
    assert_int_equal(q.bwAxisScaleOffsetMappedEncoding->mapping, 2);
    // Block expansions come as blocks of the same scales.
    t.encoding = QNN_QUANTIZATION_ENCODING_BLOCKWISE_EXPANSION;
    t.quant.kind = QRN_QUANT_BLOCK;
    t.quant.shift = 0;
    t.quant.block[0] = 1;
    t.quant.block[1] = 2;
    q = one(&t, a);
    assert_int_equal(q.quantizationEncoding, QNN_QUANTIZATION_ENCODING_BLOCK);
    assert_int_equal(q.blockEncoding.blockSize[1], 2);
    assert_true(q.blockEncoding.scaleOffset[1].scale == 4.0f);
    t.encoding = QNN_QUANTIZATION_ENCODING_BW_BLOCK_MAPPED;
    t.quant.shift = 1;
    q = one(&t, a);
    assert_int_equal(q.quantizationEncoding, 9);
    assert_int_equal(q.bwBlockMappedEncoding->mapping, 1);
    assert_int_equal(q.bwBlockMappedEncoding->bitwidth, 4);
    qrn_arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_is_in_a_context),
        cmocka_unit_test(says_the_same_of_its_bytes),
        cmocka_unit_test(chips_and_blobs_may_be_missing),
        cmocka_unit_test(encodings_keep_their_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
