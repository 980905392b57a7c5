// SPDX-License-Identifier: MIT
//
// Inside of a tokenizer; for the files that make one and run it.
#ifndef QRN_FRONTEND_LLM_TOKENIZER_PARTS_H
#define QRN_FRONTEND_LLM_TOKENIZER_PARTS_H

#include "frontend/llm/regex.h"
#include "frontend/llm/tokenizer.h"

// There are many: it is kept small.
typedef struct ql_word {
    const char *text;     // as the vocabulary has it; NULL: no token has this number
    uint32_t n : 31;      // bytes of it
    uint32_t special : 1; // has no text
} ql_word;
static inline ql_slice ql_word_text(const ql_word *w) { return (ql_slice){w->text, w->n}; }

// A token that is found in the text before anything else is done to it.
typedef struct ql_added {
    ql_slice text;
    uint32_t id;
    bool strip_left, strip_right; // takes the white space beside it, too
    bool normalized;              // found in the normalized text, not in the text as it is
} ql_added;

// One of the things done to a text in order.
typedef enum ql_stage_kind {
    QL_STAGE_NFC,
    QL_STAGE_PREPEND,    // `text`
    QL_STAGE_REPLACE,    // `text` by `with`
    QL_STAGE_SPLIT,      // at matches of `re`, which stay; `gaps` says what is between them
    QL_STAGE_DIGITS,     // between digits and the rest, `single`: between digits, too
    QL_STAGE_BYTE_LEVEL, // bytes to characters that can be seen; `single`: add a space before
    QL_STAGE_METASPACE   // spaces to `with`, one before, `single`: a piece for each
} ql_stage_kind;

typedef struct ql_stage {
    ql_stage_kind kind;
    ql_slice text, with;
    const ql_regex *re; // SPLIT; BYTE_LEVEL: split so first, or NULL
    bool gaps;          // SPLIT: what is between matches stays, as pieces of its own
    bool single;
    bool first_only; // METASPACE: the prefix is for the begin of the text alone
    bool no_prefix;  // METASPACE
} ql_stage;

#define QL_MAX_STAGES 16
typedef struct ql_stages {
    ql_stage items[QL_MAX_STAGES];
    uint32_t n;
} ql_stages;

// Two tokens that become one.
typedef struct ql_merge {
    uint64_t pair; // the left one << 32 | the right one
    uint32_t rank, id;
} ql_merge;

struct ql_tokenizer {
    qrn_arena *arena;
    const char *name; // of the file
    ql_word *words;   // by number
    uint32_t n_words;
    uint32_t *slots; // hash of the words: numbers, QL_NO_TOKEN: free
    uint32_t n_slots;
    ql_merge *merges; // hash of the merges; id QL_NO_TOKEN: free
    uint32_t n_merge_slots;
    const float *scores; // SentencePiece: instead of merges, by number; else NULL
    ql_added *added;     // longer ones first
    uint32_t n_added;
    ql_stages normal, split;
    bool byte_fallback, fuse_unknown, ignore_merges;
    uint32_t unknown;       // or QL_NO_TOKEN
    uint32_t byte_ids[256]; // "<0x..>", or QL_NO_TOKEN
    // From tokens to text.
    bool byte_level;       // characters stand for bytes
    bool byte_words;       // "<0x..>" stands for a byte
    ql_slice space;        // stands for ' '; n 0: none
    unsigned strip_spaces; // at the begin of the text
    // Tokens around a whole text.
    ql_ids before, behind;
};

// Pieces of a text.
typedef struct ql_pieces {
    ql_slice *items;
    size_t n, cap;
} ql_pieces;
qrn_status ql_pieces_add(ql_pieces *p, ql_slice s);
void ql_pieces_free(ql_pieces *p);

// A tokenizer without words; NULL after a message. The name is copied.
ql_tokenizer *ql_tokenizer_make(const char *name);
// Gives a number its word, which must stay. Fails when one of the two has another already.
qrn_status ql_word_set(ql_tokenizer *t, uint32_t id, ql_slice text);
// Room for so many numbers and merges; before the first word.
qrn_status ql_words_reserve(ql_tokenizer *t, uint32_t n_words, uint32_t n_merges);
uint32_t ql_word_find(const ql_tokenizer *t, ql_slice text);
qrn_status ql_merge_add(ql_tokenizer *t, ql_slice left, ql_slice right, uint32_t rank);
const ql_merge *ql_merge_find(const ql_tokenizer *t, uint32_t left, uint32_t right);
// After the last word: finds the tokens of bytes, orders the added tokens.
void ql_tokenizer_finish(ql_tokenizer *t);

extern const char ql_gpt2_pattern[];
// Does a list of stages to every piece; new texts lie in the arena. at_begin: the first piece
// begins the text.
qrn_status ql_stages_apply(const ql_stages *stages, qrn_arena *arena, bool at_begin,
                           ql_pieces *pieces);
// Byte-pair encoding of one piece.
qrn_status ql_bpe(const ql_tokenizer *t, ql_slice piece, ql_ids *out);

// Characters that stand for bytes: from a byte to a code point, and back (-1: stands for none).
uint32_t ql_byte_char(unsigned char byte);
int ql_char_byte(uint32_t c);

#endif
