// SPDX-License-Identifier: MIT
//
// A graph of the API as the device model sees it.
#include "backend/htp/device/prediction.h"

#include "backend/htp/options/options.h"

#include <string.h>

#define NONE UINT32_MAX
#define MAX_OPERANDS 64u

typedef struct reading {
    qd_graph graph;
    uint32_t *index; // of values by a tensor's number; NONE: not yet
    uint32_t n_index;
    uint64_t in, out; // bytes of the application
} reading;

static qrn_status no_memory(void) { return QRN_FAIL(QRN_E_MEM, "schedule: no memory"); }

static bool add_tensor(reading *r, const qrn_tensor *t, uint32_t *out) {
    *out = r->index[t->id];
    if (*out != NONE)
        return true;
    qd_value v = {.rank = t->shape.rank < QD_MAX_RANK ? t->shape.rank : QD_MAX_RANK,
                  .constant = t->role == QRN_ROLE_STATIC,
                  .input = t->role == QRN_ROLE_INPUT,
                  .output = t->role == QRN_ROLE_OUTPUT};
    memcpy(v.dims, t->shape.dims, v.rank * sizeof v.dims[0]);
    if (v.constant && qrn_dtype_is_fixed(t->dtype))
        v.bits = t->quant.bits ? t->quant.bits : qrn_dtypes[t->dtype].bits;
    else if (qrn_dtype_is_fixed(t->dtype))
        v.active_bits = qrn_dtypes[t->dtype].bits;
    r->in += v.input ? t->size_bytes : 0;
    r->out += v.output ? t->size_bytes : 0;
    if (qd_add_value(&r->graph, &v, out) != QRN_OK)
        return false;
    r->index[t->id] = *out;
    return true;
}

static bool add_tensors(reading *r, qrn_tensor *const *list, uint32_t n, uint32_t *out,
                        uint32_t *n_out) {
    for (uint32_t i = 0; i < n; i++)
        if (list[i] && list[i]->role != QRN_ROLE_NULL && *n_out < MAX_OPERANDS &&
            !add_tensor(r, list[i], &out[(*n_out)++]))
            return false;
    return true;
}

static bool add_node(reading *r, const qrn_node *n) {
    uint32_t in[MAX_OPERANDS], out[MAX_OPERANDS], list[QD_MAX_RANK];
    qd_op o = {.name = n->name, .type = n->type, .in = in, .out = out};
    if (!add_tensors(r, n->in, n->n_in, in, &o.n_in) ||
        !add_tensors(r, n->out, n->n_out, out, &o.n_out))
        return false;
    if (n->op) {
        o.groups = qrn_node_u32(n, "group", 1);
        o.kind = qrn_node_u32(n, "operation", 0);
        uint32_t rank = qrn_node_u32s(n, "filter_size", list, QD_MAX_RANK);
        o.window = rank ? 1 : 0;
        for (uint32_t i = 0; i < rank; i++)
            o.window *= list[i];
        rank = qrn_node_u32s(n, "perm", list, QD_MAX_RANK);
        o.swaps = rank >= 2;
        for (uint32_t i = 0; i < rank; i++)
            o.swaps &= list[i] == (i + 2 < rank ? i : 2 * rank - 3 - i);
    }
    return qd_add_op(&r->graph, &o) == QRN_OK;
}

static uint32_t largest_id(qrn_tensor *const *list, uint32_t n, uint32_t most) {
    for (uint32_t i = 0; i < n; i++)
        most = list[i] && list[i]->id > most ? list[i]->id : most;
    return most;
}

static bool read_graph(reading *r, const qrn_graph *g) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        most = largest_id(g->nodes[i]->in, g->nodes[i]->n_in, most);
        most = largest_id(g->nodes[i]->out, g->nodes[i]->n_out, most);
    }
    r->index = qrn_arena_alloc(r->graph.arena, ((size_t)most + 1) * sizeof *r->index);
    bool ok = r->index != NULL;
    r->n_index = most + 1;
    for (size_t i = 0; ok && i <= most; i++)
        r->index[i] = NONE;
    for (uint32_t i = 0; ok && i < g->n_nodes; i++)
        ok = add_node(r, g->nodes[i]);
    return ok;
}

// Options as the graph has them. Votes may change with every run: full power is assumed.
static qd_options options_of(const qrn_api_graph *g, bool lent) {
    const qrn_htp_graph_options *o = &qrn_htp_graph_of(g)->options;
    return (qd_options){.vtcm_bytes = qrn_htp_vtcm_bytes(g),
                        .hvx_threads = qrn_htp_hvx_threads(g),
                        .dlbc = o->dlbc || o->dlbc_weights,
                        .lent = lent};
}

// From indices of values to ids of tensors.
static bool name_tensors(const reading *r, uint32_t n_ids, qd_schedule *s) {
    uint32_t *ids = qrn_arena_alloc(r->graph.arena, (r->graph.n_values + 1) * sizeof *ids);
    for (uint32_t i = 0; ids && i < n_ids; i++)
        if (r->index[i] != NONE)
            ids[r->index[i]] = i;
    for (uint32_t i = 0; ids && i < s->n_tiles; i++)
        s->tiles[i].value = ids[s->tiles[i].value];
    for (uint32_t i = 0; ids && i < s->n_swaps; i++)
        s->swaps[i].value = ids[s->swaps[i].value];
    return ids != NULL;
}

qrn_status qrn_htp_schedule(const qrn_api_graph *g, qrn_arena *arena, qrn_htp_scheduled *out) {
    const qrn_htp_device *device = qrn_htp_device_of(g->context);
    const qd_chip *own = device->chosen ? qd_chip_of_soc(device->soc.id) : NULL;
    const qd_chip *chip = own || !device->chosen ? own : qd_chip_of_arch(device->soc.arch);
    reading r = {.graph.arena = arena};
    qd_steps steps;
    *out = (qrn_htp_scheduled){.known = false};
    if (!chip || qrn_htp_graph_of(g)->options.n_cores > 1) // nobody measured several cores
        return QRN_OK;
    QRN_TRY(qrn_htp_check_nodes(g));
    if (!read_graph(&r, g->ir))
        return no_memory();
    QRN_TRY(qd_cut(&r.graph, &steps));
    qd_precision precision = qd_precision_of(&r.graph, &steps);
    if (!qd_has_data(chip, precision))
        return QRN_OK;
    const qd_options options = options_of(g, !own);
    QRN_TRY(qd_schedule_of(&r.graph, &steps, chip, precision, &options, arena, &out->s));
    uint32_t *unknown = qrn_arena_alloc(arena, (steps.n_unknown + 1) * sizeof *unknown);
    if (!unknown || !name_tensors(&r, r.n_index, &out->s))
        return no_memory();
    for (uint32_t i = 0; i < steps.n_unknown; i++)
        unknown[i] = (uint32_t)(steps.unknown[i] - r.graph.ops);
    out->unknown = unknown;
    out->n_unknown = steps.n_unknown;
    out->input_bytes = r.in;
    out->output_bytes = r.out;
    out->known = own != NULL;
    out->lent = !own;
    return QRN_OK;
}

qrn_htp_prediction qrn_htp_summary(const qrn_htp_scheduled *x) {
    double us = x->s.us - x->s.start; // the start is the host's
    qrn_htp_prediction p = {.us = us,
                            .low_us = us * (1 - QD_INTERVAL_WIDE),
                            .high_us = us * (1 + QD_INTERVAL_WIDE),
                            .input_bytes = x->input_bytes,
                            .output_bytes = x->output_bytes,
                            .n_unknown = x->n_unknown};
    for (uint32_t i = 0; i < x->s.n_slots; i++)
        p.input_bytes += (uint64_t)x->s.slots[i].weight_bytes;
    for (uint32_t i = 0; i < x->s.n_swaps; i++)
        *(x->s.swaps[i].fill ? &p.fill_bytes : &p.spill_bytes) += x->s.swaps[i].bytes;
    return p;
}
