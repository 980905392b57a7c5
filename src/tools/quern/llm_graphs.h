// SPDX-License-Identifier: MIT
//
// The graphs of a language model, opened on a backend: ONNX models in one context, graphs of
// context binaries each in the context of its file.
#ifndef QRN_TOOLS_QUERN_LLM_GRAPHS_H
#define QRN_TOOLS_QUERN_LLM_GRAPHS_H

#include "frontend/llm/cache.h"
#include "tools/quern/flags.h"
#include "tools/quern/session.h"

typedef struct qt_llm_graphs qt_llm_graphs;

// QT_EXIT_OK or another code after a message.
int qt_llm_graphs_open(const qt_list *files, const qt_backend_options *backend,
                       qt_llm_graphs **out);
// The library that computes the first of them.
const char *qt_llm_graphs_backend(const qt_llm_graphs *l);
// Applies an adapter to the contexts. QT_EXIT_OK or another code after a message.
int qt_llm_graphs_apply(const qt_llm_graphs *l, const char *adapter);
void qt_llm_graphs_close(qt_llm_graphs *l); // NULL is fine
const ql_graph *qt_llm_graphs_list(const qt_llm_graphs *l, uint32_t *n);
// Memory for the cache: shared with the accelerator where the backend has that. Use it until
// qt_llm_graphs_close, and not after.
ql_memory qt_llm_graphs_memory(const qt_llm_graphs *l);

#endif
