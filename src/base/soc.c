// SPDX-License-Identifier: MIT
//
// The table of chips, and the reader of a file with further ones.
//
// State of the library: the rows of that file, read when a chip is first asked for.
#include "base/soc.h"

#include "base/env.h"
#include "base/file.h"

#include <ctype.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const qrn_soc socs[] = {
#define SOC(id, name, aliases, arch, vtcm, hvx, hmx, cores, fp16, dlbc, spd, slc)                  \
    {id, name, aliases, arch, vtcm, hvx, hmx, cores, fp16, dlbc, spd, slc},
#define ARCH(...)
#include "base/socs.def"
#undef ARCH
#undef SOC
};

static const qrn_soc archs[] = {
#define SOC(...)
#define ARCH(arch, name, vtcm, hvx, hmx, fp16, dlbc)                                               \
    {0, name, "", arch, vtcm, hvx, hmx, 1, fp16, dlbc, true, false},
#include "base/socs.def"
#undef ARCH
#undef SOC
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { ROWS_MAX = 64, WARNINGS_MAX = 8, NAME_MAX_BYTES = 32, ALIASES_MAX_BYTES = 128 };
#define FILE_MAX_BYTES ((size_t)1 << 20)

// Columns of the file, in this order, one tab apart.
enum {
    ID,
    NAME,
    ALIASES,
    ARCHITECTURE,
    VTCM,
    HVX,
    HMX,
    CORES,
    FP16,
    DLBC,
    SIGNED_PD,
    SLC,
    COLUMNS
};

static const struct {
    const char *name;
    uint32_t min, max; // of numbers; both 0: text
} columns[COLUMNS] = {
    [ID] = {"id", 1, 0x7FFFFFFE},
    [NAME] = {"name", 0, 0},
    [ALIASES] = {"aliases", 0, 0},
    [ARCHITECTURE] = {"arch", 68, 89},
    [VTCM] = {"vtcm_mb", 1, 64},
    [HVX] = {"hvx", 1, 16},
    [HMX] = {"hmx", 1, 16},
    [CORES] = {"cores", 1, 16},
    [FP16] = {"fp16", 0, 1},
    [DLBC] = {"dlbc", 0, 1},
    [SIGNED_PD] = {"signed_pd", 0, 1},
    [SLC] = {"slc", 0, 1},
};

static struct {
    qrn_soc rows[ROWS_MAX];
    char names[ROWS_MAX][NAME_MAX_BYTES];
    char aliases[ROWS_MAX][ALIASES_MAX_BYTES];
    uint32_t n_rows;
    char warnings[WARNINGS_MAX][QRN_SOC_WARNING_MAX];
    uint32_t n_warnings;
} file;
static pthread_once_t file_once = PTHREAD_ONCE_INIT;

typedef struct span {
    const char *p;
    size_t n;
} span;

static void warn(const char *path, unsigned line, const char *what, const char *column) {
    if (file.n_warnings >= WARNINGS_MAX)
        return;
    bool last = file.n_warnings == WARNINGS_MAX - 1;
    snprintf(file.warnings[file.n_warnings++], QRN_SOC_WARNING_MAX,
             "QUERN_SOCS: %.200s:%u: %s%s; the line is ignored%s", path, line, what, column,
             last ? ", as are further bad lines" : "");
}

static bool read_number(span s, int column, uint32_t *out) {
    uint64_t value = 0;
    if (s.n == 0 || s.n > 10)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
        value = value * 10 + (uint64_t)(s.p[i] - '0');
    }
    *out = (uint32_t)value;
    return value >= columns[column].min && value <= columns[column].max;
}

// Letters, digits, '_', '-' and, between names, single spaces.
static bool read_text(span s, bool spaces, char *out, size_t size) {
    if (s.n == 0 || s.n >= size)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool good = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                    c == '_' || c == '-' || (c == ' ' && spaces && i > 0 && i + 1 < s.n);
        if (!good)
            return false;
    }
    memcpy(out, s.p, s.n);
    out[s.n] = 0;
    return true;
}

// The cells of a line; false when there are not COLUMNS of them.
static bool split(span line, span cells[COLUMNS]) {
    int n = 0;
    for (;;) {
        const char *tab = memchr(line.p, '\t', line.n);
        size_t len = tab ? (size_t)(tab - line.p) : line.n;
        if (n == COLUMNS)
            return false;
        cells[n++] = (span){line.p, len};
        if (!tab)
            return n == COLUMNS;
        line = (span){tab + 1, line.n - len - 1};
    }
}

static bool is_in_file(uint32_t id) {
    for (uint32_t i = 0; i < file.n_rows; i++)
        if (file.rows[i].id == id)
            return true;
    return false;
}

static void read_row(const char *path, unsigned number, span line) {
    span cells[COLUMNS];
    uint32_t v[COLUMNS] = {0}, row = file.n_rows;
    if (row == ROWS_MAX) {
        warn(path, number, "there are 64 SoCs already", "");
        return;
    }
    if (!split(line, cells)) {
        warn(path, number, "expected 12 columns separated by tabs", "");
        return;
    }
    for (int i = 0; i < COLUMNS; i++) {
        bool good = columns[i].max ? read_number(cells[i], i, &v[i])
                    : i == NAME    ? read_text(cells[i], false, file.names[row], NAME_MAX_BYTES)
                                : read_text(cells[i], true, file.aliases[row], ALIASES_MAX_BYTES);
        if (i == ARCHITECTURE)
            good = good && qrn_soc_of_arch(v[i]);
        if (i == ID)
            good = good && !is_in_file(v[i]);
        if (!good) {
            warn(path, number, "not a value, or not a new one, for column ", columns[i].name);
            return;
        }
    }
    if (strcmp(file.aliases[row], "-") == 0)
        file.aliases[row][0] = 0;
    file.rows[file.n_rows++] = (qrn_soc){
        v[ID],    file.names[row], file.aliases[row], v[ARCHITECTURE],   v[VTCM],    v[HVX], v[HMX],
        v[CORES], v[FP16] != 0,    v[DLBC] != 0,      v[SIGNED_PD] != 0, v[SLC] != 0};
}

static void read_rows(const char *path, span text) {
    unsigned number = 0;
    while (text.n) {
        const char *end = memchr(text.p, '\n', text.n);
        size_t len = end ? (size_t)(end - text.p) : text.n;
        span line = {text.p, len && text.p[len - 1] == '\r' ? len - 1 : len};
        number++;
        if (line.n && line.p[0] != '#')
            read_row(path, number, line);
        text = (span){text.p + len + (end != NULL), text.n - len - (end != NULL)};
    }
}

static void read_file(void) {
    const char *path = qrn_env_get(QRN_ENV_SOCS);
    qrn_file f = {0};
    if (!path)
        return;
    if (qrn_file_map(path, &f) != QRN_OK) {
        snprintf(file.warnings[file.n_warnings++], QRN_SOC_WARNING_MAX, "QUERN_SOCS: %.300s",
                 qrn_message());
        qrn_message_clear();
        return;
    }
    if (f.size > FILE_MAX_BYTES)
        warn(path, 1, "the file is larger than 1 MB", "");
    else
        read_rows(path, (span){f.data, f.size});
    qrn_file_unmap(&f);
}

void qrn_soc_reread(const void *text, size_t size) {
    pthread_once(&file_once, read_file);
    memset(&file, 0, sizeof file);
    read_rows("test", (span){text, size});
}

const char *qrn_soc_warning(uint32_t i) {
    pthread_once(&file_once, read_file);
    return i < file.n_warnings ? file.warnings[i] : NULL;
}

// Rows of the file come first and hide those of the same number.
const qrn_soc *qrn_soc_at(uint32_t i) {
    pthread_once(&file_once, read_file);
    if (i < file.n_rows)
        return &file.rows[i];
    i -= file.n_rows;
    for (size_t k = 0; k < COUNT(socs); k++)
        if (!is_in_file(socs[k].id) && i-- == 0)
            return &socs[k];
    return NULL;
}

const qrn_soc *qrn_soc_by_id(uint32_t id) {
    const qrn_soc *soc;
    for (uint32_t i = 0; (soc = qrn_soc_at(i)); i++)
        if (soc->id == id)
            return soc;
    return NULL;
}

const qrn_soc *qrn_soc_of_arch(uint32_t arch) {
    for (size_t i = 0; i < COUNT(archs); i++)
        if (archs[i].arch == arch)
            return &archs[i];
    return NULL;
}

// What counts of a name, into `out`: letters, digits and + in lower case, without "Snapdragon".
static const char *plain_name(const char *name, size_t n, char out[NAME_MAX_BYTES]) {
    static const char brand[] = "snapdragon";
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (isalnum((unsigned char)name[i]) || name[i] == '+') {
            if (k + 1 == NAME_MAX_BYTES)
                return ""; // longer than any
            out[k++] = (char)tolower((unsigned char)name[i]);
        }
    out[k] = '\0';
    size_t skip = strncmp(out, brand, sizeof brand - 1) == 0 ? sizeof brand - 1 : 0;
    return out + skip;
}

// Is `name`, which is plain, one of the words of `list`?
static bool has_word(const char *list, const char *name) {
    char word[NAME_MAX_BYTES];
    for (const char *p = list; *p; p += strspn(p, " ")) {
        size_t n = strcspn(p, " ");
        if (strcmp(plain_name(p, n, word), name) == 0)
            return true;
        p += n;
    }
    return false;
}

const qrn_soc *qrn_soc_by_name(const char *name) {
    const qrn_soc *soc;
    char plain[NAME_MAX_BYTES];
    const char *wanted = plain_name(name, strlen(name), plain);
    for (uint32_t i = 0; (soc = qrn_soc_at(i)); i++)
        if (strcasecmp(soc->name, name) == 0)
            return soc;
    for (uint32_t i = 0; *wanted && (soc = qrn_soc_at(i)); i++)
        if (has_word(soc->name, wanted) || has_word(soc->aliases, wanted))
            return soc;
    return NULL;
}
