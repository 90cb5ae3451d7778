#pragma once

#include <string>
#include <vector>

#include "service.h"

/// Opens accounts and orders, and writes messages: some twice, some that cannot be carried out.
void SetUp(const Service& service, const std::string& file);

/// Prints what became of the messages. Returns whether each took effect exactly once.
bool Audit(const Service& service, const std::vector<std::string>& lines);
