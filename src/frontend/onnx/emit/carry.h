// SPDX-License-Identifier: MIT
//
// Elements on their way through ops that only move them. A QNN op supports some types and not
// others; elements of a type that it does not take travel as another one that holds them exactly:
// the carrier. bool travels as 8-bit fixed point, uint32 as int32, signed fixed point as unsigned
// with another offset, 4 bits as float.
//
// Real values (float, quantized units) keep their value when encodings differ, integer values keep
// their code. Importers derive a carrier from one tensor, bring the operands to it, write a tensor
// that ox_carry_out gives and end with ox_carry_end.
#ifndef QRN_FRONTEND_ONNX_CARRY_H
#define QRN_FRONTEND_ONNX_CARRY_H

#include "frontend/onnx/import.h"

// Types that a QNN op supports.
enum {
    OX_T_F32 = 1 << 0,
    OX_T_F16 = 1 << 1,
    OX_T_I32 = 1 << 2,
    OX_T_U32 = 1 << 3,
    OX_T_B8 = 1 << 4,
    OX_T_UQ8 = 1 << 5,
    OX_T_SQ8 = 1 << 6,
    OX_T_UQ16 = 1 << 7,
    OX_T_SQ16 = 1 << 8,
    OX_T_SQ32 = 1 << 9,
    OX_T_FLOAT = OX_T_F32 | OX_T_F16,
    OX_T_ACT = OX_T_FLOAT | OX_T_UQ8 | OX_T_SQ8 | OX_T_UQ16, // activations
};

typedef struct ox_carry {
    qc_tensor base; // type and encoding that it stands for
    qc_tensor like; // type and encoding of the carrier; the same as base where the op supports it
    bool real;
} ox_carry;

// The carrier for values like t, through an op that supports `types`. `value` is the ONNX value.
qrn_status ox_carry_of(ox_import *im, const ox_node *n, const ox_val *value, const qc_tensor *t,
                       uint32_t types, ox_carry *c);
// t brought to the carrier; t itself where it is like it already.
qrn_status ox_carry_in(ox_import *im, const ox_node *n, const ox_carry *c, const qc_tensor *t,
                       const qc_tensor **x);
// What to write for y: y itself or a temporary of its shape.
qrn_status ox_carry_out(ox_import *im, const ox_carry *c, const qc_tensor *y, const qc_tensor **w);
// Brings what was written to y where they differ.
qrn_status ox_carry_end(ox_import *im, const ox_node *n, const ox_carry *c, const qc_tensor *w,
                        const qc_tensor *y);

// Input i in a layout with the carrier that it gives.
qrn_status ox_carry_input(ox_import *im, const ox_node *n, uint32_t i, ox_layout layout,
                          uint32_t types, ox_carry *c, const qc_tensor **x);

// Declares output i with the type of input i_in, of whose elements it consists: the encoding of
// integers goes along.
qrn_status ox_set_moved(ox_import *im, const ox_node *n, uint32_t i, uint32_t i_in, uint32_t rank,
                        const uint32_t *dims);

// The layout of input i: OX_LAST when it exists in that layout only.
ox_layout ox_layout_of_input(const ox_import *im, const ox_node *n, uint32_t i);
// Does the value have the same order of elements in every layout?
bool ox_same_in_layouts(const ox_val *v);

// Output 0 is input 0 with its dimensions permuted. Nothing is emitted before a reader asks for a
// layout, unless type or encoding change.
qrn_status ox_out_transposed(ox_import *im, const ox_node *n, const uint32_t *perm);

// Reshapes that split or join channels of a channel-last value without leaving that layout: output
// 0, declared, is input 0 in another shape. *done: whether it was such a reshape.
qrn_status ox_out_channels(ox_import *im, const ox_node *n, bool *done);

// Input i when it is a dequantized constant of one encoding, in a node that is no quantized unit:
// its quantized values, and output i_out (declared) as the dequantized value of such values
// too. *x is NULL when it is not. So a table is never expanded to float for the few rows that are
// read.
qrn_status ox_quantized_of(ox_import *im, const ox_node *n, uint32_t i, uint32_t i_out,
                           qc_tensor **x, qc_tensor **y);

#endif
