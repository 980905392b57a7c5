// SPDX-License-Identifier: MIT
//
// Context binaries of the HTP backend: what they hold, who may load them, and that results stay the
// same to the bit.
#include "binary_model.h"
#include "htp_options.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const QnnContext_Config_t strict = {.option = QNN_CONTEXT_CONFIG_BINARY_COMPATIBILITY,
                                           .binaryCompatibilityType =
                                               QNN_CONTEXT_BINARY_COMPATIBILITY_STRICT};
static const QnnContext_Config_t persistent = {.option = QNN_CONTEXT_CONFIG_PERSISTENT_BINARY,
                                               .isPersistentBinary = 1};
static const QnnContext_Config_t deferred = {.option = QNN_CONTEXT_CONFIG_OPTION_DEFER_GRAPH_INIT,
                                             .isGraphInitDeferred = 1};

static void expect_words(const htp_table *qnn, Qnn_ErrorHandle_t code, const char *words) {
    const char *text = NULL;
    HTP_OK(qnn->errorGetVerboseMessage(code, &text));
    if (!strstr(text, words))
        fail_msg("'%s' is not in '%s'", words, text);
    HTP_OK(qnn->errorFreeVerboseMessage(text));
}

// Copied, in place, in place from an address that is not aligned, deferred in both ways.
static void same_results_after_every_way_of_loading(void **state) {
    (void)state;
    uint8_t made[NET_OUT_BYTES], loaded[NET_OUT_BYTES];
    blob b = blob_of_net(0, "net", made), shifted = blob_alloc(b.size + 8);
    memcpy(shifted.data + 8, b.data, b.size);
    blob odd = {shifted.data + 8, b.size};
    const struct {
        const QnnContext_Config_t *first, *second;
        const blob *from;
        bool stays;
    } ways[] = {{NULL, NULL, &b, false},
                {&persistent, NULL, &b, true},
                {&persistent, NULL, &odd, false},
                {&deferred, NULL, &b, false},
                {&deferred, &persistent, &b, true}};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        htp_world w = htp_bare(0);
        HTP_OK(blob_load(&w, ways[i].first, ways[i].second, ways[i].from));
        uint8_t *kept = malloc(b.size);
        memcpy(kept, ways[i].from->data, b.size);
        if (!ways[i].stays)
            memset(ways[i].from->data, 0xEE, b.size);
        net m = net_of(&w.qnn, w.context, "net");
        net_run(&w.qnn, &m, loaded);
        assert_memory_equal(made, loaded, sizeof made);
        memcpy(ways[i].from->data, kept, b.size);
        free(kept);
        htp_end(&w);
    }
    free(b.data);
    free(shifted.data);
}

static uint32_t u32_at(const blob *b, size_t at) {
    return b->data[at] | (uint32_t)b->data[at + 1] << 8 | (uint32_t)b->data[at + 2] << 16 |
           (uint32_t)b->data[at + 3] << 24;
}

// By hand: entries of 32 bytes behind a header of 64, offset at byte 8.
static void htp_bin_03_sections_start_on_pages(void **state) {
    (void)state;
    uint8_t made[NET_OUT_BYTES];
    blob b = blob_of_net(0, "net", made);
    uint32_t n = u32_at(&b, 24);
    assert_int_equal(n, 5); // info, graph, compiled graph, constants, weights
    for (uint32_t i = 0; i < n; i++) {
        uint32_t offset = u32_at(&b, 64 + 32 * i + 8);
        assert_int_not_equal(offset, 0);
        assert_int_equal(offset % 4096, 0);
    }
    free(b.data);
}

// A network that was prepared for all VTCM of a chip.
static blob blob_of_all_vtcm(uint32_t soc) {
    htp_world w = htp_begin(soc);
    net m = {0};
    QnnHtpGraph_CustomConfig_t all = GRAPH_OPTION(VTCM_SIZE_IN_MB, .vtcmSizeInMB = 0);
    graph_list l;
    net_build(&w.qnn, w.context, "net", graph_options(&l, &all, 1), &m);
    HTP_OK(w.qnn.graphFinalize(m.graph, NULL, NULL));
    blob b = blob_of(&w.qnn, w.context);
    htp_end(&w);
    return b;
}

static Qnn_ErrorHandle_t validate(uint32_t soc, const QnnContext_Config_t *option, const blob *b) {
    htp_world w = htp_bare(soc);
    const QnnContext_Config_t *list[] = {option, NULL};
    Qnn_ErrorHandle_t code =
        w.qnn.contextValidateBinary(w.backend, w.device, list, b->data, b->size);
    htp_end(&w); // creates nothing: the device is not in use
    return code;
}

// SXR1230P (45) and SM8550 (43) are both v73, with 2 and 8 MB of VTCM.
static void htp_bin_04_vtcm_04_strict_wants_all_of_the_device(void **state) {
    (void)state;
    blob b = blob_of_all_vtcm(45);
    htp_world w = htp_bare(43);
    HTP_FAILS(blob_load(&w, &strict, NULL, &b), QNN_CONTEXT_ERROR_BINARY_SUBOPTIMAL);
    expect_words(&w.qnn, QNN_CONTEXT_ERROR_BINARY_SUBOPTIMAL, "prepare it again");
    assert_null(w.context);
    HTP_OK(blob_load(&w, NULL, NULL, &b)); // PERMISSIVE is the default
    htp_end(&w);
    w = htp_bare(45);
    HTP_OK(blob_load(&w, &strict, NULL, &b));
    htp_end(&w);
    free(b.data);
}

static void htp_bin_05_validate_answers_like_loading(void **state) {
    (void)state;
    uint8_t made[NET_OUT_BYTES];
    blob small = blob_of_all_vtcm(45), large = blob_of_all_vtcm(43);
    blob v75 = blob_of_net(57, "net", made), newer = blob_of_net(0, "net", made);
    newer.data[12] += 3; // minor version: a file without newer features has two less
    const struct {
        uint32_t soc;
        const QnnContext_Config_t *option;
        const blob *from;
        Qnn_ErrorHandle_t code;
    } rows[] = {{43, NULL, &small, QNN_SUCCESS},
                {43, &strict, &large, QNN_SUCCESS},
                {43, NULL, &newer, QNN_CONTEXT_ERROR_BINARY_VERSION},
                {43, NULL, &v75, QNN_CONTEXT_ERROR_CREATE_FROM_BINARY},
                {45, NULL, &large, QNN_CONTEXT_ERROR_BINARY_CONFIGURATION},
                {43, &strict, &small, QNN_CONTEXT_ERROR_BINARY_SUBOPTIMAL},
                {43, &deferred, &v75, QNN_CONTEXT_ERROR_CREATE_FROM_BINARY}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        HTP_FAILS(validate(rows[i].soc, rows[i].option, rows[i].from), rows[i].code);
        htp_world w = htp_bare(rows[i].soc);
        HTP_FAILS(blob_load(&w, rows[i].option, NULL, rows[i].from), rows[i].code);
        htp_end(&w);
    }
    free(small.data);
    free(large.data);
    free(v75.data);
    free(newer.data);
}

// What a client does with a binary of unknown origin; gives the last step it took.
static const char *follow_the_flow(uint32_t soc, const blob *b) {
    htp_world w = htp_bare(soc);
    const char *step = "used";
    Qnn_ErrorHandle_t code = blob_load(&w, &strict, NULL, b);
    if (QNN_GET_ERROR_CODE(code) == QNN_CONTEXT_ERROR_BINARY_SUBOPTIMAL) {
        HTP_OK(blob_load(&w, NULL, NULL, b));
        step = "used, prepared again later";
    } else if (QNN_GET_ERROR_CODE(code) == QNN_CONTEXT_ERROR_CREATE_FROM_BINARY) {
        HTP_OK(w.qnn.contextCreate(w.backend, w.device, NULL, &w.context));
        net m = {0};
        net_build(&w.qnn, w.context, "net", NULL, &m);
        HTP_OK(w.qnn.graphFinalize(m.graph, NULL, NULL));
        step = "prepared";
    } else {
        HTP_OK(code);
    }
    uint8_t out[NET_OUT_BYTES];
    net m = net_of(&w.qnn, w.context, "net");
    net_run(&w.qnn, &m, out);
    htp_end(&w);
    return step;
}

static void htp_bin_06_recommended_flow_of_a_client(void **state) {
    (void)state;
    blob b = blob_of_all_vtcm(45);
    assert_string_equal(follow_the_flow(45, &b), "used");
    assert_string_equal(follow_the_flow(43, &b), "used, prepared again later");
    assert_string_equal(follow_the_flow(57, &b), "prepared");
    free(b.data);
}

static void htp_bin_07_only_finished_contexts_of_our_own(void **state) {
    (void)state;
    uint8_t made[NET_OUT_BYTES], room[64];
    htp_world w = htp_begin(0);
    net first = {0}, second = {0};
    Qnn_ContextBinarySize_t size = 0;
    net_build(&w.qnn, w.context, "first", NULL, &first);
    net_build(&w.qnn, w.context, "second", NULL, &second);
    HTP_OK(w.qnn.graphFinalize(first.graph, NULL, NULL));
    HTP_FAILS(w.qnn.contextGetBinarySize(w.context, &size), QNN_CONTEXT_ERROR_NOT_FINALIZED);
    HTP_FAILS(w.qnn.contextGetBinary(w.context, room, sizeof room, &size),
              QNN_CONTEXT_ERROR_NOT_FINALIZED);
    HTP_OK(w.qnn.graphFinalize(second.graph, NULL, NULL));
    HTP_OK(w.qnn.contextGetBinarySize(w.context, &size));
    HTP_FAILS(w.qnn.contextGetBinary(w.context, room, sizeof room, &size),
              QNN_CONTEXT_ERROR_INVALID_ARGUMENT); // too small
    htp_end(&w);
    blob b = blob_of_net(0, "net", made);
    w = htp_bare(0);
    HTP_OK(blob_load(&w, NULL, NULL, &b));
    HTP_FAILS(w.qnn.contextGetBinarySize(w.context, &size),
              QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED);
    HTP_FAILS(w.qnn.contextGetBinary(w.context, room, sizeof room, &size),
              QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED);
    htp_end(&w);
    free(b.data);
}

static void htp_bin_08_other_versions_and_other_makers_are_refused(void **state) {
    (void)state;
    uint8_t made[NET_OUT_BYTES];
    blob b = blob_of_net(0, "net", made);
    htp_world w = htp_bare(0);
    for (int field = 8; field <= 12; field += 4) { // major, minor
        b.data[field] += 3;
        HTP_FAILS(blob_load(&w, NULL, NULL, &b), QNN_CONTEXT_ERROR_BINARY_VERSION);
        expect_words(&w.qnn, QNN_CONTEXT_ERROR_BINARY_VERSION, "prepare the model again");
        b.data[field] -= 3;
    }
    memset(b.data, 0, 16);
    b.data[3] = 2; // some other file
    HTP_FAILS(blob_load(&w, NULL, NULL, &b), QNN_CONTEXT_ERROR_BINARY_VERSION);
    expect_words(&w.qnn, QNN_CONTEXT_ERROR_BINARY_VERSION, "not a context binary of Quern");
    b.size = 1;
    HTP_FAILS(blob_load(&w, NULL, NULL, &b), QNN_CONTEXT_ERROR_BINARY_VERSION);
    htp_end(&w);
    free(b.data);
}

static void htp_api_03_other_architectures_are_refused(void **state) {
    (void)state;
    uint8_t made[NET_OUT_BYTES], loaded[NET_OUT_BYTES];
    blob b = blob_of_net(57, "net", made); // SM8650, v75
    htp_world w = htp_bare(43);            // SM8550, v73
    HTP_FAILS(blob_load(&w, NULL, NULL, &b), QNN_CONTEXT_ERROR_CREATE_FROM_BINARY);
    expect_words(&w.qnn, QNN_CONTEXT_ERROR_CREATE_FROM_BINARY, "v75");
    expect_words(&w.qnn, QNN_CONTEXT_ERROR_CREATE_FROM_BINARY, "SM8550 of v73");
    htp_end(&w);
    w = htp_bare(0); // nothing was chosen: it becomes what the binary was made for
    HTP_OK(blob_load(&w, NULL, NULL, &b));
    QnnHtpContext_CustomProperty_t backup = {QNN_HTP_CONTEXT_GET_PROP_MAX_VTCMBACKUP_BUFFER_SIZE,
                                             {0}};
    QnnContext_Property_t property = {.option = QNN_CONTEXT_PROPERTY_OPTION_CUSTOM,
                                      .customProperty = &backup};
    QnnContext_Property_t *properties[] = {&property, NULL};
    HTP_OK(w.qnn.contextGetProperty(w.context, properties));
    assert_int_equal(backup.vtcmBackupBufferSize, 8 << 20); // SM8350, the default, has 4 MB
    net m = net_of(&w.qnn, w.context, "net");
    net_run(&w.qnn, &m, loaded);
    assert_memory_equal(made, loaded, sizeof made);
    htp_end(&w);
    free(b.data);
}

// The same context twice, whatever was in the buffer before.
static void same_context_same_bytes(void **state) {
    (void)state;
    uint8_t made[NET_OUT_BYTES];
    blob a = blob_of_net(0, "net", made), b = blob_of_net(0, "net", made);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    htp_world w = htp_begin(0);
    net m = {0};
    net_build(&w.qnn, w.context, "net", NULL, &m);
    HTP_OK(w.qnn.graphFinalize(m.graph, NULL, NULL));
    memset(b.data, 0xFF, b.size);
    Qnn_ContextBinarySize_t written = 0;
    HTP_OK(w.qnn.contextGetBinary(w.context, b.data, b.size, &written));
    assert_memory_equal(a.data, b.data, a.size);
    const void *piece = NULL;
    Qnn_ContextBinarySize_t start = 1;
    HTP_OK(w.qnn.contextGetIncrementalBinary(w.context, &piece, &start, &written));
    assert_int_equal(start, 0);
    assert_int_equal(written, a.size);
    assert_memory_equal(a.data, piece, a.size);
    HTP_OK(w.qnn.contextReleaseIncrementalBinary(w.context, piece, start));
    htp_end(&w);
    free(a.data);
    free(b.data);
}

// --- a second process

static void write_file(const char *path, const void *data, size_t n) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

// The other process: maps a binary, runs it, writes the result.
static int run_mapped(const char *binary, const char *result) {
    int fd = open(binary, O_RDONLY);
    off_t size = lseek(fd, 0, SEEK_END);
    blob b = {mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0), (uint64_t)size};
    if (fd < 0 || b.data == MAP_FAILED)
        return 2;
    uint8_t out[NET_OUT_BYTES];
    htp_world w = htp_bare(0);
    HTP_OK(blob_load(&w, &persistent, NULL, &b));
    net m = net_of(&w.qnn, w.context, "net");
    net_run(&w.qnn, &m, out);
    htp_end(&w);
    write_file(result, out, sizeof out);
    return 0;
}

static void other_processes_and_thread_counts_compute_the_same(void **state) {
    (void)state;
#ifdef QUERN_EMULATED
    skip(); // the emulator does not start programs of the other kind
#endif
    uint8_t made[NET_OUT_BYTES], theirs[NET_OUT_BYTES];
    char binary[] = "/tmp/quern_binary_XXXXXX", result[] = "/tmp/quern_result_XXXXXX";
    close(mkstemp(binary));
    close(mkstemp(result));
    blob b = blob_of_net(0, "net", made);
    write_file(binary, b.data, b.size);
    for (int threads = 1; threads <= 2; threads++) {
        pid_t child = fork();
        if (child == 0) {
            setenv("QUERN_THREADS", threads == 1 ? "1" : "2", 1);
            setenv("QUERN_VERIFY", "1", 1);
            execl("/proc/self/exe", "test_htp_binary", "--run", binary, result, (char *)NULL);
            _exit(3);
        }
        int status = -1;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        FILE *f = fopen(result, "rb");
        assert_int_equal(fread(theirs, 1, sizeof theirs, f), sizeof theirs);
        fclose(f);
        assert_memory_equal(made, theirs, sizeof made);
    }
    unlink(binary);
    unlink(result);
    free(b.data);
}

int main(int argc, char **argv) {
    if (argc == 4 && strcmp(argv[1], "--run") == 0)
        return run_mapped(argv[2], argv[3]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_results_after_every_way_of_loading),
        cmocka_unit_test(htp_bin_03_sections_start_on_pages),
        cmocka_unit_test(htp_bin_04_vtcm_04_strict_wants_all_of_the_device),
        cmocka_unit_test(htp_bin_05_validate_answers_like_loading),
        cmocka_unit_test(htp_bin_06_recommended_flow_of_a_client),
        cmocka_unit_test(htp_bin_07_only_finished_contexts_of_our_own),
        cmocka_unit_test(htp_bin_08_other_versions_and_other_makers_are_refused),
        cmocka_unit_test(htp_api_03_other_architectures_are_refused),
        cmocka_unit_test(same_context_same_bytes),
        cmocka_unit_test(other_processes_and_thread_counts_compute_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
