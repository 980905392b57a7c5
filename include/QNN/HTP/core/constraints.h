// SPDX-License-Identifier: MIT
//
// Constraints of graph optimizations: none, as there are no optimizations on a host (optimize.h).

#ifndef QUERN_HTP_CONSTRAINTS_H
#define QUERN_HTP_CONSTRAINTS_H

#include "HTP/core/op_register_ext.h"

#endif // QUERN_HTP_CONSTRAINTS_H
