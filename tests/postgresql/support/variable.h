#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace doclock::postgresql_test {

/// A variable of the environment, as it was before at the end.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    Set(value);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { before_ ? Set(*before_) : Unset(); }
  void Set(const std::string& value) { ::setenv(name_, value.c_str(), 1); }
  void Unset() { ::unsetenv(name_); }

 private:
  const char* const name_;
  std::optional<std::string> before_;
};

}  // namespace doclock::postgresql_test
