struct Job {
  std::string id;
  std::string status = "queued";
  std::int64_t due = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Job, id, status, due)
