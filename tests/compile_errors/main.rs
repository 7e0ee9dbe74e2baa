//! Mistakes, and what the compiler says of them: one mistake, one error.

mod compiler;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use compiler::{Compiler, Expected, expected_errors, problems};

/// The compiler whose complete errors are kept. With others, only our messages and their lines are compared.
const TOOLCHAIN: &str = "rustc 1.95.";

/// The compiler to test with, if not the one on the path.
const RUSTC: &str = "UI_RUSTC";

#[test]
fn every_mistake_has_its_error() {
    let compiler = Compiler::new(std::env::var_os(RUSTC).unwrap_or_else(|| "rustc".into()));
    if compiler.version().starts_with(TOOLCHAIN) && std::env::var_os(RUSTC).is_none() {
        trybuild::TestCases::new().compile_fail("ui/*.rs");
    } else {
        let wrong = problems_of_all(&compiler.with_mcp_core());
        assert!(wrong.is_empty(), "{}:\n{}", compiler.version(), wrong.join("\n"));
    }
}

/// What is wrong with the errors of each program in `ui`.
fn problems_of_all(compiler: &Compiler) -> Vec<String> {
    let files = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("ui")).unwrap();
    let is_program = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "rs");
    let programs: Vec<PathBuf> = files.map(|file| file.unwrap().path()).filter(is_program).collect();
    assert!(programs.len() > 100, "the programs are where the test looks");
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let expected = expected_errors(&fs::read_to_string(program.with_extension("stderr")).unwrap());
                    let problems = problems(&expected, &compiler.errors(program));
                    let name = program.file_name().unwrap().display();
                    found.lock().unwrap().extend(problems.into_iter().map(|problem| format!("{name}: {problem}")));
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap();
    found.sort();
    found
}

/// What is wrong with the errors of a program, compared with the text of a kept file.
fn problems_of(name: &str, program: &str, kept: &str) -> Vec<String> {
    let path = std::env::temp_dir().join(format!("{name}-{}.rs", std::process::id()));
    fs::write(&path, program).unwrap();
    let found = problems(&expected_errors(kept), &Compiler::new("rustc".into()).errors(&path));
    fs::remove_file(path).unwrap();
    found
}

#[test]
fn a_stderr_file_is_parsed_into_errors_with_lines_and_our_messages() {
    let kept = "error[E0277]: `Plain` cannot be a tool's parameter\n --> ui/a.rs:6:12\n  |\nnote: required\n --> ui/a.rs:3:1\n\n\
                error: unknown key `x`; use `y`\n --> ui/a.rs:7:3\n\n\
                error[E0080]: evaluation panicked: `min` does not fit\n --> ui/a.rs:8:3\n\n\
                error[E0425]: cannot find type `A` in this scope\n --> ui/a.rs:9:3\n\n\
                error[E0277]: the trait bound `A: B` is not satisfied\n --> ui/a.rs:10:3\n";
    let expected = |message: Option<&str>, line| Expected { message: message.map(str::to_owned), line };
    assert_eq!(
        expected_errors(kept),
        [
            expected(Some("`Plain` cannot be a tool's parameter"), 6),
            expected(Some("unknown key `x`; use `y`"), 7),
            expected(Some("`min` does not fit"), 8),
            expected(None, 9),
            expected(None, 10),
        ]
    );
}

#[test]
fn our_own_message_must_be_found_at_its_line() {
    let program = "fn main() {}\ncompile_error!(\"use `y`\");\n";
    let check = |kept: &str| problems_of("own-message", program, kept);
    assert_eq!(check("error: use `y`\n --> ui/a.rs:2:1\n"), [""; 0]);
    assert_eq!(
        check("error: use `z`\n --> ui/a.rs:2:1\n"),
        ["there is no error `use `z`` at line 2, but: [2]: use `y`"]
    );
    assert_eq!(check("error: use `y`\n --> ui/a.rs:1:1\n").len(), 1, "another line");
    let both = "error: use `y`\n --> ui/a.rs:2:1\n\nerror: use `z`\n --> ui/a.rs:2:1\n";
    assert_eq!(check(both).len(), 1, "each of them");
}

#[test]
fn the_panic_of_a_constant_is_our_message() {
    let program = "const _: () =\n    panic!(\"`min` does not fit\");\nfn main() {}\n";
    let check = |kept: &str| problems_of("constant", program, kept);
    assert_eq!(check("error[E0080]: evaluation panicked: `min` does not fit\n --> ui/a.rs:2:5\n"), [""; 0]);
    assert_eq!(check("error[E0080]: evaluation panicked: `max` does not fit\n --> ui/a.rs:2:5\n").len(), 1);
}

#[test]
fn only_the_line_of_a_compilers_own_error_is_compared() {
    let program = "fn main() {\n    missing();\n}\n";
    let check = |kept: &str| problems_of("of-the-compiler", program, kept);
    assert_eq!(check("error[E0425]: other words\n --> ui/a.rs:2:5\n"), [""; 0]);
    assert_eq!(check("error[E0425]: other words\n --> ui/a.rs:1:5\n").len(), 1);
}

#[test]
fn a_program_that_compiles_is_found() {
    let found = problems_of("compiles", "fn main() {}\n", "error[E0425]: other words\n --> ui/a.rs:1:5\n");
    assert_eq!(found, ["there is no error at line 1, but: none"]);
    let found = problems_of("no-errors", "fn main() {}\n", "");
    assert_eq!(found, ["no errors are kept"]);
}
