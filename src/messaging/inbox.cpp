#include "doclock/messages.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <stdexcept>

namespace doclock {
namespace {

/// When it was, in milliseconds since 1970, by the store's clock.
constexpr const char* kAccepted = "accepted";
/// Ids that go in one transaction: few, so that it delays other clients little.
constexpr std::int64_t kForgetAtOnce = 200;

std::chrono::milliseconds Now(const LockManager& manager) {
  return manager.StoreTime().time().time_since_epoch();
}

}  // namespace

DuplicateMessageException::DuplicateMessageException(const std::string& what)
    : ConflictException(what, std::nullopt, std::nullopt) {}
DuplicateMessageException::~DuplicateMessageException() = default;

Inbox::Inbox(LockManager manager, const std::string& collection)
    : manager_(std::move(manager)), accepted_(manager_, collection) {}

void Inbox::Accept(Transaction& transaction, const Key& id) const {
  if (id == Key("")) {
    throw std::invalid_argument(
        "doclock: the id of a message is empty: the next one would count as handled");
  }
  transaction.Insert(accepted_, id, nlohmann::json{{kAccepted, Now(manager_).count()}});
  transaction.state()->OnRefused([](const detail::Failure& failure) {
    const bool exists = failure.code == Errc::kConflict && failure.index.empty();
    if (!exists) return;
    DuplicateMessageException duplicate(failure.message);
    duplicate.set_document(failure.document);
    throw duplicate;
  });
}

bool Inbox::Contains(const Key& id) const { return accepted_.Find(id).has_value(); }

std::int64_t Inbox::Forget(Duration older_than) const {
  if (older_than < Duration()) {
    throw std::invalid_argument("doclock: Inbox::Forget takes a time that is not negative");
  }
  const auto now = Now(manager_);
  const auto before = (now - std::min(older_than.ms(), now)).count();
  const Filter old = Filter{}.AtMost(kAccepted, before).OrderBy(kAccepted).Limit(kForgetAtOnce);
  std::int64_t forgotten = 0;
  for (auto ids = accepted_.Find(old); !ids.empty(); ids = accepted_.Find(old)) {
    Transaction transaction(manager_);
    for (const auto& id : ids) transaction.Erase(accepted_, id);
    try {
      transaction.Commit();
      forgotten += static_cast<std::int64_t>(ids.size());
    } catch (const NotFoundException&) {
      // Another client forgets as well: go on with what is left.
    } catch (const ConflictException&) {
      // Another client forgets as well, and an id was accepted again.
    }
  }
  return forgotten;
}

void Inbox::EnsureIndexes() const { accepted_.EnsureIndex({kAccepted}); }

}  // namespace doclock
