// SPDX-License-Identifier: MIT
//
// The graphs of a model as a record: a JSON text with tensors and nodes, beside it the data of
// constants (equal data once, each at a multiple of 64 bytes) and the lists of scales. Tensors are
// numbered anew: those of the context first, then graph by graph.
#include "base/mem.h"
#include "dlc/topology.h"

#include <inttypes.h>
#include <string.h>

typedef struct writer {
    const qrn_dlc_model *model;
    qrn_arena *arena;
    FILE *text, *lists;
    uint64_t list_bytes;
    uint32_t *number;  // of a tensor, by its id
    uint32_t n_number; // length
    // Constants: what was placed, by address.
    qrn_dlc_records *out;
    uint64_t weight_bytes;
    struct placed {
        const void *data;
        uint64_t at, size;
    } * placed;
    uint32_t n_placed, n_slots;
} writer;

static const uint8_t zeros[QRN_ZIP_ALIGN];

static uint32_t float_bits(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static qrn_status no_memory(void) { return QRN_FAIL(QRN_E_MEM, "out of memory for a DLC file"); }

// Names become JSON strings, which are UTF-8.
static qrn_status put_name(writer *w, const char *key, const char *text) {
    for (const char *c = text; *c; c += qrn_utf8_length(c))
        if (qrn_utf8_length(c) == 0)
            return QRN_FAIL(QRN_E_NAME, "a %s is not UTF-8, which a DLC file cannot hold", key);
    fprintf(w->text, "\"%s\":", key);
    qrn_json_text(w->text, text);
    return QRN_OK;
}

static void put_u32s(writer *w, const char *key, const uint32_t *v, uint32_t n) {
    fprintf(w->text, ",\"%s\":[", key);
    for (uint32_t i = 0; i < n; i++)
        fprintf(w->text, "%s%" PRIu32, i ? "," : "", v[i]);
    fputc(']', w->text);
}

// --- constants

// The slot of an address among those that were placed.
static struct placed *find_placed(const writer *w, const void *data) {
    uint64_t h = (uint64_t)(uintptr_t)data * 0x9e3779b97f4a7c15u;
    uint32_t i = (uint32_t)(h >> 32) & (w->n_slots - 1);
    while (w->placed[i].data && w->placed[i].data != data)
        i = (i + 1) & (w->n_slots - 1);
    return &w->placed[i];
}

// Where the data lies in the record of weights.
static uint64_t place(writer *w, const void *data, uint64_t size) {
    struct placed *p = find_placed(w, data);
    if (p->data && p->size == size)
        return p->at;
    uint64_t at = w->weight_bytes, pad = (0 - size) % QRN_ZIP_ALIGN;
    if (!p->data)
        *p = (struct placed){data, at, size};
    w->out->weights[w->out->n_weights++] = (qrn_zip_part){data, size};
    if (pad)
        w->out->weights[w->out->n_weights++] = (qrn_zip_part){zeros, pad};
    w->weight_bytes += size + pad;
    return at;
}

// --- encodings

static void put_list(writer *w, const char *key, const void *data, uint64_t bytes) {
    fprintf(w->text, ",\"%s\":[%" PRIu64 ",%" PRIu64 "]", key, w->list_bytes, bytes);
    fwrite(data, 1, bytes, w->lists);
    uint64_t pad = (0 - bytes) % 4;
    fwrite(zeros, 1, pad, w->lists);
    w->list_bytes += bytes + pad;
}

static void put_expansion(writer *w, const qrn_tensor *t) {
    const qrn_expansion *e = t->expansion;
    uint64_t n = t->shape.dims[e->axis];
    fprintf(w->text,
            ",\"expansion\":{\"axis\":%" PRIu32 ",\"blocks\":%" PRIu32 ",\"factor_bits\":%" PRIu32
            ",\"storage_bits\":%" PRIu32,
            e->axis, e->n_blocks, e->factor_bits, e->storage_bits);
    put_list(w, "scales", e->scales, n * sizeof *e->scales);
    put_list(w, "offsets", e->offsets, n * sizeof *e->offsets);
    put_list(w, "factors", e->factors, n * e->n_blocks * (e->storage_bits / 8));
    fputc('}', w->text);
}

static qrn_status put_encoding(writer *w, const qrn_tensor *t) {
    static const char *const kinds[] = {
        [QRN_QUANT_TENSOR] = "TENSOR", [QRN_QUANT_AXIS] = "AXIS", [QRN_QUANT_BLOCK] = "BLOCK"};
    const qrn_quant *q = &t->quant;
    if (q->kind == QRN_QUANT_NONE)
        return QRN_OK;
    if (q->packed)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "tensor '%s': its scales are packed", t->name);
    fprintf(w->text,
            ",\"encoding\":{\"kind\":\"%s\",\"form\":%" PRIu32 ",\"bits\":%u,\"twice_shift\":%d",
            kinds[q->kind], t->encoding, (unsigned)q->bits, (int)(q->shift * 2.0f));
    if (q->kind == QRN_QUANT_TENSOR) {
        fprintf(w->text, ",\"scale_bits\":\"%08" PRIx32 "\",\"scale\":", float_bits(q->scale));
        qrn_json_number(w->text, (double)q->scale);
        fprintf(w->text, ",\"offset\":%" PRId32 "}", q->offset);
        return QRN_OK;
    }
    if (q->kind == QRN_QUANT_AXIS)
        fprintf(w->text, ",\"axis\":%u", (unsigned)q->axis);
    else
        put_u32s(w, "block", q->block, t->shape.rank);
    fprintf(w->text, ",\"count\":%" PRIu32, q->n_groups);
    put_list(w, "scales", q->scales, (uint64_t)q->n_groups * sizeof *q->scales);
    if (q->offsets)
        put_list(w, "offsets", q->offsets, (uint64_t)q->n_groups * sizeof *q->offsets);
    if (q->real_offsets)
        put_list(w, "real_offsets", q->real_offsets, (uint64_t)q->n_groups * sizeof(float));
    if (t->expansion)
        put_expansion(w, t);
    fputc('}', w->text);
    return QRN_OK;
}

// --- tensors and nodes

static qrn_status put_tensor(writer *w, const qrn_tensor *t, bool first) {
    const char *role = qrn_dlc_role_name(t->role);
    if (!role)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "tensor '%s': type %u cannot be in a DLC file", t->name,
                        t->role);
    fprintf(w->text, "%s\n{\"id\":%" PRIu32 ",", first ? "" : ",", w->number[t->id]);
    QRN_TRY(put_name(w, "name", t->name));
    fprintf(w->text, ",\"type\":\"%s\",\"data_type\":\"%s\"", role, qrn_dlc_dtype_name(t->dtype));
    put_u32s(w, "dims", t->shape.dims, t->shape.rank);
    if (t->updateable)
        fputs(",\"updateable\":true", w->text);
    if (t->optional_io)
        fputs(",\"optional\":true", w->text);
    if (t->has_dynamic) {
        uint32_t dynamic[QRN_MAX_RANK];
        for (uint32_t i = 0; i < t->shape.rank; i++)
            dynamic[i] = t->dynamic[i] != 0;
        put_u32s(w, "dynamic", dynamic, t->shape.rank);
    }
    if (t->format)
        fprintf(w->text, ",\"format\":%" PRIu32, t->format);
    if (qrn_tensor_is_sparse(t))
        fprintf(w->text, ",\"sparse\":[%" PRIu32 ",%" PRIu32 "]", t->n_sparse_elements,
                t->n_sparse_dims);
    QRN_TRY(put_encoding(w, t));
    if (t->role == QRN_ROLE_STATIC) {
        if (!t->data)
            return QRN_FAIL(QRN_E_NOT_PERMITTED, "tensor '%s': its data is gone", t->name);
        fprintf(w->text, ",\"data\":[%" PRIu64 ",%zu]", place(w, t->data, t->size_bytes),
                t->size_bytes);
    }
    fputc('}', w->text);
    return QRN_OK;
}

static void put_operands(writer *w, const char *key, qrn_tensor *const *list, uint32_t n) {
    fprintf(w->text, ",\"%s\":[", key);
    for (uint32_t i = 0; i < n; i++)
        fprintf(w->text, "%s%" PRIu32, i ? "," : "", list[i] ? w->number[list[i]->id] : 0);
    fputc(']', w->text);
}

static qrn_status put_scalar(writer *w, const qrn_param *p) {
    fprintf(w->text, ",\"data_type\":\"%s\",", qrn_dlc_dtype_name(p->dtype));
    switch ((qrn_dtype_class)qrn_dtypes[p->dtype].cls) {
    case QRN_CLASS_STRING:
        return put_name(w, "value", p->value.s);
    case QRN_CLASS_SINT:
    case QRN_CLASS_SFIXED:
        fprintf(w->text, "\"value\":%" PRId64, p->value.i);
        break;
    case QRN_CLASS_FLOAT: {
        uint64_t bits;
        memcpy(&bits, &p->value.f, sizeof bits);
        fprintf(w->text, "\"bits\":\"%016" PRIx64 "\",\"value\":", bits);
        qrn_json_number(w->text, p->value.f);
        break;
    }
    default:
        fprintf(w->text, "\"value\":%" PRIu64, p->value.u);
        break;
    }
    return QRN_OK;
}

static qrn_status put_params(writer *w, const qrn_node *n) {
    bool first = true;
    fputs(",\"params\":[", w->text);
    for (uint32_t i = 0; i < n->n_params; i++) {
        const qrn_param *p = &n->params[i];
        if (!p->present)
            continue;
        fputs(first ? "{" : ",{", w->text);
        first = false;
        QRN_TRY(put_name(w, "name", n->op ? n->op->params[i].name : n->param_names[i]));
        if (p->is_tensor)
            fprintf(w->text, ",\"tensor\":%" PRIu32, w->number[p->tensor->id]);
        else
            QRN_TRY(put_scalar(w, p));
        fputc('}', w->text);
    }
    fputc(']', w->text);
    return QRN_OK;
}

static qrn_status put_node(writer *w, const qrn_node *n, bool first) {
    fputs(first ? "\n{" : ",\n{", w->text);
    QRN_TRY(put_name(w, "name", n->name));
    fputc(',', w->text);
    QRN_TRY(put_name(w, "package", n->package));
    fputc(',', w->text);
    QRN_TRY(put_name(w, "type", n->type));
    put_operands(w, "inputs", n->in, n->n_in);
    put_operands(w, "outputs", n->out, n->n_out);
    QRN_TRY(put_params(w, n));
    fputc('}', w->text);
    return QRN_OK;
}

static qrn_status put_graph(writer *w, const qrn_graph *g, bool first) {
    if (g->n_subgraphs)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "graph '%s': subgraphs cannot be in a DLC file",
                        g->name);
    fputs(first ? "\n{" : ",\n{", w->text);
    QRN_TRY(put_name(w, "name", g->name));
    fputs(",\"tensors\":[", w->text);
    for (uint32_t i = 0; i < g->n_tensors; i++)
        QRN_TRY(put_tensor(w, g->tensors[i], i == 0));
    fputs("],\"nodes\":[", w->text);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        QRN_TRY(put_node(w, g->nodes[i], i == 0));
    fputs("]}", w->text);
    return QRN_OK;
}

static qrn_status put_model(writer *w) {
    const qrn_dlc_model *m = w->model;
    fputs("{\"tensors\":[", w->text);
    for (uint32_t i = 0; i < m->n_tensors; i++)
        QRN_TRY(put_tensor(w, m->tensors[i], i == 0));
    fputs("],\"graphs\":[", w->text);
    for (uint32_t i = 0; i < m->n_graphs; i++)
        QRN_TRY(put_graph(w, m->graphs[i], i == 0));
    fputs("]}\n", w->text);
    return QRN_OK;
}

// --- numbers and room

static void count(const qrn_tensor *t, uint32_t *most_id, size_t *n) {
    *most_id = t->id > *most_id ? t->id : *most_id;
    (*n)++;
}

static qrn_status prepare(writer *w) {
    const qrn_dlc_model *m = w->model;
    uint32_t most_id = 0, next = 1;
    size_t n = 0;
    for (uint32_t i = 0; i < m->n_tensors; i++)
        count(m->tensors[i], &most_id, &n);
    for (uint32_t i = 0; i < m->n_graphs; i++)
        for (uint32_t k = 0; k < m->graphs[i]->n_tensors; k++)
            count(m->graphs[i]->tensors[k], &most_id, &n);
    for (w->n_slots = 16; w->n_slots < 2 * n; w->n_slots *= 2)
        ;
    w->number = qrn_arena_alloc(w->arena, ((size_t)most_id + 1) * sizeof *w->number);
    w->placed = qrn_arena_alloc(w->arena, w->n_slots * sizeof *w->placed);
    w->out->weights = qrn_arena_alloc(w->arena, (2 * n + 1) * sizeof *w->out->weights);
    if (!w->number || !w->placed || !w->out->weights)
        return no_memory();
    for (uint32_t i = 0; i < m->n_tensors; i++)
        w->number[m->tensors[i]->id] = next++;
    for (uint32_t i = 0; i < m->n_graphs; i++)
        for (uint32_t k = 0; k < m->graphs[i]->n_tensors; k++)
            w->number[m->graphs[i]->tensors[k]->id] = next++;
    return QRN_OK;
}

qrn_status qrn_dlc_write_topology(const qrn_dlc_model *m, qrn_arena *arena, qrn_dlc_records *out) {
    writer w = {.model = m, .arena = arena, .out = out};
    QRN_TRY(prepare(&w));
    w.text = qrn_text_open(&out->topology);
    w.lists = qrn_text_open(&out->encodings);
    qrn_status s = w.text && w.lists ? put_model(&w) : no_memory();
    bool good = !w.text || qrn_text_close(w.text, &out->topology);
    good &= !w.lists || qrn_text_close(w.lists, &out->encodings);
    return s != QRN_OK || good ? s : no_memory();
}
