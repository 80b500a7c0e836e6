//! What goes wrong, one module each, against real servers and processes.

mod answer_lost_after_charge;
mod answer_lost_before_charge;
mod channel_without_lookup_or_idempotency;
mod client_of_another_language;
mod commit_answer_lost;
mod database_down_after_charge;
mod happy_path;
mod hours_of_waiting;
mod many_callers_one_order;
mod money_that_does_not_fit;
mod order_busy_then_free;
mod person_confirms_then_late_truth;
mod request_arrives_after_its_sender_gave_up;
mod same_key_many_times;
mod same_key_other_body;
mod server_error_after_charge;
mod somebody_writes_what_they_may_not;
mod stock_and_coupons_run_out;
mod support;
mod temporal_killed;
mod unknown_for_the_whole_ladder;
mod worker_killed_while_charging;
mod workers_down_past_the_start;
