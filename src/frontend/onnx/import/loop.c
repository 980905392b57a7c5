// SPDX-License-Identifier: MIT
//
// Importers: Loop and Scan, unrolled. Each round imports the body again in a scope of its own, so
// that what depends on the number of the round is constant. A loop that may end early at run time
// computes all its rounds and keeps old values from its end on.
#include "frontend/onnx/import/table.h"
#include "frontend/onnx/driver/nested.h"

#include <stdio.h>
#include <string.h>

#define MAX_ROUNDS 1024

// A loop that is being unrolled. Names are those of values in the scope of the node.
typedef struct loop {
    const ox_node *n;
    const ox_graph *body;
    ox_scope *constants; // the body's, made once
    uint32_t n_state;    // values that go from round to round
    const char **state;  // their names now
    uint32_t n_scan;     // values that are collected
    const char **scan;   // [n_scan][MAX_ROUNDS]
    uint32_t rounds;     // done so far
} loop;

static qrn_status begin_loop(ox_import *im, const ox_node *n, const char *attr, loop *l) {
    const ox_attr *body = ox_attr_find(n, attr);
    ox_nest saved;
    ox_leave_unit(im);
    if (!body || !body->g)
        return ox_fail(im, n, QRN_E_SHAPE, "it has no body");
    l->n = n;
    l->body = body->g;
    qrn_status s = ox_nest_begin(im, n, im->scope, &saved);
    if (s == QRN_OK)
        s = ox_enter_constants(im, l->body);
    l->constants = im->scope;
    ox_nest_end(im, &saved);
    return s;
}

static qrn_status alloc_loop(ox_import *im, loop *l, uint32_t n_state, uint32_t n_scan) {
    l->n_state = n_state;
    l->n_scan = n_scan;
    l->state = ox_alloc(im, (n_state + 1) * sizeof *l->state);
    l->scan = ox_alloc(im, ((size_t)n_scan * MAX_ROUNDS + 1) * sizeof *l->scan);
    return l->state && l->scan ? QRN_OK : ox_no_memory(im);
}

static qrn_status too_many(ox_import *im, const loop *l) {
    return ox_fail(
        im, l->n, QRN_E_UNSUPPORTED,
        "it has more than %d iterations; loops are unrolled and longer ones would make a "
        "graph too large",
        MAX_ROUNDS);
}

// One round. in: names for the inputs of the body; out: names given to its outputs.
static qrn_status run_round(ox_import *im, loop *l, const char *const *in, const char **out) {
    ox_nest saved;
    ox_scope *outer = im->scope;
    qrn_status s = ox_nest_begin(im, l->n, l->constants, &saved);
    for (uint32_t i = 0; s == QRN_OK && i < l->body->n_inputs; i++) {
        const ox_val *v = ox_scope_find(outer, in[i]);
        s = v ? ox_bind(im, l->body->inputs[i].name, v)
              : ox_fail(im, l->n, QRN_E_UNCONNECTED, "input %u of its body is missing", i);
    }
    if (s == QRN_OK)
        s = ox_import_body(im, l->body);
    ox_scope *inner = im->scope;
    ox_nest_end(im, &saved);
    for (uint32_t i = 0; s == QRN_OK && i < l->body->n_outputs; i++) {
        out[i] = ox_new_name(im);
        s = out[i] ? ox_bind(im, out[i], ox_scope_find(inner, l->body->outputs[i].name))
                   : ox_no_memory(im);
    }
    l->rounds++;
    return s;
}

static qrn_status give_named(ox_import *im, const loop *l, uint32_t i, const char *name) {
    const ox_val *v = ox_scope_find(im->scope, name);
    return v ? ox_give(im, l->n, i, v)
             : ox_fail(im, l->n, QRN_E_UNCONNECTED, "output %u has no value", i);
}

// --- Loop

// What is known of a condition: 0, 1, or -1: it comes at run time.
static int known_bool(const ox_import *im, const char *name) {
    const ox_val *v = ox_scope_find(im->scope, name);
    return v && v->data && v->type == OX_BOOL ? *(const uint8_t *)v->data != 0 : -1;
}

// After a round of a loop that may have ended: values stay as they were.
static qrn_status keep_old(ox_import *im, const loop *l, const char *active, const char **fresh) {
    for (uint32_t i = 0; i < l->n_state; i++) {
        const ox_val *b = ox_scope_find(im->scope, l->state[i]);
        const char *in[] = {active, NULL, l->state[i]};
        char form[2][OX_FORM_BYTES];
        QRN_TRY(ox_bind_ranked(im, ox_scope_find(im->scope, fresh[i]), b->rank, &in[1]));
        const ox_val *a = ox_scope_find(im->scope, in[1]);
        if (!ox_same_form(a, b))
            return ox_fail(im, l->n, QRN_E_UNSUPPORTED,
                           "its end is known at run time only, and its value %u ('%s') changes "
                           "from %s to %s in iteration %u",
                           i, l->n->in[i + 2], ox_form_text(b, form[1]), ox_form_text(a, form[0]),
                           l->rounds);
        fresh[i] = NULL;
        QRN_TRY(ox_make(im, "Where", in, 3, NULL, 0, &fresh[i]));
    }
    return QRN_OK;
}

// What to do about a loop whose end is known at run time only.
#define OTHER_WAY "onnxruntime runs such a loop, with Quern's provider for the other nodes"

static qrn_status unknown_rows(ox_import *im, const loop *l, const char *cond) {
    uint32_t i = l->n_state;
    return ox_fail(
        im, l->n, QRN_E_UNSUPPORTED,
        "how many rows it collects in output '%s' depends on its condition ('%s'), which "
        "comes at run time, and QNN graphs have fixed shapes; " OTHER_WAY,
        i < l->n->n_out ? l->n->out[i] : l->body->outputs[i + 1].name, cond);
}

// A node of the body is rejected in a round that may not take place: what was constant before is
// not, as from here on each value is chosen between two rounds.
static qrn_status unknown_end(const loop *l, qrn_status s) {
    char why[QRN_MESSAGE_MAX / 2];
    if (s != QRN_E_UNSUPPORTED)
        return s;
    snprintf(why, sizeof why, "%s", qrn_message());
    return QRN_FAIL(s,
                    "%s; this is iteration %u of node '%s' (Loop), whose end ('%s') comes at run "
                    "time, so that the values it carries are not constant; " OTHER_WAY,
                    why, l->rounds, l->n->name, l->body->outputs[0].name);
}

// Rounds until the count is reached or the condition is false. *cond: NULL, or the name of a value
// that says at run time whether the loop still goes on.
static qrn_status run_loop(ox_import *im, loop *l, int64_t trips, const char *cond) {
    uint32_t n_out = l->body->n_outputs;
    const char **in = ox_alloc(im, (l->body->n_inputs + 1) * sizeof *in);
    const char **out = ox_alloc(im, (n_out + 1) * sizeof *out);
    const uint8_t yes = 1;
    if (!in || !out)
        return ox_no_memory(im);
    for (int64_t round = 0; round < trips; round++) {
        if (round >= MAX_ROUNDS)
            return too_many(im, l);
        QRN_TRY(ox_bind_ints(im, 0, &round, 0, &in[0]));
        in[1] = cond;
        if (!cond)
            QRN_TRY(ox_bind_const(im, OX_BOOL, 0, NULL, &yes, &in[1]));
        memcpy(in + 2, l->state, l->n_state * sizeof *in);
        qrn_status s = run_round(im, l, in, out);
        if (s != QRN_OK)
            return cond ? unknown_end(l, s) : s;
        if (cond) {
            QRN_TRY(keep_old(im, l, cond, out + 1));
            const char *both[] = {cond, out[0]};
            cond = NULL;
            QRN_TRY(ox_make(im, "And", both, 2, NULL, 0, &cond));
        }
        memcpy(l->state, out + 1, l->n_state * sizeof *out);
        for (uint32_t i = 0; i < l->n_scan; i++)
            l->scan[(size_t)i * MAX_ROUNDS + l->rounds - 1] = out[1 + l->n_state + i];
        int more = cond ? 1 : known_bool(im, out[0]);
        if (more == 0)
            break;
        if (more < 0)
            cond = out[0];
        if (cond && l->n_scan && round + 1 < trips)
            return unknown_rows(im, l, l->body->outputs[0].name);
    }
    return QRN_OK;
}

static qrn_status import_loop(ox_import *im, const ox_node *n) {
    loop l = {0};
    int64_t trips = INT64_MAX;
    uint32_t count;
    QRN_TRY(begin_loop(im, n, "body", &l));
    uint32_t n_state = n->n_in > 2 ? n->n_in - 2 : 0;
    if (l.body->n_inputs != n_state + 2 || l.body->n_outputs < n_state + 1 ||
        n->n_out > l.body->n_outputs - 1)
        return ox_fail(im, n, QRN_E_SHAPE, "its body has not the inputs and outputs that it needs");
    if (ox_input(im, n, 0) && (!ox_const_ints(im, n, 0, &trips, 1, &count) || count != 1))
        return ox_fail(im, n, QRN_E_UNSUPPORTED,
                       "its trip count ('%s') must be constant: loops are unrolled", n->in[0]);
    QRN_TRY(alloc_loop(im, &l, n_state, l.body->n_outputs - 1 - n_state));
    for (uint32_t i = 0; i < n_state; i++)
        l.state[i] = n->in[i + 2];
    int more = ox_input(im, n, 1) ? known_bool(im, n->in[1]) : 1;
    if (more < 0 && l.n_scan)
        return unknown_rows(im, &l, n->in[1]);
    if (more != 0)
        QRN_TRY(run_loop(im, &l, trips, more < 0 ? n->in[1] : NULL));
    for (uint32_t i = 0; i < n_state && i < n->n_out; i++)
        QRN_TRY(give_named(im, &l, i, l.state[i]));
    for (uint32_t i = 0; i < l.n_scan && n_state + i < n->n_out; i++) {
        const char *rows;
        if (!n->out[n_state + i][0])
            continue;
        if (l.rounds == 0)
            return ox_fail(im, n, QRN_E_UNSUPPORTED, "output '%s' is empty: it has no iterations",
                           n->out[n_state + i]);
        QRN_TRY(ox_stack(im, l.scan + (size_t)i * MAX_ROUNDS, l.rounds, 0, &rows));
        QRN_TRY(give_named(im, &l, n_state + i, rows));
    }
    return QRN_OK;
}

// --- Scan

typedef struct scan {
    loop l;
    uint32_t first;    // of the inputs: 1 where opset 8 has sequence_lens
    uint32_t n_in;     // scan inputs
    uint32_t n_rounds; // length of the scan axes
    bool batched;      // opset 8: everything has a leading batch dimension
    int64_t in_axes[64], out_axes[64], in_reverse[64], out_reverse[64];
} scan;

static qrn_status read_list(ox_import *im, const ox_node *n, const char *attr, uint32_t count,
                            int64_t *dst) {
    uint32_t given = ox_attr_ints(n, attr, dst, 64);
    if (given && given != count)
        return ox_fail(im, n, QRN_E_SHAPE, "%u entries in %s, expected %u", given, attr, count);
    if (!given)
        memset(dst, 0, count * sizeof *dst);
    return QRN_OK;
}

static qrn_status scan_lengths(ox_import *im, const ox_node *n, scan *s) {
    for (uint32_t i = 0; i < s->n_in; i++) {
        const ox_val *v = ox_input(im, n, s->first + s->l.n_state + i);
        uint32_t axis;
        if (!v || v->rank < (s->batched ? 2u : 1u))
            return ox_fail(im, n, QRN_E_SHAPE, "scan input %u has no axis to scan", i);
        QRN_TRY(ox_axis(im, n, s->batched ? 1 : s->in_axes[i], v->rank, &axis));
        s->in_axes[i] = axis;
        if (i && v->dims[axis] != s->n_rounds)
            return ox_fail(im, n, QRN_E_SHAPE, "scan inputs of different lengths");
        s->n_rounds = v->dims[axis];
    }
    if (s->n_rounds == 0)
        return ox_fail(
            im, n, QRN_E_UNSUPPORTED,
            "its scan inputs are empty: it has no iterations, and the shapes of its outputs "
            "come from none");
    return s->n_rounds > MAX_ROUNDS ? too_many(im, &s->l) : QRN_OK;
}

static qrn_status read_scan(ox_import *im, const ox_node *n, scan *s) {
    QRN_TRY(begin_loop(im, n, "body", &s->l));
    s->batched = ox_version(im, n) < 9;
    s->first = s->batched ? 1 : 0;
    int64_t n_in = ox_attr_int(n, "num_scan_inputs", 0), total = (int64_t)n->n_in - s->first;
    if (n_in < 1 || n_in > total || n_in > 64 || n->n_out > 64 || s->l.body->n_inputs != total ||
        s->l.body->n_outputs != n->n_out)
        return ox_fail(im, n, QRN_E_SHAPE, "its body has not the inputs and outputs that it needs");
    if (s->batched && ox_input(im, n, 0))
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "sequence_lens is not supported");
    s->n_in = (uint32_t)n_in;
    uint32_t n_state = (uint32_t)(total - n_in);
    if (n->n_out < n_state)
        return ox_fail(im, n, QRN_E_SHAPE, "it has fewer outputs than states");
    QRN_TRY(alloc_loop(im, &s->l, n_state, n->n_out - n_state));
    QRN_TRY(read_list(im, n, "scan_input_axes", s->n_in, s->in_axes));
    QRN_TRY(read_list(im, n, s->batched ? "directions" : "scan_input_directions", s->n_in,
                      s->in_reverse));
    QRN_TRY(read_list(im, n, "scan_output_axes", s->l.n_scan, s->out_axes));
    QRN_TRY(read_list(im, n, "scan_output_directions", s->l.n_scan, s->out_reverse));
    return scan_lengths(im, n, s);
}

// Element `at` of an axis of a value, without the axis; name is replaced.
static qrn_status pick(ox_import *im, const char **name, int64_t axis, int64_t at) {
    const ox_attr attr = OX_INT_ATTR("axis", axis);
    const char *in[] = {*name, NULL};
    QRN_TRY(ox_bind_ints(im, 0, &at, 0, &in[1]));
    *name = NULL;
    return ox_make(im, "Gather", in, 2, &attr, 1, name);
}

// All rounds for one element of the batch, or for all where there is no batch.
static qrn_status run_scan(ox_import *im, scan *s, int64_t batch) {
    const ox_node *n = s->l.n;
    const char *in[64], **out = ox_alloc(im, (s->l.body->n_outputs + 1) * sizeof *out);
    uint32_t n_state = s->l.n_state;
    if (!out || n_state + s->n_in > 64)
        return out ? ox_fail(im, n, QRN_E_UNSUPPORTED, "more than 64 inputs") : ox_no_memory(im);
    s->l.rounds = 0;
    for (uint32_t i = 0; i < n_state; i++) {
        s->l.state[i] = n->in[s->first + i];
        if (s->batched)
            QRN_TRY(pick(im, &s->l.state[i], 0, batch));
    }
    for (uint32_t r = 0; r < s->n_rounds; r++) {
        memcpy(in, s->l.state, n_state * sizeof *in);
        for (uint32_t i = 0; i < s->n_in; i++) {
            const char **x = &in[n_state + i];
            *x = n->in[s->first + n_state + i];
            QRN_TRY(pick(im, x, s->in_axes[i], s->in_reverse[i] ? s->n_rounds - 1 - r : r));
            if (s->batched)
                QRN_TRY(pick(im, x, 0, batch));
        }
        QRN_TRY(run_round(im, &s->l, in, out));
        memcpy(s->l.state, out, n_state * sizeof *out);
        for (uint32_t i = 0; i < s->l.n_scan; i++) {
            uint32_t at = s->out_reverse[i] ? s->n_rounds - 1 - r : r;
            s->l.scan[(size_t)i * MAX_ROUNDS + at] = out[n_state + i];
        }
    }
    return QRN_OK;
}

// The names of all outputs after a run: states, then what was collected.
static qrn_status scan_results(ox_import *im, scan *s, const char **names) {
    memcpy(names, s->l.state, s->l.n_state * sizeof *names);
    for (uint32_t i = 0; i < s->l.n_scan; i++) {
        const char **rows = s->l.scan + (size_t)i * MAX_ROUNDS;
        uint32_t axis;
        QRN_TRY(ox_axis(im, s->l.n, s->out_axes[i], ox_scope_find(im->scope, rows[0])->rank + 1,
                        &axis));
        QRN_TRY(ox_stack(im, rows, s->n_rounds, axis, &names[s->l.n_state + i]));
    }
    return QRN_OK;
}

static qrn_status import_scan(ox_import *im, const ox_node *n) {
    scan *s = ox_alloc(im, sizeof *s);
    if (!s)
        return ox_no_memory(im);
    QRN_TRY(read_scan(im, n, s));
    const ox_val *first = ox_input(im, n, 1);
    if (s->batched && (!first || first->rank == 0 || first->dims[0] == 0))
        return ox_fail(im, n, QRN_E_SHAPE,
                       "its first input has no batch dimension, or an empty one");
    uint32_t batch = s->batched ? first->dims[0] : 1, n_out = n->n_out;
    if ((uint64_t)batch * s->n_rounds > MAX_ROUNDS)
        return too_many(im, &s->l);
    const char **names = ox_alloc(im, (size_t)(n_out + 1) * batch * sizeof *names);
    if (!names)
        return ox_no_memory(im);
    for (uint32_t b = 0; b < batch; b++) {
        const char *result[64];
        QRN_TRY(run_scan(im, s, b));
        QRN_TRY(scan_results(im, s, result));
        for (uint32_t i = 0; i < n_out; i++)
            names[(size_t)i * batch + b] = result[i];
    }
    for (uint32_t i = 0; i < n_out; i++) {
        const char *whole = names[(size_t)i * batch];
        if (s->batched)
            QRN_TRY(ox_stack(im, names + (size_t)i * batch, batch, 0, &whole));
        QRN_TRY(give_named(im, &s->l, i, whole));
    }
    return QRN_OK;
}

const ox_importer ox_import_loop[] = {
    {"Loop", "", import_loop},
    {"Scan", "", import_scan},
    {0},
};
