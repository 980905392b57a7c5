// SPDX-License-Identifier: MIT
//
// Op traces and schematics, read as docs/profiling.md describes them.
#include "profile_record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

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
    assert_int_equal(take(&r, 4), 3);
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
        uint64_t type = take(&r, 4), rank = take(&r, 4), elements = 1;
        for (uint64_t k = 0; k < rank; k++)
            elements *= take(&r, 4);
        has_x |= strcmp(text, "x") == 0 && storage == 2 && bytes == sizeof m.x &&
                 type == QNN_DATATYPE_UFIXED_POINT_8 && elements == sizeof m.x;
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
    // Modelled: as htp_prf_05 has it, from the start of a call (184 us) on.
    double us = 202 / 1.10;
    assert_int_equal(take(&r, 8), 1500000000);
    assert_int_equal(take(&r, 4), NODES);
    for (uint32_t i = 0; i < NODES; i++) {
        assert_int_equal(take(&r, 4), i + 4);
        assert_int_equal(take(&r, 4), HVX);
        double times[7];
        for (int k = 0; k < 7; k++)
            times[k] = (double)take(&r, 8);
        assert_true(fabs(times[0] - 1e3 * us) <= 1);
        assert_true(fabs(times[1] - 1e3 * (us + 5.19 / 1.10)) <= 1);
        us += (49152 / 952e3 + 5.19) / 1.10;
        assert_true(fabs(times[2] - 1e3 * us) <= 1);
        assert_true(times[3] == times[4] && times[5] == times[6]); // no transfers
        for (int k = 0; k < 3; k++)
            assert_int_equal(take(&r, 8), 0);
        assert_int_equal(take(&r, 8), 2 * sizeof m.x);
        assert_int_equal(take(&r, 8), sizeof m.y);
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

// Clients look for the schematic in the working directory.
static void the_schematic_is_left_in_the_working_directory(void **state) {
    (void)state;
    char folder[] = "schematic_XXXXXX", bytes[1 << 16];
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    begin(QNN_PROFILE_LEVEL_DETAILED);
    finalize(); // without a trace there is none
    end();
    assert_int_not_equal(access("g_schematic.bin", F_OK), 0);
    begin(QNN_PROFILE_LEVEL_DETAILED);
    enable_optrace();
    finalize();
    FILE *f = fopen("g_schematic.bin", "rb");
    assert_non_null(f);
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    const event *e = find(&m.r, 600);
    assert_int_equal(n, e->object_bytes);
    assert_memory_equal(bytes, e->object, n);
    end();
    assert_int_equal(unlink("g_schematic.bin"), 0);
    assert_int_equal(mkdir("g_schematic.bin", 0700), 0); // in the way: said, and no failure
    begin(QNN_PROFILE_LEVEL_DETAILED);
    enable_optrace();
    finalize();
    assert_non_null(find(&m.r, 600));
    end();
    assert_int_equal(rmdir("g_schematic.bin"), 0);
    assert_int_equal(chdir(".."), 0);
    assert_int_equal(rmdir(folder), 0);
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

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(htp_otr_01_otr_04_trace_and_schematic),
    cmocka_unit_test(the_schematic_is_left_in_the_working_directory),
    cmocka_unit_test(htp_otr_03_traces_need_the_detailed_level),
};

PROFILE_MAIN(tests)
