// SPDX-License-Identifier: MIT
//
// What the library logs at its most talkative level, for tests that observe what a client can.
#ifndef QRN_TESTS_HTP_LOG_H
#define QRN_TESTS_HTP_LOG_H

#include "htp_client.h"

#include <pthread.h>

static char logged[1u << 16]; // the newest lines; one buffer, because the callback has no context
static pthread_mutex_t logged_lock = PTHREAD_MUTEX_INITIALIZER;

static inline void log_line(const char *fmt, QnnLog_Level_t level, uint64_t time, va_list args) {
    (void)level, (void)time;
    pthread_mutex_lock(&logged_lock);
    size_t n = strlen(logged);
    if (n > sizeof logged - 2048)
        n = 0;
    vsnprintf(logged + n, sizeof logged - n - 1, fmt, args);
    strcat(logged + n, "\n");
    pthread_mutex_unlock(&logged_lock);
}

static inline Qnn_LogHandle_t log_begin(const htp_table *qnn) {
    Qnn_LogHandle_t log = NULL;
    logged[0] = '\0';
    HTP_OK(qnn->logCreate(log_line, QNN_LOG_LEVEL_VERBOSE, &log));
    return log;
}

// The number behind the last `key` of the log; false when there is none.
static inline bool log_number(const char *key, uint64_t *out) {
    const char *found = NULL;
    for (const char *at = strstr(logged, key); at; at = strstr(at + 1, key))
        found = at;
    if (found)
        *out = strtoull(found + strlen(key), NULL, 10);
    return found != NULL;
}

// Where the context that was loaded last lies in the accelerator's sessions.
typedef struct log_room {
    unsigned session;
    unsigned long long bytes, io_bytes;
} log_room;

static inline log_room log_place(void) {
    static const char key[] = "context: session ";
    const char *found = NULL;
    log_room p;
    for (const char *at = strstr(logged, key); at; at = strstr(at + 1, key))
        found = at;
    assert_non_null(found);
    assert_int_equal(sscanf(found, "context: session %u, %llu bytes, of them %llu", &p.session,
                            &p.bytes, &p.io_bytes),
                     3);
    return p;
}

#endif
