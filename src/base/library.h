// SPDX-License-Identifier: MIT
//
// The shared library that this code is in, held by itself: closing it does not unmap code that
// threads are in. Each hold needs a release. Nothing to do in a program that contains the code.
#ifndef QRN_BASE_LIBRARY_H
#define QRN_BASE_LIBRARY_H

void qrn_library_hold(void);
// The caller's own reference must not be gone yet: this may be the last but one.
void qrn_library_release(void);

#endif
