// SPDX-License-Identifier: MIT
//
// All values of a model on a backend, written to files.
#ifndef QRN_TOOLS_ACCURACY_DEBUGGER_VALUES_H
#define QRN_TOOLS_ACCURACY_DEBUGGER_VALUES_H

#include "tools/quern/inputs.h"
#include "tools/quern/session.h"
#include "tools/sdk/words.h"

// Which values; cleared: all.
typedef struct ad_filter {
    qs_words add_names, add_types, skip_names, skip_types;
    bool outputs_only;
} ad_filter;

typedef struct ad_values {
    const char *model; // ONNX
    qt_backend_options backend;
    bool as_float;        // quantized parts in float, too
    qt_input_options in;  // a list of inputs, or ...
    const qt_list *files; // ... NAME=FILE of one
    const ad_filter *filter;
    bool tree; // into Result_<i> folders, one for each set of inputs
} ad_values;

// Writes NAME.raw for each value, tensor_mapping.json (tensors of the graph to values of the model)
// and NAME_graph_struct.json beside them. QT_EXIT_OK or another code after a message.
int ad_write_values(const ad_values *v, const char *dir);

#endif
