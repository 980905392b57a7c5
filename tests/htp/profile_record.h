// SPDX-License-Identifier: MIT
//
// Reading the events of a profile, the published table (first argument of the tests) that says what
// they must be like, and a graph to profile.
#ifndef QRN_TESTS_HTP_PROFILE_RECORD_H
#define QRN_TESTS_HTP_PROFILE_RECORD_H

#include "chain.h"

#include "HTP/QnnHtpProfile.h"

#include <inttypes.h>
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

static inline int read_table(void **state) {
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

static inline const row *row_of(uint32_t id) {
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

static inline void collect(const htp_world *w, const QnnProfile_EventId_t *ids, uint32_t n,
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

static inline void read_record(const htp_world *w, Qnn_ProfileHandle_t p, record *r) {
    const QnnProfile_EventId_t *ids = NULL;
    uint32_t n = 0;
    r->n = 0;
    HTP_OK(w->qnn.profileGetEvents(p, &ids, &n));
    collect(w, ids, n, UINT32_MAX, r);
}

static inline const event *find(const record *r, uint32_t type) {
    for (uint32_t i = 0; i < r->n; i++)
        if (r->e[i].type == type)
            return &r->e[i];
    return NULL;
}

static inline uint64_t value(const record *r, uint32_t type) {
    const event *e = find(r, type);
    if (!e)
        fail_msg("no event %u", type);
    return e->value;
}

static inline uint32_t count(const record *r, uint32_t type) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n; i++)
        n += r->e[i].type == type;
    return n;
}

static inline const char *unit_text(uint32_t unit) {
    static const char *const texts[] = {"-", "us", "bytes", "cycles", "count", "object", "none"};
    return unit < 7 ? texts[unit] : "?";
}

// A node may be counted in microseconds, too, below 3004.
static inline void check_node(const record *r, const event *e) {
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

// Bits of event 5004.
enum { HVX = 1, HMX = 2, DMA = 4 };

// Modelled events are Quern's own: they say so, and stand below each other alone.
enum { MODELLED = 12003, MODELLED_NODE, MODELLED_TRANSFER, MODELLED_TIME };

static inline bool is_modelled(const event *e) {
    if (e->type < MODELLED || e->type > MODELLED_TIME)
        return false;
    bool time = e->type == MODELLED_TIME;
    assert_non_null(strstr(e->identifier, time ? "(modelled at" : "modelled)"));
    assert_string_equal(unit_text(e->unit), time ? "us" : "cycles");
    assert_true(!time || e->parent == UINT32_MAX);
    return true;
}

static inline bool may_be_below(uint32_t above, uint32_t type) {
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
static inline void check_record(const record *r, const char *level) {
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

static inline void expect_types(const record *r, const uint32_t *types, uint32_t n) {
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

static inline void begin(QnnProfile_Level_t level) {
    m.w = htp_begin(43);
    HTP_OK(m.w.qnn.profileCreate(m.w.backend, level, &m.profile));
    chain_build(&m.w.qnn, m.w.context, "g", NULL, ROWS, COLUMNS, NODES, &m.c);
    chain_fill(m.x, sizeof m.x, 1);
    htp_buffer(&m.c.x, m.x, sizeof m.x);
    htp_buffer(&m.c.y, m.y, sizeof m.y);
}

static inline void finalize(void) {
    HTP_OK(m.w.qnn.graphFinalize(m.c.graph, m.profile, NULL));
    read_record(&m.w, m.profile, &m.r);
}

static inline void execute(void) {
    memset(m.y, 0, sizeof m.y);
    HTP_OK(m.w.qnn.graphExecute(m.c.graph, &m.c.x, 1, &m.c.y, 1, m.profile, NULL));
    read_record(&m.w, m.profile, &m.r);
    chain_check(&m.c, m.x, m.y, sizeof m.y);
}

static inline void end(void) {
    HTP_OK(m.w.qnn.profileFree(m.profile));
    htp_end(&m.w);
}

static inline uint64_t now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

// The main function of a test of profiles: reads the table, runs the tests.
#define PROFILE_MAIN(tests)                                                                        \
    int main(int argc, char **argv) {                                                              \
        if (argc < 2)                                                                              \
            return 2;                                                                              \
        table_file = argv[1];                                                                      \
        return cmocka_run_group_tests(tests, read_table, NULL);                                    \
    }

#endif
