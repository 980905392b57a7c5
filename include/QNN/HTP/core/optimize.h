// SPDX-License-Identifier: MIT
//
// Graph optimizations of a package. They rewrite nodes for the accelerator and have no host form:
// a package that has some leaves them out for the host.

#ifndef QUERN_HTP_OPTIMIZE_H
#define QUERN_HTP_OPTIMIZE_H

#include "HTP/core/op_register_ext.h"

#define INIT_PACKAGE_OPTIMIZATION_DEF()
#define DEF_PACKAGE_OPTIMIZATION(...)                                                              \
    static_assert(false, "Quern: optimizations of a package are not supported on a host; define "  \
                         "them under #ifdef __hexagon__")

#endif // QUERN_HTP_OPTIMIZE_H
