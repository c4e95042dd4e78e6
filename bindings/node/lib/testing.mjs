// The same objects as for require.

import api from './testing.cjs';

export const { VirtualClock, Script, Scenario, TransportError } = api;
