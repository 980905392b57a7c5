// SPDX-License-Identifier: MIT
//
// Values of the SDK's flags that hold several: a comma separates items, a colon the fields of an
// item, a semicolon groups ("graph0:t0,t1;graph1:t0").
#ifndef QRN_TOOLS_SDK_WORDS_H
#define QRN_TOOLS_SDK_WORDS_H

#include <stdbool.h>
#include <stddef.h>

// Texts of a list that live in one block; {0} is empty.
typedef struct qs_words {
    char **items;
    size_t n;
    char *block;
} qs_words;

// Splits at `separator`; an empty item is an error that names the flag. NULL text: no items.
// QT_EXIT_OK or another code after a message.
int qs_words_split(const char *flag, const char *text, char separator, qs_words *out);
void qs_words_free(qs_words *w);

// Tensors by graph: "g0:t0,t1;g1:t0".
typedef struct qs_selection {
    char *graph;
    qs_words tensors;
} qs_selection;

typedef struct qs_selections {
    qs_selection *items;
    size_t n;
} qs_selections;

int qs_selections_read(const char *flag, const char *text, qs_selections *out);
void qs_selections_free(qs_selections *s);
// Is the tensor of the graph selected? Names may have the form of the model or of C identifiers.
bool qs_is_selected(const qs_selections *s, const char *graph, const char *tensor);

#endif
