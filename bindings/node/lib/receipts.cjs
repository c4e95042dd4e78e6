'use strict';
// What became of the requests that responses answer.

module.exports = { receipts: new WeakMap() };
