// SPDX-License-Identifier: MIT
//
// Fused activations of ops, in one place.
#ifndef QRN_FRONTEND_TFLITE_ACTIVATION_H
#define QRN_FRONTEND_TFLITE_ACTIVATION_H

#include "frontend/tflite/import.h"

// The range of a clipping activation; false: it is none.
bool tl_clips_to(int activation, float *lo, float *hi);
// Does the node's fused activation change what can be stored in y?
bool tl_activates(const tl *t, const qc_tensor *y);
// Emits it.
void tl_activate(tl *t, qc_tensor *x, qc_tensor *y);
// y = x clipped; hi may be infinite.
void tl_clip_to(tl *t, qc_tensor *x, qc_tensor *y, float lo, float hi);

#endif
