#include "cli/json/check_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <vector>

#include "document/json/exact_json.h"
#include "document/values/utf8.h"

namespace doclock::cli {
namespace {

using nlohmann::json;

/// The column counts characters. A text of one line has no line number.
std::string PlaceIn(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  const std::size_t start = before.rfind('\n') + 1;  // 0 on the first line
  const auto column = std::count_if(before.begin() + static_cast<std::ptrdiff_t>(start),
                                    before.end(), [](char c) { return (c & 0xC0) != 0x80; });
  std::string place = "column " + std::to_string(column + 1);
  if (text.find('\n') == text.npos) return place;
  const auto lines = std::count(before.begin(), before.end(), '\n');
  return "line " + std::to_string(lines + 1) + ", " + place;
}

/// `read`: so many bytes have been read.
std::string WhyNoJson(std::string_view text, std::size_t read, const json::exception& error) {
  if (read > text.size()) return "it ends too early";
  const char last = text[read - 1];
  const bool ascii = static_cast<unsigned char>(last) < 0x80;
  const bool no_utf8 = std::string_view(error.what()).find("UTF-8") != std::string_view::npos;
  if (no_utf8 || (!ascii && !detail::IsUtf8(text))) return "it is not in UTF-8";
  const bool shown = last >= ' ' && last <= '~';
  return (shown ? std::string("'") + last + "'" : "a character") + " was not expected";
}

/// Reads a text without keeping it. Each answer says whether to go on.
class FaultSearch final : public nlohmann::json_sax<json> {
 public:
  explicit FaultSearch(std::string_view text) : text_(text) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override {
    names_.emplace_back();
    return true;
  }
  bool key(string_t& name) override {
    if (names_.back().insert(name).second) return true;
    fault = "this JSON cannot be stored: two members of one object have the name '" +
            name.substr(0, kShown) + "'";
    return false;
  }
  bool end_object() override {
    names_.pop_back();
    return true;
  }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t read, const std::string&, const json::exception& error) override {
    fault = "this is not valid JSON: " + WhyNoJson(text_, read, error) + ", at " +
            PlaceIn(text_, std::max<std::size_t>(read, 1) - 1);
    return false;
  }

  std::string fault;

 private:
  static constexpr std::size_t kShown = 40;
  const std::string_view text_;
  std::vector<std::set<std::string>> names_;
};

}  // namespace

std::string FaultIn(const std::string& text) {
  std::vector<std::string> replaced;
  const std::string within = detail::WithinRange(text, replaced);
  FaultSearch search(within);
  json::sax_parse(within, &search);
  // The parser takes NUL for the end of the text.
  const std::size_t nul = text.find('\0');
  if (!search.fault.empty() || nul == text.npos) return search.fault;
  return "this is not valid JSON: a NUL byte was not expected, at " + PlaceIn(text, nul);
}

}  // namespace doclock::cli
