// SPDX-License-Identifier: MIT
//
// Regular expressions, compiled to a small program for a backtracking machine. The stack of
// alternatives is on the heap, so that long runs of text do not end the program's own.
#include "frontend/llm/regex.h"

#include "base/mem.h"

#include <string.h>

#define MAX_PROGRAM 4096
#define MAX_ITEMS 1024 // of all classes of a pattern
#define MAX_DEPTH 32
#define MAX_REPEAT 64 // of {m,n}: the operand is copied so often
#define MOST_STEPS(n) (2000 + 1000 * (uint64_t)(n))

typedef enum item_kind { RANGE, CATEGORIES, SPACE } item_kind;

typedef struct item {
    uint8_t kind;
    bool negated;
    uint32_t low, high; // RANGE: code points; CATEGORIES: low is the mask
} item;

typedef enum op { ONE, SPLIT, JUMP, AHEAD, END } op;

typedef struct step {
    uint8_t op;
    bool negated;  // ONE, AHEAD
    bool any_case; // ONE
    uint32_t x, y; // ONE: first item and their number; SPLIT: first and second way; JUMP, AHEAD: to
} step;

struct ql_regex {
    const char *pattern;
    step *steps;
    item *items;
    uint32_t n_steps, n_items;
};

typedef struct compiler {
    ql_regex *re;
    const char *at;
    bool any_case;
    unsigned depth;
} compiler;

static qrn_status rejected(const compiler *c, const char *what) {
    return QRN_FAIL(QRN_E_UNSUPPORTED, "pattern '%.200s', character %zu: %s", c->re->pattern,
                    (size_t)(c->at - c->re->pattern) + 1, what);
}

static qrn_status add_step(compiler *c, step s) {
    if (c->re->n_steps == MAX_PROGRAM)
        return rejected(c, "the pattern is too long");
    c->re->steps[c->re->n_steps++] = s;
    return QRN_OK;
}

static qrn_status add_item(compiler *c, item i) {
    if (c->re->n_items == MAX_ITEMS)
        return rejected(c, "its classes are too long");
    c->re->items[c->re->n_items++] = i;
    return QRN_OK;
}

static uint32_t next_char(compiler *c) {
    size_t bytes;
    uint32_t v = ql_utf8_read(c->at, strlen(c->at), 0, &bytes);
    c->at += bytes;
    return v;
}

// Behind "\p" or "\P".
static qrn_status read_property(compiler *c, bool negated) {
    const char *end = *c->at == '{' ? strchr(c->at, '}') : NULL;
    if (!end)
        return rejected(c, "\\p wants {..}");
    bool inverse = c->at[1] == '^';
    const char *name = c->at + 1 + inverse;
    uint32_t mask = ql_category_mask(name, (size_t)(end - name));
    if (!mask)
        return rejected(c, "this \\p{..} is not supported: general categories are");
    c->at = end + 1;
    return add_item(c, (item){CATEGORIES, negated != inverse, mask, 0});
}

static int hex(char d) {
    return d >= '0' && d <= '9'   ? d - '0'
           : d >= 'a' && d <= 'f' ? d - 'a' + 10
           : d >= 'A' && d <= 'F' ? d - 'A' + 10
                                  : -1;
}

// Behind "\x" or "\u": so many digits, or {..}.
static qrn_status read_code(compiler *c, unsigned digits, uint32_t *out) {
    bool braces = *c->at == '{';
    uint32_t v = 0;
    unsigned n = 0;
    c->at += braces;
    for (int d; n < (braces ? 6 : digits) && (d = hex(*c->at)) >= 0; n++, c->at++)
        v = v * 16 + (uint32_t)d;
    if (n == 0 || v > 0x10ffff || (braces ? *c->at != '}' : n < digits))
        return rejected(c, "not a code point");
    c->at += braces;
    *out = v;
    return QRN_OK;
}

// A character that may be escaped, or a class of its own behind a backslash (*is_class).
static qrn_status read_unit(compiler *c, uint32_t *out, bool *is_class) {
    static const char plain[] = "nrtfv", meant[] = "\n\r\t\f\v";
    *is_class = false;
    if (*c->at != '\\') {
        *out = next_char(c);
        return QRN_OK;
    }
    char e = *++c->at;
    const char *known = e ? strchr(plain, e) : NULL;
    if (!e)
        return rejected(c, "the pattern ends with a backslash");
    c->at++;
    if (known) {
        *out = (unsigned char)meant[known - plain];
        return QRN_OK;
    }
    *is_class = true;
    switch (e) {
    case 'p':
    case 'P':
        return read_property(c, e == 'P');
    case 's':
    case 'S':
        return add_item(c, (item){SPACE, e == 'S', 0, 0});
    case 'd':
    case 'D':
        return add_item(c, (item){CATEGORIES, e == 'D', ql_category_mask("Nd", 2), 0});
    default:
        break;
    }
    *is_class = false;
    if (e == 'x' || e == 'u')
        return read_code(c, e == 'x' ? 2 : 4, out);
    if ((e >= 'a' && e <= 'z') || (e >= 'A' && e <= 'Z') || (e >= '0' && e <= '9')) {
        c->at--;
        return rejected(c, "this escape is not supported");
    }
    *out = (unsigned char)e;
    return QRN_OK;
}

// Behind "[".
static qrn_status read_class(compiler *c) {
    uint32_t first = c->re->n_items, low, high;
    bool negated = *c->at == '^', is_class;
    c->at += negated;
    for (bool start = true; *c->at != ']' || start; start = false) {
        if (!*c->at)
            return rejected(c, "a class has no end");
        if (*c->at == '[' || strncmp(c->at, "&&", 2) == 0)
            return rejected(c, "classes inside classes are not supported");
        QRN_TRY(read_unit(c, &low, &is_class));
        if (is_class)
            continue;
        high = low;
        if (c->at[0] == '-' && c->at[1] && c->at[1] != ']') {
            c->at++;
            QRN_TRY(read_unit(c, &high, &is_class));
            if (is_class || high < low)
                return rejected(c, "not a range");
        }
        QRN_TRY(add_item(c, (item){RANGE, false, low, high}));
    }
    c->at++;
    return add_step(c, (step){ONE, negated, c->any_case, first, c->re->n_items - first});
}

static qrn_status read_alternatives(compiler *c);

// Behind "(".
static qrn_status read_group(compiler *c) {
    bool before = c->any_case, ahead = false, negated = false;
    uint32_t at = c->re->n_steps;
    if (*c->at == '?') {
        negated = c->at[1] == '!';
        ahead = negated || c->at[1] == '=';
        bool any_case = strncmp(c->at, "?i:", 3) == 0;
        if (!ahead && !any_case && strncmp(c->at, "?:", 2) != 0)
            return rejected(c, "this kind of group is not supported");
        c->any_case |= any_case;
        c->at += any_case ? 3 : 2;
    }
    if (ahead)
        QRN_TRY(add_step(c, (step){.op = AHEAD, .negated = negated}));
    if (++c->depth > MAX_DEPTH)
        return rejected(c, "groups are nested too deeply");
    QRN_TRY(read_alternatives(c));
    c->depth--;
    if (*c->at != ')')
        return rejected(c, "a group has no end");
    c->at++;
    c->any_case = before;
    if (ahead) {
        QRN_TRY(add_step(c, (step){.op = END}));
        c->re->steps[at].x = c->re->n_steps;
    }
    return QRN_OK;
}

static qrn_status read_atom(compiler *c) {
    uint32_t first = c->re->n_items, v;
    bool is_class;
    switch (*c->at) {
    case '(':
        c->at++;
        return read_group(c);
    case '[':
        c->at++;
        return read_class(c);
    case '.':
        c->at++;
        QRN_TRY(add_item(c, (item){RANGE, false, '\n', '\n'}));
        return add_step(c, (step){.op = ONE, .negated = true, .x = first, .y = 1});
    case '*':
    case '+':
    case '?':
    case '{':
        return rejected(c, "nothing to repeat");
    case '^':
    case '$':
        return rejected(c, "anchors are not supported");
    default:
        break;
    }
    QRN_TRY(read_unit(c, &v, &is_class));
    if (!is_class)
        QRN_TRY(add_item(c, (item){RANGE, false, v, v}));
    return add_step(c, (step){ONE, false, c->any_case, first, c->re->n_items - first});
}

static bool read_number(compiler *c, uint32_t *out) {
    const char *start = c->at;
    for (*out = 0; *c->at >= '0' && *c->at <= '9' && *out <= MAX_REPEAT; c->at++)
        *out = *out * 10 + (uint32_t)(*c->at - '0');
    return c->at > start;
}

// ?, *, +, {m}, {m,}, {m,n}; UINT32_MAX: no upper limit.
static qrn_status read_quantifier(compiler *c, uint32_t *low, uint32_t *high) {
    static const struct {
        char sign;
        uint32_t low, high;
    } signs[] = {{'?', 0, 1}, {'*', 0, UINT32_MAX}, {'+', 1, UINT32_MAX}};
    *low = *high = 1;
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        if (*c->at == signs[i].sign) {
            *low = signs[i].low;
            *high = signs[i].high;
            c->at++;
            goto done;
        }
    if (*c->at != '{')
        return QRN_OK;
    c->at++;
    bool ok = read_number(c, low);
    *high = *low;
    if (ok && *c->at == ',') {
        c->at++;
        if (!read_number(c, high))
            *high = UINT32_MAX;
    }
    if (!ok || *c->at != '}' || *low > MAX_REPEAT ||
        (*high != UINT32_MAX && (*high > MAX_REPEAT || *high < *low || *high == 0)))
        return rejected(c, "this repetition is not supported");
    c->at++;
done:
    if (*c->at == '?' || *c->at == '+')
        return rejected(c, "lazy and possessive repetition is not supported");
    return QRN_OK;
}

// Copies the steps of an atom, whose ways are inside of it.
static qrn_status copy_atom(compiler *c, uint32_t first, uint32_t n) {
    uint32_t by = c->re->n_steps - first;
    for (uint32_t i = 0; i < n; i++) {
        step s = c->re->steps[first + i];
        if (s.op != ONE)
            s.x += by;
        if (s.op == SPLIT)
            s.y += by;
        QRN_TRY(add_step(c, s));
    }
    return QRN_OK;
}

// Makes room for one step before the atom.
static qrn_status put_before(compiler *c, uint32_t first) {
    QRN_TRY(add_step(c, (step){0}));
    for (uint32_t i = c->re->n_steps - 1; i > first; i--) {
        c->re->steps[i] = c->re->steps[i - 1];
        if (c->re->steps[i].op != ONE)
            c->re->steps[i].x++;
        if (c->re->steps[i].op == SPLIT)
            c->re->steps[i].y++;
    }
    return QRN_OK;
}

// x{low,high}: copies of x, those behind the low-th one optional.
static qrn_status repeat(compiler *c, uint32_t first, uint32_t low, uint32_t high) {
    uint32_t n = c->re->n_steps - first;
    uint32_t copies = high == UINT32_MAX ? (low ? low : 1) : high;
    for (uint32_t i = 1; i < copies; i++)
        QRN_TRY(copy_atom(c, first, n));
    if (high == UINT32_MAX) { // the last copy repeats
        uint32_t loop = first + (copies - 1) * n;
        if (low)
            return add_step(c, (step){.op = SPLIT, .x = loop, .y = c->re->n_steps + 1});
        QRN_TRY(put_before(c, loop));
        QRN_TRY(add_step(c, (step){.op = JUMP, .x = loop}));
        c->re->steps[loop] = (step){.op = SPLIT, .x = loop + 1, .y = c->re->n_steps};
        return QRN_OK;
    }
    for (uint32_t i = high; i-- > low;) { // from behind: places before stay where they are
        uint32_t at = first + i * n;
        QRN_TRY(put_before(c, at));
        c->re->steps[at] = (step){.op = SPLIT, .x = at + 1, .y = c->re->n_steps};
    }
    // Each optional copy skips to the end of all.
    for (uint32_t i = low; i < high; i++)
        c->re->steps[first + low * n + (i - low) * (n + 1)].y = c->re->n_steps;
    return QRN_OK;
}

static qrn_status read_sequence(compiler *c) {
    while (*c->at && *c->at != '|' && *c->at != ')') {
        uint32_t first = c->re->n_steps, low, high;
        QRN_TRY(read_atom(c));
        QRN_TRY(read_quantifier(c, &low, &high));
        if (low != 1 || high != 1)
            QRN_TRY(repeat(c, first, low, high));
    }
    return QRN_OK;
}

static qrn_status read_alternatives(compiler *c) {
    uint32_t first = c->re->n_steps, jumps[64], n_jumps = 0;
    QRN_TRY(read_sequence(c));
    while (*c->at == '|') {
        c->at++;
        if (n_jumps == sizeof jumps / sizeof jumps[0])
            return rejected(c, "too many alternatives");
        QRN_TRY(put_before(c, first));
        jumps[n_jumps++] = c->re->n_steps;
        QRN_TRY(add_step(c, (step){.op = JUMP}));
        c->re->steps[first] = (step){.op = SPLIT, .x = first + 1, .y = c->re->n_steps};
        first = c->re->n_steps;
        QRN_TRY(read_sequence(c));
    }
    for (uint32_t i = 0; i < n_jumps; i++)
        c->re->steps[jumps[i]].x = c->re->n_steps;
    return QRN_OK;
}

qrn_status ql_regex_compile(const char *pattern, qrn_arena *arena, ql_regex **out) {
    ql_regex *re = qrn_arena_alloc(arena, sizeof *re);
    if (re) {
        re->pattern = qrn_arena_strdup(arena, pattern);
        re->steps = qrn_arena_alloc(arena, MAX_PROGRAM * sizeof *re->steps);
        re->items = qrn_arena_alloc(arena, MAX_ITEMS * sizeof *re->items);
    }
    if (!re || !re->pattern || !re->steps || !re->items)
        return QRN_FAIL(QRN_E_MEM, "no memory for a pattern");
    compiler c = {.re = re, .at = re->pattern};
    QRN_TRY(read_alternatives(&c));
    if (*c.at)
        return rejected(&c, "a ')' without its '('");
    QRN_TRY(add_step(&c, (step){.op = END}));
    *out = re;
    return QRN_OK;
}

// --- matching

typedef struct place {
    uint32_t step;
    size_t at;
} place;

typedef struct machine {
    const ql_regex *re;
    ql_slice text;
    place *stack;
    size_t n, cap;
    uint64_t steps_left;
} machine;

// Simple case folding of what stands in (?i:..): ASCII, and the two letters that fold to it.
static uint32_t folded(uint32_t c) {
    return c >= 'A' && c <= 'Z' ? c + 32 : c == 0x17f ? 's' : c == 0x212a ? 'k' : c;
}

static bool item_has(const item *i, uint32_t c, bool any_case) {
    bool has = i->kind == SPACE        ? ql_is_space(c)
               : i->kind == CATEGORIES ? (ql_category(c) & i->low) != 0
                                       : c >= i->low && c <= i->high;
    if (!has && any_case && i->kind == RANGE && i->low == i->high)
        has = folded(c) == folded(i->low);
    return has != i->negated;
}

static bool step_has(const ql_regex *re, const step *s, uint32_t c) {
    bool has = false;
    for (uint32_t i = 0; i < s->y && !has; i++)
        has = item_has(&re->items[s->x + i], c, s->any_case);
    return has != s->negated;
}

static qrn_status push(machine *m, uint32_t to, size_t at) {
    if (m->n == m->cap) {
        size_t want = m->cap ? 2 * m->cap : 256;
        place *grown = qrn_realloc(m->stack, m->cap * sizeof *grown, want * sizeof *grown);
        if (!grown)
            return QRN_FAIL(QRN_E_MEM, "no memory to split a text of %zu bytes", m->text.n);
        m->stack = grown;
        m->cap = want;
    }
    m->stack[m->n++] = (place){to, at};
    return QRN_OK;
}

// Runs from a step to the END of its part; *end is SIZE_MAX where nothing matches. Nested for what
// looks ahead.
static qrn_status run(machine *m, uint32_t from, size_t at, size_t *end) {
    const ql_regex *re = m->re;
    size_t bottom = m->n, bytes, ahead;
    *end = SIZE_MAX;
    QRN_TRY(push(m, from, at));
    while (m->n > bottom) {
        place p = m->stack[--m->n];
        for (bool on = true; on;) {
            const step *s = &re->steps[p.step++];
            if (m->steps_left-- == 0)
                return QRN_FAIL(QRN_E_UNSUPPORTED, "pattern '%.200s' takes too long on this text",
                                re->pattern);
            switch (s->op) {
            case ONE:
                on = p.at < m->text.n &&
                     step_has(re, s, ql_utf8_read(m->text.text, m->text.n, p.at, &bytes));
                p.at += on ? bytes : 0;
                break;
            case SPLIT:
                QRN_TRY(push(m, s->y, p.at));
                p.step = s->x;
                break;
            case JUMP:
                p.step = s->x;
                break;
            case AHEAD:
                QRN_TRY(run(m, p.step, p.at, &ahead));
                on = (ahead != SIZE_MAX) != s->negated;
                p.step = s->x;
                break;
            default:
                *end = p.at;
                m->n = bottom;
                return QRN_OK;
            }
        }
    }
    return QRN_OK;
}

qrn_status ql_regex_find(const ql_regex *re, ql_slice text, size_t from, bool *found,
                         ql_slice *match) {
    machine m = {.re = re, .text = text, .steps_left = MOST_STEPS(text.n - from)};
    qrn_status s = QRN_OK;
    size_t bytes;
    *found = false;
    for (size_t at = from; at < text.n && s == QRN_OK && !*found; at += bytes) {
        size_t end;
        s = run(&m, 0, at, &end);
        ql_utf8_read(text.text, text.n, at, &bytes);
        if (s == QRN_OK && end != SIZE_MAX && end > at) {
            *found = true;
            *match = (ql_slice){text.text + at, end - at};
        }
    }
    qrn_free(m.stack);
    return s;
}
