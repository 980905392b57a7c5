// SPDX-License-Identifier: MIT
//
// libcdsprpc.so as QNN clients know it: they open the library by name and look these functions up
// to get buffers that they share with the accelerator (HTP-SHB-04). Here a buffer is anonymous
// shared memory with a file descriptor, which QnnMem_register takes.
// All functions may be called from any thread, with any arguments.
#ifndef QRN_RPCMEM_RPCMEM_H
#define QRN_RPCMEM_RPCMEM_H

#include <stddef.h>
#include <stdint.h>

#define RPCMEM_API __attribute__((visibility("default")))

// Nothing to do: the library is ready when it is loaded.
RPCMEM_API void rpcmem_init(void);
RPCMEM_API void rpcmem_deinit(void);

// A cleared buffer that begins at a page; NULL when size is not positive or memory or file
// descriptors are short. Heaps and flags speak of a device's memory and make no difference.
RPCMEM_API void *rpcmem_alloc(int heap, uint32_t flags, int size_bytes);
RPCMEM_API void *rpcmem_alloc2(int heap, uint32_t flags, size_t size_bytes);
// NULL and addresses that are no buffer are left alone.
RPCMEM_API void rpcmem_free(void *buffer);
// The buffer's file descriptor, valid until it is freed; -1 for what is not the start of a buffer.
RPCMEM_API int rpcmem_to_fd(void *buffer);

// Tells of memory that the client has mapped itself, so that rpcmem_to_fd knows it; fd -1: it goes.
// Neither memory nor descriptor changes hands. Attributes speak of a device's caches.
RPCMEM_API void remote_register_buf(void *buffer, int size_bytes, int fd);
RPCMEM_API void remote_register_buf_attr(void *buffer, int size_bytes, int fd, int attributes);
RPCMEM_API void remote_register_buf_attr2(void *buffer, size_t size_bytes, int fd, int attributes);

#endif
