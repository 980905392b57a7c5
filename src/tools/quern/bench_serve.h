// SPDX-License-Identifier: MIT
//
// quern bench --serve: measuring on request, for harnesses that take turns with other programs.
#ifndef QRN_TOOLS_QUERN_BENCH_SERVE_H
#define QRN_TOOLS_QUERN_BENCH_SERVE_H

#include "tools/quern/session.h"

#include <jansson.h>
#include <stdio.h>

// Reads requests from `in` until its end or "quit", one a line, and answers each with one line of
// JSON on `out`; `ready` (taken over) is the first line. QT_EXIT_OK or QT_EXIT_FAILURE.
int qt_bench_serve(qt_session *s, json_t *ready, FILE *in, FILE *out);

#endif
