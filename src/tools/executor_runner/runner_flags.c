// SPDX-License-Identifier: MIT
//
// One table of flags; parsing and help are made from it.
#include "tools/executor_runner/runner_flags.h"

#include "base/suggest.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum flag_type { TEXT, NUMBER, SWITCH } flag_type;

typedef struct flag {
    const char *name;
    flag_type type;
    size_t offset;
    const char *text; // default of a TEXT
    int64_t number, lowest, highest;
    const char *help;
} flag;

#define AT(field) offsetof(runner_flags, field)

// clang-format off
static const flag flags[] = {
    {"model_path", TEXT, AT(model_path), "model.pte", 0, 0, 0, "the program"},
    {"input_list_path", TEXT, AT(input_list_path), "input_list.txt", 0, 0, 0,
     "file with one inference per line: raw files separated by spaces"},
    {"output_folder_path", TEXT, AT(output_folder_path), "outputs", 0, 0, 0,
     "existing folder for output_<inference>_<output>.raw"},
    {"iteration", NUMBER, AT(iteration), NULL, 1, 1, 1000000000, "timed runs of each line"},
    {"warm_up", NUMBER, AT(warm_up), NULL, 0, 0, 1000000000, "untimed runs of each line"},
    {"method_index", NUMBER, AT(method_index), NULL, 0, 0, UINT32_MAX, "which method to run"},
    {"performance_output_path", TEXT, AT(performance_output_path), "inference_speed.txt", 0, 0, 0,
     "file for the milliseconds per line"},
    {"input_shape_path", TEXT, AT(input_shape_path), "", 0, 0, 0,
     "file with the shapes of the inputs, one per line: 1, 3, 8"},
    {"output_shape_path", TEXT, AT(output_shape_path), "", 0, 0, 0,
     "shapes of the outputs; goes with input_shape_path"},
    {"log_level", NUMBER, AT(log_level), NULL, 0, 0, 5,
     "log level of the QNN library, instead of the program's: 0 off to 5 debug"},
    {"shared_buffer", SWITCH, AT(shared_buffer), NULL, 0, 0, 1, "no effect on a host"},
    {"htp_performance_mode", NUMBER, AT(htp_performance_mode), NULL, 0, 0, 8,
     "vote for clocks, instead of the program's: 0 none to 8 balanced"},
    {"profile_level", NUMBER, AT(profile_level), NULL, 0, 0, 2,
     "profile level of the QNN library, instead of the program's: 0 and 1 off, 2 detailed"},
    {"etdump_path", TEXT, AT(etdump_path), "etdump.etdp", 0, 0, 0,
     "file for times and profiles; empty: none is written"},
    {"dump_intermediate_outputs", SWITCH, AT(dump_intermediate_outputs), NULL, 0, 0, 1,
     "keep the outputs of delegates in the etdump"},
    {"debug_output_path", TEXT, AT(debug_output_path), "debug_output.bin", 0, 0, 0,
     "file for the bytes of these outputs"},
    {"debug_buffer_size", NUMBER, AT(debug_buffer_size), NULL, 100000000, 1, INT64_MAX / 2,
     "bytes of that file"},
    {"heap_profiling_path", TEXT, AT(heap_profiling_path), "", 0, 0, 0, "no effect on a host"},
    {"lpai_fps", NUMBER, AT(lpai_fps), NULL, 0, 0, INT32_MAX, "no effect: there is no LPAI"},
    {"lpai_ftrt_ratio", NUMBER, AT(lpai_ftrt_ratio), NULL, 0, 0, INT32_MAX,
     "no effect: there is no LPAI"},
    {"lpai_client_perf_type", NUMBER, AT(lpai_client_perf_type), NULL, 0, 0, INT32_MAX,
     "no effect: there is no LPAI"},
    {"lpai_affinity", NUMBER, AT(lpai_affinity), NULL, 0, 0, INT32_MAX,
     "no effect: there is no LPAI"},
    {"lpai_core_selection", NUMBER, AT(lpai_core_selection), NULL, 0, 0, INT32_MAX,
     "no effect: there is no LPAI"},
    {"help", SWITCH, AT(help), NULL, 0, 0, 1, "this page"},
};
// clang-format on
enum { N_FLAGS = sizeof flags / sizeof flags[0] };

static void *field(runner_flags *f, const flag *d) { return (char *)f + d->offset; }

// The flag that a word names, and how: "name", "name=value", "noname".
static const flag *find(const char *word, bool *negated, const char **value) {
    const char *name = word + (word[1] == '-' ? 2 : 1);
    size_t n = strcspn(name, "=");
    *value = name[n] ? name + n + 1 : NULL;
    for (int no = 0; no < 2; no++) {
        const char *p = no ? name + 2 : name;
        size_t len = no ? n - 2 : n;
        if (no && (n < 3 || strncmp(name, "no", 2) != 0))
            continue;
        for (size_t i = 0; i < N_FLAGS; i++)
            if (strlen(flags[i].name) == len && strncmp(flags[i].name, p, len) == 0 &&
                (!no || flags[i].type == SWITCH)) {
                *negated = no;
                return &flags[i];
            }
    }
    return NULL;
}

static bool unknown(const char *word) {
    const char *names[N_FLAGS];
    char name[64];
    const char *start = word + (word[1] == '-' ? 2 : 1);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(start, "="), start);
    for (size_t i = 0; i < N_FLAGS; i++)
        names[i] = flags[i].name;
    const char *near = qrn_suggest(name, names, N_FLAGS);
    if (near)
        fprintf(stderr, "ERROR: unknown flag '%s'; did you mean '--%s'?\n", word, near);
    else
        fprintf(stderr, "ERROR: unknown flag '%s'; see --help\n", word);
    return false;
}

static bool set_switch(const flag *d, bool negated, const char *value, bool *out) {
    static const char *const yes[] = {"true", "t", "1", "yes", "y"};
    static const char *const no[] = {"false", "f", "0", "no", "n"};
    *out = !negated;
    if (!value)
        return true;
    for (size_t i = 0; i < 5; i++) {
        if (strcmp(value, yes[i]) == 0 || strcmp(value, no[i]) == 0) {
            *out = (strcmp(value, yes[i]) == 0) != negated;
            return true;
        }
    }
    fprintf(stderr, "ERROR: --%s=%s: expected true or false\n", d->name, value);
    return false;
}

static bool set_number(const flag *d, const char *value, int64_t *out) {
    char *end = NULL;
    errno = 0;
    long long v = strtoll(value, &end, 0);
    if (!*value || *end || errno || v < d->lowest || v > d->highest) {
        fprintf(stderr, "ERROR: --%s=%s: expected a number from %lld to %lld\n", d->name, value,
                (long long)d->lowest, (long long)d->highest);
        return false;
    }
    *out = v;
    return true;
}

bool runner_flags_parse(int argc, char **argv, runner_flags *out) {
    runner_flags f = {0};
    for (size_t i = 0; i < N_FLAGS; i++) {
        if (flags[i].type == TEXT)
            memcpy(field(&f, &flags[i]), &flags[i].text, sizeof flags[i].text);
        else if (flags[i].type == NUMBER)
            memcpy(field(&f, &flags[i]), &flags[i].number, sizeof flags[i].number);
    }
    for (int i = 1; i < argc; i++) {
        bool negated = false;
        const char *value = NULL, *word = argv[i];
        if (word[0] != '-' || !word[1]) {
            fprintf(stderr, "ERROR: '%s' belongs to no flag\n", word);
            return false;
        }
        const flag *d = find(word, &negated, &value);
        if (!d)
            return unknown(word);
        if (d->type == SWITCH) {
            if (!set_switch(d, negated, value, field(&f, d)))
                return false;
            continue;
        }
        if (!value && ++i == argc) {
            fprintf(stderr, "ERROR: --%s needs a value\n", d->name);
            return false;
        }
        value = value ? value : argv[i];
        if (d->type == TEXT)
            memcpy(field(&f, d), &value, sizeof value);
        else if (!set_number(d, value, field(&f, d)))
            return false;
    }
    *out = f;
    return true;
}

bool runner_flag_given(const char *name, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        bool negated;
        const char *value;
        const flag *d = argv[i][0] == '-' && argv[i][1] ? find(argv[i], &negated, &value) : NULL;
        if (d && strcmp(d->name, name) == 0)
            return true;
        if (d && d->type != SWITCH && !value)
            i++; // its value
    }
    return false;
}

void runner_flags_help(void) {
    printf("qnn_executor_runner: runs a method of an ExecuTorch program on QNN libraries.\n\n");
    for (size_t i = 0; i < N_FLAGS; i++) {
        const flag *d = &flags[i];
        char text[64];
        if (d->type == NUMBER)
            snprintf(text, sizeof text, "%lld", (long long)d->number);
        else
            snprintf(text, sizeof text, "%s", d->type == TEXT ? d->text : "false");
        printf("  --%-26s %s (default: \"%s\")\n", d->name, d->help, text);
    }
}
