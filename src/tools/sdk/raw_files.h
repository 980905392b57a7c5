// SPDX-License-Identifier: MIT
//
// Raw files of tensors: elements alone, little-endian, dense. In float mode a file holds float32
// whatever the tensor's type is; in native mode it holds the tensor's own elements. Rounding is
// half away from zero.
#ifndef QRN_TOOLS_SDK_RAW_FILES_H
#define QRN_TOOLS_SDK_RAW_FILES_H

#include "frontend/client/client.h"

// A tensor as an execution has it: `multiplier` times the first dimension.
typedef struct qs_shape {
    const qc_tensor *t;
    size_t count; // elements
    size_t bytes; // of the tensor's own type
} qs_shape;

qs_shape qs_shape_of(const qc_tensor *t, uint32_t multiplier);
// Bytes of a file that holds all of it.
size_t qs_file_bytes(const qs_shape *s, bool native);

// Fills the buffer of an input from the files of consecutive lines, each with an equal part of the
// tensor; lines that are missing (NULL) are zero. The message names file, tensor and sizes.
qrn_status qs_raw_load(const qs_shape *s, bool native, const char *const *paths, size_t n,
                       void *buffer);

// The values of a tensor as floats, into room for `count` of them.
qrn_status qs_raw_floats(const qs_shape *s, const void *buffer, float *out);
// Floats to a tensor's elements.
qrn_status qs_raw_elements(const qs_shape *s, const float *values, void *buffer);

#endif
