// SPDX-License-Identifier: MIT
//
// Context component: the binary of a context as a record of an open DLC file. The file belongs to
// the System library, which the client has loaded, for its handle came from there. The API has no
// call for records, so Quern's own is used (Quern/SystemDlc.h).
#include "api/call.h"
#include "api/context.h"
#include "base/mem.h"
#include "core/errors.h"

#include "GPU/QnnGpuCommon.h"
#include "HTP/QnnHtpCommon.h"
#include "Quern/SystemDlc.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#define MAX_LIBRARIES 4 // copies of the System library in one process

typedef struct loaded {
    char paths[MAX_LIBRARIES][PATH_MAX];
    unsigned n;
} loaded;

static int note_library(struct dl_phdr_info *info, size_t size, void *arg) {
    (void)size;
    loaded *l = arg;
    const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    if (slash && strcmp(slash + 1, "libQnnSystem.so") == 0 && l->n < MAX_LIBRARIES)
        snprintf(l->paths[l->n++], PATH_MAX, "%s", info->dlpi_name);
    return 0;
}

// Offers the record to every System library of the process; the one that knows the handle takes it.
static qrn_status give(QnnSystemDlc_Handle_t dlc, uint32_t type, const char *name, const void *data,
                       uint64_t size) {
    loaded *l = qrn_calloc(sizeof *l);
    if (!l)
        return QRN_FAIL(QRN_E_MEM, "addToDlc: out of memory");
    qrn_status s = QRN_FAIL(QRN_E_UNSUPPORTED, "addToDlc: no libQnnSystem.so of Quern is loaded");
    dl_iterate_phdr(note_library, l);
    for (unsigned i = 0; i < l->n && s != QRN_OK && s != QRN_E_MEM; i++) {
        void *lib = dlopen(l->paths[i], RTLD_NOW | RTLD_NOLOAD);
        void *symbol = lib ? dlsym(lib, "QuernSystemDlc_addRecord") : NULL;
        QuernSystemDlc_AddRecordFn_t add = NULL;
        memcpy(&add, &symbol, sizeof add);
        Qnn_ErrorHandle_t code =
            add ? add(dlc, (QnnSystemDlc_RecordType_t)type, name, data, size) : QNN_SUCCESS;
        if (add)
            s = code == QNN_SUCCESS                                                 ? QRN_OK
                : QNN_GET_ERROR_CODE(code) == QNN_COMMON_ERROR_MEM_ALLOC            ? QRN_E_MEM
                : QNN_GET_ERROR_CODE(code) == QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT ? QRN_E_ARGUMENT
                                                                                    : QRN_E_HANDLE;
        if (lib)
            dlclose(lib);
    }
    qrn_free(l);
    if (s == QRN_OK || s == QRN_E_UNSUPPORTED)
        return s;
    return QRN_FAIL(s, "addToDlc: %s",
                    s == QRN_E_HANDLE ? "not a DLC handle"
                                      : "no record can be added to the DLC file");
}

static qrn_status add(qrn_api_context *c, QnnSystemDlc_Handle_t dlc) {
    static const struct {
        uint32_t backend;
        QnnSystemDlc_RecordType_t type;
        const char *name;
    } kinds[] = {
        {QNN_BACKEND_ID_HTP, QNN_SYSTEM_DLC_RECORD_PREFIX_HTP_CACHE_RECORD, "context.htp"},
        {QNN_BACKEND_ID_GPU, QNN_SYSTEM_DLC_RECORD_PREFIX_GPU_CACHE_RECORD, "context.gpu"},
    };
    unsigned k = 0;
    while (k < 2 && kinds[k].backend != qrn_this_backend.id)
        k++;
    if (k == 2 || !qrn_this_backend.binary_write)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "addToDlc: the backend has no context binaries that a "
                                           "DLC file holds");
    if (!dlc)
        return QRN_FAIL(QRN_E_HANDLE, "addToDlc: dlcHandle is NULL");
    QRN_TRY(qrn_pin_graphs(c, false));
    QRN_TRY(qrn_context_can_save(c));
    uint64_t size = 0, written = 0;
    QRN_TRY(qrn_this_backend.binary_size(c, &size));
    void *data = qrn_alloc(size);
    if (!data)
        return QRN_FAIL(QRN_E_MEM, "addToDlc: out of memory for a binary");
    qrn_status s = qrn_this_backend.binary_write(c, data, size, &written);
    if (s == QRN_OK)
        s = give(dlc, (uint32_t)kinds[k].type, kinds[k].name, data, written);
    qrn_free(data);
    return s;
}

Qnn_ErrorHandle_t QnnContext_addToDlc(Qnn_ContextHandle_t context,
                                      QnnSystemDlc_Handle_t dlcHandle) {
    QRN_API_CALL;
    qrn_api_context *c = qrn_pin_alone(QRN_KIND_CONTEXT, context);
    if (!c)
        return qrn_not_a_context("context_addToDlc");
    return qrn_api_end(QRN_COMP_CONTEXT, add(c, dlcHandle), c->backend->log);
}
