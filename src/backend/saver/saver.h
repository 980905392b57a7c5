// SPDX-License-Identifier: MIT
//
// Inside the recorder: what is written, with what, and where. A recording is a C source that makes
// the same calls again (docs/saver.md) and a file with the bytes that the calls carried.
//
// Threads: one lock (calls.c) is held during a call and while it is written; everything here
// belongs to its holder.
#ifndef QRN_BACKEND_SAVER_SAVER_H
#define QRN_BACKEND_SAVER_SAVER_H

#include "backend/saver/types.h"
#include "core/services.h"

#include "Saver/QnnSaver.h"

// --- Text that grows (text.c)

typedef struct qrn_saver_text {
    char *data; // NULL: empty
    size_t n, cap;
    bool failed; // out of memory: it is not complete
} qrn_saver_text;

void qrn_saver_put(qrn_saver_text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void qrn_saver_put_string(qrn_saver_text *t, const char *s);  // as a C literal; NULL: the word NULL
void qrn_saver_put_comment(qrn_saver_text *t, const char *s); // so that it ends with its line
void qrn_saver_put_double(qrn_saver_text *t, double v, bool is_float); // exactly
void qrn_saver_text_clear(qrn_saver_text *t);

// --- Objects of the recording (names.c)

// X(name, C type of the variable, its name)
#define QRN_SAVER_OBJECT_LIST(X)                                                                   \
    X(LOG, "Qnn_LogHandle_t", "logger")                                                            \
    X(BACKEND, "Qnn_BackendHandle_t", "backend")                                                   \
    X(DEVICE, "Qnn_DeviceHandle_t", "device")                                                      \
    X(CONTEXT, "Qnn_ContextHandle_t", "context")                                                   \
    X(GRAPH, "Qnn_GraphHandle_t", "graph")                                                         \
    X(PROFILE, "Qnn_ProfileHandle_t", "profile")                                                   \
    X(SIGNAL, "Qnn_SignalHandle_t", "signal")                                                      \
    X(MEM, "replay_memory", "memory")                                                              \
    X(TEXT, "const char *", "message")                                                             \
    X(RESULT, "QnnGraph_ValidationResult_t *", "result")                                           \
    X(POWER, "uint32_t", "power")

typedef enum qrn_saver_object {
#define X(name, type, word) QRN_SAVER_##name,
    QRN_SAVER_OBJECT_LIST(X)
#undef X
        QRN_SAVER_OBJECTS
} qrn_saver_object;

// Number of the variable that stands for what the client holds; -1: it is unknown.
int qrn_saver_find(qrn_saver_object kind, const void *handle);
// The same for something new; -1 when out of memory. What is there already keeps its number.
int qrn_saver_name(qrn_saver_object kind, const void *handle, bool *is_new);
// The object has ended, with all that belongs to it.
void qrn_saver_forget(qrn_saver_object kind, const void *handle);
uint32_t qrn_saver_count(qrn_saver_object kind); // living ones
qrn_api_log *qrn_saver_log(void);                // that the client made last, or NULL
void qrn_saver_forget_all(void);
const char *qrn_saver_type_of(qrn_saver_object kind); // C type of its variables
const char *qrn_saver_word(qrn_saver_object kind);    // their name, without the number

// --- The files (files.c)

// Options, read by QnnSaver_initialize or from the environment.
typedef struct qrn_saver_options {
    char *folder, *source, *data; // NULL: the default
    uint32_t backend_id;          // whose custom options are known; 0: nobody's
    bool timestamp, no_header, no_footer;
} qrn_saver_options;

qrn_saver_options *qrn_saver_options_now(void);
void qrn_saver_options_default(qrn_saver_options *o); // what the environment says
void qrn_saver_options_clear(qrn_saver_options *o);
// Makes the files when they are not there yet. Fails with QRN_E_INIT, and words.
qrn_status qrn_saver_open(void);
bool qrn_saver_is_open(void);
// Has a write failed? Then nothing can be recorded any more; fails again with the same words.
qrn_status qrn_saver_check(void);
// Ends the recording; the next one overwrites the files, or makes new ones.
void qrn_saver_close(void);
// Keeps bytes in the data file: at *offset, which is a multiple of 64.
qrn_status qrn_saver_keep(const void *bytes, uint64_t n, uint64_t *offset);
// Appends a call to the source, which is complete after that. `globals` are declarations of
// variables that it needs; both end with a new line. Before the files are open it is kept.
qrn_status qrn_saver_append(const qrn_saver_text *globals, const qrn_saver_text *call);
extern const char *const qrn_saver_prologue[]; // pieces of the support code; the last is NULL

// --- Values (write.c)

#define QRN_SAVER_NO_CONTEXT (-1)

typedef struct qrn_saver_writer {
    qrn_saver_text *text;
    qrn_status status;            // of keeping bytes
    uint32_t depth;               // of lists inside lists, for indentation
    int context;                  // whose tensor ids are meant, or QRN_SAVER_NO_CONTEXT
    bool executing;               // memory handles that are read bring their bytes along
    bool outputs;                 // tensors that are written to: room, no bytes
    int memory;                   // number of the memory handle that is being registered
    uint64_t memory_bytes;        // its size
    uint64_t memory_offset;       // and where in it the handle begins
    bool making;                  // the tensor gets its id from the call
    bool naming;                  // tensors are named only: they were made before
    const Qnn_TensorV2_t *tensor; // the values are part of this one; V1 has the same beginning
    const qrn_api_context *owner; // of the context above, or NULL
} qrn_saver_writer;

// Writes a value as a C expression. `count` is the length of what a pointer leads to.
void qrn_saver_value(qrn_saver_writer *w, const qrn_saved_field *f, const void *at, uint64_t count);
// The members of a struct in braces.
void qrn_saver_members(qrn_saver_writer *w, const qrn_saved_type *t, const void *at);
// A variable; NULL for one that is unknown.
void qrn_saver_variable(qrn_saver_writer *w, qrn_saver_object kind, const void *handle);

// --- Calls (calls.c, record.c)

enum {
    QRN_CALL_DUMMY = 1, // has no answer here: QNN_SAVER_ERROR_DUMMY_RETVALUE
    QRN_CALL_FREES = 2, // must work even when nothing can be recorded any more
    QRN_CALL_QUERY = 4, // answers with its code, which is no failure
    QRN_CALL_PERF = 8,  // of the performance infrastructure
    QRN_CALL_QUIET = 16 // is not replayed: what it ends, ends with its graph
};

#define QRN_SAVER_MAX_ARGS 9

typedef struct qrn_saver_call {
    const char *name; // in the interface table
    qrn_component comp;
    int how; // QRN_CALL_*
    uint32_t n_args;
    qrn_saved_field args[QRN_SAVER_MAX_ARGS]; // count_at: number of an argument + 1
} qrn_saver_call;

// Place of a function in the table of the interface.
#define QRN_SLOT(slot) (offsetof(QNN_INTERFACE_VER_TYPE, slot) / sizeof(void (*)(void)))

void qrn_saver_lock(void);
void qrn_saver_unlock(void);

// Brackets a call of the core: begin takes the lock unless it fails; end writes the call down,
// gives the lock back and returns the code for the client. args are the addresses of the arguments.
Qnn_ErrorHandle_t qrn_saver_begin(const qrn_saver_call *call);
Qnn_ErrorHandle_t qrn_saver_end(const qrn_saver_call *call, Qnn_ErrorHandle_t code,
                                const void *const *args);
// A list of contexts: those that were made, in the order of the entries (NULL: failed).
qrn_status qrn_saver_record_list(const qrn_saver_call *call, const void *const *args,
                                 const Qnn_ContextHandle_t *made);
void qrn_saver_record_restart(void); // the next recording begins
// Writes a call that worked.
qrn_status qrn_saver_record(const qrn_saver_call *call, const void *const *args);
// Writes a call that is not replayed, or that was refused, as a comment.
qrn_status qrn_saver_record_refused(const qrn_saver_call *call, Qnn_ErrorHandle_t code,
                                    const char *words);

// The functions that clients get, and those of the core behind them: that table may be changed
// before the first call (special.c).
void qrn_saver_fill(QNN_INTERFACE_VER_TYPE *client);
QNN_INTERFACE_VER_TYPE *qrn_saver_core(void);
// Puts the recorder's own answers into the core's table.
void qrn_saver_specials(QNN_INTERFACE_VER_TYPE *core);

// A row of the table by its place in the interface.
extern const qrn_saver_call qrn_saver_calls[];

// What has no ordinary wrapper (special.c): the client is notified after the call was written.
Qnn_ErrorHandle_t qrn_saver_execute_async(Qnn_GraphHandle_t graph, const Qnn_Tensor_t *inputs,
                                          uint32_t n_inputs, Qnn_Tensor_t *outputs,
                                          uint32_t n_outputs, Qnn_ProfileHandle_t profile,
                                          Qnn_SignalHandle_t signal, Qnn_NotifyFn_t notify,
                                          void *param);
Qnn_ErrorHandle_t qrn_saver_create_list(Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device,
                                        const QnnContext_Params_t **params,
                                        const QnnContext_Config_t **config,
                                        Qnn_SignalHandle_t signal);

#endif
