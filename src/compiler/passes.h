// SPDX-License-Identifier: MIT
//
// Passes over the steps of a compiled graph, between lowering and binding: fewer steps, less
// memory, the same bytes in every result (but for batchnorm.c and a norm of layout.c). A pass looks
// at steps, shapes and encodings, never at the numbers of constants or at the machine, so that a
// graph from a binary gets the same steps.
// Graphs in which a step may not run, or an operand may be left out, are not touched; nor are
// steps with dynamic operands. docs/passes.md says what each pass does.
#ifndef QRN_COMPILER_PASSES_H
#define QRN_COMPILER_PASSES_H

#include "compiler/lowering.h"

// Who uses a value; counted before each pass, for the values that are there then. Steps that the
// pass drops still count.
typedef struct qrn_use {
    uint32_t n_reads, n_writes;
    uint32_t last_write; // step behind the last one that writes it; 0: none does
} qrn_use;

typedef qrn_status (*qrn_pass_fn)(qrn_lowering *lo, const qrn_use *uses);

typedef struct qrn_pass {
    const char *name;
    qrn_pass_fn run;
    bool fuses; // left out for a binder that fuses by itself
    bool keeps; // values that are wanted (qrn_compile_options) are computed and stay
} qrn_pass;

extern const qrn_pass qrn_passes[]; // those of base/passes.def; ends with a row without a name

// Runs all passes that are not left out.
qrn_status qrn_lo_passes(qrn_lowering *lo);

#define X(name, fuses, keeps) qrn_status qrn_pass_##name(qrn_lowering *lo, const qrn_use *uses);
#include "base/passes.def"
#undef X

// May step `at` be an epilogue of step `head`, behind those in between? It reads what they make
// element by element, and does not write over what they read otherwise.
bool qrn_fusable(const qrn_compiled *cg, uint32_t head, uint32_t at);

// --- for passes

// Does the step only take place on fixed shapes of dense elements of whole bytes?
bool qrn_pass_plain(const qrn_compiled *cg, const qrn_cstep *s);
// Does the step leave the bytes of in[0], in their order, in out[0]?
bool qrn_pass_copies(const qrn_lowering *lo, const qrn_cstep *s);
// The value that owns the memory of v; *offset (may be NULL) is where v begins in it.
qrn_val qrn_pass_owner(const qrn_compiled *p, qrn_val v, size_t *offset);
// Makes `owner`, which has arena memory of its own, a part of v's memory.
void qrn_pass_place(qrn_compiled *p, qrn_val owner, qrn_val v, size_t offset);
// May the memory of x be moved into another value? Then *owner is the value to be moved.
bool qrn_pass_movable(const qrn_compiled *p, qrn_val x, qrn_val *owner);
// The only step that writes what step `at` reads first, if it has one input, which stays as it was;
// else NULL.
const qrn_cstep *qrn_pass_step_before(const qrn_lowering *lo, const qrn_use *uses, uint32_t at);
// Makes the step another op; inputs and attributes are copied.
qrn_status qrn_pass_become(const qrn_lowering *lo, qrn_cstep *s, const qrn_cop *op,
                           const qrn_val *in, uint32_t n_in, const void *args, size_t args_bytes);
// The step goes when the pass is done.
static inline void qrn_pass_drop(qrn_cstep *s) { s->op = NULL; }

#endif
