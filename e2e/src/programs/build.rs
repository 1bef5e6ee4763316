//! Builds the programs with `go build`, one Go module after the other.
//!
//! In: the folder of the modules. Out: programs in the output folder, never a file in the tree.
//! Why three modules: etcd, Kubernetes and kwok each want their own versions of the libraries that they share.
//! Why `-o` into the final folder: Go reads the build id of what is there and then has nothing to link.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use super::Program;
use crate::Error;

/// One Go module and the programs that come out of it.
struct Module {
    /// Its folder under `e2e/control-plane`.
    folder: &'static str,
    /// The package that its `go.mod` pins, and with it the version of the programs.
    pinned: &'static str,
    /// Each program's Go package.
    packages: &'static [(Program, &'static str)],
    /// Variables that carry the version: `{version}`, `{major}` and `{minor}` are filled in.
    stamps: &'static [&'static str],
}

const MODULES: [Module; 3] = [
    Module {
        folder: "etcd",
        pinned: "go.etcd.io/etcd/server/v3",
        packages: &[(Program::Etcd, "go.etcd.io/etcd/server/v3")],
        stamps: &[],
    },
    Module {
        folder: "kubernetes",
        pinned: "k8s.io/kubernetes",
        packages: &[
            (Program::KubeApiserver, "k8s.io/kubernetes/cmd/kube-apiserver"),
            (Program::KubeControllerManager, "k8s.io/kubernetes/cmd/kube-controller-manager"),
            (Program::KubeScheduler, "k8s.io/kubernetes/cmd/kube-scheduler"),
            (Program::Kubectl, "k8s.io/kubernetes/cmd/kubectl"),
        ],
        // Unstamped programs say v0.0.0-master, and kubectl and clients then warn of a version skew.
        stamps: &[
            "k8s.io/component-base/version.gitVersion={version}",
            "k8s.io/component-base/version.gitMajor={major}",
            "k8s.io/component-base/version.gitMinor={minor}",
            "k8s.io/component-base/version.gitTreeState=clean",
            "k8s.io/client-go/pkg/version.gitVersion={version}",
            "k8s.io/client-go/pkg/version.gitMajor={major}",
            "k8s.io/client-go/pkg/version.gitMinor={minor}",
            "k8s.io/client-go/pkg/version.gitTreeState=clean",
        ],
    },
    Module {
        folder: "kwok",
        pinned: "sigs.k8s.io/kwok",
        packages: &[(Program::Kwok, "sigs.k8s.io/kwok/cmd/kwok")],
        stamps: &[],
    },
];

/// Builds every module under `modules` into `out`.
pub(super) fn all(modules: &Path, out: &Path) -> Result<(), Error> {
    fs::create_dir_all(out).map_err(Error::io(format!("create {}", out.display())))?;
    MODULES.iter().try_for_each(|module| module.build(&modules.join(module.folder), out))
}

impl Module {
    fn build(&self, folder: &Path, out: &Path) -> Result<(), Error> {
        let go_mod = folder.join("go.mod");
        let text = fs::read_to_string(&go_mod).map_err(Error::io(format!("read {}", go_mod.display())))?;
        let version = required(&text, self.pinned).ok_or_else(|| Error::Build {
            what: self.folder.into(),
            reason: format!("{} does not require {}", go_mod.display(), self.pinned),
        })?;
        let flags = linker_flags(self.stamps, version);
        // One call per program: Go names the file of a package after its path, which for etcd is "v3".
        for (program, package) in self.packages {
            run(
                go_build(folder, &flags, &out.join(program.name()), package),
                &format!("{program} {version}"),
            )?;
        }
        Ok(())
    }
}

fn go_build(folder: &Path, linker_flags: &str, output: &Path, package: &str) -> Command {
    let mut go = Command::new("go");
    go.current_dir(folder)
        // Nothing of a C compiler, of a go.work above this workspace, or of the user's flags may change what comes out.
        .env("CGO_ENABLED", "0")
        .env("GOWORK", "off")
        .env_remove("GOFLAGS")
        .args(["build", "-mod=readonly", "-trimpath", "-ldflags", linker_flags, "-o"])
        .arg(output)
        .arg(package)
        .stdin(Stdio::null());
    go
}

fn run(mut command: Command, what: &str) -> Result<(), Error> {
    tracing::info!("building {what}");
    let failed = |reason: String| Error::Build { what: what.into(), reason };
    let status = command.status().map_err(|error| {
        failed(format!("cannot run `go` ({error}); install Go 1.26 or newer, or set KUBEBUILDER_ASSETS"))
    })?;
    if status.success() { Ok(()) } else { Err(failed(format!("go build: {status}"))) }
}

/// The version of `module` in the text of a `go.mod`.
fn required<'a>(go_mod: &'a str, module: &str) -> Option<&'a str> {
    go_mod.lines().find_map(|line| {
        let line = line.trim_start();
        let mut words = line.strip_prefix("require ").unwrap_or(line).split_whitespace();
        (words.next() == Some(module)).then(|| words.next()).flatten().filter(|word| word.starts_with('v'))
    })
}

/// No symbol tables, and the version in every variable of `stamps`.
fn linker_flags(stamps: &[&str], version: &str) -> String {
    let mut numbers = version.trim_start_matches('v').split('.');
    let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    stamps.iter().fold("-s -w".to_owned(), |flags, stamp| {
        let stamp = stamp.replace("{version}", version).replace("{major}", major).replace("{minor}", minor);
        flags + " -X " + &stamp
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_what_go_mod_requires() {
        for (go_mod, expected) in [
            ("module m\n\nrequire k8s.io/kubernetes v1.2.3\n", Some("v1.2.3")),
            ("require (\n\tk8s.io/kubernetes v1.2.3\n)\n", Some("v1.2.3")),
            ("require (\n\tk8s.io/kubernetes v1.2.3 // indirect\n)\n", Some("v1.2.3")),
            ("require k8s.io/kubernetes-more v1.2.3\n", None),
            ("replace (\n\tk8s.io/kubernetes => ../kubernetes\n)\n", None),
            ("", None),
        ] {
            assert_eq!(required(go_mod, "k8s.io/kubernetes"), expected, "{go_mod}");
        }
    }

    #[test]
    fn every_module_pins_its_version() {
        for module in &MODULES {
            let path = super::super::workspace().join("e2e/control-plane").join(module.folder).join("go.mod");
            let text = fs::read_to_string(path).unwrap();
            assert!(required(&text, module.pinned).is_some(), "{}", module.folder);
        }
    }

    #[test]
    fn stamps_carry_the_version() {
        for (stamps, expected) in [
            (&[][..], "-s -w"),
            (&["a.b={version}", "c={major}.{minor}"][..], "-s -w -X a.b=v1.37.2 -X c=1.37"),
        ] {
            assert_eq!(linker_flags(stamps, "v1.37.2"), expected);
        }
    }
}
