#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/store/search.h"
#include "doclock/locking_repository.h"

namespace doclock::cli {
namespace {

using nlohmann::json;

/// A slow reader of the output, as a pager, must not end the search.
constexpr std::chrono::hours kSearchTime{24};

json BodyOf(const QueryRow& row, const std::string& collection) {
  try {
    return row.body ? row.body.json() : json::object();
  } catch (const DocumentException& error) {
    throw DocumentException("document '" + row.key.ToString() + "' of '" + collection +
                                "' cannot be read: " + error.what(),
                            row.key);
  }
}

}  // namespace

void ForEachDocument(const LockManager& manager, const SearchOptions& options,
                     const std::function<bool(const DocumentLine&)>& sink,
                     const std::function<bool(const DocumentException&)>& unreadable) {
  const LockingRepository<json> documents(manager, options.collection);
  const std::shared_ptr<Collection> collection = manager.store()->Find(documents.name());
  manager.store()->Query(
      *collection, FilterOf(options),
      [&](QueryRow&& row) {
        json body;
        try {
          body = BodyOf(row, options.collection);
        } catch (const DocumentException& error) {
          if (!unreadable) throw;
          return unreadable(error);
        }
        return sink({std::move(row.key), row.version, row.locked, std::move(body)});
      },
      kSearchTime);
}

}  // namespace doclock::cli
