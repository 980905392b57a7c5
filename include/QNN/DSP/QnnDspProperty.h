// SPDX-License-Identifier: MIT
//
// DSP backend: its own property keys. For clients that include it; Quern has no such library.

#ifndef QNN_DSP_PROPERTY_H
#define QNN_DSP_PROPERTY_H

// Can it run in an unsigned process domain?
#define QNN_PROPERTY_CUSTOM_DSP_UNSIGNED_PD_SUPPORT 2002

#endif // QNN_DSP_PROPERTY_H
