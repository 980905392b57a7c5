// SPDX-License-Identifier: MIT
//
// 8-bit convolutions of 3x3 cells with a quarter of the multiplications, exactly: Winograd's
// F(4x4, 3x3), as in winograd.h, with the points 0, +-1, +-2 and infinity in 16-bit integers.
//
// Activations become signed bytes d, |d| <= 128, and stored weights g are signed bytes. Bt d B is
// no larger than 100 * 128. The rows of G are multiplied by 24, 6, 6, 24, 24 and 6, which makes
// them integers, and U = G g Gt no larger than 49 * 128; At makes up for it:
//       |  6  0  0 |        | 1  4  4  1  1  0 |   24 times the first result,
//   G = | -1 -1 -1 |   At = | 0  2 -2  1 -1  0 |   12 times the second,
//       | -1  1 -1 |        | 0  1  1  1  1  0 |    6 times the third,
//       |  1  2  4 |        | 0  1 -1  2 -2  1 |    6 times the fourth
//       |  1 -2  4 |
//       |  0  0  6 |
// Everything from the products on is done modulo 2^32. What comes out is 9 * 2^e times the sum that
// is wanted, e = 2 to 6; multiplied by the inverse of 9 and shifted down, which restores the sign,
// it is the sum itself where that is less than 2^25: up to 227 channels.
#ifndef QRN_KERNELS_GEMM_WINOGRAD8_H
#define QRN_KERNELS_GEMM_WINOGRAD8_H

#include "kernels/gemm/dense/dense8.h"
#include "kernels/gemm/epilogue/requant8.h"
#include "kernels/gemm/winograd/winograd.h"

#define QRN_WINOGRAD8_DEPTH 2 // neighbours in depth of a packed matrix

// Is a convolution of that shape one that gains? x and y: shapes only. Does not depend on the
// machine. (Stored weights must have no offset.)
bool qrn_winograd8_fits(const qrn_dense_args *a, const qrn_view *x, const qrn_view *y);

// Steps of two channels.
static inline size_t qrn_winograd8_steps(size_t channels) {
    return (channels + QRN_WINOGRAD8_DEPTH - 1) / QRN_WINOGRAD8_DEPTH;
}

// The matrices U, [panels, 36*steps, 32, 2] i16: for each panel of 32 output channels 36 matrices
// of steps of two input channels; what lies beyond the channels is zero. They are made of packed
// weights (dense8.h, in[1]).
void qrn_winograd8_shape(const qrn_dense_args *a, uint32_t dims[4]);
void qrn_winograd8_pack(const qrn_dense_args *a, const int8_t *dense8, int16_t *packed);

// One tile of input.
typedef struct qrn_winograd8_input {
    const uint8_t *cells[QRN_WINOGRAD_PLANES];
    size_t channels;
    bool is_signed; // the input
    int16_t *v;     // matrix p at p*plane; whole vectors, up to 32 channels, are written
    size_t plane;
} qrn_winograd8_input;

// Some tiles times one matrix of a panel.
typedef struct qrn_winograd8_gemm {
    const int16_t *a; // [rows][steps][2], rows a_row elements apart
    size_t a_row;
    const int16_t *b; // [steps][32][2]
    size_t steps, rows;
    const int16_t *next; // what will be wanted next, as long as b
    int32_t *c;          // [rows][32]
    bool low;            // the first 16 columns will do
} qrn_winograd8_gemm;

// One tile of output.
typedef struct qrn_winograd8_output {
    const int32_t *m; // matrix p at p*plane
    size_t plane;
    const int32_t *column; // [32] added to every sum of a column
    const qrn_requant8 *requant;
    uint8_t *y;
    size_t y_line, y_cell;
    size_t lines, cells; // 1 to 4: what of the tile exists
    uint32_t cols;       // 1 to 32
} qrn_winograd8_output;

// One file per ISA.
typedef struct qrn_winograd8_kernel {
    void (*transform_input)(const qrn_winograd8_input *t);
    void (*multiply)(const qrn_winograd8_gemm *t);
    void (*transform_output)(const qrn_winograd8_output *t);
} qrn_winograd8_kernel;

extern const qrn_winograd8_kernel qrn_winograd8_avx512vnni;
extern const qrn_winograd8_kernel qrn_winograd8_avx2;

// What a row of the dense8 family does with such a kernel; in[5] holds the matrices.
bool qrn_winograd8_works(const qrn_kcall *k);
bool qrn_winograd8_reads(const qrn_kernel *row); // does a row of that family read them?
qrn_status qrn_winograd8_run(const qrn_kcall *k, const qrn_winograd8_kernel *kernel);
uint32_t qrn_winograd8_tasks(const qrn_kcall *k, uint32_t n_threads);
size_t qrn_winograd8_scratch(const qrn_kcall *k);

#endif
