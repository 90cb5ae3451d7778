#include <algorithm>
#include <chrono>
#include <climits>
#include <memory>
#include <set>
#include <stdexcept>
#include <utility>

#include "doclock/update.h"
#include "document/json/same_json.h"
#include "engine/calls/failure.h"
#include "engine/engine.h"

namespace doclock::detail {
namespace {

/// A document as one attempt has read it, or locked it.
struct Seen {
  Body body;  ///< The initial one of a missing document.
  bool is_missing = false;
  std::int64_t version = 0;
  Uuid born{};
  Grant grant;  ///< With a lock, if this attempt holds one.
};

bool IsSame(const Body& a, const Body& b) {
  return a.IsSameAs(b) || IsSameJson(TreeOf(a), TreeOf(b));
}

CommitPartSpec PartOf(const UpdatedDocument& document, const Seen& seen, const Edited& edited) {
  const bool unchanged = !seen.is_missing && IsSame(edited.after, edited.before);
  if (seen.grant.lease) {
    return HolderSpec{seen.grant.lease, WriteKind::kRelease, unchanged ? Body() : edited.after};
  }
  SaveSpec spec;
  spec.collection = document.binding->collection.get();
  spec.key = document.key;
  spec.expected = seen.version;
  spec.born = seen.born;
  if (unchanged) {
    spec.save = SaveKind::kExpect;
    return spec;
  }
  spec.body = edited.after;
  if (seen.is_missing) {
    spec.save = SaveKind::kInsert;
    spec.expected = kAnyVersion;
  } else {
    spec.base = seen.body;
  }
  return spec;
}

/// Would the commit only look at the documents, which were read at one moment?
bool ChangesNothing(const CommitSpec& spec) {
  return !spec.join && std::ranges::all_of(spec.parts, [](const CommitPartSpec& part) {
    const auto* const save = std::get_if<SaveSpec>(&part);
    return save != nullptr && save->save == SaveKind::kExpect;
  });
}

/// Was another client quicker?
bool IsQuicker(const FailurePtr& failure) {
  return IsOvertaken(failure) || IsMissing(failure) || failure->code == Errc::kLost;
}

class Updating {
 public:
  Updating(const UpdateTogetherSpec& spec, std::stop_token stop)
      : spec_(spec), stop_(std::move(stop)) {
    std::vector<BindingPtr> bindings;
    std::set<std::pair<const Collection*, Key>> named;
    for (const UpdatedDocument& document : spec.documents) {
      const Collection& collection = *document.binding->collection;
      bindings.push_back(document.binding);
      within_ = std::min(within_, document.binding->options.update_wait);
      tries_ = std::min(tries_, document.binding->options.update_retries);
      if (named.emplace(&collection, document.key).second) continue;
      throw std::invalid_argument("doclock: " + Describe(collection, document.key) +
                                  " is to be updated twice in one call");
    }
    CheckOneManager(bindings);
    if (spec.within) within_ = *spec.within;
    if (within_ < Duration()) {
      throw std::invalid_argument("UpdateOptions::within must be zero or more");
    }
    started_ = engine().Now();
  }

  void Run() {
    do {
      if (stop_.stop_requested()) {
        MakeFailure(Errc::kCancelled, "doclock: the update was cancelled")->Throw();
      }
      if (Attempt()) return;
    } while (Left() != Duration());
    // A lock of its own that it lost, or a document that another client erased.
    if (!IsOvertaken(why_)) why_ = MakeFailure(Errc::kConflict, [&] { return why_->message; });
    why_->Throw();
  }

 private:
  [[nodiscard]] const EnginePtr& engine_of() const {
    return spec_.documents.front().binding->engine;
  }
  [[nodiscard]] Engine& engine() const { return *engine_of(); }
  [[nodiscard]] Duration Left() const {
    if (within_ == kForever) return within_;
    const auto spent =
        std::chrono::duration_cast<std::chrono::milliseconds>(engine().Now() - started_);
    return std::max(Duration(), Duration(within_.ms() - spent));
  }

  /// Returns true if the update is done. Returns false if another client was quicker: then nothing
  /// is stored, and `why_` tells more.
  bool Attempt() {
    std::vector<Seen> seen = Read();
    const bool is_locked = std::exchange(is_locked_, false);
    if (tries_ > 0 && !is_locked) {
      --tries_;
      return Write(seen);
    }
    return Lock(seen) && Write(seen);
  }

  std::vector<Seen> Read() {
    std::vector<ReadSpec> reads;
    for (const UpdatedDocument& document : spec_.documents) {
      reads.push_back({document.binding->collection.get(), document.key});
    }
    std::vector<ReadResult> results = ReadTogether(engine_of(), std::move(reads));
    std::vector<Seen> seen(results.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      ReadResult& result = results[i];
      const Body& initial = spec_.documents[i].initial;
      seen[i].is_missing = initial && IsMissing(result.failure);
      if (!seen[i].is_missing) ThrowIf(result.failure);
      seen[i].body = seen[i].is_missing ? initial : std::move(result.body);
      seen[i].version = result.version;
      seen[i].born = result.born;
    }
    return seen;
  }

  /// Locks those that exist. Returns true if it holds all of them, and false as Attempt.
  bool Lock(std::vector<Seen>& seen) {
    LockOptions options;
    options.wait = Left();
    std::vector<AcquireSpec> specs;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < seen.size(); ++i) {
      if (seen[i].is_missing) continue;
      const UpdatedDocument& document = spec_.documents[i];
      specs.push_back(SpecFor(*document.binding, options, document.key));
      places.push_back(i);
    }
    AcquireAllResult locked = AcquireAll(engine_of(), std::move(specs), stop_);
    if (IsMissing(locked.failure) || (locked.failure && locked.failure->code == Errc::kLost)) {
      why_ = std::move(locked.failure);  // the next look tells whether it may be missing
      return false;
    }
    ThrowIf(locked.failure);
    for (std::size_t i = 0; i < places.size(); ++i) {
      Seen& held = seen[places[i]];
      held.grant = std::move(locked.grants[i]);
      held.body = held.grant.body;
      held.version = LeaseVersion(*held.grant.lease);
    }
    return true;
  }

  /// Calls f, and commits. Returns as Attempt.
  bool Write(std::vector<Seen>& seen) {
    const auto state = std::make_shared<TransactionState>(engine_of());
    std::vector<EditedFrom> from;
    std::vector<Edited> edited;
    for (std::size_t i = 0; i < seen.size(); ++i) {
      const UpdatedDocument& document = spec_.documents[i];
      from.push_back({seen[i].body, seen[i].version});
      const auto make = [&, i] { return PartOf(spec_.documents[i], seen[i], edited[i]); };
      state->Add(*document.binding, document.key, make, [](auto) {});
    }
    CommitSpec commit = TransactionState::Lend(
        state, [&](Transaction& transaction) { edited = spec_.edit(from, transaction); });
    if (state->size() == seen.size() && ChangesNothing(commit)) return true;
    CommitResult result = Commit(engine_of(), std::move(commit));
    if (result.failure && result.refused < seen.size() && IsQuicker(result.failure)) {
      is_locked_ = result.failure->code == Errc::kBusy;
      why_ = std::move(result.failure);
      return false;
    }
    state->Settle(result);
    for (Seen& one : seen) one.grant.lease = nullptr;
    return true;
  }

  const UpdateTogetherSpec& spec_;
  const std::stop_token stop_;
  Duration within_ = kForever;
  int tries_ = INT_MAX;
  TimePoint started_;
  bool is_locked_ = false;  ///< Another client's lock was met.
  FailurePtr why_;
};

}  // namespace

void UpdateTogether(const UpdateTogetherSpec& spec, std::stop_token stop) {
  if (spec.documents.empty()) {
    throw std::invalid_argument("doclock: an update needs a document");
  }
  Updating(spec, std::move(stop)).Run();
}

}  // namespace doclock::detail
