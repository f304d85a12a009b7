// A recording as a page for people, and as a trace for Perfetto or Chrome (ui.perfetto.dev, chrome://tracing).
#pragma once
#include "explain/recorder.h"

namespace baretile::viz {

// One HTML file that needs nothing else. Kernels and graphs are compressed one by one and opened by the page when they
// are looked at.
std::string to_html(const Recording& recording);

std::string to_chrome_trace(const Recording& recording);

}  // namespace baretile::viz
