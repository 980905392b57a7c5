// SPDX-License-Identifier: MIT
//
// What the program says and writes. Data goes to stdout, talk to stderr. Colour and progress appear
// only on a terminal, and colour not when NO_COLOR is set. Files appear complete or not at all
// (not at all once memory has run out), and an interrupt removes what is unfinished.
#ifndef QRN_TOOLS_QUERN_OUTPUT_H
#define QRN_TOOLS_QUERN_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// Installs the handlers for interrupt and termination; call once, first.
void qt_output_init(void);
// Ends the program with a message when a mapped file is cut short; qt_output_init does it.
void qt_watch_files(void);
// Ctrl-C no longer ends the program, but is remembered: for a command that then reports what it
// has. A second one ends it. qt_finish ends the program as the signal would have.
void qt_hold_interrupt(void);
bool qt_was_interrupted(void);
void qt_set_program(const char *name); // that messages begin with, if it is not "quern"
void qt_set_quiet(bool quiet);         // qt_note and progress say nothing
bool qt_is_quiet(void);

void qt_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void qt_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
// For people who did not ask, unless --quiet: one line about a choice that was made for them.
void qt_inform(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void qt_hint(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void qt_note(const char *fmt, ...) __attribute__((format(printf, 1, 2))); // on a terminal only

typedef enum qt_style { QT_PLAIN, QT_BOLD, QT_DIM, QT_RED, QT_GREEN, QT_YELLOW } qt_style;
// The words that switch a style on or off on stdout; "" where colour is not wanted.
const char *qt_style_on(qt_style s);
const char *qt_style_off(void);
bool qt_is_style(const char *word); // is it one of these very words?

// Prints a part of a report, as printf with %s, %d, %u, %x, %c, %f, %g and %e does. Strings are
// shown with control characters escaped, since names come from files; styles pass.
void qt_print(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

// Shows done of total on a terminal, at most some times a second and not within the first half
// second; total 0 clears the line.
void qt_progress(const char *what, size_t done, size_t total);

// A text as JSON has it; bytes that are not UTF-8 become '?'.
json_t *qt_json_text(const char *text);
// An object as text (JSON_* say how), from malloc, and frees it; NULL after a message.
char *qt_json_dump(json_t *object, size_t how);
// Prints an object to stdout and frees it; the exit code (QT_EXIT_*).
int qt_print_json(json_t *object);
// Ends a report: was all of stdout written? QT_EXIT_OK or QT_EXIT_FAILURE with a message.
int qt_close_stdout(void);

// The exit code of the program: that of the command, unless memory ran out on the way.
int qt_finish(int code);

// One part of a file to be written.
typedef struct qt_part {
    const void *data;
    size_t bytes;
} qt_part;

// The files that the command reads: qt_write_file refuses to write over them. Of NAME=FILE and
// NAME:=FILE the last part is meant; what is no file does no harm. The list must stay.
void qt_set_inputs(const char *const *paths, size_t n);

// Writes a whole file from parts (base/outfile.h); false after a message.
bool qt_write_file(const char *path, const qt_part *parts, size_t n);
// The same in pieces: one file at a time. qt_file_put is false once something failed, which
// qt_file_end(true) reports; qt_file_end(false) removes what was written.
bool qt_file_begin(const char *path);
bool qt_file_put(const void *data, size_t n);
bool qt_file_end(bool keep);
// qt_write_file for one of many results of a run: does not wait for the disk.
bool qt_write_result(const char *path, const qt_part *parts, size_t n);
// Makes a folder and those above it; false after a message.
bool qt_make_dir(const char *path);

// "12.3 MiB", "1.2 k" and the like into buf; returns buf.
const char *qt_bytes_text(double bytes, char *buf, size_t size);
// A name in a column of a table: one of more than `most` bytes, which are less than QT_CELL, loses
// its beginning, "...tail": what tells names of layers apart stands at their ends.
#define QT_CELL 64
const char *qt_cell_name(const char *name, size_t most, char buf[QT_CELL]);
const char *qt_count_text(double count, char *buf, size_t size);
// "[1, 3, 224, 224]" into buf.
const char *qt_shape_text(unsigned rank, const uint64_t *dims, char *buf, size_t size);

#endif
