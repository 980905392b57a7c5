// SPDX-License-Identifier: MIT
//
// quern show --dot.
#ifndef QRN_TOOLS_QUERN_SHOW_DOT_H
#define QRN_TOOLS_QUERN_SHOW_DOT_H

#include "frontend/onnx/reader/model.h"

// Prints the graph; QT_EXIT_OK or another code after a message.
int qt_show_dot(const ox_graph *g);

#endif
