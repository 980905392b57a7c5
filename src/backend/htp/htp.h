// SPDX-License-Identifier: MIT
//
// The HTP backend's own parts of devices, contexts and graphs. Each belongs to one object of the
// API (object->impl) and dies with it; only power votes (power.h), the engine (engine.h) and the
// accelerator's address space (session.h) are shared by the process.
#ifndef QRN_BACKEND_HTP_HTP_H
#define QRN_BACKEND_HTP_HTP_H

#include "backend/package/package.h"
#include "base/soc.h"
#include "compiler/compile.h"
#include "core/services.h"
#include "ir/packed.h"

// --- devices

typedef struct qrn_htp_device {
    qrn_soc soc;    // facts; a copy, so that options may narrow them
    bool chosen;    // a SoC or an architecture was asked for: floats are fp16 (HTP-NUM-07)
    bool signed_pd; // option SIGNEDPD
    bool hpass;     // its cores are of kind HPASS (HTP-DEV-09)
} qrn_htp_device;

// Facts of the device behind a context; those of the default device when it has none, or when c is
// NULL; those it was made with for a context out of a binary. Never NULL.
const qrn_htp_device *qrn_htp_device_of(const qrn_api_context *c);

// --- backends

typedef struct qrn_htp_backend {
    qrn_packages packages;
    struct qrn_htp_context *newest; // living contexts, newest first; used exclusively
} qrn_htp_backend;

// Facts that an op validated by itself is judged by: the device of the backend's newest living
// context, else the process's newest living device (clients validate before they have a context),
// else the default device.
qrn_htp_device qrn_htp_device_of_backend(const qrn_api_backend *b);

// --- contexts

typedef struct qrn_htp_context_options {
    bool weight_sharing, lora_weight_sharing, lora_ram_preload, reference_weight_sharing;
    bool prepare_only, io_mem_estimation, init_acceleration, skip_section_validation;
    bool dsp_memory_profiling, extended_udma, graph_splitting;
    bool share_resources; // of a list of contexts
    uint32_t share_type;  // SHARE_RESOURCES_OPTIMIZATION_TYPE
    uint64_t read_budget_mb;
    uint64_t reused_io_limit_mb; // 0: none
    uint32_t weight_loading;     // PARALLEL_WEIGHT_LOADING: its mode
    uint64_t weight_loading_mb;  // and threshold
    uint32_t deserialize_extra_kb;
    int deserialize_patch_fd; // -1: none
} qrn_htp_context_options;

struct qrn_bin; // an open context binary (binary/binary.h)

typedef struct qrn_htp_context {
    const qrn_api_context *api;            // the object this belongs to
    struct qrn_htp_context *older, *newer; // neighbours in the backend's list
    qrn_htp_context_options options;
    struct qrn_bin *bin;       // of a context made from a binary, else NULL
    const unsigned char *file; // bytes of that binary, in use until the end
    void *owned;               // our copy of them; NULL: they are the client's
    uint64_t file_bytes;
    qrn_htp_device made_for; // chip that a loaded context is modelled as, instead of the device's
    bool has_made_for;
    void *session;                    // of session.c
    struct qrn_htp_group *group;      // it shares buffers with others (group.h); or NULL
    struct qrn_htp_mapping *mappings; // of registered memory (mem.c)
    uint32_t restarts;                // of the accelerator before it was made (restart.h)
} qrn_htp_context;

// --- graphs

// Stored in context binaries, each under its number (binary/options.def).
typedef struct qrn_htp_graph_options {
    uint32_t level;       // optimization level, 1 to 3
    uint32_t tuning;      // finalize option P
    uint64_t vtcm_bytes;  // 0: not asked for
    bool vtcm_max;        // all there is was asked for
    uint32_t hvx_threads; // 0: not settled yet
    bool hvx_asked;       // by the client: host threads are limited to them
    uint32_t n_cores;     // 1
    uint32_t precision;   // PRECISION, which has no effect any more
    uint64_t base;        // of a graph with updateable tensors: its other weights (base.c)
    bool fold_relu_off, short_depth_conv_off, dlbc, dlbc_weights, weights_packing;
    bool assume_same_quant, share_io_buffer, precise_sigmoid, monolithic_lstm;
    bool precision_compensation, predication, fp16_clamp, no_activation_fusion;
    bool slc, slc_forced_off, vtcm_retention, cached_weights;
    uint32_t concurrency, pge_size, pge_offset, pge_total; // parallel graph execution
    float hmx_hz, core_hz;                                 // HMX bounding, 0: off
} qrn_htp_graph_options;

typedef struct qrn_htp_sizes {
    uint64_t live_bytes;  // most intermediate data at a time
    uint64_t const_bytes; // constants
    uint64_t io_bytes;    // application tensors
} qrn_htp_sizes;

#define QRN_HTP_NOT_STORED UINT32_MAX

typedef struct qrn_htp_graph {
    qrn_htp_graph_options options;
    void *user_ops;         // nodes of op packages (backend/package/package.h)
    qrn_htp_sizes sizes;    // once it is finalized
    qrn_packed_list packed; // constants that came with a binary
    qrn_compiled *stored;   // compiled graph that came with it and is not bound yet, or NULL
    uint32_t stored_how;    // options that it was compiled with (qrn_htp_how)
    uint32_t how;           // options that the graph was compiled with; NOT_STORED: not to be kept
    _Atomic uint64_t base;  // of its constants where options have none (base.c); 0: not computed
    atomic_bool unchecked;  // nodes of a binary that nobody needed yet were not validated
    bool native_kv;         // it has tensors of a native KV cache
    bool beyond;            // a constant is beyond fp16 (lost_constants.c)
    bool section_applied;   // the updateable tensors were replaced since loading
    atomic_bool executed;   // once: HVX threads are settled (HTP-HVX-03)
    atomic_bool overflow_watched, overflow_reported; // overflow.h: once, and with a warning
    _Atomic(struct qrn_htp_modelled *) modelled;     // for profiles; NULL: not asked for yet
    uint64_t prepare_ns, compile_ns; // times of the last finalize: all of it, and compiling
} qrn_htp_graph;

static inline qrn_htp_context *qrn_htp_context_of(const qrn_api_context *c) { return c->impl; }
static inline qrn_htp_graph *qrn_htp_graph_of(const qrn_api_graph *g) { return g->impl; }

// --- the parts, one file each

// device.c
qrn_status qrn_htp_device_create(qrn_api_device *d);
qrn_status qrn_htp_device_free(qrn_api_device *d);
qrn_status qrn_htp_device_config(qrn_api_device *d, const void *custom);
qrn_status qrn_htp_device_platform(qrn_api_device *d, const void *info);
qrn_status qrn_htp_device_settle(qrn_api_device *d, bool list_is_good);
qrn_status qrn_htp_global_config(const void *config);
// platform.c
qrn_status qrn_htp_platform_info(qrn_api_device *d, const void **info);
void qrn_htp_platform_info_free(const void *info);
// context_options.c, graph_options.c
qrn_status qrn_htp_context_config(qrn_api_context *c, qrn_config_phase phase,
                                  const void *const *custom, size_t n);
qrn_status qrn_htp_graph_config(qrn_api_graph *g, qrn_config_phase phase, const void *const *custom,
                                size_t n);
// support.c
extern const qrn_support_table qrn_htp_support;
qrn_status qrn_htp_op_check(const qrn_api_backend *b, const qrn_api_context *c,
                            const qrn_op_call *call);
// load.c: validates the nodes of a graph from a binary, unless that was done.
qrn_status qrn_htp_check_nodes(const qrn_api_graph *g);
// numerics.c: how a graph computes, as options of the compiler.
void qrn_htp_numerics(const qrn_api_graph *g, qrn_compile_options *opt);
// Refuses floats that the device cannot compute with, in an op and in a graph to be finalized.
qrn_status qrn_htp_float_check(const qrn_htp_device *d, const qrn_op_call *call);
qrn_status qrn_htp_float_check_graph(const qrn_api_graph *g);
void qrn_htp_log_floats(const qrn_api_graph *g,
                        qrn_fp16_rule rule); // one line, where there are floats
// lost_constants.c: warns of constants that are lost in fp16.
void qrn_htp_log_lost(const qrn_api_graph *g, qrn_fp16_rule rule);
// Does a node compute with a finite constant that IEEE fp16 has no number for?
bool qrn_htp_has_beyond(const qrn_graph *g);
// Compiles and makes the runner (backend.c); used by finalize and by loading.
qrn_status qrn_htp_graph_finalize(qrn_api_graph *g, const qrn_finalize_options *opt);

#endif
