// SPDX-License-Identifier: MIT
//
// Options of quern quantize and quern compile for single tensors: encodings of a file, bits and
// float16 by name.
#ifndef QRN_TOOLS_QUERN_QUANTIZE_OVERRIDES_H
#define QRN_TOOLS_QUERN_QUANTIZE_OVERRIDES_H

#include "quantizer/override.h"
#include "quantizer/write.h"
#include "tools/quern/flags.h"

typedef struct qt_override_options {
    const char *encodings;          // file to read, or NULL
    const char *exported, *version; // file to write and its version, or NULL
    qt_list floats, bits;           // names; NAME=BITS
} qt_override_options;

#define QT_OVERRIDE_FLAGS(type, field)                                                             \
    {"encodings",                                                                                  \
     'e',                                                                                          \
     QT_FILE,                                                                                      \
     "FILE",                                                                                       \
     offsetof(type, field.encodings),                                                              \
     NULL,                                                                                         \
     "JSON of AIMET or a converter's overrides; takes precedence over samples"},                   \
        {"export-encodings",                                                                       \
         0,                                                                                        \
         QT_FILE,                                                                                  \
         "FILE",                                                                                   \
         offsetof(type, field.exported),                                                           \
         NULL,                                                                                     \
         "write every encoding as JSON"},                                                          \
        {"encodings-version",                                                                      \
         0,                                                                                        \
         QT_CHOICE,                                                                                \
         "V",                                                                                      \
         offsetof(type, field.version),                                                            \
         "0.6.1|1.0.0|2.0.0",                                                                      \
         "version of that file (default 1.0.0)"},                                                  \
        {"float",                                                                                  \
         0,                                                                                        \
         QT_LIST,                                                                                  \
         "NAME",                                                                                   \
         offsetof(type, field.floats),                                                             \
         NULL,                                                                                     \
         "keep this tensor, or the results of this node, in fp16"},                                \
    {                                                                                              \
        "bits", 0, QT_LIST, "NAME=N", offsetof(type, field.bits), NULL,                            \
            "bits of this tensor, or of the results of this node"                                  \
    }

// Puts what the options say onto a graph. `list` stays until the model is written; it is NULL
// without a file. QT_EXIT_OK or another code after a message.
int qt_overrides_apply(const qt_override_options *o, qz_graph *g, const char *model,
                       qz_encodings **list);

// Writes the list that qz_write has filled.
int qt_overrides_export(const qt_override_options *o, const qz_encodings *list);

// Replaces a float model by the one with a file's encodings: what the file does not list stays
// float. `bytes` hold the new model and are freed after it.
int qt_overrides_encode(const char *encodings, const char *path, ox_model **model,
                        ox_writer *bytes);

#endif
