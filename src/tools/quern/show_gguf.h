// SPDX-License-Identifier: MIT
//
// quern show for GGUF files.
#ifndef QRN_TOOLS_QUERN_SHOW_GGUF_H
#define QRN_TOOLS_QUERN_SHOW_GGUF_H

#include <stdbool.h>

// Prints keys and tensors. QT_EXIT_OK or another code after a message.
int qt_show_gguf(const char *path, bool json);

#endif
