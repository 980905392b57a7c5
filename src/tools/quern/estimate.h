// SPDX-License-Identifier: MIT
//
// Models as the device model sees them.
#ifndef QRN_TOOLS_QUERN_ESTIMATE_H
#define QRN_TOOLS_QUERN_ESTIMATE_H

#include "device/cost.h"
#include "tools/quern/inputs.h"

typedef struct qt_refusal {
    const char *node, *op, *why;
} qt_refusal;

typedef struct qt_network {
    qd_graph graph;
    qd_steps steps;
    qt_refusal *refused; // nodes that the HTP does not take; not in the estimate
    uint32_t n_refused;
    bool quantized, wide; // has fixed-point activations; of 16 bits
} qt_network;

// Imports a model for the HTP without its data and cuts it into steps. QT_EXIT_OK or another code
// after a message.
int qt_network_open(const char *path, const qt_input_options *in, qt_network *out);
void qt_network_close(qt_network *n); // a cleared one is fine

#endif
