#include "doclock/lock_provider.h"

#include <stdexcept>

#include "named/mutex_state.h"
#include "named/shared_mutex_state.h"

namespace doclock {
namespace {

/// "No body": what a named lock's document holds besides its lock.
const Body& NoBody() {
  static const auto* const nothing = new Body(Body::FromText("{}"));  // for globals, after main
  return *nothing;
}

Key KeyOfName(std::string_view name) {
  if (name.empty()) throw std::invalid_argument("doclock: a lock's name must not be empty");
  return Key(name);
}

detail::AcquireSpec NamedSpec(const detail::Binding& binding, const LockOptions& options) {
  detail::AcquireSpec spec =
      detail::MakeSpec(binding.engine, *binding.collection, options, binding.options.ttl);
  spec.insert = NoBody();
  spec.named = true;
  return spec;
}

}  // namespace

LockProvider::LockProvider(LockManager manager, const std::string& collection,
                           LockProviderOptions options)
    : manager_(std::move(manager)) {
  if (options.ttl < kMinTtl || options.ttl > kMaxTtl) {
    throw std::invalid_argument("LockProviderOptions::ttl must be 100 ms to 24 hours");
  }
  RepositoryOptions for_documents;
  for_documents.ttl = options.ttl;
  for_documents.lock_fields = std::move(options.lock_fields);
  binding_ = detail::Bind(manager_, collection, std::move(for_documents), LockFieldNames{});
}

const detail::BindingPtr& LockProvider::bound() const {
  if (!binding_) detail::ThrowMovedFrom("LockProvider");
  return binding_;
}

const LockManager& LockProvider::manager() const {
  static_cast<void>(bound());
  return manager_;
}

const std::string& LockProvider::collection() const { return bound()->collection->name(); }

detail::AcquireSpec LockProvider::SpecOf(std::string_view name, const LockOptions& options) const {
  detail::AcquireSpec spec = NamedSpec(*bound(), options);
  spec.key = KeyOfName(name);
  return spec;
}

HeldLock LockProvider::Acquire(detail::NameArg name, const LockOptions& options,
                               std::stop_token stop) const {
  return detail::RunHere(LockOp(name, options), std::move(stop));
}

std::optional<HeldLock> LockProvider::TryAcquire(detail::NameArg name, const LockOptions& options,
                                                 std::stop_token stop) const {
  return detail::RunHere(detail::TryLockOperation{LockOp(name, options)}, std::move(stop));
}

NamedMutex LockProvider::Mutex(detail::NameArg name, const LockOptions& options) const {
  return NamedMutex(std::make_shared<detail::MutexState>(manager_, bound(), SpecOf(name, options)));
}

RecursiveNamedMutex LockProvider::RecursiveMutex(detail::NameArg name,
                                                 const LockOptions& options) const {
  return RecursiveNamedMutex(
      std::make_shared<detail::MutexState>(manager_, bound(), SpecOf(name, options)));
}

SharedNamedMutex LockProvider::SharedMutex(detail::NameArg name, const LockOptions& options) const {
  LockOptions alone = options;
  alone.mode = LockMode::kExclusive;
  alone.max_holders = kMaxHolders;
  LockOptions shared = options;
  shared.mode = LockMode::kShared;
  return SharedNamedMutex(std::make_shared<detail::SharedMutexState>(
      manager_, bound(), SpecOf(name, alone), SpecOf(name, shared)));
}

detail::LockAllOperation<LockProvider::Wrap> LockProvider::LockAllOp(
    const std::vector<std::string>& names, const LockOptions& options) const {
  std::vector<Key> keys;
  keys.reserve(names.size());
  for (const std::string& name : names) keys.push_back(KeyOfName(name));
  return {detail::SpecsFor(NamedSpec(*bound(), options), std::move(keys)), Wrap{bound()}};
}

std::vector<HeldLock> LockProvider::AcquireAll(const std::vector<std::string>& names,
                                               const LockOptions& options,
                                               std::stop_token stop) const {
  return detail::RunHere(LockAllOp(names, options), std::move(stop));
}

std::optional<std::vector<HeldLock>> LockProvider::TryAcquireAll(
    const std::vector<std::string>& names, const LockOptions& options, std::stop_token stop) const {
  return detail::RunHere(detail::TryAllOperation{LockAllOp(names, options)}, std::move(stop));
}

LockTarget<HeldLock> LockProvider::At(detail::NameArg name) const {
  return {bound(), [binding = bound(), key = KeyOfName(name)](const LockOptions& options) {
            detail::AcquireSpec spec = NamedSpec(*binding, options);
            spec.key = key;
            return spec;
          }};
}

void LockProvider::EnsureIndexes() const { detail::EnsureIndexesOf(*bound(), {}); }

LockAdmin LockProvider::Admin() const { return {manager(), bound()}; }

}  // namespace doclock
