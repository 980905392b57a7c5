// SPDX-License-Identifier: MIT
//
// Drawing nodes from rows. A row's inputs are words
//
//   [?/][!&]type:shape[=filler][+]
//
// '?' is absent half of the time, '/' mostly; '!' is a constant, '&' mostly one; '.' alone is an
// absent input; '+' may repeat. The type is T (one of the row's types) or a letter of its own; for
// outputs also a digit (as that input) or '@' (as the attribute `to` says). The shape is '*' (one
// common shape of any rank), '~' (one that broadcasts to it), '-' (rank 0), '^' (a list as long as
// its filler makes it), '%' (an output's, not known) or dimensions: a letter is the same size
// wherever it stands, a digit is itself, R is the rank of the common shape, <16> and <4u> are 16
// and four times u. Attributes are words [?/]name:kind(list): i, f, s are one of a list, lN is a
// list of N of them, L and W are lists as they stand, S and F lists of one or two, d the sizes of
// named dimensions, a an axis, x axes, p a permutation.
#include "onnx_draw.h"

#include <ctype.h>
#include <stdlib.h>

enum { MOST_ELEMENTS = 2048 };

static const d_row rows[] = {
#define ROW(ops, domain, first, last, types, ins, outs, attrs)                                     \
    {ops, domain, first, last, types, ins, outs, attrs},
#include "onnx_rows.def"
#undef ROW
};

// What one node has decided.
typedef struct theme {
    draft *d;
    const d_row *row;
    int type;            // of T
    int64_t letters[26]; // 0: open
    bool has_common;
    int32_t rank; // of the common shape; below 0: not known
    int64_t dims[M_RANK];
    d_base base; // the first input
    int64_t base_dims[M_RANK];
    int in_types[M_OPERANDS];
    int to; // attribute
} theme;

typedef struct word {
    const char *at;
    size_t len;
    char presence, use, type;
    const char *shape, *filler;
    size_t shape_len, filler_len;
    bool repeats;
} word;

static int type_of(char c) {
    static const char letters[] = " fusUSjicbhdI";
    const char *p = c ? strchr(letters, c) : NULL;
    return p ? (int)(p - letters) : 0;
}

static bool next_word(const char **p, word *w) {
    while (**p == ' ')
        (*p)++;
    *w = (word){.at = *p, .len = strcspn(*p, " ")};
    *p += w->len;
    const char *c = w->at, *end = w->at + w->len;
    if (c < end && (*c == '?' || *c == '/'))
        w->presence = *c++;
    if (c < end && (*c == '!' || *c == '&'))
        w->use = *c++;
    if (c < end)
        w->type = *c++;
    w->shape = c < end && *c == ':' ? ++c : c;
    while (c < end && *c != '=' && *c != '+')
        c++;
    w->shape_len = (size_t)(c - w->shape);
    w->filler = c < end && *c == '=' ? c + 1 : end;
    w->repeats = w->len && end[-1] == '+';
    w->filler_len = w->filler < end ? (size_t)(end - w->filler) - w->repeats : 0;
    return w->len > 0;
}

// --- shapes

static int64_t draw_letter(source *s, char c) {
    if (draw_chance(s, 1))
        return draw_below(s, 2) ? 0 : 17;
    switch (c) {
    case 'k':
    case 'l':
    case 'm':
        return 1 + draw_below(s, 3);
    case 'h':
    case 'w':
    case 'd':
        return 3 + draw_below(s, 5);
    case 'b':
        return 1 + draw_below(s, 2);
    default:
        return 1 + draw_below(s, 5);
    }
}

static void draw_common(theme *t) {
    source *s = t->d->s;
    static const uint8_t ranks[] = {0, 1, 1, 2, 2, 3, 3, 3, 4, 4, 4, 4, 5};
    uint32_t rank = draw_chance(s, 3) ? draw_below(s, 11) : DRAW_FROM(s, ranks);
    int64_t count = 1;
    t->has_common = true;
    t->rank = (int32_t)rank;
    for (uint32_t i = 0; i < rank; i++) {
        t->dims[i] = count > MOST_ELEMENTS / 8 ? 1 : draw_letter(s, 'a');
        count *= t->dims[i] ? t->dims[i] : 1;
    }
}

static int64_t letter_of(theme *t, char c) {
    if (isdigit((unsigned char)c))
        return c - '0';
    if (c == 'R')
        return t->rank > 0 ? t->rank : 0;
    if (c < 'a' || c > 'z')
        return 1;
    int64_t *at = &t->letters[c - 'a'];
    if (!*at)
        *at = draw_letter(t->d->s, c) + 1; // kept with 1 added: 0 is open
    return *at - 1;
}

// One dimension of a word; moves p behind it.
static int64_t dim_of(theme *t, const char **p) {
    if (**p != '<')
        return letter_of(t, *(*p)++);
    char *after;
    int64_t v = strtol(*p + 1, &after, 10);
    if (*after != '>')
        v *= letter_of(t, *after++);
    *p = after + 1;
    return v;
}

static void broadcastable(theme *t, int32_t *rank, int64_t *dims) {
    source *s = t->d->s;
    uint32_t all = t->rank > 0 ? (uint32_t)t->rank : 0;
    uint32_t drop = all && draw_chance(s, 30) ? draw_below(s, all + 1) : 0;
    *rank = (int32_t)(all - drop);
    for (uint32_t i = 0; i + drop < all; i++)
        dims[i] = draw_chance(s, 25) ? 1 : t->dims[i + drop];
}

// The shape of a new value; false where it is not known.
static bool shape_of(theme *t, const word *w, int32_t *rank, int64_t *dims) {
    char c = w->shape_len ? *w->shape : '-';
    *rank = 0;
    if (c == '-')
        return true;
    if (c == '%')
        return false;
    if ((c == '*' || c == '~') && !t->has_common)
        draw_common(t);
    if (c == '~') {
        broadcastable(t, rank, dims);
        return true;
    }
    if (c == '*') {
        *rank = t->rank;
        for (int32_t i = 0; i < t->rank; i++)
            dims[i] = t->dims[i];
        return t->rank >= 0;
    }
    for (const char *p = w->shape; p < w->shape + w->shape_len && *rank < M_RANK;)
        dims[(*rank)++] = dim_of(t, &p);
    return true;
}

// --- values that are there

static bool fits_common(theme *t, const d_value *v, bool broadcast) {
    if (!t->has_common) {
        t->has_common = true;
        t->rank = v->rank;
        memcpy(t->dims, v->dims, sizeof t->dims);
        return true;
    }
    if (t->rank < 0 || v->rank < 0 || v->rank > t->rank || (!broadcast && v->rank != t->rank))
        return false;
    for (int32_t i = 0; i < v->rank; i++) {
        int64_t want = t->dims[t->rank - v->rank + i];
        if (v->dims[i] != want && !(broadcast && v->dims[i] == 1))
            return false;
    }
    return true;
}

// Does a value fit a word? Letters that are open are bound by it.
static bool fits(theme *t, const word *w, const d_value *v) {
    char c = w->shape_len ? *w->shape : '-';
    if (c == '*' || c == '~')
        return fits_common(t, v, c == '~');
    if (c == '^' || c == '%' || v->rank < 0)
        return false;
    if (c == '-')
        return v->rank == 0;
    int64_t kept[26];
    memcpy(kept, t->letters, sizeof kept);
    int32_t i = 0;
    bool ok = true;
    for (const char *p = w->shape; ok && p < w->shape + w->shape_len; i++) {
        bool open = *p >= 'a' && *p <= 'z' && !t->letters[*p - 'a'];
        if (i >= v->rank) {
            ok = false;
        } else if (open) {
            t->letters[*p++ - 'a'] = v->dims[i] + 1;
        } else {
            ok = dim_of(t, &p) == v->dims[i];
        }
    }
    ok = ok && i == v->rank;
    if (!ok)
        memcpy(t->letters, kept, sizeof kept);
    return ok;
}

static d_value *find_value(theme *t, const word *w, int type) {
    draft *d = t->d;
    for (int tries = 0; tries < 6; tries++) {
        draft *in = d->outer && draw_chance(d->s, 30) ? d->outer : d;
        if (!in->n_values)
            continue;
        d_value *v = &in->values[draw_below(d->s, in->n_values)];
        if (v->type == type && fits(t, w, v))
            return v;
    }
    return NULL;
}

// --- operands

static d_value *new_constant(theme *t, const word *w, int type, int32_t rank, int64_t *dims) {
    double numbers[MOST_ELEMENTS];
    draft *d = t->d;
    uint32_t n = 1;
    for (size_t i = 1; i < w->filler_len && *w->filler == '@'; i++)
        letter_of(t, w->filler[i]);
    int64_t sizes[26]; // fillers see plain sizes
    for (int i = 0; i < 26; i++)
        sizes[i] = t->letters[i] ? t->letters[i] - 1 : 0;
    const d_base base = {t->base.rank, t->base_dims, sizes, t->d->whole};
    for (int32_t i = 0; i < rank; i++)
        n = n * (uint64_t)dims[i] > MOST_ELEMENTS ? 0 : n * (uint32_t)dims[i];
    bool list = w->shape_len && *w->shape == '^';
    uint32_t made = n || list ? fill_numbers(d->s, &base, w->filler, w->filler_len, type,
                                             list ? 0 : n, numbers, MOST_ELEMENTS)
                              : 0;
    if (list) {
        rank = 1;
        dims[0] = made;
    }
    return draft_constant(d, type, (uint32_t)rank, dims, numbers, made);
}

static void remember_base(theme *t, const d_value *v) {
    if (t->base.dims)
        return;
    t->base.rank = v->rank;
    memcpy(t->base_dims, v->dims, sizeof t->base_dims);
    t->base.dims = t->base_dims;
}

static d_value *new_operand(theme *t, const word *w, int type) {
    draft *d = t->d;
    int64_t dims[M_RANK] = {0};
    int32_t rank = 0;
    bool list = w->shape_len && *w->shape == '^';
    if (!list && !shape_of(t, w, &rank, dims)) { // a common shape that is not known
        rank = 0;
    }
    uint32_t percent = w->use == '!' ? 98 : w->use == '&' ? 85 : 12;
    bool constant = list || draw_chance(d->s, percent);
    if (type == 8)
        constant = false;
    return constant || d->function ? new_constant(t, w, type, rank, dims)
                                   : draft_input(d, type, rank, dims);
}

static const char *operand(theme *t, const word *w, uint32_t i) {
    draft *d = t->d;
    int type = w->type == 'T' ? t->type : type_of(w->type);
    d_value *v = NULL;
    if (w->use != '!' && draw_chance(d->s, 75))
        v = find_value(t, w, type);
    if (!v)
        v = new_operand(t, w, type);
    if (!v)
        return "";
    v->read = true;
    if (i < M_OPERANDS)
        t->in_types[i] = type;
    if (i == 0 || (t->has_common && w->shape_len && *w->shape == '*'))
        remember_base(t, v);
    return v->name;
}

static void draw_inputs(theme *t, m_node *n) {
    word w;
    source *s = t->d->s;
    for (const char *p = t->row->ins; next_word(&p, &w);) {
        uint32_t times = w.repeats ? 1 + draw_below(s, 3) : 1;
        bool absent = *w.at == '.' || (w.presence == '?' && draw_chance(s, 50)) ||
                      (w.presence == '/' && draw_chance(s, 90));
        for (uint32_t i = 0; i < times; i++)
            m_node_in(n, absent ? "" : operand(t, &w, n->n_in));
    }
    while (n->n_in && !n->in[n->n_in - 1][0] && !draw_chance(s, 5))
        n->n_in--;
}

static void draw_outputs(theme *t, m_node *n) {
    word w;
    draft *d = t->d;
    for (const char *p = t->row->outs; next_word(&p, &w);) {
        if (w.presence && !draw_chance(d->s, 40))
            break;
        int64_t dims[M_RANK] = {0};
        int32_t rank = -1;
        int type = w.type == 'T'                    ? t->type
                   : w.type == '@'                  ? t->to
                   : isdigit((unsigned char)w.type) ? t->in_types[w.type - '0']
                                                    : type_of(w.type);
        if (!shape_of(t, &w, &rank, dims))
            rank = -1;
        const char *name = draft_name(d, "v");
        m_node_out(n, name);
        draft_value(d, name, type, rank, dims);
    }
}

// --- attributes

// One of a list "a|b|c"; moves nothing.
static void choose(source *s, const char *list, size_t len, const char **out, size_t *out_len) {
    uint32_t n = 1;
    for (size_t i = 0; i < len; i++)
        n += list[i] == '|';
    uint32_t k = draw_below(s, n);
    const char *p = list;
    for (; k; p++)
        k -= *p == '|';
    *out = p;
    *out_len = 0;
    while (p + *out_len < list + len && p[*out_len] != '|')
        (*out_len)++;
}

static double choose_number(source *s, const char *list, size_t len) {
    const char *p;
    size_t n;
    choose(s, list, len, &p, &n);
    return strtod(p, NULL);
}

static const char *choose_text(draft *d, const char *list, size_t len) {
    const char *p;
    size_t n;
    choose(d->s, list, len, &p, &n);
    return m_text(d->mem, "%.*s", (int)n, p);
}

static bool is_hostile(const draft *d) { return draw_chance(d->s, 1) && !d->whole; }

// Nothing in between: a million pads are a valid wish that only takes long.
static int64_t hostile_number(source *s) {
    static const int64_t list[] = {-1, 0, 1, 3, 50, INT32_MAX, INT64_MAX, INT64_MIN, -50};
    return DRAW_FROM(s, list);
}

static void ints_attr(theme *t, m_node *n, const char *name, const double *v, uint32_t count) {
    m_attr *a = m_node_attr(n, name, 7);
    int64_t *ints = scrap_new(t->d->mem, (count + 1) * sizeof *ints, 0);
    for (uint32_t i = 0; i < count; i++)
        ints[i] = is_hostile(t->d) ? hostile_number(t->d->s) : (int64_t)v[i];
    a->ints = ints;
    a->n = count;
}

static void draw_permutation(theme *t, m_node *n, const char *name) {
    double v[M_RANK];
    uint32_t r = t->base.rank > 0 ? (uint32_t)t->base.rank : 0;
    for (uint32_t i = 0; i < r; i++) {
        uint32_t k = draw_below(t->d->s, i + 1);
        v[i] = v[k];
        v[k] = i;
    }
    ints_attr(t, n, name, v, r);
}

// Lists of numbers: l2(..), L(..), x, d(..) of several.
static void draw_list(theme *t, m_node *n, const char *name, char kind, const char *list,
                      size_t len, uint32_t count) {
    double v[64];
    int64_t sizes[26] = {0};
    const d_base base = {t->base.rank, t->base_dims, sizes, t->d->whole};
    if (kind == 'L') {
        char filler[64];
        size_t all = len + 1 < sizeof filler ? len + 1 : sizeof filler;
        filler[0] = '#';
        memcpy(filler + 1, list, all - 1);
        count = fill_numbers(t->d->s, &base, filler, all, 7, 0, v, 64);
    } else if (kind == 'x') {
        count = fill_numbers(t->d->s, &base, "axes", 4, 7, 0, v, 64);
    } else if (kind == 'd') {
        for (count = 0; count < len; count++)
            v[count] = (double)letter_of(t, list[count]);
    } else {
        for (uint32_t i = 0; i < count; i++)
            v[i] = choose_number(t->d->s, list, len);
    }
    ints_attr(t, n, name, v, count);
}

static void draw_floats(theme *t, m_node *n, const char *name, char kind, const char *list,
                        size_t len) {
    float *v = scrap_new(t->d->mem, 16 * sizeof *v, 0);
    m_attr *a = m_node_attr(n, name, 6);
    a->floats = v;
    if (kind == 'F')
        for (; a->n < 2; a->n++)
            v[a->n] = (float)choose_number(t->d->s, list, len);
    for (const char *p = list; kind == 'W' && p < list + len && a->n < 16; p++) {
        char *after;
        v[a->n++] = strtof(p, &after);
        p = after;
    }
}

static void draw_integer(theme *t, m_node *n, const char *name, int64_t v) {
    m_attr *a = m_node_attr(n, name, 2);
    a->i = is_hostile(t->d) ? hostile_number(t->d->s) : v;
    if (strcmp(name, "to") == 0)
        t->to = (int)a->i;
}

static void draw_attr(theme *t, m_node *n, const char *name, char kind, uint32_t count,
                      const char *list, size_t len) {
    draft *d = t->d;
    if (kind == 'i' || (kind == 'd' && len == 1)) {
        draw_integer(t, n, name,
                     kind == 'i' ? (int64_t)choose_number(d->s, list, len) : letter_of(t, *list));
    } else if (kind == 'a') {
        double v;
        fill_numbers(d->s, &(d_base){.rank = t->base.rank}, "axis", 4, 7, 1, &v, 1);
        draw_integer(t, n, name, (int64_t)v);
    } else if (kind == 'f') {
        float v = (float)choose_number(d->s, list, len);
        m_node_attr(n, name, 1)->f = is_hostile(d) ? __builtin_nanf("") : v;
    } else if (kind == 's') {
        m_node_attr(n, name, 3)->s = choose_text(d, list, len);
    } else if (kind == 'S') {
        const char **texts = scrap_new(d->mem, sizeof *texts, 0);
        m_attr *a = m_node_attr(n, name, 8);
        texts[0] = choose_text(d, list, len);
        a->strings = texts;
        a->n = 1;
    } else if (kind == 'p') {
        draw_permutation(t, n, name);
    } else if (kind == 'F' || kind == 'W') {
        draw_floats(t, n, name, kind, list, len);
    } else {
        draw_list(t, n, name, kind, list, len, count);
    }
}

static void draw_attrs(theme *t, m_node *n) {
    for (const char *p = t->row->attrs; *p;) {
        size_t len = strcspn(p, " ");
        const char *end = p + len, *name = p + (*p == '?' || *p == '/');
        const char *colon = memchr(name, ':', (size_t)(end - name));
        bool given = *p == '?'   ? draw_chance(t->d->s, 50)
                     : *p == '/' ? draw_chance(t->d->s, 10)
                                 : true;
        const char *list = memchr(name, '(', (size_t)(end - name));
        uint32_t count = isdigit((unsigned char)colon[2]) ? (uint32_t)(colon[2] - '0') : 0;
        if (given)
            draw_attr(t, n, m_text(t->d->mem, "%.*s", (int)(colon - name), name), colon[1], count,
                      list ? list + 1 : end, list ? (size_t)(end - list) - 2 : 0);
        p = end + strspn(end, " ");
    }
}

// --- nodes

static int draw_type(draft *d, const d_row *r) {
    size_t n = strlen(r->types);
    for (int tries = 0; tries < 4 && d->n_values; tries++) { // one that is there
        int type = d->values[draw_below(d->s, d->n_values)].type;
        for (size_t i = 0; i < n && draw_chance(d->s, 70); i++)
            if (type_of(r->types[i]) == type)
                return type;
    }
    return type_of(r->types[draw_below(d->s, (uint32_t)n)]);
}

void draw_row(draft *d, const d_row *r, const char *op) {
    theme t = {.d = d, .row = r, .type = draw_type(d, r), .base.rank = -1};
    m_node *n = m_add_node(d->mem, d->g, op, r->domain);
    if (!n)
        return;
    // Attributes may bind names of dimensions that inputs use, and need the first input's rank.
    draw_inputs(&t, n);
    draw_attrs(&t, n);
    draw_outputs(&t, n);
    // Values that its inputs made (quantizers) come before it.
    for (uint32_t i = 0; i + 1 < d->g->n_nodes; i++)
        if (d->g->nodes[i] == n) {
            memmove(&d->g->nodes[i], &d->g->nodes[i + 1],
                    (d->g->n_nodes - i - 1) * sizeof d->g->nodes[0]);
            d->g->nodes[d->g->n_nodes - 1] = n;
            break;
        }
}

static bool is_valid(const d_row *r, int64_t opset) {
    return r->domain[0] || (opset >= r->first && (!r->last || opset <= r->last));
}

// One of the ops of a row.
static const char *op_of(draft *d, const d_row *r) {
    uint32_t n = 1;
    for (const char *p = r->ops; *p; p++)
        n += *p == ' ';
    uint32_t k = draw_below(d->s, n);
    const char *p = r->ops;
    for (; k; p++)
        k -= *p == ' ';
    return m_text(d->mem, "%.*s", (int)strcspn(p, " "), p);
}

void draw_node(draft *d) {
    enum { N = sizeof rows / sizeof rows[0] };
    for (int tries = 0; tries < 50; tries++) {
        const d_row *r = &rows[draw_u32(d->s) % N];
        if (d->m->opset == 0) // the first node says which version it is
            d->m->opset = r->domain[0]                             ? 17
                          : r->last                                ? r->last - draw_below(d->s, 3)
                          : r->first < 13 && draw_chance(d->s, 70) ? 13 + draw_below(d->s, 10)
                                                                   : r->first + draw_below(d->s, 4);
        if (!is_valid(r, d->m->opset))
            continue;
        draw_row(d, r, op_of(d, r));
        return;
    }
}

void draw_simple(draft *d) {
    static const d_row simple[] = {
        {"Relu Sigmoid Neg Abs", "", 7, 0, "f", "T:*", "T:*", ""},
        {"Add Mul Sub Max", "", 7, 0, "f", "T:* T:~", "T:*", ""},
        {"Tanh Exp Identity", "", 7, 0, "f", "T:*", "T:*", ""},
    };
    const d_row *r = &DRAW_FROM(d->s, simple);
    draw_row(d, r, op_of(d, r));
}

static bool has_op(const char *list, const char *op) {
    size_t len = strlen(op);
    for (const char *p = strstr(list, op); p; p = strstr(p + 1, op))
        if ((p == list || p[-1] == ' ') && (p[len] == ' ' || !p[len]))
            return true;
    return false;
}

bool draw_knows(const char *op, const char *domain) {
    static const char nested[] =
        "If Loop Scan SequenceMap SequenceEmpty SequenceConstruct SequenceInsert SequenceErase "
        "SequenceAt SequenceLength ConcatFromSequence SplitToSequence Optional OptionalGetElement "
        "OptionalHasElement";
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].domain, domain) == 0 && has_op(rows[i].ops, op))
            return true;
    return !domain[0] && has_op(nested, op);
}
