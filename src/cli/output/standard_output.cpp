#include "cli/output/standard_output.h"

#include <cerrno>
#include <iostream>

namespace doclock::cli {

StandardOutput::StandardOutput() : real_(std::cout.rdbuf(this)) {}

StandardOutput::~StandardOutput() {
  const auto state = std::cout.rdstate();
  std::cout.rdbuf(real_);  // clears the state
  std::cout.setstate(state);
}

void StandardOutput::Note(bool failed) noexcept {
  if (failed && error_ == 0) error_ = errno;
}

std::streambuf::int_type StandardOutput::overflow(int_type c) {
  errno = 0;
  const int_type put = real_->sputc(traits_type::to_char_type(c));
  Note(traits_type::eq_int_type(put, traits_type::eof()));
  return put;
}

std::streamsize StandardOutput::xsputn(const char* text, std::streamsize size) {
  errno = 0;
  const std::streamsize put = real_->sputn(text, size);
  Note(put != size);
  return put;
}

int StandardOutput::sync() {
  errno = 0;
  const int result = real_->pubsync();
  Note(result != 0);
  return result;
}

}  // namespace doclock::cli
