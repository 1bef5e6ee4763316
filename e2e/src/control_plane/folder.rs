//! The temporary folder of one control plane: keys, kubeconfigs, logs, etcd's data.
//!
//! It goes away with its owner, except when somebody will want to read the logs: after a panic, after a failed start,
//! or when `KUBE_E2E_KEEP` is set. etcd's data goes in every case: 64 MB that nobody reads.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    thread,
};

use crate::Error;

/// A file of this name says that the folder stays. `supervise.sh` looks for it too.
const KEEP: &str = "keep";

/// Removed when dropped, unless it is kept.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
}

impl Folder {
    pub(super) fn new() -> Result<Self, Error> {
        let make = || -> io::Result<PathBuf> {
            // Only its owner may enter it: there are keys inside.
            let path = tempfile::Builder::new().prefix("kube-e2e-").tempdir()?.keep();
            fs::create_dir(path.join("logs"))?;
            Ok(path)
        };
        let folder = Self { path: make().map_err(Error::io("make a temporary folder"))? };
        if env::var_os("KUBE_E2E_KEEP").is_some_and(|value| !value.is_empty()) {
            folder.keep();
        }
        Ok(folder)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file in it, which needs not exist.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub(super) fn log(&self, program: &str) -> PathBuf {
        self.path.join("logs").join(program).with_extension("log")
    }

    pub(super) fn etcd_data(&self) -> PathBuf {
        self.path.join("etcd-data")
    }

    /// From now on the folder stays, whoever ends and however.
    pub(super) fn keep(&self) {
        keep(&self.path);
    }
}

/// As [`Folder::keep`], for those who have only the path.
pub(super) fn keep(folder: &Path) {
    let _ = fs::write(folder.join(KEEP), "");
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(self.etcd_data());
        if thread::panicking() || self.path.join(KEEP).exists() {
            eprintln!("the control plane's logs are in {}", self.path.join("logs").display());
        } else {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_goes_unless_it_is_kept_or_the_test_fails() {
        for (keep, panic, stays) in [(false, false, false), (true, false, true), (false, true, true)] {
            let folder = Folder::new().unwrap();
            fs::create_dir(folder.etcd_data()).unwrap();
            let (path, data) = (folder.path.clone(), folder.etcd_data());
            if keep {
                folder.keep();
            }
            let test = thread::spawn(move || {
                let _folder = folder;
                assert!(!panic, "a test that fails");
            });
            assert_eq!(test.join().is_err(), panic);
            assert_eq!(path.exists(), stays, "keep: {keep}, panic: {panic}");
            assert!(!data.exists());
            let _ = fs::remove_dir_all(path);
        }
    }
}
