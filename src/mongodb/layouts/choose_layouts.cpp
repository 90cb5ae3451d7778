#include "mongodb/layouts/choose_layouts.h"

#include <bson/bson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string_view>

#include "document/collection.h"
#include "mongodb/layouts/document_lock.h"
#include "mongodb/layouts/pessimistic_lock.h"

namespace doclock::mongodb {
namespace {

constexpr std::string_view kOption = "doclockLayout=";

/// Never destroyed, as no layout is: stores may be used while the process ends.
const auto& Known() {
  static const auto& known = *new std::array<const Layout*, 3>{&DistributedLock(), &MongoLock(),
                                                               new PessimisticLockLayout};
  return known;
}

/// "mongolocks", or with the longest duration of a lock of theirs, "mongolocks-90"; null: it is
/// neither.
const Layout* FindDocumentLock(std::string_view name) {
  constexpr std::string_view kName = "mongolocks", kMinute = "60";
  constexpr int kDay = 24 * 3600;
  if (!name.starts_with(kName)) return nullptr;
  std::string_view rest = name.substr(kName.size());
  if (!rest.empty() && !rest.starts_with('-')) return nullptr;
  rest = rest.empty() ? kMinute : rest.substr(1);
  int seconds = 0;
  const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), seconds);
  const bool whole = read.ec == std::errc() && read.ptr == rest.data() + rest.size();
  if (!whole || seconds < 1 || seconds > kDay) return nullptr;
  static std::mutex mutex;
  static auto& layouts = *new std::map<int, DocumentLockLayout>;  // never destroyed, see Known
  const std::lock_guard guard(mutex);
  return &layouts.try_emplace(seconds, std::chrono::seconds(seconds)).first->second;
}

[[noreturn]] void Refuse(std::string text) {
  text += "; the layouts are";
  for (const Layout* const layout : Known()) text += std::string(" ") + layout->name();
  text += " mongolocks mongolocks-SECONDS";
  throw std::invalid_argument("doclock: " + text);
}

[[noreturn]] void RefuseOption() {
  Refuse(
      "the mongodb: URI's option doclockLayout must be COLLECTION:LAYOUT, once for each "
      "collection");
}

void Take(std::string_view value, std::map<std::string, std::string>& named) {
  const std::size_t colon = value.rfind(':');
  if (colon == value.npos || FindLayout(value.substr(colon + 1)) == nullptr) RefuseOption();
  const bool fresh = named.emplace(value.substr(0, colon), value.substr(colon + 1)).second;
  if (!fresh) RefuseOption();
}

}  // namespace

const Layout* FindLayout(std::string_view name) {
  const auto& known = Known();
  const auto found = std::find_if(known.begin(), known.end(),
                                  [&](const Layout* layout) { return name == layout->name(); });
  return found == known.end() ? FindDocumentLock(name) : *found;
}

Layouts LayoutsOf(const std::map<std::string, std::string>& named) {
  Layouts layouts;
  for (const auto& [collection, name] : named) {
    CheckCollectionName(collection);
    const Layout* const layout = FindLayout(name);
    if (layout == nullptr) Refuse("MongodbStoreOptions::layouts names a layout that is not known");
    layouts.emplace(collection, layout);
  }
  return layouts;
}

std::string WithoutLayouts(const std::string& uri, std::map<std::string, std::string>& named) {
  const std::size_t question = uri.find('?');
  if (question == uri.npos) return uri;
  std::string kept = uri.substr(0, question);
  char separator = '?';
  for (std::size_t at = question + 1; at <= uri.size();) {
    const std::size_t end = std::min(uri.find_first_of("&;", at), uri.size());
    const std::string_view item = std::string_view(uri).substr(at, end - at);
    const std::string start(item.substr(0, kOption.size()));
    if (bson_strcasecmp(start.c_str(), kOption.data()) == 0) {  // as with MongoDB's options
      Take(item.substr(kOption.size()), named);
    } else if (!item.empty()) {
      kept += separator;
      kept += item;
      separator = '&';
    }
    at = end + 1;
  }
  return kept;
}

}  // namespace doclock::mongodb
