// SPDX-License-Identifier: MIT
//
// What LiteRT's runtime and a dispatch library say to each other, as far as it is used here: the
// layout of its two tables, version 1, as the runtimes of 2.2 and 2.3 have them. The runtime's
// functions that are not called are slots without a type.
#ifndef QRN_FRONTEND_LITERT_LITERT_API_H
#define QRN_FRONTEND_LITERT_LITERT_API_H

#include <stddef.h>
#include <stdint.h>

typedef enum lr_status {
    LR_OK = 0,
    LR_E_ARGUMENT = 1,
    LR_E_MEMORY = 2,
    LR_E_RUNTIME = 3,
    LR_E_UNSUPPORTED = 5,
    LR_E_NOT_FOUND = 6,
    LR_E_VERSION = 8
} lr_status;

// First in every table: its size in bytes says what is there.
typedef struct lr_header {
    uint16_t size_bytes, major, minor, reserved;
} lr_header;

typedef struct lr_version {
    int major, minor, patch;
} lr_version;

#define LR_API_VERSION ((lr_version){0, 1, 0}) // runtimes want equality
#define LR_HOST_MEMORY 1                       // kind of a tensor buffer
#define LR_LOCK_READ 0
#define LR_LOCK_WRITE 1
#define LR_CAN_BASIC 1         // capability: synchronous execution
#define LR_EXECUTABLE_BYTES 2  // a compiled model in memory
#define LR_EXECUTABLE_HANDLE 3 // an object of the compiler plugin
#define LR_MAX_RANK 8

typedef struct lr_buffer lr_buffer;             // a tensor buffer of the runtime
typedef struct lr_requirements lr_requirements; // what a tensor buffer must be
typedef void (*lr_slot)(void);

typedef struct lr_tensor_type {
    int element_type;
    unsigned rank : 7, has_strides : 1;
    int32_t dims[LR_MAX_RANK];
    uint32_t strides[LR_MAX_RANK];
} lr_tensor_type;

// The runtime's functions.
typedef struct lr_runtime {
    lr_header header;
    lr_status (*create_requirements)(int n_kinds, const int *kinds, size_t size_bytes,
                                     int n_strides, const uint32_t *strides, lr_requirements **out);
    lr_slot others[24];
    lr_status (*packed_size)(lr_buffer *b, size_t *bytes);
    lr_slot offset;
    lr_status (*lock)(lr_buffer *b, void **address, int mode);
    lr_status (*unlock)(lr_buffer *b);
    lr_status (*host_memory)(lr_buffer *b, void **address);
} lr_runtime;

typedef struct lr_bytes {
    int fd;
    const char *base;
    size_t offset, size_bytes; // of the compiled model behind base
    size_t file_offset;
} lr_bytes;

typedef struct lr_device lr_device;         // what one delegate of the runtime owns
typedef struct lr_invocation lr_invocation; // a graph and the buffers attached to it

// What the runtime calls; NULL: not there. Newer runtimes know more slots than 26 and find NULL.
typedef struct lr_interface {
    lr_status (*initialize)(const lr_runtime *r, void *environment, void *options);
    lr_status (*vendor_id)(const char **id);
    lr_status (*build_id)(const char **id);
    lr_status (*capabilities)(int *bits);
    lr_status (*device_create)(const lr_runtime *r, void *options, lr_device **out);
    lr_status (*device_destroy)(lr_device *d);
    lr_status (*input_requirements)(lr_invocation *v, int port, const lr_tensor_type *t,
                                    lr_requirements **out);
    lr_status (*output_requirements)(lr_invocation *v, int port, const lr_tensor_type *t,
                                     lr_requirements **out);
    lr_status (*buffer_register)(lr_device *d, lr_buffer *b, uint64_t *handle);
    lr_status (*buffer_unregister)(lr_device *d, uint64_t handle);
    lr_status (*invocation_create)(const lr_runtime *r, lr_device *d, int kind,
                                   const lr_bytes *bytes, const char *function, int n_inputs,
                                   int n_outputs, lr_invocation **out);
    lr_status (*invocation_destroy)(lr_invocation *v);
    lr_status (*set_scheduling)(lr_invocation *v, const void *info);
    lr_status (*attach_input)(lr_invocation *v, int port, uint64_t handle);
    lr_status (*attach_output)(lr_invocation *v, int port, uint64_t handle);
    lr_status (*detach_input)(lr_invocation *v, int port, uint64_t handle);
    lr_status (*detach_output)(lr_invocation *v, int port, uint64_t handle);
    lr_status (*invoke)(lr_invocation *v);
    lr_slot metrics[5];
    lr_status (*check_runtime)(lr_version version, void *environment, void *options);
    lr_status (*set_options)(lr_invocation *v, void *options);
    lr_slot hooks;
    lr_slot later[16];
} lr_interface;

typedef struct lr_api {
    lr_header header;
    lr_version version;
    const lr_interface *interface;
    const void *async_interface, *graph_interface, *buffer_handlers;
} lr_api;

_Static_assert(offsetof(lr_runtime, packed_size) == 208, "slot of get_tensor_buffer_packed_size");
_Static_assert(offsetof(lr_runtime, lock) == 224, "slot of lock_tensor_buffer");
_Static_assert(offsetof(lr_runtime, host_memory) == 240, "slot of get_tensor_buffer_host_memory");
_Static_assert(offsetof(lr_api, interface) == 24 && sizeof(lr_api) == 56, "LiteRtDispatchApi");
_Static_assert(offsetof(lr_tensor_type, dims) == 8 && sizeof(lr_tensor_type) == 72, "tensor type");

// The one entry of the library.
__attribute__((visibility("default"))) lr_status LiteRtDispatchGetApi(lr_api *api);

#endif
