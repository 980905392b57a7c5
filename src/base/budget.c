// SPDX-License-Identifier: MIT
//
// Budgets: the limits, what is left of them, and the words for one that is reached.
#include "base/budget.h"

#include "base/env.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct limit {
    const char *word;
    uint64_t base, per_node, per_byte;
    const char *text;
} limit;

static const limit limits[QRN_COSTS] = {
#define X(name, word, base, node, byte, text) {word, base, node, byte, text},
    QRN_COST_LIST(X)
#undef X
};

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t add(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

static uint64_t multiply(uint64_t a, uint64_t b) {
    return b && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

// A number with K, M or G behind it; `end` is where it ends. False: there is none.
static bool read_number(const char *text, const char **end, uint64_t *out) {
    char *stop;
    errno = 0;
    unsigned long long n = strtoull(text, &stop, 10);
    if (stop == text || errno || text[0] == '-' || text[0] == '+' || text[0] == ' ')
        return false;
    static const char units[] = "KMG";
    const char *unit = *stop ? strchr(units, *stop) : NULL;
    for (const char *u = units; unit && u <= unit; u++)
        n = multiply(n, 1024);
    *end = stop + (unit ? 1 : 0);
    *out = n;
    return true;
}

// The limit that a word names: most[] or *time_s; NULL: none.
static uint64_t *find(const char *word, size_t len, uint64_t *most, uint64_t *time_s) {
    for (int i = 0; i < QRN_COSTS; i++)
        if (strlen(limits[i].word) == len && memcmp(limits[i].word, word, len) == 0)
            return &most[i];
    return len == 4 && memcmp(word, "time", 4) == 0 ? time_s : NULL;
}

qrn_status qrn_limits_parse(const char *text, uint64_t *most, uint64_t *time_s) {
    for (const char *p = text; *p;) {
        size_t len = strcspn(p, "=,");
        const char *end = p;
        uint64_t *to = p[len] == '=' ? find(p, len, most, time_s) : NULL, n = 0;
        if (!to || !read_number(p + len + 1, &end, &n) || (*end && *end != ','))
            return QRN_FAIL(QRN_E_CONFIG,
                            "QUERN_LIMITS is '%s', expected a list such as "
                            "nodes=2M,memory=1G,work=500M,time=60 (0: no limit)",
                            text);
        *to = n ? n : UINT64_MAX;
        p = end + (*end == ',');
    }
    return QRN_OK;
}

qrn_status qrn_budget_begin(qrn_budget *b, uint64_t n_nodes, uint64_t n_bytes) {
    uint64_t time_s = QRN_TIME_LIMIT_S;
    const char *set = qrn_env_get(QRN_ENV_LIMITS);
    *b = (qrn_budget){0};
    for (int i = 0; i < QRN_COSTS; i++)
        b->most[i] = limits[i].base;
    if (set)
        QRN_TRY(qrn_limits_parse(set, b->most, &time_s));
    for (int i = 0; i < QRN_COSTS; i++)
        b->most[i] = add(b->most[i], add(multiply(limits[i].per_node, n_nodes),
                                         multiply(limits[i].per_byte, n_bytes)));
    b->end_ns = add(now_ns(), multiply(time_s, 1000000000u));
    return QRN_OK;
}

uint64_t qrn_budget_left(const qrn_budget *b, qrn_cost c) {
    return b->most[c] > b->spent[c] ? b->most[c] - b->spent[c] : 0;
}

qrn_status qrn_budget_spend(qrn_budget *b, qrn_cost c, uint64_t n) {
    b->spent[c] = add(b->spent[c], n);
    if (b->spent[c] > b->most[c])
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "the limit of %llu %s is reached; if the file is trusted, raise it with "
                        "QUERN_LIMITS=%s=N",
                        (unsigned long long)b->most[c], limits[c].text, limits[c].word);
    if (b->end_ns != UINT64_MAX && now_ns() > b->end_ns)
        return QRN_FAIL(QRN_E_TIMED_OUT,
                        "the time limit is reached; if the file is trusted, raise it with "
                        "QUERN_LIMITS=time=SECONDS");
    return QRN_OK;
}
