#pragma once

/// @file
/// Handles each message once, and sends messages that are stored with their cause.

#include "doclock/classify.h"
#include "doclock/inbox.h"
#include "doclock/outbox.h"
