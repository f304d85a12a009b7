// Every operation on tensors as a row: its signature, what it does, and the call. bt_apply and Python read nothing
// else.
#pragma once
#include <string>
#include <vector>

#include "baretile/capi.h"
#include "baretile/tensor.h"

namespace baretile::capi {

// Arguments that were checked against a signature, defaults filled in.
struct Call {
  const std::string& name;
  std::vector<Tensor> tensors;  // an optional one that was not given is empty
  std::vector<double> numbers;

  const Tensor& operator[](size_t i) const { return tensors[i]; }
  double number(size_t i) const { return numbers[i]; }
  bool flag(size_t i) const { return numbers[i] != 0; }
  i64 whole(size_t i) const;                      // UsageError for a fraction
  std::vector<i64> rest(size_t first = 0) const;  // the list at the signature's end
};

struct Row {
  const char *signature, *doc;
  Tensor (*call)(const Call& call);
};

const std::vector<Row>& rows();

}  // namespace baretile::capi

struct bt_op {
  const baretile::capi::Row* row = nullptr;
  std::string name;
  size_t tensors = 0, least_tensors = 0;  // `least`: without optional ones
  bool tensor_list = false, number_list = false;
  std::vector<double> defaults;  // of the numbers that are no list; NaN where there is none

  explicit bt_op(const baretile::capi::Row& row);
};

namespace baretile::capi {

const std::vector<bt_op>& operations();
// `given` and `numbers` as bt_apply gets them. UsageError when they do not match the signature.
Tensor apply(const bt_op& op, std::vector<Tensor> given, std::vector<double> numbers);

}  // namespace baretile::capi
