// SPDX-License-Identifier: MIT
//
// fp16 (compile option `fp16`): every float inside the graph is an fp16 value. Steps compute on f32
// as ever; this part makes sure that what they read and write are values that fp16 can hold.
//   - the graph is lowered as a copy in which f16 tensors are f32 ones, so that lowering knows one
//     float type and uses its fast paths
//   - application inputs and constants are rounded before the first step that reads them
//   - a step that computes is followed by one that rounds its results in place; moves are exact
//   - f16 application outputs are written at the end
// Ops that only convert between application floats and other types (Quantize, Dequantize, Cast)
// read and write them as they are: nothing is computed with them.
#ifndef QRN_COMPILER_FP16_H
#define QRN_COMPILER_FP16_H

#include "compiler/lowering.h"

// Copies the graph when it has floats and the option is set; else nothing here does anything.
qrn_status qrn_lo_fp16_begin(qrn_lowering *lo);
// Rounds the application inputs; comes before the first node.
qrn_status qrn_lo_fp16_enter(qrn_lowering *lo);
// Writes f16 application outputs; comes behind the last node.
qrn_status qrn_lo_fp16_leave(qrn_lowering *lo);

// The copy of a tensor of the client's graph; itself when there is none.
const qrn_tensor *qrn_lo_fp16_copy(const qrn_lowering *lo, const qrn_tensor *t);
// The tensor that says in which type t's bytes are: itself, or the client's.
const qrn_tensor *qrn_lo_fp16_stored(const qrn_lowering *lo, const qrn_tensor *t);
// Is the tensor an f16 application output? Then its value is a temporary until the end.
bool qrn_lo_fp16_detours(const qrn_lowering *lo, const qrn_tensor *t);
// Remembers that `io` is to be written from `value`.
qrn_status qrn_lo_fp16_detour(qrn_lowering *lo, qrn_val value, qrn_val io);

// Does the node ask what floats are? It is shown the application's own, infinities included.
bool qrn_lo_fp16_asks(const qrn_node *n);
// *v as a step may read it: application inputs and constants become their rounded form.
qrn_status qrn_lo_fp16_operand(qrn_lowering *lo, qrn_val *v);
// Constant weights t of a GEMM, of any type, in their rounded form: described, not
// computed, so that a binder can pack them from the tensor's own data. Without fp16 they are
// quantized ones.
qrn_status qrn_lo_fp16_weights(qrn_lowering *lo, const qrn_tensor *t, qrn_val *v);
// Makes a step that is about to be emitted read rounded operands; a conversion to floats becomes
// one that rounds. *f is the step's family, ins its own list of operands.
qrn_status qrn_lo_fp16_prepare(qrn_lowering *lo, const qrn_cop **f, qrn_val *ins, uint32_t n_in,
                               const qrn_val *outs);
// Rounds what a step has written, where it computes.
qrn_status qrn_lo_fp16_results(qrn_lowering *lo, const qrn_cstep *s);

#endif
