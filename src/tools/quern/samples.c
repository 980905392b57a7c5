// SPDX-License-Identifier: MIT
//
// Finding calibration data. What is in the files is checked against the model's inputs here
// (shapes) and when a sample is loaded (types).
#include "tools/quern/samples.h"
#include "tools/quern/report.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define N_RANDOM 8

// The arrays of one file, and the views of them that are samples.
typedef struct qt_sample_file {
    struct qt_sample_file *next;
    qt_npz arrays;
    qt_array *slices; // NULL: none yet
} qt_sample_file;

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), k = strlen(end);
    return n > k && strcmp(text + n - k, end) == 0;
}

// Adds `n` samples without sources; the index of the first in *first.
static int add_sets(qt_samples *s, size_t n, size_t *first) {
    size_t row = s->in.n_ports ? s->in.n_ports : 1, want = s->in.n_sets + n;
    if (want > s->cap_sets) {
        size_t cap = want < 2 * s->cap_sets ? 2 * s->cap_sets : want;
        qt_source *grown = realloc(s->in.sources, cap * row * sizeof *grown);
        if (!grown)
            return qt_no_memory();
        s->in.sources = grown;
        s->cap_sets = cap;
    }
    memset(s->in.sources + s->in.n_sets * row, 0, n * row * sizeof *s->in.sources);
    *first = s->in.n_sets;
    s->in.n_sets = want;
    return QT_EXIT_OK;
}

// How many samples an array holds for an input; 0: its shape does not fit.
static size_t samples_in(const qt_array *a, const ox_info *p) {
    bool more = a->rank == p->rank + 1;
    if (a->rank != p->rank && !more)
        return 0;
    for (uint32_t d = more ? 0 : 1; d < p->rank; d++)
        if (p->dims[d] >= 0 && a->dims[d + more] != (uint64_t)p->dims[d])
            return 0;
    if (more)
        return (size_t)a->dims[0];
    if (p->rank == 0 || p->dims[0] <= 0)
        return 1;
    return a->dims[0] % (uint64_t)p->dims[0] ? 0 : (size_t)(a->dims[0] / (uint64_t)p->dims[0]);
}

static int wrong_shape(const char *path, const qt_array *a, const ox_info *p) {
    char got[128], want[128];
    uint64_t dims[OX_MAX_RANK];
    for (uint32_t d = 0; d < p->rank; d++)
        dims[d] = (uint64_t)p->dims[d];
    qt_error("%s: input '%s' has shape %s, the model has %s", path, p->name,
             qt_shape_text(a->rank, a->dims, got, sizeof got),
             qt_shape_text(p->rank, dims, want, sizeof want));
    return QT_EXIT_INPUT;
}

// Part i of n of an array, as a view.
static qt_array slice(const qt_array *a, const ox_info *p, size_t i, size_t n) {
    qt_array part = *a;
    part.rank = p->rank;
    for (uint32_t d = 0; d < p->rank; d++)
        part.dims[d] = p->dims[d] < 0 ? a->dims[d] : (uint64_t)p->dims[d];
    part.count = a->count / n;
    part.bytes = a->bytes / n;
    part.data = (char *)a->data + i * part.bytes;
    return part;
}

// The array of a file for input i.
static const qt_array *array_for(const qt_samples *s, const qt_npz *z, uint32_t i) {
    char plain[256], number[32];
    snprintf(number, sizeof number, "arr_%u", i);
    qt_file_name(s->in.ports[i]->name, plain, sizeof plain);
    for (size_t k = 0; k < z->n; k++)
        if (strcmp(z->names[k], s->in.ports[i]->name) == 0 || strcmp(z->names[k], plain) == 0 ||
            strcmp(z->names[k], number) == 0)
            return &z->arrays[k];
    return NULL;
}

static int count_in_file(const qt_samples *s, const char *path, const qt_npz *z, size_t *most) {
    *most = 1;
    for (uint32_t i = 0; i < s->in.n_ports; i++) {
        const qt_array *a = array_for(s, z, i);
        if (!a) {
            qt_error("%s: there is no array for input '%s'", path, s->in.ports[i]->name);
            return QT_EXIT_INPUT;
        }
        size_t n = samples_in(a, s->in.ports[i]);
        if (n == 0 || a->count == 0)
            return wrong_shape(path, a, s->in.ports[i]);
        if (n > 1 && *most > 1 && n != *most) {
            qt_error("%s: input '%s' has %zu samples, another one has %zu", path,
                     s->in.ports[i]->name, n, *most);
            return QT_EXIT_INPUT;
        }
        *most = n > *most ? n : *most;
    }
    return QT_EXIT_OK;
}

// The samples of arrays, which now belong to s.
int qt_samples_add(qt_samples *s, const char *path, qt_npz *arrays) {
    qt_sample_file *f = calloc(1, sizeof *f);
    size_t n, first, n_ports = s->in.n_ports;
    if (!f) {
        qt_npz_free(arrays);
        return qt_no_memory();
    }
    f->arrays = *arrays;
    f->next = s->files;
    s->files = f;
    int code = count_in_file(s, path, &f->arrays, &n);
    if (code == QT_EXIT_OK)
        code = add_sets(s, n, &first);
    if (code == QT_EXIT_OK && !(f->slices = calloc(n * n_ports + 1, sizeof *f->slices)))
        code = qt_no_memory();
    for (size_t k = 0; code == QT_EXIT_OK && k < n; k++)
        for (uint32_t i = 0; i < n_ports; i++) {
            const qt_array *a = array_for(s, &f->arrays, i);
            size_t own = samples_in(a, s->in.ports[i]);
            f->slices[k * n_ports + i] = slice(a, s->in.ports[i], own > 1 ? k : 0, own);
            s->in.sources[(first + k) * n_ports + i].array = &f->slices[k * n_ports + i];
        }
    return code;
}

static int failed_input(void) {
    qt_error("%s", qrn_message());
    return QT_EXIT_INPUT;
}

static int add_npz(qt_samples *s, const char *path) {
    qt_npz z;
    return qt_npz_read(path, &z) == QRN_OK ? qt_samples_add(s, path, &z) : failed_input();
}

// A file that is one sample of a model's only input.
static int add_path(qt_samples *s, const char *path) {
    size_t first = 0;
    int code = add_sets(s, 1, &first);
    if (code == QT_EXIT_OK && !(s->in.sources[first].path = strdup(path)))
        code = qt_no_memory();
    return code;
}

static int add_npy(qt_samples *s, const char *path) {
    qt_npz z = {.n = 1};
    qt_array a;
    if (s->in.n_ports != 1) {
        qt_error("%s: the model has %u inputs; give them in a .npz file", path, s->in.n_ports);
        return QT_EXIT_INPUT;
    }
    if (qt_npy_read(path, &a) != QRN_OK)
        return failed_input();
    z.names = calloc(1, sizeof *z.names);
    z.arrays = calloc(1, sizeof *z.arrays);
    char *name = strdup(s->in.ports[0]->name);
    if (!z.names || !z.arrays || !name) {
        free(z.names);
        free(z.arrays);
        free(name);
        qt_array_free(&a);
        return qt_no_memory();
    }
    z.names[0] = name;
    z.arrays[0] = a;
    // One sample is read again when its turn comes: folders may hold more than fits into memory.
    if (samples_in(&a, s->in.ports[0]) == 1) {
        qt_npz_free(&z);
        return add_path(s, path);
    }
    return qt_samples_add(s, path, &z);
}

static int add_file(qt_samples *s, const char *path) {
    if (ends_with(path, ".npz"))
        return add_npz(s, path);
    if (ends_with(path, ".npy"))
        return add_npy(s, path);
    return add_path(s, path);
}

// --- folders

static bool is_wanted(const qt_samples *s, const char *name) {
    bool one = s->in.n_ports == 1;
    return ends_with(name, ".npz") ||
           (one && (ends_with(name, ".npy") || ends_with(name, ".raw") || qt_is_picture(name)));
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int add_names(qt_samples *s, const char *folder, char **names, size_t n) {
    int code = QT_EXIT_OK;
    if (n)
        qsort(names, n, sizeof *names, compare_names);
    for (size_t i = 0; i < n && code == QT_EXIT_OK; i++) {
        char path[4096];
        int len = snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        if (len < 0 || (size_t)len >= sizeof path) {
            qt_error("%s: the path is too long", names[i]);
            return QT_EXIT_INPUT;
        }
        code = add_file(s, path);
    }
    return code;
}

static int add_folder(qt_samples *s, const char *folder) {
    char **names = NULL;
    size_t n = 0;
    int code = QT_EXIT_OK;
    DIR *d = opendir(folder);
    if (!d) {
        qt_error("%s: %s", folder, strerror(errno));
        return QT_EXIT_INPUT;
    }
    for (const struct dirent *e; code == QT_EXIT_OK && (e = readdir(d));) {
        if (!is_wanted(s, e->d_name))
            continue;
        char **grown = realloc(names, (n + 1) * sizeof *names);
        char *copy = grown ? strdup(e->d_name) : NULL;
        names = grown ? grown : names;
        if (copy)
            names[n++] = copy;
        else
            code = qt_no_memory();
    }
    closedir(d);
    if (code == QT_EXIT_OK)
        code = add_names(s, folder, names, n);
    for (size_t i = 0; i < n; i++)
        free(names[i]);
    free(names);
    return code;
}

// --- all kinds

static int add_data(const ox_model *m, const char *data, qt_samples *s) {
    static const qt_list none = {0};
    struct stat st;
    if (data && stat(data, &st) != 0) {
        qt_error("%s: there is no such file or folder", data);
        return QT_EXIT_INPUT;
    }
    bool folder = data && S_ISDIR(st.st_mode);
    bool arrays = data && (ends_with(data, ".npz") || ends_with(data, ".npy") ||
                           ends_with(data, ".raw") || qt_is_picture(data));
    s->opt.input_list = data && !folder && !arrays ? data : NULL;
    s->opt.random = !s->opt.input_list; // sources come below
    int code = qt_inputs_open(m, &s->opt, &none, 0, &s->in);
    if (code != QT_EXIT_OK || s->opt.input_list)
        return code;
    s->in.n_sets = 0;
    s->cap_sets = 1;
    size_t first;
    if (!data)
        return add_sets(s, N_RANDOM, &first);
    s->opt.random = false;
    code = folder ? add_folder(s, data) : add_file(s, data);
    if (code == QT_EXIT_OK && folder && s->in.n_sets == 0) { // files named after the inputs
        qt_inputs_close(&s->in);
        s->opt.inputs = data;
        code = qt_inputs_open(m, &s->opt, &none, 0, &s->in);
    }
    return code;
}

int qt_samples_begin(const ox_model *m, const qt_input_options *opt, qt_samples *out) {
    static const qt_list none = {0};
    *out = (qt_samples){.opt = *opt, .cap_sets = 1};
    out->opt.random = true; // sources come later
    int code = qt_inputs_open(m, &out->opt, &none, 0, &out->in);
    out->in.n_sets = 0;
    return code;
}

int qt_samples_random(qt_samples *s, size_t n) {
    size_t first;
    return n > s->in.n_sets ? add_sets(s, n - s->in.n_sets, &first) : QT_EXIT_OK;
}

int qt_samples_open(const ox_model *m, const qt_input_options *opt, const char *data,
                    qt_samples *out) {
    *out = (qt_samples){.opt = *opt};
    int code = add_data(m, data, out);
    if (code == QT_EXIT_OK && out->in.n_sets == 0) {
        qt_error("%s: there are no samples", data);
        code = QT_EXIT_INPUT;
    }
    if (code != QT_EXIT_OK)
        qt_samples_close(out);
    return code;
}

void qt_samples_close(qt_samples *s) {
    qt_inputs_close(&s->in);
    for (qt_sample_file *f = s->files, *next; f; f = next) {
        next = f->next;
        qt_npz_free(&f->arrays);
        free(f->slices);
        free(f);
    }
    *s = (qt_samples){0};
}
