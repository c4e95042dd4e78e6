'use strict';
// Exchanges over `fetch`: one request, its answer in pieces, what went wrong.

// What `fetch` has undone when it hands an answer out.
const UNDONE = new Set(['content-encoding', 'content-length', 'transfer-encoding']);

// What only `fetch` itself may say.
const ITS_OWN = new Set(['connection', 'content-length', 'host', 'transfer-encoding']);

const CONNECT = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT)$/;
const TLS = /^(ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;
const PHASES = ['connect', 'tls', 'send', 'read'];

// Shortest value of a header that may be a key.
const KEY = 6;

// One exchange under way. `tell` gets the head, pieces, the end, and errors.
class Exchange {
  #control = new AbortController();
  #reader;
  #secrets;

  constructor(fetch, job, tell) {
    const headers = [];
    this.#secrets = [];
    for (let n = 0; n < job.headers.length; n += 2) {
      const [name, value] = [job.headers[n], job.headers[n + 1]];
      if (ITS_OWN.has(name)) continue;
      headers.push([name, value]);
      // With the word in front that says what kind of a key it is, and without.
      for (const secret of [value, value.slice(value.lastIndexOf(' ') + 1)]) {
        if (secret.length >= KEY) this.#secrets.push(secret);
      }
    }
    const query = job.url.indexOf('?');
    if (query >= 0) this.#secrets.push(job.url.slice(query));
    const body = job.body.length > 0 ? job.body : undefined;
    // A redirect would carry keys to another host.
    const init = { method: job.method, headers, body, signal: this.#control.signal, redirect: 'manual' };
    this.tell = tell;
    let sending;
    try {
      sending = fetch(job.url, init);
    } catch (error) {
      sending = Promise.reject(error);
    }
    Promise.resolve(sending).then(
      (response) => this.#answered(response),
      (error) => this.#broke(error, 'send'),
    );
  }

  #answered(response) {
    try {
      const headers = [];
      for (const [name, value] of response.headers) if (!UNDONE.has(name.toLowerCase())) headers.push(name, value);
      const { status, body } = response;
      if (!Number.isInteger(status)) throw new TypeError('fetch gave an answer without a status');
      if (body != null) this.#reader = typeof body.getReader === 'function' ? body.getReader() : ofIterable(body);
      if (this.#control.signal.aborted) return this.stop();
      this.tell.head(status, headers, body == null);
    } catch (error) {
      this.#broke(error, 'send');
    }
    return undefined;
  }

  read() {
    this.#reader.read().then(
      ({ done, value }) => {
        if (done) return this.tell.end();
        if (!ArrayBuffer.isView(value)) return this.#broke(new TypeError('a piece of an answer is no bytes'), 'read');
        return value.byteLength === 0 ? this.read() : this.tell.piece(value);
      },
      (error) => this.#broke(error, 'read'),
    );
  }

  // Nobody waits for it any more.
  stop() {
    this.#control.abort();
    this.#reader?.cancel().catch(() => undefined);
  }

  // Words of an error may show what was sent: keys do not go on, and neither does such an error.
  #broke(error, usual) {
    const said = wordsOf(error);
    const words = this.#secrets.reduce((text, secret) => text.replaceAll(secret, '...'), said);
    this.tell.broke(phaseOf(error, usual), words, words === said ? error : undefined);
  }
}

function ofIterable(body) {
  const pieces = body[Symbol.asyncIterator]();
  return { read: async () => pieces.next(), cancel: async () => pieces.return?.() };
}

function phaseOf(error, usual) {
  const told = error?.phase ?? error?.cause?.phase;
  if (PHASES.includes(told)) return told;
  const code = String(error?.cause?.code ?? error?.code ?? '');
  if (CONNECT.test(code)) return 'connect';
  return TLS.test(code) ? 'tls' : usual;
}

function wordsOf(error) {
  if (!(error instanceof Error)) return `the transport failed: ${typeof error}`;
  const { cause } = error;
  const because = cause instanceof Error ? `: ${cause.code ?? cause.message}` : '';
  return `${error.name}: ${error.message}${because}`;
}

module.exports = { Exchange, wordsOf };
