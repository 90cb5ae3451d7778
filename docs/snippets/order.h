struct OrderSaga {
  std::string id;
  std::string step;
  std::vector<std::string> seen = {};    // messages whose effect is stored
  std::vector<std::string> outbox = {};  // messages to be sent
  bool pending = false;                  // is there something in the outbox?
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(OrderSaga, id, step, seen, outbox, pending)

using Sagas = doclock::LockingRepository<OrderSaga>;
