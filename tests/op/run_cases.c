// SPDX-License-Identifier: MIT
//
// run_cases LIB.so cases.qc [--filter TEXT] [--names FILE] [--verbose] [--list]
//           [--allow-unsupported] [--validate] [--soc N] [--precision fp32|fp16|hybrid|user]
//
// Runs the op cases of one file on a backend library and prints a line for each that fails, then
// "N passed, M failed". With --allow-unsupported a case that validateOpConfig refuses counts as
// skipped: for running one backend's cases on another. --validate asks validateOpConfig alone. With
// --soc the library is the HTP's and models that chip. With --precision it is the GPU's, graphs
// compute in that mode, and floats may be off by the tolerance of the mode (GPU-PRC-09). --names
// runs only the cases whose names are lines of FILE. Exit status: 0 all passed, 1 failures, 2 the
// library or the file could not be used, or no case was selected.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "case_run.h"

typedef struct {
    const char *library, *file, *filter, *names_file, *precision;
    char *names; // "\nNAME\nNAME\n", or NULL: all
    bool verbose, list, allow_unsupported, validate;
    uint32_t soc;
} options;

typedef struct {
    char op[64];
    uint32_t n_passed, n_failed, n_skipped;
    qrn_code_count codes;
} tally;

enum { MAX_OPS = 256 };

// Slot 0 is the whole file, the others one op each.
typedef struct {
    tally slot[1 + MAX_OPS];
    uint32_t n;
} totals;

static bool parse_options(int argc, char **argv, options *o) {
    *o = (options){0};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--verbose") == 0)
            o->verbose = true;
        else if (strcmp(argv[i], "--list") == 0)
            o->list = true;
        else if (strcmp(argv[i], "--allow-unsupported") == 0)
            o->allow_unsupported = true;
        else if (strcmp(argv[i], "--validate") == 0)
            o->validate = true;
        else if (strcmp(argv[i], "--filter") == 0 && i + 1 < argc)
            o->filter = argv[++i];
        else if (strcmp(argv[i], "--names") == 0 && i + 1 < argc)
            o->names_file = argv[++i];
        else if (strcmp(argv[i], "--precision") == 0 && i + 1 < argc)
            o->precision = argv[++i];
        else if (strcmp(argv[i], "--soc") == 0 && i + 1 < argc)
            o->soc = (uint32_t)strtoul(argv[++i], NULL, 10);
        else if (argv[i][0] != '-' && !o->library)
            o->library = argv[i];
        else if (argv[i][0] != '-' && !o->file)
            o->file = argv[i];
        else
            return false;
    }
    return o->file && (!o->precision || qrn_session_precision(&(qrn_session){0}, o->precision));
}

static bool read_names(options *o) {
    FILE *f = fopen(o->names_file, "rb");
    long size = f && fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    o->names = size >= 0 ? malloc((size_t)size + 3) : NULL;
    bool ok = o->names && fseek(f, 0, SEEK_SET) == 0 &&
              fread(o->names + 1, 1, (size_t)size, f) == (size_t)size;
    if (ok) {
        o->names[0] = '\n';
        strcpy(o->names + 1 + size, "\n");
    }
    if (f)
        fclose(f);
    return ok;
}

static bool is_selected(const options *o, const qrn_case *c, const char *op) {
    char line[300];
    snprintf(line, sizeof line, "\n%s\n", c->name);
    return (!o->filter || strstr(c->name, o->filter) || strcmp(op, o->filter) == 0) &&
           (!o->names || strstr(o->names, line));
}

static tally *find_op(totals *all, const char *op) {
    for (uint32_t i = 1; i <= all->n; i++)
        if (strcmp(all->slot[i].op, op) == 0)
            return &all->slot[i];
    if (all->n < MAX_OPS)
        all->n++;
    tally *t = &all->slot[all->n];
    snprintf(t->op, sizeof t->op, "%s", op);
    return t;
}

static void add_result(tally *t, const qrn_result *result, bool skipped) {
    t->n_passed += result->verdict == QRN_PASSED;
    t->n_skipped += skipped;
    t->n_failed += result->verdict != QRN_PASSED && !skipped;
    t->codes.n_codes += result->codes.n_codes;
    t->codes.n_unequal += result->codes.n_unequal;
}

static double equal_percent(const qrn_code_count *c) {
    if (c->n_codes == 0)
        return 100.0;
    return 100.0 * (double)(c->n_codes - c->n_unequal) / (double)c->n_codes;
}

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void run_file(const options *o, qrn_session *s, qrn_case_file *f, totals *all) {
    qrn_case *c = malloc(sizeof *c);
    qrn_result result;
    while (c && qrn_case_next(f, c)) {
        const char *op = c->nodes[c->n_nodes - 1].op;
        if (!is_selected(o, c, op))
            continue;
        if (o->list) {
            printf("%s\n", c->name);
            all->slot[0].n_passed++;
            continue;
        }
        qrn_case_run(s, c, &result);
        bool skipped = result.verdict == QRN_REFUSED && o->allow_unsupported;
        add_result(&all->slot[0], &result, skipped);
        add_result(find_op(all, op), &result, skipped);
        if (result.verdict != QRN_PASSED && !skipped)
            printf("FAIL %s (op %s, seed %" PRIu64 "): %s\n", c->name, op, f->seed, result.why);
        else if (o->verbose)
            printf("%s %s%s%s\n", skipped ? "SKIP" : "PASS", c->name, skipped ? ": " : "",
                   skipped ? result.why : "");
        fflush(stdout);
    }
    free(c);
}

static void print_totals(const options *o, const totals *all, double seconds) {
    for (uint32_t i = 1; o->verbose && i <= all->n; i++) {
        const tally *t = &all->slot[i];
        printf("  %-32s %5" PRIu32 " passed %4" PRIu32 " failed", t->op, t->n_passed, t->n_failed);
        if (t->n_skipped)
            printf(" %4" PRIu32 " skipped", t->n_skipped);
        if (t->codes.n_codes)
            printf("   %.4f %% of %" PRIu64 " codes equal", equal_percent(&t->codes),
                   t->codes.n_codes);
        printf("\n");
    }
    const tally *t = &all->slot[0];
    printf("%.4f %% of %" PRIu64 " quantized values equal, %.2f s\n", equal_percent(&t->codes),
           t->codes.n_codes, seconds);
    printf("%" PRIu32 " passed, %" PRIu32 " failed", t->n_passed, t->n_failed);
    if (o->allow_unsupported)
        printf(", %" PRIu32 " skipped", t->n_skipped);
    printf("\n");
}

int main(int argc, char **argv) {
    static totals all;
    options o;
    qrn_session session = {0};
    qrn_case_file file;
    char why[512];
    if (!parse_options(argc, argv, &o)) {
        fprintf(stderr, "usage: run_cases LIB.so cases.qc [--filter TEXT] [--names FILE] "
                        "[--verbose] [--list] [--allow-unsupported] [--validate] [--soc N] "
                        "[--precision fp32|fp16|hybrid|user]\n");
        return 2;
    }
    if (o.names_file && !read_names(&o)) {
        fprintf(stderr, "run_cases: %s cannot be read\n", o.names_file);
        return 2;
    }
    double start = now_s();
    if (!qrn_case_file_open(&file, o.file)) {
        fprintf(stderr, "run_cases: %s\n", file.error);
        return 2;
    }
    if (!o.list && !qrn_session_open(&session, o.library, o.soc, why, sizeof why)) {
        fprintf(stderr, "run_cases: %s\n", why);
        qrn_session_close(&session);
        qrn_case_file_close(&file);
        return 2;
    }
    session.validate_only = o.validate;
    if (o.precision)
        qrn_session_precision(&session, o.precision);
    run_file(&o, &session, &file, &all);
    free(o.names);
    tally *t = &all.slot[0];
    if (!qrn_codes_ok(t->codes.n_codes, t->codes.n_unequal, QRN_CODE_RATIO)) {
        printf("FAIL of the file: too many quantized values differ\n");
        t->n_failed++;
    }
    bool usable = file.error[0] == '\0' && t->n_passed + t->n_failed + t->n_skipped > 0;
    if (!usable)
        fprintf(stderr, "run_cases: %s: %s\n", o.file,
                file.error[0] ? file.error : "no case selected");
    if (!o.list)
        print_totals(&o, &all, now_s() - start);
    qrn_session_close(&session);
    qrn_case_file_close(&file);
    return !usable ? 2 : t->n_failed ? 1 : 0;
}
