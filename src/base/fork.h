// SPDX-License-Identifier: MIT
//
// Locks of the process and fork: the thread that held one does not live in the child.
#ifndef QRN_BASE_FORK_H
#define QRN_BASE_FORK_H

#include <pthread.h>

// Makes a mutex of the file free again in the child of a fork; once a file. For what a lock guards
// only for moments, so that the child finds it whole.
#define QRN_RENEW_AFTER_FORK(mutex)                                                                \
    static void renew_after_fork(void) { pthread_mutex_init(&(mutex), NULL); }                     \
    __attribute__((constructor)) static void watch_forks(void) {                                   \
        pthread_atfork(NULL, NULL, renew_after_fork);                                              \
    }                                                                                              \
    _Static_assert(1, "for the semicolon")

#endif
