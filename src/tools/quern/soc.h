// SPDX-License-Identifier: MIT
//
// Target SoCs by name.
#ifndef QRN_TOOLS_QUERN_SOC_H
#define QRN_TOOLS_QUERN_SOC_H

#include <stdbool.h>
#include <stdint.h>

#define QT_DEFAULT_SOC "SM8650" // of the HTP, where no other is asked for

// "SM8650", "sm8650", "57", "8 Gen 3" or "Samsung Galaxy S24" to the API's number; false for what
// is none of them.
bool qt_soc_find(const char *text, uint32_t *model);

// Reports a text that is none of them as the value of a flag, with the nearest name; returns
// QT_EXIT_USAGE.
int qt_soc_unknown(const char *flag, const char *text);

#endif
