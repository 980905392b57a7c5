// SPDX-License-Identifier: MIT
//
// Inputs and outputs of a session in memory of the GPU: OpenCL buffers of this program, registered
// with the library. What is left of a run's time is what the device computes.
#include "tools/quern/gpu_memory.h"

#include "base/mem.h"

#include "GPU/QnnGpuMem.h"

struct qt_gpu_memory {
    qc_client *client;
    qt_gpu gpu;
    cl_context context;
    cl_command_queue queue;
    uint32_t n; // of the graph's inputs and outputs
    cl_mem *buffers;
    Qnn_MemHandle_t *handles;
};

static qrn_status open_device(qt_gpu_memory *m) {
    cl_int err;
    qt_gpu_read(&m->gpu);
    if (m->gpu.chosen >= m->gpu.n)
        return QRN_FAIL(QRN_E_INIT, "%s", m->gpu.error);
    const cl_device_id id = m->gpu.devices[m->gpu.chosen].id;
    m->context = qrn_cl.clCreateContext(NULL, 1, &id, NULL, NULL, &err);
    if (m->context)
        m->queue = qrn_cl.clCreateCommandQueue(m->context, id, 0, &err);
    return m->queue ? QRN_OK : QRN_FAIL(QRN_E_INIT, "no OpenCL queue: %s", qrn_cl_error(err));
}

static qrn_status add(qt_gpu_memory *m, qc_tensor *t, const void *data) {
    size_t bytes = qc_tensor_bytes(t);
    cl_int err;
    cl_mem b = qrn_cl.clCreateBuffer(m->context, CL_MEM_READ_WRITE, bytes, NULL, &err);
    if (!b)
        return QRN_FAIL(QRN_E_MEM, "no device memory for tensor '%s': %s", t->t.v1.name,
                        qrn_cl_error(err));
    m->buffers[m->n] = b;
    err = qrn_cl.clEnqueueWriteBuffer(m->queue, b, CL_TRUE, 0, bytes, data, 0, NULL, NULL);
    if (err != CL_SUCCESS)
        return QRN_FAIL(QRN_E_COMM, "tensor '%s': %s", t->t.v1.name, qrn_cl_error(err));
    QnnGpu_MemInfoCustom_t info = {.memType = QNN_GPU_MEM_OPENCL, .buffer = b};
    const Qnn_MemDescriptor_t d = {
        .memShape = {.numDim = t->rank, .dimSize = t->dims},
        .dataType = t->t.v1.dataType,
        .memType = QNN_MEM_TYPE_CUSTOM,
        .customInfo = &info,
    };
    QRN_TRY(qc_check(m->client,
                     m->client->qnn.memRegister(m->client->context, &d, 1, &m->handles[m->n]),
                     "memRegister"));
    m->n++;
    return QRN_OK;
}

static qrn_status fill(qt_gpu_memory *m, const qt_session *s) {
    const qc_graph *g = s->model.graph;
    uint32_t room = g->n_inputs + g->n_outputs + 1;
    m->buffers = qrn_calloc(room * sizeof *m->buffers);
    m->handles = qrn_calloc(room * sizeof *m->handles);
    if (!m->buffers || !m->handles)
        return QRN_FAIL(QRN_E_MEM, "out of memory");
    if (!qt_is_gpu(m->client) || !m->client->qnn.memRegister)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "%s has no memory of a GPU", m->client->path);
    QRN_TRY(open_device(m));
    for (uint32_t i = 0; i < g->n_inputs; i++)
        QRN_TRY(add(m, g->inputs[i], s->in[i]));
    for (uint32_t i = 0; i < g->n_outputs; i++)
        QRN_TRY(add(m, g->outputs[i], s->out[i]));
    return QRN_OK;
}

qrn_status qt_gpu_memory_open(qt_session *s, qt_gpu_memory **out) {
    qt_gpu_memory *m = qrn_calloc(sizeof *m);
    if (!m)
        return QRN_FAIL(QRN_E_MEM, "out of memory");
    m->client = s->client;
    qrn_status status = fill(m, s);
    if (status != QRN_OK) {
        qt_gpu_memory_close(m);
        return status;
    }
    s->mem = m->handles;
    *out = m;
    return QRN_OK;
}

void qt_gpu_memory_close(qt_gpu_memory *m) {
    if (!m)
        return;
    for (uint32_t i = 0; m->buffers && (i < m->n || m->buffers[i]); i++) {
        if (m->handles[i])
            m->client->qnn.memDeRegister(&m->handles[i], 1);
        qrn_cl.clReleaseMemObject(m->buffers[i]);
    }
    if (m->queue)
        qrn_cl.clReleaseCommandQueue(m->queue);
    if (m->context)
        qrn_cl.clReleaseContext(m->context);
    qrn_free(m->buffers);
    qrn_free(m->handles);
    qt_gpu_free(&m->gpu);
    qrn_free(m);
}
