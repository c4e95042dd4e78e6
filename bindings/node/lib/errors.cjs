'use strict';
// Errors: one class for each kind, all of them OmnirouteError with a stable code.

const { RouteReceipt } = require('./reply.cjs');

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
  return made(facts);
}

// The error that such an object tells.
function made({ class: name, code, message, mistakes, facts }, cause) {
  const Kind = Object.hasOwn(classes, name) ? classes[name] : Internal;
  const details = mistakes.length > 0 ? { errors: mistakes } : {};
  if (facts == null) return new Kind(message, { code, details, cause });
  for (const [key, told] of Object.entries({ status: 'status', vendor_code: 'vendorCode', hint: 'hint' })) {
    if (facts[key] != null) details[told] = facts[key];
  }
  const retryAt = facts.retry_at_ms == null ? undefined : new Date(facts.retry_at_ms);
  const receipt = facts.receipt == null ? undefined : new RouteReceipt(facts.receipt);
  return new Kind(message, { code, details, retryAt, requestId: facts.request_id ?? undefined, receipt, cause });
}

function attempt(work) {
  try {
    return work();
  } catch (error) {
    throw translated(error);
  }
}

function badArgument(message) {
  return new RequestError(message, { code: 'bad_argument' });
}

// The name of a value's class or type, never the value.
function typeOf(value) {
  if (value === null) return 'null';
  return typeof value === 'object' ? (value.constructor?.name ?? 'object') : typeof value;
}

module.exports = { classes, translated, made, attempt, badArgument, typeOf };
