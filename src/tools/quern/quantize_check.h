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
    const ox_model *model; // the float one
    const char *soc;
    uint64_t threads;
    const qt_samples *samples; // (optional) for the comparison
    const qz_written *written;
    bool check; // compile and run it; else only counts are reported
} qt_quantized;

// Prints a report, or adds it to a list. QT_EXIT_OK or another code after a message.
int qt_quantized_report(const qt_quantized *q, json_t *list);

#endif
