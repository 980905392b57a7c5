// SPDX-License-Identifier: MIT
#include "ir/graph.h"
#include "api/graph.h"
#include "backend/cpu/backend.h"
