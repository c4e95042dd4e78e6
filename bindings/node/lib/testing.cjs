'use strict';
// For tests of programs that route: vendors that answer as a script says, a clock that only moves when it is told, and
// scenarios in files that other languages run as well.

const { readFileSync } = require('node:fs');

const native = require('./native.cjs');
const { classes, attempt, badArgument } = require('./errors.cjs');
const { Router } = require('./router.cjs');

// Turns of the event loop in which nothing asks for the time before it is moved on.
const TURNS = 20;
const START = 1_800_000_000_000;
const NO_BODY = [101, 103, 204, 205, 304];

class VirtualClock {
  #start;
  #now = 0; // nanoseconds
  #auto;
  #timers = [];
  #number = 0;
  #watching = false;
  #busy = 0;
  #cores = [];

  constructor({ wallMs = START, auto = true } = {}) {
    this.#start = wallMs;
    this.#auto = auto;
  }

  get wallMs() {
    return this.#start + Math.floor(this.#now / 1e6);
  }

  get ms() {
    return this.#now / 1e6;
  }

  // A router whose time this is.
  attach(core) {
    this.#cores.push(core);
  }

  // Work that takes no time is under way: the time stands still.
  hold(more) {
    this.#busy += more;
  }

  // Calls back in so many milliseconds. `first`: before others of the same moment.
  after(ms, callback, first = false) {
    this.#number += 1;
    const timer = { at: this.#now + Math.round(ms * 1e6), rank: first ? 0 : 1, number: this.#number, callback };
    const later = this.#timers.findIndex((other) => before(timer, other));
    this.#timers.splice(later < 0 ? this.#timers.length : later, 0, timer);
    if (this.#auto && !this.#watching) {
      this.#watching = true;
      setImmediate(() => this.#watch(0, this.#number));
    }
    return {
      cancel: () => {
        const place = this.#timers.indexOf(timer);
        if (place >= 0) this.#timers.splice(place, 1);
      },
    };
  }

  // Waits, as a timer does on the time of the machine.
  async sleep(ms, { signal } = {}) {
    signal?.throwIfAborted();
    if (!(ms > 0)) return;
    await new Promise((resolve, reject) => {
      const timer = this.after(ms, () => done(resolve), true);
      const stop = () => done(() => reject(signal.reason));
      const done = (settle) => {
        timer.cancel();
        signal?.removeEventListener('abort', stop);
        settle();
      };
      signal?.addEventListener('abort', stop, { once: true });
    });
  }

  // Moves on, through every moment on the way.
  advance(ms) {
    const end = this.#now + Math.round(ms * 1e6);
    while (this.#timers.length > 0 && this.#timers[0].at <= end) this.#ring();
    this.#move(end);
  }

  #ring() {
    const timer = this.#timers.shift();
    this.#move(timer.at);
    timer.callback();
  }

  #move(to) {
    const by = to - this.#now;
    this.#now = to;
    if (by > 0) for (const core of this.#cores) core.advance(by);
  }

  #watch(turns, seen) {
    const isQuiet = seen === this.#number && this.#busy === 0;
    if (isQuiet && turns >= TURNS) {
      if (this.#timers.length === 0) {
        this.#watching = false;
        return;
      }
      this.#ring();
    }
    const next = isQuiet && turns < TURNS ? turns + 1 : 0;
    setImmediate(() => this.#watch(next, this.#number));
  }
}

function before(one, other) {
  return (one.at - other.at || one.rank - other.rank || one.number - other.number) < 0;
}

class TransportError extends Error {
  constructor(phase, message) {
    super(message);
    this.phase = phase;
  }

  get name() {
    return 'TransportError';
  }
}

class Script {
  #replies;
  #clock;
  requests = [];
  aborted = 0;

  constructor(replies, { clock } = {}) {
    this.#replies = [...replies];
    this.#clock = clock;
    this.fetch = (url, init) => this.#answer(url, init);
  }

  async #answer(url, { method = 'GET', headers, body, signal } = {}) {
    const number = this.requests.push({ url: String(url), method, headers: new Headers(headers), body });
    if (number > this.#replies.length) throw new TransportError('send', 'the script is over');
    const reply = this.#replies[number - 1];
    const given = this.#guard(signal);
    await this.#wait(reply.after_ms, signal);
    given.over();
    if (reply.broke !== undefined) throw new TransportError(reply.broke, 'as the script says');
    const status = reply.status ?? 200;
    const kind = reply.pieces === undefined ? 'application/json' : 'text/event-stream';
    const about = { status, headers: reply.headers ?? { 'content-type': kind } };
    if (reply.pieces !== undefined) return new Response(this.#pieces(reply, signal), about);
    return new Response(NO_BODY.includes(status) ? null : bodyOf(reply.body), about);
  }

  #pieces({ pieces, piece_ms: pieceMs }, signal) {
    const left = pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece));
    const guard = this.#guard(signal);
    const pull = async (control) => {
      await this.#wait(pieceMs, signal);
      const piece = left.shift();
      if (piece !== undefined) return control.enqueue(piece);
      guard.over();
      return control.close();
    };
    return new ReadableStream({ pull, cancel: () => guard.left() }, { highWaterMark: 0 });
  }

  // Counts once if the reply is given up before it is over.
  #guard(signal) {
    const left = () => {
      over();
      this.aborted += 1;
    };
    const over = () => signal?.removeEventListener('abort', left);
    signal?.addEventListener('abort', left, { once: true });
    return { over, left };
  }

  async #wait(ms, signal) {
    signal?.throwIfAborted();
    if (!ms) return;
    if (this.#clock !== undefined) await this.#clock.sleep(ms, { signal });
    else await require('node:timers/promises').setTimeout(ms, undefined, { signal });
  }
}

function bodyOf(body = '') {
  return typeof body === 'string' || ArrayBuffer.isView(body) ? body : JSON.stringify(body);
}

class Scenario {
  #told;

  constructor(path) {
    const told = JSON.parse(attempt(() => native.tomlJson(readFileSync(path, 'utf8'))));
    if (!Array.isArray(told.requests)) throw badArgument('a scenario has requests');
    this.#told = told;
  }

  get name() {
    return this.#told.name;
  }

  // What has to come of each request: `text` or `error`, and `receipt`.
  get expected() {
    return this.#told.requests.map((request) => request.expect);
  }

  // Plays it through a `Router`, on a clock of its own.
  async run() {
    const { config, replies = [], requests, wall_ms: wallMs = START } = this.#told;
    const clock = new VirtualClock({ wallMs });
    const { fetch } = new Script(replies, { clock });
    const router = new Router(config, { fetch, clock });
    const outcomes = [];
    for (const request of requests) {
      clock.advance(request.advance_ms ?? 0);
      outcomes.push(await play(router, request));
    }
    await router.close();
    return outcomes;
  }
}

async function play(router, { body, stream, session, wire, timeout_ms: timeoutMs }) {
  const options = { session, wire, timeoutMs };
  try {
    if (!stream) {
      const reply = await router.chat(body, options);
      return { text: reply.text, error: undefined, receipt: reply.receipt.text };
    }
    const answer = router.stream(body, options);
    let text = '';
    for await (const event of answer) if (event.type === 'text') text += event.text;
    return { text, error: undefined, receipt: answer.receipt.text };
  } catch (error) {
    if (!(error instanceof classes.OmnirouteError)) throw error;
    return { text: undefined, error: error.code, receipt: error.receipt?.text ?? '' };
  }
}

module.exports = { VirtualClock, Script, Scenario, TransportError };
