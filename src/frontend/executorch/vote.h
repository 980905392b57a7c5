// SPDX-License-Identifier: MIT
//
// Votes for the clocks of an HTP device, as ExecuTorch's performance modes ask for them.
#ifndef QRN_FRONTEND_EXECUTORCH_VOTE_H
#define QRN_FRONTEND_EXECUTORCH_VOTE_H

#include "frontend/client/client.h"

#include "HTP/QnnHtpDevice.h"

// A vote in force; zeroed: none.
typedef struct et_vote {
    const QnnHtpDevice_PerfInfrastructure_t *perf;
    uint32_t id;
} et_vote;

// mode: 0 casts no vote, 1 to 8 are the modes of the format. The library's infrastructure must be
// there; what it thinks of the vote itself is its log's business.
qrn_status et_vote_cast(const qc_client *c, int mode, et_vote *out);
void et_vote_withdraw(et_vote *v);

#endif
