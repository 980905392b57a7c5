// SPDX-License-Identifier: MIT
//
// quern show --compiled.
#ifndef QRN_TOOLS_QUERN_SHOW_COMPILED_H
#define QRN_TOOLS_QUERN_SHOW_COMPILED_H

#include "tools/quern/inputs.h"
#include "tools/quern/session.h"

#include <jansson.h>

// Prints the compiled graph of a model, or those of a context binary. `in` gives dimensions alone.
// QT_EXIT_OK or another code after a message; a report is whole or not printed.
int qt_show_compiled(const char *path, const qt_input_options *in,
                     const qt_backend_options *options, bool json);
// Its lines, as a list of texts.
int qt_compiled_lines(const char *path, const qt_input_options *in,
                      const qt_backend_options *options, json_t **out);

#endif
