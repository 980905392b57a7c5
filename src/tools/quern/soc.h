// SPDX-License-Identifier: MIT
//
// Chips by name.
#ifndef QRN_TOOLS_QUERN_SOC_H
#define QRN_TOOLS_QUERN_SOC_H

#include <stdbool.h>
#include <stdint.h>

// "SM8650", "sm8650" or "57" to the API's number; false for what is neither.
bool qt_soc_find(const char *text, uint32_t *model);

#endif
