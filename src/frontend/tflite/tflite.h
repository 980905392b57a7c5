// SPDX-License-Identifier: MIT
//
// TensorFlow Lite (LiteRT) models, .tflite files: read into the model in memory that the ONNX
// importer walks (frontend/onnx/reader/model.h), with nodes of a domain of their own that the
// importers of this folder turn into QNN ops. So whatever runs, checks, estimates or compiles an
// ONNX model does the same to a .tflite file. docs/tflite.md lists the ops.
#ifndef QRN_FRONTEND_TFLITE_TFLITE_H
#define QRN_FRONTEND_TFLITE_TFLITE_H

#include "frontend/onnx/reader/model.h"

// By the identifier in the first 8 bytes.
bool tl_is_model(const void *data, size_t size);
bool tl_is_file(const char *path);

// Reads a model; messages name the file. Closed with ox_model_close.
qrn_status tl_model_open(const char *path, ox_model **out);
// The same from memory that outlives the model.
qrn_status tl_model_parse(const void *data, size_t size, const char *name, ox_model **out);

// A model that LiteRT compiled ahead of time: one op, DISPATCH_OP, whose QNN context binary lies in
// the same file behind the tables.
typedef struct tl_compiled {
    const void *bytes;
    size_t n_bytes;
    const char *graph;                          // in the binary
    const char *const *inputs, *const *outputs; // tensors, in the order of the binary
    uint32_t n_inputs, n_outputs;
} tl_compiled;

bool tl_is_compiled(const ox_model *m); // has it a DISPATCH_OP?
// Of a compiled model, whose file is given. QRN_E_UNSUPPORTED when ops lie around the DISPATCH_OP,
// QRN_E_BINARY when the binary does not lie inside the file.
qrn_status tl_compiled_of(const ox_model *m, const void *data, size_t size, tl_compiled *out);

#endif
