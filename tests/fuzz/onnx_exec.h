// SPDX-License-Identifier: MIT
//
// Runs an ONNX (or .tflite) model as `quern run` does: read, imported into a backend's graph,
// finalized, and executed with drawn data. Demands what must hold for any model, however wrong: a
// result or a message; equal results twice; inputs untouched; nothing kept.
#ifndef TESTS_FUZZ_ONNX_EXEC_H
#define TESTS_FUZZ_ONNX_EXEC_H

#include "source.h"

#include "frontend/onnx/import.h"

typedef enum exec_result {
    EXEC_UNREAD,    // rejected by the reader
    EXEC_REJECTED,  // by the importer, or when the graph was finalized
    EXEC_CONSTANT,  // nothing was left to execute
    EXEC_TOO_LARGE, // inputs and outputs are more than the client holds
    EXEC_FAILED,    // execution returned an error
    EXEC_DONE,
    EXEC_RESULTS
} exec_result;

// Opens a backend ("cpu", "htp") of $QUERN_LIB_DIR; ends the program when it cannot.
void onnx_exec_open(const char *backend);
void onnx_exec_close(void);

// `choice` draws options and data; the bytes of the model are read from memory or from a file.
exec_result onnx_exec_run(const uint8_t *data, size_t size, uint64_t choice);

// (optional) Hears of each model that was executed, with its first inputs and their outputs.
typedef void (*exec_listener)(void *ctx, const ox_model *m, const ox_result *r, void *const *in,
                              void *const *out, const uint32_t *rows);
void onnx_exec_listen(exec_listener f, void *ctx);

unsigned onnx_exec_count(exec_result r); // models that came to this end

// Prints how many models came to which end, and which ops of the importer were never executed.
// False when there is one that is never drawn.
bool onnx_exec_report(bool (*is_drawn)(const char *op, const char *domain));

#endif
