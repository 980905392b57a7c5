// SPDX-License-Identifier: MIT
//
// Environment variables: read once, at load, here and nowhere else. docs/environment.md lists them.
#ifndef QRN_BASE_ENV_H
#define QRN_BASE_ENV_H

// X(NAME, variable, meaning)
#define QRN_ENV_LIST(X)                                                                            \
    X(THREADS, "QUERN_THREADS", "number of threads; default: CPU affinity and cgroup quota")       \
    X(ISA, "QUERN_ISA",                                                                            \
      "highest CPU feature to use: ref, avx2, avxvnni, avx512, vnni, vbmi, amx, neon, dot, i8mm")  \
    X(VERBOSE, "QUERN_VERBOSE",                                                                    \
      "comma list; compiled: log the steps of each compiled graph; "                               \
      "dispatch: log the chosen kernel of each step, and the memory of the graph; "                \
      "threads: log the task times of each node in executions with a detailed profile; "           \
      "overflow: check all executions for numbers beyond fp16")                                    \
    X(PASSES, "QUERN_PASSES",                                                                      \
      "comma list of compiler passes to skip, such as -alias (docs/passes.md); -all: skip all")    \
    X(LOG, "QUERN_LOG", "file that receives all log lines (- for stderr)")                         \
    X(DUMP, "QUERN_DUMP", "folder that receives every tensor of executed graphs (docs/dump.md)")   \
    X(DUMP_RUNS, "QUERN_DUMP_RUNS", "number of executions of each graph to dump; default 1")       \
    X(VERIFY, "QUERN_VERIFY",                                                                      \
      "any value: check the weights of context binaries when they are loaded")                     \
    X(LIMITS, "QUERN_LIMITS",                                                                      \
      "limits for reading and running a model, such as nodes=2M,memory=1G,work=500M,run=8G,"       \
      "time=60; 0: no limit (docs/limits.md)")                                                     \
    X(API_VERSION, "QUERN_API_VERSION", "core API version to report, such as 2.37")                \
    X(SOC, "QUERN_SOC",                                                                            \
      "target SoC of HTP devices that request none, by name or number; default SM8350")            \
    X(SOCS, "QUERN_SOCS", "file with additional SoCs for the HTP backend (docs/htp-device.md)")    \
    X(CUSTOM_OPS, "ORT_QNN_CUSTOM_OP_DOMAINS",                                                     \
      "custom ops to declare to ONNX Runtime, for op packages (docs/onnxruntime.md)")              \
    X(HTP, "QUERN_HTP",                                                                            \
      "comma list; online: prepare as a phone does; restricted: no priority above NORMAL")         \
    X(HTP_RESTART, "QUERN_HTP_RESTART",                                                            \
      "number of the call at which to simulate an accelerator crash, to test recovery, such as 5 " \
      "(docs/api-choices.md); 5,fatal: it does not recover")                                       \
    X(GPU_LIBOPENCL, "QUERN_GPU_LIBOPENCL",                                                        \
      "additional paths of an OpenCL library, separated by colons (docs/gpu.md)")                  \
    X(GPU_DEVICE, "QUERN_GPU_DEVICE",                                                              \
      "OpenCL device: its number, or part of its name or its platform's; none: compile only")      \
    X(GPU_CACHE, "QUERN_GPU_CACHE",                                                                \
      "folder that caches built GPU programs; 0: none; default $XDG_CACHE_HOME/quern/gpu")         \
    X(GPU_TUNE, "QUERN_GPU_TUNE",                                                                  \
      "folder for tuning: measure variants of GPU kernels at finalize, store and use the best")    \
    X(GPU_KERNELS, "QUERN_GPU_KERNELS",                                                            \
      "comma list of kinds of GPU kernels to disable: -mma, -tile, -cpu, -depthwise, "             \
      "-attention, -gemv")                                                                         \
    X(XDG_CACHE_HOME, "XDG_CACHE_HOME",                                                            \
      "folder of caches; built GPU programs are in its subfolder quern/gpu")                       \
    X(HOME, "HOME", "folder of .cache if XDG_CACHE_HOME is not set")                               \
    X(GPU_CHECK, "QUERN_GPU_CHECK",                                                                \
      "any value: report the first tensor of a GPU graph that has an infinity or a NaN")           \
    X(GPU_HOST_STEPS, "QUERN_GPU_HOST_STEPS",                                                      \
      "any value: run ops without a GPU kernel on the CPU (docs/gpu.md)")                          \
    X(SAVER_DIR, "QUERN_SAVER_DIR",                                                                \
      "folder of the Saver's recordings; default saver_output (docs/saver.md)")                    \
    X(SAVER_BACKEND, "QUERN_SAVER_BACKEND",                                                        \
      "cpu, gpu or htp: backend whose custom options the Saver records")

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
