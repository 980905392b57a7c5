// SPDX-License-Identifier: MIT
//
// erf(x) = tanh(x P(x^2)): the coefficients of P, highest first, with which the front end composes
// Erf and by which the compiler finds it again. Fitted to atanh(erf(x)) / x: relative error below
// 1e-7 before rounding. Beyond |x| = 4, where the fit ends, the argument keeps growing and tanh is
// 1 in float.
#ifndef QRN_BASE_ERF_FIT_H
#define QRN_BASE_ERF_FIT_H

static const double qrn_erf_fit[] = {1.41851305e-07,  -5.66845827e-06, 8.76372119e-05,
                                     -6.19784323e-04, -1.9183123e-04,  1.02769056e-01,
                                     1.12837927};

#endif
