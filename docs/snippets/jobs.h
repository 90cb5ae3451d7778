inline void Show(const std::string&, const std::string&, bool) {}
