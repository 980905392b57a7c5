// SPDX-License-Identifier: MIT
//
// The published JSON of tensors in every encoding that a description can have.
#include "tools/quern/show_published.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint32_t dims[] = {4, 6}, block[] = {2, 6};
static Qnn_ScaleOffset_t pairs[] = {{0.5f, 0}, {0.25f, -3}};
static Qnn_FloatScaleOffset_t float_pairs[] = {{0.5f, 1.5f}, {0.25f, -2.0f}};
static float scales[] = {0.5f, 0.25f};
static int32_t offsets[] = {7, -8};

// What a binary's only input becomes.
static json_t *describe(Qnn_QuantizeParams_t q) {
    Qnn_Tensor_t t = {.version = QNN_TENSOR_VERSION_1,
                      .v1 = {.id = 3,
                             .name = "x",
                             .dataType = QNN_DATATYPE_UFIXED_POINT_8,
                             .quantizeParams = q,
                             .rank = 2,
                             .dimensions = dims}};
    t.v1.quantizeParams.encodingDefinition = QNN_DEFINITION_DEFINED;
    QnnSystemContext_GraphInfo_t g = {
        .version = QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_3,
        .graphInfoV3 = {.graphName = "g", .numGraphInputs = 1, .graphInputs = &t}};
    QnnSystemContext_BinaryInfoV3_t info = {.backendId = 6, .numGraphs = 1, .graphs = &g};
    json_t *whole = qt_published_json(&info);
    assert_non_null(whole);
    json_t *graphs = json_object_get(json_object_get(whole, "info"), "graphs");
    json_t *graph = json_object_get(json_array_get(graphs, 0), "info");
    json_t *tensor = json_array_get(json_object_get(graph, "graphInputs"), 0);
    json_t *found = json_object_get(json_object_get(tensor, "info"), "quantizeParams");
    assert_non_null(found);
    json_incref(found);
    json_decref(whole);
    return found;
}

// The member of the encoding, as text with sorted keys.
static void expect(Qnn_QuantizeParams_t q, const char *encoding, const char *member,
                   const char *text) {
    json_t *found = describe(q);
    const char *keys[] = {"encoding", "quantizationEncoding"};
    for (size_t i = 0; i < 2; i++)
        assert_string_equal(json_string_value(json_object_get(found, keys[i])), encoding);
    assert_int_equal(json_object_size(found), 4);
    char *got = json_dumps(json_object_get(found, member), JSON_SORT_KEYS | JSON_COMPACT);
    assert_non_null(got);
    assert_string_equal(got, text);
    free(got);
    json_decref(found);
}

#define ENCODING(name, ...)                                                                        \
    (Qnn_QuantizeParams_t) { .quantizationEncoding = QNN_QUANTIZATION_ENCODING_##name, __VA_ARGS__ }
#define PAIRS "[{\"offset\":0,\"scale\":0.5},{\"offset\":-3,\"scale\":0.25}]"
#define FLOAT_PAIRS "[{\"offset\":1.5,\"scale\":0.5},{\"offset\":-2.0,\"scale\":0.25}]"
#define STANDARD "\"QNN_QUANTIZATION_ENCODING_MAPPING_STANDARD_SYMMETRIC\""

static void encodings_per_tensor_and_axis(void **unused) {
    (void)unused;
    expect(ENCODING(SCALE_OFFSET, .scaleOffsetEncoding = pairs[1]),
           "QNN_QUANTIZATION_ENCODING_SCALE_OFFSET", "scaleOffset",
           "{\"offset\":-3,\"scale\":0.25}");
    expect(ENCODING(BW_SCALE_OFFSET, .bwScaleOffsetEncoding = {4, 0.5f, -2}),
           "QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET", "bwScaleOffset",
           "{\"bitwidth\":4,\"offset\":-2,\"scale\":0.5}");
    expect(ENCODING(AXIS_SCALE_OFFSET, .axisScaleOffsetEncoding = {1, 2, pairs}),
           "QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET", "axisScaleOffset",
           "{\"axis\":1,\"numScaleOffsets\":2,\"scaleOffset\":" PAIRS "}");
    expect(ENCODING(BW_AXIS_SCALE_OFFSET, .bwAxisScaleOffsetEncoding = {4, 1, 2, scales, NULL}),
           "QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET", "bwAxisScaleOffset",
           "{\"axis\":1,\"bitwidth\":4,\"numElements\":2,\"offsets\":[0,0],\"scales\":[0.5,0.25]}");
    Qnn_BwAxisScaleOffsetMapped_t mapped = {4, 1, 0, 2, scales, offsets};
    expect(ENCODING(BW_AXIS_SCALE_OFFSET_MAPPED, .bwAxisScaleOffsetMappedEncoding = &mapped),
           "QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET_MAPPED", "bwAxisScaleOffsetMapped",
           "{\"axis\":1,\"bitwidth\":4,\"mapping\":" STANDARD
           ",\"numElements\":2,\"offsets\":[7,-8],\"scales\":[0.5,0.25]}");
}

// 4 rows in blocks of 2: two of them.
static void encodings_per_block(void **unused) {
    (void)unused;
    expect(ENCODING(BLOCK, .blockEncoding = {block, pairs}), "QNN_QUANTIZATION_ENCODING_BLOCK",
           "blockEncoding", "{\"blockSize\":[2,6],\"scaleOffset\":" PAIRS "}");
    Qnn_BwBlockMapped_t mapped = {4, 0, block, pairs};
    expect(ENCODING(BW_BLOCK_MAPPED, .bwBlockMappedEncoding = &mapped),
           "QNN_QUANTIZATION_ENCODING_BW_BLOCK_MAPPED", "bwBlockMapped",
           "{\"bitwidth\":4,\"blockSize\":[2,6],\"mapping\":" STANDARD ",\"scaleOffset\":" PAIRS
           "}");
    expect(ENCODING(FLOAT_BLOCK, .floatBlockEncoding = {block, float_pairs}),
           "QNN_QUANTIZATION_ENCODING_FLOAT_BLOCK", "floatBlockEncoding",
           "{\"blockSize\":[2,6],\"floatScaleOffset\":" FLOAT_PAIRS "}");
    expect(ENCODING(BW_FLOAT_BLOCK, .bwFloatBlockEncoding = {4, block, float_pairs}),
           "QNN_QUANTIZATION_ENCODING_BW_FLOAT_BLOCK", "bwFloatBlockEncoding",
           "{\"bitwidth\":4,\"blockSize\":[2,6],\"floatScaleOffset\":" FLOAT_PAIRS "}");
}

// What is not finite or not known is no reason to fail.
static void odd_values_are_printed(void **unused) {
    (void)unused;
    expect(ENCODING(SCALE_OFFSET, .scaleOffsetEncoding = {1.0f / 0.0f, 0}),
           "QNN_QUANTIZATION_ENCODING_SCALE_OFFSET", "scaleOffset",
           "{\"offset\":0,\"scale\":null}");
    json_t *found =
        describe((Qnn_QuantizeParams_t){.quantizationEncoding = (Qnn_QuantizationEncoding_t)0x77});
    assert_string_equal(json_string_value(json_object_get(found, "encoding")), "0x77");
    assert_int_equal(json_object_size(found), 3);
    json_decref(found);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encodings_per_tensor_and_axis),
        cmocka_unit_test(encodings_per_block),
        cmocka_unit_test(odd_values_are_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
