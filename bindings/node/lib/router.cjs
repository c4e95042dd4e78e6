'use strict';
// The router: a request in, an answer out, whoever gives it.

const native = require('./native.cjs');
const { classes, attempt, badArgument, made, typeOf } = require('./errors.cjs');
const { shared: given } = require('./compressor.cjs');
const { Driver, Shared, closed } = require('./drive.cjs');
const { Explanation, Reply, RouteReceipt } = require('./reply.cjs');

const asyncDispose = Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose');

const ABOUT = { wire: 'string', session: 'string', model: 'string', tags: 'array', connection: 'string' };
const OF_CALL = { ...ABOUT, plan: 'string', timeoutMs: 'number' };
const OF_ROUTER = { providers: 'array', strategies: 'array', fetch: 'function', clock: 'object', seed: 'number' };
const OF_FEEDBACK = { weight: 'number' };

// Pieces of a streamed answer that wait to be read.
const QUEUE = 16;

class Router {
  #core;
  #shared;
  #closed = false;
  #fetch;

  constructor(config, options) {
    const { providers = [], strategies = [], fetch, clock, seed } = given.checked(options, OF_ROUTER);
    if (seed !== undefined && !(Number.isSafeInteger(seed) && seed >= 0)) {
      throw badArgument(`seed: expected a whole number from 0 on, not ${seed}`);
    }
    const { text, isJson } = given.configured(config);
    const parts = providers.length + strategies.length > 0 ? require('./parts.cjs') : undefined;
    const own = parts?.providers(providers) ?? new Map();
    const called = parts?.strategies(strategies);
    const listed = [...own].map(([id, { models }]) => ({ id, models }));
    const names = called?.names ?? [];
    const about = { seed, providers: listed, strategies: names, wallMs: clock?.wallMs };
    this.#core = attempt(() => new native.RouterCore(text, isJson, about));
    this.#shared = new Shared({ fetch, own, host: called?.host, clock });
    clock?.attach(this.#core);
  }

  async chat(body, options) {
    const { call, signal } = this.#call(body, options, false);
    const driver = new Driver(call, this.#shared, signal);
    try {
      await driver.next();
      return new Reply(call.reply());
    } finally {
      driver.close();
    }
  }

  stream(body, options) {
    checkedCall(options);
    return new RouteStream(() => {
      const { call, signal } = this.#call(body, options, true);
      return { call, driver: new Driver(call, this.#shared, signal) };
    });
  }

  get fetch() {
    this.#fetch ??= async (input, init) => require('./inprocess.cjs').answer(this, input, init);
    return this.#fetch;
  }

  explain(body, options) {
    const spec = given.checked(options, ABOUT);
    const told = attempt(() => this.#core.explain(bytes(body), spec, this.#shared.host));
    return new Explanation(told.text, told.json);
  }

  health() {
    return JSON.parse(this.#core.health());
  }

  models() {
    return this.#core.models();
  }

  warnings() {
    return this.#core.warnings();
  }

  feedback(of, reward, options) {
    const { weight = 1 } = given.checked(options, OF_FEEDBACK);
    const receipt = of instanceof Reply ? of.receipt : of;
    const request = receipt instanceof RouteReceipt ? receipt.request : receipt;
    if (typeof request !== 'string') throw badArgument(`feedback: expected a reply, a receipt or a name, not ${typeOf(of)}`);
    if (typeof reward !== 'number') throw badArgument(`feedback: expected a number from 0 to 1, not ${typeOf(reward)}`);
    return this.#core.feedback(request, reward, weight);
  }

  async close() {
    this.#closed = true;
    for (const driver of [...this.#shared.drivers.values()]) driver.stop(closed());
  }

  async [asyncDispose]() {
    await this.close();
  }

  #call(body, options, stream) {
    const { signal, ...spec } = checkedCall(options);
    if (this.#closed) throw new classes.RequestError('the router was closed', { code: 'closed' });
    return { call: attempt(() => this.#core.chat(bytes(body), { ...spec, stream })), signal };
  }
}

// Lets go of calls whose streams nobody can read any more. Made with the first stream.
let dropped;

class RouteStream {
  #start;
  #call;
  #driver;
  #receipt;
  #begun;
  #left = false;
  #taken = false;

  constructor(start) {
    this.#start = start;
  }

  get receipt() {
    if (this.#receipt === undefined) {
      const text = this.#driver && this.#call.receipt();
      return text == null ? undefined : new RouteReceipt(text);
    }
    return this.#receipt;
  }

  get wire() {
    return this.#call?.wire;
  }

  // Waits until the answer begins; reading does so by itself.
  begin() {
    this.#begun ??= this.#begin();
    return this.#begun;
  }

  [Symbol.asyncIterator]() {
    this.#take();
    const ready = [];
    let reader;
    let ended = false;
    return this.#iterator(async () => {
      while (ready.length === 0 && !ended) {
        const piece = await this.#piece();
        ended = piece === undefined;
        if (this.#left) return undefined; // what is missing was not wanted
        reader ??= new native.Events(this.#call.wire);
        ready.push(...JSON.parse(reader.feed(piece)));
      }
      const event = ready.shift();
      if (event?.type !== 'failed') return event;
      ended = true;
      ready.length = 0;
      this.#over();
      throw made(event.error);
    });
  }

  raw() {
    this.#take();
    return this.#iterator(() => this.#piece());
  }

  toReadableStream() {
    const pieces = this.raw();
    const pull = async (control) => {
      const { done, value } = await pieces.next();
      if (done) control.close();
      else control.enqueue(value);
    };
    return new ReadableStream({ pull, cancel: () => this.close() }, { highWaterMark: QUEUE });
  }

  // Ends the call; does nothing after its end.
  close() {
    this.#left = true;
    this.#over();
  }

  #over() {
    this.#start = undefined;
    const driver = this.#driver;
    if (driver === undefined) return;
    this.#receipt = this.receipt;
    this.#driver = undefined;
    dropped.unregister(this);
    driver.close();
  }

  async [asyncDispose]() {
    this.close();
  }

  #take() {
    if (this.#taken) throw badArgument('the answer is read already: a stream can be read once');
    this.#taken = true;
  }

  // Steps one after the other, however they are asked for. `return` ends the call at once, also in the middle of a step.
  #iterator(step) {
    let last = Promise.resolve();
    const next = async () => {
      const value = await step();
      return value === undefined ? { done: true, value } : { done: false, value };
    };
    const stopped = async (value) => {
      this.close();
      return { done: true, value };
    };
    return {
      next: () => (last = last.then(next, next)),
      return: stopped,
      throw: async (error) => {
        this.close();
        throw error;
      },
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }

  async #begin() {
    if (this.#start === undefined) return this; // closed before
    const start = this.#start;
    this.#start = undefined;
    ({ call: this.#call, driver: this.#driver } = start());
    dropped ??= new FinalizationRegistry((driver) => driver.close());
    dropped.register(this, this.#driver, this);
    await this.#going(this.#driver.next());
    return this;
  }

  async #piece() {
    await this.begin();
    const driver = this.#driver;
    if (driver === undefined) return undefined;
    await this.#going(driver.next());
    // Nothing is there to fetch after the end, or after somebody closed it meanwhile.
    const piece = this.#driver === undefined ? undefined : (this.#call.piece() ?? undefined);
    if (piece === undefined) this.#over();
    return piece;
  }

  async #going(work) {
    try {
      await work;
    } catch (error) {
      this.#over();
      throw error;
    }
  }
}

function bytes(body) {
  const sent = given.asJson(body);
  return typeof sent === 'string' ? Buffer.from(sent) : sent;
}

// The options of a call with its signal, which is not aborted.
function checkedCall(options) {
  const spec = given.checked(options, OF_CALL, true);
  if (spec.tags?.some((tag) => typeof tag !== 'string')) throw badArgument('tags: expected strings');
  return { ...spec, signal: options?.signal };
}

module.exports = { Router, RouteStream };
