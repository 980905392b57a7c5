// SPDX-License-Identifier: MIT
//
// From XML to packages. Elements and what they may hold are tables; anything else is an error that
// names file, line, element and what is allowed.
#include "tools/op_package_generator/opdef.h"

#include "base/file.h"
#include "tools/op_package_generator/xml.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

const char *const qg_backend_names[QG_N_BACKENDS] = {"CPU", "GPU", "HTP"};

#define MAX_OPS 1024u // of all files

// What is read: files in turn.
typedef struct reading {
    qrn_arena *arena;
    const char *file;
    struct collection *collections;
    uint32_t n_collections;
} reading;

typedef struct supplement {
    qg_backend backend;
    const qg_element *list;
    const char *file;
} supplement;

typedef struct collection {
    const char *name;
    qg_op *ops;
    uint32_t n_ops;
    supplement *supplements;
    uint32_t n_supplements;
    const char **files;
    uint32_t n_files;
} collection;

static qrn_status no_memory(const reading *r) {
    return QRN_FAIL(QRN_E_MEM, "%s: out of memory", r->file);
}

static bool is(const qg_element *e, const char *name) { return strcmp(e->name, name) == 0; }

static qrn_status unexpected(const reading *r, const qg_element *e, const char *where,
                             const char *allowed) {
    return QRN_FAIL(QRN_E_ARGUMENT, "%s:%u: <%s> in <%s>: allowed are %s", r->file, e->line,
                    e->name, where, allowed);
}

static qrn_status wrong(const reading *r, const qg_element *e, const char *allowed) {
    return QRN_FAIL(QRN_E_ARGUMENT, "%s:%u: <%s>%s</%s>: expected %s", r->file, e->line, e->name,
                    e->text, e->name, allowed);
}

static uint32_t count(const qg_element *e, const char *name) {
    uint32_t n = 0;
    for (const qg_element *c = e->first; c; c = c->next)
        n += is(c, name);
    return n;
}

static const qg_element *child(const qg_element *e, const char *name) {
    for (const qg_element *c = e->first; c; c = c->next)
        if (is(c, name))
            return c;
    return NULL;
}

// Grows an array that lives in the arena by one: lists here are short.
static void *grown(qrn_arena *a, const void *items, uint32_t n, size_t item_bytes) {
    char *more = qrn_arena_alloc(a, (n + 1u) * item_bytes);
    if (more && n)
        memcpy(more, items, n * item_bytes);
    return more;
}

// --- names

static bool is_identifier(const char *s) {
    for (const char *p = s; *p; p++)
        if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '_' ||
              (*p >= '0' && *p <= '9' && p > s)))
            return false;
    return *s && strlen(s) <= 128;
}

static qrn_status read_name(const reading *r, const qg_element *e, bool identifier,
                            const char **out) {
    const qg_element *name = child(e, "Name");
    if (!name || !*name->text)
        return QRN_FAIL(QRN_E_ARGUMENT, "%s:%u: <%s> has no <Name>", r->file, e->line, e->name);
    if (identifier && !is_identifier(name->text))
        return wrong(r, name, "a name of C++: letters, digits and _, of at most 128 characters");
    if (strpbrk(name->text, "\"\\\n\r\t") || strlen(name->text) > 128)
        return wrong(r, name, "a name without quotes and line ends, of at most 128 characters");
    *out = name->text;
    return QRN_OK;
}

// --- operands

static qrn_status read_bool(const reading *r, const qg_element *e, bool *out) {
    if (strcmp(e->text, "true") == 0 || strcmp(e->text, "True") == 0 || strcmp(e->text, "1") == 0)
        *out = true;
    else if (strcmp(e->text, "false") == 0 || strcmp(e->text, "False") == 0 ||
             strcmp(e->text, "0") == 0)
        *out = false;
    else
        return wrong(r, e, "true or false");
    return QRN_OK;
}

static qrn_status read_shape(const reading *r, const qg_element *e, qg_operand *o) {
    static const char *const layouts[] = {"NHWC", "NHCW", "UNDEFINED", "BACKEND_SPECIFIC"};
    for (const qg_element *c = e->first; c; c = c->next) {
        bool good = is(c, "Text");
        if (is(c, "Layout"))
            for (size_t i = 0; i < 4; i++)
                good = good || strcmp(c->text, layouts[i]) == 0;
        if (is(c, "Layout") && !good)
            return wrong(r, c, "NHWC, NHCW, UNDEFINED or BACKEND_SPECIFIC");
        if (is(c, "Rank")) {
            size_t n = strlen(c->text);
            good = true;
            if (strcmp(c->text, "SCALAR") == 0)
                o->rank = QG_RANK_SCALAR;
            else if (strcmp(c->text, "ND") == 0)
                o->rank = QG_RANK_ANY;
            else if (n == 2 && c->text[0] >= '1' && c->text[0] <= '5' && c->text[1] == 'D')
                o->rank = (uint32_t)(c->text[0] - '0');
            else
                return wrong(r, c, "SCALAR, 1D, 2D, 3D, 4D, 5D or ND");
        }
        if (!good)
            return unexpected(r, c, e->name, "Rank, Layout, Text");
    }
    return QRN_OK;
}

static qrn_status read_types(const reading *r, const qg_element *e, qg_operand *o) {
    // clang-format off
    static const char *const known[] = {
        "INT_8", "INT_16", "INT_32", "INT_64", "UINT_8", "UINT_16", "UINT_32", "UINT_64",
        "FLOAT_16", "FLOAT_32", "FLOAT_64", "SFIXED_POINT_4", "SFIXED_POINT_8", "SFIXED_POINT_16",
        "SFIXED_POINT_32", "UFIXED_POINT_4", "UFIXED_POINT_8", "UFIXED_POINT_16",
        "UFIXED_POINT_32", "BOOL_8", "STRING"};
    // clang-format on
    uint32_t n = count(e, "Datatype");
    if (!n)
        return QRN_OK;
    o->n_types = 0;
    o->types = qrn_arena_alloc(r->arena, n * sizeof *o->types);
    if (!o->types)
        return no_memory(r);
    for (const qg_element *c = e->first; c; c = c->next) {
        if (!is(c, "Datatype"))
            continue;
        if (strcmp(c->text, "BACKEND_SPECIFIC") == 0) { // the supplement of a backend says
            o->n_types = 0;
            return QRN_OK;
        }
        size_t i = 0;
        bool prefix = strncmp(c->text, "QNN_DATATYPE_", 13) == 0;
        while (i < sizeof known / sizeof known[0] &&
               (!prefix || strcmp(c->text + 13, known[i]) != 0))
            i++;
        if (i == sizeof known / sizeof known[0])
            return wrong(r, c, "a QNN_DATATYPE_ of the API, or BACKEND_SPECIFIC");
        o->types[o->n_types++] = c->text;
    }
    return QRN_OK;
}

static qrn_status read_enums(const reading *r, const qg_element *e, qg_operand *o) {
    uint32_t n = count(e, "Enum");
    o->n_enums = 0;
    o->enums = qrn_arena_alloc(r->arena, (n + 1u) * sizeof *o->enums);
    if (!o->enums)
        return no_memory(r);
    for (const qg_element *c = e->first; c; c = c->next) {
        if (!is(c, "Enum"))
            return unexpected(r, c, e->name, "Enum");
        o->enums[o->n_enums++] = c->text;
    }
    return QRN_OK;
}

static qrn_status read_operand(const reading *r, const qg_element *e, qg_operand *o) {
    static const char *const ignored[] = {
        "Name",           "Description", "Constraint",          "Datatype",
        "IsStaticTensor", "Shape",       "OnlyDefaultSupported"};
    QRN_TRY(read_name(r, e, false, &o->name));
    for (const qg_element *c = e->first; c; c = c->next) {
        bool known = false;
        for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
            known = known || is(c, ignored[i]);
        if (is(c, "Mandatory"))
            QRN_TRY(read_bool(r, c, &o->mandatory));
        else if (is(c, "Repeated"))
            QRN_TRY(read_bool(r, c, &o->repeated));
        else if (is(c, "Shape"))
            QRN_TRY(read_shape(r, c, o));
        else if (is(c, "Enumeration"))
            QRN_TRY(read_enums(r, c, o));
        else if (is(c, "Default"))
            o->fallback = c->text;
        else if (!known)
            return unexpected(r, c, e->name,
                              "Name, Description, Mandatory, Constraint, Datatype, Shape, "
                              "Default, Repeated, IsStaticTensor, Enumeration, "
                              "OnlyDefaultSupported");
    }
    return read_types(r, e, o);
}

static qrn_status read_operands(const reading *r, const qg_element *op, const char *kind,
                                qg_operands *out) {
    out->items = qrn_arena_alloc(r->arena, count(op, kind) * sizeof *out->items);
    if (!out->items)
        return no_memory(r);
    for (const qg_element *c = op->first; c; c = c->next) {
        if (!is(c, kind))
            continue;
        qg_operand *o = &out->items[out->n];
        *o = (qg_operand){.mandatory = true};
        QRN_TRY(read_operand(r, c, o));
        for (uint32_t i = 0; i < out->n; i++)
            if (strcmp(out->items[i].name, o->name) == 0)
                return QRN_FAIL(QRN_E_ARGUMENT, "%s:%u: a second <%s> '%s'", r->file, c->line, kind,
                                o->name);
        out->n++;
    }
    return QRN_OK;
}

// --- ops

static qrn_status read_backend(const reading *r, const qg_element *e, const char *text,
                               uint32_t *mask) {
    for (uint32_t i = 0; i < QG_N_BACKENDS; i++)
        if (strcmp(text, qg_backend_names[i]) == 0) {
            *mask |= 1u << i;
            return QRN_OK;
        }
    return QRN_FAIL(QRN_E_UNSUPPORTED, "%s:%u: backend '%s': packages are made for CPU, GPU, HTP",
                    r->file, e->line, text);
}

static qrn_status check_op(const reading *r, const qg_element *e, const qg_op *op) {
    if (!op->inputs.n || !op->outputs.n)
        return QRN_FAIL(QRN_E_ARGUMENT, "%s:%u: op '%s' needs an <Input> and an <Output>", r->file,
                        e->line, op->name);
    if (!op->backends)
        return QRN_FAIL(QRN_E_ARGUMENT, "%s:%u: op '%s' has no <SupportedBackend>", r->file,
                        e->line, op->name);
    for (int side = 0; side < 2; side++) {
        const qg_operands *l = side ? &op->outputs : &op->inputs;
        for (uint32_t i = 0; i < l->n; i++) {
            if (l->items[i].rank == QG_RANK_SCALAR)
                return QRN_FAIL(QRN_E_ARGUMENT,
                                "%s:%u: op '%s': '%s' has rank SCALAR, but inputs "
                                "and outputs have at least one dimension",
                                r->file, e->line, op->name, l->items[i].name);
            if (l->items[i].repeated && op->backends & 1u << QG_HTP)
                return QRN_FAIL(QRN_E_UNSUPPORTED,
                                "%s:%u: op '%s': '%s' is repeated, which ops of "
                                "the HTP do not support",
                                r->file, e->line, op->name, l->items[i].name);
            if (side && l->items[i].fallback)
                return QRN_FAIL(QRN_E_ARGUMENT, "%s:%u: op '%s': output '%s' has a default",
                                r->file, e->line, op->name, l->items[i].name);
        }
    }
    return QRN_OK;
}

static qrn_status read_op(const reading *r, const qg_element *e, qg_op *op) {
    static const char *const known[] = {
        "Name",   "Description", "Reference",        "Input",
        "Output", "Parameter",   "SupportedBackend", "UseDefaultTranslation"};
    *op = (qg_op){.about = ""};
    QRN_TRY(read_name(r, e, true, &op->name));
    for (const qg_element *c = e->first; c; c = c->next) {
        bool good = false;
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            good = good || is(c, known[i]);
        if (!good)
            return unexpected(r, c, e->name,
                              "Name, Description, Reference, Input, Output, Parameter, "
                              "UseDefaultTranslation, SupportedBackend");
        if (is(c, "SupportedBackend"))
            QRN_TRY(read_backend(r, c, c->text, &op->backends));
        const qg_element *content = is(c, "Description") ? child(c, "Content") : NULL;
        if (content)
            op->about = content->text;
    }
    QRN_TRY(read_operands(r, e, "Input", &op->inputs));
    QRN_TRY(read_operands(r, e, "Output", &op->outputs));
    QRN_TRY(read_operands(r, e, "Parameter", &op->params));
    return check_op(r, e, op);
}

// --- collections

static qrn_status find_collection(reading *r, const char *name, collection **out) {
    for (uint32_t i = 0; i < r->n_collections; i++)
        if (strcmp(r->collections[i].name, name) == 0) {
            *out = &r->collections[i];
            return QRN_OK;
        }
    collection *list = grown(r->arena, r->collections, r->n_collections, sizeof *list);
    if (!list)
        return no_memory(r);
    r->collections = list;
    *out = &list[r->n_collections++];
    (*out)->name = name;
    return QRN_OK;
}

static qrn_status add_op(const reading *r, const qg_element *e, collection *c) {
    if (!is(e, "OpDef"))
        return unexpected(r, e, "OpDefList", "OpDef");
    qg_op *list = c->n_ops < MAX_OPS ? grown(r->arena, c->ops, c->n_ops, sizeof *list) : NULL;
    if (c->n_ops == MAX_OPS)
        return QRN_FAIL(QRN_E_ARGUMENT, "%s:%u: more than %u ops", r->file, e->line, MAX_OPS);
    if (!list)
        return no_memory(r);
    c->ops = list;
    QRN_TRY(read_op(r, e, &list[c->n_ops]));
    for (uint32_t i = 0; i < c->n_ops; i++)
        if (strcasecmp(list[i].name, list[c->n_ops].name) == 0) // functions are in small letters
            return QRN_FAIL(QRN_E_ARGUMENT, "%s:%u: a second op '%s' in package '%s'", r->file,
                            e->line, list[i].name, c->name);
    c->n_ops++;
    return QRN_OK;
}

static qrn_status add_supplement(const reading *r, const qg_element *e, collection *c) {
    const char *backend = qg_attribute_of(e, "Backend");
    uint32_t mask = 0;
    if (!backend)
        return QRN_FAIL(QRN_E_ARGUMENT, "%s:%u: <%s> without Backend", r->file, e->line, e->name);
    QRN_TRY(read_backend(r, e, backend, &mask));
    supplement *list = grown(r->arena, c->supplements, c->n_supplements, sizeof *list);
    if (!list)
        return no_memory(r);
    c->supplements = list;
    list[c->n_supplements++] = (supplement){mask == 1u << QG_CPU   ? QG_CPU
                                            : mask == 1u << QG_GPU ? QG_GPU
                                                                   : QG_HTP,
                                            e, r->file};
    return QRN_OK;
}

static qrn_status add_file(reading *r, const qg_element *root) {
    collection *c = NULL;
    if (!is(root, "OpDefCollection"))
        return QRN_FAIL(QRN_E_ARGUMENT, "%s:%u: <%s>, expected <OpDefCollection>", r->file,
                        root->line, root->name);
    const char *name = qg_attribute_of(root, "PackageName");
    if (!name || !is_identifier(name))
        return QRN_FAIL(QRN_E_ARGUMENT,
                        "%s:%u: PackageName '%s': expected a name of C++: letters, digits and _",
                        r->file, root->line, name ? name : "");
    QRN_TRY(find_collection(r, name, &c));
    if (!(c->files = grown(r->arena, c->files, c->n_files, sizeof *c->files)))
        return no_memory(r);
    c->files[c->n_files++] = r->file;
    for (const qg_element *e = root->first; e; e = e->next) {
        if (is(e, "OpDefList")) {
            for (const qg_element *op = e->first; op; op = op->next)
                QRN_TRY(add_op(r, op, c));
        } else if (is(e, "SupplementalOpDefList")) {
            QRN_TRY(add_supplement(r, e, c));
        } else {
            return unexpected(r, e, root->name, "OpDefList, SupplementalOpDefList");
        }
    }
    return QRN_OK;
}

// --- packages

static qrn_status supplement_operands(const reading *r, const qg_element *e, const char *kind,
                                      const char *op, qg_operands *to) {
    for (const qg_element *c = e->first; c; c = c->next) {
        if (!is(c, kind))
            continue;
        const char *name;
        QRN_TRY(read_name(r, c, false, &name));
        uint32_t i = 0;
        while (i < to->n && strcmp(to->items[i].name, name) != 0)
            i++;
        if (i == to->n)
            return QRN_FAIL(QRN_E_ARGUMENT, "%s:%u: op '%s' has no <%s> '%s'", r->file, c->line, op,
                            kind, name);
        QRN_TRY(read_operand(r, c, &to->items[i]));
    }
    return QRN_OK;
}

static bool own_operands(qrn_arena *a, qg_operands *l) {
    l->items = qrn_arena_copy(a, l->items, l->n * sizeof *l->items);
    return l->items != NULL;
}

// Changes the operands of an op as the supplements of the backend say.
static qrn_status supplement_op(reading *r, const collection *c, qg_backend backend, qg_op *op) {
    if (!own_operands(r->arena, &op->inputs) || !own_operands(r->arena, &op->outputs) ||
        !own_operands(r->arena, &op->params))
        return no_memory(r);
    for (uint32_t i = 0; i < c->n_supplements; i++) {
        if (c->supplements[i].backend != backend)
            continue;
        r->file = c->supplements[i].file;
        for (const qg_element *e = c->supplements[i].list->first; e; e = e->next) {
            const qg_element *name = is(e, "SupplementalOpDef") ? child(e, "Name") : NULL;
            if (!name || strcmp(name->text, op->name) != 0)
                continue;
            QRN_TRY(supplement_operands(r, e, "Input", op->name, &op->inputs));
            QRN_TRY(supplement_operands(r, e, "Output", op->name, &op->outputs));
            QRN_TRY(supplement_operands(r, e, "Parameter", op->name, &op->params));
        }
    }
    return QRN_OK;
}

static qrn_status make_package(reading *r, const collection *c, qg_backend backend, bool alone,
                               qg_package *p) {
    *p = (qg_package){.backend = backend, .configs = c->files, .n_configs = c->n_files};
    size_t n = strlen(c->name) + strlen(qg_backend_names[backend]) + 1;
    char *name = qrn_arena_alloc(r->arena, n);
    p->ops = qrn_arena_alloc(r->arena, c->n_ops * sizeof *p->ops);
    if (!name || !p->ops)
        return no_memory(r);
    snprintf(name, n, "%s%s", c->name, alone ? "" : qg_backend_names[backend]);
    p->name = name;
    for (uint32_t i = 0; i < c->n_ops; i++) {
        if (!(c->ops[i].backends & 1u << backend))
            continue;
        p->ops[p->n_ops] = c->ops[i];
        QRN_TRY(supplement_op(r, c, backend, &p->ops[p->n_ops++]));
    }
    return QRN_OK;
}

static qrn_status make_packages(reading *r, qg_packages *out) {
    out->items =
        qrn_arena_alloc(r->arena, (size_t)r->n_collections * QG_N_BACKENDS * sizeof *out->items);
    if (!out->items)
        return no_memory(r);
    for (uint32_t i = 0; i < r->n_collections; i++) {
        const collection *c = &r->collections[i];
        uint32_t all = 0;
        for (uint32_t k = 0; k < c->n_ops; k++)
            all |= c->ops[k].backends;
        if (!all)
            return QRN_FAIL(QRN_E_ARGUMENT, "%s: package '%s' has no ops", c->files[0], c->name);
        for (uint32_t b = 0; b < QG_N_BACKENDS; b++)
            if (all & 1u << b)
                QRN_TRY(make_package(r, c, (qg_backend)b, (all & (all - 1)) == 0,
                                     &out->items[out->n++]));
    }
    return QRN_OK;
}

static qrn_status parse_one(reading *r, const char *name, const void *data, size_t size) {
    qg_element *root = NULL;
    r->file = name;
    QRN_TRY(qg_xml_read(name, data, size, r->arena, &root));
    return add_file(r, root);
}

qrn_status qg_opdef_read(const char *const *paths, size_t n, qrn_arena *a, qg_packages *out) {
    reading r = {.arena = a};
    *out = (qg_packages){0};
    for (size_t i = 0; i < n; i++) {
        qrn_file f = {0};
        QRN_TRY(qrn_file_map(paths[i], &f));
        qrn_status s = parse_one(&r, paths[i], f.data, f.size);
        qrn_file_unmap(&f);
        QRN_TRY(s);
    }
    return make_packages(&r, out);
}
