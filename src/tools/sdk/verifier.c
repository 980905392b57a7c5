// SPDX-License-Identifier: MIT
#include "tools/sdk/verifier.h"

#include "tools/quern/flags.h"
#include "tools/quern/output.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct sums {
    const float *got, *want;
    size_t n;
    double signal, norm, dot, error, absolute, largest, largest_want;
    bool odd; // a NaN or an infinity on one side alone
} sums;

// --- metrics: value and verdict

static double cosine(const sums *s) {
    return s->signal == 0 && s->norm == 0   ? 1
           : s->signal == 0 || s->norm == 0 ? 0
                                            : s->dot / (sqrt(s->signal) * sqrt(s->norm));
}

static qs_verdict below(double value, double limit) {
    return (qs_verdict){value, value <= limit}; // NaN: no
}

static qs_verdict above(double value, double limit) { return (qs_verdict){value, value >= limit}; }

static qs_verdict by_cosine(const sums *s, const double *p) {
    return above(s->odd ? 0 : cosine(s), p[0]);
}
static qs_verdict by_mse(const sums *s, const double *p) {
    return below(s->n ? s->error / (double)s->n : 0, p[0]);
}
static qs_verdict by_mae(const sums *s, const double *p) {
    return below(s->n ? s->absolute / (double)s->n : 0, p[0]);
}
static qs_verdict by_l1(const sums *s, const double *p) { return below(s->absolute, p[0]); }
static qs_verdict by_sqnr(const sums *s, const double *p) {
    return above(s->error == 0 ? INFINITY : 10 * log10(s->signal / s->error), p[0]);
}
static qs_verdict by_scaled(const sums *s, const double *p) {
    return below(s->largest == 0 ? 0 : s->largest / s->largest_want, p[0]);
}

// Share of elements outside of atol + rtol * |want|, in percent.
static qs_verdict by_tolerance(const sums *s, const double *p) {
    size_t outside = 0;
    for (size_t i = 0; i < s->n; i++) {
        double want = (double)s->want[i], error = fabs((double)s->got[i] - want);
        outside += !(error <= p[1] + p[0] * fabs(want)) && s->got[i] != s->want[i] &&
                   !(isnan(s->got[i]) && isnan(s->want[i]));
    }
    double share = s->n ? 100 * (double)outside / (double)s->n : 0;
    return (qs_verdict){share, outside == 0};
}

// How many values are larger, or as large and earlier.
static size_t rank_of(const float *list, size_t n, size_t i) {
    size_t rank = 0;
    for (size_t k = 0; k < n; k++)
        rank += list[k] > list[i] || (list[k] == list[i] && k < i);
    return rank;
}

// Of the k largest values of the reference the share that is among the k largest, in percent.
static qs_verdict by_top(const sums *s, const double *p) {
    size_t k = p[0] >= 1 && p[0] < (double)s->n ? (size_t)p[0] : p[0] >= 1 ? s->n : 1, both = 0;
    k = k < s->n ? k : s->n;
    float last = INFINITY; // the value that was found before, and where
    size_t at = 0;
    for (size_t found = 0; found < k; found++) { // the next largest of the reference
        size_t best = s->n;
        for (size_t i = 0; i < s->n; i++) {
            bool left = found == 0 || s->want[i] < last || (s->want[i] == last && i > at);
            if (left && !isnan(s->want[i]) && (best == s->n || s->want[i] > s->want[best]))
                best = i;
        }
        if (best == s->n)
            break;
        last = s->want[best];
        at = best;
        both += rank_of(s->got, s->n, best) < k;
    }
    double share = k ? 100 * (double)both / (double)k : 100;
    return (qs_verdict){share, both == k};
}

typedef struct qs_verifier_kind {
    const char *name;
    const char *params[QS_MAX_PARAMS];
    double defaults[QS_MAX_PARAMS];
    qs_verdict (*judge)(const sums *s, const double *params);
} kind;

static const kind kinds[] = {
    {"RtolAtol", {"rtolmargin", "atolmargin"}, {0.01, 0.01}, by_tolerance},
    {"TopK", {"k", NULL}, {1, 0}, by_top},
    {"L1Error", {"threshold", NULL}, {INFINITY, 0}, by_l1},
    {"CosineSimilarity", {"threshold", NULL}, {0.99, 0}, by_cosine},
    {"MSE", {"threshold", NULL}, {INFINITY, 0}, by_mse},
    {"MAE", {"threshold", NULL}, {INFINITY, 0}, by_mae},
    {"SQNR", {"threshold", NULL}, {20, 0}, by_sqnr},
    {"ScaledDiff", {"threshold", NULL}, {INFINITY, 0}, by_scaled},
};

// --- names and parameters

static int unknown(const char *where, const char *name) {
    if (strcasecmp(name, "AdjustedRtolAtol") == 0)
        qt_error("%s: AdjustedRtolAtol is not supported: how it adjusts its margins is not "
                 "published; use RtolAtol",
                 where);
    else
        qt_error("%s: no verifier '%s'; there are RtolAtol, TopK, L1Error, CosineSimilarity, MSE, "
                 "MAE, SQNR and ScaledDiff",
                 where, name);
    return QT_EXIT_USAGE;
}

static int set_param(const char *where, const char *name, const char *value, qs_verifier *v) {
    char *end = NULL;
    double number = value ? strtod(value, &end) : 0;
    for (int i = 0; i < QS_MAX_PARAMS; i++)
        if (v->kind->params[i] && strcasecmp(v->kind->params[i], name) == 0) {
            if (!value || end == value || *end || !(number >= -1e30 && number <= 1e30)) {
                qt_error("%s: %s of %s: '%s' is not a number", where, name, v->kind->name,
                         value ? value : "");
                return QT_EXIT_USAGE;
            }
            v->params[i] = number;
            return QT_EXIT_OK;
        }
    qt_error("%s: %s has no parameter '%s', but %s%s%s", where, v->kind->name, name,
             v->kind->params[0], v->kind->params[1] ? " and " : "",
             v->kind->params[1] ? v->kind->params[1] : "");
    return QT_EXIT_USAGE;
}

int qs_verifier_parse(const char *where, const char *text, qs_verifier *out) {
    char *copy = strdup(text), *rest = copy;
    if (!copy) {
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    const char *name = strsep(&rest, ",");
    qs_verifier v = {0};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcasecmp(kinds[i].name, name) == 0)
            v = (qs_verifier){&kinds[i], {kinds[i].defaults[0], kinds[i].defaults[1]}};
    int code = v.kind ? QT_EXIT_OK : unknown(where, name);
    while (code == QT_EXIT_OK && rest) {
        const char *param = strsep(&rest, ","), *value = rest ? strsep(&rest, ",") : NULL;
        code = set_param(where, param, value, &v);
    }
    free(copy);
    if (code == QT_EXIT_OK)
        *out = v;
    return code;
}

const char *qs_verifier_name(const qs_verifier *v) { return v->kind->name; }

const char *qs_verifier_params(const qs_verifier *v, char *buf, size_t size) {
    buf[0] = '\0';
    for (int i = 0; i < QS_MAX_PARAMS && v->kind->params[i]; i++) {
        size_t at = strlen(buf);
        snprintf(buf + at, size - at, "%s%s=%g", i ? " " : "", v->kind->params[i], v->params[i]);
    }
    return buf;
}

qs_verdict qs_verify(const qs_verifier *v, const float *got, const float *want, size_t n) {
    sums s = {.got = got, .want = want, .n = n};
    for (size_t i = 0; i < n; i++) {
        double g = (double)got[i], w = (double)want[i], e = fabs(g - w);
        if (g == w || (isnan(g) && isnan(w)))
            e = 0;
        s.odd |= !isfinite(e);
        s.signal += w * w;
        s.norm += g * g;
        s.dot += g * w;
        s.error += e * e;
        s.absolute += e;
        s.largest = e > s.largest || isnan(e) ? e : s.largest;
        s.largest_want = fabs(w) > s.largest_want ? fabs(w) : s.largest_want;
    }
    return v->kind->judge(&s, v->params);
}
