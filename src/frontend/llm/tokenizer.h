// SPDX-License-Identifier: MIT
//
// Text to the numbers of a language model's vocabulary and back: byte-pair encoding as
// Hugging Face's tokenizer.json files and GGUF files describe it. What a file asks for and this
// reader does not know is rejected by its name; nothing is guessed. Not changed once read, so
// several threads may use one.
#ifndef QRN_FRONTEND_LLM_TOKENIZER_H
#define QRN_FRONTEND_LLM_TOKENIZER_H

#include "frontend/llm/unicode.h"

#define QL_NO_TOKEN UINT32_MAX

typedef struct ql_tokenizer ql_tokenizer;

// A list that grows; cleared is empty. ql_ids_free frees it.
typedef struct ql_ids {
    uint32_t *items;
    size_t n, cap;
} ql_ids;
qrn_status ql_ids_add(ql_ids *ids, uint32_t id);
void ql_ids_free(ql_ids *ids);

// Text that grows; cleared is empty. A zero that does not count stands behind it.
typedef struct ql_bytes {
    char *data; // NULL while nothing was added
    size_t n, cap;
} ql_bytes;
qrn_status ql_bytes_add(ql_bytes *b, const char *text, size_t n);
void ql_bytes_free(ql_bytes *b);

// Reads tokenizer.json. Failures name file, line and key.
qrn_status ql_tokenizer_open(const char *path, ql_tokenizer **out);
// The same of a text; `name` is what failures call it.
qrn_status ql_tokenizer_parse(const char *name, const char *json, size_t n, ql_tokenizer **out);
// The one inside a GGUF file; its bytes need not stay.
struct ql_gguf;
qrn_status ql_tokenizer_of_gguf(const struct ql_gguf *g, ql_tokenizer **out);
void ql_tokenizer_close(ql_tokenizer *t); // NULL is fine

// One more than the largest token.
uint32_t ql_tokenizer_size(const ql_tokenizer *t);
// The token that is written so in the vocabulary; QL_NO_TOKEN: none.
uint32_t ql_tokenizer_find(const ql_tokenizer *t, const char *text);

// Adds the tokens of a text, which must be UTF-8. Special tokens in it are recognized. `whole`:
// with those that the file puts before and behind a text, such as the one that begins it.
qrn_status ql_encode(const ql_tokenizer *t, ql_slice text, bool whole, ql_ids *out);

// Tokens to text as they come. Special tokens have none. Bytes of a character that is not complete
// yet are held back.
typedef struct ql_decoder {
    const ql_tokenizer *t;
    bool inside; // it goes on from a text: a space that marks the begin of one is kept
    char held[4];
    size_t n_held;
} ql_decoder;
qrn_status ql_decode(ql_decoder *d, uint32_t id, ql_bytes *out);
qrn_status ql_decode_end(ql_decoder *d, ql_bytes *out); // what is held back becomes U+FFFD

#endif
