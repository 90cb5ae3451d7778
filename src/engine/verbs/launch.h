#pragma once

#include <concepts>
#include <memory>
#include <utility>

#include "engine/calls/procedure.h"
#include "engine/engine.h"

namespace doclock::detail {

/// The result of a verb that was refused.
template <class Result>
Result Refused(FailurePtr failure) noexcept {
  if constexpr (std::same_as<Result, FailurePtr>) {
    return failure;
  } else {
    Result result;
    result.failure = std::move(failure);
    return result;
  }
}

/// Reports a refusal where asynchronous callers expect it, instead of in the call.
template <class Result, class Done>
void RefuseLater(Engine& engine, FailurePtr failure, Done done) {
  const auto result = std::make_shared<Result>(Refused<Result>(std::move(failure)));
  engine.runtime().Notify([done = std::move(done), result] { done(std::move(*result)); });
}

/// Runs a verb on the caller's thread: a `Verb` is a Procedure whose Finish() returns the result.
template <class Verb, class... Args>
auto RunHere(const EnginePtr& engine, FailurePtr refusal, Args&&... args) {
  using Result = decltype(std::declval<Verb&>().Finish());
  if (refusal) return Refused<Result>(std::move(refusal));
  Verb verb(std::forward<Args>(args)...);
  Run(engine->calls(), verb);
  return verb.Finish();
}

/// Runs a verb on workers.
template <class Verb, class Done, class... Args>
void RunOnWorkers(const EnginePtr& engine, FailurePtr refusal, Done done, Args&&... args) {
  using Result = decltype(std::declval<Verb&>().Finish());
  if (refusal) return RefuseLater<Result>(*engine, std::move(refusal), std::move(done));
  const auto verb = std::make_shared<Verb>(std::forward<Args>(args)...);
  RunAsync(engine->calls(), verb,
           [engine, verb, done = std::move(done), background = engine->Background()] {
             done(verb->Finish());
           });
}

}  // namespace doclock::detail
