/// Names the member of a document that could not be read.

#include <algorithm>
#include <array>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "doclock/detail/facade.h"
#include "doclock/json/value_error.h"
#include "engine/calls/failure.h"
#include "engine/engine.h"

namespace doclock::detail {
namespace {

using nlohmann::json;

/// A caught exception.
struct Caught {
  std::string text;
  const void* value = nullptr;  ///< What a JsonValueError is about.
};

/// Inside a catch block. The text is without the body that it may quote.
Caught TellCaught() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const JsonValueError& error) {
    return {error.what(), error.value()};
  } catch (const std::exception& error) {
    return {error.what()};
  } catch (...) {
    return {"an exception of an unknown type"};
  }
}

/// The text of what `read` throws; empty if it reads the tree.
std::string ErrorOf(const Reading& read, const json& tree) {
  try {
    read(tree);
    return {};
  } catch (...) {
    return TellCaught().text;
  }
}

/// `text`, which ends with the type of `value`, for another value. Empty: it does not.
std::string Retold(const std::string& text, const json& value, const json& other) {
  const std::string type = value.type_name();
  if (!text.ends_with(' ' + type)) return {};
  return text.substr(0, text.size() - type.size()) + other.type_name();
}

/// Searches a tree for the value that could not be read.
class Search {
 public:
  Search(const json& tree, const Reading& read, const Caught& caught)
      : tree_(tree), read_(read), caught_(caught) {}

  /// The path to it, as in `doc.f[2]`. Empty: unknown, or the whole tree.
  std::string Run() {
    if (caught_.value != nullptr &&
        Visit(tree_, [&](const json& at) { return &at == caught_.value; })) {
      return path_;
    }
    // Each attempt reads the whole tree.
    constexpr std::size_t kMostValues = 1'000'000, kMostReads = 200;
    std::size_t values = 0;
    Visit(tree_, [&](const json&) { return ++values == kMostValues; });
    reads_left_ = std::min(kMostReads, kMostValues / values);
    path_.clear();
    copy_ = tree_;
    return Visit(copy_, [&](json& at) { return IsRefused(at); }) ? path_ : "";
  }

 private:
  /// Parents first; `path_` leads to the value for which `found` is true.
  template <class Json, class Found>
  bool Visit(Json& at, const Found& found) {
    if (found(at)) return true;
    if (!at.is_structured()) return false;
    const std::size_t length = path_.size();
    std::size_t index = 0;
    for (auto member = at.begin(); member != at.end(); ++member, ++index) {
      path_ += at.is_array() ? '[' + std::to_string(index) + ']'
                             : (path_.empty() ? "" : ".") + member.key();
      if (Visit(*member, found)) return true;
      path_.resize(length);
    }
    return false;
  }

  /// nlohmann/json names the type that it met, not the member. So if another type in this place
  /// becomes the type in the text, it is this value that is refused. No name is taken out, and no
  /// array or object changed: a reader may rely on what it asked for.
  bool IsRefused(json& at) {
    const std::array<json, 5> others{true, 1, "?", nullptr, json::array({true})};
    for (const json& other : others) {
      if (other.type_name() == std::string(at.type_name())) continue;
      if (other.is_array() && at.is_structured()) continue;
      const std::string expected = Retold(caught_.text, at, other);
      if (expected.empty() || reads_left_ == 0) return false;
      --reads_left_;
      const json original = std::exchange(at, other);
      const std::string text = ErrorOf(read_, copy_);
      at = original;
      if (text == expected) return true;
    }
    return false;
  }

  const json& tree_;
  const Reading& read_;
  const Caught& caught_;
  std::size_t reads_left_ = 0;
  std::string path_;
  json copy_;
};

}  // namespace

void ThrowUnreadable(const Collection& collection, const Key& key, const json* tree,
                     const Reading& read) {
  const Caught caught = TellCaught();
  const std::string path = tree == nullptr ? "" : Search(*tree, read, caught).Run();
  throw DocumentException(Describe(collection, key) + " cannot be read: " +
                              (path.empty() ? "" : "the member '" + path + "': ") + caught.text,
                          NameOf(collection, key));
}

}  // namespace doclock::detail
