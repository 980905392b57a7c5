// SPDX-License-Identifier: MIT
//
// Chat templates: the part of Jinja that language models use to write a conversation as one text.
// Statements for, if, set, break and continue; expressions with attributes, indices, slices,
// arithmetic, comparisons, in, and/or/not, conditions; the filters, tests, methods and functions of
// docs/llm.md. Blocks are trimmed as Hugging Face's transformers do (trim_blocks, lstrip_blocks).
// Anything else fails with its line, when it is reached.
#ifndef QRN_FRONTEND_LLM_TEMPLATE_H
#define QRN_FRONTEND_LLM_TEMPLATE_H

#include "base/json_read.h"
#include "frontend/llm/tokenizer.h"

typedef struct ql_message {
    const char *role, *content;
} ql_message;

typedef struct ql_conversation {
    const ql_message *messages;
    uint32_t n;
    const char *bos, *eos; // texts of the tokens; NULL: not defined
    const qrn_json *tools; // list of tools that the model may call; NULL: none
    bool answer;           // with what precedes the model's own words (add_generation_prompt)
} ql_conversation;

// Adds the text. `name` is what failures call the template.
qrn_status ql_template_render(const char *name, const char *source, const ql_conversation *about,
                              ql_bytes *out);

#endif
