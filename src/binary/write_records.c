// SPDX-License-Identifier: MIT
//
// The records of a context binary, in the order of docs/context-binary.md.
#include "base/mem.h"
#include "binary/format.h"
#include "binary/packed_scales.h"
#include "binary/write.h"
#include "device/stored.h"

#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

qrn_status qrn_bin_ids_of(const qrn_bin *b, qrn_bin_ids *ids) {
    size_t n = b->n_tensors;
    for (uint32_t g = 0; g < b->n_graphs; g++)
        n += b->graphs[g].n_tensors;
    ids->sorted = qrn_alloc(n * sizeof *ids->sorted);
    if (!ids->sorted || n > UINT32_MAX)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a context binary of %zu tensors", n);
    ids->n = 0;
    for (uint32_t i = 0; i < b->n_tensors; i++)
        ids->sorted[ids->n++] = b->tensors[i]->id;
    for (uint32_t g = 0; g < b->n_graphs; g++)
        for (uint32_t i = 0; i < b->graphs[g].n_tensors; i++)
            ids->sorted[ids->n++] = b->graphs[g].tensors[i]->id;
    qsort(ids->sorted, ids->n, sizeof *ids->sorted, by_value);
    return QRN_OK;
}

uint32_t qrn_bin_file_id(const qrn_bin_ids *ids, uint32_t id) {
    const uint32_t *at = bsearch(&id, ids->sorted, ids->n, sizeof id, by_value);
    return at ? (uint32_t)(at - ids->sorted) + 1 : 0;
}

static void put_options(const qrn_bin_option *list, uint32_t n, qrn_out *o) {
    qrn_out_u32(o, n);
    for (uint32_t i = 0; i < n; i++) {
        qrn_out_u32(o, list[i].key);
        qrn_out_u64(o, list[i].value);
    }
}

// packed: the scales are those of a packed form.
static void put_groups(const qrn_quant *q, bool packed, qrn_out *o) {
    bool offsets = q->offsets || q->packed;
    qrn_out_u32(o, q->n_groups);
    qrn_out_u32(o, packed ? QRN_BIN_GROUPS_PACKED
                          : (offsets ? QRN_BIN_GROUPS_OFFSETS : 0u) |
                                (q->real_offsets ? QRN_BIN_GROUPS_REAL_OFFSETS : 0u));
    if (packed)
        return;
    for (uint32_t i = 0; i < q->n_groups; i++)
        qrn_out_f32(o, qrn_quant_scale(q, i));
    for (uint32_t i = 0; offsets && i < q->n_groups; i++)
        qrn_out_u32(o, (uint32_t)qrn_quant_offset(q, i));
    for (uint32_t i = 0; q->real_offsets && i < q->n_groups; i++)
        qrn_out_f32(o, q->real_offsets[i]);
}

void qrn_bin_put_quant(const qrn_tensor *t, bool packed, qrn_out *o) {
    const qrn_quant *q = &t->quant;
    qrn_out_u32(o, t->encoding);
    qrn_out_u32(o, q->kind);
    if (q->kind == QRN_QUANT_NONE)
        return;
    qrn_out_u32(o, q->bits);
    qrn_out_f32(o, q->shift);
    if (q->kind == QRN_QUANT_TENSOR) {
        qrn_out_f32(o, q->scale);
        qrn_out_u32(o, (uint32_t)q->offset);
        return;
    }
    if (q->kind == QRN_QUANT_AXIS)
        qrn_out_u32(o, q->axis);
    for (uint32_t i = 0; q->kind == QRN_QUANT_BLOCK && i < t->shape.rank; i++)
        qrn_out_u32(o, q->block[i]);
    put_groups(q, packed, o);
}

void qrn_bin_put_shape(const qrn_shape *s, qrn_out *o) {
    qrn_out_u32(o, s->rank);
    for (uint32_t i = 0; i < s->rank; i++)
        qrn_out_u32(o, s->dims[i]);
}

static uint32_t dynamic_mask(const qrn_tensor *t) {
    uint32_t mask = 0;
    for (uint32_t i = 0; i < t->shape.rank; i++)
        mask |= t->dynamic[i] ? 1u << i : 0;
    return mask;
}

// `constant`: index of the data, QRN_BIN_NONE when there is none; packed: its scales are those of a
// packed form.
static void put_tensor(const qrn_tensor *t, uint32_t id, uint32_t constant, bool packed,
                       qrn_out *o) {
    qrn_out_u32(o, id);
    qrn_out_text(o, t->name);
    qrn_out_u32(o, t->role);
    qrn_out_u32(o, (t->updateable ? QRN_BIN_TENSOR_UPDATEABLE : 0) |
                       (t->optional_io ? QRN_BIN_TENSOR_OPTIONAL : 0));
    qrn_out_u32(o, qrn_dtypes[t->dtype].code);
    qrn_out_u32(o, t->format);
    qrn_bin_put_shape(&t->shape, o);
    qrn_out_u32(o, dynamic_mask(t));
    if (t->format == QRN_FORMAT_SPARSE) {
        qrn_out_u32(o, t->n_sparse_elements);
        qrn_out_u32(o, t->n_sparse_dims);
    }
    qrn_bin_put_quant(t, packed, o);
    qrn_out_u32(o, constant);
}

static void put_param(const char *name, const qrn_param *p, const qrn_bin_ids *ids, qrn_out *o) {
    qrn_out_text(o, name);
    qrn_out_u32(o, p->is_tensor ? 1 : 0);
    if (p->is_tensor) {
        qrn_out_u32(o, qrn_bin_file_id(ids, p->tensor->id));
        return;
    }
    qrn_out_u32(o, qrn_dtypes[p->dtype].code);
    if (p->dtype == QRN_DTYPE_STR)
        qrn_out_text(o, p->value.s);
    else
        qrn_out_u64(o, p->value.u); // the bits of whichever number it is
}

static void put_node(const qrn_bin_node *n, const qrn_bin_ids *ids, qrn_out *o) {
    qrn_out_text(o, n->name);
    qrn_out_text(o, n->package);
    qrn_out_text(o, n->type);
    qrn_out_u32(o, n->n_in);
    qrn_out_u32(o, n->n_out);
    qrn_out_u32(o, n->n_params);
    for (uint32_t i = 0; i < n->n_in; i++)
        qrn_out_u32(o, n->in[i] ? qrn_bin_file_id(ids, n->in[i]) : 0);
    for (uint32_t i = 0; i < n->n_out; i++)
        qrn_out_u32(o, n->out[i] ? qrn_bin_file_id(ids, n->out[i]) : 0);
    for (uint32_t i = 0; i < n->n_params; i++)
        put_param(n->param_names[i], &n->params[i], ids, o);
}

static int by_name(const void *a, const void *b) { return qrn_packed_order(a, b); }

// Readers look packed forms up by halving; new ids keep their order.
static qrn_status put_packed(const qrn_bin_graph *g, uint32_t index, const qrn_bin_ids *ids,
                             qrn_constants *c, qrn_out *o) {
    qrn_packed *list = qrn_alloc((g->packed.n + 1) * sizeof *list);
    if (!list)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory for its binary", g->name);
    if (g->packed.n)
        memcpy(list, g->packed.items, g->packed.n * sizeof *list);
    qsort(list, g->packed.n, sizeof *list, by_name);
    qrn_status s = QRN_OK;
    for (uint32_t i = 0; i < g->packed.n && s == QRN_OK; i++) {
        uint32_t constant = QRN_BIN_NONE;
        s = qrn_constants_add(c, index, list[i].data, list[i].size_bytes, false, &constant);
        qrn_out_u32(o, list[i].node);
        qrn_out_u32(o, qrn_bin_file_id(ids, list[i].tensor_id));
        qrn_out_u32(o, list[i].packing);
        qrn_out_u32(o, qrn_dtypes[list[i].dtype].code);
        qrn_bin_put_shape(&list[i].shape, o);
        qrn_out_u32(o, constant);
    }
    qrn_free(list);
    return s;
}

// Tensors that are parameters of ops; by place in the list of ids.
static bool *find_params(const qrn_bin_graph *g, const qrn_bin_ids *ids) {
    bool *is_param = qrn_calloc(ids->n + 1);
    for (uint32_t i = 0; is_param && i < g->n_nodes; i++)
        for (uint32_t k = 0; k < g->nodes[i].n_params; k++)
            if (g->nodes[i].params[k].is_tensor)
                is_param[qrn_bin_file_id(ids, g->nodes[i].params[k].tensor->id)] = true;
    return is_param;
}

static qrn_status put_tensors(const qrn_bin_graph *g, uint32_t index, const qrn_bin_ids *ids,
                              qrn_constants *c, qrn_out *o) {
    bool *is_param = find_params(g, ids);
    if (!is_param)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory for its binary", g->name);
    qrn_status s = QRN_OK;
    for (uint32_t i = 0; i < g->n_tensors && s == QRN_OK; i++) {
        const qrn_tensor *t = g->tensors[i];
        uint32_t id = qrn_bin_file_id(ids, t->id), constant = QRN_BIN_NONE;
        if (t->data)
            s = qrn_constants_add(c, index, t->data, t->size_bytes, is_param[id], &constant);
        qrn_quant_packed scales;
        put_tensor(t, id, constant, !t->data && qrn_bin_packed_scales(t, &g->packed, &scales), o);
    }
    qrn_free(is_param);
    return s;
}

qrn_status qrn_bin_put_graph(const qrn_bin_graph *g, uint32_t index, const qrn_bin_ids *ids,
                             qrn_constants *c, qrn_out *o) {
    qrn_out_text(o, g->name);
    qrn_out_u32(o, (uint32_t)g->priority);
    qrn_out_u64(o, g->arena_bytes);
    put_options(g->options, g->n_options, o);
    qrn_out_u32(o, g->n_tensors);
    qrn_out_u32(o, g->n_nodes);
    qrn_out_u32(o, g->packed.n);
    QRN_TRY(put_tensors(g, index, ids, c, o));
    for (uint32_t i = 0; i < g->n_nodes; i++)
        put_node(&g->nodes[i], ids, o);
    QRN_TRY(put_packed(g, index, ids, c, o));
    return o->failed ? QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory for its binary", g->name)
                     : QRN_OK;
}

qrn_status qrn_bin_put_info(const qrn_bin *b, const qrn_bin_ids *ids, const qrn_constants *c,
                            qrn_out *o) {
    for (int i = 0; i < 3; i++)
        qrn_out_u32(o, b->core_api[i]);
    qrn_out_u32(o, b->backend_id);
    for (int i = 0; i < 3; i++)
        qrn_out_u32(o, b->backend_api[i]);
    qrn_out_u32(o, b->soc_id);
    qrn_out_u32(o, b->arch);
    qrn_out_text(o, b->build_id);
    put_options(b->options, b->n_options, o);
    qrn_out_u32(o, b->n_graphs);
    qrn_out_u32(o, b->n_tensors);
    qrn_out_u32(o, c->n);
    for (uint32_t i = 0; i < b->n_tensors; i++)
        put_tensor(b->tensors[i], qrn_bin_file_id(ids, b->tensors[i]->id), QRN_BIN_NONE, false, o);
    for (uint32_t i = 0; i < c->n; i++) {
        qrn_out_u32(o, c->items[i].section);
        qrn_out_u32(o, c->items[i].n_graphs);
        qrn_out_u64(o, c->items[i].offset);
        qrn_out_u64(o, c->items[i].size_bytes);
    }
    return o->failed ? QRN_FAIL(QRN_E_MEM, "out of memory for a context binary") : QRN_OK;
}

qrn_status qrn_bin_put_schedule(const qrn_bin_graph *g, const qrn_bin_ids *ids, qrn_arena *arena,
                                qrn_out *o) {
    qd_schedule s = *g->schedule;
    s.tiles = qrn_arena_copy(arena, s.tiles, s.n_tiles * sizeof *s.tiles);
    s.swaps = qrn_arena_copy(arena, s.swaps, s.n_swaps * sizeof *s.swaps);
    if (!s.tiles || !s.swaps)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a schedule");
    for (uint32_t i = 0; i < s.n_tiles; i++)
        s.tiles[i].value = qrn_bin_file_id(ids, s.tiles[i].value);
    for (uint32_t i = 0; i < s.n_swaps; i++)
        s.swaps[i].value = qrn_bin_file_id(ids, s.swaps[i].value);
    return qd_store(&s, arena, &o->data, &o->n);
}
