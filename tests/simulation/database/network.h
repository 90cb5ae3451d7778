#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "doclock/store/store.h"
#include "simulation/database/database.h"
#include "simulation/machine/process.h"
#include "simulation/play/random.h"
#include "simulation/play/story.h"

namespace doclock::simulation {

/// What goes wrong between one process and the database. Chances are per mille.
struct Weather {
  int lose_requests = 0;
  int lose_replies = 0;
  int repeat = 0;  ///< A request, or a hint, arrives twice; the second reply is lost.
  int late = 0;    ///< A request, or a hint, arrives up to two minutes later.
  int lose_hints = 0;
  Time slow{};  ///< Requests and replies take up to this much longer, each by itself.
  Time slow_hints{};
  bool cut = false;  ///< Nothing gets through.
};

/// Carries requests, replies and hints. What happens to a message depends on the seed, the process,
/// its subject and how many of these there were before: not on other messages.
class Network {
 public:
  Network(World& world, Database& database, Story& story, std::uint64_t seed, Breakage breakage)
      : world_(world), database_(database), story_(story), seed_(seed), breakage_(breakage) {}
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  struct Request {
    std::string subject;     ///< For the story, and for its luck.
    bool repeatable = true;  ///< Does the server guard it against a repetition?
    /// At the database, at one moment; perhaps twice. True: what a deposed primary answers counts.
    std::function<bool(Primary&)> serve;
    std::function<void()> on_reply;   ///< At the process.
    std::function<void()> on_broken;  ///< The connection broke, perhaps after the effect.
  };
  void Send(Process& from, Request request);

  [[nodiscard]] Weather& weather(int process) { return weather_[process]; }
  /// When the last message that is under way arrives.
  [[nodiscard]] Time last_arrival() const noexcept { return last_arrival_; }

  /// Gives hints of one collection to a process until the subscription is destroyed.
  std::unique_ptr<Subscription> Subscribe(Process& process, Collection& collection,
                                          HintListener listener);

 private:
  struct Subscriber {
    Process* process;
    std::string collection;
    HintListener listener;
  };
  class Ending;

  Random LuckOf(const Process& process, const std::string& subject);
  void Arrive(Process& from, const std::shared_ptr<Request>& request, bool with_reply, Time back);
  void AskDeposed(Process& from, Deposed& primary, const std::shared_ptr<Request>& request,
                  bool with_reply, Time back);
  void GiveHints(const std::string& collection, const LockHint& hint);
  void Note(Time arrival) { last_arrival_ = std::max(last_arrival_, arrival); }

  World& world_;
  Database& database_;
  Story& story_;
  const std::uint64_t seed_;
  const Breakage breakage_;
  std::map<int, Weather> weather_;
  std::map<std::string, std::uint64_t> sent_;
  std::list<std::shared_ptr<Subscriber>> subscribers_;
  std::map<std::string, std::unique_ptr<Subscription>> watched_;
  Time last_arrival_{};
  bool asks_deposed_ = false;  ///< A request is with a deposed primary.
};

}  // namespace doclock::simulation
