// SPDX-License-Identifier: MIT
//
// Runs one case on a backend library through the public QNN API alone.

#ifndef QRN_CASE_RUN_H
#define QRN_CASE_RUN_H

#include "case_compare.h"
#include "case_file.h"

#include "QnnInterface.h"

// A loaded backend library. One per process: the log callback has no user pointer, so the last
// logged line is kept in one static buffer.
typedef struct {
    void *library;
    QNN_INTERFACE_VER_TYPE api;
    Qnn_LogHandle_t log;
    Qnn_BackendHandle_t backend;
    Qnn_DeviceHandle_t device; // NULL: contexts have none
    const char *precision;     // of graphs of the GPU backend, a word of qrn_precisions; NULL: none
    qrn_leeway leeway;
    bool validate_only; // nothing is finalized: passed means that validateOpConfig accepts
} qrn_session;

// X(word, QnnGpu_Precision_t, floats in 16 bits, tolerance: GPU-PRC-09)
#define QRN_PRECISION_LIST(X)                                                                      \
    X("fp32", QNN_GPU_PRECISION_FP32, false, 1e-5)                                                 \
    X("fp16", QNN_GPU_PRECISION_FP16, true, 2e-3)                                                  \
    X("hybrid", QNN_GPU_PRECISION_HYBRID, true, 1e-3)                                              \
    X("user", QNN_GPU_PRECISION_USER_PROVIDED, false, 1e-5)

typedef enum { QRN_PASSED, QRN_FAILED, QRN_REFUSED } qrn_verdict;

typedef struct {
    // QRN_REFUSED: validateOpConfig said no and no error was expected, or the mode of arithmetic
    // cannot hold the values of the case.
    qrn_verdict verdict;
    char why[1024]; // one line, when not passed
    qrn_code_count codes;
} qrn_result;

// Loads the library and creates the backend and, with soc other than 0, a device of the HTP for
// that chip. On failure writes one line to why.
bool qrn_session_open(qrn_session *s, const char *path, uint32_t soc, char *why, size_t why_size);
void qrn_session_close(qrn_session *s);

// Makes graphs compute in a mode of the GPU backend, and results be judged by its tolerance. False:
// there is no such word.
bool qrn_session_precision(qrn_session *s, const char *word);

void qrn_case_run(qrn_session *s, const qrn_case *c, qrn_result *result);

#endif
