#include <stdexcept>

#include "doclock/detail/facade.h"
#include "engine/check_options.h"
#include "engine/engine.h"

namespace doclock::detail {
namespace {

constexpr int kMostUpdateRetries = 1000;

void Require(bool holds, const char* rule) {
  if (!holds) throw std::invalid_argument(std::string("RepositoryOptions::") + rule);
}

void CheckOptions(const RepositoryOptions& options) {
  CheckTtl(options.ttl, "RepositoryOptions::ttl");
  Require(options.update_retries >= 0 && options.update_retries <= kMostUpdateRetries,
          "update_retries must be 0 to 1000");
  Require(options.update_wait >= Duration(), "update_wait must be zero or more");
}

}  // namespace

BindingPtr Bind(const LockManager& manager, const std::string& name, RepositoryOptions options,
                LockFieldNames default_names) {
  CheckOptions(options);
  auto binding = std::make_shared<Binding>();
  binding->engine = manager.engine();
  binding->collection = binding->engine->store().Open(
      name, options.lock_fields ? *options.lock_fields : default_names, options.ttl.ms());
  binding->options = std::move(options);
  return binding;
}

BindingPtr BindDocuments(const LockManager& manager, const std::string& name,
                         RepositoryOptions options, LockFieldNames default_names) {
  auto binding = Bind(manager, name, std::move(options), std::move(default_names));
  if (binding->collection->has_bodies()) return binding;
  throw StoreException(Errc::kRefused, "doclock: the collection " + name +
                                           " has the layout of another library, which has no "
                                           "bodies: open it as a LockProvider");
}

namespace {

/// A share could not write what it locked.
void CheckMode(const LockOptions& options) {
  if (options.mode == LockMode::kExclusive) return;
  throw std::invalid_argument("LockOptions::mode must be exclusive: shares are for LockProvider");
}

}  // namespace

AcquireSpec SpecFor(const Binding& binding, const LockOptions& options, Key key, Body insert) {
  CheckMode(options);
  AcquireSpec spec = MakeSpec(binding.engine, *binding.collection, options, binding.options.ttl);
  spec.key = std::move(key);
  spec.insert = std::move(insert);
  return spec;
}

AcquireSpec SpecFor(const Binding& binding, const LockOptions& options, Filter filter) {
  CheckMode(options);
  AcquireSpec spec = MakeSpec(binding.engine, *binding.collection, options, binding.options.ttl);
  spec.filter = std::move(filter);
  return spec;
}

}  // namespace doclock::detail
