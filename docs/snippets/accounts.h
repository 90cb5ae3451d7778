struct Account {
  std::string id;
  int balance = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Account, id, balance)
