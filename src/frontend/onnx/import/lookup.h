// SPDX-License-Identifier: MIT
//
// Functions of one 16-bit quantized value as a table (lookup.c).
#ifndef QRN_FRONTEND_ONNX_IMPORT_LOOKUP_H
#define QRN_FRONTEND_ONNX_IMPORT_LOOKUP_H

#include "frontend/onnx/import.h"

bool ox_has_lookup(const ox_node *n);
// Imports such a node, a quantized unit that is composed in 16 bits.
qrn_status ox_import_lookup(ox_import *im, const ox_node *n);

#endif
