// SPDX-License-Identifier: MIT
//
// What backends that compute on this machine's CPU share: the thread pool and the option that sizes
// it, and building
// graphs for it.
#ifndef QRN_CORE_HOST_H
#define QRN_CORE_HOST_H

#include "bind/cpu/bind.h"
#include "compiler/compile.h"
#include "core/services.h"

// Takes a QuernBackend_CustomConfig_t (include/Quern); a struct that is none is ignored with a
// warning.
qrn_status qrn_host_config(qrn_api_backend *b, const void *custom);
// Compiles the graph and binds it to this machine's CPU: makes g->compiled and g->runner. What
// depends on the machine or the backend's own options is filled in here.
qrn_status qrn_host_build(qrn_api_graph *g, const qrn_compile_options *opt,
                          const qrn_cpu_options *cpu);
// The second half of it, with a graph that was compiled before: verifies and binds it. The graph is
// taken over, also on failure.
qrn_status qrn_host_bind(qrn_api_graph *g, qrn_compiled *cg, const qrn_compile_options *opt,
                         const qrn_cpu_options *cpu);
// Must every tensor be computed and have its own memory, for dumps or an observer?
bool qrn_host_keeps_tensors(const qrn_api_graph *g);
// The backend's thread pool, acquired once.
qrn_status qrn_host_acquire_pool(qrn_api_backend *b);
// Gives the pool back; nothing to do when there is none.
void qrn_host_release(qrn_api_backend *b);

#endif
