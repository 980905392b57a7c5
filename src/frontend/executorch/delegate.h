// SPDX-License-Identifier: MIT
//
// Delegates of the kind "QnnBackend": a context binary or a DLC file that runs on a QNN library.
// What the payload looks like is in docs/executorch.md.
#ifndef QRN_FRONTEND_EXECUTORCH_DELEGATE_H
#define QRN_FRONTEND_EXECUTORCH_DELEGATE_H

#include "frontend/executorch/method.h"

// What the program asks of the library. Zero where it says nothing.
typedef struct et_qnn_options {
    uint32_t soc, arch, vtcm_mb;
    int32_t backend;          // 1 GPU, 2 HTP
    const char *library;      // path, or ""
    int32_t log_level;        // 0 to 5
    int32_t profile_level;    // 0 to 3
    int32_t performance_mode; // of the HTP
    bool online_prepare, dump_outputs, shared_buffer;
    bool from_binary; // an existing context binary was wrapped
} et_qnn_options;

// The payload's parts; `bytes` lie inside the delegate's data.
typedef struct et_qnn_blob {
    const void *bytes;
    size_t n_bytes;
    int64_t signature;
    bool is_dlc; // graphs that are compiled here (online_prepare); else a context binary
} et_qnn_blob;

// Messages do not name the program.
qrn_status et_qnn_options_parse(const void *data, size_t size, et_qnn_options *out);
// QRN_E_UNSUPPORTED: a delegate of another kind.
qrn_status et_qnn_options_of(const et_delegate_def *def, et_qnn_options *o);
qrn_status et_qnn_blob_parse(const void *data, size_t size, et_qnn_blob *out);

qrn_status et_delegate_open(const et_method *m, uint32_t index, et_delegate **out);
void et_delegate_close(et_delegate *d); // NULL is fine
// The graph's tensor that argument i of a call stands for; NULL: there are fewer.
const Qnn_Tensor_t *et_delegate_tensor(const et_delegate *d, uint32_t i, bool *is_output);
// args: values of the inputs, then of the outputs.
qrn_status et_delegate_execute(et_method *m, et_delegate *d, const int32_t *args, uint32_t n_args);

#endif
