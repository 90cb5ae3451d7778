struct Order {
  std::string id;
  std::string step;
  int attempts = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Order, id, step, attempts)
