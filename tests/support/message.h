// What an error says.
#pragma once
#include <string>

namespace baretile {

// The message of the Exception that `body` throws, or a remark that it threw none.
template <class Exception, class Body>
std::string message_of(Body body) {
  try {
    body();
  } catch (const Exception& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace baretile
