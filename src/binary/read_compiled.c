// SPDX-License-Identifier: MIT
//
// Compiled graphs. Records are checked in themselves here: types, shapes, encodings, sizes; whether
// they make a graph is the verifier's question (compiler/compiled.h).
#include "binary/read.h"

// Least bytes of the records, to bound counts.
#define VALUE_BYTES 8u
#define IO_BYTES 8u
#define NODE_BYTES 12u
#define STEP_BYTES 36u

// The tensor of a value, which is the graph's own or the context's; NULL: none, or a failure.
static const qrn_tensor *get_tensor(qrn_in *in, const qrn_bin_reading *r, uint32_t id) {
    if (id == 0)
        return NULL;
    if (id <= r->n_ids && r->by_id[id] && (!r->owner[id] || r->owner[id] == r->graph + 1))
        return r->by_id[id];
    qrn_in_fail(in, "a value of tensor %u, which the graph does not have", id);
    return NULL;
}

static void get_format(qrn_in *in, qrn_cvalue *v) {
    qrn_tensor t = {.role = QRN_ROLE_STATIC}; // whose encodings may be any
    t.dtype = qrn_bin_get_dtype(in);
    uint32_t n = qrn_in_u32(in), dims = qrn_in_u32(in);
    qrn_bin_get_shape(in, t.dtype, &t.shape, &t.size_bytes);
    if (in->status == QRN_OK && (n || dims))
        qrn_bin_get_sparse(in, &t, n, dims);
    if (in->status == QRN_OK)
        qrn_bin_get_quant(in, &t);
    if (in->status == QRN_OK && qrn_bin_lacks_scales(&t))
        qrn_in_fail(in, "a value without scales");
    v->dtype = t.dtype;
    v->shape = t.shape;
    v->quant = t.quant;
    v->size_bytes = t.size_bytes;
    v->n_sparse = t.n_sparse_elements;
    v->n_sparse_dims = t.n_sparse_dims;
}

static void copy_format(const qrn_tensor *t, qrn_cvalue *v) {
    v->dtype = t->dtype;
    v->shape = t->shape;
    v->quant = t->quant;
    v->size_bytes = t->size_bytes;
    v->n_sparse = t->n_sparse_elements;
    v->n_sparse_dims = t->n_sparse_dims;
}

// Whole numbers of 32 bits may be indices, which kernels trust once they were verified: they must
// not change with the file.
static void set_data(qrn_in *in, const qrn_cvalue *v, const void *data, qrn_cconst *c) {
    bool indices = v->dtype == QRN_DTYPE_I32 || v->dtype == QRN_DTYPE_U32;
    c->data = data && indices ? qrn_arena_copy(in->arena, data, v->size_bytes) : data;
    if (data && !c->data)
        in->status = QRN_FAIL(QRN_E_MEM, "out of memory for a context binary");
}

static void get_constant(qrn_in *in, qrn_bin_reading *r, const qrn_cvalue *v, const qrn_tensor *t,
                         qrn_cconst *c) {
    uint32_t kind = qrn_in_u32(in);
    c->kind = (uint8_t)kind;
    if (kind == QRN_CONST_ROUNDED) {
        c->source = qrn_in_u32(in);
    } else if (kind == QRN_CONST_SCALED) {
        c->source = qrn_in_u32(in);
        c->factors = qrn_in_u32(in);
        uint32_t axis = qrn_in_u32(in);
        c->axis = (uint8_t)axis;
        if (axis >= QRN_MAX_RANK)
            qrn_in_fail(in, "a constant that is scaled along axis %u", axis);
    } else if (kind == QRN_CONST_TENSOR) {
        if (!t || t->role != QRN_ROLE_STATIC || v->size_bytes != t->size_bytes)
            qrn_in_fail(in, "a constant that is not a constant tensor");
        else
            set_data(in, v, t->data, c);
    } else if (kind == QRN_CONST_MADE) {
        const qrn_bin_constant *k = qrn_bin_find_constant(in, r, qrn_in_u32(in));
        if (k && k->size_bytes != v->size_bytes)
            qrn_in_fail(in, "a constant of %zu bytes with data of %llu", v->size_bytes,
                        (unsigned long long)k->size_bytes);
        else if (k)
            set_data(in, v, k->data, c);
    } else {
        qrn_in_fail(in, "a constant of kind %u", kind);
    }
}

static void get_value(qrn_in *in, qrn_bin_reading *r, qrn_compiled *cg, qrn_cvalue *v) {
    uint32_t flags = qrn_in_u32(in), kind = flags & QRN_BIN_VALUE_KIND;
    uint32_t id = qrn_in_u32(in);
    const qrn_tensor *t = get_tensor(in, r, id);
    *v = (qrn_cvalue){.kind = (uint8_t)kind, .base = QRN_VAL_NONE, .tensor_id = id, .name = ""};
    if (t)
        v->name = t->name;
    if (flags >= 2 * QRN_BIN_VALUE_IN_OTHER || kind > QRN_CV_IO ||
        (!t && (kind == QRN_CV_IO || (flags & QRN_BIN_VALUE_LIKE_TENSOR))))
        qrn_in_fail(in, "a value with flags 0x%x of tensor %u", flags, id);
    if (in->status != QRN_OK)
        return;
    if (flags & QRN_BIN_VALUE_LIKE_TENSOR)
        copy_format(t, v);
    else
        get_format(in, v);
    if (flags & QRN_BIN_VALUE_IN_OTHER) {
        v->base = qrn_in_u32(in);
        v->base_offset = qrn_in_u64(in);
    }
    if (kind == QRN_CV_CONST && in->status == QRN_OK) {
        v->constant = cg->n_constants++;
        get_constant(in, r, v, t, &cg->constants[v->constant]);
    }
}

// Application tensors: the value has the tensor's size, since buffers have.
static void get_io(qrn_in *in, const qrn_bin_reading *r, qrn_compiled *cg, uint32_t i) {
    uint32_t v = qrn_in_u32(in), flags = qrn_in_u32(in);
    bool fits = v < cg->n_values && cg->values[v].kind == QRN_CV_IO && flags < 4;
    const qrn_tensor *t = fits ? r->by_id[cg->values[v].tensor_id] : NULL;
    if (!t || t->role > QRN_ROLE_INOUT || t->size_bytes != cg->values[v].size_bytes ||
        t->optional_io != (flags >> 1) || (t->role != QRN_ROLE_INOUT && t->role != (flags & 1))) {
        qrn_in_fail(in, "application tensor %u is none", i);
        return;
    }
    cg->io[i] =
        (qrn_cio){.value = v, .tensor_id = t->id, .is_output = flags & 1, .optional = flags >> 1};
    cg->values[v].io = i;
    cg->optional_io |= t->optional_io;
}

static void get_operands(qrn_in *in, uint32_t **ins, uint32_t *n_in, uint32_t **outs,
                         uint32_t *n_out) {
    *n_in = qrn_in_count(in, 4);
    *n_out = qrn_in_count(in, 4);
    *ins = qrn_in_words(in, *n_in);
    *outs = qrn_in_words(in, *n_out);
}

static void get_node(qrn_in *in, const qrn_bin_graph *g, qrn_cnode *n) {
    n->index = qrn_in_u32(in);
    get_operands(in, &n->in, &n->n_in, &n->out, &n->n_out);
    if (in->status != QRN_OK)
        return;
    if (n->index >= g->n_nodes || n->n_in != g->nodes[n->index].n_in ||
        n->n_out != g->nodes[n->index].n_out) {
        qrn_in_fail(in, "node %u with %u inputs and %u outputs", n->index, n->n_in, n->n_out);
        return;
    }
    n->name = g->nodes[n->index].name;
    n->type = g->nodes[n->index].type;
}

static void get_attrs(qrn_in *in, qrn_cstep *s) {
    uint32_t words = qrn_in_u32(in);
    if (words != qrn_cop_attr_words(s->op))
        qrn_in_fail(in, "op %s with attributes of %u words", s->op->name, words);
    for (uint32_t i = 0; i < s->op->n_attrs; i++)
        for (uint32_t k = 0; k < s->op->attrs[i].count; k++) {
            const qrn_attr *a = &s->op->attrs[i];
            bool wide = a->kind == QRN_ATTR_I64 || a->kind == QRN_ATTR_F64;
            if (!qrn_attr_set(s->args, a, k, wide ? qrn_in_u64(in) : qrn_in_u32(in)))
                qrn_in_fail(in, "op %s: attribute '%s'", s->op->name, a->name);
        }
}

static void get_step(qrn_in *in, qrn_cstep *s) {
    uint32_t id = qrn_in_u32(in), domain = qrn_in_u32(in);
    s->op = qrn_cop_by_id(id);
    s->domain = (uint8_t)domain;
    s->node = qrn_in_u32(in);
    s->n_fused = qrn_in_u32(in);
    s->state_bytes = qrn_in_u64(in);
    if (!s->op || domain > QRN_DOMAIN_RAW)
        qrn_in_fail(in, "a step of op %u in domain %u", id, domain);
    get_operands(in, &s->in, &s->n_in, &s->out, &s->n_out);
    if (in->status != QRN_OK)
        return;
    s->args = s->op->family->args_bytes ? qrn_in_array(in, 1, s->op->family->args_bytes) : NULL;
    if (in->status == QRN_OK)
        get_attrs(in, s);
}

static void get_lists(qrn_in *in, qrn_bin_reading *r, qrn_bin_graph *g, qrn_compiled *cg) {
    cg->values = qrn_in_array(in, cg->n_values, sizeof *cg->values);
    cg->constants = qrn_in_array(in, cg->n_values, sizeof *cg->constants);
    cg->io = qrn_in_array(in, cg->n_io, sizeof *cg->io);
    cg->nodes = qrn_in_array(in, cg->n_nodes, sizeof *cg->nodes);
    cg->steps = qrn_in_array(in, cg->n_steps, sizeof *cg->steps);
    for (uint32_t i = 0; in->status == QRN_OK && i < cg->n_values; i++)
        get_value(in, r, cg, &cg->values[i]);
    for (uint32_t i = 0; in->status == QRN_OK && i < cg->n_io; i++)
        get_io(in, r, cg, i);
    for (uint32_t i = 0; in->status == QRN_OK && i < cg->n_nodes; i++)
        get_node(in, g, &cg->nodes[i]);
    for (uint32_t i = 0; in->status == QRN_OK && i < cg->n_steps; i++)
        get_step(in, &cg->steps[i]);
}

static qrn_status get_compiled(qrn_in *in, qrn_bin_reading *r, qrn_bin_graph *g) {
    qrn_arena *arena = qrn_arena_create();
    qrn_compiled *cg = arena ? qrn_arena_alloc(arena, sizeof *cg) : NULL;
    if (!cg) {
        qrn_arena_destroy(arena);
        return QRN_FAIL(QRN_E_MEM, "out of memory for a context binary");
    }
    in->arena = cg->arena = arena;
    g->compiled = cg; // the binary's until somebody takes it
    cg->name = g->name;
    g->compiled_how = qrn_in_u32(in);
    uint32_t half = qrn_in_u32(in);
    cg->half = (qrn_fp16_rule)half;
    cg->n_values = qrn_in_count(in, VALUE_BYTES);
    cg->n_io = qrn_in_count(in, IO_BYTES);
    cg->n_nodes = qrn_in_count(in, NODE_BYTES);
    cg->n_steps = qrn_in_count(in, STEP_BYTES);
    if (half > QRN_FP16_AS_F32)
        qrn_in_fail(in, "fp16 of kind %u", half);
    if (in->status == QRN_OK)
        get_lists(in, r, g, cg);
    if (in->status == QRN_OK && in->at != in->n)
        qrn_in_fail(in, "graph '%s': bytes behind the last record", g->name);
    return in->status;
}

qrn_status qrn_bin_open_with(const void *buf, uint64_t size_bytes, bool verify, const void *weights,
                             const void *shared, qrn_bin **out) {
    return qrn_bin_open_any(buf, size_bytes, verify, weights, shared, get_compiled, out);
}
