// SPDX-License-Identifier: MIT
//
// What a converted model breaks: the published rules, which are always looked at, and the advice of
// the device model for one chip (docs/estimate.md).
#ifndef QRN_TOOLS_ARCHITECTURE_CHECKER_RULES_H
#define QRN_TOOLS_ARCHITECTURE_CHECKER_RULES_H

#include "tools/architecture_checker/net_json.h"
#include "tools/quern/estimate.h"

typedef struct ac_row {
    uint32_t node; // UINT32_MAX: the graph
    const char *issue, *recommendation;
    const char *rule, *info; // of a modification, and what it would change; NULL: none
} ac_row;

typedef struct ac_rows {
    ac_row *list;
    uint32_t n, cap;
} ac_rows;

// QT_EXIT_OK or another code after a message. Texts live in the net's arena.
int ac_check(ac_net *n, const qt_target *at, ac_rows *out);

#endif
