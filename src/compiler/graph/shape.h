// Shape rules, one a family; a UsageError names the operation and the shapes.
#pragma once
#include "compiler/graph/graph.h"

namespace baretile::compiler {

void check_extents(const char* op, const Shape& shape);
void check_stored(const char* op, const Shape& shape, DType dtype);  // also that the dtype has pages for it
size_t checked_axis(const char* op, const Shape& shape, i64 axis);
Shape broadcast_shape(const char* op, const Shape& x, const Shape& y);
void complete_reshape(const Shape& from, Shape& wanted);  // fills in -1
Shape permuted_shape(const Shape& shape, const std::vector<i64>& axes);
Shape aligned_for_expand(const Shape& shape, const Shape& wanted);  // with leading ones
struct MatmulShapes {
  Shape left, right, out;  // operands with all leading axes of the result
};
MatmulShapes matmul_shapes(const Shape& x, const Shape& y);
Shape gather_shape(const Shape& table, const Shape& index, DType index_dtype);
void check_scatter(const Shape& target, const Shape& values, const Shape& index, DType index_dtype);

}  // namespace baretile::compiler
