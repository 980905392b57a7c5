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
#include <unistd.h>

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

// The limit that a word names; NULL: none.
static uint64_t *find(const char *word, size_t len, qrn_limits *l) {
    const struct {
        const char *word;
        uint64_t *limit;
    } others[] = {{"time", &l->time_s}, {"run", &l->run_bytes}};
    for (int i = 0; i < QRN_COSTS; i++)
        if (strlen(limits[i].word) == len && memcmp(limits[i].word, word, len) == 0)
            return &l->most[i];
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strlen(others[i].word) == len && memcmp(others[i].word, word, len) == 0)
            return others[i].limit;
    return NULL;
}

qrn_status qrn_limits_parse(const char *text, qrn_limits *l) {
    for (const char *p = text; *p;) {
        size_t len = strcspn(p, "=,");
        const char *end = p;
        uint64_t *to = p[len] == '=' ? find(p, len, l) : NULL, n = 0;
        if (!to || !read_number(p + len + 1, &end, &n) || (*end && *end != ','))
            return QRN_FAIL(QRN_E_CONFIG,
                            "QUERN_LIMITS is '%s', expected a list such as "
                            "nodes=2M,memory=1G,work=500M,run=8G,time=60 (0: no limit)",
                            text);
        *to = n ? n : UINT64_MAX;
        p = end + (*end == ',');
    }
    return QRN_OK;
}

static uint64_t machine_bytes(void) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? multiply((uint64_t)pages, (uint64_t)page) : UINT64_MAX;
}

// The limits before the shares of a file are added.
static qrn_status read_limits(qrn_limits *l) {
    const char *set = qrn_env_get(QRN_ENV_LIMITS);
    *l = (qrn_limits){.time_s = QRN_TIME_LIMIT_S, .run_bytes = machine_bytes()};
    for (int i = 0; i < QRN_COSTS; i++)
        l->most[i] = limits[i].base;
    return set ? qrn_limits_parse(set, l) : QRN_OK;
}

qrn_status qrn_limit_run_bytes(uint64_t *most) {
    qrn_limits l;
    QRN_TRY(read_limits(&l));
    *most = l.run_bytes;
    return QRN_OK;
}

qrn_status qrn_budget_begin(qrn_budget *b, uint64_t n_nodes, uint64_t n_bytes) {
    qrn_limits l;
    QRN_TRY(read_limits(&l));
    *b = (qrn_budget){.end_ns = add(now_ns(), multiply(l.time_s, 1000000000u))};
    for (int i = 0; i < QRN_COSTS; i++)
        b->most[i] = add(l.most[i], add(multiply(limits[i].per_node, n_nodes),
                                        multiply(limits[i].per_byte, n_bytes)));
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
