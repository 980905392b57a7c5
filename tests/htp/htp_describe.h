// SPDX-License-Identifier: MIT
//
// What the System library says of a context binary: the public way to see which options a graph
// has.
#ifndef QRN_TESTS_HTP_DESCRIBE_H
#define QRN_TESTS_HTP_DESCRIBE_H

#include "htp_client.h"

#include "HTP/QnnHtpSystemContext.h"
#include "System/QnnSystemInterface.h"

#define DESCRIBED_MAX 8u

typedef struct described_graph {
    char name[64];
    uint32_t input, output; // ids of the first ones
    QnnHtpSystemContext_GraphBlobInfoV1_t v1;
    QnnHtpSystemContext_GraphBlobInfoV2_t v2;
} described_graph;

typedef struct described {
    uint32_t soc, arch, n_graphs;
    described_graph graphs[DESCRIBED_MAX];
} described;

static inline QNN_SYSTEM_INTERFACE_VER_TYPE system_table(void) {
    static QNN_SYSTEM_INTERFACE_VER_TYPE table;
    static void *lib; // stays open
    if (!lib) {
        lib = dlopen(lib_path("libQnnSystem.so"), RTLD_NOW | RTLD_LOCAL);
        assert_non_null(lib);
        Qnn_ErrorHandle_t (*get)(const QnnSystemInterface_t ***, uint32_t *);
        void *symbol = dlsym(lib, "QnnSystemInterface_getProviders");
        memcpy(&get, &symbol, sizeof get);
        const QnnSystemInterface_t **list = NULL;
        uint32_t n = 0;
        HTP_OK(get(&list, &n));
        table = list[0]->QNN_SYSTEM_INTERFACE_VER_NAME;
    }
    return table;
}

static inline described describe_bytes(const void *data, uint64_t size) {
    QNN_SYSTEM_INTERFACE_VER_TYPE sys = system_table();
    QnnSystemContext_Handle_t h = NULL;
    const QnnSystemContext_BinaryInfo_t *info = NULL;
    described d = {0};
    HTP_OK(sys.systemContextCreate(&h));
    HTP_OK(sys.systemContextGetMetaData(h, data, size, &info));
    const QnnSystemContext_BinaryInfoV3_t *v = &info->contextBinaryInfoV3;
    const QnnHtpSystemContext_ContextBlobInfo_t *c = v->contextMetadata;
    d.soc = v->socModel;
    d.arch = c->contextBinaryContextBlobInfoV1.dspArch;
    d.n_graphs = v->numGraphs;
    assert_true(d.n_graphs <= DESCRIBED_MAX);
    for (uint32_t i = 0; i < d.n_graphs; i++) {
        const QnnSystemContext_GraphInfoV3_t *g = &v->graphs[i].graphInfoV3;
        const QnnHtpSystemContext_GraphBlobInfo_t *b = g->graphBlobInfo;
        described_graph *out = &d.graphs[i];
        snprintf(out->name, sizeof out->name, "%s", g->graphName);
        out->input = g->numGraphInputs ? g->graphInputs[0].v1.id : 0;
        out->output = g->numGraphOutputs ? g->graphOutputs[0].v1.id : 0;
        out->v1 = b->contextBinaryGraphBlobInfoV1;
        memcpy(&out->v2, b + 1, sizeof out->v2); // lies behind it
    }
    HTP_OK(sys.systemContextFree(h));
    return d;
}

// Of a context whose graphs are all finalized.
static inline described describe_context(const htp_world *w) {
    Qnn_ContextBinarySize_t size = 0, written = 0;
    HTP_OK(w->qnn.contextGetBinarySize(w->context, &size));
    void *data = malloc(size);
    assert_non_null(data);
    HTP_OK(w->qnn.contextGetBinary(w->context, data, size, &written));
    described d = describe_bytes(data, written);
    free(data);
    return d;
}

#endif
