// SPDX-License-Identifier: MIT
//
// What the programs for DLC files share.
#ifndef QRN_TOOLS_DLC_TOOLS_PROGRAM_H
#define QRN_TOOLS_DLC_TOOLS_PROGRAM_H

#include "tools/quern/dlc.h"
#include "tools/quern/flags.h"
#include "tools/quern/output.h"
#include "tools/quern/report.h"

// Runs the only command of a program. `options` is its cleared struct.
int qp_main(const qt_command *c, void *options, int argc, char **argv);
// The version line of --version.
int qp_version(const qt_command *c);

// The text of a member; "" where there is none.
const char *qp_text(const json_t *object, const char *key);
// The bytes that a member [position, bytes] names in a record; NULL: there are none.
const uint8_t *qp_bytes(const qt_dlc *d, const json_t *place, const char *record, uint64_t *n);

#endif
