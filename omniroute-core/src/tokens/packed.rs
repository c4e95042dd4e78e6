//! Unpacks the fitted tables, at compile time, from the text they are kept as.

/// Reads numbers of two base-91 characters each: `#`..`[` and `]`..`~`.
pub(crate) const fn decode<const TEXT: usize, const COUNT: usize>(text: &[u8; TEXT]) -> [u16; COUNT] {
    assert!(TEXT == COUNT * 2, "two characters a number");
    let mut numbers = [0u16; COUNT];
    let mut n = 0;
    while n < COUNT {
        numbers[n] = digit(text[n * 2]) * 91 + digit(text[n * 2 + 1]);
        n += 1;
    }
    numbers
}

const fn digit(byte: u8) -> u16 {
    (if byte < b'\\' { byte - b'#' } else { byte - b'#' - 1 }) as u16
}

/// Moves numbers from `0..` to around zero.
pub(crate) const fn centre<const COUNT: usize>(numbers: [u16; COUNT]) -> [i16; COUNT] {
    let mut centred = [0i16; COUNT];
    let mut n = 0;
    while n < COUNT {
        centred[n] = numbers[n] as i16 - 4140;
        n += 1;
    }
    centred
}
