// SPDX-License-Identifier: MIT
//
// The toy backend, as its tests see it.
#ifndef QUERN_TESTS_TOY_BACKEND_H
#define QUERN_TESTS_TOY_BACKEND_H

#include <stdint.h>

uint32_t toy_blocks(void); // blocks of the device in use

#endif
