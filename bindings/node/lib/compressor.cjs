'use strict';
// The compressor, and the functions that make one for a single call.

const native = require('./native.cjs');
const { translated, attempt, badArgument, typeOf } = require('./errors.cjs');
const { written, carried, utf8 } = require('./messages.cjs');
const { Compressed, CompressedText, Messages, isBytes } = require('./results.cjs');

// Smaller inputs are compressed at once also by asynchronous calls: handing them to another thread takes longer.
const OFFLOAD_FROM = 4 << 10;

const OF_BODY = { wire: 'string', plan: 'string', model: 'string', session: 'string' };
const OF_MESSAGES = { ...OF_BODY, tools: 'array', system: undefined };
const OF_TEXT = { kind: 'string', command: 'string', exitCode: 'number', plan: 'string', model: 'string' };

class Compressor {
  #engine;

  constructor(config = {}) {
    const { text, isJson } = configured(config);
    this.#engine = attempt(() => new native.Engine(text, isJson));
  }

  async compress(body, options) {
    const call = bodyCall('body', body, checked(options, OF_BODY, true));
    return new Compressed(await this.#off(call, options?.signal), body, call.sent);
  }

  compressSync(body, options) {
    const call = bodyCall('body', body, checked(options, OF_BODY));
    return new Compressed(this.#now(call), body, call.sent);
  }

  async preview(body, options) {
    const call = bodyCall('preview', body, checked(options, OF_BODY, true));
    return new Compressed(await this.#off(call, options?.signal), body, call.sent);
  }

  previewSync(body, options) {
    const call = bodyCall('preview', body, checked(options, OF_BODY));
    return new Compressed(this.#now(call), body, call.sent);
  }

  async compressMessages(messages, options) {
    const call = messagesCall(messages, checked(options, OF_MESSAGES, true));
    return messagesResult(await this.#off(call, options?.signal), call);
  }

  compressMessagesSync(messages, options) {
    const call = messagesCall(messages, checked(options, OF_MESSAGES));
    return messagesResult(this.#now(call), call);
  }

  async compressText(text, options) {
    const call = textCall(text, checked(options, OF_TEXT, true));
    return new CompressedText(await this.#off(call, options?.signal), text);
  }

  compressTextSync(text, options) {
    const call = textCall(text, checked(options, OF_TEXT));
    return new CompressedText(this.#now(call), text);
  }

  stats() {
    return JSON.parse(this.#engine.stats());
  }

  get plan() {
    return this.#engine.plan;
  }

  #now(call) {
    return attempt(() => this.#engine.run(call, call.input));
  }

  // On a thread of the host's pool if that is worth it; what comes after an abort is dropped.
  async #off(call, signal) {
    if (call.input.length < OFFLOAD_FROM) return this.#now(call);
    if (signal == null) {
      return attempt(() => this.#engine.start(call, call.input)).catch(rethrow);
    }
    const cancel = new native.Cancel();
    return new Promise((resolve, reject) => {
      const stop = () => {
        cancel.ask();
        reject(signal.reason);
      };
      const work = attempt(() => this.#engine.start(call, call.input, cancel));
      signal.addEventListener('abort', stop, { once: true });
      const done = (settle) => (value) => {
        signal.removeEventListener('abort', stop);
        settle(value);
      };
      work.catch(rethrow).then(done(resolve), done(reject));
    });
  }
}

// The text of a configuration: an object, or what stands in the file of a path.
function configured(config) {
  const isPath = typeof config === 'string' || config instanceof URL;
  if (!isPath && (typeof config !== 'object' || config === null)) {
    throw badArgument(`config: expected a path or an object, not ${typeOf(config)}`);
  }
  const text = isPath ? require('node:fs').readFileSync(config, 'utf8') : json(config, 'the configuration');
  return { text, isJson: !isPath };
}

function bodyCall(what, body, options) {
  const sent = asJson(body);
  return { ...options, what, sent, input: typeof sent === 'string' ? utf8(sent).input : sent };
}

function asJson(body) {
  if (typeof body === 'string') return wellFormed(body, 'the body');
  if (body instanceof Uint8Array) return body;
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  if (isBytes(body)) return new Uint8Array(body);
  if (Array.isArray(body)) return json({ messages: body }, 'the body');
  if (typeof body === 'object' && body !== null) return json(body, 'the body');
  throw badArgument(`a body is bytes, a string, an object or a list of messages, not ${typeOf(body)}`);
}

function messagesCall(given, { tools, system, ...options }) {
  if (!Array.isArray(given)) throw badArgument(`messages: expected an array, not ${typeOf(given)}`);
  const around = Object.fromEntries(
    Object.entries({ model: options.model, system, tools }).filter(([, value]) => value != null),
  );
  const messages = given.slice();
  const key = native.listMember(options.wire);
  return { ...options, ...written(messages, key, around), what: 'edits', messages, key };
}

function messagesResult(outcome, { messages, key }) {
  return new Messages(outcome, outcome.applied ? carried(messages, key, outcome.takeEdits()) : messages);
}

function textCall(text, options) {
  if (typeof text !== 'string') throw badArgument(`text: expected a string, not ${typeOf(text)}`);
  return { ...options, what: 'text', input: utf8(wellFormed(text, 'the text')).input };
}

// Options without those that are not set; a wrong name or type is an error.
function checked(options, known, hasSignal = false) {
  const out = {};
  for (const [name, value] of Object.entries(options ?? {})) {
    if (name === 'signal' && hasSignal) {
      if (value != null && !(value instanceof AbortSignal)) {
        throw badArgument(`signal: expected an AbortSignal, not ${typeOf(value)}`);
      }
      value?.throwIfAborted();
      continue;
    }
    if (!Object.hasOwn(known, name)) {
      throw badArgument(`options: ${name} is not known; there are ${Object.keys(known).join(', ')}`);
    }
    if (value == null) continue;
    const type = known[name];
    const fits = type === 'array' ? Array.isArray(value) : type === undefined || typeof value === type;
    if (!fits) throw badArgument(`${name}: expected ${/^[ao]/.test(type) ? 'an' : 'a'} ${type}, not ${typeOf(value)}`);
    out[name] = value;
  }
  return out;
}

function wellFormed(text, what) {
  if (!text.isWellFormed()) throw badArgument(`${what} holds a lone surrogate`);
  return text;
}

function json(value, what) {
  let text;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof RangeError)) throw error;
    throw badArgument(`${what} cannot be written as JSON: ${error.message.split('\n', 1)[0]}`);
  }
  if (text === undefined) throw badArgument(`${what} cannot be written as JSON`);
  return text;
}

function rethrow(error) {
  throw translated(error);
}

// With a compressor for one call: it remembers nothing.
function forCall(name) {
  return (input, options) => new Compressor({ memo: { entries: 0 } })[name](input, options);
}

// A wrong plan rejects as everything else does.
function promised(call) {
  return async (input, options) => call(input, options);
}

module.exports = {
  shared: { asJson, checked, configured },
  Compressor,
  compress: promised(forCall('compress')),
  compressSync: forCall('compressSync'),
  compressMessages: promised(forCall('compressMessages')),
  compressMessagesSync: forCall('compressMessagesSync'),
  compressText: promised(forCall('compressText')),
  compressTextSync: forCall('compressTextSync'),
};
