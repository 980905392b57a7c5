// SPDX-License-Identifier: MIT
//
// Language models that ExecuTorch's Llama script compiled: the methods of a program as graphs.
#ifndef QRN_TOOLS_QUERN_LLM_PTE_H
#define QRN_TOOLS_QUERN_LLM_PTE_H

#include "frontend/llm/signature.h"
#include "tools/quern/session.h"

typedef struct qt_llm_pte qt_llm_pte;

// Methods with delegates; they share the contexts of the first one. QT_EXIT_OK or another code
// after a message.
int qt_llm_pte_open(const char *file, const qt_backend_options *backend, qt_llm_pte **out);
void qt_llm_pte_close(qt_llm_pte *p); // NULL is fine
const ql_graph *qt_llm_pte_graphs(const qt_llm_pte *p, uint32_t *n);

#endif
