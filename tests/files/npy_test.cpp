#include "files/npy.h"

#include <gmock/gmock.h>

#include "baretile/error.h"
#include "files/recorded.h"

namespace baretile {
namespace {

using testing::HasSubstr;

std::string complaint_about_array(const std::string& bytes) {
  try {
    read_npy(std::as_bytes(std::span(bytes)), "x.npy");
  } catch (const UsageError& error) {
    return std::string(error.what()).starts_with("x.npy: ") ? error.what() : "names no file";
  }
  return "no error";
}

const std::string kFortran = npy("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }",
                                 "000000000300000001000000040000000200000005000000");

TEST(Npy, ReadsItsThreeVersions) {
  const std::string dictionary = "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }",
                    data = "000000000100000002000000";
  for (const int version : {1, 2, 3}) {
    const std::string bytes = npy(dictionary, data, version, version == 1 ? 118 : 116);
    const NpyArray array = read_npy(std::as_bytes(std::span(bytes)), "x.npy");
    EXPECT_EQ(array.type, "<i4");
    EXPECT_FALSE(array.fortran_order);
    EXPECT_EQ(array.shape, std::vector<u64>{3});
    EXPECT_EQ(array.data.size(), 12u);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(array.data.data()), 12), from_hex(data));
  }
  const NpyArray columns = read_npy(std::as_bytes(std::span(kFortran)), "x.npy");
  EXPECT_TRUE(columns.fortran_order);
  EXPECT_EQ(columns.elements(), 6u);
}

TEST(Npy, WritesTheHeadersThatNumPyWrites) {
  EXPECT_EQ(npy_header("<f4", {2, 3}), npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", ""));
  EXPECT_EQ(npy_header("|b1", {2}), npy("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", ""));
  EXPECT_EQ(npy_header("<f4", {}), npy("{'descr': '<f4', 'fortran_order': False, 'shape': (), }", ""));
}

TEST(Npy, RefusesWhatItDoesNotKnow) {
  const auto of = [](const std::string& dictionary) { return complaint_about_array(npy(dictionary, "00000000")); };
  EXPECT_THAT(complaint_about_array("not an array"), HasSubstr("does not begin as NumPy's arrays do"));
  EXPECT_THAT(of("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }"), HasSubstr("big-endian"));
  EXPECT_THAT(of("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }"), HasSubstr("records"));
  EXPECT_THAT(of("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"), HasSubstr("'|O'"));
  EXPECT_THAT(of("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }"), HasSubstr("'<c8'"));
  EXPECT_THAT(of("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"),
              HasSubstr("its shape takes 8 bytes, and 4 are there"));
  EXPECT_THAT(of("{'descr': '<f4', 'fortran_order': False, 'shape': (), } "), HasSubstr("no error"));
  EXPECT_THAT(of("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }"),
              HasSubstr("more than 2^64 bytes"));
  EXPECT_THAT(of("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }"),
              HasSubstr("beyond 64 bits"));
  EXPECT_THAT(of("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }"), HasSubstr("whole numbers"));
  EXPECT_THAT(of("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,), }"), HasSubstr("neither True nor False"));
  EXPECT_THAT(of("{'descr': '<f4', 'shape': (1,), }"), HasSubstr("lacks one of"));
  EXPECT_THAT(of("{'descr': '<f4', 'shape': (1,), 'x': 1, }"), HasSubstr("the entry 'x'"));
  EXPECT_THAT(of("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), } x"), HasSubstr("more than a dictionary"));
  for (const char* broken :
       {"", "{", "[]", "{'descr", "{'descr': ", "{'descr': '<f4' 'shape': ()}", "{'shape': (1 2)}"})
    EXPECT_NE(of(broken), "no error") << broken;
}

TEST(Npy, RefusesHeadersThatAreTooLong) {
  std::string bytes = kFortran;
  bytes[8] = bytes[9] = char(0xFF);
  EXPECT_THAT(complaint_about_array(bytes), HasSubstr("the header claims 65535 bytes of 142"));
  bytes[6] = 2, bytes[10] = bytes[11] = char(0xFF);
  EXPECT_THAT(complaint_about_array(bytes), HasSubstr("the header claims 4294967295 bytes"));
  bytes[6] = 4;
  EXPECT_THAT(complaint_about_array(bytes), HasSubstr("version 4.0"));
}

TEST(Npy, RefusesAFileCutAnywhereAndSurvivesAnyByte) {
  for (size_t size = 0; size < kFortran.size(); ++size)
    ASSERT_NE(complaint_about_array(kFortran.substr(0, size)), "no error");
  for (size_t at = 0; at < kFortran.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string bytes = kFortran;
      bytes[at] = char(byte);
      ASSERT_NE(complaint_about_array(bytes), "names no file") << at << " " << byte;
    }
  }
}

}  // namespace
}  // namespace baretile
