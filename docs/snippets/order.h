/// A message whose effect is stored.
struct Seen {
  std::string id;
  std::int64_t sent = 0;  // in seconds since 1970
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Seen, id, sent)

struct OrderSaga {
  std::string id;
  std::string step;
  std::vector<std::string> shipped = {};  // parcels
  std::vector<Seen> seen = {};
  std::int64_t forgotten = 0;            // `seen` no longer has messages that were sent before
  std::vector<std::string> outbox = {};  // messages to be sent
  bool pending = false;                  // is the outbox to be sent,
  std::int64_t due = 0;                  // when, in seconds since 1970,
  int attempts = 0;                      // and how often was that tried?
  bool parked = false;                   // was that given up?
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(OrderSaga, id, step, shipped, seen, forgotten,
                                                outbox, pending, due, attempts, parked)

using Sagas = doclock::LockingRepository<OrderSaga>;
