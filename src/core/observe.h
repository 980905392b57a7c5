// SPDX-License-Identifier: MIT
//
// Tensors shown to a function of the client while graphs are executed
// (QUERN_BACKEND_OPTION_OBSERVE): what a quantizer's calibration stands on. Unlike a dump nothing
// is written.
#ifndef QRN_CORE_OBSERVE_H
#define QRN_CORE_OBSERVE_H

#include "core/own.h"

// Sets the trace of *opt where the backend has an observer; a dump that begins later replaces it.
void qrn_observe(const qrn_api_graph *g, qrn_run_options *opt);

#endif
