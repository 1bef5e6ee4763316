//! The definition: what the attributes say as a value of `kube_core::schema::Definition`, and the schemas of the types.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use crate::attr::{Attributes, Column, Scale};

pub(super) fn definition(attributes: &Attributes) -> TokenStream {
    let Attributes { kind, kube_core, group, plural, spec, status, .. } = attributes;
    let name = format!("{plural}.{group}");
    let constant = constant(attributes);
    // At the place of the type, so that the compiler points there when the type has no schema.
    let schema = |ty: &dyn quote::ToTokens, span, field: &str| {
        quote_spanned! {span=>
            #kube_core::schema::structural_schema_at::<#ty>(&#kube_core::schema::FieldPath::root().field(#field))?
        }
    };
    let spec = schema(spec, spec.span(), "spec");
    let status = option(status.as_ref().map(|status| schema(status, status.span(), "status")));
    quote! {
        #[automatically_derived]
        impl #kube_core::CustomResource for #kind {
            const CRD_NAME: &'static str = #name;

            fn try_crd() -> ::core::result::Result<
                #kube_core::k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
                #kube_core::schema::SchemaError,
            > {
                const DEFINITION: #kube_core::schema::Definition = #constant;

                DEFINITION.with_schemas(#spec, #status)
            }
        }
    }
}

fn constant(attributes: &Attributes) -> TokenStream {
    let Attributes {
        kind,
        kube_core,
        group,
        version,
        plural,
        singular,
        short_names,
        categories,
        namespaced,
        served,
        storage,
        doc,
        ..
    } = attributes;
    let kind = kind.to_string();
    let columns = attributes.columns.iter().map(|column| self::column(kube_core, column));
    let scale = option(attributes.scale.as_ref().map(|scale| self::scale(kube_core, scale)));
    quote! {
        #kube_core::schema::Definition {
            group: #group,
            version: #version,
            kind: #kind,
            plural: #plural,
            singular: #singular,
            short_names: &[#(#short_names),*],
            categories: &[#(#categories),*],
            namespaced: #namespaced,
            served: #served,
            storage: #storage,
            description: #doc,
            columns: &[#(#columns),*],
            scale: #scale,
        }
    }
}

fn column(kube_core: &syn::Path, column: &Column) -> TokenStream {
    let Column { name, kind, json_path, format, description, priority } = column;
    let (format, description) = (option(format.as_ref()), option(description.as_ref()));
    quote! {
        #kube_core::schema::PrinterColumn {
            name: #name,
            kind: #kind,
            json_path: #json_path,
            format: #format,
            description: #description,
            priority: #priority,
        }
    }
}

fn scale(kube_core: &syn::Path, scale: &Scale) -> TokenStream {
    let Scale { spec_replicas_path, status_replicas_path, label_selector_path } = scale;
    let label_selector_path = option(label_selector_path.as_ref());
    quote! {
        #kube_core::schema::Scale {
            spec_replicas_path: #spec_replicas_path,
            status_replicas_path: #status_replicas_path,
            label_selector_path: #label_selector_path,
        }
    }
}

fn option(value: Option<impl quote::ToTokens>) -> TokenStream {
    value.map_or_else(
        || quote!(::core::option::Option::None),
        |value| quote!(::core::option::Option::Some(#value)),
    )
}
