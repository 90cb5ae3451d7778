#include "audit.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include "journal.h"

namespace order_saga {
namespace {

class Auditor {
 public:
  Auditor(const std::vector<Saga>& input, const SagaRepository& sagas) {
    sagas.ForEach(doclock::Filter{}, [&](doclock::Snapshot<Saga>& found) {
      if (found.locked()) Complain(found->id, "is still locked");
      std::string id = found->id;
      stored_.emplace(std::move(id), std::move(*found));
    });
    for (const Saga& saga : input) CheckSaga(saga);
    if (stored_.size() > input.size()) {
      problems_.emplace_back("the store holds sagas that are not in the input");
    }
  }

  void CheckJournal(const Place& place, int worker) {
    try {
      for (const Acknowledged& entry : ReadJournal(place.journal(worker))) {
        CheckAcknowledged(entry, worker);
      }
    } catch (const std::runtime_error& error) {
      problems_.emplace_back(error.what());
    }
  }

  std::vector<std::string> TakeProblems() { return std::move(problems_); }

 private:
  void Complain(const std::string& saga, const std::string& what) {
    problems_.push_back("saga \"" + saga + "\" " + what);
  }

  void CheckSaga(const Saga& input) {
    const auto found = stored_.find(input.id);
    if (found == stored_.end()) return Complain(input.id, "is missing from the store");
    const Saga& saga = found->second;
    // As text: to the JSON library 1 and 1.0 are equal, to the owner of the data they may not be.
    if (saga.payload.dump() != input.payload.dump()) Complain(saga.id, "has another payload");
    if (!saga.done) Complain(saga.id, "is not done");
    if (!std::equal(
            saga.history.begin(), saga.history.end(), kSteps.begin(), kSteps.end(),
            [](const HistoryEntry& entry, std::string_view step) { return entry.step == step; })) {
      Complain(saga.id, "does not have every step once and in order");
    }
    for (std::size_t i = 1; i < saga.history.size(); ++i) {
      if (saga.history[i].fence <= saga.history[i - 1].fence) {
        Complain(saga.id, "has a fence that did not rise, at step " + saga.history[i].step);
      }
    }
  }

  void CheckAcknowledged(const Acknowledged& entry, int worker) {
    const auto [first, fresh] = acknowledged_.try_emplace({entry.saga, entry.step}, worker);
    if (!fresh) {
      return Complain(entry.saga, "had step " + entry.step + " acknowledged twice, by worker " +
                                      std::to_string(first->second) + " and worker " +
                                      std::to_string(worker));
    }
    const auto found = stored_.find(entry.saga);
    if (found == stored_.end()) return Complain(entry.saga, "was acknowledged but is not stored");
    const auto& history = found->second.history;
    const bool kept = std::any_of(history.begin(), history.end(), [&](const HistoryEntry& stored) {
      return stored.step == entry.step && stored.fence == entry.fence && stored.worker == worker;
    });
    if (!kept) {
      Complain(entry.saga, "lost step " + entry.step + ", acknowledged to worker " +
                               std::to_string(worker) + " under fence " +
                               std::to_string(entry.fence));
    }
  }

  std::map<std::string, Saga> stored_;
  std::map<std::pair<std::string, std::string>, int> acknowledged_;  ///< To which worker.
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> Audit(const std::vector<Saga>& input, const SagaRepository& sagas,
                               const Place& place, int workers) {
  Auditor auditor(input, sagas);
  for (int worker = 1; worker <= workers; ++worker) auditor.CheckJournal(place, worker);
  return auditor.TakeProblems();
}

}  // namespace order_saga
