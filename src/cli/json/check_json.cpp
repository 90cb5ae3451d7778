#include "cli/json/check_json.h"

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

namespace doclock::cli {
namespace {

using nlohmann::json;

/// Reads a text without keeping it. Each answer says whether to go on.
class LossSearch final : public nlohmann::json_sax<json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t& text) override {
    if (text.find_first_of(".eE") != text.npos) return true;
    loss = "the whole number " + text.substr(0, kShown) + " is beyond 64 bits";
    return false;
  }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override {
    names_.emplace_back();
    return true;
  }
  bool key(string_t& name) override {
    if (names_.back().insert(name).second) return true;
    loss = "two members of one object have the name '" + name.substr(0, kShown) + "'";
    return false;
  }
  bool end_object() override {
    names_.pop_back();
    return true;
  }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&, const json::exception&) override {
    return false;
  }

  std::string loss;

 private:
  static constexpr std::size_t kShown = 40;
  std::vector<std::set<std::string>> names_;
};

}  // namespace

std::string LossIn(const std::string& text) {
  LossSearch search;
  json::sax_parse(text, &search);
  return search.loss;
}

}  // namespace doclock::cli
