// SPDX-License-Identifier: MIT
//
// Kernels for the operators that were not delegated. They are there so that partly delegated
// programs run, not to be fast: src/reference computes, in double (or in 64-bit integers) and
// rounded once. Arguments come as a program has them; whatever they are, a kernel checks before it
// touches.
#ifndef QRN_FRONTEND_EXECUTORCH_KERNEL_H
#define QRN_FRONTEND_EXECUTORCH_KERNEL_H

#include "frontend/executorch/method.h"
#include "reference/array.h"

// One call. The first fault is kept in `status`; accessors give harmless values after it.
typedef struct et_call {
    et_method *method;
    const int32_t *args; // indices of values
    uint32_t n_args;
    qrn_status status;
} et_call;

typedef qrn_status (*et_kernel_fn)(et_call *c, int how);

struct et_kernel {
    const char *name; // "aten::add.out"
    uint32_t n_args;  // of the operator's signature; results follow again behind them
    et_kernel_fn run;
    int how; // which of several operators that share a function
};

// NULL: there is none. "default" as overload is the same as none.
const et_kernel *et_kernel_find(const char *name, const char *overload);

// --- Arguments

qrn_nd et_in(et_call *c, uint32_t i);         // a tensor; nothing (all 0) after a fault
bool et_absent(const et_call *c, uint32_t i); // a null value
int64_t et_int(et_call *c, uint32_t i);       // an integer or bool
int64_t et_int_or(et_call *c, uint32_t i, int64_t absent);
double et_number(et_call *c, uint32_t i);    // an integer, bool or double
const char *et_text(et_call *c, uint32_t i); // "" when it is absent
// Integers of a list into `out`; their number, at most ET_MAX_RANK.
uint32_t et_ints(et_call *c, uint32_t i, int64_t *out);
// Tensor k of a list, or of a list of results; et_list_n first.
uint32_t et_list_n(et_call *c, uint32_t i);
qrn_nd et_list_in(et_call *c, uint32_t i, uint32_t k);
qrn_nd et_list_out(et_call *c, uint32_t i, uint32_t k, uint32_t rank, const size_t *dims);
// A dimension counted from the front or (negative) from the back, below `rank`.
uint32_t et_dim(et_call *c, uint32_t i, uint32_t rank);
uint32_t et_dim_of(et_call *c, int64_t dim, uint32_t rank);

// Bits of the dimensions in a list; all of them where there is none.
uint32_t et_dims(et_call *c, uint32_t i, uint32_t rank);
// A number as a tensor in `room`, in the precision that it has beside one of type `like`.
qrn_nd et_number_like(et_call *c, double v, const qrn_nd *like, qrn_num *room);
// Sizes of a view of `a`, of which one may be -1, from a list.
uint32_t et_view_dims(et_call *c, const qrn_nd *a, uint32_t i, size_t *dims);

// --- Results

// A tensor that may be written, with this shape.
qrn_nd et_result(et_call *c, uint32_t i, uint32_t rank, const size_t *dims);
// The same with the shape and elements of a view, which must be of the same type.
qrn_status et_put(et_call *c, uint32_t i, const qrn_nd *x);
bool et_same_type(et_call *c, const qrn_nd *a, const qrn_nd *b);
// Refuses a result that overlaps an input.
bool et_apart(et_call *c, const qrn_nd *y, const qrn_nd *x);
qrn_status et_refuse(et_call *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

// Tables of the families, ended by a row without a name.
extern const et_kernel et_kernels_elementwise[], et_kernels_move[], et_kernels_join[],
    et_kernels_reduce[], et_kernels_linear[], et_kernels_quant[], et_kernels_prim[];

#endif
