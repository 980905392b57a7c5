// SPDX-License-Identifier: MIT
//
// The frame of programs that print a page of docs/ from tables of the source:
//   PROGRAM            to standard output
//   PROGRAM --write F  to the file
//   PROGRAM --check F  compares with the file; fails when it is out of date
#ifndef TESTS_IR_PAGE_H
#define TESTS_IR_PAGE_H

#include <stdio.h>

// The program's exit status.
int test_page_main(int argc, char **argv, void (*print)(FILE *f));

#endif
