#include "input.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>

namespace order_saga {
namespace {

using nlohmann::json;

constexpr int kMostComplaints = 20;
constexpr std::size_t kLongestComplaint = 200;

/// A complaint quotes the input, which may hold anything, and may be long.
std::string Printable(std::string text) {
  if (text.size() > kLongestComplaint) text = text.substr(0, kLongestComplaint) + "...";
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c >= 0 && c < ' '; }, '?');
  return text;
}

/// Finds what would not come through a JSON library unchanged: it would be lost or rounded without
/// a word, and the audit could not see it.
class ExactnessCheck : public json::json_sax_t {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(std::int64_t) override { return true; }
  bool number_unsigned(std::uint64_t value) override {
    return value <= std::numeric_limits<std::int64_t>::max() || RefuseNumber(std::to_string(value));
  }
  bool number_float(double, const std::string& text) override {
    return text.find_first_of(".eE") != text.npos || RefuseNumber(text);
  }
  bool string(std::string&) override { return true; }
  bool binary(json::binary_t&) override { return true; }
  bool start_object(std::size_t) override {
    names_.emplace_back();
    return Enter();
  }
  bool key(std::string& name) override {
    return names_.back().insert(name).second || Refuse("has the name \"" + name + "\" twice");
  }
  bool end_object() override {
    names_.pop_back();
    return Leave();
  }
  bool start_array(std::size_t) override { return Enter(); }
  bool end_array() override { return Leave(); }
  bool parse_error(std::size_t, const std::string&, const json::exception& error) override {
    return Refuse(std::string("is not JSON: ") + error.what());
  }

  /// The error; empty if there is none.
  [[nodiscard]] const std::string& complaint() const { return complaint_; }

 private:
  /// Within a saga, all of the payload is one level deeper than it is by itself.
  bool Enter() { return ++depth_ < doclock::kMaxBodyDepth || Refuse("is nested too deep"); }
  bool Leave() {
    --depth_;
    return true;
  }
  bool RefuseNumber(const std::string& text) {
    return Refuse("has a whole number that does not fit in 64 bits with sign: " + text);
  }
  bool Refuse(std::string complaint) {
    complaint_ = std::move(complaint);
    return false;
  }

  int depth_ = 0;
  std::vector<std::set<std::string>> names_;
  std::string complaint_;
};

/// Reads sagas one by one, and tries each on a store in memory, which accepts what all stores do.
class SagaReader {
 public:
  SagaReader() : manager_(doclock::OpenMemoryStore()), rehearsal_(manager_, "sagas") {}

  /// @throws InputError
  Saga Read(const std::string& text, int line) {
    ExactnessCheck check;
    json::sax_parse(text, &check);
    if (!check.complaint().empty()) throw InputError(check.complaint());
    // The parser takes NUL for the end of the text.
    if (text.find('\0') != text.npos) throw InputError("holds a NUL byte");
    Saga saga;
    saga.id = "line " + std::to_string(line);
    saga.payload = json::parse(text);
    if (!saga.payload.is_object()) {
      throw InputError(std::string("is not an object but ") + saga.payload.type_name());
    }
    try {
      rehearsal_.Insert(saga);
    } catch (const doclock::DocumentException& error) {
      throw InputError(std::string("cannot be stored: ") + error.what());
    }
    return saga;
  }

 private:
  doclock::LockManager manager_;
  SagaRepository rehearsal_;
};

}  // namespace

std::vector<Saga> ReadSagas(const std::filesystem::path& file) {
  std::ifstream in(file);
  SagaReader reader;
  std::vector<Saga> sagas;
  std::ostringstream complaints;
  int bad = 0;
  int line = 0;
  for (std::string text; std::getline(in, text);) {
    ++line;
    if (text.find_first_not_of(" \t\r") == text.npos) continue;
    try {
      sagas.push_back(reader.Read(text, line));
    } catch (const InputError& error) {
      if (++bad <= kMostComplaints)
        complaints << "\n  line " << line << ' ' << Printable(error.what());
    }
  }
  if (!in.eof()) throw InputError(file.string() + " cannot be read");
  if (bad > kMostComplaints) complaints << "\n  and " << bad - kMostComplaints << " more";
  if (bad > 0) throw InputError(file.string() + " has bad lines:" + complaints.str());
  if (sagas.empty()) throw InputError(file.string() + " holds no orders");
  return sagas;
}

}  // namespace order_saga
