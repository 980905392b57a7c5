// SPDX-License-Identifier: MIT
//
// The CPU backend's table of ops and types.
#ifndef QRN_BACKEND_CPU_SUPPORT_H
#define QRN_BACKEND_CPU_SUPPORT_H

#include "ir/support.h"

extern const qrn_support_table qrn_cpu_support;

#endif
