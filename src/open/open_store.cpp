#include "doclock/open_store.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "open/built_in_schemes.h"

namespace doclock {
namespace {

bool IsLower(char c) noexcept { return c >= 'a' && c <= 'z'; }

bool MayFollow(char c) noexcept {
  return IsLower(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
}

bool IsScheme(std::string_view text) noexcept {
  return !text.empty() && IsLower(text.front()) && std::ranges::all_of(text, MayFollow);
}

/// Which opener a URL's scheme belongs to.
class SchemeTable {
 public:
  SchemeTable() {
    for (const BuiltInScheme& one : BuiltInSchemes()) {
      entries_.emplace(one.scheme, Entry{std::string(one.example), one.open});
    }
  }

  /// Returns true if the opener was added; false if the scheme has one already.
  [[nodiscard]] bool Add(std::string scheme, StoreOpener opener) {
    const std::lock_guard lock(mutex_);
    Entry entry{scheme + ":", std::move(opener)};
    return entries_.emplace(std::move(scheme), std::move(entry)).second;
  }

  /// Empty: there is none. A copy, to be called without the mutex.
  [[nodiscard]] StoreOpener Find(std::string_view url) const {
    const std::size_t colon = url.find(':');
    if (colon == url.npos) return nullptr;
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(url.substr(0, colon));
    return found == entries_.end() ? nullptr : found->second.opener;
  }

  [[nodiscard]] std::string Examples() const {
    const std::lock_guard lock(mutex_);
    std::string text;
    for (const auto& [scheme, entry] : entries_) text += (text.empty() ? "" : ", ") + entry.example;
    return text;
  }

 private:
  struct Entry {
    std::string example;
    StoreOpener opener;
  };

  mutable std::mutex mutex_;
  std::map<std::string, Entry, std::less<>> entries_;
};

/// Made at the first use, which may be before main, and never destroyed: the last may be after it.
SchemeTable& Schemes() {
  static auto* const table = new SchemeTable;
  return *table;
}

}  // namespace

std::shared_ptr<Store> OpenStore(std::string_view url) {
  return OpenStore(url, OpenMode::kAsTheUrlSays);
}

std::shared_ptr<Store> OpenStore(std::string_view url, OpenMode mode) {
  if (const StoreOpener opener = Schemes().Find(url)) return opener(url, mode);
  throw std::invalid_argument("doclock: the URL's scheme is not known; there are " +
                              Schemes().Examples() + "; others are not part of this build");
}

void RegisterScheme(std::string scheme, StoreOpener opener) {
  if (!IsScheme(scheme)) {
    throw std::invalid_argument(
        "doclock: a URL scheme is a lower-case letter, then lower-case letters, digits, '+', '-' "
        "or '.'");
  }
  if (!opener) throw std::invalid_argument("doclock: the scheme " + scheme + " needs an opener");
  if (!Schemes().Add(scheme, std::move(opener))) {
    throw std::invalid_argument("doclock: the scheme " + scheme + " has an opener already");
  }
}

}  // namespace doclock
