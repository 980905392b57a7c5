// SPDX-License-Identifier: MIT
//
// Every property key of the API against the published answers of the HTP backend, and the few
// where this host differs, each with what it rests on.
#include "htp_client.h"

#include "HTP/QnnHtpProperty.h"

// Published as supported.
static const uint32_t published[] = {
    1,    101,  105,  106, 107, // core, backend: packages, platform options, composition
    201,  202,  205,  206, 207,
    208,  209,  210, // context: caching, config and its options, validation
    211,  212,  213, // with signals, list, updates
    301,  302,  304,  306, 308,
    311,  312,  313,            // graph: config, async, priority, signal, batch, profile
    402,  403,  404,            // op packages: validation, implementations, names
    501,  505,  506,  507, 508, // tensor: sparse, updateable
    1101, 1102, 1103,           // memory: ION, custom
    1201, 1202, 1203,           // signal: abort, timeout
    1301, 1302,                 // log
    1401, 1404, 1405,           // profile: extended events, optrace
    1501, 1502,                 // device: infrastructure
    2001, 2002,                 // custom: unsigned PD
};

// More on this host: context properties, binaries in pieces, deferred graphs, updates of weights
// and encodings, callbacks, retention (tested with contexts and binaries); op package group, online
// prepare, graph validation, memory handles, dynamic dimensions, encodings, verbose errors.
static const uint32_t here[] = {215, 216, 217, 218, 219, 220, 221, 222, 401, 322,  324,
                                502, 504, 509, 510, 511, 512, 513, 514, 532, 1001, 1002};

// Keys of the API: runs without holes.
static const uint32_t runs[][2] = {
    {1, 1},       {101, 101},   {105, 108},   {201, 202},   {205, 222},
    {301, 324},   {401, 404},   {501, 558},   {1001, 1002}, {1101, 1105},
    {1201, 1203}, {1301, 1302}, {1401, 1405}, {1501, 1502}, {2001, 2002},
};

#define HAS(list, key) has(list, sizeof(list) / sizeof((list)[0]), key)
static bool has(const uint32_t *list, size_t n, uint32_t key) {
    for (size_t i = 0; i < n; i++)
        if (list[i] == key)
            return true;
    return false;
}

static void htp_cap_01_every_key_has_its_answer(void **state) {
    (void)state;
    htp_table qnn = htp_open();
    for (uint32_t key = 0; key < 3000; key++) {
        Qnn_ErrorHandle_t want = 2000; // unknown
        for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++)
            if (key >= runs[i][0] && key <= runs[i][1])
                want = HAS(published, key) || HAS(here, key) ? 0 : 1000;
        if (qnn.propertyHasCapability(key) != want)
            fail_msg("key %u: %u, expected %u", key, (unsigned)qnn.propertyHasCapability(key),
                     (unsigned)want);
    }
}

// --- what is claimed beyond the publication, or of the host alone, works

static void htp_cap_02_dynamic_dimensions_work(void **state) {
    (void)state;
    htp_world w = htp_begin(0);
    uint32_t dims[] = {2, 8};
    uint8_t dynamic[] = {0, 1};
    Qnn_GraphHandle_t g;
    HTP_OK(w.qnn.graphCreate(w.context, "g", NULL, &g));
    Qnn_Tensor_t t[3];
    static const char *const names[] = {"a", "b", "y"};
    for (int i = 0; i < 3; i++) {
        t[i] = (Qnn_Tensor_t){.version = QNN_TENSOR_VERSION_2};
        t[i].v2 = (Qnn_TensorV2_t)QNN_TENSOR_V2_INIT;
        t[i].v2.name = names[i];
        t[i].v2.type = i < 2 ? QNN_TENSOR_TYPE_APP_WRITE : QNN_TENSOR_TYPE_APP_READ;
        t[i].v2.dataType = QNN_DATATYPE_UFIXED_POINT_16;
        t[i].v2.rank = 2;
        t[i].v2.dimensions = dims;
        t[i].v2.isDynamicDimensions = dynamic;
        t[i].v2.memType = QNN_TENSORMEMTYPE_RAW;
        t[i].v2.quantizeParams.encodingDefinition = QNN_DEFINITION_DEFINED;
        t[i].v2.quantizeParams.quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
        t[i].v2.quantizeParams.scaleOffsetEncoding = (Qnn_ScaleOffset_t){0.5f, 0};
        HTP_OK(w.qnn.tensorCreateGraphTensor(g, &t[i]));
    }
    HTP_OK(w.qnn.graphAddNode(g, htp_op("add", "ElementWiseAdd", t, 2, &t[2], 1)));
    HTP_OK(w.qnn.graphFinalize(g, NULL, NULL));
    for (uint32_t width = 8; width > 2; width = width == 8 ? 3 : 0) {
        uint16_t a[16], b[16], y[16] = {0};
        uint32_t now[] = {2, width}, made[] = {2, 8}; // of the inputs; room for the output
        for (uint32_t i = 0; i < 2 * width; i++) {
            a[i] = (uint16_t)(3 * i);
            b[i] = (uint16_t)(100 + i);
        }
        uint16_t *data[] = {a, b, y};
        for (int i = 0; i < 3; i++) {
            t[i].v2.dimensions = i < 2 ? now : made;
            t[i].v2.clientBuf = (Qnn_ClientBuffer_t){data[i], i < 2 ? 4 * width : sizeof y};
        }
        HTP_OK(w.qnn.graphExecute(g, t, 2, &t[2], 1, NULL, NULL));
        assert_int_equal(made[1], width);
        for (uint32_t i = 0; i < 2 * width; i++)
            assert_int_equal(y[i], a[i] + b[i]);
    }
    htp_end(&w);
}

static void htp_cap_02_verbose_errors_work(void **state) {
    (void)state;
    htp_world w = htp_begin(0);
    Qnn_GraphHandle_t g;
    Qnn_ErrorHandle_t e = w.qnn.graphCreate(w.context, "", NULL, &g);
    assert_int_not_equal(e, QNN_SUCCESS);
    const char *text = NULL;
    HTP_OK(w.qnn.errorGetVerboseMessage(e, &text));
    assert_true(text && strlen(text) > 10);
    HTP_OK(w.qnn.errorFreeVerboseMessage(text));
    htp_end(&w);
}

static void htp_cap_02_platform_options_are_taken_once(void **state) {
    (void)state;
    htp_table qnn = htp_open();
    QnnBackend_Config_t c = {.option = QNN_BACKEND_CONFIG_OPTION_PLATFORM,
                             .platformOption = "key=value"};
    const QnnBackend_Config_t *list[] = {&c, NULL};
    Qnn_BackendHandle_t b;
    HTP_OK(qnn.backendCreate(NULL, list, &b));
    HTP_OK(qnn.backendFree(b));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(htp_cap_01_every_key_has_its_answer),
        cmocka_unit_test(htp_cap_02_dynamic_dimensions_work),
        cmocka_unit_test(htp_cap_02_verbose_errors_work),
        cmocka_unit_test(htp_cap_02_platform_options_are_taken_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
