// SPDX-License-Identifier: MIT
//
// JSON as values of a template: the tools that a model may call. Texts stay where the JSON has
// them.
#include "frontend/llm/template_eval.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static qrn_status number(const ql_jstate *s, const qrn_json *j, ql_jvalue *out) {
    char *end;
    errno = 0;
    long long i = strtoll(j->text, &end, 10);
    if (*end || errno)
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "%s: tools, line %u: the number %s: templates have integers of 64 bits",
                        s->name, j->line, j->text);
    *out = ql_jint(i);
    return QRN_OK;
}

// As deep as the reader of JSON allows.
qrn_status ql_jfrom_json(ql_jstate *s, const qrn_json *j, ql_jvalue *out) {
    switch (j->kind) {
    case QRN_JSON_NULL:
        *out = (ql_jvalue){.kind = QL_J_NONE};
        return QRN_OK;
    case QRN_JSON_FALSE:
    case QRN_JSON_TRUE:
        *out = ql_jbool(j->kind == QRN_JSON_TRUE);
        return QRN_OK;
    case QRN_JSON_NUMBER:
        return number(s, j, out);
    case QRN_JSON_STRING:
        *out = ql_jtext(j->text, strlen(j->text));
        return QRN_OK;
    case QRN_JSON_ARRAY:
    case QRN_JSON_OBJECT:
        break;
    }
    *out = ql_jnew(s, j->kind == QRN_JSON_ARRAY ? QL_J_LIST : QL_J_DICT);
    for (const qrn_json *m = j->first; out->items && m; m = m->next) {
        ql_slice key = {m->key, m->key ? strlen(m->key) : 0};
        ql_jvalue v;
        QRN_TRY(ql_jfrom_json(s, m, &v));
        if (!ql_jput(s, out->items, key, v))
            return ql_jno_memory(s);
    }
    return out->items ? QRN_OK : ql_jno_memory(s);
}
