// Creation, views and moves against plain index arithmetic, in every dtype.
#include "tensor/support.h"

namespace baretile::tensor_test {
namespace {

constexpr DType kAll[] = {DType::boolean, DType::uint32, DType::int32, bf16, fp32};

class Views : public OnDevice {
 protected:
  // Values that a dtype holds exactly, different in neighbours.
  static Array values(const Shape& shape, DType dtype) {
    std::mt19937 random(3);
    return generate(shape, [&](const Shape&) -> double {
      const u32 word = random();
      return dtype == DType::boolean  ? word % 2
             : dtype == DType::uint32 ? word
             : dtype == DType::int32  ? i32(word)
                                      : (int(word % 509) - 254) / 16.0;
    });
  }
};
ON_EACH_DEVICE(Views);

// Elements first, first + step, … of an axis, `count` of them.
Array picked(const Array& x, i64 axis, i64 first, i64 step, i64 count) {
  return generate(with(x.shape, axis, count),
                  [&](const Shape& index) { return x.at(with(index, axis, first + step * index[size_t(axis)])); });
}

Array turned(const Array& x, const std::vector<i64>& axes) {
  Shape shape;
  for (const i64 axis : axes) shape.push_back(x.shape[size_t(axis)]);
  return generate(shape, [&](const Shape& index) {
    Shape source(index.size());
    for (size_t i = 0; i < axes.size(); ++i) source[size_t(axes[i])] = index[i];
    return x.at(source);
  });
}

// The pieces end to end along an axis.
Array joined(const std::vector<Array>& pieces, i64 axis) {
  i64 extent = 0;
  for (const Array& piece : pieces) extent += piece.shape[size_t(axis)];
  return generate(with(pieces[0].shape, axis, extent), [&](const Shape& index) {
    i64 at = index[size_t(axis)];
    for (const Array& piece : pieces) {
      if (at < piece.shape[size_t(axis)]) {
        Shape inside = with(index, axis, at);
        size_t element = 0;
        for (size_t i = 0; i < inside.size(); ++i) element = element * size_t(piece.shape[i]) + size_t(inside[i]);
        return piece.values[element];
      }
      at -= piece.shape[size_t(axis)];
    }
    return 0.0;
  });
}

Array full_of(const Shape& shape, double value) {
  return generate(shape, [&](const Shape&) { return value; });
}

TEST_P(Views, FullOnesAndZerosOfEveryDtype) {
  Cases cases;
  const double kValues[] = {1, 4000000000, -7, 1.5, -0.1};
  for (size_t n = 0; n < std::size(kAll); ++n) {
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{33}, Shape{31, 65}, Shape{7, 1, 5}}) {
      Array want = full_of(shape, kValues[n]);
      if (kAll[n] == fp32) want = map(want, [](double v) { return double(float(v)); });
      cases.add("full", Tensor::full(runtime(), shape, kValues[n], kAll[n]), want);
    }
    cases.add("ones", Tensor::ones(runtime(), {3, 33}, kAll[n]), full_of({3, 33}, 1));
    cases.add("zeros", Tensor::zeros(runtime(), {3, 33}, kAll[n]), full_of({3, 33}, 0));
  }
  cases.check();
}

TEST_P(Views, RangesOfNumbers) {
  Cases cases;
  const auto range = [](double first, double step, i64 count) {
    return generate({count}, [&](const Shape& i) { return first + step * double(i[0]); });
  };
  cases.add("up", Tensor::arange(runtime(), 0, 65), range(0, 1, 65));
  cases.add("by seven", Tensor::arange(runtime(), -10, 90, 7), range(-10, 7, 15));
  cases.add("down", Tensor::arange(runtime(), 5, -5, -3), range(5, -3, 4));
  cases.add("one", Tensor::arange(runtime(), 2147483647, 2147483648), range(2147483647, 1, 1));
  cases.add("unsigned", Tensor::arange(runtime(), 4294967290, 4294967296, 1, DType::uint32), range(4294967290, 1, 6));
  cases.add("unsigned down", Tensor::arange(runtime(), 4294967290, 10, -1e9, DType::uint32),
            range(4294967290, -1e9, 5));
  cases.add("halves", Tensor::arange(runtime(), -1, 32, 0.5, fp32), range(-1, 0.5, 66));
  cases.add("bf16", Tensor::arange(runtime(), 100, 135, 1, bf16), range(100, 1, 35));
  const DType wanted[] = {DType::int32, DType::int32, DType::int32, DType::int32, DType::uint32, DType::uint32};
  for (size_t n = 0; n < std::size(wanted); ++n) EXPECT_EQ(cases.got[n].dtype(), wanted[n]) << cases.named[n].first;
  cases.check();
}

TEST_P(Views, LinspaceIsAsNearAsItsEndsAreAndExactInWholeSteps) {
  Cases cases;
  const auto add = [&](double first, double last, i64 count, double ulp, DType dtype = fp32) {
    cases.add("linspace", Tensor::linspace(runtime(), first, last, count, dtype),
              generate({count},
                       [&](const Shape& i) {
                         return first + (count == 1 ? 0 : (last - first) / double(count - 1)) * double(i[0]);
                       }),
              {0, ulp * 0x1p-24 * std::max(std::fabs(first), std::fabs(last))});
  };
  for (const i64 count : {1, 2, 3, 42, 84, 1000}) add(-0.3f, 17.7f, count, 2);
  add(-3e38f, 3e38f, 11, 2);
  add(-1, 1, 7, 2);
  add(0, 30, 31, 0), add(0, 1, 5, 0), add(100, -28, 129, 0), add(-4, 4, 65, 0);
  add(0, 10, 11, 0, DType::int32), add(-1, 1, 9, 0, bf16);
  const std::vector<Tensor> results(cases.got.begin(), cases.got.begin() + 7);
  cases.check();
  for (const Tensor& x : results) {
    const std::vector<float> got = x.to_host();
    EXPECT_EQ(got.front(), got.size() == 11 ? -3e38f : -0.3f);
    EXPECT_EQ(got.back(), got.size() == 11 ? 3e38f : got.size() > 1 ? 17.7f : -0.3f) << got.size();
  }
}

TEST_P(Views, EyesOfEveryShape) {
  Cases cases;
  for (const auto& [rows, cols] : {std::pair{1, 1}, {33, 33}, {5, 40}, {65, 2}}) {
    const Array want = generate({rows, cols}, [](const Shape& i) { return i[0] == i[1]; });
    cases.add("eye", Tensor::eye(runtime(), rows, cols), want);
  }
  const Array five = generate({5, 5}, [](const Shape& i) { return i[0] == i[1]; });
  for (const DType dtype : kAll) {
    cases.add("eye", Tensor::eye(runtime(), 5, 5, dtype), five);
    EXPECT_EQ(cases.got.back().dtype(), dtype);
  }
  for (const i64 diagonal : {-2, 0, 3}) {
    const Array want = generate({33, 40}, [&](const Shape& i) { return i[1] - i[0] <= diagonal; });
    cases.add("tri", Tensor::tri(runtime(), 33, 40, diagonal), want);
  }
  cases.check();
}

TEST_P(Views, SlicesWithSteps) {
  Cases cases;
  for (const Shape& shape : {Shape{70}, Shape{33, 65}, Shape{5, 1, 31}, Shape{2, 3, 2, 5, 7}}) {
    const Array x = eighths(shape, 1);
    const Tensor input = upload(x);
    for (i64 axis = 0; axis < i64(shape.size()); ++axis) {
      const i64 n = shape[size_t(axis)];
      for (const i64 step : {2, 3, 32}) {
        cases.add("all", input.slice(axis, 0, n, step), picked(x, axis, 0, step, (n + step - 1) / step));
        if (n < 4) continue;
        cases.add("part", input.slice(axis, 1, -1, step), picked(x, axis, 1, step, (n - 2 + step - 1) / step));
        cases.add("back", input.slice(axis, n - 2, 0, -step), picked(x, axis, n - 2, -step, (n - 2 + step - 1) / step));
      }
      cases.add("reversed", input.slice(axis, -1, -n - 1, -1), picked(x, axis, n - 1, -1, n));
      cases.add("last", input.slice(axis, -1, n), picked(x, axis, n - 1, 1, 1));
    }
  }
  cases.check();
}

TEST_P(Views, NegativeStepsCountFromTheEndAsPositiveOnesDo) {
  const Array x = eighths({10}, 1);
  const Tensor input = upload(x);
  Cases cases;
  cases.add("[-1:-4:-1]", input.slice(0, -1, -4, -1), picked(x, 0, 9, -1, 3));
  cases.add("[-2:2:-3]", input.slice(0, -2, 2, -3), picked(x, 0, 8, -3, 2));
  cases.add("[5::-1]", input.slice(0, 5, -11, -1), picked(x, 0, 5, -1, 6));
  cases.check();
}

TEST_P(Views, SlicesWithStepsOfOtherViews) {
  Cases cases;
  const Array x = eighths({6, 33, 35}, 1);
  const Tensor input = upload(x);
  const Array across = turned(x, {0, 2, 1}), outward = turned(x, {2, 0, 1}), back = picked(x, 2, 34, -1, 35);
  for (const i64 step : {2, -2, 5, -7}) {
    for (i64 axis = 0; axis < 3; ++axis) {
      const auto add = [&](const char* name, const Tensor& view, const Array& value) {
        const i64 n = value.shape[size_t(axis)], count = (n + std::abs(step) - 1) / std::abs(step);
        const i64 first = step > 0 ? 0 : n - 1, end = step > 0 ? n : -n - 1;
        cases.add(name, view.slice(axis, first, end, step), picked(value, axis, first, step, count));
      };
      add("transposed", input.transpose(), across);
      add("outward", input.permute({2, 0, 1}), outward);
      add("flipped", input.flip(2), back);
      add("every other", input.slice(2, 0, 35, 2), picked(x, 2, 0, 2, 18));
      add("merged", input.slice(1, 1, 33).reshape({6, 32 * 35, 1}),
          Array{{6, 32 * 35, 1}, picked(x, 1, 1, 1, 32).values});
    }
  }
  cases.check();
}

TEST_P(Views, WordsOfEveryDtypeMoveUnchanged) {
  Cases cases;
  const std::vector<i32> order{4, 0, 0, 3};
  const Tensor index = indices(order);
  for (const DType dtype : kAll) {
    const Array x = values({5, 33}, dtype), row = values({1, 33}, dtype);
    const Tensor input = upload(x, dtype);
    cases.add("stride", input.slice(1, 0, 33, 2), picked(x, 1, 0, 2, 17));
    cases.add("flip", input.flip(0), picked(x, 0, 4, -1, 5));
    cases.add("pad", input.pad(1, 2, 3, 1), joined({full_of({5, 2}, 1), x, full_of({5, 3}, 1)}, 1));
    cases.add("repeat", input.repeat(0, 3), joined({x, x, x}, 0));
    cases.add("concat", concat({input, upload(row, dtype), input}, 0), joined({x, row, x}, 0));
    cases.add("stack", stack({input, input.flip(1)}, 0),
              joined({Array{{1, 5, 33}, x.values}, Array{{1, 5, 33}, picked(x, 1, 32, -1, 33).values}}, 0));
    cases.add("index_select", input.index_select(0, index), generate({4, 33}, [&](const Shape& i) {
                return x.at({order[size_t(i[0])], i[1]});
              }));
    Tensor written = input;
    written.assign(0, 3, upload(row, dtype));
    cases.add("assign", written, joined({picked(x, 0, 0, 1, 3), row, picked(x, 0, 4, 1, 1)}, 0));
    for (const Tensor& result : cases.got) ASSERT_EQ(result.dtype(), dtype);
    cases.check();
  }
}

TEST_P(Views, SplitsAreAllParts) {
  const Array x = eighths({7, 66}, 1);
  const Tensor input = upload(x);
  Cases cases;
  i64 first = 0;
  for (const Tensor& part : input.split(1, {1, 31, 2, 32})) {
    cases.add("columns", part, picked(x, 1, first, 1, part.size(1)));
    first += part.size(1);
  }
  EXPECT_EQ(first, 66);
  const std::vector<Tensor> rows = input.split(-2, {3, 4});
  cases.add("upper", rows[0], picked(x, 0, 0, 1, 3));
  cases.add("lower", rows[1], picked(x, 0, 3, 1, 4));
  cases.check();
}

TEST_P(Views, AxesOfOneComeAndGo) {
  const Array x = eighths({3, 33}, 1);
  const Tensor input = upload(x);
  Cases cases;
  const Shape wants[] = {{1, 3, 33}, {3, 1, 33}, {3, 33, 1}};
  for (i64 axis = 0; axis < 3; ++axis) {
    const Tensor wider = input.unsqueeze(axis);
    cases.add("unsqueeze", wider, {wants[axis], x.values});
    cases.add("unsqueeze from the last", input.unsqueeze(axis - 3), {wants[axis], x.values});
    cases.add("squeeze", (wider * 1).squeeze(axis), x);
    cases.add("squeeze from the last", (wider * 1).squeeze(axis - 3), x);
  }
  cases.add("to none", upload({{1}, {4}}).squeeze(0), {{}, {4}});
  cases.add("from none", upload({{}, {4}}).unsqueeze(0), {{1}, {4}});
  cases.check();
}

TEST_P(Views, PadsAndRepeatsAlongEveryAxis) {
  Cases cases;
  for (const Shape& shape : {Shape{31}, Shape{33, 5}, Shape{2, 3, 32}, Shape{2, 1, 3, 7}}) {
    const Array x = eighths(shape, 1);
    const Tensor input = upload(x);
    for (i64 axis = 0; axis < i64(shape.size()); ++axis) {
      const auto border = [&](i64 extent, double value) { return full_of(with(shape, axis, extent), value); };
      cases.add("pad", input.pad(axis, 1, 32), joined({border(1, 0), x, border(32, 0)}, axis));
      cases.add("pad before", input.pad(axis, 3, 0, -INFINITY), joined({border(3, -INFINITY), x}, axis));
      cases.add("pad behind", input.pad(axis, 0, 1, 2.5), joined({x, border(1, 2.5)}, axis));
      cases.add("no pad", input.pad(axis, 0, 0), x);
      cases.add("repeat", input.repeat(axis, 3), joined({x, x, x}, axis));
      cases.add("once", input.repeat(axis, 1), x);
    }
  }
  cases.check();
}

TEST_P(Views, StacksAlongEveryNewAxis) {
  Cases cases;
  for (const Shape& shape : {Shape{}, Shape{33}, Shape{5, 31}, Shape{2, 3, 4}}) {
    const Array x = eighths(shape, 1), y = eighths(shape, 2);
    for (i64 axis = 0; axis <= i64(shape.size()); ++axis) {
      Shape wider = shape;
      wider.insert(wider.begin() + axis, 1);
      const Array want = joined({Array{wider, x.values}, Array{wider, y.values}}, axis);
      cases.add("stack", stack({upload(x), upload(y)}, axis), want);
      cases.add("stack from the last", stack({upload(x), upload(y)}, axis - i64(shape.size()) - 1), want);
    }
  }
  cases.check();
}

TEST_P(Views, IndexSelectTakesAnyAxis) {
  Cases cases;
  const std::vector<i32> order{1, 1, 0, 2, 1};
  for (const Shape& shape : {Shape{3}, Shape{3, 33}, Shape{33, 3}, Shape{2, 3, 35}, Shape{3, 2, 3, 5}}) {
    const Array x = eighths(shape, 1);
    for (i64 axis = 0; axis < i64(shape.size()); ++axis) {
      if (shape[size_t(axis)] < 3) continue;
      cases.add(fmt::format("axis {} of {}", axis, testing::PrintToString(shape)),
                upload(x).index_select(axis, indices(order)), generate(with(shape, axis, 5), [&](const Shape& i) {
                  return x.at(with(i, axis, order[size_t(i[size_t(axis)])]));
                }));
    }
  }
  cases.check();
}

TEST_P(Views, AssignedTensorsLeaveTheirReadersTheOldValue) {
  for (const i64 axis : {0, 1, 2}) {
    const Array old = eighths({4, 33, 6}, 1), fresh = eighths(with({4, 33, 6}, axis, 2), 2);
    for (const bool realized_before : {false, true}) {
      Tensor x = upload(old), before = x * 2, alias = x;
      if (realized_before) before.realize();
      x.assign(axis, 1, upload(fresh));
      Tensor after = x * 2;
      const i64 n = old.shape[size_t(axis)];
      const Array want = joined({picked(old, axis, 0, 1, 1), fresh, picked(old, axis, 3, 1, n - 3)}, axis);
      Cases cases;
      cases.add("new", x, want);
      cases.add("reader of the new", after, map(want, [](double v) { return v * 2; }));
      cases.add("reader of the old", before, map(old, [](double v) { return v * 2; }));
      cases.add("the old", alias, old);
      cases.check();
    }
  }
  Tensor x = upload(eighths({3}, 1));
  const Array all = eighths({3}, 2);
  x.assign(0, 0, upload(all));
  expect("all of it", x, all);
}

TEST_P(Views, MatmulsOfVectors) {
  const Array v = eighths({33}, 1), w = eighths({33}, 2), m = eighths({33, 5}, 3), b = eighths({2, 3, 33, 5}, 4);
  const auto dot = [](i64 count, auto f) {
    double out = 0;
    for (i64 k = 0; k < count; ++k) out += f(k);
    return out;
  };
  Cases cases;
  cases.add("v w", matmul(upload(v), upload(w)), {{}, {dot(33, [&](i64 k) { return v.at({k}) * w.at({k}); })}});
  cases.add("v m", matmul(upload(v), upload(m)), generate({5}, [&](const Shape& i) {
              return dot(33, [&](i64 k) { return v.at({k}) * m.at({k, i[0]}); });
            }));
  cases.add("m' v", matmul(upload(m).transpose(), upload(v)), generate({5}, [&](const Shape& i) {
              return dot(33, [&](i64 k) { return v.at({k}) * m.at({k, i[0]}); });
            }));
  cases.add("v b", matmul(upload(v), upload(b)), generate({2, 3, 5}, [&](const Shape& i) {
              return dot(33, [&](i64 k) { return v.at({k}) * b.at({i[0], i[1], k, i[2]}); });
            }));
  const Array u = eighths({5}, 5);
  cases.add("b u", matmul(upload(b), upload(u)), generate({2, 3, 33}, [&](const Shape& i) {
              return dot(5, [&](i64 k) { return b.at({i[0], i[1], i[2], k}) * u.at({k}); });
            }));
  cases.add("outer", outer(upload(v), upload(u)),
            generate({33, 5}, [&](const Shape& i) { return v.at({i[0]}) * u.at({i[1]}); }));
  cases.check();
}

// Every assignment of numbers to letters, one term each.
Array einsum_of(const std::string& a, const std::string& b, const std::string& out, const Array& x, const Array& y) {
  std::map<char, i64> extent;
  std::string letters = out;
  const auto read = [&](const std::string& names, const Array& array) {
    for (size_t i = 0; i < names.size(); ++i) {
      extent[names[i]] = array.shape[i];
      if (letters.find(names[i]) == std::string::npos) letters += names[i];
    }
  };
  read(a, x), read(b, y);
  Shape all, shape;
  for (const char letter : letters) all.push_back(extent[letter]);
  for (const char letter : out) shape.push_back(extent[letter]);
  Array result = full_of(shape, 0);
  generate(all, [&](const Shape& index) {
    const auto at = [&](const std::string& names) {
      Shape place;
      for (const char letter : names) place.push_back(index[letters.find(letter)]);
      return place;
    };
    size_t element = 0;
    for (size_t i = 0; i < out.size(); ++i) element = element * size_t(shape[i]) + size_t(index[i]);
    result.values[element] += x.at(at(a)) * (b.empty() && y.shape.empty() ? 1 : y.at(at(b)));
    return 0.0;
  });
  return result;
}

TEST_P(Views, EinsumsOfOneAndTwoOperands) {
  const std::map<char, i64> extent{{'b', 3}, {'h', 2}, {'i', 5}, {'j', 33}, {'k', 4}, {'n', 1}};
  const auto array = [&](const std::string& letters, u32 seed) {
    Shape shape;
    for (const char letter : letters) shape.push_back(extent.at(letter));
    return eighths(shape, seed);
  };
  Cases cases;
  for (const char* formula :
       {"ij,jk->ik", "ij,jk->ki", "bij,bjk->bik", "ibj,jbk->kbi", "bhij,bhkj->bihk", "i,j->ij", "i,i->", "ij,ij->ij",
        "ij,ij->", "ij,j->i", "ij,k->j", "bi,bj->bji", "ij,kj->", "bin,bnk->ibk", "hij,jb->bh", "i,->i", "jbh,hbj->"}) {
    const std::string text = formula;
    const size_t comma = text.find(','), arrow = text.find("->");
    const std::string a = text.substr(0, comma), b = text.substr(comma + 1, arrow - comma - 1),
                      out = text.substr(arrow + 2);
    const Array x = array(a, 1), y = array(b, 2);
    Array want = einsum_of(a, b, out, x, y);
    if (b.empty()) want = map(want, [&](double v) { return v * y.values[0]; });
    cases.add(formula, einsum(formula, {upload(x), upload(y)}), want);
  }
  for (const char* formula : {"ij->ji", "ij->", "ij->i", "bij->jb", "bhi->ihb", "i->i"}) {
    const std::string text = formula;
    const std::string a = text.substr(0, text.find('-')), out = text.substr(text.find('>') + 1);
    const Array x = array(a, 1);
    cases.add(formula, einsum(formula, {upload(x)}), einsum_of(a, "", out, x, {}));
  }
  cases.add("with spaces", einsum("ij , jk -> ik", {upload(array("ij", 1)), upload(array("jk", 2))}),
            einsum_of("ij", "jk", "ik", array("ij", 1), array("jk", 2)));
  cases.check();
}

}  // namespace
}  // namespace baretile::tensor_test
