"""Programs of many tools, and what it takes to compile them."""

import os
import pathlib
import shutil
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "target/peers-compile"
# Shared with the build of the benchmarks, whose dependencies are the same.
TARGET = ROOT / "target/peers"
CONTESTANTS_QUICK = ["inline", "async", "plain", "rmcp"]
# rmcp's README has `async` functions.
CONTESTANTS = [*CONTESTANTS_QUICK, "rmcp-readme"]
SIZES = (20, 220)
SIZES_QUICK = (20, 60)

MANIFEST = """[package]
name = "many-{who}"
version = "0.1.0"
edition = "2024"

[dependencies]
tokio = {{ version = "1", default-features = false, features = ["rt-multi-thread"] }}
{dependencies}
"""
OURS = f'mcp-registry = {{ path = "{ROOT}/mcp-registry", features = ["stdio"] }}'
RMCP = """rmcp = { version = "3.8", features = ["transport-io"] }
schemars = "1"
serde = { version = "1", features = ["derive"] }"""

MAIN = """
fn main() -> Result<(), Box<dyn std::error::Error>> {{
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {{
        {serve}
        Ok(())
    }})
}}
"""


def source(who, count, edit):
    """Tools as they are written by hand: three parameters, a text as the result. `edit` changes the last of them: that moves
    no other, and the compiler can reuse what it knows about them."""
    def body(n):
        return f'format!("{{path}} {{limit}} {{hidden:?}} {n}{edit if n == count - 1 else ""}")'

    asyncness = "async " if who in ("async", "rmcp-readme") else ""
    if not who.startswith("rmcp"):
        key = ", inline" if who == "inline" else ""
        tools = "".join(f"""
/// Looks for files.
#[mcp_tool(module = "files"{key})]
{asyncness}fn tool_{n}(path: String, limit: i64, hidden: Option<bool>) -> String {{
    {body(n)}
}}
""" for n in range(count))
        return "use mcp_registry::mcp_tool;\n" + tools + MAIN.format(
            serve="mcp_registry::serve_stdio(mcp_registry::Server::new(mcp_registry::Registry::linked()?)).await?;")
    types = "".join(f"""
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Params{n} {{
    path: String,
    limit: i64,
    hidden: Option<bool>,
}}
""" for n in range(count))
    tools = "".join(f"""
    #[tool(description = "Looks for files.")]
    {asyncness}fn tool_{n}(&self, Parameters(Params{n} {{ path, limit, hidden }}): Parameters<Params{n}>) -> String {{
        {body(n)}
    }}
""" for n in range(count))
    return f"""use rmcp::{{ServiceExt as _, handler::server::wrapper::Parameters, tool, tool_router, transport::stdio}};
{types}
#[derive(Clone)]
struct Server;

#[tool_router(server_handler)]
impl Server {{{tools}}}
""" + MAIN.format(serve="Server.serve(stdio()).await?.waiting().await?;")


def cargo(who, *flags):
    """Builds a program, and returns the CPU seconds of cargo and all that it starts."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CARGO_PROFILE_")}
    command = ["cargo", "build", "-q", "--locked", "--manifest-path", str(FOLDER / "Cargo.toml"), "--target-dir", str(TARGET),
               "-p", f"many-{who}", *flags]
    process = os.posix_spawnp("cargo", command, environment)
    _, status, usage = os.wait4(process, 0)
    if status != 0:
        raise RuntimeError(f"{' '.join(command)} failed")
    return usage.ru_utime + usage.ru_stime


def write(who, count, edit=""):
    path = FOLDER / who / "src/main.rs"
    path.write_text(source(who, count, edit))
    # Newer than every build, whatever the clock of the file system says.
    os.utime(path, (time.time() + 1, time.time() + 1))


def build(who, count, incremental):
    write(who, count)
    for folder in (TARGET / "debug/incremental").glob(f"many_{who.replace('-', '_')}-*"):
        shutil.rmtree(folder)
    took = {"dev": 1e3 * cargo(who)}
    if incremental:
        write(who, count, " edited")
        took["incremental"] = 1e3 * cargo(who)
    took["release"] = 1e3 * cargo(who, "--release")
    took["size"] = (TARGET / f"release/many-{who}").stat().st_size
    return took


def prepare():
    """Compiles the dependencies, which are the same for every size."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    members = ", ".join(f'"{who}"' for who in CONTESTANTS)
    (FOLDER / "Cargo.toml").write_text(f'[workspace]\nresolver = "3"\nmembers = [{members}]\n\n[profile.release]\nstrip = true\n')
    for who in CONTESTANTS:
        (FOLDER / who / "src").mkdir(parents=True, exist_ok=True)
        (FOLDER / who / "Cargo.toml").write_text(MANIFEST.format(who=who, dependencies=RMCP if who.startswith("rmcp") else OURS))
        write(who, 1)
    # The versions of the benchmarks, without their own package.
    shutil.copy(ROOT / "benches/peers/Cargo.lock", FOLDER / "Cargo.lock")
    update = ["cargo", "update", "-q", "--workspace", "--offline", "--manifest-path", str(FOLDER / "Cargo.toml")]
    subprocess.run(update, check=True)
    for who in CONTESTANTS:
        cargo(who)
        cargo(who, "--release")
