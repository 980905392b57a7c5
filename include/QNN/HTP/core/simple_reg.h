// SPDX-License-Identifier: MIT
//
// Definitions of ops: op_register_ext.h.

#ifndef QUERN_HTP_SIMPLE_REG_H
#define QUERN_HTP_SIMPLE_REG_H

#include "HTP/core/op_register_ext.h"

#endif // QUERN_HTP_SIMPLE_REG_H
