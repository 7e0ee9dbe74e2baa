//! The matrix: its columns, and how a promise is checked along them.

use std::fmt::{self, Write as _};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once};
use std::thread;
use std::time::Instant;

use mcp_registry::CallOptions;
use support::LONG;
use tokio::process::Command;

use crate::pairs::cover;
use crate::ways::{Reply, Target, Way};
use crate::world::{Event, FOREIGN, Kind, Name, Registration, Setting, Setup, Shared, Which};

/// A value of one dimension. Whoever adds a way in, a setting or another value adds it to `ALL` of its enum.
#[derive(Clone, Copy, PartialEq)]
enum Column {
    Way(Way),
    Name(Name),
    Registration(Registration),
    Kind(Kind),
    Setting(Setting, bool),
}

/// What does not go together, and why.
const NEVER: &[(Column, Column, &str)] = &[
    (RUN_TIME, PLAIN, "what is registered at run time is a `Tool`"),
    (RUN_TIME, ASYNC, "what is registered at run time is a `Tool`"),
    (RUN_TIME, INLINE, "what is registered at run time is a `Tool`"),
    (AGAIN, PLAIN, "what is registered at run time is a `Tool`"),
    (AGAIN, ASYNC, "what is registered at run time is a `Tool`"),
    (AGAIN, INLINE, "what is registered at run time is a `Tool`"),
    (LINKED, DYNAMIC, "what is linked has the attribute"),
    (DYNAMIC, RENAMED, "a `Tool` belongs to no package, by which others are renamed"),
    (RUN_TIME, RENAMED, "a `Tool` belongs to no package, by which others are renamed"),
    (AGAIN, RENAMED, "a `Tool` belongs to no package, by which others are renamed"),
    (DYNAMIC, PREFIXED, "a `Tool` belongs to no package, by which others are prefixed"),
    (RUN_TIME, PREFIXED, "a `Tool` belongs to no package, by which others are prefixed"),
    (AGAIN, PREFIXED, "a `Tool` belongs to no package, by which others are prefixed"),
    (RUN_TIME, TRUST_TOOL, "a setting names a tool that is there when the registry is built"),
    (RUN_TIME, RATE_LONG_TOOL, "a setting names a tool that is there when the registry is built"),
];

const RUN_TIME: Column = Column::Registration(Registration::RunTime);
const AGAIN: Column = Column::Registration(Registration::Again);
const LINKED: Column = Column::Registration(Registration::Linked);
const PLAIN: Column = Column::Kind(Kind::Plain);
const ASYNC: Column = Column::Kind(Kind::Async);
const INLINE: Column = Column::Kind(Kind::Inline);
const DYNAMIC: Column = Column::Kind(Kind::Dynamic);
const RENAMED: Column = Column::Name(Name::Renamed);
const PREFIXED: Column = Column::Name(Name::Prefixed);
const TRUST_TOOL: Column = Column::Setting(Setting::TrustTool, true);
const RATE_LONG_TOOL: Column = Column::Setting(Setting::RateLimitTool, true);

/// One value of each dimension.
#[derive(Clone)]
pub(crate) struct Cell {
    pub(crate) way: Way,
    pub(crate) setup: Setup,
}

impl Cell {
    /// The cells that have each pair of columns.
    fn all() -> Vec<Self> {
        let mut dimensions: Vec<Vec<Column>> = vec![
            Way::ALL.iter().copied().map(Column::Way).collect(),
            Name::ALL.iter().copied().map(Column::Name).collect(),
            Registration::ALL.iter().copied().map(Column::Registration).collect(),
            Kind::ALL.iter().copied().map(Column::Kind).collect(),
        ];
        let settings =
            Setting::ALL.iter().map(|setting| [false, true].map(|on| Column::Setting(*setting, on)).to_vec());
        dimensions.extend(settings);
        let sizes: Vec<usize> = dimensions.iter().map(Vec::len).collect();
        let never =
            |one: Column, two: Column| NEVER.iter().any(|(a, b, _)| (*a, *b) == (one, two) || (*b, *a) == (one, two));
        let column = |(dimension, value): (usize, usize)| dimensions[dimension][value];
        let found = cover(&sizes, |one, two| !never(column(one), column(two)));
        found.iter().map(|values| Self::of(values.iter().copied().enumerate().map(column))).collect()
    }

    fn of(columns: impl Iterator<Item = Column>) -> Self {
        let mut setup = Setup {
            kind: Kind::Plain,
            registration: Registration::Builder,
            name: Name::Canonical,
            settings: Vec::new(),
            burst: 1000,
            timeout: None,
            swallows: false,
        };
        let mut of_cell = Way::Call;
        for column in columns {
            match column {
                Column::Way(way) => of_cell = way,
                Column::Name(name) => setup.name = name,
                Column::Registration(registration) => setup.registration = registration,
                Column::Kind(kind) => setup.kind = kind,
                Column::Setting(setting, true) => setup.settings.push(setting),
                Column::Setting(_, false) => {}
            }
        }
        Self { way: of_cell, setup }
    }

    pub(crate) fn has(&self, setting: Setting) -> bool {
        self.setup.has(setting)
    }

    /// Whether the gate or a layer sees the arguments, as a `Value`.
    pub(crate) fn is_watched(&self) -> bool {
        self.has(Setting::Gate) || self.has(Setting::Layer)
    }

    pub(crate) fn is_http(&self) -> bool {
        matches!(self.way, Way::HttpSession | Way::HttpStateless)
    }

    pub(crate) fn is_dynamic(&self) -> bool {
        self.setup.kind == Kind::Dynamic
    }

    /// The columns, as words.
    fn columns(&self) -> Vec<String> {
        let Setup { kind, registration, name, .. } = &self.setup;
        let mut columns =
            vec![format!("{:?}", self.way), format!("{name:?}"), format!("{registration:?}"), format!("{kind:?}")];
        columns.extend(Setting::ALL.iter().filter(|setting| self.has(**setting)).map(|setting| format!("{setting:?}")));
        columns
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.columns().join(", "))
    }
}

/// Text that no error, record or log may have.
pub(crate) const SECRET: &str = "hunter2";

/// A registry as a cell has it, and what happens to its calls.
pub(crate) struct World {
    pub(crate) cell: Cell,
    pub(crate) target: Target,
    pub(crate) shared: Arc<Shared>,
    /// Where a program writes what happens.
    file: PathBuf,
}

impl World {
    fn new(cell: &Cell) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        static QUIET: Once = Once::new();
        QUIET.call_once(|| {
            let hook = take_hook();
            // What tools say when they panic on purpose would fill the output.
            set_hook(Box::new(move |panic| {
                if panic.payload().downcast_ref() != Some(&FOREIGN) {
                    hook(panic);
                }
            }));
        });
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let file =
            PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("promises-{}-{count}.jsonl", std::process::id()));
        let shared = Arc::<Shared>::default();
        let registry = cell.setup.registry(&shared);
        let _ = shared.registry.set(registry.clone());
        let (setup, log) = (serde_json::to_string(&cell.setup).unwrap(), file.clone());
        let program = move || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_promises-program"));
            command.env_remove("RUST_BACKTRACE").env("PROMISES_SETUP", &setup).env("PROMISES_LOG", &log);
            command
        };
        let target = Target { registry, options: CallOptions::new(), program: Some(Arc::new(program)) };
        Self { cell: cell.clone(), target, shared, file }
    }

    /// The name by which a tool is called.
    pub(crate) fn called(&self, which: Which) -> String {
        self.cell.setup.called(which)
    }

    /// Calls the tool with these members of its arguments.
    pub(crate) fn call(&self, which: Which, members: &str) -> Result<Reply, String> {
        self.calls(&[(&self.called(which), members)]).map(|mut replies| replies.remove(0))
    }

    /// Calls the tool that acts.
    pub(crate) fn act(&self, members: &str) -> Result<Reply, String> {
        self.call(Which::Acts, members)
    }

    /// Makes calls on one connection. Each is answered once, and no secret is told.
    pub(crate) fn calls(&self, calls: &[(&str, &str)]) -> Result<Vec<Reply>, String> {
        let secret =
            if self.cell.has(Setting::Secrets) { format!(r#","password":"{SECRET} and more""#) } else { String::new() };
        let calls: Vec<(&str, String)> =
            calls.iter().map(|(name, members)| (*name, format!("{{{members}{secret}}}"))).collect();
        let calls: Vec<(&str, &str)> = calls.iter().map(|(name, arguments)| (*name, &**arguments)).collect();
        let replies = self.cell.way.calls(&self.target, &calls);
        check(replies.len() == calls.len(), || {
            format!("{} answers to {} calls: {replies:?}", replies.len(), calls.len())
        })?;
        let told = replies.iter().find(|reply| reply.text.contains(SECRET));
        check(told.is_none(), || format!("a secret is told: {}", told.unwrap()))?;
        let recorded = self.records().into_iter().map(|record| record.text).find(|text| text.contains(SECRET));
        check(recorded.is_none(), || format!("a secret is recorded: {recorded:?}"))?;
        let audited =
            self.shared.audit.records().iter().any(|record| serde_json::to_string(&**record).unwrap().contains(SECRET));
        check(!audited, || "a secret is in the audit log".to_owned())?;
        Ok(replies)
    }

    /// The same with these options for each call.
    pub(crate) fn with_options(&self, options: CallOptions) -> Target {
        Target { options, ..self.target.clone() }
    }

    /// Asks for a tool by any name, with any arguments.
    pub(crate) fn ask(&self, name: &str, arguments: &str) -> Reply {
        self.cell.way.call(&self.target, name, arguments)
    }

    /// What has happened, here or in the program.
    pub(crate) fn events(&self) -> Vec<Event> {
        if self.cell.way.is_program() {
            let lines = fs::read_to_string(&self.file).unwrap_or_default();
            return lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        }
        self.shared.events.lock().unwrap().clone()
    }

    /// How often the tool has run.
    pub(crate) fn runs(&self) -> usize {
        self.events().iter().filter(|event| matches!(event, Event::Tool(_))).count()
    }

    pub(crate) fn records(&self) -> Vec<Record> {
        let record = |event| match event {
            Event::Record { tool, called_as, outcome, error_type, text } => {
                Some(Record { tool, called_as, outcome, error_type, text })
            }
            Event::Gate(_) | Event::Layer(_) | Event::Tool(_) => None,
        };
        self.events().into_iter().filter_map(record).collect()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.file);
    }
}

/// What an observer was told of a call.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) tool: String,
    pub(crate) called_as: String,
    pub(crate) outcome: String,
    pub(crate) error_type: Option<String>,
    pub(crate) text: String,
}

/// Whether a promise holds in a cell, or what is wrong.
pub(crate) type Holds = Result<(), String>;

/// Fails with this message unless the condition is met.
pub(crate) fn check(is_met: bool, message: impl FnOnce() -> String) -> Holds {
    if is_met { Ok(()) } else { Err(message()) }
}

/// A row of the table.
pub(crate) struct Promise {
    says: &'static str,
    on: Vec<Setting>,
    off: Vec<Setting>,
    set: fn(&mut Setup),
    exceptions: Vec<Exception>,
}

/// Where a promise does not hold, or says nothing.
struct Exception {
    when: fn(&Cell) -> bool,
    why: &'static str,
    /// Whether the promise is broken there; else it cannot be checked there.
    is_broken: bool,
}

impl Promise {
    pub(crate) fn new(says: &'static str) -> Self {
        Self { says, on: Vec::new(), off: Vec::new(), set: |_| {}, exceptions: Vec::new() }
    }

    /// Turns a setting on in every cell.
    pub(crate) fn on(mut self, setting: Setting) -> Self {
        self.on.push(setting);
        self
    }

    /// Turns a setting off in every cell.
    pub(crate) fn off(mut self, setting: Setting) -> Self {
        self.off.push(setting);
        self
    }

    /// Changes every cell.
    pub(crate) fn with(self, set: fn(&mut Setup)) -> Self {
        Self { set, ..self }
    }

    /// Where the promise does not hold, as the documentation says.
    pub(crate) fn except(mut self, why: &'static str, when: fn(&Cell) -> bool) -> Self {
        self.exceptions.push(Exception { when, why, is_broken: true });
        self
    }

    /// Where there is nothing to check.
    pub(crate) fn unless(mut self, why: &'static str, when: fn(&Cell) -> bool) -> Self {
        self.exceptions.push(Exception { when, why, is_broken: false });
        self
    }

    /// Checks the promise in every cell. An exception that is none fails, too.
    pub(crate) fn holds(self, holds: impl Fn(&World) -> Holds + Sync) {
        const THREADS: usize = 6;
        let started = Instant::now();
        let mut cells = Cell::all();
        for Cell { setup, .. } in &mut cells {
            setup.settings.extend(self.on.iter().filter(|setting| !setup.has(**setting)).collect::<Vec<_>>());
            setup.settings.retain(|setting| !self.off.contains(setting));
            (self.set)(setup);
        }
        let exception = |cell: &Cell| self.exceptions.iter().position(|exception| (exception.when)(cell));
        let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        thread::scope(|scope| {
            let work = || {
                while let Some(cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if started.elapsed() > LONG {
                        let late = Err(format!("the row takes longer than {LONG:?}; is something waiting in vain?"));
                        results.lock().unwrap().push((cell, None, late));
                        break;
                    }
                    let exception = exception(cell);
                    if exception.is_none_or(|known| self.exceptions[known].is_broken) {
                        let result = catch_unwind(AssertUnwindSafe(|| holds(&World::new(cell))));
                        let result = result.unwrap_or_else(|_| Err("the test panics".to_owned()));
                        results.lock().unwrap().push((cell, exception, result));
                    }
                }
            };
            (0..THREADS).for_each(|_| _ = scope.spawn(work));
        });
        let results = results.into_inner().unwrap();
        for (known, Exception { why, is_broken, .. }) in self.exceptions.iter().enumerate() {
            let applies = cells.iter().any(|cell| exception(cell) == Some(known));
            let is_one = results.iter().any(|(_, exception, result)| *exception == Some(known) && result.is_err());
            assert!(applies && (is_one || !is_broken), "`{}` has no longer this exception: {why}", self.says);
        }
        let checked: Vec<&Cell> =
            results.iter().filter(|(_, exception, _)| exception.is_none()).map(|(cell, ..)| *cell).collect();
        let broken = results.iter().filter(|(_, exception, _)| exception.is_none());
        let broken: Vec<(&Cell, &String)> =
            broken.filter_map(|(cell, _, result)| Some((*cell, result.as_ref().err()?))).collect();
        assert!(checked.len() > 5, "`{}` is checked in {} cells only", self.says, checked.len());
        assert!(broken.is_empty(), "`{}`\n{}", self.says, report(&broken, &checked));
    }
}

/// What is broken: the columns in which everything is, and some cells.
fn report(broken: &[(&Cell, &String)], checked: &[&Cell]) -> String {
    let mut text = format!("is broken in {} of {} cells", broken.len(), checked.len());
    let columns = checked.iter().flat_map(|cell| cell.columns()).collect::<std::collections::BTreeSet<String>>();
    for column in columns {
        let bad = broken.iter().filter(|(cell, _)| cell.columns().contains(&column)).count();
        let all = checked.iter().filter(|cell| cell.columns().contains(&column)).count();
        if bad == all {
            let _ = write!(text, "\n  everywhere with {column} ({all} cells)");
        }
    }
    for (cell, what) in broken.iter().take(12) {
        let _ = write!(text, "\n  {cell}:\n      {}", what.chars().take(500).collect::<String>());
    }
    text
}

#[test]
fn what_never_goes_together_has_a_reason_and_everything_else_is_covered() {
    let cells = Cell::all();
    assert!(NEVER.iter().all(|(.., why)| !why.is_empty()));
    for way in Way::ALL.iter().copied() {
        let of_way: Vec<&Cell> = cells.iter().filter(|cell| cell.way == way).collect();
        assert!(Name::ALL.iter().all(|name| of_way.iter().any(|cell| cell.setup.name == *name)), "{way:?}");
        for setting in Setting::ALL {
            assert!(of_way.iter().any(|cell| cell.has(*setting)) && of_way.iter().any(|cell| !cell.has(*setting)));
        }
    }
    assert!(cells.len() < 130, "few of a million: {}", cells.len());
}
