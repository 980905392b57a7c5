// SPDX-License-Identifier: MIT
//
// Tensors written to files while graphs are executed (QUERN_DUMP, or an option of the backend):
// one folder an execution, one .npy file a tensor, and index.json, which docs/dump.md describes.
// Whatever goes wrong with files costs one warning; the execution itself goes on.
#ifndef QRN_CORE_DUMP_H
#define QRN_CORE_DUMP_H

#include "core/own.h"

typedef struct qrn_dump qrn_dump; // one execution that is written

// Settings of a new backend, from the environment.
qrn_status qrn_dump_from_environment(qrn_api_backend *b);
// The folder (copied; NULL or "": none) and the executions of each graph; 0: 1.
qrn_status qrn_dump_set(qrn_api_backend *b, const char *folder, uint32_t n_runs);

// Makes the folder of an execution and sets the trace of *opt; NULL when nothing is to be written,
// or nothing can be. The graph's runner must be there, and stay until the end.
qrn_dump *qrn_dump_start(qrn_api_graph *g, qrn_run_options *opt);
// Writes what is left and the index; frees the dump. `s` is how the execution ended.
void qrn_dump_end(qrn_dump *d, qrn_status s); // NULL is fine

static inline qrn_dump *qrn_dump_begin(qrn_api_graph *g, qrn_run_options *opt) {
    return g->context->backend->own->dump.folder ? qrn_dump_start(g, opt) : NULL;
}

#endif
