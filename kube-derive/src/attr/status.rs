//! `status = WebsiteStatus`: a type, with its parameters where it has some.

use darling::{Error, FromMeta, Result};
use quote::ToTokens;
use syn::{Expr, ExprLit, Lit, Type};

/// The type of the status.
pub(super) struct Status(pub(super) Type);

impl FromMeta for Status {
    fn from_expr(expr: &Expr) -> Result<Self> {
        let ty = match expr {
            Expr::Path(path) => syn::parse2(path.to_token_stream()).ok(),
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => text.parse().ok(),
            _ => None,
        };
        ty.map(Self).ok_or_else(|| {
            let text = "the status must be a type: `status = WebsiteStatus`, or in quotes when it has parameters \
                        (`status = \"Status<Phase>\"`)";
            Error::custom(text).with_span(expr)
        })
    }

    fn from_word() -> Result<Self> {
        Err(Error::custom("the status needs its type: `status = WebsiteStatus`"))
    }
}
