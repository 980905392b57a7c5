// SPDX-License-Identifier: MIT
//
// Runs a fuzz target without libFuzzer: all files of the given folders, then generated inputs.
//
//   fuzz_x [--runs N] [--seed S] [--save FILE] [file or folder...]
//
// An input that ends the program is named by its file or by its number; --save keeps each generated
// input in FILE before it is run, so that the last one is at hand afterwards.
#include "documented.h"
#include "source.h"
#include "watch.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LARGEST_INPUT = 1 << 16, LARGEST_GENERATED = 400 };

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
    free(copy);
    n_files++;
    return true;
}

static bool run_path(const char *path) {
    DIR *dir = opendir(path);
    bool ok = true;
    if (!dir)
        return run_file(path);
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        char file[4096];
        if (e->d_name[0] == '.')
            continue;
        snprintf(file, sizeof file, "%s/%s", path, e->d_name);
        ok = run_file(file) && ok;
    }
    closedir(dir);
    return ok;
}

static void save(const char *path, const uint8_t *data, size_t size) {
    FILE *f = path ? fopen(path, "wb") : NULL;
    if (f) {
        fwrite(data, 1, size, f);
        fclose(f);
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
    unsigned runs = 0;
    uint64_t seed = 1;
    const char *save_path = NULL;
    bool ok = true;
    watch_start(30);
    LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc; i++) {
        bool has_value = i + 1 < argc;
        if (strcmp(argv[i], "--runs") == 0 && has_value)
            runs = (unsigned)strtoul(argv[++i], NULL, 0);
        else if (strcmp(argv[i], "--seed") == 0 && has_value)
            seed = strtoull(argv[++i], NULL, 0);
        else if (strcmp(argv[i], "--save") == 0 && has_value)
            save_path = argv[++i];
        else
            ok = run_path(argv[i]) && ok;
    }
    run_generated(seed, runs, save_path);
    documented_print();
    printf("%u files, %u generated inputs from seed %" PRIu64 "\n", n_files, runs, seed);
    return ok ? 0 : 1;
}
