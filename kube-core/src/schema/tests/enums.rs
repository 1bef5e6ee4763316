//! Enums of every tagging, plain and in `Option`, `Vec` and `flatten`.

use super::*;

#[derive(JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Size {
    Small,
    Medium,
    Large,
}

/// Where it stands.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "read by its derive only")]
enum Phase {
    /// It waits.
    Pending,
    /// It is over.
    Done,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "read by its derive only")]
struct Plain {
    size: Size,
    phase: Phase,
    maybe_size: Option<Size>,
    /// The field's own words.
    maybe_phase: Option<Phase>,
    sizes: Option<Vec<Size>>,
}

#[test]
fn plain_enums_are_string_enums_with_or_without_docs_and_option() {
    let size = json!({ "type": "string", "enum": ["small", "medium", "large"] });
    assert_eq!(
        fields::<Plain>(),
        json!({
            "size": size,
            "phase": { "type": "string", "enum": ["Pending", "Done"], "description": "Where it stands.\n\n- `Pending`: It waits.\n- `Done`: It is over." },
            // The server does not find null among values that are beside `nullable`.
            "maybe_size": { "type": "string", "nullable": true, "allOf": [{ "enum": ["small", "medium", "large"] }] },
            "maybe_phase": { "type": "string", "nullable": true, "allOf": [{ "enum": ["Pending", "Done"] }], "description": "The field's own words." },
            "sizes": { "type": "array", "nullable": true, "items": size },
        })
    );
    assert_eq!(structural_schema::<Plain>().unwrap()["required"], json!(["size", "phase"]));
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "read by its derive only")]
enum Source {
    /// From git.
    Git {
        url: String,
    },
    Bucket {
        name: String,
    },
    Empty {},
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "read by its derive only")]
struct External {
    sources: Vec<Source>,
    source: Option<Source>,
}

#[test]
fn external_tags_are_fields_of_which_one_is_required() {
    let source = json!({
        "type": "object",
        "properties": {
            "git": { "type": "object", "description": "From git.", "required": ["url"], "properties": { "url": { "type": "string" } } },
            "bucket": { "type": "object", "required": ["name"], "properties": { "name": { "type": "string" } } },
            "empty": { "type": "object" },
        },
        "oneOf": [{ "required": ["git"] }, { "required": ["bucket"] }, { "required": ["empty"] }],
    });
    let mut nullable = source.clone();
    nullable["nullable"] = json!(true);
    assert_eq!(
        fields::<External>(),
        json!({ "sources": { "type": "array", "items": source }, "source": nullable })
    );
}

#[derive(JsonSchema)]
struct Ball {
    radius: f32,
}

#[derive(JsonSchema)]
#[serde(tag = "kind")]
#[expect(dead_code, reason = "read by its derive only")]
enum Internal {
    /// The first.
    A {
        a: String,
        c: bool,
    },
    B {
        b: i32,
        c: bool,
        #[serde(default)]
        d: u8,
    },
    Ball(Ball),
    Nothing,
}

#[test]
fn an_internal_tag_is_an_enum_that_tells_the_variants_apart() {
    let ball = Ball { radius: 1.0 };
    assert!(ball.radius > 0.0);
    assert_eq!(
        structural_schema::<Internal>().unwrap(),
        json!({
            "type": "object",
            "required": ["kind"],
            "properties": {
                "kind": { "type": "string", "enum": ["A", "B", "Ball", "Nothing"], "description": "- `A`: The first." },
                "a": { "type": "string" },
                "b": { "type": "integer", "format": "int32" },
                "c": { "type": "boolean" },
                // Without its default: the server would add the field to every variant.
                "d": { "type": "integer", "format": "int32", "minimum": 0, "maximum": 255 },
                "radius": { "type": "number", "format": "float" },
            },
            "oneOf": [
                { "properties": { "kind": { "enum": ["A"] } }, "required": ["a", "c"] },
                { "properties": { "kind": { "enum": ["B"] } }, "required": ["b", "c"] },
                { "properties": { "kind": { "enum": ["Ball"] } }, "required": ["radius"] },
                { "properties": { "kind": { "enum": ["Nothing"] } } },
            ],
        })
    );
}

#[derive(JsonSchema)]
#[serde(tag = "t", content = "c")]
#[expect(dead_code, reason = "read by its derive only")]
enum Adjacent {
    A { x: u32 },
    B { y: String },
    Unit,
}

#[test]
fn adjacent_tags_share_the_field_of_their_content() {
    assert_eq!(
        structural_schema::<Adjacent>().unwrap(),
        json!({
            "type": "object",
            "required": ["t"],
            "properties": {
                "t": { "type": "string", "enum": ["A", "B", "Unit"] },
                "c": { "type": "object", "properties": {
                    "x": { "type": "integer", "format": "int64", "minimum": 0, "maximum": 4_294_967_295_u32 },
                    "y": { "type": "string" },
                } },
            },
            "oneOf": [
                { "properties": { "t": { "enum": ["A"] }, "c": { "required": ["x"] } }, "required": ["c"] },
                { "properties": { "t": { "enum": ["B"] }, "c": { "required": ["y"] } }, "required": ["c"] },
                { "properties": { "t": { "enum": ["Unit"] } } },
            ],
        })
    );
}

#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "read by its derive only")]
enum Untagged {
    ByName { name: String },
    ByPort { port: u16 },
}

#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "read by its derive only")]
enum Port {
    Number(i32),
    Name(String),
}

#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "read by its derive only")]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "read by its derive only")]
struct UntaggedFields {
    to: Untagged,
    port: Port,
    #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
    names: Option<OneOrMany>,
}

#[test]
fn untagged_enums_are_one_type_or_opened_by_hand() {
    assert_eq!(
        fields::<UntaggedFields>(),
        json!({
            "to": {
                "type": "object",
                "properties": { "name": { "type": "string" }, "port": { "type": "integer", "format": "int32", "minimum": 0, "maximum": 65535 } },
                "anyOf": [{ "required": ["name"] }, { "required": ["port"] }],
            },
            "port": { "x-kubernetes-int-or-string": true },
            "names": { "x-kubernetes-preserve-unknown-fields": true, "nullable": true },
        })
    );
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "read by its derive only")]
enum Mixed {
    Nothing,
    Some { a: String },
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "read by its derive only")]
struct Bad<T> {
    inner: Vec<T>,
}

#[test]
fn what_has_no_form_is_named_by_its_path() {
    assert!(error::<Bad<Mixed>>().starts_with("inner[]: the variants `Nothing` are plain strings"));
    assert!(error::<Bad<OneOrMany>>().starts_with("inner[]: may be string or array"));
    assert!(error::<Bad<()>>().starts_with("inner[]: null is its only value"));
    assert!(error::<Size>().starts_with("(the type itself): must be a struct, a map or an enum of structs"));
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "read by its derive only")]
struct Flattening {
    name: String,
    #[serde(flatten)]
    source: Source,
    #[serde(flatten)]
    internal: Option<Internal>,
}

#[test]
fn flattened_enums_keep_their_branches_beside_the_fields() {
    let schema = structural_schema::<Flattening>().unwrap();
    assert_eq!(
        schema["oneOf"],
        json!([{ "required": ["git"] }, { "required": ["bucket"] }, { "required": ["empty"] }])
    );
    assert_eq!(schema["required"], json!(["name"]));
    let names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["a", "b", "bucket", "c", "d", "empty", "git", "kind", "name", "radius"]);
}
