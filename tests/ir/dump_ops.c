// SPDX-License-Identifier: MIT
//
// Prints docs/ops.md from the op table and the backends' support tables; page.h says how.
#include "backend_tables.h"
#include "page.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const qrn_op_def *sorted[512];
static size_t n_sorted;

static int by_name(const void *a, const void *b) {
    return strcmp((*(const qrn_op_def *const *)a)->name, (*(const qrn_op_def *const *)b)->name);
}

static void sort_ops(void) {
    const qrn_op_def *op;
    while ((op = qrn_op_at(n_sorted)) && n_sorted < sizeof sorted / sizeof sorted[0])
        sorted[n_sorted++] = op;
    qsort(sorted, n_sorted, sizeof sorted[0], by_name);
}

static void print_types(FILE *f, qrn_dtype_mask types) {
    const char *sep = "";
    for (unsigned t = 0; t < QRN_DTYPE_COUNT; t++)
        if (types & ((qrn_dtype_mask)1 << t)) {
            fprintf(f, "%s%s", sep, qrn_dtypes[t].token);
            sep = " ";
        }
}

static void print_rank(FILE *f, unsigned lo, unsigned hi) {
    if (lo == hi)
        fprintf(f, "%u", lo);
    else
        fprintf(f, "%u..%u", lo, hi);
}

static void print_operands(FILE *f, const char *side, const qrn_operand_def *d, uint32_t n) {
    static const char *const presence[] = {"", ", optional", ", one or more", ", any number"};
    for (uint32_t i = 0; i < n; i++) {
        fprintf(f, "| %s %u%s | %s%s | ", side, i, d[i].presence >= QRN_VARIADIC ? ".." : "",
                d[i].name, presence[d[i].presence]);
        print_rank(f, d[i].rank_min, d[i].rank_max);
        fputs(" | ", f);
        print_types(f, d[i].types);
        fputs(" |\n", f);
    }
}

static void print_params(FILE *f, const qrn_op_def *op) {
    if (op->n_params == 0)
        return;
    fputs("\n| parameter | type | default | values |\n| --- | --- | --- | --- |\n", f);
    for (uint32_t i = 0; i < op->n_params; i++) {
        const qrn_param_def *p = &op->params[i];
        fprintf(f, "| `%s` | ", p->name);
        print_types(f, p->types);
        if (p->is_tensor)
            fprintf(f, ", tensor of rank %u", p->rank_min);
        fprintf(f, " | %s | ", p->presence == QRN_REQUIRED ? "required" : p->default_text);
        for (const qrn_enumerator *e = p->enums; e && e->name; e++)
            fprintf(f, "%s%s=%u", e == p->enums ? "" : ", ", e->name, e->value);
        fputs(" |\n", f);
    }
}

static void print_flags(FILE *f, uint32_t flags) {
    static const struct {
        uint32_t flag;
        const char *text;
    } words[] = {
        {QRN_OP_DYNAMIC, "dynamic dimensions allowed"},
        {QRN_OP_STATEFUL, "keeps state across executions"},
        {QRN_OP_RANDOM, "random"},
        {QRN_OP_CONTROL, "runs other graphs"},
        {QRN_OP_OUT_MAX, "first output dimension is a limit"},
        {QRN_OP_SPARSE, "sparse tensors allowed"},
        {QRN_OP_DEPRECATED, "deprecated"},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (flags & words[i].flag)
            fprintf(f, "; %s", words[i].text);
}

static void print_alt(FILE *f, const qrn_support_alt *a) {
    for (size_t i = 0; i < a->n_operands; i++) {
        const qrn_support_operand *o = &a->operands[i];
        fprintf(f, "%s%s[%u%s]=", i ? " " : "", o->is_output ? "out" : "in", o->first,
                o->last == o->first ? "" : "..");
        char list[192];
        fputs(qrn_dtype_mask_text(o->types, list, sizeof list), f);
    }
}

static void print_row(FILE *f, const qrn_support_row *r) {
    static const char *const answer[] = {
        [QRN_ANSWER_NO] = "no",
        [QRN_ANSWER_LISTED_NO] = "no, although types are listed",
        [QRN_ANSWER_YES] = "",
        [QRN_ANSWER_DELTA] = "added later",
        [QRN_ANSWER_UNKNOWN] = "unlisted, used by clients",
        [QRN_ANSWER_OBSERVED] = "observed",
    };
    fprintf(f, "  - %s%s%s:", r->config, answer[r->answer][0] ? ", " : "", answer[r->answer]);
    for (size_t i = 0; i < r->n_alts; i++) {
        fputs(i ? "; `" : " `", f);
        print_alt(f, &r->alts[i]);
        fputs("`", f);
    }
    if (r->note[0])
        fprintf(f, "%s (%s)", r->n_alts ? "" : " types", r->note);
    else if (r->n_alts == 0)
        fputs(" no types published", f);
    if (r->constraints[0])
        fprintf(f, ". Limits: %s", r->constraints);
    fputs("\n", f);
}

// What the original library accepts beside that.
static void print_observed(FILE *f, const qrn_op_def *op) {
    for (size_t k = 0; k < test_htp_observed.n_rows; k++)
        if (strcmp(test_htp_observed.rows[k].op, op->name) == 0)
            print_row(f, &test_htp_observed.rows[k]);
}

static bool has_observed(const qrn_support_table *t, const char *op) {
    return t == &test_htp_support && qrn_support_has(&test_htp_observed, op);
}

static void print_support(FILE *f, const qrn_op_def *op) {
    fputs("\n", f);
    for (int i = 0; i < N_BACKEND_TABLES; i++) {
        const qrn_support_table *t = test_backend_tables[i];
        bool superset = t->mode == QRN_SUPPORT_SUPERSET;
        bool has = qrn_support_has(t, op->name);
        fprintf(f, "- %s: %s\n", t->backend,
                superset                    ? "every type above is accepted; published:"
                : has                       ? "published:"
                : has_observed(t, op->name) ? "not published; accepted:"
                                            : "not supported");
        bool any = false;
        for (size_t k = 0; k < t->n_rows; k++)
            if (strcmp(t->rows[k].op, op->name) == 0 && t->rows[k].answer != QRN_ANSWER_NO) {
                print_row(f, &t->rows[k]);
                any = true;
            }
        if (superset && !any)
            fputs("  - nothing\n", f);
        if (t == &test_htp_support)
            print_observed(f, op);
    }
}

static void print_configs(FILE *f, const qrn_support_table *t, const char *op) {
    bool any = false;
    for (size_t k = 0; k < t->n_rows; k++) {
        const qrn_support_row *r = &t->rows[k];
        bool yes = r->answer == QRN_ANSWER_YES || r->answer == QRN_ANSWER_UNKNOWN;
        if (strcmp(r->op, op) != 0 || !(yes || (r->answer == QRN_ANSWER_DELTA && r->n_alts)))
            continue;
        fprintf(f, "%s%s%s", any ? " " : "", r->config, r->answer == QRN_ANSWER_DELTA ? "+" : "");
        any = true;
    }
    if (!any)
        fputs("-", f);
}

static const char intro[] =
    "Types: f32 f16 bf16 floats; i8..i64, u8..u64 integers; uq8, sq8 and so on unsigned and "
    "signed\n"
    "fixed point; b8 boolean. A rank such as 1..8 is an inclusive range. Quern's CPU backend\n"
    "accepts every type that is listed for an operand. The rows for CPU, HTP and GPU quote what "
    "is\n"
    "published for the original backends: HTP rows are exact combinations of types, CPU and "
    "GPU\n"
    "rows are per operand. Rows marked \"observed\" are what the original HTP library accepts "
    "in\n"
    "addition ([htp-limits.md](htp-limits.md#beyond-what-is-published)).\n\n"
    "Shapes list the operands in order; those in brackets are optional. Tensors are dense and\n"
    "row-major; images are channel last (NHWC). \"broadcast\": shapes are aligned at the last\n"
    "dimension, and dimensions of size 1 repeat.\n\n"
    "## Overview\n\n"
    "Published configurations; + marks what a later release added.\n\n"
    "| op | category | CPU | HTP | GPU |\n| --- | --- | --- | --- | --- |\n";

// What the op computes; every op has a row.
static const struct {
    const char *op, *shapes, *meaning;
} semantics[] = {
#define SEMANTICS(op, shapes, meaning) {#op, shapes, meaning},
#include "op_semantics.def"
#undef SEMANTICS
};

// Formulas have asterisks, which Markdown would read as emphasis.
static void print_escaped(FILE *f, const char *text) {
    bool in_code = false;
    for (; *text; text++) {
        in_code ^= *text == '`';
        if (*text == '*' && !in_code)
            fputc('\\', f);
        fputc(*text, f);
    }
}

static void print_semantics(FILE *f, const char *op) {
    for (size_t i = 0; i < sizeof semantics / sizeof semantics[0]; i++)
        if (strcmp(semantics[i].op, op) == 0) {
            fputs("\n", f);
            print_escaped(f, semantics[i].meaning);
            fputs("\n\nShapes: ", f);
            print_escaped(f, semantics[i].shapes);
            fputs(".\n", f);
            return;
        }
    fprintf(stderr, "tests/ir/op_semantics.def has no row for '%s'\n", op);
    exit(1);
}

static void print_page(FILE *f) {
    fprintf(
        f,
        "# Ops\n\n<!-- Generated by tests/ir/dump_ops.c from src/ir/ops, tests/ir/op_semantics.def "
        "and src/backend/*/supported.def: make docs -->\n\n"
        "This page is the reference of all %zu ops of package `qti.aisw`: what they compute, their "
        "operands,\nparameters and types. The library validates ops with the same tables. "
        "[op-choices.md](op-choices.md)\ndefines what the published definition leaves "
        "open.\n\n%s",
        n_sorted, intro);
    for (size_t i = 0; i < n_sorted; i++) {
        char anchor[64]; // renderers make lower-case ones
        size_t n = 0;
        for (; sorted[i]->name[n] && n + 1 < sizeof anchor; n++)
            anchor[n] = (char)tolower((unsigned char)sorted[i]->name[n]);
        anchor[n] = '\0';
        fprintf(f, "| [%s](#%s) | %s |", sorted[i]->name, anchor, sorted[i]->category);
        for (int k = 0; k < N_BACKEND_TABLES; k++) {
            fputs(" ", f);
            print_configs(f, test_backend_tables[k], sorted[i]->name);
            fputs(" |", f);
        }
        fputs("\n", f);
    }
    for (size_t i = 0; i < n_sorted; i++) {
        const qrn_op_def *op = sorted[i];
        fprintf(f, "\n## %s\n\nCategory %s", op->name, op->category);
        print_flags(f, op->flags);
        fputs(".\n", f);
        print_semantics(f, op->name);
        fputs("\n| operand | name | rank | types |\n| --- | --- | --- | --- |\n", f);
        print_operands(f, "in", op->ins, op->n_ins);
        print_operands(f, "out", op->outs, op->n_outs);
        print_params(f, op);
        print_support(f, op);
    }
}

int main(int argc, char **argv) {
    sort_ops();
    return test_page_main(argc, argv, print_page);
}
