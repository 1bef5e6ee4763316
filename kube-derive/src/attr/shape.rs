//! What the macro may stand on: a struct without parameters.

use darling::{Error, Result};
use syn::{Attribute, Data, DeriveInput, Expr, ExprLit, Lit, Meta, spanned::Spanned};

/// Refuses what has no single schema.
pub(super) fn check(input: &DeriveInput) -> Result<()> {
    let name = &input.ident;
    match &input.data {
        Data::Struct(_) => {}
        Data::Enum(data) => {
            let text = format!(
                "CustomResource stands on the struct of a spec, not on an enum: make the enum a field of it \
                 (`struct {name}Spec {{ mode: {name} }}`)"
            );
            return Err(Error::custom(text).with_span(&data.enum_token));
        }
        Data::Union(data) => {
            return Err(Error::custom("CustomResource stands on a struct, not on a union")
                .with_span(&data.union_token));
        }
    }
    if input.generics.params.is_empty() {
        return Ok(());
    }
    let text = format!(
        "a definition has one schema, so `{name}` can have no parameters: name the types it is made for in its fields"
    );
    Err(Error::custom(text).with_span(&input.generics.params.span()))
}

/// The doc comment, without the space that starts its lines.
pub(super) fn doc_comment(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    });
    let lines: Vec<String> =
        lines.map(|line| line.strip_prefix(' ').unwrap_or(&line).trim_end().to_owned()).collect();
    lines.join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use syn::parse_quote;

    use super::*;

    #[test]
    fn a_doc_comment_is_its_text() {
        let input: DeriveInput = parse_quote! {
            /// One line.
            ///
            ///   indented
            #[other]
            struct A;
        };
        assert_eq!(doc_comment(&input.attrs), "One line.\n\n  indented");
    }

    #[test]
    fn only_a_struct_without_parameters_will_do() {
        let good: DeriveInput = parse_quote!(
            struct A {
                a: u8,
            }
        );
        assert!(check(&good).is_ok());
        let bad: [DeriveInput; 4] = [
            parse_quote!(
                enum A {
                    B,
                }
            ),
            parse_quote!(union A { b: u8 }),
            parse_quote!(
                struct A<T> {
                    a: T,
                }
            ),
            parse_quote!(
                struct A<'a> {
                    a: &'a str,
                }
            ),
        ];
        assert!(bad.iter().all(|input| check(input).is_err()));
    }
}
