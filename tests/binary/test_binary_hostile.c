// SPDX-License-Identifier: MIT
//
// Damaged and hostile context binaries: whatever was done to a file, loading it is refused with a
// documented code and one line of text, or the file was not damaged where it counts. Nothing
// crashes, no memory is kept. Runs under AddressSanitizer like all tests.
#include "binary_model.h"
#include "refile.h"

#include "base/crc32.h"
#include "base/mem.h"
#include "binary/binary.h"

static htp_world world;
static blob good;
static qrn_bin_weights weights; // where damage is found on request only

static int set_up(void **state) {
    (void)state;
    uint8_t out[NET_OUT_BYTES];
    good = blob_of_net(43, "net", out); // a chip: it has a schedule
    world = htp_bare(0);
    assert_int_equal(qrn_bin_find_weights(good.data, good.size, &weights), QRN_OK);
    assert_true(weights.weights_bytes > 0);
    Qnn_ContextHandle_t c = NULL; // starts what lives as long as the backend
    HTP_OK(world.qnn.contextCreateFromBinary(world.backend, world.device, NULL, good.data,
                                             good.size, &c, NULL));
    HTP_OK(world.qnn.contextFree(c, NULL));
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    htp_end(&world);
    free(good.data);
    return 0;
}

static bool is_code_of_damage(Qnn_ErrorHandle_t code) {
    return code == QNN_CONTEXT_ERROR_BINARY_VERSION ||
           code == QNN_CONTEXT_ERROR_CREATE_FROM_BINARY ||
           code == QNN_CONTEXT_ERROR_BINARY_CONFIGURATION;
}

// Loads a copy of exactly this size; frees what was made.
static Qnn_ErrorHandle_t load(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, data, size);
    size_t live = qrn_alloc_live();
    Qnn_ContextHandle_t c = NULL;
    Qnn_ErrorHandle_t code = QNN_GET_ERROR_CODE(
        world.qnn.contextCreateFromBinary(world.backend, world.device, NULL, copy, size, &c, NULL));
    assert_int_equal(code == QNN_SUCCESS, c != NULL);
    if (c)
        HTP_OK(world.qnn.contextFree(c, NULL));
    assert_int_equal(qrn_alloc_live(), live);
    free(copy);
    return code;
}

static void refused(const uint8_t *data, size_t size, const char *what, size_t where) {
    Qnn_ErrorHandle_t code = load(data, size);
    if (!is_code_of_damage(code))
        fail_msg("%s at %zu: code %llu", what, where, (unsigned long long)code);
    const char *text = NULL;
    HTP_OK(world.qnn.errorGetVerboseMessage(code, &text));
    if (strchr(text, '\n') || !strstr(text, "ontext binary"))
        fail_msg("%s at %zu: '%s'", what, where, text);
    HTP_OK(world.qnn.errorFreeVerboseMessage(text));
}

static bool is_in_weights(size_t at) {
    return at >= weights.weights_offset && at < weights.weights_offset + weights.weights_bytes;
}

static void crc_is_that_of_the_standard(void **state) {
    (void)state;
    const uint8_t digits[] = "123456789";
    assert_int_equal(qrn_crc32(0, digits, 9), 0xCBF43926);
    assert_int_equal(refile_crc(digits, 9), 0xCBF43926);
    for (size_t n = 0; n < 70; n++) {
        uint32_t want = refile_crc(good.data + 4100, n);
        assert_int_equal(qrn_crc32(0, good.data + 4100, n), want);
        uint32_t first = qrn_crc32(0, good.data + 4100, n / 3);
        assert_int_equal(qrn_crc32(first, good.data + 4100 + n / 3, n - n / 3), want);
    }
}

static void files_cut_at_every_64th_byte_are_refused(void **state) {
    (void)state;
    for (size_t n = 1; n < good.size; n += 64)
        refused(good.data, n, "cut", n);
    refused(good.data, good.size - 1, "cut", good.size - 1);
    uint8_t *longer = calloc(1, good.size + 64);
    memcpy(longer, good.data, good.size);
    refused(longer, good.size + 64, "longer", good.size);
    free(longer);
}

// A file that was being written when the power went: zeros from some place on.
static void half_written_files_are_refused(void **state) {
    (void)state;
    uint8_t *half = malloc(good.size);
    for (size_t n = 0; n < weights.weights_offset; n += 4096) {
        memcpy(half, good.data, n);
        memset(half + n, 0, good.size - n);
        if (memcmp(half, good.data, weights.weights_offset) != 0)
            refused(half, good.size, "half written", n);
    }
    free(half);
}

// Every bit of header and section table, every byte of everything else but weights.
static void every_changed_byte_outside_the_weights_is_found(void **state) {
    (void)state;
    size_t table_end = 64 + 32 * (size_t)refile_get(good.data + 24);
    uint8_t *copy = malloc(good.size);
    memcpy(copy, good.data, good.size);
    for (size_t at = 0; at < table_end; at++)
        for (int bit = 0; bit < 8; bit++) {
            copy[at] ^= (uint8_t)(1 << bit);
            refused(copy, good.size, "bit", at);
            copy[at] ^= (uint8_t)(1 << bit);
        }
    for (size_t at = table_end; at < good.size; at += at % 4096 < 2048 ? 3 : 101) {
        if (is_in_weights(at))
            continue;
        copy[at] ^= 0x41;
        refused(copy, good.size, "byte", at);
        copy[at] ^= 0x41;
    }
    free(copy);
}

static uint32_t next(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

// One to four bytes anywhere; in the weights with verification only.
static void ten_thousand_random_corruptions_are_found(void **state) {
    (void)state;
    uint64_t seed = 20;
    uint8_t *copy = malloc(good.size);
    memcpy(copy, good.data, good.size);
    for (int i = 0; i < 10000; i++) {
        size_t at[4];
        uint32_t n = 1 + next(&seed) % 4;
        bool outside = false;
        for (uint32_t k = 0; k < n; k++) {
            bool in_metadata = next(&seed) % 2;
            at[k] = next(&seed) % (in_metadata ? weights.weights_offset : good.size);
            uint8_t was = copy[at[k]];
            copy[at[k]] ^= (uint8_t)(1 + next(&seed) % 255);
            outside |= !is_in_weights(at[k]) && copy[at[k]] != was;
        }
        if (memcmp(copy, good.data, good.size) == 0)
            continue; // undone by itself
        qrn_bin *bin = NULL;
        assert_int_not_equal(qrn_bin_open(copy, good.size, true, &bin), QRN_OK);
        if (outside && i % 4 == 0 && memcmp(copy, good.data, weights.weights_offset) != 0)
            refused(copy, good.size, "random", (size_t)i);
        for (uint32_t k = 0; k < n; k++)
            copy[at[k]] = good.data[at[k]];
    }
    free(copy);
}

// Weights are numbers like any other: a change there loads, and is found on request.
static void damaged_weights_are_found_on_request(void **state) {
    (void)state;
    uint8_t *copy = malloc(good.size);
    memcpy(copy, good.data, good.size);
    copy[weights.weights_offset + 17] ^= 4;
    assert_int_equal(load(copy, good.size), QNN_SUCCESS);
    qrn_bin *bin = NULL;
    assert_int_equal(qrn_bin_open(copy, good.size, true, &bin), QRN_E_BINARY);
    assert_non_null(strstr(qrn_message(), "checksum"));
    free(copy);
}

// --- behind the checksums

static refile parts;

static refile_section *part(uint32_t type) {
    for (uint32_t i = 0; i < parts.n; i++)
        if (parts.sections[i].type == type)
            return &parts.sections[i];
    fail_msg("no section of type %u", type);
    return NULL;
}

static Qnn_ErrorHandle_t load_parts(void) {
    size_t size;
    uint8_t *file = refile_join(&parts, &size);
    Qnn_ErrorHandle_t code = load(file, size);
    free(file);
    return code;
}

static int split(void **state) {
    (void)state;
    return refile_split(good.data, good.size, &parts) ? 0 : 1;
}

static int unsplit(void **state) {
    (void)state;
    refile_free(&parts);
    return 0;
}

static void the_second_writer_makes_the_same_file(void **state) {
    (void)state;
    size_t size;
    uint8_t *file = refile_join(&parts, &size);
    assert_int_equal(size, good.size);
    assert_memory_equal(file, good.data, size);
    free(file);
}

// Every word of the records gets the worst values; what loads must be harmless.
static void every_word_of_the_records_may_be_anything(void **state) {
    (void)state;
    const uint32_t worst[] = {0, 1, 2, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x00010000, 77};
    const uint32_t types[] = {1, 2, 6};
    unsigned n_loaded = 0, n_refused = 0;
    for (int t = 0; t < 3; t++) {
        refile_section *s = part(types[t]);
        for (size_t at = 0; at + 4 <= s->size; at += 4) {
            uint32_t was = refile_get(s->data + at);
            for (size_t k = 0; k < sizeof worst / sizeof worst[0]; k++) {
                if (at % 64 && k > 3) // the rest for some
                    break;
                refile_put(s->data + at, worst[k]);
                Qnn_ErrorHandle_t code = load_parts();
                if (code == QNN_SUCCESS)
                    n_loaded++;
                else if (is_code_of_damage(code) || code == QNN_COMMON_ERROR_MEM_ALLOC)
                    n_refused++;
                else
                    fail_msg("word %zu of section type %u: code %llu", at, types[t],
                             (unsigned long long)code);
            }
            refile_put(s->data + at, was);
        }
    }
    assert_true(n_loaded > 10 && n_refused > 1000);
}

static void records_that_are_cut_or_too_long_are_refused(void **state) {
    (void)state;
    const uint32_t types[] = {1, 2, 6};
    for (int t = 0; t < 3; t++) {
        refile_section *s = part(types[t]);
        for (size_t at = 0; at + 4 <= s->size; at += 52) {
            uint32_t was = refile_get(s->data + at);
            refile_splice(s, at, 4, 0);
            assert_int_not_equal(load_parts(), QNN_SUCCESS);
            refile_splice(s, at, 0, 4);
            refile_put(s->data + at, was);
        }
        refile_splice(s, s->size, 0, 4);
        assert_int_not_equal(load_parts(), QNN_SUCCESS);
        refile_splice(s, s->size - 4, 4, 0);
    }
    assert_int_equal(load_parts(), QNN_SUCCESS);
}

// Damage that shows only when the graphs are made, in a context whose graphs are made later.
static void deferred_graphs_that_cannot_be_made(void **state) {
    (void)state;
    refile_section *s = part(2);
    size_t at = 0;
    while (at + 6 <= s->size && memcmp(s->data + at, "Conv2d", 6) != 0)
        at++;
    s->data[at + 4] = '9'; // no such op
    size_t size;
    uint8_t *file = refile_join(&parts, &size);
    const QnnContext_Config_t later = {.option = QNN_CONTEXT_CONFIG_OPTION_DEFER_GRAPH_INIT,
                                       .isGraphInitDeferred = 1};
    const QnnContext_Config_t *list[] = {&later, NULL};
    size_t live = qrn_alloc_live();
    Qnn_ContextHandle_t c = NULL;
    Qnn_GraphHandle_t g = NULL;
    HTP_OK(
        world.qnn.contextCreateFromBinary(world.backend, world.device, list, file, size, &c, NULL));
    HTP_FAILS(world.qnn.graphRetrieve(c, "net", &g), QNN_GRAPH_ERROR_GRAPH_DOES_NOT_EXIST);
    HTP_FAILS(world.qnn.contextFinalize(c, NULL), QNN_CONTEXT_ERROR_CREATE_FROM_BINARY);
    assert_null(g);
    HTP_OK(world.qnn.contextFree(c, NULL));
    assert_int_equal(qrn_alloc_live(), live);
    free(file);
}

static void missing_and_repeated_sections_are_refused(void **state) {
    (void)state;
    for (uint32_t i = 0; i < parts.n; i++) {
        refile fewer = parts, twice = parts;
        fewer.n--;
        memmove(&fewer.sections[i], &parts.sections[i + 1], (fewer.n - i) * sizeof(refile_section));
        twice.sections[twice.n++] = parts.sections[i];
        refile both[] = {fewer, twice};
        for (int k = 0; k < 2; k++) {
            size_t size;
            uint8_t *file = refile_join(&both[k], &size);
            bool optional = parts.sections[i].type >= 6; // for reports; can be made again
            if (k == 0 && optional)
                assert_int_equal(load(file, size), QNN_SUCCESS);
            else
                refused(file, size, k ? "repeated section" : "missing section", i);
            free(file);
        }
    }
}

// Format 0.1 has neither schedules nor compiled graphs, 0.2 no compiled graphs.
static void older_files_load_and_have_less(void **state) {
    (void)state;
    size_t size;
    assert_int_equal(refile_get(parts.header + 12), 3);
    for (uint32_t minor = 1; minor < 3; minor++) {
        refile_put(parts.header + 12, minor);
        uint8_t *file = refile_join(&parts, &size);
        refused(file, size, "a section of a later version", 12);
        free(file);
    }
    refile older = parts;
    older.n = 0;
    for (uint32_t i = 0; i < parts.n; i++)
        if (parts.sections[i].type < 6)
            older.sections[older.n++] = parts.sections[i];
    assert_int_equal(older.n, parts.n - 2);
    for (uint32_t minor = 0; minor < 7; minor++) {
        refile_put(older.header + 12, minor);
        uint8_t *file = refile_join(&older, &size);
        if (minor >= 1 && minor <= 5)
            assert_int_equal(load(file, size), QNN_SUCCESS);
        else
            assert_int_equal(load(file, size), QNN_CONTEXT_ERROR_BINARY_VERSION);
        free(file);
    }
}

// Nothing that a schedule names may be another graph's, and its steps are the nodes they say.
static void a_schedule_belongs_to_its_graph(void **state) {
    (void)state;
    refile_section *s = part(6);
    size_t at = 0, head = 14 * 4;
    uint32_t chip = refile_get(s->data + head); // the name of the chip, then the first step
    size_t step = head + 4 + 4 * (chip / 4 + 1);
    const size_t words[] = {step, step + 4, step + 8, step + 12};
    const uint32_t wrong[] = {99, 7, 0, 0}; // no such node; no such class; no op; no tile
    for (int i = 0; i < 4; i++) {
        at = words[i];
        uint32_t was = refile_get(s->data + at);
        refile_put(s->data + at, wrong[i]);
        size_t size;
        uint8_t *file = refile_join(&parts, &size);
        refused(file, size, "a step", at);
        free(file);
        refile_put(s->data + at, was);
    }
    assert_int_equal(load_parts(), QNN_SUCCESS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crc_is_that_of_the_standard),
        cmocka_unit_test(files_cut_at_every_64th_byte_are_refused),
        cmocka_unit_test(half_written_files_are_refused),
        cmocka_unit_test(every_changed_byte_outside_the_weights_is_found),
        cmocka_unit_test(ten_thousand_random_corruptions_are_found),
        cmocka_unit_test(damaged_weights_are_found_on_request),
        cmocka_unit_test_setup_teardown(the_second_writer_makes_the_same_file, split, unsplit),
        cmocka_unit_test_setup_teardown(every_word_of_the_records_may_be_anything, split, unsplit),
        cmocka_unit_test_setup_teardown(records_that_are_cut_or_too_long_are_refused, split,
                                        unsplit),
        cmocka_unit_test_setup_teardown(deferred_graphs_that_cannot_be_made, split, unsplit),
        cmocka_unit_test_setup_teardown(missing_and_repeated_sections_are_refused, split, unsplit),
        cmocka_unit_test_setup_teardown(older_files_load_and_have_less, split, unsplit),
        cmocka_unit_test_setup_teardown(a_schedule_belongs_to_its_graph, split, unsplit),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
