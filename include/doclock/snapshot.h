#pragma once

#include <memory>
#include <utility>

#include "doclock/detail/codec.h"

namespace doclock {

namespace detail {
template <class T>
class Documents;
}
class Transaction;

/// A document as it was when it was read, for optimistic writes: `LockingRepository::Save` stores
/// its entity if the document was not changed meanwhile.
///
/// Move-only; the entity stays where it is when the snapshot moves. Not thread-safe. A
/// default-constructed or moved-from snapshot is empty: all but the conversion to bool and moves
/// throw std::logic_error.
template <class T>
class Snapshot {
  static_assert(detail::EntityCheck<T>::value);

 public:
  /// An empty snapshot.
  Snapshot() noexcept = default;

  /// Is there an entity?
  explicit operator bool() const noexcept { return entity_ != nullptr; }
  /// Returns the entity.
  [[nodiscard]] T& operator*() { return *entity(); }
  /// Returns the entity.
  [[nodiscard]] const T& operator*() const { return *entity(); }
  /// Returns the entity.
  [[nodiscard]] T* operator->() { return entity(); }
  /// Returns the entity.
  [[nodiscard]] const T* operator->() const { return entity(); }

  /// Returns the document's key.
  [[nodiscard]] const Key& key() const { return row().key; }
  /// Returns the document's version when it was read, or after the last Save of this snapshot; 0
  /// for documents that were never locked or saved through this library.
  [[nodiscard]] std::int64_t version() const { return row().version; }
  /// Was it locked when it was read?
  [[nodiscard]] bool locked() const { return row().locked; }

 private:
  friend class detail::Documents<T>;
  friend class Transaction;

  /// @throws DocumentException when T cannot read the body.
  Snapshot(const Collection& collection, QueryRow&& row)
      : row_(std::move(row)),
        entity_(new T(detail::Codec<T>::Read(collection, row_.key, row_.body))) {
    detail::ClearLockFields(*entity_, row_.version);
  }

  /// Takes over the new state after a save that the store confirmed.
  void Follow(Body body, std::int64_t version) {
    row_.body = std::move(body);
    row_.version = version;
    row_.locked = false;
    detail::ClearLockFields(*entity_, version);
  }

  [[nodiscard]] T* entity() const {
    if (!entity_) detail::ThrowEmptyHandle();
    return entity_.get();
  }
  [[nodiscard]] const QueryRow& row() const {
    (void)entity();
    return row_;
  }

  QueryRow row_;
  std::unique_ptr<T> entity_;
};

}  // namespace doclock
