//! `crates(kube_core = "...")`: where the crates are that the generated code names.

use darling::FromMeta;
use syn::{Path, parse_quote};

/// Paths of crates.
#[derive(FromMeta, Default)]
pub(super) struct Crates {
    kube_core: Option<Path>,
}

impl Crates {
    pub(super) fn kube_core(self) -> Path {
        self.kube_core.unwrap_or_else(|| parse_quote!(::kube_core))
    }
}
