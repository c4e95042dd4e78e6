//! A connection as bytes.

use omniroute_core::QuotaWindow;

use crate::codec::{Reader, Value, Writer};
use crate::layers::connection::*;

impl Value for Connection {
    fn encode(&self, tail: &[u8]) -> Vec<u8> {
        let mut out = Writer::new();
        out.u(self.epoch).i(self.until).bool(self.declared).u(u64::from(self.level));
        out.i(self.touched).i(self.last_rest);
        out.u(REASONS.iter().position(|r| *r == self.reason).unwrap_or(0) as u64);
        match self.terminal {
            None => out.u(0),
            Some((state, at)) => out.u(1 + terminal_number(state)).i(at),
        };
        out.u(self.credential);
        out.u(self.reentry.map_or(0, |allowed| u64::from(allowed) + 1)).i(self.verify_at);
        match self.suspect {
            None => out.u(0),
            Some((state, count, first, last)) => {
                out.u(1 + terminal_number(state)).u(u64::from(count)).i(first).i(last)
            }
        };
        out.u(u64::from(self.row));
        match self.error {
            None => out.u(0),
            Some((status, at)) => out.u(u64::from(status) + 1).i(at),
        };
        out.u(u64::from(self.refresh_failures)).i(self.refresh_after);
        out.u(self.seen.len() as u64);
        for seen in &self.seen {
            out.u(window_number(seen.window)).u(u64::from(seen.used_ppm)).opt(seen.resets_at);
            out.i(seen.at).bool(seen.polled);
        }
        out.finish(tail)
    }

    fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let mut input = Reader::new(bytes)?;
        let mut connection = Connection {
            epoch: input.u()?,
            until: input.i()?,
            declared: input.bool()?,
            level: input.small()?,
            touched: input.i()?,
            last_rest: input.i()?,
            reason: *REASONS.get(input.small::<usize>()?)?,
            ..Connection::default()
        };
        if let Some(at) = input.small::<usize>()?.checked_sub(1) {
            connection.terminal = Some((*TERMINALS.get(at)?, input.i()?));
        }
        connection.credential = input.u()?;
        connection.reentry = input.small::<u32>()?.checked_sub(1);
        connection.verify_at = input.i()?;
        if let Some(at) = input.small::<usize>()?.checked_sub(1) {
            connection.suspect = Some((*TERMINALS.get(at)?, input.small()?, input.i()?, input.i()?));
        }
        connection.row = input.small()?;
        if let Some(status) = input.small::<u32>()?.checked_sub(1) {
            connection.error = Some((u16::try_from(status).ok()?, input.i()?));
        }
        connection.refresh_failures = input.small()?;
        connection.refresh_after = input.i()?;
        for _ in 0..input.count()? {
            connection.seen.push(Seen {
                window: *QuotaWindow::ALL.get(input.small::<usize>()?)?,
                used_ppm: input.small()?,
                resets_at: input.opt()?,
                at: input.i()?,
                polled: input.bool()?,
            });
        }
        Some((connection, input.rest()))
    }
}

fn terminal_number(state: Terminal) -> u64 {
    TERMINALS.iter().position(|t| *t == state).unwrap_or(0) as u64
}

fn window_number(window: QuotaWindow) -> u64 {
    QuotaWindow::ALL.iter().position(|w| *w == window).map_or(99, |at| at as u64)
}
