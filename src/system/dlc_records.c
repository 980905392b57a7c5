// SPDX-License-Identifier: MIT
//
// Records of DLC files by name and by type. Their bytes are those of the mapped file.
#include "system/dlc.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static qrn_status find_record(qrn_system_dlc *d, const char *name, void **out) {
    const qrn_dlc_record *r = d->dlc ? qrn_dlc_find(d->dlc, name) : NULL;
    if (!r)
        return QRN_FAIL(QRN_E_NOT_FOUND, "getRecordByName: no record '%s'", name);
    pthread_mutex_lock(&d->lock);
    qrn_part *p = qrn_dlc_part(d, QRN_PART_RECORD, r);
    pthread_mutex_unlock(&d->lock);
    if (!p)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a record");
    *out = p->handle;
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnSystemDlc_getRecordByName(QnnSystemDlc_Handle_t dlcHandle,
                                               const char *recordName,
                                               QnnSystemDlc_RecordHandle_t *recordHandle) {
    QRN_API_CALL;
    qrn_system_dlc *d = qrn_pin(QRN_KIND_DLC, dlcHandle);
    if (!d)
        return qrn_dlc_end(QRN_FAIL(QRN_E_HANDLE, "getRecordByName: not a DLC handle"));
    if (!recordName || !recordHandle)
        return qrn_dlc_end(
            QRN_FAIL(QRN_E_ARGUMENT, "getRecordByName: no name, or no place for the handle"));
    return qrn_dlc_end(find_record(d, recordName, recordHandle));
}

// The last context binary of a type is the most optimal: what was added later was made for this
// device.
static qrn_status find_records(qrn_system_dlc *d, uint32_t type, bool best, void ***out,
                               uint32_t *n) {
    uint32_t total = d->dlc ? d->dlc->n_records : 0;
    void **list = qrn_arena_alloc(d->arena, ((size_t)total + 1) * sizeof *list);
    if (!list)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a list of records");
    *n = 0;
    for (uint32_t i = 0; i < total; i++) {
        if (d->dlc->records[i].type != type)
            continue;
        qrn_part *p = qrn_dlc_part(d, QRN_PART_RECORD, &d->dlc->records[i]);
        if (!p)
            return QRN_FAIL(QRN_E_MEM, "out of memory for a record");
        *n = best ? 0 : *n;
        list[(*n)++] = p->handle;
    }
    *out = list;
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnSystemDlc_getRecordsByType(QnnSystemDlc_Handle_t dlcHandle,
                                                QnnSystemDlc_RecordType_t recordType,
                                                uint8_t getMostOptimalContextBinary,
                                                QnnSystemDlc_RecordHandle_t **recordHandles,
                                                uint32_t *numRecordHandles) {
    QRN_API_CALL;
    qrn_system_dlc *d = qrn_pin(QRN_KIND_DLC, dlcHandle);
    void **list = NULL;
    uint32_t n = 0;
    if (!d)
        return qrn_dlc_end(QRN_FAIL(QRN_E_HANDLE, "getRecordsByType: not a DLC handle"));
    if (!recordHandles || !numRecordHandles)
        return qrn_dlc_end(QRN_FAIL(QRN_E_ARGUMENT, "getRecordsByType: no place for the handles"));
    pthread_mutex_lock(&d->lock);
    qrn_status s =
        find_records(d, (uint32_t)recordType, getMostOptimalContextBinary != 0, &list, &n);
    pthread_mutex_unlock(&d->lock);
    if (s == QRN_OK) {
        *recordHandles = list;
        *numRecordHandles = n;
    }
    return qrn_dlc_end(s);
}

Qnn_ErrorHandle_t QnnSystemDlc_getRecordDataSize(QnnSystemDlc_RecordHandle_t recordHandle,
                                                 uint64_t *dataSize) {
    QRN_API_CALL;
    const qrn_part *p = qrn_dlc_pin_part(QRN_PART_RECORD, recordHandle);
    if (!p)
        return qrn_dlc_end(QRN_FAIL(QRN_E_HANDLE, "getRecordDataSize: not a record handle"));
    if (!dataSize)
        return qrn_dlc_end(QRN_FAIL(QRN_E_ARGUMENT, "getRecordDataSize: no place for the size"));
    *dataSize = ((const qrn_dlc_record *)p->what)->size_bytes;
    return QNN_SUCCESS;
}

Qnn_ErrorHandle_t QnnSystemDlc_readRecordDataMemoryMapped(QnnSystemDlc_RecordHandle_t recordHandle,
                                                          const uint8_t **data,
                                                          uint64_t *dataSize) {
    QRN_API_CALL;
    const qrn_part *p = qrn_dlc_pin_part(QRN_PART_RECORD, recordHandle);
    if (!p)
        return qrn_dlc_end(QRN_FAIL(QRN_E_HANDLE, "readRecordDataMemoryMapped: not a record"));
    if (!data || !dataSize)
        return qrn_dlc_end(
            QRN_FAIL(QRN_E_ARGUMENT, "readRecordDataMemoryMapped: no place for the data"));
    qrn_status s = qrn_file_check(&p->owner->file);
    if (s != QRN_OK)
        return qrn_dlc_end(s);
    const qrn_dlc_record *r = p->what;
    *data = r->data;
    *dataSize = r->size_bytes;
    return QNN_SUCCESS;
}

// The handle of a record lives as long as its file and may be asked for again, so that there is
// nothing to end here.
Qnn_ErrorHandle_t QnnSystemDlc_freeRecord(QnnSystemDlc_RecordHandle_t recordHandle) {
    QRN_API_CALL;
    if (!qrn_dlc_pin_part(QRN_PART_RECORD, recordHandle))
        return qrn_dlc_end(QRN_FAIL(QRN_E_HANDLE, "freeRecord: not a record handle"));
    return QNN_SUCCESS;
}

// Gives the whole pages of a range back to the system; they are read again if they are needed.
static void drop_pages(const qrn_system_dlc *d, const char *from, uint64_t size) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = ((uintptr_t)from + page - 1) & ~(page - 1);
    uintptr_t last = ((uintptr_t)from + size) & ~(page - 1);
    if (d->file.guard && first < last)
        madvise((void *)first, last - first, MADV_DONTNEED);
}

Qnn_ErrorHandle_t QnnSystemDlc_freeRecordRange(QnnSystemDlc_RecordHandle_t recordHandle,
                                               uint64_t offset, uint64_t size) {
    QRN_API_CALL;
    const qrn_part *p = qrn_dlc_pin_part(QRN_PART_RECORD, recordHandle);
    if (!p)
        return qrn_dlc_end(QRN_FAIL(QRN_E_HANDLE, "freeRecordRange: not a record handle"));
    const qrn_dlc_record *r = p->what;
    if (offset > r->size_bytes || size > r->size_bytes - offset)
        return qrn_dlc_end(QRN_FAIL(QRN_E_ARGUMENT,
                                    "freeRecordRange: %llu bytes from %llu on, record '%s' has "
                                    "%llu",
                                    (unsigned long long)size, (unsigned long long)offset, r->name,
                                    (unsigned long long)r->size_bytes));
    drop_pages(p->owner, (const char *)r->data + offset, size);
    return QNN_SUCCESS;
}
