// SPDX-License-Identifier: MIT
#include "tools/architecture_checker/rules.h"

#include "tools/quern/flags.h"
#include "tools/quern/output.h"

#include "QnnOpDef.h"
#include "QnnTypes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define GRAPH UINT32_MAX
#define CHANNELS 32u

static int no_memory(void) {
    qt_error("out of memory");
    return QT_EXIT_FAILURE;
}

__attribute__((format(printf, 2, 3))) static const char *text_of(qrn_arena *a, const char *fmt,
                                                                 ...) {
    char buf[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(buf, sizeof buf, fmt, args);
    va_end(args);
    return qrn_arena_strdup(a, buf);
}

static bool add(const ac_net *n, ac_rows *rows, ac_row row) {
    if (rows->n == rows->cap) {
        uint32_t cap = rows->cap ? 2 * rows->cap : 64;
        ac_row *grown = qrn_arena_alloc(n->arena, cap * sizeof *grown);
        if (!grown)
            return false;
        if (rows->n)
            memcpy(grown, rows->list, rows->n * sizeof *grown);
        rows->list = grown;
        rows->cap = cap;
    }
    rows->list[rows->n++] = row;
    return row.issue && row.recommendation;
}

// --- published rules

static bool is_wide(const ac_tensor *t) {
    return !ac_is_constant(t) && (t->data_type == QNN_DATATYPE_UFIXED_POINT_16 ||
                                  t->data_type == QNN_DATATYPE_SFIXED_POINT_16);
}

static bool check_types(const ac_net *n, ac_rows *rows) {
    uint32_t wide = 0;
    for (uint32_t i = 0; i < n->n_tensors; i++)
        wide += is_wide(&n->tensors[i]);
    return !wide ||
           add(n, rows,
               (ac_row){
                   .node = GRAPH,
                   .issue = text_of(n->arena, "the graph has 16-bit activations: %u tensors", wide),
                   .recommendation = "quantize activations to 8 bits where accuracy allows it"});
}

static bool is_convolution(const char *type) {
    return strcmp(type, QNN_OP_CONV_2D) == 0 || strcmp(type, QNN_OP_CONV_3D) == 0 ||
           strcmp(type, QNN_OP_TRANSPOSE_CONV_2D) == 0 ||
           strcmp(type, QNN_OP_TRANSPOSE_CONV_3D) == 0;
}

static uint32_t channels_of(const ac_tensor *t) { return t->rank ? t->dims[t->rank - 1] : 0; }

static bool check_channels(const ac_net *n, uint32_t i, ac_rows *rows) {
    const ac_node *node = &n->nodes[i];
    if (!is_convolution(node->type) || !node->n_in || !node->n_out)
        return true;
    uint32_t in = channels_of(&n->tensors[node->in[0]]);
    uint32_t out = channels_of(&n->tensors[node->out[0]]);
    if (in >= CHANNELS && out >= CHANNELS)
        return true;
    return add(
        n, rows,
        (ac_row){.node = i,
                 .issue = text_of(n->arena, "a convolution of %u to %u channels: fewer than 32", in,
                                  out),
                 .recommendation = "have at least 32 channels on both sides: the matrix unit "
                                   "computes 32 at a time"});
}

static bool check_node(const ac_net *n, uint32_t i, ac_rows *rows) {
    const ac_node *node = &n->nodes[i];
    bool divides = strcmp(node->type, QNN_OP_ELEMENT_WISE_DIVIDE) == 0 && node->n_in == 2 &&
                   ac_is_constant(&n->tensors[node->in[1]]);
    if (divides &&
        !add(n, rows,
             (ac_row){.node = i,
                      .issue = "a division by a constant",
                      .recommendation = "multiply by the reciprocal",
                      .rule = "elwisediv",
                      .info = "ElementWiseDivide becomes ElementWiseMultiply by the reciprocal"}))
        return false;
    if (strcmp(node->type, QNN_OP_PRELU) == 0 &&
        !add(n, rows,
             (ac_row){.node = i,
                      .issue = "Prelu is a separate step",
                      .recommendation = "Relu or LeakyRelu joins the step before it",
                      .rule = "prelu",
                      .info = "Prelu becomes Relu"}))
        return false;
    return check_channels(n, i, rows);
}

// --- advice of the device model

static uint32_t find_node(const ac_net *n, const char *name) {
    for (uint32_t i = 0; i < n->n_nodes; i++)
        if (strcmp(n->nodes[i].name, name) == 0)
            return i;
    return GRAPH;
}

// Rules of the model that the published ones above have said already.
static bool is_said(const char *rule) {
    return strcmp(rule, "channels") == 0 || strcmp(rule, "division") == 0 ||
           strcmp(rule, "prelu") == 0 || strcmp(rule, "precision") == 0;
}

static bool add_advice(const ac_net *n, const qt_network *net, const qt_estimate *e,
                       const qd_advice *a, ac_rows *rows) {
    for (uint32_t i = 0; i < a->n && !is_said(a->rule); i++) {
        const qd_hit *h = &a->hits[i];
        const char *gain = a->unknown
                               ? "gain not known"
                               : text_of(n->arena, "%s%.1f %% of the estimated time",
                                         a->at_most ? "at most " : "", qt_share(h->gain, &e->e));
        if (!gain ||
            !add(n, rows,
                 (ac_row){.node = find_node(n, net->steps.list[h->step].op->name),
                          .issue = text_of(n->arena, "%s: %s", a->rule, h->detail),
                          .recommendation = text_of(n->arena, "%s (%s)", a->change, gain)}))
            return false;
    }
    return true;
}

static int check_model(ac_net *n, const qt_target *at, ac_rows *rows) {
    qt_network net = {.n_parts = 1};
    qt_estimate e;
    qd_advices advice = {0};
    qrn_status s = ac_net_graph(n, &net.graph);
    if (s == QRN_OK)
        s = qd_cut(&net.graph, &net.steps);
    if (s == QRN_OK) {
        int code = qt_estimate_of(&net, at, qd_precision_of(&net.graph, &net.steps), &e);
        if (code != QT_EXIT_OK)
            return code;
        if (e.known)
            s = qd_advise(&net.graph, &net.steps, &e.e, at->chip, e.precision, 0, n->arena,
                          &advice);
        else
            qt_inform("no published measurements of %s on %s: only the published rules apply",
                      qd_precision_names[e.precision], at->chip->name);
    }
    if (s != QRN_OK) {
        qt_error("%s", qrn_message());
        return QT_EXIT_FAILURE;
    }
    for (uint32_t i = 0; i < advice.n; i++)
        if (!add_advice(n, &net, &e, &advice.list[i], rows))
            return no_memory();
    return QT_EXIT_OK;
}

int ac_check(ac_net *n, const qt_target *at, ac_rows *out) {
    if (!check_types(n, out))
        return no_memory();
    for (uint32_t i = 0; i < n->n_nodes; i++)
        if (!check_node(n, i, out))
            return no_memory();
    return check_model(n, at, out);
}
