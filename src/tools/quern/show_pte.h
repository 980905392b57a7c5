// SPDX-License-Identifier: MIT
//
// quern show for ExecuTorch programs.
#ifndef QRN_TOOLS_QUERN_SHOW_PTE_H
#define QRN_TOOLS_QUERN_SHOW_PTE_H

#include <jansson.h>
#include <stdbool.h>

// Prints methods with their inputs, outputs, operators and delegates. QT_EXIT_OK or another code
// after a message.
int qt_show_pte(const char *path, bool json);
// Its methods for the page that draws graphs, an object; QT_EXIT_OK or another code after a
// message.
int qt_draw_pte(const char *path, json_t **out);

#endif
