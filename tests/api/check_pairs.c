// SPDX-License-Identifier: MIT
//
// check_pairs ERRORS.tsv UNREACHABLE.tsv DIR: every documented pair of function and error must have
// been provoked by some test program (its *.pairs file in DIR), or stand in the list of pairs that
// cannot be provoked, with a reason. Pairs in that list that were provoked after all are a mistake.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PAIRS = 1024, MAX_UNREACHABLE = 30 };

typedef struct pair {
    char function[64], error[80];
    unsigned long long value;
    int provoked, unreachable;
} pair;

static pair pairs[MAX_PAIRS];
static size_t n_pairs;

static pair *find(const char *function, unsigned long long value) {
    for (size_t i = 0; i < n_pairs; i++)
        if (pairs[i].value == value && strcmp(pairs[i].function, function) == 0)
            return &pairs[i];
    return NULL;
}

static FILE *open_or_die(const char *path) {
    FILE *f = fopen(path, "r");
    if (!f) {
        perror(path);
        exit(1);
    }
    return f;
}

static void read_documented(const char *path) {
    FILE *f = open_or_die(path);
    char line[512];
    while (fgets(line, sizeof line, f) && n_pairs < MAX_PAIRS) {
        pair *p = &pairs[n_pairs];
        if (line[0] != '#' && sscanf(line, "%63s %79s %llu", p->function, p->error, &p->value) == 3)
            n_pairs++;
    }
    fclose(f);
}

// Lines: function, error value, reason. Returns the number of mistakes.
static int read_unreachable(const char *path) {
    FILE *f = open_or_die(path);
    char line[512], function[64], reason[400];
    unsigned long long value;
    int bad = 0, n = 0;
    while (fgets(line, sizeof line, f)) {
        if (line[0] == '#' || line[0] == '\n')
            continue;
        int fields = sscanf(line, "%63s %llu %399[^\n]", function, &value, reason);
        pair *p = fields == 3 && strlen(reason) > 10 ? find(function, value) : NULL;
        if (p && !p->unreachable) {
            p->unreachable = 1;
            n++;
            continue;
        }
        fprintf(stderr, "%s: not a documented pair with a reason, or listed twice: %s", path, line);
        bad++;
    }
    fclose(f);
    if (n > MAX_UNREACHABLE) {
        fprintf(stderr, "%s: %d pairs, at most %d are allowed\n", path, n, MAX_UNREACHABLE);
        bad++;
    }
    return bad;
}

static void read_provoked(const char *dir) {
    DIR *d = opendir(dir);
    struct dirent *e;
    while (d && (e = readdir(d))) {
        size_t len = strlen(e->d_name);
        if (len < 6 || strcmp(e->d_name + len - 6, ".pairs") != 0)
            continue;
        char path[4096], function[64];
        unsigned long long value;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        FILE *f = open_or_die(path);
        while (fscanf(f, "%63s %llu", function, &value) == 2) {
            pair *p = find(function, value);
            if (p)
                p->provoked = 1;
        }
        fclose(f);
    }
    if (d)
        closedir(d);
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: check_pairs ERRORS.tsv UNREACHABLE.tsv DIR\n");
        return 2;
    }
    read_documented(argv[1]);
    int bad = read_unreachable(argv[2]);
    read_provoked(argv[3]);
    size_t provoked = 0, unreachable = 0;
    for (size_t i = 0; i < n_pairs; i++) {
        const pair *p = &pairs[i];
        provoked += (size_t)p->provoked;
        unreachable += (size_t)p->unreachable;
        if (p->provoked == p->unreachable) {
            fprintf(stderr, "%s %s (%llu): %s\n", p->function, p->error, p->value,
                    p->provoked ? "listed as unreachable, but provoked" : "not provoked");
            bad++;
        }
    }
    printf("error pairs: %zu provoked of %zu, %zu unreachable\n", provoked, n_pairs, unreachable);
    return bad || n_pairs == 0;
}
