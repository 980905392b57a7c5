// SPDX-License-Identifier: MIT
//
// Sampling: penalty, temperature, the k most probable tokens, the nucleus, one draw.
#include "frontend/llm/sample.h"

#include "base/mem.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

typedef struct choice {
    float logit;
    uint32_t token;
} choice;

struct ql_sampler {
    ql_sampling how;
    uint32_t vocab;
    uint64_t state;
    bool *seen; // by token
    choice *choices;
};

qrn_status ql_sampler_make(const ql_sampling *how, uint32_t vocab, ql_sampler **out) {
    if (!(how->temperature >= 0))
        return QRN_FAIL(QRN_E_ARGUMENT, "temperature %g: expected 0 or more", how->temperature);
    if (!(how->top_p >= 0 && how->top_p <= 1))
        return QRN_FAIL(QRN_E_ARGUMENT, "top-p %g: expected 0 to 1", how->top_p);
    if (!(how->repeat_penalty >= 0))
        return QRN_FAIL(QRN_E_ARGUMENT, "repeat-penalty %g: expected more than 0",
                        how->repeat_penalty);
    ql_sampler *s = qrn_calloc(sizeof *s);
    if (s) {
        *s = (ql_sampler){.how = *how, .vocab = vocab, .state = how->seed};
        s->seen = qrn_calloc(vocab * sizeof *s->seen);
        s->choices = qrn_alloc(vocab * sizeof *s->choices);
    }
    if (!s || !s->seen || !s->choices) {
        ql_sampler_close(s);
        return QRN_FAIL(QRN_E_MEM, "no memory to choose among %u tokens", vocab);
    }
    *out = s;
    return QRN_OK;
}

void ql_sampler_close(ql_sampler *s) {
    if (!s)
        return;
    qrn_free(s->seen);
    qrn_free(s->choices);
    qrn_free(s);
}

void ql_sampler_note(ql_sampler *s, uint32_t token) {
    if (token < s->vocab)
        s->seen[token] = true;
}

// SplitMix64: 53 bits in [0, 1).
static double draw(ql_sampler *s) {
    uint64_t z = s->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static void penalize(const ql_sampler *s, float *logits) {
    float by = (float)s->how.repeat_penalty;
    if (by == 0 || by == 1)
        return;
    for (uint32_t i = 0; i < s->vocab; i++)
        if (s->seen[i])
            logits[i] = logits[i] > 0 ? logits[i] / by : logits[i] * by;
}

static qrn_status check(const ql_sampler *s, const float *logits, uint32_t *best) {
    *best = 0;
    for (uint32_t i = 0; i < s->vocab; i++) {
        if (isnan(logits[i]))
            return QRN_FAIL(QRN_E_GENERAL,
                            "the logit of token %u is NaN: the model, its cache or "
                            "its quantization is broken",
                            i);
        if (logits[i] > logits[*best])
            *best = i;
    }
    if (!isfinite(logits[*best]))
        return QRN_FAIL(QRN_E_GENERAL,
                        "the largest logit, of token %u, is %g: the model, its cache "
                        "or its quantization is broken",
                        *best, (double)logits[*best]);
    return QRN_OK;
}

// The largest first; of equal ones the smaller token.
static int by_logit(const void *a, const void *b) {
    const choice *x = a, *y = b;
    if (x->logit != y->logit)
        return x->logit < y->logit ? 1 : -1;
    return (x->token > y->token) - (x->token < y->token);
}

qrn_status ql_sampler_choose(ql_sampler *s, float *logits, uint32_t *token) {
    uint32_t best, n = s->vocab;
    QRN_TRY(check(s, logits, &best));
    penalize(s, logits);
    if (s->how.temperature == 0 || s->how.top_k == 1) {
        QRN_TRY(check(s, logits, token));
        return QRN_OK;
    }
    for (uint32_t i = 0; i < n; i++)
        s->choices[i] = (choice){logits[i], i};
    qsort(s->choices, n, sizeof *s->choices, by_logit);
    if (s->how.top_k && s->how.top_k < n)
        n = s->how.top_k;
    double sum = 0, part = 0, top = (double)s->choices[0].logit;
    for (uint32_t i = 0; i < n; i++)
        sum += exp(((double)s->choices[i].logit - top) / s->how.temperature);
    if (s->how.top_p > 0 && s->how.top_p < 1) {
        uint32_t kept = 0;
        while (kept < n && part < s->how.top_p * sum)
            part += exp(((double)s->choices[kept++].logit - top) / s->how.temperature);
        n = kept;
        sum = part;
    }
    double left = draw(s) * sum;
    uint32_t i = 0;
    for (; i + 1 < n; i++) {
        left -= exp(((double)s->choices[i].logit - top) / s->how.temperature);
        if (left < 0)
            break;
    }
    *token = s->choices[i].token;
    return QRN_OK;
}
