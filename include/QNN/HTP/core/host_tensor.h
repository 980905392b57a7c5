// SPDX-License-Identifier: MIT
//
// Tensors of HTP ops on a host: dense, row-major, in main memory, with four dimensions (shorter
// shapes have leading ones). Elements are read and written as real numbers, or through raw_data in
// their own type. C++17.

#ifndef QUERN_HTP_HOST_TENSOR_H
#define QUERN_HTP_HOST_TENSOR_H

#ifdef __cplusplus

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "CPU/QnnCpuOpPackage.h"
#include "HTP/core/host_package.h"

#pragma GCC visibility push(hidden) // each package has its own

// What an op returns; everything but Success fails the execution.
enum class GraphStatus : int {
    Success = 0,
    ErrorFatal,
    ErrorUnsupported,
    ErrorBadInput,
    ErrorRank,
    ErrorDimensions,
    ErrorPrecision,
};

// Type of an element. Plain integers of 8 and 16 bits are quantized ones with scale 1 and offset 0.
enum class DType : int {
    UNKNOWN = 0,
    QUInt8,
    QInt8,
    QUInt16,
    QInt16,
    QInt32,
    Int32,
    Int64,
    Float16,
    Float32,
};

// real = (stored - offset) * scale; offset is the stored value of zero.
struct DTypeScaleOff {
    DType dtype;
    float scale;
    int32_t offset;
};

using Idx = size_t;

namespace quern_htp {

inline size_t element_bytes(DType t) {
    switch (t) {
    case DType::QUInt8:
    case DType::QInt8:
        return 1;
    case DType::QUInt16:
    case DType::QInt16:
    case DType::Float16:
        return 2;
    case DType::QInt32:
    case DType::Int32:
    case DType::Float32:
        return 4;
    case DType::Int64:
        return 8;
    default:
        return 0;
    }
}

inline DType dtype_of(Qnn_DataType_t t) {
    switch (t) {
    case QNN_DATATYPE_UFIXED_POINT_8:
    case QNN_DATATYPE_UINT_8:
    case QNN_DATATYPE_BOOL_8:
        return DType::QUInt8;
    case QNN_DATATYPE_SFIXED_POINT_8:
    case QNN_DATATYPE_INT_8:
        return DType::QInt8;
    case QNN_DATATYPE_UFIXED_POINT_16:
    case QNN_DATATYPE_UINT_16:
        return DType::QUInt16;
    case QNN_DATATYPE_SFIXED_POINT_16:
    case QNN_DATATYPE_INT_16:
        return DType::QInt16;
    case QNN_DATATYPE_SFIXED_POINT_32:
        return DType::QInt32;
    case QNN_DATATYPE_INT_32:
    case QNN_DATATYPE_UINT_32:
        return DType::Int32;
    case QNN_DATATYPE_INT_64:
    case QNN_DATATYPE_UINT_64:
        return DType::Int64;
    case QNN_DATATYPE_FLOAT_16:
        return DType::Float16;
    case QNN_DATATYPE_FLOAT_32:
        return DType::Float32;
    default:
        return DType::UNKNOWN;
    }
}

inline float half_to_float(uint16_t h) {
    uint32_t exponent = (h >> 10) & 31u, fraction = h & 1023u;
    float v = exponent == 31 ? (fraction ? NAN : INFINITY)
              : exponent     ? std::ldexp(static_cast<float>(fraction | 1024u), int(exponent) - 25)
                             : std::ldexp(static_cast<float>(fraction), -24);
    return h & 0x8000u ? -v : v;
}

// Rounds to nearest, ties to even.
inline uint16_t float_to_half(float f) {
    uint16_t sign = std::signbit(f) ? 0x8000u : 0;
    if (std::isnan(f))
        return sign | 0x7e00u;
    float a = std::fabs(f);
    if (a == 0.0f)
        return sign;
    if (a >= 65520.0f)
        return sign | 0x7c00u;
    int exponent = 0;
    std::frexp(a, &exponent);
    exponent = exponent < -13 ? -13 : exponent; // below that: subnormal numbers
    auto steps = static_cast<uint32_t>(std::nearbyint(std::ldexp(a, 11 - exponent)));
    return static_cast<uint16_t>(sign | (steps + (static_cast<uint32_t>(exponent + 13) << 10)));
}

inline double clamped(double v, double lo, double hi) { return v < lo ? lo : v > hi ? hi : v; }

// One operand of a node as the backend gives it: `host` has its data and shape in each execution; a
// parameter has none, it is `data` for ever.
struct Operand {
    QnnCpuOpPackage_Tensor_t *host = nullptr;
    DTypeScaleOff type{DType::UNKNOWN, 1.0f, 0};
    size_t dims[4] = {1, 1, 1, 1};
    void *data = nullptr;
    uint64_t scalar = 0; // of a scalar parameter
};

} // namespace quern_htp

// A tensor of any type.
class Tensor {
  public:
    explicit Tensor(const quern_htp::Operand &o) : operand(o) {
        std::memcpy(shape.data(), o.dims, sizeof o.dims);
    }
    static bool accepts(DType t) { return t != DType::UNKNOWN; }

    size_t rank() const { return 4; }
    size_t dim(size_t i) const { return shape[i]; }
    std::array<size_t, 4> dims() const { return shape; }
    void set_dims(const size_t d[]) { std::memcpy(shape.data(), d, sizeof shape); }
    void set_dims(const Tensor &like) { shape = like.shape; }

    DType get_dtype() const { return operand.type.dtype; }
    DTypeScaleOff get_dtype_intfc() const { return operand.type; }
    float interface_scale() const { return operand.type.scale; }
    float interface_scale_recip() const { return 1.0f / operand.type.scale; }
    int32_t interface_offset() const { return operand.type.offset; }
    float get_interface_scale() const { return interface_scale(); }
    int32_t get_interface_offset() const { return interface_offset(); }

    size_t total_storage_elements() const { return shape[0] * shape[1] * shape[2] * shape[3]; }
    size_t total_storage_bytes() const {
        return total_storage_elements() * quern_htp::element_bytes(get_dtype());
    }
    const void *raw_data_const() const { return storage(); }
    const void *raw_data() const { return storage(); }
    void *raw_data() { return storage(); }

    // An element that is assigned real numbers.
    class Element {
      public:
        Element(Tensor &t, size_t i) : tensor(t), index(i) {}
        operator float() const { return tensor.load(index); }
        Element &operator=(float v) {
            tensor.store(index, v);
            return *this;
        }
        Element &operator=(const Element &e) { return *this = static_cast<float>(e); }

      private:
        Tensor &tensor;
        size_t index;
    };
    float operator()(size_t b, size_t h, size_t w, size_t d) const { return load(at(b, h, w, d)); }
    Element operator()(size_t b, size_t h, size_t w, size_t d) {
        return Element(*this, at(b, h, w, d));
    }

    // --- for the backend: before and after an execution

    void quern_begin() {
        if (!operand.host)
            return;
        operand.data = operand.host->data;
        const uint32_t rank = operand.host->rank;
        for (uint32_t i = 0; i < 4; i++)
            shape[i] = i + rank < 4 ? 1 : operand.host->currentDimensions[i + rank - 4];
    }
    // Reports the shape of a result; false when it does not fit what the graph declares.
    bool quern_end() {
        const uint32_t rank = operand.host->rank;
        for (uint32_t i = 0; i < 4; i++) {
            size_t most = i + rank < 4 ? 1 : operand.host->maxDimensions[i + rank - 4];
            if (shape[i] > most)
                return false;
        }
        for (uint32_t i = 0; i < rank; i++)
            operand.host->currentDimensions[i] = static_cast<uint32_t>(shape[i + 4 - rank]);
        return true;
    }

  protected:
    size_t at(size_t b, size_t h, size_t w, size_t d) const {
        return ((b * shape[1] + h) * shape[2] + w) * shape[3] + d;
    }
    void *storage() const {
        return operand.data ? operand.data : const_cast<uint64_t *>(&operand.scalar);
    }
    template <typename T> T get(size_t i) const {
        T v;
        std::memcpy(&v, static_cast<const char *>(storage()) + i * sizeof v, sizeof v);
        return v;
    }
    template <typename T> void put(size_t i, T v) {
        std::memcpy(static_cast<char *>(storage()) + i * sizeof v, &v, sizeof v);
    }

  private:
    template <typename T> float real(size_t i) const {
        return static_cast<float>((static_cast<double>(get<T>(i)) - operand.type.offset) *
                                  static_cast<double>(operand.type.scale));
    }
    float load(size_t i) const {
        switch (get_dtype()) {
        case DType::QUInt8:
            return real<uint8_t>(i);
        case DType::QInt8:
            return real<int8_t>(i);
        case DType::QUInt16:
            return real<uint16_t>(i);
        case DType::QInt16:
            return real<int16_t>(i);
        case DType::QInt32:
        case DType::Int32:
            return real<int32_t>(i);
        case DType::Int64:
            return real<int64_t>(i);
        case DType::Float16:
            return quern_htp::half_to_float(get<uint16_t>(i));
        default:
            return get<float>(i);
        }
    }
    template <typename T> void quantize(size_t i, float v, double lo, double hi) {
        double q = std::round(static_cast<double>(v) / static_cast<double>(operand.type.scale)) +
                   operand.type.offset;
        put(i, static_cast<T>(quern_htp::clamped(std::isnan(q) ? operand.type.offset : q, lo, hi)));
    }
    void store(size_t i, float v) {
        switch (get_dtype()) {
        case DType::QUInt8:
            return quantize<uint8_t>(i, v, 0, 255);
        case DType::QInt8:
            return quantize<int8_t>(i, v, -128, 127);
        case DType::QUInt16:
            return quantize<uint16_t>(i, v, 0, 65535);
        case DType::QInt16:
            return quantize<int16_t>(i, v, -32768, 32767);
        case DType::QInt32:
        case DType::Int32:
            return quantize<int32_t>(i, v, -2147483648.0, 2147483647.0);
        case DType::Int64:
            return quantize<int64_t>(i, v, -9.2e18, 9.2e18);
        case DType::Float16:
            return put(i, quern_htp::float_to_half(v));
        default:
            return put(i, v);
        }
    }

    quern_htp::Operand operand;
    std::array<size_t, 4> shape;
};

namespace quern_htp {

// A tensor of one type. Elements of floats and plain integers are themselves.
template <DType D> class Typed : public Tensor {
  public:
    using Tensor::Tensor;
    static bool accepts(DType t) { return t == D; }
};

template <DType D, typename T> class Plain : public Tensor {
  public:
    using Tensor::Tensor;
    static bool accepts(DType t) { return t == D; }
    T operator()(size_t b, size_t h, size_t w, size_t d) const { return get<T>(at(b, h, w, d)); }
    T &operator()(size_t b, size_t h, size_t w, size_t d) {
        return static_cast<T *>(storage())[at(b, h, w, d)];
    }
};

} // namespace quern_htp

using PlainFloatTensor = quern_htp::Plain<DType::Float32, float>;
using Int32Tensor = quern_htp::Plain<DType::Int32, int32_t>;
using PlainFloat16Tensor = quern_htp::Typed<DType::Float16>;
using QuantUint8Tensor = quern_htp::Typed<DType::QUInt8>;
using QuantInt8Tensor = quern_htp::Typed<DType::QInt8>;
using QuantUint16Tensor = quern_htp::Typed<DType::QUInt16>;
using QuantInt16Tensor = quern_htp::Typed<DType::QInt16>;
using QuantInt32Tensor = quern_htp::Typed<DType::QInt32>;

#pragma GCC visibility pop

#endif // __cplusplus

#endif // QUERN_HTP_HOST_TENSOR_H
