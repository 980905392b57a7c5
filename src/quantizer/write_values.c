// SPDX-License-Identifier: MIT
//
// Values of a model that is written: encodings, constants, and conversions between widths.
//
// Names: a value keeps its own; "<value>_q" are its quantized values and "<value>_dq" what is read
// of them. "<value>_dq16" and "<value>_dq8" are the same numbers for a node of that width.
#include "base/mem.h"
#include "frontend/onnx/reader/schema.h"
#include "quantizer/weights.h"
#include "quantizer/writing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *qz_name_of(qz_writing *w, const char *base, const char *suffix) {
    size_t n = strlen(base) + strlen(suffix) + 8;
    char *name = qrn_arena_alloc(w->g->arena, n);
    if (!name)
        return NULL;
    snprintf(name, n, "%s_%s", base, suffix);
    for (int i = 0; i < 4 && qz_find(w->g, name); i++)
        strcat(name, "_");
    return name;
}

static qrn_status no_memory(void) { return QRN_FAIL(QRN_E_MEM, "out of memory for the model"); }

// True once for each name.
static bool first_time(qz_writing *w, const char *name) {
    return !qrn_strmap_get(&w->made, name) && qrn_strmap_put(&w->made, name, w);
}

qrn_status qz_put_constant(qz_writing *w, const qz_tensor *t) {
    w->report.weight_bytes += t->bytes;
    return qz_put_tensor(&w->constants, PB_GRAPH_INITIALIZER, t, w->weights);
}

// Nodes are called after what they make; the model's own node of an output may have that name.
static void put_conversion(qz_writing *w, bool quantize, const char *from, const char *scale,
                           const char *zero, const char *to, const qz_constant *c) {
    const char *name = qz_find(w->g, to) ? qz_name_of(w, to, "output") : to;
    ox_writer n = {0};
    ox_put_text(&n, PB_NODE_INPUT, from);
    ox_put_text(&n, PB_NODE_INPUT, scale);
    if (zero)
        ox_put_text(&n, PB_NODE_INPUT, zero);
    ox_put_text(&n, PB_NODE_OUTPUT, to);
    ox_put_text(&n, PB_NODE_NAME, name ? name : "");
    ox_put_text(&n, PB_NODE_OP_TYPE, quantize ? "QuantizeLinear" : "DequantizeLinear");
    if (c && (c->n_scales > 1 || c->block))
        qz_put_int(&n, "axis", c->axis);
    if (c && c->block)
        qz_put_int(&n, "block_size", c->block);
    ox_put_message(&w->nodes, PB_GRAPH_NODE, &n);
}

// --- activations

qrn_status qz_list_encoding(const qz_writing *w, const qz_value *v, const qz_enc *e) {
    const int32_t offset = -e->zero;
    const qz_encoding q = {.name = v->name,
                           .place = v->data ? QZ_OF_PARAM : QZ_OF_ACTIVATION,
                           .is_float = e->bits == 0,
                           .bits = e->bits ? e->bits : 16,
                           .symmetric = e->bits && e->zero == 1 << (e->bits - 1),
                           .n = e->bits ? 1 : 0,
                           .scales = e->bits ? &e->scale : NULL,
                           .offsets = e->bits ? &offset : NULL,
                           .axis = QZ_NO_AXIS};
    if (!w->encodings || qz_encodings_find(w->encodings, v->name))
        return QRN_OK;
    return qz_encodings_add(w->encodings, &q);
}

// Scale and zero point of an encoding, written once for all that share it. A suffix is for one that
// is not the value's own.
static qrn_status put_encoding(qz_writing *w, qz_value *v, const qz_enc *enc, const char *suffix,
                               const char **scale, const char **zero) {
    qz_value *f = qz_first(v);
    char text[2][16];
    snprintf(text[0], sizeof text[0], "scale%s", suffix);
    snprintf(text[1], sizeof text[1], "zero%s", suffix);
    *scale = qz_name_of(w, f->name, text[0]);
    *zero = qz_name_of(w, f->name, text[1]);
    if (!*scale || !*zero)
        return no_memory();
    if (!first_time(w, *scale))
        return QRN_OK;
    bool wide = enc->bits == 16;
    qz_enc e = *enc;
    uint16_t z16 = (uint16_t)e.zero;
    uint8_t z8 = (uint8_t)e.zero;
    QRN_TRY(qz_put_constant(w, &(qz_tensor){*scale, OX_F32, 0, {0}, &e.scale, sizeof e.scale}));
    return qz_put_constant(
        w,
        &(qz_tensor){
            *zero, wide ? OX_U16 : OX_U8, 0, {0}, wide ? (const void *)&z16 : &z8, wide ? 2u : 1u});
}

// --- nodes of one width

static bool is_narrow(const qz_value *v) {
    return qz_first((qz_value *)v)->narrow && v->enc.bits == 8;
}

// The bits in which a node computes: those of its result unless that is rounded behind it, or the
// most of what it reads; 0: floats.
static unsigned width_of(const qz_writing *w, const ox_node *n) {
    unsigned most = 0;
    unsigned narrow = 0;
    for (uint32_t i = 0; i < n->n_out; i++) {
        const qz_value *v = qz_find(w->g, n->out[i]);
        if (v && qz_is_activation(v) && v->enc.bits && !is_narrow(v))
            return v->enc.bits;
        if (v && v->fused && v->reader)
            return width_of(w, v->reader);
        if (v && qz_is_activation(v))
            narrow = v->enc.bits;
    }
    for (uint32_t i = 0; i < n->n_in; i++) {
        const qz_value *v = qz_find(w->g, n->in[i]);
        if (v && qz_is_activation(v) && v->enc.bits > most)
            most = v->enc.bits;
    }
    return most ? most : narrow;
}

// The 16 bits in which *made is computed, before it is rounded to its own 8; *made is their name.
static qrn_status put_rounding(qz_writing *w, qz_value *v, const char **made) {
    const char *scale, *zero, *q = qz_name_of(w, v->name, "made_q");
    const char *dq = qz_name_of(w, v->name, "made_dq");
    const qz_enc enc = qz_encode(qz_first(v), 16, false);
    if (!q || !dq)
        return no_memory();
    QRN_TRY(put_encoding(w, v, &enc, "made", &scale, &zero));
    put_conversion(w, true, *made, scale, zero, q, NULL);
    put_conversion(w, false, q, scale, zero, dq, NULL);
    qz_put_value(&w->infos, PB_GRAPH_VALUE_INFO, dq, v->type, v->rank, v->dims);
    *made = dq;
    return QRN_OK;
}

// Quantizes a value that was just made (or is an input) under the name `made`.
qrn_status qz_put_pair(qz_writing *w, qz_value *v, const char *made) {
    bool port = qz_is_quantized_port(v);
    const char *scale, *zero, *q = port ? v->name : qz_name_of(w, v->name, "q");
    const char *dq = qz_name_of(w, v->name, "dq");
    if (!q || !dq)
        return no_memory();
    QRN_TRY(put_encoding(w, v, &v->enc, "", &scale, &zero));
    QRN_TRY(qz_list_encoding(w, v, &v->enc));
    if (is_narrow(v) && v->maker && width_of(w, v->maker) == 16)
        QRN_TRY(put_rounding(w, v, &made));
    if (!port || !v->is_input)
        put_conversion(w, true, made, scale, zero, q, NULL);
    if (v->is_output && !v->is_input && !port)
        put_conversion(w, false, q, scale, zero, v->name, NULL);
    if (v->n_uses) {
        put_conversion(w, false, q, scale, zero, dq, NULL);
        qz_put_value(&w->infos, PB_GRAPH_VALUE_INFO, dq, v->type, v->rank, v->dims);
    }
    w->report.n_quantized++;
    return QRN_OK;
}

// How node n reads a value that has an encoding: in its own bits, or in those of the node.
typedef struct reading {
    qz_enc enc;
    const char *suffix; // "": the value's own
} reading;

static reading read_by(const qz_writing *w, const ox_node *n, uint32_t input, const qz_value *v) {
    unsigned bits = width_of(w, n);
    reading r = {v->enc, ""};
    bool second = qz_is(n, "MatMul") && input == 1 && bits == 16; // symmetric (HTP-A16-04)
    if (!bits || bits == v->enc.bits || (second && is_narrow(v)))
        return r;
    r.enc = qz_encode(qz_first((qz_value *)v), bits, second);
    r.suffix = second ? "16s" : bits == 16 ? "16" : "8";
    return r;
}

// The name under which a node reads an activation.
static qrn_status put_read(qz_writing *w, qz_value *v, const reading *r, const char **name) {
    const char *scale, *zero, *dq = qz_name_of(w, v->name, "dq");
    char text[2][16];
    snprintf(text[0], sizeof text[0], "q%s", r->suffix);
    snprintf(text[1], sizeof text[1], "dq%s", r->suffix);
    const char *q = qz_name_of(w, v->name, text[0]);
    *name = qz_name_of(w, v->name, text[1]);
    if (!dq || !q || !*name)
        return no_memory();
    if (!r->suffix[0] || !first_time(w, *name))
        return QRN_OK;
    QRN_TRY(put_encoding(w, v, &r->enc, r->suffix, &scale, &zero));
    put_conversion(w, true, dq, scale, zero, q, NULL);
    put_conversion(w, false, q, scale, zero, *name, NULL);
    qz_put_value(&w->infos, PB_GRAPH_VALUE_INFO, *name, v->type, v->rank, v->dims);
    return QRN_OK;
}

// --- constants

static qrn_status put_plain(qz_writing *w, const qz_value *v) {
    qz_tensor t = {v->name, v->type, v->rank, {0}, v->data, v->bytes};
    memcpy(t.dims, v->dims, sizeof t.dims);
    return first_time(w, v->name) ? qz_put_constant(w, &t) : QRN_OK;
}

// Quantized values `c` of constant v and their DequantizeLinear, whose result is `dq`.
static qrn_status put_quantized(qz_writing *w, const qz_value *v, const qz_constant *c,
                                const char *zero, const char *scale, const char *dq) {
    const char *q = qz_name_of(w, dq, "q");
    if (!q)
        return no_memory();
    qz_tensor t = {q, c->type, v->rank, {0}, c->data, c->bytes};
    memcpy(t.dims, v->dims, sizeof t.dims);
    QRN_TRY(qz_put_constant(w, &t));
    put_conversion(w, false, q, scale, zero, dq, c);
    qz_put_value(&w->infos, PB_GRAPH_VALUE_INFO, dq, v->type, v->rank, v->dims);
    return QRN_OK;
}

static qrn_status put_operand(qz_writing *w, qz_value *v, const reading *r, const char **name) {
    const char *scale, *zero;
    char text[16];
    snprintf(text, sizeof text, "dq%s", r->suffix);
    if (!(*name = qz_name_of(w, v->name, text)))
        return no_memory();
    if (!first_time(w, *name))
        return QRN_OK;
    qz_constant c;
    QRN_TRY(put_encoding(w, v, &r->enc, r->suffix, &scale, &zero));
    QRN_TRY(qz_list_encoding(w, v, &r->enc));
    QRN_TRY(qz_quantize_operand(v, &r->enc, &c));
    qrn_status s = put_quantized(w, v, &c, zero, scale, *name);
    qz_constant_free(&c);
    return s;
}

// The scales of a signed constant, per tensor, channel or block.
static qrn_status put_scales(qz_writing *w, const qz_value *v, const qz_constant *c,
                             const char *name) {
    qz_tensor t = {name, OX_F32, 0, {0}, c->scales, c->n_scales * sizeof *c->scales};
    if (c->block) {
        t.rank = v->rank;
        memcpy(t.dims, v->dims, sizeof t.dims);
        t.dims[c->axis] /= c->block;
    } else if (c->n_scales > 1) {
        t.rank = 1;
        t.dims[0] = c->n_scales;
    }
    return qz_put_constant(w, &t);
}

// The zero point of a constant that is not symmetric.
static qrn_status put_zero(qz_writing *w, const qz_constant *c, const char *name) {
    uint16_t z16 = (uint16_t)c->zero;
    uint8_t z8 = (uint8_t)c->zero;
    bool wide = c->type == OX_U16;
    return qz_put_constant(
        w, &(qz_tensor){name, c->type, 0, {0}, wide ? (const void *)&z16 : &z8, wide ? 2u : 1u});
}

static qrn_status list_constant(const qz_writing *w, const qz_value *v, const qz_constant *c) {
    unsigned bits = ox_type_bits(c->type);
    qz_encoding q = {.name = v->name,
                     .place = QZ_OF_PARAM,
                     .bits = bits,
                     .symmetric = c->zero == 0,
                     .n = c->n_scales,
                     .scales = c->scales,
                     .axis = c->n_scales > 1 || c->block ? c->axis : QZ_NO_AXIS,
                     .block = c->block};
    if (!w->encodings || qz_encodings_find(w->encodings, v->name))
        return QRN_OK;
    int32_t *offsets = qrn_alloc(c->n_scales * sizeof *offsets);
    for (uint32_t i = 0; offsets && i < c->n_scales; i++)
        offsets[i] = c->zero ? -c->zero : (int32_t) - (INT64_C(1) << (bits - 1));
    q.offsets = offsets;
    qrn_status s = offsets ? qz_encodings_add(w->encodings, &q) : no_memory();
    qrn_free(offsets);
    return s;
}

// Values of a weight or bias with their scales.
static qrn_status put_scaled(qz_writing *w, const qz_value *v, const qz_constant *c,
                             const char *dq) {
    const char *scale = qz_name_of(w, dq, "scale"),
               *zero = c->zero ? qz_name_of(w, dq, "zero") : NULL;
    if (!scale || (c->zero && !zero))
        return no_memory();
    QRN_TRY(list_constant(w, v, c));
    QRN_TRY(put_scales(w, v, c, scale));
    if (zero)
        QRN_TRY(put_zero(w, c, zero));
    return put_quantized(w, v, c, zero, scale, dq);
}

static bool makes_output(const qz_graph *g, const ox_node *n) {
    const qz_value *y = qz_find(g, n->out[0]);
    return y && y->is_output;
}

static void note_rounding(qz_writing *w, const qz_constant *c) {
    w->report.n_adapted += c->before > 0;
    w->report.n_corrected += c->shift != NULL;
    if (c->before > 0)
        w->report.gain_db += 10 * log10(c->before / (c->after > 0 ? c->after : c->before));
}

static qrn_status round_weight(const qz_writing *w, const qz_value *v, const ox_node *n,
                               const qz_scheme *scheme, qz_constant **out) {
    const qz_inputs in = qz_inputs_of(w->g, n);
    qz_constant *c = qrn_calloc(sizeof *c);
    if (!c)
        return no_memory();
    qrn_status s = v->given ? qz_quantize_given(v, n, c) : qz_quantize_weight(v, n, scheme, &in, c);
    if (s == QRN_OK) {
        *out = c;
        return QRN_OK;
    }
    qz_constant_free(c);
    qrn_free(c);
    return s;
}

// Rounding takes longer than all else of a search: each weight is rounded once for each width.
static qrn_status round_once(const qz_writing *w, const qz_value *v, const ox_node *n,
                             const char *name, const qz_scheme *scheme, qz_constant **out) {
    char suffix[32];
    snprintf(suffix, sizeof suffix, "/%u/%u", scheme->weight_bits, scheme->block);
    size_t head = strlen(name), tail = strlen(suffix) + 1;
    char *key = qrn_arena_alloc(w->g->arena, head + tail);
    if (!key)
        return no_memory();
    memcpy(key, name, head);
    memcpy(key + head, suffix, tail);
    if ((*out = qrn_strmap_get(&w->g->rounded, key)))
        return QRN_OK;
    QRN_TRY(round_weight(w, v, n, scheme, out));
    if (qrn_strmap_put(&w->g->rounded, key, *out))
        return QRN_OK;
    qz_constant_free(*out);
    qrn_free(*out);
    return no_memory();
}

// A weight by the node that reads it; another node with other axes gets its own.
static qrn_status put_weight(qz_writing *w, const qz_value *v, const ox_node *n, const char **name,
                             const qz_constant **kept) {
    char suffix[32];
    int32_t channel = 0, summed = 0;
    bool axes = qz_weight_axes(n, v, &channel, &summed);
    snprintf(suffix, sizeof suffix, "w%d", axes ? channel : -1);
    if (!(*name = qz_name_of(w, v->name, suffix)))
        return no_memory();
    if ((*kept = qrn_strmap_get(&w->scales, *name)))
        return QRN_OK;
    qz_scheme scheme = *w->scheme;
    if (v->set_bits)
        scheme.weight_bits = v->set_bits;
    else if (scheme.weight_bits == 4 && makes_output(w->g, n)) { // straight to the result
        scheme.weight_bits = 8;
        scheme.block = 0;
    }
    bool keeps = w->g->keeps_rounded;
    qz_constant *c;
    QRN_TRY(keeps ? round_once(w, v, n, *name, &scheme, &c) : round_weight(w, v, n, &scheme, &c));
    note_rounding(w, c);
    qrn_status s = put_scaled(w, v, c, *name);
    if (!keeps) {
        qrn_free(c->data);
        c->data = NULL;
    }
    if (s == QRN_OK && !qrn_strmap_put(&w->scales, *name, c))
        s = no_memory();
    if (s != QRN_OK && !keeps) {
        qz_constant_free(c);
        qrn_free(c);
    }
    *kept = s == QRN_OK ? c : NULL;
    return s;
}

// Are the values of a weight integers for that node?
static bool is_quantized(const qz_writing *w, const ox_node *n, const qz_value *v) {
    const qz_value *x = qz_find(w->g, n->in[0]);
    return w->scheme->weight_bits != 32 && !v->must_float &&
           (v->given || !w->scheme->only_given || (x && x->enc.bits));
}

// A bias that stays float, corrected.
static qrn_status put_shifted(qz_writing *w, const qz_value *v, const qz_constant *weight,
                              const ox_node *n, const char **name) {
    uint32_t count = v->dims[0];
    float *b = qrn_arena_alloc(w->g->arena, count * sizeof *b);
    *name = qz_name_of(w, n->out[0], "bias");
    if (!b || !*name)
        return no_memory();
    memcpy(b, v->data, count * sizeof *b);
    for (uint32_t i = 0; i < count; i++)
        b[i] += weight->shift[i];
    return qz_put_constant(w, &(qz_tensor){*name, OX_F32, 1, {count}, b, count * sizeof *b});
}

static qrn_status put_bias(qz_writing *w, const qz_value *v, const ox_node *n, const char **name) {
    const qz_value *x = qz_find(w->g, n->in[0]), *k = qz_find(w->g, n->in[1]);
    const qz_constant *weight;
    const char *unused;
    qz_constant c = {0};
    *name = v->name;
    if (!x || !qz_is_float_constant(k) || !is_quantized(w, n, k))
        return put_plain(w, v);
    QRN_TRY(put_weight(w, k, n, &unused, &weight));
    if (x->enc.bits)
        QRN_TRY(qz_quantize_bias(v, read_by(w, n, 0, x).enc.scale, weight, &c));
    if (!c.data)
        return weight->shift ? put_shifted(w, v, weight, n, name) : put_plain(w, v);
    // Its scale is that of this node's operands: another node has another one.
    qrn_status s =
        (*name = qz_name_of(w, n->out[0], "bias")) ? put_scaled(w, v, &c, *name) : no_memory();
    qz_constant_free(&c);
    return s;
}

// What node n reads as input i.
qrn_status qz_put_input(qz_writing *w, const ox_node *n, uint32_t i, const char **name) {
    qz_value *v = qz_find(w->g, n->in[i]);
    const qz_constant *weight;
    *name = n->in[i];
    if (!v)
        return QRN_OK;
    const reading r = read_by(w, n, i, v);
    if (!v->data) {
        *name = v->name;
        return v->enc.bits ? put_read(w, v, &r, name) : QRN_OK;
    }
    qz_role role = qz_is_float_constant(v) ? qz_role_of(w->g, n, i) : QZ_ROLE_FLOAT;
    if (role == QZ_ROLE_WEIGHT && is_quantized(w, n, v))
        return put_weight(w, v, n, name, &weight);
    if (role == QZ_ROLE_BIAS)
        return put_bias(w, v, n, name);
    if (role == QZ_ROLE_OPERAND && v->enc.bits)
        return put_operand(w, v, &r, name);
    return put_plain(w, v);
}
