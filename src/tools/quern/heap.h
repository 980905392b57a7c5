// SPDX-License-Identifier: MIT
//
// Whether the program ran out of memory. The linker leads every allocation of the program and of
// the archives inside it (jansson, libpng, libjpeg, zlib) through heap.c, which remembers a
// failure. Reports are built from hundreds of small allocations whose results nobody can check one
// by one; the few places where output leaves the program ask here instead, so that a report is
// whole or an error. Libraries that are opened at run time have their own memory and answer with
// codes.
#ifndef QRN_TOOLS_QUERN_HEAP_H
#define QRN_TOOLS_QUERN_HEAP_H

#include <stdbool.h>
#include <stddef.h>

// Has an allocation failed since the program began?
bool qt_out_of_memory(void);
// To be called where a failure is met that this file cannot see.
void qt_note_no_memory(void);

// A copy of n bytes of a file as text, from malloc; strndup may look for a zero that is not there.
char *qt_copy_text(const char *bytes, size_t n);

#endif
