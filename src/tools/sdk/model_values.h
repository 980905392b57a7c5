// SPDX-License-Identifier: MIT
//
// All values of a model on a backend, written to files.
#ifndef QRN_TOOLS_SDK_MODEL_VALUES_H
#define QRN_TOOLS_SDK_MODEL_VALUES_H

#include "tools/quern/inputs.h"
#include "tools/quern/session.h"
#include "tools/sdk/words.h"

// Which values; cleared: all.
typedef struct qs_filter {
    qs_words add_names, add_types, skip_names, skip_types;
    bool outputs_only;
} qs_filter;

typedef struct qs_values {
    const char *model; // ONNX
    qt_backend_options backend;
    bool as_float;        // quantized parts in float, too
    qt_input_options in;  // a list of inputs, or ...
    const qt_list *files; // ... NAME=FILE of one
    const qs_filter *filter;
    bool tree; // into Result_<i> folders, one for each set of inputs
} qs_values;

// Writes NAME.raw for each value, tensor_mapping.json (tensors of the graph to values of the model)
// and NAME_graph_struct.json beside them. QT_EXIT_OK or another code after a message.
int qs_write_values(const qs_values *v, const char *dir);

#endif
