/// One Redis: SET NX PX takes a lock, a script compares and deletes. A waiter asks every 50 to
/// 150 ms. The URL is the port on this machine.

#include <hiredis/hiredis.h>

#include <cstdarg>
#include <memory>
#include <stdexcept>
#include <unordered_map>

#include "worker.h"

namespace doclock::peers {
namespace {

constexpr const char* kDelete =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";
constexpr const char* kRenew =
    "if redis.call('get', KEYS[1]) == ARGV[1] then "
    "return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0";

class RedisCaller final : public Caller {
 public:
  explicit RedisCaller(const Place& place)
      : ttl_(std::to_string(place.ttl.count())),
        connection_(::redisConnect("127.0.0.1", std::stoi(place.url))) {
    if (connection_ == nullptr || connection_->err != 0) throw std::runtime_error("no Redis");
  }

  bool Lock(int key, const std::stop_token& stop) override {
    const std::string id = NewId();
    const auto attempt = [&] {
      return Done("SET lock/%d %s NX PX %s", key, id.c_str(), ttl_.c_str());
    };
    if (!Poll(stop, kPollLeast, kPollMost, attempt)) return false;
    ids_[key] = id;
    return true;
  }
  bool Unlock(int key) override {
    return Done("EVAL %s 1 lock/%d %s", kDelete, key, ids_[key].c_str());
  }
  bool Renew(int key) override {
    return Done("EVAL %s 1 lock/%d %s %s", kRenew, key, ids_[key].c_str(), ttl_.c_str());
  }

 private:
  /// Sends a command; returns whether it answered OK, or 1.
  bool Done(const char* format, ...) {
    va_list values;
    va_start(values, format);
    auto* const reply =
        static_cast<redisReply*>(::redisvCommand(connection_.get(), format, values));
    va_end(values);
    if (reply == nullptr) throw std::runtime_error(connection_->errstr);
    const int type = reply->type;
    const bool done =
        type == REDIS_REPLY_STATUS || (type == REDIS_REPLY_INTEGER && reply->integer == 1);
    ::freeReplyObject(reply);
    if (type == REDIS_REPLY_ERROR) throw std::runtime_error("Redis refused a command");
    return done;
  }

  struct Free {
    void operator()(redisContext* connection) const { ::redisFree(connection); }
  };
  const std::string ttl_;
  const std::unique_ptr<redisContext, Free> connection_;
  std::unordered_map<int, std::string> ids_;
};

class RedisPeer final : public Peer {
 public:
  explicit RedisPeer(Place place) : place_(std::move(place)) {}
  std::unique_ptr<Caller> NewCaller() override { return std::make_unique<RedisCaller>(place_); }

 private:
  const Place place_;
};

}  // namespace
}  // namespace doclock::peers

int main(int argc, char** argv) {
  using namespace doclock::peers;
  return Work(argc, argv, [](const Place& place) { return std::make_unique<RedisPeer>(place); });
}
