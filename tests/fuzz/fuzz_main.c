// SPDX-License-Identifier: MIT
//
// Runs a fuzz target without libFuzzer: all files of the given folders, then changed copies of
// them, then generated inputs.
//
//   fuzz_x [--mutants N] [--runs N] [--seed S] [--save FILE] [file or folder...]
//
// An input that ends the program is named by its file or by its number; --save keeps each changed
// or generated input in FILE before it is run, so that the last one is at hand afterwards.
#include "documented.h"
#include "mutate.h"
#include "source.h"
#include "watch.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

static void run_mutants(uint64_t seed, unsigned runs, const char *save_path) {
    static uint8_t buf[LARGEST_INPUT];
    for (unsigned i = 0; n_files && i < runs; i++) {
        source s = source_from_seed(seed + i * UINT64_C(104729));
        unsigned a = draw_u32(&s) % n_files, b = draw_u32(&s) % n_files;
        memcpy(buf, files[a].data, files[a].size);
        size_t n = mutate(&s, buf, files[a].size, sizeof buf, files[b].data, files[b].size);
        uint8_t *copy = malloc(n ? n : 1);
        if (!copy)
            abort();
        memcpy(copy, buf, n);
        save(save_path, copy, n);
        watch_case("changed input", i);
        LLVMFuzzerTestOneInput(copy, n);
        free(copy);
    }
}

static void run_generated(uint64_t seed, unsigned runs, const char *save_path) {
    for (unsigned i = 0; i < runs; i++) {
        source s = source_from_seed(seed + i * UINT64_C(7919));
        size_t n = 8 + draw_u32(&s) % (LARGEST_GENERATED - 8);
        uint8_t *data = malloc(n);
        if (!data)
            abort();
        for (size_t k = 0; k < n; k++)
            data[k] = draw_u8(&s);
        save(save_path, data, n);
        watch_case("generated input", i);
        LLVMFuzzerTestOneInput(data, n);
        free(data);
    }
}

int main(int argc, char **argv) {
    unsigned runs = 0, mutants = 0;
    uint64_t seed = 1;
    const char *save_path = NULL;
    bool ok = true;
    watch_start(30);
    LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc; i++) {
        bool has_value = i + 1 < argc;
        if (strcmp(argv[i], "--runs") == 0 && has_value)
            runs = (unsigned)strtoul(argv[++i], NULL, 0);
        else if (strcmp(argv[i], "--mutants") == 0 && has_value)
            mutants = (unsigned)strtoul(argv[++i], NULL, 0);
        else if (strcmp(argv[i], "--seed") == 0 && has_value)
            seed = strtoull(argv[++i], NULL, 0);
        else if (strcmp(argv[i], "--save") == 0 && has_value)
            save_path = argv[++i];
        else
            ok = run_path(argv[i]) && ok;
    }
    run_mutants(seed, mutants, save_path);
    run_generated(seed, runs, save_path);
    documented_print();
    printf("%u files, %u changed and %u generated inputs from seed %" PRIu64 "\n", n_files, mutants,
           runs, seed);
    while (n_files > 0)
        free(files[--n_files].data);
    return ok ? 0 : 1;
}
