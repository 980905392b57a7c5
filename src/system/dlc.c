// SPDX-License-Identifier: MIT
//
// Opening, saving and ending DLC files, and the parts of them that have handles. Opening checks the
// whole file; afterwards nothing in it can be wrong. A file on the disk is mapped, one in memory is
// copied, for nobody says how long the caller's buffer lives.
#include "system/dlc.h"

#include "base/mem.h"

#include <string.h>

Qnn_ErrorHandle_t qrn_dlc_end(qrn_status s) {
    return qrn_api_end(QRN_COMP_SYSTEM_DLC, s, qrn_system_log());
}

static qrn_status no_memory(void) { return QRN_FAIL(QRN_E_MEM, "out of memory for a DLC file"); }

// --- Parts

qrn_part *qrn_dlc_part(qrn_system_dlc *d, qrn_part_kind kind, const void *what) {
    for (qrn_part *p = d->parts; p; p = p->next)
        if (p->what == what && p->kind == kind)
            return p;
    qrn_part *p = qrn_arena_alloc(d->arena, sizeof *p);
    void *handle = p ? qrn_handle_new(QRN_KIND_DLC_PART, p) : NULL;
    if (!handle)
        return NULL;
    *p = (qrn_part){kind, d, handle, what, d->parts};
    d->parts = p;
    return p;
}

qrn_part *qrn_dlc_pin_part(qrn_part_kind kind, const void *handle) {
    qrn_part *p = qrn_pin(QRN_KIND_DLC_PART, handle);
    return p && p->kind == kind ? p : NULL;
}

qrn_status qrn_dlc_handles(qrn_system_dlc *d, qrn_part_kind kind, const void *first, size_t stride,
                           uint32_t n, void ***out) {
    void **list = qrn_arena_alloc(d->arena, (n + 1) * sizeof *list);
    if (!list)
        return no_memory();
    for (uint32_t i = 0; i < n; i++) {
        qrn_part *p = qrn_dlc_part(d, kind, (const char *)first + i * stride);
        if (!p)
            return no_memory();
        list[i] = p->handle;
    }
    *out = list;
    return QRN_OK;
}

// --- Life

static void destroy(qrn_system_dlc *d) {
    for (qrn_part *p = d->parts; p; p = p->next)
        if (qrn_handle_enter(QRN_KIND_DLC_PART, p->handle, QRN_ENTER_ALONE | QRN_ENTER_WAIT,
                             NULL) == QRN_OK) { // nobody is in there any more
            qrn_handle_free(p->handle);
            qrn_handle_leave(p->handle, true);
        }
    pthread_mutex_destroy(&d->lock);
    qrn_dlc_close(d->dlc);
    qrn_file_unmap(&d->file);
    qrn_free(d->copy);
    qrn_arena_destroy(d->arena);
    qrn_free(d);
}

static qrn_system_dlc *new_dlc(void) {
    qrn_system_dlc *d = qrn_calloc(sizeof *d);
    if (!d)
        return NULL;
    pthread_mutex_init(&d->lock, NULL);
    d->arena = qrn_arena_create();
    if (d->arena)
        return d;
    destroy(d);
    return NULL;
}

// Hands a file over that was opened, or ends it.
static qrn_status publish(qrn_system_dlc *d, qrn_status s, QnnSystemDlc_Handle_t *out) {
    if (s == QRN_OK && !(d->handle = qrn_handle_new(QRN_KIND_DLC, d)))
        s = no_memory();
    if (s != QRN_OK)
        destroy(d);
    else
        *out = d->handle;
    return s;
}

static qrn_status open_file(const char *path, QnnSystemDlc_Handle_t *out) {
    if (!path || !out)
        return QRN_FAIL(QRN_E_ARGUMENT, "DLC: no path, or no place for the handle");
    qrn_system_dlc *d = new_dlc();
    if (!d)
        return no_memory();
    qrn_status s = qrn_file_map(path, &d->file);
    if (s == QRN_OK)
        s = qrn_dlc_open(path, d->file.data, d->file.size, &d->dlc);
    return publish(d, s, out);
}

static qrn_status open_memory(const uint8_t *buffer, uint64_t size, QnnSystemDlc_Handle_t *out) {
    if (!buffer || size == 0 || !out)
        return QRN_FAIL(QRN_E_ARGUMENT, "DLC: no bytes, or no place for the handle");
    qrn_system_dlc *d = new_dlc();
    if (!d)
        return no_memory();
    d->copy = qrn_alloc(size);
    qrn_status s = d->copy ? QRN_OK : no_memory();
    if (s == QRN_OK) {
        memcpy(d->copy, buffer, size);
        s = qrn_dlc_open("DLC", d->copy, size, &d->dlc);
    }
    return publish(d, s, out);
}

static qrn_status open_empty(QnnSystemDlc_Handle_t *out) {
    if (!out)
        return QRN_FAIL(QRN_E_ARGUMENT, "DLC: no place for the handle");
    qrn_system_dlc *d = new_dlc();
    return d ? publish(d, QRN_OK, out) : no_memory();
}

Qnn_ErrorHandle_t QnnSystemDlc_createFromFile(Qnn_LogHandle_t logger, const char *dlcPath,
                                              QnnSystemDlc_Handle_t *dlcHandle) {
    QRN_API_CALL;
    (void)logger; // may be of another library
    return qrn_dlc_end(open_file(dlcPath, dlcHandle));
}

Qnn_ErrorHandle_t QnnSystemDlc_createFromBinary(Qnn_LogHandle_t logger, const uint8_t *buffer,
                                                const Qnn_ContextBinarySize_t bufferSize,
                                                QnnSystemDlc_Handle_t *dlcHandle) {
    QRN_API_CALL;
    (void)logger;
    return qrn_dlc_end(open_memory(buffer, bufferSize, dlcHandle));
}

// Nothing is unpacked, so that the folder that is hinted at is not needed.
Qnn_ErrorHandle_t QnnSystemDlc_createFromFileWithDestinationDir(
    Qnn_LogHandle_t logger, const char *dlcPath, const char *destinationDirectoryHint,
    QnnSystemDlc_Handle_t *dlcHandle) {
    (void)destinationDirectoryHint;
    return QnnSystemDlc_createFromFile(logger, dlcPath, dlcHandle);
}

Qnn_ErrorHandle_t QnnSystemDlc_createFromBinaryWithDestinationDir(
    Qnn_LogHandle_t logger, const uint8_t *buffer, const Qnn_ContextBinarySize_t bufferSize,
    const char *destinationDirectoryHint, QnnSystemDlc_Handle_t *dlcHandle) {
    (void)destinationDirectoryHint;
    return QnnSystemDlc_createFromBinary(logger, buffer, bufferSize, dlcHandle);
}

Qnn_ErrorHandle_t QnnSystemDlc_createWithDestinationDir(Qnn_LogHandle_t logger,
                                                        const char *destinationDirectoryHint,
                                                        QnnSystemDlc_Handle_t *dlcHandle) {
    QRN_API_CALL;
    (void)logger;
    (void)destinationDirectoryHint;
    return qrn_dlc_end(open_empty(dlcHandle));
}

Qnn_ErrorHandle_t QnnSystemDlc_free(QnnSystemDlc_Handle_t dlcHandle) {
    QRN_API_CALL;
    qrn_system_dlc *d = qrn_pin_alone(QRN_KIND_DLC, dlcHandle);
    if (!d)
        return qrn_dlc_end(QRN_FAIL(QRN_E_HANDLE, "free: not a DLC handle%s", qrn_pin_reason()));
    qrn_handle_free(dlcHandle);
    destroy(d);
    return QNN_SUCCESS;
}

// --- Writing

static qrn_status make_image(const qrn_system_dlc *d, qrn_dlc_image **out) {
    QRN_TRY(qrn_file_check(&d->file));
    return qrn_dlc_image_of_records(d->dlc ? d->dlc->records : NULL, d->dlc ? d->dlc->n_records : 0,
                                    out);
}

static qrn_status save(const qrn_system_dlc *d, const char *path) {
    qrn_dlc_image *image = NULL;
    QRN_TRY(make_image(d, &image));
    qrn_status s = qrn_dlc_image_save(image, path);
    qrn_dlc_image_free(image);
    return s == QRN_OK || s == QRN_E_MEM ? s : QRN_E_SYSTEM;
}

Qnn_ErrorHandle_t QnnSystemDlc_save(QnnSystemDlc_Handle_t dlcHandle, const char *path) {
    QRN_API_CALL;
    const qrn_system_dlc *d = qrn_pin(QRN_KIND_DLC, dlcHandle);
    if (!d)
        return qrn_dlc_end(QRN_FAIL(QRN_E_HANDLE, "save: not a DLC handle"));
    if (!path || !*path)
        return qrn_dlc_end(QRN_FAIL(QRN_E_ARGUMENT, "save: no path"));
    return qrn_dlc_end(save(d, path));
}

Qnn_ErrorHandle_t QnnSystemDlc_getBinarySize(QnnSystemDlc_Handle_t dlcHandle,
                                             Qnn_SystemDlcBinarySize_t *binaryBufferSize) {
    QRN_API_CALL;
    const qrn_system_dlc *d = qrn_pin(QRN_KIND_DLC, dlcHandle);
    qrn_dlc_image *image = NULL;
    if (!d)
        return qrn_dlc_end(QRN_FAIL(QRN_E_HANDLE, "getBinarySize: not a DLC handle"));
    if (!binaryBufferSize)
        return qrn_dlc_end(QRN_FAIL(QRN_E_ARGUMENT, "getBinarySize: no place for the size"));
    qrn_status s = make_image(d, &image);
    if (s == QRN_OK)
        *binaryBufferSize = qrn_dlc_image_bytes(image);
    qrn_dlc_image_free(image);
    return qrn_dlc_end(s);
}

Qnn_ErrorHandle_t QnnSystemDlc_getBinary(QnnSystemDlc_Handle_t dlcHandle, uint8_t *binaryBuffer,
                                         Qnn_SystemDlcBinarySize_t binaryBufferSize,
                                         Qnn_SystemDlcBinarySize_t *writtenBufferSize) {
    QRN_API_CALL;
    const qrn_system_dlc *d = qrn_pin(QRN_KIND_DLC, dlcHandle);
    qrn_dlc_image *image = NULL;
    if (!d)
        return qrn_dlc_end(QRN_FAIL(QRN_E_HANDLE, "getBinary: not a DLC handle"));
    if (!binaryBuffer || !writtenBufferSize)
        return qrn_dlc_end(QRN_FAIL(QRN_E_ARGUMENT, "getBinary: no buffer, or no place for the "
                                                    "written size"));
    qrn_status s = make_image(d, &image);
    if (s == QRN_OK && qrn_dlc_image_bytes(image) > binaryBufferSize)
        s = QRN_FAIL(QRN_E_ARGUMENT, "getBinary: a buffer of %llu bytes, %llu are needed",
                     (unsigned long long)binaryBufferSize,
                     (unsigned long long)qrn_dlc_image_bytes(image));
    if (s == QRN_OK) {
        qrn_dlc_image_copy(image, binaryBuffer);
        *writtenBufferSize = qrn_dlc_image_bytes(image);
    }
    qrn_dlc_image_free(image);
    return qrn_dlc_end(s);
}
