// SPDX-License-Identifier: MIT
//
// Environment variables, copied when the library is loaded. A program that has more rights than its
// user (setuid, file capabilities) obeys none of them: they name files to write.
#include "base/env.h"

#include <stdlib.h>
#include <string.h>

#define VALUE_MAX 4096 // as long as a path may be

static char values[QRN_ENV_COUNT][VALUE_MAX]; // written once by the loader, then read-only

__attribute__((constructor)) static void read_environment(void) {
    static const char *const names[QRN_ENV_COUNT] = {
#define X(name, var, text) var,
        QRN_ENV_LIST(X)
#undef X
    };
    for (int i = 0; i < QRN_ENV_COUNT; i++) {
        const char *v = secure_getenv(names[i]);
        size_t n = v ? strlen(v) : 0;
        if (n > 0 && n < VALUE_MAX)
            memcpy(values[i], v, n + 1);
    }
}

const char *qrn_env_get(qrn_env e) { return values[e][0] ? values[e] : NULL; }

int qrn_env_has(qrn_env e, const char *word) {
    const char *list = qrn_env_get(e);
    size_t n = strlen(word);
    while (list && *list) {
        size_t len = strcspn(list, ",");
        if (len == n && memcmp(list, word, n) == 0)
            return 1;
        list += len + (list[len] == ',');
    }
    return 0;
}

int qrn_env_verbose(const char *word) { return qrn_env_has(QRN_ENV_VERBOSE, word); }
