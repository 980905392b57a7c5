// SPDX-License-Identifier: MIT
//
// A compiled graph as text: a line for the graph, then one a step, in the manner of SSA dumps:
//
//   3   %5: f32[1,8,8,6] = conv.f32(%0 input "x": f32[1,8,8,4], ...) {stride=[1,1]} live 3..4 //
//   ...
//
// The text depends on the graph alone, not on addresses or the locale, so that two dumps can be
// compared. Lines have room in those of the log; what does not fit is cut, and "..." says so.
#include "compiler/compiled.h"

#include "base/mem.h"
#include "base/report_text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 2000   // of 2048 that the log has
#define PART_BYTES 256    // that are added at once
#define NAME_BYTES 64     // of one name
#define MOST_OPERANDS 8   // inputs or outputs of a step
#define LEFT_COLUMNS 28   // of outputs, before the op
#define OPERAND_BYTES 450 // at which a list of operands is cut as well

typedef struct text {
    char data[LINE_BYTES];
    size_t n;
    size_t room; // bytes that may be used now; "..." lies behind them
    bool cut;
} text;

// Steps that first and last touch a value's memory; by number of the value that owns it.
typedef struct life {
    uint32_t first, last;
} life;

typedef struct printing {
    const qrn_compiled *cg;
    life *lives; // [n_values]
    void (*line)(void *ctx, const char *text);
    void *ctx;
} printing;

// --- pieces

static void begin(text *t, size_t room) {
    t->n = 0;
    t->room = room;
    t->cut = false;
    t->data[0] = '\0';
}

__attribute__((format(printf, 2, 3))) static void add(text *t, const char *fmt, ...) {
    char part[PART_BYTES];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(part, sizeof part, fmt, args);
    va_end(args);
    if (n < 0 || t->cut)
        return;
    t->cut = (size_t)n >= sizeof part || (size_t)n >= t->room - t->n;
    n = snprintf(t->data + t->n, sizeof t->data - t->n, "%s", t->cut ? "..." : part);
    t->n += (size_t)n;
}

// A name in quotes: what would steer a terminal is escaped, and long ones are cut.
static void add_name(text *t, const char *name) {
    char shown[NAME_BYTES + 8], part[QRN_SHOWN_MAX];
    size_t n = 0;
    for (unsigned used; (used = qrn_shown_char(name, SIZE_MAX, part)) > 0; name += used) {
        if (n + strlen(part) + 1 > NAME_BYTES) {
            n += (size_t)snprintf(shown + n, sizeof shown - n, "...");
            break;
        }
        n += (size_t)snprintf(shown + n, sizeof shown - n, "%s%s", *part == '"' ? "\\" : "", part);
    }
    add(t, "\"%.*s\"", (int)n, shown);
}

// The fewest digits that read as the same number.
static void add_real(text *t, double v, bool single) {
    char digits[40];
    for (int n = 6; n <= 17; n++) {
        snprintf(digits, sizeof digits, "%.*g", n, v);
        if (single ? strtof(digits, NULL) == (float)v : strtod(digits, NULL) == v)
            break;
    }
    for (char *s = digits; *s; s++) // the locale may have another decimal point
        if (!isalnum((unsigned char)*s) && *s != '-' && *s != '+')
            *s = '.';
    add(t, "%s", digits);
}

// --- values

static void add_encoding(text *t, const qrn_cvalue *v) {
    const qrn_quant *q = &v->quant;
    if (q->kind == QRN_QUANT_NONE)
        return;
    add(t, "<");
    if (q->kind == QRN_QUANT_TENSOR) {
        add(t, "scale ");
        add_real(t, (double)q->scale, true);
        add(t, " offset %d", q->offset);
    } else if (q->kind == QRN_QUANT_AXIS) {
        add(t, "per axis %u, %u scales", q->axis, q->n_groups);
    } else {
        add(t, "per block [");
        for (uint32_t i = 0; i < v->shape.rank; i++)
            add(t, "%s%u", i ? "," : "", q->block[i]);
        add(t, "], %u scales", q->n_groups);
    }
    if (q->kind != QRN_QUANT_TENSOR &&
        (q->offsets || q->real_offsets || (q->packed && q->packed->offsets)))
        add(t, " and offsets");
    if (q->bits && q->bits != qrn_dtypes[v->dtype].bits)
        add(t, ", %u bits", q->bits);
    if (q->shift != 0) {
        add(t, ", shift ");
        add_real(t, (double)q->shift, true);
    }
    add(t, ">");
}

static void add_type(text *t, const qrn_cvalue *v) {
    char shape[16 * QRN_MAX_RANK];
    add(t, ": %s%s", qrn_dtypes[v->dtype].token, qrn_shape_text(&v->shape, shape, sizeof shape));
    add_encoding(t, v);
    if (v->n_sparse)
        add(t, " sparse(%u elements, %u indexed dimensions)", v->n_sparse, v->n_sparse_dims);
    if (v->dynamic)
        add(t, " dynamic");
    if (v->conditional)
        add(t, " conditional");
}

static void add_constant(text *t, const qrn_cconst *c) {
    switch ((qrn_const_kind)c->kind) {
    case QRN_CONST_MADE:
        add(t, " const made");
        break;
    case QRN_CONST_TENSOR:
        add(t, " const tensor%s", c->updateable ? " updateable" : "");
        break;
    case QRN_CONST_ROUNDED:
        add(t, " const rounded(%%%u)", c->source);
        break;
    case QRN_CONST_SCALED:
        add(t, " const scaled(%%%u axis %u by %%%u)", c->source, c->axis, c->factors);
        break;
    }
}

static void add_value(text *t, const qrn_compiled *cg, qrn_val number) {
    if (number == QRN_VAL_NONE) {
        add(t, "none");
        return;
    }
    const qrn_cvalue *v = &cg->values[number];
    add(t, "%%%u", number);
    if (v->kind == QRN_CV_CONST)
        add_constant(t, &cg->constants[v->constant]);
    else if (v->kind == QRN_CV_IO)
        add(t, cg->io[v->io].is_output ? " output" : " input");
    if (v->name[0]) {
        add(t, " ");
        add_name(t, v->name);
    }
    if (v->base != QRN_VAL_NONE)
        add(t, " in %%%u+%zu", v->base, v->base_offset);
    add_type(t, v);
}

static void add_values(text *t, const qrn_compiled *cg, const uint32_t *list, uint32_t n) {
    size_t start = t->n;
    for (uint32_t i = 0; i < n; i++) {
        if (i == MOST_OPERANDS || t->n - start > OPERAND_BYTES) {
            add(t, ", ... %u more", n - i);
            return;
        }
        add(t, i ? ", " : "");
        add_value(t, cg, list[i]);
    }
}

// --- attributes

static void add_bits(text *t, qrn_attr_kind kind, uint64_t bits) {
    float f;
    double d;
    switch (kind) {
    case QRN_ATTR_BOOL:
        add(t, bits ? "true" : "false");
        break;
    case QRN_ATTR_U8:
    case QRN_ATTR_U32:
        add(t, "%u", (uint32_t)bits);
        break;
    case QRN_ATTR_I32:
        add(t, "%d", (int32_t)(uint32_t)bits);
        break;
    case QRN_ATTR_I64:
        add(t, "%lld", (long long)bits);
        break;
    case QRN_ATTR_F32:
        memcpy(&f, &bits, sizeof f);
        add_real(t, (double)f, true);
        break;
    case QRN_ATTR_F64:
        memcpy(&d, &bits, sizeof d);
        add_real(t, d, false);
        break;
    }
}

// Attributes that are not 0; of an array up to the last element that is not.
static void add_attributes(text *t, const qrn_cstep *s) {
    bool some = false;
    for (uint32_t i = 0; s->args && i < s->op->n_attrs; i++) {
        const qrn_attr *a = &s->op->attrs[i];
        uint32_t n = a->count;
        while (n && !qrn_attr_get(s->args, a, n - 1))
            n--;
        if (!n)
            continue;
        add(t, "%s%s=%s", some ? ", " : " {", a->name, a->count > 1 ? "[" : "");
        for (uint32_t k = 0; k < n; k++) {
            add(t, k ? "," : "");
            add_bits(t, (qrn_attr_kind)a->kind, qrn_attr_get(s->args, a, k));
        }
        add(t, a->count > 1 ? "]" : "");
        some = true;
    }
    if (some)
        add(t, "}");
}

// --- lifetimes

static void find_lives(printing *p) {
    for (uint32_t i = p->cg->n_steps; i-- > 0;) { // backwards: the first step comes last
        const qrn_cstep *s = &p->cg->steps[i];
        for (uint32_t k = 0; k < s->n_in + s->n_out; k++) {
            qrn_val v = k < s->n_in ? s->in[k] : s->out[k - s->n_in];
            if (v == QRN_VAL_NONE)
                continue;
            life *l = &p->lives[qrn_compiled_owner(p->cg, v)];
            if (l->last == UINT32_MAX)
                l->last = i;
            l->first = i;
        }
    }
}

static void add_lives(text *t, const printing *p, const qrn_cstep *s) {
    for (uint32_t i = 0; i < s->n_out; i++) {
        if (i == MOST_OPERANDS) {
            add(t, ", ... %u more", s->n_out - i);
            return;
        }
        add(t, i ? ", " : " live ");
        if (s->out[i] == QRN_VAL_NONE) {
            add(t, "none");
            continue;
        }
        const life *l = &p->lives[qrn_compiled_owner(p->cg, s->out[i])];
        add(t, "%u..%u", l->first, l->last);
    }
}

// --- lines

// What comes behind the attributes, and must not be cut with them.
static void make_tail(text *t, const printing *p, uint32_t at) {
    static const char *const shapes[] = {
        [QRN_SHAPES_COPY] = " shapes copied", [QRN_SHAPES_RULE] = " shapes by rule"};
    const qrn_cstep *s = &p->cg->steps[at];
    if (s->n_fused)
        add(t, " epilogue %u..%u", at + 1, at + s->n_fused);
    if (s->state_bytes)
        add(t, " state %zu bytes", s->state_bytes);
    if (s->shapes != QRN_SHAPES_FIXED)
        add(t, "%s", shapes[s->shapes]);
    add_lives(t, p, s);
    if (s->node < p->cg->n_nodes) {
        add(t, " // %s ", p->cg->nodes[s->node].type);
        add_name(t, p->cg->nodes[s->node].name);
    }
}

static void add_op(text *t, const qrn_compiled *cg, const qrn_cstep *s) {
    static const char *const domains[] = {[QRN_DOMAIN_F32] = "f32",
                                          [QRN_DOMAIN_F64] = "f64",
                                          [QRN_DOMAIN_I64] = "i64",
                                          [QRN_DOMAIN_RAW] = "raw"};
    size_t left = t->n;
    add_values(t, cg, s->out, s->n_out);
    size_t used = t->n - left;
    add(t, "%*s = %s.%s(", used < LEFT_COLUMNS ? (int)(LEFT_COLUMNS - used) : 0, "", s->op->name,
        domains[s->domain]);
    add_values(t, cg, s->in, s->n_in);
    add(t, ")");
}

static void print_step(const printing *p, uint32_t at, bool in_epilogue) {
    const qrn_cstep *s = &p->cg->steps[at];
    text tail, t;
    begin(&tail, LINE_BYTES / 4);
    make_tail(&tail, p, at);
    begin(&t, LINE_BYTES - tail.n - sizeof "...");
    add(&t, "%4u %c ", at, in_epilogue ? '+' : ' ');
    if (s->kind == QRN_CSTEP_OP) {
        add_op(&t, p->cg, s);
        add_attributes(&t, s);
    } else if (s->kind == QRN_CSTEP_BRANCH) {
        add(&t, "if not (");
        add_values(&t, p->cg, s->in, s->n_in);
        add(&t, ") go to %u", s->target);
    } else {
        add(&t, "go to %u", s->target);
    }
    memcpy(t.data + t.n, tail.data, tail.n + 1);
    p->line(p->ctx, t.data);
}

static void print_header(const printing *p) {
    static const char *const rules[] = {[QRN_FP16_OFF] = "off",
                                        [QRN_FP16_IEEE] = "ieee",
                                        [QRN_FP16_CLAMP] = "clamp",
                                        [QRN_FP16_WIDE_RANGE] = "wide range",
                                        [QRN_FP16_AS_F32] = "as f32"};
    const qrn_compiled *cg = p->cg;
    uint64_t bytes = 0;
    uint32_t n_in = 0;
    for (uint32_t i = 0; i < cg->n_values; i++)
        if (cg->values[i].kind == QRN_CV_CONST)
            bytes += cg->values[i].size_bytes;
    for (uint32_t i = 0; i < cg->n_io; i++)
        n_in += !cg->io[i].is_output;
    text t;
    begin(&t, LINE_BYTES - sizeof "...");
    add(&t, "graph ");
    add_name(&t, cg->name);
    add(&t, ": fp16 %s, inputs %u, outputs %u, values %u, steps %u, constants %u (%llu bytes)%s",
        rules[cg->half], n_in, cg->n_io - n_in, cg->n_values, cg->n_steps, cg->n_constants,
        (unsigned long long)bytes, cg->dynamic ? ", dynamic" : "");
    p->line(p->ctx, t.data);
}

qrn_status qrn_compiled_print(const qrn_compiled *cg, void (*line)(void *ctx, const char *text),
                              void *ctx) {
    printing p = {.cg = cg, .line = line, .ctx = ctx};
    p.lives = qrn_alloc((cg->n_values + 1u) * sizeof *p.lives);
    if (!p.lives)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", cg->name);
    memset(p.lives, 0xff, (cg->n_values + 1u) * sizeof *p.lives);
    find_lives(&p);
    print_header(&p);
    uint32_t epilogue_end = 0;
    for (uint32_t i = 0; i < cg->n_steps; i++) {
        print_step(&p, i, i < epilogue_end);
        if (cg->steps[i].n_fused)
            epilogue_end = i + 1 + cg->steps[i].n_fused;
    }
    qrn_free(p.lives);
    return QRN_OK;
}
