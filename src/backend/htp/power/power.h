// SPDX-License-Identifier: MIT
//
// Power config ids and their votes, which the API makes process-wide: one registry per library,
// behind one lock, which is held for no call outside but that for the newest device (device.h).
// Votes cost nothing and speed up nothing here; they decide the clock that cycle counts rest on.
// Each call that sets votes logs what is in force then; an empty list only does that.
#ifndef QRN_BACKEND_HTP_POWER_H
#define QRN_BACKEND_HTP_POWER_H

#include "backend/htp/power/power_vote.h"

#define QRN_HTP_POWER_IDS_MAX 256u // living ids of a process

// The infrastructure struct of the API.
qrn_status qrn_htp_infrastructure(const void **infra);

// Modelled clock of the core under the votes in force. The null client's vote, if there is one,
// counts alone; otherwise the fastest one does. Without any vote: NOM.
uint64_t qrn_htp_clock_hz(void);

// A backend goes: memory options may be set anew.
void qrn_htp_power_backend_freed(void);
// The accelerator was restarted: votes are lost, but those on the finer scale, which are sent again
// (HTP-SSR-04, HTP-PWR-43). Ids live on.
void qrn_htp_power_restart(void);

#endif
