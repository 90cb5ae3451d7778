#pragma once

/// @file
/// Everything most programs need. The header of each concept can be included alone as well.

// First, because it says in words why the others do not compile.
#include "doclock/export.h"

#include "doclock/async_repository.h"
#include "doclock/document.h"
#include "doclock/entity_traits.h"
#include "doclock/errors.h"
#include "doclock/filter.h"
#include "doclock/held_lock.h"
#include "doclock/lock_admin.h"
#include "doclock/lock_all.h"
#include "doclock/lock_manager.h"
#include "doclock/lock_provider.h"
#include "doclock/locked.h"
#include "doclock/locking_repository.h"
#include "doclock/named_mutex.h"
#include "doclock/open_store.h"
#include "doclock/options.h"
#include "doclock/time.h"
#include "doclock/transaction.h"
#include "doclock/update.h"
