// SPDX-License-Identifier: MIT
//
// Declared shapes of a model's values.
#ifndef QRN_QUANTIZER_DECLARE_H
#define QRN_QUANTIZER_DECLARE_H

#include "frontend/onnx/reader/model.h"

// Declares the shapes of values that the model declares none for, where the importer asks for them:
// it finds some norms and softmaxes that are written out by the shapes inside of them. A model that
// cannot be imported stays as it is.
qrn_status qz_declare(ox_model *m);

#endif
