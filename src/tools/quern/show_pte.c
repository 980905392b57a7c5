// SPDX-License-Identifier: MIT
//
// quern show for ExecuTorch programs: each method's inputs and outputs, the operators that it calls
// and its delegates with what they ask of a QNN library.
#include "tools/quern/show_pte.h"

#include "base/soc.h"
#include "frontend/executorch/delegate.h"
#include "tools/quern/flags.h"
#include "tools/quern/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *kind_name(const et_value *v) {
    static const char *const names[] = {"",        "null",   "int",     "bool",
                                        "double",  "tensor", "string",  "ints",
                                        "doubles", "bools",  "tensors", "optional tensors"};
    return v->kind == ET_KIND_TENSOR ? et_type_name(v->tensor->type) : names[v->kind];
}

static const char *backend_name(int32_t backend) {
    return backend == 2 ? "htp" : backend == 1 ? "gpu" : "not named";
}

// Calls of each operator; the list has room for all of them.
static void count_calls(const et_method_def *m, uint32_t *calls) {
    for (uint32_t c = 0; c < m->n_chains; c++)
        for (uint32_t i = 0; i < m->chains[c].n; i++)
            if (m->chains[c].instructions[i].code == ET_KERNEL)
                calls[m->chains[c].instructions[i].a]++;
}

// What a delegate of the kind QnnBackend says; false: it is of another kind, or damaged.
typedef struct qnn_part {
    et_qnn_options o;
    et_qnn_blob blob;
    bool is_context; // else something to be prepared when it runs
} qnn_part;

static bool find_part(const et_delegate_def *d, qnn_part *out) {
    *out = (qnn_part){0};
    bool is = et_qnn_options_of(d, &out->o) == QRN_OK;
    out->is_context = is && et_qnn_blob_parse(d->data, d->bytes, &out->blob) == QRN_OK;
    qrn_message_clear();
    return is;
}

static const char *soc_name(uint32_t number) {
    const qrn_soc *s = number ? qrn_soc_by_id(number) : NULL;
    return s ? s->name : "unknown";
}

// --- JSON

static json_t *json_values(const et_method_def *m, const int32_t *list, uint32_t n) {
    json_t *out = json_array();
    for (uint32_t i = 0; i < n; i++) {
        const et_value *v = &m->values[list[i]];
        json_t *o = json_pack("{s:s}", "type", kind_name(v));
        if (v->kind == ET_KIND_TENSOR) {
            json_t *shape = json_array();
            for (uint8_t k = 0; k < v->tensor->rank; k++)
                json_array_append_new(shape, json_integer(v->tensor->sizes[k]));
            json_object_set_new(o, "shape", shape);
            json_object_set_new(o, "may_shrink", json_boolean(v->tensor->may_shrink));
        }
        json_array_append_new(out, o);
    }
    return out;
}

static json_t *json_delegates(const et_method_def *m) {
    json_t *out = json_array();
    for (uint32_t i = 0; i < m->n_delegates; i++) {
        const et_delegate_def *d = &m->delegates[i];
        json_t *o =
            json_pack("{s:o,s:I}", "id", qt_json_text(d->id), "bytes", (json_int_t)d->bytes);
        qnn_part part;
        if (find_part(d, &part))
            json_object_set_new(
                o, "qnn",
                json_pack("{s:s,s:s,s:i,s:i,s:o,s:b}", "backend", backend_name(part.o.backend),
                          "soc", soc_name(part.o.soc), "soc_model", (int)part.o.soc, "arch",
                          (int)part.o.arch, "context_bytes",
                          part.is_context ? json_integer((json_int_t)part.blob.n_bytes)
                                          : json_null(),
                          "online_prepare", part.o.online_prepare));
        json_array_append_new(out, o);
    }
    return out;
}

static json_t *json_operators(const et_method_def *m, const uint32_t *calls) {
    json_t *out = json_object();
    for (uint32_t i = 0; i < m->n_operators; i++) {
        char name[256];
        snprintf(name, sizeof name, "%s%s%s", m->operators[i].name,
                 *m->operators[i].overload ? "." : "", m->operators[i].overload);
        json_t *key = qt_json_text(name);
        if (key)
            json_object_set_new(out, json_string_value(key), json_integer(calls[i]));
        json_decref(key);
    }
    return out;
}

static uint64_t planned_bytes(const et_method_def *m) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < m->n_buffers; i++)
        sum += m->buffers[i];
    return sum;
}

static json_t *json_method(const et_method_def *m, const uint32_t *calls) {
    return json_pack("{s:o,s:o,s:o,s:I,s:o,s:o}", "name", qt_json_text(m->name), "inputs",
                     json_values(m, m->inputs, m->n_inputs), "outputs",
                     json_values(m, m->outputs, m->n_outputs), "planned_bytes",
                     (json_int_t)planned_bytes(m), "operators", json_operators(m, calls),
                     "delegates", json_delegates(m));
}

// --- text

static void print_values(const char *title, const et_method_def *m, const int32_t *list,
                         uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        const et_value *v = &m->values[list[i]];
        qt_print("  %-9s %s", i ? "" : title, kind_name(v));
        if (v->kind == ET_KIND_TENSOR) {
            qt_print(" [");
            for (uint8_t k = 0; k < v->tensor->rank; k++)
                qt_print("%s%d", k ? ", " : "", v->tensor->sizes[k]);
            qt_print("]%s", v->tensor->may_shrink ? " at most" : "");
        }
        qt_print("\n");
    }
}

static void print_delegate(const et_delegate_def *d) {
    char size[32];
    qnn_part part;
    qt_print("  delegate  %s, %s", d->id, qt_bytes_text((double)d->bytes, size, sizeof size));
    if (find_part(d, &part)) {
        qt_print(": backend %s", backend_name(part.o.backend));
        if (part.o.soc)
            qt_print(", chip %s (%u)", soc_name(part.o.soc), part.o.soc);
        if (part.is_context)
            qt_print(", context binary of %s",
                     qt_bytes_text((double)part.blob.n_bytes, size, sizeof size));
        if (part.o.online_prepare)
            qt_print(", prepared when it is loaded");
    }
    qt_print("\n");
}

static void print_method(const et_method_def *m, const uint32_t *calls) {
    char size[32];
    qt_print("method %s\n", m->name);
    print_values("inputs", m, m->inputs, m->n_inputs);
    print_values("outputs", m, m->outputs, m->n_outputs);
    qt_print("  planned   %s\n", qt_bytes_text((double)planned_bytes(m), size, sizeof size));
    for (uint32_t i = 0; i < m->n_operators; i++)
        qt_print("  %6u    %s%s%s\n", calls[i], m->operators[i].name,
                 *m->operators[i].overload ? "." : "", m->operators[i].overload);
    for (uint32_t i = 0; i < m->n_delegates; i++)
        print_delegate(&m->delegates[i]);
}

// --- the program

static int show(const et_program *p, bool json) {
    json_t *methods = json ? json_array() : NULL;
    if (!json)
        qt_print("%s%s%s  ExecuTorch program, version %u\n", qt_style_on(QT_BOLD), p->path,
                 qt_style_off(), p->version);
    for (uint32_t i = 0; i < p->n_methods; i++) {
        const et_method_def *m = &p->methods[i];
        uint32_t *calls = calloc(m->n_operators + (size_t)1, sizeof *calls);
        if (!calls) {
            qt_error("out of memory");
            json_decref(methods);
            return QT_EXIT_FAILURE;
        }
        count_calls(m, calls);
        if (json)
            json_array_append_new(methods, json_method(m, calls));
        else
            print_method(m, calls);
        free(calls);
    }
    if (json)
        return qt_print_json(json_pack("{s:o,s:i,s:o}", "model", qt_json_text(p->path),
                                       "executorch_version", (int)p->version, "methods", methods));
    return qt_close_stdout();
}

int qt_show_pte(const char *path, bool json) {
    et_program *p = NULL;
    if (et_program_open(path, &p) != QRN_OK) {
        qt_error("%s", qrn_message());
        return QT_EXIT_REFUSED;
    }
    int code = show(p, json);
    et_program_close(p);
    return code;
}

// --- for the page that draws graphs

// A value of a method: tensors with types and shapes.
static json_t *drawn_value(const et_method_def *m, uint32_t i) {
    const et_value *v = &m->values[i];
    char name[32], shape[160] = "";
    snprintf(name, sizeof name, "value %u", i);
    json_t *o = json_pack("{s:s,s:s}", "name", name, "type", kind_name(v));
    if (!o || v->kind != ET_KIND_TENSOR)
        return o;
    size_t at = (size_t)snprintf(shape, sizeof shape, "[");
    for (uint8_t k = 0; k < v->tensor->rank; k++)
        at += (size_t)snprintf(shape + at, sizeof shape - at, "%s%d", k ? "," : "",
                               v->tensor->sizes[k]);
    snprintf(shape + at, sizeof shape - at, "]");
    json_object_set_new(o, "shape", json_string(shape));
    if (v->tensor->place == ET_CONSTANT || v->tensor->place == ET_EXTERNAL)
        json_object_set_new(o, "kind", json_string("const"));
    return o;
}

// Instructions do not say which arguments they write: a planned tensor is made by the first one
// that has it.
static json_t *drawn_call(const et_method_def *m, const et_instruction *x, bool *seen) {
    json_t *in = json_array(), *out = json_array();
    for (uint32_t i = 0; i < x->n_args; i++) {
        int32_t v = x->args[i];
        if (v < 0 || m->values[v].kind != ET_KIND_TENSOR)
            continue;
        bool made =
            !seen[v] && m->values[v].tensor->place == ET_PLANNED && !m->values[v].tensor->data;
        json_t *to = made ? out : in;
        size_t n = json_array_size(out);
        bool again = !made && n && json_integer_value(json_array_get(out, n - 1)) == v;
        if (!again)
            json_array_append_new(to, json_integer(v));
        seen[v] = true;
    }
    bool kernel = x->code == ET_KERNEL;
    const char *op = kernel ? m->operators[x->a].name : m->delegates[x->a].id;
    const char *part = kernel ? m->operators[x->a].overload : "delegate";
    return json_pack("{s:o,s:o,s:o,s:o,s:i}", "name", qt_json_text(*part ? part : op), "op",
                     qt_json_text(strncmp(op, "aten::", 6) == 0 ? op + 6 : op), "in", in, "out",
                     out, "part", kernel ? 0 : 1 + (int)x->a);
}

static json_t *drawn_method(const et_method_def *m) {
    bool *seen = calloc(m->n_values + (size_t)1, sizeof *seen);
    json_t *values = json_array(), *nodes = json_array();
    for (uint32_t i = 0; seen && i < m->n_values; i++)
        json_array_append_new(values, drawn_value(m, i));
    for (uint32_t i = 0; seen && i < m->n_inputs; i++) {
        seen[m->inputs[i]] = true;
        json_object_set_new(json_array_get(values, (size_t)m->inputs[i]), "kind",
                            json_string("input"));
    }
    for (uint32_t i = 0; seen && i < m->n_outputs; i++)
        json_object_set_new(json_array_get(values, (size_t)m->outputs[i]), "kind",
                            json_string("output"));
    for (uint32_t c = 0; seen && c < m->n_chains; c++)
        for (uint32_t i = 0; i < m->chains[c].n; i++)
            if (m->chains[c].instructions[i].code <= ET_DELEGATE)
                json_array_append_new(nodes, drawn_call(m, &m->chains[c].instructions[i], seen));
    free(seen);
    return json_pack("{s:o,s:o,s:o}", "name", qt_json_text(m->name), "values", values, "nodes",
                     nodes);
}

int qt_draw_pte(const char *path, json_t **out) {
    et_program *p = NULL;
    if (et_program_open(path, &p) != QRN_OK) {
        qt_error("%s", qrn_message());
        return QT_EXIT_REFUSED;
    }
    json_t *graphs = json_array(), *parts = json_pack("[s]", "portable kernels");
    uint32_t most = 0;
    for (uint32_t i = 0; i < p->n_methods; i++) {
        json_array_append_new(graphs, drawn_method(&p->methods[i]));
        most = p->methods[i].n_delegates > most ? p->methods[i].n_delegates : most;
    }
    for (uint32_t i = 0; i < most; i++) {
        char text[32];
        snprintf(text, sizeof text, "delegate %u", i + 1);
        json_array_append_new(parts, json_string(text));
    }
    *out = json_pack("{s:o,s:o,s:o}", "model", qt_json_text(path), "graphs", graphs, "partitions",
                     parts);
    et_program_close(p);
    return QT_EXIT_OK;
}
