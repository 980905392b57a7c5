// SPDX-License-Identifier: MIT
//
// Networks with updateable weights, and their sections.
#ifndef QRN_TESTS_HTP_BINARY_SECTIONS_H
#define QRN_TESTS_HTP_BINARY_SECTIONS_H

#include "binary_model.h"

#define OTHER_SEED 99u

// A finalized network with updateable weights of its last layer.
static inline htp_world begin_updateable(uint32_t seed, net *m) {
    htp_world w = htp_begin(0);
    *m = (net){.updateable = true, .seed = seed};
    net_build(&w.qnn, w.context, "net", NULL, m);
    HTP_OK(w.qnn.graphFinalize(m->graph, NULL, NULL));
    return w;
}

static inline blob section_of(const htp_world *w, Qnn_GraphHandle_t g,
                              QnnContext_SectionType_t type) {
    Qnn_ContextBinarySize_t size = 0, written = 0;
    HTP_OK(w->qnn.contextGetBinarySectionSize(w->context, g, type, &size));
    blob b = blob_alloc(size);
    QnnContext_Buffer_t buffer = {
        .version = QNN_CONTEXT_BUFFER_VERSION_1,
        .v1 = {.memType = QNN_CONTEXTMEMTYPE_RAW, .binaryBuf = {b.data, size}}};
    HTP_OK(w->qnn.contextGetBinarySection(w->context, g, type, &buffer, &written, NULL, NULL));
    assert_int_equal(written, size);
    return b;
}

static inline Qnn_ErrorHandle_t apply(const htp_world *w, Qnn_GraphHandle_t g,
                                      QnnContext_SectionType_t type, const blob *b) {
    QnnContext_Buffer_t buffer = {
        .version = QNN_CONTEXT_BUFFER_VERSION_1,
        .v1 = {.memType = QNN_CONTEXTMEMTYPE_RAW, .binaryBuf = {b->data, b->size}}};
    return w->qnn.contextApplyBinarySection(w->context, g, type, &buffer, NULL, NULL);
}

// Two networks that differ in the updateable weights, as sections, results and a binary.
typedef struct pair {
    blob file;        // of the first
    blob sections[2]; // of both
    uint8_t out[2][NET_OUT_BYTES];
} pair;

static inline pair make_pair(QnnContext_SectionType_t type) {
    pair p;
    for (int i = 0; i < 2; i++) {
        net m;
        htp_world w = begin_updateable(i ? OTHER_SEED : 0, &m);
        net_run(&w.qnn, &m, p.out[i]);
        p.sections[i] = section_of(&w, m.graph, type);
        if (i == 0)
            p.file = blob_of(&w.qnn, w.context);
        htp_end(&w);
    }
    assert_memory_not_equal(p.out[0], p.out[1], NET_OUT_BYTES);
    return p;
}

static inline void free_pair(pair *p) {
    free(p->file.data);
    free(p->sections[0].data);
    free(p->sections[1].data);
}

static inline htp_world load(const pair *p, net *m) {
    htp_world w = htp_bare(0);
    HTP_OK(w.qnn.contextCreateFromBinary(w.backend, w.device, NULL, p->file.data, p->file.size,
                                         &w.context, NULL));
    *m = net_of(&w.qnn, w.context, "net");
    return w;
}

static inline void expect(const htp_world *w, net *m, const uint8_t want[NET_OUT_BYTES]) {
    uint8_t out[NET_OUT_BYTES];
    net_run(&w->qnn, m, out);
    assert_memory_equal(out, want, NET_OUT_BYTES);
}

#endif
