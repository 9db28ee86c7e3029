from graphveil.audit.candidate import Candidate
from graphveil.audit.findings import Deadline, within
from graphveil.audit.versions import AuditSchedule, users_affordable, users_needed, versions_step
from graphveil.channels import SeededWords
from graphveil.mechanisms import mechanism


def test_time_that_is_over_leaves_what_was_seen():
    class Clock:
        now = 0.0

        def __call__(self):
            self.now += 1.0
            return self.now

    candidate, words = Candidate.of("krr"), SeededWords(1)
    with within(Deadline(100.0, Clock())):
        step, _ = versions_step(candidate, candidate.build(), None, words, AuditSchedule.of(True, words))
    assert step.unfinished and step.leaks == ()
    assert "2 classes" in step.seen


def test_rare_noise_is_drawn_until_it_shows_as_far_as_that_can_be():
    for epsilon, shows in ((12.0, True), (20.0, False)):
        built = mechanism("krr", epsilon=epsilon, classes=7)
        assert (users_needed(built) <= users_affordable(built, quick=False)) is shows
