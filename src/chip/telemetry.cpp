#include "chip/arc.h"

namespace baretile {
namespace {

struct TagName {
  u32 tag;
  std::string_view name;
};

// src: tt-umd's telemetry tags for Blackhole, and tt-kmd where it uses one.
constexpr TagName kTagNames[] = {
    {1, "board id, high word"},
    {2, "board id, low word"},
    {3, "ASIC id"},
    {4, "harvesting state"},
    {5, "update speed"},
    {6, "VCORE, mV"},
    {7, "TDP, W"},
    {8, "TDC, A"},
    {9, "VDD limits"},
    {10, "shutdown temperature limit"},
    {11, "ASIC temperature, 1/65536 C"},
    {12, "regulator temperature"},
    {13, "board temperature, 1/65536 C"},
    {14, "AI clock, MHz"},
    {15, "AXI clock, MHz"},
    {16, "ARC clock, MHz"},
    {17, "L2CPU clock, MHz"},
    {18, "L2CPU clock, MHz"},
    {19, "L2CPU clock, MHz"},
    {20, "L2CPU clock, MHz"},
    {21, "Ethernet live status"},
    {22, "GDDR status"},
    {23, "GDDR speed"},
    {24, "Ethernet firmware"},
    {25, "GDDR firmware"},
    {26, "management app firmware"},
    {27, "management bootloader firmware"},
    {28, "firmware bundle"},
    {29, "chip management firmware"},
    {30, "L2CPU firmware"},
    {31, "fan speed, %"},
    {32, "timer heartbeat"},
    {34, "live Tensix columns"},
    {35, "live Ethernet tiles"},
    {36, "live GDDR banks"},
    {37, "live L2CPUs"},
    {38, "PCIe usage"},
    {40, "NoC translation"},
    {41, "fan speed, rpm"},
    {42, "GDDR temperatures"},
    {43, "GDDR temperatures"},
    {44, "GDDR temperatures"},
    {45, "GDDR temperatures"},
    {46, "GDDR corrected errors"},
    {47, "GDDR corrected errors"},
    {48, "GDDR corrected errors"},
    {49, "GDDR corrected errors"},
    {50, "GDDR uncorrected errors"},
    {52, "ASIC location"},
    {53, "board power limit, W"},
    {54, "input power, W"},
    {55, "TDC limit, A"},
    {56, "thermal throttle limit"},
    {60, "thermal trips"},
    {63, "AI clock limit, MHz"},
    {64, "TDP limit, W"},
};

}  // namespace

std::string_view telemetry_name(u32 tag) {
  const auto found =
      std::find_if(std::begin(kTagNames), std::end(kTagNames), [tag](const TagName& row) { return row.tag == tag; });
  return found == std::end(kTagNames) ? "unknown" : found->name;
}

}  // namespace baretile
