// SPDX-License-Identifier: MIT
//
// Loading a method: memory for planned tensors, values, kernels and delegates.
#include "frontend/executorch/method.h"

#include "base/mem.h"
#include "frontend/executorch/delegate.h"
#include "frontend/executorch/kernel.h"

#include <stdio.h>
#include <string.h>

static qrn_status no_memory(const et_method *m, const char *what) {
    return QRN_FAIL(QRN_E_MEM, "%s: method '%s': out of memory for %s", m->program->path,
                    m->def->name, what);
}

size_t et_tensor_bytes(const et_tensor *t) { return t->count * et_type_bytes(t->def->type); }

static void set_shape(et_tensor *t, uint32_t rank, const int64_t *sizes) {
    t->rank = rank;
    t->count = 1;
    for (uint32_t i = 0; i < rank; i++) {
        t->sizes[i] = sizes[i];
        t->count *= (size_t)sizes[i];
    }
    int64_t step = 1;
    for (uint32_t i = rank; i-- > 0;) {
        uint32_t d = rank == t->def->rank ? t->def->order[i] : i;
        t->strides[d] = t->count ? step : 0; // without elements, sizes may be anything
        step = t->count ? step * sizes[d] : 1;
    }
}

qrn_status et_tensor_resize(et_tensor *t, uint32_t rank, const int64_t *sizes) {
    const et_tensor_def *d = t->def;
    bool same = rank == t->rank;
    size_t bytes = et_type_bytes(d->type);
    for (uint32_t i = 0; i < rank; i++) {
        same = same && sizes[i] == t->sizes[i];
        if (sizes[i] < 0 || !qrn_mul_size(bytes, (size_t)sizes[i], &bytes))
            return QRN_FAIL(QRN_E_SHAPE, "a tensor cannot have a dimension of %lld",
                            (long long)sizes[i]);
    }
    if (same)
        return QRN_OK;
    if (rank != d->rank || !d->may_shrink || bytes > t->room)
        return QRN_FAIL(QRN_E_SHAPE,
                        "a result of rank %u and %zu bytes does not fit a tensor of rank %u and "
                        "%zu bytes whose shape is %s",
                        rank, bytes, d->rank, t->room, d->may_shrink ? "bounded" : "fixed");
    set_shape(t, rank, sizes);
    return QRN_OK;
}

// --- Memory

static qrn_status make_buffers(et_method *m) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < m->def->n_buffers; i++) {
        uint64_t bytes = m->def->buffers[i];
        if (m->opt.max_bytes && (bytes > m->opt.max_bytes || total > m->opt.max_bytes - bytes))
            return QRN_FAIL(QRN_E_MEM, "%s: method '%s': planned memory of more than %zu bytes",
                            m->program->path, m->def->name, m->opt.max_bytes);
        total += bytes;
        m->buffers[i] = bytes <= SIZE_MAX / 2 ? qrn_calloc((size_t)bytes) : NULL;
        if (!m->buffers[i])
            return no_memory(m, "planned tensors");
    }
    return QRN_OK;
}

static void restore_shape(et_tensor *t) {
    int64_t sizes[ET_MAX_RANK];
    for (uint32_t i = 0; i < t->def->rank; i++)
        sizes[i] = t->def->sizes[i];
    set_shape(t, t->def->rank, sizes);
}

static qrn_status make_tensor(et_method *m, uint32_t value, const et_tensor_def *d, et_item *v) {
    et_tensor *t = qrn_arena_alloc(m->arena, sizeof *t);
    if (!t)
        return no_memory(m, "tensors");
    t->def = d;
    t->room = d->bytes;
    t->fixed = d->place == ET_CONSTANT;
    restore_shape(t);
    v->tensor = t;
    switch (d->place) {
    case ET_CONSTANT:
        t->data = (uint8_t *)(uintptr_t)d->data; // `fixed` guards it
        break;
    case ET_PLANNED:
        t->data = m->buffers[d->buffer] + d->offset;
        if (d->data)
            memcpy(t->data, d->data, d->bytes);
        break;
    case ET_EXTERNAL:
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "%s: method '%s', value %u: the data of '%s' is in another file, which is "
                        "not supported; export with the weights inside",
                        m->program->path, m->def->name, value, d->name);
    default:
        break;
    }
    return QRN_OK;
}

static qrn_status make_values(et_method *m) {
    for (uint32_t i = 0; i < m->def->n_values; i++) {
        const et_value *from = &m->def->values[i];
        et_item *v = &m->values[i];
        v->kind = from->kind;
        if (from->kind == ET_KIND_TENSOR)
            QRN_TRY(make_tensor(m, i, from->tensor, v));
        else if (from->kind == ET_KIND_DOUBLE)
            v->d = from->d;
        else if (from->kind == ET_KIND_STRING)
            v->text = from->text;
        else if (from->kind >= ET_KIND_INTS)
            v->list = from->list;
        else
            v->i = from->kind == ET_KIND_NULL ? 0 : from->i;
    }
    return QRN_OK;
}

// Given tensors of which neither inputs nor outputs are made: results of the method that the caller
// reads, and what lies between delegates of a program without planned memory.
static qrn_status make_given(et_method *m) {
    for (uint32_t i = 0; i < m->def->n_values; i++) {
        et_item *v = &m->values[i];
        if (v->kind != ET_KIND_TENSOR || v->tensor->data)
            continue;
        bool is_input = false;
        for (uint32_t k = 0; k < m->def->n_inputs; k++)
            is_input = is_input || (uint32_t)m->def->inputs[k] == i;
        if (is_input)
            continue;
        if (m->opt.max_bytes && v->tensor->def->bytes > m->opt.max_bytes)
            return no_memory(m, "tensors");
        v->tensor->data = qrn_arena_alloc(m->arena, v->tensor->def->bytes);
        if (!v->tensor->data)
            return no_memory(m, "tensors");
    }
    return QRN_OK;
}

// --- Kernels

static qrn_status find_kernels(et_method *m) {
    char missing[512] = "";
    size_t used = 0;
    for (uint32_t c = 0; c < m->def->n_chains; c++) {
        const et_chain *chain = &m->def->chains[c];
        for (uint32_t i = 0; i < chain->n; i++) {
            const et_instruction *in = &chain->instructions[i];
            if (in->code != ET_KERNEL || m->kernels[in->a])
                continue;
            const et_operator *op = &m->def->operators[in->a];
            m->kernels[in->a] = et_kernel_find(op->name, op->overload);
            char name[160];
            snprintf(name, sizeof name, " %s.%s", op->name, op->overload);
            if (m->kernels[in->a] || strstr(missing, name) || used >= sizeof missing)
                continue;
            int n = snprintf(missing + used, sizeof missing - used, "%s%s", used ? "," : "", name);
            used += n > 0 ? (size_t)n : 0;
        }
    }
    if (!missing[0])
        return QRN_OK;
    return QRN_FAIL(QRN_E_OP_UNKNOWN,
                    "%s: method '%s': no kernel for%s; these operators were not delegated",
                    m->program->path, m->def->name, missing);
}

static qrn_status open_delegates(et_method *m) {
    for (uint32_t i = 0; i < m->def->n_delegates; i++) {
        if (m->opt.no_delegates)
            return QRN_FAIL(QRN_E_UNSUPPORTED, "%s: method '%s': delegates are not wanted",
                            m->program->path, m->def->name);
        QRN_TRY(et_delegate_open(m, i, &m->delegates[i]));
    }
    return QRN_OK;
}

static bool make_lists(et_method *m) {
    const et_method_def *d = m->def;
    m->values = qrn_arena_alloc(m->arena, d->n_values * sizeof *m->values);
    m->buffers = qrn_arena_alloc(m->arena, d->n_buffers * sizeof *m->buffers);
    m->kernels = qrn_arena_alloc(m->arena, d->n_operators * sizeof *m->kernels);
    m->delegates = qrn_arena_alloc(m->arena, d->n_delegates * sizeof *m->delegates);
    return m->values && m->buffers && m->kernels && m->delegates;
}

static qrn_status load(et_method *m) {
    if (!make_lists(m))
        return no_memory(m, "its lists");
    QRN_TRY(find_kernels(m));
    QRN_TRY(make_buffers(m));
    QRN_TRY(make_values(m));
    QRN_TRY(make_given(m));
    return open_delegates(m);
}

qrn_status et_method_load(const et_program *p, uint32_t index, const et_options *opt,
                          et_method **out) {
    if (index >= p->n_methods)
        return QRN_FAIL(QRN_E_NOT_FOUND, "%s: method %u, there are %u", p->path, index,
                        p->n_methods);
    qrn_arena *arena = qrn_arena_create();
    et_method *m = arena ? qrn_arena_alloc(arena, sizeof *m) : NULL;
    if (!m) {
        qrn_arena_destroy(arena);
        return QRN_FAIL(QRN_E_MEM, "%s: out of memory", p->path);
    }
    *m = (et_method){.program = p, .def = &p->methods[index], .arena = arena};
    if (opt)
        m->opt = *opt;
    uint64_t start = et_trace_now();
    if (m->opt.trace)
        et_trace_begin(m->opt.trace, "Default");
    qrn_status s = load(m);
    if (s != QRN_OK) {
        et_method_free(m);
        return s;
    }
    if (m->opt.trace) {
        et_trace_end(m->opt.trace, "Method::init", start);
        et_trace_end(m->opt.trace, "Program::load_method", start);
    }
    *out = m;
    return QRN_OK;
}

void et_method_free(et_method *m) {
    if (!m)
        return;
    for (uint32_t i = 0; m->delegates && i < m->def->n_delegates; i++)
        et_delegate_close(m->delegates[i]);
    for (uint32_t i = 0; m->buffers && i < m->def->n_buffers; i++)
        qrn_free(m->buffers[i]);
    qrn_arena_destroy(m->arena);
}

// --- Inputs and outputs

const et_item *et_method_input(const et_method *m, uint32_t i) {
    return &m->values[m->def->inputs[i]];
}

const et_item *et_method_output(const et_method *m, uint32_t i) {
    return &m->values[m->def->outputs[i]];
}

// Is one of the arguments of a delegate's call the value?
static const Qnn_Tensor_t *find_argument(const et_method *m, const et_instruction *in,
                                         int32_t value, bool is_output) {
    for (uint32_t k = 0; in->code == ET_DELEGATE && k < in->n_args; k++) {
        bool writes = false;
        const Qnn_Tensor_t *t =
            in->args[k] == value ? et_delegate_tensor(m->delegates[in->a], k, &writes) : NULL;
        if (t && writes == is_output)
            return t;
    }
    return NULL;
}

const Qnn_Tensor_t *et_method_tensor(const et_method *m, bool is_output, uint32_t i) {
    int32_t value = is_output ? m->def->outputs[i] : m->def->inputs[i];
    for (uint32_t c = 0; c < m->def->n_chains; c++)
        for (uint32_t k = 0; k < m->def->chains[c].n; k++) {
            const Qnn_Tensor_t *t =
                find_argument(m, &m->def->chains[c].instructions[k], value, is_output);
            if (t)
                return t;
        }
    return NULL;
}

qrn_status et_method_set_input(et_method *m, uint32_t i, const void *data, size_t bytes,
                               const int64_t *sizes) {
    et_item *v = &m->values[m->def->inputs[i]];
    if (v->kind != ET_KIND_TENSOR || v->tensor->def->place == ET_CONSTANT)
        return QRN_FAIL(QRN_E_TENSOR, "%s: method '%s', input %u is not a tensor that can be set",
                        m->program->path, m->def->name, i);
    et_tensor *t = v->tensor;
    if (sizes) {
        for (uint32_t d = 0; d < t->def->rank; d++)
            if (sizes[d] < 0 || sizes[d] > t->def->sizes[d])
                return QRN_FAIL(
                    QRN_E_SHAPE, "%s: method '%s', input %u: dimension %u is %lld, at most %d",
                    m->program->path, m->def->name, i, d, (long long)sizes[d], t->def->sizes[d]);
        set_shape(t, t->def->rank, sizes);
    } else {
        restore_shape(t);
    }
    bool planned = t->def->place == ET_PLANNED;
    if ((bytes != et_tensor_bytes(t) && bytes != t->def->bytes) || (planned && bytes > t->room))
        return QRN_FAIL(QRN_E_SHAPE, "%s: method '%s', input %u: %zu bytes, expected %zu (%s)",
                        m->program->path, m->def->name, i, bytes, et_tensor_bytes(t),
                        et_type_name(t->def->type));
    if (planned) {
        memmove(t->data, data, bytes);
        return QRN_OK;
    }
    t->data = (uint8_t *)(uintptr_t)data; // `fixed` guards it
    t->room = bytes;
    t->fixed = true;
    return QRN_OK;
}
