//! Schemas put together: what a reference points at, and what several have to hold at once.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::gemini::Fit;
use super::tree::{Map, Node};

/// Keywords whose members are names, not keywords.
const NAMED: [&str; 4] = ["properties", "$defs", "definitions", "patternProperties"];
/// Most keywords of a schema that is put together.
const KEYWORDS: usize = 128;

impl<'d> Fit<'d, '_> {
    /// A copy of what a local reference points at, unless there is none or no room for it is left.
    pub(super) fn target(&mut self, reference: &str) -> Option<Map<'d>> {
        let mut at = self.root;
        let path = reference.strip_prefix('#').filter(|path| path.is_empty() || path.starts_with('/'))?;
        for name in path.split('/').skip(1) {
            let name = name.replace("~1", "/").replace("~0", "~");
            at = match at {
                Node::Map(map) => {
                    self.spend(map.0.len())?;
                    map.get(&name)?
                }
                Node::List(list) => list.get(name.parse::<usize>().ok()?)?,
                Node::Raw(_) => return None,
            };
        }
        self.spend(at.size(self.room + 1))?;
        match at {
            Node::Map(map) => Some(map.clone()),
            _ => None,
        }
    }

    /// Nothing, and no room from then on, if there is not enough.
    fn spend(&mut self, size: usize) -> Option<()> {
        let left = self.room.checked_sub(size);
        self.room = left.unwrap_or(0);
        left.map(|_| ())
    }

    /// `other` holds as well as what stands in `map`. Where both say something of one keyword that cannot be put
    /// together, the first counts and the keyword is named, but not where it only describes.
    pub(super) fn both(&mut self, map: &mut Map<'d>, other: Map<'d>) {
        for (key, value) in other.0 {
            let Some(slot) = map.0.iter_mut().rev().take(KEYWORDS).find(|(name, _)| *name == key) else {
                match map.0.len() < KEYWORDS {
                    true => map.0.push((key, value)),
                    false => self.lost(&key, &value),
                }
                continue;
            };
            let old = &mut slot.1;
            match (key.as_ref(), old, value) {
                (_, old, value) if *old == value => {}
                ("properties", Node::Map(old), Node::Map(more)) => self.properties(old, more),
                ("required" | "allOf", Node::List(old), Node::List(more)) => {
                    old.extend(more);
                }
                ("enum", Node::List(old), Node::List(more)) => {
                    let more: HashSet<String> = more.iter().map(|value| value.written(16)).collect();
                    old.retain(|value| more.contains(&value.written(16)));
                }
                ("title" | "description" | "$schema" | "$id" | "$comment", ..) => {}
                ("minimum" | "minItems" | "minLength" | "minProperties", old, value) => {
                    stronger(old, value, |a, b| b > a);
                }
                ("maximum" | "maxItems" | "maxLength" | "maxProperties", old, value) => {
                    stronger(old, value, |a, b| b < a);
                }
                (.., value) => self.lost(&key, &value),
            }
        }
    }

    /// Names a keyword that is left out, and those inside of it.
    pub(super) fn lost(&mut self, keyword: &str, value: &Node<'d>) {
        self.change(keyword);
        match value {
            Node::Map(map) if NAMED.contains(&keyword) => {
                map.0.iter().for_each(|(_, inner)| self.within(inner));
            }
            value => self.within(value),
        }
    }

    fn within(&mut self, value: &Node<'d>) {
        match value {
            Node::Map(map) => map.0.iter().for_each(|(key, inner)| self.lost(key, inner)),
            Node::List(list) => list.iter().for_each(|inner| self.within(inner)),
            Node::Raw(_) => {}
        }
    }

    fn properties(&mut self, map: &mut Map<'d>, more: Map<'d>) {
        let mut places: HashMap<Cow<'d, str>, usize> =
            map.0.iter().enumerate().map(|(at, (name, _))| (name.clone(), at)).collect();
        for (name, value) in more.0 {
            let old = places.get(&name).and_then(|at| map.0.get_mut(*at)).map(|(_, old)| old);
            match (old, value) {
                // Both are schemas of one property; they are put together when it is its turn.
                (Some(Node::Map(old)), Node::Map(value)) => {
                    if let [(key, Node::List(list))] = old.0.as_mut_slice()
                        && key == "allOf"
                    {
                        list.push(Node::Map(value));
                    } else if *old != value {
                        let first = std::mem::take(old);
                        let list = vec![Node::Map(first), Node::Map(value)];
                        old.0.push(("allOf".into(), Node::List(list)));
                    }
                }
                (Some(_), value) => self.lost("allOf", &value),
                (None, value) => {
                    places.insert(name.clone(), map.0.len());
                    map.0.push((name, value));
                }
            }
        }
    }
}

fn stronger<'d>(old: &mut Node<'d>, value: Node<'d>, wins: fn(f64, f64) -> bool) {
    let number = |node: &Node<'_>| node.raw().trim_matches('"').parse::<f64>().ok();
    if let (Some(a), Some(b)) = (number(old), number(&value))
        && wins(a, b)
    {
        *old = value;
    }
}
