// SPDX-License-Identifier: MIT
//
// What the headers support: op_register_ext.h.

#ifndef QUERN_HTP_OP_PACKAGE_FEATURE_SUPPORT_H
#define QUERN_HTP_OP_PACKAGE_FEATURE_SUPPORT_H

#include "HTP/core/op_register_ext.h"

#endif // QUERN_HTP_OP_PACKAGE_FEATURE_SUPPORT_H
