// SPDX-License-Identifier: MIT
//
// DLC files as a client uses them: the System library builds their graphs in a context of any
// backend library, and each is finalized when it is first wanted.
#include "frontend/client/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void free_graphs(QnnSystemContext_GraphInfo_t *graphs, uint32_t n) {
    for (uint32_t i = 0; graphs && i < n; i++) {
        free((char *)(uintptr_t)graphs[i].graphInfoV3.graphName);
        free(graphs[i].graphInfoV3.graphInputs);
        free(graphs[i].graphInfoV3.graphOutputs);
        free(graphs[i].graphInfoV3.updateableTensors);
    }
    free(graphs);
}

qrn_status qc_dlc_open(qc_system *s, const qc_dlc_source *from, QnnSystemDlc_Handle_t *out) {
    if (s->version.minor < 4 || !s->fn.systemDlcCreateFromFile)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "%s has no functions for DLC files", s->path);
    return qc_system_check(
        s,
        from->path ? s->fn.systemDlcCreateFromFile(s->log, from->path, out)
                   : s->fn.systemDlcCreateFromBinary(s->log, from->bytes, from->n_bytes, out),
        "not a DLC file of Quern");
}

// The same options for every graph of the file, by their names.
static qrn_status name_configs(qc_system *s, QnnSystemDlc_Handle_t dlc,
                               const QnnGraph_Config_t **configs, qrn_arena *a,
                               const QnnSystemDlc_GraphConfigInfo_t ***out, uint32_t *n) {
    QnnSystemDlc_GraphInfoHandle_t *graphs = NULL;
    uint32_t n_configs = 0;
    *n = 0;
    if (!configs)
        return QRN_OK;
    if (s->version.minor < 14)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "%s does not tell the graphs of a DLC file", s->path);
    QRN_TRY(qc_system_check(s, s->fn.systemDlcGetComposableGraphInfoHandles(dlc, &graphs, n),
                            "its graphs cannot be listed"));
    while (configs[n_configs])
        n_configs++;
    QnnSystemDlc_GraphConfigInfo_t *infos = qrn_arena_alloc(a, *n * sizeof *infos);
    *out = qrn_arena_alloc(a, *n * sizeof **out);
    if (!infos || !*out)
        return qc_no_memory("options of graphs");
    for (uint32_t i = 0; i < *n; i++) {
        infos[i].version = QNN_SYSTEM_DLC_GRAPH_CONFIG_INFO_VERSION_1;
        infos[i].v1.graphConfigs = configs;
        infos[i].v1.numConfigs = n_configs;
        QRN_TRY(qc_system_check(
            s, s->fn.systemDlcGetComposableGraphInfoGraphName(graphs[i], &infos[i].v1.graphName),
            "a graph has no name"));
        (*out)[i] = &infos[i];
    }
    return QRN_OK;
}

static qrn_status compose(qc_client *c, qc_system *s, QnnSystemDlc_Handle_t dlc,
                          const QnnGraph_Config_t **configs, qrn_arena *a, qc_composed *out) {
    const QnnSystemDlc_GraphConfigInfo_t **named = NULL;
    uint32_t n = 0;
    QRN_TRY(name_configs(s, dlc, configs, a, &named, &n));
    // The table as a client gets it from the library.
    const QnnInterface_t interface = {.backendId = c->backend_id,
                                      .providerName = c->provider,
                                      .apiVersion = c->version,
                                      .QNN_INTERFACE_VER_NAME = c->qnn};
    return qc_system_check(s,
                           s->fn.systemDlcComposeGraphs(
                               dlc, named, n, c->backend, c->context, interface,
                               QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_3, &out->graphs, &out->n),
                           "its graphs cannot be composed");
}

qrn_status qc_compose(qc_client *c, const qc_dlc_source *from, qc_composed *out) {
    qc_system *s = NULL;
    QnnSystemDlc_Handle_t dlc = NULL;
    *out = (qc_composed){0};
    if (!c->context)
        QRN_TRY(qc_check(c, c->qnn.contextCreate(c->backend, c->device, NULL, &c->context),
                         "contextCreate"));
    QRN_TRY(qc_system_open(c->path, &s));
    qrn_arena *a = qrn_arena_create();
    qrn_status st = a ? qc_dlc_open(s, from, &dlc) : qc_no_memory("graphs of a DLC file");
    if (st == QRN_OK)
        st = compose(c, s, dlc, from->configs, a, out);
    qrn_arena_destroy(a);
    if (st == QRN_OK && !(out->finalized = calloc(out->n + 1, sizeof *out->finalized)))
        st = qc_no_memory("graphs of a DLC file");
    if (dlc)
        s->fn.systemDlcFree(dlc);
    qc_system_close(s);
    if (st != QRN_OK)
        qc_composed_free(out);
    return st;
}

void qc_composed_free(qc_composed *d) {
    free_graphs(d->graphs, d->n);
    free(d->finalized);
    *d = (qc_composed){0};
}

static qrn_status no_graph(const qc_composed *d, const char *name) {
    char names[512] = "";
    for (uint32_t i = 0; i < d->n; i++) {
        size_t at = strlen(names);
        snprintf(names + at, sizeof names - at, "%s%s", at ? ", " : "",
                 d->graphs[i].graphInfoV3.graphName);
    }
    return name ? QRN_FAIL(QRN_E_NOT_FOUND, "the DLC file has no graph '%s'; there are %s", name,
                           names)
                : QRN_FAIL(QRN_E_NOT_FOUND, "the DLC file has %u graphs: %s", d->n, names);
}

qrn_status qc_composed_graph(qc_client *c, qc_composed *d, const char *name, qc_graph **out) {
    uint32_t i = 0;
    while (i < d->n && (name ? strcmp(d->graphs[i].graphInfoV3.graphName, name) != 0 : d->n != 1))
        i++;
    if (i == d->n)
        return no_graph(d, name);
    const QnnSystemContext_GraphInfoV3_t *info = &d->graphs[i].graphInfoV3;
    Qnn_GraphHandle_t handle = NULL;
    QRN_TRY(
        qc_check(c, c->qnn.graphRetrieve(c->context, info->graphName, &handle), "graphRetrieve"));
    if (!d->finalized[i])
        QRN_TRY(qc_check(c, c->qnn.graphFinalize(handle, NULL, NULL), "graphFinalize"));
    d->finalized[i] = true;
    return qc_graph_retrieve(c, info, out);
}
