// SPDX-License-Identifier: MIT
//
// The verifier: what every compiled graph must be, wherever it comes from. Binders and kernels
// count on it, so a graph from a file has to pass; in debug builds it runs after each pass, too.
#include "compiler/compile.h"

#include "base/mem.h"
#include "compiler/ops/check.h"
#include "compiler/passes.h"
#include "kernels/move/join.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Bytes of the memory of a value.
typedef struct place {
    qrn_val owner;
    size_t begin, end;
} place;

typedef struct verifying {
    const qrn_compiled *cg;
    bool *written;       // [n_values] by owner of the memory: some step before this one writes it
    qrn_view *views;     // of one step's operands
    qrn_view **ptrs;     // to them
    place *places;       // of its outputs
    uint32_t n_operands; // room in each
} verifying;

// --- values

static qrn_status bad_value(const qrn_compiled *cg, qrn_val v, const char *why) {
    return QRN_FAIL(QRN_E_BINARY, "graph '%s': compiled graph: value %u '%s': %s", cg->name, v,
                    cg->values[v].name, why);
}

static bool groups_fit(const qrn_cvalue *v) {
    const qrn_quant *q = &v->quant;
    uint64_t n = 1;
    if (q->kind == QRN_QUANT_AXIS)
        return q->axis < v->shape.rank && q->scales && q->n_groups == v->shape.dims[q->axis];
    for (uint32_t i = 0; i < v->shape.rank; i++) {
        if (!q->block[i])
            return false;
        n *= (v->shape.dims[i] - 1) / q->block[i] + 1; // at most the number of elements
    }
    return (q->scales || q->packed) && q->n_groups == n;
}

static bool quant_fits(const qrn_cvalue *v) {
    const qrn_quant *q = &v->quant;
    if (q->kind == QRN_QUANT_NONE)
        return true;
    if (q->kind > QRN_QUANT_BLOCK || !qrn_dtype_is_fixed(v->dtype) ||
        q->bits > qrn_dtypes[v->dtype].bits || !isfinite(q->shift))
        return false;
    return q->kind == QRN_QUANT_TENSOR ? isfinite(q->scale) : groups_fit(v);
}

static bool sparse_bytes(const qrn_cvalue *v, size_t *size_bytes) {
    size_t values = v->n_sparse, indices, bytes;
    bool fits = v->n_sparse && v->n_sparse_dims && v->n_sparse_dims <= v->shape.rank;
    for (uint32_t i = v->n_sparse_dims; fits && i < v->shape.rank; i++)
        fits = qrn_mul_size(values, v->shape.dims[i], &values);
    return fits && qrn_dtype_bytes(v->dtype, values, &bytes) &&
           qrn_mul_size((size_t)v->n_sparse * v->n_sparse_dims, sizeof(int32_t), &indices) &&
           qrn_add_size(indices, bytes, size_bytes);
}

static bool size_fits(const qrn_cvalue *v) {
    size_t count, bytes;
    if (v->n_sparse || v->n_sparse_dims)
        return sparse_bytes(v, &bytes) && bytes == v->size_bytes;
    return qrn_shape_count(&v->shape, &count) && qrn_dtype_bytes(v->dtype, count, &bytes) &&
           bytes == v->size_bytes;
}

// Sources come before what is made of them, so descriptions cannot go round in a circle.
static const char *check_constant(const qrn_compiled *cg, qrn_val v) {
    const qrn_cvalue *val = &cg->values[v];
    if (val->constant >= cg->n_constants)
        return "its constant does not exist";
    const qrn_cconst *c = &cg->constants[val->constant];
    if (c->kind == QRN_CONST_MADE)
        return c->data ? NULL : "its constant has no data";
    if (c->kind == QRN_CONST_TENSOR)
        return val->tensor_id ? NULL : "its constant belongs to no tensor";
    const qrn_cvalue *from = c->source < v ? &cg->values[c->source] : NULL;
    if (c->kind > QRN_CONST_SCALED || !from || from->kind != QRN_CV_CONST ||
        val->dtype != QRN_DTYPE_F32 || val->quant.kind != QRN_QUANT_NONE || from->n_sparse ||
        !qrn_shape_equal(&from->shape, &val->shape))
        return "its constant is described by what does not fit";
    if (c->kind == QRN_CONST_ROUNDED)
        return cg->half != QRN_FP16_OFF || qrn_dtype_is_fixed(from->dtype)
                   ? NULL
                   : "its constant is rounded, the graph is not";
    const qrn_cvalue *f = c->factors < v ? &cg->values[c->factors] : NULL;
    size_t n;
    bool fits = f && f->kind == QRN_CV_CONST && f->dtype == QRN_DTYPE_F32 &&
                from->dtype == QRN_DTYPE_F32 && c->axis < val->shape.rank &&
                qrn_shape_count(&f->shape, &n) && n == val->shape.dims[c->axis];
    return fits ? NULL : "its constant is scaled by what does not fit";
}

// The memory that a value lies in; NONE: bases go round in a circle, or out of bounds.
static qrn_val owner_of(const qrn_compiled *cg, qrn_val v, size_t *offset) {
    *offset = 0;
    for (uint32_t hops = 0; hops <= cg->n_values; hops++) {
        const qrn_cvalue *val = &cg->values[v];
        if (val->base == QRN_VAL_NONE)
            return v;
        if (val->base >= cg->n_values || val->kind != QRN_CV_TEMP)
            return QRN_VAL_NONE;
        const qrn_cvalue *up = &cg->values[val->base];
        if (up->kind == QRN_CV_CONST || val->base_offset > up->size_bytes ||
            val->size_bytes > up->size_bytes - val->base_offset)
            return QRN_VAL_NONE;
        *offset += val->base_offset;
        v = val->base;
    }
    return QRN_VAL_NONE;
}

static const char *check_value(const qrn_compiled *cg, qrn_val v, bool stored) {
    const qrn_cvalue *val = &cg->values[v];
    size_t offset;
    if (stored && val->base < cg->n_values && cg->values[val->base].base != QRN_VAL_NONE)
        return "it lies in a value that lies in another";
    if (stored && val->n_sparse)
        return "it is sparse";
    if ((unsigned)val->dtype >= QRN_DTYPE_COUNT || val->dtype == QRN_DTYPE_STR ||
        val->shape.rank > QRN_MAX_RANK)
        return "its type or rank does not exist";
    for (uint32_t i = 0; i < val->shape.rank; i++)
        if (!val->shape.dims[i])
            return "a dimension is 0";
    if (!size_fits(val))
        return "its size is not that of its shape";
    if (!quant_fits(val))
        return "its encoding does not fit";
    if (val->kind == QRN_CV_CONST)
        QRN_NEED_ALSO(check_constant(cg, v));
    if (val->kind > QRN_CV_IO ||
        (val->kind == QRN_CV_IO && (val->io >= cg->n_io || cg->io[val->io].value != v)))
        return "it is not an application tensor";
    return owner_of(cg, v, &offset) == QRN_VAL_NONE ? "it lies outside of the memory it is in"
                                                    : NULL;
}

// Application buffers are filled or read with the tensor's own size: inputs are never written.
static qrn_status check_io(const qrn_compiled *cg, bool stored) {
    for (uint32_t i = 0; i < cg->n_io; i++) {
        qrn_val v = cg->io[i].value;
        if (v >= cg->n_values || cg->values[v].kind != QRN_CV_IO || cg->values[v].io != i ||
            (stored && cg->io[i].optional))
            return QRN_FAIL(
                QRN_E_BINARY,
                "graph '%s': compiled graph: application tensor %u has no value, or is optional",
                cg->name, i);
    }
    return QRN_OK;
}

static bool operands_exist(const qrn_compiled *cg, const uint32_t *list, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (list[i] != QRN_VAL_NONE && list[i] >= cg->n_values)
            return false;
    return true;
}

static qrn_status check_nodes(const qrn_compiled *cg) {
    for (uint32_t i = 0; i < cg->n_nodes; i++) {
        const qrn_cnode *n = &cg->nodes[i];
        if (!operands_exist(cg, n->in, n->n_in) || !operands_exist(cg, n->out, n->n_out))
            return QRN_FAIL(
                QRN_E_BINARY,
                "graph '%s': compiled graph: node %u has an operand that does not exist", cg->name,
                i);
    }
    return QRN_OK;
}

// --- steps

// Do the values share bytes?
static bool overlap(const qrn_compiled *cg, qrn_val a, qrn_val b, bool *same_place) {
    size_t x, y;
    if (owner_of(cg, a, &x) != owner_of(cg, b, &y))
        return false;
    *same_place = x == y;
    return x < y + cg->values[b].size_bytes && y < x + cg->values[a].size_bytes;
}

static bool is_input(const qrn_compiled *cg, qrn_val v) {
    size_t at;
    const qrn_cvalue *owner = &cg->values[owner_of(cg, v, &at)];
    return owner->kind == QRN_CV_IO && !cg->io[owner->io].is_output;
}

// Parts of a join or split may lie in the whole, where they belong: its kernel leaves them alone.
// It copies others, from or to a place that must not overlap (a tensor that is joined with itself).
static const char *check_parts(const qrn_compiled *cg, const qrn_cstep *s) {
    bool joins = s->op == &qrn_cop_concat, same, outermost = true;
    const uint32_t *parts = joins ? s->in : s->out;
    qrn_val whole = joins ? s->out[0] : s->in[0];
    size_t at = 0, x, y;
    qrn_val memory = owner_of(cg, whole, &x);
    for (uint32_t d = 0; d < ((const qrn_join_args *)s->args)->axis; d++)
        outermost &= cg->values[whole].shape.dims[d] == 1;
    for (uint32_t i = 0; i < (joins ? s->n_in : s->n_out); i++) {
        size_t bytes = cg->values[parts[i]].size_bytes;
        bool shares = owner_of(cg, parts[i], &y) == memory;
        bool at_home = shares && outermost && y == x + at;
        bool apart = outermost && (y >= x + at + bytes || y + bytes <= x + at);
        if (!at_home && !apart && overlap(cg, parts[i], whole, &same))
            return "it writes over an operand that it reads";
        if (!joins && !at_home && is_input(cg, parts[i]))
            return "it writes an application input";
        at += bytes;
    }
    return joins && is_input(cg, whole) ? "it writes an application input" : NULL;
}

// May input i share memory with out[0], in place?
static bool may_share(const qrn_cstep *s, uint32_t i, uint32_t o, bool same_place) {
    return o == 0 && i < 32 && same_place && (s->op->family->in_place >> i & 1u);
}

static const char *check_inputs(const qrn_compiled *cg, const qrn_cstep *s) {
    bool same;
    for (uint32_t o = 0; o < s->n_out; o++) {
        if (s->out[o] == QRN_VAL_NONE)
            continue;
        if (is_input(cg, s->out[o]))
            return "it writes an application input";
        for (uint32_t i = 0; i < s->n_in; i++)
            if (s->in[i] != QRN_VAL_NONE && overlap(cg, s->in[i], s->out[o], &same) &&
                !may_share(s, i, o, same))
                return "it writes over an operand that it reads";
    }
    return NULL;
}

static int by_place(const void *a, const void *b) {
    const place *x = a, *y = b;
    if (x->owner != y->owner)
        return x->owner < y->owner ? -1 : 1;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static const char *check_memory(const verifying *c, const qrn_cstep *s) {
    const qrn_compiled *cg = c->cg;
    bool parts = s->op == &qrn_cop_concat || s->op == &qrn_cop_split;
    QRN_NEED_ALSO(parts ? check_parts(cg, s) : check_inputs(cg, s));
    uint32_t n = 0;
    for (uint32_t o = 0; o < s->n_out; o++) {
        size_t at;
        if (s->out[o] == QRN_VAL_NONE)
            continue;
        qrn_val owner = owner_of(cg, s->out[o], &at);
        c->places[n++] = (place){owner, at, at + cg->values[s->out[o]].size_bytes};
    }
    qsort(c->places, n, sizeof *c->places, by_place);
    for (uint32_t i = 1; i < n; i++)
        if (c->places[i].owner == c->places[i - 1].owner &&
            c->places[i].begin < c->places[i - 1].end)
            return "two outputs share memory";
    return NULL;
}

static const char *check_operands(const verifying *c, const qrn_cstep *s) {
    const qrn_compiled *cg = c->cg;
    size_t at;
    if (!operands_exist(cg, s->in, s->n_in) || !operands_exist(cg, s->out, s->n_out))
        return "an operand does not exist";
    for (uint32_t i = 0; i < s->n_in; i++) {
        const qrn_cvalue *v = s->in[i] == QRN_VAL_NONE ? NULL : &cg->values[s->in[i]];
        qrn_val owner = v ? owner_of(cg, s->in[i], &at) : QRN_VAL_NONE;
        if (v && cg->values[owner].kind == QRN_CV_TEMP && !cg->may_block && !c->written[owner])
            return "it reads what nothing has written";
    }
    for (uint32_t i = 0; i < s->n_out; i++) {
        const qrn_cvalue *v = s->out[i] == QRN_VAL_NONE ? NULL : &cg->values[s->out[i]];
        if (v && v->kind == QRN_CV_CONST)
            return "it writes a constant";
    }
    return NULL;
}

static bool has_all(const uint32_t *list, uint32_t n, uint32_t needs) {
    for (uint32_t i = 0; i < n; i++)
        if (list[i] == QRN_VAL_NONE && (i >= 32 || (needs >> i & 1u)))
            return false;
    return true;
}

// What the op itself asks; NULL check: unknown ops pass, where the graph was just compiled.
static const char *check_op(verifying *c, const qrn_cstep *s, bool stored) {
    const qrn_cop *op = s->op;
    if (!op->check)
        return stored ? "an op that cannot be stored" : NULL;
    if (s->n_in < op->min_in || s->n_in > op->max_in || s->n_out < op->min_out ||
        s->n_out > op->max_out)
        return "a number of operands that the op does not have";
    if (!has_all(s->in, s->n_in, op->needs_in) || !has_all(s->out, s->n_out, op->needs_out))
        return "an operand is missing";
    if (s->domain > QRN_DOMAIN_RAW || !qrn_family_has(op->family, (qrn_domain)s->domain))
        return "a domain that the op does not have";
    for (uint32_t i = 0; i < s->n_in + s->n_out; i++) {
        qrn_val v = i < s->n_in ? s->in[i] : s->out[i - s->n_in];
        c->ptrs[i] = v == QRN_VAL_NONE ? NULL : &c->views[i];
        if (c->ptrs[i])
            c->views[i] = qrn_compiled_view(c->cg, v);
    }
    qrn_kcall k = {.args = s->args,
                   .in = c->ptrs,
                   .out = c->ptrs + s->n_in,
                   .n_in = s->n_in,
                   .n_out = s->n_out,
                   .n_tasks = 1};
    QRN_NEED_ALSO(op->check(&k, (qrn_domain)s->domain));
    size_t state = op->state ? op->state(&k) : 0;
    return s->state_bytes == state || !stored ? NULL : "a wrong size of state";
}

// Shapes that come out of the data are not for stored graphs: the steps behind were checked with
// others.
bool qrn_cstep_writes_shapes(const qrn_cstep *s) {
    static const char *const names[] = {"write_dims", "read_shape", "report"};
    for (uint32_t i = 0; i < s->op->n_attrs; i++)
        for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
            if (strcmp(s->op->attrs[i].name, names[k]) == 0 &&
                qrn_attr_get(s->args, &s->op->attrs[i], 0))
                return true;
    return false;
}

static const char *check_fused(const qrn_compiled *cg, uint32_t at) {
    const qrn_cstep *s = &cg->steps[at];
    if (!s->n_fused)
        return NULL;
    if (s->n_fused > QRN_MAX_FUSED || s->n_fused >= cg->n_steps - at || s->n_out != 1)
        return "an epilogue behind the last step";
    for (uint32_t i = 1; i <= s->n_fused; i++)
        if (!qrn_fusable(cg, at, at + i))
            return "an epilogue that is not element-wise";
    return NULL;
}

static const char *check_step(verifying *c, uint32_t at, bool stored) {
    const qrn_compiled *cg = c->cg;
    const qrn_cstep *s = &cg->steps[at];
    if (s->node >= cg->n_nodes || s->n_in + s->n_out > c->n_operands)
        return "its node does not exist";
    QRN_NEED_ALSO(check_operands(c, s));
    if (s->kind != QRN_CSTEP_OP) {
        bool goes_on = s->target > at && s->target <= cg->n_steps && s->n_out == 0;
        return !stored && s->kind <= QRN_CSTEP_JUMP && goes_on ? NULL : "a jump";
    }
    if (stored && s->shapes != QRN_SHAPES_FIXED)
        return "dynamic shapes";
    if (!s->op || (s->op->family->args_bytes && !s->args && s->op->check))
        return "no op, or no attributes";
    QRN_NEED_ALSO(check_op(c, s, stored));
    if (stored && qrn_cstep_writes_shapes(s))
        return "shapes that depend on data";
    return check_memory(c, s);
}

static void mark_written(verifying *c, const qrn_cstep *s) {
    size_t at;
    for (uint32_t i = 0; i < s->n_out; i++)
        if (s->out[i] != QRN_VAL_NONE)
            c->written[owner_of(c->cg, s->out[i], &at)] = true;
}

static qrn_status bad_step(const qrn_compiled *cg, uint32_t at, const char *why) {
    const qrn_cstep *s = &cg->steps[at];
    return QRN_FAIL(QRN_E_BINARY, "graph '%s': compiled graph: step %u (%s) of node '%s': %s",
                    cg->name, at, s->op ? s->op->name : "control",
                    s->node < cg->n_nodes ? cg->nodes[s->node].name : "", why);
}

// Epilogues come last: they look at the steps behind.
static qrn_status check_steps(verifying *c, bool stored) {
    const qrn_compiled *cg = c->cg;
    for (uint32_t i = 0; i < cg->n_steps; i++) {
        const char *why = check_step(c, i, stored);
        if (why)
            return bad_step(cg, i, why);
        mark_written(c, &cg->steps[i]);
    }
    for (uint32_t i = 0; i < cg->n_steps; i++) {
        const char *why = check_fused(cg, i);
        if (why)
            return bad_step(cg, i, why);
    }
    return QRN_OK;
}

qrn_status qrn_compiled_verify(const qrn_compiled *cg, bool stored) {
    for (uint32_t v = 0; v < cg->n_values; v++) {
        const char *why = check_value(cg, v, stored);
        if (why)
            return bad_value(cg, v, why);
    }
    QRN_TRY(check_io(cg, stored));
    QRN_TRY(check_nodes(cg));
    verifying c = {.cg = cg, .n_operands = 0};
    for (uint32_t i = 0; i < cg->n_steps; i++)
        if (cg->steps[i].n_in + cg->steps[i].n_out > c.n_operands)
            c.n_operands = cg->steps[i].n_in + cg->steps[i].n_out;
    c.written = qrn_calloc(cg->n_values + 1u);
    c.views = qrn_calloc((c.n_operands + 1u) * sizeof *c.views);
    c.ptrs = qrn_calloc((c.n_operands + 1u) * sizeof(void *));
    c.places = qrn_calloc((c.n_operands + 1u) * sizeof *c.places);
    bool ok = c.written && c.views && c.ptrs && c.places;
    qrn_status s =
        ok ? check_steps(&c, stored) : QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", cg->name);
    qrn_free(c.written);
    qrn_free(c.views);
    qrn_free(c.ptrs);
    qrn_free(c.places);
    return s;
}
