// SPDX-License-Identifier: MIT
//
// A method of a program, ready to run: its memory, its values as they are now, its kernels and its
// delegates on QNN libraries. Not thread-safe. The program must outlive its methods.
#ifndef QRN_FRONTEND_EXECUTORCH_METHOD_H
#define QRN_FRONTEND_EXECUTORCH_METHOD_H

#include "frontend/executorch/program.h"
#include "frontend/executorch/trace.h"

#include "QnnLog.h"
#include "QnnTypes.h"

typedef struct et_method et_method;
typedef struct et_kernel et_kernel;
typedef struct et_delegate et_delegate;

// A tensor as it is now.
typedef struct et_tensor {
    const et_tensor_def *def;
    uint8_t *data; // NULL: not given yet
    size_t room;   // bytes behind it
    bool fixed;    // must not be written: a constant, or memory of the caller
    uint32_t rank;
    int64_t sizes[ET_MAX_RANK];
    int64_t strides[ET_MAX_RANK]; // in elements, by the order of dimensions
    size_t count;                 // elements
} et_tensor;

// A value as it is now.
typedef struct et_item {
    uint8_t kind; // et_kind
    union {
        int64_t i;
        double d;
        const char *text;
        et_list list;
        et_tensor *tensor;
    };
} et_item;

typedef struct et_options {
    // (optional) A method of the same program, loaded before, which must outlive this one.
    // Delegates with the same context binary share its context: weights are in memory once.
    const et_method *sibling;
    const char *backend;   // instead of the one in the program: "htp", a path; NULL: the program's
    uint32_t soc;          // instead of the chip in the program; 0: the program's
    int log_level;         // instead of the level in the program, 1 to 5; 0: the program's
    QnnLog_Callback_t log; // NULL: no log
    bool set_profile;      // instead of the level in the program: profile_level, 0 to 3
    bool set_performance;  // instead of the mode in the program: performance_mode, 0 to 8
    int profile_level, performance_mode;
    et_trace *trace;    // (optional) records what happens; profiles are only made with it
    uint32_t n_threads; // 0: leave it to the library
    size_t max_bytes;   // of planned memory; 0: no limit
    uint64_t max_steps; // instructions of an execution; 0: a budget (base/budget.h)
    bool no_delegates;  // refuse them, so that nothing is opened
} et_options;

struct et_method {
    const et_program *program;
    const et_method_def *def;
    et_options opt;
    qrn_arena *arena;
    et_item *values;           // def->n_values
    uint8_t **buffers;         // def->n_buffers
    const et_kernel **kernels; // def->n_operators; NULL: not called by any instruction
    et_delegate **delegates;   // def->n_delegates
};

// Prepares method `index`. QRN_E_OP_UNKNOWN: operators without a kernel, which the message names.
qrn_status et_method_load(const et_program *p, uint32_t index, const et_options *opt,
                          et_method **out);
void et_method_free(et_method *m); // NULL is fine

// Inputs and outputs as they are now; i is below def->n_inputs and n_outputs.
const et_item *et_method_input(const et_method *m, uint32_t i);
const et_item *et_method_output(const et_method *m, uint32_t i);

// The tensor of a delegate's graph that input or output i is; it has the name and the encoding,
// which programs do not say. NULL: no delegate reads or writes it. Lives as long as the method.
const Qnn_Tensor_t *et_method_tensor(const et_method *m, bool is_output, uint32_t i);

// Gives the bytes of a tensor input: copied where the tensor is planned, kept by address where it
// is not. sizes NULL: the shape in the program; else a shape within it. The bytes must be as many
// as the shape has, or as the largest shape has.
qrn_status et_method_set_input(et_method *m, uint32_t i, const void *data, size_t bytes,
                               const int64_t *sizes);

qrn_status et_method_execute(et_method *m);

// A tensor takes another shape within the largest one.
qrn_status et_tensor_resize(et_tensor *t, uint32_t rank, const int64_t *sizes);
size_t et_tensor_bytes(const et_tensor *t); // as it is now

#endif
