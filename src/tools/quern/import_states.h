// SPDX-License-Identifier: MIT
//
// Encodings of 8-bit caches for quern import: the ranges of keys and values while a text is read.
#ifndef QRN_TOOLS_QUERN_IMPORT_STATES_H
#define QRN_TOOLS_QUERN_IMPORT_STATES_H

#include "frontend/llm/llama_graph.h"

// Runs `prefill`, a graph with float outputs new_k_i and new_v_i that was written beside its
// tokenizer.json and config.json, on the CPU for windows of the text. out has 2 * layers entries.
// QT_EXIT_OK or another code after a message.
int qt_import_states(const char *prefill, const char *text, uint32_t layers, ql_state *out);

#endif
