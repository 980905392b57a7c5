// SPDX-License-Identifier: MIT
//
// --binary_updates: a file that lists sections (adapters) for loaded contexts, one a line: PATH for
// all graphs of every context, or GRAPH;PATH for one. Lines that begin with # are comments.
#ifndef QRN_TOOLS_SDK_BINARY_UPDATES_H
#define QRN_TOOLS_SDK_BINARY_UPDATES_H

#include "tools/sdk/model_source.h"
#include "tools/sdk/profile_writer.h"

// QT_EXIT_OK or another code after a message.
int qs_apply_updates(const char *path, const qs_model *m, const qs_profile *profile);

#endif
