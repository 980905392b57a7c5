// SPDX-License-Identifier: MIT
//
// Choosing a kernel: the first row of a family that fits.
#include "kernels/kernel.h"

const char *qrn_kernel_rejection(const qrn_kernel *row, qrn_domain domain, const qrn_kcall *k,
                                 uint32_t isa) {
    if (row->domain != domain)
        return "other domain";
    if ((row->needs & isa) != row->needs)
        return "CPU lacks the instructions";
    if (row->works && !row->works(k))
        return "shape or parameters do not fit";
    return NULL;
}

const qrn_kernel *qrn_kernel_select(const qrn_family *f, qrn_domain domain, const qrn_kcall *k,
                                    uint32_t isa) {
    for (uint32_t i = 0; i < f->n_rows; i++)
        if (!qrn_kernel_rejection(&f->rows[i], domain, k, isa))
            return &f->rows[i];
    return NULL;
}
