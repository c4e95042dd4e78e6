'use strict';
// Errors: one class for each kind, all of them OmnirouteError with a stable code.

class OmnirouteError extends Error {
  constructor(message, { code = 'internal', retryAt, requestId, receipt, details = {}, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.retryAt = retryAt;
    this.requestId = requestId;
    this.receipt = receipt;
    this.details = details;
  }

  get name() {
    return this.constructor.name;
  }
}

class ConfigError extends OmnirouteError {
  get errors() {
    return this.details.errors ?? [];
  }
}
class RequestError extends OmnirouteError {}
class AuthenticationError extends OmnirouteError {}
class RateLimited extends OmnirouteError {}
class QuotaExhausted extends OmnirouteError {}
class Unavailable extends OmnirouteError {}
class Timeout extends OmnirouteError {}
class NoCandidate extends OmnirouteError {}
class ContextTooLong extends OmnirouteError {}
class Filtered extends OmnirouteError {}
class Cancelled extends OmnirouteError {}
class Internal extends OmnirouteError {}

const classes = {
  OmnirouteError,
  ConfigError,
  RequestError,
  AuthenticationError,
  RateLimited,
  QuotaExhausted,
  Unavailable,
  Timeout,
  NoCandidate,
  ContextTooLong,
  Filtered,
  Cancelled,
  Internal,
};

// The error behind one of the native module, whose message is a JSON object.
function translated(error) {
  let facts;
  try {
    facts = JSON.parse(error.message);
  } catch {
    return error;
  }
  const Kind = Object.hasOwn(classes, facts.class) ? classes[facts.class] : Internal;
  const details = facts.mistakes.length > 0 ? { errors: facts.mistakes } : {};
  return new Kind(facts.message, { code: facts.code, details });
}

function badArgument(message) {
  return new RequestError(message, { code: 'bad_argument' });
}

// The name of a value's class or type, never the value.
function typeOf(value) {
  if (value === null) return 'null';
  return typeof value === 'object' ? (value.constructor?.name ?? 'object') : typeof value;
}

module.exports = { classes, translated, badArgument, typeOf };
