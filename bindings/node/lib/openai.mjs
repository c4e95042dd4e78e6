// The same objects as for require.

import api from './openai.cjs';

export const { compressFetch, receiptOf } = api;
