// SPDX-License-Identifier: MIT
//
// The rows of the resample_q family, one file per ISA.
#ifndef QRN_KERNELS_IMAGE_RESAMPLE_Q_H
#define QRN_KERNELS_IMAGE_RESAMPLE_Q_H

#include "kernels/image/resample.h"

qrn_status qrn_resample_q_ref(const qrn_kcall *k);
qrn_status qrn_resample_q_neon(const qrn_kcall *k);
qrn_status qrn_resample_q_avx2(const qrn_kcall *k);
qrn_status qrn_resample_q_avx512(const qrn_kcall *k);

#endif
