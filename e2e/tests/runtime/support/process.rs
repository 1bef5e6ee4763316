//! The program `slow-operator`, as a process of its own.

use std::{
    io::{BufRead as _, BufReader, Read},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
};

use kube_e2e::Cluster;

use super::OURS;

/// It runs until it ends, is killed, or is dropped.
pub(crate) struct Process {
    child: Child,
    lines: Arc<Mutex<Vec<String>>>,
    readers: Vec<JoinHandle<()>>,
}

impl Process {
    /// Starts it as `identity` in a namespace of this cluster.
    pub(crate) fn start(cluster: &Cluster, namespace: &str, identity: &str, more: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_slow-operator"));
        if let Some(kubeconfig) = cluster.kubeconfig_file().unwrap() {
            command.arg("--kubeconfig").arg(kubeconfig);
        }
        command.args(["--namespace", namespace, "--identity", identity, "--labels", OURS]).args(more);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = Arc::<Mutex<Vec<String>>>::default();
        let readers = vec![
            read(child.stdout.take().unwrap(), lines.clone()),
            read(child.stderr.take().unwrap(), lines.clone()),
        ];
        Self { child, lines, readers }
    }

    /// Everything that it has said so far.
    pub(crate) fn said(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    /// What it has said so far that begins like this.
    pub(crate) fn said_of(&self, beginning: &str) -> Vec<String> {
        let mut lines = self.said();
        lines.retain(|line| line.starts_with(beginning));
        lines
    }

    /// Waits until it has said something that begins like this, so many times.
    pub(crate) async fn says(&self, cluster: &Cluster, beginning: &str, times: usize) {
        let said = async || {
            let all = self.said();
            if self.said_of(beginning).len() >= times { Ok(()) } else { Err(format!("{all:?}")) }
        };
        cluster.eventually(&format!("{times} lines of {beginning:?}"), said).await;
    }

    /// Sends a signal: `TERM`, `INT`, `KILL`.
    pub(crate) fn signal(&self, signal: &str) {
        let kill = format!("kill -s {signal} {}", self.child.id());
        assert!(Command::new("/bin/sh").args(["-c", &kill]).status().unwrap().success());
    }

    /// Waits until it has ended, and everything that it said was read.
    pub(crate) async fn ended(&mut self, cluster: &Cluster) -> ExitStatus {
        let status = cluster.eventually("the process to end", async || self.child.try_wait().unwrap()).await;
        for reader in self.readers.drain(..) {
            reader.join().unwrap();
        }
        status
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(from: impl Read + Send + 'static, to: Arc<Mutex<Vec<String>>>) -> JoinHandle<()> {
    thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            to.lock().unwrap().push(line);
        }
    })
}
