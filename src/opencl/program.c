// SPDX-License-Identifier: MIT
//
// Building programs, once a text.
#include "opencl/program.h"

#include "base/mem.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

typedef struct entry {
    struct entry *next;
    char *key; // options, a line end, text
    cl_program program;
} entry;

struct qrn_cl_programs {
    const qrn_cl_device *device;
    cl_context context;
    pthread_mutex_t lock; // held while a program is built: others wait for the same one mostly
    entry *first;
};

qrn_status qrn_cl_programs_create(const qrn_cl_device *d, cl_context context,
                                  qrn_cl_programs **out) {
    qrn_cl_programs *p = *out = qrn_calloc(sizeof *p);
    if (!p)
        return QRN_FAIL(QRN_E_MEM, "out of memory for OpenCL programs");
    p->device = d;
    p->context = context;
    pthread_mutex_init(&p->lock, NULL);
    return QRN_OK;
}

void qrn_cl_programs_destroy(qrn_cl_programs *p) {
    while (p && p->first) {
        entry *e = p->first;
        p->first = e->next;
        qrn_cl.clReleaseProgram(e->program);
        qrn_free(e->key);
        qrn_free(e);
    }
    if (p)
        pthread_mutex_destroy(&p->lock);
    qrn_free(p);
}

static qrn_status build_failed(const qrn_cl_programs *p, cl_program program, cl_int err) {
    char log[700] = "";
    size_t n = 0;
    char *all = NULL;
    qrn_cl.clGetProgramBuildInfo(program, p->device->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &n);
    all = n ? qrn_calloc(n + 1) : NULL;
    if (all && qrn_cl.clGetProgramBuildInfo(program, p->device->id, CL_PROGRAM_BUILD_LOG, n, all,
                                            NULL) == CL_SUCCESS)
        snprintf(log, sizeof log, "%.699s", all);
    qrn_free(all);
    return QRN_FAIL(QRN_E_OPTIMIZE, "the driver of '%s' cannot build a kernel (%s): %s",
                    p->device->name, qrn_cl_error(err), log);
}

static qrn_status build(const qrn_cl_programs *p, const char *text, const char *options,
                        cl_program *out) {
    cl_int err;
    cl_program program = qrn_cl.clCreateProgramWithSource(p->context, 1, &text, NULL, &err);
    if (!program)
        return QRN_FAIL(QRN_E_MEM, "no OpenCL program can be made: %s", qrn_cl_error(err));
    err = qrn_cl.clBuildProgram(program, 1, &p->device->id, options, NULL, NULL);
    if (err != CL_SUCCESS) {
        qrn_status s = build_failed(p, program, err);
        qrn_cl.clReleaseProgram(program);
        return s;
    }
    *out = program;
    return QRN_OK;
}

static qrn_status find_or_build(qrn_cl_programs *p, const char *text, const char *options,
                                cl_program *out) {
    size_t bytes = strlen(options) + strlen(text) + 2;
    char *key = qrn_alloc(bytes);
    entry *e = qrn_calloc(sizeof *e);
    qrn_status s = key && e ? QRN_OK : QRN_FAIL(QRN_E_MEM, "out of memory for an OpenCL program");
    if (s == QRN_OK)
        snprintf(key, bytes, "%s\n%s", options, text);
    for (const entry *o = p->first; s == QRN_OK && o; o = o->next)
        if (strcmp(o->key, key) == 0) {
            *out = o->program;
            goto done;
        }
    if (s == QRN_OK)
        s = build(p, text, options, out);
    if (s == QRN_OK) {
        *e = (entry){.next = p->first, .key = key, .program = *out};
        p->first = e;
        return QRN_OK;
    }
done:
    qrn_free(key);
    qrn_free(e);
    return s;
}

qrn_status qrn_cl_program(qrn_cl_programs *p, const char *text, const char *options,
                          cl_program *out) {
    pthread_mutex_lock(&p->lock);
    qrn_status s = find_or_build(p, text, options, out);
    pthread_mutex_unlock(&p->lock);
    return s;
}
