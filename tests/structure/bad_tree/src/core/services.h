// SPDX-License-Identifier: MIT
#include "core/objects.h"
