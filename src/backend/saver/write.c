// SPDX-License-Identifier: MIT
//
// Writes values of the public types as C expressions. Structs become compound literals, so that a
// whole call with all it leads to is one statement. Relies on values that the core has accepted:
// lists have the lengths they claim.
#include "backend/saver/saver.h"

#include "base/mem.h"

#include <string.h>

#define MAX_INLINE 16 // longer lists of numbers go to the data file
#define WIDTH 70      // columns after which a line may end

static const void *pointer_at(const void *at) { return *(const void *const *)at; }

static void new_line(qrn_saver_writer *w) {
    qrn_saver_put(w->text, "\n%*s", (int)(8 + 4 * w->depth), "");
}

// Between members: a line that is long enough ends here.
static void separate(qrn_saver_writer *w) {
    const qrn_saver_text *t = w->text;
    size_t column = 0;
    while (column < WIDTH && column < t->n && t->data[t->n - 1 - column] != '\n')
        column++;
    qrn_saver_put(w->text, column < WIDTH ? ", " : ",");
    if (column >= WIDTH)
        new_line(w);
}

static uint64_t number_at(qrn_saved_kind kind, const void *at) {
    switch (kind) {
    case QRN_SAVED_U8:
    case QRN_SAVED_I8:
        return *(const uint8_t *)at;
    case QRN_SAVED_U16:
    case QRN_SAVED_I16:
        return *(const uint16_t *)at;
    case QRN_SAVED_U64:
    case QRN_SAVED_I64:
    case QRN_SAVED_F64:
        return *(const uint64_t *)at;
    default:
        return *(const uint32_t *)at;
    }
}

static size_t size_of(qrn_saved_kind kind) {
    switch (kind) {
    case QRN_SAVED_U8:
    case QRN_SAVED_I8:
        return 1;
    case QRN_SAVED_U16:
    case QRN_SAVED_I16:
        return 2;
    case QRN_SAVED_U64:
    case QRN_SAVED_I64:
    case QRN_SAVED_F64:
        return 8;
    default:
        return 4;
    }
}

static void number(qrn_saver_writer *w, qrn_saved_kind kind, const void *at) {
    qrn_saver_text *t = w->text;
    uint64_t v = number_at(kind, at);
    switch (kind) {
    case QRN_SAVED_I8:
        qrn_saver_put(t, "%d", (int)(int8_t)v);
        break;
    case QRN_SAVED_I16:
        qrn_saver_put(t, "%d", (int)(int16_t)v);
        break;
    case QRN_SAVED_I32: // INT32_MIN has no literal
        qrn_saver_put(t, (int32_t)v == INT32_MIN ? "INT32_MIN" : "%d", (int)(int32_t)v);
        break;
    case QRN_SAVED_I64:
        qrn_saver_put(t, (int64_t)v == INT64_MIN ? "INT64_MIN" : "%lldll", (long long)(int64_t)v);
        break;
    case QRN_SAVED_U64:
        qrn_saver_put(t, "%lluull", (unsigned long long)v);
        break;
    case QRN_SAVED_F32:
        qrn_saver_put_double(t, (double)*(const float *)at, true);
        break;
    case QRN_SAVED_F64:
        qrn_saver_put_double(t, *(const double *)at, false);
        break;
    default:
        qrn_saver_put(t, "%llu%s", (unsigned long long)v, v > INT32_MAX ? "u" : "");
    }
}

static void name_value(qrn_saver_writer *w, const qrn_saved_enum *e, uint32_t v) {
    for (size_t i = 0; i < e->n_values; i++)
        if (e->values[i].value == v) {
            qrn_saver_put(w->text, "%s", e->values[i].name);
            return;
        }
    qrn_saver_put(w->text, "(%s)%u", e->name, v);
}

void qrn_saver_variable(qrn_saver_writer *w, qrn_saver_object kind, const void *handle) {
    int n = qrn_saver_find(kind, handle);
    if (n < 0)
        qrn_saver_put(w->text, kind == QRN_SAVER_POWER ? "0" : "NULL");
    else
        qrn_saver_put(w->text, "%s_%d%s", qrn_saver_word(kind), n,
                      kind == QRN_SAVER_MEM ? ".handle" : "");
}

// Bytes in the data file.
static void bytes(qrn_saver_writer *w, const void *p, uint64_t n) {
    uint64_t offset = 0;
    if (!p || n == 0) {
        qrn_saver_put(w->text, "NULL");
        return;
    }
    if (w->status == QRN_OK)
        w->status = qrn_saver_keep(p, n, &offset);
    qrn_saver_put(w->text, "data(%llu, %llu)", (unsigned long long)offset, (unsigned long long)n);
}

static void numbers(qrn_saver_writer *w, const qrn_saved_field *f, const void *p, uint64_t n) {
    size_t size = size_of(f->element);
    if (!p || n == 0) {
        qrn_saver_put(w->text, "NULL");
    } else if (n > MAX_INLINE) {
        bytes(w, p, n * size);
    } else {
        qrn_saver_put(w->text, "(%s[]){", f->word);
        for (uint64_t i = 0; i < n; i++) {
            qrn_saver_put(w->text, i ? ", " : "");
            number(w, f->element, (const char *)p + i * size);
        }
        qrn_saver_put(w->text, "}");
    }
}

static void many(qrn_saver_writer *w, const qrn_saved_type *t, const void *p, uint64_t n) {
    if (!p || n == 0) {
        qrn_saver_put(w->text, "NULL");
        return;
    }
    if (t->is_plain && n > MAX_INLINE) {
        bytes(w, p, n * t->size);
        return;
    }
    qrn_saver_put(w->text, "(%s[]){", t->name);
    w->depth++;
    for (uint64_t i = 0; i < n; i++) {
        new_line(w);
        qrn_saver_members(w, t, (const char *)p + i * t->size);
        qrn_saver_put(w->text, i + 1 < n ? "," : "}");
    }
    w->depth--;
}

static void one(qrn_saver_writer *w, const qrn_saved_type *t, const void *p) {
    if (!p) {
        qrn_saver_put(w->text, "NULL");
        return;
    }
    qrn_saver_put(w->text, "&(%s)", t->name);
    qrn_saver_members(w, t, p);
}

static void strings(qrn_saver_writer *w, const char *const *p, uint64_t n) {
    bool counted = n > 0;
    if (!p) {
        qrn_saver_put(w->text, "NULL");
        return;
    }
    qrn_saver_put(w->text, "(const char *[]){");
    for (uint64_t i = 0; counted ? i < n : p[i] != NULL; i++) {
        qrn_saver_put_string(w->text, p[i]);
        qrn_saver_put(w->text, ", ");
    }
    qrn_saver_put(w->text, "NULL}");
}

// The custom part of an option, or NULL when it is not one.
static const qrn_saved_field *custom_of(const qrn_saved_type *t, const void *option) {
    for (size_t i = 0; i < t->n_fields; i++) {
        const qrn_saved_field *f = &t->fields[i];
        if (f->kind == QRN_SAVED_CUSTOM &&
            *(const uint32_t *)((const char *)option + f->when_at - 1) == f->when)
            return f;
    }
    return NULL;
}

static const qrn_saved_type *custom_type(const qrn_saved_field *f, const void *at) {
    return qrn_saved_custom(qrn_saver_options_now()->backend_id, f->object, pointer_at(at));
}

static void left_out(qrn_saver_writer *w, const qrn_saved_field *f, const void *at) {
    if (qrn_saved_is_ours(f->object, pointer_at(at)))
        qrn_saver_put(w->text, "/* an option of Quern's own */ ");
    else
        qrn_saver_put(w->text, "/* a custom option that backend id %u does not describe */ ",
                      qrn_saver_options_now()->backend_id);
}

// A list up to a NULL, or `count` long (then nothing may be left out).
static void list(qrn_saver_writer *w, const qrn_saved_field *f, const void *const *p,
                 uint64_t count) {
    bool counted = f->kind == QRN_SAVED_POINTERS;
    if (!p) {
        qrn_saver_put(w->text, "NULL");
        return;
    }
    qrn_saver_put(w->text, "(%s%s *[]){", f->plain ? "" : "const ", f->type->name);
    w->depth++;
    for (uint64_t i = 0; counted ? i < count : p[i] != NULL; i++) {
        const qrn_saved_field *c = counted ? NULL : custom_of(f->type, p[i]);
        new_line(w);
        if (c && !custom_type(c, (const char *)p[i] + c->offset)) {
            left_out(w, c, (const char *)p[i] + c->offset);
            continue;
        }
        qrn_saver_put(w->text, c ? "CUSTOM(" : "");
        one(w, f->type, p[i]);
        qrn_saver_put(w->text, c ? ") " : ", ");
    }
    w->depth--;
    qrn_saver_put(w->text, "NULL}");
}

// A memory handle of an input brings its bytes along.
static void memory(qrn_saver_writer *w, const void *handle) {
    const qrn_api_mem *m = qrn_handle_get(QRN_KIND_MEM, handle);
    int n = qrn_saver_find(QRN_SAVER_MEM, handle);
    if (!w->executing || w->outputs || !m || !m->memory.host || n < 0) {
        qrn_saver_variable(w, QRN_SAVER_MEM, handle);
        return;
    }
    qrn_saver_put(w->text, "filled(&memory_%d, ", n);
    bytes(w, m->memory.host, m->size_bytes);
    qrn_saver_put(w->text, ", %zu)", m->size_bytes);
}

// The core has fetched the data when the tensor was made.
static void fetched(qrn_saver_writer *w) {
    const qrn_tensor *t = w->owner ? qrn_context_tensor(w->owner, w->tensor->id) : NULL;
    qrn_saver_put(w->text, "{.data = ");
    bytes(w, t ? t->data : NULL, t ? t->size_bytes : 0);
    qrn_saver_put(w->text, ", .dataSize = %zu}", t && t->data ? t->size_bytes : 0);
}

static void id(qrn_saver_writer *w, uint32_t v) {
    if (w->context == QRN_SAVER_NO_CONTEXT)
        qrn_saver_put(w->text, "%u", v);
    else
        qrn_saver_put(w->text, "id_of(%d, %u)", w->context, v);
}

static void room(qrn_saver_writer *w, const void *p, uint64_t n) {
    if (p && n)
        qrn_saver_put(w->text, "room(%llu)", (unsigned long long)n);
    else
        qrn_saver_put(w->text, "NULL");
}

static void memory_info(qrn_saver_writer *w, const qrn_saved_field *f, const void *at) {
    const qrn_saved_type *t = custom_type(f, at);
    if (t)
        one(w, t, pointer_at(at));
    else
        qrn_saver_put(w->text, "NULL /* of a backend that was not named */");
}

static void handles(qrn_saver_writer *w, qrn_saver_object kind, const void *const *p, uint64_t n) {
    qrn_saver_put(w->text, "(void *[]){");
    for (uint64_t i = 0; i < n; i++) {
        qrn_saver_put(w->text, i ? ", " : "");
        qrn_saver_variable(w, kind, p[i]);
    }
    qrn_saver_put(w->text, "}");
}

static const void *handle_at(const qrn_saved_field *f, const void *at) {
    if (f->object == QRN_SAVER_POWER)
        return (const void *)(uintptr_t) * (const uint32_t *)at;
    return pointer_at(at);
}

// What leads to `count` of something.
static void counted_value(qrn_saver_writer *w, const qrn_saved_field *f, const void *p,
                          uint64_t count) {
    switch (f->kind) {
    case QRN_SAVED_STRINGS:
        strings(w, p, count);
        break;
    case QRN_SAVED_MANY:
        many(w, f->type, p, count);
        break;
    case QRN_SAVED_POINTERS:
    case QRN_SAVED_LIST:
        list(w, f, p, count);
        break;
    case QRN_SAVED_NUMBERS:
        numbers(w, f, p, count);
        break;
    case QRN_SAVED_BYTES:
        if (w->outputs)
            room(w, p, count);
        else
            bytes(w, p, count);
        break;
    case QRN_SAVED_ROOM:
        room(w, p, count);
        break;
    default: // QRN_SAVED_HANDLES
        handles(w, (qrn_saver_object)f->object, p, count);
    }
}

static void custom(qrn_saver_writer *w, const qrn_saved_field *f, const void *at) {
    uint64_t copy[QRN_SAVED_COPY_BYTES / sizeof(uint64_t)];
    const qrn_saved_type *t = custom_type(f, at);
    one(w, t, qrn_saved_settle(t, pointer_at(at), copy));
}

void qrn_saver_value(qrn_saver_writer *w, const qrn_saved_field *f, const void *at,
                     uint64_t count) {
    bool counted = f->kind >= QRN_SAVED_STRINGS && f->kind <= QRN_SAVED_HANDLES;
    if (counted) {
        counted_value(w, f, pointer_at(at), count);
        return;
    }
    switch (f->kind) {
    case QRN_SAVED_ENUM:
        name_value(w, f->values, *(const uint32_t *)at);
        break;
    case QRN_SAVED_STRING:
        qrn_saver_put_string(w->text, pointer_at(at));
        break;
    case QRN_SAVED_STRUCT:
        qrn_saver_members(w, f->type, at);
        break;
    case QRN_SAVED_ONE:
        one(w, f->type, pointer_at(at));
        break;
    case QRN_SAVED_HANDLE:
        if (f->object == QRN_SAVER_MEM)
            memory(w, pointer_at(at));
        else
            qrn_saver_variable(w, (qrn_saver_object)f->object, handle_at(f, at));
        break;
    case QRN_SAVED_FRESH:
        qrn_saver_put(w->text, "&(%s){0}", f->word);
        break;
    case QRN_SAVED_ALWAYS:
        qrn_saver_put(w->text, "%s", f->word);
        break;
    case QRN_SAVED_WORD:
        qrn_saver_put(w->text, "%s", pointer_at(at) ? f->word : "NULL");
        break;
    case QRN_SAVED_ID:
        id(w, *(const uint32_t *)at);
        break;
    case QRN_SAVED_CUSTOM:
        custom(w, f, at);
        break;
    case QRN_SAVED_FD:
        qrn_saver_put(w->text, "shared(&memory_%d, %llu, %llu)", w->memory,
                      (unsigned long long)w->memory_bytes, (unsigned long long)w->memory_offset);
        break;
    case QRN_SAVED_MEM_INFO:
        memory_info(w, f, at);
        break;
    case QRN_SAVED_RAW:
        fetched(w);
        break;
    default:
        number(w, f->kind, at);
    }
}

static uint64_t count_of(const qrn_saver_writer *w, const qrn_saved_field *f, const char *base) {
    if (f->count)
        return f->count(w, base);
    if (!f->count_at)
        return 0;
    const char *at = base + f->count_at - 1;
    return f->is_64bit ? *(const uint64_t *)at : *(const uint32_t *)at;
}

// Members that are zero need no word, unless they say what others are.
static bool is_zero(const qrn_saved_field *f, const char *at) {
    if (f->kind == QRN_SAVED_ENUM || f->kind == QRN_SAVED_FD || f->kind == QRN_SAVED_RAW)
        return false;
    bool is_pointer = f->kind >= QRN_SAVED_STRING && f->kind != QRN_SAVED_ID &&
                      !(f->kind == QRN_SAVED_HANDLE && f->object == QRN_SAVER_POWER);
    size_t n = f->kind == QRN_SAVED_STRUCT ? f->type->size
               : is_pointer                ? sizeof(void *)
                                           : size_of(f->kind);
    for (size_t i = 0; i < n; i++)
        if (at[i])
            return false;
    return true;
}

// What a tensor does not bring along: its id while it is made, data when an op only names it (the
// client may have freed that by now), and what only a backend that was not named could read.
static bool is_left_out(const qrn_saver_writer *w, const qrn_saved_field *f, const void *at) {
    return (w->making && f->kind == QRN_SAVED_ID) ||
           (f->kind == QRN_SAVED_CUSTOM && !custom_type(f, at)) ||
           (w->naming && w->tensor && strcmp(f->name, "clientBuf") == 0);
}

static bool has_no_encoding(const qrn_saved_field *f, const void *at) {
    const Qnn_QuantizeParams_t *q = at;
    return strcmp(f->name, "quantizeParams") == 0 &&
           q->encodingDefinition == QNN_DEFINITION_UNDEFINED &&
           q->quantizationEncoding == QNN_QUANTIZATION_ENCODING_UNDEFINED;
}

// Data that a callback gave is written as if the client had brought it.
static bool write_as_raw(qrn_saver_writer *w, const qrn_saved_field *f) {
    if (!w->tensor || w->tensor->memType != QNN_TENSORMEMTYPE_RETRIEVE_RAW)
        return false;
    if (strcmp(f->name, "memType") == 0) {
        qrn_saver_put(w->text, ".memType = QNN_TENSORMEMTYPE_RAW");
        return true;
    }
    if (f->kind == QRN_SAVED_RAW) {
        qrn_saver_put(w->text, ".clientBuf = ");
        fetched(w);
        return true;
    }
    return false;
}

void qrn_saver_members(qrn_saver_writer *w, const qrn_saved_type *t, const void *at) {
    const char *base = at;
    const Qnn_TensorV2_t *outer = w->tensor;
    bool any = false;
    if (t->is_tensor)
        w->tensor = at;
    qrn_saver_put(w->text, "{");
    for (size_t i = 0; i < t->n_fields; i++) {
        const qrn_saved_field *f = &t->fields[i];
        bool selected = !f->when_at || *(const uint32_t *)(base + f->when_at - 1) == f->when;
        if (!selected || is_left_out(w, f, base + f->offset) || is_zero(f, base + f->offset))
            continue;
        if (any)
            separate(w);
        any = true;
        if (write_as_raw(w, f))
            continue;
        qrn_saver_put(w->text, ".%s = ", f->name);
        if (has_no_encoding(f, base + f->offset))
            qrn_saver_put(w->text, "QNN_QUANTIZE_PARAMS_INIT");
        else
            qrn_saver_value(w, f, base + f->offset, count_of(w, f, base));
    }
    qrn_saver_put(w->text, any ? "}" : "0}");
    w->tensor = outer;
}
