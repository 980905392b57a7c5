// SPDX-License-Identifier: MIT
//
// Error component: the meaning of a code, and what the calling thread's last failure with that code
// was about.
#include "api/given.h"
#include "base/mem.h"
#include "core/errors.h"
#include "core/own.h"

static qrn_status get_message(Qnn_ErrorHandle_t error, const char **message) {
    if (!message)
        return QRN_FAIL(QRN_E_ARGUMENT, "error message: no place to write to");
    *message = NULL;
    const char *text = qrn_error_text(error);
    if (!text)
        return QRN_FAIL(QRN_E_HANDLE, "%llu is not an error code", (unsigned long long)error);
    *message = text;
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnError_getMessage(Qnn_ErrorHandle_t errorHandle, const char **errorMessage) {
    return qrn_api_end(QRN_COMP_ERROR, get_message(errorHandle, errorMessage), NULL);
}

// The message this thread's last failure with that code had, else the general meaning.
static qrn_status verbose_message(Qnn_ErrorHandle_t error, const char **message) {
    const char *text;
    if (!message)
        return QRN_FAIL(QRN_E_ARGUMENT, "verbose error message: no place to write to");
    QRN_TRY(get_message(error, message));
    text = *message;
    *message = NULL;
    char line[QRN_MESSAGE_MAX + 80];
    if (qrn_error_kept(error, line, sizeof line))
        text = line;
    char *copy = qrn_strdup(text);
    if (!copy || !qrn_given_add(QRN_GIVEN_TEXT, copy)) {
        qrn_free(copy);
        return QRN_E_MEM;
    }
    *message = copy;
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnError_getVerboseMessage(Qnn_ErrorHandle_t errorHandle,
                                             const char **errorMessage) {
    return qrn_api_end(QRN_COMP_ERROR, verbose_message(errorHandle, errorMessage), NULL);
}

static qrn_status free_verbose(const char *message) {
    if (!qrn_given_take(QRN_GIVEN_TEXT, message))
        return QRN_FAIL(QRN_E_ARGUMENT, "not a verbose error message that is still in use");
    qrn_free((char *)message);
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnError_freeVerboseMessage(const char *errorMessage) {
    return qrn_api_end(QRN_COMP_ERROR, free_verbose(errorMessage), NULL);
}
