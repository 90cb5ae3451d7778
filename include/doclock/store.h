#pragma once

/// @file
/// The whole port between the engine and a database: Store, and what it is asked and answers.

#include "doclock/clock.h"
#include "doclock/store/collection.h"
#include "doclock/store/finding.h"
#include "doclock/store/grant.h"
#include "doclock/store/index.h"
#include "doclock/store/lock_hint.h"
#include "doclock/store/locks.h"
#include "doclock/store/operation.h"
#include "doclock/store/operations.h"
#include "doclock/store/query.h"
#include "doclock/store/store.h"
#include "doclock/store/subscription.h"
#include "doclock/store/traits.h"
