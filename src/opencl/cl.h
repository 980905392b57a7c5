// SPDX-License-Identifier: MIT
//
// The part of OpenCL that we use, written after the public specification: types, numbers and the
// functions, which are looked up in a loader at run time (loader.h). Names are those of the
// specification. Version 1.2 is enough; later functions and extensions are optional.
#ifndef QRN_OPENCL_CL_H
#define QRN_OPENCL_CL_H

#include <stddef.h>
#include <stdint.h>

typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint64_t cl_ulong;
typedef cl_uint cl_bool;
typedef cl_ulong cl_bitfield;
typedef intptr_t cl_context_properties;

typedef struct _cl_platform_id *cl_platform_id;
typedef struct _cl_device_id *cl_device_id;
typedef struct _cl_context *cl_context;
typedef struct _cl_command_queue *cl_command_queue;
typedef struct _cl_mem *cl_mem;
typedef struct _cl_program *cl_program;
typedef struct _cl_kernel *cl_kernel;
typedef struct _cl_event *cl_event;
typedef struct _cl_command_buffer_khr *cl_command_buffer_khr;
typedef struct _cl_mutable_command_khr *cl_mutable_command_khr;
typedef struct _cl_recording_qcom *cl_recording_qcom;
typedef struct _cl_semaphore_khr *cl_semaphore_khr;

// X(name, value): errors.
#define QRN_CL_ERRORS(X)                                                                           \
    X(CL_SUCCESS, 0)                                                                               \
    X(CL_DEVICE_NOT_FOUND, -1)                                                                     \
    X(CL_DEVICE_NOT_AVAILABLE, -2)                                                                 \
    X(CL_COMPILER_NOT_AVAILABLE, -3)                                                               \
    X(CL_MEM_OBJECT_ALLOCATION_FAILURE, -4)                                                        \
    X(CL_OUT_OF_RESOURCES, -5)                                                                     \
    X(CL_OUT_OF_HOST_MEMORY, -6)                                                                   \
    X(CL_PROFILING_INFO_NOT_AVAILABLE, -7)                                                         \
    X(CL_MEM_COPY_OVERLAP, -8)                                                                     \
    X(CL_IMAGE_FORMAT_NOT_SUPPORTED, -10)                                                          \
    X(CL_BUILD_PROGRAM_FAILURE, -11)                                                               \
    X(CL_MAP_FAILURE, -12)                                                                         \
    X(CL_MISALIGNED_SUB_BUFFER_OFFSET, -13)                                                        \
    X(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, -14)                                           \
    X(CL_INVALID_VALUE, -30)                                                                       \
    X(CL_INVALID_DEVICE_TYPE, -31)                                                                 \
    X(CL_INVALID_PLATFORM, -32)                                                                    \
    X(CL_INVALID_DEVICE, -33)                                                                      \
    X(CL_INVALID_CONTEXT, -34)                                                                     \
    X(CL_INVALID_QUEUE_PROPERTIES, -35)                                                            \
    X(CL_INVALID_COMMAND_QUEUE, -36)                                                               \
    X(CL_INVALID_HOST_PTR, -37)                                                                    \
    X(CL_INVALID_MEM_OBJECT, -38)                                                                  \
    X(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, -39)                                                     \
    X(CL_INVALID_IMAGE_SIZE, -40)                                                                  \
    X(CL_INVALID_BINARY, -42)                                                                      \
    X(CL_INVALID_BUILD_OPTIONS, -43)                                                               \
    X(CL_INVALID_PROGRAM, -44)                                                                     \
    X(CL_INVALID_PROGRAM_EXECUTABLE, -45)                                                          \
    X(CL_INVALID_KERNEL_NAME, -46)                                                                 \
    X(CL_INVALID_KERNEL_DEFINITION, -47)                                                           \
    X(CL_INVALID_KERNEL, -48)                                                                      \
    X(CL_INVALID_ARG_INDEX, -49)                                                                   \
    X(CL_INVALID_ARG_VALUE, -50)                                                                   \
    X(CL_INVALID_ARG_SIZE, -51)                                                                    \
    X(CL_INVALID_KERNEL_ARGS, -52)                                                                 \
    X(CL_INVALID_WORK_DIMENSION, -53)                                                              \
    X(CL_INVALID_WORK_GROUP_SIZE, -54)                                                             \
    X(CL_INVALID_WORK_ITEM_SIZE, -55)                                                              \
    X(CL_INVALID_GLOBAL_OFFSET, -56)                                                               \
    X(CL_INVALID_EVENT_WAIT_LIST, -57)                                                             \
    X(CL_INVALID_EVENT, -58)                                                                       \
    X(CL_INVALID_OPERATION, -59)                                                                   \
    X(CL_INVALID_BUFFER_SIZE, -61)                                                                 \
    X(CL_INVALID_GLOBAL_WORK_SIZE, -63)                                                            \
    X(CL_INVALID_PROPERTY, -64)                                                                    \
    X(CL_PLATFORM_NOT_FOUND_KHR, -1001)

enum {
#define X(name, value) name = value,
    QRN_CL_ERRORS(X)
#undef X
};

#define CL_FALSE 0u
#define CL_TRUE 1u

#define CL_PLATFORM_VERSION 0x0901u
#define CL_PLATFORM_NAME 0x0902u

#define CL_DEVICE_TYPE_DEFAULT (1u << 0)
#define CL_DEVICE_TYPE_CPU (1u << 1)
#define CL_DEVICE_TYPE_GPU (1u << 2)
#define CL_DEVICE_TYPE_ACCELERATOR (1u << 3)
#define CL_DEVICE_TYPE_ALL 0xFFFFFFFFu

#define CL_DEVICE_TYPE 0x1000u
#define CL_DEVICE_MAX_COMPUTE_UNITS 0x1002u
#define CL_DEVICE_MAX_WORK_GROUP_SIZE 0x1004u
#define CL_DEVICE_MAX_CLOCK_FREQUENCY 0x100Cu
#define CL_DEVICE_MAX_MEM_ALLOC_SIZE 0x1010u
#define CL_DEVICE_IMAGE2D_MAX_WIDTH 0x1011u
#define CL_DEVICE_IMAGE2D_MAX_HEIGHT 0x1012u
#define CL_DEVICE_IMAGE_SUPPORT 0x1016u
#define CL_DEVICE_MEM_BASE_ADDR_ALIGN 0x1019u
#define CL_DEVICE_GLOBAL_MEM_SIZE 0x101Fu
#define CL_DEVICE_LOCAL_MEM_TYPE 0x1022u
#define CL_DEVICE_LOCAL_MEM_SIZE 0x1023u
#define CL_DEVICE_AVAILABLE 0x1027u
#define CL_DEVICE_COMPILER_AVAILABLE 0x1028u
#define CL_DEVICE_QUEUE_PROPERTIES 0x102Au
#define CL_DEVICE_NAME 0x102Bu
#define CL_DEVICE_VENDOR 0x102Cu
#define CL_DRIVER_VERSION 0x102Du
#define CL_DEVICE_VERSION 0x102Fu
#define CL_DEVICE_EXTENSIONS 0x1030u
#define CL_DEVICE_HOST_UNIFIED_MEMORY 0x1035u
#define CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT 0x103Au
#define CL_DEVICE_OPENCL_C_VERSION 0x103Du
#define CL_DEVICE_IMAGE_MAX_BUFFER_SIZE 0x1040u
#define CL_DEVICE_IMAGE_MAX_ARRAY_SIZE 0x1041u

#define CL_CONTEXT_DEVICES 0x1081u
#define CL_CONTEXT_PLATFORM 0x1084

#define CL_CONTEXT_PERF_HINT_QCOM 0x40C2
#define CL_PERF_HINT_HIGH_QCOM 0x40C3 // then NORMAL, LOW
#define CL_CONTEXT_PRIORITY_HINT_QCOM 0x40C9
#define CL_PRIORITY_HINT_HIGH_QCOM 0x40CA // then NORMAL, LOW

#define CL_QUEUE_PROFILING_ENABLE (1u << 1)
#define CL_QUEUE_RECORDABLE_QCOM (1u << 30)
#define CL_QUEUE_PROPERTIES 0x1093u
#define CL_QUEUE_PRIORITY_KHR 0x1096u
#define CL_QUEUE_PRIORITY_HIGH_KHR (1u << 0) // then MED, LOW

#define CL_SEMAPHORE_TYPE_KHR 0x203Du
#define CL_SEMAPHORE_TYPE_BINARY_KHR 1u
#define CL_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR 0x203Fu
#define CL_SEMAPHORE_EXPORT_HANDLE_TYPES_LIST_END_KHR 0u
#define CL_SEMAPHORE_HANDLE_SYNC_FD_KHR 0x2058u
#define CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR 0x2067u
#define CL_IMPORT_TYPE_ARM 0x40B2
#define CL_IMPORT_TYPE_DMA_BUF_ARM 0x40B4

#define CL_MEM_READ_WRITE (1u << 0)
#define CL_MEM_WRITE_ONLY (1u << 1)
#define CL_MEM_READ_ONLY (1u << 2)
#define CL_MEM_USE_HOST_PTR (1u << 3)
#define CL_MEM_ALLOC_HOST_PTR (1u << 4)
#define CL_MEM_COPY_HOST_PTR (1u << 5)

#define CL_RGBA 0x10B5u
#define CL_SIGNED_INT8 0x10D7u
#define CL_SIGNED_INT16 0x10D8u
#define CL_SIGNED_INT32 0x10D9u
#define CL_UNSIGNED_INT8 0x10DAu
#define CL_UNSIGNED_INT16 0x10DBu
#define CL_UNSIGNED_INT32 0x10DCu
#define CL_HALF_FLOAT 0x10DDu
#define CL_FLOAT 0x10DEu

#define CL_MEM_OBJECT_BUFFER 0x10F0u
#define CL_MEM_OBJECT_IMAGE2D 0x10F1u
#define CL_MEM_OBJECT_IMAGE2D_ARRAY 0x10F3u
#define CL_MEM_OBJECT_IMAGE1D_BUFFER 0x10F6u
#define CL_MEM_TYPE 0x1100u
#define CL_MEM_FLAGS 0x1101u
#define CL_MEM_SIZE 0x1102u
#define CL_MEM_CONTEXT 0x1106u

#define CL_MAP_READ (1u << 0)
#define CL_MAP_WRITE (1u << 1)

#define CL_PROGRAM_BINARY_SIZES 0x1165u
#define CL_PROGRAM_BINARIES 0x1166u
#define CL_PROGRAM_BUILD_LOG 0x1183u

#define CL_KERNEL_WORK_GROUP_SIZE 0x11B0u
#define CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE 0x11B3u

#define CL_PROFILING_COMMAND_QUEUED 0x1280u
#define CL_PROFILING_COMMAND_SUBMIT 0x1281u
#define CL_PROFILING_COMMAND_START 0x1282u
#define CL_PROFILING_COMMAND_END 0x1283u

#define CL_BUFFER_CREATE_TYPE_REGION 0x1220u

typedef struct cl_buffer_region {
    size_t origin, size;
} cl_buffer_region;

typedef struct cl_image_format {
    cl_uint image_channel_order, image_channel_data_type;
} cl_image_format;

typedef struct cl_image_desc {
    cl_uint image_type;
    size_t image_width, image_height, image_depth, image_array_size;
    size_t image_row_pitch, image_slice_pitch;
    cl_uint num_mip_levels, num_samples;
    cl_mem buffer;
} cl_image_desc;

// X(result, name, parameters): functions that every OpenCL 1.2 has.
#define QRN_CL_FUNCTIONS(X)                                                                        \
    X(cl_int, clGetPlatformIDs, (cl_uint, cl_platform_id *, cl_uint *))                            \
    X(cl_int, clGetPlatformInfo, (cl_platform_id, cl_uint, size_t, void *, size_t *))              \
    X(cl_int, clGetDeviceIDs, (cl_platform_id, cl_bitfield, cl_uint, cl_device_id *, cl_uint *))   \
    X(cl_int, clGetDeviceInfo, (cl_device_id, cl_uint, size_t, void *, size_t *))                  \
    X(cl_context, clCreateContext,                                                                 \
      (const cl_context_properties *, cl_uint, const cl_device_id *,                               \
       void (*)(const char *, const void *, size_t, void *), void *, cl_int *))                    \
    X(cl_int, clRetainContext, (cl_context))                                                       \
    X(cl_int, clReleaseContext, (cl_context))                                                      \
    X(cl_int, clGetContextInfo, (cl_context, cl_uint, size_t, void *, size_t *))                   \
    X(cl_command_queue, clCreateCommandQueue, (cl_context, cl_device_id, cl_bitfield, cl_int *))   \
    X(cl_int, clRetainCommandQueue, (cl_command_queue))                                            \
    X(cl_int, clReleaseCommandQueue, (cl_command_queue))                                           \
    X(cl_mem, clCreateBuffer, (cl_context, cl_bitfield, size_t, void *, cl_int *))                 \
    X(cl_mem, clCreateImage,                                                                       \
      (cl_context, cl_bitfield, const cl_image_format *, const cl_image_desc *, void *, cl_int *)) \
    X(cl_mem, clCreateSubBuffer, (cl_mem, cl_bitfield, cl_uint, const void *, cl_int *))           \
    X(cl_int, clRetainMemObject, (cl_mem))                                                         \
    X(cl_int, clReleaseMemObject, (cl_mem))                                                        \
    X(cl_int, clGetMemObjectInfo, (cl_mem, cl_uint, size_t, void *, size_t *))                     \
    X(cl_program, clCreateProgramWithSource,                                                       \
      (cl_context, cl_uint, const char **, const size_t *, cl_int *))                              \
    X(cl_program, clCreateProgramWithBinary,                                                       \
      (cl_context, cl_uint, const cl_device_id *, const size_t *, const unsigned char **,          \
       cl_int *, cl_int *))                                                                        \
    X(cl_int, clBuildProgram,                                                                      \
      (cl_program, cl_uint, const cl_device_id *, const char *, void (*)(cl_program, void *),      \
       void *))                                                                                    \
    X(cl_int, clGetProgramInfo, (cl_program, cl_uint, size_t, void *, size_t *))                   \
    X(cl_int, clGetProgramBuildInfo,                                                               \
      (cl_program, cl_device_id, cl_uint, size_t, void *, size_t *))                               \
    X(cl_int, clReleaseProgram, (cl_program))                                                      \
    X(cl_kernel, clCreateKernel, (cl_program, const char *, cl_int *))                             \
    X(cl_int, clReleaseKernel, (cl_kernel))                                                        \
    X(cl_int, clSetKernelArg, (cl_kernel, cl_uint, size_t, const void *))                          \
    X(cl_int, clGetKernelWorkGroupInfo,                                                            \
      (cl_kernel, cl_device_id, cl_uint, size_t, void *, size_t *))                                \
    X(cl_int, clEnqueueNDRangeKernel,                                                              \
      (cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *,       \
       cl_uint, const cl_event *, cl_event *))                                                     \
    X(cl_int, clEnqueueReadBuffer,                                                                 \
      (cl_command_queue, cl_mem, cl_bool, size_t, size_t, void *, cl_uint, const cl_event *,       \
       cl_event *))                                                                                \
    X(cl_int, clEnqueueWriteBuffer,                                                                \
      (cl_command_queue, cl_mem, cl_bool, size_t, size_t, const void *, cl_uint, const cl_event *, \
       cl_event *))                                                                                \
    X(cl_int, clEnqueueCopyBuffer,                                                                 \
      (cl_command_queue, cl_mem, cl_mem, size_t, size_t, size_t, cl_uint, const cl_event *,        \
       cl_event *))                                                                                \
    X(cl_int, clEnqueueFillBuffer,                                                                 \
      (cl_command_queue, cl_mem, const void *, size_t, size_t, size_t, cl_uint, const cl_event *,  \
       cl_event *))                                                                                \
    X(void *, clEnqueueMapBuffer,                                                                  \
      (cl_command_queue, cl_mem, cl_bool, cl_bitfield, size_t, size_t, cl_uint, const cl_event *,  \
       cl_event *, cl_int *))                                                                      \
    X(cl_int, clEnqueueUnmapMemObject,                                                             \
      (cl_command_queue, cl_mem, void *, cl_uint, const cl_event *, cl_event *))                   \
    X(cl_int, clFlush, (cl_command_queue))                                                         \
    X(cl_int, clFinish, (cl_command_queue))                                                        \
    X(cl_int, clWaitForEvents, (cl_uint, const cl_event *))                                        \
    X(cl_int, clGetEventProfilingInfo, (cl_event, cl_uint, size_t, void *, size_t *))              \
    X(cl_int, clReleaseEvent, (cl_event))                                                          \
    X(void *, clGetExtensionFunctionAddressForPlatform, (cl_platform_id, const char *))

// X(result, name, parameters): functions of later versions; NULL where the loader lacks them.
#define QRN_CL_OPTIONAL_FUNCTIONS(X)                                                               \
    X(cl_command_queue, clCreateCommandQueueWithProperties,                                        \
      (cl_context, cl_device_id, const cl_ulong *, cl_int *))                                      \
    X(cl_mem, clCreateBufferWithProperties,                                                        \
      (cl_context, const cl_ulong *, cl_bitfield, size_t, void *, cl_int *))

// An argument that a recording is replayed with.
typedef struct cl_array_arg_qcom {
    cl_uint dispatch_index, arg_index;
    size_t arg_size;
    const void *arg_value;
} cl_array_arg_qcom;

// X(extension, result, name, parameters): functions of extensions, of a device each.
#define QRN_CL_EXTENSION_FUNCTIONS(X)                                                              \
    X("cl_qcom_perf_hint", cl_int, clSetPerfHintQCOM, (cl_context, cl_uint))                       \
    X("cl_qcom_recordable_queues", cl_recording_qcom, clNewRecordingQCOM,                          \
      (cl_command_queue, cl_int *))                                                                \
    X("cl_qcom_recordable_queues", cl_int, clEndRecordingQCOM, (cl_recording_qcom))                \
    X("cl_qcom_recordable_queues", cl_int, clReleaseRecordingQCOM, (cl_recording_qcom))            \
    X("cl_qcom_recordable_queues", cl_int, clEnqueueRecordingQCOM,                                 \
      (cl_command_queue, cl_recording_qcom, size_t, const cl_array_arg_qcom *, size_t,             \
       const void *, size_t, const void *, size_t, const void *, cl_uint, const cl_event *,        \
       cl_event *))                                                                                \
    X("cl_khr_command_buffer", cl_command_buffer_khr, clCreateCommandBufferKHR,                    \
      (cl_uint, const cl_command_queue *, const cl_ulong *, cl_int *))                             \
    X("cl_khr_command_buffer", cl_int, clFinalizeCommandBufferKHR, (cl_command_buffer_khr))        \
    X("cl_khr_command_buffer", cl_int, clReleaseCommandBufferKHR, (cl_command_buffer_khr))         \
    X("cl_khr_command_buffer", cl_int, clEnqueueCommandBufferKHR,                                  \
      (cl_uint, cl_command_queue *, cl_command_buffer_khr, cl_uint, const cl_event *, cl_event *)) \
    X("cl_khr_command_buffer", cl_int, clCommandNDRangeKernelKHR,                                  \
      (cl_command_buffer_khr, cl_command_queue, const cl_ulong *, cl_kernel, cl_uint,              \
       const size_t *, const size_t *, const size_t *, cl_uint, const cl_uint *, cl_uint *,        \
       cl_mutable_command_khr *))                                                                  \
    X("cl_khr_external_semaphore_sync_fd", cl_semaphore_khr, clCreateSemaphoreWithPropertiesKHR,   \
      (cl_context, const cl_ulong *, cl_int *))                                                    \
    X("cl_khr_external_semaphore_sync_fd", cl_int, clReleaseSemaphoreKHR, (cl_semaphore_khr))      \
    X("cl_khr_external_semaphore_sync_fd", cl_int, clEnqueueWaitSemaphoresKHR,                     \
      (cl_command_queue, cl_uint, const cl_semaphore_khr *, const cl_ulong *, cl_uint,             \
       const cl_event *, cl_event *))                                                              \
    X("cl_khr_external_semaphore_sync_fd", cl_int, clEnqueueSignalSemaphoresKHR,                   \
      (cl_command_queue, cl_uint, const cl_semaphore_khr *, const cl_ulong *, cl_uint,             \
       const cl_event *, cl_event *))                                                              \
    X("cl_khr_external_semaphore_sync_fd", cl_int, clGetSemaphoreHandleForTypeKHR,                 \
      (cl_semaphore_khr, cl_device_id, cl_uint, size_t, void *, size_t *))                         \
    X("cl_khr_external_memory_dma_buf", cl_int, clEnqueueAcquireExternalMemObjectsKHR,             \
      (cl_command_queue, cl_uint, const cl_mem *, cl_uint, const cl_event *, cl_event *))          \
    X("cl_khr_external_memory_dma_buf", cl_int, clEnqueueReleaseExternalMemObjectsKHR,             \
      (cl_command_queue, cl_uint, const cl_mem *, cl_uint, const cl_event *, cl_event *))          \
    X("cl_arm_import_memory", cl_mem, clImportMemoryARM,                                           \
      (cl_context, cl_bitfield, const intptr_t *, void *, size_t, cl_int *))

#endif
