//! Compile errors are part of the product: each mistake has its file and the words that it is answered with.

#[test]
fn each_mistake_is_answered_where_it_was_made() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
