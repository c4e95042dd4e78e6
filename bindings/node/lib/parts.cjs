'use strict';
// Providers and strategies that are written in JavaScript: plain objects with the names that the traits have. All of them
// are called on the thread that made the router.

const { classes, badArgument, typeOf } = require('./errors.cjs');
const { wordsOf } = require('./transport.cjs');

const FAILURE = 'x-omniroute-failure';
const encoder = new TextEncoder();

// The code that stands for an error of a class, where the error has none of its own.
const CODES = {
  AuthenticationError: 'unauthorized',
  RateLimited: 'rate_limited',
  QuotaExhausted: 'quota_exhausted',
  Timeout: 'timeout',
  ContextTooLong: 'context_too_long',
  Filtered: 'filtered',
  RequestError: 'invalid_request',
};

// What a provider is asked: a request in the wire of OpenAI chat, with the provider's own name of the model.
class Request {
  #json;

  constructor({ model, stream, body }) {
    this.model = model;
    this.stream = stream;
    this.body = body;
  }

  json() {
    this.#json ??= JSON.parse(this.body);
    return this.#json;
  }

  get messages() {
    return this.json().messages;
  }
}

// A provider that answers: as an exchange of `fetch`.
class Asking {
  #control = new AbortController();
  #tell;
  #told;

  constructor({ id, object }, job, tell) {
    this.#tell = tell;
    const context = { provider: id, model: job.model, stream: job.stream, signal: this.#control.signal };
    this.#ask(object, new Request(job), context).catch((error) => this.#failed(error));
  }

  async #ask(object, request, context) {
    const said = await object.chat(request, context);
    if (typeof said?.[Symbol.asyncIterator] !== 'function') return this.#whole(context, said);
    this.#told = said[Symbol.asyncIterator]();
    if (this.#control.signal.aborted) return this.#leave();
    if (!context.stream) return this.#whole(context, await gathered(said));
    this.#told = new Told(request.model, this.#told);
    return this.#tell.head(200, ['content-type', 'text/event-stream'], false);
  }

  #whole({ provider, model }, said) {
    const body = whole(model, said, provider);
    this.#told = once(body);
    this.#tell.head(200, ['content-type', 'application/json'], false);
  }

  read() {
    this.#told.next().then(
      ({ value }) => (value === undefined ? this.#tell.end() : this.#tell.piece(value)),
      (error) => this.#tell.broke('read', wordsOf(error), error),
    );
  }

  stop() {
    this.#control.abort();
    this.#leave();
  }

  #leave() {
    const told = this.#told;
    this.#told = undefined;
    // What it throws now concerns nobody.
    Promise.resolve(told?.return?.()).catch(() => undefined);
  }

  #failed(error) {
    const own = error instanceof classes.OmnirouteError;
    const code = !own ? 'unavailable' : error.code === 'internal' ? (CODES[error.name] ?? 'unavailable') : error.code;
    const words = encoder.encode(own ? error.message : wordsOf(error));
    this.#tell.cause(error);
    this.#told = once(words);
    this.#tell.head(500, [FAILURE, code], false);
  }
}

// A body of one piece.
function once(piece) {
  const pieces = [piece];
  return { next: async () => ({ value: pieces.shift() }) };
}

// A whole answer of OpenAI chat.
function whole(model, said, provider) {
  if (ArrayBuffer.isView(said)) return new Uint8Array(said.buffer, said.byteOffset, said.byteLength);
  if (typeof said === 'string') return encoder.encode(JSON.stringify(reply(model, { text: said })));
  if (typeof said !== 'object' || said === null || Array.isArray(said)) {
    const rule = 'a string, { text, toolCalls }, a reply of OpenAI chat, or an async iterable of events';
    throw new TypeError(`provider "${provider}": chat must give ${rule} (got ${typeOf(said)})`);
  }
  return encoder.encode(JSON.stringify('choices' in said ? said : reply(model, said)));
}

function reply(model, { text = '', toolCalls = [], reasoning, usage, stop }) {
  const message = { role: 'assistant', content: text };
  if (reasoning) message.reasoning_content = reasoning;
  if (toolCalls.length > 0) {
    message.tool_calls = toolCalls.map(({ id, name, arguments: words }) => {
      const called = typeof words === 'string' ? words : JSON.stringify(words ?? {});
      return { id, type: 'function', function: { name, arguments: called } };
    });
  }
  const choice = { index: 0, message, finish_reason: stop ?? (toolCalls.length > 0 ? 'tool_calls' : 'stop') };
  const out = { id: 'reply', object: 'chat.completion', created: 0, model, choices: [choice] };
  return usage ? { ...out, usage: tokens(usage) } : out;
}

function tokens({ input = 0, output = 0, cached = 0, reasoning = 0 }) {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}

function checkedEvent(event) {
  if (typeof event === 'string') return { type: 'text', text: event };
  if (['text', 'reasoning', 'tool_call', 'usage', 'stop'].includes(event?.type)) return event;
  throw new TypeError(`an event is a string or an object with a type that is known, not ${typeOf(event)}`);
}

// Events as a whole answer.
async function gathered(events) {
  const out = { text: '', reasoning: '', toolCalls: [] };
  for await (const given of events) {
    const event = checkedEvent(given);
    if (event.type === 'text' || event.type === 'reasoning') out[event.type] += event.text;
    else if (event.type === 'usage') out.usage = event;
    else if (event.type === 'stop') out.stop = event.reason;
    else {
      const { index, id, name, arguments: words = '' } = event;
      out.toolCalls[index] ??= { id, name, arguments: '' };
      out.toolCalls[index].arguments += words;
    }
  }
  out.toolCalls = out.toolCalls.filter(Boolean);
  return out;
}

// Events as a stream of OpenAI chat.
class Told {
  #model;
  #events;
  #usage;
  #calls = false;
  #over = false;

  constructor(model, events) {
    this.#model = model;
    this.#events = events;
  }

  async next() {
    while (!this.#over) {
      const { done, value } = await this.#events.next();
      const event = done ? { type: 'stop', reason: this.#calls ? 'tool_calls' : 'stop' } : checkedEvent(value);
      const piece = this.#piece(event);
      if (!done && this.#over) await this.#events.return?.();
      if (piece !== undefined) return { value: encoder.encode(piece) };
    }
    return { value: undefined };
  }

  async return() {
    this.#over = true;
    await this.#events.return?.();
  }

  #piece(event) {
    switch (event.type) {
      case 'text':
        return this.#chunk({ content: event.text });
      case 'reasoning':
        return this.#chunk({ reasoning_content: event.text });
      case 'tool_call': {
        this.#calls = true;
        const { index, id, name, arguments: words = '' } = event;
        const begin = id == null ? {} : { id, type: 'function' };
        return this.#chunk({ tool_calls: [{ index, ...begin, function: { name, arguments: words } }] });
      }
      case 'usage':
        this.#usage = event;
        return undefined;
      default: {
        this.#over = true;
        const usage = this.#usage && this.#event({ choices: [], usage: tokens(this.#usage) });
        return `${this.#chunk({}, event.reason)}${usage ?? ''}data: [DONE]\n\n`;
      }
    }
  }

  #chunk(delta, stop = null) {
    return this.#event({ choices: [{ index: 0, delta, finish_reason: stop }] });
  }

  #event(event) {
    const whole = { id: 'reply', object: 'chat.completion.chunk', created: 0, model: this.#model, ...event };
    return `data: ${JSON.stringify(whole)}\n\n`;
  }
}

// Checks providers; gives them by their ids.
function providers(objects) {
  const found = new Map();
  for (const object of objects) {
    const id = named('provider', object, found);
    if (typeof object.chat !== 'function') {
      throw badArgument(`provider "${id}": chat must be a function (got ${typeOf(object.chat)})`);
    }
    const models = object.models ?? [];
    if (!Array.isArray(models) || models.some((model) => typeof model !== 'string')) {
      throw badArgument(`provider "${id}": models must be an array of strings`);
    }
    found.set(id, { id, object, models });
  }
  return found;
}

// Checks strategies; gives their names, and what the native module calls with the number of one.
function strategies(objects) {
  const found = new Map();
  for (const object of objects) {
    const id = named('strategy', object, found);
    const isAsync = /^Async/.test(object.plan?.constructor?.name ?? '');
    if (typeof object.plan !== 'function' || isAsync) {
      const got = isAsync ? 'an async function' : typeOf(object.plan);
      throw badArgument(`strategy "${id}": plan must be a function that is not async (got ${got})`);
    }
    if (object.observe != null && typeof object.observe !== 'function') {
      throw badArgument(`strategy "${id}": observe must be a function (got ${typeOf(object.observe)})`);
    }
    found.set(id, object);
  }
  const list = [...found.values()];
  const host = (number, plans, told) => (plans ? plan(list[number], told) : observe(list[number], told));
  return { names: [...found.keys()], host: list.length > 0 ? host : undefined };
}

// Neither throws: the native module stands between here and whoever could catch it.
function plan(strategy, told) {
  try {
    const [context, rows] = JSON.parse(told);
    const candidates = rows.map((row) => Object.freeze(row));
    const order = strategy.plan(Object.freeze(context), candidates.slice());
    if (typeof order?.then === 'function') throw new TypeError('plan gave a promise; it has to decide at once');
    const positions = Array.from(order, (one) => (typeof one === 'object' ? candidates.indexOf(one) : one));
    if (!positions.every((one) => Number.isInteger(one) && one >= 0)) {
      throw new TypeError('plan gives candidates or their positions');
    }
    return JSON.stringify({ order: positions });
  } catch (error) {
    return JSON.stringify({ failed: wordsOf(error).split('\n', 1)[0] });
  }
}

// Nobody waits for it: what it throws is a warning.
function observe(strategy, told) {
  try {
    strategy.observe?.(Object.freeze(JSON.parse(told)));
  } catch (error) {
    process.emitWarning(error instanceof Error ? error : String(error));
  }
  return '';
}

function named(kind, object, found) {
  const id = object?.id;
  if (typeof object === 'function') throw badArgument(`a ${kind} is an object, not the class ${object.name}; make one`);
  if (typeof id !== 'string' || id === '' || id.includes('/')) {
    throw badArgument(`a ${kind} has an id that is a string without "/" (got ${typeOf(id)} of ${typeOf(object)})`);
  }
  if (found.has(id)) throw badArgument(`${kind} "${id}" is there twice`);
  return id;
}

module.exports = { Asking, providers, strategies };
