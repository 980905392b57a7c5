// SPDX-License-Identifier: MIT
#include "backend.h"
#include "../htp/backend.h"
#include "core/objects.h"
#include "api/graph.h"
#include "core/services.h"
