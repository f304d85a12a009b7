#include "sim/dram.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "sim/fault.h"

namespace baretile::sim {

Mapping::Mapping(size_t bytes) : bytes_(bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    fault(FaultKind::configuration,
          fmt::format("mmap of {} MiB: {}; is address space limited (ulimit -v)?", bytes >> 20, std::strerror(errno)));
  data_ = static_cast<u8*>(memory);
}

Mapping::~Mapping() {
  if (data_) munmap(data_, bytes_);
}

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Dram::Dram() {
  for (Mapping& bank : banks_) bank = Mapping(kDramBankBytes);
}

u8* Dram::at(u32 bank, u64 address, u64 bytes) const {
  if (address >= kDramBankBytes || bytes > kDramBankBytes - address)
    fault(FaultKind::bad_address,
          fmt::format("DRAM bank {}: {} bytes at {:#x} end beyond its 4 GiB", bank, bytes, address));
  return banks_[bank].data() + address;
}

}  // namespace baretile::sim
