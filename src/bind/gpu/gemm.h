// SPDX-License-Identifier: MIT
//
// Matrix products and convolutions as one GEMM, for the kernels that compute it.
#ifndef QRN_BIND_GPU_GEMM_H
#define QRN_BIND_GPU_GEMM_H

#include "bind/gpu/binder.h"
#include "bind/gpu/tune.h"
#include "compiler/gemm.h"

#define QRN_GPU_GEMM_PARAMS (17 + 3 * QRN_MAX_RANK)

// Rows are output cells or rows of a matrix, columns are output channels. A matrix is a picture of
// one row of cells with one tap.
typedef struct qrn_gpu_gemm {
    const qrn_cstep *step;
    size_t rows, cols, depth, batch;
    uint32_t channels; // of a tap: depth is a multiple of it
    uint32_t grain;    // cells begin at multiples of so many elements
    bool direct;       // the rows of X follow each other as they are
    bool fixed;        // weights are constant, element (k, j) at k * w_depth + j * w_col
    size_t w_depth, w_col;
    const qrn_clamp *clamp;
    // Step before this one that the kernel does on the way, or NULL: a depthwise convolution that
    // makes the rows; `planar`: a transpose, X has planes of channels.
    const qrn_cstep *front;
    bool planar;
    int32_t params[QRN_GPU_GEMM_PARAMS]; // P of gemm_mma.cl
    uint32_t n_params;
} qrn_gpu_gemm;

// Names of kinds of kernels may be left out (QUERN_GPU_KERNELS).
bool qrn_gpu_kind_enabled(const char *name);

// May a 1x1 convolution compute this depthwise one on the way? Is this such a convolution? Is it
// one that may read planes of channels?
bool qrn_gpu_is_front(const qrn_gpu_binder *b, const qrn_cstep *s);
bool qrn_gpu_is_pointwise(const qrn_gpu_binder *b, const qrn_cstep *s);
bool qrn_gpu_reads_planes(const qrn_gpu_binder *b, const qrn_cstep *s);

// gemv.c, gemv_float.c, gemm_mma.c, gemm_pack.c: adds the launches; QRN_E_UNSUPPORTED without a
// message: another kernel must do it.
qrn_status qrn_gpu_gemv(qrn_gpu_binder *b, const qrn_gpu_gemm *g);
qrn_status qrn_gpu_gemv_float(qrn_gpu_binder *b, const qrn_gpu_gemm *g);
qrn_status qrn_gpu_gemm_mma(qrn_gpu_binder *b, const qrn_gpu_gemm *g);
qrn_status qrn_gpu_gemm_panels(qrn_gpu_binder *b, const qrn_gpu_gemm *g);
// Kernels for one GEMM that differ in speed; number 0 is the rule's choice.
typedef struct qrn_gpu_gemm_variants {
    uint32_t n;
    void (*describe)(const void *ctx, uint32_t i, qrn_gpu_variant *out);
    // Adds the launches; all variants add the same number.
    qrn_status (*add)(qrn_gpu_binder *b, const qrn_gpu_gemm *g, const void *ctx, uint32_t i);
    const void *ctx;
} qrn_gpu_gemm_variants;
// tune_gemm.c: adds the launches of the fastest one, as far as that is known.
qrn_status qrn_gpu_gemm_tuned(qrn_gpu_binder *b, const qrn_gpu_gemm *g,
                              const qrn_gpu_gemm_variants *v);
// Operands X to Y of a GEMM with weights w.
void qrn_gpu_gemm_operands(qrn_gpu_kernel *k, const qrn_gpu_gemm *g, qrn_val w);

#endif
