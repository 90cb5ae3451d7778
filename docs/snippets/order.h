struct OrderSaga {
  std::string id;
  std::string step;
  std::vector<std::string> shipped = {};  // parcels
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(OrderSaga, id, step, shipped)

using Sagas = doclock::LockingRepository<OrderSaga>;
