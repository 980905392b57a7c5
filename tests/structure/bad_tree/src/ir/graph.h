// SPDX-License-Identifier: MIT
#include "QnnTypes.h"
#include "base/text.h"
