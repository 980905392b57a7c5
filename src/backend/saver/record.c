// SPDX-License-Identifier: MIT
//
// One call in the recording: a statement of its own, with the variables that it brings along. What
// is written can be compiled at any time; a call that the core refused is a comment.
#include "backend/saver/saver.h"

#include "HTP/QnnHtpCommon.h"
#include "HTP/QnnHtpMem.h"

#include <string.h>

#define INDENT 4 // of a block

static uint32_t n_calls; // written so far; names each call in messages of the replay

void qrn_saver_record_restart(void) { n_calls = 0; }

// A call while it is written.
typedef struct statement {
    const qrn_saver_call *call;
    const void *const *args;
    qrn_saver_text globals; // declarations before the function it stands in
    qrn_saver_text before;  // local variables
    qrn_saver_text body;    // the call
    qrn_saver_text after;   // what follows it
    qrn_saver_writer w;
} statement;

static const void *pointer_arg(const statement *s, size_t i) {
    return *(const void *const *)s->args[i];
}

static uint64_t count_arg(const statement *s, const qrn_saved_field *f) {
    if (!f->count_at)
        return 0;
    const void *at = s->args[f->count_at - 1];
    return s->call->args[f->count_at - 1].kind == QRN_SAVED_U64 ? *(const uint64_t *)at
                                                                : *(const uint32_t *)at;
}

// The context whose tensors the call speaks of.
static void find_context(statement *s) {
    s->w.context = QRN_SAVER_NO_CONTEXT;
    for (size_t i = 0; i < s->call->n_args && !s->w.owner; i++) {
        const qrn_saved_field *f = &s->call->args[i];
        if (f->kind != QRN_SAVED_HANDLE)
            continue;
        if (f->object == QRN_SAVER_GRAPH) {
            const qrn_api_graph *g = qrn_handle_get(QRN_KIND_GRAPH, pointer_arg(s, i));
            s->w.owner = g ? g->context : NULL;
        } else if (f->object == QRN_SAVER_CONTEXT) {
            s->w.owner = qrn_handle_get(QRN_KIND_CONTEXT, pointer_arg(s, i));
        }
    }
    if (s->w.owner)
        s->w.context = qrn_saver_find(QRN_SAVER_CONTEXT, s->w.owner->handle);
}

// The variable of a new object; declared when it is the first time.
static int declare(statement *s, qrn_saver_object kind, const void *handle) {
    bool is_new;
    int n = qrn_saver_name(kind, handle, &is_new);
    const char *type = qrn_saver_type_of(kind);
    if (n < 0)
        s->w.status = QRN_FAIL(QRN_E_MEM, "out of memory for a recording");
    else if (is_new)
        qrn_saver_put(&s->globals, "static %s%s%s_%d;\n", type,
                      type[strlen(type) - 1] == '*' ? "" : " ", qrn_saver_word(kind), n);
    return n;
}

static void new_object(statement *s, const qrn_saved_field *f, size_t i) {
    const void *handle = f->object == QRN_SAVER_POWER
                             ? (const void *)(uintptr_t) * (const uint32_t *)pointer_arg(s, i)
                             : *(const void *const *)pointer_arg(s, i);
    int n = declare(s, (qrn_saver_object)f->object, handle);
    qrn_saver_put(&s->body, "&%s_%d", qrn_saver_word((qrn_saver_object)f->object), n);
}

// A tensor that is made: its id comes back.
static void new_tensor(statement *s, const qrn_saved_field *f, size_t i) {
    const Qnn_Tensor_t *t = pointer_arg(s, i);
    s->w.text = &s->before;
    s->w.making = true;
    qrn_saver_put(&s->before, "        Qnn_Tensor_t tensor = ");
    qrn_saver_members(&s->w, f->type, t);
    qrn_saver_put(&s->before, ";\n");
    s->w.making = false;
    s->w.text = &s->body;
    qrn_saver_put(&s->body, "&tensor");
    qrn_saver_put(&s->after, "        set_id(%d, %u, &tensor);\n", s->w.context,
                  t->version == QNN_TENSOR_VERSION_2 ? t->v2.id : t->v1.id);
}

static void outputs(statement *s, const qrn_saved_field *f, size_t i) {
    const Qnn_Tensor_t *list = pointer_arg(s, i);
    uint32_t n = (uint32_t)count_arg(s, f);
    if (!list || n == 0) {
        qrn_saver_put(&s->body, "NULL");
        return;
    }
    s->w.text = &s->before;
    s->w.outputs = true;
    qrn_saver_put(&s->before, "        Qnn_Tensor_t outputs[] = {");
    for (uint32_t k = 0; k < n; k++) {
        qrn_saver_put(&s->before, "%s\n            ", k ? "," : "");
        qrn_saver_members(&s->w, f->type, &list[k]);
    }
    qrn_saver_put(&s->before, "};\n");
    s->w.outputs = false;
    s->w.text = &s->body;
    qrn_saver_put(&s->body, "outputs");
    qrn_saver_put(&s->after, "        keep(%u, outputs, %u);\n", n_calls, n);
}

static void argument(statement *s, size_t i) {
    const qrn_saved_field *f = &s->call->args[i];
    switch (f->kind) {
    case QRN_SAVED_NEW:
        new_object(s, f, i);
        break;
    case QRN_SAVED_TENSOR:
        new_tensor(s, f, i);
        break;
    case QRN_SAVED_OUTPUTS:
        outputs(s, f, i);
        break;
    case QRN_SAVED_PROVIDER:
        qrn_saver_put(&s->body, "provider(%d, ",
                      ((const Qnn_ContextBinaryCallback_t *)pointer_arg(s, i))->type ==
                          QNN_CONTEXT_CALLBACK_DMA_BUFFER);
        argument(s, i + 1);
        qrn_saver_put(&s->body, ")");
        break;
    default:
        if (f->kind == QRN_SAVED_STRUCT) // needs its type here, unlike inside another struct
            qrn_saver_put(&s->body, "(%s)", f->type->name);
        s->w.outputs = f->kind == QRN_SAVED_ONE && f->plain;
        qrn_saver_value(&s->w, f, s->args[i], count_arg(s, f));
        s->w.outputs = false;
    }
}

static void start(statement *s) {
    s->w.text = &s->body;
    find_context(s);
    s->w.naming = s->call == &qrn_saver_calls[QRN_SLOT(graphAddNode)] ||
                  s->call == &qrn_saver_calls[QRN_SLOT(graphPrepareExecutionEnvironment)];
    s->w.executing = strncmp(s->call->name, "graphExecute", 12) == 0 ||
                     s->call == &qrn_saver_calls[QRN_SLOT(contextApplyBinarySection)];
    bool perf = s->call->how & QRN_CALL_PERF;
    bool asks = s->call->how & (QRN_CALL_QUERY | QRN_CALL_DUMMY);
    qrn_saver_put(&s->body, "        %s(%u, \"%s\", %s%s(", asks ? "ask" : "check", n_calls,
                  s->call->name, perf ? "perf()->" : "qnn.", s->call->name);
}

// Gives the statement to the file and ends it.
static qrn_status finish(statement *s) {
    qrn_saver_text all = {0};
    const qrn_saver_text *parts[] = {&s->before, &s->body, &s->after};
    bool failed = s->globals.failed, perf = s->call->how & QRN_CALL_PERF;
    bool block = perf || s->before.n || s->after.n;
    qrn_saver_put(&all, perf ? "    if (perf()) {\n" : block ? "    {\n" : "");
    for (size_t i = 0; i < 3; i++) {
        if (parts[i]->data)
            qrn_saver_put(&all, "%s", parts[i]->data + (block ? 0 : INDENT));
        failed |= parts[i]->failed;
    }
    qrn_saver_put(&all, block ? "    }\n" : "");
    qrn_status status = s->w.status;
    if (status == QRN_OK && (failed || all.failed))
        status = QRN_FAIL(QRN_E_MEM, "out of memory for a recording");
    if (status == QRN_OK)
        status = qrn_saver_append(&s->globals, &all);
    n_calls++;
    qrn_saver_text_clear(&all);
    qrn_saver_text_clear(&s->globals);
    qrn_saver_text_clear(&s->before);
    qrn_saver_text_clear(&s->body);
    qrn_saver_text_clear(&s->after);
    return status;
}

// Size of the buffer behind a descriptor, and where in it the handle begins.
static void measure(statement *s, const Qnn_MemDescriptor_t *d, const qrn_api_mem *m) {
    s->w.memory_bytes = m ? m->size_bytes : 0;
    s->w.memory_offset = 0;
    const QnnMemHtp_Descriptor_t *h = d->customInfo;
    if (d->memType != QNN_MEM_TYPE_CUSTOM || !h ||
        qrn_saver_options_now()->backend_id != QNN_BACKEND_ID_HTP)
        return;
    if (h->size > s->w.memory_bytes)
        s->w.memory_bytes = h->size;
    if (h->type != QNN_HTP_MEM_QURT)
        s->w.memory_offset = h->sharedBufferConfig.offset;
}

// One statement for each descriptor: the client's list of handles has no variable of its own.
static qrn_status record_memory(const qrn_saver_call *call, const void *const *args) {
    const Qnn_MemDescriptor_t *list = *(const Qnn_MemDescriptor_t *const *)args[1];
    uint32_t n = *(const uint32_t *)args[2];
    const Qnn_MemHandle_t *handles = *(const Qnn_MemHandle_t *const *)args[3];
    qrn_status status = QRN_OK;
    for (uint32_t i = 0; i < n && status == QRN_OK; i++) {
        statement s = {.call = call, .args = args};
        start(&s);
        s.w.memory = declare(&s, QRN_SAVER_MEM, handles[i]);
        measure(&s, &list[i], qrn_handle_get(QRN_KIND_MEM, handles[i]));
        argument(&s, 0);
        qrn_saver_put(&s.body, ", &(Qnn_MemDescriptor_t)");
        qrn_saver_members(&s.w, &qrn_type_mem, &list[i]);
        qrn_saver_put(&s.body, ", 1, &memory_%d.handle));\n", s.w.memory);
        status = finish(&s);
    }
    return status;
}

qrn_status qrn_saver_record(const qrn_saver_call *call, const void *const *args) {
    if (call == &qrn_saver_calls[QRN_SLOT(memRegister)])
        return record_memory(call, args);
    if (call->how & QRN_CALL_QUIET)
        return qrn_saver_record_refused(call, QNN_SUCCESS, "it ends with the graph");
    statement s = {.call = call, .args = args};
    start(&s);
    for (size_t i = 0; i < call->n_args; i++) {
        qrn_saver_put(&s.body, i ? ", " : "");
        argument(&s, i);
    }
    qrn_saver_put(&s.body, "));\n");
    if (call == &qrn_saver_calls[QRN_SLOT(graphExecuteAsync)])
        qrn_saver_put(&s.body, "        wait_for(1);\n");
    return finish(&s);
}

// The entries of a list, each with the variable that its context is put into.
static uint32_t list_entries(statement *s, const QnnContext_Params_t *const *params,
                             const Qnn_ContextHandle_t *made) {
    static const qrn_saved_field config = {.kind = QRN_SAVED_LIST,
                                           .type = &qrn_type_context_config};
    static const qrn_saved_field binary = {.kind = QRN_SAVED_BYTES};
    uint32_t n = 0;
    s->w.text = &s->before;
    qrn_saver_put(&s->before, "        const QnnContext_Params_t *entries[] = {");
    for (; params[n]; n++) {
        const QnnContext_Params_t *p = params[n];
        bool v1 = p->version == QNN_CONTEXT_PARAMS_VERSION_1;
        const QnnContext_Config_t **own = v1 ? p->v1.config : p->v2->config;
        const void *bytes = v1 ? p->v1.binaryBuffer : p->v2->binaryBuffer;
        uint64_t size = v1 ? p->v1.binaryBufferSize : p->v2->binaryBufferSize;
        int context = made[n] ? declare(s, QRN_SAVER_CONTEXT, made[n]) : -1;
        qrn_saver_put(&s->before, "\n            &(QnnContext_Params_t){.version = "
                                  "QNN_CONTEXT_PARAMS_VERSION_1, .v1 = {.config = ");
        qrn_saver_value(&s->w, &config, &own, 0);
        qrn_saver_put(&s->before, ", .binaryBuffer = ");
        qrn_saver_value(&s->w, &binary, &bytes, size);
        qrn_saver_put(&s->before,
                      ", .binaryBufferSize = %lluull, .profile = ", (unsigned long long)size);
        qrn_saver_variable(&s->w, QRN_SAVER_PROFILE, v1 ? p->v1.profile : p->v2->profile);
        qrn_saver_put(&s->before, ", .notifyFunc = on_context, .notifyParam = ");
        if (context >= 0)
            qrn_saver_put(&s->before, "&context_%d}},", context);
        else
            qrn_saver_put(&s->before, "NULL}},");
    }
    qrn_saver_put(&s->before, " NULL};\n");
    s->w.text = &s->body;
    return n;
}

qrn_status qrn_saver_record_list(const qrn_saver_call *call, const void *const *args,
                                 const Qnn_ContextHandle_t *made) {
    statement s = {.call = call, .args = args};
    start(&s);
    uint32_t n = list_entries(&s, *(const QnnContext_Params_t *const *const *)args[2], made);
    for (size_t i = 0; i < call->n_args; i++) {
        qrn_saver_put(&s.body, i ? ", " : "");
        argument(&s, i);
    }
    qrn_saver_put(&s.body, "));\n        wait_for(%u);\n", n);
    return finish(&s);
}

qrn_status qrn_saver_record_refused(const qrn_saver_call *call, Qnn_ErrorHandle_t code,
                                    const char *words) {
    qrn_saver_text globals = {0}, text = {0};
    qrn_saver_put(&text, "    // %u: %s answered %llu: ", n_calls++, call->name,
                  (unsigned long long)code);
    qrn_saver_put_comment(&text, words);
    qrn_status s = text.failed ? QRN_FAIL(QRN_E_MEM, "out of memory for a recording")
                               : qrn_saver_append(&globals, &text);
    qrn_saver_text_clear(&text);
    return s;
}
