// SPDX-License-Identifier: MIT
//
// Ops of a package for the HTP on a host: the list that the macros of the neighbouring headers fill
// while the library is loaded, and nodes that are made from it. The first definition of an op whose
// number and types of operands fit a node implements it. C++17.

#ifndef QUERN_HTP_HOST_OPS_H
#define QUERN_HTP_HOST_OPS_H

#ifdef __cplusplus

#include <new>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "HTP/core/host_tensor.h"

#pragma GCC visibility push(hidden)

// What costs and flags are given as; a host has no use for them.
enum StandardCosts { FREE, FAST, SNAIL, GLACIAL };
namespace Flags {
enum Flag { IS_CONST, INHIBIT_CONST_PROP, RESOURCE_HVX, RESOURCE_HMX };
}
class Op;

namespace quern_htp {

// A node: the arguments of its function, and its call.
struct Instance {
    QnnCpuOpPackage_OpImpl_t impl;
    virtual ~Instance() = default;
    virtual GraphStatus run() = 0;
};

template <typename T>
constexpr bool is_result =
    std::is_lvalue_reference_v<T> && !std::is_const_v<std::remove_reference_t<T>>;

template <auto Fn, typename... A> class Bound : public Instance {
  public:
    explicit Bound(const std::vector<Operand> &o) : Bound(o, std::index_sequence_for<A...>()) {}
    GraphStatus run() override {
        std::apply([](auto &...t) { (t.quern_begin(), ...); }, args);
        GraphStatus s = std::apply([](auto &...t) { return Fn(t...); }, args);
        return s != GraphStatus::Success || results(std::index_sequence_for<A...>())
                   ? s
                   : GraphStatus::ErrorDimensions;
    }

  private:
    template <size_t... I>
    Bound(const std::vector<Operand> &o, std::index_sequence<I...>)
        : args(std::decay_t<A>(o[I])...) {}
    template <size_t... I> bool results(std::index_sequence<I...>) {
        return ((!is_result<A> || std::get<I>(args).quern_end()) && ...);
    }
    std::tuple<std::decay_t<A>...> args;
};

// One definition of an op.
struct Definition {
    const char *name;
    size_t n_results, n_args;
    bool (*accepts)(const std::vector<Operand> &o);
    Instance *(*make)(const std::vector<Operand> &o);
};

template <auto Fn, typename F> struct Signature;
template <auto Fn, typename... A> struct Signature<Fn, GraphStatus (*)(A...)> {
    template <size_t... I>
    static bool fits(const std::vector<Operand> &o, std::index_sequence<I...>) {
        return (std::decay_t<A>::accepts(o[I].type.dtype) && ...);
    }
    static bool accepts(const std::vector<Operand> &o) {
        return fits(o, std::index_sequence_for<A...>());
    }
    static Instance *make(const std::vector<Operand> &o) { return new Bound<Fn, A...>(o); }
    static Definition define(const char *name) {
        return {name, (size_t{is_result<A>} + ... + 0), sizeof...(A), accepts, make};
    }
};

// One parameter of an op in the order that its functions get them.
struct ParamOrder {
    const char *name;
    bool mandatory;
    const Qnn_Param_t *fallback; // NULL: left out when it is not given
};

struct OrderOf {
    const char *op;
    std::vector<ParamOrder> params;
};

// The package: one for each library, made by INIT_PACKAGE_OP_DEF.
struct Package {
    std::vector<Definition> ops;
    std::vector<OrderOf> orders;
    std::vector<std::string> axes;
};
Package &package();

template <auto Fn> bool add_op(const char *name) {
    package().ops.push_back(Signature<Fn, decltype(Fn)>::define(name));
    return true;
}

inline void add_params(std::vector<ParamOrder> &) {}
template <typename... More>
void add_params(std::vector<ParamOrder> &to, const char *name, bool mandatory,
                const Qnn_Param_t *fallback, More... more) {
    to.push_back({name, mandatory, fallback});
    add_params(to, more...);
}

template <typename... A> bool add_order(const char *op, A... words) {
    OrderOf o{op, {}};
    add_params(o.params, words...);
    package().orders.push_back(o);
    return true;
}

template <typename... A> bool add_axes(A... names) {
    (package().axes.push_back(names), ...);
    return true;
}

inline void set_encoding(const Qnn_QuantizeParams_t &q, DTypeScaleOff &t) {
    if (q.encodingDefinition != QNN_DEFINITION_DEFINED)
        return;
    if (q.quantizationEncoding == QNN_QUANTIZATION_ENCODING_SCALE_OFFSET) {
        t.scale = q.scaleOffsetEncoding.scale;
        t.offset = -q.scaleOffsetEncoding.offset;
    } else if (q.quantizationEncoding == QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET) {
        t.scale = q.bwScaleOffsetEncoding.scale;
        t.offset = -q.bwScaleOffsetEncoding.offset;
    }
}

inline bool per_channel(const Qnn_QuantizeParams_t &q) {
    return q.encodingDefinition == QNN_DEFINITION_DEFINED &&
           q.quantizationEncoding != QNN_QUANTIZATION_ENCODING_SCALE_OFFSET &&
           q.quantizationEncoding != QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET;
}

// False: more than four dimensions, or an encoding of channels or blocks.
inline bool describe(const Qnn_Tensor_t &t, QnnCpuOpPackage_Tensor_t *host, Operand &o) {
    if (t.v1.rank > 4 || per_channel(t.v1.quantizeParams))
        return false;
    o.host = host;
    o.type.dtype = dtype_of(t.v1.dataType);
    set_encoding(t.v1.quantizeParams, o.type);
    for (uint32_t i = 0; i < t.v1.rank; i++)
        o.dims[i + 4 - t.v1.rank] = t.v1.dimensions[i];
    o.data = host ? nullptr : t.v1.clientBuf.data;
    return true;
}

inline bool describe(const Qnn_Param_t &p, Operand &o) {
    if (p.paramType == QNN_PARAMTYPE_TENSOR)
        return describe(p.tensorParam, nullptr, o);
    o.type.dtype = dtype_of(p.scalarParam.dataType);
    std::memcpy(&o.scalar, &p.scalarParam.uint64Value, sizeof o.scalar);
    return o.type.dtype != DType::UNKNOWN; // a string
}

// Axes count from the first of four dimensions.
inline void move_axis(const Qnn_Param_t &p, uint32_t rank, Operand &o) {
    if (rank > 4 || p.paramType != QNN_PARAMTYPE_SCALAR || o.type.dtype != DType::Int32)
        return;
    for (const std::string &name : package().axes)
        if (p.name && name == p.name && static_cast<int32_t>(o.scalar) >= 0)
            o.scalar = static_cast<uint32_t>(o.scalar) + 4 - rank;
}

class Builder {
  public:
    Builder(const Qnn_OpConfigV1_t &config, const QnnCpuOpPackage_Node_t &host_node)
        : op(config), node(host_node) {}

    Qnn_ErrorHandle_t make(Instance **out) {
        if (!tensors(op.outputTensors, node.outputs, op.numOfOutputs))
            return QNN_OP_PACKAGE_ERROR_INVALID_ARGUMENT;
        const size_t n_results = operands.size();
        if (!tensors(op.inputTensors, node.inputs, op.numOfInputs) || !params())
            return QNN_OP_PACKAGE_ERROR_INVALID_ARGUMENT;
        for (const Definition &d : package().ops)
            if (std::strcmp(d.name, op.typeName) == 0 && d.n_results == n_results &&
                d.n_args == operands.size() && d.accepts(operands)) {
                *out = d.make(operands);
                return QNN_SUCCESS;
            }
        return QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE;
    }

  private:
    bool tensors(const Qnn_Tensor_t *list, QnnCpuOpPackage_Tensor_t *const *host, uint32_t n) {
        for (uint32_t i = 0; i < n; i++) {
            if (!host[i]) // absent
                continue;
            operands.emplace_back();
            if (!describe(list[i], host[i], operands.back()))
                return false;
        }
        return true;
    }
    bool param(const Qnn_Param_t &p) {
        operands.emplace_back();
        if (!describe(p, operands.back()))
            return false;
        move_axis(p, op.numOfInputs ? op.inputTensors[0].v1.rank : 4, operands.back());
        return true;
    }
    const Qnn_Param_t *find(const char *name) const {
        for (uint32_t i = 0; i < op.numOfParams; i++)
            if (std::strcmp(op.params[i].name, name) == 0)
                return &op.params[i];
        return nullptr;
    }
    bool params() {
        for (const OrderOf &o : package().orders)
            if (std::strcmp(o.op, op.typeName) == 0)
                return ordered(o);
        for (uint32_t i = 0; i < op.numOfParams; i++)
            if (!param(op.params[i]))
                return false;
        return true;
    }
    bool ordered(const OrderOf &o) {
        for (const ParamOrder &p : o.params) {
            const Qnn_Param_t *given = find(p.name);
            if (!given && p.mandatory)
                return false;
            given = given ? given : p.fallback;
            if (given && !param(*given))
                return false;
        }
        return true;
    }

    const Qnn_OpConfigV1_t &op;
    const QnnCpuOpPackage_Node_t &node;
    std::vector<Operand> operands; // results, inputs, parameters
};

inline Qnn_ErrorHandle_t run_instance(void *data) {
    GraphStatus s = static_cast<Instance *>(data)->run();
    return s == GraphStatus::Success ? QNN_SUCCESS : static_cast<Qnn_ErrorHandle_t>(s);
}

inline Qnn_ErrorHandle_t create(const Qnn_OpConfig_t *config, QnnOpPackage_Node_t node,
                                QnnOpPackage_OpImpl_t *out) {
    try {
        Instance *made = nullptr;
        Qnn_ErrorHandle_t e = Builder(config->v1, *node).make(&made);
        if (e != QNN_SUCCESS)
            return e;
        made->impl = {run_instance, made};
        *out = &made->impl;
        return QNN_SUCCESS;
    } catch (const std::bad_alloc &) {
        return QNN_OP_PACKAGE_ERROR_GENERAL;
    }
}

inline Qnn_ErrorHandle_t destroy(QnnOpPackage_OpImpl_t op) {
    delete static_cast<Instance *>(op->userData);
    return QNN_SUCCESS;
}

} // namespace quern_htp

#pragma GCC visibility pop

#endif // __cplusplus

#endif // QUERN_HTP_HOST_OPS_H
