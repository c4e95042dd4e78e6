'use strict';
// What the package exports, for both module systems.

const native = require('./native.cjs');
const { classes } = require('./errors.cjs');
const { shared: _, ...compressor } = require('./compressor.cjs');
const { Receipt, Compressed, CompressedText, Messages } = require('./results.cjs');
const { Explanation, Reply, RouteReceipt } = require('./reply.cjs');
const { Router, RouteStream } = require('./router.cjs');

module.exports = {
  ...compressor,
  ...classes,
  Receipt,
  Compressed,
  CompressedText,
  Messages,
  Router,
  RouteStream,
  Reply,
  RouteReceipt,
  Explanation,
  EXACT_TOKENS: native.EXACT_TOKENS,
  version: native.VERSION,
};
