// SPDX-License-Identifier: MIT
//
// Sections of context binaries: after applying one, results are to the bit those of a graph that
// was built with the new values.
#include "../binary/refile.h"
#include "binary_sections.h"

static void applied_weights_are_those_of_the_other_graph(void **state) {
    (void)state;
    const QnnContext_SectionType_t types[] = {QNN_CONTEXT_SECTION_UPDATABLE,
                                              QNN_CONTEXT_SECTION_UPDATABLE_WEIGHTS};
    for (int k = 0; k < 2; k++) {
        pair p = make_pair(types[k]);
        for (int loaded = 0; loaded < 2; loaded++) {
            net m;
            htp_world w = loaded ? load(&p, &m) : begin_updateable(0, &m);
            expect(&w, &m, p.out[0]);
            for (int i = 0; i < 6; i++) { // there and back, for one graph and for all
                HTP_OK(apply(&w, i % 4 < 2 ? m.graph : NULL, types[k], &p.sections[(i + 1) % 2]));
                expect(&w, &m, p.out[(i + 1) % 2]);
            }
            htp_end(&w);
        }
        free_pair(&p);
    }
}

// The same codes with another scale.
static void applied_encodings_are_those_of_the_other_graph(void **state) {
    (void)state;
    uint8_t before[NET_OUT_BYTES], want[NET_OUT_BYTES];
    net m;
    htp_world w = begin_updateable(0, &m);
    net_run(&w.qnn, &m, before);
    htp_encode(&m.dense, 0.001f, -127);
    static uint8_t weights[NET_OUT_BYTES * NET_DEPTH];
    net_fill(weights, sizeof weights, 11);
    htp_buffer(&m.dense, weights, sizeof weights);
    m.dense.v1.dimensions = net_dense_dims;
    const Qnn_Tensor_t *list[] = {&m.dense};
    blob file = blob_of(&w.qnn, w.context);
    HTP_OK(w.qnn.tensorUpdateGraphTensors(m.graph, list, 1));
    HTP_OK(w.qnn.graphFinalize(m.graph, NULL, NULL));
    net_run(&w.qnn, &m, want);
    assert_memory_not_equal(before, want, sizeof want);
    blob section = section_of(&w, m.graph, QNN_CONTEXT_SECTION_UPDATABLE_QUANT_PARAMS);
    assert_true(section.size < 4 * 4096); // no weights in it
    htp_end(&w);
    pair p = {.file = file};
    w = load(&p, &m);
    expect(&w, &m, before);
    HTP_OK(apply(&w, m.graph, QNN_CONTEXT_SECTION_UPDATABLE_QUANT_PARAMS, &section));
    expect(&w, &m, want);
    htp_end(&w);
    free(file.data);
    free(section.data);
}

static void sections_that_do_not_fit_change_nothing(void **state) {
    (void)state;
    pair p = make_pair(QNN_CONTEXT_SECTION_UPDATABLE);
    net m, other = {.updateable = true, .seed = OTHER_SEED};
    htp_world w = load(&p, &m), x = htp_begin(0);
    net_build(&x.qnn, x.context, "other", NULL, &other);
    HTP_OK(x.qnn.graphFinalize(other.graph, NULL, NULL));
    blob foreign = section_of(&x, other.graph, QNN_CONTEXT_SECTION_UPDATABLE);
    htp_end(&x);
    blob cut = {p.sections[1].data, p.sections[1].size - 1};
    const blob *bad[] = {&foreign, &cut, &p.file};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        HTP_FAILS(apply(&w, NULL, QNN_CONTEXT_SECTION_UPDATABLE, bad[i]),
                  QNN_CONTEXT_ERROR_INVALID_ARGUMENT);
    HTP_FAILS(apply(&w, NULL, QNN_CONTEXT_SECTION_UPDATABLE_WEIGHTS, &p.sections[1]),
              QNN_CONTEXT_ERROR_INVALID_ARGUMENT); // of another type
    for (size_t at = 0; at < p.sections[1].size; at += 997) {
        p.sections[1].data[at] ^= 0x10;
        HTP_FAILS(apply(&w, NULL, QNN_CONTEXT_SECTION_UPDATABLE, &p.sections[1]),
                  QNN_CONTEXT_ERROR_INVALID_ARGUMENT);
        p.sections[1].data[at] ^= 0x10;
    }
    expect(&w, &m, p.out[0]);
    Qnn_ContextHandle_t none = NULL;
    HTP_FAILS(w.qnn.contextCreateFromBinary(w.backend, w.device, NULL, p.sections[0].data,
                                            p.sections[0].size, &none, NULL),
              QNN_CONTEXT_ERROR_CREATE_FROM_BINARY);
    htp_end(&w);
    free(foreign.data);
    free_pair(&p);
}

// Behind the checksums: every word of the records gets bad values; what is applied is harmless.
static void records_of_sections_may_be_anything(void **state) {
    (void)state;
    pair p = make_pair(QNN_CONTEXT_SECTION_UPDATABLE);
    const uint32_t worst[] = {0, 1, 0x7FFFFFFF, 0xFFFFFFFF};
    net m;
    htp_world w = load(&p, &m);
    refile parts;
    assert_true(refile_split(p.sections[1].data, p.sections[1].size, &parts));
    unsigned n_refused = 0, n_applied = 0;
    for (uint32_t i = 0; i < 2; i++) { // info and graph
        refile_section *s = &parts.sections[i];
        for (size_t at = 0; at + 4 <= s->size; at += 4) {
            uint32_t was = refile_get(s->data + at);
            for (int k = 0; k < 4; k++) {
                refile_put(s->data + at, worst[k]);
                blob b = {0};
                size_t size;
                b.data = refile_join(&parts, &size);
                b.size = size;
                Qnn_ErrorHandle_t code = apply(&w, NULL, QNN_CONTEXT_SECTION_UPDATABLE, &b);
                free(b.data);
                if (code == QNN_SUCCESS)
                    n_applied++;
                else if (QNN_GET_ERROR_CODE(code) == QNN_CONTEXT_ERROR_INVALID_ARGUMENT ||
                         QNN_GET_ERROR_CODE(code) == QNN_CONTEXT_ERROR_MEM_ALLOC)
                    n_refused++;
                else
                    fail_msg("word %zu: code %u", at, (unsigned)QNN_GET_ERROR_CODE(code));
            }
            refile_put(s->data + at, was);
        }
    }
    assert_true(n_refused > 100 && n_applied > 5);
    HTP_OK(apply(&w, NULL, QNN_CONTEXT_SECTION_UPDATABLE, &p.sections[1]));
    expect(&w, &m, p.out[1]);
    refile_free(&parts);
    htp_end(&w);
    free_pair(&p);
}

static void htp_ctx_09_checksums_of_sections_may_be_skipped(void **state) {
    (void)state;
    pair p = make_pair(QNN_CONTEXT_SECTION_UPDATABLE);
    // By hand (docs/context-binary.md): entries of 32 bytes behind a header of 64, the last one's
    // offset at byte 8; weights are the last section.
    uint32_t n, at;
    memcpy(&n, p.sections[1].data + 24, 4);
    memcpy(&at, p.sections[1].data + 64 + 32 * (n - 1) + 8, 4);
    assert_true(at + 5u < p.sections[1].size);
    p.sections[1].data[at + 5] ^= 1;
    net m;
    htp_world w = load(&p, &m);
    HTP_FAILS(apply(&w, m.graph, QNN_CONTEXT_SECTION_UPDATABLE, &p.sections[1]),
              QNN_CONTEXT_ERROR_INVALID_ARGUMENT);
    expect(&w, &m, p.out[0]);
    HTP_OK(w.qnn.contextFree(w.context, NULL));
    QnnHtpContext_CustomConfig_t skip = {
        QNN_HTP_CONTEXT_CONFIG_OPTION_SKIP_VALIDATION_ON_BINARY_SECTION, {true}};
    QnnContext_Config_t option = {.option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM,
                                  .customConfig = &skip};
    const QnnContext_Config_t *list[] = {&option, NULL};
    HTP_OK(w.qnn.contextCreateFromBinary(w.backend, w.device, list, p.file.data, p.file.size,
                                         &w.context, NULL));
    m = net_of(&w.qnn, w.context, "net");
    HTP_OK(apply(&w, m.graph, QNN_CONTEXT_SECTION_UPDATABLE, &p.sections[1]));
    htp_end(&w);
    free_pair(&p);
}

// A section that is edited is the section of the graph that was built with the new weights.
static void edited_sections_are_those_of_the_other_graph(void **state) {
    (void)state;
    pair p = make_pair(QNN_CONTEXT_SECTION_UPDATABLE);
    htp_world w = htp_bare(0);
    static uint8_t weights[NET_OUT_BYTES * NET_DEPTH];
    net_fill(weights, sizeof weights, OTHER_SEED);
    Qnn_Tensor_t t = htp_tensor("dense_w", QNN_TENSOR_TYPE_UPDATEABLE_STATIC,
                                QNN_DATATYPE_UFIXED_POINT_8, 2, net_dense_dims);
    htp_encode(&t, 0.003f, -127);
    htp_buffer(&t, weights, sizeof weights);
    const Qnn_Tensor_t *list[] = {&t};
    QnnContext_Buffer_t in = {.version = QNN_CONTEXT_BUFFER_VERSION_1,
                              .v1 = {.memType = QNN_CONTEXTMEMTYPE_RAW,
                                     .binaryBuf = {p.sections[0].data, p.sections[0].size}}};
    QnnContext_Buffer_t kept, final, none;
    HTP_OK(w.qnn.contextGetBinarySectionUpdate(&in, NULL, list, 1, 1, NULL, NULL, NULL, &kept));
    assert_int_equal(kept.v1.binaryBuf.dataSize, p.sections[1].size);
    assert_memory_equal(kept.v1.binaryBuf.data, p.sections[1].data, p.sections[1].size);
    HTP_OK(w.qnn.contextGetBinarySectionUpdate(&kept, NULL, list, 1, 0, NULL, NULL, NULL, &final));
    HTP_FAILS(
        w.qnn.contextGetBinarySectionUpdate(&final, NULL, list, 1, 0, NULL, NULL, NULL, &none),
        QNN_TENSOR_ERROR_INCOMPATIBLE_TENSOR_UPDATE); // closed for good
    t.v1.name = "nobody";
    HTP_FAILS(w.qnn.contextGetBinarySectionUpdate(&in, NULL, list, 1, 0, NULL, NULL, NULL, &none),
              QNN_TENSOR_ERROR_DOES_NOT_EXIST);
    t.v1.name = "dense_w";
    uint32_t other_dims[] = {NET_DEPTH, NET_OUT_BYTES};
    t.v1.dimensions = other_dims;
    HTP_FAILS(w.qnn.contextGetBinarySectionUpdate(&in, NULL, list, 1, 0, NULL, NULL, NULL, &none),
              QNN_TENSOR_ERROR_INCOMPATIBLE_TENSOR_UPDATE);
    net m;
    htp_world user = load(&p, &m);
    blob closed = {final.v1.binaryBuf.data, final.v1.binaryBuf.dataSize};
    HTP_OK(apply(&user, m.graph, QNN_CONTEXT_SECTION_UPDATABLE, &closed));
    expect(&user, &m, p.out[1]);
    htp_end(&user);
    HTP_OK(w.qnn.contextFreeBinarySectionUpdate(kept, NULL));
    HTP_OK(w.qnn.contextFreeBinarySectionUpdate(final, NULL));
    htp_end(&w);
    free_pair(&p);
}

static void graphs_without_updateable_tensors_have_no_section(void **state) {
    (void)state;
    htp_world w = htp_begin(0);
    net m = {0};
    Qnn_ContextBinarySize_t size = 0;
    net_build(&w.qnn, w.context, "net", NULL, &m);
    HTP_OK(w.qnn.graphFinalize(m.graph, NULL, NULL));
    HTP_FAILS(
        w.qnn.contextGetBinarySectionSize(w.context, m.graph, QNN_CONTEXT_SECTION_UPDATABLE, &size),
        QNN_CONTEXT_ERROR_GET_BINARY_SIZE_FAILED);
    htp_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(applied_weights_are_those_of_the_other_graph),
        cmocka_unit_test(applied_encodings_are_those_of_the_other_graph),
        cmocka_unit_test(sections_that_do_not_fit_change_nothing),
        cmocka_unit_test(records_of_sections_may_be_anything),
        cmocka_unit_test(htp_ctx_09_checksums_of_sections_may_be_skipped),
        cmocka_unit_test(edited_sections_are_those_of_the_other_graph),
        cmocka_unit_test(graphs_without_updateable_tensors_have_no_section),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
