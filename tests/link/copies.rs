//! Two copies of `mcp-core` in one program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The links key of `mcp-core`, which says why there can be only one.
const REASON: &str = "one-mcp-core-per-program-or-tools-go-missing";

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("a folder can be made");
    fs::write(path, text).expect("a file can be written");
}

/// Resolves the dependencies of a program.
fn resolve(folder: &Path, dependencies: &str) -> Output {
    let manifest =
        format!("[package]\nname = \"app\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n{dependencies}");
    write(&folder.join("Cargo.toml"), &manifest);
    write(&folder.join("src/main.rs"), "fn main() {}");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut cargo = Command::new(cargo);
    cargo.args(["metadata", "--offline", "--format-version=1"]).current_dir(folder).output().expect("cargo runs")
}

/// The manifests of the crate in another version, in a workspace of their own.
fn copy(root: &Path, folder: &Path) -> PathBuf {
    for file in ["Cargo.toml", "mcp-core/Cargo.toml", "mcp-core/build.rs", "mcp-macros/Cargo.toml"] {
        let text = fs::read_to_string(root.join(file)).expect("the file is there");
        let lines = text.lines().map(|line| match line {
            version if version.starts_with("version = ") => "version = \"9.9.9\"",
            member if member.starts_with("    \"") && !member.contains("\"mcp-core\"") => "",
            line => line,
        });
        write(&folder.join(file), &lines.collect::<Vec<_>>().join("\n"));
    }
    write(&folder.join("mcp-core/src/lib.rs"), "");
    write(&folder.join("mcp-macros/src/lib.rs"), "");
    folder.join("mcp-core")
}

#[test]
fn a_program_with_two_copies_of_the_core_is_refused() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("there is a workspace");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("copies");
    let one = format!("mcp-core = {{ path = {:?} }}\n", root.join("mcp-core"));
    let other = format!("other = {{ package = \"mcp-core\", path = {:?} }}\n", copy(&root, &folder.join("other")));

    let output = resolve(&folder.join("one"), &one);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = resolve(&folder.join("two"), &(one + &other));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && error.contains(REASON), "{error}");
}
