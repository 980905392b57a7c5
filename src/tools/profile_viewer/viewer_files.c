// SPDX-License-Identifier: MIT
//
// Files that the viewer writes.
#include "base/report_text.h"
#include "tools/profile_viewer/viewer.h"
#include "tools/quern/flags.h"
#include "tools/quern/output.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

// --- the table

static const char *const messages[QT_CALL_KINDS] = {
    "INIT",    "COMPOSE GRAPHS", "FINALIZE", "DE-INIT", "APPLY BINARY SECTION",
    "EXECUTE", "EXECUTE IPS",    "BACKEND"};

static const char *unit_word(const char *unit) {
    static const char *const words[] = {"us",    "US",    "cycles", "CYCLES", "bytes",
                                        "BYTES", "count", "COUNT",  "object", "OBJECT"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i += 2)
        if (strcmp(words[i], unit) == 0)
            return words[i + 1];
    return "NONE";
}

static void write_rows(FILE *f, const qt_call *c, const qt_event *list, uint32_t n, bool root) {
    for (uint32_t i = 0; i < n; i++) {
        char name[512];
        bool node = qt_node_of(&list[i], name, sizeof name) != QT_NO_NODE;
        fprintf(f, "%llu,%s,%llu,%s,%s,%s,", (unsigned long long)c->start_us,
                node ? "NODE" : messages[c->kind], (unsigned long long)list[i].value,
                unit_word(list[i].unit), qt_is_netrun(&list[i]) ? "NETRUN" : "BACKEND",
                root ? "ROOT" : "SUB-EVENT");
        qrn_csv_text(f, list[i].name);
        fputc('\n', f);
        write_rows(f, c, list[i].sub, list[i].n_sub, false);
    }
}

bool qv_write_table(const qt_profile *p, const char *path) {
    qrn_text text;
    FILE *f = qrn_text_open(&text);
    if (!f) {
        qt_error("%s: out of memory", path);
        return false;
    }
    fputs("Msg Timestamp,Message,Time,Unit of Measurement,Timing Source,Event Level,"
          "Event Identifier\n",
          f);
    for (uint32_t i = 0; i < p->n; i++)
        write_rows(f, &p->calls[i], p->calls[i].events, p->calls[i].n, true);
    bool whole = qrn_text_close(f, &text);
    const qt_part part = {text.data, text.n};
    bool done = whole && qt_write_file(path, &part, 1);
    if (!whole)
        qt_error("%s: out of memory", path);
    free(text.data);
    return done;
}

// --- JSON

static bool write_compressed(const char *text, const char *path) {
    z_stream z = {0};
    size_t n = strlen(text), room = n + n / 1000 + 128;
    unsigned char *out = malloc(room);
    bool ok =
        out && n <= UINT32_MAX - 4096 &&
        deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK;
    if (ok) {
        z.next_in = (unsigned char *)(uintptr_t)text;
        z.avail_in = (uInt)n;
        z.next_out = out;
        z.avail_out = (uInt)room;
        ok = deflate(&z, Z_FINISH) == Z_STREAM_END;
        const qt_part part = {out, z.total_out};
        deflateEnd(&z);
        if (ok) {
            bool done = qt_write_file(path, &part, 1);
            free(out);
            return done;
        }
    }
    qt_error("%s: cannot be compressed", path);
    free(out);
    return false;
}

bool qv_write_json(json_t *value, const char *path, bool gzip) {
    size_t n = strlen(path);
    char *text = qt_json_dump(value, JSON_COMPACT);
    if (!text)
        return false;
    const qt_part part = {text, strlen(text)};
    bool packed = gzip || (n > 3 && strcmp(path + n - 3, ".gz") == 0);
    bool done = packed ? write_compressed(text, path) : qt_write_file(path, &part, 1);
    free(text);
    return done;
}

// --- opaque objects

// Names come from a file: nothing but the last part of one is used.
static void object_path(const qt_event *e, uint32_t number, char *buf, size_t size) {
    const char *slash = e->file ? strrchr(e->file, '/') : NULL;
    const char *name = slash ? slash + 1 : e->file;
    if (name && *name && *name != '.')
        snprintf(buf, size, "%u_%s", number, name);
    else
        snprintf(buf, size, "%u_object.bin", number);
}

static int digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool write_object(const qt_event *e, uint32_t number) {
    char path[512];
    size_t n = strlen(e->hex) / 2;
    unsigned char *bytes = malloc(n + 1);
    bool ok = bytes != NULL;
    object_path(e, number, path, sizeof path);
    for (size_t i = 0; ok && i < n; i++) {
        int high = digit(e->hex[2 * i]), low = digit(e->hex[2 * i + 1]);
        ok = high >= 0 && low >= 0;
        bytes[i] = (unsigned char)(ok ? high << 4 | low : 0);
    }
    const qt_part part = {bytes, n};
    if (!ok)
        qt_error("%s: its bytes are damaged", path);
    ok = ok && qt_write_file(path, &part, 1);
    free(bytes);
    return ok;
}

static bool extract(const qt_event *list, uint32_t n, uint32_t *number) {
    for (uint32_t i = 0; i < n; i++)
        if ((list[i].hex && !write_object(&list[i], (*number)++)) ||
            !extract(list[i].sub, list[i].n_sub, number))
            return false;
    return true;
}

bool qv_extract_objects(const qt_profile *p) {
    uint32_t number = 0;
    for (uint32_t i = 0; i < p->n; i++)
        if (!extract(p->calls[i].events, p->calls[i].n, &number))
            return false;
    return true;
}
