// SPDX-License-Identifier: MIT
//
// The loop.
#include "frontend/llm/generate.h"

#include <string.h>

const char *ql_end_text(ql_end end) {
    static const char *const words[] = {[QL_END_TOKEN] = "end",
                                        [QL_END_STOP] = "stop",
                                        [QL_END_LIMIT] = "limit",
                                        [QL_END_CONTEXT] = "context",
                                        [QL_END_ASKED] = "interrupted"};
    return words[end];
}

typedef struct loop {
    ql_model *m;
    const ql_generate_options *o;
    ql_generated *out;
    ql_decoder decoder;
    ql_sampler *sampler;
    size_t given; // bytes of the text that the caller has
} loop;

static bool is_end(const loop *l, uint32_t token) {
    for (uint32_t i = 0; i < l->o->n_ends; i++)
        if (l->o->ends[i] == token)
            return true;
    return false;
}

static void give(loop *l, size_t end) {
    if (l->o->text && end > l->given)
        l->o->text(l->o->ctx, l->out->text.data + l->given, end - l->given);
    l->given = end > l->given ? end : l->given;
}

// The place of a stop text that is complete, or else where one may have begun.
static size_t find_stop(const loop *l, bool *complete) {
    const ql_bytes *b = &l->out->text;
    size_t safe = b->n;
    *complete = false;
    for (size_t at = l->given; at < b->n && at < safe; at++)
        for (uint32_t i = 0; i < l->o->n_stops; i++) {
            size_t n = strlen(l->o->stops[i]), left = b->n - at;
            if (n == 0 || memcmp(b->data + at, l->o->stops[i], n < left ? n : left) != 0)
                continue;
            safe = at;
            *complete |= n <= left;
        }
    return safe;
}

// Passes text on that no stop text can take back. True: a stop text ends it.
static bool pass_text(loop *l, bool last) {
    bool complete;
    size_t safe = find_stop(l, &complete);
    give(l, last && !complete ? l->out->text.n : safe);
    if (complete) {
        l->out->text.n = safe;
        l->out->text.data[safe] = '\0';
    }
    return complete;
}

// Chooses a token and adds its text. *over: nothing more is to come.
static qrn_status take_token(loop *l, float *logits, uint32_t *token, bool *over) {
    ql_generated *out = l->out;
    *over = true;
    QRN_TRY(ql_sampler_choose(l->sampler, logits, token));
    out->end = QL_END_TOKEN;
    if (is_end(l, *token))
        return QRN_OK;
    QRN_TRY(ql_ids_add(&out->tokens, *token));
    ql_sampler_note(l->sampler, *token);
    QRN_TRY(ql_decode(&l->decoder, *token, &out->text));
    if (l->o->token)
        l->o->token(l->o->ctx, *token, (uint32_t)out->tokens.n);
    out->end = QL_END_STOP;
    if (pass_text(l, false))
        return QRN_OK;
    out->end = QL_END_LIMIT;
    if (l->o->max_tokens && out->tokens.n >= l->o->max_tokens)
        return QRN_OK;
    out->end = QL_END_CONTEXT;
    if (ql_model_position(l->m) >= ql_model_describe(l->m).positions)
        return QRN_OK;
    out->end = QL_END_ASKED;
    *over = l->o->is_over && l->o->is_over(l->o->ctx);
    return QRN_OK;
}

static qrn_status run(loop *l, const uint32_t *prompt, uint32_t n) {
    ql_generated *out = l->out;
    double begin = l->o->now_ms();
    ql_fed fed;
    uint32_t token;
    bool over;
    qrn_status s = ql_model_feed(l->m, prompt, n, l->o->is_over, l->o->ctx, &fed);
    out->prompt_tokens = fed.done;
    out->prompt_executions = fed.executions;
    out->prompt_ms = l->o->now_ms() - begin;
    QRN_TRY(s);
    out->end = QL_END_ASKED;
    if (fed.done < n)
        return QRN_OK;
    for (uint32_t i = 0; i < n; i++)
        ql_sampler_note(l->sampler, prompt[i]);
    QRN_TRY(take_token(l, fed.logits, &token, &over));
    out->first_token_ms = l->o->now_ms() - begin;
    while (!over) {
        QRN_TRY(ql_model_feed(l->m, &token, 1, NULL, NULL, &fed));
        out->decode_executions++;
        s = take_token(l, fed.logits, &token, &over);
        out->decode_ms = l->o->now_ms() - begin - out->first_token_ms;
        QRN_TRY(s);
    }
    return QRN_OK;
}

qrn_status ql_generate(ql_model *m, const ql_tokenizer *t, const uint32_t *prompt, size_t n,
                       const ql_generate_options *options, ql_generated *out) {
    *out = (ql_generated){.end = QL_END_ASKED};
    ql_model_info info = ql_model_describe(m);
    uint32_t room = info.positions - ql_model_position(m);
    loop l = {.m = m, .o = options, .out = out, .decoder = {.t = t, .inside = options->inside}};
    if (n == 0)
        return QRN_FAIL(QRN_E_ARGUMENT, "the prompt is empty: it has no token");
    if (n > room)
        return QRN_FAIL(QRN_E_ARGUMENT,
                        "the prompt has %zu tokens, the context of the model room for %u more of "
                        "%u positions",
                        n, room, info.positions);
    QRN_TRY(ql_sampler_make(&options->sampling, info.vocab, &l.sampler));
    qrn_status s = run(&l, prompt, (uint32_t)n);
    if (s == QRN_OK && out->end != QL_END_STOP) {
        s = ql_decode_end(&l.decoder, &out->text);
        if (s == QRN_OK && pass_text(&l, true))
            out->end = QL_END_STOP;
    }
    ql_sampler_close(l.sampler);
    return s;
}

void ql_generated_free(ql_generated *g) {
    ql_bytes_free(&g->text);
    ql_ids_free(&g->tokens);
}
