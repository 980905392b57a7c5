// SPDX-License-Identifier: MIT
//
// A planned graph as an ONNX model: QuantizeLinear and DequantizeLinear around every value that has
// an encoding. What the importer computed from constants alone becomes an initializer.
#ifndef QRN_QUANTIZER_WRITE_H
#define QRN_QUANTIZER_WRITE_H

#include "frontend/onnx/writer/wire_write.h"
#include "quantizer/encodings_json.h"
#include "quantizer/plan.h"

// The file of constants beside one or more models; equal ones are stored once.
typedef struct qz_weights_file qz_weights_file;
// `name` is what models call it.
qrn_status qz_weights_begin(const char *path, const char *name, qz_weights_file **out);
qrn_status qz_weights_commit(qz_weights_file *f); // frees it, also on failure
void qz_weights_abort(qz_weights_file *f);        // NULL is fine

typedef struct qz_written {
    uint32_t n_quantized; // values between nodes with an encoding
    uint32_t n_float;     // float values without one
    size_t weight_bytes;  // of constants, as stored
    uint32_t n_adapted;   // weights that were rounded by adaround.h
    double gain_db;       // ... and how much nearer their results came, summed over them
    uint32_t n_corrected; // biases that make up for rounded weights
} qz_written;

// The model's bytes into `out`, which the caller frees. Constants of 1 KiB and more go to `weights`
// unless it is NULL. `encodings` (or NULL) gets every encoding of the model.
qrn_status qz_write(qz_graph *g, const qz_scheme *scheme, qz_weights_file *weights, ox_writer *out,
                    qz_encodings *encodings, qz_written *report);

#endif
