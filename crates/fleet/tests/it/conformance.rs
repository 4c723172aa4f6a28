//! The suite as tests: each scene once on `SQLite`, once on `PostgreSQL`.

/// Makes two tests of each scene, which is a function that takes a store.
macro_rules! on_both_stores {
    ($($module:ident: $($scene:ident),+ $(,)?;)+) => {
        mod sqlite {
            use crate::support::TestStore;
            $($(
                #[tokio::test]
                async fn $scene() {
                    crate::$module::$scene(&TestStore::sqlite().await).await;
                }
            )+)+
        }

        mod postgres {
            use crate::support::TestStore;
            $($(
                #[tokio::test]
                #[cfg_attr(
                    not(feature = "peers"),
                    ignore = "needs a real PostgreSQL: run `cargo xtask test`"
                )]
                async fn $scene() {
                    crate::$module::$scene(&TestStore::postgres().await).await;
                }
            )+)+
        }
    };
}

on_both_stores! {
    submissions:
        a_submission_is_repeated_without_a_second_ticket,
        a_key_with_another_content_is_a_conflict,
        a_prompt_of_ten_megabytes_and_every_character_come_back,
        tickets_that_no_worker_could_run_are_refused,
        a_ticket_waits_for_its_predecessors,
        a_ticket_whose_predecessor_failed_ends,
        an_unknown_predecessor_is_refused;
    claims:
        the_term_only_grows_and_a_ticket_runs_once,
        a_claim_whose_answer_was_lost_gives_the_same_tickets,
        needs_must_be_among_the_labels,
        a_ticket_waits_until_its_time,
        a_newer_spec_is_left_to_newer_workers,
        lanes_limit_exactly_with_several_of_them,
        kinds_take_turns_and_priority_comes_first,
        a_worker_that_the_store_does_not_know_is_refused,
        a_heartbeat_keeps_what_is_held_and_names_what_is_lost,
        an_old_term_changes_nothing,
        a_vanished_worker_loses_its_ticket_to_another,
        what_was_touched_is_not_repeated,
        a_silent_fleet_gets_its_leases_extended_once,
        a_ticket_is_given_up_with_its_attempts_counted,
        a_ticket_that_loses_three_workers_is_given_up,
        a_ticket_that_was_given_back_keeps_its_attempts,
        a_worker_drains_until_nothing_is_left;
    orders:
        a_waiting_ticket_is_cancelled_at_once,
        a_running_ticket_is_told_by_the_heartbeat,
        a_cancelled_ticket_whose_worker_vanished_never_runs_again,
        a_finished_ticket_is_not_cancelled,
        a_retried_ticket_keeps_its_history,
        the_first_answer_counts,
        an_answer_that_nobody_asked_for_is_refused,
        a_ticket_is_removed_with_everything,
        lists_are_filtered_and_paged,
        the_overview_counts,
        what_attempts_used_is_added_up;
    logs:
        events_are_appended_exactly_once,
        nul_and_lone_surrogates_are_kept,
        history_may_come_late_and_changes_nothing_else,
        chunks_are_read_from_any_event,
        artifacts_are_sealed_only_if_they_are_whole,
        a_listener_hears_of_changes;
}
