'use strict';
// Drives one call on the event loop: polls it, does its jobs, waits.

const { classes, made } = require('./errors.cjs');
const { Exchange } = require('./transport.cjs');

// What a poll has found.
const WAITING = 0;
const END = 4;
const FAILED = 5;
const JOBS = 16;
const WAKE = 32;
const OTHERS = 64;

// The longest time that a timer of the host can wait; a poll too many does no harm.
const LONGEST = 2 ** 31 - 1;

// What the calls of a router share.
class Shared {
  drivers = new Map();

  constructor({ fetch, own, host, clock }) {
    this.fetch = fetch ?? ((url, init) => globalThis.fetch(url, init));
    this.own = own;
    this.host = host;
    this.clock = clock;
  }

  wake(ids) {
    for (const id of ids) this.drivers.get(id)?.ring();
  }
}

class Driver {
  #call;
  #shared;
  #open = new Map();
  #waiter;
  #rung = false;
  #over = false;
  #end;
  #cause;
  #signal;
  #stop;

  constructor(call, shared, signal) {
    this.#call = call;
    this.#shared = shared;
    shared.drivers.set(call.id, this);
    if (signal == null) return;
    this.#signal = signal;
    this.#stop = () => this.stop(signal.reason);
    signal.addEventListener('abort', this.#stop, { once: true });
  }

  // What comes next: 1 a reply, 2 the begin, 3 a piece, 4 the end. Rejects with what the call failed with.
  async next() {
    for (;;) {
      if (this.#end !== undefined) throw this.#end.error;
      if (this.#over) return END;
      this.#rung = false;
      const found = this.#call.poll(this.#shared.host);
      if (this.#over) {
        // A strategy ended the call that asked it; in the middle of the poll it could not be let go.
        this.#call.close();
        return END;
      }
      if (found & JOBS) for (const job of this.#call.jobs()) this.#do(job);
      if (found & OTHERS) this.#shared.wake(this.#call.others());
      const state = found & 15;
      if (state === FAILED) throw made(JSON.parse(this.#call.error()), this.#cause);
      if (state !== WAITING) return state;
      if (!this.#rung) await this.#wait(found & WAKE ? this.#call.wakeMs() : undefined);
    }
  }

  async #wait(ms) {
    const { clock } = this.#shared;
    let timer;
    const ring = () => this.ring();
    if (ms !== undefined) timer = clock ? clock.after(ms, ring) : setTimeout(ring, Math.min(Math.ceil(ms), LONGEST));
    await new Promise((resolve) => {
      this.#waiter = resolve;
    });
    if (timer === undefined) return;
    if (clock) timer.cancel();
    else clearTimeout(timer);
  }

  // The call can go on.
  ring() {
    this.#rung = true;
    const waiter = this.#waiter;
    this.#waiter = undefined;
    waiter?.();
  }

  // Ends the call with an error.
  stop(error) {
    this.#end ??= { error };
    this.#release();
    this.ring();
  }

  // Nobody waits for the call any more: what runs for it is broken off.
  close() {
    if (this.#over) return;
    this.#over = true;
    this.#shared.drivers.delete(this.#call.id);
    this.#signal?.removeEventListener('abort', this.#stop);
    this.#release();
    this.#shared.wake(this.#call.close(this.#shared.host));
    this.ring();
  }

  #release() {
    for (const exchange of this.#open.values()) exchange?.stop();
    this.#open.clear();
  }

  #do({ kind, id, ...job }) {
    if (kind === 'send') {
      this.#begin(id, (tell) => new Exchange(this.#shared.fetch, job, tell));
    } else if (kind === 'ask') {
      const { Asking } = require('./parts.cjs');
      this.#begin(id, (tell) => new Asking(this.#shared.own.get(job.provider), job, tell));
    } else if (kind === 'read') {
      this.#open.get(id)?.read();
    } else if (kind === 'abort') {
      this.#open.get(id)?.stop();
      this.#open.delete(id);
    } else if (kind === 'work') {
      this.#work();
    }
  }

  // On a thread of the host's pool.
  #work() {
    const { clock } = this.#shared;
    clock?.hold(1);
    const done = () => {
      clock?.hold(-1);
      this.ring();
    };
    this.#call.work().then(done, done);
  }

  #begin(id, start) {
    this.#cause = undefined;
    const call = this.#call;
    // Of an exchange that was given up nothing is told.
    const told = (say) => (...words) => {
      if (!this.#open.has(id)) return;
      say(...words);
      this.ring();
    };
    const tell = {
      head: told((status, headers, whole) => {
        call.answered(id, status, headers);
        if (whole) this.#ended(id);
      }),
      piece: told((piece) => call.toldPiece(id, piece)),
      end: told(() => this.#ended(id)),
      cause: (error) => {
        if (this.#open.has(id)) this.#cause = error;
      },
      broke: told((phase, words, cause) => {
        this.#cause = cause;
        this.#open.delete(id);
        call.broke(id, phase, words);
      }),
    };
    // Before anything of it can be told.
    this.#open.set(id, undefined);
    this.#open.set(id, start(tell));
  }

  #ended(id) {
    this.#open.delete(id);
    this.#call.ended(id);
  }
}

function closed() {
  return new classes.Cancelled('the router was closed', { code: 'cancelled' });
}

module.exports = { Driver, Shared, closed };
