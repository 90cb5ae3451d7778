#include "mongodb/layouts/layout.h"

#include <bson/bson.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <variant>

#include "document/collection.h"
#include "mongodb/bson/body_codec.h"
#include "mongodb/layouts/document_lock.h"
#include "mongodb/layouts/layout_parts.h"
#include "mongodb/layouts/pessimistic_lock.h"

namespace doclock::mongodb {
namespace {

constexpr std::string_view kOption = "doclockLayout=";

/// All documents of other libraries have this incarnation: theirs tell none.
constexpr Uuid kBorn{{1}};

/// "mongolocks", or with the longest duration of a lock of theirs, "mongolocks-90"; null: it is
/// neither.
std::shared_ptr<const Layout> FindDocumentLock(std::string_view name) {
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
  return std::make_shared<DocumentLockLayout>(std::chrono::seconds(seconds));
}

[[noreturn]] void RefuseName(std::string text) {
  text +=
      "; the layouts are distributedlock mongolock pessimisticlock mongolocks mongolocks-SECONDS";
  throw std::invalid_argument("doclock: " + text);
}

[[noreturn]] void RefuseOption() {
  RefuseName(
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

std::shared_ptr<const Layout> FindLayout(std::string_view name) {
  if (name == "distributedlock") return DistributedLock();
  if (name == "mongolock") return MongoLock();
  if (name == "pessimisticlock") return std::make_shared<PessimisticLockLayout>();
  return FindDocumentLock(name);
}

Layouts LayoutsOf(const std::map<std::string, std::string>& named) {
  Layouts layouts;
  for (const auto& [collection, name] : named) {
    CheckCollectionName(collection);
    const auto layout = FindLayout(name);
    if (!layout) RefuseName("MongodbStoreOptions::layouts names a layout that is not known");
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

std::string RefusalText(const Collection& collection, const char* feature) {
  return "the collection " + collection.name() + " has the layout " + LayoutOf(collection)->name() +
         ", which has no " + feature;
}

void RefuseFeature(const Collection& collection, const char* feature) {
  throw StoreException(Errc::kRefused, "doclock: MongoDB: " + RefusalText(collection, feature));
}

StoredLock ReadLock(const bson_t& doc, const Collection& collection, std::int64_t now) {
  const Layout* const layout = LayoutOf(collection);
  StoredLock lock;
  if (layout != nullptr) {
    static_cast<rules::LockState&>(lock) = layout->Read(doc, now, lock.bad_field);
    lock.born = kBorn;
    bson_concat(lock.seen.get(), &doc);
    return lock;
  }
  lock = ReadStoredLock(doc, collection, now);
  for (const std::string* const field : LockFields(collection.fields())) {
    bson_iter_t value;
    if (FindField(doc, *field, value)) lock.seen.Add(*field, *bson_iter_value(&value));
  }
  return lock;
}

Body ReadBodyOf(const bson_t& doc, const Collection& collection) {
  if (!collection.has_bodies()) return Body::FromText("{}");
  const Layout* const layout = LayoutOf(collection);
  return Body::FromJson(
      ReadBody(doc, layout == nullptr ? collection.fields() : *layout->beside_body()));
}

Key KeyIn(const Layout& layout, const Key& key) {
  const auto* const text = std::get_if<std::string>(&key.value());
  if (layout.beside_body() == nullptr || text == nullptr) return key;
  const std::optional<Uuid> id = UuidIn(*text);
  return id ? Key(*id) : key;
}

}  // namespace doclock::mongodb
