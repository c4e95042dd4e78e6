// The same objects as for require.

import api from './index.cjs';

export const {
  compress,
  compressSync,
  compressMessages,
  compressMessagesSync,
  compressText,
  compressTextSync,
  Compressor,
  Compressed,
  CompressedText,
  Messages,
  Receipt,
  OmnirouteError,
  ConfigError,
  RequestError,
  AuthenticationError,
  RateLimited,
  QuotaExhausted,
  Unavailable,
  Timeout,
  NoCandidate,
  ContextTooLong,
  Filtered,
  Cancelled,
  Internal,
  EXACT_TOKENS,
  version,
} = api;
