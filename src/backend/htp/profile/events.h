// SPDX-License-Identifier: MIT
//
// Events that the HTP backend adds to profiles (HTP-PRF-*). docs/profiling.md lists them and says
// where each number comes from.
#ifndef QRN_BACKEND_HTP_EVENTS_H
#define QRN_BACKEND_HTP_EVENTS_H

#include "backend/htp/htp.h"

// Hooks of the backend.
void qrn_htp_record(qrn_api_profile *p, const qrn_call_record *r);
bool qrn_htp_profile_level(uint32_t level);

// Op ids: node i of the plan has QRN_HTP_OP_FIRST + i.
#define QRN_HTP_OP_START 0u
#define QRN_HTP_OP_INPUT 2u
#define QRN_HTP_OP_OUTPUT 3u
#define QRN_HTP_OP_FIRST 4u

// Bits of event 5004: units of the NPU that run an op of this kind.
#define QRN_HTP_UNIT_HVX 1u
#define QRN_HTP_UNIT_HMX 2u
#define QRN_HTP_UNIT_DMA 4u

#endif
