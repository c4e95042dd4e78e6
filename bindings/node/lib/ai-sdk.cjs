'use strict';
// Middleware for the language models of the AI SDK: what is sent to the model is shorter, what the program keeps is not
// touched.

const { Compressor } = require('./compressor.cjs');

function compressionMiddleware({ compressor = new Compressor(), session, onReceipt } = {}) {
  const receipts = new WeakMap(); // by the parameters of a call
  return {
    specificationVersion: 'v3',

    async transformParams({ params, model }) {
      const { messages, owners } = chatOf(params.prompt);
      const tools = params.tools?.filter((tool) => tool.type === 'function').map(functionOf);
      const done = await compressor.compressMessages(messages, {
        tools,
        model: model?.modelId,
        session,
        wire: 'openai-chat',
        signal: params.abortSignal,
      });
      const sent = { ...params, prompt: promptOf(params.prompt, messages, owners, done.messages) };
      receipts.set(sent, done.receipt);
      onReceipt?.(done.receipt);
      return sent;
    },

    async wrapGenerate({ doGenerate, params }) {
      return noted(await doGenerate(), receipts.get(params));
    },

    async wrapStream({ doStream, params }) {
      const { stream, ...rest } = await doStream();
      const transform = (part, control) =>
        control.enqueue(part.type === 'finish' ? noted(part, receipts.get(params)) : part);
      return { ...rest, stream: stream.pipeThrough(new TransformStream({ transform })) };
    },
  };
}

function noted(result, receipt) {
  if (receipt === undefined) return result;
  return { ...result, providerMetadata: { ...result.providerMetadata, omniroute: receipt.data } };
}

// The prompt in the shape of OpenAI's chat, and for each of its messages the way back: `[message, part]`.
function chatOf(prompt) {
  const messages = [];
  const owners = [];
  const add = (message, owner) => {
    messages.push(message);
    owners.push(owner);
  };
  prompt.forEach(({ role, content }, index) => {
    if (role === 'system') return add({ role, content }, { index });
    if (role === 'user') return add({ role, content: content.map(textOf) }, { index });
    if (role === 'assistant') {
      const calls = content.filter((part) => part.type === 'tool-call').map(callOf);
      const message = { role, content: content.map(textOf) };
      add(calls.length > 0 ? { ...message, tool_calls: calls } : message, { index });
    }
    content.forEach((part, at) => {
      if (part.type !== 'tool-result') return;
      add({ role: 'tool', tool_call_id: part.toolCallId, content: resultOf(part.output) }, { index, at });
    });
  });
  return { messages, owners };
}

// Parts without text stand in the list all the same, so that places agree.
function textOf(part) {
  return { type: 'text', text: part.type === 'text' ? part.text : '' };
}

function callOf({ toolCallId, toolName, input }) {
  const text = typeof input === 'string' ? input : JSON.stringify(input);
  return { id: toolCallId, type: 'function', function: { name: toolName, arguments: text ?? '' } };
}

function functionOf({ name, description, inputSchema }) {
  return { type: 'function', function: { name, description, parameters: inputSchema } };
}

// The text of a tool's output as providers send it.
function resultOf(output) {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return output.value;
    case 'json':
    case 'error-json':
      return JSON.stringify(output.value) ?? '';
    case 'content':
      return output.value.map(textOf);
    default:
      return '';
  }
}

// The prompt with the texts that changed; the very same messages and parts where nothing did.
function promptOf(prompt, given, owners, sent) {
  const out = prompt.slice();
  sent.forEach((message, at) => {
    if (message === given[at]) return;
    const { index, at: part } = owners[at];
    const old = out[index];
    if (typeof old.content === 'string') {
      out[index] = { ...old, content: message.content };
    } else if (part === undefined) {
      out[index] = { ...old, content: withTexts(old.content, message.content) };
    } else {
      const content = old.content.slice();
      content[part] = { ...content[part], output: withResult(content[part].output, message.content) };
      out[index] = { ...old, content };
    }
  });
  return out;
}

function withTexts(parts, texts) {
  return parts.map((part, at) => {
    const { text } = texts[at];
    return part.type === 'text' && part.text !== text ? { ...part, text } : part;
  });
}

// Output that was JSON is now the text of it, as it is sent.
function withResult(output, content) {
  if (output.type === 'content') return { ...output, value: withTexts(output.value, content) };
  return { ...output, type: output.type.replace('json', 'text'), value: content };
}

module.exports = { compressionMiddleware };
