// SPDX-License-Identifier: MIT
//
// Profiles: which events each call adds, checked against the published table (first argument), and
// what their values must obey.
#include "backend/htp/device/engine.h"
#include "backend/htp/profile/events.h"
#include "backend/htp/power/power.h"
#include "binary_model.h"
#include "chain.h"

#include "HTP/QnnHtpProfile.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define LINTING QNN_HTP_PROFILE_LEVEL_LINTING

// --- the published table

typedef struct row {
    uint32_t id;
    char identifier[96], unit[16], levels[32], parent[24];
} row;

static row table[128];
static size_t n_rows;
static const char *table_file;

static int read_table(void **state) {
    (void)state;
    FILE *f = fopen(table_file, "r");
    if (!f)
        return 1;
    char line[512];
    while (fgets(line, sizeof line, f)) {
        row *r = &table[n_rows];
        if (line[0] != '#' && sscanf(line, "%" SCNu32 "\t%95[^\t]\t%15[^\t]\t%31[^\t]\t%23[^\t\n]",
                                     &r->id, r->identifier, r->unit, r->levels, r->parent) == 5)
            n_rows++;
    }
    fclose(f);
    return n_rows < 60;
}

static const row *row_of(uint32_t id) {
    for (size_t i = 0; i < n_rows; i++)
        if (table[i].id == id)
            return &table[i];
    return NULL;
}

// --- a record

typedef struct event {
    uint32_t type, unit, parent; // index, UINT32_MAX: top
    uint64_t value;
    char identifier[128];
    const void *object;
    uint32_t object_bytes;
    char file[128];
} event;

typedef struct record {
    event e[512];
    uint32_t n;
} record;

static void collect(const htp_world *w, const QnnProfile_EventId_t *ids, uint32_t n,
                    uint32_t parent, record *r) {
    for (uint32_t i = 0; i < n; i++) {
        QnnProfile_ExtendedEventData_t d = QNN_PROFILE_EXTENDED_EVENT_DATA_INIT;
        HTP_OK(w->qnn.profileGetExtendedEventData(ids[i], &d));
        assert_true(r->n < sizeof r->e / sizeof r->e[0]);
        uint32_t me = r->n++;
        event *e = &r->e[me];
        *e = (event){.type = d.v1.type, .unit = d.v1.unit, .parent = parent};
        snprintf(e->identifier, sizeof e->identifier, "%s", d.v1.identifier);
        if (d.v1.unit == QNN_PROFILE_EVENTUNIT_OBJECT) {
            e->object = d.v1.backendOpaqueObject.opaqueObject.data;
            e->object_bytes = (uint32_t)d.v1.backendOpaqueObject.opaqueObject.len;
            if (d.v1.backendOpaqueObject.fileName)
                snprintf(e->file, sizeof e->file, "%s", d.v1.backendOpaqueObject.fileName);
        } else {
            e->value = d.v1.value.uint64Value;
        }
        const QnnProfile_EventId_t *sub = NULL;
        uint32_t n_sub = 0;
        HTP_OK(w->qnn.profileGetSubEvents(ids[i], &sub, &n_sub));
        collect(w, sub, n_sub, me, r);
    }
}

static void read_record(const htp_world *w, Qnn_ProfileHandle_t p, record *r) {
    const QnnProfile_EventId_t *ids = NULL;
    uint32_t n = 0;
    r->n = 0;
    HTP_OK(w->qnn.profileGetEvents(p, &ids, &n));
    collect(w, ids, n, UINT32_MAX, r);
}

static const event *find(const record *r, uint32_t type) {
    for (uint32_t i = 0; i < r->n; i++)
        if (r->e[i].type == type)
            return &r->e[i];
    return NULL;
}

static uint64_t value(const record *r, uint32_t type) {
    const event *e = find(r, type);
    if (!e)
        fail_msg("no event %u", type);
    return e->value;
}

static uint32_t count(const record *r, uint32_t type) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n; i++)
        n += r->e[i].type == type;
    return n;
}

static const char *unit_text(uint32_t unit) {
    static const char *const texts[] = {"-", "us", "bytes", "cycles", "count", "object", "none"};
    return unit < 7 ? texts[unit] : "?";
}

// A node may be counted in microseconds, too, below 3004.
static void check_node(const record *r, const event *e) {
    uint32_t above = e->parent == UINT32_MAX ? 0 : r->e[e->parent].type;
    const char *id = strstr(e->identifier, "OpId_");
    assert_non_null(id);
    char *end;
    strtoul(id + 5, &end, 10);
    assert_true(end > id + 5);
    assert_string_equal(end, above == 3004 ? "" : " (cycles)");
    assert_string_equal(unit_text(e->unit), above == 3004 ? "us" : "cycles");
    assert_true(above == 3003 || above == 3004 || above == 6001);
}

// Modelled events are Quern's own: they say so, and stand below each other alone.
enum { MODELLED = 12003, MODELLED_NODE, MODELLED_TRANSFER };

static bool is_modelled(const event *e) {
    if (e->type < MODELLED || e->type > MODELLED_TRANSFER)
        return false;
    assert_non_null(strstr(e->identifier, "modelled)"));
    assert_string_equal(unit_text(e->unit), "cycles");
    return true;
}

static bool may_be_below(uint32_t above, uint32_t type) {
    switch (above) {
    case MODELLED_NODE:
        return type >= 5001 && type <= 5004;
    case 3009:
        return type >= 3006 && type <= 3008;
    case 404:
        return type >= 5001 && type <= 5004;
    case 400:
        return type == 405 || type == 600;
    case 300:
        return type == 600;
    case 2017:
        return type == 2018;
    default:
        return type == 404;
    }
}

// Everything the table says about the events of a record of this level.
static void check_record(const record *r, const char *level) {
    for (uint32_t i = 0; i < r->n; i++) {
        const event *e = &r->e[i];
        const row *t = row_of(e->type);
        if (is_modelled(e))
            continue;
        if (!t)
            fail_msg("event %u is not in the table", e->type);
        if (!strstr(t->levels, level))
            fail_msg("event %u at level %s, published for %s", e->type, level, t->levels);
        if (e->parent != UINT32_MAX && !may_be_below(r->e[e->parent].type, e->type))
            fail_msg("event %u below %u", e->type, r->e[e->parent].type);
        if (e->type == 404) {
            check_node(r, e);
            continue;
        }
        assert_string_equal(unit_text(e->unit), t->unit);
        assert_true(e->identifier[0]);
        if (strcmp(t->identifier, "-") != 0)
            assert_string_equal(e->identifier, t->identifier);
        const event *outer = find(r, (uint32_t)strtoul(t->parent, NULL, 10));
        if (outer && outer->unit == e->unit && e->parent == UINT32_MAX &&
            e->unit != QNN_PROFILE_EVENTUNIT_NONE) // headings hold nothing
            assert_true(e->value <= outer->value);
    }
}

static void expect_types(const record *r, const uint32_t *types, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (count(r, types[i]) != 1)
            fail_msg("event %u: %u times, expected once", types[i], count(r, types[i]));
    assert_int_equal(r->n, n);
}
#define EXPECT(r, ...)                                                                             \
    expect_types(r, (const uint32_t[]){__VA_ARGS__},                                               \
                 sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

// Of finalize, when a chip was chosen that somebody measured.
#define ESTIMATES 2004, 2006, 2007, 2008, 2009, 2010, 2011, 2012, 2013, 2014, 2015, 2016, 2017

// --- a graph and its runs

#define ROWS 16u
#define COLUMNS 1024u
#define NODES 5u

typedef struct model {
    htp_world w;
    chain c;
    Qnn_ProfileHandle_t profile;
    uint8_t x[ROWS * COLUMNS], y[ROWS * COLUMNS];
    record r;
} model;

static model m;

static void begin(QnnProfile_Level_t level) {
    m.w = htp_begin(43);
    HTP_OK(m.w.qnn.profileCreate(m.w.backend, level, &m.profile));
    chain_build(&m.w.qnn, m.w.context, "g", NULL, ROWS, COLUMNS, NODES, &m.c);
    chain_fill(m.x, sizeof m.x, 1);
    htp_buffer(&m.c.x, m.x, sizeof m.x);
    htp_buffer(&m.c.y, m.y, sizeof m.y);
}

static void finalize(void) {
    HTP_OK(m.w.qnn.graphFinalize(m.c.graph, m.profile, NULL));
    read_record(&m.w, m.profile, &m.r);
}

static void execute(void) {
    memset(m.y, 0, sizeof m.y);
    HTP_OK(m.w.qnn.graphExecute(m.c.graph, &m.c.x, 1, &m.c.y, 1, m.profile, NULL));
    read_record(&m.w, m.profile, &m.r);
    chain_check(&m.c, m.x, m.y, sizeof m.y);
}

static void end(void) {
    HTP_OK(m.w.qnn.profileFree(m.profile));
    htp_end(&m.w);
}

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

static uint64_t now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
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

// Five sums of 16 KiB codes: each reads two and writes one, 49152 bytes at 298 GB/s, and costs
// 6.1 us besides, both at 1.12 (SM8550); nothing else reads memory. Full power is 1500 MHz.
static void htp_prf_21_finalize_estimates_the_chip(void **state) {
    (void)state;
    begin(QNN_PROFILE_LEVEL_BASIC);
    finalize();
    double cycles = NODES * (49152 / 298e3 + 6.1) / 1.12 * 1500;
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
    double mhz = (double)qrn_htp_clock_hz() / 1e6;
    double us = (double)value(&m.r, 3003) / mhz;
    assert_true(us >= (double)value(&m.r, 3012) - 0.01);
    assert_true(us < (double)value(&m.r, 3012) + 1.01);
    assert_non_null(strstr(last_log, "measured"));
    assert_non_null(strstr(last_log, "modelled clock"));
    char hz[32];
    snprintf(hz, sizeof hz, "%" PRIu64 " Hz", qrn_htp_clock_hz());
    assert_non_null(strstr(last_log, hz));
    end();
    HTP_OK(qnn.logFree(log));
}

typedef struct late {
    Qnn_ErrorHandle_t result;
    pthread_t thread;
} late;

static void *execute_late(void *arg) {
    late *l = arg;
    l->result = m.w.qnn.graphExecute(m.c.graph, &m.c.x, 1, &m.c.y, 1, m.profile, NULL);
    return NULL;
}

static void waiting_for_the_engine_is_measured(void **state) {
    (void)state;
    begin(QNN_PROFILE_LEVEL_BASIC);
    finalize();
    qrn_htp_turn mine = {.priority = 500};
    assert_int_equal(qrn_htp_engine_take(&mine), QRN_OK);
    late l = {0};
    uint64_t start = now_us();
    assert_int_equal(pthread_create(&l.thread, NULL, execute_late, &l), 0);
    while (qrn_htp_engine_waiting() == 0)
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    uint64_t waiting = now_us();
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    uint64_t held = now_us() - waiting;
    qrn_htp_engine_give(&mine);
    pthread_join(l.thread, NULL);
    uint64_t all = now_us() - start;
    HTP_OK(l.result);
    read_record(&m.w, m.profile, &m.r);
    check_record(&m.r, "basic");
    assert_true(value(&m.r, 3010) + 1 >= held);
    assert_true(value(&m.r, 3010) <= all);
    assert_true(value(&m.r, 3004) >= value(&m.r, 3010));
    assert_true(value(&m.r, 3012) <= all - held + 1);
    assert_int_equal(value(&m.r, 3009), 0);
    end();
}

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
        assert_int_equal(seen[4], node ? QRN_HTP_UNIT_HVX : 0);
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

// The five sums of htp_prf_21: each is 49152 bytes at 298 GB/s, and 6.1 us of control before.
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
    double each = (49152 / 298e3 + 6.1) / 1.12 * 1500;
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
    for (uint32_t i = 0; i < m.r.n; i++)
        if (m.r.e[i].type == MODELLED_NODE) {
            bool relu = strncmp(m.r.e[i].identifier, "relu:", 5) == 0; // in the convolution's step
            assert_int_equal(m.r.e[i].value > 0, !relu);
            assert_int_equal(m.r.e[child(&m.r, i, 5004)].value,
                             relu ? 0 : QRN_HTP_UNIT_HMX | QRN_HTP_UNIT_DMA);
        }
    assert_true(count(&m.r, MODELLED_TRANSFER) > 0);
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

static void units_follow_the_kind_of_op(void **state) {
    (void)state;
    assert_int_equal(qrn_htp_op_units("Conv2d"), QRN_HTP_UNIT_HMX | QRN_HTP_UNIT_DMA);
    assert_int_equal(qrn_htp_op_units("MatMul"), QRN_HTP_UNIT_HMX | QRN_HTP_UNIT_DMA);
    assert_int_equal(qrn_htp_op_units("Softmax"), QRN_HTP_UNIT_HVX);
    assert_int_equal(qrn_htp_op_units("Conv2dLike"), QRN_HTP_UNIT_HVX);
}

static void done(void *flag, Qnn_NotifyStatus_t status) {
    HTP_OK(status.error);
    atomic_store((atomic_bool *)flag, true);
}

static void the_queue_is_measured(void **state) {
    (void)state;
    begin(QNN_PROFILE_LEVEL_BASIC);
    finalize();
    qrn_htp_turn mine = {.priority = 500};
    assert_int_equal(qrn_htp_engine_take(&mine), QRN_OK);
    atomic_bool first = false, second = false;
    Qnn_Tensor_t out[] = {m.c.y, m.c.y};
    HTP_OK(m.w.qnn.graphExecuteAsync(m.c.graph, &m.c.x, 1, &out[0], 1, NULL, NULL, done, &first));
    while (qrn_htp_engine_waiting() == 0)
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    HTP_OK(m.w.qnn.graphExecuteAsync(m.c.graph, &m.c.x, 1, &out[1], 1, m.profile, NULL, done,
                                     &second));
    nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
    qrn_htp_engine_give(&mine);
    while (!atomic_load(&second))
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    read_record(&m.w, m.profile, &m.r);
    check_record(&m.r, "basic");
    assert_true(value(&m.r, 405) >= 3000);
    assert_int_equal(m.r.e[find(&m.r, 405)->parent].type, 400);
    end();
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

// --- op traces, read as docs/profiling.md describes them

typedef struct reader {
    const unsigned char *p, *end;
} reader;

static uint64_t take(reader *r, uint32_t bytes) {
    uint64_t v = 0;
    assert_true((size_t)(r->end - r->p) >= bytes);
    for (uint32_t i = 0; i < bytes; i++)
        v |= (uint64_t)r->p[i] << (8 * i);
    r->p += bytes;
    return v;
}

static void take_text(reader *r, char *out, size_t room) {
    uint64_t n = take(r, 4);
    assert_true(n < room && n <= (uint64_t)(r->end - r->p));
    memcpy(out, r->p, n);
    out[n] = '\0';
    r->p += n;
}

static reader open_block(const event *e, const char *magic) {
    assert_int_equal(e->unit, QNN_PROFILE_EVENTUNIT_OBJECT);
    reader r = {e->object, (const unsigned char *)e->object + e->object_bytes};
    assert_true(e->object_bytes > 12);
    assert_memory_equal(r.p, magic, 8);
    r.p += 8;
    assert_int_equal(take(&r, 4), 2);
    char name[64];
    take_text(&r, name, sizeof name);
    assert_string_equal(name, "g");
    return r;
}

static void enable_optrace(void) {
    QnnProfile_Config_t on = {.option = QNN_PROFILE_CONFIG_OPTION_ENABLE_OPTRACE,
                              .enableOptrace = 1};
    const QnnProfile_Config_t *configs[] = {&on, NULL};
    HTP_OK(m.w.qnn.profileSetConfig(m.profile, configs));
}

static void read_schematic(const event *e) {
    assert_string_equal(e->file, "g_schematic.bin");
    reader r = open_block(e, "QRNSCHEM");
    uint64_t n_values = take(&r, 4);
    bool has_x = false;
    char text[64];
    for (uint64_t i = 0; i < n_values; i++) {
        take(&r, 4);
        uint64_t storage = take(&r, 4);
        take(&r, 8);
        uint64_t bytes = take(&r, 8);
        take_text(&r, text, sizeof text);
        has_x |= strcmp(text, "x") == 0 && storage == 2 && bytes == sizeof m.x;
    }
    assert_true(has_x);
    assert_int_equal(take(&r, 4), NODES);
    for (uint32_t i = 0; i < NODES; i++) {
        char want[16];
        snprintf(want, sizeof want, "add%u", i);
        assert_int_equal(take(&r, 4), i + 4);
        take_text(&r, text, sizeof text);
        assert_string_equal(text, want);
        take_text(&r, text, sizeof text);
        assert_string_equal(text, "ElementWiseAdd");
        uint64_t n_in = take(&r, 4);
        assert_int_equal(n_in, 2);
        assert_true(take(&r, 4) < n_values && take(&r, 4) < n_values);
        assert_int_equal(take(&r, 4), 1);
        assert_true(take(&r, 4) < n_values);
    }
    // Modelled: the input and each result, 4 MB of VTCM.
    assert_int_equal(take(&r, 4), 4 << 20);
    assert_int_equal(take(&r, 4), NODES + 1);
    for (uint32_t i = 0; i <= NODES; i++) {
        assert_true(take(&r, 4) > 0);
        assert_int_equal(take(&r, 4), 0); // no weights
        assert_true(take(&r, 4) + sizeof m.x <= 4 << 20);
        assert_int_equal(take(&r, 4), sizeof m.x);
        uint64_t first = take(&r, 4), last = take(&r, 4);
        assert_int_equal(first, i ? i + 3 : 4);
        assert_true(last >= first && last < NODES + 4);
    }
    assert_ptr_equal(r.p, r.end);
}

static void read_trace(const event *e, uint64_t from_us, uint64_t to_us) {
    reader r = open_block(e, "QRNTRACE");
    uint64_t hz = take(&r, 8), last = 0;
    assert_int_equal(hz, 1000000000);
    assert_int_equal(take(&r, 4), NODES);
    for (uint32_t i = 0; i < NODES; i++) {
        assert_int_equal(take(&r, 4), i + 4);
        assert_int_equal(take(&r, 4), 0);
        uint64_t start = take(&r, 8), stop = take(&r, 8);
        assert_true(start >= last && stop > start);
        assert_true(start / 1000 >= from_us && stop / 1000 <= to_us);
        last = stop;
        assert_int_equal(take(&r, 8), 2 * sizeof m.x);
        assert_int_equal(take(&r, 8), sizeof m.y);
    }
    // Modelled: as htp_prf_05 has it, from the start of a call (215 us) on.
    double us = 241 / 1.12;
    assert_int_equal(take(&r, 4), NODES);
    for (uint32_t i = 0; i < NODES; i++) {
        assert_int_equal(take(&r, 4), i + 4);
        assert_int_equal(take(&r, 4), QRN_HTP_UNIT_HVX);
        double times[7];
        for (int k = 0; k < 7; k++)
            times[k] = (double)take(&r, 8);
        assert_true(fabs(times[0] - 1e3 * us) <= 1);
        assert_true(fabs(times[1] - 1e3 * (us + 6.1 / 1.12)) <= 1);
        us += (49152 / 298e3 + 6.1) / 1.12;
        assert_true(fabs(times[2] - 1e3 * us) <= 1);
        assert_true(times[3] == times[4] && times[5] == times[6]); // no transfers
    }
    assert_ptr_equal(r.p, r.end);
}

static void htp_otr_01_otr_04_trace_and_schematic(void **state) {
    (void)state;
    begin(QNN_PROFILE_LEVEL_DETAILED);
    enable_optrace();
    finalize();
    check_record(&m.r, "detailed");
    assert_int_equal(m.r.e[find(&m.r, 600)->parent].type, 300);
    read_schematic(find(&m.r, 600));
    uint64_t start = now_us();
    execute();
    uint64_t stop = now_us();
    check_record(&m.r, "detailed");
    assert_int_equal(m.r.e[find(&m.r, 600)->parent].type, 400);
    read_trace(find(&m.r, 600), start, stop);
    end();
}

static void htp_otr_03_traces_need_the_detailed_level(void **state) {
    (void)state;
    static const QnnProfile_Level_t levels[] = {QNN_PROFILE_LEVEL_BASIC, LINTING};
    QnnProfile_Config_t on = {.option = QNN_PROFILE_CONFIG_OPTION_ENABLE_OPTRACE,
                              .enableOptrace = 1};
    const QnnProfile_Config_t *configs[] = {&on, NULL};
    for (int i = 0; i < 2; i++) {
        begin(levels[i]);
        assert_int_not_equal(m.w.qnn.profileSetConfig(m.profile, configs), QNN_SUCCESS);
        finalize();
        execute();
        assert_null(find(&m.r, 600));
        end();
    }
    begin(QNN_PROFILE_LEVEL_DETAILED); // and it is off unless asked for
    finalize();
    execute();
    assert_null(find(&m.r, 600));
    end();
}

int main(int argc, char **argv) {
    if (argc < 2)
        return 2;
    table_file = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(htp_prf_01_levels),
        cmocka_unit_test(htp_prf_02_basic_events_of_every_call),
        cmocka_unit_test(htp_prf_03_each_time_lies_in_the_one_around_it),
        cmocka_unit_test(htp_prf_04_detailed_names_every_node),
        cmocka_unit_test(htp_prf_21_finalize_estimates_the_chip),
        cmocka_unit_test(htp_prf_21_ops_without_a_cost_are_named),
        cmocka_unit_test(nothing_is_estimated_without_a_chip),
        cmocka_unit_test(htp_prf_05_cycles_are_measured_times_at_the_modelled_clock),
        cmocka_unit_test(waiting_for_the_engine_is_measured),
        cmocka_unit_test(htp_prf_10_prf_13_linting),
        cmocka_unit_test(htp_prf_05_detailed_profiles_model_each_node),
        cmocka_unit_test(htp_prf_10_prf_13_linting_models_units_waits_and_overlap),
        cmocka_unit_test(several_threads_profile_one_graph),
        cmocka_unit_test(nothing_is_modelled_without_a_chip),
        cmocka_unit_test(units_follow_the_kind_of_op),
        cmocka_unit_test(the_queue_is_measured),
        cmocka_unit_test(htp_prf_22_sections_and_updates),
        cmocka_unit_test(htp_otr_01_otr_04_trace_and_schematic),
        cmocka_unit_test(htp_otr_03_traces_need_the_detailed_level),
    };
    return cmocka_run_group_tests(tests, read_table, NULL);
}
