// CPU seconds of this process: the machine may be shared, so wall time says less.
#pragma once
#include <sys/resource.h>

namespace baretile::bench {

inline double cpu_seconds(int who = RUSAGE_SELF) {
  rusage usage{};
  getrusage(who, &usage);
  return double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + 1e-6 * double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

}  // namespace baretile::bench
