// SPDX-License-Identifier: MIT
//
// How quantized values read as real numbers. Every encoding of the API is brought to one of four
// kinds, so that kernels never see the API's fourteen forms:
//   real = scale[g] * (q + offset[g] + shift) + real_offset[g]
// where q is the stored integer and g the group of the element (whole tensor, index of an axis, or
// block).
#ifndef QRN_BASE_QUANT_H
#define QRN_BASE_QUANT_H

#include "base/dtype.h"

#include <stdint.h>

#define QRN_MAX_RANK 8

typedef enum qrn_quant_kind {
    QRN_QUANT_NONE,   // plain numbers
    QRN_QUANT_TENSOR, // one scale and offset
    QRN_QUANT_AXIS,   // one pair per index of `axis`
    QRN_QUANT_BLOCK   // one pair per block of shape block[], blocks in row-major order
} qrn_quant_kind;

// Scales of blocks where they lie in a packed form of the weights, [panels][runs][32] (packing
// QRN_PACKING_SCALES of ir/packed.h): what a file has in place of lists.
typedef struct qrn_quant_packed {
    const void *scales;    // f32 or fp16
    const int8_t *offsets; // in the same order, without `shift`; NULL = all 0
    uint32_t runs;         // blocks of a column
    uint32_t columns;
    int32_t shift;  // offset = offsets[] - shift
    bool fp16;      // scales
    bool by_column; // groups are counted [column][run]; else [run][column]
} qrn_quant_packed;

typedef struct qrn_quant {
    uint8_t kind;                   // qrn_quant_kind
    uint8_t bits;                   // of q that count; signed values are sign-extended from there
    uint8_t axis;                   // AXIS: which dimension
    float shift;                    // added to every q (0, or 0.5 for encodings without a zero)
    float scale;                    // TENSOR
    int32_t offset;                 // TENSOR: minus the zero point
    const qrn_quant_packed *packed; // BLOCK: (optional) in place of the next two lists
    const float *scales;            // AXIS, BLOCK: n_groups values
    const int32_t *offsets;         // AXIS, BLOCK; NULL = all 0
    const float *real_offsets;      // BLOCK: added after scaling; NULL = all 0
    uint32_t n_groups;              // length of scales
    uint32_t block[QRN_MAX_RANK];   // BLOCK: block shape, one entry per dimension
} qrn_quant;

// Range of quantized values of a type, e.g. 0..255; bits may be fewer than the container's (0 =
// all).
void qrn_quant_range(qrn_dtype t, uint32_t bits, int64_t *lo, int64_t *hi);

// Scale and offset of group g, in whichever form they are; encodings of a tensor have one for all.
float qrn_quant_packed_scale(const qrn_quant_packed *p, size_t g);
int32_t qrn_quant_packed_offset(const qrn_quant_packed *p, size_t g);
static inline float qrn_quant_scale(const qrn_quant *q, size_t g) {
    return q->kind == QRN_QUANT_TENSOR ? q->scale
           : q->packed                 ? qrn_quant_packed_scale(q->packed, g)
                                       : q->scales[g];
}
static inline int32_t qrn_quant_offset(const qrn_quant *q, size_t g) {
    return q->kind == QRN_QUANT_TENSOR ? q->offset
           : q->packed                 ? qrn_quant_packed_offset(q->packed, g)
           : q->offsets                ? q->offsets[g]
                                       : 0;
}

// Same real value for the same quantized one: no conversion needed between the two. NULL counts as
// NONE.
bool qrn_quant_equal(const qrn_quant *a, const qrn_quant *b);

#endif
