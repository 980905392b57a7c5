// SPDX-License-Identifier: MIT
//
// Options of the provider: one table row each, with the kind of value and the range that is legal.
// Unknown keys and illegal values are errors that name the nearest legal one.
#ifndef QRN_FRONTEND_ORT_OPTIONS_H
#define QRN_FRONTEND_ORT_OPTIONS_H

#include "base/arena.h"
#include "frontend/ort/host.h"

typedef enum qe_backend {
    QE_BACKEND_CPU,
    QE_BACKEND_GPU,
    QE_BACKEND_HTP,
    QE_BACKEND_SAVER,
    QE_BACKENDS
} qe_backend;

typedef struct qe_options {
    const OrtLogger *log; // of the session: what has no effect is logged there
    // provider options
    int backend_type; // qe_backend; -1: not given
    const char *backend_path;
    uint32_t soc_model; // 0: none
    int64_t htp_arch, device_id, vtcm_mb, finalize_mode, rpc_latency, n_threads;
    int performance_mode; // index into qe_performance_modes
    int priority;         // index into qe_priorities
    int gpu_precision;    // index into qe_gpu_precisions
    int profile_level;    // index into qe_profile_levels
    const char *profile_path;
    bool fp16, bf16, offload_io, strict;
    bool allow_fp16; // see ox_options
    // of graphs
    bool monolithic_lstm, clamp_fp16, matmul_lut;
    int64_t n_cores; // 0: the library's default
    // of contexts
    bool extended_udma, split_graphs, prepare_only, prepare_and_load;
    bool spill_fill;      // contexts of a model share one buffer
    bool share_resources; // and all they can, made as a list
    bool no_mapping;      // files of binaries are read, not mapped
    int64_t share_resources_too, reused_io_mb;
    // of the library
    bool any_version, shared_memory;
    const char *packages, *saver_path, *affinity_path, *ir_path;
    // what is written
    bool dump_json, op_trace, dump_input, dump_dlc;
    const char *json_dir, *trace_dir, *input_dir, *dlc_dir;
    // keys of the session
    bool no_fallback, context_enable, context_embed, share_contexts, stop_sharing;
    const char *context_path;
} qe_options;

extern const char *const qe_performance_modes[]; // NULL-terminated; 0 is "default"
extern const char *const qe_priorities[];        // 0 is "normal"

extern const char *const qe_gpu_precisions[]; // 0 is "user"
extern const char *const qe_profile_levels[]; // 0 is "off"
#define QE_DETAILED 2                         // from this level on ops have events

// Reads what a session gives to the provider `ep_name`. Texts live in the arena.
qrn_status qe_options_read(const OrtSessionOptions *from, const char *ep_name, const OrtLogger *log,
                           qrn_arena *arena, qe_options *out);

// Cuts a list that an option holds at a character, in place; *rest is NULL after the last piece.
char *qe_cut(char **rest, char at);

// A word of a list as its index; the failure names option, value and the nearest word.
qrn_status qe_choose(const char *key, const char *value, const char *const *words, int *out);

#endif
