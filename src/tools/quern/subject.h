// SPDX-License-Identifier: MIT
//
// What a command runs: an ONNX model, a graph of a DLC file, or a graph of a context binary, which
// may be inside of an ONNX model or beside it (EPContext nodes). A graph of a file poses as a model
// that has inputs and outputs alone, so that inputs are found and read in the same way.
#ifndef QRN_TOOLS_QUERN_SUBJECT_H
#define QRN_TOOLS_QUERN_SUBJECT_H

#include "tools/quern/binary.h"
#include "tools/quern/dlc.h"
#include "tools/quern/inputs.h"
#include "tools/quern/session.h"

typedef struct qt_subject {
    const char *path;
    ox_model *model;
    ox_model *wrapper; // an ONNX model around the binary, or NULL
    qt_binary binary;
    const QnnSystemContext_GraphInfoV3_t *graph; // NULL: an ONNX model
    qt_dlc dlc;                                  // cleared: not a DLC file
    QnnSystemContext_GraphInfoV3_t dlc_graph;
    bool native;
    double load_ms; // reading the model, or describing the binary
} qt_subject;

// QT_EXIT_OK or another code after a message.
int qt_subject_open(const char *path, const qt_input_options *opt, qt_subject *out);
void qt_subject_close(qt_subject *s); // a cleared one is fine

// A session for it; of a binary on the backend and chip that it was made for, unless others are
// asked for.
int qt_subject_session(const qt_subject *sub, const qt_backend_options *backend,
                       const ox_options *import, qt_session *s);

#endif
