// SPDX-License-Identifier: MIT
//
// A model on a backend: opened, imported, finalized and executed, with values converted between the
// types of the model and those of the backend's tensors.
#ifndef QRN_TOOLS_QUERN_SESSION_H
#define QRN_TOOLS_QUERN_SESSION_H

#include "frontend/onnx/import.h"
#include "tools/quern/array.h"
#include "tools/quern/flags.h"

// Who wants to know what happens while a graph is made.
typedef struct qt_watch {
    void *ctx;
    void (*node)(void *ctx, const qc_op *o);   // a node was added
    void (*line)(void *ctx, const char *line); // the library logged a line
} qt_watch;

// Flags of every command that opens a backend.
typedef struct qt_backend_options {
    const char *backend;   // NULL: htp with a SoC, else cpu
    const char *soc;       // "none": no target SoC
    const char *precision; // of QT_GPU_PRECISIONS; NULL: that of the model's types
    const char *log;
    uint64_t threads;
    bool allow_fp16;
    const qt_watch *watch; // (optional) no flag; one backend at a time can be watched
    bool silent;           // no flag: no log, for trials; what fails is reported by its caller
} qt_backend_options;
// The precision of a GPU graph for a report; that of a loaded binary is its own.
const char *qt_precision(const qt_backend_options *opt, bool loaded);
const char *qt_backend_name(const qt_backend_options *opt); // or path: what the flags say, or cpu
extern const qt_flag qt_backend_flags[]; // for options that begin with a qt_backend_options

// The backend of a context binary, by the id in it, unless the flags name one. QT_EXIT_OK or
// another code after a message.
int qt_backend_of_binary(const char *path, uint32_t id, qt_backend_options *opt);

// What a command adds to them.
typedef struct qt_backend_extras {
    uint32_t soc;    // target when --soc is not given; 0: the default one
    bool no_context; // it comes from a binary: no default
    bool precisions; // the command itself handles --precision for backends other than gpu
    const QnnContext_Config_t **context_configs;
} qt_backend_extras;

// Opens the backend; extras may be NULL. QT_EXIT_OK or another code after a message.
int qt_open_backend(const qt_backend_options *opt, const qt_backend_extras *extras,
                    qc_client **out);
// Asks the libraries that are opened from now on for the log lines of QUERN_VERBOSE=word, for a
// watch; false when out of memory.
bool qt_ask_verbose(const char *word);
// What the flags say to an import: nodes in float16 are allowed, and reported by a warning for each
// op type; the precision of a GPU graph, unless the import has options of the graph.
void qt_import_flags(const qt_backend_options *opt, ox_options *import);

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
    qt_values values;           // with keep_all: what nodes make
    void **in, **out;           // buffers of the graph's tensors, in the graph's order
    const Qnn_MemHandle_t *mem; // (optional) registered memory instead of them
    uint32_t *rows;             // first dimensions of the outputs after an execution
    double open_ms, import_ms, finalize_ms;
    double load_ms; // of a binary's graph, instead of import and finalize
} qt_session;

// `path` is for messages. Writes s on success only; QT_EXIT_OK or another code after a message.
int qt_session_open(const char *path, const ox_model *m, const qt_backend_options *backend,
                    const ox_options *import, qt_session *s);
// The same for a graph of a context binary, whose bytes must stay.
typedef struct qt_loaded {
    const void *bytes;
    uint64_t n_bytes;
    uint32_t soc; // that it was made for; 0: none
    const QnnSystemContext_GraphInfoV3_t *graph;
    const ox_graph *names; // (optional) other names for its inputs and outputs
    bool native;           // quantized values instead of real ones
} qt_loaded;
// The same for a graph of a DLC file, which is built and compiled; bytes are not used.
int qt_session_compose(const char *path, const qt_loaded *from, const qt_backend_options *backend,
                       qt_session *s);
int qt_session_load(const char *path, const qt_loaded *from, const qt_backend_options *backend,
                    qt_session *s);
void qt_session_close(qt_session *s); // a cleared one is fine

// One array for each of model.inputs, of its type and shape.
qrn_status qt_session_set_inputs(qt_session *s, const qt_array *arrays);
qrn_status qt_session_execute(qt_session *s);
// Output i of the model, made anew.
qrn_status qt_session_output(const qt_session *s, uint32_t i, qt_array *out);
// The same in another type: OX_F32 gives the real numbers of quantized values.
qrn_status qt_session_output_as(const qt_session *s, uint32_t i, int type, qt_array *out);
// Tensor that holds a value and can be read after an execution, or NULL.
const qc_tensor *qt_session_tensor_of(const qt_session *s, const ox_val *v);
// Its contents as floats, dequantized, in the layout of the tensor.
qrn_status qt_session_tensor(const qt_session *s, const qc_tensor *t, qt_array *out);

// The one scale and offset of a fixed-point tensor (border.c); false: it has none.
bool qt_border_encoding(const Qnn_Tensor_t *t, float *scale, int32_t *offset);
// Real values to the quantized ones of such a tensor, and those in a float array to real values.
qrn_status qt_quantize(const qt_array *a, const Qnn_Tensor_t *t, void *buffer);
void qt_dequantize(const Qnn_Tensor_t *t, qt_array *a);

double qt_now_ms(void);

#endif
