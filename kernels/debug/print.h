// Looking into a running kernel, when it is built with BARETILE_DEBUG; without, all of this is no code at all.
//   bt_print("item {} of {}, {:#x}", item, count, address);   // any core; {fmt}'s format specifications
//   bt_assert(item < count, item, count);  // stops the program, with an error of file, line, tile, core and values
#pragma once
#include "baretile/abi.h"
#include "baretile/isa/mmio.h"
#include "baretile/isa/noc.h"

#ifndef BARETILE_DEBUG
#define bt_print(...) ((void)0)
#define bt_assert(...) ((void)0)
#define bt_mark() ((void)0)
#else

namespace baretile::kernel {

// The core's own state, to which the firmware points tp.
inline volatile abi::CoreDebug& core_debug() {
  volatile abi::CoreDebug* state;
  asm("mv %0, tp" : "=r"(state));
  return *state;
}

// What the host knows of a place that logs. It stays in the linked file, in a section that is not loaded.
template <u32 file_chars, u32 text_chars>
struct Site {
  u32 id, bytes = sizeof(Site), line;
  char file[file_chars] = {}, text[text_chars] = {};
  constexpr Site(u32 id_, u32 line_, const char (&file_)[file_chars], const char (&text_)[text_chars])
      : id(id_), line(line_) {
    for (u32 i = 0; i < file_chars; ++i) file[i] = file_[i];
    for (u32 i = 0; i < text_chars; ++i) text[i] = text_[i];
  }
};

enum class ValueType : u32 { unsigned_, signed_, float_ };
constexpr ValueType value_type(float) { return ValueType::float_; }
template <class T>
constexpr ValueType value_type(T) {
  static_assert(sizeof(T) <= 4, "bt_print and bt_assert take values of up to four bytes");
  return T(-1) < T(0) ? ValueType::signed_ : ValueType::unsigned_;
}
inline u32 word_of(float value) { return __builtin_bit_cast(u32, value); }
template <class T>
u32 word_of(T value) {
  return u32(value);
}

// A record: id | number of values << 16 | type of each << 20 + 2 i, and the values.
template <class... T>
inline void write_record(volatile abi::CoreDebug& state, u32 id, T... values) {
  static_assert(sizeof...(T) <= 6 && 4 + 4 * sizeof...(T) <= abi::kMostRecordBytes, "six values at most");
  auto to = reinterpret_cast<volatile u32*>(state.next);
  u32 head = id | u32(sizeof...(T)) << 16, shift = 20;
  ((head |= u32(value_type(values)) << shift, shift += 2), ...);
  *to++ = head;
  ((*to = word_of(values), ++to), ...);
  state.next = reinterpret_cast<u32>(to);
}

template <class... T>
inline void print(u32 id, T... values) {
  volatile abi::CoreDebug& state = core_debug();
  if (state.next < state.end)
    write_record(state, id, values...);
  else
    state.dropped = state.dropped + 1;
}

// Through the firmware's command buffer, which it needs no more: this launch does not end.
template <class... T>
[[noreturn]] inline void fail(u32 id, T... values) {
  volatile abi::CoreDebug& state = core_debug();
  state.failed = state.next;  // before the record is there: the host may read the log at any time, and it is no print
  write_record(state, id, values...);
  asm volatile("fence" ::: "memory");
  constexpr u32 kBuffer = isa::kNiuBase + abi::kFirmwareCommandBuffer * isa::kNiuCommandStride;
  *reinterpret_cast<volatile u32*>(kBuffer + isa::kNiuTargLo) =
      abi::kQueueControl + offsetof(abi::QueueControl, failed);
  *reinterpret_cast<volatile u32*>(kBuffer + isa::kNiuCmd) = 1;
  for (;;) asm volatile("fence" ::: "memory");
}

// How many values a format takes.
template <u32 chars>
constexpr u32 fields(const char (&format)[chars]) {
  u32 count = 0;
  for (u32 i = 0; i + 1 < chars; ++i) {
    if (format[i] == '{' && format[i + 1] == '{')
      ++i;
    else
      count += format[i] == '{';
  }
  return count;
}
template <u32 count>
struct Arity {
  static constexpr u32 value = count;
};
template <class... T>
Arity<sizeof...(T)> arity(const T&...);  // for decltype

}  // namespace baretile::kernel

#define BT_SITE(number, text)                                                                                  \
  [[gnu::section(".bt_sites"), gnu::used]] static constexpr ::baretile::kernel::Site bt_site(number, __LINE__, \
                                                                                             __FILE__, text)

#define bt_print(format, ...) BT_PRINT(__COUNTER__, format __VA_OPT__(, ) __VA_ARGS__)
#define BT_PRINT(number, format, ...)                                                                            \
  do {                                                                                                           \
    static_assert(::baretile::kernel::fields(format) == decltype(::baretile::kernel::arity(__VA_ARGS__))::value, \
                  "bt_print: as many values as {} in the format");                                               \
    BT_SITE(number, format);                                                                                     \
    ::baretile::kernel::print(number __VA_OPT__(, ) __VA_ARGS__);                                                \
  } while (0)

// The text is the condition, and after it the names of the values.
#define bt_assert(condition, ...) \
  BT_ASSERT(__COUNTER__, #condition, condition, "" #__VA_ARGS__ __VA_OPT__(, ) __VA_ARGS__)
#define BT_ASSERT(number, text, condition, names, ...)             \
  do {                                                             \
    if (!(condition)) [[unlikely]] {                               \
      BT_SITE(number, "bt_assert(" text ")\0" names);              \
      ::baretile::kernel::fail(number __VA_OPT__(, ) __VA_ARGS__); \
    }                                                              \
  } while (0)

// Notes where the core is, for the watchdog; put before what may wait.
#define bt_mark() asm volatile("auipc t6, 0\n\tsw t6, 0(tp)" ::: "t6", "memory")

#endif
