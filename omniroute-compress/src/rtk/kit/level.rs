//! How much may be left out.

/// The intensity of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) enum Level {
    /// No rendering in another form; progress, passing tests and exact repeats become counts.
    Minimal,
    /// Lossless rendering in shorter forms, repeated warnings once.
    #[default]
    Standard,
    /// Half the limits, no context; never a failing test, an error or a changed file less.
    Aggressive,
}

impl Level {
    /// All levels, from gentle to strong.
    pub(crate) const ALL: [Level; 3] = [Level::Minimal, Level::Standard, Level::Aggressive];

    /// The value for this level.
    pub(crate) fn pick<T>(self, minimal: T, standard: T, aggressive: T) -> T {
        match self {
            Level::Minimal => minimal,
            Level::Standard => standard,
            Level::Aggressive => aggressive,
        }
    }

    /// The name in configurations.
    pub(crate) fn name(self) -> &'static str {
        self.pick("minimal", "standard", "aggressive")
    }

    /// One step gentler: what the caller asked to see in detail.
    pub(crate) fn gentler(self) -> Level {
        self.pick(Level::Minimal, Level::Minimal, Level::Standard)
    }
}
