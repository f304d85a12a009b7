// Host memory that a card may reach: locked pages, contiguous ones (huge pages) where no IOMMU gathers them.
#pragma once
#include "pci/sys.h"

namespace baretile::pci {

class HostPages {
 public:
  // A huge page when `bytes` needs more than a small one and the system has any reserved; otherwise ordinary pages.
  HostPages(const Sys& sys, size_t bytes);
  ~HostPages();
  HostPages(const HostPages&) = delete;

  std::span<std::byte> bytes() const { return {data_, bytes_}; }
  // Of the first byte; SystemError unless the pages lie one after another there. Needs root.
  u64 physical_address() const;

 private:
  const Sys& sys_;
  std::byte* data_ = nullptr;
  size_t bytes_;
};

}  // namespace baretile::pci
