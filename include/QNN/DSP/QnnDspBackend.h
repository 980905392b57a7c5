// SPDX-License-Identifier: MIT
//
// DSP backend: custom configuration of a backend. For clients that include it; Quern has no such
// library.

#ifndef QNN_DSP_BACKEND_H
#define QNN_DSP_BACKEND_H

#include <stdbool.h>

#include "QnnCommon.h"

#ifdef __cplusplus
extern "C" {
#endif

// Custom options of a backend.
typedef enum {
    QNN_DSP_BACKEND_CONFIG_OPTION_FOLD_RELU_ACTIVATION_INTO_CONV_OFF = 0,
    QNN_DSP_BACKEND_CONFIG_OPTION_SHORT_DEPTH_CONV_ON_HMX_OFF = 1,
    QNN_DSP_BACKEND_CONFIG_OPTION_USE_SIGNED_PROCESS_DOMAIN = 2,
    QNN_DSP_BACKEND_CONFIG_OPTION_ARCH = 3,
    QNN_DSP_BACKEND_CONFIG_OPTION_UNKNOWN = 0x7FFFFFFF,
} QnnDspBackend_ConfigOption_t;

// Architecture of the DSP.
typedef enum {
    QNN_DSP_BACKEND_DSP_ARCH_NONE = 0,
    QNN_DSP_BACKEND_DSP_ARCH_V65 = 65,
    QNN_DSP_BACKEND_DSP_ARCH_V66 = 66,
    QNN_DSP_BACKEND_DSP_ARCH_V68 = 68,
    QNN_DSP_BACKEND_DSP_ARCH_V69 = 69,
    QNN_DSP_BACKEND_DSP_ARCH_V73 = 73,
    QNN_DSP_BACKEND_DSP_ARCH_UNKNOWN = 0x7FFFFFFF,
} QnnDspBackend_DspArch_t;

// One custom option.
typedef struct QnnDspBackend_CustomConfig {
    QnnDspBackend_ConfigOption_t option; // selects the union member
    union UNNAMED {
        bool foldReluActivationIntoConvOff; // FOLD_RELU_ACTIVATION_INTO_CONV_OFF
        bool shortDepthConvOnHmxOff;        // SHORT_DEPTH_CONV_ON_HMX_OFF
        bool useSignedProcessDomain;        // USE_SIGNED_PROCESS_DOMAIN
        QnnDspBackend_DspArch_t arch;       // ARCH
    };
} QnnDspBackend_CustomConfig_t;

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_DSP_BACKEND_H
