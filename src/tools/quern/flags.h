// SPDX-License-Identifier: MIT
//
// Command lines described by tables. A command lists its flags once; parsing, help pages, manual
// pages, shell completion and suggestions for mistyped words are all made from that list.
#ifndef QRN_TOOLS_QUERN_FLAGS_H
#define QRN_TOOLS_QUERN_FLAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum qt_flag_type {
    QT_BOOL,   // bool; takes no argument
    QT_TEXT,   // const char *
    QT_FILE,   // const char *, completed as a file
    QT_DIR,    // const char *, completed as a folder
    QT_CHOICE, // const char *, one of `choices`
    QT_COUNT,  // uint64_t
    QT_COUNT1, // uint64_t, at least 1
    QT_NUMBER, // double
    QT_ABOVE0, // double above 0
    QT_LIST    // qt_list of texts; may be given more than once
} qt_flag_type;

typedef struct qt_list {
    const char **items;
    size_t n;
} qt_list;

typedef struct qt_flag {
    const char *name; // without the dashes
    char letter;      // short form, or 0
    qt_flag_type type;
    const char *arg;     // what the help calls the argument; NULL for QT_BOOL
    size_t offset;       // of the value in the command's options
    const char *choices; // QT_CHOICE: "a|b|c"
    const char *help;
} qt_flag;

// A group of flags that several commands share; ends with a row without a name.
typedef struct qt_flag_group {
    const char *title;
    const qt_flag *flags;
} qt_flag_group;

typedef struct qt_example {
    const char *command, *text;
} qt_example;

#define QT_MAX_GROUPS 6

typedef struct qt_command {
    const char *name;
    const char *summary; // one line, no full stop
    const char *args;    // of the synopsis: "MODEL [FILE...]"
    unsigned min_args, max_args;
    bool alone;        // a program of this name, not a word behind quern
    const char *about; // paragraphs for the manual; the first one is in the help page too
    qt_flag_group groups[QT_MAX_GROUPS];
    qt_example examples[4];
    size_t options_size;                                  // of the struct that offsets refer to
    int (*run)(const void *options, const qt_list *args); // returns the exit code
} qt_command;

// Exit codes, in the order of qt_exit_texts.
enum {
    QT_EXIT_OK = 0,
    QT_EXIT_FAILURE = 1,
    QT_EXIT_USAGE = 2,
    QT_EXIT_REFUSED = 3,
    QT_EXIT_INPUT = 4,
    QT_EXIT_COUNT
};
extern const char *const qt_exit_texts[QT_EXIT_COUNT];

extern const qt_command *const qt_commands[]; // ends with NULL

// Reads the words behind the command's name into options (cleared, options_size bytes) and args.
// QT_EXIT_OK; QT_EXIT_USAGE after a message; -1 when the help was asked for and printed.
int qt_flags_parse(const qt_command *c, int argc, char **argv, void *options, qt_list *args);
void qt_flags_free(const qt_command *c, void *options, qt_list *args);

void qt_flags_help(const qt_command *c, FILE *to);
void qt_flags_usage(FILE *to); // of the program

// Precisions are spelled a8w8; w8a8 and A8W8 mean the same. Other words are returned as they are.
const char *qt_precision_name(const char *word);
bool qt_list_add(qt_list *list, const char *item); // false when out of memory

// Pages made from the tables (flag_pages.c). name NULL: the program itself. False: unknown name.
bool qt_man_page(const char *name, FILE *to);
bool qt_completion(const char *shell, FILE *to);

#endif
