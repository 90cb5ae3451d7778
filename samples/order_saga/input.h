#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "saga.h"

namespace order_saga {

/// The input cannot be used; the text names every bad line.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Makes a saga of every line. @throws InputError
std::vector<Saga> ReadSagas(const std::filesystem::path& file);

}  // namespace order_saga
