// SPDX-License-Identifier: MIT
//
// Runs a fuzz target without libFuzzer: all files of the given folders, then changed copies of
// them, then generated inputs.
//
//   fuzz_x [--mutants N] [--runs N] [--seconds N] [--seed S] [--first N] [--save FILE]
//          [file or folder...]
//
// With --seconds, changed and generated inputs take turns until the time is over. --first begins
// with that input of each kind: the one that a report named.
//
// An input that ends the program is named by its file or by its number; --save keeps each changed
// or generated input in FILE before it is run, so that the last one is at hand afterwards.
#include "fuzz_main.h"

#include "documented.h"
#include "mutate.h"
#include "watch.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LARGEST_INPUT = 1 << 16, LARGEST_GENERATED = 400, MOST_FILES = 1000 };

// The inputs read from files.
static struct {
    uint8_t *data;
    size_t size;
} files[MOST_FILES];
static unsigned n_files;

static bool run_file(const char *path) {
    static uint8_t buf[LARGEST_INPUT];
    FILE *f = fopen(path, "rb");
    if (!f) {
        fprintf(stderr, "%s: cannot be read\n", path);
        return false;
    }
    size_t n = fread(buf, 1, sizeof buf, f);
    fclose(f);
    uint8_t *copy = malloc(n ? n : 1); // of its own size, for the sanitizer
    if (!copy)
        return false;
    memcpy(copy, buf, n);
    watch_case(path, 0);
    LLVMFuzzerTestOneInput(copy, n);
    if (n_files == MOST_FILES || n == 0) {
        free(copy);
        return true;
    }
    files[n_files].data = copy;
    files[n_files++].size = n;
    return true;
}

// Files of a folder in the order of their names, so that a seed means the same everywhere.
static bool run_path(const char *path) {
    struct dirent **list;
    int n = scandir(path, &list, NULL, alphasort);
    bool ok = true;
    if (n < 0)
        return run_file(path);
    for (int i = 0; i < n; i++) {
        char file[4096];
        snprintf(file, sizeof file, "%s/%s", path, list[i]->d_name);
        if (list[i]->d_name[0] != '.')
            ok = run_file(file) && ok;
        free(list[i]);
    }
    free(list);
    return ok;
}

static void save(const char *path, const uint8_t *data, size_t size) {
    FILE *f = path ? fopen(path, "wb") : NULL;
    if (f) {
        fwrite(data, 1, size, f);
        fclose(f);
    }
}

#define PLAIN __attribute__((weak)) // a target's own takes its place

PLAIN size_t fuzz_change(source *s, uint8_t *buf, size_t n, size_t cap, const uint8_t *other,
                         size_t n_other) {
    return mutate(s, buf, n, cap, other, n_other);
}

PLAIN size_t fuzz_generate(source *s, uint8_t *buf, size_t cap) {
    (void)cap;
    size_t n = 8 + draw_u32(s) % (LARGEST_GENERATED - 8);
    for (size_t k = 0; k < n; k++)
        buf[k] = draw_u8(s);
    return n;
}

PLAIN bool fuzz_end(void) { return true; }

static void run_bytes(const uint8_t *data, size_t n, const char *name, uint64_t number,
                      const char *save_path) {
    uint8_t *copy = malloc(n ? n : 1); // of its own size, for the sanitizer
    if (!copy)
        abort();
    memcpy(copy, data, n);
    save(save_path, copy, n);
    watch_case(name, number);
    LLVMFuzzerTestOneInput(copy, n);
    free(copy);
}

static uint8_t buf[LARGEST_INPUT];

static void run_mutant(uint64_t seed, unsigned i, const char *save_path) {
    if (!n_files)
        return;
    source s = source_from_seed(seed + i * UINT64_C(104729));
    unsigned a = draw_u32(&s) % n_files, b = draw_u32(&s) % n_files;
    memcpy(buf, files[a].data, files[a].size);
    size_t n = fuzz_change(&s, buf, files[a].size, sizeof buf, files[b].data, files[b].size);
    run_bytes(buf, n, "changed input", i, save_path);
}

static void run_generated(uint64_t seed, unsigned i, const char *save_path) {
    source s = source_from_seed(seed + i * UINT64_C(7919));
    size_t n = fuzz_generate(&s, buf, sizeof buf);
    run_bytes(buf, n, "generated input", i, save_path);
}

static bool is_over(time_t end) { return end && time(NULL) >= end; }

int main(int argc, char **argv) {
    unsigned runs = 0, mutants = 0, seconds = 0, first = 0, i_mutant = 0, i_run = 0;
    uint64_t seed = 1;
    const char *save_path = NULL;
    bool ok = true;
    watch_start(20);
    LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc; i++) {
        bool has_value = i + 1 < argc;
        if (strcmp(argv[i], "--runs") == 0 && has_value)
            runs = (unsigned)strtoul(argv[++i], NULL, 0);
        else if (strcmp(argv[i], "--mutants") == 0 && has_value)
            mutants = (unsigned)strtoul(argv[++i], NULL, 0);
        else if (strcmp(argv[i], "--seconds") == 0 && has_value)
            seconds = (unsigned)strtoul(argv[++i], NULL, 0);
        else if (strcmp(argv[i], "--first") == 0 && has_value)
            first = (unsigned)strtoul(argv[++i], NULL, 0);
        else if (strcmp(argv[i], "--seed") == 0 && has_value)
            seed = strtoull(argv[++i], NULL, 0);
        else if (strcmp(argv[i], "--save") == 0 && has_value)
            save_path = argv[++i];
        else
            ok = run_path(argv[i]) && ok;
    }
    if (seconds)
        runs = mutants = UINT32_MAX;
    time_t end = seconds ? time(NULL) + (time_t)seconds : 0;
    while ((i_mutant < mutants || i_run < runs) && !is_over(end)) {
        if (i_mutant < mutants)
            run_mutant(seed, first + i_mutant++, save_path);
        if (i_run < runs)
            run_generated(seed, first + i_run++, save_path);
    }
    documented_print();
    ok = fuzz_end() && ok;
    printf("%u files, %u changed and %u generated inputs from seed %" PRIu64 "\n", n_files,
           i_mutant, i_run, seed);
    while (n_files > 0)
        free(files[--n_files].data);
    return ok ? 0 : 1;
}
