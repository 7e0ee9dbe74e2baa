//! Does nothing: Cargo requires a build script for the `links` key.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
