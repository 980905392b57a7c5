// SPDX-License-Identifier: MIT
//
// Executions of one graph side by side, as a server would have them.
#ifndef QRN_TOOLS_QUERN_STREAMS_H
#define QRN_TOOLS_QUERN_STREAMS_H

#include "tools/quern/session.h"

// Executes from n threads at once for so many seconds; runs_per_second on success. The inputs of
// the session are read by all, each stream has outputs of its own.
qrn_status qt_streams_run(qt_session *s, uint32_t n, double seconds, double *runs_per_second);

#endif
