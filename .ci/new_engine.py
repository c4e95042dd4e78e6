#!/usr/bin/env python3
"""Makes the file and the line of a new engine: `make new-engine NAME=my-engine`."""

import pathlib
import re
import sys

TEMPLATE = '''//! `{id}`: say in one sentence what becomes shorter and what is never lost.

use std::sync::Arc;

use omniroute_core::{{CompressionEngine, Edit, EngineContext, EngineError, EngineInfo, Loss, SegmentView}};

use crate::config::Settings;
use crate::entry::{{EngineEntry, Parts}};

const INFO: EngineInfo = EngineInfo::new("{id}", Loss::Lossless).summary("one line for people").priority(50);

/// Entry in the list of engines.
pub(crate) const ENTRY: EngineEntry = EngineEntry::new(INFO, build);

fn build(_: &Settings, _: &Parts) -> Arc<dyn CompressionEngine> {{
    Arc::new({type})
}}

#[derive(Debug)]
struct {type};

impl CompressionEngine for {type} {{
    fn info(&self) -> &EngineInfo {{
        &INFO
    }}

    fn segment(&self, view: &SegmentView<'_, '_>, _: &EngineContext<'_>) -> Result<Edit, EngineError> {{
        let _ = view.text();
        Ok(Edit::Keep("not_applicable"))
    }}
}}
'''


def main():
    name = sys.argv[1]
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,31}", name):
        sys.exit(f'new-engine: "{name}" is not a name: lower-case letters, digits and dashes, at most 32')
    module = name.replace("-", "_")
    source = pathlib.Path(__file__).resolve().parent.parent / "omniroute-compress" / "src"
    target = source / "engines" / f"{module}.rs"
    if target.exists():
        sys.exit(f"new-engine: {target} is there already")
    kind = "".join(part.capitalize() for part in name.split("-"))
    target.write_text(TEMPLATE.format(id=name, type=kind))
    listing = source / "engines" / "mod.rs"
    text = listing.read_text()
    listing.write_text(text.replace("mod trail;", f"pub(crate) mod {module};\nmod trail;", 1))
    registry = source / "registry.rs"
    text = registry.read_text()
    registry.write_text(re.sub(r"(session_dedup::ENTRY)(,?)(\s*\];)", rf"\1, engines::{module}::ENTRY\3", text, count=1))
    print(f"new-engine: wrote {target.name}, one line in engines/mod.rs and one in registry.rs (sorted by priority)")


if __name__ == "__main__":
    main()
