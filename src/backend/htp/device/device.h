// SPDX-License-Identifier: MIT
//
// How a device comes to its facts: options are collected as wishes while a list is read, and become
// facts when it has ended, because entries may come in any order and confirm each other.
#ifndef QRN_BACKEND_HTP_DEVICE_H
#define QRN_BACKEND_HTP_DEVICE_H

#include "backend/htp/htp.h"

#define QRN_HTP_CORES_MAX 16u // cores that a platform info may name

typedef struct qrn_htp_wish {
    bool soc_given;
    uint32_t soc;       // model number where today's headers put it
    uint32_t soc_older; // where those up to core API 2.33 put it
    uint32_t arch;      // 0: none
    bool signed_pd;
    // Of a platform info.
    uint32_t n_cores; // 0: no platform info
    bool hpass;
    bool described;               // by an extension: what follows counts
    uint32_t info_soc, info_arch; // 0: not said
    uint32_t info_vtcm_mb;        // 0: not said
    bool info_signed_pd, info_dlbc;
} qrn_htp_wish;

// Facts of the newest living device, those of the default one when none lives. Returns its log or
// NULL, held for the caller (qrn_log_release).
qrn_api_log *qrn_htp_newest_device(qrn_htp_device *out);

// platform.c: reads a QnnDevice_PlatformInfo_t into a wish.
qrn_status qrn_htp_wish_platform(qrn_htp_wish *w, const void *info);

#endif
