#include "simulation/database/network.h"

#include <algorithm>
#include <utility>

namespace doclock::simulation {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

Time OneWay(Random& luck, const Weather& weather) {
  const Time usual = luck.Between(microseconds(100), microseconds(900));
  if (weather.slow <= Time::zero()) return usual;
  return usual +
         luck.Between(microseconds(0), std::chrono::duration_cast<microseconds>(weather.slow));
}

}  // namespace

Random Network::LuckOf(const Process& process, const std::string& subject) {
  const std::string what = process.name() + " " + subject;
  return Random(Mix(seed_, Mix(HashOf(what), ++sent_[what])));
}

void Network::Send(Process& from, Request what) {
  Random luck = LuckOf(from, what.subject);
  const Weather& weather = weather_[from.number()];
  Time there = OneWay(luck, weather);
  const Time back = OneWay(luck, weather);
  const bool lost = luck.Chance(static_cast<std::uint64_t>(weather.lose_requests));
  const bool reply_lost = luck.Chance(static_cast<std::uint64_t>(weather.lose_replies));
  const bool late = luck.Chance(static_cast<std::uint64_t>(weather.late));
  const bool repeated = luck.Chance(static_cast<std::uint64_t>(weather.repeat));
  const Time delay = luck.Between(milliseconds(200), milliseconds(120'000));
  const auto request = std::make_shared<Request>(std::move(what));
  const auto tell = [&](const char* fate) {
    if (story_.told()) story_.Tell(from.name() + ": the request " + request->subject + fate);
  };
  if (weather.cut || lost) return tell(" is lost");
  if (late) {
    there += delay;
    tell(" is late");
  }
  if (reply_lost) tell(" loses its reply");
  Note(world_.now() + there);
  world_.After(there, [this, &from, request, reply_lost, back] {
    Arrive(from, request, !reply_lost, back);
  });
  if (!repeated || !request->repeatable) return;
  tell(" is repeated");
  const Time again = there + delay / 10;
  Note(world_.now() + again);
  world_.After(again, [this, &from, request] { Arrive(from, request, false, {}); });
}

void Network::Arrive(Process& from, const std::shared_ptr<Request>& request, bool with_reply,
                     Time back) {
  if (Deposed* const primary = database_.DeposedFor(from.number())) {
    return AskDeposed(from, *primary, request, with_reply, back);
  }
  if (!database_.has_primary()) return;
  static_cast<void>(request->serve(database_));
  database_.WhenMajorityHasIt([this, &from, request, with_reply, back] {
    if (!with_reply || weather_[from.number()].cut) return;
    from.After(back, [request] { request->on_reply(); });
  });
}

void Network::AskDeposed(Process& from, Deposed& primary, const std::shared_ptr<Request>& request,
                         bool with_reply, Time back) {
  if (story_.told()) {
    story_.Tell(from.name() + ": the request " + request->subject + " reaches the deposed primary");
  }
  asks_deposed_ = true;
  const bool counts = request->serve(primary) || breakage_ == Breakage::kDeposedAcknowledges;
  asks_deposed_ = false;
  if (!with_reply) return;
  if (counts) return from.After(back, [request] { request->on_reply(); });
  primary.WhenOver(
      [&from, request, back] { from.After(back, [request] { request->on_broken(); }); });
}

class Network::Ending : public Subscription {
 public:
  Ending(Network& network, std::shared_ptr<Subscriber> of)
      : network_(network), of_(std::move(of)) {}
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;
  ~Ending() override {
    of_->listener = nullptr;
    network_.subscribers_.remove(of_);
  }

 private:
  Network& network_;
  const std::shared_ptr<Subscriber> of_;
};

std::unique_ptr<Subscription> Network::Subscribe(Process& process, Collection& collection,
                                                 HintListener listener) {
  auto& watch = watched_[collection.name()];
  if (!watch) {
    watch =
        database_.store().Watch(collection, [this, name = collection.name()](const LockHint& hint) {
          if (asks_deposed_) return;  // no majority will have it
          if (!hint.grant) return GiveHints(name, hint);
          database_.WhenMajorityHasIt([this, name, hint] { GiveHints(name, hint); });
        });
  }
  auto one =
      std::make_shared<Subscriber>(Subscriber{&process, collection.name(), std::move(listener)});
  subscribers_.push_back(one);
  return std::make_unique<Ending>(*this, std::move(one));
}

void Network::GiveHints(const std::string& collection, const LockHint& hint) {
  for (const auto& one : subscribers_) {
    if (one->collection != collection) continue;
    Random luck = LuckOf(*one->process, "hint");
    const Weather& weather = weather_[one->process->number()];
    if (weather.cut || luck.Chance(static_cast<std::uint64_t>(weather.lose_hints))) continue;
    Time delay = OneWay(luck, weather);
    if (weather.slow_hints > Time::zero()) {
      delay += luck.Between(microseconds(0),
                            std::chrono::duration_cast<microseconds>(weather.slow_hints));
    }
    const auto give = [one, hint] {
      if (const HintListener listener = one->listener) listener(hint);
    };
    const Time later = luck.Between(milliseconds(200), milliseconds(120'000));
    if (luck.Chance(static_cast<std::uint64_t>(weather.late))) delay += later;
    one->process->After(delay, give);
    if (luck.Chance(static_cast<std::uint64_t>(weather.repeat))) {
      one->process->After(delay + later / 10, give);
    }
  }
}

}  // namespace doclock::simulation
