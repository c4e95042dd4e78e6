//! Test runners: every failure whole, passing cases as a count, the runner's own totals.

mod ava;
mod cargo;
mod catch2;
mod coverage;
mod detail;
#[cfg(test)]
mod family;
mod frame;
mod gojson;
mod gotest;
mod gtest;
mod jest;
mod junit;
mod lines;
mod minitest;
mod mocha;
mod nextest;
mod node;
mod phpunit;
mod playwright;
mod pytest;
mod pytest_block;
mod rspec;
mod tap;
mod trace;
mod tree;
mod unittest;
mod vitest;

use crate::rtk::kit::Render;

/// Filter ids and their renderers.
pub(crate) const RENDERERS: &[(&str, Render)] = &[
    ("test-pytest", pytest::render),
    ("test-unittest", unittest::render),
    ("test-cargo", cargo::render),
    ("cargo-nextest", nextest::render),
    ("test-go", gotest::render),
    ("test-jest", jest::render),
    ("test-vitest", vitest::render),
    ("test-mocha", mocha::render),
    ("test-node", node::render),
    ("test-tap", tap::render),
    ("test-ava", ava::render),
    ("test-junit", junit::render),
    ("test-rspec", rspec::render),
    ("test-minitest", minitest::render),
    ("test-phpunit", phpunit::render),
    ("gtest", gtest::render),
    ("ctest", gtest::render_ctest),
    ("catch2", catch2::render),
    ("playwright", playwright::render),
];
