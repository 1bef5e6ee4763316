//! Finds the programs of a real control plane, and builds them from their Go modules.
//!
//! In: the environment and the folders it names. Out: the path of one program, or an error that says both ways to get it.
//!
//! The order is fixed: a folder that the user names (`KUBEBUILDER_ASSETS`) wins, program by program, so that a folder
//! with only etcd and kube-apiserver can be mixed with a controller manager that was built here. Nothing is downloaded
//! or built behind the user's back: a first build takes ten minutes, which nobody expects from a test run.
//!
//! Which versions are built is said in one place, the `go.mod` files under `e2e/control-plane`.

mod build;

use std::{
    env, fmt,
    path::{Path, PathBuf},
};

use crate::Error;

/// A program that a control plane is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Program {
    /// The store.
    Etcd,
    /// The API server.
    KubeApiserver,
    /// The controllers of the built-in kinds, the garbage collector among them.
    KubeControllerManager,
    /// Gives pods their nodes.
    KubeScheduler,
    /// The command line, for people.
    Kubectl,
    /// Plays the kubelet of nodes that do not exist.
    Kwok,
}

impl Program {
    /// Every program, in the order in which they are built.
    pub const ALL: [Self; 6] = [
        Self::Etcd,
        Self::KubeApiserver,
        Self::KubeControllerManager,
        Self::KubeScheduler,
        Self::Kubectl,
        Self::Kwok,
    ];

    /// The name of its file, which is also how it is called in logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::KubeApiserver => "kube-apiserver",
            Self::KubeControllerManager => "kube-controller-manager",
            Self::KubeScheduler => "kube-scheduler",
            Self::Kubectl => "kubectl",
            Self::Kwok => "kwok",
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Where the programs of a control plane are looked for.
#[derive(Clone, Debug)]
pub struct Programs {
    assets: Option<PathBuf>,
    built: PathBuf,
}

impl Programs {
    /// `KUBEBUILDER_ASSETS` first, then `control-plane/` in this workspace's target folder (`CARGO_TARGET_DIR`, or
    /// `target` beside the workspace's `Cargo.toml`).
    pub fn from_env() -> Self {
        let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        // A relative folder means: relative to the workspace. Tests run in their package's folder, programs anywhere.
        let target = workspace().join(set("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()));
        Self::new(set("KUBEBUILDER_ASSETS"), target.join("control-plane"))
    }

    /// Looks in `assets` first, then in `built`; [`build`](Self::build) writes to `built`.
    pub fn new(assets: Option<PathBuf>, built: PathBuf) -> Self {
        Self { assets, built }
    }

    /// The path of one program.
    ///
    /// # Errors
    /// [`Error::ProgramMissing`] when it is in neither folder.
    pub fn find(&self, program: Program) -> Result<PathBuf, Error> {
        let looked: Vec<_> =
            self.assets.iter().chain([&self.built]).map(|folder| folder.join(program.name())).collect();
        match looked.iter().find(|path| path.is_file()) {
            Some(path) => Ok(path.clone()),
            None => Err(Error::ProgramMissing { program: program.name(), looked }),
        }
    }

    /// The folder that [`build`](Self::build) fills.
    pub fn built(&self) -> &Path {
        &self.built
    }

    /// Builds every program from the Go modules in `e2e/control-plane`. Blocks: about ten minutes the first time on two
    /// cores (with downloads), seconds when nothing changed, for Go's own cache knows what is up to date.
    ///
    /// # Errors
    /// [`Error::Build`] when Go is missing or refuses; its own words go to stderr.
    pub fn build(&self) -> Result<(), Error> {
        build::all(&workspace().join("e2e/control-plane"), &self.built)
    }
}

/// The folder of the workspace's `Cargo.toml`, as it was when this crate was compiled.
fn workspace() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_folder_wins_and_the_built_one_fills_its_gaps() {
        let (assets, built) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for (folder, program) in [(&assets, "etcd"), (&built, "etcd"), (&built, "kwok")] {
            std::fs::write(folder.path().join(program), "").unwrap();
        }
        let both = Programs::new(Some(assets.path().into()), built.path().into());
        let only_built = Programs::new(None, built.path().into());
        for (programs, program, expected) in [
            (&both, Program::Etcd, Some(assets.path())),
            (&both, Program::Kwok, Some(built.path())),
            (&both, Program::Kubectl, None),
            (&only_built, Program::Etcd, Some(built.path())),
            (&only_built, Program::KubeApiserver, None),
        ] {
            let expected = expected.map(|folder| folder.join(program.name()));
            assert_eq!(programs.find(program).ok(), expected, "{program}");
        }
    }

    #[test]
    fn a_missing_program_says_both_ways_to_get_it() {
        let error =
            Programs::new(Some("/a".into()), "/b".into()).find(Program::Kwok).unwrap_err().to_string();
        for part in
            ["/a/kwok, then /b/kwok", "KUBEBUILDER_ASSETS", "cargo run -p kube-e2e --bin cluster -- build"]
        {
            assert!(error.contains(part), "{part:?} is not in {error}");
        }
    }
}
