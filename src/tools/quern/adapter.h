// SPDX-License-Identifier: MIT
//
// Adapters: new values for the updateable tensors of a context's graphs, in a file of their own (a
// section of a context binary).
#ifndef QRN_TOOLS_QUERN_ADAPTER_H
#define QRN_TOOLS_QUERN_ADAPTER_H

#include "frontend/onnx/import.h"

#include "tools/quern/flags.h"

// Reads the values from an .npz archive or a .safetensors file, one array for each updateable
// tensor of the graphs, or from another ONNX model with constants of these names, and writes the
// section for all of them. The graphs have the new values afterwards. Returns an exit code, after a
// message.
int qt_adapter_write(qc_client *c, const ox_result *const *graphs, size_t n_graphs,
                     const char *path, const char *out_path);

// Applies a section to a loaded context. Returns an exit code, after a message.
int qt_adapter_apply(qc_client *c, const char *path);

#endif
