// SPDX-License-Identifier: MIT
//
// Opening context binaries.
#include "tools/quern/binary.h"

#include "device/stored.h"
#include "tools/quern/flags.h"
#include "tools/quern/output.h"
#include "tools/quern/session.h"

#include "HTP/QnnHtpSystemContext.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ALIGNMENT 64 // of the sections of a binary, by which it is mapped

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}

// From where they are to an address as good as a file's own.
static qrn_status copy_bytes(qt_binary *b) {
    b->copy = aligned_alloc(ALIGNMENT, (b->n_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    if (!b->copy)
        return QRN_FAIL(QRN_E_MEM, "out of memory");
    b->bytes = memcpy(b->copy, b->bytes, b->n_bytes);
    return QRN_OK;
}

// The binary inside a .tflite file, at an address as good as a file's own.
static qrn_status find_compiled(const char *path, qt_binary *b) {
    QRN_TRY(tl_model_parse(b->file.data, b->file.size, path, &b->around));
    QRN_TRY(tl_compiled_of(b->around, b->file.data, b->file.size, &b->compiled));
    b->bytes = b->compiled.bytes;
    b->n_bytes = b->compiled.n_bytes;
    return (uintptr_t)b->bytes % ALIGNMENT == 0 ? QRN_OK : copy_bytes(b);
}

static qrn_status describe(qt_binary *b) {
    QRN_TRY(qc_system_open(NULL, &b->system));
    double t0 = qt_now_ms();
    qrn_status s = qc_system_describe(b->system, b->bytes, b->n_bytes, &b->info);
    b->describe_ms = qt_now_ms() - t0;
    return s;
}

static qrn_status start(const char *path, qt_binary *b) {
    QRN_TRY(qrn_file_map(path, &b->file));
    if (b->file.size == 0)
        return QRN_FAIL(QRN_E_BINARY, "the file is empty");
    b->bytes = b->file.data;
    b->n_bytes = b->file.size;
    if (tl_is_model(b->file.data, b->file.size))
        QRN_TRY(find_compiled(path, b));
    return describe(b);
}

// Errors of one that is broken come when it is opened.
static bool is_compiled(const char *path) {
    ox_model *m = NULL;
    bool is = tl_model_open(path, &m) == QRN_OK && tl_is_compiled(m);
    ox_model_close(m);
    return is;
}

bool qt_is_binary(const char *path) {
    static const char *const others[] = {".onnx", ".pte", ".dlc"};
    if (ends_with(path, ".bin"))
        return true;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (ends_with(path, others[i]))
            return false;
    if (access(path, R_OK) == 0 && tl_is_file(path))
        return is_compiled(path);
    qt_binary b = {0};
    bool is = access(path, R_OK) == 0 && start(path, &b) == QRN_OK;
    qt_binary_close(&b);
    return is;
}

// Hands a binary over, or says why not and closes it.
static int finish(const char *path, qrn_status s, qt_binary *b, qt_binary *out) {
    if (s == QRN_OK && b->info->numGraphs == 0)
        s = QRN_FAIL(QRN_E_BINARY, "the context binary holds no graph");
    if (s == QRN_OK) {
        *out = *b;
        return QT_EXIT_OK;
    }
    if (b->file.data || b->bytes)
        qt_error("%s: %s", path, qrn_message());
    else
        qt_error("%s", qrn_message()); // names the file itself
    qt_binary_close(b);
    return s == QRN_E_NOT_FOUND || s == QRN_E_MAPPING ? QT_EXIT_FAILURE : QT_EXIT_REFUSED;
}

int qt_binary_open(const char *path, qt_binary *out) {
    if (access(path, R_OK) != 0) {
        qt_error("%s: %s", path, strerror(errno));
        return QT_EXIT_FAILURE;
    }
    qt_binary b = {0};
    return finish(path, start(path, &b), &b, out);
}

int qt_binary_copy(const char *path, const void *bytes, size_t n, qt_binary *out) {
    qt_binary b = {.bytes = bytes, .n_bytes = n};
    qrn_status s = n ? copy_bytes(&b) : QRN_FAIL(QRN_E_BINARY, "the context binary is empty");
    return finish(path, s == QRN_OK ? describe(&b) : s, &b, out);
}

void qt_binary_forget(qt_binary *b) {
    qc_system_close(b->system);
    b->system = NULL;
    b->info = NULL;
}

void qt_binary_close(qt_binary *b) {
    qt_binary_forget(b);
    ox_model_close(b->around);
    free(b->copy);
    qrn_file_unmap(&b->file);
    *b = (qt_binary){0};
}

int qt_binary_graph(const qt_binary *b, const char *path, const char *name,
                    const QnnSystemContext_GraphInfoV3_t **out) {
    const QnnSystemContext_BinaryInfoV3_t *v = b->info;
    char names[512] = "";
    for (uint32_t i = 0; i < v->numGraphs; i++) {
        const QnnSystemContext_GraphInfoV3_t *g = &v->graphs[i].graphInfoV3;
        if (name ? strcmp(g->graphName, name) == 0 : v->numGraphs == 1) {
            *out = g;
            return QT_EXIT_OK;
        }
        size_t at = strlen(names);
        snprintf(names + at, sizeof names - at, "%s%s", at ? ", " : "", g->graphName);
    }
    if (name)
        qt_error("%s: no graph '%s'; it has %s", path, name, names);
    else
        qt_error("%s: %u graphs; choose one with --graph: %s", path, v->numGraphs, names);
    return QT_EXIT_USAGE;
}

uint32_t qt_binary_arch(const qt_binary *b) {
    const QnnHtpSystemContext_ContextBlobInfo_t *c = b->info->contextMetadata;
    return c && b->info->contextMetadataSize >= sizeof *c
               ? c->contextBinaryContextBlobInfoV1.dspArch
               : 0;
}

// Behind the two structs of the HTP (src/system/describe.c): a word, the length, the bytes.
bool qt_binary_schedule(const QnnSystemContext_GraphInfoV3_t *g, qrn_arena *arena, qd_schedule *out,
                        bool *known) {
    const size_t head =
        sizeof(QnnHtpSystemContext_GraphBlobInfo_t) + sizeof(QnnHtpSystemContext_GraphBlobInfoV2_t);
    const char *p = g->graphBlobInfo;
    uint64_t bytes;
    *known = p && g->graphBlobInfoSize >= head + 16 && memcmp(p + head, "QRNSCHED", 8) == 0;
    if (!*known)
        return true;
    memcpy(&bytes, p + head + 8, sizeof bytes);
    if (bytes <= g->graphBlobInfoSize - head - 16 &&
        qd_stored_read(p + head + 16, bytes, arena, out) == QRN_OK)
        return true;
    qt_error("graph '%s': %s", g->graphName, qrn_message());
    return false;
}

qrn_status qt_context_bytes(const qc_client *c, void **bytes, uint64_t *n) {
    const QNN_INTERFACE_VER_TYPE *q = &c->qnn;
    Qnn_ContextBinarySize_t size = 0, written = 0;
    if (!q->contextGetBinarySize || !q->contextGetBinary)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "%s makes no context binaries", c->path);
    QRN_TRY(qc_check(c, q->contextGetBinarySize(c->context, &size), "contextGetBinarySize"));
    void *data = malloc(size ? size : 1);
    if (!data)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a binary of %llu bytes",
                        (unsigned long long)size);
    qrn_status s =
        qc_check(c, q->contextGetBinary(c->context, data, size, &written), "contextGetBinary");
    if (s != QRN_OK) {
        free(data);
        return s;
    }
    *bytes = data;
    *n = written;
    return QRN_OK;
}
