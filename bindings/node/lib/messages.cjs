'use strict';
// Lists of messages: written into a request on their way in, carried back as objects on their way out.

const { badArgument, typeOf } = require('./errors.cjs');
const { isBytes } = require('./results.cjs');

// Nesting that no request needs; also stops objects that hold themselves.
const MAX_DEPTH = 120;

// Longer texts are written by the native module, which does it faster and on the thread of the work.
const LONG = 128;

// Stands for a text that was left out; every text with this character is.
const MARK = '\0';

// Stands for a message that cannot be read; a message in every wire.
const UNREADABLE_MESSAGE = { role: 'user', content: '', parts: [] };

// The request as JSON text with the long texts behind it, their lengths, and what could not be written.
function written(messages, key, around) {
  const request = { ...around, [key]: messages };
  const texts = [];
  let foreign = false;
  const look = function (name, value) {
    foreign ||= isForeign(value) || name.includes(MARK);
    foreign ||= (this === messages && !isObject(value)) || isBytes(this[name]);
    if (foreign) return undefined;
    if (typeof value !== 'string' || (value.length < LONG && !value.includes(MARK))) return value;
    texts.push(value);
    return MARK;
  };
  try {
    const text = JSON.stringify(request, look);
    if (!foreign) return { ...utf8(text, ...texts), kept: [] };
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof RangeError)) throw error;
  }
  const kept = [];
  const readable = plain(around, [], kept);
  readable[key] = messages.map((message, index) => {
    const noted = kept.length;
    const value = plain(message, [key, index], kept);
    if (isObject(value)) return value;
    if (kept.length === noted) note(message, [key, index], kept);
    return UNREADABLE_MESSAGE;
  });
  return { input: utf8(JSON.stringify(readable)).input, kept };
}

// Texts one behind the other, and the length of each. Without a first pass that only measures.
function utf8(...texts) {
  const input = Buffer.allocUnsafeSlow(texts.reduce((sum, text) => sum + text.length, 0) * 3);
  let end = 0;
  const lengths = texts.map((text) => {
    const length = input.write(text, end);
    end += length;
    return length;
  });
  return { input: input.subarray(0, end), lengths };
}

// A value of which JSON can say everything; what it cannot say is null and noted.
function plain(value, path, kept) {
  if (path.length > MAX_DEPTH) throw badArgument(`the request is nested more than ${MAX_DEPTH} levels deep`);
  if (isForeign(value) || isBytes(value)) {
    note(value, path, kept);
    return null;
  }
  if (typeof value?.toJSON === 'function') return plainMembers(value.toJSON(String(path.at(-1) ?? '')), path, kept);
  return plainMembers(value, path, kept);
}

function plainMembers(value, path, kept) {
  if (Array.isArray(value)) return value.map((item, index) => plain(item, [...path, index], kept));
  if (!isObject(value)) return value;
  const out = {};
  for (const name of Object.keys(value)) {
    const member = plain(value[name], [...path, name], kept);
    Object.defineProperty(out, name, { value: member, enumerable: true, writable: true, configurable: true });
  }
  return out;
}

function note(value, path, kept) {
  const pointer = path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
  kept.push({ pointer, kind: typeOf(value) });
}

// A new list in which the edits below `key` are done: objects on the way to a changed text are copied, all others are
// the very same. Edits stand in document order.
function carried(messages, key, edits) {
  const out = messages.slice();
  let way = []; // of the edit before, with the copies made on it
  for (const { path, text } of edits) {
    if (path[0] !== key) continue;
    const steps = path.slice(1, -1);
    let shared = 0;
    while (shared < way.length && shared < steps.length && way[shared].step === steps[shared]) shared += 1;
    way = way.slice(0, shared);
    let parent = shared > 0 ? way[shared - 1].copy : out;
    for (const step of steps.slice(shared)) {
      const copy = copied(parent[step], step);
      parent[step] = copy;
      way.push({ step, copy });
      parent = copy;
    }
    parent[path.at(-1)] = text;
  }
  return out;
}

function copied(given, step) {
  const value = typeof given?.toJSON === 'function' ? given.toJSON(String(step)) : given;
  if (Array.isArray(value)) return value.slice();
  if (isObject(value)) return { ...value };
  throw badArgument('the messages were changed while they were compressed');
}

function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isForeign(value) {
  return typeof value === 'string' ? !value.isWellFormed() : typeof value === 'bigint';
}

module.exports = { written, carried, utf8 };
