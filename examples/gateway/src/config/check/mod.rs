//! What values say together: references, twins, circles, what is open to whom, files and variables that are named.

mod combos;
mod gateway;
mod routes;
mod secrets;
pub(crate) mod sections;

pub(crate) use self::gateway::TWINS;
pub(crate) use self::secrets::unwritable;

use omniroute_providers::Catalog;

use super::mistake::Mistake;
use super::tree::{Node, Source};

/// Checks everything that takes more than one value to see.
pub(super) fn all(root: &Node, sources: &[Source], mistakes: &mut Vec<Mistake>) {
    let catalog = Catalog::embedded();
    let mut check = Check { root, sources, catalog: &catalog, mistakes };
    check.gateway();
    check.providers();
    check.connections();
    check.aliases();
    check.combos();
    check.auto();
    check.secrets();
    check.store();
    let (_, _) = sections::read(root, check.mistakes);
}

/// What is checked, and what was found.
struct Check<'c> {
    root: &'c Node,
    sources: &'c [Source],
    catalog: &'c Catalog,
    mistakes: &'c mut Vec<Mistake>,
}

impl<'c> Check<'c> {
    /// Notes a mistake at a way.
    fn note(&mut self, way: &[&str], mistake: Mistake) {
        self.mistakes.push(mistake.placed(self.root.place(way)));
    }

    /// The items of a list of tables with their numbers.
    fn tables(&self, way: &[&str]) -> Vec<(String, &'c Node)> {
        let items = self.root.find(way).map(|node| node.value.items()).unwrap_or_default();
        items.iter().enumerate().map(|(number, node)| (number.to_string(), node)).collect()
    }

    /// Ids of all connections that are well formed.
    fn connection_ids(&self) -> Vec<&'c str> {
        let lines = self.root.get("connections").map(|node| node.value.items()).unwrap_or_default();
        lines.iter().filter_map(|line| line.get("id")?.value.text()).filter(|id| id.contains('/')).collect()
    }
}

/// The text under a key.
fn text<'n>(node: &'n Node, key: &str) -> Option<&'n str> {
    node.get(key)?.value.text()
}

/// Whether a flag is set.
fn flag(node: &Node, key: &str) -> bool {
    node.get(key).is_some_and(|node| matches!(node.value, super::tree::Value::Flag(true)))
}
