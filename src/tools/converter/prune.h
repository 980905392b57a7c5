// SPDX-License-Identifier: MIT
//
// Outputs that a user chooses, and the nodes that lead to them.
#ifndef QRN_TOOLS_CONVERTER_PRUNE_H
#define QRN_TOOLS_CONVERTER_PRUNE_H

#include "frontend/onnx/reader/model.h"
#include "tools/quern/flags.h"

// Changes the main graph: its outputs become those of the list (unless that is empty), and nodes
// that lead to none are left out (unless `keep`). Everything new is in the arena. `flag` is what
// failures call the list.
qrn_status cv_prune(ox_model *m, const char *flag, const qt_list *outputs, bool keep, qrn_arena *a);

#endif
