// SPDX-License-Identifier: MIT
//
// Command lines of converters: flags with other names, with several words behind them, or with
// words that may be left out. They are written out as the flag tables (tools/quern/flags.h) know
// them: one long name and one word.
#ifndef QRN_TOOLS_SDK_SPELLING_H
#define QRN_TOOLS_SDK_SPELLING_H

#include "base/arena.h"

#define QS_PAIR '\n' // between the words of a flag that has several

typedef enum qs_operands {
    QS_OPERAND_PLAIN, // as the flag table says
    QS_OPERAND_TWO,   // NAME VALUE
    QS_OPERAND_THREE, // NAME VALUE [VALUE]
    QS_OPERAND_WORD,  // one of `choices`, or nothing: the first of them
    QS_OPERAND_LEVEL, // a number that has no effect, or nothing
    QS_OPERAND_NAMES  // any number of names; none: `choices`
} qs_operands;

typedef struct qs_spelled {
    const char *word; // on the command line
    const char *name; // what it stands for; NULL: itself
    qs_operands operands;
    const char *choices;
} qs_spelled;

// The words with all flags of the table written out; it ends with a row without a word. NULL when
// out of memory.
char **qs_spell_out(const qs_spelled *table, qrn_arena *a, int argc, char **argv, int *n_out);

// Splits the words of a flag in place of a copy; the second is NULL where there is none.
char *qs_second_word(qrn_arena *a, const char *words, char **first);

// A command line as one line of text; NULL when out of memory.
char *qs_command_line(qrn_arena *a, int argc, char **argv);

#endif
