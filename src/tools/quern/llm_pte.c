// SPDX-License-Identifier: MIT
//
// Methods of an ExecuTorch program as graphs of a language model. The script's static decoder has
// the inputs tokens, mask, positions, the keys of all layers and the values of all layers, and the
// outputs logits, new keys, new values. A program says no names and no encodings: names come from
// the order, encodings from the delegate's graph. In a program around a context binary the names
// are those of the binary's graph as well, in any order.
#include "tools/quern/llm_pte.h"

#include "frontend/executorch/delegate.h"
#include "tools/quern/output.h"
#include "tools/quern/report.h"
#include "tools/quern/run_pte.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEFORE_CACHES 3 // tokens, mask, positions

struct qt_llm_pte {
    qrn_arena *arena;
    et_program *program;
    et_method **methods;
    ql_graph *graphs;
    uint32_t n;
};

static int refused(void) {
    qt_error("%s", qrn_message());
    return QT_EXIT_REFUSED;
}

static Qnn_DataType_t type_of(unsigned type) {
    switch (type) {
    case ET_INT:
        return QNN_DATATYPE_INT_32;
    case ET_LONG:
        return QNN_DATATYPE_INT_64;
    case ET_FLOAT:
        return QNN_DATATYPE_FLOAT_32;
    case ET_HALF:
        return QNN_DATATYPE_FLOAT_16;
    case ET_BYTE:
        return QNN_DATATYPE_UFIXED_POINT_8;
    case ET_CHAR:
        return QNN_DATATYPE_SFIXED_POINT_8;
    case ET_UINT16:
        return QNN_DATATYPE_UFIXED_POINT_16;
    case ET_SHORT:
        return QNN_DATATYPE_SFIXED_POINT_16;
    default:
        return QNN_DATATYPE_UNDEFINED;
    }
}

static qrn_status describe(const et_method *m, bool is_output, uint32_t i, ql_tensor *out) {
    const et_item *v = is_output ? et_method_output(m, i) : et_method_input(m, i);
    if (v->kind != ET_KIND_TENSOR || v->tensor->def->rank > QL_MAX_RANK)
        return QRN_FAIL(
            QRN_E_UNSUPPORTED, "%s: method '%s': %s %u is not a tensor of rank %d or less",
            m->program->path, m->def->name, is_output ? "output" : "input", i, QL_MAX_RANK);
    const et_tensor_def *d = v->tensor->def;
    const Qnn_Tensor_t *t = et_method_tensor(m, is_output, i);
    out->type = type_of(d->type);
    out->rank = d->rank;
    for (uint32_t k = 0; k < d->rank; k++)
        out->dims[k] = (uint32_t)d->sizes[k];
    bool fixed = out->type >= 0x300 && out->type < 0x500;
    if (fixed && (!t || !qt_border_encoding(t, &out->scale, &out->offset)))
        out->type = QNN_DATATYPE_UNDEFINED; // without a scale its numbers mean nothing
    return QRN_OK;
}

// The name of input or output i among those of n layers.
static const char *name_of(qrn_arena *a, bool is_output, uint32_t i, uint32_t n) {
    static const char *const first[] = {"tokens", "atten_mask", "input_pos"};
    uint32_t before = is_output ? 1 : BEFORE_CACHES;
    char name[32];
    if (i < before)
        return is_output ? "logits" : first[i];
    snprintf(name, sizeof name, "%s_%c_%u", is_output ? "new" : "past", i - before < n ? 'k' : 'v',
             (i - before) % n);
    return qrn_arena_strdup(a, name);
}

static bool is_wrapped(const et_method *m) {
    et_qnn_options o;
    return et_qnn_options_of(&m->def->delegates[0], &o) == QRN_OK && o.from_binary;
}

// The program's tensor must be that of the binary's graph: their bytes are used as they are.
static qrn_status match_graph(const et_method *m, bool is_output, uint32_t i, ql_tensor *t) {
    const char *kind = is_output ? "output" : "input";
    const Qnn_Tensor_t *q = et_method_tensor(m, is_output, i);
    if (!q)
        return QRN_FAIL(QRN_E_BINARY,
                        "%s: method '%s': %s %u does not belong to a delegate's graph",
                        m->program->path, m->def->name, kind, i);
    bool same =
        q->v1.rank == t->rank && ql_element_bytes(q->v1.dataType) == ql_element_bytes(t->type);
    for (uint32_t k = 0; same && k < t->rank; k++)
        same = q->v1.dimensions[k] == t->dims[k];
    if (!same)
        return QRN_FAIL(QRN_E_SHAPE,
                        "%s: method '%s': %s %u has another shape or type than '%s' of the graph "
                        "in its context binary",
                        m->program->path, m->def->name, kind, i, q->v1.name);
    t->name = q->v1.name; // as long as the method
    return QRN_OK;
}

static qrn_status execute(void *ctx, const void *const *inputs, void *const *outputs) {
    et_method *m = ctx;
    for (uint32_t i = 0; i < m->def->n_inputs; i++)
        QRN_TRY(
            et_method_set_input(m, i, inputs[i], et_method_input(m, i)->tensor->def->bytes, NULL));
    QRN_TRY(et_method_execute(m));
    for (uint32_t i = 0; i < m->def->n_outputs; i++) {
        const et_tensor *t = et_method_output(m, i)->tensor;
        memcpy(outputs[i], t->data, t->def->bytes);
    }
    return QRN_OK;
}

static qrn_status make_graph(qt_llm_pte *p, et_method *m, ql_graph *g) {
    const et_method_def *d = m->def;
    uint32_t layers = d->n_inputs > BEFORE_CACHES ? (d->n_inputs - BEFORE_CACHES) / 2 : 0;
    bool wrapped = is_wrapped(m);
    if (!wrapped && (layers == 0 || d->n_inputs != BEFORE_CACHES + 2 * layers ||
                     d->n_outputs != 1 + 2 * layers))
        return QRN_FAIL(
            QRN_E_ARGUMENT,
            "%s: method '%s' has %u inputs and %u outputs; a language model of L layers "
            "has tokens, mask, positions and 2 L caches, and logits and 2 L new rows",
            p->program->path, d->name, d->n_inputs, d->n_outputs);
    ql_tensor *in = qrn_arena_alloc(p->arena, d->n_inputs * sizeof *in);
    ql_tensor *out = qrn_arena_alloc(p->arena, d->n_outputs * sizeof *out);
    for (uint32_t i = 0; in && out && i < d->n_inputs + d->n_outputs; i++) {
        bool is_output = i >= d->n_inputs;
        uint32_t k = is_output ? i - d->n_inputs : i;
        ql_tensor *t = is_output ? &out[k] : &in[k];
        QRN_TRY(describe(m, is_output, k, t));
        if (wrapped)
            QRN_TRY(match_graph(m, is_output, k, t));
        else if (!(t->name = name_of(p->arena, is_output, k, layers)))
            return QRN_FAIL(QRN_E_MEM, "out of memory");
    }
    *g = (ql_graph){.name = d->name,
                    .file = p->program->path,
                    .inputs = in,
                    .outputs = out,
                    .n_inputs = d->n_inputs,
                    .n_outputs = d->n_outputs,
                    .key_columns = !wrapped,
                    .ctx = m,
                    .execute = execute};
    return in && out ? QRN_OK : QRN_FAIL(QRN_E_MEM, "out of memory");
}

static int load(qt_llm_pte *p, const char *file, const qt_backend_options *backend) {
    et_options o;
    int code = qt_pte_options_of(backend, &o);
    if (code != QT_EXIT_OK)
        return code;
    if (et_program_open(file, &p->program) != QRN_OK)
        return refused();
    uint32_t n = p->program->n_methods;
    p->methods = qrn_arena_alloc(p->arena, n * sizeof *p->methods);
    p->graphs = qrn_arena_alloc(p->arena, n * sizeof *p->graphs);
    if (!p->methods || !p->graphs)
        return qt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        if (p->program->methods[i].n_delegates == 0)
            continue; // a number of the model
        o.sibling = p->n ? p->methods[0] : NULL;
        if (et_method_load(p->program, i, &o, &p->methods[p->n]) != QRN_OK)
            return refused();
        p->n++;
        if (make_graph(p, p->methods[p->n - 1], &p->graphs[p->n - 1]) != QRN_OK)
            return refused();
    }
    if (p->n)
        return QT_EXIT_OK;
    qt_error("%s: no method of the program has a delegate", file);
    return QT_EXIT_REFUSED;
}

int qt_llm_pte_open(const char *file, const qt_backend_options *backend, qt_llm_pte **out) {
    qrn_arena *arena = qrn_arena_create();
    qt_llm_pte *p = arena ? qrn_arena_alloc(arena, sizeof *p) : NULL;
    if (!p) {
        qrn_arena_destroy(arena);
        return qt_no_memory();
    }
    p->arena = arena;
    int code = load(p, file, backend);
    if (code == QT_EXIT_OK)
        *out = p;
    else
        qt_llm_pte_close(p);
    return code;
}

void qt_llm_pte_close(qt_llm_pte *p) {
    if (!p)
        return;
    while (p->n > 0) // the first one has the contexts
        et_method_free(p->methods[--p->n]);
    et_program_close(p->program);
    qrn_arena_destroy(p->arena);
}

const ql_graph *qt_llm_pte_graphs(const qt_llm_pte *p, uint32_t *n) {
    *n = p->n;
    return p->graphs;
}
