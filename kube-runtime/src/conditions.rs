//! Keeps the conditions of a status so that writing the same state twice is the same bytes twice.
//!
//! In: the conditions as they are, and one as it was just observed. Out: the conditions as they should be written, and
//! whether anything changed. Both the order and the times of what did not change stay as they were, so that a status
//! which says nothing new is no change for the server, and does not wake its own controller for ever.
//!
//! Does not read a clock (the time is part of the observation) and does not write the status.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// A condition as observed at `now`, for [`set_condition`].
///
/// `status` is `Some(true)` for "True", `Some(false)` for "False", `None` for "Unknown". `generation` is the one of the
/// object that was looked at. The server wants a reason in CamelCase, not empty; the message may be.
pub fn condition(
    type_: &str,
    status: Option<bool>,
    reason: &str,
    message: impl Into<String>,
    generation: Option<i64>,
    now: jiff::Timestamp,
) -> Condition {
    let status = match status {
        Some(true) => "True",
        Some(false) => "False",
        None => "Unknown",
    };
    Condition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.into(),
        observed_generation: generation,
        last_transition_time: Time(now),
    }
}

/// Puts a condition where the one of its type is, or at the end. True if this changed anything.
///
/// `new.last_transition_time` is the time of the observation. It is taken over only when the status flips, or when the
/// condition is new; reason, message and observed generation always are. Further conditions of the same type, which
/// the server would refuse, are removed.
pub fn set_condition(conditions: &mut Vec<Condition>, mut new: Condition) -> bool {
    let Some(place) = conditions.iter().position(|old| old.type_ == new.type_) else {
        conditions.push(new);
        return true;
    };
    let old = &conditions[place];
    if old.status == new.status {
        new.last_transition_time.clone_from(&old.last_transition_time);
    }
    let before = conditions.len();
    let mut position = 0..before;
    conditions.retain(|old| position.next() == Some(place) || old.type_ != new.type_);
    let changed = conditions.len() != before || conditions[place] != new;
    conditions[place] = new;
    changed
}

/// Takes out the condition of this type. True if there was one.
pub fn remove_condition(conditions: &mut Vec<Condition>, type_: &str) -> bool {
    let before = conditions.len();
    conditions.retain(|old| old.type_ != type_);
    conditions.len() != before
}

/// The condition of this type.
pub fn find_condition<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// Whether the condition of this type is there and "True".
pub fn is_condition_true(conditions: &[Condition], type_: &str) -> bool {
    find_condition(conditions, type_).is_some_and(|condition| condition.status == "True")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> jiff::Timestamp {
        jiff::Timestamp::from_second(second).expect("a time")
    }

    fn observed(type_: &str, status: bool, reason: &str, generation: i64, second: i64) -> Condition {
        condition(type_, Some(status), reason, "", Some(generation), at(second))
    }

    /// "Ready=True(Fine)@5 g1" for each condition.
    fn shown(conditions: &[Condition]) -> Vec<String> {
        let show = |c: &Condition| {
            let since = c.last_transition_time.0.as_second();
            format!("{}={}({})@{since} g{}", c.type_, c.status, c.reason, c.observed_generation.unwrap_or(0))
        };
        conditions.iter().map(show).collect()
    }

    #[test]
    fn the_time_changes_with_the_status_only_and_the_order_never() {
        let mut conditions = Vec::new();
        for (new, changed, expected) in [
            (observed("Ready", false, "Starting", 1, 5), true, &["Ready=False(Starting)@5 g1"][..]),
            (observed("Ready", false, "Starting", 1, 6), false, &["Ready=False(Starting)@5 g1"]),
            (
                observed("Stalled", false, "Fine", 1, 7),
                true,
                &["Ready=False(Starting)@5 g1", "Stalled=False(Fine)@7 g1"],
            ),
            (
                observed("Ready", false, "Waiting", 1, 8),
                true,
                &["Ready=False(Waiting)@5 g1", "Stalled=False(Fine)@7 g1"],
            ),
            (
                observed("Ready", false, "Waiting", 2, 9),
                true,
                &["Ready=False(Waiting)@5 g2", "Stalled=False(Fine)@7 g1"],
            ),
            (
                observed("Ready", true, "Fine", 2, 10),
                true,
                &["Ready=True(Fine)@10 g2", "Stalled=False(Fine)@7 g1"],
            ),
            (
                observed("Ready", true, "Fine", 2, 11),
                false,
                &["Ready=True(Fine)@10 g2", "Stalled=False(Fine)@7 g1"],
            ),
        ] {
            let what = shown(std::slice::from_ref(&new));
            assert_eq!(set_condition(&mut conditions, new), changed, "{what:?}");
            assert_eq!(shown(&conditions), expected, "{what:?}");
        }
        assert!(is_condition_true(&conditions, "Ready") && !is_condition_true(&conditions, "Stalled"));
        assert!(!is_condition_true(&conditions, "Absent"));
    }

    #[test]
    fn the_message_is_taken_over_without_touching_the_time() {
        let mut conditions = vec![observed("Ready", true, "Fine", 1, 5)];
        let new = Condition { message: "3 of 3".to_owned(), ..observed("Ready", true, "Fine", 1, 9) };
        assert!(set_condition(&mut conditions, new.clone()));
        assert!(!set_condition(&mut conditions, new));
        assert_eq!(
            (conditions[0].message.as_str(), shown(&conditions)),
            ("3 of 3", vec!["Ready=True(Fine)@5 g1".to_owned()])
        );
    }

    #[test]
    fn copies_of_a_type_are_reduced_to_the_first() {
        let copy = |second| observed("Ready", true, "Fine", 1, second);
        let mut conditions =
            vec![observed("A", true, "Fine", 1, 1), copy(2), observed("B", true, "Fine", 1, 3), copy(4)];
        assert!(set_condition(&mut conditions, copy(9)));
        assert_eq!(shown(&conditions), ["A=True(Fine)@1 g1", "Ready=True(Fine)@2 g1", "B=True(Fine)@3 g1"]);
        assert!(remove_condition(&mut conditions, "Ready") && !remove_condition(&mut conditions, "Ready"));
        assert_eq!(shown(&conditions), ["A=True(Fine)@1 g1", "B=True(Fine)@3 g1"]);
    }

    #[test]
    fn a_status_is_written_in_the_three_words_of_the_api() {
        for (status, word) in [(Some(true), "True"), (Some(false), "False"), (None, "Unknown")] {
            assert_eq!(condition("Ready", status, "Fine", "", None, at(0)).status, word);
        }
    }
}
