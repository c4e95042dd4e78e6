//! `apt list`: what all packages have in common is said once.

use super::table::omitted;
use crate::rtk::kit::{Draft, Level, Output, Verdict, What};

/// `name/suite version architecture [state]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Package<'t> {
    name: &'t str,
    suite: &'t str,
    version: &'t str,
    architecture: &'t str,
    state: &'t str,
}

/// Packages by name and version; suite, architecture and state where they differ from the usual.
pub(crate) fn apt_list(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let all: Vec<Option<Package<'_>>> = out.lines.iter().map(|l| package(l)).collect();
    let packages: Vec<Package<'_>> = all.iter().flatten().copied().collect();
    if packages.len() < 5 {
        return Verdict::NotMine;
    }
    if out.level == Level::Minimal {
        return Verdict::Done;
    }
    let usual = [
        usual(packages.iter().map(|p| p.suite)),
        usual(packages.iter().map(|p| p.architecture)),
        usual(packages.iter().map(|p| p.state)),
    ];
    let first = all.iter().position(Option::is_some).unwrap_or(0);
    draft.insert(first, &format!("[rtk: {} unless shown]", usual.join(" ").trim_end()));
    let skipped = omitted(packages.len(), out.level.pick(200, 120, 60));
    let mut n = 0;
    for (i, package) in all.iter().enumerate() {
        match package {
            Some(_) if skipped.contains(&n) => draft.drop(i, What::Packages),
            Some(p) => {
                draft.cover(i);
                draft.insert_with(i, |text| {
                    text.push_str(p.name);
                    for part in [
                        (p.suite, usual[0]),
                        (p.version, ""),
                        (p.architecture, usual[1]),
                        (p.state, usual[2]),
                    ] {
                        if part.0 != part.1 {
                            text.push(' ');
                            text.push_str(part.0);
                        }
                    }
                });
            }
            None => {
                if out.line(i).starts_with("Listing...") {
                    draft.noise(i);
                }
                continue;
            }
        }
        n += 1;
    }
    Verdict::Done
}

fn package(line: &str) -> Option<Package<'_>> {
    let mut fields = line.splitn(4, ' ');
    let (name, suite) = fields.next()?.split_once('/')?;
    let (version, architecture) = (fields.next()?, fields.next()?);
    let state = fields.next().unwrap_or("");
    let ok = !name.is_empty() && !name.contains('.') && version.starts_with(|c: char| c.is_ascii_digit());
    ok.then_some(Package { name, suite, version, architecture, state })
}

/// The most frequent value; the first of several.
fn usual<'t>(values: impl Iterator<Item = &'t str>) -> &'t str {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for value in values {
        let room = counts.len() < 64;
        match counts.iter_mut().find(|(v, _)| *v == value) {
            Some((_, n)) => *n += 1,
            None if room => counts.push((value, 1)),
            None => {}
        }
    }
    counts.iter().rev().max_by_key(|(_, n)| *n).map_or("", |(v, _)| *v)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtk::kit::assemble;

    #[test]
    fn what_is_usual_is_said_once() {
        let text = "Listing...\nacme/stable,now 3.134 all [installed]\nbeta/stable,now 1.2-3 amd64 [installed]\ngamma/stable,now 7 amd64 [installed,automatic]\ndelta/oldstable 8 amd64 [installed]\nzeta/stable,now 1:9 amd64 [installed]\n";
        let out = Output::new(text, Level::Standard);
        let mut draft = Draft::new(out.len());
        assert_eq!(apt_list(&out, &mut draft), Verdict::Done);
        let shown = assemble(&out, &mut draft, &mut || None).text;
        assert_eq!(
            shown,
            "[rtk: stable,now amd64 [installed] unless shown]\nacme 3.134 all\nbeta 1.2-3\ngamma 7 [installed,automatic]\ndelta oldstable 8\nzeta 1:9\n"
        );
    }
}
