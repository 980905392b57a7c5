// SPDX-License-Identifier: MIT
//
// Profiles: which events each call adds, checked against the published table (first argument), and
// what their values must obey.
#include "binary_model.h"
#include "profile_record.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

static void htp_prf_01_levels(void **state) {
    (void)state;
    htp_world w = htp_begin(0);
    static const QnnProfile_Level_t good[] = {1, 2, 7001};
    Qnn_ProfileHandle_t p;
    for (int i = 0; i < 3; i++) {
        HTP_OK(w.qnn.profileCreate(w.backend, good[i], &p));
        HTP_OK(w.qnn.profileFree(p));
    }
    HTP_FAILS(w.qnn.profileCreate(w.backend, 0, &p), QNN_PROFILE_ERROR_INVALID_ARGUMENT);
    HTP_FAILS(w.qnn.profileCreate(w.backend, 3, &p), QNN_PROFILE_ERROR_INVALID_ARGUMENT);
    HTP_FAILS(w.qnn.profileCreate(w.backend, 1000, &p), QNN_PROFILE_ERROR_UNSUPPORTED);
    HTP_FAILS(w.qnn.profileCreate(w.backend, 7002, &p), QNN_PROFILE_ERROR_UNSUPPORTED);
    htp_end(&w);
}

static void htp_prf_02_basic_events_of_every_call(void **state) {
    (void)state;
    begin(QNN_PROFILE_LEVEL_BASIC);
    finalize();
    EXPECT(&m.r, 300, 2001, 2002, 2003, ESTIMATES);
    check_record(&m.r, "basic");
    execute();
    EXPECT(&m.r, 400, 3001, 3002, 3004, 3009, 3010, 3011, 3012, 8001);
    check_record(&m.r, "basic");
    assert_int_equal(value(&m.r, 8001), 4);

    Qnn_ContextBinarySize_t size = 0, written = 0;
    HTP_OK(m.w.qnn.contextGetBinarySize(m.w.context, &size));
    void *binary = malloc(size);
    HTP_OK(m.w.qnn.contextGetBinary(m.w.context, binary, size, &written));
    Qnn_ContextHandle_t loaded = NULL;
    HTP_OK(m.w.qnn.contextCreateFromBinary(m.w.backend, m.w.device, NULL, binary, written, &loaded,
                                           m.profile));
    read_record(&m.w, m.profile, &m.r);
    EXPECT(&m.r, 100, 1002, 1003, 1004);
    check_record(&m.r, "basic");
    HTP_OK(m.w.qnn.contextFree(loaded, m.profile));
    read_record(&m.w, m.profile, &m.r);
    EXPECT(&m.r, 500, 4001, 4002, 4003);
    check_record(&m.r, "basic");
    free(binary);
    end();
}

static void htp_prf_03_each_time_lies_in_the_one_around_it(void **state) {
    (void)state;
    begin(QNN_PROFILE_LEVEL_DETAILED);
    finalize();
    assert_true(value(&m.r, 2003) <= value(&m.r, 2002));
    assert_true(value(&m.r, 2002) <= value(&m.r, 2001));
    assert_true(value(&m.r, 2001) <= value(&m.r, 300));
    for (int i = 0; i < 20; i++) {
        uint64_t start = now_us();
        execute();
        uint64_t around = now_us() - start;
        check_record(&m.r, "detailed");
        assert_true(value(&m.r, 400) <= around + 1);
        assert_true(value(&m.r, 3001) <= value(&m.r, 400));
        assert_true(value(&m.r, 3002) <= value(&m.r, 3001));
        assert_true(value(&m.r, 3004) <= value(&m.r, 3002));
        assert_true(value(&m.r, 3012) + value(&m.r, 3010) <= value(&m.r, 3004) + 1);
        assert_true(value(&m.r, 3005) <= value(&m.r, 3012));
        assert_true(value(&m.r, 3003) > 0);
    }
    end();
}

static void htp_prf_04_detailed_names_every_node(void **state) {
    (void)state;
    begin(QNN_PROFILE_LEVEL_DETAILED);
    finalize();
    execute();
    check_record(&m.r, "detailed");
    uint64_t sum = 0;
    uint32_t n_cycles = 0, n_us = 0;
    for (uint32_t i = 0; i < m.r.n; i++) {
        const event *e = &m.r.e[i];
        if (e->type != 404)
            continue;
        bool in_cycles = e->unit == QNN_PROFILE_EVENTUNIT_CYCLES;
        sum += in_cycles ? e->value : 0;
        n_cycles += in_cycles;
        n_us += !in_cycles;
    }
    assert_int_equal(n_cycles, NODES + 3); // input, start and output
    assert_int_equal(n_us, NODES);
    assert_true(sum > 0 && sum <= value(&m.r, 3003));
    uint32_t at = (uint32_t)(find(&m.r, 3003) - m.r.e) + 1;
    assert_string_equal(m.r.e[at].identifier, "Input OpId_2 (cycles)");
    assert_string_equal(m.r.e[at + 1].identifier, "OpId_0 (cycles)");
    for (uint32_t i = 0; i < NODES; i++) {
        char want[48];
        snprintf(want, sizeof want, "add%u:OpId_%u (cycles)", i, i + 4);
        assert_string_equal(m.r.e[at + 2 + i].identifier, want);
        assert_true(m.r.e[at + 2 + i].value > 0);
    }
    assert_string_equal(m.r.e[at + 2 + NODES].identifier, "Output OpId_3 (cycles)");
    end();
}

// Five sums of 16 KiB codes: each reads two and writes one, 49152 bytes at 952 GB/s, and costs
// 5.19 us besides, both at 1.10 (SM8550); nothing else reads memory. Full power is 1500 MHz.
static void htp_prf_21_finalize_estimates_the_chip(void **state) {
    (void)state;
    begin(QNN_PROFILE_LEVEL_BASIC);
    finalize();
    double cycles = NODES * (49152 / 952e3 + 5.19) / 1.10 * 1500;
    assert_true(fabs((double)value(&m.r, 2006) - cycles) <= 1);
    assert_true(fabs((double)value(&m.r, 2007) - cycles * 0.5) <= 1);
    assert_true(fabs((double)value(&m.r, 2008) - cycles * 1.5) <= 1);
    assert_int_equal(value(&m.r, 2011), ROWS * COLUMNS);
    assert_int_equal(value(&m.r, 2016), ROWS * COLUMNS);
    assert_int_equal(value(&m.r, 2012) + value(&m.r, 2013) + value(&m.r, 2017), 0);
    end();
}

static void htp_prf_21_ops_without_a_cost_are_named(void **state) {
    (void)state;
    htp_world w = htp_begin(43);
    Qnn_GraphHandle_t g = NULL;
    Qnn_ProfileHandle_t p;
    uint32_t dims[] = {4, 8};
    HTP_OK(w.qnn.graphCreate(w.context, "g", NULL, &g));
    Qnn_Tensor_t t[3];
    static const Qnn_TensorType_t roles[] = {QNN_TENSOR_TYPE_APP_WRITE, QNN_TENSOR_TYPE_NATIVE,
                                             QNN_TENSOR_TYPE_APP_READ};
    static const char *const names[] = {"x", "t", "y"};
    for (int i = 0; i < 3; i++) {
        t[i] = htp_tensor(names[i], roles[i], QNN_DATATYPE_UFIXED_POINT_8, 2, dims);
        htp_encode(&t[i], 0.1f, 0);
        HTP_OK(w.qnn.tensorCreateGraphTensor(g, &t[i]));
    }
    Qnn_Param_t axis = QNN_PARAM_INIT;
    axis.name = "axis";
    axis.paramType = QNN_PARAMTYPE_SCALAR;
    axis.scalarParam.dataType = QNN_DATATYPE_UINT_32;
    axis.scalarParam.uint32Value = 1;
    HTP_OK(w.qnn.graphAddNode(g, htp_op("relu", "Relu", &t[0], 1, &t[1], 1)));
    Qnn_OpConfig_t sum = htp_op("sum", "CumulativeSum", &t[1], 1, &t[2], 1);
    sum.v1.numOfParams = 1;
    sum.v1.params = &axis;
    HTP_OK(w.qnn.graphAddNode(g, sum));
    HTP_OK(w.qnn.profileCreate(w.backend, QNN_PROFILE_LEVEL_DETAILED, &p));
    HTP_OK(w.qnn.graphFinalize(g, p, NULL));
    read_record(&w, p, &m.r);
    check_record(&m.r, "detailed");
    assert_int_equal(value(&m.r, 2017), 1);
    assert_int_equal(value(&m.r, 2018), 5); // the second node
    assert_string_equal(find(&m.r, 2018)->identifier, "sum");
    HTP_OK(w.qnn.profileFree(p));
    htp_end(&w);
}

static void nothing_is_estimated_without_a_chip(void **state) {
    (void)state;
    htp_world w = htp_begin(0);
    chain c;
    Qnn_ProfileHandle_t p;
    HTP_OK(w.qnn.profileCreate(w.backend, QNN_PROFILE_LEVEL_BASIC, &p));
    chain_build(&w.qnn, w.context, "g", NULL, ROWS, COLUMNS, NODES, &c);
    HTP_OK(w.qnn.graphFinalize(c.graph, p, NULL));
    read_record(&w, p, &m.r);
    EXPECT(&m.r, 300, 2001, 2002, 2003);
    HTP_OK(w.qnn.profileFree(p));
    htp_end(&w);
}

static char last_log[512];

static void keep_line(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args) {
    (void)level;
    (void)timestamp;
    char line[512];
    vsnprintf(line, sizeof line, fmt, args);
    if (strstr(line, "profile:"))
        memcpy(last_log, line, sizeof line);
}

static void htp_prf_05_cycles_are_measured_times_at_the_modelled_clock(void **state) {
    (void)state;
    htp_table qnn = htp_open();
    Qnn_LogHandle_t log;
    last_log[0] = '\0';
    HTP_OK(qnn.logCreate(keep_line, QNN_LOG_LEVEL_INFO, &log));
    m.w = (htp_world){.qnn = qnn};
    HTP_OK(qnn.backendCreate(log, NULL, &m.w.backend));
    HTP_OK(qnn.contextCreate(m.w.backend, NULL, NULL, &m.w.context));
    HTP_OK(qnn.profileCreate(m.w.backend, QNN_PROFILE_LEVEL_DETAILED, &m.profile));
    chain_build(&qnn, m.w.context, "g", NULL, ROWS, COLUMNS, NODES, &m.c);
    htp_buffer(&m.c.x, m.x, sizeof m.x);
    htp_buffer(&m.c.y, m.y, sizeof m.y);
    HTP_OK(qnn.graphFinalize(m.c.graph, NULL, NULL));
    execute();
    double mhz = 900; // without a vote
    double us = (double)value(&m.r, 3003) / mhz;
    assert_true(us >= (double)value(&m.r, 3012) - 0.01);
    assert_true(us < (double)value(&m.r, 3012) + 1.01);
    assert_non_null(strstr(last_log, "measured"));
    assert_non_null(strstr(last_log, "modelled clock"));
    char hz[32];
    snprintf(hz, sizeof hz, "%.0f Hz", mhz * 1e6);
    assert_non_null(strstr(last_log, hz));
    end();
    HTP_OK(qnn.logFree(log));
}

static QnnContext_Buffer_t raw(void *data, uint64_t size) {
    return (QnnContext_Buffer_t){
        .version = QNN_CONTEXT_BUFFER_VERSION_1,
        .v1 = {.memType = QNN_CONTEXTMEMTYPE_RAW, .binaryBuf = {data, size}}};
}

static void htp_prf_22_sections_and_updates(void **state) {
    (void)state;
    htp_world w = htp_begin(43);
    const htp_table *q = &w.qnn;
    net n = {.updateable = true};
    net_build(q, w.context, "net", NULL, &n);
    Qnn_ProfileHandle_t p;
    HTP_OK(q->profileCreate(w.backend, QNN_PROFILE_LEVEL_BASIC, &p));
    HTP_OK(q->graphFinalize(n.graph, p, NULL));
    read_record(&w, p, &m.r);
    EXPECT(&m.r, 300, 2001, 2002, 2003, ESTIMATES);

    Qnn_ContextBinarySize_t size = 0, written = 0;
    const QnnContext_SectionType_t type = QNN_CONTEXT_SECTION_UPDATABLE;
    HTP_OK(q->contextGetBinarySectionSize(w.context, n.graph, type, &size));
    QnnContext_Buffer_t section = raw(malloc(size), size);
    HTP_OK(q->contextGetBinarySection(w.context, n.graph, type, &section, &written, NULL, NULL));
    HTP_OK(q->contextApplyBinarySection(w.context, n.graph, type, &section, p, NULL));
    read_record(&w, p, &m.r);
    EXPECT(&m.r, 9001, 9002, 9003, 9004);
    check_record(&m.r, "basic");

    static uint8_t weights[NET_OUT_BYTES * NET_DEPTH];
    htp_buffer(&n.dense, weights, sizeof weights);
    n.dense.v1.dimensions = net_dense_dims;
    const Qnn_Tensor_t *list[] = {&n.dense};
    QnnContext_Buffer_t edited = {0};
    HTP_OK(q->contextGetBinarySectionUpdate(&section, NULL, list, 1, 1, NULL, p, NULL, &edited));
    read_record(&w, p, &m.r);
    EXPECT(&m.r, 10001);
    check_record(&m.r, "basic");
    HTP_OK(q->contextFreeBinarySectionUpdate(edited, NULL));
    Qnn_ProfileHandle_t detailed;
    HTP_OK(q->profileCreate(w.backend, QNN_PROFILE_LEVEL_DETAILED, &detailed));
    HTP_OK(q->contextGetBinarySectionUpdate(&section, NULL, list, 1, 1, NULL, detailed, NULL,
                                            &edited));
    read_record(&w, detailed, &m.r);
    EXPECT(&m.r, 10001, 10002, 10003, 10006, 10007); // no auxiliary data, nothing to execute
    check_record(&m.r, "detailed");
    assert_true(value(&m.r, 10002) + value(&m.r, 10003) + value(&m.r, 10006) + value(&m.r, 10007) <=
                value(&m.r, 10001));
    HTP_OK(q->contextFreeBinarySectionUpdate(edited, NULL));
    HTP_OK(q->profileFree(detailed));

    HTP_OK(q->tensorUpdateGraphTensors(n.graph, list, 1));
    HTP_OK(q->graphFinalize(n.graph, p, NULL));
    read_record(&w, p, &m.r);
    EXPECT(&m.r, 300, 2001, 2002, 2003, 11001, ESTIMATES);
    check_record(&m.r, "basic");
    free(section.v1.binaryBuf.data);
    HTP_OK(q->profileFree(p));
    htp_end(&w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(htp_prf_01_levels),
    cmocka_unit_test(htp_prf_02_basic_events_of_every_call),
    cmocka_unit_test(htp_prf_03_each_time_lies_in_the_one_around_it),
    cmocka_unit_test(htp_prf_04_detailed_names_every_node),
    cmocka_unit_test(htp_prf_21_finalize_estimates_the_chip),
    cmocka_unit_test(htp_prf_21_ops_without_a_cost_are_named),
    cmocka_unit_test(nothing_is_estimated_without_a_chip),
    cmocka_unit_test(htp_prf_05_cycles_are_measured_times_at_the_modelled_clock),
    cmocka_unit_test(htp_prf_22_sections_and_updates),
};

PROFILE_MAIN(tests)
