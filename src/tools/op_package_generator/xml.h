// SPDX-License-Identifier: MIT
//
// XML as configurations of op packages need it: elements, attributes, text, comments, character
// data, the five named entities and numbered ones. Rejected: document types (and with them entities
// of the file's own), encodings other than UTF-8, and more than the limits below.
#ifndef QRN_TOOLS_OP_PACKAGE_GENERATOR_XML_H
#define QRN_TOOLS_OP_PACKAGE_GENERATOR_XML_H

#include "base/arena.h"
#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

#define QG_XML_BYTES (4u << 20) // of a file
#define QG_XML_DEPTH 32u        // elements inside of each other

typedef struct qg_attribute {
    const char *name, *value;
    struct qg_attribute *next;
} qg_attribute;

typedef struct qg_element {
    const char *name;
    const char *text; // without the space around it; "" for none. Pieces are joined
    uint32_t line;    // where it begins, from 1
    uint32_t pieces;  // of the text
    qg_attribute *attributes;
    struct qg_element *first, *next; // children, and the parent's next child; in the file's order
} qg_element;

// Reads a document; everything lives in the arena. Messages begin with `name` and the line.
qrn_status qg_xml_read(const char *name, const void *data, size_t size, qrn_arena *a,
                       qg_element **root);

// The value of an attribute; NULL when it is not there.
const char *qg_attribute_of(const qg_element *e, const char *name);

#endif
