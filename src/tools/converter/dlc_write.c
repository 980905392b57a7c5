// SPDX-License-Identifier: MIT
#include "tools/converter/dlc_write.h"

#include "tools/quern/binary.h"
#include "tools/quern/dlc_source.h"
#include "tools/quern/output.h"
#include "tools/quern/soc.h"

#include "HTP/QnnHtpCommon.h"
#include "IR/QnnIrGraph.h"

#include <stdlib.h>
#include <string.h>

// --- what is not supported

typedef struct listing {
    const char *how;
    uint32_t n_rejected;
} listing;

static void list_node(void *ctx, const ox_node *n, qrn_status s, const char *why) {
    listing *l = ctx;
    l->n_rejected += s != QRN_OK;
    if (s != QRN_OK)
        qt_print("%-24s %-32s %s\n", n->op, n->name, why);
    else if (strcmp(l->how, "debug") == 0)
        qt_print("%-24s %-32s supported\n", n->op, n->name);
}

int cv_dry_run(cv_model *m, qc_client *c, const char *how) {
    ox_result result = {0};
    listing l = {.how = how};
    m->import.report = list_node;
    m->import.report_ctx = &l;
    qrn_status s = ox_import_model(m->model, c, &m->import, &result);
    if (s == QRN_OK)
        qc_graph_destroy(result.graph);
    if (s != QRN_OK && !l.n_rejected)
        return cv_failed(m, QT_EXIT_REFUSED);
    qt_print("%u of %u nodes are not supported\n", l.n_rejected, m->model->graph->n_nodes);
    int code = qt_close_stdout();
    return code == QT_EXIT_OK && l.n_rejected ? QT_EXIT_REFUSED : code;
}

// --- libraries

int cv_dlc_target(cv_dlc *d, const char *backend, const char *soc) {
    static const char *const names[][2] = {
        {"CPU", "cpu"}, {"GPU", "gpu"}, {"HTP", "htp"}, {"LPAI", "lpai"}};
    for (size_t i = 0; backend && i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i][0], backend) == 0)
            d->target = names[i][1];
    if (backend && !d->target) {
        qt_error("--target_backend %s is not supported: there is no library of it; known are CPU, "
                 "GPU, HTP and LPAI",
                 backend);
        return QT_EXIT_USAGE;
    }
    if (soc && (!backend || strcmp(backend, "HTP") != 0 || !qt_soc_find(soc, &d->soc))) {
        qt_error("--target_soc_model %s: expected a SoC of --target_backend HTP, such as SM8650",
                 soc);
        return QT_EXIT_USAGE;
    }
    return QT_EXIT_OK;
}

static int open_library(const char *name, const cv_dlc *d, qc_client **out) {
    bool htp = d->like_htp || (d->target && strcmp(d->target, "htp") == 0);
    const qc_options options = {.stands_for = htp ? QNN_BACKEND_ID_HTP : 0,
                                .soc = htp ? d->soc : 0};
    if (qc_open(name, &options, out) != QRN_OK) {
        qt_error("%s", qrn_message());
        return QT_EXIT_FAILURE;
    }
    return QT_EXIT_OK;
}

// A graph that is built to look at it and thrown away.
static int try_library(cv_model *m, const cv_dlc *d, const char *name, bool scout) {
    qc_client *c = NULL;
    ox_result result = {0};
    int code = open_library(name, d, &c);
    if (code == QT_EXIT_OK)
        code = cv_register(d->op_libs, c, m->arena);
    if (code == QT_EXIT_OK && d->dry_run && !scout) {
        code = cv_dry_run(m, c, d->dry_run);
    } else if (code == QT_EXIT_OK) {
        if (scout)
            cv_retype_scout(d->retype, c);
        if (ox_import_model(m->model, c, &m->import, &result) != QRN_OK)
            code = cv_failed(m, QT_EXIT_REFUSED);
        else
            qc_graph_destroy(result.graph);
    }
    qc_close(c);
    return code;
}

// --- writing

static int check_outputs(const cv_model *m, const ox_result *r) {
    for (uint32_t i = 0; i < r->n_outputs; i++)
        if (!r->outputs[i].tensor) {
            qt_error("%s: output '%s' is constant, which a graph cannot have; leave it out with %s",
                     m->path, r->outputs[i].name, m->words->output);
            return QT_EXIT_REFUSED;
        }
    if (r->graph->n_nodes)
        return QT_EXIT_OK;
    qt_error("%s: every output is an input; there is nothing to convert", m->path);
    return QT_EXIT_REFUSED;
}

// The package of QNN's own ops under another name.
static const char *other_package;
static Qnn_ErrorHandle_t (*library_add)(Qnn_GraphHandle_t graph, Qnn_OpConfig_t op);

static Qnn_ErrorHandle_t add_packaged(Qnn_GraphHandle_t graph, Qnn_OpConfig_t op) {
    if (strcmp(op.v1.packageName, QNN_OP_PACKAGE_NAME_QTI_AISW) == 0)
        op.v1.packageName = other_package;
    return library_add(graph, op);
}

static void rename_package(qc_client *c, const char *package) {
    if (!package)
        return;
    other_package = package;
    library_add = c->qnn.graphAddNode;
    c->qnn.graphAddNode = add_packaged;
}

static int build(cv_model *m, cv_dlc *d, qc_client *c) {
    QnnIrGraph_CustomConfig_t no_file = QNN_IR_GRAPH_CUSTOM_CONFIG_INIT;
    const QnnGraph_Config_t config = {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM,
                                      .customConfig = &no_file};
    const QnnGraph_Config_t *configs[] = {&config, NULL};
    ox_result result = {0};
    m->import.graph_configs = configs;
    rename_package(c, d->package);
    if (d->retype)
        cv_retype_begin(d->retype, c);
    qrn_status s = ox_import_model(m->model, c, &m->import, &result);
    m->import.graph_configs = NULL;
    if (s != QRN_OK)
        return cv_failed(m, QT_EXIT_REFUSED);
    int code = check_outputs(m, &result);
    if (code == QT_EXIT_OK && d->retype)
        s = cv_retype_end(d->retype, c, result.graph->handle);
    if (code == QT_EXIT_OK && s == QRN_OK)
        s = qc_graph_finalize(result.graph);
    d->n_nodes = result.graph->n_nodes;
    qc_graph_destroy(result.graph);
    return code != QT_EXIT_OK ? code : s == QRN_OK ? QT_EXIT_OK : cv_failed(m, QT_EXIT_REFUSED);
}

typedef struct noting {
    qt_sources sources;
    bool trace, debug;
} noting;

static void note_op(void *ctx, const qc_op *o) {
    noting *n = ctx;
    if (n->debug)
        qt_inform("%s (%s)", o->name, o->type);
    if (n->trace)
        qt_sources_note(&n->sources, o);
}

static int save(const cv_dlc *d, const qc_client *c, const qt_sources *sources) {
    void *bytes = NULL;
    uint64_t n = 0;
    if (qt_context_bytes(c, &bytes, &n) != QRN_OK) {
        qt_error("%s: %s", d->path, qrn_message());
        return QT_EXIT_REFUSED;
    }
    int code = qt_dlc_add(d->path, d->records, d->n_records, &bytes, &n);
    if (code == QT_EXIT_OK)
        code = qt_sources_add(sources, d->path, &bytes, &n);
    if (code == QT_EXIT_OK && !qt_write_file(d->path, &(qt_part){bytes, (size_t)n}, 1))
        code = QT_EXIT_FAILURE;
    free(bytes);
    return code;
}

static int write_with(cv_model *m, cv_dlc *d) {
    qc_client *c = NULL;
    noting notes = {.trace = d->trace, .debug = d->debug};
    int code = open_library("ir", d, &c);
    if (code == QT_EXIT_OK)
        code = cv_register(d->op_libs, c, m->arena);
    if (code == QT_EXIT_OK) {
        c->node = note_op;
        c->node_ctx = &notes;
        code = build(m, d, c);
    }
    if (code == QT_EXIT_OK)
        code = save(d, c, &notes.sources);
    qt_sources_free(&notes.sources);
    qc_close(c);
    return code;
}

int cv_dlc_write(cv_model *m, cv_dlc *d) {
    int code = QT_EXIT_OK;
    m->import.graph_name = d->graph_name;
    if (d->target || d->dry_run)
        code = try_library(m, d, d->target ? d->target : "ir", false);
    if (code != QT_EXIT_OK || d->dry_run)
        return code;
    if (d->retype && !cv_retype_needed(d->retype))
        d->retype = NULL;
    if (d->retype)
        code = try_library(m, d, "ir", true);
    return code == QT_EXIT_OK ? write_with(m, d) : code;
}
