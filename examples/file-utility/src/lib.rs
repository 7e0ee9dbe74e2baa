//! Tools that read files inside a workspace.

use std::fs;
use std::io::{self, Read as _};
use std::path::{self, Component, Path, PathBuf};

use cap_fs_ext::{OpenOptionsMaybeDirExt as _, OpenOptionsSyncExt as _};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use encoding_rs::Encoding;
use mcp_core::schema::output_schema;
use mcp_core::serde_json::json;
use mcp_core::{ErrorType, ToolError, ToolResult, mcp_tool};

/// The directory that tools may read from, and how large a file they read.
#[derive(Debug)]
pub struct Workspace {
    root: Dir,
    /// The absolute paths of the root: with its links resolved, and as it was given.
    roots: [PathBuf; 2],
    max_bytes: u64,
}

impl Workspace {
    /// Opens a directory.
    pub fn open(root: impl AsRef<Path>) -> io::Result<Self> {
        let root = root.as_ref();
        let roots = [fs::canonicalize(root)?, path::absolute(root)?];
        Ok(Self { root: Dir::open_ambient_dir(root, ambient_authority())?, roots, max_bytes: 10 << 20 })
    }

    /// Sets the size of the largest file that is read (default: 10 MiB).
    #[must_use]
    pub fn max_bytes(mut self, max_bytes: u64) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// The path relative to the root, if it names something inside. An absolute path must begin with that of the root.
    fn relative<'a>(&self, path: &'a str) -> Option<&'a Path> {
        let path = Path::new(path);
        let path =
            if path.is_absolute() { self.roots.iter().find_map(|root| path.strip_prefix(root).ok())? } else { path };
        let is_inside = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        match path.as_os_str() {
            _ if !is_inside || path.to_str().is_none_or(|path| path.contains('\0')) => None,
            path if path.is_empty() => Some(Path::new(".")),
            _ => Some(path),
        }
    }

    /// Reads a regular file.
    ///
    /// Checking a path before opening it is a race: a link can take the file's place in between. `Dir` resolves the path
    /// beneath the root while it opens it, following only relative links that stay inside, and all checks are made on the
    /// opened file.
    fn read(&self, path: &str) -> Result<Vec<u8>, ToolError> {
        let path = self.relative(path).ok_or_else(|| {
            let message = "file_path leaves the workspace; use a path relative to its root";
            ToolError::new(ErrorType::PERMISSION_ERROR, message)
        })?;
        let mut options = OpenOptions::new();
        // `nonblock`: opening a named pipe would wait for a writer. `maybe_dir`: Windows would deny to open a directory,
        // which is refused below for what it is.
        options.read(true).nonblock(true).maybe_dir(true);
        let file = self.root.open_with(path, &options).map_err(not_opened)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            let message = "file_path does not name a regular file; name one that does";
            return Err(ToolError::new(ErrorType::FILE_NOT_FOUND_ERROR, message));
        }
        let too_large = || {
            let message = format!("the file is larger than {} bytes; read a smaller one", self.max_bytes);
            ToolError::new(ErrorType::FILE_TOO_LARGE_ERROR, message)
        };
        if metadata.len() > self.max_bytes {
            return Err(too_large());
        }
        let mut bytes = Vec::new();
        // The file may have grown since: one byte more than the limit tells.
        file.take(self.max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > self.max_bytes {
            return Err(too_large());
        }
        Ok(bytes)
    }

    /// Reads the text of a file, as [`read_file_content`] returns it.
    pub fn read_text(&self, path: &str, max_chars: Option<u64>, encoding: &str) -> Result<FileContent, ToolError> {
        let Some(encoding) = Encoding::for_label(encoding.as_bytes()) else {
            let message = format!("the encoding {encoding:?} is not known; use one such as `utf-8` or `windows-1252`");
            return Err(ToolError::new(ErrorType::UNSUPPORTED_ENCODING_ERROR, message));
        };
        let bytes = self.read(path).map_err(|error| error.details(json!({ "path_attempted": path })))?;
        let (text, encoding, _) = encoding.decode(&bytes);
        let limit = max_chars.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
        let file_content: String = text.chars().take(limit).collect();
        let chars_read = file_content.chars().count() as u64;
        Ok(FileContent { file_content, chars_read, encoding_used: encoding.name().to_ascii_lowercase() })
    }
}

/// Explains why a file could not be opened.
fn not_opened(error: io::Error) -> ToolError {
    let explained = match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            ToolError::new(ErrorType::FILE_NOT_FOUND_ERROR, "The file specified by file_path could not be found.")
        }
        io::ErrorKind::PermissionDenied => ToolError::new(
            ErrorType::PERMISSION_ERROR,
            "file_path leads out of the workspace through a link, or may not be read; name another file",
        ),
        _ => ToolError::from(format!("file_path could not be opened: {error}; name another file")),
    };
    explained.with_source(error)
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

/// Reads the content of a text file inside the workspace, such as source code or notes to work on.
///
/// # Errors
/// - `FileNotFoundError`: the file does not exist, or is not a regular file. `error_details`: `{"path_attempted": "…"}`.
/// - `PermissionError`: the path leaves the workspace, or the file may not be read. `error_details`:
///   `{"path_attempted": "…"}`.
/// - `UnsupportedEncodingError`: the encoding is not known.
/// - `FileTooLargeError`: the file is larger than the tool reads, whatever `max_chars` says. `error_details`:
///   `{"path_attempted": "…"}`.
///
/// # Security
/// - **Path Traversal**: paths are resolved inside the workspace while the file is opened. `..`, other absolute paths, and
///   links that are absolute or lead out are refused; relative links that stay inside are followed. Only regular files are
///   read, no pipes or devices.
/// - **Resource Limits**: a file above the limit of the program (10 MiB by default) is refused before it is read.
/// - **Information Disclosure**: the tool reads every file of the workspace. The program decides what is in it, and who may
///   call the tool.
/// - **Encoding Attacks**: the default is UTF-8. Bytes that are not of the encoding become replacement characters.
///
/// # Idempotency
/// The same path gives the same content as long as the file does not change.
///
/// # Examples
/// ```json
/// {
///   "status": "success",
///   "data": { "file_content": "12 eggs\n6 apples\n", "chars_read": 17, "encoding_used": "utf-8" },
///   "error": null,
///   "explanation": "Successfully read 17 characters from src/data/input.txt using utf-8 encoding."
/// }
/// ```
#[mcp_tool(
    module = "file_utility",
    title = "Read a file",
    read_only,
    idempotent,
    tags("files"),
    output_schema = output_schema::<FileContent>()
)]
pub fn read_file_content(
    #[ctx] workspace: &Workspace,
    /// Path of the file, relative to the workspace, or absolute and inside it.
    #[arg(min_length = 1, example = "src/data/input.txt")]
    file_path: &str,
    /// Read at most this many characters.
    #[arg(min = 1, example = 1024)]
    max_chars: Option<u64>,
    /// Text encoding, by its name on the web.
    #[arg(default = "utf-8")]
    encoding: &str,
) -> Result<ToolResult, ToolError> {
    let read = workspace.read_text(file_path, max_chars, encoding)?;
    let explanation = format!(
        "Successfully read {} characters from {file_path} using {} encoding.",
        read.chars_read, read.encoding_used
    );
    Ok(ToolResult::data(read).explanation(explanation))
}
