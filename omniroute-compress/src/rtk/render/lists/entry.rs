//! One entry of a long listing: `ls -l`, `find -ls`, `tar -tv`.

/// The parts of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry<'t> {
    /// The ten characters of type and permissions, with `.`, `+` or `@` behind them.
    pub(crate) mode: &'t str,
    /// Owner and group as one text: `dev dev`, or `dev/dev` of an archive.
    pub(crate) owner: &'t str,
    /// Size, or the two numbers of a device.
    pub(crate) size: &'t str,
    /// Date and time as printed.
    pub(crate) date: &'t str,
    /// The name, with ` -> target` of a link.
    pub(crate) name: &'t str,
}

impl Entry<'_> {
    /// Length of the directory that the name begins with, its slash included.
    pub(crate) fn directory(&self) -> usize {
        let path = self.name.split(" -> ").next().unwrap_or("").trim_end_matches('/');
        path.rfind('/').map_or(0, |at| at + 1)
    }

    /// The entry in short: a sign of its type behind the name, the size, and what differs from the usual. The first
    /// `directory` bytes of the name stand in a heading.
    pub(crate) fn write(&self, text: &mut String, owner: Option<&str>, date: bool, directory: usize) {
        let kind = self.mode.as_bytes().first().copied().unwrap_or(b'-');
        let plain = self.mode.trim_end_matches(['.', '@']);
        text.push_str(self.name.get(directory..).unwrap_or(self.name));
        match kind {
            b'd' if !self.name.ends_with('/') => text.push('/'),
            b'-' if plain == "-rwxr-xr-x" => text.push('*'),
            _ => {}
        }
        if matches!(kind, b'-' | b'b' | b'c') {
            text.push(' ');
            text.push_str(self.size);
        }
        if !matches!(plain, "-rw-r--r--" | "-rwxr-xr-x" | "drwxr-xr-x" | "lrwxrwxrwx") {
            text.push(' ');
            text.push_str(self.mode);
        }
        if owner != Some(self.owner) {
            text.push(' ');
            text.push_str(&spelled(self.owner));
        }
        if date && !self.date.is_empty() {
            text.push(' ');
            text.push_str(self.date);
        }
    }
}

/// Owner and group as `dev:dev`.
pub(crate) fn spelled(owner: &str) -> String {
    owner.split_ascii_whitespace().collect::<Vec<_>>().join(":")
}

/// Reads an entry. Two numbers before the mode (inode and blocks of `find -ls`) are passed over.
pub(crate) fn entry(line: &str) -> Option<Entry<'_>> {
    let mut rest = Fields(line);
    let mut first = rest.next()?;
    for _ in 0..2 {
        if first.bytes().all(|b| b.is_ascii_digit()) {
            first = rest.next()?;
        }
    }
    let mode = first;
    if !is_mode(mode) {
        return None;
    }
    if let Some(short) = without_owner(mode, rest.0) {
        return Some(short);
    }
    let next = rest.next()?;
    let links = next.bytes().all(|b| b.is_ascii_digit());
    let owner = if links { rest.next()? } else { next };
    let owner = if owner.contains('/') { owner } else { between(line, owner, rest.next()?)? };
    let mut size = rest.next()?;
    if let Some(major) = size.strip_suffix(',') {
        size = between(line, major, rest.next()?)?;
    }
    if !size.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let date = date(line, &mut rest)?;
    let name = rest.0.strip_prefix(' ').unwrap_or(rest.0).trim_end();
    let name = if line.starts_with(mode) { name } else { name.trim_start() };
    (!name.is_empty()).then_some(Entry { mode, owner, size, date, name })
}

/// `Mar  1 10:00`, `Mar  1  2023`, `1. Mar 10:00`, `2024-03-01 10:00`, `2024-03-01 10:00:00.000 +0000`.
fn date<'t>(line: &'t str, rest: &mut Fields<'t>) -> Option<&'t str> {
    let first = rest.next()?;
    let second = rest.next()?;
    let iso = first.len() == 10 && first.as_bytes().get(4) == Some(&b'-');
    if iso {
        let mut last = second;
        let zone = rest.0.trim_start();
        if second.contains('.') && zone.starts_with(['+', '-']) {
            last = rest.next()?;
        }
        return second.contains(':').then(|| between(line, first, last))?;
    }
    let third = rest.next()?;
    let day = |t: &str| t.trim_end_matches('.').parse::<u8>().is_ok_and(|d| (1..=31).contains(&d));
    let year_or_time = third.contains(':') || third.len() == 4 && third.bytes().all(|b| b.is_ascii_digit());
    ((day(first) || day(second)) && year_or_time).then(|| between(line, first, third))?
}

/// `-rw-r--r-- 126 path/of/file`: mode, size and path alone.
fn without_owner<'t>(mode: &'t str, rest: &'t str) -> Option<Entry<'t>> {
    let mut fields = Fields(rest);
    let (size, name) = (fields.next()?, fields.next()?);
    let ok = size.bytes().all(|b| b.is_ascii_digit()) && name.contains('/') && fields.0.trim().is_empty();
    ok.then_some(Entry { mode, owner: "", size, date: "", name })
}

fn is_mode(text: &str) -> bool {
    let bytes = text.as_bytes();
    (10..=11).contains(&bytes.len())
        && bytes.first().is_some_and(|b| b"-dlbcpsh".contains(b))
        && bytes.get(1..10).is_some_and(|m| m.iter().all(|b| b"rwxsStT-".contains(b)))
        && bytes.get(10).is_none_or(|b| b".+@".contains(b))
}

/// The part of `line` from the start of `from` to the end of `to`, both of which are parts of it.
fn between<'t>(line: &'t str, from: &str, to: &str) -> Option<&'t str> {
    let base = line.as_ptr() as usize;
    let (start, end) = (from.as_ptr() as usize - base, to.as_ptr() as usize - base + to.len());
    line.get(start..end)
}

/// Fields separated by blanks; what is left keeps its blanks.
struct Fields<'t>(&'t str);

impl<'t> Fields<'t> {
    fn next(&mut self) -> Option<&'t str> {
        let rest = self.0.trim_start_matches([' ', '\t']);
        let end = rest.find([' ', '\t']).unwrap_or(rest.len());
        self.0 = rest.get(end..)?;
        rest.get(..end).filter(|field| !field.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_all_forms() {
        for (line, size, name) in [
            ("-rw-r--r-- 1 dev dev  812 Mar  2 10:00 a b.txt", "812", "a b.txt"),
            ("-rw-r--r--@ 1 dev staff  812 Mar  2  2023 a", "812", "a"),
            ("-rw-r--r--. 1 dev dev 4.0K 2. M\u{e4}r 10:00 a", "4.0K", "a"),
            ("brw-rw---- 1 root disk 8, 0 Mar  2 10:00 sda", "8, 0", "sda"),
            ("-rw-r--r-- 1 dev dev 812 2024-03-01 10:00:00.000000000 +0000 a", "812", "a"),
            (
                "  1234      4 -rw-r--r--   1 dev      dev           812 Mar  1 10:00 ./x/a.rs",
                "812",
                "./x/a.rs",
            ),
            ("-rw-r--r-- dev/dev       812 2024-03-01 10:00 x/a.rs", "812", "x/a.rs"),
            ("lrwxrwxrwx 1 dev dev 3 Mar  2 10:00 x -> ../y", "3", "x -> ../y"),
        ] {
            let entry = entry(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!((entry.size, entry.name), (size, name), "{line}");
        }
        for line in ["", "total 8", "drwx", "-rw-r--r-- is a mode of files in this directory", "src:"] {
            assert_eq!(entry(line), None, "{line}");
        }
    }
}
