// SPDX-License-Identifier: MIT
//
// Floats of another width: between a client and its library, float32 tensors become float16 as they
// are made, constants included. Biases may have a width of their own. Inputs and outputs that keep
// float32 get a Cast. Parameters of ops stay as they are. The client sees float32 as before, so it
// builds the same ops.
#ifndef QRN_TOOLS_CONVERTER_RETYPE_H
#define QRN_TOOLS_CONVERTER_RETYPE_H

#include "frontend/client/client.h"

typedef struct cv_retype {
    unsigned bits, bias_bits; // 16 or 32
    const char *keep;         // inputs and outputs that stay float32 (io.h, cv_io_native)
    qrn_strmap roles;         // of constants by name: biases and parameters, by the scout
    struct cv_kept *kept;     // outputs that a Cast makes at the end
    uint32_t n_kept, cap_kept;
    uint32_t *ids; // by the id that the client has: that of the float16 tensor, 0: it is none
    uint32_t n_ids;
} cv_retype;

bool cv_retype_needed(const cv_retype *r);
// Notes which constants are biases and parameters while a graph is built; nothing is changed.
void cv_retype_scout(cv_retype *r, qc_client *c);
// From here on tensors of this client change; one client at a time.
void cv_retype_begin(cv_retype *r, qc_client *c);
// Makes the outputs that keep their type, in a graph that is built.
qrn_status cv_retype_end(cv_retype *r, const qc_client *c, Qnn_GraphHandle_t graph);
void cv_retype_free(cv_retype *r);

#endif
