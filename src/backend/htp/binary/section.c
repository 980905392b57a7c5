// SPDX-License-Identifier: MIT
//
// Sections of context binaries: new data and encodings for the updateable tensors of graphs.
// Applying one is all or nothing: everything is checked first, then the graphs are compiled again;
// when that fails the old values come back. Weights that are not updateable keep their packed form.
#include "backend/htp/binary/binary.h"
#include "backend/htp/device/session.h"

#include "base/mem.h"
#include "binary/binary.h"
#include "binary/options.h"
#include "core/services.h"

#include <string.h>

// One tensor that changes.
typedef struct change {
    qrn_api_graph *graph;
    qrn_tensor *target;
    const qrn_tensor *fresh;
    qrn_quant old_quant; // arrays are copies
    const void *old_data, *new_data;
} change;

typedef struct applying {
    qrn_api_context *context;
    uint32_t part;      // qrn_bin_part
    qrn_arena *scratch; // of the changes
    change *changes;
    uint32_t n;
} applying;

static bool with_data(const applying *a) { return a->part != QRN_BIN_UPDATE_QUANT; }
static bool with_quant(const applying *a) { return a->part != QRN_BIN_UPDATE_DATA; }

static qrn_status no_memory(void) {
    return QRN_FAIL(QRN_E_MEM, "out of memory for a binary section");
}

// Copies of an encoding's arrays.
static bool copy_quant(qrn_arena *a, qrn_quant *q) {
    size_t n = q->n_groups;
    if (q->scales && !(q->scales = qrn_arena_copy(a, q->scales, n * sizeof *q->scales)))
        return false;
    if (q->offsets && !(q->offsets = qrn_arena_copy(a, q->offsets, n * sizeof *q->offsets)))
        return false;
    return !q->real_offsets ||
           (q->real_offsets = qrn_arena_copy(a, q->real_offsets, n * sizeof *q->real_offsets));
}

// Replaces the contents of an array where it lies, so that applying sections again and again takes
// no more memory. The arrays are ours; kernels see them through const pointers.
static bool assign_array(qrn_arena *a, const void **to, const void *from, size_t bytes) {
    if (from && *to)
        memcpy((void *)(uintptr_t)*to, from, bytes);
    else
        *to = from ? qrn_arena_copy(a, from, bytes) : NULL;
    return !from || *to;
}

static bool assign_quant(qrn_arena *a, qrn_quant *to, const qrn_quant *from) {
    const void *scales = to->scales, *offsets = to->offsets, *reals = to->real_offsets;
    size_t n = from->n_groups;
    bool ok = assign_array(a, &scales, from->scales, n * sizeof *to->scales) &&
              assign_array(a, &offsets, from->offsets, n * sizeof *to->offsets) &&
              assign_array(a, &reals, from->real_offsets, n * sizeof *to->real_offsets);
    *to = *from;
    to->scales = scales;
    to->offsets = offsets;
    to->real_offsets = reals;
    return ok;
}

static bool same_form(const qrn_tensor *target, const qrn_tensor *fresh) {
    qrn_tensor as_updateable = *fresh; // one that may not be edited again still fits
    as_updateable.updateable = true;
    return qrn_tensor_same_form(target, &as_updateable);
}

static qrn_status plan_tensor(applying *a, qrn_api_graph *g, const qrn_tensor *fresh) {
    qrn_tensor *t = qrn_api_graph_tensor(g, fresh->name);
    if (!t || !t->updateable || !same_form(t, fresh))
        return QRN_FAIL(QRN_E_ARGUMENT,
                        "binary section: graph '%s' has no updateable tensor '%s' of that type, "
                        "shape and kind of encoding",
                        g->ir->name, fresh->name);
    for (uint32_t i = 0; i < a->n; i++)
        if (a->changes[i].target == t)
            return QRN_FAIL(QRN_E_ARGUMENT, "binary section: tensor '%s' of graph '%s' comes twice",
                            fresh->name, g->ir->name);
    change *c = &a->changes[a->n++];
    *c = (change){.graph = g,
                  .target = t,
                  .fresh = fresh,
                  .old_quant = t->quant,
                  .old_data = t->data,
                  .new_data = t->data};
    if (!copy_quant(a->scratch, &c->old_quant))
        return no_memory();
    if (!with_data(a) || t->role != QRN_ROLE_STATIC)
        return QRN_OK;
    if (!fresh->data)
        return QRN_FAIL(QRN_E_ARGUMENT, "binary section: tensor '%s' has no data", fresh->name);
    c->new_data = qrn_context_add_data(a->context, fresh->data, fresh->size_bytes);
    return c->new_data ? QRN_OK : no_memory();
}

// Sections of older files do not say what they were made for.
static qrn_status check_base(const qrn_api_graph *g, const qrn_bin_graph *from) {
    uint64_t made_for = qrn_bin_option_get(from->options, from->n_options, QRN_BIN_GRAPH_BASE);
    uint64_t base = made_for ? qrn_htp_graph_base(g) : 0;
    if (!base || base == made_for)
        return QRN_OK;
    return QRN_FAIL(QRN_E_ARGUMENT,
                    "binary section: it was made for another model; its graph '%s' has other "
                    "weights than the context's beside those that it updates",
                    g->ir->name);
}

static qrn_status plan(applying *a, const qrn_bin *b, qrn_api_graph *only) {
    uint32_t total = 0;
    for (uint32_t i = 0; i < b->n_graphs; i++)
        total += b->graphs[i].n_tensors;
    a->changes = qrn_arena_alloc(a->scratch, total * sizeof *a->changes);
    if (!a->changes)
        return no_memory();
    for (uint32_t i = 0; i < b->n_graphs; i++) {
        qrn_api_graph *g = qrn_api_graph_find(a->context, b->graphs[i].name);
        if (!g || (only && g != only))
            return QRN_FAIL(QRN_E_ARGUMENT, "binary section: it is for graph '%s', which %s",
                            b->graphs[i].name, g ? "was not asked for" : "the context lacks");
        if (!g->ir->finalized)
            return QRN_FAIL(QRN_E_ARGUMENT, "binary section: graph '%s' is not finalized",
                            g->ir->name);
        QRN_TRY(check_base(g, &b->graphs[i]));
        for (uint32_t k = 0; k < b->graphs[i].n_tensors; k++)
            QRN_TRY(plan_tensor(a, g, b->graphs[i].tensors[k]));
    }
    return QRN_OK;
}

static bool install(const applying *a, bool back) {
    bool ok = true;
    for (uint32_t i = 0; i < a->n; i++) {
        change *c = &a->changes[i];
        const qrn_quant *q = back ? &c->old_quant : &c->fresh->quant;
        if (with_quant(a))
            ok = assign_quant(c->graph->ir->arena, &c->target->quant, q) && ok;
        c->target->data = back ? c->old_data : c->new_data;
    }
    return ok;
}

// Compiles each graph that changed; changes of one graph are neighbours.
static qrn_status rebuild(const applying *a) {
    for (uint32_t i = 0; i < a->n; i++) {
        qrn_api_graph *g = a->changes[i].graph;
        if (i && a->changes[i - 1].graph == g)
            continue;
        qrn_finalize_options opt = {0};
        QRN_TRY(qrn_api_graph_complete_again(g, &opt));
    }
    return QRN_OK;
}

static void drop_data(const applying *a, bool fresh) {
    for (uint32_t i = 0; i < a->n; i++)
        if (a->changes[i].new_data != a->changes[i].old_data)
            qrn_context_drop_data(a->context,
                                  fresh ? a->changes[i].new_data : a->changes[i].old_data);
}

static qrn_status apply(applying *a, const qrn_bin *b, qrn_api_graph *only) {
    if (b->part != a->part)
        return QRN_FAIL(QRN_E_ARGUMENT, "binary section of type %u, asked for was %u", b->part,
                        a->part);
    qrn_status s = plan(a, b, only);
    if (s == QRN_OK && !install(a, false))
        s = no_memory();
    if (s == QRN_OK)
        s = rebuild(a);
    if (s == QRN_OK) {
        drop_data(a, false);
        for (uint32_t i = 0; i < a->n; i++)
            qrn_htp_graph_of(a->changes[i].graph)->section_applied = true;
        return QRN_OK;
    }
    install(a, true);
    if (rebuild(a) == QRN_OK) // else a graph may still use the new data
        drop_data(a, true);
    return s;
}

// The checksum of the data is looked at unless the client said not to (HTP-CTX-09).
qrn_status qrn_htp_section_apply(qrn_api_context *c, qrn_api_graph *g, uint32_t section,
                                 const void *buf, uint64_t size) {
    qrn_bin *b = NULL;
    bool verify = !qrn_htp_context_of(c)->options.skip_section_validation;
    QRN_TRY(qrn_bin_open(buf, size, verify, &b));
    applying a = {.context = c, .part = section, .scratch = qrn_arena_create()};
    qrn_status s = a.scratch ? apply(&a, b, g) : no_memory();
    qrn_htp_session_trim(c);
    qrn_arena_destroy(a.scratch);
    qrn_bin_close(b);
    return s;
}

// --- editing a section without a context

static qrn_tensor *find_tensor(const qrn_bin *b, const char *name, uint32_t id) {
    for (uint32_t i = 0; i < b->n_graphs; i++)
        for (uint32_t k = 0; k < b->graphs[i].n_tensors; k++) {
            qrn_tensor *t = b->graphs[i].tensors[k];
            if (*name ? strcmp(t->name, name) == 0 : t->id == id)
                return t;
        }
    return NULL;
}

static qrn_status edit_tensor(qrn_bin *b, const qrn_tensor_edit *e) {
    qrn_tensor fresh = e->tensor;
    qrn_tensor *t = find_tensor(b, fresh.name, fresh.id);
    if (!t)
        return QRN_FAIL(QRN_E_NOT_FOUND, "section tensor '%s': no tensor with that name (id %u)",
                        fresh.name, fresh.id);
    fresh.updateable = true;
    if (!t->updateable || !qrn_tensor_same_form(t, &fresh))
        return QRN_FAIL(QRN_E_TENSOR_UPDATE,
                        "section tensor '%s': not updateable, or another type, shape or kind of "
                        "encoding",
                        fresh.name);
    if (t->data && e->data && e->data_bytes != t->size_bytes)
        return QRN_FAIL(QRN_E_TENSOR_UPDATE,
                        "section tensor '%s': %llu bytes of data, expected %zu", fresh.name,
                        (unsigned long long)e->data_bytes, t->size_bytes);
    if (t->data && e->data)
        t->data = e->data;
    if (b->part != QRN_BIN_UPDATE_DATA)
        t->quant = fresh.quant;
    return QRN_OK;
}

static qrn_status edit(qrn_bin *b, const qrn_tensor_edit *edits, uint64_t n, bool keep) {
    if (b->part == QRN_BIN_WHOLE)
        return QRN_FAIL(QRN_E_ARGUMENT, "a whole context binary, not a section of one");
    for (uint64_t i = 0; i < n; i++)
        QRN_TRY(edit_tensor(b, &edits[i]));
    for (uint32_t i = 0; !keep && i < b->n_graphs; i++)
        for (uint32_t k = 0; k < b->graphs[i].n_tensors; k++)
            b->graphs[i].tensors[k]->updateable = false;
    return QRN_OK;
}

static qrn_status write_again(const qrn_bin *b, void **out, uint64_t *out_size) {
    uint64_t size = 0, written = 0;
    QRN_TRY(qrn_bin_size(b, &size));
    void *made = size <= SIZE_MAX ? qrn_alloc((size_t)size) : NULL;
    if (!made)
        return no_memory();
    qrn_status s = qrn_bin_write(b, made, size, &written);
    if (s != QRN_OK) {
        qrn_free(made);
        return s;
    }
    *out = made;
    *out_size = written;
    return QRN_OK;
}

// Time since *start, which becomes now.
static uint64_t lap(uint64_t *start) {
    uint64_t now = qrn_call_now_ns(), spent = now - *start;
    *start = now;
    return spent;
}

qrn_status qrn_htp_section_update(const void *buf, uint64_t size, const qrn_tensor_edit *edits,
                                  uint64_t n, bool keep_updatable, void **out, uint64_t *out_size,
                                  qrn_update_times *times) {
    qrn_bin *b = NULL;
    uint64_t start = qrn_call_now_ns();
    QRN_TRY(qrn_bin_open(buf, size, true, &b));
    times->read_ns = lap(&start);
    qrn_status s = edit(b, edits, n, keep_updatable);
    times->edit_ns = lap(&start);
    if (s == QRN_OK)
        s = write_again(b, out, out_size);
    times->write_ns = lap(&start);
    qrn_bin_close(b);
    times->free_ns = lap(&start);
    return s;
}
