// SPDX-License-Identifier: MIT
#include "base/text.h"
