// SPDX-License-Identifier: MIT
//
// How good a quantized model is: whether the HTP runs it in one piece, and how far its outputs are
// from the float model's.
#ifndef QRN_TOOLS_QUERN_QUANTIZE_CHECK_H
#define QRN_TOOLS_QUERN_QUANTIZE_CHECK_H

#include "quantizer/write.h"
#include "tools/quern/output.h"
#include "tools/quern/samples.h"

typedef struct qt_quantized {
    const char *path;      // of the quantized model
    const char *shown;     // what the report calls it
    const ox_model *model; // the float one
    const char *soc;
    uint64_t threads;
    const qt_samples *samples; // (optional) for the comparison
    const qz_written *written;
    const char *method;          // that --method auto has chosen, or NULL
    bool check;                  // compare it with the float model
    uint32_t n_parts, n_refused; // n_parts 0: not known
} qt_quantized;

// Calls `refused` for each node of a model that the HTP of that SoC does not support. *n_parts: in
// how many partitions it runs the rest.
int qt_quantized_parts(const char *path, const char *soc,
                       void (*refused)(void *ctx, const char *node), void *ctx, uint32_t *n_parts);

// Prints a report, or adds it to a list. QT_EXIT_OK or another code after a message.
int qt_quantized_report(const qt_quantized *q, json_t *list);

#endif
