// SPDX-License-Identifier: MIT
//
// Native KV caches (HTP-NKV): inputs and outputs of a graph in data format HMX_WEIGHT_LAYOUT.
#ifndef QRN_BACKEND_HTP_NATIVE_KV_H
#define QRN_BACKEND_HTP_NATIVE_KV_H

#include "backend/htp/htp.h"
#include "runtime/exec.h"

// An op may have a native tensor as the cache that it updates, or as an output.
qrn_status qrn_htp_native_kv_check(const qrn_op_call *call);
// Before a graph is compiled: are its native tensors a KV cache as the accelerator reads one? Notes
// the tile of each.
qrn_status qrn_htp_native_kv_settle(qrn_api_graph *g);
// Before an execution: do new rows go to places that the accelerator can write?
qrn_status qrn_htp_native_kv_places(const qrn_api_graph *g, const qrn_binding *io);

#endif
