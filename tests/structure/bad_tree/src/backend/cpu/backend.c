// SPDX-License-Identifier: MIT
#include "backend.h"
#include "../htp/backend.h"
