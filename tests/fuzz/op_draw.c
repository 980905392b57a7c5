// SPDX-License-Identifier: MIT
//
// Drawing op configurations. Relies on the op table alone; op_shapes.def says how the dimensions of
// operands hang together where independent draws would hardly ever fit.
#include "op_draw.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MAX_ELEMENTS = 4096, MAX_LARGE = 65536, MAX_DRAWN_RANK = 5 };

// Shapes of an op's operands, one word each; the last word repeats. An op may have several rows:
// one is drawn. A lower-case letter is a dimension, the same number wherever it stands in the row;
// a digit is itself; `*` is one common shape of any rank; `~` is a shape that broadcasts to it; `?`
// is any shape.
static const struct shape_row {
    const char *op, *ins, *outs;
    const char *params; // "name[dims]", tensor parameters only
} shape_rows[] = {
#define SHAPES(op, ins, outs, params) {op, ins, outs, params},
#include "op_shapes.def"
#undef SHAPES
};

// What one draw has decided for all operands.
typedef struct theme {
    source *s;
    qrn_dtype dtype;      // preferred type
    bool mixed;           // types are drawn for each operand
    uint32_t letters[26]; // sizes of named dimensions
    qrn_shape common;
    const struct shape_row *row; // or NULL
    uint32_t optional_percent;   // of optional operands that are given
    uint32_t wild_percent;       // of parameters with values that hardly ever fit
} theme;

static uint32_t small_dim(source *s) {
    static const uint32_t dims[] = {1, 2, 2, 3, 3, 4, 4, 5, 6, 8, 1, 7};
    return DRAW_FROM(s, dims);
}

static size_t count_of(const qrn_shape *s) {
    size_t n = 1;
    for (uint32_t i = 0; i < s->rank; i++)
        n *= s->dims[i];
    return n;
}

static void bound(qrn_shape *s, size_t most) {
    for (uint32_t i = 0; i < s->rank && count_of(s) > most; i++)
        s->dims[i] = 1;
}

static qrn_shape any_shape(source *s, uint32_t lo, uint32_t hi) {
    qrn_shape r = {0};
    uint32_t top = hi > MAX_DRAWN_RANK && !draw_chance(s, 5) ? MAX_DRAWN_RANK : hi;
    if (top < lo)
        top = lo;
    r.rank = lo + draw_below(s, top - lo + 1);
    for (uint32_t i = 0; i < r.rank; i++)
        r.dims[i] = small_dim(s);
    bound(&r, MAX_ELEMENTS);
    return r;
}

// A shape that broadcasts to `common`: leading dims left out, some dims 1.
static qrn_shape broadcastable(source *s, const qrn_shape *common, uint32_t lo) {
    uint32_t drop =
        common->rank > lo && draw_chance(s, 30) ? draw_below(s, common->rank - lo + 1) : 0;
    qrn_shape r = {.rank = common->rank - drop};
    for (uint32_t i = 0; i < r.rank; i++)
        r.dims[i] = draw_chance(s, 30) ? 1 : common->dims[i + drop];
    return r;
}

// The elements of `x` in another shape: neighbours joined, dims of 1 put in or taken out.
static qrn_shape reshaped(source *s, const qrn_shape *x) {
    qrn_shape r = {0};
    for (uint32_t i = 0; i < x->rank; i++) {
        if (r.rank && draw_chance(s, 25))
            r.dims[r.rank - 1] *= x->dims[i];
        else if (x->dims[i] != 1 || draw_chance(s, 50))
            r.dims[r.rank++] = x->dims[i];
        if (r.rank < QRN_MAX_RANK - x->rank + i && draw_chance(s, 10))
            r.dims[r.rank++] = 1;
    }
    return r;
}

// The n-th word of a list; the last one repeats. Returns its length, 0 when the list is empty.
static size_t word_at(const char *list, uint32_t n, const char **word) {
    size_t len = 0;
    for (const char *p = list; *p;) {
        while (*p == ' ')
            p++;
        size_t this_len = strcspn(p, " ");
        if (!this_len)
            break;
        *word = p;
        len = this_len;
        if (n-- == 0)
            break;
        p += this_len;
    }
    return len;
}

static uint32_t dim_of(const theme *t, char c) {
    if (c == 'R')
        return t->common.rank ? t->common.rank : 1;
    return isdigit((unsigned char)c) ? (uint32_t)(c - '0') : t->letters[(c - 'a') % 26];
}

static qrn_shape shape_of_word(theme *t, const char *word, size_t len, const qrn_operand_def *d) {
    if (*word == '*')
        return t->common;
    if (*word == '~')
        return broadcastable(t->s, &t->common, d->rank_min);
    if (*word == '?')
        return any_shape(t->s, d->rank_min, d->rank_max);
    qrn_shape r = {0};
    for (size_t i = 0; i < len && r.rank < QRN_MAX_RANK; i++)
        if (word[i] != '-')
            r.dims[r.rank++] = dim_of(t, word[i]);
    return r;
}

static qrn_shape draw_shape(theme *t, const qrn_operand_def *d, uint32_t i, bool is_output,
                            const drawn_op *op) {
    const char *word = NULL;
    size_t len = t->row ? word_at(is_output ? t->row->outs : t->row->ins, i, &word) : 0;
    if (len && !draw_chance(t->s, 4))
        return shape_of_word(t, word, len, d);
    if (is_output && op->n_in && draw_chance(t->s, 50))
        return reshaped(t->s, &op->in[0].shape);
    bool fits = t->common.rank >= d->rank_min && t->common.rank <= d->rank_max;
    return fits && draw_chance(t->s, 70) ? t->common : any_shape(t->s, d->rank_min, d->rank_max);
}

static qrn_dtype draw_type(theme *t, qrn_dtype_mask types) {
    if (!t->mixed && types & (qrn_dtype_mask)1 << t->dtype)
        return t->dtype;
    qrn_dtype all[QRN_DTYPE_COUNT];
    uint32_t n = 0;
    for (uint32_t i = 0; i < QRN_DTYPE_COUNT; i++)
        if (types & (qrn_dtype_mask)1 << i)
            all[n++] = (qrn_dtype)i;
    return n ? all[draw_below(t->s, n)] : QRN_DTYPE_F32;
}

static void set_size(qrn_tensor *x) {
    size_t bytes = 0;
    qrn_dtype_bytes(x->dtype, count_of(&x->shape), &bytes);
    x->size_bytes = bytes;
}

static void draw_operand(theme *t, drawn_op *op, uint32_t i, bool is_output) {
    const qrn_op_def *def = op->def;
    uint32_t n_defs = is_output ? def->n_outs : def->n_ins;
    const qrn_operand_def *d = &(is_output ? def->outs : def->ins)[i < n_defs ? i : n_defs - 1];
    qrn_tensor *x = is_output ? &op->out[i] : &op->in[i];
    *x = (qrn_tensor){.name = "", .role = is_output ? QRN_ROLE_OUTPUT : QRN_ROLE_INPUT};
    x->dtype = draw_type(t, d->types);
    x->shape = draw_shape(t, d, i, is_output, op);
    set_size(x);
    if (d->presence == QRN_OPTIONAL && !draw_chance(t->s, t->optional_percent))
        *x = (qrn_tensor){.name = "", .role = QRN_ROLE_NULL};
    // Rows say whether an op takes sparse tensors, names say which of them are.
    if (def->flags & QRN_OP_SPARSE && strcmp(d->name, "sparse") == 0 && !draw_chance(t->s, 4)) {
        uint32_t rank = x->shape.rank ? x->shape.rank : 1, values = 1;
        x->format = QRN_FORMAT_SPARSE;
        x->n_sparse_dims = 1 + draw_below(t->s, rank);
        x->n_sparse_elements = t->letters['m' - 'a'];
        for (uint32_t k = x->n_sparse_dims; k < x->shape.rank; k++)
            values *= x->shape.dims[k];
        size_t bytes = 0;
        qrn_dtype_bytes(x->dtype, (size_t)values * x->n_sparse_elements, &bytes);
        x->size_bytes = bytes + (size_t)x->n_sparse_elements * x->n_sparse_dims * 4;
    }
}

static uint32_t n_operands(source *s, const qrn_operand_def *defs, uint32_t n) {
    if (n == 0 || defs[n - 1].presence == QRN_REQUIRED || defs[n - 1].presence == QRN_OPTIONAL)
        return n;
    uint32_t least = defs[n - 1].presence == QRN_VARIADIC ? n : n - 1;
    return least + (draw_chance(s, 3) ? draw_below(s, DRAW_OPERANDS - n) : draw_below(s, 4));
}

// Numbers that parameters of any meaning like to be tested with.
static uint32_t draw_number(source *s, bool is_signed, uint32_t wild_percent) {
    static const uint32_t tame[] = {0, 1, 1, 2, 2, 3, 4, 5, 8};
    static const uint32_t wild[] = {UINT32_MAX, INT32_MAX, 1u << 31, 65536, 1u << 30, 255, 100};
    if (draw_chance(s, wild_percent))
        return DRAW_FROM(s, wild);
    uint32_t v = DRAW_FROM(s, tame);
    return is_signed && draw_chance(s, 15) ? 0u - v : v;
}

static float draw_float(source *s) {
    static const float tame[] = {0.0f, 0.5f, 1.0f, 2.0f, 0.1f, 1e-5f, 3.0f, -1.0f, 0.25f};
    static const float wild[] = {3e38f, -3e38f, 1e-40f, 1e9f, -1e9f, -0.0f};
    if (!draw_chance(s, 5))
        return DRAW_FROM(s, tame);
    uint32_t which = draw_below(s, 8);
    return which == 0 ? __builtin_nanf("") : which == 1 ? __builtin_inff() : DRAW_FROM(s, wild);
}

static void draw_scalar(theme *t, const qrn_param_def *d, qrn_param *p) {
    p->dtype = draw_type(t, d->types);
    switch ((qrn_dtype_class)qrn_dtypes[p->dtype].cls) {
    case QRN_CLASS_FLOAT:
        p->value.f = draw_float(t->s);
        return;
    case QRN_CLASS_BOOL:
        p->value.u = draw_below(t->s, 2);
        return;
    case QRN_CLASS_STRING:
        p->value.s = d->name; // the caller may have something of that name
        return;
    case QRN_CLASS_SINT:
    case QRN_CLASS_SFIXED:
        p->value.i = (int32_t)draw_number(t->s, true, t->wild_percent);
        break;
    default:
        p->value.u = draw_number(t->s, false, t->wild_percent);
        break;
    }
    uint32_t n = 0;
    while (d->enums && d->enums[n].name)
        n++;
    if (n && !draw_chance(t->s, 2))
        p->value.u = d->enums[draw_below(t->s, n)].value;
    // Values beyond a narrow type cannot be given by a client.
    uint32_t bits = qrn_dtypes[p->dtype].bits;
    if (bits < 32)
        p->value.u &= (1u << (bits - 1)) - 1;
}

// "name[dims]" of the row's parameter list; false when it is not there.
static bool param_dims(theme *t, const qrn_param_def *d, qrn_shape *shape) {
    const char *list = t->row ? t->row->params : "";
    size_t len = strlen(d->name);
    for (const char *p = list; (p = strstr(p, d->name)) != NULL; p += len) {
        if (p[len] != '[' || (p != list && p[-1] != ' '))
            continue;
        *shape = (qrn_shape){0};
        for (p += len + 1; *p && *p != ']' && shape->rank < QRN_MAX_RANK; p++)
            shape->dims[shape->rank++] = dim_of(t, *p);
        return true;
    }
    return false;
}

static void draw_param_tensor(theme *t, const qrn_param_def *d, const drawn_op *op, qrn_param *p,
                              drawn_param *data) {
    uint32_t first_rank = op->n_in && op->in[0].shape.rank ? op->in[0].shape.rank : 1;
    data->tensor = (qrn_tensor){.name = "", .role = QRN_ROLE_STATIC, .data = data->words};
    qrn_tensor *x = &data->tensor;
    x->dtype = p->dtype = draw_type(t, d->types);
    if (!param_dims(t, d, &x->shape)) {
        x->shape.rank = d->rank_min + draw_below(t->s, d->rank_max - d->rank_min + 1u);
        for (uint32_t i = 0; i < x->shape.rank; i++)
            x->shape.dims[i] = i                       ? 2 + draw_below(t->s, 2)
                               : draw_chance(t->s, 60) ? first_rank
                                                       : 1 + draw_below(t->s, 4);
    }
    while (count_of(&x->shape) > DRAW_WORDS)
        x->shape.dims[0] = 1, x->shape.dims[x->shape.rank - 1] = 2;
    set_size(x);
    bool is_float = x->dtype == QRN_DTYPE_F32, tame = draw_chance(t->s, 60);
    bool ordered = draw_chance(t->s, 25); // 0, 1, 2...: axes, permutations
    for (size_t i = 0; i < count_of(&x->shape); i++) {
        float f = draw_float(t->s);
        uint32_t v =
            ordered ? (uint32_t)i : draw_number(t->s, x->dtype == QRN_DTYPE_I32, t->wild_percent);
        v = tame && !ordered ? v % 3 : v;
        memcpy(&data->words[i], is_float ? (void *)&f : (void *)&v, 4);
    }
    p->tensor = x;
}

static void draw_params(theme *t, drawn_op *op) {
    for (uint32_t i = 0; i < op->def->n_params; i++) {
        const qrn_param_def *d = &op->def->params[i];
        qrn_param *p = &op->params[i];
        *p = (qrn_param){0};
        if (d->presence == QRN_OPTIONAL && draw_chance(t->s, 50))
            continue;
        p->present = true;
        p->is_tensor = d->is_tensor;
        if (d->is_tensor)
            draw_param_tensor(t, d, op, p, &op->param_data[i]);
        else
            draw_scalar(t, d, p);
    }
}

static void draw_once(source *s, const qrn_op_def *def, drawn_op *op) {
    theme t = {.s = s, .mixed = draw_chance(s, 15)};
    *op = (drawn_op){.def = def};
    uint32_t n_rows = 0;
    for (size_t i = 0; i < sizeof shape_rows / sizeof shape_rows[0]; i++)
        if (strcmp(shape_rows[i].op, def->name) == 0 && draw_below(s, ++n_rows) == 0)
            t.row = &shape_rows[i];
    static const uint32_t given[] = {0, 100, 60, 60}; // optional operands often come in groups
    t.optional_percent = DRAW_FROM(s, given);
    for (size_t i = 0; i < sizeof t.letters / sizeof t.letters[0]; i++)
        t.letters[i] = small_dim(s);
    theme any = {.s = s, .mixed = true};
    qrn_dtype_mask types = def->n_ins ? def->ins[0].types : def->outs[0].types;
    bool plain = types & QRN_T(F32) && draw_chance(s, 30);
    t.dtype = plain ? QRN_DTYPE_F32 : draw_type(&any, types);
    bool of_output = def->n_ins == 0 || (t.row && t.row->ins[0] != '*' && t.row->outs[0] == '*');
    const qrn_operand_def *first = of_output ? def->outs : def->ins;
    t.common = any_shape(s, first->rank_min, first->rank_max);
    t.wild_percent = draw_chance(s, 5) ? 30 : 2;
    if (draw_chance(s, 2)) { // enough elements to share the work
        for (size_t i = 0; i < sizeof t.letters / sizeof t.letters[0]; i++)
            t.letters[i] *= 1 + draw_below(s, 4);
        for (uint32_t i = 0; i < t.common.rank; i++)
            t.common.dims[i] = 1 + draw_below(s, 40);
        bound(&t.common, MAX_LARGE);
    }
    if (draw_chance(s, 8)) // single elements
        for (size_t i = 0; i < sizeof t.letters / sizeof t.letters[0]; i++)
            t.letters[i] = t.common.dims[i % QRN_MAX_RANK] = 1;
    uint32_t n_in = n_operands(s, def->ins, def->n_ins);
    op->n_out = n_operands(s, def->outs, def->n_outs);
    for (; op->n_in < n_in; op->n_in++)
        draw_operand(&t, op, op->n_in, false);
    for (uint32_t i = 0; i < op->n_out; i++)
        draw_operand(&t, op, i, true);
    draw_params(&t, op);
}

static bool has_rank(const drawn_op *op, uint32_t i, const qrn_shape *s) {
    uint32_t n = op->def->n_outs;
    const qrn_operand_def *d = &op->def->outs[i < n ? i : n - 1];
    return s->rank >= d->rank_min && s->rank <= d->rank_max && count_of(s) <= 4 * (size_t)MAX_LARGE;
}

qrn_status op_draw_check(drawn_op *op) {
    const qrn_tensor *in[DRAW_OPERANDS], *out[DRAW_OPERANDS];
    qrn_shape in_shape[DRAW_OPERANDS], out_shape[DRAW_OPERANDS];
    qrn_op_call c = {.graph = "g",
                     .node = "n",
                     .op = op->def,
                     .n_in = op->n_in,
                     .n_out = op->n_out,
                     .in = in,
                     .out = out,
                     .params = op->params,
                     .in_shape = in_shape,
                     .out_shape = out_shape};
    qrn_status s = QRN_E_SHAPE;
    for (int round = 0; round < 2 && s != QRN_OK; round++) {
        for (uint32_t i = 0; i < op->n_in; i++) {
            in[i] = op->in[i].role == QRN_ROLE_NULL ? NULL : &op->in[i];
            in_shape[i] = op->in[i].shape;
        }
        for (uint32_t i = 0; i < op->n_out; i++) {
            out[i] = op->out[i].role == QRN_ROLE_NULL ? NULL : &op->out[i];
            out_shape[i] = op->out[i].shape;
        }
        s = qrn_op_validate(&c);
        for (uint32_t i = 0; s != QRN_OK && i < op->n_out; i++) {
            if (!out[i] || !has_rank(op, i, &out_shape[i]))
                continue;
            op->out[i].shape = out_shape[i];
            if (op->out[i].format == QRN_FORMAT_DENSE)
                set_size(&op->out[i]);
        }
    }
    return s;
}

// A single value may be declared with rank 0 or as [1].
static void redeclare(source *s, drawn_op *op) {
    for (uint32_t i = 0; i < op->n_out; i++) {
        qrn_shape *y = &op->out[i].shape, other = {.rank = !y->rank, .dims = {!y->rank}};
        bool single = y->rank == 0 || (y->rank == 1 && y->dims[0] == 1);
        if (op->out[i].role != QRN_ROLE_NULL && single && has_rank(op, i, &other) &&
            draw_chance(s, 30))
            *y = other;
    }
}

bool op_draw(source *s, const qrn_op_def *def, unsigned tries, drawn_op *op) {
    for (unsigned i = 0; i < tries; i++) {
        draw_once(s, def, op);
        if (op_draw_check(op) != QRN_OK)
            continue;
        redeclare(s, op);
        return true;
    }
    return false;
}

static size_t add_tensor(const qrn_tensor *x, char *buf, size_t size, size_t used) {
    char shape[128];
    int n = snprintf(buf + used, size - used, " %s%s%s",
                     x->role == QRN_ROLE_NULL ? "-" : qrn_dtypes[x->dtype].token,
                     x->role == QRN_ROLE_NULL ? "" : qrn_shape_text(&x->shape, shape, sizeof shape),
                     x->role == QRN_ROLE_STATIC ? "!" : "");
    return n > 0 && used + (size_t)n < size ? used + (size_t)n : used;
}

const char *op_draw_text(const drawn_op *op, char *buf, size_t size) {
    int n = snprintf(buf, size, "%s:", op->def->name);
    size_t used = n > 0 && (size_t)n < size ? (size_t)n : 0;
    for (uint32_t i = 0; i < op->n_in; i++)
        used = add_tensor(&op->in[i], buf, size, used);
    n = snprintf(buf + used, size - used, " ->");
    used += n > 0 && used + (size_t)n < size ? (size_t)n : 0;
    for (uint32_t i = 0; i < op->n_out; i++)
        used = add_tensor(&op->out[i], buf, size, used);
    for (uint32_t i = 0; i < op->def->n_params; i++) {
        const qrn_param *p = &op->params[i];
        if (!p->present)
            continue;
        bool is_float = p->dtype == QRN_DTYPE_F32;
        n = snprintf(buf + used, size - used, " %s=", op->def->params[i].name);
        used += n > 0 && used + (size_t)n < size ? (size_t)n : 0;
        size_t count = p->is_tensor ? count_of(&p->tensor->shape) : 1;
        for (size_t k = 0; k < count; k++) {
            float f = (float)p->value.f;
            int32_t v = (int32_t)p->value.i;
            if (p->is_tensor) {
                memcpy(&f, &op->param_data[i].words[k], 4);
                memcpy(&v, &op->param_data[i].words[k], 4);
            }
            if (is_float)
                n = snprintf(buf + used, size - used, "%s%g", k ? "," : "", (double)f);
            else
                n = snprintf(buf + used, size - used, "%s%d", k ? "," : "", v);
            used += n > 0 && used + (size_t)n < size ? (size_t)n : 0;
        }
    }
    return buf;
}
