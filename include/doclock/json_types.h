#pragma once

/// @file
/// JSON forms of everyday members of an entity, for the NLOHMANN_DEFINE_TYPE macros. Each header
/// says what its form is. Include only the ones whose types have no JSON form in the program
/// already. `std::filesystem::path` has one in nlohmann/json itself.

#include "doclock/json/bson.h"
#include "doclock/json/chrono.h"
#include "doclock/json/enum.h"
#include "doclock/json/key.h"
#include "doclock/json/lock_fields.h"
#include "doclock/json/optional.h"
#include "doclock/json/uuid.h"
#include "doclock/json/variant.h"
#include "doclock/time.h"
