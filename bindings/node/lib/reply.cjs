'use strict';
// What a router gives back: answers, receipts, explanations.

const inspect = Symbol.for('nodejs.util.inspect.custom');

// A view of JSON text that is decoded when it is first looked into.
class Told {
  #text;
  #data;

  constructor(text) {
    this.#text = text;
  }

  get text() {
    return this.#text;
  }

  get data() {
    this.#data ??= JSON.parse(this.#text);
    return this.#data;
  }

  toJSON() {
    return this.data;
  }
}

class RouteReceipt extends Told {
  get request() {
    return this.data.request;
  }

  get provider() {
    return this.#answered(0);
  }

  get connection() {
    return this.#answered(1);
  }

  get model() {
    return this.#answered(2);
  }

  get attempts() {
    return this.data.attempts;
  }

  get costUsd() {
    return this.data.micro_usd / 1e6;
  }

  summary() {
    const tried = this.attempts.map((one) => `${one.key}: ${one.kind ?? 'answered'}`);
    return `${this.data.route}: ${tried.join(', ') || 'nobody was asked'}`;
  }

  // `provider/connection/model`, of which the last may hold slashes.
  #answered(part) {
    const [, ...parts] = /^([^/]*)\/([^/]*)\/(.*)$/s.exec(this.data.answered ?? '') ?? [];
    return parts[part] || undefined;
  }

  [inspect]() {
    return `<RouteReceipt ${this.summary()}>`;
  }
}

class Explanation extends Told {
  #words;

  constructor(words, text) {
    super(text);
    this.#words = words;
  }

  toString() {
    return this.#words;
  }

  [inspect]() {
    return `<Explanation ${this.data.strategy}, ${this.data.picks.length} candidates>`;
  }
}

class Reply {
  #native;
  #body;
  #said;
  #json;
  #receipt;

  constructor(native) {
    this.#native = native;
  }

  get body() {
    this.#body ??= this.#native.body();
    return this.#body;
  }

  get text() {
    return this.#told().text;
  }

  get reasoning() {
    return this.#told().reasoning;
  }

  get toolCalls() {
    return this.#told().tool_calls;
  }

  get usage() {
    return this.#told().usage ?? undefined;
  }

  get stop() {
    return this.#told().stop ?? undefined;
  }

  get receipt() {
    this.#receipt ??= new RouteReceipt(this.#native.receipt());
    return this.#receipt;
  }

  json() {
    this.#json ??= JSON.parse(this.body);
    return this.#json;
  }

  #told() {
    if (this.#said === undefined) {
      const { attempt } = require('./errors.cjs');
      this.#said = JSON.parse(attempt(() => this.#native.told()));
    }
    return this.#said;
  }

  [inspect]() {
    return `<Reply ${this.body.byteLength} bytes, ${this.receipt.summary()}>`;
  }
}

module.exports = { RouteReceipt, Explanation, Reply };
