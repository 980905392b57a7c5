// SPDX-License-Identifier: MIT
//
// The CPU backend's own objects.
#ifndef QRN_BACKEND_CPU_CPU_H
#define QRN_BACKEND_CPU_CPU_H

#include "api/errors.h"
#include "api/objects.h"
#include "backend/backend.h"
#include "backend/package/package.h"

// debug.c: calls the graph's debug callback after a node; fits qrn_run_options.trace.
void qrn_cpu_debug_trace(void *graph, const qrn_plan *p, uint32_t node, const qrn_view *views);

#endif
