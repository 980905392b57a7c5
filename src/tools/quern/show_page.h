// SPDX-License-Identifier: MIT
//
// quern show --html: a graph to look at.
#ifndef QRN_TOOLS_QUERN_SHOW_PAGE_H
#define QRN_TOOLS_QUERN_SHOW_PAGE_H

#include "tools/quern/inputs.h"
#include "tools/quern/session.h"

#include <jansson.h>

typedef struct qt_graph_page {
    const char *html;           // the file to write
    const char *profile;        // (optional) a profile with times of nodes
    const char *compare;        // (optional) what quern compare --json printed
    qt_backend_options backend; // that a model is divided for; cleared: the HTP of the default SoC
} qt_graph_page;

// The page of a file with graphs: an ONNX or .tflite model, a context binary, a DLC file or an
// ExecuTorch program. `in` gives dimensions alone. QT_EXIT_OK or another code after a message.
int qt_show_page(const qt_graph_page *p, const char *path, const qt_input_options *in);

// Numbers of nodes from other files (show_page_numbers.c), into the nodes of a page's graph:
// "us" from a profile, "sqnr" from a comparison. QT_EXIT_OK or another code after a message.
int qt_page_add_profile(const char *log, json_t *page);
int qt_page_add_compare(const char *path, json_t *page);
// The node of a page's graph from which an op of that name comes: the node of the same name, or of
// the name without the number that makes names unique. NULL: none.
json_t *qt_page_node(json_t *names, const char *op);
json_t *qt_page_names(json_t *graph); // of nodes to themselves; NULL: no memory

#endif
