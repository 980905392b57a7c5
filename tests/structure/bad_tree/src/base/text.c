// SPDX-License-Identifier: MIT
#include "base/text.h"
#include "ir/graph.h"
