'use strict';
// What the package exports, for both module systems.

const native = require('./native.cjs');
const { classes } = require('./errors.cjs');
const compressor = require('./compressor.cjs');
const { Receipt, Compressed, CompressedText, Messages } = require('./results.cjs');

module.exports = {
  ...compressor,
  ...classes,
  Receipt,
  Compressed,
  CompressedText,
  Messages,
  EXACT_TOKENS: native.EXACT_TOKENS,
  version: native.VERSION,
};
