#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/output/messages.h"
#include "cli/store/search.h"
#include "doclock/detail/facade.h"

namespace doclock::cli {
namespace {

using nlohmann::json;

// LockingRepository reads each body, and this shows also keys of those that cannot be read. So it
// goes to the layer below.

Body BodyOf(const QueryRow& row, const std::string& collection) {
  try {
    const json& tree = detail::TreeOf(row.body);  // throws if the body cannot be read
    return row.body ? row.body : Body::FromJson(tree);
  } catch (const DocumentException& error) {
    throw DocumentException("document '" + row.key.ToString() + "' of '" + collection +
                                "' cannot be read: " + error.what(),
                            std::make_shared<const DocumentId>(collection, row.key));
  }
}

std::string HowToGoOn(const Filter& filter, const std::optional<Key>& last) {
  if (!filter.order().empty()) return "the output is not complete";
  const KeyText key = TextOf(*last);
  return "the output is not complete: go on with --after " + ShellWord(key.text) +
         (key.type == KeyText{}.type ? "" : " --key-type " + key.type);
}

}  // namespace

void ForEachDocument(const LockManager& manager, const SearchOptions& options,
                     const std::function<bool(const DocumentLine&)>& sink,
                     const std::function<bool(const DocumentException&)>& unreadable) {
  const auto binding = detail::Bind(manager, options.collection, {}, {});
  const Filter filter = FilterOf(options);
  std::optional<Key> last;
  const auto show = [&](QueryRow&& row) {
    Body body;
    try {
      body = BodyOf(row, options.collection);
    } catch (const DocumentException& error) {
      if (!unreadable) throw;
      return unreadable(error);
    }
    return sink({std::move(row.key), row.version, row.locked, std::move(body), row.left_out});
  };
  const auto show_and_remember = [&](QueryRow&& row) {
    Key key = row.key;
    const bool more = show(std::move(row));
    last = std::move(key);
    return more;
  };
  try {
    detail::Query(binding->engine, *binding->collection, filter, show_and_remember);
  } catch (const StoreException& error) {
    if (!last) throw;
    throw Unfinished(std::string(error.what()) + "; " + HowToGoOn(filter, last));
  }
}

}  // namespace doclock::cli
