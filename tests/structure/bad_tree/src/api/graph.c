// SPDX-License-Identifier: MIT
#include "QnnGraph.h"
#include "ir/graph.h"
#include "kernels/gemm.h"
static const char *home(void) { return getenv("HOME"); }
static void fail(void) { abort(); }
#include "core/objects.h"
#include "backend/cpu/backend.h"
