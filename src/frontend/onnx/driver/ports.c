// SPDX-License-Identifier: MIT
//
// Inputs and outputs of the imported graph: their shapes, their application tensors, and what the
// caller gets a report of them.
#include "frontend/onnx/driver/internal.h"

#include <string.h>

// --- graph inputs

static int64_t bound_dim(const ox_options *opt, const char *symbol) {
    for (uint32_t i = 0; symbol && i < opt->n_dims; i++)
        if (strcmp(opt->dim_names[i], symbol) == 0)
            return opt->dim_values[i];
    return -1;
}

static qrn_status dynamic(const ox_info *info) {
    char text[QRN_MESSAGE_MAX];
    ox_describe_dynamic(&info, 1, true, text, sizeof text);
    return QRN_FAIL(QRN_E_DYNAMIC_SHAPE, "%s", text);
}

static qrn_status input_shape(ox_import *im, const ox_info *info, uint32_t position, ox_val *v) {
    const ox_info *given =
        position < im->opt->n_input_shapes ? &im->opt->input_shapes[position] : NULL;
    if (given && !given->has_shape)
        given = NULL;
    if (!info->has_shape && !given)
        return dynamic(info);
    if (given && info->has_shape && given->rank != info->rank)
        return QRN_FAIL(QRN_E_SHAPE, "input '%s': rank %u, expected %u", info->name, given->rank,
                        info->rank);
    v->rank = info->has_shape ? info->rank : given->rank;
    for (uint32_t d = 0; d < v->rank; d++) {
        int64_t n = info->has_shape ? info->dims[d] : -1;
        if (n < 0)
            n = bound_dim(im->opt, info->symbols[d]);
        if (n < 0 && given)
            n = given->dims[d];
        if (n < 0)
            return dynamic(info);
        if (n == 0 || n > UINT32_MAX)
            return QRN_FAIL(QRN_E_SHAPE, "input '%s' dimension %u is %lld", info->name, d,
                            (long long)n);
        if (given && given->dims[d] != n)
            return QRN_FAIL(QRN_E_SHAPE, "input '%s' dimension %u is %lld, expected %lld",
                            info->name, d, (long long)given->dims[d], (long long)n);
        v->dims[d] = (uint32_t)n;
    }
    return QRN_OK;
}

// *entry: the application's tensor.
static qrn_status create_input(ox_import *im, const ox_info *info, uint32_t position,
                               qc_tensor **entry) {
    ox_val *v;
    QRN_TRY(ox_scope_add(im, im->scope, info->name, &v));
    if (info->type == OX_NONE)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "input '%s' is not a tensor", info->name);
    v->type = ox_held_type(im, NULL, info->type);
    v->narrowed = v->type != info->type;
    QRN_TRY(input_shape(im, info, position, v));
    v->known = true;
    if (info->enc)
        v->enc = info->enc;
    if (ox_type_bits(v->type) > 16)
        v->enc = NULL; // fixed point of 32 bits is for biases
    QRN_TRY(ox_fit_encoding(im, v));
    if (!ox_is_wide(im, v)) {
        QRN_TRY(ox_tensor_create(im, v, OX_ONNX, QNN_TENSOR_TYPE_APP_WRITE, NULL, 0, entry));
        v->at[OX_ONNX] = *entry;
        return QRN_OK;
    }
    QRN_TRY(ox_tensor_wide(im, v, QNN_TENSOR_TYPE_APP_WRITE, entry));
    QRN_TRY(ox_tensor_create(im, v, OX_ONNX, QNN_TENSOR_TYPE_NATIVE, NULL, 0, &v->at[OX_ONNX]));
    return ox_emit_cast(im, NULL, *entry, v->at[OX_ONNX]);
}

qrn_status ox_align(ox_import *im, ox_val *v) {
    unsigned bytes = ox_type_bits(v->type) / 8;
    if (!v->data || bytes < 2 || (uintptr_t)v->data % bytes == 0)
        return QRN_OK;
    v->data = qrn_arena_copy(im->arena, v->data, v->bytes);
    return v->data ? QRN_OK : ox_no_memory(im);
}

// --- outputs

// Tensors that are an output already, by their position among the application's. How many there
// will be is not known: a value that is shown, too, may be made when another one is asked for.
typedef struct taken_ports {
    bool *items;
    uint32_t n;
} taken_ports;

static qrn_status take_port(ox_import *im, taken_ports *taken, uint32_t port) {
    if (port >= taken->n) {
        uint32_t n = 2 * port + 16;
        bool *grown = qrn_arena_alloc(im->arena, n);
        if (!grown)
            return ox_no_memory(im);
        if (taken->n)
            memcpy(grown, taken->items, taken->n);
        *taken = (taken_ports){grown, n};
    }
    taken->items[port] = true;
    return QRN_OK;
}

static bool is_taken(const taken_ports *taken, uint32_t port) {
    return port < taken->n && taken->items[port];
}

// The application tensor of an output: made by its node, or copied from where the value is. Two
// outputs with one value have a tensor each.
static qrn_status finish_output(ox_import *im, ox_val *v, const taken_ports *taken,
                                qc_tensor **out) {
    qc_tensor *x;
    if (ox_is_wide(im, v)) {
        QRN_TRY(ox_tensor_in(im, v, OX_ONNX, &x));
        QRN_TRY(ox_tensor_wide(im, v, QNN_TENSOR_TYPE_APP_READ, out));
        return ox_emit_cast(im, NULL, x, *out);
    }
    x = v->at[OX_ONNX];
    if (!x)
        QRN_TRY(ox_tensor_in(im, v, OX_ONNX, &x));
    if (x->t.v1.type == QNN_TENSOR_TYPE_APP_READ && !is_taken(taken, x->port)) {
        *out = x;
        return QRN_OK;
    }
    v->at[OX_ONNX] = NULL;
    QRN_TRY(ox_tensor_new(im, v, OX_ONNX, out));
    bool nibbles = v->type == OX_I4 || v->type == OX_U4; // Reshape does not take them
    return nibbles ? ox_emit_cast(im, NULL, x, *out) : ox_emit_reshape(im, NULL, x, *out);
}

static void describe_port(ox_port *p, const ox_val *v, qc_tensor *t) {
    *p = (ox_port){.name = v->name,
                   .type = v->type,
                   .rank = v->rank,
                   .counted = v->counted,
                   .tensor = t,
                   .enc = v->enc};
    size_t n = 1;
    for (uint32_t d = 0; d < v->rank; d++) {
        p->dims[d] = v->dims[d];
        n *= v->dims[d];
    }
    p->bytes = (n * ox_type_bits(v->type) + 7) / 8;
}

static qrn_status finish_port(ox_import *im, ox_val *v, int declared, taken_ports *taken,
                              ox_port *port) {
    qc_tensor *t = NULL;
    if (v->kind != OX_TENSOR)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "output '%s' is not a tensor", v->name);
    if (!v->data)
        QRN_TRY(finish_output(im, v, taken, &t));
    QRN_TRY(ox_align(im, v));
    describe_port(port, v, t);
    port->data = v->data;
    ox_widen_port(port, v, declared);
    return t ? take_port(im, taken, t->port) : QRN_OK;
}

qrn_status ox_finish_outputs(ox_import *im, const ox_graph *g, ox_result *r) {
    ox_port *ports = qrn_arena_alloc(im->arena, g->n_outputs * sizeof *ports);
    taken_ports taken = {0};
    if (!ports)
        return ox_no_memory(im);
    im->node = NULL;
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        ox_val *v = ox_scope_find(im->scope, g->outputs[i].name);
        if (im->opt->report && (!v || !v->known || v->refused))
            continue;
        if (!v || !v->known)
            return QRN_FAIL(QRN_E_UNCONNECTED, "output '%s' is not computed by any node",
                            g->outputs[i].name);
        qrn_status s = finish_port(im, v, g->outputs[i].type, &taken, &ports[i]);
        if (s != QRN_OK)
            QRN_TRY(ox_refuse_maker(im, g, v->name, s));
    }
    r->outputs = ports;
    r->n_outputs = g->n_outputs;
    return QRN_OK;
}

qrn_status ox_create_inputs(ox_import *im, const ox_graph *g, ox_result *r) {
    ox_port *ports = qrn_arena_alloc(im->arena, g->n_inputs * sizeof *ports);
    uint32_t n = 0;
    if (!ports)
        return ox_no_memory(im);
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        const ox_val *entered = ox_scope_find(im->scope, g->inputs[i].name);
        if (entered && entered->known)
            continue; // an initializer with a default that nobody overrides
        qc_tensor *entry = NULL;
        qrn_status s = create_input(im, &g->inputs[i], n, &entry);
        ox_val *v = ox_scope_find(im->scope, g->inputs[i].name);
        if (im->opt->report && (s == QRN_E_SHAPE || s == QRN_E_UNSUPPORTED))
            v->why = qrn_arena_strdup(im->arena, qrn_message());
        if (im->opt->report && (v->why || s == QRN_E_DYNAMIC_SHAPE))
            continue; // the nodes that read it are refused
        QRN_TRY(s);
        describe_port(&ports[n], v, entry);
        ox_widen_port(&ports[n++], v, g->inputs[i].type);
    }
    r->inputs = ports;
    r->n_inputs = n;
    return QRN_OK;
}
