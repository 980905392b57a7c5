// SPDX-License-Identifier: MIT
#include "QnnTypes.h"
#include "base/text.h"
// text.h and base/text.h are there; base/graph.h and folded.c are not.
