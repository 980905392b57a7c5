// SPDX-License-Identifier: MIT
//
// Environment variables whose values mean nothing: numbers that are none, words that nobody knows.
// Paths and free texts are checked by those who use them.
#include "base/env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char pass_words[] = "|-all|-winograd"
#define X(name, fuses, keeps) "|-" #name
#include "base/passes.def"
#undef X
                                 "|";
static const char pass_list[] = "a comma list of -all, -winograd"
#define X(name, fuses, keeps) ", -" #name
#include "base/passes.def"
#undef X
    ;

static const struct {
    qrn_env env;
    const char *var;
    long most;         // of a whole number from 1 on; 0: words
    const char *words; // "|a|b|", a comma list of which it may be
    const char *expected;
} rules[] = {
    {QRN_ENV_THREADS, "QUERN_THREADS", 256, NULL, "a number of threads, 1 to 256"},
    {QRN_ENV_DUMP_RUNS, "QUERN_DUMP_RUNS", 1000000000, NULL, "a number of executions, 1 or more"},
    {QRN_ENV_VERBOSE, "QUERN_VERBOSE", 0, "|compiled|dispatch|threads|overflow|",
     "a comma list of compiled, dispatch, threads and overflow"},
    {QRN_ENV_HTP, "QUERN_HTP", 0, "|online|restricted|", "a comma list of online and restricted"},
    {QRN_ENV_SAVER_BACKEND, "QUERN_SAVER_BACKEND", 0, "|cpu|gpu|htp|", "cpu, gpu or htp"},
    {QRN_ENV_GPU_KERNELS, "QUERN_GPU_KERNELS", 0, "|-mma|-tile|-cpu|-depthwise|-attention|-gemv|",
     "a comma list of -mma, -tile, -cpu, -depthwise, -attention and -gemv"},
    {QRN_ENV_PASSES, "QUERN_PASSES", 0, pass_words, pass_list},
    {QRN_ENV_ISA, "QUERN_ISA", 0, "|ref|avx2|avxvnni|avx512|vnni|vbmi|amx|neon|dot|i8mm|",
     "ref, avx2, avxvnni, avx512, vnni, vbmi, amx, neon, dot or i8mm"},
};
#define N_RULES (sizeof rules / sizeof rules[0])

static int is_count(const char *text, long most) {
    char *end;
    long n = strtol(text, &end, 10);
    return end != text && !*end && n >= 1 && n <= most;
}

static int are_words(const char *list, const char *known) {
    while (*list) {
        char word[32];
        size_t n = strcspn(list, ",");
        snprintf(word, sizeof word, "|%.*s|", (int)(n < 28 ? n : 28), list);
        if (n && !strstr(known, word))
            return 0;
        list += n + (list[n] == ',');
    }
    return 1;
}

const char *qrn_env_problem(unsigned i, char *line, unsigned size) {
    unsigned seen = 0;
    for (size_t k = 0; k < N_RULES; k++) {
        const char *v = qrn_env_get(rules[k].env);
        int good =
            !v || (rules[k].most ? is_count(v, rules[k].most) : are_words(v, rules[k].words));
        if (good || seen++ < i)
            continue;
        snprintf(line, size, "%s is '%.64s', which has no effect; expected %s", rules[k].var, v,
                 rules[k].expected);
        return line;
    }
    return NULL;
}
