// SPDX-License-Identifier: MIT
//
// What the files beside a model say about it, in Hugging Face's words: config.json,
// generation_config.json, tokenizer_config.json. Failures name file, line and key.
#ifndef QRN_FRONTEND_LLM_CONFIG_H
#define QRN_FRONTEND_LLM_CONFIG_H

#include "base/arena.h"
#include "frontend/llm/rope.h"

#include <stdint.h>

#define QL_MAX_ENDS 16

typedef struct ql_config {
    ql_rope rope;       // theta 0: the file does not say
    uint32_t vocab;     // 0: not said
    uint32_t positions; // that the model was trained for; 0: not said
    uint32_t ends[QL_MAX_ENDS], n_ends;
} ql_config;

// config.json or generation_config.json; adds to what is there.
qrn_status ql_config_read(const char *path, ql_config *to);

typedef struct ql_chat {
    const char *chat_template; // Jinja; NULL: none
    const char *bos, *eos;     // tokens in words; NULL: not said
} ql_chat;

// tokenizer_config.json, into the arena.
qrn_status ql_chat_read(const char *path, qrn_arena *arena, ql_chat *out);

#endif
