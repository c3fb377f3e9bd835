"""Every row of the accessibility checklist, and the test that proves it.

The rows are what a page must do for people who use a keyboard, a screen reader, a small screen,
no colour or no scripts. A row that a machine cannot judge is in BY_HAND with the reason.
`test_checklist.py` holds that every test named here exists.
"""

from __future__ import annotations

_ALL = ("a11y/test_pages.py::test_a_page_is_for_everyone",
        "a11y/test_pages_queues.py::test_a_page_is_for_everyone",
        "a11y/test_pages_todos.py::test_a_page_is_for_everyone",
        "a11y/test_pages_vend.py::test_a_page_is_for_everyone",
        "a11y/test_pages_apps.py::test_a_page_is_for_everyone")
_SAID = ("a11y/screen_reader/test_budgets.py::"
         "test_a_state_change_is_one_sentence_and_a_tick_is_none")
_TICKS = "a11y/test_live.py::test_ticks_are_seen_and_not_heard_and_an_alarm_is_one_sentence"
_WHY = "a11y/test_why_work_waits.py::"
_FOCUS = "a11y/test_focus.py::"
_PARTS = "a11y/test_parts.py::"
_BOARD = "a11y/test_board.py::"
_LIVE = "a11y/test_live.py::"
_SPEECH = "tests/domain/test_speech.py::"
_DRAWER = "a11y/test_drawer.py::test_it_takes_the_focus_to_its_heading_and_gives_it_back"
_EDITOR = "tests/web/test_budget_editor.py::"
_VEND = "tests/web/test_vend.py::"
_HISTORY = _PARTS + "test_the_history_is_a_table_that_scrolls_by_itself"
_REFUSED = _FOCUS + "test_a_refused_form_has_its_summary_focused_and_keeps_what_was_typed"
_OPENS = _FOCUS + "test_the_editor_opens_on_its_first_field_and_comes_back_to_its_control"
_LIMITS = _WHY + "test_limits_that_are_missing_or_zero_or_broken_read_as_words"

# row: what it asks for in a few words, and the tests that prove it
ROWS: dict[str, tuple[str, tuple[str, ...]]] = {
    # the board
    "B1": ("Tab order is reading order, each stop with a ring, on screen and uncovered",
           (_BOARD + "test_the_order_of_the_keyboard_is_the_order_of_reading", *_ALL)),
    "B2": ("no sideways scrolling at 320 px, with wide text too", _ALL),
    "B3": ("ticks say nothing, a state change one sentence with the queue's name",
           (_TICKS, _SAID, _SPEECH + "test_ticks_inside_one_step_say_nothing_for_sixty_seconds")),
    "B4": ("30 ticks over 12 queues in a minute: 6 sentences at most", (_SPEECH + (
        "test_thirty_ticks_over_twelve_queues_in_a_minute_are_six_sentences_at_most"),)),
    "B5": ("a full queue that flaps is never said at once",
           (_SPEECH + "test_a_queue_that_is_full_twenty_times_is_never_said_at_once",)),
    "B6": ("paused: no request, no change, survives navigation, without scripts, focus stays",
           (_LIVE + "test_a_paused_page_asks_nothing_and_stays_as_it_is",
            _LIVE + "test_pausing_needs_no_script")),
    "B7": ("a card that vanishes under the focus waits for it to leave",
           (_LIVE + "test_a_card_that_vanishes_under_the_focus_stays_until_the_focus_leaves",
            _LIVE + "test_a_link_that_vanishes_under_the_focus_hands_it_to_the_next_and_at_last_"
            "to_the_queue")),
    "B8": ("list changes wait while the reader is busy, and are counted",
           (_LIVE + "test_changes_of_a_list_wait_while_the_reader_is_busy_in_it",)),
    "B9": ("outline, landmarks, skip link",
           (_BOARD + "test_the_board_is_headings_of_owners_and_queues",
            _BOARD + "test_what_a_reader_is_given_is_what_was_reviewed",
            _BOARD + "test_the_skip_link_leads_past_the_navigation")),
    "B10": ("the states differ without colour",
            (_WHY + "test_every_state_differs_without_colour_in_word_mark_and_rule",)),
    "B11": ("without scripts the same content, no dead button",
            (_BOARD + "test_a_page_whose_scripts_are_blocked_is_the_same_and_sound",
             "a11y/test_walk.py::test_a_budget_is_found_refused_previewed_saved_and_read")),
    "B12": ("a lost stream is said after ten seconds, once", (_LIVE + (
        "test_a_stream_that_is_lost_is_said_after_ten_seconds_and_once_and_so_is_its_return"),)),
    "B13": ("nothing on the console, no report of the policy", _ALL),
    "B14": ("over the cap: said once, no storm",
            (_LIVE + "test_over_the_cap_the_page_says_so_once_and_does_not_storm",)),
    "B15": ("a refused claim and a stale edit are shown, by htmx and by form",
            (_FOCUS + "test_a_refused_claim_and_a_stale_edit_are_shown",
             "a11y/test_drawer.py::"
             "test_a_refused_claim_is_shown_with_its_chip_and_takes_the_focus")),
    # queue header and chip
    "H0": ("a header on the board, above the todos, on the queue's page",
           ("tests/web/test_todos.py::"
            "test_every_listed_queue_with_a_policy_has_one_line_above_the_table",
            _LIVE + "test_every_page_with_a_header_is_live",
            _WHY + "test_the_header_and_twelve_chips_say_why")),
    "H1": ("the region: polite, atomic, the same node, with either preference",
           (_BOARD + "test_the_preference_changes_no_markup_of_a_region", _TICKS)),
    "H2": ("the sentence: one text, the queue's name, equal to what is seen",
           (_BOARD + "test_a_sentence_is_one_text_and_says_what_is_seen", _TICKS)),
    "H3": ("resets in both zones, with zone words, without scripts",
           (_WHY + "test_the_header_and_twelve_chips_say_why",
            "tests/domain/test_zonelabels.py::test_a_viewer_without_a_zone_is_told_utc")),
    "H4": ("the edit control: its name, its size, only for those who may",
           ("tests/web/test_board.py::"
            "test_a_member_sees_a_teams_header_without_its_control_until_they_leave", _OPENS,
            _ALL[0])),
    "H5": ("missing, zero, broken and recently refused read as words",
           (_LIMITS, "tests/web/test_board.py::"
            "test_a_claim_refused_at_a_busy_budget_is_on_the_header_until_one_is_admitted")),
    "H6": ("the bar is decoration", (_BOARD + "test_a_sentence_is_one_text_and_says_what_is_seen",
                                     _BOARD + "test_what_a_reader_is_given_is_what_was_reviewed")),
    "H7": ("the link to current figures follows every tick and shows when focused",
           (_BOARD + "test_the_link_to_current_figures_is_seen_when_it_has_the_focus", _TICKS)),
    "C1": ("the chip's exact text, in its card, not a control",
           (_WHY + "test_the_header_and_twelve_chips_say_why",
            _WHY + "test_a_chip_is_text_of_its_card_and_describes_its_link")),
    "C2": ("tabbing to the card says the reason",
           (_WHY + "test_a_chip_is_text_of_its_card_and_describes_its_link",
            "a11y/screen_reader/test_budgets.py::"
            "test_tabbing_to_a_deferred_card_says_why_it_waits")),
    "C3": ("an estimate says so; a pause has no time",
           (_WHY + "test_each_reason_has_its_own_words_and_only_deferred_todos_a_chip",
            "tests/domain/test_phrases.py::test_a_chip_says_the_reason_and_when")),
    "C4": ("the chip wraps and is never cut off",
           (_WHY + "test_a_chip_wraps_and_keeps_its_border_without_colours", _ALL[0])),
    "C5": ("the chip's contrast, and its border in forced colours",
           (_WHY + "test_a_chip_wraps_and_keeps_its_border_without_colours",
            "a11y/test_colours.py::test_every_pair_is_legible", _ALL[0])),
    "C6": ("the chip goes in place, the focus stays",
           (_LIVE + "test_a_chip_appears_and_disappears_without_moving_the_focus",)),
    # the editor
    "E1": ("the first field has the focus", (_OPENS,)),
    "E2": ("the form has the page's name", (_OPENS, "a11y/screen_reader/test_budgets.py::"
                                            "test_the_editor_says_what_it_edits")),
    "E3": ("refused: status, title, summary, links, messages, values",
           (_REFUSED, _ALL[1], _EDITOR + (
               "test_a_wrong_form_comes_back_with_every_value_and_a_sentence_per_field"))),
    "E4": ("save and cancel come back to the control",
           (_OPENS, _EDITOR + "test_a_save_goes_back_to_the_edit_control_where_it_was_opened",
            _EDITOR + "test_a_clear_asks_first_takes_a_reason_and_keeps_the_usage")),
    "E5": ("success is said", (_FOCUS + "test_what_was_saved_is_said_after_the_page_has_loaded",)),
    "E6": ("the weekday is always there",
           (_PARTS + "test_the_editors_fields_are_all_there_and_say_how_to_fill_them",)),
    "E7": ("start and zone are text with hint, list and suggestion",
           (_PARTS + "test_the_editors_fields_are_all_there_and_say_how_to_fill_them",
            _EDITOR + "test_each_field_is_judged_by_the_domain")),
    "E8": ("Enter saves", (_FOCUS + "test_enter_in_a_field_saves_and_never_clears",)),
    "E9": ("lowering below use warns first",
           (_PARTS + "test_lowering_a_limit_below_its_use_warns_before_it_is_saved",)),
    "E10": ("a stale edit: both versions, values kept",
            (_FOCUS + "test_a_refused_claim_and_a_stale_edit_are_shown",
             _EDITOR + "test_a_stale_edit_shows_both_versions_and_the_next_save_counts")),
    "E11": ("one focus only", (_REFUSED,)),
    "E12": ("an expired session keeps the form through sign-in and old token",
            (_FOCUS + "test_an_expired_session_keeps_the_form_through_sign_in_and_old_token",
             "a11y/test_shell.py::"
             "test_a_form_htmx_sends_after_the_session_ended_is_kept_and_saved_in_the_end")),
    # the record
    "A1": ("a real table", (_HISTORY,)),
    "A2": ("who, through which endpoint", ("tests/web/test_history.py::" + (
        "test_the_record_names_people_agents_changes_and_reasons_and_survives_a_clear"),)),
    "A3": ("before and after in words", (_HISTORY,)),
    "A4": ("times with their zone", (_HISTORY,)),
    "A5": ("a scroller of its own", (_HISTORY,)),
    "A6": ("pages in a named nav, filters are forms, the count is said",
           ("tests/web/test_history.py::test_the_record_is_paged_by_links",
            "tests/web/test_todos.py::"
            "test_fifty_rows_make_a_page_and_links_lead_on_with_the_filters")),
    "A7": ("long values wrap", (_ALL[2],)),
    # the drawer
    "D1": ("the opener is a link to a page",
           (_DRAWER, "a11y/test_drawer.py::test_a_click_for_a_new_tab_opens_one")),
    "D2": ("the heading takes the focus, in a region that is not modal", (_DRAWER,)),
    "D3": ("closing gives the focus back, to the next when the opener is gone", (_DRAWER,)),
    "D4": ("it covers nothing", (_DRAWER,)),
    "D5": ("updates leave the focus in it",
           (_PARTS + "test_an_update_beside_an_open_drawer_leaves_the_focus_in_it",)),
    "D6": ("the full page comes first", (_DRAWER,)),
    # signing in
    "L1": ("a heading, a button, no change by looking",
           ("a11y/test_sign_in.py::test_the_links_page_is_one_heading_and_one_button",
            "tests/web/test_account.py::"
            "test_looking_at_a_live_link_shows_one_button_and_changes_nothing")),
    "L2": ("a used link says how to get another",
           ("a11y/test_sign_in.py::test_a_used_link_says_in_words_how_to_get_another",)),
    "L3": ("too many requests say when to come back",
           (_PARTS + "test_too_many_requests_say_when_to_come_back",)),
    # the wizard
    "V1": ("each step a page of its own name",
           (_PARTS + "test_a_choice_in_the_wizard_neither_goes_on_nor_runs_out", _ALL[3])),
    "V2": ("grants that change limits: unchecked, with their warning",
           (_PARTS + "test_the_verbs_that_change_limits_are_unchecked_and_warned_of",
            "a11y/screen_reader/test_budgets.py::"
            "test_a_grant_that_changes_limits_is_said_with_its_warning")),
    "V3": ("back keeps answers, the review lists them",
           (_VEND + "test_each_step_says_where_it_stands_and_keeps_its_answer_for_back",
            _VEND + "test_the_review_lists_every_answer_and_its_change_links_lead_back")),
    "V4": ("a secret is shown once, copied without losing the focus, and said",
           (_VEND + "test_the_credential_is_shown_once_with_snippets_and_says_so_before_one_leaves",
            "a11y/test_shell.py::test_a_secret_is_copied_and_the_focus_stays")),
    "V5": ("nothing goes on or runs out by itself",
           (_PARTS + "test_a_choice_in_the_wizard_neither_goes_on_nor_runs_out",)),
    "V6": ("consent: deny and allow weigh the same, by keyboard and without scripts",
           ("a11y/test_consent.py::"
            "test_deny_and_allow_have_the_same_size_place_and_contrast",
            "a11y/test_consent.py::"
            "test_an_owner_opts_an_agent_in_by_wizard_and_by_consent_with_the_keyboard_alone",
            "tests/web/test_consent.py::"
            "test_what_changes_limits_is_never_ticked_whatever_was_asked", _ALL[4])),
}

# row, or a question no row asks: why a machine cannot answer it
BY_HAND: dict[str, str] = {
    "Do the words make sense to someone who has never seen a budget?":
        "a test can hold a sentence fixed, not tell whether it is understood",
    "Is a page calm, and does a reader find what needs them first?":
        "an impression; screenshots in both themes, forced colours and at 320 px are looked at",
    "NVDA, JAWS, VoiceOver and TalkBack, braille, speech recognition":
        "they do not run headless here; of screen readers only Orca is run",
    "Firefox and Safari":
        "the suite drives Chromium; what the others read differently is flagged by the recorder",
}
