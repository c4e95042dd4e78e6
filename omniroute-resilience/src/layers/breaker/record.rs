//! A breaker as bytes.

use omniroute_core::PermitId;

use crate::codec::{Reader, Value, Writer};
use crate::layers::breaker::*;

impl Value for Breaker {
    fn encode(&self, tail: &[u8]) -> Vec<u8> {
        let mut out = Writer::new();
        out.u(match self.state {
            State::Closed => 0,
            State::Degraded => 1,
            State::Open => 2,
            State::HalfOpen => 3,
        });
        out.u(match self.forced {
            Forced::No => 0,
            Forced::Open => 1,
            Forced::Closed => 2,
        });
        out.u(self.generation).i(self.opened_at).i(self.open_until);
        out.u(u64::from(self.cycle)).i(self.cycle_at).u(u64::from(self.inconclusive));
        out.bool(self.uncorroborated).i(self.recovered_at);
        match self.probe {
            None => out.u(0),
            Some(probe) => out
                .u(1)
                .u(probe.permit.process)
                .u(probe.permit.number)
                .i(probe.lease_until)
                .u(u64::from(probe.connection)),
        };
        match self.avoid {
            None => out.u(0),
            Some((connection, until)) => out.u(1).u(u64::from(connection)).i(until),
        };
        out.u(self.failures.len() as u64);
        for mark in &self.failures {
            out.i(mark.at).u(u64::from(mark.connection)).u(u64::from(mark.permit));
        }
        out.finish(tail)
    }

    fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let mut input = Reader::new(bytes)?;
        let state = match input.u()? {
            0 => State::Closed,
            1 => State::Degraded,
            2 => State::Open,
            3 => State::HalfOpen,
            _ => return None,
        };
        let forced = match input.u()? {
            0 => Forced::No,
            1 => Forced::Open,
            2 => Forced::Closed,
            _ => return None,
        };
        let mut breaker = Breaker {
            state,
            forced,
            generation: input.u()?,
            opened_at: input.i()?,
            open_until: input.i()?,
            cycle: input.small()?,
            cycle_at: input.i()?,
            inconclusive: input.small()?,
            uncorroborated: input.bool()?,
            recovered_at: input.i()?,
            ..Breaker::default()
        };
        if input.u()? != 0 {
            breaker.probe = Some(Probe {
                permit: PermitId { process: input.u()?, number: input.u()? },
                lease_until: input.i()?,
                connection: input.small()?,
            });
        }
        if input.u()? != 0 {
            breaker.avoid = Some((input.small()?, input.i()?));
        }
        for _ in 0..input.count()? {
            breaker.failures.push(Mark {
                at: input.i()?,
                connection: input.small()?,
                permit: input.small()?,
            });
        }
        Some((breaker, input.rest()))
    }
}
