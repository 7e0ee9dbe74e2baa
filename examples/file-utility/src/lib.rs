//! Tools that read files inside a workspace.

use std::fs::File;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use encoding_rs::Encoding;
use mcp_core::serde_json::json;
use mcp_core::{ErrorType, ToolError, mcp_tool};

/// The folder that tools may read, and how much of a file they load.
#[derive(Clone, Debug)]
pub struct Workspace {
    root: PathBuf,
    max_bytes: u64,
}

impl Workspace {
    /// Opens a folder.
    pub fn open(root: impl AsRef<Path>) -> std::io::Result<Self> {
        Ok(Self { root: root.as_ref().canonicalize()?, max_bytes: 10 << 20 })
    }

    /// Sets the size of the largest file that is read, 10 MiB otherwise.
    #[must_use]
    pub fn max_bytes(mut self, max_bytes: u64) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// The real path of a file inside the workspace. Absolute paths, `..` and links that lead out are refused.
    fn resolve(&self, path: &str) -> Result<PathBuf, ToolError> {
        let outside = || {
            ToolError::new(ErrorType::PERMISSION_ERROR, "the path leaves the workspace; use one relative to its root")
                .details(json!({ "path_attempted": path }))
        };
        let inside = |component| matches!(component, Component::Normal(_) | Component::CurDir);
        if path.contains('\0') || !Path::new(path).components().all(inside) {
            return Err(outside());
        }
        let real = self.root.join(path).canonicalize().map_err(|error| refused(&error, path))?;
        if real.starts_with(&self.root) { Ok(real) } else { Err(outside()) }
    }
}

/// An I/O error in the words of the tool, without the workspace's own path.
fn refused(error: &std::io::Error, path: &str) -> ToolError {
    let error_type = ToolError::from(std::io::Error::from(error.kind())).error_type().clone();
    let message = match error.kind() {
        std::io::ErrorKind::NotFound => "The file specified by file_path could not be found.".to_owned(),
        std::io::ErrorKind::PermissionDenied => "The file specified by file_path may not be read.".to_owned(),
        kind => format!("The file specified by file_path could not be read: {kind}."),
    };
    ToolError::new(error_type, message).details(json!({ "path_attempted": path }))
}

/// What was read.
#[derive(Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct FileContent {
    /// The content of the file as a string.
    pub file_content: String,
    /// The number of characters read from the file.
    pub chars_read: u64,
    /// The encoding used to read the file.
    pub encoding_used: String,
}

/// Reads the content of a text file inside the workspace.
///
/// # Errors
/// - `FileNotFoundError`: the file does not exist.
/// - `PermissionError`: the path leaves the workspace, or the file may not be read.
/// - `UnsupportedEncodingError`: the encoding is not known.
/// - `FileTooLargeError`: the file is larger than the tool reads.
///
/// # Security
/// Paths are resolved inside the workspace: absolute paths, `..` and links that lead out are refused. Bytes that are not
/// of the encoding become replacement characters.
///
/// # Idempotency
/// The same path gives the same content as long as the file does not change.
#[mcp_tool(module = "file_utility", title = "Read a file", read_only, idempotent, tags("files"))]
pub fn read_file_content(
    #[ctx] workspace: &Workspace,
    /// Path of the file, relative to the workspace.
    #[arg(min_length = 1, example = "src/data/input.txt")]
    file_path: &str,
    /// Read at most this many characters.
    #[arg(min = 1, example = 1024)]
    max_chars: Option<u64>,
    /// Text encoding, by its name on the web.
    #[arg(default = "utf-8")]
    encoding: &str,
) -> Result<FileContent, ToolError> {
    let Some(encoding) = Encoding::for_label(encoding.as_bytes()) else {
        let message = format!("the encoding {encoding:?} is not known; use one such as `utf-8` or `windows-1252`");
        return Err(ToolError::new(ErrorType::UNSUPPORTED_ENCODING_ERROR, message));
    };
    let path = workspace.resolve(file_path)?;
    let file = File::open(&path).map_err(|error| refused(&error, file_path))?;
    let metadata = file.metadata().map_err(|error| refused(&error, file_path))?;
    if !metadata.is_file() {
        let message = "file_path does not name a file; name one";
        return Err(
            ToolError::new(ErrorType::FILE_NOT_FOUND_ERROR, message).details(json!({ "path_attempted": file_path }))
        );
    }
    let mut bytes = Vec::new();
    // One byte more tells a file that grows while it is read.
    file.take(workspace.max_bytes + 1).read_to_end(&mut bytes).map_err(|error| refused(&error, file_path))?;
    if bytes.len() as u64 > workspace.max_bytes {
        let message = format!("the file is larger than {} bytes; read another", workspace.max_bytes);
        return Err(
            ToolError::new(ErrorType::FILE_TOO_LARGE_ERROR, message).details(json!({ "path_attempted": file_path }))
        );
    }
    let (text, encoding, _) = encoding.decode(&bytes);
    let limit = max_chars.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    let file_content: String = text.chars().take(limit).collect();
    let chars_read = file_content.chars().count() as u64;
    Ok(FileContent { file_content, chars_read, encoding_used: encoding.name().to_ascii_lowercase() })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{Workspace, read_file_content};

    /// A workspace with a file beside it.
    fn workspace(name: &str) -> (std::path::PathBuf, Workspace) {
        let folder = std::env::temp_dir().join(format!("file-utility-{name}-{}", std::process::id()));
        let root = folder.join("root");
        fs::create_dir_all(&root).unwrap();
        fs::write(folder.join("secret.txt"), "secret").unwrap();
        fs::write(root.join("a.txt"), "zwölf\n").unwrap();
        fs::write(root.join("latin.txt"), b"zw\xf6lf").unwrap();
        (folder, Workspace::open(root).unwrap())
    }

    fn refusal(workspace: &Workspace, path: &str, encoding: &str) -> String {
        read_file_content(workspace, path, None, encoding).unwrap_err().error_type().to_string()
    }

    #[test]
    fn s4_4_a_file_is_read_with_its_count_and_encoding() {
        let (folder, workspace) = workspace("read");
        let whole = read_file_content(&workspace, "a.txt", None, "utf-8").unwrap();
        assert_eq!(
            (whole.file_content.as_str(), whole.chars_read, whole.encoding_used.as_str()),
            ("zwölf\n", 6, "utf-8")
        );
        assert_eq!(read_file_content(&workspace, "./a.txt", Some(3), "UTF8").unwrap().file_content, "zwö");
        let latin = read_file_content(&workspace, "latin.txt", None, "latin1").unwrap();
        assert_eq!((latin.file_content.as_str(), latin.encoding_used.as_str()), ("zwölf", "windows-1252"));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn s4_5_s4_8_each_error_has_its_type() {
        let (folder, workspace) = workspace("errors");
        assert_eq!(refusal(&workspace, "none.txt", "utf-8"), "FileNotFoundError");
        assert_eq!(refusal(&workspace, ".", "utf-8"), "FileNotFoundError");
        assert_eq!(refusal(&workspace, "a.txt", "klingon"), "UnsupportedEncodingError");
        assert_eq!(refusal(&workspace.clone().max_bytes(3), "a.txt", "utf-8"), "FileTooLargeError");
        let absolute = folder.join("root").join("a.txt");
        for outside in ["../secret.txt", "x/../../secret.txt", absolute.to_str().unwrap(), "a\0.txt"] {
            assert_eq!(refusal(&workspace, outside, "utf-8"), "PermissionError", "{outside}");
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn s4_8_a_link_that_leads_out_is_refused() {
        let (folder, workspace) = workspace("links");
        std::os::unix::fs::symlink(folder.join("secret.txt"), folder.join("root/link.txt")).unwrap();
        std::os::unix::fs::symlink(&folder, folder.join("root/up")).unwrap();
        assert_eq!(refusal(&workspace, "link.txt", "utf-8"), "PermissionError");
        assert_eq!(refusal(&workspace, "up/secret.txt", "utf-8"), "PermissionError");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn s4_11_bytes_of_another_encoding_do_not_fail() {
        let (folder, workspace) = workspace("lossy");
        assert_eq!(read_file_content(&workspace, "latin.txt", None, "utf-8").unwrap().file_content, "zw\u{fffd}lf");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn no_error_tells_where_the_workspace_is() {
        let (folder, workspace) = workspace("quiet");
        for path in ["none.txt", "../secret.txt", "a.txt/b"] {
            let error = read_file_content(&workspace, path, None, "utf-8").unwrap_err();
            assert!(!error.detail().to_json().contains("file-utility-quiet"), "{error}");
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
