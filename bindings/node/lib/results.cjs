'use strict';
// What calls give back.

const inspect = Symbol.for('nodejs.util.inspect.custom');

class Receipt {
  #outcome;
  #data;

  constructor(outcome) {
    this.#outcome = outcome;
  }

  get applied() {
    return this.#outcome.applied;
  }

  get tokensBefore() {
    return this.#outcome.tokensBefore;
  }

  get tokensAfter() {
    return this.#outcome.tokensAfter;
  }

  get data() {
    this.#data ??= JSON.parse(this.#outcome.json());
    return this.#data;
  }

  summary() {
    return this.#outcome.summary();
  }

  toJSON() {
    return this.data;
  }

  [inspect]() {
    return `<Receipt ${this.summary()}>`;
  }
}

class Compressed {
  #given;
  #sent;
  #body;
  #json;

  // `given` is what the caller passed, `sent` the bytes or the text that were made from it.
  constructor(outcome, given, sent) {
    this.#given = given;
    this.#sent = sent;
    this.receipt = new Receipt(outcome);
    if (outcome.applied) this.#body = outcome.takeBody(); // now the host knows how large it is
    Object.freeze(this);
  }

  get body() {
    this.#body ??= typeof this.#sent === 'string' ? Buffer.from(this.#sent) : this.#sent;
    return this.#body;
  }

  get text() {
    if (!this.changed && typeof this.#sent === 'string') return this.#sent;
    const { buffer, byteOffset, byteLength } = this.body;
    return Buffer.from(buffer, byteOffset, byteLength).toString();
  }

  get changed() {
    return this.receipt.applied;
  }

  get savedRatio() {
    const { tokensBefore, tokensAfter } = this.receipt;
    return tokensBefore > 0 ? (tokensBefore - tokensAfter) / tokensBefore : 0;
  }

  json() {
    if (this.#json === undefined) {
      const isRequest = typeof this.#given === 'object' && !Array.isArray(this.#given) && !isBytes(this.#given);
      this.#json = isRequest && !this.changed ? this.#given : JSON.parse(this.text);
    }
    return this.#json;
  }

  [inspect]() {
    return `<Compressed ${this.body.byteLength} bytes, ${this.receipt.summary()}>`;
  }
}

class Messages {
  constructor(outcome, messages) {
    this.messages = messages;
    this.receipt = new Receipt(outcome);
    Object.freeze(this);
  }

  get changed() {
    return this.receipt.applied;
  }

  [inspect]() {
    return `<Messages ${this.messages.length}, ${this.receipt.summary()}>`;
  }
}

class CompressedText {
  constructor(outcome, given) {
    this.text = outcome.takeText() ?? given;
    this.receipt = new Receipt(outcome);
    Object.freeze(this);
  }

  get changed() {
    return this.receipt.applied;
  }

  toString() {
    return this.text;
  }

  [inspect]() {
    return `<CompressedText ${this.text.length} characters, ${this.receipt.summary()}>`;
  }
}

function isBytes(value) {
  return ArrayBuffer.isView(value) || value instanceof ArrayBuffer;
}

module.exports = { Receipt, Compressed, CompressedText, Messages, isBytes };
