// SPDX-License-Identifier: MIT
//
// Draws quantization encodings of all fourteen kinds for a tensor, good ones and bad ones. Arrays
// are as long as the encoding claims: what a client does not own, no library can check.
#ifndef TESTS_FUZZ_ENCODING_H
#define TESTS_FUZZ_ENCODING_H

#include "scrap.h"
#include "source.h"

#include "ir/tensor.h"

#include "QnnTypes.h"

// For codes of `dtype` in a tensor of `shape`. `bad_percent` of the draws are wrong in some way.
Qnn_QuantizeParams_t encoding_draw(source *s, scrap *mem, qrn_dtype dtype, const qrn_shape *shape,
                                   uint32_t bad_percent);

#endif
