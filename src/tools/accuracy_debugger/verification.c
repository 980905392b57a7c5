// SPDX-License-Identifier: MIT
//
// Verification: files of the same names in two folders, by each verifier. Writes
// VERIFIER/TENSOR.csv and .html for each tensor, and summary.csv and summary.html.
#include "base/file.h"
#include "base/report_text.h"
#include "tools/accuracy_debugger/debugger.h"
#include "tools/quern/page_data.h"
#include "tools/quern/output.h"
#include "tools/sdk/verifier.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_VERIFIERS 16

typedef struct result {
    char *tensor; // name of the file without .raw
    size_t n;
    qs_verdict verdicts[MAX_VERIFIERS];
    bool judged[MAX_VERIFIERS]; // the configuration leaves others out
} result;

typedef struct work {
    const char *golden, *results;
    char dir[PATH_MAX];
    qs_verifier verifiers[MAX_VERIFIERS];
    const json_t *only[MAX_VERIFIERS]; // lists of tensors, or NULL: all
    uint32_t n_verifiers;
    json_t *config;
    result *list;
    size_t n, n_missing;
} work;

static int no_memory(void) {
    qt_error("out of memory");
    return QT_EXIT_FAILURE;
}

// --- which verifiers

static int add_verifier(work *w, const char *where, const char *text, const json_t *only) {
    if (w->n_verifiers == MAX_VERIFIERS) {
        qt_error("%s: more than %d verifiers", where, MAX_VERIFIERS);
        return QT_EXIT_USAGE;
    }
    w->only[w->n_verifiers] = only;
    return qs_verifier_parse(where, text, &w->verifiers[w->n_verifiers++]);
}

// {"VERIFIER": {"parameters": {..}, "tensors": [[..]]}}
static int read_config(work *w, const char *path) {
    qrn_file f;
    json_error_t e;
    const char *name, *param;
    json_t *o, *value;
    if (qrn_file_map(path, &f) != QRN_OK) {
        qt_error("%s", qrn_message());
        return QT_EXIT_INPUT;
    }
    w->config = json_loadb(f.data, f.size, JSON_REJECT_DUPLICATES, &e);
    qrn_file_unmap(&f);
    if (!json_is_object(w->config)) {
        qt_error("%s: %s", path, w->config ? "expected an object with names of verifiers" : e.text);
        return QT_EXIT_INPUT;
    }
    json_object_foreach(w->config, name, o) {
        char text[512];
        snprintf(text, sizeof text, "%.100s", name);
        json_object_foreach(json_object_get(o, "parameters"), param, value) {
            size_t at = strlen(text);
            snprintf(text + at, sizeof text - at, ",%.80s,%.17g", param, json_number_value(value));
        }
        const json_t *only = json_object_get(o, "tensors");
        if (only && !json_is_array(only)) {
            qt_error("%s: %s: 'tensors' is a list of lists of names", path, name);
            return QT_EXIT_INPUT;
        }
        int code = add_verifier(w, path, text, only);
        if (code != QT_EXIT_OK)
            return code;
    }
    return QT_EXIT_OK;
}

static bool is_meant(const json_t *only, const char *tensor) {
    size_t i, k;
    json_t *group, *name;
    json_array_foreach(only, i, group) {
        if (json_is_string(group) && strcmp(json_string_value(group), tensor) == 0)
            return true;
        json_array_foreach(group, k, name) {
            if (json_is_string(name) && strcmp(json_string_value(name), tensor) == 0)
                return true;
        }
    }
    return !only;
}

// --- comparing

static int compare(work *w, const char *file) {
    char paths[2][PATH_MAX];
    qrn_file f[2] = {0};
    result *r = &w->list[w->n];
    size_t stem = strlen(file) - 4;
    *r = (result){.tensor = strndup(file, stem)};
    if (!r->tensor)
        return no_memory();
    w->n++;
    snprintf(paths[0], PATH_MAX, "%s/%s", w->results, file);
    snprintf(paths[1], PATH_MAX, "%s/%s", w->golden, file);
    int code = QT_EXIT_OK;
    for (int i = 0; i < 2 && code == QT_EXIT_OK; i++)
        if (qrn_file_map(paths[i], &f[i]) != QRN_OK) {
            qt_error("%s", qrn_message());
            code = QT_EXIT_INPUT;
        }
    if (code == QT_EXIT_OK && (f[0].size != f[1].size || f[0].size % sizeof(float))) {
        qt_error("%s has %zu bytes, %s has %zu; expected as many float32 values", paths[0],
                 (size_t)f[0].size, paths[1], (size_t)f[1].size);
        code = QT_EXIT_INPUT;
    }
    r->n = code == QT_EXIT_OK ? f[0].size / sizeof(float) : 0;
    for (uint32_t i = 0; i < w->n_verifiers && code == QT_EXIT_OK; i++) {
        r->judged[i] = is_meant(w->only[i], r->tensor);
        if (r->judged[i])
            r->verdicts[i] = qs_verify(&w->verifiers[i], f[0].data, f[1].data, r->n);
    }
    qrn_file_unmap(&f[0]);
    qrn_file_unmap(&f[1]);
    return code;
}

static int is_raw(const struct dirent *d) {
    size_t n = strlen(d->d_name);
    return n > 4 && strcmp(d->d_name + n - 4, ".raw") == 0;
}

static int compare_all(work *w) {
    struct dirent **files = NULL;
    int n = scandir(w->golden, &files, is_raw, alphasort);
    if (n < 0 && errno == ENOMEM)
        return no_memory();
    if (n < 0) {
        qt_error("%s: no folder with values of the model", w->golden);
        return QT_EXIT_INPUT;
    }
    w->list = calloc((size_t)n + 1, sizeof *w->list);
    int code = w->list ? QT_EXIT_OK : no_memory();
    for (int i = 0; i < n; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", w->results, files[i]->d_name);
        FILE *there = code == QT_EXIT_OK ? fopen(path, "rb") : NULL;
        if (there) {
            fclose(there);
            code = compare(w, files[i]->d_name);
        } else {
            w->n_missing++;
        }
        free(files[i]);
    }
    free(files);
    if (code == QT_EXIT_OK && !w->n) {
        qt_error("%s and %s have no file NAME.raw in common", w->golden, w->results);
        return QT_EXIT_INPUT;
    }
    return code;
}

// --- files

static int write_text(const char *dir, const char *name, const char *end, FILE *f, qrn_text *t) {
    char path[PATH_MAX];
    bool whole = f && qrn_text_close(f, t);
    int n = snprintf(path, sizeof path, "%s/%s%s", dir, name, end);
    const qt_part part = {t->data, t->n};
    bool done = whole && n > 0 && (size_t)n < sizeof path && qt_write_result(path, &part, 1);
    if (!whole)
        qt_error("%s: out of memory", path);
    free(t->data);
    *t = (qrn_text){0};
    return done ? QT_EXIT_OK : QT_EXIT_FAILURE;
}

static const char *const head[] = {"Name", "Elements", "Verifier", "Parameters", "Value", "Result"};
#define N_HEAD (sizeof head / sizeof head[0])

static void put_row(FILE *f, const work *w, const result *r, uint32_t i, bool html) {
    char params[128], cells[4][64];
    snprintf(cells[0], sizeof cells[0], "%zu", r->n);
    snprintf(cells[1], sizeof cells[1], "%.9g", r->verdicts[i].value);
    const char *row[N_HEAD] = {r->tensor,
                               cells[0],
                               qs_verifier_name(&w->verifiers[i]),
                               qs_verifier_params(&w->verifiers[i], params, sizeof params),
                               cells[1],
                               r->verdicts[i].pass ? "PASS" : "FAIL"};
    if (html)
        fputs("<tr>", f);
    for (size_t k = 0; k < N_HEAD; k++) {
        if (html) {
            fputs("<td>", f);
            qt_page_put(f, row[k]);
            fputs("</td>", f);
        } else {
            fputs(k ? "," : "", f);
            qrn_csv_text(f, row[k]);
        }
    }
    fputs(html ? "</tr>\n" : "\n", f);
}

static FILE *begin_table(qrn_text *t, bool html) {
    FILE *f = qrn_text_open(t);
    if (f && html)
        fputs("<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Verification</title>"
              "<style>body{font-family:sans-serif}table{border-collapse:collapse}"
              "td,th{border:1px solid #999;padding:2px 8px;text-align:left}</style><table><tr>",
              f);
    for (size_t k = 0; f && k < N_HEAD; k++)
        if (html)
            fprintf(f, "<th>%s</th>", head[k]);
        else
            fprintf(f, "%s%s", k ? "," : "", head[k]);
    if (f)
        fputs(html ? "</tr>\n" : "\n", f);
    return f;
}

// Of one result and verifier, or of all (r NULL).
static int write_table(const work *w, const char *dir, const result *r, uint32_t verifier,
                       bool html) {
    qrn_text t = {0};
    FILE *f = begin_table(&t, html);
    for (size_t k = 0; f && !r && k < w->n; k++)
        for (uint32_t i = 0; i < w->n_verifiers; i++)
            if (w->list[k].judged[i])
                put_row(f, w, &w->list[k], i, html);
    if (f && r)
        put_row(f, w, r, verifier, html);
    if (f && html)
        fputs("</table></html>\n", f);
    return write_text(dir, r ? r->tensor : "summary", html ? ".html" : ".csv", f, &t);
}

static int write_all(const work *w) {
    int code = QT_EXIT_OK;
    for (uint32_t i = 0; i < w->n_verifiers && code == QT_EXIT_OK; i++) {
        char dir[PATH_MAX];
        int n = snprintf(dir, sizeof dir, "%s/%s", w->dir, qs_verifier_name(&w->verifiers[i]));
        if (n < 0 || (size_t)n >= sizeof dir || !qt_make_dir(dir))
            return QT_EXIT_FAILURE;
        for (size_t k = 0; k < w->n && code == QT_EXIT_OK; k++)
            for (int html = 0; html < 2 && w->list[k].judged[i] && code == QT_EXIT_OK; html++)
                code = write_table(w, dir, &w->list[k], i, html);
    }
    if (code == QT_EXIT_OK)
        code = write_table(w, w->dir, NULL, 0, false);
    return code == QT_EXIT_OK ? write_table(w, w->dir, NULL, 0, true) : code;
}

static void print_sums(const work *w) {
    for (uint32_t i = 0; i < w->n_verifiers; i++) {
        size_t judged = 0, passed = 0;
        for (size_t k = 0; k < w->n; k++) {
            judged += w->list[k].judged[i];
            passed += w->list[k].judged[i] && w->list[k].verdicts[i].pass;
        }
        qt_print("%s: %zu of %zu tensors pass\n", qs_verifier_name(&w->verifiers[i]), passed,
                 judged);
    }
    if (w->n_missing)
        qt_print("%zu values of the model have no counterpart\n", w->n_missing);
    qt_print("verification: %s\n", w->dir);
}

static int verify(work *w, const ad_options *o) {
    int code = QT_EXIT_OK;
    for (size_t i = 0; i < o->verifiers.n && code == QT_EXIT_OK; i++)
        code = add_verifier(w, "--default_verifier", o->verifiers.items[i], NULL);
    if (code == QT_EXIT_OK && o->config)
        code = read_config(w, o->config);
    if (code == QT_EXIT_OK && !w->n_verifiers)
        code = add_verifier(w, "--default_verifier", "SQNR", NULL);
    if (code == QT_EXIT_OK)
        code = compare_all(w);
    if (code == QT_EXIT_OK)
        code = ad_make_folder(o, "verification", w->dir, sizeof w->dir);
    if (code == QT_EXIT_OK)
        code = write_all(w);
    if (code == QT_EXIT_OK)
        print_sums(w);
    return code;
}

int ad_verify(const ad_options *o, const char *golden, const char *results) {
    work *w = calloc(1, sizeof *w);
    if (!w)
        return no_memory();
    w->golden = golden;
    w->results = results;
    int code = verify(w, o);
    for (size_t i = 0; i < w->n; i++)
        free(w->list[i].tensor);
    free(w->list);
    json_decref(w->config);
    free(w);
    return code;
}
