// SPDX-License-Identifier: MIT
//
// The host: tables, statuses and log lines.
#include "frontend/ort/host.h"

#include "base/report_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

qe_host qe_the_host;

// "1.24.1" is API 24.
static uint32_t api_of(const char *version) {
    const char *dot = version ? strchr(version, '.') : NULL;
    return dot ? (uint32_t)strtoul(dot + 1, NULL, 10) : 0;
}

OrtStatus *qe_host_take(const OrtApiBase *base, const OrtLogger *logger) {
    const char *version = base->GetVersionString();
    const OrtTable *api = base->GetApi(ORT_API_WANTED);
    if (!api) {
        uint32_t has = api_of(version);
        api = has ? base->GetApi(has) : base->GetApi(1);
        if (!api)
            return NULL; // nothing to say it with
        char text[256];
        snprintf(text, sizeof text,
                 "the Quern execution provider needs onnxruntime 1.%d or newer and was loaded by "
                 "%s; install a newer one: pip install -U onnxruntime",
                 ORT_API_LEAST, version ? version : "an unknown version");
        return ((ort_CreateStatus_fn)api->slot[ORT_SLOT_CreateStatus])(ORT_FAIL, text);
    }
    qe_the_host = (qe_host){.api = api, .version = api_of(version), .logger = logger};
    qe_the_host.ep = ORT(GetEpApi)();
    qe_the_host.editor = ORT(GetModelEditorApi)();
    return NULL;
}

qrn_status qe_heard(OrtStatus *s, const char *call) {
    if (!s)
        return QRN_OK;
    qrn_fail(QRN_E_GENERAL, "%s: %s", call, ORT(GetErrorMessage)(s));
    ORT(ReleaseStatus)(s);
    return QRN_E_GENERAL;
}

OrtStatus *qe_status_as(OrtErrorCode code, qrn_status s) {
    if (s == QRN_OK)
        return NULL;
    return ORT(CreateStatus)(code, qrn_message()[0] ? qrn_message() : qrn_status_text(s));
}

OrtStatus *qe_status(qrn_status s) {
    OrtErrorCode code = s == QRN_E_ARGUMENT || s == QRN_E_CONFIG ? ORT_INVALID_ARGUMENT
                        : s == QRN_E_NOT_FOUND                   ? ORT_NO_SUCHFILE
                        : s == QRN_E_UNSUPPORTED                 ? ORT_NOT_IMPLEMENTED
                                                                 : ORT_EP_FAIL;
    return qe_status_as(code, s);
}

void qe_say_list(const OrtLogger *l, OrtLoggingLevel level, const char *fmt, va_list args) {
    if (!l)
        l = qe_the_host.logger;
    OrtLoggingLevel least = ORT_LOG_WARNING;
    if (!l || qe_heard(ORT(Logger_GetLoggingSeverityLevel)(l, &least), "log") || level < least)
        return;
    char raw[2048], line[2048];
    qrn_log_line(raw, sizeof raw, fmt, args);
    // Hosts decode what they are sent, and fail where names of a model are no UTF-8. Nor should
    // such a name begin a line of its own, or move the cursor of a terminal.
    qrn_shown_text(line, sizeof line, raw);
    (void)qe_heard(ORT(Logger_LogMessage)(l, level, line, "quern", 0, ""), "log");
}

void qe_say(const OrtLogger *l, OrtLoggingLevel level, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    qe_say_list(l, level, fmt, args);
    va_end(args);
}
