// SPDX-License-Identifier: MIT
//
// The API's fourteen encodings: a code of each reads as the real number that the API's own formula
// gives, computed here in double from the client's description; what is malformed is refused.
#include "build.h"

#include <math.h>

static Qnn_GraphHandle_t graph;
static unsigned serial;

static int setup(void **state) {
    if (build_setup(state))
        return 1;
    return QnnGraph_create(context, "g", NULL, &graph) != QNN_SUCCESS;
}

static uint32_t dims[3] = {4, 6, 3};
enum { COUNT = 4 * 6 * 3 };

static Qnn_Tensor_t tensor(Qnn_DataType_t type, Qnn_QuantizationEncoding_t encoding) {
    static char names[1024][8];
    char *name = names[serial++ % 1024];
    name[0] = 't';
    for (unsigned i = 0, v = serial; i < 6; i++, v /= 10)
        name[6 - i] = (char)('0' + v % 10);
    static int8_t data[4 * COUNT];
    uint32_t bytes = (type & 0xff) == 0x16 ? 2 * COUNT : (type & 0xff) == 0x04 ? COUNT / 2 : COUNT;
    Qnn_Tensor_t t = describe_static(name, type, 3, dims, data, bytes);
    t.v1.quantizeParams.encodingDefinition = QNN_DEFINITION_DEFINED;
    t.v1.quantizeParams.quantizationEncoding = encoding;
    return t;
}

// What the normalised form says about element {i,j,k}.
static double read_back(const qrn_tensor *t, const uint32_t at[3], int64_t code) {
    const qrn_quant *q = &t->quant;
    if (q->kind == QRN_QUANT_TENSOR)
        return (double)q->scale * ((double)(code + q->offset) + (double)q->shift);
    size_t g = 0;
    if (q->kind == QRN_QUANT_AXIS)
        g = at[q->axis];
    for (int d = 0; q->kind == QRN_QUANT_BLOCK && d < 3; d++)
        g = g * ((dims[d] + q->block[d] - 1) / q->block[d]) + at[d] / q->block[d];
    assert_true(g < q->n_groups);
    double real = q->real_offsets ? (double)q->real_offsets[g] : 0.0;
    int32_t offset = q->offsets ? q->offsets[g] : 0;
    return (double)q->scales[g] * ((double)(code + offset) + (double)q->shift) + real;
}

// Compares with the oracle at every element for a few codes.
static void check(Qnn_Tensor_t t, double (*oracle)(const uint32_t at[3], int64_t code)) {
    OK(QnnTensor_createGraphTensor(graph, &t));
    const qrn_tensor *o = tensor_object(t.v1.id);
    assert_int_equal(o->encoding, t.v1.quantizeParams.quantizationEncoding);
    for (uint32_t i = 0; i < COUNT; i++)
        for (int64_t code = -5; code < 6; code++) {
            uint32_t at[3] = {i / 18, i / 3 % 6, i % 3};
            double want = oracle(at, code), got = read_back(o, at, code);
            if (fabs(want - got) > 1e-6 * (fabs(want) + 1e-3)) {
                print_error("[%u,%u,%u] code %d: %g, expected %g\n", at[0], at[1], at[2], (int)code,
                            got, want);
                fail();
            }
        }
}

static Qnn_ScaleOffset_t pairs_[64];
static Qnn_FloatScaleOffset_t float_pairs[64];
static float scales_[64];
static int32_t offsets_[64];
static uint32_t block[3] = {3, 4, 2};
static uint8_t factors8[64];
static uint16_t factors16[64];

static void fill(void) {
    for (int i = 0; i < 64; i++) {
        pairs_[i] = (Qnn_ScaleOffset_t){0.25f * (float)(i + 1), 3 - i};
        float_pairs[i] = (Qnn_FloatScaleOffset_t){0.125f * (float)(i + 1), 0.75f * (float)(i - 9)};
        scales_[i] = 0.5f + (float)i;
        offsets_[i] = i - 20;
        factors8[i] = (uint8_t)(1 + i % 16);
        factors16[i] = (uint16_t)(1 + i * 3);
    }
}

// Index of the block of an element, blocks row-major, partial blocks at the ends count.
static size_t block_index(const uint32_t at[3]) {
    size_t nj = 2, nk = 2; // ceil(6/4), ceil(3/2)
    return (at[0] / block[0] * nj + at[1] / block[1]) * nk + at[2] / block[2];
}

static double o_scale_offset(const uint32_t at[3], int64_t c) {
    (void)at;
    return 0.1f * ((double)c - 7);
}
static double o_axis(const uint32_t at[3], int64_t c) {
    return pairs_[at[1]].scale * (double)(c + pairs_[at[1]].offset);
}
static double o_bw_axis(const uint32_t at[3], int64_t c) {
    return scales_[at[2]] * (double)(c + offsets_[at[2]]);
}
static double o_bw_axis_no_offset(const uint32_t at[3], int64_t c) {
    return scales_[at[2]] * (double)c;
}
static double o_block(const uint32_t at[3], int64_t c) {
    const Qnn_ScaleOffset_t *p = &pairs_[block_index(at)];
    return p->scale * (double)(c + p->offset);
}
static double o_float_block(const uint32_t at[3], int64_t c) {
    const Qnn_FloatScaleOffset_t *p = &float_pairs[block_index(at)];
    return (double)p->scale * (double)c + p->offset;
}
static double o_plus_one(const uint32_t at[3], int64_t c) {
    return scales_[at[2]] * (double)(c + offsets_[at[2]] + 1);
}
static double o_no_zero_signed(const uint32_t at[3], int64_t c) {
    return scales_[at[2]] * ((double)(c + offsets_[at[2]]) + 0.5);
}
static double o_block_no_zero_unsigned(const uint32_t at[3], int64_t c) { // 4 bits
    const Qnn_ScaleOffset_t *p = &pairs_[block_index(at)];
    return p->scale * ((double)(c + p->offset) - 8 + 0.5);
}
// Axis 2 of 3; blocks along dimension 1, 3 blocks of 2.
static double o_expand_last(const uint32_t at[3], int64_t c) {
    return (double)pairs_[at[2]].scale * factors8[at[2] * 3 + at[1] / 2] *
           (double)(c + pairs_[at[2]].offset);
}
// Axis 0 of 4; blocks along dimension 2, 3 blocks of 1.
static double o_expand_first(const uint32_t at[3], int64_t c) {
    return (double)pairs_[at[0]].scale * factors16[at[0] * 3 + at[2]] *
           ((double)(c + pairs_[at[0]].offset) + 0.5);
}

static void encodings_per_tensor_and_axis_read_as_defined(void **state) {
    (void)state;
    fill();
    Qnn_Tensor_t t = tensor(QNN_DATATYPE_UFIXED_POINT_8, QNN_QUANTIZATION_ENCODING_SCALE_OFFSET);
    Qnn_QuantizeParams_t *q = &t.v1.quantizeParams;
    q->scaleOffsetEncoding = (Qnn_ScaleOffset_t){0.1f, -7};
    check(t, o_scale_offset);

    t = tensor(QNN_DATATYPE_SFIXED_POINT_16, QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET);
    q->axisScaleOffsetEncoding = (Qnn_AxisScaleOffset_t){1, 6, pairs_};
    check(t, o_axis);

    t = tensor(QNN_DATATYPE_SFIXED_POINT_8, QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET);
    q->bwScaleOffsetEncoding = (Qnn_BwScaleOffset_t){4, 0.1f, -7};
    check(t, o_scale_offset);

    t = tensor(QNN_DATATYPE_SFIXED_POINT_8, QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET);
    q->bwAxisScaleOffsetEncoding = (Qnn_BwAxisScaleOffset_t){4, 2, 3, scales_, offsets_};
    check(t, o_bw_axis);
    t = tensor(QNN_DATATYPE_SFIXED_POINT_4, QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET);
    q->bwAxisScaleOffsetEncoding = (Qnn_BwAxisScaleOffset_t){4, 2, 3, scales_, NULL};
    check(t, o_bw_axis_no_offset);
}

static void encodings_per_block_read_as_defined(void **state) {
    (void)state;
    fill();
    Qnn_Tensor_t t;
    Qnn_QuantizeParams_t *q = &t.v1.quantizeParams;
    t = tensor(QNN_DATATYPE_SFIXED_POINT_8, QNN_QUANTIZATION_ENCODING_BLOCK);
    q->blockEncoding = (Qnn_BlockEncoding_t){block, pairs_};
    check(t, o_block);
    t = tensor(QNN_DATATYPE_UFIXED_POINT_8, QNN_QUANTIZATION_ENCODING_FLOAT_BLOCK);
    q->floatBlockEncoding = (Qnn_FloatBlockEncoding_t){block, float_pairs};
    check(t, o_float_block);
    t = tensor(QNN_DATATYPE_UFIXED_POINT_8, QNN_QUANTIZATION_ENCODING_BW_FLOAT_BLOCK);
    q->bwFloatBlockEncoding = (Qnn_BwFloatBlockEncoding_t){4, block, float_pairs};
    check(t, o_float_block);
}

static double o_whole_steps(const uint32_t at[3], int64_t c) {
    size_t g = block_index(at);
    return (double)float_pairs[g].scale * (double)(c + offsets_[g]);
}

// Kernels know integer offsets; as a float a zero point is rounded, 0.1f * -7 for one.
static void real_offsets_of_whole_steps_are_integers(void **state) {
    (void)state;
    fill();
    for (int i = 0; i < 64; i++) {
        float scale = 0.1f * (float)(i + 1);
        float_pairs[i] = (Qnn_FloatScaleOffset_t){scale, (float)((double)scale * offsets_[i])};
    }
    Qnn_Tensor_t t = tensor(QNN_DATATYPE_SFIXED_POINT_8, QNN_QUANTIZATION_ENCODING_BW_FLOAT_BLOCK);
    t.v1.quantizeParams.bwFloatBlockEncoding = (Qnn_BwFloatBlockEncoding_t){4, block, float_pairs};
    OK(QnnTensor_createGraphTensor(graph, &t));
    const qrn_tensor *o = tensor_object(t.v1.id);
    assert_null(o->quant.real_offsets);
    const uint32_t at[3] = {3, 5, 2};
    assert_true(read_back(o, at, 2) == o_whole_steps(at, 2));
}

static void mapped_and_expanded_encodings_read_as_defined(void **state) {
    (void)state;
    fill();
    Qnn_Tensor_t t;
    Qnn_QuantizeParams_t *q = &t.v1.quantizeParams;
    Qnn_BwAxisScaleOffsetMapped_t axis_mapped = {
        4, 2, QNN_QUANTIZATION_ENCODING_MAPPING_ASYMMETRIC_PLUS_ONE, 3, scales_, offsets_};
    t = tensor(QNN_DATATYPE_SFIXED_POINT_8, QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET_MAPPED);
    q->bwAxisScaleOffsetMappedEncoding = &axis_mapped;
    check(t, o_plus_one);
    axis_mapped.mapping = QNN_QUANTIZATION_ENCODING_MAPPING_LINEAR_SYMMETRIC_EXCLUDE_ZERO;
    t = tensor(QNN_DATATYPE_SFIXED_POINT_8, QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET_MAPPED);
    q->bwAxisScaleOffsetMappedEncoding = &axis_mapped;
    check(t, o_no_zero_signed);

    Qnn_BwBlockMapped_t block_mapped = {
        4, QNN_QUANTIZATION_ENCODING_MAPPING_LINEAR_SYMMETRIC_EXCLUDE_ZERO, block, pairs_};
    t = tensor(QNN_DATATYPE_UFIXED_POINT_8, QNN_QUANTIZATION_ENCODING_BW_BLOCK_MAPPED);
    q->bwBlockMappedEncoding = &block_mapped;
    check(t, o_block_no_zero_unsigned);

    Qnn_BlockwiseExpansion_t plain = {2,
                                      pairs_,
                                      3,
                                      4,
                                      QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_8,
                                      {.blocksScale8 = factors8}};
    t = tensor(QNN_DATATYPE_SFIXED_POINT_8, QNN_QUANTIZATION_ENCODING_BLOCKWISE_EXPANSION);
    q->blockwiseExpansion = &plain;
    check(t, o_expand_last);
    Qnn_BwBlockwiseExpansionMapped_t mapped = {
        4,
        QNN_QUANTIZATION_ENCODING_MAPPING_LINEAR_SYMMETRIC_EXCLUDE_ZERO,
        0,
        pairs_,
        3,
        8,
        QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_16,
        {.blocksScale16 = factors16}};
    t = tensor(QNN_DATATYPE_SFIXED_POINT_8,
               QNN_QUANTIZATION_ENCODING_BW_BLOCKWISE_EXPANSION_MAPPED);
    q->bwBlockwiseExpansionMappedEncoding = &mapped;
    check(t, o_expand_first);
}

static void widths_are_kept(void **state) {
    (void)state;
    Qnn_Tensor_t t = tensor(QNN_DATATYPE_SFIXED_POINT_8, QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET);
    t.v1.quantizeParams.bwScaleOffsetEncoding = (Qnn_BwScaleOffset_t){4, 1.0f, 0};
    OK(QnnTensor_createGraphTensor(graph, &t));
    assert_int_equal(tensor_object(t.v1.id)->quant.bits, 4);
    t = tensor(QNN_DATATYPE_UFIXED_POINT_16, QNN_QUANTIZATION_ENCODING_SCALE_OFFSET);
    t.v1.quantizeParams.scaleOffsetEncoding.scale = 1.0f;
    OK(QnnTensor_createGraphTensor(graph, &t));
    assert_int_equal(tensor_object(t.v1.id)->quant.bits, 16);
}

#define CODE(t) QnnTensor_createGraphTensor(graph, &(t))
#define BAD(t) PAIR("QnnTensor_createGraphTensor", QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM, CODE(t))
#define UNSUPPORTED(t)                                                                             \
    PAIR("QnnTensor_createGraphTensor", QNN_TENSOR_ERROR_UNSUPPORTED_TENSOR_PARAM, CODE(t))

static void malformed_encodings_are_refused(void **state) {
    (void)state;
    fill();
    const float scales[] = {0.0f, -1.0f, INFINITY, NAN};
    Qnn_Tensor_t t;
    Qnn_QuantizeParams_t *q = &t.v1.quantizeParams;
    for (size_t i = 0; i < N_OF(scales); i++) {
        t = tensor(QNN_DATATYPE_UFIXED_POINT_8, QNN_QUANTIZATION_ENCODING_SCALE_OFFSET);
        t.v1.type = QNN_TENSOR_TYPE_NATIVE;
        t.v1.clientBuf = (Qnn_ClientBuffer_t){NULL, 0};
        q->scaleOffsetEncoding.scale = scales[i];
        BAD(t);
    }
    static const uint32_t bits[] = {0, 9, UINT32_MAX - 1};
    for (size_t i = 0; i < N_OF(bits); i++) {
        t = tensor(QNN_DATATYPE_UFIXED_POINT_8, QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET);
        q->bwScaleOffsetEncoding = (Qnn_BwScaleOffset_t){bits[i], 1.0f, 0};
        BAD(t);
    }
    static const Qnn_AxisScaleOffset_t axes[] = {
        {3, 3, pairs_}, {-1, 3, pairs_}, {1, 5, pairs_}, {1, 6, NULL}};
    for (size_t i = 0; i < N_OF(axes); i++) {
        t = tensor(QNN_DATATYPE_UFIXED_POINT_8, QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET);
        q->axisScaleOffsetEncoding = axes[i];
        BAD(t);
    }
    static uint32_t no_block[3] = {1, 0, 1};
    static const Qnn_BlockEncoding_t blocks[] = {{NULL, pairs_}, {block, NULL}, {no_block, pairs_}};
    for (size_t i = 0; i < N_OF(blocks); i++) {
        t = tensor(QNN_DATATYPE_UFIXED_POINT_8, QNN_QUANTIZATION_ENCODING_BLOCK);
        q->blockEncoding = blocks[i];
        BAD(t);
    }
    for (int e = 0; e < 14; e++) { // those that the union holds by pointer
        if (e != 5 && e != 6 && e != 8 && e != 9 && e != 10 && e != 12 && e != 13)
            continue;
        t = tensor(QNN_DATATYPE_UFIXED_POINT_8, (Qnn_QuantizationEncoding_t)e);
        q->arrayOfEncoding = NULL;
        BAD(t);
    }
    t = tensor(QNN_DATATYPE_UFIXED_POINT_8, (Qnn_QuantizationEncoding_t)14);
    BAD(t);
    t = tensor(QNN_DATATYPE_UFIXED_POINT_8, QNN_QUANTIZATION_ENCODING_SCALE_OFFSET);
    q->encodingDefinition = (Qnn_Definition_t)2;
    BAD(t);
}

static void malformed_expansions_are_refused(void **state) {
    (void)state;
    fill();
    const Qnn_BlockwiseExpansion_t good = {2,
                                           pairs_,
                                           3,
                                           4,
                                           QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_8,
                                           {.blocksScale8 = factors8}};
    Qnn_BlockwiseExpansion_t x;
#define WITH(change)                                                                               \
    do {                                                                                           \
        x = good;                                                                                  \
        change;                                                                                    \
        Qnn_Tensor_t t =                                                                           \
            tensor(QNN_DATATYPE_SFIXED_POINT_8, QNN_QUANTIZATION_ENCODING_BLOCKWISE_EXPANSION);    \
        t.v1.quantizeParams.blockwiseExpansion = &x;                                               \
        BAD(t);                                                                                    \
    } while (0)
    WITH(x.axis = 3);
    WITH(x.scaleOffsets = NULL);
    WITH(x.numBlocksPerAxis = 0);
    WITH(x.numBlocksPerAxis = 4); // does not divide 6
    WITH(x.blockScaleBitwidth = 0);
    WITH(x.blockScaleBitwidth = 9);
    WITH(x.blockScaleBitwidth = 2); // a factor of 16 has more bits
    WITH(x.blockScaleStorageType = QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_UNDEFINED);
    WITH(x.blocksScale8 = NULL);
    Qnn_ScaleOffset_t negative[3] = {{1, 0}, {-1, 0}, {1, 0}};
    WITH(x.scaleOffsets = negative);
    Qnn_ScaleOffset_t vast[3] = {{1e38f, 0}, {1e38f, 0}, {1e38f, 0}}; // times a factor: infinite
    WITH(x.scaleOffsets = vast);
#undef WITH
    Qnn_BwAxisScaleOffsetMapped_t m = {4, 2,       (Qnn_QuantizationEncodingMapping_t)3,
                                       3, scales_, NULL};
    Qnn_Tensor_t t =
        tensor(QNN_DATATYPE_SFIXED_POINT_8, QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET_MAPPED);
    t.v1.quantizeParams.bwAxisScaleOffsetMappedEncoding = &m;
    BAD(t);
}

static void codebooks_mx_and_arrays_are_checked_and_unsupported(void **state) {
    (void)state;
    fill();
    Qnn_Tensor_t t = tensor(QNN_DATATYPE_SFIXED_POINT_8, QNN_QUANTIZATION_ENCODING_VECTOR);
    Qnn_QuantizeParams_t *q = &t.v1.quantizeParams;
    Qnn_VectorEncoding_t v = {{8, 2, 3, scales_, NULL}, 1, 1, 1, 1, 1};
    q->vectorEncoding = &v;
    UNSUPPORTED(t);
    v.rowsPerBlock = 0;
    BAD(t);
    t = tensor(QNN_DATATYPE_SFIXED_POINT_8, QNN_QUANTIZATION_ENCODING_MICROSCALING);
    Qnn_MicroscalingEncoding_t m = {QNN_FLOAT_ENCODING_MXFP8_E4M3, 3, block, 8, QNN_DATATYPE_UINT_8,
                                    {.blockScales8 = factors8}};
    q->microScalingEncoding = &m;
    UNSUPPORTED(t);
    m.valueEncoding = (Qnn_FloatEncoding_t)5;
    BAD(t);
    m.valueEncoding = QNN_FLOAT_ENCODING_MXFP4_E2M1;
    m.blockRank = 2;
    BAD(t);
    t = tensor(QNN_DATATYPE_SFIXED_POINT_8, QNN_QUANTIZATION_ENCODING_ARRAY_OF);
    Qnn_QuantizeParams_t element = QNN_QUANTIZE_PARAMS_INIT, *elements[1] = {&element};
    Qnn_Tensor_t index = QNN_TENSOR_INIT;
    Qnn_ArrayOf_t a = {QNN_QUANTIZATION_ENCODING_SCALE_OFFSET, 1, &index, elements};
    q->arrayOfEncoding = &a;
    UNSUPPORTED(t);
    a.numElements = 0;
    BAD(t);
}

static void encodings_that_carry_no_numbers(void **state) {
    (void)state;
    // A cleared struct says "left to the library": fine for floats, not for fixed point.
    Qnn_Tensor_t t = tensor(QNN_DATATYPE_SFIXED_POINT_8, QNN_QUANTIZATION_ENCODING_SCALE_OFFSET);
    t.v1.quantizeParams.encodingDefinition = QNN_DEFINITION_IMPL_GENERATED;
    UNSUPPORTED(t);
    t.v1.quantizeParams.encodingDefinition = QNN_DEFINITION_UNDEFINED;
    OK(CODE(t));
    assert_int_equal(tensor_object(t.v1.id)->quant.kind, QRN_QUANT_NONE);
    Qnn_Tensor_t f = describe("f", QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_FLOAT_32, 3, dims);
    memset(&f.v1.quantizeParams, 0, sizeof f.v1.quantizeParams);
    OK(CODE(f));
    assert_int_equal(tensor_object(f.v1.id)->quant.kind, QRN_QUANT_NONE);
    f.v1.name = "f2";
    f.v1.quantizeParams.encodingDefinition = QNN_DEFINITION_DEFINED;
    OK(CODE(f)); // floats keep no encoding
    f.v1.name = "f3";
    f.v1.quantizeParams.quantizationEncoding = QNN_QUANTIZATION_ENCODING_BLOCK;
    UNSUPPORTED(f);
    // A bias may leave its scale to input and weights.
    t = tensor(QNN_DATATYPE_SFIXED_POINT_32, QNN_QUANTIZATION_ENCODING_SCALE_OFFSET);
    t.v1.clientBuf.dataSize = 4 * COUNT;
    OK(CODE(t));
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, build_teardown)
        T(encodings_per_tensor_and_axis_read_as_defined),
        T(encodings_per_block_read_as_defined),
        T(real_offsets_of_whole_steps_are_integers),
        T(mapped_and_expanded_encodings_read_as_defined),
        T(widths_are_kept),
        T(malformed_encodings_are_refused),
        T(malformed_expansions_are_refused),
        T(codebooks_mx_and_arrays_are_checked_and_unsupported),
        T(encodings_that_carry_no_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
