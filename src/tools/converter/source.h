// SPDX-License-Identifier: MIT
//
// What a converted model keeps of its source, for the quantizer: the float ONNX model as it was
// converted, and what was said about it. Both are records of a DLC file (docs/dlc.md).
#ifndef QRN_TOOLS_CONVERTER_SOURCE_H
#define QRN_TOOLS_CONVERTER_SOURCE_H

#include "frontend/onnx/writer/wire_write.h"
#include "tools/converter/io.h"

#define CV_SOURCE "model.source"
#define CV_CONVERSION "model.conversion"
#define CV_OVERRIDES "model.overrides"

// The model as it is in memory, with its weights. Models with nested graphs, functions or
// quantizers cannot be quantized and are not written: *why is set then, and nothing is.
int cv_source_write(const cv_model *m, ox_writer *out, const char **why);

// What is said about a conversion.
typedef struct cv_conversion {
    const char *command, *version, *copyright; // NULL: not said
    const char *no_source;                     // why there is no source; NULL: there is one
    cv_ios types;                              // inputs and outputs that have another type
} cv_conversion;

// As JSON, from malloc; NULL after a message.
char *cv_conversion_write(const cv_conversion *c);
// `name` is the file that it is in.
int cv_conversion_read(const char *name, const void *data, size_t bytes, qrn_arena *a,
                       cv_conversion *out);

#endif
