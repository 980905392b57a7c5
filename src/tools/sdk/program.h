// SPDX-License-Identifier: MIT
//
// What the SDK's programs have in common: one table of flags each, --help, --version, exit codes,
// and lines of a log in the shape that the SDK's tools print: "   12.3ms [  INFO ] text".
#ifndef QRN_TOOLS_SDK_PROGRAM_H
#define QRN_TOOLS_SDK_PROGRAM_H

#include "tools/quern/flags.h"
#include "tools/sdk/spelling.h"

#include "QnnLog.h"

// Rows that every program has; `version` is a bool of its options.
#define QS_COMMON_FLAGS(T)                                                                         \
    { "version", 0, QT_BOOL, NULL, offsetof(T, version), NULL, "print the version and exit" }

#define QS_LOG_LEVELS "error|warn|info|debug|verbose"

// main of a program: parses, prints pages, rejects flags whose help begins with "rejected: ", runs
// the command. Options begin with a bool `version`;
// `defaults` (options_size bytes, or NULL: zeros) is what they hold where no flag sets them.
int qs_program(const qt_command *c, const void *defaults, int argc, char **argv);
// The same of words that are spelled out first. The whole command line goes to the text at
// `command` of the options.
int qs_spelled_program(const qt_command *c, const qs_spelled *spelling, size_t command, int argc,
                       char **argv);

// Level of a --log_level; 0 for NULL: warnings alone, as errors are reported in any case.
QnnLog_Level_t qs_log_level(const char *word);
// Lines from now on: those up to a level are printed.
void qs_log_set(QnnLog_Level_t level);
void qs_log(QnnLog_Level_t level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
// The callback that libraries get.
void qs_log_callback(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args);

#define QS_INFO(...) qs_log(QNN_LOG_LEVEL_INFO, __VA_ARGS__)

// Two flags that exclude each other, and one that needs another.
int qs_exclusive(bool a, const char *name_a, bool b, const char *name_b);
int qs_needs(bool a, const char *name_a, bool b, const char *name_b);

#endif
