// SPDX-License-Identifier: MIT
//
// Binding a compiled graph to this machine's CPU: packs the weights of GEMMs, chooses a kernel for
// each step and plans the memory of an execution. The result is a plan (runtime/plan.h).
#ifndef QRN_BIND_CPU_BIND_H
#define QRN_BIND_CPU_BIND_H

#include "compiler/compiled.h"
#include "ir/packed.h"
#include "runtime/plan.h"

typedef struct qrn_cpu_options {
    uint32_t isa;       // CPU features that may be used (base/cpu.h)
    uint32_t n_threads; // of the pool, for scratch sizes
    bool pack4;         // 8-bit weights whose values fit 4 bits are packed with 4
    bool winograd;      // 3x3 convolutions may use Winograd's method
    // (optional) Constants that were packed before: used where they lie. A constant tensor may then
    // lack its data. Also when there is an empty list the graph may be stored: f32 weights are then
    // packed in the one form that is.
    const qrn_packed_list *packed;
    // (optional) Most bytes of packed constants and state that may be made; 0: no limit.
    size_t most_bytes;
    // (optional) Called with one line per step: which kernel was chosen and why not those before.
    void (*explain)(void *ctx, const char *line);
    void *explain_ctx;
} qrn_cpu_options;

// The plan lives in the memory of the compiled graph: destroying it (qrn_plan_destroy) destroys
// both. When binding fails the graph is still the caller's, and can only be destroyed.
qrn_status qrn_bind_cpu(qrn_compiled *cg, const qrn_cpu_options *opt, qrn_plan **plan);

#endif
