// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/operators/xnnpack/operator.h>

#include <inttypes.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <executorch/runtime/platform/log.h>

namespace executorch::backends::xnnpack {

xnn_datatype xnn_datatype_of(Datatype datatype) {
  switch (datatype) {
    case Datatype::Float32:
      return xnn_datatype_fp32;
    case Datatype::Float16:
      return xnn_datatype_fp16;
    case Datatype::QInt8:
      return xnn_datatype_qint8;
    case Datatype::QUInt8:
      return xnn_datatype_quint8;
    case Datatype::QInt32:
      return xnn_datatype_qint32;
    case Datatype::QCInt8:
      return xnn_datatype_qcint8;
    case Datatype::QCInt32:
      return xnn_datatype_qcint32;
    case Datatype::QCInt4:
      return xnn_datatype_qcint4;
    case Datatype::QDInt8:
      return xnn_datatype_qdint8;
    case Datatype::QBInt4:
      return xnn_datatype_qbint4;
    case Datatype::Int32:
      return xnn_datatype_int32;
    default:
      return xnn_datatype_invalid;
  }
}

xnn_quantization_params quantization_of(const Value& value) {
  return {value.zero_point, value.scale};
}

XnnDims::XnnDims(const Shape& shape) : count(shape.rank) {
  std::copy_n(shape.dims, shape.rank, dims);
}

runtime::Error creation_error(const Node& node, xnn_status status) {
  ET_LOG(Error, "xnnpack refuses node %s: %s", fb_xnnpack::EnumNameXNodeUnion(node.kind),
         status_text(status));
  // XNNPACK refuses only payloads that no writer produces, so the program is invalid whatever the
  // status.
  return status == xnn_status_out_of_memory ? runtime::Error::MemoryAllocationFailed
                                            : runtime::Error::InvalidProgram;
}

}  // namespace executorch::backends::xnnpack
