// SPDX-License-Identifier: MIT
//
// Executions of one graph side by side, as a server would have them.
#ifndef QRN_TOOLS_QUERN_STREAMS_H
#define QRN_TOOLS_QUERN_STREAMS_H

#include "tools/quern/session.h"

// Executes from n threads at once for so many seconds; runs_per_second on success. The inputs of
// the session are read by all, each stream has outputs of its own.
qrn_status qt_streams_run(qt_session *s, uint32_t n, double seconds, double *runs_per_second);

// The same with 1, 2, 4 ... and `most` of them (up to 256), each for so many seconds.
#define QT_STREAM_POINTS 10
typedef struct qt_stream_point {
    uint32_t streams;
    double runs_per_second, latency_ms; // of all streams; of a run, on average
} qt_stream_point;
qrn_status qt_streams_curve(qt_session *s, uint32_t most, double seconds,
                            qt_stream_point points[QT_STREAM_POINTS], size_t *n);

#endif
