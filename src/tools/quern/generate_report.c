// SPDX-License-Identifier: MIT
//
// Printing of generated text.
#include "tools/quern/generate_report.h"

#include "tools/quern/output.h"

#include <stdlib.h>
#include <unistd.h>

void qt_put_text(const char *text, size_t n) {
    bool terminal = isatty(STDOUT_FILENO);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        bool acts = (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f ||
                    (c == 0xc2 && i + 1 < n && (unsigned char)text[i + 1] < 0xa0);
        fputc(terminal && acts ? '?' : c, stdout);
        i += terminal && acts && c == 0xc2;
    }
    fflush(stdout);
}

// A line of JSON, and frees it.
static void put_line(json_t *object) {
    char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
    if (text)
        fprintf(stdout, "%s\n", text);
    fflush(stdout);
    free(text);
    json_decref(object);
}

void qt_put_text_event(const char *text, size_t n) {
    put_line(json_pack("{s:s%}", "text", text, n));
}

void qt_put_token_event(uint32_t token) {
    put_line(json_pack("{s:I}", "token", (json_int_t)token));
}

static double rate(double n, double ms) { return ms > 0 ? 1e3 * n / ms : 0; }

static const char *plural(size_t n) { return n == 1 ? "" : "s"; }

void qt_inform_statistics(const qt_generate_report *r) {
    const ql_generated *g = r->g;
    char bytes[32];
    qt_inform("prompt: %u token%s in %u execution%s, %.1f ms (%.1f tokens/s); first token after "
              "%.1f ms",
              g->prompt_tokens, plural(g->prompt_tokens), g->prompt_executions,
              plural(g->prompt_executions), g->prompt_ms, rate(g->prompt_tokens, g->prompt_ms),
              g->first_token_ms);
    qt_inform("decode: %zu token%s, %u execution%s, %.1f ms (%.1f tokens/s); ended by: %s",
              g->tokens.n, plural(g->tokens.n), g->decode_executions, plural(g->decode_executions),
              g->decode_ms, rate(g->decode_executions, g->decode_ms), ql_end_text(g->end));
    qt_inform("KV cache: %s for %u positions%s; loaded in %.1f ms; measured on this machine, "
              "backend %s",
              qt_bytes_text((double)r->model.cache_bytes, bytes, sizeof bytes), r->model.positions,
              r->model.shared ? ", in shared memory" : "", r->load_ms, r->backend);
}

json_t *qt_generate_json(const qt_generate_report *r) {
    const ql_generated *g = r->g;
    json_t *tokens = json_array();
    for (size_t i = 0; i < g->tokens.n; i++)
        json_array_append_new(tokens, json_integer(g->tokens.items[i]));
    json_t *statistics = json_pack(
        "{s:I,s:I,s:f,s:f,s:f,s:I,s:f,s:f,s:I,s:I,s:b,s:f,s:s}", "prompt_tokens",
        (json_int_t)g->prompt_tokens, "prompt_executions", (json_int_t)g->prompt_executions,
        "prompt_ms", g->prompt_ms, "prompt_tokens_per_s", rate(g->prompt_tokens, g->prompt_ms),
        "first_token_ms", g->first_token_ms, "decode_executions", (json_int_t)g->decode_executions,
        "decode_ms", g->decode_ms, "decode_tokens_per_s", rate(g->decode_executions, g->decode_ms),
        "cache_bytes", (json_int_t)r->model.cache_bytes, "positions",
        (json_int_t)r->model.positions, "cache_shared", r->model.shared, "load_ms", r->load_ms,
        "backend", r->backend);
    return json_pack("{s:s%,s:o,s:s,s:o}", "text", g->text.data ? g->text.data : "", g->text.n,
                     "tokens", tokens, "end", ql_end_text(g->end), "statistics", statistics);
}
