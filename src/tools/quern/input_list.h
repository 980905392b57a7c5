// SPDX-License-Identifier: MIT
//
// Input lists: one run a line.
#ifndef QRN_TOOLS_QUERN_INPUT_LIST_H
#define QRN_TOOLS_QUERN_INPUT_LIST_H

#include "tools/quern/inputs.h"

// Reads a list into in->sources, n_sets and selected; QT_EXIT_OK or another code after a message.
int qt_input_list_read(const char *path, qt_inputs *in);

// Binds a file to an input of a run: by name, or (name NULL) to the first that has none yet.
// `where` is for messages.
int qt_inputs_bind(qt_inputs *in, size_t set, const char *where, const char *name, size_t name_len,
                   const char *path, size_t path_len);

#endif
