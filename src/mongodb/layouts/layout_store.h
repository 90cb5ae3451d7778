#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "locking/locking_store.h"
#include "mongodb/client/clocks.h"
#include "mongodb/client/server.h"
#include "mongodb/layouts/layout.h"

namespace doclock::mongodb {

/// Collections of other libraries, by name.
using Layouts = std::map<std::string, const Layout*>;

/// The store of those collections: locks by name, and of documents with bodies what the other
/// library does with them. src/locking decides, over a look and a write that is guarded by what the
/// look showed. What a layout cannot promise is kRefused before anything is sent.
///
/// **The fence.** An attempt's look makes a vacant document if there is none, and its answer has
/// the server's operation time. A grant's token is one more than the stored one, or that time if it
/// is later. So it never exceeds the time of its own write, and a look after the document was
/// deleted has a later one. That the look leaves a document, with an id of its own, makes the guard
/// notice if it was granted and deleted meanwhile.
class LayoutStore final : public locking::LockingStore {
 public:
  /// @param server,clocks outlive this
  LayoutStore(Server& server, const ClockWatch& clocks, Layouts layouts, bool creates);

  [[nodiscard]] bool Has(const std::string& collection) const {
    return layouts_.contains(collection);
  }

  void Execute(std::span<StoreOp* const> ops, std::chrono::milliseconds budget) override;
  void Commit(CommitOp& commit, std::chrono::milliseconds budget) override;
  void ReadTogether(std::span<StoreOp* const> reads, std::chrono::milliseconds budget) override;
  void Query(Collection& collection, const Filter& filter,
             const std::function<bool(QueryRow&&)>& sink,
             std::chrono::milliseconds budget) override;
  void AcquireNext(const Filter& filter, AcquireOp& op, Key& key,
                   std::chrono::milliseconds budget) override;

 private:
  const ClockWatch& clocks_;
  const Layouts layouts_;
};

}  // namespace doclock::mongodb
