'use strict';
// A `fetch` that compresses what it sends: for the OpenAI SDK and every other client that takes one.

const native = require('./native.cjs');
const { Compressor } = require('./compressor.cjs');
const { receipts } = require('./receipts.cjs');

function compressFetch({ fetch = globalThis.fetch, compressor = new Compressor(), session, onReceipt } = {}) {
  return async function compressingFetch(input, init) {
    const wire = wireOf(input, init);
    const given = wire === undefined ? undefined : await bodyOf(input, init);
    if (given === undefined) return fetch(input, init);
    const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined);
    const out = await compressor.compress(given, { wire, session, signal });
    const response = await fetch(input, out.changed || init?.body == null ? withBody(input, init, out) : init);
    receipts.set(response, () => out.receipt);
    onReceipt?.(out.receipt);
    return response;
  };
}

function receiptOf(response) {
  return receipts.get(response)?.();
}

// The wire of a request that can be compressed.
function wireOf(input, init) {
  const isRequest = input instanceof Request;
  const method = init?.method ?? (isRequest ? input.method : 'GET');
  const headers = new Headers(init?.headers ?? (isRequest ? input.headers : undefined));
  const isPlain = (headers.get('content-encoding') ?? 'identity') === 'identity';
  if (method.toUpperCase() !== 'POST' || !isPlain) return undefined;
  const url = isRequest ? input.url : String(input);
  return URL.canParse(url) ? (native.wireOfPath(new URL(url).pathname) ?? undefined) : undefined;
}

// The body if it is at hand as bytes or text; streams and forms are nobody's request.
async function bodyOf(input, init) {
  const body = init?.body;
  if (typeof body === 'string' || ArrayBuffer.isView(body) || body instanceof ArrayBuffer) return body;
  if (body != null || !(input instanceof Request) || input.body === null) return undefined;
  return new Uint8Array(await input.arrayBuffer());
}

// The options of the request with its new body. The length that the old one had is no longer said.
function withBody(input, init, out) {
  const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined));
  headers.delete('content-length');
  return { ...init, headers, body: out.body };
}

module.exports = { compressFetch, receiptOf };
