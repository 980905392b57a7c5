// SPDX-License-Identifier: MIT
#include "tools/quern/dlc_add.h"

#include "frontend/client/client.h"
#include "tools/quern/flags.h"
#include "tools/quern/output.h"

#include "Quern/SystemDlc.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static qrn_status add_all(const qc_system *sys, QnnSystemDlc_Handle_t dlc, const qt_dlc_new *list,
                          uint32_t n) {
    QuernSystemDlc_AddRecordFn_t add = NULL;
    void *symbol = dlsym(sys->lib, "QuernSystemDlc_addRecord");
    memcpy(&add, &symbol, sizeof add);
    if (!add)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "%s is not Quern's", sys->path);
    for (uint32_t i = 0; i < n; i++)
        if (list[i].data && list[i].n_bytes)
            QRN_TRY(qc_system_check(sys,
                                    add(dlc, (QnnSystemDlc_RecordType_t)list[i].type, list[i].name,
                                        list[i].data, list[i].n_bytes),
                                    "a record cannot be added"));
    return QRN_OK;
}

static qrn_status rewrite(qc_system *sys, const qt_dlc_new *list, uint32_t n, void **bytes,
                          uint64_t *n_bytes) {
    QnnSystemDlc_Handle_t dlc = NULL;
    const qc_dlc_source from = {.bytes = *bytes, .n_bytes = *n_bytes};
    uint64_t size = 0;
    uint8_t *grown = NULL;
    QRN_TRY(qc_dlc_open(sys, &from, &dlc));
    qrn_status s = add_all(sys, dlc, list, n);
    if (s == QRN_OK)
        s = qc_system_check(sys, sys->fn.systemDlcGetBinarySize(dlc, &size), "it has no size");
    if (s == QRN_OK && !(grown = malloc(size)))
        s = QRN_FAIL(QRN_E_MEM, "out of memory");
    if (s == QRN_OK)
        s = qc_system_check(sys, sys->fn.systemDlcGetBinary(dlc, grown, size, &size),
                            "it cannot be written");
    sys->fn.systemDlcFree(dlc);
    if (s != QRN_OK) {
        free(grown);
        return s;
    }
    free(*bytes);
    *bytes = grown;
    *n_bytes = size;
    return QRN_OK;
}

int qt_dlc_add(const char *path, const qt_dlc_new *list, uint32_t n, void **bytes,
               uint64_t *n_bytes) {
    qc_system *sys = NULL;
    qrn_status s = qc_system_open(NULL, &sys);
    if (s == QRN_OK)
        s = rewrite(sys, list, n, bytes, n_bytes);
    qc_system_close(sys);
    if (s == QRN_OK)
        return QT_EXIT_OK;
    qt_error("%s: %s", path, qrn_message());
    return QT_EXIT_FAILURE;
}
