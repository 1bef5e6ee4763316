//! Finds and reads kubeconfig files.
//!
//! Which files: the one asked for; else the list in `KUBECONFIG`, split as the platform splits `PATH`; else
//! `~/.kube/config`. Of a list, empty entries and files that do not exist are passed over; a file that exists and cannot
//! be read or is not a kubeconfig is an error, for its entries would be missing in silence.

use std::{
    ffi::OsStr,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use super::{ConfigError, Kubeconfig};
use crate::file;

impl Kubeconfig {
    /// Reads the kubeconfig of this process: the files in `KUBECONFIG` merged, else `~/.kube/config`.
    ///
    /// # Errors
    /// [`ConfigError::NoKubeconfig`] when none of them exists; [`ConfigError::Read`] and [`ConfigError::Yaml`] name the
    /// file.
    pub fn read() -> Result<Self, ConfigError> {
        let list = std::env::var_os("KUBECONFIG");
        let home = std::env::home_dir();
        read_first_of(candidates(list.as_deref(), home.as_deref()))
    }

    /// Reads one file. Relative paths in it start at its directory.
    ///
    /// # Errors
    /// [`ConfigError::Read`], also when the file does not exist, and [`ConfigError::Yaml`].
    pub fn read_file(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        let read = |source| ConfigError::Read { path: path.to_owned(), source };
        let text = file::read_text(path).map_err(read)?;
        let absolute = std::path::absolute(path).map_err(read)?;
        let kubeconfig = Self::from_yaml(&text).map_err(|error| match error {
            ConfigError::Yaml { message, .. } => ConfigError::Yaml { path: Some(path.to_owned()), message },
            other => other,
        })?;
        Ok(kubeconfig.with_paths_from(absolute.parent().unwrap_or(&absolute)))
    }
}

/// The files to merge, in order.
fn candidates(list: Option<&OsStr>, home: Option<&Path>) -> Vec<PathBuf> {
    match list {
        Some(list) if !list.is_empty() => {
            std::env::split_paths(list).filter(|path| !path.as_os_str().is_empty()).collect()
        }
        _ => home.map(|home| home.join(".kube").join("config")).into_iter().collect(),
    }
}

fn read_first_of(candidates: Vec<PathBuf>) -> Result<Kubeconfig, ConfigError> {
    let mut merged: Option<Kubeconfig> = None;
    for path in &candidates {
        let next = match Kubeconfig::read_file(path) {
            Ok(next) => next,
            Err(ConfigError::Read { source, .. }) if source.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        merged = Some(match merged {
            Some(first) => first.merge(next),
            None => next,
        });
    }
    // A file that says nothing (`/dev/null` is the usual one) stands for "no kubeconfig".
    merged
        .filter(|kubeconfig| !kubeconfig.is_empty())
        .ok_or(ConfigError::NoKubeconfig { looked_at: candidates })
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    #[test]
    fn the_list_is_split_and_an_empty_one_is_not_set() {
        let home = Some(Path::new("/home/u"));
        let default = vec![PathBuf::from("/home/u/.kube/config")];
        let joined = std::env::join_paths(["a.yaml", "", "x/b.yaml"]).unwrap();
        assert_eq!(candidates(None, home), default);
        assert_eq!(candidates(Some(OsStr::new("")), home), default);
        assert_eq!(candidates(Some(&joined), home), [PathBuf::from("a.yaml"), PathBuf::from("x/b.yaml")]);
        assert_eq!(candidates(None, None), [] as [PathBuf; 0]);
    }

    #[test]
    fn absent_files_are_passed_over_and_the_first_to_set_wins() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            path
        };
        let a = file(
            "x/a.yaml",
            "{current-context: one, users: [{name: u, user: {token: A}}],
              clusters: [{name: c, cluster: {certificate-authority: pki/ca.pem}}]}",
        );
        let b = file(
            "y/b.yaml",
            "{current-context: two, users: [{name: u, user: {token: B, client-certificate: b.pem}},
              {name: v, user: {tokenFile: tok}}]}",
        );
        let merged = read_first_of(vec![a, folder.path().join("missing.yaml"), b]).unwrap();
        assert_eq!(merged.current_context.as_deref(), Some("one"));
        let user = merged.users[0].user.as_ref().unwrap();
        assert_eq!(user.token.as_ref().unwrap().expose_secret(), "A");
        assert!(user.client_certificate.is_none());
        let cluster = merged.clusters[0].cluster.as_ref().unwrap();
        assert_eq!(cluster.certificate_authority, Some(folder.path().join("x/pki/ca.pem")));
        assert_eq!(merged.users[1].user.as_ref().unwrap().token_file, Some(folder.path().join("y/tok")));
    }

    #[test]
    fn a_broken_file_is_an_error_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let good = folder.path().join("good.yaml");
        let broken = folder.path().join("broken.yaml");
        std::fs::write(&good, "current-context: a").unwrap();
        std::fs::write(&broken, "clusters: {").unwrap();
        let error = read_first_of(vec![good, broken]).unwrap_err().to_string();
        assert!(error.contains("broken.yaml is not a kubeconfig"), "{error}");
    }

    #[test]
    fn nothing_to_read_says_where_was_looked() {
        let folder = tempfile::tempdir().unwrap();
        let empty = folder.path().join("empty.yaml");
        std::fs::write(&empty, "").unwrap();
        for (files, shown) in [
            (vec![PathBuf::from("/none/config")], "/none/config"),
            (vec![empty], "empty.yaml"),
            (vec![], "no home"),
        ] {
            let error = read_first_of(files).unwrap_err();
            assert!(matches!(error, ConfigError::NoKubeconfig { .. }), "{error:?}");
            assert!(error.to_string().contains(shown), "{error}");
        }
        let asked_for = Kubeconfig::read_file("/none/config").unwrap_err();
        assert_eq!(asked_for.to_string(), "cannot read /none/config");
    }
}
