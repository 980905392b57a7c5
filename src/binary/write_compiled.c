// SPDX-License-Identifier: MIT
//
// The compiled graph of a graph, as records. Values of tensors refer to them where they have the
// same type, shape and encoding; constants of tensors are stored with the tensors.
#include "binary/write.h"

#include "base/mem.h"
#include "binary/format.h"

typedef struct writing {
    const qrn_compiled *cg;
    const qrn_tensor *const *tensors; // of the graph, by file id; NULL: of the context
    const qrn_bin_ids *ids;
    uint32_t graph;
    qrn_constants *constants;
    qrn_out *o;
} writing;

// The same encoding, with the same lists of groups.
static bool same_quant(const qrn_quant *a, const qrn_quant *b) {
    return a->bits == b->bits && a->packed == b->packed && a->scales == b->scales &&
           a->offsets == b->offsets && a->real_offsets == b->real_offsets && qrn_quant_equal(a, b);
}

static bool is_like(const qrn_cvalue *v, const qrn_tensor *t) {
    bool sparse = t && t->format == QRN_FORMAT_SPARSE;
    return t && v->dtype == t->dtype && qrn_shape_equal(&v->shape, &t->shape) &&
           v->size_bytes == t->size_bytes && (v->n_sparse != 0) == sparse &&
           same_quant(&v->quant, &t->quant);
}

static void put_format(const qrn_cvalue *v, qrn_out *o) {
    qrn_tensor t = {.dtype = v->dtype, .shape = v->shape, .quant = v->quant};
    qrn_out_u32(o, qrn_dtypes[v->dtype].code);
    qrn_out_u32(o, v->n_sparse);
    qrn_out_u32(o, v->n_sparse_dims);
    qrn_bin_put_shape(&t.shape, o);
    qrn_bin_put_quant(&t, false, o);
}

static qrn_status put_constant(const writing *w, const qrn_cvalue *v) {
    const qrn_cconst *c = &w->cg->constants[v->constant];
    uint32_t index = QRN_BIN_NONE;
    if (c->kind == QRN_CONST_ROUNDED) {
        qrn_out_u32(w->o, QRN_CONST_ROUNDED);
        qrn_out_u32(w->o, c->source);
        return QRN_OK;
    }
    if (c->kind == QRN_CONST_SCALED) {
        qrn_out_u32(w->o, QRN_CONST_SCALED);
        qrn_out_u32(w->o, c->source);
        qrn_out_u32(w->o, c->factors);
        qrn_out_u32(w->o, c->axis);
        return QRN_OK;
    }
    if (c->kind == QRN_CONST_TENSOR) { // stored with the tensor
        qrn_out_u32(w->o, QRN_CONST_TENSOR);
        return QRN_OK;
    }
    QRN_TRY(qrn_constants_add(w->constants, w->graph, c->data, v->size_bytes, false, &index));
    qrn_out_u32(w->o, QRN_CONST_MADE);
    qrn_out_u32(w->o, index);
    return QRN_OK;
}

static qrn_status put_value(const writing *w, const qrn_cvalue *v) {
    uint32_t id = v->tensor_id ? qrn_bin_file_id(w->ids, v->tensor_id) : 0;
    const qrn_tensor *t = id ? w->tensors[id] : NULL;
    bool like = is_like(v, t);
    qrn_out_u32(w->o, v->kind | (like ? QRN_BIN_VALUE_LIKE_TENSOR : 0u) |
                          (v->base != QRN_VAL_NONE ? QRN_BIN_VALUE_IN_OTHER : 0u));
    qrn_out_u32(w->o, id);
    if (!like)
        put_format(v, w->o);
    if (v->base != QRN_VAL_NONE) {
        qrn_out_u32(w->o, v->base);
        qrn_out_u64(w->o, v->base_offset);
    }
    return v->kind == QRN_CV_CONST ? put_constant(w, v) : QRN_OK;
}

static void put_attrs(const qrn_cstep *s, qrn_out *o) {
    qrn_out_u32(o, qrn_cop_attr_words(s->op));
    for (uint32_t i = 0; i < s->op->n_attrs; i++)
        for (uint32_t k = 0; k < s->op->attrs[i].count; k++) {
            const qrn_attr *a = &s->op->attrs[i];
            uint64_t bits = qrn_attr_get(s->args, a, k);
            if (a->kind == QRN_ATTR_I64 || a->kind == QRN_ATTR_F64)
                qrn_out_u64(o, bits);
            else
                qrn_out_u32(o, (uint32_t)bits);
        }
}

static void put_operands(const uint32_t *in, uint32_t n_in, const uint32_t *out, uint32_t n_out,
                         qrn_out *o) {
    qrn_out_u32(o, n_in);
    qrn_out_u32(o, n_out);
    for (uint32_t i = 0; i < n_in; i++)
        qrn_out_u32(o, in[i]);
    for (uint32_t i = 0; i < n_out; i++)
        qrn_out_u32(o, out[i]);
}

static void put_step(const qrn_cstep *s, qrn_out *o) {
    qrn_out_u32(o, s->op->id);
    qrn_out_u32(o, s->domain);
    qrn_out_u32(o, s->node);
    qrn_out_u32(o, s->n_fused);
    qrn_out_u64(o, s->state_bytes);
    put_operands(s->in, s->n_in, s->out, s->n_out, o);
    put_attrs(s, o);
}

// Tensors by file id; those of the context have no data here.
static const qrn_tensor **tensors_by_id(const qrn_bin_graph *g, const qrn_bin_ids *ids) {
    const qrn_tensor **list = qrn_calloc((ids->n + 1u) * sizeof *list);
    for (uint32_t i = 0; list && i < g->n_tensors; i++)
        list[qrn_bin_file_id(ids, g->tensors[i]->id)] = g->tensors[i];
    return list;
}

static qrn_status put_lists(const writing *w) {
    const qrn_compiled *cg = w->cg;
    qrn_out *o = w->o;
    for (uint32_t i = 0; i < cg->n_values; i++)
        QRN_TRY(put_value(w, &cg->values[i]));
    for (uint32_t i = 0; i < cg->n_io; i++) {
        qrn_out_u32(o, cg->io[i].value);
        qrn_out_u32(o, cg->io[i].is_output | (cg->io[i].optional ? 2u : 0u));
    }
    for (uint32_t i = 0; i < cg->n_nodes; i++) {
        qrn_out_u32(o, cg->nodes[i].index);
        put_operands(cg->nodes[i].in, cg->nodes[i].n_in, cg->nodes[i].out, cg->nodes[i].n_out, o);
    }
    for (uint32_t i = 0; i < cg->n_steps; i++)
        put_step(&cg->steps[i], o);
    return QRN_OK;
}

qrn_status qrn_bin_put_compiled(const qrn_bin_graph *g, uint32_t index, const qrn_bin_ids *ids,
                                qrn_constants *c, qrn_out *o) {
    const qrn_compiled *cg = g->compiled;
    const qrn_tensor **tensors = tensors_by_id(g, ids);
    if (!tensors)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory for its binary", g->name);
    qrn_out_u32(o, g->compiled_how);
    qrn_out_u32(o, cg->half);
    qrn_out_u32(o, cg->n_values);
    qrn_out_u32(o, cg->n_io);
    qrn_out_u32(o, cg->n_nodes);
    qrn_out_u32(o, cg->n_steps);
    writing w = {cg, tensors, ids, index, c, o};
    qrn_status s = put_lists(&w);
    qrn_free(tensors);
    if (s == QRN_OK && o->failed)
        s = QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory for its binary", g->name);
    return s;
}

qrn_status qrn_bin_can_store(const qrn_compiled *cg, bool scaled, bool *can) {
    *can = !cg->dynamic && !cg->may_block;
    for (uint32_t i = 0; *can && i < cg->n_constants; i++)
        *can =
            !cg->constants[i].updateable && (scaled || cg->constants[i].kind != QRN_CONST_SCALED);
    qrn_status s = *can ? qrn_compiled_verify(cg, true) : QRN_OK;
    if (s == QRN_E_MEM)
        return s;
    *can &= s == QRN_OK;
    if (s != QRN_OK)
        qrn_message_clear(); // the graph is compiled again when it is loaded
    return QRN_OK;
}
