// SPDX-License-Identifier: MIT
#include "tools/sdk/binary_updates.h"

#include "base/file.h"
#include "tools/quern/heap.h"
#include "tools/quern/flags.h"
#include "tools/quern/output.h"

#include <stdlib.h>
#include <string.h>

// One section on one context; graph NULL: all of its graphs.
static int apply(const qc_client *c, Qnn_ContextHandle_t context, const qs_graph *graph,
                 const char *path, const qs_profile *profile) {
    qrn_file f;
    if (qrn_file_map(path, &f) != QRN_OK) {
        qt_error("%s", qrn_message());
        return QT_EXIT_INPUT;
    }
    const QnnContext_Buffer_t buffer = {.version = QNN_CONTEXT_BUFFER_VERSION_1,
                                        .v1 = {.memType = QNN_CONTEXTMEMTYPE_RAW,
                                               .binaryBuf = {(void *)(uintptr_t)f.data, f.size}}};
    uint64_t start = qs_now_us();
    qrn_status s = QRN_FAIL(QRN_E_UNSUPPORTED, "%s cannot apply sections", c->path);
    if (c->qnn.contextApplyBinarySection)
        s = qc_check(c,
                     c->qnn.contextApplyBinarySection(context, graph ? graph->g->handle : NULL,
                                                      QNN_CONTEXT_SECTION_UPDATABLE, &buffer,
                                                      profile->handle, NULL),
                     "contextApplyBinarySection");
    qrn_file_unmap(&f);
    if (s != QRN_OK) {
        qt_error("%s: %s", path, qrn_message());
        return QT_EXIT_REFUSED;
    }
    return qs_profile_take(profile, QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_APPLY_BINARY_SECTION,
                           graph ? graph->g->name : NULL, start, profile->handle);
}

static const qs_graph *find_graph(const qs_model *m, const char *name) {
    for (uint32_t i = 0; i < m->n_graphs; i++)
        if (qs_same_name(m->graphs[i].g->name, name))
            return &m->graphs[i];
    return NULL;
}

static int apply_line(const char *where, char *line, const qs_model *m, const qs_profile *profile) {
    char *semicolon = strchr(line, ';');
    int code = QT_EXIT_OK;
    if (!semicolon) {
        for (size_t i = 0; i < m->n_parts && code == QT_EXIT_OK; i++)
            code = apply(m->client, m->parts[i].context, NULL, line, profile);
        return code;
    }
    *semicolon = '\0';
    const qs_graph *g = find_graph(m, line);
    if (g && semicolon[1])
        return apply(m->client, g->context, g, semicolon + 1, profile);
    qt_error("%s: %s '%s'; the first one is '%s'", where, g ? "no path behind graph" : "no graph",
             line, m->graphs[0].g->name);
    return QT_EXIT_INPUT;
}

int qs_apply_updates(const char *path, const qs_model *m, const qs_profile *profile) {
    qrn_file f;
    if (qrn_file_map(path, &f) != QRN_OK) {
        qt_error("%s", qrn_message());
        return QT_EXIT_INPUT;
    }
    char *text = qt_copy_text(f.data, f.size), *rest = text, *line;
    qrn_file_unmap(&f);
    if (!text) {
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    int code = QT_EXIT_OK;
    for (size_t n = 1; code == QT_EXIT_OK && (line = strsep(&rest, "\n")); n++) {
        char where[512];
        line[strcspn(line, "\r")] = '\0';
        snprintf(where, sizeof where, "%.480s:%zu", path, n);
        if (*line && *line != '#')
            code = apply_line(where, line, m, profile);
    }
    free(text);
    return code;
}
