//! Findings of linters, type checkers and compilers, and the builds that print them.
//!
//! What a tool says about a place in a file becomes a [`model::Finding`]; [`emit`] writes findings below the name of
//! their file, or once with a list of positions. A line that is an error message in its own form stays as it is.

mod boxed;
mod build;
mod bundle;
mod cost;
mod emit;
mod groups;
mod lint;
mod maven;
mod model;
mod parse;
pub(crate) mod rustc;
mod scan;
mod snippet;
mod text;

use crate::rtk::kit::Render;

/// Filter ids and their renderers.
pub(crate) const RENDERERS: &[(&str, Render)] = &[
    ("diagnostics", lint::diagnostics),
    ("build-eslint", lint::lint),
    ("stylelint", lint::lint),
    ("standard", lint::lint),
    ("jshint", lint::lint),
    ("markdownlint", lint::lint),
    ("mypy", lint::lint),
    ("pyright", lint::lint),
    ("flake8", lint::lint),
    ("pycodestyle", lint::lint),
    ("pylint", lint::lint),
    ("vulture", lint::lint),
    ("codespell", lint::lint),
    ("cspell", lint::lint),
    ("yamllint", lint::lint),
    ("hadolint", lint::lint),
    ("rubocop", lint::lint),
    ("golangci-lint", lint::lint),
    ("cppcheck", lint::lint),
    ("luacheck", lint::lint),
    ("go-build", lint::lint),
    ("go-vet", lint::lint),
    ("ruff", snippet::ruff),
    ("ty", rustc::rustc_like),
    ("biome", boxed::biome),
    ("oxlint", boxed::boxed),
    ("typos", boxed::boxed),
    ("shellcheck", text::shellcheck),
    ("build-typescript", text::typescript),
    ("prettier", text::file_list),
    ("black", text::file_list),
    ("cargo-build", rustc::cargo),
    ("cargo-check", rustc::cargo),
    ("cargo-clippy", rustc::cargo),
    ("cargo-fmt", text::rustfmt),
    ("gcc", build::build),
    ("make", build::build),
    ("ninja", build::build),
    ("cmake", build::build),
    ("javac", build::build),
    ("mvn", maven::maven),
    ("build-vite", bundle::vite),
    ("build-webpack", bundle::webpack),
];

pub(crate) use rustc::mark_diagnostics;

#[cfg(test)]
mod tests;
