// SPDX-License-Identifier: MIT
//
// Environment variables: read once, at load, here and nowhere else. docs/environment.md lists them.
#ifndef QRN_BASE_ENV_H
#define QRN_BASE_ENV_H

// X(NAME, variable, meaning)
#define QRN_ENV_LIST(X)                                                                            \
    X(THREADS, "QUERN_THREADS", "number of threads; default: CPU affinity and cgroup quota")       \
    X(ISA, "QUERN_ISA",                                                                            \
      "cap of CPU features: ref, avx2, avxvnni, avx512, vnni, vbmi, amx, neon, dot, i8mm")         \
    X(VERBOSE, "QUERN_VERBOSE",                                                                    \
      "comma list; compiled: log lines with the steps of each compiled graph; "                    \
      "dispatch: one log line per step with the kernel chosen, one with the memory; "              \
      "threads: one log line per node of an execution with a detailed profile, with the time "     \
      "that its tasks took; "                                                                      \
      "overflow: all executions are watched for numbers beyond fp16")                              \
    X(PASSES, "QUERN_PASSES",                                                                      \
      "comma list of compiler passes to leave out, such as -alias (docs/passes.md); -all: every")  \
    X(LOG, "QUERN_LOG", "file that receives all log lines (- for stderr)")                         \
    X(DUMP, "QUERN_DUMP",                                                                          \
      "folder that receives every tensor of the graphs that are executed (docs/dump.md)")          \
    X(DUMP_RUNS, "QUERN_DUMP_RUNS", "executions of each graph that are written there; default 1")  \
    X(VERIFY, "QUERN_VERIFY",                                                                      \
      "any value: check the weights of context binaries when they are loaded")                     \
    X(LIMITS, "QUERN_LIMITS",                                                                      \
      "what reading and running a model may cost, such as nodes=2M,memory=1G,work=500M,run=8G,"    \
      "time=60; 0: no limit (docs/limits.md)")                                                     \
    X(API_VERSION, "QUERN_API_VERSION", "announced core API version, such as 2.37")                \
    X(SOC, "QUERN_SOC",                                                                            \
      "chip that HTP devices without options are, by name or number; default SM8350")              \
    X(SOCS, "QUERN_SOCS", "file with further chips for the HTP backend (docs/htp-device.md)")      \
    X(CUSTOM_OPS, "ORT_QNN_CUSTOM_OP_DOMAINS",                                                     \
      "ops that ONNX Runtime shall treat as known, for op packages (docs/onnxruntime.md)")         \
    X(HTP, "QUERN_HTP",                                                                            \
      "comma list; online: prepare as a phone does; restricted: no priority above NORMAL")         \
    X(HTP_RESTART, "QUERN_HTP_RESTART",                                                            \
      "number of the call that finds the accelerator crashed, to test how an application "         \
      "recovers, such as 5 (docs/api-choices.md); 5,fatal: it does not come back")                 \
    X(GPU_LIBOPENCL, "QUERN_GPU_LIBOPENCL",                                                        \
      "further paths of an OpenCL library, separated by colons (docs/gpu.md)")                     \
    X(GPU_DEVICE, "QUERN_GPU_DEVICE",                                                              \
      "OpenCL device: its number, or a part of its platform's or its own name; none: compile "     \
      "only")                                                                                      \
    X(GPU_CACHE, "QUERN_GPU_CACHE",                                                                \
      "folder of built GPU programs; 0: none; default $XDG_CACHE_HOME/quern/gpu")                  \
    X(GPU_TUNE, "QUERN_GPU_TUNE",                                                                  \
      "folder: measure variants of GPU kernels at finalize, and keep and use the best there")      \
    X(GPU_KERNELS, "QUERN_GPU_KERNELS",                                                            \
      "comma list of kinds of GPU kernels to leave out: -mma, -tile, -cpu, -depthwise, "           \
      "-attention, -gemv")                                                                         \
    X(XDG_CACHE_HOME, "XDG_CACHE_HOME",                                                            \
      "folder of caches; built GPU programs go to quern/gpu in it")                                \
    X(HOME, "HOME", "where .cache is when XDG_CACHE_HOME is not set")                              \
    X(GPU_CHECK, "QUERN_GPU_CHECK",                                                                \
      "any value: report the first tensor of a GPU graph that has an infinity or a NaN")           \
    X(GPU_HOST_STEPS, "QUERN_GPU_HOST_STEPS",                                                      \
      "any value: ops that the GPU backend has no kernel for run on the CPU (docs/gpu.md)")        \
    X(SAVER_DIR, "QUERN_SAVER_DIR",                                                                \
      "folder of the Saver's recordings; default saver_output (docs/saver.md)")                    \
    X(SAVER_BACKEND, "QUERN_SAVER_BACKEND",                                                        \
      "cpu, gpu or htp: whose custom options the Saver records")

typedef enum qrn_env {
#define X(name, var, text) QRN_ENV_##name,
    QRN_ENV_LIST(X)
#undef X
        QRN_ENV_COUNT
} qrn_env;

// Value at load time; NULL when unset or empty.
const char *qrn_env_get(qrn_env e);
// Is `word` in the comma list that the variable holds?
int qrn_env_has(qrn_env e, const char *word);
// The same for QUERN_VERBOSE.
int qrn_env_verbose(const char *word);
// Line i of what is wrong with their values, in `line` of `size` bytes; NULL behind the last one.
const char *qrn_env_problem(unsigned i, char *line, unsigned size);

#endif
