// SPDX-License-Identifier: MIT
//
// Files of results: ROOT/[GRAPH/]Result_<i>/TENSOR.raw, and TENSOR_native.raw for the tensor's own
// elements. Names that no file can have are changed: a slash becomes _.
#ifndef QRN_TOOLS_SDK_OUTPUT_TREE_H
#define QRN_TOOLS_SDK_OUTPUT_TREE_H

#include "tools/sdk/tensor_set.h"

typedef struct qs_output {
    const char *root;
    const char *graph; // folder between, or NULL
    bool floats, native;
    const char *const *only; // names of the outputs that are wanted, or NULL: all
    size_t n_only;
} qs_output;

// Writes the outputs of result `index`: part `part` of `parts` of every tensor whose first
// dimension can be divided so, the whole of all others. QT_EXIT_OK or another code after a message.
int qs_output_write(const qs_output *o, const qs_set *s, uint64_t index, size_t part, size_t parts);

#endif
