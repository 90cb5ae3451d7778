#include <exception>
#include <optional>

#include "doclock/detail/facade.h"
#include "engine/engine.h"

namespace doclock::detail {
namespace {

/// What to do after one step of an update.
enum class NextStep { kDone, kAgain, kLock, kFail };

NextStep AfterSave(const FailurePtr& failure) {
  if (!failure) return NextStep::kDone;
  if (failure->code == Errc::kBusy) return NextStep::kLock;
  // Another client was faster, or erased the document: reading it again will tell.
  return IsOvertaken(failure) || IsMissing(failure) ? NextStep::kAgain : NextStep::kFail;
}

/// Does a document begin that is not there?
bool Begins(const ReadResult& read, const UpdateSpec& update) {
  return update.initial && IsMissing(read.failure);
}

/// What the edit is given.
const Body& BaseOf(const ReadResult& read, const UpdateSpec& update) {
  return Begins(read, update) ? update.initial : read.body;
}

SaveSpec SaveOf(const Binding& binding, const UpdateSpec& update, const ReadResult& read,
                Body body) {
  SaveSpec spec;
  spec.collection = binding.collection.get();
  spec.key = update.key;
  spec.body = std::move(body);
  if (Begins(read, update)) {
    spec.save = SaveKind::kInsert;
    return spec;
  }
  spec.expected = read.version;
  spec.born = read.born;
  spec.base = read.body;
  return spec;
}

AcquireSpec LockSpec(const Binding& binding, const UpdateSpec& update) {
  LockOptions options;
  options.wait = binding.options.update_wait;
  return SpecFor(binding, options, update.key, update.initial);
}

NextStep TryOptimistically(const Binding& binding, const UpdateSpec& update) {
  const ReadResult read = Read(binding.engine, *binding.collection, update.key);
  if (!Begins(read, update)) ThrowIf(read.failure);
  if (read.locked) return NextStep::kLock;
  Body body = update.edit(BaseOf(read, update));
  const SaveResult saved = Save(binding.engine, SaveOf(binding, update, read, std::move(body)));
  const NextStep next = AfterSave(saved.failure);
  if (next == NextStep::kFail) saved.failure->Throw();
  return next;
}

void UpdateLocked(const Binding& binding, const UpdateSpec& update, std::stop_token stop) {
  AcquireResult result = Acquire(binding.engine, LockSpec(binding, update), std::move(stop));
  ThrowIf(result.failure);
  Grant& grant = result.grant;  // gives the lock back if anything below throws
  ThrowIf(Write(grant.lease, WriteKind::kRelease, update.edit(grant.body)));
  grant.lease = nullptr;
}

/// Updates one document without a thread. Steps of the engine's come in on its threads; the user's
/// code runs where `post` says.
class UpdatingAsync : public std::enable_shared_from_this<UpdatingAsync> {
 public:
  UpdatingAsync(BindingPtr binding, UpdateSpec update, AsyncContext context,
                std::function<void(std::exception_ptr)> done)
      : binding_(std::move(binding)),
        update_(std::move(update)),
        context_(std::move(context)),
        done_(std::move(done)) {}

  void Start() {
    if (attempts_++ >= binding_->options.update_retries) return Lock();
    ReadAsync(binding_->engine, *binding_->collection, update_.key,
              [self = shared_from_this()](ReadResult read) {
                self->Guarded([&] { self->OnRead(std::move(read)); });
              });
  }

 private:
  /// What comes after the first step must not throw: out of memory, or an executor that throws.
  template <class Step>
  void Guarded(const Step& step) noexcept {
    try {
      step();
    } catch (...) {
      Complete(std::current_exception());
    }
  }

  void OnRead(ReadResult read) {
    if (read.failure && !Begins(read, update_)) return Fail(*read.failure);
    if (read.locked) return Lock();
    read_ = std::move(read);
    WithEdited(BaseOf(read_, update_), [this](Body body) {
      SaveAsync(binding_->engine, SaveOf(*binding_, update_, read_, std::move(body)),
                [self = shared_from_this()](SaveResult saved) {
                  self->Guarded([&] { self->OnSaved(saved.failure); });
                });
    });
  }

  void OnSaved(const FailurePtr& failure) {
    switch (AfterSave(failure)) {
      case NextStep::kDone:
        return Complete(nullptr);
      case NextStep::kAgain:
        return Start();
      case NextStep::kLock:
        return Lock();
      case NextStep::kFail:
        return Fail(*failure);
    }
  }

  void Lock() {
    const CancellerPtr canceller = context_.canceller;  // all may be complete before it follows
    canceller->Follow(AcquireAsync(binding_->engine, LockSpec(*binding_, update_),
                                   [self = shared_from_this()](AcquireResult result) {
                                     self->Guarded([&] { self->OnLocked(std::move(result)); });
                                   }));
  }

  void OnLocked(AcquireResult result) {
    if (result.failure) return Fail(*result.failure);
    grant_.emplace(std::move(result.grant));
    WithEdited(grant_->body, [this](Body body) {
      WriteAsync(grant_->lease, WriteKind::kRelease, std::move(body),
                 [self = shared_from_this()](FailurePtr failure) {
                   if (failure) return self->Fail(*failure);
                   self->grant_->lease = nullptr;
                   self->Complete(nullptr);
                 });
    });
  }

  /// Runs the user's code, and `next` with what it made.
  void WithEdited(const Body& base, std::function<void(Body)> next) {
    context_.post([self = shared_from_this(), base, next = std::move(next)] {
      Body body;
      try {
        body = self->update_.edit(base);
      } catch (...) {
        return self->Complete(std::current_exception());
      }
      self->Guarded([&] { next(std::move(body)); });
    });
  }

  void Fail(const Failure& failure) noexcept { Complete(failure.AsException()); }

  void Complete(std::exception_ptr error) noexcept {
    if (!done_) return;  // an executor ran its task, and threw
    grant_.reset();
    const auto done = std::move(done_);
    context_ = {};
    done(std::move(error));
  }

  const BindingPtr binding_;
  const UpdateSpec update_;
  AsyncContext context_;
  std::function<void(std::exception_ptr)> done_;
  int attempts_ = 0;
  ReadResult read_;
  std::optional<Grant> grant_;
};

}  // namespace

void UpdateDocument(const Binding& binding, const UpdateSpec& update, std::stop_token stop) {
  NextStep next = NextStep::kAgain;
  const int retries = binding.options.update_retries;
  for (int i = 0; next == NextStep::kAgain && i < retries && !stop.stop_requested(); ++i) {
    next = TryOptimistically(binding, update);
  }
  if (next != NextStep::kDone) UpdateLocked(binding, update, std::move(stop));
}

void UpdateDocumentAsync(const BindingPtr& binding, UpdateSpec update, AsyncContext context,
                         std::function<void(std::exception_ptr)> done) {
  std::make_shared<UpdatingAsync>(binding, std::move(update), std::move(context), std::move(done))
      ->Start();
}

}  // namespace doclock::detail
