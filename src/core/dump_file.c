// SPDX-License-Identifier: MIT
//
// The files of a dump. Everything is written through a descriptor of the execution's folder, so
// that a change of the working directory or of names above it does no harm.
#include "core/dump_file.h"

#include "base/fp16.h"
#include "base/mem.h"
#include "base/outfile.h"
#include "base/report_text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_RUNS 9999 // numbers of executions in one folder
#define NAME_PART 80  // bytes of a tensor's or graph's name that are kept

// Appends the characters of text that are safe everywhere; others become '_'.
static void append_safe(char *out, const char *text) {
    size_t n = strlen(out), kept = 0;
    for (; *text && kept < NAME_PART; text++, kept++) {
        bool safe = (*text >= '0' && *text <= '9') || (*text >= 'a' && *text <= 'z') ||
                    (*text >= 'A' && *text <= 'Z') || *text == '-' || *text == '_' ||
                    (*text == '.' && kept > 0);
        out[n++] = safe ? *text : '_';
    }
    out[n] = '\0';
}

void qrn_dump_name(char *out, uint32_t number, const char *text) {
    snprintf(out, QRN_DUMP_NAME_MAX, "%05u_", number);
    append_safe(out, text);
    size_t n = strlen(out);
    snprintf(out + n, QRN_DUMP_NAME_MAX - n, ".npy");
}

static int make_root(const char *path) {
    char *part = qrn_strdup(path);
    if (!part) {
        errno = ENOMEM;
        return -1;
    }
    for (char *s = part + 1; *part && *s; s++)
        if (*s == '/') {
            *s = '\0';
            mkdir(part, 0777); // what is wrong with it shows when the last one is opened
            *s = '/';
        }
    mkdir(part, 0777);
    qrn_free(part);
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int open_folder(int above, const char *name) {
    return openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void run_name(char *out, uint32_t run) { snprintf(out, QRN_DUMP_NAME_MAX, "run-%04u", run); }

// The largest number in use, when all below it are: found in a few steps.
static uint32_t last_run(int of_graph) {
    char name[QRN_DUMP_NAME_MAX];
    uint32_t last = 0;
    for (uint32_t step = 8192; step; step /= 2) {
        run_name(name, last + step);
        if (last + step <= MAX_RUNS && faccessat(of_graph, name, F_OK, 0) == 0)
            last += step;
    }
    return last;
}

int qrn_dump_folder(const char *root, const char *graph, uint32_t *run) {
    char name[QRN_DUMP_NAME_MAX] = "";
    int top = make_root(root), out = -1;
    if (top < 0)
        return -1;
    append_safe(name, *graph ? graph : "graph");
    mkdirat(top, name, 0777);
    int of_graph = open_folder(top, name);
    int error = errno;
    close(top);
    for (uint32_t i = of_graph < 0 ? MAX_RUNS : last_run(of_graph); out < 0 && ++i <= MAX_RUNS;) {
        run_name(name, i);
        bool made = mkdirat(of_graph, name, 0777) == 0;
        if (made)
            out = open_folder(of_graph, name);
        error = errno;
        if (!made && error != EEXIST)
            break;
        *run = i;
    }
    if (of_graph >= 0)
        close(of_graph);
    errno = error;
    return out;
}

// The type as NumPy calls it.
static const char *numpy_type(qrn_dtype t) {
    static const char *const sint[] = {"|i1", "<i2", "<i4", "<i8"};
    static const char *const uint[] = {"|u1", "<u2", "<u4", "<u8"};
    unsigned bits = qrn_dtypes[t].bits, k = bits <= 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : 3;
    switch (qrn_dtypes[t].cls) {
    case QRN_CLASS_FLOAT:
        return t == QRN_DTYPE_F16 ? "<f2" : t == QRN_DTYPE_F64 ? "<f8" : "<f4";
    case QRN_CLASS_SINT:
    case QRN_CLASS_SFIXED:
        return sint[k];
    default:
        return uint[k];
    }
}

// The header of a .npy file (version 1), a multiple of 64 bytes; its length.
static size_t numpy_header(char head[256], const qrn_view *v) {
    size_t n = 10;
    n += (size_t)snprintf(head + n, 256 - n, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                          numpy_type(v->dtype));
    for (uint32_t d = 0; d < v->rank; d++)
        n += (size_t)snprintf(head + n, 256 - n, "%u,", v->dims[d]);
    n += (size_t)snprintf(head + n, 256 - n, "), }");
    size_t total = (n + 1 + 63) / 64 * 64;
    memset(head + n, ' ', total - n);
    head[total - 1] = '\n';
    static const unsigned char magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    memcpy(head, magic, sizeof magic);
    head[8] = (char)((total - 10) & 0xff);
    head[9] = (char)((total - 10) >> 8);
    return total;
}

static size_t count_of(const qrn_view *v) {
    size_t n = 1;
    for (uint32_t d = 0; d < v->rank; d++)
        n *= v->dims[d];
    return n;
}

// Elements of a type that NumPy lacks, a piece at a time.
static void write_widened(qrn_outfile *f, const qrn_view *v, size_t count) {
    enum { PIECE = 1024 };
    float floats[PIECE];
    uint8_t bytes[PIECE];
    bool nibbles = qrn_dtypes[v->dtype].bits == 4, has_sign = v->dtype == QRN_DTYPE_SQ4;
    for (size_t at = 0; at < count; at += PIECE) {
        size_t n = count - at < PIECE ? count - at : PIECE;
        for (size_t i = 0; i < n; i++) {
            if (!nibbles) {
                floats[i] = qrn_bf16_to_f32(((const uint16_t *)v->data)[at + i]);
                continue;
            }
            unsigned pair = ((const uint8_t *)v->data)[(at + i) / 2];
            unsigned code = (at + i) % 2 ? pair >> 4 : pair & 15;
            bytes[i] = (uint8_t)(has_sign && code > 7 ? code | 0xf0 : code);
        }
        qrn_outfile_write(f, nibbles ? (void *)bytes : (void *)floats, nibbles ? n : 4 * n);
    }
}

bool qrn_dump_array(int folder, const char *name, const qrn_view *v) {
    char head[256];
    qrn_outfile f;
    size_t count = count_of(v), bits = qrn_dtypes[v->dtype].bits;
    if (faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) { // not of this execution
        errno = EEXIST;
        return false;
    }
    if (qrn_outfile_begin_unsynced(&f, folder, name) == QRN_OK) {
        qrn_outfile_write(&f, head, numpy_header(head, v));
        if (bits == 4 || v->dtype == QRN_DTYPE_BF16)
            write_widened(&f, v, count);
        else
            qrn_outfile_write(&f, v->data, count * (bits / 8));
        if (qrn_outfile_commit(&f) == QRN_OK)
            return true;
    }
    errno = f.error;
    return false;
}

static void describe_groups(FILE *to, const qrn_quant *q) {
    fputs(", \"scales\": [", to);
    for (uint32_t g = 0; g < q->n_groups; g++) {
        fputs(g ? ", " : "", to);
        qrn_json_number(to, (double)qrn_quant_scale(q, g));
    }
    fputs("], \"offsets\": [", to);
    for (uint32_t g = 0; g < q->n_groups; g++)
        fprintf(to, "%s%d", g ? ", " : "", qrn_quant_offset(q, g));
    fputc(']', to);
    for (uint32_t g = 0; q->real_offsets && g < q->n_groups; g++) {
        fputs(g ? ", " : ", \"real_offsets\": [", to);
        qrn_json_number(to, (double)q->real_offsets[g]);
        fputs(g + 1 == q->n_groups ? "]" : "", to);
    }
}

static void describe_encoding(FILE *to, const qrn_view *v) {
    const qrn_quant *q = v->quant;
    fputs(", \"encoding\": {", to);
    if (q->kind == QRN_QUANT_TENSOR) {
        fputs("\"kind\": \"tensor\", \"scale\": ", to);
        qrn_json_number(to, (double)q->scale);
        fprintf(to, ", \"offset\": %d", q->offset);
    } else if (q->kind == QRN_QUANT_AXIS) {
        fprintf(to, "\"kind\": \"axis\", \"axis\": %u", q->axis);
        describe_groups(to, q);
    } else {
        fputs("\"kind\": \"block\", \"block\": [", to);
        for (uint32_t d = 0; d < v->rank; d++)
            fprintf(to, "%s%u", d ? ", " : "", q->block[d]);
        fputc(']', to);
        describe_groups(to, q);
    }
    if (q->bits)
        fprintf(to, ", \"bits\": %u", q->bits);
    if (q->shift != 0.0f) {
        fputs(", \"shift\": ", to);
        qrn_json_number(to, (double)q->shift);
    }
    fputc('}', to);
}

void qrn_dump_describe(FILE *to, const qrn_view *v) {
    fprintf(to, ", \"type\": \"%s\", \"shape\": [", qrn_dtypes[v->dtype].token);
    for (uint32_t d = 0; d < v->rank; d++)
        fprintf(to, "%s%u", d ? ", " : "", v->dims[d]);
    fputc(']', to);
    if (v->quant && v->quant->kind != QRN_QUANT_NONE)
        describe_encoding(to, v);
}
