//! One program that runs for as long as this process does, and not a moment longer.
//!
//! In: what to run, then signals. Out: how it ended, and the end of its log.
//!
//! ```text
//!  this process --pipe--> sh (supervise.sh) --fork--> program --> log file
//!     dies => the pipe closes => sh kills the program
//! ```
//! Why a shell in between: a process that is killed by `kill -9`, or that leaves through `exit` while a static owns the
//! cluster, runs no destructor. The kernel closes its pipes in every case, so something outside has to notice. `PDEATHSIG`
//! would need unsafe code and a thread that never ends; `sh` is on every machine where the control plane can run.
//! Signals go through the same pipe: the shell is the program's parent and cannot hit a reused process id.
//!
//! The group of the shell is its own, so that Ctrl-C reaches only the process that decides what to stop, in which order.

use std::{
    fs,
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    time::Duration,
};

use crate::{Error, Program};

/// How often a program that ought to end is looked at. It ends in tens of milliseconds.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// How much of a log goes into an error: enough for a last stack trace, still readable in a terminal.
const TAIL_BYTES: u64 = 8 * 1024;
const TAIL_LINES: usize = 20;

/// What a program can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    /// Please end: the program finishes what it is doing.
    Terminate,
    /// End now, as in a crash.
    Kill,
    /// Stand still: connections stay open and nothing answers.
    Stop,
    /// Go on after `Stop`.
    Continue,
}

impl Signal {
    const fn name(self) -> &'static str {
        match self {
            Self::Terminate => "TERM",
            Self::Kill => "KILL",
            Self::Stop => "STOP",
            Self::Continue => "CONT",
        }
    }
}

/// What to run.
pub(super) struct Launch<'a> {
    pub(super) program: Program,
    pub(super) path: &'a Path,
    pub(super) args: &'a [String],
    /// Stdout and stderr are added to this file.
    pub(super) log: PathBuf,
    /// Its home, and what goes away with a parent that goes away.
    pub(super) folder: &'a Path,
}

/// A program that was started. Killed and waited for when dropped.
#[derive(Debug)]
pub(super) struct Supervised {
    program: Program,
    shell: Child,
    orders: ChildStdin,
    log: PathBuf,
}

impl Supervised {
    pub(super) fn spawn(launch: Launch<'_>) -> Result<Self, Error> {
        let Launch { program, path, args, log, folder } = launch;
        let start = || -> io::Result<(Child, ChildStdin)> {
            let output = fs::OpenOptions::new().create(true).append(true).open(&log)?;
            let mut shell = Command::new("/bin/sh")
                .args(["-c", include_str!("supervise.sh"), program.name()])
                .args([folder, path])
                .args(args)
                // Settings of the user (a ~/.kwok, a KUBECONFIG) stay out of the cluster.
                .env("HOME", folder)
                .env_remove("KUBECONFIG")
                .current_dir(folder)
                .stdin(Stdio::piped())
                .stdout(output.try_clone()?)
                .stderr(output)
                .process_group(0)
                .spawn()?;
            let orders = shell.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
            Ok((shell, orders))
        };
        let (shell, orders) = start().map_err(Error::io(format!("start {}", path.display())))?;
        Ok(Self { program, shell, orders, log })
    }

    /// Sends a signal. One that is already gone is past caring.
    pub(super) fn signal(&mut self, signal: Signal) {
        let _ = writeln!(self.orders, "{}", signal.name());
    }

    /// `Err` with the end of the log if it has ended.
    pub(super) fn check(&mut self) -> Result<(), Error> {
        match self.exited()? {
            None => Ok(()),
            Some(status) => Err(Error::Exited {
                program: self.program.name(),
                status,
                log: self.log.clone(),
                tail: self.tail(),
            }),
        }
    }

    /// Waits until it has ended.
    pub(super) async fn ended(&mut self, within: Duration) -> Result<ExitStatus, Error> {
        let started = kube_client::clock::now();
        loop {
            if let Some(status) = self.exited()? {
                return Ok(status);
            }
            if kube_client::clock::now() - started > within {
                return Err(self.late("stopped", within, "it still runs".into()));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    pub(super) fn late(&self, what: &'static str, waited: Duration, last: String) -> Error {
        Error::Late {
            program: self.program.name(),
            what,
            waited,
            last,
            log: self.log.clone(),
            tail: self.tail(),
        }
    }

    fn exited(&mut self) -> Result<Option<ExitStatus>, Error> {
        self.shell.try_wait().map_err(Error::io(format!("wait for {}", self.program)))
    }

    fn tail(&self) -> String {
        tail(&self.log).unwrap_or_else(|error| format!("(no log: {error})"))
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        // The pipe stays open until the shell is gone: its end would be taken for the end of this process.
        self.signal(Signal::Kill);
        let _ = self.shell.wait();
    }
}

/// The last lines of a file.
fn tail(path: &Path) -> io::Result<String> {
    let mut file = fs::File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    Ok(lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    fn shell(folder: &Path, script: &str) -> Supervised {
        let args = ["-c".into(), script.into()];
        let log = folder.join("log");
        Supervised::spawn(Launch {
            program: Program::Etcd,
            path: Path::new("/bin/sh"),
            args: &args,
            log,
            folder,
        })
        .unwrap()
    }

    /// A program that says that it has started, by making a pipe's reader wake up, and then stays.
    async fn staying(folder: &Path) -> Supervised {
        let program = shell(folder, "echo $$ >pid.new; mv pid.new pid; exec sleep 1000");
        crate::eventually(Duration::from_secs(20), "started", async || folder.join("pid").exists()).await;
        program
    }

    fn runs(folder: &Path) -> bool {
        let pid = fs::read_to_string(folder.join("pid")).unwrap();
        let alive = Command::new("/bin/sh")
            .args(["-c", &format!("kill -0 {} 2>/dev/null", pid.trim())])
            .status()
            .unwrap();
        alive.success()
    }

    #[tokio::test]
    async fn a_dropped_program_is_dead_and_its_folder_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let program = staying(folder.path()).await;
        assert!(runs(folder.path()));
        drop(program);
        assert!(!runs(folder.path()));
    }

    #[tokio::test]
    async fn a_stopped_program_is_dead_after_its_drop_too() {
        let folder = tempfile::tempdir().unwrap();
        let mut program = staying(folder.path()).await;
        program.signal(Signal::Stop);
        drop(program);
        assert!(!runs(folder.path()));
    }

    #[tokio::test]
    async fn when_the_parent_is_gone_the_program_goes_and_takes_the_folder_unless_it_is_kept() {
        for keep in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let mut program = staying(folder.path()).await;
            if keep {
                fs::write(folder.path().join("keep"), "").unwrap();
            }
            // The kernel closes the pipe of a process that ends, however it ends: the same as dropping this end.
            let mut other = Command::new("true").stdin(Stdio::piped()).spawn().unwrap();
            drop(std::mem::replace(&mut program.orders, other.stdin.take().unwrap()));
            program.shell.wait().unwrap();
            other.wait().unwrap();
            assert_eq!(folder.path().exists(), keep);
            if keep {
                assert!(!runs(folder.path()));
            }
        }
    }

    #[tokio::test]
    async fn signals_arrive_and_the_way_it_ended_is_known() {
        for (signal, expected) in [(Signal::Terminate, 128 + 15), (Signal::Kill, 128 + 9)] {
            let folder = tempfile::tempdir().unwrap();
            let mut program = staying(folder.path()).await;
            program.check().unwrap();
            program.signal(signal);
            let status = program.ended(Duration::from_secs(20)).await.unwrap();
            assert_eq!(status, ExitStatus::from_raw(expected << 8), "{signal:?}");
        }
    }

    #[tokio::test]
    async fn one_that_ended_by_itself_shows_the_end_of_its_log() {
        let folder = tempfile::tempdir().unwrap();
        let mut program = shell(folder.path(), "seq 100; echo broken >&2; exit 3");
        program.ended(Duration::from_secs(20)).await.unwrap();
        let error = program.check().unwrap_err().to_string();
        assert!(error.contains("etcd ended (exit status: 3)"), "{error}");
        assert!(error.ends_with("99\n100\nbroken"), "{error}");
        assert!(!error.contains("\n50\n"), "{error}");
    }
}
