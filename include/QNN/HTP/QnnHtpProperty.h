// SPDX-License-Identifier: MIT
//
// HTP backend: its own property keys.

#ifndef QNN_HTP_PROPERTY_H
#define QNN_HTP_PROPERTY_H

#include "QnnProperty.h"

// Can it run in an unsigned process domain?
#define QNN_PROPERTY_CUSTOM_HTP_UNSIGNED_PD_SUPPORT 2002

#endif // QNN_HTP_PROPERTY_H
