// SPDX-License-Identifier: MIT
//
// Kernels for the operators that were not delegated. They are there so that partly delegated
// programs run, not to be fast: numbers are computed in double (or in 64-bit integers) and rounded
// once. Arguments come as a program has them; whatever they are, a kernel checks before it touches.
#ifndef QRN_FRONTEND_EXECUTORCH_KERNEL_H
#define QRN_FRONTEND_EXECUTORCH_KERNEL_H

#include "frontend/executorch/method.h"

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

const et_tensor *et_in(et_call *c, uint32_t i); // NULL after a fault
et_tensor *et_out(et_call *c, uint32_t i);      // a tensor that may be written
bool et_absent(const et_call *c, uint32_t i);   // a null value
int64_t et_int(et_call *c, uint32_t i);         // an integer or bool
int64_t et_int_or(et_call *c, uint32_t i, int64_t absent);
double et_number(et_call *c, uint32_t i);    // an integer, bool or double
const char *et_text(et_call *c, uint32_t i); // "" when it is absent
// Integers of a list into `out`; their number, at most ET_MAX_RANK.
uint32_t et_ints(et_call *c, uint32_t i, int64_t *out);
// Tensors of a list; et_list_n first.
uint32_t et_list_n(et_call *c, uint32_t i);
et_tensor *et_list_at(et_call *c, uint32_t i, uint32_t k);
// A dimension counted from the front or (negative) from the back, below `rank`.
uint32_t et_dim(et_call *c, uint32_t i, uint32_t rank);
uint32_t et_dim_of(et_call *c, int64_t dim, uint32_t rank);

// Gives the result its shape; false after a fault.
bool et_shape(et_call *c, et_tensor *t, uint32_t rank, const int64_t *sizes);
bool et_same_type(et_call *c, const et_tensor *a, const et_tensor *b);
qrn_status et_refuse(et_call *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

// --- Elements, by their offset in elements

bool et_is_float(unsigned type);
double et_get(const et_tensor *t, int64_t at);
int64_t et_get_int(const et_tensor *t, int64_t at);
void et_set(et_tensor *t, int64_t at, double v); // rounds to floats, cuts to integers
void et_set_int(et_tensor *t, int64_t at, int64_t v);
void et_copy(et_tensor *to, int64_t at, const et_tensor *from, int64_t from_at); // same type

// All positions of a shape in C order, with the offsets of up to four tensors.
#define ET_WALK 4
typedef struct et_walk {
    uint32_t rank, n;
    int64_t sizes[ET_MAX_RANK], index[ET_MAX_RANK];
    int64_t step[ET_WALK][ET_MAX_RANK];
    int64_t at[ET_WALK]; // offsets of the current position
    size_t left;         // positions from here on
} et_walk;

void et_walk_shape(et_walk *w, uint32_t rank, const int64_t *sizes);
// Adds a tensor that is broadcast to the shape; its number is its place in `at`. false: it cannot.
bool et_walk_add(et_walk *w, const et_tensor *t);
// Adds a tensor with steps of its own, beginning at `start`.
void et_walk_add_steps(et_walk *w, int64_t start, const int64_t *steps);
void et_walk_next(et_walk *w);

// The shape that two broadcast to; false: they do not.
bool et_broadcast(const et_tensor *a, const et_tensor *b, uint32_t *rank, int64_t *sizes);

// Tables of the families, ended by a row without a name.
extern const et_kernel et_kernels_elementwise[], et_kernels_move[], et_kernels_join[],
    et_kernels_reduce[], et_kernels_linear[], et_kernels_quant[], et_kernels_prim[];

#endif
