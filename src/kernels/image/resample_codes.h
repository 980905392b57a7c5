// SPDX-License-Identifier: MIT
//
// The rows of the resample_codes family, one file per ISA.
#ifndef QRN_KERNELS_IMAGE_RESAMPLE_CODES_H
#define QRN_KERNELS_IMAGE_RESAMPLE_CODES_H

#include "kernels/image/resample.h"

qrn_status qrn_resample_codes_ref(const qrn_kcall *k);
qrn_status qrn_resample_codes_neon(const qrn_kcall *k);
qrn_status qrn_resample_codes_avx2(const qrn_kcall *k);
qrn_status qrn_resample_codes_avx512(const qrn_kcall *k);

#endif
