// SPDX-License-Identifier: MIT
//
// Constants of a graph in the form in which kernels read them. A packing is the same for every
// host, so that packed constants can be stored and used where they lie.
#ifndef QRN_IR_PACKED_H
#define QRN_IR_PACKED_H

#include "ir/tensor.h"

// The numbers are stored in context binaries (docs/context-binary.md): never change or reuse one.
typedef enum qrn_packing_id {
    QRN_PACKING_RAW = 0,          // as the tensor describes it
    QRN_PACKING_DENSE_F32 = 1,    // [group*panels][K][32] f32
    QRN_PACKING_DENSE8 = 2,       // [group*panels][K/4][32][4] i8
    QRN_PACKING_DENSE8_SUMS = 3,  // [N] or [runs][N] i32: sums of the stored weights of a channel
    QRN_PACKING_DENSE4 = 4,       // [group*panels][K/4][32][2] i8: dense8, two numbers a byte
    QRN_PACKING_DENSE16 = 5,      // [2][group*panels][K/4][32][4] i8: two planes
    QRN_PACKING_DENSE16_SUMS = 6, // [N] or [runs][N] i64
    QRN_PACKING_DENSE_F16 = 7,    // [group*panels][K][32] fp16
    QRN_PACKING_ROUNDED = 8,      // the tensor's f32 numbers, rounded to fp16
    QRN_PACKING_WINOGRAD8 = 9,    // [panels][36*Cin/2][32][2] i16: beside dense8, in older files
    QRN_PACKING_SCALES = 10,      // [panels][runs][32] f32 or fp16: scales of 4- and 8-bit weights
    QRN_PACKING_OFFSETS = 11,     // [panels][runs][32] i8: offsets of the stored weights
    QRN_PACKING_COUNT
} qrn_packing_id;

// One constant: node, tensor and packing are its name (two nodes may want two orders of one
// tensor); type and shape are those of the packed form.
typedef struct qrn_packed {
    uint32_t node; // position in the graph
    uint32_t tensor_id;
    uint32_t packing; // qrn_packing_id
    qrn_dtype dtype;
    qrn_shape shape;
    const void *data;
    size_t size_bytes;
} qrn_packed;

// Constants that were packed before, by another finalize of the same graph; in ascending order of
// node, tensor and packing.
typedef struct qrn_packed_list {
    const qrn_packed *items;
    uint32_t n;
} qrn_packed_list;

// Order of the list: negative, 0 or positive.
static inline int qrn_packed_order(const qrn_packed *a, const qrn_packed *b) {
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    if (a->tensor_id != b->tensor_id)
        return a->tensor_id < b->tensor_id ? -1 : 1;
    return a->packing < b->packing ? -1 : a->packing > b->packing;
}

// The entry with the name, type and shape of `want`; NULL when the list has none.
static inline const qrn_packed *qrn_packed_find(const qrn_packed_list *l, const qrn_packed *want) {
    uint32_t lo = 0, hi = l ? l->n : 0;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        const qrn_packed *p = &l->items[mid];
        int order = qrn_packed_order(p, want);
        if (order == 0)
            return p->dtype == want->dtype && qrn_shape_equal(&p->shape, &want->shape) ? p : NULL;
        if (order < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

#endif
