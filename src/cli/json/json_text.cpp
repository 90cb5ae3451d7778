#include "cli/json/json_text.h"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "cli/json/check_json.h"
#include "cli/output/messages.h"

namespace doclock::cli {

using nlohmann::json;

json ParseJson(const std::string& text) {
  const std::string fault = FaultIn(text);
  if (!fault.empty()) throw BadJson(fault);
  return json::parse(text);
}

std::string ReadAll(const std::string& file) {
  if (file == "-") {
    return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  }
  std::ifstream stream(file);
  if (!stream || std::filesystem::is_directory(file)) {
    throw std::invalid_argument("FILE: " + Quoted(file) + " cannot be read");
  }
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

}  // namespace doclock::cli
