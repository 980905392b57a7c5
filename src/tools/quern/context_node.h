// SPDX-License-Identifier: MIT
//
// ONNX models that hold a context binary: EPContext nodes, as ONNX Runtime's QNN providers and
// `quern wrap` write them.
#ifndef QRN_TOOLS_QUERN_CONTEXT_NODE_H
#define QRN_TOOLS_QUERN_CONTEXT_NODE_H

#include "frontend/onnx/reader/model.h"
#include "tools/quern/binary.h"
#include "tools/quern/inputs.h"

// Has the model a node that holds a context binary, or is a graph of one?
bool qt_has_context(const ox_model *m);
// For commands that look at the nodes of a model: rejects such a one, with a message.
int qt_reject_context(const char *path, const ox_model *m);
// The same and qt_open_shaped in one; *out is NULL after a failure.
int qt_open_nodes(const char *path, const qt_input_options *opt, ox_model **out);

// The binary of such a model, and the description of the graph that is to run (`name`, or the only
// one), with inputs and outputs in the order of the model's node. The description lives in the
// arena. A model that has other nodes beside is rejected. QT_EXIT_OK or another code after a
// message.
int qt_context_open(const char *path, const ox_model *m, const char *name, qrn_arena *arena,
                    qt_binary *out, const QnnSystemContext_GraphInfoV3_t **graph);

#endif
