// The same objects as for require.

import api from './ai-sdk.cjs';

export const { compressionMiddleware } = api;
