// SPDX-License-Identifier: MIT
//
// What quern generate prints: text as it comes, statistics, JSON.
#ifndef QRN_TOOLS_QUERN_GENERATE_REPORT_H
#define QRN_TOOLS_QUERN_GENERATE_REPORT_H

#include "frontend/llm/generate.h"

#include <jansson.h>

typedef struct qt_generate_report {
    const ql_generated *g;
    ql_model_info model;
    const char *backend;
    double load_ms;
} qt_generate_report;

// Text to stdout at once; on a terminal without control characters, which would act on it.
void qt_put_text(const char *text, size_t n);
// One line of JSON to stdout, at once: a piece of text, or a token.
void qt_put_text_event(const char *text, size_t n);
void qt_put_token_event(uint32_t token);
// Statistics to stderr, unless --quiet.
void qt_inform_statistics(const qt_generate_report *r);
// The whole result; NULL when out of memory.
json_t *qt_generate_json(const qt_generate_report *r);

#endif
