'use strict';
// A `fetch` that ends in a router of the same process, without a socket. The answer comes back in the wire of the path
// that was asked.

const native = require('./native.cjs');
const { classes } = require('./errors.cjs');
const { receipts } = require('./receipts.cjs');

const BASE = 'http://omniroute.invalid';
const JSON_TYPE = { 'content-type': 'application/json' };

// What a client is told for a class that routing gives no status with.
const STATUS = { RequestError: 400, NoCandidate: 404, ConfigError: 500, Internal: 500 };

async function answer(router, input, init) {
  const isRequest = input instanceof Request;
  const url = new URL(isRequest ? input.url : String(input), BASE);
  const method = (init?.method ?? (isRequest ? input.method : 'GET')).toUpperCase();
  const signal = init?.signal ?? (isRequest ? input.signal : undefined);
  signal?.throwIfAborted();
  const wire = method === 'POST' ? native.wireOfPath(url.pathname) : undefined;
  if (wire == null) return elsewhere(router, method, url.pathname);
  const headers = new Headers(init?.headers ?? (isRequest ? input.headers : undefined));
  const body = await bodyOf(input, init);
  const { stream, model } = asked(wire, url.pathname, body);
  const options = {
    wire,
    model,
    session: headers.get('x-omniroute-session') || undefined,
    connection: headers.get('x-omniroute-connection') || undefined,
    plan: headers.get('x-omniroute-compression') || undefined,
    tags: (headers.get('x-omniroute-tag') ?? '').split(',').map((tag) => tag.trim()).filter(Boolean),
    signal,
  };
  try {
    return stream ? await streamed(router, body, options) : await whole(router, body, options);
  } catch (error) {
    // One who gave up hears his own reason; a router that was closed is no answer of anybody.
    if (!(error instanceof classes.OmnirouteError) || error instanceof classes.Cancelled) throw error;
    return failed(wire, error);
  }
}

async function whole(router, body, options) {
  const { body: bytes, receipt } = await router.chat(body, options);
  const response = new Response(bytes, { headers: { ...JSON_TYPE, ...about(receipt) } });
  receipts.set(response, () => receipt);
  return response;
}

async function streamed(router, body, options) {
  const stream = router.stream(body, options);
  await stream.begin();
  const { receipt } = stream;
  const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', ...about(receipt) };
  const response = new Response(stream.toReadableStream(), { headers });
  receipts.set(response, () => stream.receipt);
  return response;
}

// Whether to stream, and the model where the path names it.
function asked(wire, path, body) {
  if (wire === 'gemini') {
    const [, model, verb] = /\/models\/(.+):([^/:]+)\/?$/.exec(decoded(path)) ?? [];
    return { model, stream: verb?.startsWith('stream') === true };
  }
  try {
    return { stream: JSON.parse(typeof body === 'string' ? body : Buffer.from(body)).stream === true };
  } catch {
    return { stream: false };
  }
}

function decoded(path) {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

async function bodyOf(input, init) {
  const body = init?.body;
  if (typeof body === 'string' || body instanceof Uint8Array) return body;
  if (body == null && !(input instanceof Request)) return '';
  const given = body == null ? input : new Response(body);
  return new Uint8Array(await given.arrayBuffer());
}

// The list of models, or that there is nothing.
function elsewhere(router, method, path) {
  if (method === 'GET' && /\/models\/?$/.test(path)) {
    const data = router.models().map((id) => ({
      id,
      object: 'model',
      type: 'model',
      display_name: id,
      created: 0,
      created_at: '1970-01-01T00:00:00Z',
      owned_by: 'omniroute',
    }));
    const listed = { object: 'list', data, has_more: false, first_id: null, last_id: null };
    return new Response(JSON.stringify(listed), { headers: JSON_TYPE });
  }
  const message = `${method} ${path} is not served by a router in the process`;
  return new Response(native.errorBody('openai-chat', 404, 'not_found', message), { status: 404, headers: JSON_TYPE });
}

// An error as a client of the wire reads it.
function failed(wire, error) {
  const status = error.details.status ?? STATUS[error.name] ?? 503;
  const headers = { ...JSON_TYPE };
  if (error.retryAt !== undefined) {
    const wait = Math.ceil((error.retryAt.getTime() - Date.now()) / 1e3);
    headers['retry-after'] = String(Math.max(1, Math.min(86_400, wait)));
  }
  const response = new Response(native.errorBody(wire, status, error.code, error.message), { status, headers });
  receipts.set(response, () => error.receipt);
  return response;
}

function about(receipt) {
  if (receipt === undefined) return {};
  const { plan, attempts } = receipt.data;
  const parts = {
    strategy: plan?.strategy ?? '-',
    provider: receipt.provider ?? '-',
    model: receipt.model ?? '-',
    attempts: attempts.length,
  };
  const decision = Object.entries(parts).map(([name, value]) => `${name}=${value}`).join('; ');
  return { 'x-omniroute-decision': decision.replace(/[^\x20-\x7e]/g, ''), 'x-request-id': receipt.request };
}

module.exports = { answer };
