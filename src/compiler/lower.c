// SPDX-License-Identifier: MIT
//
// Lowering: values, steps, conversions, and the generic path of a table row.
#include "compiler/half.h"

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

// Values and steps hold no pointers to each other (only indices), but a view points at the quant of
// its value: set again whenever the array moves.
static qrn_status new_value(qrn_lowering *lo, qrn_val *out) {
    qrn_plan *p = lo->plan;
    const qrn_value *before = p->values;
    if (!qrn_lo_grow((void **)&p->values, &lo->cap_values, p->n_values, sizeof(qrn_value)))
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory for %u values", lo->graph->name,
                        p->n_values);
    if (p->values != before)
        for (uint32_t i = 0; i < p->n_values; i++)
            if (p->values[i].view.quant)
                p->values[i].view.quant = &p->values[i].quant;
    *out = p->n_values++;
    p->values[*out] = (qrn_value){.name = "", .first = UINT32_MAX, .base = QRN_VAL_NONE};
    return QRN_OK;
}

static qrn_status fill_value(qrn_lowering *lo, qrn_val v, qrn_dtype dtype, const qrn_shape *shape,
                             const qrn_quant *quant) {
    qrn_value *val = &lo->plan->values[v];
    val->view.dtype = dtype;
    val->view.rank = shape->rank;
    memcpy(val->view.dims, shape->dims, sizeof val->view.dims);
    if (quant && quant->kind != QRN_QUANT_NONE) {
        val->quant = *quant;
        val->view.quant = &val->quant;
    }
    size_t count;
    if (!qrn_shape_count(shape, &count) || !qrn_dtype_bytes(dtype, count, &val->size_bytes))
        return QRN_FAIL(QRN_E_SHAPE, "graph '%s' node '%s': a value of type %s is too large",
                        lo->graph->name, lo->node ? lo->node->name : "", qrn_dtypes[dtype].token);
    return QRN_OK;
}

static qrn_status add_io(qrn_lowering *lo, qrn_val v, const qrn_tensor *t) {
    qrn_plan *p = lo->plan;
    if (!qrn_lo_grow((void **)&p->io, &lo->cap_io, p->n_io, sizeof(qrn_io)))
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
    p->values[v].storage = QRN_STORE_IO;
    p->values[v].io = p->n_io;
    p->optional_io |= t->optional_io;
    // A context tensor is an output of the graph that has its producer, else an input.
    bool output = t->role == QRN_ROLE_OUTPUT || (t->role == QRN_ROLE_INOUT && t->producer != NULL &&
                                                 t->producer->graph == lo->client_graph);
    p->io[p->n_io++] =
        (qrn_io){.value = v, .tensor_id = t->id, .is_output = output, .optional = t->optional_io};
    return QRN_OK;
}

// Between its producer and the end of the graph the tensor is a temporary of its own type.
static qrn_status start_detour(qrn_lowering *lo, const qrn_tensor *t, qrn_val *v) {
    qrn_val io = *v;
    QRN_TRY(qrn_lo_temp(lo, t->dtype, &t->shape, NULL, v));
    qrn_value *val = &lo->plan->values[*v];
    val->name = t->name;
    val->tensor_id = t->id;
    val->dynamic = t->has_dynamic;
    lo->by_id[t->id] = *v;
    return qrn_half_detour(lo, *v, io);
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
    t = qrn_half_copy(lo, t);
    const qrn_tensor *stored = qrn_half_stored(lo, t);
    QRN_TRY(new_value(lo, &v));
    QRN_TRY(fill_value(lo, v, stored->dtype, &t->shape, &t->quant));
    qrn_value *val = &lo->plan->values[v];
    val->name = t->name;
    val->tensor_id = t->id;
    val->dynamic = t->has_dynamic;
    if (t->format == QRN_FORMAT_SPARSE) {
        val->view.n_sparse = t->n_sparse_elements;
        val->view.n_sparse_dims = t->n_sparse_dims;
        val->size_bytes = t->size_bytes;
    }
    lo->plan->dynamic |= t->has_dynamic;
    if (t->role == QRN_ROLE_STATIC) {
        val->storage = QRN_STORE_CONST;
        val->view.data = (void *)(uintptr_t)stored->data; // kernels never write inputs
    } else if (t->role != QRN_ROLE_NATIVE) {
        QRN_TRY(add_io(lo, v, t));
    }
    *out = lo->by_id[t->id] = v;
    return qrn_half_detours(lo, t) ? start_detour(lo, t, out) : QRN_OK;
}

qrn_status qrn_lo_temp(qrn_lowering *lo, qrn_dtype dtype, const qrn_shape *shape,
                       const qrn_quant *quant, qrn_val *out) {
    QRN_TRY(new_value(lo, out));
    return fill_value(lo, *out, dtype, shape, quant);
}

qrn_status qrn_lo_may_take(const qrn_lowering *lo, size_t size_bytes) {
    size_t total, most = lo->opt->most_bytes;
    bool fits = qrn_add_size(lo->plan->const_bytes, lo->plan->state_bytes, &total) &&
                qrn_add_size(total, size_bytes, &total) && total <= most;
    if (most && !fits)
        return QRN_FAIL(QRN_E_MEM,
                        "graph '%s' node '%s': %zu more bytes of constants or state, at most %zu "
                        "are allowed in all",
                        lo->graph->name, lo->node ? lo->node->name : "", size_bytes, most);
    return QRN_OK;
}

qrn_status qrn_lo_const(qrn_lowering *lo, qrn_dtype dtype, const qrn_shape *shape,
                        const qrn_quant *quant, qrn_val *out, void **data) {
    QRN_TRY(qrn_lo_temp(lo, dtype, shape, quant, out));
    qrn_value *v = &lo->plan->values[*out];
    v->storage = QRN_STORE_CONST;
    QRN_TRY(qrn_lo_may_take(lo, v->size_bytes));
    v->view.data = *data = qrn_arena_alloc(lo->plan->arena, v->size_bytes);
    if (!*data)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory for a constant of %zu bytes",
                        lo->graph->name, v->size_bytes);
    lo->plan->const_bytes += v->size_bytes;
    return QRN_OK;
}

bool qrn_lo_is_const(const qrn_lowering *lo, qrn_val v) {
    return lo->plan->values[v].storage == QRN_STORE_CONST;
}

const void *qrn_lo_const_data(const qrn_lowering *lo, qrn_val v) {
    const qrn_value *val = &lo->plan->values[v];
    return val->storage == QRN_STORE_CONST ? val->view.data : NULL;
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

static bool has_format(const qrn_value *v, qrn_dtype dtype, const qrn_quant *quant) {
    return v->view.dtype == dtype && qrn_quant_equal(v->view.quant, quant);
}

qrn_status qrn_lo_as(qrn_lowering *lo, qrn_val v, qrn_dtype dtype, const qrn_quant *quant,
                     qrn_val *out) {
    if (!qrn_half_asks(lo->node))
        QRN_TRY(qrn_half_operand(lo, &v));
    if (has_format(&lo->plan->values[v], dtype, quant)) {
        *out = v;
        return QRN_OK;
    }
    for (uint32_t i = 0; i < lo->n_conversions; i++)
        if (lo->conversions[i].from == v &&
            has_format(&lo->plan->values[lo->conversions[i].to], dtype, quant)) {
            *out = lo->conversions[i].to;
            return QRN_OK;
        }
    qrn_shape shape = {.rank = lo->plan->values[v].view.rank};
    memcpy(shape.dims, lo->plan->values[v].view.dims, sizeof shape.dims);
    QRN_TRY(qrn_lo_temp(lo, dtype, &shape, quant, out));
    lo->plan->values[*out].dynamic = lo->plan->values[v].dynamic;
    QRN_TRY(qrn_lo_step(lo, &qrn_family_convert, QRN_DOMAIN_RAW, NULL, &v, 1, out, 1, 0));
    if (!qrn_lo_grow((void **)&lo->conversions, &lo->cap_conversions, lo->n_conversions,
                     sizeof(qrn_conversion)))
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
    lo->conversions[lo->n_conversions++] = (qrn_conversion){v, *out};
    return QRN_OK;
}

// Conversions keep the shape: output dims are those of the input.
static qrn_status reshape_copy(const qrn_plan *p, const qrn_step *s, qrn_view *views) {
    (void)p;
    memcpy(views[s->out[0]].dims, views[s->in[0]].dims, sizeof views[0].dims);
    return QRN_OK;
}

// Memory was planned for the declared dims.
static qrn_status check_limits(const qrn_plan *p, const qrn_step *s, uint32_t o,
                               const qrn_shape *now) {
    const qrn_value *v = &p->values[s->out[o]];
    for (uint32_t d = 0; d < now->rank; d++)
        if (now->dims[d] > v->view.dims[d])
            return QRN_FAIL(
                QRN_E_DYNAMIC_SHAPE,
                "node '%s' (%s) output %u '%s': dimension %u is %u, at most %u declared",
                p->nodes[s->node].name, p->nodes[s->node].type, o, v->name, d, now->dims[d],
                v->view.dims[d]);
    return QRN_OK;
}

#define MAX_DYNAMIC_OPERANDS 256

// The op's own shape rule on the current dims of its tensors.
static qrn_status reshape_rule(const qrn_plan *p, const qrn_step *s, qrn_view *views) {
    const qrn_plan_node *pn = &p->nodes[s->node];
    const qrn_node *n = pn->ir;
    qrn_shape in[MAX_DYNAMIC_OPERANDS], out[MAX_DYNAMIC_OPERANDS];
    if (!n->op || s->n_out > n->n_out)
        return QRN_OK;
    if (n->n_in > MAX_DYNAMIC_OPERANDS || n->n_out > MAX_DYNAMIC_OPERANDS)
        return QRN_FAIL(QRN_E_DYNAMIC_SHAPE,
                        "node '%s' (%s): more than %d operands cannot have dynamic dimensions",
                        n->name, n->type, MAX_DYNAMIC_OPERANDS);
    qrn_op_call c = qrn_node_call(n, in, out);
    for (uint32_t i = 0; i < n->n_in; i++)
        if (pn->in[i] != UINT32_MAX)
            memcpy(in[i].dims, views[pn->in[i]].dims, sizeof in[i].dims);
    // The rule was content with the largest shapes: what it refuses now are the client's
    // dimensions.
    if (n->op->rule(&c) != QRN_OK)
        return QRN_E_DYNAMIC_SHAPE;
    for (uint32_t o = 0; o < s->n_out; o++) {
        if (s->out[o] == UINT32_MAX || views[s->out[o]].rank != out[o].rank)
            continue;
        QRN_TRY(check_limits(p, s, o, &out[o]));
        memcpy(views[s->out[o]].dims, out[o].dims, sizeof out[o].dims);
    }
    return QRN_OK;
}

static uint32_t *copy_vals(qrn_lowering *lo, const qrn_val *vals, uint32_t n) {
    return qrn_arena_copy(lo->plan->arena, vals, n * sizeof *vals);
}

static bool any_dynamic(const qrn_lowering *lo, const qrn_step *s) {
    for (uint32_t i = 0; i < s->n_in + s->n_out; i++) {
        uint32_t v = i < s->n_in ? s->in[i] : s->out[i - s->n_in];
        if (v != UINT32_MAX && lo->plan->values[v].dynamic)
            return true;
    }
    return false;
}

// Shapes of a step with dynamic operands; whatever was declared, they follow the inputs.
static void follow_shapes(qrn_lowering *lo, qrn_step *s) {
    bool copies = s->family == &qrn_family_convert || s->family == &qrn_family_round_fp16;
    if (!copies)
        s->reshape = reshape_rule;
    else if (s->in[0] != s->out[0])
        s->reshape = reshape_copy;
    lo->plan->dynamic = true;
    for (uint32_t i = 0; i < s->n_out; i++)
        if (s->out[i] != QRN_VAL_NONE)
            lo->plan->values[s->out[i]].dynamic = true;
}

// Runs the step now, or appends it to the plan.
static qrn_status settle_step(qrn_lowering *lo, qrn_step *s) {
    qrn_plan *p = lo->plan;
    bool folded = false;
    if (!s->state_bytes)
        QRN_TRY(qrn_lo_fold(lo, s, &folded));
    if (folded)
        return QRN_OK;
    if (any_dynamic(lo, s))
        follow_shapes(lo, s);
    if (s->n_in + s->n_out > p->max_operands)
        p->max_operands = s->n_in + s->n_out;
    for (uint32_t i = 0; lo->depth && i < s->n_out; i++)
        if (s->out[i] != QRN_VAL_NONE)
            p->values[s->out[i]].conditional = true;
    if (!qrn_lo_grow((void **)&p->steps, &lo->cap_steps, p->n_steps, sizeof(qrn_step)))
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory for steps", lo->graph->name);
    p->steps[p->n_steps++] = *s;
    return QRN_OK;
}

qrn_status qrn_lo_step(qrn_lowering *lo, const qrn_family *f, qrn_domain domain, const void *args,
                       const qrn_val *ins, uint32_t n_in, const qrn_val *outs, uint32_t n_out,
                       size_t state_bytes) {
    qrn_plan *p = lo->plan;
    qrn_round_fp16_args rounding = {lo->half};
    qrn_step s = {.kind = QRN_STEP_KERNEL,
                  .domain = domain,
                  .n_in = n_in,
                  .n_out = n_out,
                  .node = p->n_nodes ? p->n_nodes - 1 : 0};
    s.in = copy_vals(lo, ins, n_in);
    s.out = copy_vals(lo, outs, n_out);
    if (s.in && s.out)
        QRN_TRY(qrn_half_prepare(lo, &f, s.in, n_in, outs));
    if (f == &qrn_family_round_fp16)
        args = &rounding;
    s.family = f;
    s.args = args && f->args_bytes ? qrn_arena_copy(p->arena, args, f->args_bytes) : NULL;
    if (!s.in || !s.out || (args && f->args_bytes && !s.args))
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory for steps", lo->graph->name);
    if (state_bytes) {
        QRN_TRY(qrn_lo_may_take(lo, state_bytes));
        s.state_bytes = state_bytes;
        s.state_offset = p->state_bytes;
        p->state_bytes += (state_bytes + QRN_ALIGN - 1) / QRN_ALIGN * QRN_ALIGN;
    }
    QRN_TRY(settle_step(lo, &s));
    return qrn_half_results(lo, &s);
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
static qrn_domain choose_domain(const qrn_lower_row *row, const qrn_node *n) {
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
    if (all_f32 && qrn_family_has(row->family, QRN_DOMAIN_F32))
        return QRN_DOMAIN_F32;
    if (all_int && qrn_family_has(row->family, QRN_DOMAIN_I64))
        return QRN_DOMAIN_I64;
    return QRN_DOMAIN_F64;
}

// 4-bit types are computed on as 8-bit ones with the same codes.
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
    qrn_domain d = choose_domain(row, n);
    const qrn_tensor *out0 = n->n_out ? n->out[0] : NULL;
    uint32_t total = n->n_in + n->n_out;
    qrn_val *vals = qrn_arena_alloc(lo->plan->arena, (total + n->n_out) * sizeof *vals);
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
        if (!has_format(&lo->plan->values[finals[i]], f.dtype, f.quant)) {
            QRN_TRY(qrn_lo_temp(lo, f.dtype, &n->out[i]->shape, f.quant, &outs[i]));
            lo->plan->values[outs[i]].dynamic = lo->plan->values[finals[i]].dynamic;
        }
    }
    size_t state = row->state ? row->state(n) : row->state_bytes;
    QRN_TRY(qrn_lo_step(lo, row->family, d, args, vals, n->n_in, outs, n->n_out, state));
    for (uint32_t i = 0; i < n->n_out; i++)
        if (outs[i] != finals[i])
            QRN_TRY(qrn_lo_step(lo, &qrn_family_convert, QRN_DOMAIN_RAW, NULL, &outs[i], 1,
                                &finals[i], 1, 0));
    return QRN_OK;
}

qrn_status qrn_lo_row(qrn_lowering *lo, const qrn_lower_row *row, const qrn_node *n) {
    if (row->custom) {
        qrn_status s = row->custom(lo, n);
        if (s != QRN_E_UNSUPPORTED || !row->family)
            return s;
        qrn_message_clear();
    }
    void *args = row->family->args_bytes ? qrn_calloc(row->family->args_bytes) : NULL;
    if (row->family->args_bytes && !args)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
    qrn_status s = row->args ? row->args(n, args) : QRN_OK;
    if (s == QRN_OK)
        s = qrn_lo_generic(lo, row, n, args);
    qrn_free(args);
    return s;
}

// Records the node in the plan with the values of its tensors.
static qrn_status add_plan_node(qrn_lowering *lo, const qrn_node *n) {
    qrn_plan *p = lo->plan;
    qrn_plan_node pn = {
        .name = n->name, .type = n->type, .ir = n, .n_in = n->n_in, .n_out = n->n_out};
    pn.in = qrn_arena_alloc(p->arena, n->n_in * sizeof(uint32_t));
    pn.out = qrn_arena_alloc(p->arena, n->n_out * sizeof(uint32_t));
    if (!pn.in || !pn.out ||
        !qrn_lo_grow((void **)&p->nodes, &lo->cap_nodes, p->n_nodes, sizeof(qrn_plan_node)))
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
    for (uint32_t i = 0; i < n->n_in + n->n_out; i++) {
        const qrn_tensor *t = i < n->n_in ? n->in[i] : n->out[i - n->n_in];
        uint32_t *slot = i < n->n_in ? &pn.in[i] : &pn.out[i - n->n_in];
        *slot = QRN_VAL_NONE;
        if (t)
            QRN_TRY(qrn_lo_tensor(lo, t, slot));
    }
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
        lo->plan->dynamic |= (n->op->flags & QRN_OP_OUT_MAX) != 0;
        lo->plan->may_block |= (n->op->flags & (QRN_OP_STATEFUL | QRN_OP_CONTROL)) != 0;
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
