#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace doclock::test {

/// libfaketime, where Debian and others put it.
inline std::optional<std::string> FakeTimeLibrary() {
  for (const char* folder :
       {"/usr/lib/x86_64-linux-gnu/faketime", "/usr/lib/aarch64-linux-gnu/faketime",
        "/usr/lib/faketime", "/usr/lib64/faketime", "/usr/local/lib/faketime"}) {
    const std::string file = std::string(folder) + "/libfaketimeMT.so.1";
    if (std::filesystem::exists(file)) return file;
  }
  return std::nullopt;
}

/// The environment of a program whose wall clock is off by so much, as "+1d". Its monotonic clock
/// is right.
inline std::vector<std::string> FakeTime(const std::string& library, const std::string& offset,
                                         const std::string& more) {
  return {"LD_PRELOAD=" + library, "FAKETIME=" + offset, "FAKETIME_DONT_FAKE_MONOTONIC=1", more};
}

}  // namespace doclock::test
