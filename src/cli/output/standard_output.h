#pragma once

#include <ios>
#include <streambuf>

namespace doclock::cli {

/// Stands between std::cout and standard output for as long as it lives, and keeps the errno of the
/// first failure, which the stream forgets.
class StandardOutput : std::streambuf {
 public:
  StandardOutput();
  StandardOutput(const StandardOutput&) = delete;
  StandardOutput& operator=(const StandardOutput&) = delete;
  ~StandardOutput() override;

  /// 0: nothing failed, or nobody said why.
  [[nodiscard]] int error() const noexcept { return error_; }

 protected:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int sync() override;

 private:
  void Note(bool failed) noexcept;

  std::streambuf* const real_;
  int error_ = 0;
};

}  // namespace doclock::cli
