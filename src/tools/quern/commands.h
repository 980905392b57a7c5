// SPDX-License-Identifier: MIT
//
// The subcommands.
#ifndef QRN_TOOLS_QUERN_COMMANDS_H
#define QRN_TOOLS_QUERN_COMMANDS_H

#include "tools/quern/flags.h"

extern const qt_command qt_run, qt_bench, qt_check, qt_show, qt_compile, qt_compare_dumps, qt_info,
    qt_doctor, qt_demo, qt_estimate_command, qt_profile_command, qt_quantize_command, qt_wrap,
    qt_import, qt_generate, qt_socs;

#endif
