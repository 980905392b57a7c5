// SPDX-License-Identifier: MIT
//
// qnn-architecture-checker: what a converted model has that an NPU runs slowly, as a table.
#include "base/report_text.h"
#include "tools/architecture_checker/rules.h"
#include "tools/quern/output.h"
#include "tools/sdk/program.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct ac_options {
    bool version; // first: see tools/sdk/program.h
    const char *input_json, *bin, *output_path, *modify, *soc;
} ac_options;

#define AT(field) offsetof(ac_options, field)

static const qt_flag flags[] = {
    {"input_json", 'i', QT_FILE, "FILE", AT(input_json), NULL,
     "NAME_net.json of the converted model"},
    {"bin", 'b', QT_FILE, "FILE", AT(bin), NULL,
     "rejected: the rules do not look at values, and files are not rewritten"},
    {"output_path", 'o', QT_FILE, "FILE", AT(output_path), NULL,
     "table to write, .csv is added; NAME_architecture_checker.csv beside the input"},
    {"modify", 'm', QT_TEXT, "WHAT", AT(modify), NULL,
     "show: print changes that have a rule; all and apply= are rejected"},
    {"soc", 0, QT_TEXT, "SOC", AT(soc), NULL, "SoC for the advice (Quern's own)"},
    QS_COMMON_FLAGS(ac_options),
    {0},
};

// --- the table

static void put_cell(FILE *f, const char *text) {
    fputc(',', f);
    qrn_csv_text(f, text);
}

// Text of several parts in one cell; false: no memory.
static bool put_text_cell(FILE *f, qrn_text *t, FILE *part) {
    bool whole = part && qrn_text_close(part, t);
    if (whole)
        put_cell(f, t->data);
    free(t->data);
    return whole;
}

static bool put_tensors(FILE *f, const ac_net *n, const uint32_t *list, uint32_t count) {
    qrn_text t = {0};
    FILE *part = qrn_text_open(&t);
    for (uint32_t i = 0; part && i < count; i++) {
        const ac_tensor *x = &n->tensors[list[i]];
        fprintf(part, "%s%s:[", i ? ", " : "", x->name);
        for (uint32_t k = 0; k < x->rank; k++)
            fprintf(part, "%s%" PRIu32, k ? ", " : "", x->dims[k]);
        fputc(']', part);
    }
    return put_text_cell(f, &t, part);
}

// {'name': value} of scalars, and the numbers of tensors.
static bool put_params(FILE *f, const ac_node *node) {
    json_t *all = json_object();
    const char *name;
    json_t *p;
    json_object_foreach((json_t *)(uintptr_t)node->params[1], name, p)
        json_object_set(all, name, json_object_iter_value(json_object_iter(p)));
    json_object_foreach((json_t *)(uintptr_t)node->params[0], name, p) {
        const json_t *t = json_object_iter_value(json_object_iter(p));
        json_object_set(all, name, json_object_get(t, "data"));
    }
    char *text = json_dumps(all, 0);
    if (text)
        put_cell(f, text);
    bool whole = text != NULL;
    free(text);
    json_decref(all);
    return whole;
}

static bool put_previous(FILE *f, const ac_net *n, const ac_node *node) {
    qrn_text t = {0};
    FILE *part = qrn_text_open(&t);
    const char *comma = "";
    for (uint32_t i = 0; part && i < node->n_in; i++) {
        uint32_t maker = n->tensors[node->in[i]].maker;
        if (maker != UINT32_MAX) {
            fprintf(part, "%s%s", comma, n->nodes[maker].name);
            comma = ", ";
        }
    }
    return put_text_cell(f, &t, part);
}

static bool reads(const ac_node *node, const ac_node *maker) {
    for (uint32_t i = 0; i < node->n_in; i++)
        for (uint32_t k = 0; k < maker->n_out; k++)
            if (node->in[i] == maker->out[k])
                return true;
    return false;
}

static bool put_next(FILE *f, const ac_net *n, const ac_node *node) {
    qrn_text t = {0};
    FILE *part = qrn_text_open(&t);
    const char *comma = "";
    for (uint32_t i = 0; part && i < n->n_nodes; i++)
        if (reads(&n->nodes[i], node)) {
            fprintf(part, "%s%s", comma, n->nodes[i].name);
            comma = ", ";
        }
    return put_text_cell(f, &t, part);
}

static bool put_row(FILE *f, const ac_net *n, uint32_t index, const ac_row *r) {
    const ac_node *node = r->node == UINT32_MAX ? NULL : &n->nodes[r->node];
    bool whole = true;
    fprintf(f, "%" PRIu32, index);
    put_cell(f, node ? node->name : "Graph");
    put_cell(f, r->issue);
    put_cell(f, r->recommendation);
    put_cell(f, node ? node->type : "N/A");
    if (node)
        whole = put_tensors(f, n, node->in, node->n_in) &&
                put_tensors(f, n, node->out, node->n_out) && put_params(f, node) &&
                put_previous(f, n, node) && put_next(f, n, node);
    else
        fputs(",N/A,N/A,N/A,N/A,N/A", f);
    put_cell(f, r->rule ? r->rule : "N/A");
    put_cell(f, r->info ? r->info : "N/A");
    fputc('\n', f);
    return whole;
}

static int write_table(const ac_net *n, const ac_rows *rows, const char *path) {
    qrn_text text = {0};
    FILE *f = qrn_text_open(&text);
    bool rows_whole = true;
    if (f) {
        fputs("index,Graph/Node_name,Issue,Recommendation,Type,Input_tensor_name:[dims],"
              "Output_tensor_name:[dims],Parameters,Previous node,Next nodes,Modification,"
              "Modification_info\n",
              f);
        for (uint32_t i = 0; i < rows->n; i++)
            rows_whole &= put_row(f, n, i, &rows->list[i]);
    }
    bool whole = f && qrn_text_close(f, &text) && rows_whole;
    const qt_part part = {text.data, text.n};
    if (!whole)
        qt_error("%s: out of memory", path);
    bool done = whole && qt_write_file(path, &part, 1);
    free(text.data);
    return done ? QT_EXIT_OK : QT_EXIT_FAILURE;
}

// "dir/net_net.json" to "dir/net_architecture_checker.csv"; an output without .csv gets it.
static char *table_path(const ac_options *o) {
    static const char own[] = "_architecture_checker.csv";
    const char *from = o->output_path ? o->output_path : o->input_json;
    size_t n = strlen(from), room = n + sizeof own;
    char *path = malloc(room);
    if (!path)
        return NULL;
    if (o->output_path) {
        bool named = n > 4 && strcmp(from + n - 4, ".csv") == 0;
        snprintf(path, room, "%s%s", from, named ? "" : ".csv");
        return path;
    }
    n -= n > 5 && strcmp(from + n - 5, ".json") == 0 ? 5 : 0;
    n -= n > 4 && strncmp(from + n - 4, "_net", 4) == 0 ? 4 : 0;
    snprintf(path, room, "%.*s%s", (int)n, from, own);
    return path;
}

// --- the program

static int check_flags(const ac_options *o) {
    if (!o->input_json)
        qt_error("--input_json is needed");
    else if (o->modify && (strcmp(o->modify, "all") == 0 || strncmp(o->modify, "apply=", 6) == 0))
        qt_error("--modify %s is not supported: a library is built from NAME.cpp, which this "
                 "program does not read; change the model and convert it again",
                 o->modify);
    else if (o->modify && strcmp(o->modify, "show") != 0)
        qt_error("--modify %s: expected show", o->modify);
    else
        return QT_EXIT_OK;
    return QT_EXIT_USAGE;
}

static void show_changes(const ac_net *n, const ac_rows *rows) {
    for (uint32_t i = 0; i < rows->n; i++)
        if (rows->list[i].rule)
            qt_print("%s  %s: %s\n", rows->list[i].rule, n->nodes[rows->list[i].node].name,
                     rows->list[i].info);
}

static int run(const void *options, const qt_list *args) {
    const ac_options *o = options;
    qt_target at;
    ac_net net = {0};
    ac_rows rows = {0};
    (void)args;
    int code = check_flags(o);
    if (code == QT_EXIT_OK)
        code = qt_find_target(o->soc, 0, &at);
    if (code == QT_EXIT_OK)
        code = ac_net_read(o->input_json, &net);
    if (code == QT_EXIT_OK)
        code = ac_check(&net, &at, &rows);
    char *path = code == QT_EXIT_OK ? table_path(o) : NULL;
    if (code == QT_EXIT_OK && !path) {
        qt_error("out of memory");
        code = QT_EXIT_FAILURE;
    }
    qt_set_inputs(&o->input_json, o->input_json ? 1 : 0);
    if (code == QT_EXIT_OK)
        code = write_table(&net, &rows, path);
    if (code == QT_EXIT_OK) {
        if (o->modify)
            show_changes(&net, &rows);
        qt_print("%u issues, %s\n", rows.n, path);
        code = qt_close_stdout();
    }
    free(path);
    ac_net_close(&net);
    return code;
}

static const qt_command command = {
    .name = "qnn-architecture-checker",
    .summary = "what in a converted model an NPU runs slowly",
    .args = "--input_json FILE [--output_path FILE] [--modify show]",
    .alone = true,
    .about = "Reads the JSON of a converted model and writes a table of what to change: the "
             "published rules, and the advice of 'quern estimate' for a SoC.",
    .groups = {{"options", flags}},
    .examples = {{"qnn-architecture-checker -i model_net.json",
                  "Writes model_architecture_checker.csv."}},
    .options_size = sizeof(ac_options),
    .run = run,
};

const qt_command *const qt_commands[] = {&command, NULL};

// --modify alone is --modify show.
static void add_word(int argc, char **argv) {
    static char show[] = "--modify=show";
    for (int i = 1; i < argc; i++)
        if ((strcmp(argv[i], "-m") == 0 || strcmp(argv[i], "--modify") == 0) &&
            (i + 1 == argc || argv[i + 1][0] == '-'))
            argv[i] = show;
}

int main(int argc, char **argv) {
    add_word(argc, argv);
    return qs_program(&command, NULL, argc, argv);
}
