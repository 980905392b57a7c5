// SPDX-License-Identifier: MIT
//
// Adding records to an open DLC file (Quern/SystemDlc.h).
#include "system/dlc.h"

#include "base/mem.h"

#include "Quern/SystemDlc.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_NAME 240u // with a number behind it at most the 255 bytes of an archive

// A file that was made empty gets an archive without records.
static qrn_status give_archive(qrn_system_dlc *d) {
    qrn_dlc_image *image = NULL;
    QRN_TRY(qrn_dlc_image_of_records(NULL, 0, &image));
    uint64_t size = qrn_dlc_image_bytes(image);
    qrn_status s = QRN_OK;
    if (!(d->copy = qrn_alloc(size)))
        s = QRN_FAIL(QRN_E_MEM, "out of memory for a DLC file");
    else
        qrn_dlc_image_copy(image, d->copy);
    qrn_dlc_image_free(image);
    return s == QRN_OK ? qrn_dlc_open("DLC", d->copy, size, &d->dlc) : s;
}

static qrn_status add(qrn_system_dlc *d, uint32_t type, const char *name, const void *data,
                      uint64_t size) {
    char unique[MAX_NAME + 16];
    if (!name || !*name || strlen(name) > MAX_NAME || !data || size == 0)
        return QRN_FAIL(QRN_E_ARGUMENT,
                        "addRecord: a name of 1 to %u bytes and data are needed, found %zu and "
                        "%" PRIu64,
                        MAX_NAME, name ? strlen(name) : 0, data ? size : 0);
    if (!d->dlc)
        QRN_TRY(give_archive(d));
    snprintf(unique, sizeof unique, "%s", name);
    for (unsigned i = 1; qrn_dlc_find(d->dlc, unique); i++)
        snprintf(unique, sizeof unique, "%s.%u", name, i);
    const qrn_dlc_record r = {unique, type, data, size};
    QRN_TRY(qrn_dlc_add(d->dlc, &r));
    d->binaries = NULL; // described anew when somebody asks
    d->mapped = false;
    return QRN_OK;
}

__attribute__((visibility("default"))) Qnn_ErrorHandle_t QuernSystemDlc_addRecord(
    QnnSystemDlc_Handle_t dlcHandle, QnnSystemDlc_RecordType_t recordType, const char *recordName,
    const uint8_t *data, uint64_t dataSize) {
    QRN_API_CALL;
    qrn_system_dlc *d = qrn_pin_alone(QRN_KIND_DLC, dlcHandle);
    if (!d)
        return qrn_dlc_end(
            QRN_FAIL(QRN_E_HANDLE, "addRecord: not a DLC handle%s", qrn_pin_reason()));
    return qrn_dlc_end(add(d, (uint32_t)recordType, recordName, data, dataSize));
}
