#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "doclock/detail/engine.h"
#include "doclock/lock_manager.h"

/// @file
/// The part of the facade that does not depend on T. Not for users.

namespace doclock::detail {

/// A collection and the engine that locks in it. It does not keep the LockManager open.
struct Binding {
  EnginePtr engine;
  std::shared_ptr<Collection> collection;
  RepositoryOptions options;
};
using BindingPtr = std::shared_ptr<const Binding>;

/// Checks the options and opens the collection.
DOCLOCK_EXPORT BindingPtr Bind(const LockManager&, const std::string& name, RepositoryOptions,
                               LockFieldNames default_names);

/// Checks the options and opens a collection of documents. @throws StoreException kRefused if the
/// collection holds only locks
DOCLOCK_EXPORT BindingPtr BindDocuments(const LockManager&, const std::string& name,
                                        RepositoryOptions, LockFieldNames default_names);

/// MakeSpec for a key, and the body to create a missing document with (none: it must exist).
DOCLOCK_EXPORT AcquireSpec SpecFor(const Binding&, const LockOptions&, Key key, Body insert = {});
/// MakeSpec for AcquireNext.
DOCLOCK_EXPORT AcquireSpec SpecFor(const Binding&, const LockOptions&, Filter filter);

/// Checks the depth of a tree that is about to be copied, because copying is recursive.
/// @throws DocumentException naming the document, if it is nested too deep
DOCLOCK_EXPORT void CheckDepth(const Collection&, const Key&, const nlohmann::json& tree);
/// `tree` as a body, checked; see CheckBody for `base`. @throws DocumentException naming the
/// document
DOCLOCK_EXPORT Body Seal(const Collection&, const Key&, nlohmann::json tree, const Body& base);
DOCLOCK_EXPORT Body Seal(const Collection&, const Key&, Body body, const Body& base);
/// The tree of a stored body; an empty object for a document that has none (a named lock).
DOCLOCK_EXPORT const nlohmann::json& TreeOf(const Body&);
/// The key as JSON: text or a number.
DOCLOCK_EXPORT nlohmann::json KeyToJson(const Key&);
/// Puts the key into T's JSON form.
DOCLOCK_EXPORT void PutKey(nlohmann::json& tree, std::string_view field, nlohmann::json key);
/// Takes the key out of T's JSON form. @throws std::invalid_argument if it is another key.
DOCLOCK_EXPORT void TakeKey(nlohmann::json& tree, std::string_view field,
                            const nlohmann::json& key);
/// @throws std::invalid_argument naming both, if they differ.
DOCLOCK_EXPORT void CheckSameKey(const Key& given, const Key& of_entity);

/// Makes a T of a tree, and drops it.
using Reading = std::function<void(const nlohmann::json& tree)>;
/// Inside a catch block: throws DocumentException with the caught text, and the name of the member
/// of `tree` that could not be read, if `read` tells; rethrows std::bad_alloc. `tree` may be null.
[[noreturn]] DOCLOCK_EXPORT void ThrowUnreadable(const Collection&, const Key&,
                                                 const nlohmann::json* tree, const Reading& read);
[[noreturn]] DOCLOCK_EXPORT void ThrowEmptyHandle();
[[noreturn]] DOCLOCK_EXPORT void ThrowUnsettled();
/// Is it kBusy or kTimedOut?
[[nodiscard]] DOCLOCK_EXPORT bool IsBusy(const FailurePtr&) noexcept;
/// Did no free document match: kBusy, kTimedOut or kNotFound?
[[nodiscard]] DOCLOCK_EXPORT bool IsNothingFree(const FailurePtr&) noexcept;
/// ThrowIf for LockNext: IsNothingFree becomes NotFoundException, whether it waited or not.
DOCLOCK_EXPORT void ThrowIfNext(const FailurePtr&);
/// Did another client come first: a live lock, or another version (not a unique index)?
[[nodiscard]] DOCLOCK_EXPORT bool IsOvertaken(const FailurePtr&) noexcept;
[[nodiscard]] DOCLOCK_EXPORT bool IsMissing(const FailurePtr&) noexcept;

/// Ends one asynchronous operation early. Thread-safe.
class DOCLOCK_EXPORT Canceller {
 public:
  Canceller() = default;
  Canceller(const Canceller&) = delete;
  Canceller& operator=(const Canceller&) = delete;
  /// Ends the wait it follows, now or as soon as it follows one.
  void Cancel() noexcept;
  /// From now on Cancel ends this wait; at once if Cancel was called already. A wait that is over
  /// does not replace the current one.
  void Follow(AcquireHandle);

 private:
  std::mutex mutex_;
  AcquireHandle handle_;
  bool cancelled_ = false;
};
using CancellerPtr = std::shared_ptr<Canceller>;
/// Runs a task where the user's code for one asynchronous operation runs.
using Poster = std::function<void(std::function<void()>)>;
/// What an asynchronous operation knows about its caller.
struct AsyncContext {
  CancellerPtr canceller;
  Poster post;
};

/// `spec` for each of the keys, sorted and unique.
DOCLOCK_EXPORT std::vector<AcquireSpec> SpecsFor(const AcquireSpec& spec, std::vector<Key> keys);
/// @throws std::invalid_argument naming one that is of another LockManager than the first
DOCLOCK_EXPORT void CheckOneManager(std::span<const BindingPtr>);
/// Several locks, in the order of the specs.
struct AcquireAllResult {
  FailurePtr failure;
  std::vector<Grant> grants;
};
/// Takes all locks or none, in the order of all clients, under one timeout. Only key, collection
/// and what belongs to it differ between the specs. @throws std::invalid_argument naming a document
/// that occurs twice
DOCLOCK_EXPORT AcquireAllResult AcquireAll(const EnginePtr&, std::vector<AcquireSpec>,
                                           std::stop_token);
DOCLOCK_EXPORT void AcquireAllAsync(const EnginePtr&, std::vector<AcquireSpec>, AsyncContext,
                                    std::function<void(AcquireAllResult)> done);

/// How to change one document.
struct UpdateSpec {
  Key key;
  /// Makes the new body from the stored one; may throw, and may be called several times.
  std::function<Body(const Body& base)> edit;
  Body initial;  ///< What a missing document is before the edit; none: it must exist.
};
DOCLOCK_EXPORT void UpdateDocument(const Binding&, const UpdateSpec&, std::stop_token);
DOCLOCK_EXPORT void UpdateDocumentAsync(const BindingPtr&, UpdateSpec, AsyncContext,
                                        std::function<void(std::exception_ptr)> done);

DOCLOCK_EXPORT void EnsureIndexOf(const Binding&, std::vector<std::string> fields, bool unique);
DOCLOCK_EXPORT void EnsureIndexesOf(const Binding&, const std::vector<Filter>& searches);
/// See LockAdmin::Purge.
DOCLOCK_EXPORT std::int64_t PurgeAll(const Binding&);

}  // namespace doclock::detail
