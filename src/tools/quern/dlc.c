// SPDX-License-Identifier: MIT
//
// Opening DLC files, and what the System library says about them.
#include "tools/quern/dlc.h"

#include "base/file.h"
#include "tools/quern/flags.h"
#include "tools/quern/output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool qt_is_dlc(const char *path) {
    static const char head[4] = {'P', 'K', 3, 4};
    const char *dot = strrchr(path, '.');
    if (dot && strcmp(dot, ".dlc") == 0)
        return true;
    static const char *const others[] = {".onnx", ".bin", ".pte", ".npz", ".zip", ".keras",
                                         ".pt",   ".pt2", ".ptl", ".pth", ".ckpt"};
    for (size_t i = 0; dot && i < sizeof others / sizeof others[0]; i++)
        if (strcmp(dot, others[i]) == 0)
            return false;
    qrn_file f = {0}; // maps no pipes
    bool is = qrn_file_map(path, &f) == QRN_OK && f.size >= sizeof head &&
              memcmp(f.data, head, sizeof head) == 0;
    qrn_file_unmap(&f);
    return is;
}

const uint8_t *qt_dlc_record(const qt_dlc *d, const char *name, uint64_t *n_bytes) {
    QnnSystemDlc_RecordHandle_t record = NULL;
    const uint8_t *data = NULL;
    if (d->system->fn.systemDlcGetRecordByName(d->handle, name, &record) != QNN_SUCCESS ||
        d->system->fn.systemDlcReadRecordDataMemoryMapped(record, &data, n_bytes) != QNN_SUCCESS)
        return NULL;
    return data;
}

// A record that is a JSON text; the System library has checked it.
static json_t *read_text(const qt_dlc *d, const char *name) {
    uint64_t n = 0;
    const uint8_t *data = qt_dlc_record(d, name, &n);
    return data ? json_loadb((const char *)data, n, 0, NULL) : NULL;
}

static qrn_status open_records(qt_dlc *d) {
    const qc_dlc_source from = {.path = d->path};
    struct stat st;
    QRN_TRY(qc_system_open(NULL, &d->system));
    if (d->system->version.minor < 9)
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "%s has no records of DLC files: its API is older than "
                        "System 1.9",
                        d->system->path);
    QRN_TRY(qc_dlc_open(d->system, &from, &d->handle));
    d->n_bytes = stat(d->path, &st) == 0 ? (uint64_t)st.st_size : 0;
    return QRN_OK;
}

static qrn_status open_all(qt_dlc *d) {
    QRN_TRY(open_records(d));
    uint64_t n = 0;
    bool has_graphs = qt_dlc_record(d, "model.topology", &n) != NULL;
    d->metadata = read_text(d, "dlc.metadata");
    d->topology = has_graphs ? read_text(d, "model.topology") : NULL;
    if (!d->metadata || (has_graphs && !d->topology))
        return QRN_FAIL(QRN_E_MEM, "%s: out of memory", d->path);
    return QRN_OK;
}

static int open_by(qrn_status (*start)(qt_dlc *d), const char *path, qt_dlc *out) {
    qt_dlc d = {.path = path};
    if (access(path, R_OK) != 0) {
        qt_error("%s: %s", path, strerror(errno));
        return QT_EXIT_FAILURE;
    }
    if (start(&d) == QRN_OK) {
        *out = d;
        return QT_EXIT_OK;
    }
    if (strstr(qrn_message(), path))
        qt_error("%s", qrn_message());
    else
        qt_error("%s: %s", path, qrn_message());
    qt_dlc_close(&d);
    return QT_EXIT_REFUSED;
}

int qt_dlc_open(const char *path, qt_dlc *out) { return open_by(open_all, path, out); }

int qt_dlc_open_records(const char *path, qt_dlc *out) { return open_by(open_records, path, out); }

void qt_dlc_close(qt_dlc *d) {
    json_decref(d->metadata);
    json_decref(d->topology);
    if (d->handle)
        d->system->fn.systemDlcFree(d->handle);
    qc_system_close(d->system);
    *d = (qt_dlc){0};
}

int qt_dlc_graph(const qt_dlc *d, const char *name, QnnSystemContext_GraphInfoV3_t *out) {
    QnnSystemDlc_GraphInfoHandle_t *handles = NULL;
    uint32_t n = 0;
    char names[512] = "";
    if (d->system->fn.systemDlcGetComposableGraphInfoHandles(d->handle, &handles, &n) !=
        QNN_SUCCESS)
        n = 0;
    for (uint32_t i = 0; i < n; i++) {
        const QnnSystemDlc_ComposableGraphInfo_t *info = NULL;
        if (d->system->fn.systemDlcGetComposableGraphInfo(handles[i], &info) != QNN_SUCCESS)
            continue;
        const QnnSystemDlc_ComposableGraphInfoV1_t *g = &info->graphInfoV1;
        if (name ? strcmp(g->graphName, name) == 0 : n == 1) {
            *out = (QnnSystemContext_GraphInfoV3_t){.graphName = g->graphName,
                                                    .numGraphInputs = g->numGraphInputs,
                                                    .graphInputs = g->graphInputs,
                                                    .numGraphOutputs = g->numGraphOutputs,
                                                    .graphOutputs = g->graphOutputs};
            return QT_EXIT_OK;
        }
        size_t at = strlen(names);
        snprintf(names + at, sizeof names - at, "%s%s", at ? ", " : "", g->graphName);
    }
    if (n == 0)
        qt_error("%s: the DLC file has no graphs", d->path);
    else if (name)
        qt_error("%s: no graph '%s'; it has %s", d->path, name, names);
    else
        qt_error("%s: %u graphs; choose one with --graph: %s", d->path, n, names);
    return n ? QT_EXIT_USAGE : QT_EXIT_REFUSED;
}
