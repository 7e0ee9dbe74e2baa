//! What `read_file_content` reads, and what it refuses.

use std::fs;
use std::path::PathBuf;

use file_utility::{Workspace, read_file_content};
use mcp_core::ToolError;

/// A directory with a workspace in it and a secret beside the workspace, deleted at the end of the test.
struct Fixture {
    directory: PathBuf,
    workspace: Workspace,
}

impl Fixture {
    fn new(name: &str) -> Self {
        let directory = std::env::temp_dir().join(format!("file-utility-{name}-{}", std::process::id()));
        let root = directory.join("root");
        fs::create_dir_all(&root).unwrap();
        fs::write(directory.join("secret.txt"), "secret").unwrap();
        fs::write(root.join("a.txt"), "zwölf\n").unwrap();
        fs::write(root.join("latin.txt"), b"zw\xf6lf").unwrap();
        Self { directory, workspace: Workspace::open(root).unwrap() }
    }

    fn max_bytes(mut self, max_bytes: u64) -> Self {
        self.workspace = Workspace::open(self.root()).unwrap().max_bytes(max_bytes);
        self
    }

    fn root(&self) -> PathBuf {
        self.directory.join("root")
    }

    fn read(&self, path: &str) -> Result<String, ToolError> {
        let result = read_file_content(&self.workspace, path, None, "utf-8")?;
        Ok(result.data.unwrap()["file_content"].as_str().unwrap().to_owned())
    }

    /// The type of the error that reading a path fails with.
    fn refusal(&self, path: &str) -> String {
        self.read(path).unwrap_err().error_type().to_string()
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let deleted = fs::remove_dir_all(&self.directory);
        assert!(deleted.is_ok() || std::thread::panicking(), "{deleted:?}");
    }
}

#[test]
fn s4_4_a_file_is_read_with_its_count_and_encoding() {
    let fixture = Fixture::new("read");
    let read = |path, max_chars, encoding| fixture.workspace.read_text(path, max_chars, encoding).unwrap();
    let whole = read("a.txt", None, "utf-8");
    assert_eq!((whole.file_content.as_str(), whole.chars_read, whole.encoding_used.as_str()), ("zwölf\n", 6, "utf-8"));
    assert_eq!(read("./a.txt", Some(3), "UTF8").file_content, "zwö");
    let latin = read("latin.txt", None, "latin1");
    assert_eq!((latin.file_content.as_str(), latin.encoding_used.as_str()), ("zwölf", "windows-1252"));
}

#[test]
fn s4_5_s4_8_each_error_has_its_type() {
    let fixture = Fixture::new("errors");
    for missing in ["none.txt", "none/a.txt", "a.txt/b"] {
        assert_eq!(fixture.refusal(missing), "FileNotFoundError", "{missing}");
    }
    let error = read_file_content(&fixture.workspace, "a.txt", None, "klingon").unwrap_err();
    assert_eq!(error.error_type(), "UnsupportedEncodingError");
    for outside in ["../secret.txt", "x/../../secret.txt", "x/../a.txt", "a\0.txt"] {
        assert_eq!(fixture.refusal(outside), "PermissionError", "{outside}");
    }
}

#[test]
fn s4_3_s4_8_an_absolute_path_is_read_only_inside_the_workspace() {
    let fixture = Fixture::new("absolute");
    let root = fixture.root();
    fs::create_dir(root.join("sub")).unwrap();
    fs::write(root.join("sub/b.txt"), "b").unwrap();
    fs::create_dir(fixture.directory.join("root2")).unwrap();
    fs::write(fixture.directory.join("root2/a.txt"), "secret").unwrap();
    let at = |path: PathBuf| path.to_str().unwrap().to_owned();
    assert_eq!(fixture.read(&at(root.join("a.txt"))).unwrap(), "zwölf\n");
    assert_eq!(fixture.read(&at(root.join("./sub/b.txt"))).unwrap(), "b");
    assert_eq!(fixture.read(&at(fs::canonicalize(&root).unwrap().join("sub/b.txt"))).unwrap(), "b");
    assert_eq!(fixture.refusal(&at(root.join("none.txt"))), "FileNotFoundError");
    assert_eq!(fixture.refusal(&at(root.clone())), "FileNotFoundError");
    for outside in ["secret.txt", "root2/a.txt", "root/../secret.txt", "root/sub/../a.txt", "root/../root/a.txt"] {
        assert_eq!(fixture.refusal(&at(fixture.directory.join(outside))), "PermissionError", "{outside}");
    }
}

#[test]
fn s4_12_the_result_has_the_explanation_of_the_specification() {
    let fixture = Fixture::new("explained");
    let main = "def main():\n  print(\"Hello, World!\")\n\nif __name__ == \"__main__\":\n  main()";
    fs::create_dir_all(fixture.root().join("src/app")).unwrap();
    fs::write(fixture.root().join("src/app/main.py"), main).unwrap();
    let result = read_file_content(&fixture.workspace, "src/app/main.py", Some(65), "utf-8").unwrap();
    let explanation = "Successfully read 65 characters from src/app/main.py using utf-8 encoding.";
    assert_eq!(result.explanation.as_deref(), Some(explanation));
}

#[test]
fn s4_11_bytes_that_are_not_of_the_encoding_do_not_fail() {
    assert_eq!(Fixture::new("lossy").read("latin.txt").unwrap(), "zw\u{fffd}lf");
}

#[test]
fn no_error_reveals_the_path_of_the_workspace() {
    let fixture = Fixture::new("quiet");
    for path in ["none.txt", "../secret.txt", "a.txt/b", "."] {
        let error = fixture.read(path).unwrap_err();
        assert!(!error.detail().to_json().contains("file-utility-quiet"), "{error}");
    }
}

#[test]
fn a_directory_is_refused() {
    let fixture = Fixture::new("directory");
    fs::create_dir(fixture.root().join("sub")).unwrap();
    for directory in [".", "sub", "sub/"] {
        let error = fixture.read(directory).unwrap_err();
        assert_eq!(error.error_type(), "FileNotFoundError", "{directory}");
        assert_eq!(error.message(), "file_path does not name a regular file; name one that does");
    }
}

#[test]
fn s4_9_a_file_is_read_up_to_the_limit_and_refused_beyond_it() {
    let fixture = Fixture::new("limit").max_bytes(7);
    assert_eq!(fixture.read("a.txt").unwrap(), "zwölf\n");
    fs::write(fixture.root().join("a.txt"), "8 bytes\n").unwrap();
    let error = fixture.read("a.txt").unwrap_err();
    assert_eq!(error.error_type(), "FileTooLargeError");
    assert!(error.message().contains("7 bytes"), "{error}");
    assert_eq!(Fixture::new("no-limit").max_bytes(u64::MAX).read("a.txt").unwrap(), "zwölf\n");
}

#[test]
fn s4_9_a_file_that_grows_is_never_read_beyond_the_limit() {
    use std::io::Write as _;

    const LIMIT: usize = 1 << 20;
    let fixture = Fixture::new("grows").max_bytes(LIMIT as u64);
    let mut file = fs::File::create(fixture.root().join("log.txt")).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for _ in 0..512 {
                file.write_all(&[b'x'; 4096]).unwrap();
            }
        });
        loop {
            match fixture.read("log.txt") {
                Ok(content) => assert!(content.len() <= LIMIT),
                Err(error) => break assert_eq!(error.error_type(), "FileTooLargeError"),
            }
        }
    });
}

/// Files of procfs have content although their metadata says 0 bytes, as if they grew after the check.
#[cfg(target_os = "linux")]
#[test]
fn s4_9_the_limit_holds_when_the_metadata_says_less() {
    assert_eq!(fs::metadata("/proc/self/status").unwrap().len(), 0);
    let workspace = Workspace::open("/proc/self").unwrap().max_bytes(16);
    let error = read_file_content(&workspace, "status", None, "utf-8").unwrap_err();
    assert_eq!(error.error_type(), "FileTooLargeError");
}

#[cfg(target_os = "linux")]
#[test]
fn s4_9_a_huge_sparse_file_is_refused_without_being_read() {
    /// How many bytes this thread has read.
    fn bytes_read() -> u64 {
        let counters = fs::read_to_string("/proc/thread-self/io").unwrap();
        counters.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse().unwrap()
    }

    let fixture = Fixture::new("sparse");
    fs::File::create(fixture.root().join("sparse.bin")).unwrap().set_len(1 << 40).unwrap();
    let before = bytes_read();
    assert_eq!(fixture.refusal("sparse.bin"), "FileTooLargeError");
    assert!(bytes_read() - before < 1 << 16, "{} bytes were read", bytes_read() - before);
}

#[cfg(unix)]
mod unix {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use std::process::Command;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use super::Fixture;

    #[test]
    fn s4_8_a_link_that_leads_out_or_is_absolute_is_refused() {
        let fixture = Fixture::new("links");
        let root = fixture.root();
        symlink(fixture.directory.join("secret.txt"), root.join("absolute.txt")).unwrap();
        symlink("../secret.txt", root.join("relative.txt")).unwrap();
        symlink("absolute.txt", root.join("chain.txt")).unwrap();
        symlink(&fixture.directory, root.join("up")).unwrap();
        symlink("/dev/zero", root.join("zero")).unwrap();
        symlink(root.join("a.txt"), root.join("absolute-inside.txt")).unwrap();
        for link in ["absolute-inside.txt", "absolute.txt", "relative.txt", "chain.txt", "up/secret.txt", "zero"] {
            assert_eq!(fixture.refusal(link), "PermissionError", "{link}");
        }
    }

    #[test]
    fn a_workspace_that_is_opened_through_a_link_accepts_both_of_its_absolute_paths() {
        let fixture = Fixture::new("linked-root");
        let link = fixture.directory.join("link");
        symlink(fixture.root(), &link).unwrap();
        let workspace = file_utility::Workspace::open(&link).unwrap();
        for path in [link.join("a.txt"), fs::canonicalize(&link).unwrap().join("a.txt")] {
            assert_eq!(workspace.read_text(path.to_str().unwrap(), None, "utf-8").unwrap().file_content, "zwölf\n");
        }
        // The link may lead elsewhere later; the workspace stays where it is.
        fs::remove_file(&link).unwrap();
        symlink(&fixture.directory, &link).unwrap();
        let secret = link.join("secret.txt");
        let error = workspace.read_text(secret.to_str().unwrap(), None, "utf-8").unwrap_err();
        assert_eq!(error.error_type(), "FileNotFoundError");
    }

    #[test]
    fn s4_8_an_absolute_path_through_a_link_that_leads_out_is_refused() {
        let fixture = Fixture::new("absolute-links");
        symlink(&fixture.directory, fixture.root().join("up")).unwrap();
        symlink("../secret.txt", fixture.root().join("out.txt")).unwrap();
        for link in ["up/secret.txt", "out.txt"] {
            assert_eq!(fixture.refusal(fixture.root().join(link).to_str().unwrap()), "PermissionError", "{link}");
        }
    }

    #[test]
    fn a_relative_link_that_stays_inside_is_followed() {
        let fixture = Fixture::new("inside");
        let root = fixture.root();
        fs::create_dir(root.join("sub")).unwrap();
        symlink("../a.txt", root.join("sub/link.txt")).unwrap();
        symlink("sub", root.join("other")).unwrap();
        assert_eq!(fixture.read("sub/link.txt").unwrap(), "zwölf\n");
        assert_eq!(fixture.read("other/link.txt").unwrap(), "zwölf\n");
    }

    /// Reads `path` while another thread puts a link to the outside in place of `swapped`, and back, over and over.
    fn read_while_swapped(fixture: &Fixture, path: &str, swapped: &str, outside: &str) {
        let swapped = fixture.root().join(swapped);
        let (inside, link) = (fixture.root().join("inside"), fixture.root().join("link"));
        symlink(fixture.directory.join(outside), &link).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    fs::rename(&swapped, &inside).unwrap();
                    fs::rename(&link, &swapped).unwrap();
                    fs::rename(&swapped, &link).unwrap();
                    fs::rename(&inside, &swapped).unwrap();
                }
            });
            let leaks = (0..20_000).filter(|_| fixture.read(path).is_ok_and(|content| content == "secret")).count();
            done.store(true, Ordering::Relaxed);
            assert_eq!(leaks, 0, "the file outside was read");
        });
        assert_eq!(fixture.read(path).unwrap(), "inside");
    }

    #[test]
    fn s4_8_a_file_swapped_for_a_link_while_it_is_opened_does_not_lead_out() {
        let fixture = Fixture::new("file-swapped");
        fs::write(fixture.root().join("b.txt"), "inside").unwrap();
        read_while_swapped(&fixture, "b.txt", "b.txt", "secret.txt");
    }

    #[test]
    fn s4_8_a_directory_swapped_for_a_link_while_a_file_is_opened_does_not_lead_out() {
        let fixture = Fixture::new("directory-swapped");
        fs::create_dir(fixture.root().join("sub")).unwrap();
        fs::write(fixture.root().join("sub/secret.txt"), "inside").unwrap();
        read_while_swapped(&fixture, "sub/secret.txt", "sub", "");
    }

    #[test]
    fn a_named_pipe_without_a_writer_is_refused_without_waiting() {
        let fixture = Fixture::new("pipe");
        assert!(Command::new("mkfifo").arg(fixture.root().join("pipe")).status().unwrap().success());
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::spawn(move || sender.send(fixture.read("pipe")));
        let error = receiver.recv_timeout(Duration::from_secs(30)).expect("the pipe is refused").unwrap_err();
        assert_eq!(error.error_type(), "FileNotFoundError");
        assert_eq!(error.message(), "file_path does not name a regular file; name one that does");
    }

    #[test]
    fn a_socket_is_refused() {
        let fixture = Fixture::new("socket");
        let _listener = UnixListener::bind(fixture.root().join("socket")).unwrap();
        fixture.read("socket").unwrap_err();
    }

    #[test]
    fn a_loop_of_links_is_refused_with_its_reason() {
        let fixture = Fixture::new("loop");
        symlink("loop", fixture.root().join("loop")).unwrap();
        let error = fixture.read("loop").unwrap_err();
        assert_eq!(error.error_type(), "ToolExecutionError");
        assert!(error.message().starts_with("file_path could not be opened: "), "{error}");
    }

    #[test]
    fn a_device_inside_the_workspace_is_refused() {
        let workspace = file_utility::Workspace::open("/dev").unwrap();
        let error = file_utility::read_file_content(&workspace, "zero", None, "utf-8").unwrap_err();
        assert_eq!(error.error_type(), "FileNotFoundError");
    }
}
