'use strict';
// Finds the native module: the file that OMNIROUTE_NATIVE names, one beside this file, or the package of the platform.

const { existsSync } = require('node:fs');

// As in package.json, which takes longer to read than all of the rest.
const NAME = 'omniroute-native';

module.exports = load();

function load() {
  const named = process.env.OMNIROUTE_NATIVE;
  if (named) return require(named);
  const name = packageOf(process.platform, process.arch);
  // Where installers put it; the host's own search takes longer.
  const known = [`${__dirname}/omniroute.node`, `${__dirname}/../../${name}/omniroute.node`];
  const place = known.find(existsSync) ?? name;
  try {
    return require(place);
  } catch (error) {
    throw missing(error);
  }
}

// Everything but the C library is known without a look at the system, which would cost more than the import.
function packageOf(platform, arch) {
  return platform === 'linux' ? `${NAME}-${platform}-${arch}-gnu` : `${NAME}-${platform}-${arch}`;
}

function missing(cause) {
  const { version, optionalDependencies } = require('../package.json');
  const libc = process.platform === 'linux' ? ` (${libcName()})` : '';
  const where = `${process.platform}-${process.arch}${libc}`;
  const wanted = packageOf(process.platform, process.arch);
  const fits = wanted in optionalDependencies && libc !== ' (musl)';
  const advice = !fits
    ? `there is none for this platform, only ${Object.keys(optionalDependencies).join(', ')}`
    : cause.code !== 'MODULE_NOT_FOUND'
      ? `it is there but cannot be loaded: ${firstLine(cause.message)}`
      : `install ${wanted}@${version}, or reinstall without --omit=optional`;
  return new Error(`${NAME}: no native binding for ${where}: ${advice}`, { cause });
}

function libcName() {
  process.report.excludeNetwork = true;
  return process.report.getReport().header.glibcVersionRuntime ? 'glibc' : 'musl';
}

function firstLine(text) {
  return text.split('\n', 1)[0];
}
