// SPDX-License-Identifier: MIT
//
// The small files of a model's folder, as Hugging Face lays them out: config.json, tokenizer.json
// and tokenizer_config.json, made from GGUF's keys.
#ifndef QRN_FRONTEND_LLM_FOLDER_H
#define QRN_FRONTEND_LLM_FOLDER_H

#include "base/report_text.h"
#include "frontend/llm/llama.h"

// Each makes the text of a file, which the caller frees (free). Tokens that are not UTF-8 or not
// unique, and tokenizers that are not known, are rejected.
qrn_status ql_config_json(const ql_llama *m, qrn_text *out);
qrn_status ql_tokenizer_json(const ql_llama *m, qrn_text *out);
qrn_status ql_tokenizer_config_json(const ql_llama *m, qrn_text *out);

#endif
