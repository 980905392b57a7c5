// SPDX-License-Identifier: MIT
//
// Questions about tensors.
#include "system/system.h"

static qrn_status footprint_of(const Qnn_Tensor_t *tensor, uint64_t *out) {
    if (!out)
        return QRN_FAIL(QRN_E_ARGUMENT, "getMemoryFootprint: footprint is NULL");
    if (tensor->version != QNN_TENSOR_VERSION_1 && tensor->version != QNN_TENSOR_VERSION_2)
        return QRN_FAIL(QRN_E_TENSOR, "getMemoryFootprint: tensor of version %d, known are 1 and 2",
                        (int)tensor->version);
    const Qnn_TensorV1_t *t = &tensor->v1; // both versions agree in these fields
    const char *name = t->name ? t->name : "";
    qrn_dtype dtype = qrn_dtype_from_code((uint32_t)t->dataType);
    if (dtype == QRN_DTYPE_COUNT)
        return QRN_FAIL(QRN_E_TENSOR, "tensor '%s': unknown data type 0x%x", name,
                        (unsigned)t->dataType);
    if (t->rank > QRN_MAX_RANK || (t->rank && !t->dimensions))
        return QRN_FAIL(QRN_E_TENSOR, "tensor '%s': rank %u without dimensions, or above %d", name,
                        t->rank, QRN_MAX_RANK);
    if (t->dataFormat != QNN_TENSOR_DATA_FORMAT_DENSE &&
        t->dataFormat != QNN_TENSOR_DATA_FORMAT_HMX_WEIGHT_LAYOUT)
        return QRN_FAIL(
            QRN_E_UNSUPPORTED,
            "tensor '%s': data format %u, only dense ones and native KV caches are known", name,
            (unsigned)t->dataFormat);
    qrn_shape shape = {.rank = t->rank};
    for (uint32_t i = 0; i < t->rank; i++)
        shape.dims[i] = t->dimensions[i];
    size_t count, bytes;
    if (!qrn_shape_count(&shape, &count) || !qrn_dtype_bytes(dtype, count, &bytes))
        return QRN_FAIL(QRN_E_TENSOR, "tensor '%s': more bytes than can be addressed", name);
    *out = bytes;
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnSystemTensor_getMemoryFootprint(Qnn_Tensor_t tensor, uint64_t *footprint) {
    QRN_API_CALL;
    return qrn_api_end(QRN_COMP_SYSTEM_TENSOR, footprint_of(&tensor, footprint), qrn_system_log());
}
