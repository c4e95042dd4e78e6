//! How the native module is linked.

fn main() {
    napi_build::setup();
}
