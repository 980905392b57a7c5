// SPDX-License-Identifier: MIT
//
// What surrounds each call: the files must be there, the call is written down after the core has
// taken it, and one that cannot be written is taken back, so that no client goes on with a
// recording that has a gap.
#include "backend/saver/saver.h"

#include "base/mem.h"

static const qrn_saver_call *row_of_backend_create(void) {
    return &qrn_saver_calls[QRN_SLOT(backendCreate)];
}

Qnn_ErrorHandle_t qrn_saver_begin(const qrn_saver_call *call) {
    qrn_saver_lock();
    qrn_status s = QRN_OK;
    if (call == row_of_backend_create())
        s = qrn_saver_open();
    else if (!(call->how & QRN_CALL_FREES))
        s = qrn_saver_check();
    if (s == QRN_OK)
        return QNN_SUCCESS;
    Qnn_ErrorHandle_t code = qrn_api_end(call->comp, s, qrn_saver_log());
    qrn_saver_unlock();
    return code;
}

static const void *handle_arg(const qrn_saved_field *f, const void *at) {
    return f->object == QRN_SAVER_POWER ? (const void *)(uintptr_t) * (const uint32_t *)at
                                        : *(const void *const *)at;
}

// Ends what the call has made.
static void take_back(const qrn_saver_call *call, const void *const *args) {
    const QNN_INTERFACE_VER_TYPE *core = qrn_saver_core();
    for (uint32_t i = 0; i < call->n_args; i++) {
        const qrn_saved_field *f = &call->args[i];
        if (f->kind != QRN_SAVED_NEW || f->object == QRN_SAVER_POWER)
            continue;
        void *made = **(void ***)args[i];
        switch (f->object) {
        case QRN_SAVER_LOG:
            core->logFree(made);
            break;
        case QRN_SAVER_BACKEND:
            core->backendFree(made);
            break;
        case QRN_SAVER_DEVICE:
            core->deviceFree(made);
            break;
        case QRN_SAVER_CONTEXT:
            core->contextFree(made, NULL);
            break;
        case QRN_SAVER_PROFILE:
            core->profileFree(made);
            break;
        case QRN_SAVER_SIGNAL:
            core->signalFree(made);
            break;
        case QRN_SAVER_MEM:
            core->memDeRegister(*(Qnn_MemHandle_t **)args[3], *(const uint32_t *)args[2]);
            break;
        case QRN_SAVER_TEXT:
            core->errorFreeVerboseMessage(made);
            break;
        case QRN_SAVER_RESULT:
            core->graphFreeValidationResult(made);
            break;
        default: // graphs end with their context
            break;
        }
        qrn_saver_forget((qrn_saver_object)f->object, made);
    }
}

// Forgets the objects that a call has ended: its first argument, and what went with it.
static void forget(const qrn_saver_call *call, const void *const *args) {
    const qrn_saved_field *f = &call->args[0];
    if (f->kind == QRN_SAVED_HANDLE)
        qrn_saver_forget((qrn_saver_object)f->object, handle_arg(f, args[0]));
    else
        qrn_saver_forget(QRN_SAVER_OBJECTS, NULL); // what the core says
}

// The words of the last failure.
static qrn_status write_refused(const qrn_saver_call *call, Qnn_ErrorHandle_t code) {
    const char *words = NULL;
    Qnn_ErrorHandle_t has = qrn_saver_core()->errorGetVerboseMessage(code, &words);
    qrn_status s = qrn_saver_record_refused(call, code, has == QNN_SUCCESS ? words : "");
    if (has == QNN_SUCCESS)
        qrn_saver_core()->errorFreeVerboseMessage(words);
    return s;
}

Qnn_ErrorHandle_t qrn_saver_end(const qrn_saver_call *call, Qnn_ErrorHandle_t code,
                                const void *const *args) {
    if ((call->how & QRN_CALL_DUMMY) &&
        (code == QNN_SUCCESS || code == QNN_COMMON_ERROR_NOT_SUPPORTED))
        code = QNN_SAVER_ERROR_DUMMY_RETVALUE;
    bool worked = code == QNN_SUCCESS || code == QNN_SAVER_ERROR_DUMMY_RETVALUE;
    qrn_status s = worked ? qrn_saver_record(call, args) : write_refused(call, code);
    if (s != QRN_OK && !(call->how & QRN_CALL_FREES)) {
        Qnn_ErrorHandle_t lost = qrn_api_end(call->comp, s, qrn_saver_log());
        if (worked)
            take_back(call, args);
        code = worked ? lost : code;
    }
    qrn_message_clear();
    if (worked && (call->how & QRN_CALL_FREES))
        forget(call, args);
    qrn_saver_unlock();
    return code;
}
