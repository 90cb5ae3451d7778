#include "cli/store/whole_document.h"

#include "doclock/detail/facade.h"

namespace doclock::cli {
namespace {

// LockingRepository reads each document that it locks, so this goes to the layer below it.

bool IsReadable(const Body& body) {
  try {
    static_cast<void>(detail::TreeOf(body));
    return true;
  } catch (const DocumentException&) {
    return false;
  }
}

/// @param body what is stored, and created; none: the document is deleted
bool WriteWhole(const detail::Binding& binding, const Key& key, WriteKind kind, const Body& body,
                const LockOptions& options) {
  auto result = detail::Acquire(binding.engine, detail::SpecFor(binding, options, key, body), {});
  detail::ThrowIf(result.failure);
  const bool readable = IsReadable(result.grant.body);
  detail::ThrowIf(detail::Write(result.grant.lease, kind, body));
  result.grant.lease = nullptr;  // it is released already
  return readable;
}

}  // namespace

bool ReplaceWhole(const LockManager& manager, const std::string& collection, const Key& key,
                  const Body& body, const LockOptions& options) {
  const auto binding = detail::Bind(manager, collection, {}, {});
  const Body fresh = detail::Codec<Body>::Fresh(*binding->collection, key, body);
  return WriteWhole(*binding, key, WriteKind::kRelease, fresh, options);
}

bool EraseWhole(const LockManager& manager, const std::string& collection, const Key& key,
                const LockOptions& options) {
  return WriteWhole(*detail::Bind(manager, collection, {}, {}), key, WriteKind::kErase, {},
                    options);
}

}  // namespace doclock::cli
