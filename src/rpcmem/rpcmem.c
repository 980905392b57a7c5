// SPDX-License-Identifier: MIT
//
// Shared buffers over anonymous memory files. A buffer's file is sealed at its size, so that nobody
// who gets the descriptor can take the memory away below a running graph.
//
// State of the library: the table of living buffers, guarded by `lock`.
#include "rpcmem/rpcmem.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct buffer {
    struct buffer *next; // in its row
    void *data;
    size_t size_bytes; // whole pages; 0: the client's, which is neither unmapped nor closed
    int fd;
} buffer;

#define ROWS 256u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static buffer *table[ROWS]; // by address

static buffer **row_of(const void *data) { return &table[((uintptr_t)data >> 12) % ROWS]; }

// Takes a buffer out of the table, one of ours or of the client's; NULL when it is not there. The
// lock is held.
static buffer *take(const void *data, bool ours) {
    for (buffer **b = row_of(data); *b; b = &(*b)->next)
        if ((*b)->data == data && ours == ((*b)->size_bytes != 0)) {
            buffer *found = *b;
            *b = found->next;
            return found;
        }
    return NULL;
}

static void put(buffer *b) {
    buffer **row = row_of(b->data);
    b->next = *row;
    *row = b;
}

static int make_file(size_t size_bytes) {
    int fd = memfd_create("rpcmem", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -1;
    if (ftruncate(fd, (off_t)size_bytes) != 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool whole_pages(size_t size_bytes, size_t *out) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (size_bytes == 0 || size_bytes > SSIZE_MAX - page)
        return false;
    *out = (size_bytes + page - 1) / page * page;
    return true;
}

void rpcmem_init(void) {}

void rpcmem_deinit(void) {}

void *rpcmem_alloc2(int heap, uint32_t flags, size_t size_bytes) {
    (void)heap;
    (void)flags;
    buffer b = {.fd = -1};
    if (!whole_pages(size_bytes, &b.size_bytes))
        return NULL;
    buffer *entry = malloc(sizeof *entry);
    if (!entry)
        return NULL;
    b.fd = make_file(b.size_bytes);
    b.data = b.fd < 0 ? MAP_FAILED
                      : mmap(NULL, b.size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, b.fd, 0);
    if (b.data == MAP_FAILED) {
        if (b.fd >= 0)
            close(b.fd);
        free(entry);
        return NULL;
    }
    *entry = b;
    pthread_mutex_lock(&lock);
    put(entry);
    pthread_mutex_unlock(&lock);
    return b.data;
}

void *rpcmem_alloc(int heap, uint32_t flags, int size_bytes) {
    return size_bytes > 0 ? rpcmem_alloc2(heap, flags, (size_t)size_bytes) : NULL;
}

void rpcmem_free(void *data) {
    pthread_mutex_lock(&lock);
    buffer *b = take(data, true);
    pthread_mutex_unlock(&lock);
    if (!b)
        return;
    munmap(b->data, b->size_bytes);
    close(b->fd);
    free(b);
}

int rpcmem_to_fd(void *data) {
    int fd = -1;
    pthread_mutex_lock(&lock);
    for (const buffer *b = *row_of(data); b && fd < 0; b = b->next)
        if (b->data == data)
            fd = b->fd;
    pthread_mutex_unlock(&lock);
    return fd;
}

void remote_register_buf_attr2(void *data, size_t size_bytes, int fd, int attributes) {
    (void)size_bytes;
    (void)attributes;
    if (!data)
        return;
    buffer *fresh = fd >= 0 ? malloc(sizeof *fresh) : NULL;
    pthread_mutex_lock(&lock);
    buffer *old = take(data, false);
    if (fresh) {
        *fresh = (buffer){.data = data, .fd = fd};
        put(fresh);
    }
    pthread_mutex_unlock(&lock);
    free(old);
}

void remote_register_buf_attr(void *data, int size_bytes, int fd, int attributes) {
    remote_register_buf_attr2(data, size_bytes > 0 ? (size_t)size_bytes : 0, fd, attributes);
}

void remote_register_buf(void *data, int size_bytes, int fd) {
    remote_register_buf_attr(data, size_bytes, fd, 0);
}
