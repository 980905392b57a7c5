// SPDX-License-Identifier: MIT
//
// The dominant path of an execution: at each moment the piece of highest priority that runs.
#ifndef QRN_TOOLS_PROFILE_VIEWER_HTP_PATH_H
#define QRN_TOOLS_PROFILE_VIEWER_HTP_PATH_H

#include "tools/profile_viewer/htp_run.h"

// Fills `path`, `busy` and the share of each piece; false: no memory. Takes n log n steps.
bool qv_find_path(qrn_arena *a, qv_run *r);

#endif
