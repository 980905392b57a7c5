// SPDX-License-Identifier: MIT
//
// A model on a backend: opened, imported, finalized and executed, with values converted between the
// types of the model and those of the backend's tensors.
#ifndef QRN_TOOLS_QUERN_SESSION_H
#define QRN_TOOLS_QUERN_SESSION_H

#include "frontend/onnx/import.h"
#include "tools/quern/array.h"
#include "tools/quern/flags.h"

// Flags of every command that opens a backend.
typedef struct qt_backend_options {
    const char *backend; // NULL: cpu
    const char *soc;
    const char *log;
    uint64_t threads;
} qt_backend_options;
extern const qt_flag qt_backend_flags[]; // for options that begin with a qt_backend_options

// Opens the backend; QT_EXIT_OK or another code after a message.
int qt_open_backend(const qt_backend_options *opt, qc_client **out);

// Values between the nodes of an imported graph; filled by qt_values_add, which is an
// ox_options.value.
typedef struct qt_values {
    const ox_val **items; // from malloc
    size_t n, cap;
    bool failed; // out of memory
} qt_values;
void qt_values_add(void *values, const ox_val *v);

typedef struct qt_session {
    qc_client *client;
    ox_result model;
    qt_values values; // with keep_all: what nodes make
    void **in, **out; // buffers of the graph's tensors, in the graph's order
    uint32_t *rows;   // first dimensions of the outputs after an execution
    double open_ms, import_ms, finalize_ms;
} qt_session;

// `path` is for messages. Writes s on success only; QT_EXIT_OK or another code after a message.
int qt_session_open(const char *path, const ox_model *m, const qt_backend_options *backend,
                    const ox_options *import, qt_session *s);
void qt_session_close(qt_session *s); // a cleared one is fine

// One array for each of model.inputs, of its type and shape.
qrn_status qt_session_set_inputs(qt_session *s, const qt_array *arrays);
qrn_status qt_session_execute(qt_session *s);
// Output i of the model, made anew.
qrn_status qt_session_output(const qt_session *s, uint32_t i, qt_array *out);
// Tensor that holds a value and can be read after an execution, or NULL.
const qc_tensor *qt_session_tensor_of(const qt_session *s, const ox_val *v);
// Its contents as floats, dequantized, in the layout of the tensor.
qrn_status qt_session_tensor(const qt_session *s, const qc_tensor *t, qt_array *out);

double qt_now_ms(void);

#endif
