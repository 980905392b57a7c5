// SPDX-License-Identifier: MIT
//
// Changes an ONNX file where it means something: a number, a name, a tensor's bytes or a whole
// message at any depth is replaced, removed or doubled, and the lengths around it are right again.
#ifndef TESTS_FUZZ_ONNX_TREE_H
#define TESTS_FUZZ_ONNX_TREE_H

#include "source.h"

// Changes one field of the model in data (size bytes), taking pieces from `other` too. Returns the
// length of the result in out (room for cap); 0 when there is nothing to change or no room.
size_t onnx_tree_mutate(source *s, const uint8_t *data, size_t size, const uint8_t *other,
                        size_t other_size, uint8_t *out, size_t cap);

#endif
