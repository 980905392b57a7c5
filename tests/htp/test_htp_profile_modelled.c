// SPDX-License-Identifier: MIT
//
// Profiles: linting, and the modelled cycles that stand beside measured ones.
#include "binary_model.h"
#include "htp_describe.h"
#include "profile_record.h"

#include <math.h>
#include <pthread.h>

static void htp_prf_10_prf_13_linting(void **state) {
    (void)state;
    begin(LINTING);
    finalize();
    assert_int_equal(m.r.n, 0); // nothing is published for it
    execute();
    check_record(&m.r, "linting");
    assert_null(find(&m.r, 3003));
    assert_null(find(&m.r, 3004));
    for (uint32_t type = 3001; type < 3012; type += type == 3002 ? 7 : 1)
        assert_int_equal(count(&m.r, type), 1);
    assert_int_equal(count(&m.r, 404), NODES + 3);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < m.r.n; i++) {
        const event *e = &m.r.e[i];
        if (e->type != 404) // modelled ones: below
            continue;
        assert_int_equal(m.r.e[e->parent].type, 6001);
        bool node = strchr(e->identifier, ':') != NULL;
        uint64_t seen[5] = {0};
        for (uint32_t k = 1; k < 5; k++) {
            assert_int_equal(m.r.e[i + k].parent, i);
            assert_int_equal(m.r.e[i + k].type, 5000 + k);
            seen[k] = m.r.e[i + k].value;
        }
        assert_true(seen[2] <= e->value);
        assert_true(seen[3] <= seen[1]);
        assert_int_equal(seen[4], node ? HVX : 0);
        sum += e->value + seen[1];
    }
    assert_int_equal(value(&m.r, 6001), sum);
    end();
}

// The children of event i, of one type; a list that ends with UINT32_MAX.
static uint32_t child(const record *r, uint32_t i, uint32_t type) {
    for (uint32_t k = i + 1; k < r->n; k++)
        if (r->e[k].parent == i && r->e[k].type == type)
            return k;
    fail_msg("event %u has no child %u", i, type);
    return 0;
}

// The five sums of htp_prf_21: each is 49152 bytes at 952 GB/s, and 5.19 us of control before.
static void htp_prf_05_detailed_profiles_model_each_node(void **state) {
    (void)state;
    begin(QNN_PROFILE_LEVEL_DETAILED);
    finalize();
    uint64_t whole = value(&m.r, 2006);
    execute();
    uint32_t top = (uint32_t)(find(&m.r, MODELLED) - m.r.e);
    assert_string_equal(m.r.e[top].identifier, "Accelerator (execute) time (cycles, modelled)");
    assert_int_equal(m.r.e[top].parent, UINT32_MAX);
    assert_int_equal(count(&m.r, MODELLED_NODE), NODES);
    double each = (49152 / 952e3 + 5.19) / 1.10 * 1500;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < NODES; i++) {
        const event *e = &m.r.e[top + 1 + i];
        char want[64];
        snprintf(want, sizeof want, "add%u:OpId_%u (cycles, modelled)", i, i + 4);
        assert_string_equal(e->identifier, want);
        assert_int_equal(e->parent, top);
        assert_true(fabs((double)e->value - each) <= 1);
        sum += e->value;
    }
    assert_int_equal(value(&m.r, MODELLED), sum);
    assert_true(whole - sum <= NODES); // each is cut to whole cycles
    // The measured ones stand as they did, and a later run models the same.
    assert_int_equal(count(&m.r, 404), 2 * NODES + 3);
    execute();
    assert_int_equal(value(&m.r, MODELLED), sum);
    end();
}

// HTP-PRF-13 of the modelled numbers: of the same sums and of a network with weights to fetch.
static void check_modelled_linting(uint32_t n_nodes) {
    uint32_t top = (uint32_t)(find(&m.r, MODELLED) - m.r.e), nodes = 0;
    uint64_t sum = 0;
    assert_string_equal(m.r.e[top].identifier,
                        "Accelerator (critical path execute) time (cycles, modelled)");
    for (uint32_t i = 0; i < m.r.n; i++) {
        const event *e = &m.r.e[i];
        if (e->type != MODELLED_NODE)
            continue;
        nodes++;
        assert_int_equal(e->parent, top);
        uint32_t wait = child(&m.r, i, 5001), overlap = child(&m.r, i, 5002);
        uint32_t waiting = child(&m.r, i, 5003), units = child(&m.r, i, 5004);
        assert_true(m.r.e[overlap].value <= e->value);
        assert_true(m.r.e[waiting].value <= m.r.e[wait].value);
        assert_in_range(m.r.e[units].value, 0, 7);
        sum += e->value + m.r.e[wait].value;
        uint64_t listed[2] = {0};
        uint32_t n_listed[2] = {0};
        for (uint32_t k = 0; k < m.r.n; k++)
            for (int j = 0; j < 2 && m.r.e[k].type == MODELLED_TRANSFER; j++)
                if (m.r.e[k].parent == (j ? waiting : overlap)) {
                    listed[j] += m.r.e[k].value;
                    n_listed[j]++;
                }
        for (int j = 0; j < 2; j++) { // all of it, for there are few
            uint64_t told = m.r.e[j ? waiting : overlap].value;
            assert_true(n_listed[j] <= 10 && listed[j] <= told && told <= listed[j] + 10);
        }
    }
    assert_int_equal(nodes, n_nodes);
    assert_int_equal(m.r.e[top].value, sum);
}

// The modelled event of the node that event i is about; UINT32_MAX: it is about none.
static uint32_t modelled_twin(uint32_t i) {
    const char *name = m.r.e[i].identifier, *colon = strchr(name, ':');
    for (uint32_t k = 0; colon && k < m.r.n; k++)
        if (m.r.e[k].type == MODELLED_NODE &&
            strncmp(m.r.e[k].identifier, name, (size_t)(colon - name) + 1) == 0)
            return k;
    return UINT32_MAX;
}

// Of measured cycles overlaps what overlaps of modelled ones; returns how many nodes have some.
static uint32_t check_measured_overlap(void) {
    uint32_t top = (uint32_t)(find(&m.r, 6001) - m.r.e), found = 0;
    for (uint32_t i = 0; i < m.r.n; i++) {
        const event *e = &m.r.e[i];
        if (e->type != 404 || e->parent != top)
            continue;
        uint64_t overlap = m.r.e[child(&m.r, i, 5002)].value;
        uint32_t twin = modelled_twin(i);
        double part = 0, error = 0;
        if (twin != UINT32_MAX && m.r.e[twin].value) {
            error = 2 / (double)m.r.e[twin].value; // both are cut to whole cycles
            part = (double)m.r.e[child(&m.r, twin, 5002)].value / (double)m.r.e[twin].value;
        }
        assert_true(fabs((double)overlap - part * (double)e->value) <=
                    error * (double)e->value + 1);
        assert_true(overlap <= e->value);
        assert_true(m.r.e[child(&m.r, i, 5003)].value <= m.r.e[child(&m.r, i, 5001)].value);
        found += overlap > 0;
    }
    return found;
}

static void htp_prf_10_prf_13_linting_models_units_waits_and_overlap(void **state) {
    (void)state;
    begin(LINTING);
    finalize();
    execute();
    check_modelled_linting(NODES);
    for (uint32_t i = 0; i < m.r.n; i++) // sums read no weights
        if (m.r.e[i].type == 5002 || m.r.e[i].type == 5003)
            assert_int_equal(m.r.e[i].value, 0);
    assert_int_equal(count(&m.r, MODELLED_TRANSFER), 0);
    end();

    // A convolution with an activation, and a product. The weights of the product come while the
    // convolution runs.
    m.w = htp_begin(43);
    net n = {0};
    uint8_t out[NET_OUT_BYTES];
    net_build(&m.w.qnn, m.w.context, "net", NULL, &n);
    HTP_OK(m.w.qnn.profileCreate(m.w.backend, LINTING, &m.profile));
    HTP_OK(m.w.qnn.graphFinalize(n.graph, NULL, NULL));
    net_run(&m.w.qnn, &n, out); // binds its buffers
    HTP_OK(m.w.qnn.graphExecute(n.graph, &n.x, 1, &n.y, 1, m.profile, NULL));
    read_record(&m.w, m.profile, &m.r);
    check_modelled_linting(3);
    assert_true(check_measured_overlap() > 0);
    for (uint32_t i = 0; i < m.r.n; i++)
        if (m.r.e[i].type == MODELLED_NODE) {
            bool relu = strncmp(m.r.e[i].identifier, "relu:", 5) == 0; // in the convolution's step
            assert_int_equal(m.r.e[i].value > 0, !relu);
            assert_int_equal(m.r.e[child(&m.r, i, 5004)].value, relu ? 0 : HMX | DMA);
        }
    assert_true(count(&m.r, MODELLED_TRANSFER) > 0);
    end();
}

enum { SIDE = 64, TALL = SIDE * SIDE, DEEP = 256, NARROW = 32, LAYERS = 16 };

// A depthwise convolution of 3x3, which a vector unit sets up.
static Qnn_Tensor_t depthwise_layer(const htp_world *w, Qnn_GraphHandle_t g) {
    static uint8_t weights[9 * DEEP];
    static uint32_t dims[] = {1, SIDE, SIDE, DEEP}, filter[] = {3, 3, 1, DEEP};
    net_fill(weights, sizeof weights, 6);
    Qnn_Tensor_t x =
        htp_tensor("x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_UFIXED_POINT_8, 4, dims);
    Qnn_Tensor_t k =
        net_static("dw_w", QNN_DATATYPE_UFIXED_POINT_8, 4, filter, weights, sizeof weights);
    Qnn_Tensor_t y =
        htp_tensor("dw_y", QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_UFIXED_POINT_8, 4, dims);
    htp_encode(&x, 0.02f, -128);
    htp_encode(&k, 0.01f, -128);
    htp_encode(&y, 0.05f, -128);
    Qnn_Tensor_t in[] = {net_add(&w->qnn, g, x), net_add(&w->qnn, g, k)};
    y = net_add(&w->qnn, g, y);
    uint32_t two[] = {2}, four[] = {2, 2}, stride[] = {1, 1}, pad[] = {1, 1, 1, 1};
    Qnn_Param_t params[2] = {QNN_PARAM_INIT, QNN_PARAM_INIT};
    params[0].name = "stride";
    params[1].name = "pad_amount";
    params[0].paramType = params[1].paramType = QNN_PARAMTYPE_TENSOR;
    params[0].tensorParam = net_words(&w->qnn, g, "stride", 1, two, stride, 2);
    params[1].tensorParam = net_words(&w->qnn, g, "pad", 2, four, pad, 4);
    Qnn_OpConfig_t op = htp_op("dw", "DepthWiseConv2d", in, 2, &y, 1);
    op.v1.numOfParams = 2;
    op.v1.params = params;
    HTP_OK(w->qnn.graphAddNode(g, op));
    return y;
}

// It and fully connected layers with small weights.
static void stack_of_layers(const htp_world *w, Qnn_GraphHandle_t *g) {
    static uint8_t weights[NARROW * DEEP];
    uint32_t dims[] = {TALL, DEEP}, first[] = {NARROW, DEEP}, later[] = {NARROW, NARROW};
    net_fill(weights, sizeof weights, 5);
    HTP_OK(w->qnn.graphCreate(w->context, "stack", NULL, g));
    Qnn_Tensor_t image = depthwise_layer(w, *g),
                 last = htp_tensor("rows", QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_UFIXED_POINT_8, 2,
                                   dims);
    htp_encode(&last, 0.05f, -128);
    last = net_add(&w->qnn, *g, last);
    HTP_OK(w->qnn.graphAddNode(*g, htp_op("rows", "Reshape", &image, 1, &last, 1)));
    for (int i = 0; i < LAYERS; i++) {
        char names[3][16];
        snprintf(names[0], sizeof names[0], "w%d", i);
        snprintf(names[1], sizeof names[1], "y%d", i);
        snprintf(names[2], sizeof names[2], "fc%d", i);
        size_t bytes = i ? NARROW * NARROW : sizeof weights;
        Qnn_Tensor_t k = net_static(names[0], QNN_DATATYPE_UFIXED_POINT_8, 2, i ? later : first,
                                    weights + (i ? i : 0), bytes); // other bytes in each layer
        Qnn_Tensor_t y =
            htp_tensor(names[1], i + 1 < LAYERS ? QNN_TENSOR_TYPE_NATIVE : QNN_TENSOR_TYPE_APP_READ,
                       QNN_DATATYPE_UFIXED_POINT_8, 2, (uint32_t[]){TALL, NARROW});
        htp_encode(&k, 0.01f, -128);
        htp_encode(&y, 0.05f, -128);
        Qnn_Tensor_t in[] = {last, net_add(&w->qnn, *g, k)};
        y = net_add(&w->qnn, *g, y);
        HTP_OK(w->qnn.graphAddNode(*g, htp_op(names[2], "FullyConnected", in, 2, &y, 1)));
        last = y;
    }
}

// While the convolution is set up and waits for its own weights, those of the others come, too:
// they overlap with the wait, its own do not. At most ten are listed.
static void htp_prf_11_prf_12_what_is_waited_for_is_no_overlap(void **state) {
    (void)state;
    static uint8_t x[TALL * DEEP], y[TALL * NARROW];
    uint32_t xd[] = {1, SIDE, SIDE, DEEP}, yd[] = {TALL, NARROW};
    m.w = htp_begin(43);
    Qnn_GraphHandle_t g = NULL;
    stack_of_layers(&m.w, &g);
    HTP_OK(m.w.qnn.profileCreate(m.w.backend, LINTING, &m.profile));
    HTP_OK(m.w.qnn.graphFinalize(g, NULL, NULL));
    Qnn_Tensor_t in =
        htp_tensor("x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_UFIXED_POINT_8, 4, xd);
    Qnn_Tensor_t out =
        htp_tensor("y15", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_UFIXED_POINT_8, 2, yd);
    described d = describe_context(&m.w);
    in.v1.id = d.graphs[0].input;
    out.v1.id = d.graphs[0].output;
    htp_buffer(&in, x, sizeof x);
    htp_buffer(&out, y, sizeof y);
    HTP_OK(m.w.qnn.graphExecute(g, &in, 1, &out, 1, m.profile, NULL));
    read_record(&m.w, m.profile, &m.r);
    uint32_t first = (uint32_t)(find(&m.r, MODELLED_NODE) - m.r.e), n_listed = 0;
    assert_int_equal(strncmp(m.r.e[first].identifier, "dw:", 3), 0);
    uint32_t waiting = child(&m.r, first, 5003);
    uint64_t listed = 0;
    for (uint32_t i = 0; i < m.r.n; i++)
        if (m.r.e[i].type == MODELLED_TRANSFER && m.r.e[i].parent == waiting) {
            assert_null(strstr(m.r.e[i].identifier, "of dw ")); // what it waits for
            n_listed++;
            listed += m.r.e[i].value;
        }
    assert_true(n_listed > 1 && n_listed <= 10);
    assert_true(listed <= m.r.e[waiting].value && m.r.e[waiting].value <= listed + 10);
    assert_true(m.r.e[waiting].value < m.r.e[child(&m.r, first, 5001)].value);
    end();
}

typedef struct worker {
    pthread_t thread;
    Qnn_ProfileHandle_t profile;
    uint8_t y[ROWS * COLUMNS];
    Qnn_ErrorHandle_t result;
} worker;

static void *execute_profiled(void *arg) {
    worker *k = arg;
    Qnn_Tensor_t y = m.c.y;
    htp_buffer(&y, k->y, sizeof k->y);
    k->result = m.w.qnn.graphExecute(m.c.graph, &m.c.x, 1, &y, 1, k->profile, NULL);
    return NULL;
}

// A vote of the whole process for a corner of bus and core; 0 withdraws it.
static void vote(const htp_world *w, uint32_t corner) {
    QnnDevice_Infrastructure_t infra = NULL;
    HTP_OK(w->qnn.deviceGetInfrastructure(&infra));
    QnnHtpDevice_PerfInfrastructure_t perf = ((QnnHtpDevice_Infrastructure_t *)infra)->perfInfra;
    if (!corner) {
        HTP_OK(perf.destroyPowerConfigId(0));
        return;
    }
    QnnHtpPerfInfrastructure_VoltageCorner_t v = (QnnHtpPerfInfrastructure_VoltageCorner_t)corner;
    QnnHtpPerfInfrastructure_PowerConfig_t c = {
        .option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_DCVS_V3,
        .dcvsV3Config = {.setCoreParams = 1,
                         .coreVoltageCornerMin = v,
                         .coreVoltageCornerTarget = v,
                         .coreVoltageCornerMax = v}};
    const QnnHtpPerfInfrastructure_PowerConfig_t *list[] = {&c, NULL};
    HTP_OK(perf.setPowerConfig(0, list));
}

// The sums have no weights and spill nothing: all of their time is the core's.
static void htp_prf_05_pwr_15_votes_scale_the_modelled_time(void **state) {
    (void)state;
    static const struct {
        uint32_t corner;
        double mhz; // docs/htp-device.md
    } rows[] = {{0xA0, 1500}, {0x60, 900}, {0x30, 450}, {0, 900}};
    begin(QNN_PROFILE_LEVEL_DETAILED);
    finalize();
    double cycles = (double)value(&m.r, 2006);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[64];
        vote(&m.w, rows[i].corner);
        execute();
        check_record(&m.r, "detailed");
        assert_true(fabs((double)value(&m.r, MODELLED_TIME) - cycles / rows[i].mhz) <= 1);
        snprintf(text, sizeof text, "Accelerator (execute) time (modelled at %.0f MHz)",
                 rows[i].mhz);
        assert_string_equal(find(&m.r, MODELLED_TIME)->identifier, text);
    }
    end();
}

// The model is made by whoever asks first: all get the same.
static void several_threads_profile_one_graph(void **state) {
    (void)state;
    static worker workers[8];
    begin(QNN_PROFILE_LEVEL_DETAILED);
    finalize();
    uint64_t first = 0;
    for (int i = 0; i < 8; i++)
        HTP_OK(m.w.qnn.profileCreate(m.w.backend, i % 2 ? LINTING : QNN_PROFILE_LEVEL_DETAILED,
                                     &workers[i].profile));
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&workers[i].thread, NULL, execute_profiled, &workers[i]),
                         0);
    for (int i = 0; i < 8; i++) {
        pthread_join(workers[i].thread, NULL);
        HTP_OK(workers[i].result);
        chain_check(&m.c, m.x, workers[i].y, sizeof workers[i].y);
        read_record(&m.w, workers[i].profile, &m.r);
        first = i ? first : value(&m.r, MODELLED);
        assert_true(first > 0 && llabs((long long)(value(&m.r, MODELLED) - first)) <= 2 * NODES);
        HTP_OK(m.w.qnn.profileFree(workers[i].profile));
    }
    end();
}

static void nothing_is_modelled_without_a_chip(void **state) {
    (void)state;
    htp_world w = htp_begin(0);
    m.w = w;
    HTP_OK(w.qnn.profileCreate(w.backend, QNN_PROFILE_LEVEL_DETAILED, &m.profile));
    chain_build(&w.qnn, w.context, "g", NULL, ROWS, COLUMNS, NODES, &m.c);
    htp_buffer(&m.c.x, m.x, sizeof m.x);
    htp_buffer(&m.c.y, m.y, sizeof m.y);
    finalize();
    execute();
    assert_null(find(&m.r, MODELLED));
    assert_int_equal(count(&m.r, 404), 2 * NODES + 3);
    end();
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(htp_prf_10_prf_13_linting),
    cmocka_unit_test(htp_prf_05_detailed_profiles_model_each_node),
    cmocka_unit_test(htp_prf_10_prf_13_linting_models_units_waits_and_overlap),
    cmocka_unit_test(htp_prf_05_pwr_15_votes_scale_the_modelled_time),
    cmocka_unit_test(htp_prf_11_prf_12_what_is_waited_for_is_no_overlap),
    cmocka_unit_test(several_threads_profile_one_graph),
    cmocka_unit_test(nothing_is_modelled_without_a_chip),
};

PROFILE_MAIN(tests)
