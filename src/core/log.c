// SPDX-License-Identifier: MIT
//
// Lines of the log: to the callback of a handle, the default stream and the file of QUERN_LOG.
// Nothing is written anywhere unless a handle or QUERN_LOG asks for it.
//
// State of the library: the file behind QUERN_LOG, opened with the first line and closed at unload.
// No lock is held while a client's callback runs.
#include "core/own.h"

#include "base/env.h"
#include "base/mem.h"
#include "base/outfile.h"
#include "base/report_text.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_BYTES 2048

static pthread_once_t sink_once = PTHREAD_ONCE_INIT;
static atomic_int sink = -1; // of QUERN_LOG
static int sink_error;       // why it could not be opened

static void sink_open(void) {
    const char *path = qrn_env_get(QRN_ENV_LOG);
    if (!path)
        return;
    sink = strcmp(path, "-") == 0 ? STDERR_FILENO : qrn_outfile_open_append(path);
    if (sink < 0)
        sink_error = errno;
}

int qrn_log_file_error(void) {
    pthread_once(&sink_once, sink_open);
    return sink_error;
}

__attribute__((destructor)) static void sink_close(void) {
    if (sink > STDERR_FILENO)
        close(sink);
    sink = -1;
}

static const char *level_name(QnnLog_Level_t level) {
    static const char *const names[] = {"?", "ERROR", "WARN", "INFO", "VERBOSE", "DEBUG"};
    return (unsigned)level < sizeof names / sizeof *names ? names[level] : names[0];
}

// One write per line, so that lines of several threads and processes do not mix.
static void write_line(int fd, QnnLog_Level_t level, uint64_t time_ns, const char *text) {
    char line[LINE_MAX_BYTES + 128];
    int n = snprintf(line, sizeof line - 1, "%12.3f ms %-7s %s: %s", (double)time_ns / 1e6,
                     level_name(level), qrn_this_backend.provider_name, text);
    if (n < 0)
        return;
    size_t len = strlen(line);
    line[len++] = '\n';
    ssize_t done = write(fd, line, len);
    (void)done; // a log that cannot be written must not disturb the call
}

// Clients print what the callback is given as it is, so it ends the line; some keep 255 bytes of
// it. Errors and warnings say what is wrong behind the names of graph, node and tensor, so names
// are shortened where it would be lost. QUERN_LOG has them whole.
#define CALLBACK_BYTES 200

// The client's callback, as part of a call: it must not wait in there. The log may be freed by it.
static void call_back(qrn_api_log *log, QnnLog_Level_t level, uint64_t ns, const char *fmt, ...) {
    QRN_API_CALL;
    va_list args;
    va_start(args, fmt);
    log->callback(fmt, level, ns, args);
    va_end(args);
    qrn_log_release(log);
}

void qrn_log(qrn_api_log *log, QnnLog_Level_t level, const char *fmt, ...) {
    pthread_once(&sink_once, sink_open);
    bool to_handle = log && (int)level <= atomic_load_explicit(&log->level, memory_order_relaxed);
    if (!to_handle && sink < 0)
        return;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    char raw[LINE_MAX_BYTES], text[LINE_MAX_BYTES];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(raw, sizeof raw, fmt, args);
    va_end(args);
    if (n < 0)
        return;
    qrn_shown_text(text, sizeof text, raw); // names in it come from files
    if (sink >= 0)
        write_line(sink, level, ns, text);
    // While the callback runs its handle is in use: who frees the log waits for it, and a log that
    // was freed is not entered any more.
    const void *handle = to_handle ? log->handle : NULL;
    if (qrn_handle_enter(QRN_KIND_LOG, handle, QRN_ENTER_SHARED, NULL) != QRN_OK)
        return;
    if (log->callback && level <= QNN_LOG_LEVEL_WARN)
        qrn_short_names(raw, sizeof raw, text, CALLBACK_BYTES);
    if (log->callback)
        call_back(qrn_log_hold(log), level, ns, "%s\n", level <= QNN_LOG_LEVEL_WARN ? raw : text);
    else
        write_line(STDERR_FILENO, level, ns, text);
    qrn_handle_leave(handle, false);
}

qrn_api_log *qrn_log_hold(qrn_api_log *log) {
    if (log)
        atomic_fetch_add(&log->users, 1);
    return log;
}

void qrn_log_release(qrn_api_log *log) {
    if (log && atomic_fetch_sub(&log->users, 1) == 1)
        qrn_free(log);
}
