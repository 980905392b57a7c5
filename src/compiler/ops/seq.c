// SPDX-License-Identifier: MIT
//
// Ops of a compiled graph, group seq: attributes, and what makes a step safe to run.
#include "compiler/op.h"

#include "kernels/attention/attention.h"
#include "kernels/buffer/buffer.h"
#include "kernels/random/random.h"
#include "kernels/recurrent/recurrent.h"
#include "kernels/signal/stft.h"

const qrn_cop qrn_cop_lstm = {QRN_COP_HEAD(lstm)};
const qrn_cop qrn_cop_gru = {QRN_COP_HEAD(gru)};
const qrn_cop qrn_cop_gqa = {QRN_COP_HEAD(gqa)};
const qrn_cop qrn_cop_rotary = {QRN_COP_HEAD(rotary)};
const qrn_cop qrn_cop_stft = {QRN_COP_HEAD(stft)};
const qrn_cop qrn_cop_buffer = {QRN_COP_HEAD(buffer)};
const qrn_cop qrn_cop_random = {QRN_COP_HEAD(random)};
