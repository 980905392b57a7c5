// SPDX-License-Identifier: MIT
//
// What the checks of ops ask of operands and attributes (op.h says what a check promises). Every
// function is safe for whatever a check may be given.
#ifndef QRN_COMPILER_OPS_CHECK_H
#define QRN_COMPILER_OPS_CHECK_H

#include "base/mem.h"
#include "compiler/op.h"

// Leaves a check with a reason unless the condition holds.
#define QRN_NEED(condition, reason)                                                                \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return (reason);                                                                       \
    } while (0)
// Leaves a check with the reason of another one.
#define QRN_NEED_ALSO(check)                                                                       \
    do {                                                                                           \
        const char *reason_ = (check);                                                             \
        if (reason_)                                                                               \
            return reason_;                                                                        \
    } while (0)

// Operands by number; NULL: absent, or fewer are given.
static inline const qrn_view *qrn_chk_in(const qrn_kcall *k, uint32_t i) {
    return i < k->n_in ? k->in[i] : NULL;
}
static inline const qrn_view *qrn_chk_out(const qrn_kcall *k, uint32_t i) {
    return i < k->n_out ? k->out[i] : NULL;
}

// --- types and encodings; an absent operand (NULL) passes

// Is the type one of those of the mask, QRN_T(F32) | QRN_T(F16)?
static inline bool qrn_chk_type(const qrn_view *v, qrn_dtype_mask types) {
    return !v || ((types >> v->dtype) & 1) != 0;
}
// Has the operand the type of real operands of the domain? Never in RAW.
static inline bool qrn_chk_real(const qrn_view *v, qrn_domain domain) {
    return !v || v->dtype == qrn_domain_dtype(domain);
}
// Bytes of an element; 0 for types that are packed (4 bits) or have no size (strings).
static inline size_t qrn_chk_elem(const qrn_view *v) {
    return v->dtype == QRN_DTYPE_STR ? 0 : qrn_dtypes[v->dtype].bits / 8u;
}
// Elements that can be moved around: no 4-bit types, no strings.
static inline bool qrn_chk_bytes(const qrn_view *v) { return !v || qrn_chk_elem(v) != 0; }
static inline bool qrn_chk_dense(const qrn_view *v) {
    return !v || (v->n_sparse == 0 && v->n_sparse_dims == 0);
}
static inline uint8_t qrn_chk_quant(const qrn_view *v) {
    return v->quant ? v->quant->kind : QRN_QUANT_NONE;
}
// One scale for the whole tensor; plain numbers do not pass.
static inline bool qrn_chk_per_tensor(const qrn_view *v) {
    return !v || qrn_chk_quant(v) == QRN_QUANT_TENSOR;
}
static inline bool qrn_chk_plain(const qrn_view *v) {
    return !v || qrn_chk_quant(v) == QRN_QUANT_NONE;
}
// Same type, and the same real value for the same stored element.
static inline bool qrn_chk_same_format(const qrn_view *a, const qrn_view *b) {
    return a->dtype == b->dtype && qrn_quant_equal(a->quant, b->quant);
}

// All operands are dense. Ops that know no sparse storage begin with it.
static inline bool qrn_chk_all_dense(const qrn_kcall *k) {
    for (uint32_t i = 0; i < k->n_in + k->n_out; i++)
        if (!qrn_chk_dense(i < k->n_in ? k->in[i] : k->out[i - k->n_in]))
            return false;
    return true;
}
// All operands are dense and have the type of the domain (F32, F64, I64).
static inline const char *qrn_chk_all_real(const qrn_kcall *k, qrn_domain domain) {
    QRN_NEED(qrn_chk_all_dense(k), "an operand is sparse");
    for (uint32_t i = 0; i < k->n_in + k->n_out; i++)
        QRN_NEED(qrn_chk_real(i < k->n_in ? k->in[i] : k->out[i - k->n_in], domain),
                 "the type of an operand is not that of the domain");
    return NULL;
}

// --- shapes

static inline bool qrn_chk_same_shape(const qrn_view *a, const qrn_view *b) {
    if (a->rank != b->rank)
        return false;
    for (uint32_t d = 0; d < a->rank; d++)
        if (a->dims[d] != b->dims[d])
            return false;
    return true;
}
// Same rank, and the same dims but along `axis`.
static inline bool qrn_chk_same_but(const qrn_view *a, const qrn_view *b, uint32_t axis) {
    if (a->rank != b->rank)
        return false;
    for (uint32_t d = 0; d < a->rank; d++)
        if (d != axis && a->dims[d] != b->dims[d])
            return false;
    return true;
}
static inline bool qrn_chk_same_count(const qrn_view *a, const qrn_view *b) {
    return qrn_view_count(a) == qrn_view_count(b);
}
// Exactly this shape: qrn_chk_dims(v, 2, (const size_t[]){rows, cols}).
static inline bool qrn_chk_dims(const qrn_view *v, uint32_t rank, const size_t *dims) {
    if (v->rank != rank)
        return false;
    for (uint32_t d = 0; d < rank; d++)
        if (v->dims[d] != dims[d])
            return false;
    return true;
}
static inline bool qrn_chk_vector(const qrn_view *v, size_t n) {
    return v->rank == 1 && v->dims[0] == n;
}
// Can `v` be broadcast to the shape of `out`?
static inline bool qrn_chk_broadcasts(const qrn_view *v, const qrn_view *out) {
    if (v->rank > out->rank) // a single element: [1] is what [] is to clients
        return out->rank == 0 && qrn_view_count(v) == 1;
    for (uint32_t d = 0; d < v->rank; d++) {
        uint32_t to = out->dims[out->rank - v->rank + d];
        if (v->dims[d] != 1 && v->dims[d] != to)
            return false;
    }
    return true;
}

// --- arithmetic

// Is a * b == n, without overflow?
static inline bool qrn_chk_product(size_t a, size_t b, size_t n) {
    size_t p;
    return qrn_mul_size(a, b, &p) && p == n;
}

// Are the n values a permutation of 0 .. n - 1?
static inline bool qrn_chk_permutation(const uint32_t *perm, uint32_t n) {
    uint32_t seen = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (perm[i] >= n || n > 32 || ((seen >> perm[i]) & 1))
            return false;
        seen |= (uint32_t)1 << perm[i];
    }
    return true;
}

#endif
