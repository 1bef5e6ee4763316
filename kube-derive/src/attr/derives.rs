//! `derive = "PartialEq"` and `derive(PartialEq, Default)`: more derives of the resource.

use darling::{Error, FromMeta, Result, ast::NestedMeta};
use syn::{Meta, Path};

/// Paths of derive macros.
pub(super) struct Derives(pub(super) Vec<Path>);

impl FromMeta for Derives {
    fn from_string(text: &str) -> Result<Self> {
        let path = syn::parse_str(text)
            .map_err(|_| Error::custom(format!("`{text}` is no derive: write its path")))?;
        Ok(Self(vec![path]))
    }

    fn from_list(items: &[NestedMeta]) -> Result<Self> {
        let path =
            |item: &NestedMeta| match item {
                NestedMeta::Meta(Meta::Path(path)) => Ok(path.clone()),
                other => Err(Error::custom("write the paths of derives: `derive(PartialEq, Default)`")
                    .with_span(other)),
            };
        items.iter().map(path).collect::<Result<_>>().map(Self)
    }
}
