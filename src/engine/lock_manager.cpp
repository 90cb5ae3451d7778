#include "doclock/lock_manager.h"

#include <utility>

#include "engine/calls/failure.h"
#include "engine/engine.h"

namespace doclock {

void detail::ThrowMovedFrom(const char* type) {
  throw std::logic_error(std::string("doclock: this ") + type + " was moved from");
}

/// Closes the engine when the last LockManager goes; handles of locks keep its memory only.
class LockManager::Owner {
 public:
  explicit Owner(detail::EnginePtr engine) : engine_(std::move(engine)) {}
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
  ~Owner() { engine_->Close(); }

  [[nodiscard]] const detail::EnginePtr& engine() const noexcept { return engine_; }

 private:
  const detail::EnginePtr engine_;
};

LockManager::LockManager(std::shared_ptr<Store> store, ManagerOptions options)
    : owner_(std::make_shared<Owner>(detail::Engine::Make(std::move(store), std::move(options)))) {}

LockManager::LockManager(const LockManager&) = default;
LockManager& LockManager::operator=(const LockManager&) = default;
LockManager::LockManager(LockManager&&) noexcept = default;
LockManager& LockManager::operator=(LockManager&&) noexcept = default;
LockManager::~LockManager() = default;

void LockManager::Close() noexcept {
  if (owner_) owner_->engine()->Close();
}

Date LockManager::StoreTime() const {
  detail::Engine& engine = *this->engine();
  if (const auto closed = detail::WhyClosed(engine)) closed->Throw();
  return engine.store().WallTime(engine.calls().budget());
}

const std::shared_ptr<Store>& LockManager::store() const {
  return engine()->calls().shared_store();
}

const std::shared_ptr<detail::Engine>& LockManager::engine() const {
  if (!owner_) detail::ThrowMovedFrom("LockManager");
  return owner_->engine();
}

}  // namespace doclock
