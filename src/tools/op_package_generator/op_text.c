// SPDX-License-Identifier: MIT
//
// The words of the templates. Names of packages and ops are names of C++; those of operands may be
// anything without quotes, and become arguments with a prefix and a number.
#include "tools/op_package_generator/op_text.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void put_lower(FILE *to, const char *s) {
    for (; *s; s++)
        fputc(tolower((unsigned char)*s), to);
}

static void put_argument(FILE *to, const char *kind, uint32_t i, const qg_operand *o) {
    fprintf(to, "%s%u_", kind, i);
    for (const char *s = o->name; *s; s++)
        fputc(isalnum((unsigned char)*s) && !((unsigned char)*s & 0x80) ? *s : '_', to);
}

// --- of a package

static void put_package(FILE *to, const qg_package *p, const qg_op *op) {
    (void)op;
    fputs(p->name, to);
}

static void put_declarations(FILE *to, const qg_package *p, const qg_op *op) {
    static const char *const forms[] = {"extern const CpuOp ", "extern const GpuOp ",
                                        "extern const op_rules::Rules "};
    (void)op;
    for (uint32_t i = 0; i < p->n_ops; i++) {
        fputs(forms[p->backend], to);
        put_lower(to, p->ops[i].name);
        fputs(p->backend == QG_HTP ? "Rules;\n" : "Op;\n", to);
    }
}

static void put_pointers(FILE *to, const qg_package *p, const qg_op *op) {
    (void)op;
    for (uint32_t i = 0; i < p->n_ops; i++) {
        fputs(i ? ", &" : "&", to);
        put_lower(to, p->ops[i].name);
        fputs(p->backend == QG_HTP ? "Rules" : "Op", to);
    }
}

static void put_names(FILE *to, const qg_package *p, const qg_op *op) {
    (void)op;
    for (uint32_t i = 0; i < p->n_ops; i++)
        fprintf(to, "%s\"%s\"", i ? ", " : "", p->ops[i].name);
}

static void put_files(FILE *to, const qg_package *p, const qg_op *op) {
    (void)op;
    for (uint32_t i = 0; i < p->n_ops; i++)
        fprintf(to, "DECLARE_PKG_OPS_OPTS_LIST(PKG_%s)\n", p->ops[i].name);
}

static void put_goal(FILE *to, const qg_package *p, const qg_op *op) {
    (void)op;
    fputs(p->backend == QG_HTP ? "htp" : p->backend == QG_GPU ? "gpu" : "cpu", to);
}

// The accelerator's library is built too where there is a compiler for it.
static void put_goals(FILE *to, const qg_package *p, const qg_op *op) {
    (void)op;
    if (p->backend == QG_HTP)
        fputs("$(if $(HEXAGON_CXX),htp_v68)", to);
}

static void put_hexagon(FILE *to, const qg_package *p, const qg_op *op) {
    static const unsigned versions[] = {68, 69, 73, 75, 79, 81};
    (void)op;
    for (size_t i = 0; p->backend == QG_HTP && i < sizeof versions / sizeof versions[0]; i++)
        fprintf(to,
                "$(eval $(call target,htp_v%u,hexagon-v%u,$(HEXAGON_CXX),HEXAGON_CXX,"
                "-mv%u -mhvx -mhvx-length=128B))\n",
                versions[i], versions[i], versions[i]);
}

// --- of an op

static void put_op(FILE *to, const qg_package *p, const qg_op *op) {
    (void)p;
    fputs(op->name, to);
}

static void put_op_lower(FILE *to, const qg_package *p, const qg_op *op) {
    (void)p;
    put_lower(to, op->name);
}

// Lines of a comment. A backslash at an end would swallow the next line.
static void put_about(FILE *to, const qg_package *p, const qg_op *op) {
    unsigned column = 0;
    (void)p;
    for (const char *s = op->about; *s;) {
        unsigned n = 0;
        while (s[n] && (unsigned char)s[n] > ' ')
            n++;
        if (column + n > 96) {
            fputc('\n', to);
            column = 0;
        }
        if (n) {
            fputs(column ? " " : "// ", to);
            column += n + (column ? 1 : 3);
        }
        for (unsigned i = 0; i < n; i++)
            fputc(s[i] == '\\' ? '/' : s[i], to);
        s += n + (s[n] != 0);
    }
    if (!column)
        fputs("//", to);
}

static void put_operand_rules(FILE *to, const qg_operands *l) {
    fputc('{', to);
    for (uint32_t i = 0; i < l->n; i++) {
        const qg_operand *o = &l->items[i];
        fprintf(to, "%s\n        {\"%s\", %s, %s, %u, {", i ? "," : "", o->name,
                o->mandatory ? "true" : "false", o->repeated ? "true" : "false", o->rank);
        for (uint32_t k = 0; k < o->n_types; k++)
            fprintf(to, "%s%s", k ? ", " : "", o->types[k]);
        fputs("}}", to);
    }
    fputc('}', to);
}

static void put_rules(FILE *to, const qg_package *p, const qg_op *op) {
    (void)p;
    fprintf(to, "{\n    \"%s\",\n    ", op->name);
    put_operand_rules(to, &op->inputs);
    fputs(",\n    ", to);
    put_operand_rules(to, &op->outputs);
    fputs(",\n    ", to);
    put_operand_rules(to, &op->params);
    fputc('}', to);
}

// Comments that say which operand has which number.
static void put_operands(FILE *to, const qg_package *p, const qg_op *op) {
    (void)p;
    for (uint32_t i = 0; i < op->inputs.n; i++)
        fprintf(to, "    // node.input<T>(%u): %s\n", i, op->inputs.items[i].name);
    for (uint32_t i = 0; i < op->outputs.n; i++)
        fprintf(to, "    // node.output<T>(%u): %s\n", i, op->outputs.items[i].name);
    for (uint32_t i = 0; i < op->params.n; i++)
        fprintf(to, "    // node.parameter(\"%s\")\n", op->params.items[i].name);
}

// --- the HTP

static void put_htp_args(FILE *to, const qg_package *p, const qg_op *op) {
    (void)p;
    for (uint32_t i = 0; i < op->outputs.n; i++) {
        fputs(i ? ", TensorType &" : "TensorType &", to);
        put_argument(to, "out", i, &op->outputs.items[i]);
    }
    for (uint32_t i = 0; i < op->inputs.n; i++) {
        fputs(", const TensorType &", to);
        put_argument(to, "in", i, &op->inputs.items[i]);
    }
    for (uint32_t i = 0; i < op->params.n; i++) {
        fputs(", const Tensor &", to);
        put_argument(to, "param", i, &op->params.items[i]);
    }
}

static void put_htp_unused(FILE *to, const qg_package *p, const qg_op *op) {
    const struct {
        const char *kind;
        const qg_operands *l;
    } all[] = {{"out", &op->outputs}, {"in", &op->inputs}, {"param", &op->params}};
    (void)p;
    for (size_t k = 0; k < 3; k++)
        for (uint32_t i = 0; i < all[k].l->n; i++) {
            fputs("    (void)", to);
            put_argument(to, all[k].kind, i, &all[k].l->items[i]);
            fputs(";\n", to);
        }
}

// The default of a scalar parameter as a number; false: it has none, or none that is a number.
static bool default_of(const qg_operand *o, double *out) {
    if (!o->fallback || o->mandatory || o->rank != QG_RANK_SCALAR)
        return false;
    for (uint32_t i = 0; i < o->n_enums; i++)
        if (strcmp(o->enums[i], o->fallback) == 0) {
            *out = i;
            return true;
        }
    if (strcmp(o->fallback, "true") == 0 || strcmp(o->fallback, "false") == 0) {
        *out = o->fallback[0] == 't';
        return true;
    }
    char *end = NULL;
    double v = strtod(o->fallback, &end);
    bool number = end != o->fallback && !*end && isfinite(v);
    *out = number ? v : *out;
    return number;
}

static void put_param_order(FILE *to, const qg_package *p, const qg_op *op) {
    double v;
    (void)p;
    if (!op->params.n)
        return;
    fputc('\n', to);
    for (uint32_t i = 0; i < op->params.n; i++)
        if (default_of(&op->params.items[i], &v)) {
            const qg_operand *o = &op->params.items[i];
            fprintf(to,
                    "static const Qnn_Param_t default%u = op_rules::number(\"%s\", %s, %.9g);\n", i,
                    o->name, o->n_types ? o->types[0] : "QNN_DATATYPE_FLOAT_32", v);
        }
    fputs("// The order of the function's last arguments: name, whether it must be given, default\n"
          "// (nullptr: it is left out, and the function has one argument less).\n",
          to);
    fprintf(to, "DEF_PACKAGE_PARAM_ORDER(\"%s\"", op->name);
    for (uint32_t i = 0; i < op->params.n; i++) {
        const qg_operand *o = &op->params.items[i];
        fprintf(to, ", \"%s\", %s, ", o->name, o->mandatory ? "true" : "false");
        if (default_of(o, &v))
            fprintf(to, "&default%u", i);
        else
            fputs("nullptr", to);
    }
    fputs(")\n", to);
}

// --- the GPU

static const char *cl_type(const qg_operand *o) {
    static const struct {
        const char *type, *cl;
    } types[] = {{"FLOAT_32", "float"}, {"FLOAT_16", "half"}, {"INT_32", "int"},
                 {"UINT_32", "uint"},   {"INT_8", "char"},    {"UINT_8", "uchar"},
                 {"BOOL_8", "uchar"},   {"INT_16", "short"},  {"UINT_16", "ushort"}};
    for (size_t i = 0; o->n_types && i < sizeof types / sizeof types[0]; i++)
        if (strcmp(o->types[0] + strlen("QNN_DATATYPE_"), types[i].type) == 0)
            return types[i].cl;
    return "float";
}

static bool is_number(const qg_operand *o) { return o->rank == QG_RANK_SCALAR; }

static void put_kernel_args(FILE *to, const qg_package *p, const qg_op *op) {
    (void)p;
    for (uint32_t i = 0; i < op->inputs.n; i++) {
        fprintf(to, "__global const %s *", cl_type(&op->inputs.items[i]));
        put_argument(to, "in", i, &op->inputs.items[i]);
        fputs(", ", to);
    }
    for (uint32_t i = 0; i < op->outputs.n; i++) {
        fprintf(to, "__global %s *", cl_type(&op->outputs.items[i]));
        put_argument(to, "out", i, &op->outputs.items[i]);
        fputs(", ", to);
    }
    for (uint32_t i = 0; i < op->params.n; i++) {
        const qg_operand *o = &op->params.items[i];
        bool real = strcmp(cl_type(o), "float") == 0;
        fprintf(to, is_number(o) ? "const %s " : "__global const %s *",
                is_number(o) ? (real ? "float" : "int") : cl_type(o));
        put_argument(to, "param", i, o);
        fputs(", ", to);
    }
    fputs("const int n", to);
}

static void put_kernel_calls(FILE *to, const qg_package *p, const qg_op *op) {
    (void)p;
    for (uint32_t i = 0; i < op->inputs.n; i++)
        fprintf(to, "    operation.input(%u);\n", i);
    for (uint32_t i = 0; i < op->outputs.n; i++)
        fprintf(to, "    operation.output(%u);\n", i);
    for (uint32_t i = 0; i < op->params.n; i++) {
        const qg_operand *o = &op->params.items[i];
        if (!is_number(o)) {
            fprintf(to, "    operation.parameter(\"%s\");\n", o->name);
            continue;
        }
        bool real = strcmp(cl_type(o), "float") == 0;
        double v = 0;
        default_of(o, &v);
        fprintf(to, "    operation.number(operation.scalar<%s>(\"%s\", %.9g));\n",
                real ? "float" : "int32_t", o->name, v);
    }
}

const qg_word qg_words[] = {
    {"PACKAGE", put_package},
    {"OP_DECLARATIONS", put_declarations},
    {"OP_POINTERS", put_pointers},
    {"OP_NAMES", put_names},
    {"HTP_FILES", put_files},
    {"GOAL", put_goal},
    {"MORE_GOALS", put_goals},
    {"HEXAGON_TARGETS", put_hexagon},
    {"OP", put_op},
    {"op", put_op_lower},
    {"ABOUT", put_about},
    {"RULES", put_rules},
    {"OPERANDS", put_operands},
    {"HTP_ARGS", put_htp_args},
    {"HTP_UNUSED", put_htp_unused},
    {"PARAM_ORDER", put_param_order},
    {"KERNEL_ARGS", put_kernel_args},
    {"KERNEL_CALLS", put_kernel_calls},
    {0},
};

// The word that begins at s, behind its @; NULL: none.
static const qg_word *word_at(const char *s) {
    for (const qg_word *w = qg_words; w->name; w++) {
        size_t n = strlen(w->name);
        if (strncmp(s, w->name, n) == 0 && s[n] == '@')
            return w;
    }
    return NULL;
}

void qg_fill(FILE *to, const char *text, const qg_package *p, const qg_op *op) {
    for (const char *s = text; *s; s++) {
        const qg_word *w = *s == '@' ? word_at(s + 1) : NULL;
        if (!w) {
            fputc(*s, to);
            continue;
        }
        w->write(to, p, op);
        s += strlen(w->name) + 1;
    }
}
