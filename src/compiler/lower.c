// SPDX-License-Identifier: MIT
//
// Lowering: values, steps, conversions, and the generic path of a table row.
#include "compiler/fp16.h"

#include "base/mem.h"
#include "compiler/lower/groups.h"
#include "kernels/convert.h"
#include "kernels/fp16/round_fp16.h"

#include <string.h>

const qrn_lower_row *qrn_lower_find(const char *op) {
    static const qrn_lower_row *const groups[] = {
#define X(group) qrn_lower_##group,
        QRN_LOWER_GROUPS(X)
#undef X
    };
    for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++)
        for (const qrn_lower_row *r = groups[g]; r->op; r++)
            if (strcmp(r->op, op) == 0)
                return r;
    return NULL;
}

bool qrn_lo_grow(void **array, uint32_t *cap, uint32_t used, size_t elem_bytes) {
    if (used < *cap)
        return true;
    uint32_t next = *cap ? *cap * 2 : 64;
    void *p = qrn_realloc(*array, used * elem_bytes, next * elem_bytes);
    if (!p)
        return false;
    *array = p;
    *cap = next;
    return true;
}

static qrn_status new_value(qrn_lowering *lo, qrn_val *out) {
    qrn_compiled *p = lo->cg;
    if (!qrn_lo_grow((void **)&p->values, &lo->cap_values, p->n_values, sizeof(qrn_cvalue)))
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory for %u values", lo->graph->name,
                        p->n_values);
    *out = p->n_values++;
    p->values[*out] = (qrn_cvalue){.name = "", .base = QRN_VAL_NONE};
    return QRN_OK;
}

static qrn_status fill_value(qrn_lowering *lo, qrn_val v, qrn_dtype dtype, const qrn_shape *shape,
                             const qrn_quant *quant) {
    qrn_cvalue *val = &lo->cg->values[v];
    val->dtype = dtype;
    val->shape = *shape;
    if (quant)
        val->quant = *quant;
    size_t count;
    if (!qrn_shape_count(shape, &count) || !qrn_dtype_bytes(dtype, count, &val->size_bytes))
        return QRN_FAIL(QRN_E_SHAPE, "graph '%s' node '%s': a value of type %s is too large",
                        lo->graph->name, lo->node ? lo->node->name : "", qrn_dtypes[dtype].token);
    return QRN_OK;
}

static qrn_status add_io(qrn_lowering *lo, qrn_val v, const qrn_tensor *t) {
    qrn_compiled *p = lo->cg;
    if (!qrn_lo_grow((void **)&p->io, &lo->cap_io, p->n_io, sizeof(qrn_cio)))
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
    p->values[v].kind = QRN_CV_IO;
    p->values[v].io = p->n_io;
    p->optional_io |= t->optional_io;
    // A context tensor is an output of the graph that has its producer, else an input.
    bool output = t->role == QRN_ROLE_OUTPUT || (t->role == QRN_ROLE_INOUT && t->producer != NULL &&
                                                 t->producer->graph == lo->client_graph);
    p->io[p->n_io++] =
        (qrn_cio){.value = v, .tensor_id = t->id, .is_output = output, .optional = t->optional_io};
    return QRN_OK;
}

// Between its producer and the end of the graph the tensor is a temporary of its own type.
static qrn_status start_detour(qrn_lowering *lo, const qrn_tensor *t, qrn_val *v) {
    qrn_val io = *v;
    QRN_TRY(qrn_lo_temp(lo, t->dtype, &t->shape, NULL, v));
    qrn_cvalue *val = &lo->cg->values[*v];
    val->name = t->name;
    val->tensor_id = t->id;
    val->dynamic = t->has_dynamic;
    lo->by_id[t->id] = *v;
    return qrn_lo_fp16_detour(lo, *v, io);
}

qrn_status qrn_lo_tensor(qrn_lowering *lo, const qrn_tensor *t, qrn_val *out) {
    if (t->id >= lo->n_by_id)
        return QRN_FAIL(QRN_E_TENSOR, "graph '%s': tensor '%s' has the unknown id %u",
                        lo->graph->name, t->name, t->id);
    if (lo->by_id[t->id] != QRN_VAL_NONE) {
        *out = lo->by_id[t->id];
        return QRN_OK;
    }
    qrn_val v;
    t = qrn_lo_fp16_copy(lo, t);
    const qrn_tensor *stored = qrn_lo_fp16_stored(lo, t);
    QRN_TRY(new_value(lo, &v));
    QRN_TRY(fill_value(lo, v, stored->dtype, &t->shape, &t->quant));
    qrn_cvalue *val = &lo->cg->values[v];
    val->name = t->name;
    val->tensor_id = t->id;
    val->dynamic = t->has_dynamic;
    if (t->format == QRN_FORMAT_SPARSE) {
        val->n_sparse = t->n_sparse_elements;
        val->n_sparse_dims = t->n_sparse_dims;
        val->size_bytes = t->size_bytes;
    }
    lo->cg->dynamic |= t->has_dynamic;
    if (t->role == QRN_ROLE_STATIC) {
        bool rounded = stored->data && stored->data != qrn_lo_client_tensor(lo, t)->data;
        qrn_cconst c = {.kind = rounded ? QRN_CONST_MADE : QRN_CONST_TENSOR,
                        .updateable = t->updateable,
                        .droppable = t->graph && !t->updateable,
                        .data = stored->data};
        QRN_TRY(qrn_lo_be_constant(lo, v, &c));
    } else if (t->role != QRN_ROLE_NATIVE) {
        QRN_TRY(add_io(lo, v, t));
    }
    *out = lo->by_id[t->id] = v;
    return qrn_lo_fp16_detours(lo, t) ? start_detour(lo, t, out) : QRN_OK;
}

qrn_status qrn_lo_temp(qrn_lowering *lo, qrn_dtype dtype, const qrn_shape *shape,
                       const qrn_quant *quant, qrn_val *out) {
    QRN_TRY(new_value(lo, out));
    return fill_value(lo, *out, dtype, shape, quant);
}

qrn_status qrn_lo_may_take(qrn_lowering *lo, size_t size_bytes) {
    size_t total, most = lo->opt->most_bytes;
    bool fits = qrn_add_size(lo->taken_bytes, size_bytes, &total) && total <= most;
    if (most && !fits)
        return QRN_FAIL(QRN_E_MEM,
                        "graph '%s' node '%s': %zu more bytes of constants or state, at most %zu "
                        "are allowed in all",
                        lo->graph->name, lo->node ? lo->node->name : "", size_bytes, most);
    lo->taken_bytes += size_bytes;
    return QRN_OK;
}

qrn_status qrn_lo_be_constant(qrn_lowering *lo, qrn_val v, const qrn_cconst *c) {
    qrn_compiled *p = lo->cg;
    if (!qrn_lo_grow((void **)&p->constants, &lo->cap_constants, p->n_constants, sizeof *c))
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory for constants", lo->graph->name);
    p->values[v].kind = QRN_CV_CONST;
    p->values[v].constant = p->n_constants;
    p->constants[p->n_constants++] = *c;
    return QRN_OK;
}

qrn_status qrn_lo_make_constant(qrn_lowering *lo, qrn_val v, void **data) {
    size_t size_bytes = lo->cg->values[v].size_bytes;
    QRN_TRY(qrn_lo_may_take(lo, size_bytes));
    *data = qrn_arena_alloc(lo->cg->arena, size_bytes);
    if (!*data)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory for a constant of %zu bytes",
                        lo->graph->name, size_bytes);
    qrn_cconst c = {.kind = QRN_CONST_MADE, .data = *data};
    return qrn_lo_be_constant(lo, v, &c);
}

qrn_status qrn_lo_const(qrn_lowering *lo, qrn_dtype dtype, const qrn_shape *shape,
                        const qrn_quant *quant, qrn_val *out, void **data) {
    QRN_TRY(qrn_lo_temp(lo, dtype, shape, quant, out));
    return qrn_lo_make_constant(lo, *out, data);
}

bool qrn_lo_is_const(const qrn_lowering *lo, qrn_val v) {
    return lo->cg->values[v].kind == QRN_CV_CONST;
}

const void *qrn_lo_const_data(const qrn_lowering *lo, qrn_val v) {
    return qrn_compiled_data(lo->cg, v);
}

const qrn_node *qrn_lo_node(const qrn_lowering *lo) { return lo->node; }

static bool is_read(const qrn_tensor *t, const qrn_graph *g) {
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (uint32_t k = 0; k < g->nodes[i]->n_in; k++)
            if (g->nodes[i]->in[k] && g->nodes[i]->in[k]->id == t->id)
                return true;
    for (uint32_t i = 0; i < g->n_subgraphs; i++)
        if (is_read(t, g->subgraphs[i]))
            return true;
    return false;
}

bool qrn_lo_reports_rows(const qrn_node *n, uint32_t o) {
    const qrn_tensor *y = o < n->n_out ? n->out[o] : NULL;
    return y && (y->has_dynamic || (y->role != QRN_ROLE_NATIVE && !is_read(y, n->graph)));
}

static bool has_format(const qrn_cvalue *v, qrn_dtype dtype, const qrn_quant *quant) {
    return v->dtype == dtype && qrn_quant_equal(qrn_cvalue_quant(v), quant);
}

qrn_status qrn_lo_as(qrn_lowering *lo, qrn_val v, qrn_dtype dtype, const qrn_quant *quant,
                     qrn_val *out) {
    if (!qrn_lo_fp16_asks(lo->node))
        QRN_TRY(qrn_lo_fp16_operand(lo, &v));
    if (has_format(&lo->cg->values[v], dtype, quant)) {
        *out = v;
        return QRN_OK;
    }
    for (uint32_t i = 0; i < lo->n_conversions; i++)
        if (lo->conversions[i].from == v &&
            has_format(&lo->cg->values[lo->conversions[i].to], dtype, quant)) {
            *out = lo->conversions[i].to;
            return QRN_OK;
        }
    qrn_shape shape = lo->cg->values[v].shape;
    QRN_TRY(qrn_lo_temp(lo, dtype, &shape, quant, out));
    lo->cg->values[*out].dynamic = lo->cg->values[v].dynamic;
    QRN_TRY(qrn_lo_step(lo, &qrn_cop_convert, QRN_DOMAIN_RAW, NULL, &v, 1, out, 1, 0));
    if (!qrn_lo_grow((void **)&lo->conversions, &lo->cap_conversions, lo->n_conversions,
                     sizeof(qrn_conversion)))
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
    lo->conversions[lo->n_conversions++] = (qrn_conversion){v, *out};
    return QRN_OK;
}

static uint32_t *copy_vals(qrn_lowering *lo, const qrn_val *vals, uint32_t n) {
    return qrn_arena_copy(lo->cg->arena, vals, n * sizeof *vals);
}

static bool any_dynamic(const qrn_lowering *lo, const qrn_cstep *s) {
    for (uint32_t i = 0; i < s->n_in + s->n_out; i++) {
        uint32_t v = i < s->n_in ? s->in[i] : s->out[i - s->n_in];
        if (v != UINT32_MAX && lo->cg->values[v].dynamic)
            return true;
    }
    return false;
}

// Shapes of a step with dynamic operands; whatever was declared, they follow the inputs.
static void follow_shapes(qrn_lowering *lo, qrn_cstep *s) {
    bool copies = s->op == &qrn_cop_convert || s->op == &qrn_cop_round_fp16;
    if (!copies)
        s->shapes = QRN_SHAPES_RULE;
    else if (s->in[0] != s->out[0])
        s->shapes = QRN_SHAPES_COPY;
    lo->cg->dynamic = true;
    for (uint32_t i = 0; i < s->n_out; i++)
        if (s->out[i] != QRN_VAL_NONE)
            lo->cg->values[s->out[i]].dynamic = true;
}

// Runs the step now, or appends it to the graph.
static qrn_status settle_step(qrn_lowering *lo, qrn_cstep *s) {
    qrn_compiled *p = lo->cg;
    bool folded = false;
    if (!s->state_bytes)
        QRN_TRY(qrn_lo_fold(lo, s, &folded));
    if (folded)
        return QRN_OK;
    if (any_dynamic(lo, s))
        follow_shapes(lo, s);
    for (uint32_t i = 0; lo->depth && i < s->n_out; i++)
        if (s->out[i] != QRN_VAL_NONE)
            p->values[s->out[i]].conditional = true;
    if (!qrn_lo_grow((void **)&p->steps, &lo->cap_steps, p->n_steps, sizeof(qrn_cstep)))
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory for steps", lo->graph->name);
    p->steps[p->n_steps++] = *s;
    return QRN_OK;
}

qrn_status qrn_lo_step(qrn_lowering *lo, const qrn_cop *f, qrn_domain domain, const void *args,
                       const qrn_val *ins, uint32_t n_in, const qrn_val *outs, uint32_t n_out,
                       size_t state_bytes) {
    qrn_compiled *p = lo->cg;
    qrn_round_fp16_args rounding = {lo->fp16};
    qrn_cstep s = {.kind = QRN_CSTEP_OP,
                   .domain = (uint8_t)domain,
                   .n_in = n_in,
                   .n_out = n_out,
                   .node = p->n_nodes ? p->n_nodes - 1 : 0};
    s.in = copy_vals(lo, ins, n_in);
    s.out = copy_vals(lo, outs, n_out);
    if (s.in && s.out)
        QRN_TRY(qrn_lo_fp16_prepare(lo, &f, s.in, n_in, outs));
    if (f == &qrn_cop_round_fp16)
        args = &rounding;
    size_t args_bytes = f->family->args_bytes;
    s.op = f;
    s.args = args && args_bytes ? qrn_arena_copy(p->arena, args, args_bytes) : NULL;
    if (!s.in || !s.out || (args && args_bytes && !s.args))
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory for steps", lo->graph->name);
    if (state_bytes) {
        QRN_TRY(qrn_lo_may_take(lo, state_bytes));
        s.state_bytes = state_bytes;
    }
    QRN_TRY(settle_step(lo, &s));
    return qrn_lo_fp16_results(lo, &s);
}

static const qrn_dtype domain_dtype[] = {[QRN_DOMAIN_F32] = QRN_DTYPE_F32,
                                         [QRN_DOMAIN_F64] = QRN_DTYPE_F64,
                                         [QRN_DOMAIN_I64] = QRN_DTYPE_I64,
                                         [QRN_DOMAIN_RAW] = QRN_DTYPE_COUNT}; // never used

static char class_of(const char *classes, uint32_t i) {
    size_t n = strlen(classes);
    return n == 0 ? 'x' : classes[i < n ? i : n - 1];
}

// The domain in which a node's real operands are computed.
static qrn_domain choose_domain(const qrn_lowering *lo, const qrn_lower_row *row,
                                const qrn_node *n) {
    bool all_f32 = true, all_int = true, any = false;
    for (uint32_t i = 0; i < n->n_in + n->n_out; i++) {
        bool is_in = i < n->n_in;
        const qrn_tensor *t = is_in ? n->in[i] : n->out[i - n->n_in];
        if (!t || class_of(is_in ? row->in : row->out, is_in ? i : i - n->n_in) != 'r')
            continue;
        any = true;
        all_f32 &= t->dtype == QRN_DTYPE_F32;
        all_int &= qrn_dtype_is_int(t->dtype);
    }
    if (!any)
        return QRN_DOMAIN_RAW;
    if (all_f32 && qrn_family_has(row->emits->family, QRN_DOMAIN_F32))
        return QRN_DOMAIN_F32;
    if (all_int && qrn_family_has(row->emits->family, QRN_DOMAIN_I64))
        return QRN_DOMAIN_I64;
    bool single =
        lo->opt->fp16 == QRN_FP16_AS_F32 && qrn_family_has(row->emits->family, QRN_DOMAIN_F32);
    return single ? QRN_DOMAIN_F32 : QRN_DOMAIN_F64;
}

// 4-bit types are computed on as 8-bit ones with the same quantized values.
static qrn_dtype widened(qrn_dtype t) {
    return t == QRN_DTYPE_SQ4 ? QRN_DTYPE_SQ8 : t == QRN_DTYPE_UQ4 ? QRN_DTYPE_UQ8 : t;
}

typedef struct format {
    qrn_dtype dtype;
    const qrn_quant *quant;
} format;

// The format in which operand t of class c enters or leaves the step.
static format operand_format(char c, const qrn_tensor *t, qrn_domain d,
                             const qrn_tensor *first_out) {
    if (c == 'r')
        return (format){domain_dtype[d], NULL};
    // Scales per axis or block belong to the output's shape: inputs of other shapes cannot have
    // them.
    if (c == 'm' && first_out && first_out->quant.kind > QRN_QUANT_TENSOR)
        return (format){QRN_DTYPE_F64, NULL};
    if (c == 'm' && first_out)
        return (format){widened(first_out->dtype), &first_out->quant};
    return (format){widened(t->dtype), &t->quant};
}

qrn_status qrn_lo_generic(qrn_lowering *lo, const qrn_lower_row *row, const qrn_node *n,
                          const void *args) {
    qrn_domain d = choose_domain(lo, row, n);
    const qrn_tensor *out0 = n->n_out ? n->out[0] : NULL;
    uint32_t total = n->n_in + n->n_out;
    qrn_val *vals = qrn_arena_alloc(lo->cg->arena, (total + n->n_out) * sizeof *vals);
    if (!vals)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
    qrn_val *outs = vals + n->n_in, *finals = vals + total;
    for (uint32_t i = 0; i < n->n_in; i++) {
        vals[i] = QRN_VAL_NONE;
        if (!n->in[i])
            continue;
        format f = operand_format(class_of(row->in, i), n->in[i], d, out0);
        QRN_TRY(qrn_lo_tensor(lo, n->in[i], &vals[i]));
        QRN_TRY(qrn_lo_as(lo, vals[i], f.dtype, f.quant, &vals[i]));
    }
    for (uint32_t i = 0; i < n->n_out; i++) {
        outs[i] = finals[i] = QRN_VAL_NONE;
        if (!n->out[i])
            continue;
        format f = operand_format(class_of(row->out, i), n->out[i], d, out0);
        QRN_TRY(qrn_lo_tensor(lo, n->out[i], &finals[i]));
        outs[i] = finals[i];
        if (!has_format(&lo->cg->values[finals[i]], f.dtype, f.quant)) {
            QRN_TRY(qrn_lo_temp(lo, f.dtype, &n->out[i]->shape, f.quant, &outs[i]));
            lo->cg->values[outs[i]].dynamic = lo->cg->values[finals[i]].dynamic;
        }
    }
    size_t state = row->state ? row->state(n) : row->state_bytes;
    QRN_TRY(qrn_lo_step(lo, row->emits, d, args, vals, n->n_in, outs, n->n_out, state));
    for (uint32_t i = 0; i < n->n_out; i++)
        if (outs[i] != finals[i])
            QRN_TRY(qrn_lo_step(lo, &qrn_cop_convert, QRN_DOMAIN_RAW, NULL, &outs[i], 1, &finals[i],
                                1, 0));
    return QRN_OK;
}

qrn_status qrn_lo_row(qrn_lowering *lo, const qrn_lower_row *row, const qrn_node *n) {
    if (row->custom) {
        qrn_status s = row->custom(lo, n);
        if (s != QRN_E_UNSUPPORTED || !row->emits)
            return s;
        qrn_message_clear();
    }
    void *args = row->emits->family->args_bytes ? qrn_calloc(row->emits->family->args_bytes) : NULL;
    if (row->emits->family->args_bytes && !args)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
    qrn_status s = row->args ? row->args(n, args) : QRN_OK;
    if (s == QRN_OK)
        s = qrn_lo_generic(lo, row, n, args);
    qrn_free(args);
    return s;
}

// Records the node with the values of its tensors.
static qrn_status add_plan_node(qrn_lowering *lo, const qrn_node *n) {
    qrn_compiled *p = lo->cg;
    qrn_cnode pn = {
        .name = n->name, .type = n->type, .index = n->index, .n_in = n->n_in, .n_out = n->n_out};
    pn.in = qrn_arena_alloc(p->arena, n->n_in * sizeof(uint32_t));
    pn.out = qrn_arena_alloc(p->arena, n->n_out * sizeof(uint32_t));
    if (!pn.in || !pn.out ||
        !qrn_lo_grow((void **)&p->nodes, &lo->cap_nodes, p->n_nodes, sizeof(qrn_cnode)) ||
        !qrn_lo_grow((void **)&p->origin, &lo->cap_origin, p->n_nodes, sizeof *p->origin))
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
    for (uint32_t i = 0; i < n->n_in + n->n_out; i++) {
        const qrn_tensor *t = i < n->n_in ? n->in[i] : n->out[i - n->n_in];
        uint32_t *slot = i < n->n_in ? &pn.in[i] : &pn.out[i - n->n_in];
        *slot = QRN_VAL_NONE;
        if (t)
            QRN_TRY(qrn_lo_tensor(lo, t, slot));
    }
    p->origin[p->n_nodes] = n;
    p->nodes[p->n_nodes++] = pn;
    return QRN_OK;
}

qrn_status qrn_lo_lower_node(qrn_lowering *lo, const qrn_node *n) {
    bool done;
    QRN_TRY(qrn_lo_fold_relu(lo, &n, &done));
    lo->node = n;
    QRN_TRY(add_plan_node(lo, n));
    if (done)
        return QRN_OK;
    if (n->op) {
        lo->cg->dynamic |= (n->op->flags & QRN_OP_OUT_MAX) != 0;
        lo->cg->may_block |= (n->op->flags & (QRN_OP_STATEFUL | QRN_OP_CONTROL)) != 0;
    }
    if (!n->op)
        return lo->opt->lower_user
                   ? lo->opt->lower_user(lo->opt->ctx, lo, n)
                   : QRN_FAIL(QRN_E_FINALIZE, "graph '%s' node '%s': op packages are not supported",
                              lo->graph->name, n->name);
    const qrn_lower_row *row = qrn_lower_find(n->op->name);
    if (!row)
        return QRN_FAIL(QRN_E_FINALIZE, "graph '%s' node '%s': op %s cannot be executed",
                        lo->graph->name, n->name, n->op->name);
    return qrn_lo_is_sparse(n) ? qrn_lo_sparse(lo, row, n) : qrn_lo_row(lo, row, n);
}
