// SPDX-License-Identifier: MIT
//
// quern generate --estimate: the tokens a second that a phone's NPU would reach.
#ifndef QRN_TOOLS_QUERN_GENERATE_ESTIMATE_H
#define QRN_TOOLS_QUERN_GENERATE_ESTIMATE_H

#include "tools/quern/flags.h"

// Reports on all graphs of these files. The exit code.
int qt_generate_estimate(const qt_list *files, const char *soc, bool allow_fp16, bool json);

#endif
